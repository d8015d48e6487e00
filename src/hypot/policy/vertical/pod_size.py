"""One pod and its desired size: whether it has the size, and whether it would fit a node."""

from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from hypot.core.amount import RESOURCES, brief, of_milli
from hypot.policy.model.seen import ClusterNode, Container, Pod
from hypot.policy.model.size import Size
from hypot.policy.vertical.fit import amounts

Sizes = Mapping[str, Size]
# Why a new pod would not get another size.
WHOLE = "it has pod-level resources, which new pods keep"


class PlannedContainer(NamedTuple):
    """A container in the plan, the amounts that the plan names, and the complete size to request."""

    container: Container
    named: Size
    size: Size

    @property
    def asked(self) -> bool:
        """Whether the pod's own spec has the size."""
        return self._is(self.container.requests, self.container.limits)

    @property
    def actual(self) -> bool:
        """Whether the container actually has the size."""
        return self._is(self.container.current_requests, self.container.current_limits)

    @property
    def enough(self) -> bool:
        """Whether the container actually has at least the requests."""
        return all(had >= wanted for _, had, wanted in self._requests())

    @property
    def lowered(self) -> bool:
        """Whether any actual request is higher than the desired one."""
        return any(had > wanted for _, had, wanted in self._requests())

    @property
    def restarts(self) -> bool:
        """Whether this size restarts the container."""
        changed = {resource for resource, had, wanted in (*self._requests(), *self._limits()) if had != wanted}
        return bool(changed & self.container.restarts_on_resize)

    def _is(self, requests: Mapping[str, int], limits: Mapping[str, int]) -> bool:
        return _includes(amounts(requests), self.named.requests) and _includes(amounts(limits), self.named.limits)

    def _requests(self) -> Iterator[tuple[str, int, int]]:
        had = amounts(self.container.current_requests)
        return ((resource, had.get(resource, 0), wanted) for resource, wanted in self.named.requests.items())

    def _limits(self) -> Iterator[tuple[str, int, int]]:
        had = amounts(self.container.current_limits)
        return ((resource, had.get(resource, 0), wanted) for resource, wanted in self.named.limits.items())


def _includes(given: Mapping[str, int], wanted: Mapping[str, int]) -> bool:
    return all(given.get(resource) == amount for resource, amount in wanted.items())


def parts_of(containers: Iterable[Container], sizes: Sizes) -> list[PlannedContainer]:
    """The containers in the plan. Native sidecars are left out."""
    return [
        _part(container, sizes[container.name])
        for container in containers
        if container.name in sizes and not container.sidecar
    ]


def _part(container: Container, size: Size) -> PlannedContainer:
    """A resize cannot remove a value, so values that the plan does not name are requested unchanged."""
    named = Size(container.name, _known(size.requests), _known(size.limits))
    requests = {**amounts(container.requests), **named.requests}
    return PlannedContainer(
        container, named, Size(container.name, requests, {**amounts(container.limits), **named.limits})
    )


def _known(given: Mapping[str, int]) -> dict[str, int]:
    return {resource: given[resource] for resource in RESOURCES if resource in given}


def has_size(pod: Pod, sizes: Sizes) -> bool:
    """Whether the pod requests the size and actually has it."""
    return all(part.asked and part.actual for part in parts_of(pod.containers, sizes))


def has_enough(pod: Pod, sizes: Sizes) -> bool:
    return all(part.enough for part in parts_of(pod.containers, sizes))


def node_obstacle(pod: Pod, sizes: Iterable[Size], nodes: Mapping[str, ClusterNode]) -> str:
    """Why its node could not grant the sizes even if the pod were alone on it; empty if it could."""
    node = nodes.get(pod.node)
    needed = _needed(pod, sizes)
    lacked = None if node is None else _lacked(node, needed)
    if node is None or lacked is None:
        return ""
    there = brief(lacked, of_milli(lacked, node.allocatable[lacked]))
    return f"it would request {brief(lacked, needed[lacked])} of {lacked}, and node {node.name} has {there} in total"


def _needed(pod: Pod, sizes: Iterable[Size]) -> dict[str, int]:
    """What the pod would request with these sizes."""
    asked = {size.container: size.requests for size in sizes}
    requests = [*[asked.get(c.name, amounts(c.requests)) for c in pod.containers], amounts(pod.overhead)]
    return {resource: sum(of.get(resource, 0) for of in requests) for resource in RESOURCES}


def _lacked(node: ClusterNode, needed: Mapping[str, int]) -> str | None:
    """A resource of which the node has too little, even without other pods."""
    there = node.allocatable
    return next((r for r in RESOURCES if r in there and needed[r] > of_milli(r, there[r])), None)


def fits_nowhere(pod: Pod, sizes: Sizes, nodes: Mapping[str, ClusterNode]) -> bool:
    """Whether the pod would fit no node, even if alone there; False if no node is known."""
    needed = _needed(pod, [part.size for part in parts_of(pod.containers, sizes)])
    return bool(nodes) and all(_lacked(node, needed) for node in nodes.values())
