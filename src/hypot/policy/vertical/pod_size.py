"""One pod and the size that it is to have: how it stands to it, and whether a node could hold it."""

from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from hypot.core.amount import RESOURCES, brief, of_milli
from hypot.policy.model.seen import ClusterNode, Container, Pod
from hypot.policy.model.size import Size
from hypot.policy.vertical.fit import amounts

Sizes = Mapping[str, Size]
# Why no new pod would come up with another size.
WHOLE = "it has resources as a whole, which new pods keep"


class PlannedContainer(NamedTuple):
    """A container that the plan names, what it is to have of it, and the whole size to ask for."""

    container: Container
    named: Size
    size: Size

    @property
    def asked(self) -> bool:
        """Whether the pod's own spec has the size."""
        return self._is(self.container.requests, self.container.limits)

    @property
    def actual(self) -> bool:
        """Whether the container really has it."""
        return self._is(self.container.current_requests, self.container.current_limits)

    @property
    def enough(self) -> bool:
        """Whether the container really has no less."""
        return all(had >= wanted for _, had, wanted in self._requests())

    @property
    def lowered(self) -> bool:
        """Whether it really has more of anything than it is to have."""
        return any(had > wanted for _, had, wanted in self._requests())

    @property
    def restarts(self) -> bool:
        """Whether the container is restarted for this size."""
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
    """The containers that the plan names. Native sidecars are left alone."""
    return [
        _part(container, sizes[container.name])
        for container in containers
        if container.name in sizes and not container.sidecar
    ]


def _part(container: Container, size: Size) -> PlannedContainer:
    """A resize cannot take away what is set, so what the plan does not name is asked for as it is."""
    named = Size(container.name, _known(size.requests), _known(size.limits))
    requests = {**amounts(container.requests), **named.requests}
    return PlannedContainer(
        container, named, Size(container.name, requests, {**amounts(container.limits), **named.limits})
    )


def _known(given: Mapping[str, int]) -> dict[str, int]:
    return {resource: given[resource] for resource in RESOURCES if resource in given}


def has_size(pod: Pod, sizes: Sizes) -> bool:
    """Whether the pod asks for the size and really has it."""
    return all(part.asked and part.actual for part in parts_of(pod.containers, sizes))


def has_enough(pod: Pod, sizes: Sizes) -> bool:
    return all(part.enough for part in parts_of(pod.containers, sizes))


def node_obstacle(pod: Pod, sizes: Iterable[Size], nodes: Mapping[str, ClusterNode]) -> str:
    """What its node could not grant even if the pod were alone on it."""
    node = nodes.get(pod.node)
    needed = _needed(pod, sizes)
    lacked = None if node is None else _lacked(node, needed)
    if node is None or lacked is None:
        return ""
    there = brief(lacked, of_milli(lacked, node.allocatable[lacked]))
    return f"it would ask for {brief(lacked, needed[lacked])} of {lacked} and node {node.name} has {there} in all"


def _needed(pod: Pod, sizes: Iterable[Size]) -> dict[str, int]:
    """What the pod would ask for with these sizes."""
    asked = {size.container: size.requests for size in sizes}
    requests = [*[asked.get(c.name, amounts(c.requests)) for c in pod.containers], amounts(pod.overhead)]
    return {resource: sum(of.get(resource, 0) for of in requests) for resource in RESOURCES}


def _lacked(node: ClusterNode, needed: Mapping[str, int]) -> str | None:
    """What a node has too little of, though nobody else were on it."""
    there = node.allocatable
    return next((r for r in RESOURCES if r in there and needed[r] > of_milli(r, there[r])), None)


def fits_nowhere(pod: Pod, sizes: Sizes, nodes: Mapping[str, ClusterNode]) -> bool:
    """Whether no node could hold the pod, were it alone there; where no node is known, nobody can tell."""
    needed = _needed(pod, [part.size for part in parts_of(pod.containers, sizes)])
    return bool(nodes) and all(_lacked(node, needed) for node in nodes.values())
