"""Computes a replica count from usage and a target, as the HorizontalPodAutoscaler does.

Amounts are integers of milli-units, ratios are IEEE doubles, and the order of operations is part of the rule.
"""

from math import ceil, inf, isfinite, nan

MAX_INT32 = 2**31 - 1
MAX_INT64 = 2**63 - 1


def trunc_div(dividend: int, divisor: int) -> int:
    """Integer division toward zero, as Go divides; Python's own division rounds down."""
    quotient = abs(dividend) // abs(divisor)
    return quotient if (dividend < 0) == (divisor < 0) else -quotient


def within(ratio: float, down: float, up: float) -> bool:
    """Whether a ratio of usage to target is close enough to 1 to change nothing; NaN never is."""
    return 1.0 - down <= ratio <= 1.0 + up


def utilization(usage: int, requests: int) -> int:
    """Whole percent of the requests, truncated before the ratio is computed."""
    return trunc_div(usage * 100, requests)


def assumed_usage(request: int, target_percent: int) -> int:
    """The assumed usage of a pod without a sample when scaling down."""
    return trunc_div(request * max(100, target_percent), 100)


def count_for(ratio: float, pods: int) -> int:
    return ceil_int32(ratio * pods)


def count_outside(ratio: float, pods: int, current: int, down: float, up: float) -> int:
    """The count for a ratio; the current count if the ratio is within the tolerance."""
    return current if within(ratio, down, up) else count_for(ratio, pods)


def ceil_int32(count: float) -> int:
    """Round up, and stay within the range of a replica count. NaN gives 0."""
    if isfinite(count):
        return min(ceil(count), MAX_INT32)
    return MAX_INT32 if count > 0 else 0


def count_after_refill(first: float, second: float, samples: int, current: int, down: float, up: float) -> int:
    """The count after missing and unready pods were filled in. It never reverses the direction of the first ratio."""
    if within(second, down, up) or (first < 1.0 < second) or (second < 1.0 < first):
        return current
    count = count_for(second, samples)
    if (second < 1.0 and count > current) or (second > 1.0 and count < current):
        return current
    return count


def count_by_utilization(
    used: int,
    asked: int,
    samples: int,
    ready: int,
    unready: int,
    unready_asked: int,
    missing: int,
    missing_asked: int,
    missing_assumed: int,
    target: int,
    current: int,
    down: float,
    up: float,
) -> tuple[int, float, float]:
    """The count, its ratio, and the ratio with missing pods filled in: NaN if every pod has a sample.

    Pods without a usable sample never support the change: when scaling up they count as using nothing, and when scaling
    down each pod without a sample counts with its assumed usage.
    """
    ratio = utilization(used, asked) / target
    rising = unready > 0 and ratio > 1.0
    if not rising and missing == 0:
        return count_outside(ratio, ready, current, down, up), ratio, nan
    if ratio < 1.0:
        used += missing_assumed
    if ratio != 1.0:
        asked += missing_asked
        samples += missing
    if rising:
        asked += unready_asked
        samples += unready
    refill = utilization(used, asked) / target
    return count_after_refill(ratio, refill, samples, current, down, up), ratio, refill


def total_by_utilization(
    used: int,
    asked: int,
    unready: int,
    unready_asked: int,
    missing: int,
    missing_asked: int,
    doubtful: int,
    target: int,
    now: int,
) -> int:
    """The total of requests at which usage is exactly at the target; `now` is the current total.

    Pods without a usable sample never support the change, as in `count_by_utilization`: with them filled in, the total
    does not move in the other direction than without them. `doubtful` is the usage to assume in addition when scaling
    down: of pods without a sample, and of pods whose sample is low because they crashed. Pods that are not ready keep
    what they have: they may already take load that the others no longer show.
    """
    way = _way(used, asked, target)
    rising = unready > 0 and way > 0
    beside = 0 if rising else unready_asked
    if not rising and missing == 0 and (way >= 0 or doubtful == 0):
        return _total_at(used, target) + beside
    if way < 0:
        used += doubtful
    if way != 0:
        asked += missing_asked
    if rising:
        asked += unready_asked
    if way == 0 or _way(used, asked, target) != way:
        return now
    total = _total_at(used, target) + beside
    return max(total, now) if way > 0 else min(total, now)


def _way(used: int, asked: int, target: int) -> int:
    """1 if usage is above its target, -1 if it is below, 0 if it is exactly there."""
    distance = 100 * used - target * asked
    return 1 if distance > 0 else -1 if distance < 0 else 0


def _total_at(used: int, target: int) -> int:
    """Rounded up, so that usage is not above the target."""
    return max(-(-100 * used // target), 0)


def count_by_average(
    total: int,
    samples: int,
    ready: int,
    unready: int,
    missing: int,
    target: int,
    current: int,
    down: float,
    up: float,
) -> tuple[int, float, float]:
    """The same for an average per pod. When scaling down, a pod without a sample is assumed to be at the target."""
    ratio = trunc_div(total, samples) / target
    rising = unready > 0 and ratio > 1.0
    if not rising and missing == 0:
        return count_outside(ratio, ready, current, down, up), ratio, nan
    if ratio < 1.0:
        total += missing * target
    if ratio != 1.0:
        samples += missing
    if rising:
        samples += unready
    refill = trunc_div(total, samples) / target
    return count_after_refill(ratio, refill, samples, current, down, up), ratio, refill


def count_by_value(amount: int, target: int, ready: int, current: int, down: float, up: float) -> int:
    """The count for a total value, multiplied by the ready pods; without that factor when scaling from zero."""
    ratio = amount / target
    return ceil_int32(ratio) if current == 0 else count_outside(ratio, ready, current, down, up)


def share_ratio(amount: int, target: int, pods: int) -> float:
    """The ratio of a value that pods share to their target. Without pods it is infinite, or NaN for a value of 0."""
    if pods > 0:
        return amount / (target * pods)
    return inf if amount > 0 else nan


def count_by_share(amount: int, target: int, pods: int, down: float, up: float) -> int:
    """The count for a value that pods share."""
    return pods if within(share_ratio(amount, target, pods), down, up) else ceil_int32(amount / target)


def per_pod_share(total: int, pods: int) -> int:
    """The reported average of a metric that is divided among pods; 0 without pods."""
    return ceil(total / pods) if pods > 0 else 0


def first_above(target: int, up: float) -> int:
    """The smallest whole amount whose ratio to the target is above the tolerance."""
    low, high = target, 2 * target
    while high / target <= 1.0 + up:
        high *= 2
    while low < high:
        middle = (low + high) // 2
        if middle / target > 1.0 + up:
            high = middle
        else:
            low = middle + 1
    return low


def first_below(target: int, down: float) -> int:
    """The largest whole amount whose ratio to the target is below the tolerance, or -1 if there is none."""
    low, high = -1, target
    while low < high:
        middle = (low + high + 1) // 2
        if middle / target < 1.0 - down:
            low = middle
        else:
            high = middle - 1
    return low
