"""Objects that several folders of the input define, as examples and overlays do: a cluster has only one of them.

Folders that define the same object are alternatives, with all that is below them. What is in one of them does not meet
what is in another, and an autoscaler means the definition that is nearest to it.
"""

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import replace

from hypot.lint.input.item import Folder, Item, Key


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


def _common(one: Folder, other: Folder) -> int:
    """How many parts of their paths are the same, from the first on."""
    pairs = zip(one, other, strict=False)
    return next((depth for depth, (left, right) in enumerate(pairs) if left != right), min(len(one), len(other)))


def _named(folder: Folder) -> str:
    return "/".join(folder) or "."
