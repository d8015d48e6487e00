"""How far one scaling step may go: replica bounds and rate limits, and which of them was decisive."""

from enum import IntEnum


class Bound(IntEnum):
    """Which bound changed a count, if any."""

    WITHIN_RANGE = 0
    TOO_FEW = 1
    TOO_MANY = 2
    SCALE_UP = 3
    SCALE_DOWN = 4


def doubling_ceiling(current: int, factor: float, floor: float) -> int:
    """The most replicas that one sync may reach without a behavior."""
    return int(max(factor * current, floor))


def limit_without_behavior(desired: int, low: int, high: int, ceiling: int) -> tuple[int, Bound]:
    if desired < low:
        return low, Bound.TOO_FEW
    top, reason = (ceiling, Bound.SCALE_UP) if high > ceiling else (high, Bound.TOO_MANY)
    return (top, reason) if desired > top else (desired, Bound.WITHIN_RANGE)


def limit_by_doubling(
    current: int, desired: int, low: int, high: int, factor: float, floor: float
) -> tuple[int, Bound]:
    """Without a behavior, one sync may double the replicas or reach the floor."""
    return limit_without_behavior(desired, low, high, doubling_ceiling(current, factor, floor))


def limit_to_reach(current: int, desired: int, low: int, high: int, reach: int) -> tuple[int, Bound]:
    """Limit a step in either direction. `reach` is how far the policies of that direction allow it to go."""
    if desired == current:
        return desired, Bound.WITHIN_RANGE
    if desired > current:
        return limit_growth(current, desired, high, reach)
    return limit_shrinking(current, desired, low, reach)


def limit_growth(current: int, desired: int, high: int, allowed: int) -> tuple[int, Bound]:
    """Limit a scale-up to what the policies allow and to the maximum."""
    allowed = max(allowed, current)
    top, reason = (allowed, Bound.SCALE_UP) if high > allowed else (high, Bound.TOO_MANY)
    return (top, reason) if desired > top else (desired, Bound.WITHIN_RANGE)


def limit_shrinking(current: int, desired: int, low: int, allowed: int) -> tuple[int, Bound]:
    """Limit a scale-down to what the policies allow and to the minimum."""
    allowed = min(allowed, current)
    bottom, reason = (allowed, Bound.SCALE_DOWN) if low < allowed else (low, Bound.TOO_FEW)
    return (bottom, reason) if desired < bottom else (desired, Bound.WITHIN_RANGE)


def factor_step(current: int, factor_milli_percent: int) -> int:
    """How many replicas one step may add or remove: a percentage rounded down, at least 1. A factor of 0 means none."""
    if factor_milli_percent == 0:
        return 0
    return max(1, factor_milli_percent * current // 100_000)


def limit_by_percent(
    current: int, desired: int, ready: int, low: int, high: int, up_factor: int, down_factor: int
) -> tuple[int, Bound]:
    """Limit a step by limit factors, in thousandths of a percent, and by bounds."""
    up, down = current + factor_step(current, up_factor), current - factor_step(current, down_factor)
    return limit_by_factors(current, desired, ready, low, high, up, down)


def limit_by_factors(
    current: int, desired: int, ready: int, low: int, high: int, up_limit: int, down_limit: int
) -> tuple[int, Bound]:
    """Limit a step by limit factors and bounds. Nothing is removed while fewer pods are ready than would remain."""
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
