"""Fits decided sizes to the LimitRanges of a namespace, which every new pod must pass."""

from hypot.core.sizes.disruption import is_more
from hypot.kinds.base import Kind
from hypot.kinds.vpa.allowed import allowed
from hypot.policy.model.current_size import live
from hypot.policy.model.seen import Seen
from hypot.policy.model.size import Size
from hypot.policy.vertical.limits import admits, resized, within

Sizes = tuple[Size, ...]


def in_ranges(sizer: Kind, seen: Seen, had: Sizes, wanted: Sizes) -> Sizes:
    """These sizes within the LimitRanges; unchanged if there is no pod to check them with: new pods will show it.

    The check needs an existing pod, because a template lacks the defaults that a LimitRange adds.
    """
    pods, ranges = live(seen.pods), seen.limit_ranges
    if not ranges or not pods or had == wanted:
        return wanted
    # The first by name, so that the decision does not depend on the order of the pods.
    pod = min(pods, key=lambda each: each.name)
    fitted = {each.container: each for each in within(_decided_on(sizer, wanted), pod, ranges)}
    taken = tuple([_with(size, fitted.get(size.container)) for size in wanted])
    steady = tuple([_steady(*each) for each in zip(had, wanted, taken, strict=True)])
    return steady if admits(resized(pod, steady), ranges) else taken


def loses(had: Sizes, current: int, wanted: Sizes, taken: Sizes, replicas: int) -> bool:
    """Whether the pods would have less in total than now, only because the LimitRange does not allow more."""
    return any(
        amount < asked.requests[resource] and is_more(old.requests.get(resource, 0), current, amount, replicas)
        for old, asked, gets in zip(had, wanted, taken, strict=True)
        for resource, amount in gets.requests.items()
    )


def _decided_on(sizer: Kind, sizes: Sizes) -> Sizes:
    """The parts of these sizes that this autoscaler may change, request and limit together."""
    bounds = {size.container: allowed(sizer, size.container) for size in sizes}
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
    """Keep the old size if the cut one changes in the wrong direction or only by rounding, which would never end."""
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
    """Whether the request rises, and its limit too if there is one: a limit at its bound cannot rise."""
    limit = had.limits.get(resource)
    return taken.requests[resource] > had.requests[resource] and (limit is None or taken.limits[resource] > limit)
