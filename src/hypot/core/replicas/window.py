"""Rules that look back in time: stabilisation windows, rate limits, forbidden windows and delays.

History is two parallel sequences, values and the times (seconds) they were recorded at.
"""

from collections.abc import Sequence
from math import ceil, inf

NO_SLOT = -1


def highest_recent(recommendation: int, values: Sequence[int], times: Sequence[float], cutoff: float) -> int:
    """The largest recommendation not older than the cut-off; an entry exactly as old still counts."""
    highest = recommendation
    for value, time in zip(values, times):  # noqa: B905  compiled code does not support strict
        if time >= cutoff and value > highest:
            highest = value
    return highest


def last_older(times: Sequence[float], cutoff: float) -> int:
    """The last entry strictly older than the cut-off; a new entry may replace it."""
    for i in range(len(times) - 1, -1, -1):
        if times[i] < cutoff:
            return i
    return NO_SLOT


def envelope(
    recommendation: int,
    values: Sequence[int],
    times: Sequence[float],
    now: float,
    up_window: float,
    down_window: float,
) -> tuple[int, int]:
    """The lowest and the highest recommendation within the two windows; an entry exactly as old as a window is out."""
    low = high = recommendation
    up_from, down_from = now - up_window, now - down_window
    for value, time in zip(values, times):  # noqa: B905  compiled code does not support strict
        if value < low and time > up_from:
            low = value
        if value > high and time > down_from:
            high = value
    return low, high


def forced_into(current: int, low: int, high: int) -> int:
    """Change the count only as far as an envelope, or bounds, require."""
    return min(max(current, low), high)


def changed_within(changes: Sequence[int], times: Sequence[float], cutoff: float) -> int:
    """Replicas changed by events strictly younger than the cut-off."""
    total = 0
    for change, time in zip(changes, times):  # noqa: B905  compiled code does not support strict
        if time > cutoff:
            total += change
    return total


def most_after_policy(start: int, percent: bool, value: int) -> int:
    """The most replicas that one policy allows for a workload that began the period with `start` replicas.

    Uses doubles on purpose: 100 pods and 10 % allow 111, because 100 x 1.1 is slightly above 110.
    """
    return ceil(start * (1.0 + value / 100.0)) if percent else start + value


def least_after_policy(start: int, percent: bool, value: int) -> int:
    """The fewest replicas that one policy allows; may be negative."""
    return int(start * (1.0 - value / 100.0)) if percent else start - value


def allowed_reach(
    current: int,
    grows: bool,
    least: bool,
    percents: Sequence[bool],
    values: Sequence[int],
    periods: Sequence[float],
    ups: Sequence[int],
    up_times: Sequence[float],
    downs: Sequence[int],
    down_times: Sequence[float],
    unknown_move: float,
    now: float,
) -> int:
    """How far the policies of one direction allow a workload to go now. `least`: use the policy that allows the least.

    A change of unknown size within a policy's period may have used it up, so that policy then allows no change.
    """
    reach = current
    for i in range(len(values)):
        cutoff = now - periods[i]
        if unknown_move > cutoff:
            one = current
        else:
            start = current - changed_within(ups, up_times, cutoff) + changed_within(downs, down_times, cutoff)
            one = (
                most_after_policy(start, percents[i], values[i])
                if grows
                else least_after_policy(start, percents[i], values[i])
            )
        if i == 0 or (one < reach if grows == least else one > reach):
            reach = one
    return reach


def seconds_left(since: float, window: float, now: float) -> float:
    return max(0.0, since + window - now)


def delay_over(since: float, delay: int, now: float) -> bool:
    """Whether a state has lasted its delay, counted in whole seconds."""
    return int(now - since) >= delay


# What a change waits for: a forbidden window after the last change, or a delay since the value left the band.
GOES, FORBIDDEN, DELAYED = range(3)


def waits_for(left: float, stable: bool, delay: int, since: float, now: float) -> int:
    """`left` is the rest of the forbidden window. `since` is when the value left the band, infinite if it did not."""
    if left > 0:
        return FORBIDDEN
    if stable or delay == 0:
        return GOES
    return GOES if since != inf and delay_over(since, delay, now) else DELAYED
