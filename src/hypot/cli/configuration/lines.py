"""The lines of the keys of a TOML text: tomllib does not say where it found them."""

import tomllib
from collections.abc import Iterator
from typing import Any, Final, NamedTuple

Path = tuple[str, ...]
# A statement of several lines ends with one of these, so only such lines are tried.
_ENDS: Final = ("]", "}", '"""', "'''")
# A statement with more lines that could be its end is not written by people.
_MOST_TRIES: Final = 1000


class Statement(NamedTuple):
    """The lines of one `key = value` or `[table]`, and the paths of the keys in it."""

    first: int
    last: int
    paths: frozenset[Path]


class KeyLines:
    """Where keys and elements of lists are, in a text that is valid TOML."""

    def __init__(self, text: str) -> None:
        # Only a line feed ends a line in TOML.
        self._lines = text.split("\n")
        self._statements = list(_statements(self._lines))

    def line_of(self, path: Path, element: str = "") -> int | None:
        """The line of this key, or of the table above it; that of an element only if it can be only this one."""
        for length in range(len(path), 0, -1):
            for statement in self._statements:
                if path[:length] in statement.paths:
                    return self._line_within(statement, element)
        return None

    def _line_within(self, statement: Statement, element: str) -> int:
        lines = range(statement.first, statement.last + 1)
        quoted = (f'"{element}"', f"'{element}'")
        found = [line for line in lines if element and any(text in self._lines[line - 1] for text in quoted)]
        return found[0] if len(found) == 1 else statement.first


def _statements(lines: list[str]) -> Iterator[Statement]:
    """A text is a statement when tomllib can read it alone, and no shorter one can be read."""
    table: Path = ()
    start = 0
    while start < len(lines):
        end, data = _statement_at(lines, start)
        is_table = lines[start].lstrip().startswith("[")
        above = () if is_table else table
        paths = {above + path for path in _paths(data)}
        if is_table:
            table = max(paths, key=len, default=())
        if paths:
            yield Statement(start + 1, end, frozenset(paths))
        start = end


def _statement_at(lines: list[str], start: int) -> tuple[int, Any]:
    """The line after the statement, and its data."""
    tries = 0
    for end in range(start + 1, len(lines) + 1):
        if end > start + 1 and not any(mark in lines[end - 1] for mark in _ENDS):
            continue
        try:
            return end, tomllib.loads("\n".join(lines[start:end]).rstrip("\r"))
        except tomllib.TOMLDecodeError:
            tries += 1
        if tries >= _MOST_TRIES:
            break
    return len(lines), {}


def _paths(data: Any) -> Iterator[Path]:
    """The paths of all keys. Of an array of tables only its own."""
    if isinstance(data, dict):
        for key, value in data.items():
            yield (key,)
            yield from ((key, *path) for path in _paths(value))
