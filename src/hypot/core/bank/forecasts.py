"""Eight forecasts of the demand a few steps ahead. None is trusted: each is judged by what it would have cost."""

from typing import Any

# In this order.
LAST, SLOPE, LONG_SLOPE, MEAN, LONG_MEAN, YESTERDAY, LAST_WEEK, JUMP = range(8)
FORECASTS = 8
# Steps over which slopes and means are taken.
SLOPED, LONG_SLOPED, AVERAGED, LONG_AVERAGED = 2, 8, 20, 80
# How far a slope may carry.
MOST_SLOPE = 4.0
# How much demand is kept: as many steps as the longest mean and hold need, and the present.
KEPT = 81


def forecast(made: Any, past: Any, first: int, count: int, lead: int, day: float, week: float, jump: float) -> None:
    """Write all forecasts for `lead` steps ahead.

    `past` is a ring of KEPT steps, of which `count` are known, the newest at `first`. `day` and `week` are the
    factors by which the demand changed at this time yesterday and a week ago; `jump` is the demand after the largest
    jump so far.
    """
    now = past[first]
    made[LAST] = now
    made[SLOPE] = along_slope(past, first, count, SLOPED, lead)
    made[LONG_SLOPE] = along_slope(past, first, count, LONG_SLOPED, lead)
    made[MEAN], made[LONG_MEAN] = means(past, first, count)
    made[YESTERDAY] = now * day
    made[LAST_WEEK] = now * week
    made[JUMP] = jump


def along_slope(past: Any, first: int, count: int, over: int, lead: int) -> float:
    now = past[first]
    if count <= over:
        return float(now)
    then = past[(first - over) % KEPT]
    return float(max(now / MOST_SLOPE, min(now * MOST_SLOPE, now + (now - then) * lead / over)))


def means(past: Any, first: int, count: int) -> tuple[float, float]:
    """The means of the last steps; of those that are known, if fewer are."""
    total = short = 0.0
    known = max(1, min(count, LONG_AVERAGED))
    for back in range(known):
        total += past[(first - back) % KEPT]
        if back < AVERAGED:
            short = total
    return short / min(known, AVERAGED), total / known
