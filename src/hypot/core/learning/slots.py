"""What a workload needed in each slot of a week, or of a day, over the last weeks.

A table has a column for each slot and a row for each of its last occurrences: four rows of 168 hours, or 28 rows of 24
hours. The occurrence number `turn` is in row `turn % rows`, so it replaces the one that leaves the window. A need is 16
bits: 11 binary digits, their exponent, and whether it stays only because nothing newer is known. 0 is unknown.
"""

from array import array
from collections.abc import Sequence
from datetime import datetime
from functools import lru_cache
from math import ceil
from typing import Any
from zoneinfo import ZoneInfo

DAYS, HOURS = 7, 24
WEEKEND = (0, 6)
DIGITS = 11
STALE = 1 << 15
MOST = ((1 << DIGITS) - 1) << 15
# A need is exact to one in 2,048: a count is not rounded up because of less.
GRAIN = 1.0 - 2.0**-DIGITS
CODE = "H"
# An occurrence that says nothing about what is needed.
UNKNOWN = -1


class SlotTable:
    """The codes of one workload, row by row."""

    __slots__ = ("codes", "slots")

    def __init__(self, slots: int, codes: bytes) -> None:
        self.slots = slots
        self.codes = array(CODE, codes)

    @property
    def rows(self) -> int:
        return len(self.codes) // self.slots

    def column(self, slot: int) -> Sequence[int]:
        """The codes of one slot, one for each row."""
        return self.codes[slot :: self.slots]

    def record(self, turn: int, slot: int, needed: int | None) -> None:
        """Record an occurrence that has ended; None if it says nothing about what is needed."""
        record(self.codes, self.slots, turn, slot, UNKNOWN if needed is None else needed)

    def skip(self, first: int, end: int) -> None:
        """Record that nothing was observed from one occurrence up to another, counted over all turns and slots."""
        skip(self.codes, self.slots, first, end)

    def highest(self, slot: int) -> int:
        """The most that was needed in this slot; 0 if unknown."""
        return highest(self.codes, self.slots, slot)

    def is_stale(self, slot: int) -> bool:
        """Whether all that is known of this slot is older than its rows: the last need, which stays."""
        return max(self.column(slot)) >= STALE

    def nearest(self, slot: int, per_day: int) -> tuple[int, tuple[int, ...]]:
        """The most that was needed in the slots nearest to one without history, and these slots; 0 and none if unknown.

        First the same time on days of the same type, weekdays or weekends, then earlier and later on these days.
        """
        distance = nearest(self.codes, self.slots, slot, per_day)
        if distance == per_day:
            return 0, ()
        slots = [each for each in range(self.slots) if away(slot, each, per_day, self.slots) == distance]
        known = tuple([each for each in slots if is_known(self.codes, self.slots, each)])
        return max(map(self.highest, known)), known


def record(codes: Any, slots: int, turn: int, slot: int, needed: int) -> None:
    """Record an occurrence that has ended.

    The last need that is known stays until there is a newer one. An older need that is not higher than a newer one
    never counts again, so it is dropped: half as much is stored.
    """
    here = turn % (len(codes) // slots) * slots + slot
    if needed != UNKNOWN:
        code = packed(needed)
        for place in range(slot, len(codes), slots):
            # Codes are in the order of their needs, and stale ones are above all others.
            if codes[place] >= STALE or codes[place] <= code:
                codes[place] = 0
        codes[here] = code
        return
    stays = codes[here] != 0
    for place in range(slot, len(codes), slots):
        stays = stays and (place == here or codes[place] == 0)
    codes[here] = codes[here] | STALE if stays else 0


def skip(codes: Any, slots: int, first: int, end: int) -> None:
    """Record that nothing was observed from one occurrence up to another, counted over all turns and slots.

    Once all rows were passed, only the last need of each slot is left: it stays, however long that lasts.
    """
    for occurrence in range(first, min(end, first + len(codes))):
        record(codes, slots, occurrence // slots, occurrence % slots, UNKNOWN)


def highest(codes: Any, slots: int, slot: int) -> int:
    """The most that was needed in a slot; 0 if unknown."""
    found = 0
    for place in range(slot, len(codes), slots):
        found = max(found, unpacked(codes[place]))
    return found


def is_known(codes: Any, slots: int, slot: int) -> bool:
    for place in range(slot, len(codes), slots):  # noqa: SIM110  a generator cannot be compiled
        if codes[place] != 0:
            return True
    return False


def away(slot: int, other: int, per_day: int, slots: int) -> int:
    """How many slots of a day another slot is earlier or later; `per_day` or more if its day is of another type."""
    if slots != per_day and (slot // per_day in WEEKEND) != (other // per_day in WEEKEND):
        return per_day
    return abs(slot % per_day - other % per_day)


def nearest(codes: Any, slots: int, slot: int, per_day: int) -> int:
    """How far away the nearest slots with history are; `per_day` if there are none."""
    found = per_day
    for other in range(slots):
        distance = away(slot, other, per_day, slots)
        if distance < found and is_known(codes, slots, other):
            found = distance
    return found


def highest_near(codes: Any, slots: int, slot: int, per_day: int) -> int:
    """The most that was needed in a slot, or else in the nearest slots with history; 0 if unknown."""
    found = highest(codes, slots, slot)
    if found > 0:
        return found
    distance = nearest(codes, slots, slot, per_day)
    for other in range(slots if distance < per_day else 0):
        if away(slot, other, per_day, slots) == distance:
            found = max(found, highest(codes, slots, other))
    return found


def last_peak(codes: Any, slots: int, turn: int, slot: int) -> int:
    """The most that was needed since each slot occurred last, before this occurrence.

    A slot whose last occurrence is unknown counts with what it needed before.
    """
    found, rows = 0, len(codes) // slots
    for other in range(slots):
        code = codes[(turn - (1 if other >= slot else 0)) % rows * slots + other]
        found = max(found, unpacked(code) if 0 < code < STALE else highest(codes, slots, other))
    return found


def is_left_out(counted: int, missed: int) -> bool:
    """Whether a slot says nothing: fewer than half of its observations count."""
    return counted < max(missed, 1)


def rows_of(weeks: int, daily: bool) -> int:
    return weeks * DAYS if daily else weeks


def slots_of(hours: int, daily: bool) -> int:
    return HOURS // hours * (1 if daily else DAYS)


def empty(weeks: int, hours: int, daily: bool) -> SlotTable:
    slots = slots_of(hours, daily)
    return SlotTable(slots, bytes(2 * rows_of(weeks, daily) * slots))


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


def packed(needed: int) -> int:
    """A need as a code, rounded to the nearest. A need below 1 is 1, because 0 is unknown."""
    amount = min(max(needed, 1), MOST)
    exponent = 0
    while amount >> exponent >> DIGITS:
        exponent += 1
    digits = amount + (1 << exponent >> 1) >> exponent
    if digits >> DIGITS:
        digits, exponent = digits >> 1, exponent + 1
    return exponent << DIGITS | digits


def unpacked(code: int) -> int:
    return (code & ((1 << DIGITS) - 1)) << (code >> DIGITS & 15)


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
