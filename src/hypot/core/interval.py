"""Scaling intervals: from how much in total to how many pods of what size.

Every amount is a whole number of one resource of one container. A fraction is a pair of whole numbers, so that nothing
is rounded before the end.
"""

from collections.abc import Sequence
from typing import NamedTuple

from hypot.core.fit import proportional_limit

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
        if self.pinned or self.low == self.below:
            return self.low < total <= self.high
        return self.low <= total <= self.high


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
    for interval in intervals:
        if interval.replicas == current and interval.holds(total):
            return current
    for interval in intervals:
        if total <= interval.high:
            return interval.replicas
    return intervals[-1].replicas


def interval_of(intervals: Sequence[Interval], count: int) -> Interval | None:
    for interval in intervals:
        if interval.replicas == count:
            return interval
    return None


def larger(value: int, percent: int, of: int) -> int:
    """A value and a percentage given together: the larger counts."""
    return max(value, percent * of // 100)


def least_change(value: int | None, percent: int | None, total: int, default: int) -> int:
    """How far a total must move to matter: the smaller of the two where both are given."""
    shares = [amount for amount in (value, None if percent is None else percent * total // 100) if amount is not None]
    return min(shares, default=default)


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


def scaled_limit(
    limit: int, old: int | None, request: int, gap_value: int | None, gap_percent: int | None, pods: int
) -> int:
    """A limit that follows its request: equal stays equal, a written gap counts, else the proportion that was there.

    The value of a gap is meant of that many pods together; of value and percentage the larger counts.
    """
    if not old or old == limit:
        return request
    if gap_value is None and gap_percent is None:
        return proportional_limit(limit, old, request, 0)[0] or request
    by_percent = -(-request * (100 + (gap_percent or 0)) // 100)
    return max(by_percent, request + -(-(gap_value or 0) // pods))
