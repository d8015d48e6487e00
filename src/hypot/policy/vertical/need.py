"""Whether a pod needs another size: how far it is from the recommendation, and what the autoscaler requires first."""

from collections.abc import Iterable, Mapping, Sequence
from math import inf
from typing import Any, NamedTuple

from hypot.core.amount import CPU, MEMORY, RESOURCES, brief, of_milli, to_milli
from hypot.core.sizes.disruption import (
    KILLED_IN_VAIN,
    KILLED_YOUNG,
    LASTING,
    OUTSIDE,
    SAME,
    SMALL,
    TOO_YOUNG,
    WANTED,
    why_change,
)
from hypot.kinds.values.names import dns_label
from hypot.kinds.vpa.fields import HIGHER, LOWER, OFF, EvictionRequirement, ResourcePolicy, policy_of
from hypot.kinds.vpa.knobs import Knobs
from hypot.policy.model.decision import show_seconds
from hypot.policy.model.seen import Bounds, Container, Pod

# The containers that a pod had when its size was set; others were injected later and are not ours.
OBSERVED_CONTAINERS = "vpaObservedContainers"
OOM_KILLED = "OOMKilled"


class Priority(NamedTuple):
    """How urgent a pod's change is; `why` names the first request that is out of bounds."""

    outside_range: bool = False
    scale_up: bool = False
    resource_diff: float = 0.0
    why: str = ""


class PodNeed(NamedTuple):
    """Whether to change a pod, by which rule, and why, as a clause of a sentence."""

    wanted: bool
    rule: str
    message: str


def observed_containers(pod: Pod) -> frozenset[str]:
    """The containers that count; all if the annotation is absent or unreadable, none if it is empty."""
    present = frozenset(container.name for container in pod.containers)
    written = pod.annotations.get(OBSERVED_CONTAINERS)
    if not isinstance(written, str):
        return present
    names = written.split(", ") if written else []
    return present if any(True for name in names for _ in dns_label(name)) else present & frozenset(names)


def priority(pod: Pod, bounds: Iterable[Bounds], observed: Iterable[str]) -> Priority:
    """How far the requests are from the recommendation, over all containers that count and have one."""
    advised = {each.container: each for each in bounds}
    counted = frozenset(observed)
    totals: dict[str, tuple[int, int]] = {}
    outside: list[str] = []
    scale_up = False
    for container in sorted(pod.containers, key=lambda each: each.name):
        if container.name not in counted or container.name not in advised:
            continue
        own = advised[container.name]
        for resource in RESOURCES:
            if resource not in own.target:
                continue
            request, target = container.current_requests.get(resource), to_milli(resource, own.target[resource])
            had, wanted = totals.get(resource, (0, 0))
            totals[resource] = had + (request or 0), wanted + target
            scale_up = scale_up or request is None or target > request
            outside += _outside(container.name, resource, request, own)
    diff = sum(abs(had - wanted) / max(had, 1) for had, wanted in (totals[r] for r in RESOURCES if r in totals))
    return Priority(bool(outside), scale_up, diff, outside[0] if outside else "")


def _outside(container: str, resource: str, request: int | None, own: Bounds) -> list[str]:
    """At most one clause: the request is missing, too low or too high."""
    if request is None:
        return [f"container {container} has no request for {resource}"]
    shown = f"{resource} of {container} is {brief(resource, of_milli(resource, request))}"
    lower, upper = own.lower.get(resource), own.upper.get(resource)
    if lower is not None and request < to_milli(resource, lower):
        return [f"{shown}, below its lower bound of {brief(resource, lower)}"]
    if upper is not None and request > to_milli(resource, upper):
        return [f"{shown}, above its upper bound of {brief(resource, upper)}"]
    return []


def quick_oom(pod: Pod, observed: Iterable[str], policy: ResourcePolicy | None, threshold: float) -> Container | None:
    """The container that was last OOM-killed soon after its start: waiting would not help it."""
    counted, found, last = frozenset(observed), None, -inf
    for container in sorted(pod.containers, key=lambda each: each.name):
        own, at = policy_of(policy, container.name), _killed_young(container, threshold)
        if container.name in counted and not (own is not None and own.mode == OFF) and at > last:
            found, last = container, at
    return found


def dies_again(killed: Container, window: float, now: float) -> bool:
    """Whether the container is in a loop of OOM kills: it would be killed again before a resize takes effect."""
    return killed.ended is not None and killed.ended.finished is not None and now - killed.ended.finished < window


def _killed_young(container: Container, threshold: float) -> float:
    """When it was OOM-killed soon after its start; minus infinity if it was not."""
    ended = container.ended
    if ended is None or ended.reason != OOM_KILLED or ended.started is None or ended.finished is None:
        return -inf
    return ended.finished if ended.finished - ended.started < threshold else -inf


def needs_update(rank: Priority, killed: Container | None, age: float | None, knobs: Knobs) -> PodNeed:
    """Whether to change a pod, and why."""
    lived, least = -inf if age is None else age, knobs.lifetime_threshold
    outside, difference = rank.outside_range, rank.resource_diff
    why = why_change(killed is not None, outside, difference, lived, least, knobs.update_threshold)
    if age is None and why == TOO_YOUNG:
        return PodNeed(wanted=False, rule="start-unknown", message="within bounds, and its start time is unknown")
    return PodNeed(why in WANTED, _RULES[why], _message(why, rank, killed, lived, knobs))


_RULES = {
    KILLED_YOUNG: "quick-oom",
    KILLED_IN_VAIN: "oom-without-change",
    OUTSIDE: "outside-bounds",
    SAME: "within-bounds",
    TOO_YOUNG: "too-young",
    SMALL: "small-change",
    LASTING: "lasting-difference",
}


def _message(why: int, rank: Priority, killed: Container | None, age: float, knobs: Knobs) -> str:
    if why == OUTSIDE:
        return rank.why or "a request is outside its bounds"
    if why == SAME:
        return "within bounds, and its requests add up to the target"
    if killed is not None:
        message = f"container {killed.name} was OOM-killed soon after its start"
        return f"{message}, but no other size is recommended" if why == KILLED_IN_VAIN else message
    if why == TOO_YOUNG:
        return f"within bounds, and started {show_seconds(age)} ago, less than {show_seconds(knobs.lifetime_threshold)}"
    far = f"{rank.resource_diff * 100:.3g} % away from its target"
    if why == SMALL:
        return f"within bounds, and {far}, less than {knobs.update_threshold * 100:.3g} %"
    return f"within bounds, but {far} at an age of {show_seconds(age)}"


def in_order(rank: Priority, name: str) -> tuple[bool, float, str]:
    """The sort key of pods: those to scale up first, then those furthest from the target, then by name."""
    return not rank.scale_up, -rank.resource_diff, name


def admits(pod: Pod, bounds: Iterable[Bounds], requirements: Sequence[EvictionRequirement] | None) -> bool:
    """Whether the autoscaler's eviction requirements allow the change: all of them must hold for one container."""
    if requirements is None:
        return True
    advised = {each.container: each for each in bounds}
    return any(
        _meets(container.current_requests, advised[container.name].target, requirements)
        for container in pod.containers
        if container.name in advised
    )


def _meets(requests: Mapping[str, int], target: Mapping[str, int], requirements: Sequence[EvictionRequirement]) -> bool:
    if not requests.get(CPU) or not requests.get(MEMORY):
        return True
    return all(_holds(requests, target, one) for one in requirements)


def _holds(requests: Mapping[str, int], target: Mapping[str, int], one: Any) -> bool:
    """Whether one of the resources changes in the required direction. An unreadable requirement never holds."""
    named = one.resources if isinstance(one, EvictionRequirement) else ()
    for resource in named if isinstance(named, list | tuple) else ():
        if resource not in RESOURCES or resource not in target:
            continue
        change = to_milli(resource, target[resource]) - requests[resource]
        if (one.change == HIGHER and change > 0) or (one.change == LOWER and change < 0):
            return True
    return False
