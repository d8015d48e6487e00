"""How far one move may go: replica bounds and speed limits, with the one that decided."""

from enum import IntEnum


class Bound(IntEnum):
    """Which bound changed a count, if any."""

    WITHIN_RANGE = 0
    TOO_FEW = 1
    TOO_MANY = 2
    SCALE_UP = 3
    SCALE_DOWN = 4


def doubling_ceiling(current: int, factor: float, floor: float) -> int:
    """The most replicas one sync may reach where no behavior is written."""
    return int(max(factor * current, floor))


def limit_without_behavior(desired: int, low: int, high: int, ceiling: int) -> tuple[int, Bound]:
    if desired < low:
        return low, Bound.TOO_FEW
    top, reason = (ceiling, Bound.SCALE_UP) if high > ceiling else (high, Bound.TOO_MANY)
    return (top, reason) if desired > top else (desired, Bound.WITHIN_RANGE)


def limit_by_doubling(
    current: int, desired: int, low: int, high: int, factor: float, floor: float
) -> tuple[int, Bound]:
    """Where no behavior is written one sync may double, or reach the floor."""
    return limit_without_behavior(desired, low, high, doubling_ceiling(current, factor, floor))


def limit_to_reach(current: int, desired: int, low: int, high: int, reach: int) -> tuple[int, Bound]:
    """A move in either direction; `reach` is how far the policies of that direction let it go."""
    if desired == current:
        return desired, Bound.WITHIN_RANGE
    if desired > current:
        return limit_growth(current, desired, high, reach)
    return limit_shrinking(current, desired, low, reach)


def limit_growth(current: int, desired: int, high: int, allowed: int) -> tuple[int, Bound]:
    """A move up, under what the policies allow and the maximum."""
    allowed = max(allowed, current)
    top, reason = (allowed, Bound.SCALE_UP) if high > allowed else (high, Bound.TOO_MANY)
    return (top, reason) if desired > top else (desired, Bound.WITHIN_RANGE)


def limit_shrinking(current: int, desired: int, low: int, allowed: int) -> tuple[int, Bound]:
    """A move down, above what the policies allow and the minimum."""
    allowed = min(allowed, current)
    bottom, reason = (allowed, Bound.SCALE_DOWN) if low < allowed else (low, Bound.TOO_FEW)
    return (bottom, reason) if desired < bottom else (desired, Bound.WITHIN_RANGE)


def factor_step(current: int, factor_milli_percent: int) -> int:
    """Replicas one move may add or remove: a floored percentage, at least one; a factor of 0 is off."""
    if factor_milli_percent == 0:
        return 0
    return max(1, factor_milli_percent * current // 100_000)


def limit_by_percent(
    current: int, desired: int, ready: int, low: int, high: int, up_factor: int, down_factor: int
) -> tuple[int, Bound]:
    """A move under limit factors, in thousandths of a percent, and bounds."""
    up, down = current + factor_step(current, up_factor), current - factor_step(current, down_factor)
    return limit_by_factors(current, desired, ready, low, high, up, down)


def limit_by_factors(
    current: int, desired: int, ready: int, low: int, high: int, up_limit: int, down_limit: int
) -> tuple[int, Bound]:
    """A move under limit factors and bounds; nothing is removed while fewer are ready than would remain."""
    bottom, reason = low, Bound.TOO_FEW
    if low == 0:
        bottom = 1
    elif desired < down_limit:
        bottom, reason = max(down_limit, low), Bound.SCALE_DOWN
        if 0 < ready < bottom:
            bottom = current
    if desired < bottom:
        return bottom, reason
    top, reason = (min(up_limit, high), Bound.SCALE_UP) if desired > up_limit else (high, Bound.TOO_MANY)
    return (top, reason) if desired > top else (desired, Bound.WITHIN_RANGE)
