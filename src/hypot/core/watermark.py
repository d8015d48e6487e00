"""Two marks instead of one target: exact integers of milli-units throughout.

`ready` multiplies an absolute value and divides an average one, so `weight / pods` says which it is:
an absolute value is weighed by the ready pods and compared as it is; a sum is weighed by one and compared per pod.
"""

from enum import IntEnum


class Side(IntEnum):
    BELOW = -1
    WITHIN = 0
    ABOVE = 1


def margin(mark: int, tolerance_milli: int) -> int:
    """The tolerance around a mark, cut to whole milli-units."""
    share = abs(mark) * tolerance_milli // 1000
    return share if mark >= 0 else -share


def upper_edge(high: int, tolerance_milli: int) -> int:
    return high + margin(high, tolerance_milli)


def lower_edge(low: int, tolerance_milli: int) -> int:
    return low - margin(low, tolerance_milli)


def above_or_below(usage: int, pods: int, upper: int, lower: int) -> Side:
    """Which widened mark `usage / pods` has left, if any; exactly on it is within."""
    if usage > upper * pods:
        return Side.ABOVE
    if usage < lower * pods:
        return Side.BELOW
    return Side.WITHIN


def count_up(usage: int, weight: int, high: int) -> int:
    """Replicas that bring usage back to the bare high mark, rounded up."""
    return -(-weight * usage // high)


def count_down(usage: int, weight: int, low: int, round_up: bool) -> int:
    """Replicas that bring usage up to the bare low mark; rounded down unless there is but one mark; at least one."""
    count = -(-weight * usage // low) if round_up else weight * usage // low
    return max(1, count)


def next_multiple(count: int, modulo: int) -> int:
    """Counts are raised to whole groups, also on the way down."""
    return -(-count // modulo) * modulo if modulo > 1 else count


def direction_kept(side: Side, count: int, current: int) -> int:
    """Few ready pods must not turn an upscale into a downscale, nor the other way round."""
    if side == Side.ABOVE:
        return max(count, current)
    return min(count, current) if side == Side.BELOW else count


def step_to_high(current: int, modulo: int, fewest: int) -> int:
    """One group less, while the rest stays below the high mark."""
    candidate = max(current - modulo, 1)
    return current if candidate < fewest else candidate


def step_to_low(current: int, modulo: int, most: int) -> int:
    """One group more, while each stays above the low mark."""
    candidate = current + modulo
    return current if candidate > most else candidate
