"""The files of a folder that may hold manifests: hidden files, what git ignores, and what is excluded are left out."""

import os
import pathlib
from collections.abc import Iterator
from typing import Final, NamedTuple, NoReturn

from hypot.kinds.text.ignored import Patterns, decision, patterns_of

_ENDINGS: Final = tuple(f"{ending}{packed}" for ending in (".yaml", ".yml", ".json") for packed in ("", ".gz"))
# Ignore files are small; a larger one is something else.
_LARGEST_IGNORE_FILE: Final = 2**20


class _IgnoreRules(NamedTuple):
    """The patterns of one ignore file, for paths below `folder`; `prefix` leads from the ignore file to it."""

    folder: str
    prefix: tuple[str, ...]
    patterns: Patterns

    def decide(self, path: str, *, folder: bool) -> bool | None:
        return decision(
            self.patterns, self.prefix + pathlib.PurePath(path).relative_to(self.folder).parts, folder=folder
        )


_AllRules = tuple[_IgnoreRules, ...]


class Exclude(NamedTuple):
    """What the user leaves out: lines as of a .gitignore in this folder; without one, in each folder that is read."""

    globs: tuple[str, ...]
    folder: str | None = None


def manifests_below(directory: str, exclude: tuple[Exclude, ...] = ()) -> list[str]:
    """The manifests in a folder, sorted by path. Raises an OSError if a folder cannot be listed."""
    excluded = (_excluded_in(directory, each) for each in exclude)
    return sorted(_walk(directory, tuple([rules for rules in excluded if rules is not None])))


def _excluded_in(directory: str, exclude: Exclude) -> _IgnoreRules | None:
    """None if this folder itself is excluded: it was named, so it is read."""
    patterns, parts = patterns_of(exclude.globs), _parts_below(exclude.folder, directory)
    if any(decision(patterns, parts[:end], folder=True) for end in range(1, len(parts) + 1)):
        return None
    return _IgnoreRules(directory, parts, patterns)


def _parts_below(folder: str | None, directory: str) -> tuple[str, ...]:
    """The path from one folder to another one in it."""
    if folder is None:
        return ()
    inside, root = pathlib.Path(directory).resolve(), pathlib.Path(folder).resolve()
    return inside.relative_to(root).parts if inside.is_relative_to(root) else ()


def _walk(directory: str, excluded: _AllRules) -> Iterator[str]:
    def stop(error: OSError) -> NoReturn:
        raise error

    above = _rules_above(directory)
    rules_of: dict[str, _AllRules] = {}
    for folder, folders, files in os.walk(directory, onerror=stop):
        rules = rules_of.pop(str(pathlib.Path(folder)), above)
        if ".gitignore" in files:
            rules += (_IgnoreRules(folder, (), _read(pathlib.Path(folder, ".gitignore"))),)
        kept = []
        for name in folders:
            path = str(pathlib.Path(folder, name))
            if not name.startswith(".") and not _is_left_out(path, excluded, rules, folder=True):
                rules_of[path] = rules
                kept.append(name)
        folders[:] = kept
        for name in files:
            path = str(pathlib.Path(folder, name))
            if _may_hold_manifests(path, name) and not _is_left_out(path, excluded, rules, folder=False):
                yield path


def _may_hold_manifests(path: str, name: str) -> bool:
    """A pipe or a link to nowhere is no manifest."""
    return not name.startswith(".") and name.lower().endswith(_ENDINGS) and pathlib.Path(path).is_file()


def _is_left_out(path: str, excluded: _AllRules, rules: _AllRules, *, folder: bool) -> bool:
    """By what the user excludes, else by the deepest ignore file that says something about it."""
    if any(each.decide(path, folder=folder) for each in excluded):
        return True
    decisions = (each.decide(path, folder=folder) for each in reversed(rules))
    return next((ignored for ignored in decisions if ignored is not None), False)


def _read(file: pathlib.Path) -> Patterns:
    try:
        with file.open(encoding="utf-8", errors="replace") as lines:
            return patterns_of(lines.read(_LARGEST_IGNORE_FILE).splitlines())
    except (OSError, ValueError):
        return ()


def _rules_above(directory: str) -> _AllRules:
    """Of the ignore files between the root of the repository and here; none if they ignore this folder itself."""
    inside = pathlib.Path(directory).resolve()
    root = next((folder for folder in (inside, *inside.parents) if (folder / ".git").exists()), None)
    if root is None:
        return ()
    parts = inside.relative_to(root).parts
    found = [(0, _read(root / ".git" / "info" / "exclude"))]
    found += [(depth, _read(root.joinpath(*parts[:depth], ".gitignore"))) for depth in range(len(parts))]
    for end in range(1, len(parts) + 1):
        decisions = (decision(each, parts[depth:end], folder=True) for depth, each in reversed(found[: end + 1]))
        if next((ignored for ignored in decisions if ignored is not None), False):
            return ()
    return tuple([_IgnoreRules(directory, parts[depth:], patterns) for depth, patterns in found if patterns])
