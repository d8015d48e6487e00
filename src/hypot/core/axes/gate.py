"""What holds an Hvpa back: when it may change, the least change, noise, and recommendations too old to use."""

from math import exp2

from hypot.core.axes.saturation import FULL
from hypot.core.replicas.window import seconds_left

# The direction of totals.
STAYS, UP, DOWN = range(3)
# When a direction may act.
AUTO, OFF, IN_WINDOW = range(3)
# Why something may not change now.
OPEN, UPDATE_POLICY, STABILIZATION, MAINTENANCE, MIN_CHANGE, PARADOX, MISSING_DATA = range(7)
# With these gates a container keeps its replicas; with other gates it follows the other containers.
HOLDS = (UPDATE_POLICY, MAINTENANCE, PARADOX, MISSING_DATA)
# In which direction a total may change the count: any, only down, only up, none.
FREE, AT_MOST, AT_LEAST, EXACTLY = range(4)
# Not given.
UNSET = -1
# How far a recommendation must change, as a share, to count as new: histograms drift.
CLEARLY = 0.1
# How long it takes at least until samples show the effect of a change.
SETTLE = 180.0
# For this many stabilisation times after a fall, a rise may be noise.
NOISY = 36.0
# A scale-down is soon reversed within this time, or this many stabilisation times, after it last restarted a pod: after
# that, what asks for more is demand. The memory of pods that were restarted may grow for a while.
SOON, SOON_TIMES = 3600.0, 6.0
# Scale-downs in a row that were reversed, as far as they are counted, and how long these make the next one wait: less
# than a night, so that daily cycles are still followed.
MOST_SWINGS = 7
LONGEST_WAIT = 21600.0
# After this many half-lives, older samples weigh less than a tenth: a 90th percentile no longer shows higher ones.
HALF_LIVES = 3.5


def closed(mode: int, window: float, since_last: float, patient: bool, in_window: bool) -> int:
    """The first closed gate that depends on time, not on amounts. Without `patient`, stabilisation is skipped."""
    if mode == OFF:
        return UPDATE_POLICY
    if patient and since_last < window:
        return STABILIZATION
    return MAINTENANCE if mode == IN_WINDOW and not in_window else OPEN


def movement_gate(way: int, timed: int, missing: bool, pressing: bool, enough: bool) -> int:
    """The first gate that prevents a total from changing: time, missing data, or a change that is too small.

    `timed` is the gate that depends on time; `pressing`: more is needed at once, however little.
    """
    if way == STAYS or timed != OPEN:
        return OPEN if way == STAYS else timed
    if way == DOWN and missing:
        return MISSING_DATA
    return OPEN if enough or (way == UP and pressing) else MIN_CHANGE


def count_gate(count: int, current: int, timed: int, missing: bool) -> int:
    """The first gate that prevents this count."""
    if count == current or timed != OPEN:
        return OPEN if count == current else timed
    return MISSING_DATA if count < current and missing else OPEN


def way_of(rises: bool, falls: bool) -> int:
    """UP if any resource rises, else DOWN if any falls, else STAYS."""
    if rises:
        return UP
    return DOWN if falls else STAYS


def remains(count: int, joined: int, current: int) -> bool:
    """Whether a change to `count` is still a change in the same direction once what waited has joined it."""
    return (joined - current) * (count - current) > 0


def needed_change(value: int, percent: int, total: int, default: int) -> int:
    """The least change of a total that matters: the smaller of value and percentage if both are given."""
    if value == UNSET:
        return default if percent == UNSET else percent * total // 100
    return value if percent == UNSET else min(value, percent * total // 100)


def is_enough(change: int, needed: int) -> bool:
    """Whether a total changes at all, and by at least what is needed."""
    return change > 0 and change >= needed


def averaged(mean: float, at: float, total: int, half_life: float, now: float) -> float:
    """The average of a total over time, with its current value; a negative `mean` is none, and `at` is its time."""
    if mean < 0.0 or half_life <= 0.0:
        return float(total)
    return mean + (float(total) - mean) * (1.0 - exp2(min(at - now, 0.0) / half_life))


def is_peak(used: float, peak: float, at: float, window: float, now: float) -> bool:
    """Whether usage replaces the peak that it last had: it is as high, or that peak was before the window."""
    return used >= peak or seconds_left(at, window, now) <= 0


def may_be_noise(last_down: float, window: float, now: float) -> bool:
    """Whether a rise follows a fall so closely that usage may only vary around a level."""
    return seconds_left(last_down, NOISY * window, now) > 0


def swings_after(swings: int, last_up: float, last_down: float, restarted: float, window: float, now: float) -> int:
    """How many scale-downs in a row restarted pods and were soon reversed, now that the workload grows.

    While a pod restarts, the others do its work. That may be what asks for more: then the next scale-down would only
    cause the same again.
    """
    if last_down <= last_up:
        return swings
    if seconds_left(max(last_down, restarted), max(SOON, SOON_TIMES * window), now) <= 0:
        return max(swings - 1, 0)
    return min(swings + 1, MOST_SWINGS) if last_down <= restarted < now else swings


def patience(window: float, swings: int) -> float:
    """How long a scale-down waits after the last scaling: twice as long for each in a row that was soon reversed.

    A short stabilisation, or none, would stay so however often it is doubled.
    """
    if swings <= 0:
        return window
    return max(window, min(max(window, SETTLE) * 2.0 ** min(swings, MOST_SWINGS), LONGEST_WAIT))


def without_noise(total: int, used: float, mean: float, peak: float, now: int, needed: int, doubted: bool) -> int:
    """The total that a utilization asks for, without rises and falls that do not last; `now` is the current total.

    What is added cannot be removed again before the stabilisation of scale-downs is over. So a rise that is `doubted`
    counts only if the average over about that time asks for enough more too, or once usage has practically reached the
    requests; near their cap, pods leave no time for doubt. A fall leaves at least the peak of usage in that time.
    """
    if total <= now:
        return min(max(total, int(peak)), now)
    counts = not doubted or int(mean) - now >= max(needed, 1) or used >= FULL * float(now)
    return total if counts else now


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
    """The bound for a recommendation that was learned from fewer or from more pods than there are now.

    It is trusted again once it has changed further in its direction since the count changed, or once it no longer
    shows the time before: lower samples after a half-life, and higher ones after some.
    """
    rose = after > before
    if rose and urgent:
        return FREE
    bound = AT_MOST if rose else AT_LEAST
    if seconds_left(at, settle, now) > 0:
        return bound
    if then == UNSET or seconds_left(at, half_life * HALF_LIVES if rose else half_life, now) <= 0:
        return FREE
    gone_on = amount > then * (1 + CLEARLY) if rose else amount < then * (1 - CLEARLY)
    return FREE if gone_on else bound


def learned_total(amount: int, before: int, after: int, then: int, bound: int, divides: bool) -> int:
    """The total of a recommendation per pod.

    After a scale-out it still shows the fewer pods before, with more work each: more pods alone do not raise the total.
    `divides`: whether pods share the work in this resource. Of memory each may need as much as before.
    """
    if bound != AT_MOST or then == UNSET or not divides:
        return amount * after
    return min(amount * after, max(amount, then) * before)


def lags_after_removal(at: float, before: int, after: int, settle: float, now: float) -> bool:
    """Whether replicas were removed so lately that samples do not show yet what the others have to do."""
    return after < before and seconds_left(at, max(settle, SETTLE), now) > 0


def keeps_added(total: int, raised: int, asked: int, needed: int, current: int) -> bool:
    """Whether replicas that a total added stay: it has not clearly fallen since, and histograms are only so fine.

    `raised` is the total that they were added for, and `needed` its count; `asked` is the count for the total now.
    """
    return asked < current <= needed and total >= raised * (1 - CLEARLY)


def held_to(amount: int, now: int, bound: int) -> int:
    """An amount that may only fall, or only rise, from the current amount, or neither."""
    if bound in (FREE, EXACTLY):
        return amount if bound == FREE else now
    return min(amount, now) if bound == AT_MOST else max(amount, now)
