"""The dialect of a CSV file: what separates fields, and where the column names are."""

import csv
import re
from collections.abc import Sequence
from contextlib import suppress
from typing import BinaryIO, Final, NamedTuple

from hypot.replay.traces.columns import Content
from hypot.replay.traces.numbers import APART, DEMAND, EMPTY
from hypot.replay.traces.times import is_time_text
from hypot.replay.traces.trace import TraceError

# The first line of files that were made for Excel.
_SEP: Final = re.compile(r'^"?sep=([,;\t|:~^])"?$', re.IGNORECASE)
# In this order: commas may also be decimal commas.
SEPARATORS: Final = ("\t", ";", ",", "|")
_LONGEST_HEADER: Final = 2**20
_SAMPLE_BYTES: Final = 2**18
_SAMPLE_ROWS: Final = 200
_NUMBER: Final = re.compile(
    rf"[+-]?(?:[0-9]{{1,3}}(?:[.,{APART}][0-9]{{3}})+|[0-9]*)(?:[.,][0-9]*)?(?:[eE][+-]?[0-9]+)?(?:\s*([^0-9\s][^0-9]*))?"
)


class Dialect(NamedTuple):
    """How a CSV file is written."""

    separator: str
    # How many lines are before the column names, or before the first row if there are no names.
    skipped: int
    names: list[str]
    # Whether the first row holds the names.
    named: bool
    sample: list[list[str]]

    @property
    def first_row(self) -> int:
        """The line of the first row of data, counted from 1."""
        return self.skipped + self.named + 1

    def content(self, place: int) -> Content:
        """What a column holds, as far as the sample goes; an empty column may get numbers later."""
        cells = [row[place].strip() for row in self.sample if place < len(row)]
        if all(map(is_number, cells)):
            return "number"
        return "time" if all(map(is_time_text, cells)) else ""


def is_number(text: str) -> bool:
    """Whether a cell is a number in any form, or empty."""
    plain = text.strip()
    if plain.lower() in EMPTY:
        return True
    found = _NUMBER.fullmatch(plain)
    return found is not None and plain[0] in "+-.,0123456789" and re.sub(r"\s", "", found[1] or "") in DEMAND


def dialect_of(file: str, stream: BinaryIO) -> Dialect:
    """Looks at the first lines of a file."""
    first = _line(file, 1, stream.readline(_LONGEST_HEADER))
    marked = _SEP.match(first)
    header = _line(file, 2, stream.readline(_LONGEST_HEADER)) if marked else first
    row = 1 + (marked is not None)
    if not header.strip():
        raise TraceError(f"{file}: row {row} is empty: it must hold the column names")
    if header.count('"') % 2:
        raise TraceError(f"{file}: row {row}: a quote is not closed on its line")
    lines = _sample(stream)
    separator = marked[1] if marked else _separator(header, lines)
    names = _fields(header, separator) or [header]
    named = not all(is_number(name) or is_time_text(name) for name in names)
    sample = [_fields(line, separator) for line in lines]
    if named:
        return Dialect(separator, row - 1, names, named, sample)
    return Dialect(separator, row - 1, [str(number) for number in range(1, len(names) + 1)], named, [names, *sample])


def _line(file: str, row: int, line: bytes) -> str:
    try:
        text = line.decode("utf-8-sig" if row == 1 else "utf-8").rstrip("\r\n")
    except UnicodeDecodeError as error:
        raise TraceError(f"{file}: row {row} is not UTF-8: save the file as UTF-8") from error
    if "\r" in text or "\0" in text or len(line) == _LONGEST_HEADER:
        raise TraceError(
            f"{file}: row {row} is not valid CSV: separate fields by commas and end lines with a line feed"
        )
    return text


def _sample(stream: BinaryIO) -> list[str]:
    """The next whole lines."""
    block = stream.read(_SAMPLE_BYTES)
    if len(block) == _SAMPLE_BYTES:
        block = block[: block.rfind(b"\n") + 1]
    return [line for line in block.decode(errors="replace").splitlines() if line.strip()][:_SAMPLE_ROWS]


def _separator(header: str, lines: Sequence[str]) -> str:
    """The one that divides all lines alike; else the one that divides the header most."""
    found = {mark: len(_fields(header, mark)) for mark in SEPARATORS}
    for mark, fields in found.items():
        if fields > 1 and all(len(_fields(line, mark)) == fields for line in lines):
            return mark
    most = max(found.values())
    return "," if found[","] == most else max(SEPARATORS, key=lambda mark: found[mark])


def _fields(line: str, separator: str) -> list[str]:
    with suppress(csv.Error):
        return next(csv.reader([line], delimiter=separator), [])
    return []
