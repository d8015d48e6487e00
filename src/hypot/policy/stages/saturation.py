"""Saturated pods use all they can get: their usage does not show what they need, so more is proposed at once."""

from collections.abc import Iterable, Mapping
from math import inf
from typing import NamedTuple

from hypot.core.amount import RESOURCES, brief, of_milli
from hypot.core.axes.saturation import beyond, fewest, is_at_cap, is_full, is_near, least_kept
from hypot.policy.model.current_size import live
from hypot.policy.model.seen import Container, Failure, Pod, Seen
from hypot.policy.model.size import Place


class ResourcePressure(NamedTuple):
    """The usage of one resource of one container over all sampled pods, and the cap that it cannot exceed."""

    usage: int
    cap: int | None
    at: float
    # Whether usage has reached the requests.
    reaches: bool

    @property
    def full(self) -> bool:
        return self.reaches and self.cap is not None and self.cap > 0 and is_at_cap(self.usage, self.cap)

    @property
    def near(self) -> bool:
        return self.cap is not None and self.cap > 0 and is_near(self.usage, self.cap)

    @property
    def total(self) -> int:
        """The total to propose, which is more than the cap."""
        return 0 if self.cap is None else beyond(self.cap)

    def least_kept(self, total: int) -> int:
        """The least that this total may shrink to."""
        return least_kept(total, self.usage, self.cap) if self.cap else 0

    def fewest(self, replicas: int) -> int:
        """The fewest of these replicas that may remain, if each can get as much as now."""
        return fewest(replicas, self.usage, self.cap) if self.cap else 0


# A pod, one of its containers, the usage of the container, and when it was measured.
_Measured = tuple[Pod, Container, Mapping[str, int], float]


class Saturation(NamedTuple):
    """What is saturated in two samples, what in one so far, and the times of the first samples to remember."""

    twice: Mapping[Place, ResourcePressure]
    once: Mapping[Place, ResourcePressure]
    hot: Mapping[str, float]
    # Everything that is measured.
    measured: Mapping[Place, ResourcePressure]
    # Usage reaches the request, and the cap is unknown.
    uncapped: tuple[Place, ...] = ()


def saturation(seen: Seen, containers: Iterable[str], remembered: Mapping[str, float]) -> Saturation:
    twice: dict[Place, ResourcePressure] = {}
    once: dict[Place, ResourcePressure] = {}
    hot: dict[str, float] = {}
    uncapped: list[Place] = []
    measured = _pressures(seen, frozenset(containers))
    for place, pressure in measured.items():
        if pressure.reaches and pressure.cap is None:
            uncapped.append(place)
        if not pressure.full:
            continue
        key = "/".join(place)
        # A sample older than the first means that a clock was set back.
        first = hot[key] = min(remembered.get(key, pressure.at), pressure.at)
        (twice if first < pressure.at else once)[place] = pressure
    return Saturation(twice, once, hot, measured, tuple(uncapped))


def _pressures(seen: Seen, names: frozenset[str]) -> dict[Place, ResourcePressure]:
    """The pressure of each measured container and resource."""
    if isinstance(seen.pod_metrics, Failure):
        return {}
    measured: dict[str, list[_Measured]] = {name: [] for name in sorted(names)}
    for pod in live(seen.pods):
        sample = seen.pod_metrics.get(pod.name)
        if sample is None:
            continue
        usages = dict(sample.containers)
        for container in pod.containers:
            if container.name in measured and container.name in usages:
                measured[container.name].append((pod, container, usages[container.name], sample.at))
    found = {(name, r): _pressure(seen, r, there) for name, there in measured.items() if there for r in RESOURCES}
    return {place: pressure for place, pressure in found.items() if pressure is not None}


def _pressure(seen: Seen, resource: str, measured: list[_Measured]) -> ResourcePressure | None:
    together = asked = 0
    newest = -inf
    for _, container, usage, at in measured:
        if resource in usage:
            together += usage[resource]
            asked += container.current_requests.get(resource, 0)
            newest = max(newest, at)
    if newest == -inf:
        return None
    cap = _cap(seen, resource, [(pod, container) for pod, container, usage, _ in measured if resource in usage])
    return ResourcePressure(
        of_milli(resource, together),
        None if cap is None else of_milli(resource, cap),
        newest,
        # A cap is never below the request.
        is_full(together, asked),
    )


def _cap(seen: Seen, resource: str, placed: list[tuple[Pod, Container]]) -> int | None:
    """All that these containers can get: each its limit, or its request plus, once per node, what is free there."""
    cap, roomy = 0, set()
    for pod, container in placed:
        limit = container.current_limits.get(resource)
        if limit is not None:
            cap += limit
            continue
        node = seen.nodes.get(pod.node)
        if node is None or resource not in node.allocatable:
            return None
        cap += container.current_requests.get(resource, 0)
        roomy.add(pod.node)
    free = [seen.nodes[name].allocatable[resource] - seen.nodes[name].requested.get(resource, 0) for name in roomy]
    return cap + sum(max(0, room) for room in free)


def usage_message(place: Place, pressure: ResourcePressure) -> str:
    name, resource = place
    used, cap = brief(resource, pressure.usage), brief(resource, pressure.cap or 0)
    return f"{resource} of {name} uses {used} of the {cap} that all measured pods together can get"
