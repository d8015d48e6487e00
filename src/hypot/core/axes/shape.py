"""Which axis moves: a preferred count of replicas, up to which pods keep their size, and the sizes around it.

From the least count on, replicas are added at today's size; at the preferred count pods grow, up to their largest size;
then replicas are added again. At the least count pods shrink.
"""

from functools import lru_cache

from hypot.core.axes.interval import HORIZONTAL_ONLY, Given, Interval, effective, replicas_for


@lru_cache(4096)
def intervals(size: int, largest: int, smallest: int, least: int, preferred: int, most: int) -> tuple[Interval, ...]:
    """The scaling intervals of pods with this size today. `preferred` may be at most `most`."""
    preferred = min(max(preferred, least), most)
    given = [Given(least, size)]
    if preferred - 1 > least:
        given.append(Given(preferred - 1, size, HORIZONTAL_ONLY))
    if preferred > least:
        given.append(Given(preferred, largest))
    if most > preferred:
        given.append(Given(most, largest, HORIZONTAL_ONLY))
    return effective(given, least, smallest, 0, 0)


def count_of(
    total: int, current: int, size: int, largest: int, smallest: int, least: int, preferred: int, most: int
) -> int:
    """The replicas that share a total."""
    return replicas_for(intervals(size, largest, smallest, least, preferred, most), total, current)


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
