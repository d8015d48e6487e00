"""Which files are patches of kustomize: parts of objects, to be merged into others."""

import os.path
import pathlib
from collections.abc import Iterable, Iterator
from typing import Any, Final

from hypot.kinds.text import yamltext
from hypot.kinds.text.yamltext import Fault

KUSTOMIZATIONS: Final = frozenset({"kustomization.yaml", "kustomization.yml", "Kustomization"})
# A kustomization is a short list of files; the patches in it may be long.
_LARGEST: Final = 4 * 2**20


def patches_among(files: Iterable[str]) -> frozenset[str]:
    """The files that a kustomization in one of their folders names as patches."""
    folders = {str(pathlib.PurePath(file).parent) for file in files}
    return frozenset(patch for folder in sorted(folders) for patch in _patches_of(pathlib.Path(folder)))


def is_in_overlay(file: str) -> bool:
    """Whether there is a kustomization in the same folder."""
    folder = pathlib.Path(file).parent
    return any((folder / name).is_file() for name in KUSTOMIZATIONS)


def can_be_built(folder: pathlib.PurePath) -> bool:
    """Whether its kustomization is for itself: a Component works only within one that names it."""
    contents = (_content(pathlib.Path(folder, name)) for name in KUSTOMIZATIONS)
    return any(isinstance(content, dict) and content.get("kind") != "Component" for content in contents)


def _patches_of(folder: pathlib.Path) -> Iterator[str]:
    for name in KUSTOMIZATIONS:
        for path in _named_in(_content(folder / name)):
            if "\n" not in path and "\0" not in path:
                yield str(pathlib.PurePath(os.path.normpath(folder / path)))


def _content(file: pathlib.Path) -> Any:
    try:
        if not file.is_file():
            return None
        with file.open(encoding="utf-8", errors="replace") as text:
            found = yamltext.documents(text.read(_LARGEST), 0, depth=100, aliased=1000, take=lambda data, _: data)
            return next(iter(found)).whole.data
    except (OSError, Fault, StopIteration):
        return None


def _named_in(kustomization: Any) -> Iterator[str]:
    if not isinstance(kustomization, dict):
        return
    for field in ("patches", "patchesStrategicMerge", "patchesJson6902"):
        entries = kustomization.get(field)
        for entry in entries if isinstance(entries, list) else ():
            path = entry.get("path") if isinstance(entry, dict) else entry
            if isinstance(path, str):
                yield path
