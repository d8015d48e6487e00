"""The size of a container from the percentile of its usage, with a buffer, and the bounds of one change."""

from hypot.core.amount import scale

DAY = 86400.0


def buffered(size: int, used: int, buffer: float) -> int:
    """The size for this usage: larger at once and with room, smaller only if it is clearly too large."""
    ideal = int(used * (1 + buffer))
    if ideal > size:
        return int(ideal * (1 + buffer))
    return ideal if size / (1 + buffer) * (1 - buffer) > ideal else size


def bounded(wanted: int, size: int, least: int, most: int, least_share: float) -> int:
    """The size within its bounds, and at least this share of the size before; the most holds in any case."""
    return min(max(wanted, least, int(size * least_share)), most)


def balanced(size: int, used: int, target: int) -> int:
    """The size at which this usage is at its target, in percent; the size as it is unless it is clearly too large.

    It is for a container whose count of replicas follows from what another container needs.
    """
    return 100 * used // target if target * 9 * size > 1000 * used else size


def size_by_usage(
    size: int, used: int, least: int, most: int, least_share: float, buffer: float, factor: float, emergency: bool
) -> int:
    """The size that follows usage; without usage, below zero, the size stays, within its bounds.

    In an emergency it is at least so many times what is used.
    """
    wanted = size if used < 0 else buffered(size, used, buffer)
    if emergency and used >= 0:
        wanted = max(wanted, scale(used, factor))
    return bounded(wanted, size, least, most, least_share)


def may_shrink(per_day: int, last: float, now: float) -> bool:
    """Whether pods may shrink now, after they last did; minus infinity if they never did."""
    return per_day > 0 and now - last >= DAY / per_day
