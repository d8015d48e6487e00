"""What a workload needed in each slot of a week, or of a day, over the last weeks.

A table has a column for each slot and a row for each of its last occurrences: four rows of 168 hours, or 28 rows of 24
hours. The occurrence number `turn` is in row `turn % rows`, so it replaces the one that leaves the window. A need is 16
bits: 11 binary digits, their exponent, and whether it stays only because nothing newer is known. 0 is unknown.
"""

from collections.abc import Iterator
from datetime import datetime
from functools import lru_cache
from math import ceil
from zoneinfo import ZoneInfo

import numpy as np
import numpy.typing as npt

Codes = npt.NDArray[np.uint16]
Needs = npt.NDArray[np.int64]

DAYS, HOURS = 7, 24
WEEKEND = (0, 6)
DIGITS = 11
STALE = 1 << 15
MOST = ((1 << DIGITS) - 1) << 15
# A need is exact to one in 2,048: a count is not rounded up because of less.
GRAIN = 1.0 - 2.0**-DIGITS


def rows_of(weeks: int, daily: bool) -> int:
    return weeks * DAYS if daily else weeks


def slots_of(hours: int, daily: bool) -> int:
    return HOURS // hours * (1 if daily else DAYS)


def empty(weeks: int, hours: int, daily: bool) -> Codes:
    return np.zeros((rows_of(weeks, daily), slots_of(hours, daily)), np.uint16)


@lru_cache(64)
def _zone(name: str) -> ZoneInfo:
    return ZoneInfo(name)


def place(at: float, hours: int, daily: bool, zone: str) -> tuple[int, int]:
    """The turn and the slot of a time. Weeks begin on Sunday, by the clock of the zone.

    An hour that daylight saving repeats is one slot; one that it skips does not occur.
    """
    local = datetime.fromtimestamp(at, _zone(zone))
    day, slot = local.toordinal(), local.hour // hours
    if daily:
        return day, slot
    week, weekday = divmod(day, DAYS)
    return week, weekday * (HOURS // hours) + slot


def packed(needed: npt.ArrayLike) -> Codes:
    """Needs as codes, rounded to the nearest. A need below 1 is 1, because 0 is unknown."""
    amounts = np.clip(np.asarray(needed, np.float64), 1.0, float(MOST))
    exponents = np.maximum(np.frexp(amounts)[1] - DIGITS, 0)
    digits = np.rint(np.ldexp(amounts, -exponents)).astype(np.int64)
    carried = digits >> DIGITS
    codes: Codes = ((exponents + carried << DIGITS) | (digits >> carried)).astype(np.uint16)
    return codes


def unpacked(codes: Codes) -> Needs:
    numbers = codes.astype(np.int64)
    return (numbers & ((1 << DIGITS) - 1)) << ((numbers >> DIGITS) & 15)


def record(table: Codes, turn: int, slot: int, needed: int | None) -> None:
    """Record an occurrence that has ended; None if it says nothing about what is needed.

    The last need that is known stays until there is a newer one.
    """
    row = turn % len(table)
    if needed is not None:
        column = table[:, slot]
        column[column >= STALE] = 0
        table[row, slot] = packed(needed)
    elif any(table[other, slot] for other in range(len(table)) if other != row):
        table[row, slot] = 0
    elif table[row, slot]:
        table[row, slot] |= STALE


def skip(table: Codes, turn: int, slot: int, until_turn: int, until_slot: int) -> None:
    """Record that nothing was observed from one occurrence up to another; all of a table at most."""
    rows, slots = table.shape
    first, end = turn * slots + slot, until_turn * slots + until_slot
    for occurrence in range(max(first, end - rows * slots), end):
        record(table, occurrence // slots, occurrence % slots, None)


def highest(table: Codes, slot: int) -> int:
    """The most that was needed in this slot; 0 if unknown."""
    return int(unpacked(table[:, slot]).max())


def nearest(table: Codes, slot: int, hours: int, daily: bool) -> tuple[int, tuple[int, ...]]:
    """The most that was needed in the slots nearest to one without history, and these slots; 0 and none if unknown.

    First the same time on days of the same type, weekdays or weekends, then earlier and later on these days.
    """
    for slots in _neighbours(slot, HOURS // hours, daily):
        known = tuple([each for each in slots if table[:, each].any()])
        if known:
            return max(highest(table, each) for each in known), known
    return 0, ()


def _neighbours(slot: int, per_day: int, daily: bool) -> Iterator[list[int]]:
    day, time = divmod(slot, per_day)
    days = [0] if daily else [each for each in range(DAYS) if (each in WEEKEND) == (day in WEEKEND)]
    for away in range(per_day):
        times = [each for each in dict.fromkeys((time - away, time + away)) if 0 <= each < per_day]
        yield [each * per_day + near for each in days for near in times]


def replicas_of(needed: int, size: int, factor: float) -> int:
    """So many times the replicas that were needed, at this size of a pod; rounded up once."""
    return max(ceil(needed * factor / size * GRAIN), 0)


def bounds_of(
    needed: int, size: int, low_factor: float, high_factor: float, least: int, most_low: int, most: int
) -> tuple[int, int]:
    """The least and the most replicas, from the most that was needed in the slot.

    `least` and `most` hold for both, and `most_low` for the first. The most is never below `least` times its factor, so
    that there is room above the least.
    """
    low = max(min(replicas_of(needed, size, low_factor), most_low), least)
    high = max(replicas_of(needed, size, high_factor), ceil(least * high_factor), low)
    return min(low, most), min(high, most)
