"""What the terminal shows: how many columns, colours, and which letters."""

import os
from typing import TextIO


def columns_of_terminal(otherwise: int = 80) -> int:
    """As `shutil` has it, whose import takes too long: COLUMNS comes first; `otherwise` if there is neither."""
    given = os.environ.get("COLUMNS", "")
    if given.isdecimal() and int(given):
        return int(given)
    try:
        return os.get_terminal_size().columns or otherwise
    except (OSError, ValueError):
        return otherwise


def in_colour(stream: TextIO) -> bool:
    """Whether to use colours: on a terminal that supports them, unless the user turned them off."""
    return stream.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


def safe_for(stream: TextIO, text: str) -> str:
    """Text that the stream can encode, whatever the input contains."""
    encoding = getattr(stream, "encoding", None) or "ascii"
    return text.encode(encoding, "replace").decode(encoding, "replace")
