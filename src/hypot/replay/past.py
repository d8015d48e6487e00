"""What a horizontal autoscaler remembers: columns of plain numbers, of which the first `used` places hold something."""

from typing import Any, NamedTuple

from hypot.core.window import NO_SLOT, last_older


class Past(NamedTuple):
    """Recommendations, and moves up and down, each with its time."""

    used: Any
    values: Any
    times: Any
    ups_used: Any
    ups: Any
    up_times: Any
    downs_used: Any
    downs: Any
    down_times: Any


def no_past(recommendations: int, moves: int) -> Past:
    """Nothing yet, with places for as many as the longest window and the longest period hold."""
    return Past([0], *_places(recommendations), [0], *_places(moves), [0], *_places(moves))


def _places(count: int) -> tuple[list[int], list[float]]:
    return [0] * count, [0.0] * count


def note(used: Any, values: Any, times: Any, value: int, at: float, reusable_before: float) -> None:
    """Remember a value, in the place of one that is too old to matter."""
    n = used[0]
    slot = last_older(times[:n], reusable_before)
    if slot == NO_SLOT:
        slot = n
        used[0] = n + 1
    values[slot], times[slot] = value, at
