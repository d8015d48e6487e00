"""Scaling intervals: they map total resources to a replica count and a pod size.

Every amount is an integer for one resource of one container. A fraction is a pair of integers, so that nothing is
rounded before the end.
"""

from collections.abc import Sequence
from typing import NamedTuple

from hypot.core.axes.gate import DOWN, UNSET, needed_change
from hypot.core.sizes.fit import LARGEST, limit_to_follow

# How an interval that spans several counts is divided.
LINEAR, LINEAR_PER_POD, HORIZONTAL_ONLY = "linear", "linearPerPod", "horizontalOnly"


class Given(NamedTuple):
    """An interval as written: up to how many replicas, and the largest size of each."""

    replicas: int
    per_pod: int
    division: str = LINEAR


class Interval(NamedTuple):
    """One count and the totals that it covers: `high` is the limit for scaling up, `low` for scaling down.

    `below` is where the count before it ends. `pinned` is the fixed size of pods, or 0 if their size may vary, and
    `most` the largest.
    """

    replicas: int
    low: int
    high: int
    below: int
    pinned: int = 0
    most: int = 0

    def holds(self, total: int) -> bool:
        """Whether a workload stays at this count. Without overlap a shared border belongs to the count below."""
        return holds(self.low, self.high, self.below, self.pinned, total)


def holds(low: int, high: int, below: int, pinned: int, total: int) -> bool:
    """The same as `Interval.holds`, with plain numbers."""
    if pinned or low == below:
        return low < total <= high
    return low <= total <= high


def effective(
    given: Sequence[Given],
    first: int,
    least: int,
    overlap_value: int,
    overlap_percent: int,
    limit: int = LARGEST,
) -> tuple[Interval, ...]:
    """One interval for each count, from the `first` on; `least` is the smallest size of a pod, `limit` the largest."""
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
                size = min(one.per_pod, limit)
                high = count * size
                made.append(Interval(count, below, high, below, size, size))
            else:
                if one.division == LINEAR_PER_POD:
                    high = _high_per_pod(one.per_pod, low, start + 1, step, steps)
                else:
                    high = begin + (total - begin) * step // steps
                high = min(high, count * limit)
                bottom = _low(below, count, least, overlap_value, overlap_percent)
                # In a list whose sizes fall, the pods of this count together cover its totals.
                most = min(max(one.per_pod, -(-high // count)), limit)
                made.append(Interval(count, min(bottom, high), high, below, most=most))
            below = high
    return tuple(made)


def _low(below: int, count: int, least: int, overlap_value: int, overlap_percent: int) -> int:
    """The lower limit of a count: the end of the count before minus the overlap, and not below the pods' minimum."""
    overlap = larger(overlap_value, overlap_percent, below)
    return max(below - overlap, least * count, 0)


def _high_per_pod(per_pod: int, low: int, first: int, step: int, steps: int) -> int:
    """The arithmetic of the published redesign: sizes rise evenly from the smallest pod of the first count."""
    count = first + step - 1
    return count * (low * (steps - step) + per_pod * first * step) // (first * steps)


def replicas_for(intervals: Sequence[Interval], total: int, current: int) -> int:
    """The count for a total: the current count if it still covers it, else the lowest that does; at most the last."""
    counts, lows, highs, belows, pins, _ = zip(*intervals, strict=True)
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
    """The same with plain numbers: the first count, the number of counts, and the totals that each count covers."""
    n = current - first
    if 0 <= n < counts and holds(lows[n], highs[n], belows[n], pins[n], total):
        return current
    for n in range(counts):
        if total <= highs[n]:
            return first + n
    return first + counts - 1


def ceiling_of(first: int, mosts: Sequence[int], allowed: int) -> int:
    """The largest total that the pods of any count can have; 0 if unlimited, as is an `allowed` size of 0."""
    return max([(first + n) * (min(most, allowed) if allowed else most) for n, most in enumerate(mosts)], default=0)


def reachable(total: int, now: int, ceiling: int) -> int:
    """What is reached of a total: what exceeds the largest total changes nothing."""
    return min(total, max(ceiling, now)) if ceiling else total


def interval_of(intervals: Sequence[Interval], count: int) -> Interval | None:
    for interval in intervals:
        if interval.replicas == count:
            return interval
    return None


def most_at(first: int, counts: int, mosts: Sequence[int], count: int) -> int:
    """The largest size of a pod at a count, beyond the first or the last count that of the nearest; 0 if unlimited."""
    return mosts[min(max(count - first, 0), counts - 1)] if counts else 0


def larger(value: int, percent: int, of: int) -> int:
    """The larger of a value and a percentage."""
    return max(value, percent * of // 100)


def least_change(value: int | None, percent: int | None, total: int, default: int) -> int:
    """The least change of a total that matters. Value and percentage may be absent."""
    return needed_change(UNSET if value is None else value, UNSET if percent is None else percent, total, default)


def per_pod(
    total: int, request: int, current: int, desired: int, base_value: int, base_percent: int
) -> tuple[int, int]:
    """The size of each pod as a fraction. If the count changes, the base load of each replica is taken into account.

    A base load of all that is needed, or more, is wrong: it was written for smaller pods.
    """
    base_now = max(100 * base_value, base_percent * request)
    if base_now == 0 or desired == current or base_now >= 100 * request or base_now * current >= 100 * total:
        return total, desired
    base_new = max(100 * base_value * desired, base_percent * total)
    return 100 * total - base_now * current + base_new, 100 * desired


def rounded(numerator: int, denominator: int, grain: int) -> int:
    """Round up to whole grains, so that the pods together never have less than requested. What is exact stays so."""
    if numerator % denominator == 0:
        return max(0, numerator // denominator)
    return max(0, -(-numerator // (denominator * grain)) * grain)


def outgrows(total: int, request: int, current: int, desired: int, base_value: int, base_percent: int) -> bool:
    """Whether each pod would need more than its request at another count."""
    numerator, denominator = per_pod(total, request, current, desired, base_value, base_percent)
    return numerator > request * denominator


def keeps_size(way: int, current: int, desired: int, spreads: bool) -> bool:
    """Whether no pod is lowered: replicas are added, and no falling total is spread over them."""
    return desired > current and not (spreads and way == DOWN)


def may_get_less(missing: bool, current: int, desired: int) -> bool:
    """Whether pods may be lowered. With missing data, only if fewer of them remain."""
    return not missing or desired < current


class ResourceShare(NamedTuple):
    """The planned amount of one resource per pod, the amount that is enough for the total, and how it was found."""

    amount: int
    enough: int
    # Whether it is kept although the total says less, and whether the base load was taken into account.
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
    most: int,
    stays: bool,
    may_shrink: bool,
    grain: int,
) -> ResourceShare:
    """The share of each pod in a total, before the bounds of the policy.

    `now` is the current total and `old` the request; `pinned` is the fixed size at the new count, and `most` the
    largest. `stays` says that no pod is lowered. Values below zero are unset, as is a `most` of 0.
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
        # An amount that stays or falls is not rounded up above its old value.
        amount = min(amount, old)
    if (stays or not may_shrink) and amount < had:
        return ResourceShare(had, had, kept=True, budgeted=False)
    enough, budgeted = amount, numerator != total or denominator != desired
    if most:
        amount = min(amount, max(most, had) if stays or not may_shrink else most)
    return ResourceShare(amount, enough, kept=False, budgeted=budgeted)


def permitted(amount: int, least: int, most: int, limit: int) -> int:
    """The amount raised to `least`, then cut to `most` and to `limit`. 0 means no `most`, below 0 no `limit`."""
    raised = max(amount, least)
    cut = min(raised, most) if most else raised
    return cut if limit < 0 else min(cut, limit)


def scaled_limit(
    limit: int, old: int | None, request: int, gap_value: int | None, gap_percent: int | None, pods: int
) -> int:
    """A limit that follows its request. Value and percentage of the gap may be absent."""
    value, percent = (UNSET if gap is None else gap for gap in (gap_value, gap_percent))
    return limit_for(limit, old or 0, request, value, percent, pods)


def limit_for(limit: int, old: int, request: int, gap_value: int, gap_percent: int, pods: int) -> int:
    """A limit that follows its request: equal stays equal; else the written gap is used, else the old proportion.

    The value of a gap is for all pods together. Of value and percentage the larger is used.
    """
    if not old or old == limit:
        return request
    if gap_value == UNSET and gap_percent == UNSET:
        made = limit_to_follow(limit, old, request, 0).amount
        return made if made > 0 else request
    by_percent = -(-request * (100 + max(gap_percent, 0)) // 100)
    return max(by_percent, request + -(-max(gap_value, 0) // pods))


def whole_limit(limit: int, old: int, request: int, gap_value: int, gap_percent: int, pods: int, grain: int) -> int:
    """The limit, never below the request, and in whole grains if the request is."""
    made = limit_for(limit, old, request, gap_value, gap_percent, pods)
    return max(-(-made // grain) * grain if request % grain == 0 else made, request)
