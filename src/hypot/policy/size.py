"""What one container of a pod has, or is to have. Amounts: millicores and bytes."""

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from hypot.core.amount import RESOURCES, brief, readable


class Size(NamedTuple):
    """Requests and limits of one container; what is absent is unset."""

    container: str
    requests: Mapping[str, int] = {}
    limits: Mapping[str, int] = {}

    def to_dict(self) -> dict[str, Any]:
        """As a manifest writes `resources`."""
        written = {"requests": shown(self.requests), "limits": shown(self.limits)}
        return {key: amounts for key, amounts in written.items() if amounts}


def shown(amounts: Mapping[str, int]) -> dict[str, str]:
    return {resource: readable(resource, amounts[resource]) for resource in RESOURCES if resource in amounts}


def briefly(amounts: Mapping[str, int]) -> dict[str, str]:
    """For sentences, where digits may be cut."""
    return {resource: brief(resource, amounts[resource]) for resource in RESOURCES if resource in amounts}


def resources_of(sizes: Iterable[Size]) -> dict[str, Any]:
    """The `resources` of each container, by its name."""
    return {size.container: size.to_dict() for size in sizes}
