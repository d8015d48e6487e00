"""Which axis moves: a preferred count of replicas, up to which pods keep their size, and the sizes around it.

From the least count on, replicas are added at today's size; at the preferred count pods grow, up to their largest size;
then replicas are added again. At the least count pods shrink. So each count covers a scaling interval: `count_of` is
the count for a total in these intervals, without a list of them.
"""

from typing import NamedTuple

from hypot.core.axes.interval import holds, whole_limit
from hypot.core.learning.target import TOLERANCE
from hypot.core.sizes.right_size import balanced, bounded

# An amount that is not known.
UNKNOWN = -1


class Counts(NamedTuple):
    """The counts at which the axis changes: pods shrink at the least, and grow at the preferred one."""

    least: int
    preferred: int
    most: int


def count_of(
    total: int, current: int, size: int, largest: int, smallest: int, least: int, preferred: int, most: int
) -> int:
    """The replicas that share a total: the current count if it still covers it, else the lowest that does."""
    preferred = min(max(preferred, least), most)
    if least <= current <= most and covers(total, current, size, largest, smallest, least, preferred):
        return current
    last = max(least, preferred - 1)
    if total <= last * size:
        return max(least, -(-total // size))
    if total <= most * largest:
        return min(max(last + 1, -(-total // largest)), most)
    return most


def covers(total: int, count: int, size: int, largest: int, smallest: int, least: int, preferred: int) -> bool:
    """Whether a count covers a total. Only the least and the preferred count have pods whose size may vary."""
    high = highest_at(count, size, largest, least, preferred)
    below = 0 if count == least else highest_at(count - 1, size, largest, least, preferred)
    if count in (least, preferred):
        return holds(min(max(below, smallest * count), high), high, below, 0, total)
    return holds(below, high, below, 1, total)


def highest_at(count: int, size: int, largest: int, least: int, preferred: int) -> int:
    """The largest total that a count covers."""
    return count * (size if count == least or count < preferred else largest)


def size_at(
    count: int, own: int, total: int, size: int, largest: int, smallest: int, least: int, preferred: int
) -> int:
    """The size of each pod at a count. From the preferred count on it only grows, at the least count it only shrinks.

    A count that is both is the only one, so the size follows the total in both directions.
    `own` is the count that this total asks for; the count may be higher, because another container needs more.
    """
    if own > preferred:
        return max(size, largest)
    needed = min(max(-(-total // count), smallest), largest)
    if preferred <= count <= least:
        return needed
    if count >= preferred:
        return max(size, needed)
    return min(size, needed) if count <= least else size


def size_with_replicas(
    count: int,
    total: int,
    used: int,
    peak: int,
    target: int,
    size: int,
    least_size: int,
    most_size: int,
    least: int,
    preferred: int,
    most: int,
    least_share: float,
    several: bool,
) -> int:
    """The size of a resource that replicas follow, at this count of replicas.

    `total` is what all pods need now, `used` a percentile of usage, and `peak` the most that they needed lately; the
    first two may be unknown. `several`: whether the count may follow from what another container needs.
    """
    if total < 0:
        return bounded(size, size, least_size, most_size, least_share)
    own = count_of(total, count, size, most_size, least_size, least, preferred, most)
    wanted = size_at(count, own, total, size, most_size, least_size, least, preferred)
    # Where even the largest size is not enough, the HPA may exceed the preferred count only at that size.
    if size < wanted <= size * (1 + TOLERANCE) and own <= preferred:
        wanted = size
    if several and least < count < preferred and used >= 0:
        wanted = max(min(balanced(size, used, target), size), min(size, -(-total // count)))
    if wanted < size:
        # With less than its usage, and what a peak asks for at the preferred count, it would grow again each day.
        kept = size if used < 0 else max(used, -(-peak // preferred))
        wanted = min(size, max(wanted, kept))
    return bounded(wanted, size, least_size, most_size, least_share)


def is_short(total: int, replicas: int, size: int) -> bool:
    """Whether these pods need clearly more than they have."""
    return total > replicas * size * (1 + TOLERANCE)


def is_worth_a_shrink(wanted: int, size: int, most_size: int) -> bool:
    """Whether a fall to this size is more than the tolerance, or the size is above its maximum."""
    return wanted < size * (1 - TOLERANCE) or size > most_size


def raised_limit(
    limit: int, base: int, request: int, replicas: int, grain: int, least_factor: float, least: int
) -> int:
    """The limit for a new request, in the ratio of this limit to its base, and at least so many times the request."""
    made = whole_limit(limit, base, request, UNKNOWN, UNKNOWN, replicas, grain)
    return max(made, int(request * least_factor), least)
