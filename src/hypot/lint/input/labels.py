"""Find the selectors that match a set of labels without trying all of them."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from typing import Generic, TypeVar

from hypot.kinds.selector import Selector

T = TypeVar("T")
_Pair = tuple[str, str, str]


class SelectorIndex(Generic[T]):
    """Indexes each selector by the rarest label value it requires. Selectors that require none are always tried."""

    def __init__(self, entries: Iterable[tuple[str, Selector, T]]) -> None:
        owners: dict[tuple[str, Selector], list[T]] = defaultdict(list)
        for namespace, selector, owner in entries:
            owners[namespace, selector].append(owner)
        self._owners = owners
        self._by_pair: dict[_Pair, list[Selector]] = defaultdict(list)
        self._anywhere: dict[str, list[Selector]] = defaultdict(list)
        self._found: dict[tuple[str, frozenset[tuple[str, str]]], tuple[T, ...]] = {}
        self._file()

    def _file(self) -> None:
        pairs = {entry: _pairs(*entry) for entry in self._owners}
        uses = Counter(pair for asked in pairs.values() for pair in asked)
        for (namespace, selector), asked in pairs.items():
            if asked:
                self._by_pair[min(asked, key=lambda pair: uses[pair])].append(selector)
            else:
                self._anywhere[namespace].append(selector)

    def matching(self, namespace: str, labels: Mapping[str, str]) -> tuple[T, ...]:
        """The owners of the selectors that match these labels. Equal labels return the same tuple object."""
        key = (namespace, frozenset(labels.items()))
        if key not in self._found:
            self._found[key] = tuple(self._search(namespace, labels))
        return self._found[key]

    def _search(self, namespace: str, labels: Mapping[str, str]) -> Iterable[T]:
        candidates = list(self._anywhere.get(namespace, ()))
        for name, value in labels.items():
            candidates += self._by_pair.get((namespace, name, value), ())
        for selector in candidates:
            if selector.matches(labels):
                yield from self._owners[namespace, selector]


def _pairs(namespace: str, selector: Selector) -> list[_Pair]:
    equal = [r for r in selector.requirements if r.operator == "in" and len(r.values) == 1]
    return [(namespace, r.key, r.values[0]) for r in equal]
