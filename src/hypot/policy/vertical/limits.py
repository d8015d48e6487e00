"""What the LimitRanges of a namespace accept: the API server's checks of every new pod, and sizes that pass them."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from hypot.core.amount import RESOURCES, to_milli
from hypot.policy.model.seen import Bounds, Container, LimitRange, Pod
from hypot.policy.model.size import Size
from hypot.policy.vertical.fit import fit

Amounts = Mapping[str, int]


def within(sizes: tuple[Size, ...], pod: Pod, limit_ranges: Sequence[LimitRange]) -> tuple[Size, ...]:
    """These sizes, or if a LimitRange would reject them, proportional sizes that it accepts; empty if there are none.

    Both the decisions on sizes and the webhook call this, so that new pods get exactly what was decided.
    """
    wanted = resized(pod, sizes)
    if admits(wanted, limit_ranges):
        return sizes
    named = {size.container for size in sizes}
    others_stay = [replace(each, sidecar=each.sidecar or each.name not in named) for each in wanted.containers]
    bounds = [Bounds(size.container, size.requests) for size in sizes]
    fitted = fit(bounds, None, replace(wanted, containers=tuple(others_stay)), limit_ranges)
    moved = tuple([each.patch for each in fitted.containers])
    return moved if admits(resized(pod, moved), limit_ranges) else ()


def resized(pod: Pod, sizes: Iterable[Size]) -> Pod:
    """The pod as it would start with these sizes."""
    given = {size.container: size for size in sizes}
    return replace(pod, containers=tuple([_resized(each, given.get(each.name)) for each in pod.containers]))


def _resized(container: Container, size: Size | None) -> Container:
    """The actual resources are dropped: the kubelet reports those of the running container."""
    requests, limits = ({}, {}) if size is None else (_milli(size.requests), _milli(size.limits))
    return replace(
        container,
        requests={**container.requests, **requests},
        limits={**container.limits, **limits},
        actual_requests=None,
        actual_limits=None,
    )


def _milli(given: Amounts) -> dict[str, int]:
    return {resource: to_milli(resource, given[resource]) for resource in RESOURCES if resource in given}


def admits(pod: Pod, limit_ranges: Iterable[LimitRange]) -> bool:
    """Whether cpu and memory of this pod are within all ranges, and no container requests more than its limit."""
    if any(_contradicts(container) for container in pod.containers):
        return False
    return all(_takes(each, pod) for each in limit_ranges)


def _contradicts(container: Container) -> bool:
    limits = container.limits
    return any(r in limits and container.requests.get(r, 0) > limits[r] for r in RESOURCES)


def _takes(limit_range: LimitRange, pod: Pod) -> bool:
    if limit_range.type == "Container":
        return all(_bounded(limit_range, each.requests, each.limits) for each in pod.containers)
    if limit_range.type == "Pod":
        return all(
            _bounded(limit_range, _together(pod, "requests", beside=beside), _together(pod, "limits", beside=beside))
            for beside in (False, True)
        )
    return True


def _together(pod: Pod, part: str, *, beside: bool) -> dict[str, int]:
    """The sum of the containers that run all the time, or the largest init container if that is more.

    Sidecars that start before an init container run next to it; the order is unknown here, so the sums with and without
    them must both fit.
    """
    running: list[Amounts] = [getattr(each, part) for each in pod.containers]
    sidecars: list[Amounts] = [getattr(each, part) for each in pod.containers if each.sidecar and beside]
    before: list[Amounts] = [getattr(each, part) for each in pod.init_containers]
    found: dict[str, int] = {}
    for resource in RESOURCES:
        if any(resource in each for each in (*running, *before)):
            started = sum(each.get(resource, 0) for each in sidecars)
            starting = max((each.get(resource, 0) + started for each in before), default=0)
            found[resource] = max(sum(each.get(resource, 0) for each in running), starting)
    return found


def _bounded(limit_range: LimitRange, requests: Amounts, limits: Amounts) -> bool:
    """Whether all bounds hold. A minimum requires a request, a maximum a limit, and a ratio both."""
    ratios: Amounts = limit_range.ratio
    return all(
        _above(limit_range.low.get(r), requests.get(r), limits.get(r))
        and _below(limit_range.high.get(r), requests.get(r), limits.get(r))
        and _near(ratios.get(r), requests.get(r), limits.get(r))
        for r in RESOURCES
    )


def _above(low: int | None, request: int | None, limit: int | None) -> bool:
    return low is None or (request is not None and request >= low and (limit is None or limit >= low))


def _below(high: int | None, request: int | None, limit: int | None) -> bool:
    return high is None or (limit is not None and limit <= high and (request is None or request <= high))


def _near(ratio: int | None, request: int | None, limit: int | None) -> bool:
    return ratio is None or (bool(request) and bool(limit) and (limit or 0) * 1000 <= ratio * (request or 0))
