"""One line on a terminal about what is being read, and a line now and then elsewhere."""

import sys
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

import click

_REDRAW: Final = 0.1
_LINE: Final = 10.0
_MOST: Final = 4


class ReadingProgress:
    """Counts objects by resource."""

    def __init__(self) -> None:
        self._counts: Counter[str] = Counter()
        self._terminal = sys.stderr.isatty()
        self._every = _REDRAW if self._terminal else _LINE
        self._next = time.monotonic() + self._every
        self._drawn = False

    def __call__(self, resource: str, number: int) -> None:
        self._counts[resource] += number
        if time.monotonic() < self._next:
            return
        self._next = time.monotonic() + self._every
        most = ", ".join(f"{count:,} {name}" for name, count in self._counts.most_common(_MOST))
        click.echo(
            f"\r\x1b[Kreading: {most}" if self._terminal else f"reading: {most}", nl=not self._terminal, err=True
        )
        self._drawn = self._terminal

    def clear(self) -> None:
        if self._drawn:
            click.echo("\r\x1b[K", nl=False, err=True)


@contextmanager
def progress() -> Iterator[ReadingProgress]:
    shown = ReadingProgress()
    try:
        yield shown
    finally:
        shown.clear()
