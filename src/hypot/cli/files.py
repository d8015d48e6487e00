"""Reads the files that the user named, with a progress bar if it takes long."""

import os
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple, Self

import click

from hypot.cli.bar import can_draw
from hypot.cli.left_out import PATCH, is_broken, line_of
from hypot.face.style import printable
from hypot.kinds.catalogue import find_autoscaler
from hypot.kinds.known_kinds import WORKLOAD_GROUPS
from hypot.kinds.text.folder import Exclude
from hypot.kinds.text.kustomize import is_in_overlay, patches_among
from hypot.kinds.text.load import LoadedFiles, LoadError, Reader, Source
from hypot.kinds.values.names import group_of
from hypot.kinds.values.nested import inner

# Smaller inputs are read before a bar would be visible.
_WORTH_A_BAR = 4 * 2**20
_TWICE = 2
# Of the objects that are in the input several times, so many have a line of their own.
_MOST_REPEATED = 3


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


class GivenFiles(NamedTuple):
    """What was read: the objects, how many of other kinds were ignored, and what could not be read."""

    objects: list[LoadedFiles]
    ignored: Counter[str]
    # What seems to hold an object that matters.
    broken: tuple[LoadError, ...] = ()
    # What is no object, or a part of one: files for other programs, templates, patches.
    left_out: tuple[LoadError, ...] = ()
    # All that was read, also without an object.
    files: frozenset[str] = frozenset()

    @classmethod
    def of(cls, *several: Self) -> Self:
        """All of them in one."""
        return cls(
            [one for each in several for one in each.objects],
            sum((each.ignored for each in several), Counter()),
            tuple(error for each in several for error in each.broken),
            tuple(error for each in several for error in each.left_out),
            frozenset().union(*(each.files for each in several)),
        )


def read_given(
    paths: tuple[str, ...], keep: Callable[[str, str], bool] | None = None, exclude: tuple[Exclude, ...] = ()
) -> GivenFiles:
    """All objects of these files and folders that can be read."""
    unread: list[LoadError] = []
    with _progress() as progress:
        reader = Reader(progress=progress, keep=keep, unread=unread.append, exclude=exclude)
        try:
            loaded = list(reader.read(paths))
        except LoadError as error:
            raise BadInput(str(error)) from error
    named = {*paths, "<stdin>"}
    files = set(reader.files) - named
    patch_files = patches_among(files)
    objects, patches = _without_patches(loaded, files, patch_files)
    # A patch needs no apiVersion.
    partial = [error for error in unread if error.why == "incomplete" and error.file in patch_files]
    patches += [_patch(error.file, error.line, error.kinds) for error in partial]
    unread = [error for error in unread if error not in partial]
    broken = [error for error in unread if is_broken(error, named)]
    left_out = [error for error in unread if not is_broken(error, named)]
    return GivenFiles(objects, reader.ignored, tuple(broken), (*left_out, *patches), frozenset(reader.files))


def read_objects(
    paths: tuple[str, ...], keep: Callable[[str, str], bool] | None = None
) -> tuple[list[LoadedFiles], Counter[str]]:
    """All objects of the named files, and the kinds that were ignored. A folder may have files for other programs."""
    given = read_given(paths, keep)
    refuse([*given.broken, *_named_among(given.left_out, paths)])
    report_left_out(given)
    return given.objects, given.ignored


def read_what_can_be(
    paths: tuple[str, ...], keep: Callable[[str, str], bool] | None = None, exclude: tuple[Exclude, ...] = ()
) -> GivenFiles:
    """As `read_objects`, but what is broken in a folder is reported, and the rest is read."""
    given = read_given(paths, keep, exclude)
    refuse(_named_among((*given.broken, *given.left_out), paths))
    for error in given.broken:
        click.echo(f"not read: {printable(str(error))}", err=True)
    report_left_out(given)
    return given


def _named_among(errors: Iterable[LoadError], paths: tuple[str, ...]) -> list[LoadError]:
    return [error for error in errors if error.file in {*paths, "<stdin>"}]


def refuse(errors: Iterable[LoadError]) -> None:
    """Raise all of them as one, if there are any."""
    if found := [str(error) for error in errors]:
        raise BadInput("\n".join(found))


def report_left_out(given: GivenFiles) -> None:
    if given.left_out:
        click.echo(f"not read: {line_of(given.left_out)}", err=True)


def _without_patches(
    loaded: list[LoadedFiles], files: set[str], patches: frozenset[str]
) -> tuple[list[LoadedFiles], list[LoadError]]:
    """Without the patches among files in folders: what a kustomization names, and what is only a part of an object."""
    objects, left_out = [], []
    for one in loaded:
        file = one.source.file
        if file in patches or (file in files and _is_part(one)):
            left_out.append(_patch(file, one.source.line, frozenset({one.data["kind"]})))
        else:
            objects.append(one)
    return objects, left_out


def _patch(file: str, line: int | None, kinds: frozenset[str]) -> LoadError:
    return LoadError(file, line, PATCH, "patch", kinds)


def _is_part(one: LoadedFiles) -> bool:
    """Whether it is only a part of an object, to be merged into it: an API server would refuse it."""
    data = one.data
    if WORKLOAD_GROUPS.get(data["kind"]) == group_of(data["apiVersion"]):
        template = inner(data, "spec", "template") or inner(data, "spec", "jobTemplate", "spec", "template")
        return bool(template) and "containers" not in inner(template, "spec")
    return _lacks_target(data) and is_in_overlay(one.source.file)


def _lacks_target(data: dict[str, Any]) -> bool:
    info = find_autoscaler(group_of(data["apiVersion"]), data["kind"])
    if info is None:
        return False
    spec = data.get("spec")
    return isinstance(spec, dict) and info.target_field.partition(".")[0] not in spec


def last_of_each(
    loaded: Iterable[LoadedFiles], key: Callable[[dict[str, Any]], tuple[str, str, str]]
) -> dict[tuple[str, str, str], Source]:
    """The place of each object by kind, namespace and name; of several the last counts, as with kubectl apply."""
    found: dict[tuple[str, str, str], list[Source]] = {}
    for one in loaded:
        found.setdefault(key(one.data), []).append(one.source)
    several = [(name, sources) for name, sources in found.items() if len(sources) > 1]
    for (_, namespace, name), sources in several[:_MOST_REPEATED]:
        places = [f"{source.file}:{source.line}" for source in sources]
        how_often = "twice" if len(places) == _TWICE else f"{len(places)} times"
        shown = " and ".join([places[0], places[-1]])
        message = f"{namespace}/{name} is in the input {how_often}, {'' if how_often == 'twice' else 'such as '}"
        click.echo(printable(f"{message}{shown}: the last one counts"), err=True)
    if (more := len(several) - _MOST_REPEATED) > 0:
        others = "another object is" if more == 1 else f"{more} other objects are"
        click.echo(f"{others} in the input several times: name files or one folder to choose", err=True)
    return {name: sources[-1] for name, sources in found.items()}


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
