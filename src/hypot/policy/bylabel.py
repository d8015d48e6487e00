"""Things with labels, found by selector without looking at each of them."""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import Generic, TypeVar

from hypot.kinds.selector import Requirement, Selector

T = TypeVar("T")


class ByLabel(Generic[T]):
    """An index of every label; a selector looks only at the things that have the rarest label it asks for."""

    def __init__(self, things: Iterable[tuple[Mapping[str, str], T]]) -> None:
        self._things = list(things)
        self._places: dict[tuple[str, str], list[int]] = defaultdict(list)
        for place, (labels, _) in enumerate(self._things):
            for label in labels.items():
                self._places[label].append(place)

    def __len__(self) -> int:
        return len(self._things)

    def select(self, selector: Selector) -> list[T]:
        """What matches, in the order it came in."""
        things = self._things
        if (label := _only(selector)) is not None:
            return [things[place][1] for place in self._places.get(label, ())]
        found = []
        for place in self._candidates(selector):
            labels, thing = things[place]
            if selector.matches(labels):
                found.append(thing)
        return found

    def _candidates(self, selector: Selector) -> Iterable[int]:
        narrowed = [self._having(r) for r in selector.requirements if r.operator == "in"]
        if not narrowed:
            return range(len(self._things))
        return sorted(place for places in min(narrowed, key=_size) for place in places)

    def _having(self, requirement: Requirement) -> list[list[int]]:
        return [self._places.get((requirement.key, value), []) for value in set(requirement.values)]


def _only(selector: Selector) -> tuple[str, str] | None:
    """The one label that a selector asks for, where that is all of it: then nothing is left to compare."""
    if len(selector.requirements) != 1:
        return None
    (wanted,) = selector.requirements
    return (wanted.key, wanted.values[0]) if wanted.operator == "in" and len(wanted.values) == 1 else None


def _size(places: list[list[int]]) -> int:
    return sum(map(len, places))
