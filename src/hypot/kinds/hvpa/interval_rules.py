"""The rules that make the intervals of an Hvpa well defined: every total maps to one count, and no count is missing."""

from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import pairwise
from typing import Any, NamedTuple

from hypot.core.amount import show
from hypot.core.axes.interval import HORIZONTAL_ONLY, LINEAR, Given, effective
from hypot.kinds.base import count_of
from hypot.kinds.hvpa.fields import EXTRAPOLATIONS, MOST_REPLICAS, HvpaSpec, ScalingInterval
from hypot.kinds.hvpa.intervals import last_count, share_of
from hypot.kinds.problem import Problem, Where, too_many, unsupported
from hypot.kinds.vpa.fields import OFF, RESOURCES, ContainerPolicy, amounts_of
from hypot.kinds.vpa.rules import resource_list_problems

MAX_INTERVALS = 50
_HERE: Where = ("spec", "scalingIntervals")
_IN_TOTAL = "the overlap is an amount for all pods together"
_NO_SIZE = "write a size of {0} in every interval, or controlledResources without {0} in the container policies"


class _View(NamedTuple):
    """The intervals as they apply to one container: its resources and their bounds."""

    resources: Sequence[str]
    least: Mapping[str, int]
    most: Mapping[str, int]


class _IntervalRow(NamedTuple):
    """One interval, its last count if known, and those of its sizes that are valid, as amounts."""

    at: Where
    interval: ScalingInterval
    end: int | None
    sizes: Mapping[str, int]


def interval_problems(hvpa: HvpaSpec) -> Iterator[Problem]:
    """Counts and sizes first. Totals and the overlap are checked only if those are valid."""
    intervals = hvpa.intervals or ()
    if not intervals:
        if not hvpa.weights:
            hint = "write one; an interval with maxReplicas and maxResources is enough"
            yield Problem("scaling-intervals", "Required", _HERE, "needs at least one interval", hint=hint)
        return
    if len(intervals) > MAX_INTERVALS:
        hint = "write fewer; one interval may span many counts"
        yield from too_many("scaling-intervals", len(intervals), MAX_INTERVALS, _HERE, hint)
        return
    views = _views(hvpa)
    rows = [
        _IntervalRow((*_HERE, i), interval, last_count(hvpa, interval), amounts_of(interval.max_resources))
        for i, interval in enumerate(intervals)
    ]
    found = [*_count_problems(rows, hvpa.min_replicas)]
    for row in rows:
        found += _size_problems(row, views)
        found += _bound_problems(row, views)
    yield from found
    yield from _last_count_problems(hvpa, rows[-1])
    if found:
        return
    yield from _once(_base_problems(hvpa, rows))
    totals = _once(_total_problems(rows, views))
    yield from totals
    if not totals and hvpa.overlap is not None:
        yield from _once(_overlap_problems(hvpa, rows, views))


def _views(hvpa: HvpaSpec) -> list[_View]:
    """One view for each container policy that is not Off; without any policy, one view for all containers."""
    policies = hvpa.container_policies
    written = (policies.containers or ()) if policies is not None else ()
    return [
        _View(
            RESOURCES if policy.controlled_resources is None else policy.controlled_resources,
            amounts_of(policy.min_allowed),
            amounts_of(policy.max_allowed),
        )
        for policy in written or (ContainerPolicy(),)
        if policy.mode != OFF
    ]


def _once(problems: Iterator[Problem]) -> list[Problem]:
    """One problem per path, even if several containers have it."""
    return list({problem.where: problem for problem in problems}.values())


def _count_problems(rows: Sequence[_IntervalRow], least: int) -> Iterator[Problem]:
    before = 0
    for row in rows:
        where, count = (*row.at, "maxReplicas"), row.end
        if row.interval.max_replicas is None and row is not rows[-1]:
            yield Problem("interval-replicas", "Required", where, "only the last interval may leave it out")
            continue
        if count is None:
            message = "must be set if the hpa block has no maxReplicas"
            yield Problem("interval-replicas", "Required", where, message)
        elif not 1 <= count <= MOST_REPLICAS:
            message = f"must be between 1 and {MOST_REPLICAS}"
            yield Problem("interval-replicas", "Invalid", where, message, count)
        elif count <= before:
            message = f"must be greater than {before}, where the interval before it ends"
            yield Problem("interval-replicas", "Invalid", where, message, count, "every count belongs to one interval")
        elif not before and count < least:
            message = f"must not be below minReplicas, which is {least}"
            yield Problem("interval-replicas", "Invalid", where, message, count)
        before = max(before, count or 0)


def _last_count_problems(hvpa: HvpaSpec, row: _IntervalRow) -> Iterator[Problem]:
    last, most = row.interval.max_replicas, hvpa.max_replicas
    if hvpa.uses_hpa and last is not None and most is not None and last != most:
        message = f"differs from maxReplicas of the hpa block, which is {most}: it bounds the HPA's proposal only"
        hint = "write the same count in both"
        yield Problem("last-interval", "Notice", (*row.at, "maxReplicas"), message, last, hint, severity="warning")


def _size_problems(row: _IntervalRow, views: Sequence[_View]) -> Iterator[Problem]:
    division = row.interval.extrapolation
    if division is not None and division not in EXTRAPOLATIONS:
        place = (*row.at, "effectiveIntervalExtrapolation")
        yield Problem("extrapolation", "NotSupported", place, unsupported(EXTRAPOLATIONS), division)
    mapping: Mapping[str, Any] = row.interval.max_resources or {}
    written = {name: amount for name, amount in mapping.items() if amount is not None}
    at = (*row.at, "maxResources")
    for name, amount in mapping.items():
        if name not in RESOURCES:
            message, hint = "is not a resource that pods are sized by", "valid fields: cpu, memory"
            yield Problem("interval-resource", "NotSupported", (*at, name), message, amount, hint)
    yield from resource_list_problems({name: written[name] for name in RESOURCES if name in written}, at)
    for name, size in row.sizes.items():
        if size == 0:
            yield Problem("interval-size", "Invalid", (*at, name), "must be greater than zero", written[name])
    if division == HORIZONTAL_ONLY:
        return
    for name in RESOURCES:
        if name not in written and any(name in view.resources and name not in view.most for view in views):
            message, hint = "must be set if maxAllowed does not set it", _NO_SIZE.format(name)
            yield Problem("interval-size", "Required", (*at, name), message, hint=hint)


def _bound_problems(row: _IntervalRow, views: Sequence[_View]) -> Iterator[Problem]:
    """Sizes that no container may have. Small sidecars may stay far below the size of the main container."""
    for name, size in row.sizes.items():
        of_it = [view for view in views if name in view.resources]
        least = max((view.least.get(name, 0) for view in of_it), default=0)
        caps = [view.most.get(name, size) for view in of_it]
        message = ""
        if size < least:
            message = f"must not be below minAllowed, which is {show(name, least)}"
        elif max(caps, default=size) < size:
            message = f"must not be above maxAllowed, which is {show(name, max(caps))}"
        if message:
            written = (row.interval.max_resources or {})[name]
            yield Problem("interval-bounds", "Invalid", (*row.at, "maxResources", name), message, written)


def _total_problems(rows: Sequence[_IntervalRow], views: Sequence[_View]) -> Iterator[Problem]:
    for view in views:
        for name in view.resources:
            before = 0
            for row in rows:
                size = row.sizes.get(name, view.most.get(name))
                if size is None:
                    continue
                total = (row.end or 0) * size
                if total <= before:
                    yield _total_problem(row, name, size, before)
                before = total


def _total_problem(row: _IntervalRow, name: str, size: int, before: int) -> Problem:
    total = f"{row.end} x {show(name, size)} = {show(name, (row.end or 0) * size)}"
    message = f"in total {total} of {name}, which must be more than the {show(name, before)} of the interval before it"
    written = row.interval.max_resources or {}
    where = (*row.at, "maxResources", name) if name in written else row.at
    return Problem("interval-total", "Invalid", where, message, written.get(name), "more pods must give a larger total")


def _base_problems(hvpa: HvpaSpec, rows: Sequence[_IntervalRow]) -> Iterator[Problem]:
    """A base load of a whole pod leaves nothing to share: where sizes are computed, it is ignored."""
    for name in RESOURCES:
        value, percent = share_of(hvpa.base, name).both
        where = ("spec", "baseResourcesPerReplica", name)
        too_small = [row for row in rows if name in row.sizes and value >= row.sizes[name]]
        if percent >= 100:
            message, hint = f"is {percent} percent of the request, so it is ignored", "write less than 100, or a value"
            yield Problem("base-load", "Notice", (*where, "percentage"), message, percent, hint, "warning")
        elif too_small:
            size, end = show(name, too_small[0].sizes[name]), count_of(too_small[0].end or 0, "replica")
            message = f"leaves nothing of the {size} that a pod may have at up to {end}"
            hint, written = "write what one replica uses without any load", getattr(hvpa.base, name).value
            yield Problem("base-load", "Notice", (*where, "value"), message, written, hint, "warning")


def _overlap_problems(hvpa: HvpaSpec, rows: Sequence[_IntervalRow], views: Sequence[_View]) -> Iterator[Problem]:
    """The overlap must not span the whole interval below a count."""
    for view in views:
        for name in view.resources:
            value, percent = share_of(hvpa.overlap, name).both
            sizes = [row.sizes.get(name, view.most.get(name)) for row in rows]
            if percent >= 100 and not view.least.get(name) and _may_fall(rows, hvpa.min_replicas):
                message = "is 100, so no replica is ever removed: no total is below an interval that begins at 0"
                where: Where = ("spec", "scalingIntervalsOverlap", name, "percentage")
                hint = "write less, or minAllowed in the container policies, below which replicas are removed"
                yield Problem("overlap-of-all", "Notice", where, message, percent, hint, "warning")
            if not value or None in sizes:
                continue
            given = tuple(
                Given(row.end or 0, size or 0, row.interval.extrapolation or LINEAR)
                for row, size in zip(rows, sizes, strict=True)
            )
            narrowest = _narrowest(given, hvpa.min_replicas, view.least.get(name, 0), value, percent)
            if narrowest is not None and value >= narrowest:
                message = f"must be less than {show(name, narrowest)}, the width of the narrowest interval"
                where = ("spec", "scalingIntervalsOverlap", name, "value")
                yield Problem("overlap", "Invalid", where, message, getattr(hvpa.overlap, name).value, _IN_TOTAL)


def _may_fall(rows: Sequence[_IntervalRow], first: int) -> bool:
    """Whether a count above the first has an interval that an overlap can reach into."""
    return any(row.interval.extrapolation != HORIZONTAL_ONLY and (row.end or 0) > first for row in rows)


@lru_cache(1024)
def _narrowest(given: tuple[Given, ...], first: int, least: int, value: int, percent: int) -> int | None:
    """The width of the narrowest interval that an overlap can reach into, or None."""
    made = effective(given, first, least, value, percent)
    return min((one.high - one.below for one, above in pairwise(made) if not above.pinned), default=None)
