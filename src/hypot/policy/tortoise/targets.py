"""The target utilization of each place that replicas follow: so high that a peak just fills the request."""

from hypot.core.learning.target import fixed_point, plain_step, stepped
from hypot.kinds.tortoise.settings import PLAIN_FORMULA, TortoiseSettings


def next_target(
    current: int, used: int, request: int, average: float, replicas: int, settings: TortoiseSettings
) -> int:
    """The next target. It stays, within its bounds, if a peak of usage does not even reach it.

    Then there are more replicas than the target asks for, so usage says nothing about it. `average` is the utilization
    of now, in percent; 0 if unknown. Whole replicas keep it below the target, by one replica at most.
    """
    wanted = current
    if settings.target_rule == PLAIN_FORMULA:
        wanted = plain_step(current, used, request)
    elif 100 * used >= current * request:
        held_at = min(max(average, current * (replicas - 1) / max(replicas, 1)), current)
        wanted = fixed_point(held_at, used, request)
        wanted = wanted if used > request else max(wanted, current)
    low, high = settings.minimum_target_utilization, settings.maximum_target_utilization
    return stepped(current, wanted, low, high, settings.target_max_increase)
