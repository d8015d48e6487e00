"""Planned minimums in the annotation `hypot.dev/schedule` of an autoscaler of any kind.

It is a JSON list. Each entry has a time, either `startAt` and `finishAt`, or `cron` with `duration` and `timeZone`, and
the least that holds in that time: `minReplicas`, and `minAllowed` by container. The maximum of the object still holds.
"""

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import lru_cache
from math import inf
from typing import Any, NamedTuple
from zoneinfo import ZoneInfo

from hypot.core.amount import RESOURCES, of_milli
from hypot.core.cron import Cron, next_from, parse_cron
from hypot.core.instant import read_time, span
from hypot.core.quantity import QuantityError, milli
from hypot.core.replicas.ratio import MAX_INT32
from hypot.core.timeofday import DAY
from hypot.kinds.floor import NO_FLOOR, Floor, higher

# So many windows of one entry in a row, each of which begins before the last one ends, have no end.
_OVERLAPS = 100
MOST_ENTRIES, LONGEST_TEXT, LONGEST = 32, 8192, 7 * DAY
_ONCE, _REPEATED = ("startAt", "finishAt"), ("cron", "duration", "timeZone")
_ZONE = re.compile(r"(Z|z|[+-][0-9]{2}:?[0-9]{2})$")
_KNOWN = (*_ONCE, *_REPEATED, "minReplicas", "minAllowed")


class ScheduleError(ValueError):
    """All problems of an annotation."""

    def __init__(self, problems: Iterable[str]) -> None:
        self.problems = tuple(problems)
        super().__init__("; ".join(self.problems))


class Window(NamedTuple):
    """When a planned minimum holds: from its start until its end."""

    start: float
    end: float


class PlannedMinimum(NamedTuple):
    """One entry. Without `once` it repeats."""

    floor: Floor
    once: Window | None = None
    cron: Cron | None = None
    duration: float = 0.0
    zone: str = "UTC"

    def window(self, at: float) -> Window | None:
        """The window that holds at this time, or the next one; None if there is no more."""
        if self.cron is None:
            return self.once if self.once is not None and at < self.once.end else None
        # Times of cron are whole seconds: the first that has not ended.
        start = next_from(self.cron, (at - self.duration) // 1 + 1, ZoneInfo(self.zone))
        return None if start is None else Window(start, start + self.duration)

    def last_end(self, window: Window) -> float:
        """When a window ends that the next one of the same entry does not prolong; infinite if each does."""
        for _ in range(_OVERLAPS):
            following = self.window(window.end) if self.cron is not None else None
            if following is None or following.start > window.end:
                return window.end
            window = following
        return inf


class ScheduleNow(NamedTuple):
    """What holds at one time and until when, and what holds next."""

    floor: Floor = NO_FLOOR
    until: float = 0.0
    ahead: tuple[Window, Floor] | None = None
    # Why it cannot be read.
    error: str = ""


def schedule_of(written: Any) -> tuple[PlannedMinimum, ...]:
    """The entries of an annotation. Raises a ScheduleError with all problems."""
    if not isinstance(written, str):
        raise ScheduleError(["it is not text"])
    return _read(written)


@lru_cache(4096)
def _read(text: str) -> tuple[PlannedMinimum, ...]:
    if len(text) > LONGEST_TEXT:
        raise ScheduleError([f"it is longer than {LONGEST_TEXT:,} characters"])
    try:
        entries = json.loads(text, object_pairs_hook=_once_each)
    except (ValueError, RecursionError) as error:
        raise ScheduleError([f"it is not JSON: {error}"]) from error
    if not isinstance(entries, list) or not 1 <= len(entries) <= MOST_ENTRIES:
        raise ScheduleError([f"it is not a list of 1 to {MOST_ENTRIES} entries"])
    read = [_EntryReader(entry) for entry in entries]
    problems = [f"entry {i}: {problem}" for i, entry in enumerate(read, 1) for problem in entry.problems]
    if problems:
        raise ScheduleError(problems)
    return tuple([entry.made for entry in read])


def _once_each(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError("a key occurs twice")
    return found


class _EntryReader:
    """Reads one entry; `made` counts only if there are no problems."""

    def __init__(self, entry: Any) -> None:
        self.problems: list[str] = []
        self.made = PlannedMinimum(NO_FLOOR)
        if not isinstance(entry, dict):
            self.problems.append("it is not an object such as {...}")
            return
        self.problems += [f"{key!s:.40} is unknown" for key in entry if key not in _KNOWN]
        self.made = self._timed(entry, Floor(self._replicas(entry), self._sizes(entry)))
        if not self.made.floor.replicas and not self.made.floor.sizes and not self.problems:
            self.problems.append("it has neither minReplicas nor minAllowed")

    def _replicas(self, entry: Mapping[str, Any]) -> int:
        written = entry.get("minReplicas", 0)
        if type(written) is not int or not 0 <= written <= MAX_INT32:
            self.problems.append(f"minReplicas is not a whole number from 0 to {MAX_INT32}")
            return 0
        return written

    def _sizes(self, entry: Mapping[str, Any]) -> tuple[tuple[str, tuple[tuple[str, int], ...]], ...]:
        written = entry.get("minAllowed", {})
        if not isinstance(written, dict) or not all(isinstance(each, dict) for each in written.values()):
            self.problems.append('minAllowed is not like {"app": {"cpu": "500m", "memory": "1Gi"}}')
            return ()
        return tuple([(name, tuple(self._amounts(name, amounts))) for name, amounts in written.items() if amounts])

    def _amounts(self, container: str, written: Mapping[str, Any]) -> Iterator[tuple[str, int]]:
        for resource, quantity in written.items():
            try:
                amount = of_milli(resource, milli(quantity)) if resource in RESOURCES else 0
            except (QuantityError, TypeError):
                amount = 0
            if amount > 0:
                yield resource, amount
            else:
                self.problems.append(f"minAllowed of {container!s:.63} has no valid amount of {resource!s:.40}")

    def _timed(self, entry: Mapping[str, Any], floor: Floor) -> PlannedMinimum:
        once, repeated = any(key in entry for key in _ONCE), any(key in entry for key in _REPEATED)
        if once == repeated:
            self.problems.append("it needs either startAt and finishAt, or cron and duration")
            return PlannedMinimum(floor)
        return self._once(entry, floor) if once else self._repeated(entry, floor)

    def _once(self, entry: Mapping[str, Any], floor: Floor) -> PlannedMinimum:
        start, end = _time(entry.get("startAt")), _time(entry.get("finishAt"))
        self.problems += [
            f"{key} is not a time such as 2026-11-27T08:00:00+01:00"
            for key, at in zip(_ONCE, (start, end), strict=True)
            if at is None
        ]
        if start is not None and end is not None and start >= end:
            self.problems.append("finishAt is not after startAt")
        return PlannedMinimum(floor, Window(start or 0.0, end or 0.0))

    def _repeated(self, entry: Mapping[str, Any], floor: Floor) -> PlannedMinimum:
        cron = self._value("cron", entry.get("cron"), parse_cron)
        if cron is not None and next_from(cron, 0.0, ZoneInfo("UTC")) is None:
            self.problems.append("cron: it never occurs")
        duration = self._value("duration", entry.get("duration"), span) or 0.0
        zone = self._value("timeZone", entry.get("timeZone", "UTC"), ZoneInfo)
        if duration and not 60 <= duration <= LONGEST:
            self.problems.append("duration is not from 1m to 168h")
        return PlannedMinimum(floor, None, cron, duration, "UTC" if zone is None else zone.key)

    def _value(self, key: str, written: Any, read: Callable[[str], Any]) -> Any:
        if not isinstance(written, str):
            self.problems.append(f"{key} is not text")
            return None
        try:
            return read(written)
        except (ValueError, OSError, LookupError) as error:
            known = f"{written[:40]!r} is not known" if key == "timeZone" else str(error)
            self.problems.append(f"{key}: {known}")
            return None


def _time(written: Any) -> float | None:
    """A time with its zone."""
    is_local = isinstance(written, str) and not _ZONE.search(written)
    return None if is_local else read_time(written)


def schedule_at(entries: Iterable[PlannedMinimum], at: float) -> ScheduleNow:
    """What these entries ask for at a time. If several hold, the highest of each value counts."""
    floor, until, ahead = NO_FLOOR, 0.0, None
    for entry in entries:
        window = entry.window(at)
        if window is None:
            continue
        if window.start <= at:
            end = entry.last_end(window)
            until = end if not until else min(until, end)
            floor = _highest(floor, entry.floor)
        elif ahead is None or window.start < ahead[0].start:
            ahead = window, entry.floor
    return ScheduleNow(floor, until, ahead)


def _highest(one: Floor, other: Floor) -> Floor:
    names = dict.fromkeys([name for name, _ in (*one.sizes, *other.sizes)])
    first, second = dict(one.sizes), dict(other.sizes)
    sizes = [(name, higher(dict(first.get(name, ())), dict(second.get(name, ())))) for name in names]
    return Floor(max(one.replicas, other.replicas), tuple([(name, tuple(amounts.items())) for name, amounts in sizes]))
