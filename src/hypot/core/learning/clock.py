"""Which slot of the week a time is in, for many times at once, by the clock of a zone."""

from datetime import date, datetime
from itertools import pairwise
from typing import Any, NamedTuple
from zoneinfo import ZoneInfo

import numpy as np
import numpy.typing as npt

from hypot.core.learning.slots import DAYS, HOURS

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
_HOUR, _DAY = 3600, 86_400
_EPOCH = date(1970, 1, 1).toordinal()
# No zone changes its clock twice within this time.
_STRIDE = _DAY // 2
# Times are rounded to microseconds.
_ROUNDED = 4.9e-7


class Turns(NamedTuple):
    """When slots begin, in ascending order, and the turn and the slot of each, in columns."""

    times: Any
    turns: Any
    slots: Any


class SlotClock:
    """The occurrences of slots by the clock of a zone, numbered over all turns."""

    def __init__(self, hours: int, zone: str, first: float, last: float) -> None:
        self._first, self._last = first, last
        self._length = hours * _HOUR
        self._zero = _EPOCH * (HOURS // hours)
        changes = _changes(ZoneInfo(zone), int(first) - DAYS * _DAY, int(last) + DAYS * _DAY)
        self._starts = np.array([at for at, _ in changes], np.float64)
        self._offsets = np.array([offset for _, offset in changes], np.float64)
        ends = np.append(self._starts[1:], np.inf)
        # How far the clock has come by the end of each period.
        self._reached = np.maximum.accumulate(ends + self._offsets)

    def occurrences(self, times: Floats) -> Ints:
        offsets = self._offsets[np.searchsorted(self._starts, times, "right") - 1]
        return np.floor((times + offsets) / self._length).astype(np.int64) + self._zero

    def turns(self, slots: int) -> "Turns":
        """From the first time to the last, when another slot begins, with its turn and slot; the first begins before.

        A clock that is set back by more than a slot goes back to an earlier one.
        """
        length, parts = self._length, []
        for start, end, offset in zip(self._starts, np.append(self._starts[1:], np.inf), self._offsets, strict=True):
            begin, stop = max(start, self._first), min(end, self._last + length)
            edges = np.arange((begin + offset) // length + 1, (stop + offset) // length + 1) * length - offset
            if begin < stop:
                parts.append(np.concatenate(([begin], edges[(edges > begin) & (edges < stop)])))
        at = np.concatenate(parts)
        found = self.occurrences(at)
        differs = np.diff(found, prepend=-1) != 0
        times, found = at[differs], found[differs]
        # A time that is less than a microsecond before the hour counts as the hour, as in `slots.place`.
        return Turns((times - _ROUNDED).tolist(), (found // slots).tolist(), (found % slots).tolist())

    def begins(self, occurrences: Ints) -> Floats:
        """When each occurrence begins. One that daylight saving skips begins with the next one."""
        local = ((occurrences - self._zero) * self._length).astype(np.float64)
        period = np.searchsorted(self._reached, local, "right")
        return np.maximum(self._starts[period], local - self._offsets[period])


def _changes(zone: ZoneInfo, first: int, last: int) -> list[tuple[int, float]]:
    """When the offset of a zone from UTC changes, in seconds, and to what; the first is in force at the start."""

    def offset(at: int) -> float:
        ahead = datetime.fromtimestamp(at, zone).utcoffset()
        return 0.0 if ahead is None else ahead.total_seconds()

    found = [(first, offset(first))]
    for before, after in pairwise([*range(first, last, _STRIDE), last]):
        if offset(after) != found[-1][1]:
            low, high = before, after
            while high - low > 1:
                middle = (low + high) // 2
                low, high = (middle, high) if offset(middle) == found[-1][1] else (low, middle)
            found.append((high, offset(high)))
    return found
