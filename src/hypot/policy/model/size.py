"""The size of one container, current or desired. Amounts are millicores and bytes."""

from collections.abc import Callable, Collection, Iterable, Mapping
from math import inf
from typing import Any, NamedTuple

from hypot.core.amount import RESOURCES, brief, brief_pair, readable

# `max` or `min`: picks the larger or the smaller of two amounts.
Edge = Callable[[float, float], float]

# A container name and a resource.
Place = tuple[str, str]


class Size(NamedTuple):
    """Requests and limits of one container; an absent resource is unset."""

    container: str
    requests: Mapping[str, int] = {}
    limits: Mapping[str, int] = {}

    def only(self, resources: Collection[str]) -> "Size":
        """The same size with only these resources."""
        requests, limits = ({r: a for r, a in of.items() if r in resources} for of in (self.requests, self.limits))
        return Size(self.container, requests, limits)

    def to_dict(self) -> dict[str, Any]:
        """The `resources` block of a manifest."""
        written = {"requests": shown(self.requests), "limits": shown(self.limits)}
        return {key: amounts for key, amounts in written.items() if amounts}


def shown(amounts: Mapping[str, int]) -> dict[str, str]:
    return {resource: readable(resource, amounts[resource]) for resource in RESOURCES if resource in amounts}


def briefly(amounts: Mapping[str, int]) -> dict[str, str]:
    """For messages, where amounts may be rounded."""
    return {resource: brief(resource, amounts[resource]) for resource in RESOURCES if resource in amounts}


def changes_of(had: Mapping[str, int], gets: Mapping[str, int]) -> dict[str, tuple[str, str]]:
    """The resources whose amount changes, with the old and the new amount for messages."""
    changed = [resource for resource in RESOURCES if resource in gets and gets[resource] != had.get(resource)]
    return {
        resource: brief_pair(resource, had[resource], gets[resource])
        if resource in had
        else ("unset", brief(resource, gets[resource]))
        for resource in changed
    }


def resources_of(sizes: Iterable[Size]) -> dict[str, Any]:
    """The `resources` of each container, by its name."""
    return {size.container: size.to_dict() for size in sizes}


def between(had: Size, gets: Size, edge: Edge) -> Size:
    """The larger or the smaller of both for each amount: an unset request counts as 0, an unset limit as infinite."""
    requests = _each(had.requests, gets.requests, edge, 0)
    return Size(gets.container, requests, _each(had.limits, gets.limits, edge, inf))


def _each(had: Mapping[str, int], gets: Mapping[str, int], edge: Edge, unset: float) -> dict[str, int]:
    chosen: dict[str, int] = {}
    for resource in dict.fromkeys((*gets, *had)):
        old, new = had.get(resource, unset), gets.get(resource, unset)
        source = had if edge(old, new) == old else gets
        if resource in source:
            chosen[resource] = source[resource]
    return chosen
