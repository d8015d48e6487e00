"""From usage and a target to a replica count, as the HorizontalPodAutoscaler computes it.

Amounts are integers of milli-units, ratios are IEEE doubles, and the order of operations is part of the rule.
"""

from math import ceil, isfinite

MAX_INT32 = 2**31 - 1
MAX_INT64 = 2**63 - 1


def trunc_div(dividend: int, divisor: int) -> int:
    """Integer division toward zero, as the machine divides; Python's own rounds down."""
    quotient = abs(dividend) // abs(divisor)
    return quotient if (dividend < 0) == (divisor < 0) else -quotient


def within(ratio: float, down: float, up: float) -> bool:
    """Whether a ratio of usage to target is close enough to 1 to leave things alone; NaN never is."""
    return 1.0 - down <= ratio <= 1.0 + up


def utilization(usage: int, requests: int) -> int:
    """Whole percent of the requests; what is cut off here is never seen by the ratio."""
    return trunc_div(usage * 100, requests)


def assumed_usage(request: int, target_percent: int) -> int:
    """What a pod without a sample is taken to use before others may be removed on its account."""
    return trunc_div(request * max(100, target_percent), 100)


def count_for(ratio: float, pods: int) -> int:
    return ceil_int32(ratio * pods)


def count_outside(ratio: float, pods: int, current: int, down: float, up: float) -> int:
    """The count a ratio asks for; inside the tolerance that is the current one."""
    return current if within(ratio, down, up) else count_for(ratio, pods)


def ceil_int32(count: float) -> int:
    """Round up, and stay inside a replica count's range; what is no number asks for nothing."""
    if isfinite(count):
        return min(ceil(count), MAX_INT32)
    return MAX_INT32 if count > 0 else 0


def count_after_refill(first: float, second: float, samples: int, current: int, down: float, up: float) -> int:
    """The count once missing and unready pods were filled in; it never turns the direction of the first look."""
    if within(second, down, up) or (first < 1.0 < second) or (second < 1.0 < first):
        return current
    count = count_for(second, samples)
    if (second < 1.0 and count > current) or (second > 1.0 and count < current):
        return current
    return count


def per_pod_share(total: int, pods: int) -> int:
    """The reported average of a metric that is divided among pods; without pods there is nothing to report."""
    return ceil(total / pods) if pods > 0 else 0


def first_above(target: int, up: float) -> int:
    """The smallest whole amount whose ratio to the target leaves the tolerance upwards."""
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
    """The largest whole amount whose ratio to the target leaves the tolerance downwards; -1 where none does."""
    low, high = -1, target
    while low < high:
        middle = (low + high + 1) // 2
        if middle / target < 1.0 - down:
            low = middle
        else:
            high = middle - 1
    return low
