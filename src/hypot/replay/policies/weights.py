"""The weight-based policy of released HVPAs, kept for comparison: nothing in hypot decides by it.

It blends the proposals of an HPA and a VPA by a weight in percent. There are two variants: the plain blend of the
documentation, and that of the released controller, which raises requests only where replicas cannot scale up.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

from hypot.core.amount import RESOURCES
from hypot.core.axes.interval import least_change, scaled_limit
from hypot.kinds.hvpa.intervals import Share
from hypot.kinds.hvpa.weights import FULL, Weight, weight_at
from hypot.policy.hvpa.gates import DEFAULT_LEAST_CHANGE, closed_by
from hypot.policy.model.decision import Decision, condition_of
from hypot.policy.model.size import Size


def plain_blend(current: int, desired: int, weight: int) -> int:
    """The replicas by the documentation: the weighted step, rounded half up."""
    return current + ((desired - current) * (FULL - weight) * 2 + FULL) // (2 * FULL)


def blended(now: int, target: int, weight: int) -> int:
    return now + (target - now) * weight // FULL


def released_count(current: int, desired: int, weight: int) -> int:
    """The replicas by the released controller: it rounds the step away from zero, up and down."""
    step = (desired - current) * (FULL - weight)
    return current + (-(-step // FULL) if step > 0 else step // FULL)


def weight_for_count(weights: Sequence[Weight], current: int, desired: int) -> int:
    """The weight for replicas. If all weight is on size, the nearest weight in that direction below 100 applies."""
    weight = weight_at(weights, current)
    if weight is None:
        return FULL
    if weight < FULL:
        return weight
    beside = [w for w in weights if (w.first > current if desired > current else w.last < current)]
    found = [w.percent for w in (beside if desired > current else reversed(beside)) if w.percent < FULL]
    return found[0] if found else FULL


def is_count_limited(asked: Decision) -> bool:
    """Whether the HPA asks for more than its maximum, by its own condition: only then may requests rise."""
    limited = condition_of(asked.conditions, "ScalingLimited")
    return limited is not None and (limited.status, limited.reason) == ("True", "TooManyReplicas")


@dataclass(frozen=True, slots=True)
class Direction:
    """How one axis may move in one direction."""

    mode: Literal["Auto", "Off", "MaintenanceWindow"] = "Auto"
    stabilization: float = 0.0
    least: Mapping[str, Share] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Blend:
    """Everything that the released controller is configured with."""

    weights: tuple[Weight, ...]
    count_up: Direction = Direction()
    count_down: Direction = Direction()
    size_up: Direction = Direction()
    size_down: Direction = Direction()
    limits_gap: Mapping[str, Share] = field(default_factory=dict)
    requests_only: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Situation:
    """What the controller observes: replicas and the HPA's proposal, sizes and the VPA's proposals."""

    replicas: int
    desired: int | None
    count_limited: bool
    sizes: tuple[Size, ...]
    targets: Mapping[str, Mapping[str, int]]
    since_last: float | None = None
    in_window: bool = True
    urgent: bool = False


class Blended(NamedTuple):
    replicas: int
    sizes: tuple[Size, ...]
    blocked: frozenset[str]


def released(blend: Blend, now: Situation) -> Blended:
    """One reconcile of the released controller; each axis has its own gates."""
    blocked: set[str] = set()
    replicas = _count(blend, now, blocked)
    sizes = tuple([_resized(blend, now, size, blocked) for size in now.sizes])
    return Blended(replicas, sizes, frozenset(blocked))


def _count(blend: Blend, now: Situation, blocked: set[str]) -> int:
    if now.desired is None or now.desired == now.replicas:
        return now.replicas
    up = now.desired > now.replicas
    weight = weight_for_count(blend.weights, now.replicas, now.desired)
    reason = "Weight" if weight == FULL else _closed(blend.count_up if up else blend.count_down, now, up=up)
    if reason:
        blocked.add(reason)
        return now.replicas
    return released_count(now.replicas, now.desired, weight)


def _closed(direction: Direction, now: Situation, *, up: bool) -> str:
    patient = not (up and now.urgent)
    return closed_by(direction.mode, direction.stabilization, now.since_last, patient=patient, in_window=now.in_window)


def _resized(blend: Blend, now: Situation, size: Size, blocked: set[str]) -> Size:
    weight = weight_at(blend.weights, now.replicas) or 0
    requests, limits = dict(size.requests), dict(size.limits)
    for resource in RESOURCES:
        target, old = now.targets.get(size.container, {}).get(resource), size.requests.get(resource, 0)
        if target is None or target == old:
            continue
        wanted = blended(old, target, weight)
        reason = _why_not(blend, now, resource, old, wanted, weight)
        if reason:
            blocked.add(reason)
            continue
        only_requests = size.container in blend.requests_only
        requests[resource] = min(wanted, limits.get(resource, wanted)) if only_requests else wanted
        if resource in limits and not only_requests:
            gap = blend.limits_gap.get(resource, Share())
            limits[resource] = scaled_limit(limits[resource], size.requests.get(resource), wanted, *gap, 1)
    return Size(size.container, requests, limits)


def _why_not(blend: Blend, now: Situation, resource: str, old: int, wanted: int, weight: int) -> str:
    if weight == 0:
        return "Weight"
    up = wanted > old
    direction = blend.size_up if up else blend.size_down
    if up and not (now.count_limited or now.urgent):
        return "UpdatePolicy"
    closed = _closed(direction, now, up=up)
    if closed or (up and now.urgent):
        return closed
    share = direction.least.get(resource, Share())
    needed = least_change(share.value, share.percent, old, DEFAULT_LEAST_CHANGE[resource])
    return "MinChange" if abs(wanted - old) < needed else ""
