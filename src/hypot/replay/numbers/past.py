"""The state of a horizontal autoscaler: columns of plain numbers, of which the first `used` elements are in use."""

from math import inf
from typing import Any, NamedTuple

from hypot.core.replicas.window import NO_SLOT, last_older


class PastMoves(NamedTuple):
    """Recommendations, and moves up and down, each with its time."""

    used: Any
    values: Any
    times: Any
    # The index of the newest recommendation, and the time of the last recommendation that differed from it.
    newest: Any
    differed: Any
    ups_used: Any
    ups: Any
    up_times: Any
    downs_used: Any
    downs: Any
    down_times: Any


def no_past(recommendations: int, moves: int) -> PastMoves:
    """Empty, with room for as many entries as the longest window and the longest period hold."""
    return PastMoves([0], *_places(recommendations), [0], [-inf], [0], *_places(moves), [0], *_places(moves))


def _places(count: int) -> tuple[list[int], list[float]]:
    return [0] * count, [0.0] * count


def note(used: Any, values: Any, times: Any, value: int, at: float, reusable_before: float) -> int:
    """Record a value, in place of an entry that is too old to matter; returns its index."""
    n = used[0]
    slot = last_older(times[:n], reusable_before)
    if slot == NO_SLOT:
        slot = n
        used[0] = n + 1
    values[slot], times[slot] = value, at
    return int(slot)


def recommended(past: PastMoves, value: int, at: float, reusable_before: float) -> None:
    """Record a recommendation. They are written in turn, so the oldest usually follows the newest."""
    newest, n = past.newest[0], past.used[0]
    if n > 0 and past.values[newest] != value:
        past.differed[0] = past.times[newest]
    slot = newest + 1 if newest + 1 < n else 0
    if n > 0 and past.times[slot] < reusable_before:
        past.values[slot], past.times[slot], past.newest[0] = value, at, slot
    else:
        past.newest[0] = note(past.used, past.values, past.times, value, at, reusable_before)


def is_steady(past: PastMoves, value: int, cutoff: float) -> bool:
    """Whether only this value was recommended since the cutoff; older recommendations do not matter."""
    return bool(past.used[0] > 0 and past.values[past.newest[0]] == value and past.differed[0] < cutoff)
