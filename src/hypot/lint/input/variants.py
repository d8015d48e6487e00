"""Objects that several folders of the input define, as examples and overlays do: a cluster has only one of them.

Folders that define the same object are alternatives, with all that is below them. What is in one of them does not meet
what is in another, and an autoscaler means the definition that is nearest to it. So are files of one folder that define
many of the same objects, such as install.yaml and install-ha.yaml.
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Final

from hypot.lint.input.item import Folder, Item, Key

# A file with so many objects that other files of its folder define too, and with half of its own or more.
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
        # By folder and by the part of the path that follows it: the objects that are defined there, and elsewhere.
        self._defined: dict[tuple[Folder, Folder], set[Key]] = defaultdict(set)
        for key, found in self.folders.items():
            for folder in found:
                for depth in range(len(folder) + 1):
                    self._defined[folder[:depth], folder[depth : depth + 1]].add(key)

    def told_apart(self, item: Item) -> Item:
        """The item; with its folder in its key, if other folders define it too."""
        return replace(item, variant=_named(item.folder)) if item.key in self.folders else item

    def nearest(self, key: Key, item: Item) -> Key:
        """The definition of an object that an item means: the one with the longest part of the path in common."""
        found = self.folders.get(key)
        if not found:
            return key
        return key._replace(variant=_named(max(found, key=lambda folder: (_common(folder, item.folder), -len(folder)))))

    def apart(self, one: Item, other: Item) -> bool:
        """Whether these two are in alternative folders."""
        if not self.folders or one.folder == other.folder:
            return False
        depth = _common(one.folder, other.folder)
        above = one.folder[:depth]
        left, right = ((above, folder[depth : depth + 1]) for folder in (one.folder, other.folder))
        return not self._defined.get(left, set()).isdisjoint(self._defined.get(right, ()))


def with_bundles(items: tuple[Item, ...], counts: Callable[[Item], bool]) -> tuple[Item, ...]:
    """The items; those of files that are variants of other files in the same folder are marked."""
    files: dict[Folder, dict[Key, set[str]]] = defaultdict(lambda: defaultdict(set))
    for item in items:
        if item.folder and item.source is not None and item.name and counts(item):
            files[item.folder][item.key].add(item.source.file)
    shared: Counter[str] = Counter()
    all_of: Counter[str] = Counter()
    for found in files.values():
        for those in found.values():
            all_of.update(those)
            shared.update(those if len(those) > 1 else ())
    bundles = {file for file, count in shared.items() if count >= _LEAST_SHARED and 2 * count >= all_of[file]}
    if not bundles:
        return items
    return tuple(
        replace(item, bundled=True) if item.source is not None and item.source.file in bundles else item
        for item in items
    )


def _common(one: Folder, other: Folder) -> int:
    """How many parts of their paths are the same, from the first on."""
    pairs = zip(one, other, strict=False)
    return next((depth for depth, (left, right) in enumerate(pairs) if left != right), min(len(one), len(other)))


def _named(folder: Folder) -> str:
    return "/".join(folder) or "."
