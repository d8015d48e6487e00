"""A progress bar for long work on a terminal, and plain lines for very long work elsewhere."""

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from typing import Any

import click


def can_draw() -> bool:
    """Whether a bar can be shown: on a terminal, and not in the image of the controller, which has no rich."""
    return sys.stderr.isatty() and find_spec("rich") is not None


class ProgressBar:
    """Counts the progress; without a terminal it shows nothing."""

    def __init__(self, drawn: Any = None, task: Any = None) -> None:
        self._drawn, self._task = drawn, task

    def add(self, amount: int) -> None:
        if self._drawn is not None:
            self._drawn.update(self._task, advance=amount)

    def at(self, done: int, total: int) -> None:
        if self._drawn is not None:
            self._drawn.update(self._task, completed=done, total=total or None)


@contextmanager
def bar(message: str, total: int | None, *, plain: bool = False) -> Iterator[ProgressBar]:
    """Show the progress and the remaining time. Without a terminal, `plain` prints a line at the start and the end."""
    if not can_draw():
        began = time.monotonic()
        if plain:
            click.echo(message, err=True)
        yield ProgressBar()
        if plain:
            click.echo(f"{message}: done after {time.monotonic() - began:.0f} s", err=True)
        return
    from rich.console import Console  # noqa: PLC0415  drawn only on a terminal
    from rich.progress import BarColumn, TaskProgressColumn, TextColumn, TimeRemainingColumn  # noqa: PLC0415
    from rich.progress import Progress as Bars  # noqa: PLC0415

    columns = (TextColumn(message), BarColumn(), TaskProgressColumn(), TimeRemainingColumn())
    with Bars(*columns, console=Console(stderr=True), transient=True) as drawn:
        yield ProgressBar(drawn, drawn.add_task(message, total=total))
