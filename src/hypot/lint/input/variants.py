"""Objects that several files of the input define, as examples and overlays do: a cluster has only one of them.

Files and folders next to each other are alternatives if each defines an object that another of them defines too. What
is in one of them does not meet what is in another, and an autoscaler means the definition that is nearest to it.
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Final

from hypot.lint.input.item import Folder, Item, Key

# A file with so many objects that other files of its folder define too, and with half of its own or more, is meant as
# another version of these, such as install.yaml and install-ha.yaml.
_LEAST_SHARED: Final = 3


class Variants:
    """Which objects have several definitions, and which folders are therefore alternatives."""

    def __init__(self, items: Iterable[Item]) -> None:
        """From all objects of kinds of which a name stands for one object."""
        folders: dict[Key, set[Folder]] = defaultdict(set)
        for item in items:
            if item.name:
                folders[item.key].add(item.folder)
        self.folders: dict[Key, list[Folder]] = {key: sorted(some) for key, some in folders.items() if len(some) > 1}
        # A folder, and the part of a path that follows it; none for what is in the folder itself.
        self._alternatives: set[tuple[Folder, Folder]] = set()
        for found in self.folders.values():
            parts: dict[Folder, set[Folder]] = defaultdict(set)
            for folder in found:
                for depth in range(len(folder) + 1):
                    parts[folder[:depth]].add(folder[depth : depth + 1])
            for above, those in parts.items():
                self._alternatives.update((above, part) for part in those if len(those) > 1)

    def told_apart(self, item: Item) -> Item:
        """The item; with its folder in its key, if other folders define it too."""
        return replace(item, variant=_named(item.folder)) if item.key in self.folders else item

    def nearest(self, key: Key, item: Item) -> Key:
        """The definition of an object that an item means: the one with the longest part of the path in common.

        If all of them are in alternatives to its folder, it means one that is not in the input.
        """
        found = self.folders.get(key)
        if not found:
            return key
        near = [folder for folder in found if not self._apart(folder, item.folder)]
        best = max(near, key=lambda folder: (_common(folder, item.folder), -len(folder)), default=item.folder)
        return key._replace(variant=_named(best))

    def apart(self, one: Item, other: Item) -> bool:
        """Whether these two are in alternative files or folders."""
        return bool(self.folders) and self._apart(one.folder, other.folder)

    def _apart(self, one: Folder, other: Folder) -> bool:
        if one == other:
            return False
        depth = _common(one, other)
        above = one[:depth]
        return all((above, folder[depth : depth + 1]) in self._alternatives for folder in (one, other))


def with_files(items: tuple[Item, ...], counts: Callable[[Item], bool]) -> tuple[Item, ...]:
    """The items; those of files that share objects with other files in the same folder are marked."""
    files: dict[tuple[Folder, Key], set[str]] = defaultdict(set)
    for item in items:
        if item.source is not None and not item.source.rendered and item.name and counts(item):
            files[item.folder, item.key].add(item.source.file)
    shared: Counter[str] = Counter()
    all_of: Counter[str] = Counter()
    for those in files.values():
        all_of.update(those)
        shared.update(those if len(those) > 1 else ())
    if not shared:
        return items
    bundles = {file for file, count in shared.items() if count >= _LEAST_SHARED and 2 * count >= all_of[file]}
    return tuple(
        replace(item, is_variant=True, is_bundle=item.source.file in bundles)
        if item.source is not None and item.source.file in shared
        else item
        for item in items
    )


def _common(one: Folder, other: Folder) -> int:
    """How many parts of their paths are the same, from the first on."""
    pairs = zip(one, other, strict=False)
    return next((depth for depth, (left, right) in enumerate(pairs) if left != right), min(len(one), len(other)))


def _named(folder: Folder) -> str:
    return "/".join(folder) or "."
