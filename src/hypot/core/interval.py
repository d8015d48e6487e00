"""Scaling intervals: from how much in total to how many pods of what size.

Every amount is a whole number of one resource of one container. A fraction is a pair of whole numbers, so that nothing
is rounded before the end.
"""

from collections.abc import Sequence
from typing import NamedTuple

from hypot.core.fit import limit_to_follow
from hypot.core.gate import DOWN, UNSET, needed_change

# How a written interval that spans several counts is divided.
LINEAR, LINEAR_PER_POD, HORIZONTAL_ONLY = "linear", "linearPerPod", "horizontalOnly"


class Given(NamedTuple):
    """An interval as it is written: up to how many replicas, of at most which size."""

    replicas: int
    per_pod: int
    division: str = LINEAR


class Interval(NamedTuple):
    """One count and the totals it is for: `high` matters going up, `low` going down.

    `below` is where the count before it ends. `pinned` is the only size there is, or 0 where pods may be of any.
    """

    replicas: int
    low: int
    high: int
    below: int
    pinned: int = 0

    def holds(self, total: int) -> bool:
        """Whether a workload of this count stays. Without overlap a shared border belongs to the count below."""
        return holds(self.low, self.high, self.below, self.pinned, total)


def holds(low: int, high: int, below: int, pinned: int, total: int) -> bool:
    """The same in plain numbers."""
    if pinned or low == below:
        return low < total <= high
    return low <= total <= high


def effective(
    given: Sequence[Given], first: int, least: int, overlap_value: int, overlap_percent: int
) -> tuple[Interval, ...]:
    """One interval for each count, from the `first` on; `least` is the smallest size of a pod."""
    made: list[Interval] = []
    count, below = first - 1, 0
    for one in given:
        low = _low(below, count + 1, least, overlap_value, overlap_percent)
        start, steps = count, one.replicas - count
        total, begin = one.replicas * one.per_pod, below
        while count < one.replicas:
            count += 1
            step = count - start
            if one.division == HORIZONTAL_ONLY:
                high = count * one.per_pod
                made.append(Interval(count, below, high, below, one.per_pod))
            else:
                if one.division == LINEAR_PER_POD:
                    high = _high_per_pod(one.per_pod, low, start + 1, step, steps)
                else:
                    high = begin + (total - begin) * step // steps
                bottom = _low(below, count, least, overlap_value, overlap_percent)
                made.append(Interval(count, min(bottom, high), high, below))
            below = high
    return tuple(made)


def _low(below: int, count: int, least: int, overlap_value: int, overlap_percent: int) -> int:
    """Where a count ends going down: the end of the count before, less the overlap; never less than pods may have."""
    overlap = larger(overlap_value, overlap_percent, below)
    return max(below - overlap, least * count, 0)


def _high_per_pod(per_pod: int, low: int, first: int, step: int, steps: int) -> int:
    """The released redesign's arithmetic: sizes rise evenly from the smallest pod of the first count."""
    count = first + step - 1
    return count * (low * (steps - step) + per_pod * first * step) // (first * steps)


def replicas_for(intervals: Sequence[Interval], total: int, current: int) -> int:
    """The count for a total: the current one where it still holds, else the fewest; beyond the ends, the ends."""
    counts, lows, highs, belows, pins = zip(*intervals, strict=True)
    return count_for(counts[0], len(counts), lows, highs, belows, pins, total, current)


def count_for(
    first: int,
    counts: int,
    lows: Sequence[int],
    highs: Sequence[int],
    belows: Sequence[int],
    pins: Sequence[int],
    total: int,
    current: int,
) -> int:
    """The same in plain numbers: so many counts from the first on, and what each one is for."""
    n = current - first
    if 0 <= n < counts and holds(lows[n], highs[n], belows[n], pins[n], total):
        return current
    for n in range(counts):
        if total <= highs[n]:
            return first + n
    return first + counts - 1


def interval_of(intervals: Sequence[Interval], count: int) -> Interval | None:
    for interval in intervals:
        if interval.replicas == count:
            return interval
    return None


def larger(value: int, percent: int, of: int) -> int:
    """A value and a percentage given together: the larger counts."""
    return max(value, percent * of // 100)


def least_change(value: int | None, percent: int | None, total: int, default: int) -> int:
    """How far a total must move to matter, where either may be absent."""
    return needed_change(UNSET if value is None else value, UNSET if percent is None else percent, total, default)


def per_pod(
    total: int, request: int, current: int, desired: int, base_value: int, base_percent: int
) -> tuple[int, int]:
    """The size of each pod as a fraction; where their number changes, the base load of each replica is budgeted."""
    base_now = max(100 * base_value, base_percent * request)
    if base_now == 0 or desired == current or 100 * request <= base_now:
        return total, desired
    base_new = max(100 * base_value * desired, base_percent * total)
    return 100 * total - base_now * current + base_new, 100 * desired


def rounded(numerator: int, denominator: int, grain: int) -> int:
    """Up to whole grains, so that the pods together never have less than was asked for."""
    return max(0, -(-numerator // (denominator * grain)) * grain)


def outgrows(total: int, request: int, current: int, desired: int, base_value: int, base_percent: int) -> bool:
    """Whether each pod would need more than its request at another count."""
    numerator, denominator = per_pod(total, request, current, desired, base_value, base_percent)
    return numerator > request * denominator


def keeps_size(way: int, current: int, desired: int, spreads: bool) -> bool:
    """Whether no pod gets less: replicas are added, and no falling total is spread over them."""
    return desired > current and not (spreads and way == DOWN)


def may_get_less(missing: bool, current: int, desired: int) -> bool:
    """Pods get less without an answer only where fewer of them remain."""
    return not missing or desired < current


class ResourceShare(NamedTuple):
    """What each pod is to have of one resource, how much would be enough for the total, and how that came about."""

    amount: int
    enough: int
    # Whether it stays against the total, and whether the base load of each replica was budgeted.
    kept: bool
    budgeted: bool


def part_of(
    total: int,
    now: int,
    old: int,
    current: int,
    desired: int,
    base_value: int,
    base_percent: int,
    pinned: int,
    stays: bool,
    may_shrink: bool,
    grain: int,
) -> ResourceShare:
    """The share of each pod in a total, before bounds.

    `now` is the total that is there and `old` the request; `pinned` is the only size at the new count. `stays` says
    that no pod shrinks. What is below zero is unset.
    """
    had = max(old, 0)
    if pinned >= 0:
        return ResourceShare(
            pinned if may_shrink else max(pinned, had), rounded(total, desired, 1), kept=False, budgeted=False
        )
    numerator, denominator = per_pod(total, had, current, desired, base_value, base_percent)
    amount = rounded(numerator, denominator, grain)
    falls = desired == current and total <= now
    if old >= 0 and (falls or numerator == old * denominator):
        # What stays or falls is not rounded to more than it was.
        amount = min(amount, old)
    if (stays or not may_shrink) and amount < had:
        return ResourceShare(had, had, kept=True, budgeted=False)
    return ResourceShare(amount, amount, kept=False, budgeted=numerator != total or denominator != desired)


def permitted(amount: int, least: int, most: int, limit: int) -> int:
    """Raised to the least, then cut to the most, then to the limit; no `most` is zero, no limit is below zero."""
    raised = max(amount, least)
    cut = min(raised, most) if most else raised
    return cut if limit < 0 else min(cut, limit)


def scaled_limit(
    limit: int, old: int | None, request: int, gap_value: int | None, gap_percent: int | None, pods: int
) -> int:
    """A limit that follows its request, where a gap may be absent."""
    value, percent = (UNSET if gap is None else gap for gap in (gap_value, gap_percent))
    return limit_for(limit, old or 0, request, value, percent, pods)


def limit_for(limit: int, old: int, request: int, gap_value: int, gap_percent: int, pods: int) -> int:
    """A limit that follows its request: equal stays equal, a written gap counts, else the proportion that was there.

    The value of a gap is meant of that many pods together; of value and percentage the larger counts.
    """
    if not old or old == limit:
        return request
    if gap_value == UNSET and gap_percent == UNSET:
        made = limit_to_follow(limit, old, request, 0).amount
        return made if made > 0 else request
    by_percent = -(-request * (100 + max(gap_percent, 0)) // 100)
    return max(by_percent, request + -(-max(gap_value, 0) // pods))


def whole_limit(limit: int, old: int, request: int, gap_value: int, gap_percent: int, pods: int, grain: int) -> int:
    """The same in whole grains, and never below the request."""
    return max(rounded(limit_for(limit, old, request, gap_value, gap_percent, pods), 1, grain), request)
