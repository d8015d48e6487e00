"""Reads the files that the user named, with a progress bar if it takes long."""

import os
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import click

from hypot.cli.bar import can_draw
from hypot.kinds.text.load import LoadedFiles, LoadError, Reader, Source

# Smaller inputs are read before a bar would be visible.
_WORTH_A_BAR = 4 * 2**20


manifests_named = click.option(
    "-f",
    "--filename",
    "paths",
    multiple=True,
    required=True,
    metavar="FILE|DIR|-",
    help="Manifests: files, directories or - for standard input. May be given more than once.",
)


class BadInput(click.ClickException):
    """Input that cannot be read: exit status 2."""

    exit_code = 2


def read_objects(
    paths: tuple[str, ...], keep: Callable[[str, str], bool] | None = None
) -> tuple[list[LoadedFiles], Counter[str]]:
    """All objects of the named files, and the kinds that were ignored."""
    with _progress() as progress:
        reader = Reader(progress=progress, keep=keep)
        try:
            return list(reader.read(paths)), reader.ignored
        except LoadError as error:
            raise BadInput(str(error)) from error


def last_of_each(
    loaded: Iterable[LoadedFiles], key: Callable[[dict[str, Any]], tuple[str, str, str]]
) -> dict[tuple[str, str, str], Source]:
    """The place of each object by kind, namespace and name; of several the last counts, as with kubectl apply."""
    found: dict[tuple[str, str, str], Source] = {}
    for one in loaded:
        name = key(one.data)
        if name in found:
            places = " and ".join(f"{source.file}:{source.line}" for source in (found[name], one.source))
            click.echo(f"{name[1]}/{name[2]} is in the input twice, {places}: the last one counts", err=True)
        found[name] = one.source
    return found


@contextmanager
def needing(package: str, extra: str) -> Iterator[None]:
    """For the import of an optional package: if it is missing, report how to install it."""
    try:
        yield
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] != package:
            raise
        raise BadInput(f"{package} is not installed: pip install hypot[{extra}]") from error


@contextmanager
def _progress() -> Iterator[Callable[[int, int], None] | None]:
    if not can_draw():
        yield None
        return
    from rich.console import Console  # noqa: PLC0415  drawn only on a terminal
    from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn  # noqa: PLC0415

    columns = (TextColumn("reading"), BarColumn(), DownloadColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = None

        def show(done: int, total: int) -> None:
            nonlocal task
            if max(done, total) < _WORTH_A_BAR:
                return
            if task is None:
                task = bar.add_task("reading", total=total or None)
            bar.update(task, completed=done)

        yield show


def check_writable(path: str) -> None:
    """Check before hours of work that the result can be written."""
    folder = Path(path).absolute().parent
    if not folder.is_dir() or not os.access(folder, os.W_OK):
        raise BadInput(f"{path}: cannot write this file: check the folder {folder}")
    if Path(path).is_dir():
        raise BadInput(f"{path}: is a folder; name a file")


def write_whole(path: str, data: bytes) -> None:
    """Write the file completely or not at all."""
    target = Path(path)
    draft = target.with_name(f".{target.name}.part")
    try:
        draft.write_bytes(data)
        draft.replace(target)
    except OSError as error:
        raise BadInput(f"{path}: cannot write: {error.strerror or error}; check the folder") from error
    finally:
        draft.unlink(missing_ok=True)
