"""What holds an Hvpa back: when it may move, how far it must, and whose word is too old to move it."""

from hypot.core.window import seconds_left

# Which way totals go.
STAYS, UP, DOWN = range(3)
# When one direction may act.
AUTO, OFF, IN_WINDOW = range(3)
# Why something may not move now.
OPEN, UPDATE_POLICY, STABILIZATION, MAINTENANCE, MIN_CHANGE, PARADOX, MISSING_DATA = range(7)
# Held by these, a container keeps the replicas it stands on; held by another gate it moves along with the others.
HOLDS = (UPDATE_POLICY, MAINTENANCE, PARADOX, MISSING_DATA)
# Which way a total may move the count: any, only down, only up.
FREE, AT_MOST, AT_LEAST = range(3)
# Not given.
UNSET = -1
# By which share a recommendation must have gone on to be news: histograms drift.
CLEARLY = 0.1


def closed(mode: int, window: float, since_last: float, patient: bool, in_window: bool) -> int:
    """The first gate that asks when, not how much. Who is not patient does not wait for stabilisation."""
    if mode == OFF:
        return UPDATE_POLICY
    if patient and since_last < window:
        return STABILIZATION
    return MAINTENANCE if mode == IN_WINDOW and not in_window else OPEN


def movement_gate(way: int, timed: int, missing: bool, pressing: bool, enough: bool) -> int:
    """The first gate that keeps a total from moving: its time, an answer that is missing, a change that is too small.

    `timed` is the gate that asks when; `pressing`: more is needed at once, however little it is.
    """
    if way == STAYS or timed != OPEN:
        return OPEN if way == STAYS else timed
    if way == DOWN and missing:
        return MISSING_DATA
    return OPEN if enough or (way == UP and pressing) else MIN_CHANGE


def count_gate(count: int, current: int, timed: int, missing: bool) -> int:
    """The first gate that keeps the count from going there."""
    if count == current or timed != OPEN:
        return OPEN if count == current else timed
    return MISSING_DATA if count < current and missing else OPEN


def way_of(rises: bool, falls: bool) -> int:
    """One rising resource makes it up; what neither rises nor falls stays."""
    if rises:
        return UP
    return DOWN if falls else STAYS


def needed_change(value: int, percent: int, total: int, default: int) -> int:
    """How far a total must move to matter: the smaller of the two where both are given."""
    if value == UNSET:
        return default if percent == UNSET else percent * total // 100
    return value if percent == UNSET else min(value, percent * total // 100)


def belief(
    at: float,
    before: int,
    after: int,
    then: int,
    amount: int,
    settle: float,
    half_life: float,
    urgent: bool,
    now: float,
) -> int:
    """Which way a recommendation may not move anything, for it was learnt from fewer pods, or from more.

    It is believed once it has gone on in its direction since the count changed, or had the time to forget.
    """
    rose = after > before
    if rose and urgent:
        return FREE
    bound = AT_MOST if rose else AT_LEAST
    if seconds_left(at, settle, now) > 0:
        return bound
    if then == UNSET or seconds_left(at, half_life, now) <= 0:
        return FREE
    gone_on = amount > then * (1 + CLEARLY) if rose else amount < then * (1 - CLEARLY)
    return FREE if gone_on else bound


def held_to(amount: int, now: int, bound: int) -> int:
    """An amount that may only fall, or only rise, from what there is now."""
    if bound == FREE:
        return amount
    return min(amount, now) if bound == AT_MOST else max(amount, now)
