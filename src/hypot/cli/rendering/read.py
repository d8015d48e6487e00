"""Reads what a chart or a kustomization renders to. Each object has the file that it was made from, but no line."""

import os
import re
from bisect import bisect_right
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path, PurePath
from typing import Any, Final

from hypot.cli.files import BadInput, GivenFiles
from hypot.cli.left_out import is_broken
from hypot.cli.rendering.process import ToolLimits
from hypot.cli.rendering.tools import CHART, helm_template, is_chart, kustomization_in, kustomize_build
from hypot.kinds.text.load import LoadedFiles, LoadError, Reader
from hypot.kinds.values.version import Version

Keep = Callable[[str, str], bool]
# The file that a line of what was rendered, or the object that begins there, was made from.
Origin = Callable[[int, dict[str, Any]], str | None]

# Helm writes it above each object.
_SOURCE: Final = re.compile(r"^---\n# Source: ([^\n]+)$", re.MULTILINE)
# Kustomize writes it into each object.
_ORIGIN: Final = "config.kubernetes.io/origin"
_PATH: Final = re.compile(r"^(?:path|configuredIn): (.+)$", re.MULTILINE)
# So many files of a chart are listed.
_MOST_FILES: Final = 10_000
_DEFAULT_LIMITS: Final = ToolLimits()


def read_rendered(
    directory: str,
    values: Sequence[str],
    kubernetes: Version,
    keep: Keep | None = None,
    limits: ToolLimits = _DEFAULT_LIMITS,
) -> GivenFiles:
    """The objects of a chart with these values, or of a kustomization."""
    if is_chart(directory):
        text = helm_template(directory, values, kubernetes, limits)
        return _objects(text, directory, CHART, _by_marks(text, directory), keep)
    kustomization = kustomization_in(directory)
    if kustomization is None:
        raise BadInput(f"{directory}: {_neither(directory)}")
    if values:
        raise BadInput(f"{directory}: this is a kustomization; --values is for charts")
    text, folder = kustomize_build(directory, limits)
    return _objects(text, directory, kustomization.name, _by_annotation(directory, folder), keep)


def _neither(directory: str) -> str:
    if not Path(directory).is_dir():
        return "there is no such folder; name that of a chart (Chart.yaml) or a kustomization (kustomization.yaml)"
    try:
        below = sorted(entry.path for entry in os.scandir(directory) if entry.is_dir())
    except OSError:
        below = []
    found = [folder for folder in below if is_chart(folder) or kustomization_in(folder)][:3]
    near = f"; did you mean {' or '.join(found)}?" if found else ""
    return f"neither a chart nor a kustomization: there is no Chart.yaml and no kustomization.yaml in it{near}"


def _objects(text: str, directory: str, whole: str, origin: Origin, keep: Keep | None) -> GivenFiles:
    """What the rendered text holds; what cannot be read is placed in the file that stands for all of it."""
    unread: list[LoadError] = []
    reader = Reader(keep=keep, unread=unread.append)
    default = str(PurePath(directory, whole))
    try:
        loaded = list(reader.read_text(text, default))
    except LoadError as error:
        raise BadInput(f"{directory}: what was rendered cannot be read: {error.message}") from error
    objects = [_placed(one, origin(one.source.line, one.data) or default) for one in loaded]
    errors = [_without_line(error, origin(error.line or 0, {}) or default) for error in unread]
    broken = tuple(error for error in errors if is_broken(error, ()))
    left_out = tuple(error for error in errors if not is_broken(error, ()))
    files = {one.source.file for one in objects} | _files_below(directory)
    return GivenFiles(objects, reader.ignored, broken, left_out, frozenset(files))


def _placed(one: LoadedFiles, file: str) -> LoadedFiles:
    return LoadedFiles(one.data, replace(one.source, file=file, rendered=True))


def _without_line(error: LoadError, file: str) -> LoadError:
    return LoadError(
        file, None, f"in what was rendered, line {error.line or 1}: {error.message}", error.why, error.kinds, error.hint
    )


def _by_marks(text: str, directory: str) -> Origin:
    """By the comment of helm above the object: the name of the chart, and the path in it."""
    marks = [(text.count("\n", 0, found.start()) + 1, found[1].strip()) for found in _SOURCE.finditer(text)]
    lines = [line for line, _ in marks]

    def origin(line: int, _: dict[str, Any]) -> str | None:
        before = bisect_right(lines, line)
        inside = PurePath(marks[before - 1][1]).parts[1:] if before else ()
        return str(PurePath(directory, *inside)) if inside else None

    return origin


def _by_annotation(directory: str, folder: Path) -> Origin:
    """By the annotation of kustomize, which is no part of the object."""
    inside = Path(directory).resolve()

    def origin(_: int, data: dict[str, Any]) -> str | None:
        written = _PATH.search(_taken(data))
        if written is None:
            return None
        path = os.path.normpath(folder / written[1].strip("'\""))
        return os.path.normpath(Path(directory, os.path.relpath(path, inside)))

    return origin


def _taken(data: dict[str, Any]) -> str:
    metadata = data.get("metadata")
    annotations = metadata.get("annotations") if isinstance(metadata, dict) else None
    if not isinstance(metadata, dict) or not isinstance(annotations, dict):
        return ""
    origin = annotations.pop(_ORIGIN, "")
    if not annotations:
        del metadata["annotations"]
    return origin if isinstance(origin, str) else ""


def _files_below(directory: str) -> set[str]:
    found: set[str] = set()
    for folder, _, names in os.walk(directory):
        found.update(str(PurePath(folder, name)) for name in names)
        if len(found) > _MOST_FILES:
            break
    return found
