"""Two watermarks instead of one target. All numbers are exact integers of milli-units.

`ready` multiplies an absolute value and divides an average, so `weight / pods` says which algorithm applies: an
absolute value is weighted by the ready pods and compared as it is; a sum is weighted by 1 and compared per pod.
"""

from enum import IntEnum


class Side(IntEnum):
    BELOW = -1
    WITHIN = 0
    ABOVE = 1


def margin(mark: int, tolerance_milli: int) -> int:
    """The tolerance around a watermark, truncated to whole milli-units."""
    share = abs(mark) * tolerance_milli // 1000
    return share if mark >= 0 else -share


def upper_edge(high: int, tolerance_milli: int) -> int:
    return high + margin(high, tolerance_milli)


def lower_edge(low: int, tolerance_milli: int) -> int:
    return low - margin(low, tolerance_milli)


def above_or_below(usage: int, pods: int, upper: int, lower: int) -> Side:
    """Whether `usage / pods` is outside the widened watermarks; exactly on one is within."""
    if usage > upper * pods:
        return Side.ABOVE
    if usage < lower * pods:
        return Side.BELOW
    return Side.WITHIN


def count_up(usage: int, weight: int, high: int) -> int:
    """Replicas that bring usage back to the bare high watermark (without tolerance), rounded up."""
    return -(-weight * usage // high)


def count_down(usage: int, weight: int, low: int, round_up: bool) -> int:
    """Replicas that bring usage up to the bare low watermark, at least 1; rounded down unless `round_up`."""
    count = -(-weight * usage // low) if round_up else weight * usage // low
    return max(1, count)


def next_multiple(count: int, modulo: int) -> int:
    """Raise a count to a multiple of the modulo, also when scaling down."""
    return -(-count // modulo) * modulo if modulo > 1 else count


def direction_kept(side: Side, count: int, current: int) -> int:
    """Few ready pods must not turn a scale-up into a scale-down, nor the other way round."""
    if side == Side.ABOVE:
        return max(count, current)
    return min(count, current) if side == Side.BELOW else count


def step_to_high(current: int, modulo: int, fewest: int) -> int:
    """One modulo step down, while the remaining pods stay below the high watermark."""
    candidate = max(current - modulo, 1)
    return current if candidate < fewest else candidate


def step_to_low(current: int, modulo: int, most: int) -> int:
    """One modulo step up, while each pod stays above the low watermark."""
    candidate = current + modulo
    return current if candidate > most else candidate


NO_COUNT = -1
# Towards which watermark a count converges inside the band, if any.
STAY, TO_HIGH, TO_LOW = range(3)


def converged(towards: int, current: int, modulo: int, fewest: int, most: int) -> int:
    """One modulo step towards a watermark, while the count stays between what both watermarks allow."""
    if towards == TO_HIGH:
        return step_to_high(current, modulo, fewest)
    return step_to_low(current, modulo, most) if towards == TO_LOW else current


def count_in_band(
    usage: int,
    ready: int,
    averaged: bool,
    high: int,
    low: int,
    single: bool,
    tolerance_milli: int,
    modulo: int,
    towards: int,
    min_count: int,
    max_count: int,
    current: int,
) -> tuple[Side, int]:
    """The side of the band and the count. The side uses the watermarks with tolerance, the count those without.

    Below a low watermark of zero there is no count, because nothing can be divided by zero.
    """
    pods, weight = (ready, 1) if averaged else (1, ready)
    side = above_or_below(usage, pods, upper_edge(high, tolerance_milli), lower_edge(low, tolerance_milli))
    if side == Side.ABOVE:
        return side, direction_kept(side, next_multiple(count_up(usage, weight, high), modulo), current)
    if side == Side.BELOW:
        if low <= 0:
            return side, NO_COUNT
        return side, direction_kept(side, next_multiple(count_down(usage, weight, low, single), modulo), current)
    if towards == STAY:
        return side, current
    fewest = count_up(usage, weight, high)
    most = count_down(usage, weight, low, round_up=False) if low > 0 else current
    fewest, most = min(max(fewest, min_count), max_count), min(max(most, min_count), max_count)
    return side, converged(towards, current, modulo, fewest, most)
