"""The sizes of an Hvpa within the LimitRanges of its namespace: new pods would come up with no others."""

from hypot.core.disruption import is_more
from hypot.kinds.hvpa import Hvpa
from hypot.kinds.hvpa.intervals import allowed
from hypot.policy.model.current_size import live
from hypot.policy.model.seen import Seen
from hypot.policy.model.size import Size
from hypot.policy.vertical.limits import admits, resized, within

Sizes = tuple[Size, ...]


def in_ranges(hvpa: Hvpa, seen: Seen, had: Sizes, wanted: Sizes) -> Sizes:
    """What of these sizes the namespace takes; all of them where nobody knows, for then what comes up will show it.

    By a pod that is there, for a template lacks what a LimitRange adds to it.
    """
    pods, ranges = live(seen.pods), seen.limit_ranges
    if not ranges or not pods or had == wanted:
        return wanted
    # In whichever order they came, so that the same cluster is always decided on alike.
    pod = min(pods, key=lambda each: each.name)
    fitted = {each.container: each for each in within(_decided_on(hvpa, wanted), pod, ranges)}
    taken = tuple([_with(size, fitted.get(size.container)) for size in wanted])
    steady = tuple([_steady(*each) for each in zip(had, wanted, taken, strict=True)])
    return steady if admits(resized(pod, steady), ranges) else taken


def loses(had: Sizes, current: int, wanted: Sizes, taken: Sizes, replicas: int) -> bool:
    """Whether so many pods would have less in total than there is, only because no more is taken."""
    return any(
        amount < asked.requests[resource] and is_more(old.requests.get(resource, 0), current, amount, replicas)
        for old, asked, gets in zip(had, wanted, taken, strict=True)
        for resource, amount in gets.requests.items()
    )


def _decided_on(hvpa: Hvpa, sizes: Sizes) -> Sizes:
    """What of these is this autoscaler's to change, request and limit together."""
    bounds = {size.container: allowed(hvpa, size.container) for size in sizes}
    return tuple(
        [
            Size(name, *({r: a for r, a in part.items() if r in bounds[name].controlled} for part in parts))
            for name, *parts in sizes
            if not bounds[name].switched_off and not bounds[name].requests_only
        ]
    )


def _with(size: Size, other: Size | None) -> Size:
    if other is None:
        return size
    return Size(size.container, {**size.requests, **other.requests}, {**size.limits, **other.limits})


def _steady(had: Size, wanted: Size, taken: Size) -> Size:
    """What is cut goes no other way than is wanted, nor on by rounding alone: that would never end."""
    requests, limits = dict(taken.requests), dict(taken.limits)
    for resource, amount in taken.requests.items():
        if resource in had.requests and _amounts(taken, resource) != _amounts(wanted, resource):
            up = wanted.requests[resource] > had.requests[resource]
            if not (_grows(had, taken, resource) if up else amount < had.requests[resource]):
                requests[resource] = had.requests[resource]
                limits |= {r: limit for r, limit in had.limits.items() if r == resource}
    return Size(had.container, requests, limits)


def _amounts(size: Size, resource: str) -> tuple[int | None, int | None]:
    return size.requests.get(resource), size.limits.get(resource)


def _grows(had: Size, taken: Size, resource: str) -> bool:
    """Where there is a limit it grows as well: one that is at its edge is reached already."""
    limit = had.limits.get(resource)
    return taken.requests[resource] > had.requests[resource] and (limit is None or taken.limits[resource] > limit)
