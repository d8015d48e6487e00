"""Files that others provide. A device or a pipe would block its reader, and a huge file would fill the memory."""

import stat
from pathlib import Path

LARGEST_FILE = 1 << 20


class FileError(ValueError):
    """The file must not be read, or cannot be."""


def checked_file(folder: Path, name: str) -> Path:
    """The path of a regular file in this directory, of a bounded size."""
    try:
        path = (folder / name).resolve()
        found = path.stat()
    except (OSError, ValueError, RuntimeError) as error:
        raise FileError("a file cannot be read") from error
    if not path.is_relative_to(folder.resolve()):
        raise FileError("a file is outside of the directory")
    if not stat.S_ISREG(found.st_mode) or found.st_size > LARGEST_FILE:
        raise FileError("a file is not a regular file of at most 1 MiB")
    return path
