"""The least that a plan for now asks for, whatever the metrics say."""

from collections.abc import Mapping
from typing import NamedTuple

# The annotation that plans one.
SCHEDULE = "hypot.dev/schedule"
EVERY_CONTAINER = "*"


class Floor(NamedTuple):
    """The least replicas, and the least amounts of resources by container."""

    replicas: int = 0
    sizes: tuple[tuple[str, tuple[tuple[str, int], ...]], ...] = ()

    def minimum(self, low: int | None, most: int | None) -> int | None:
        """The least replicas of an object with these bounds: its minimum, or this floor if its maximum allows more."""
        if not self.replicas or most is None:
            return low
        return max(min(self.replicas, most), 1 if low is None else low)

    def least(self, container: str) -> dict[str, int]:
        """The least amounts of a container."""
        found: dict[str, int] = {}
        for name, amounts in self.sizes:
            if name in {container, EVERY_CONTAINER}:
                found = higher(found, dict(amounts))
        return found


NO_FLOOR = Floor()


def higher(one: Mapping[str, int], other: Mapping[str, int]) -> dict[str, int]:
    """The higher amount of each resource."""
    return {resource: max(one.get(resource, 0), other.get(resource, 0)) for resource in (*one, *other)}
