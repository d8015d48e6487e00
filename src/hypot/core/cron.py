"""Times that repeat, in the five fields of cron: minute, hour, day of the month, month, day of the week.

As in cron, a time matches if either its day of the month or its day of the week does, unless one of them is `*`. Local
times that daylight saving skips occur after the change; those that it repeats occur once.
"""

from datetime import date, datetime, time
from functools import lru_cache
from itertools import product
from typing import NamedTuple
from zoneinfo import ZoneInfo

from hypot.core.regex import regex

# The text of a cron expression is at most this long.
LONGEST = 128
# How many days ahead a time is looked for: 29 February occurs at least every eight years.
_AHEAD = 366 * 8 + 1
_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_DAYS = ("sun", "mon", "tue", "wed", "thu", "fri", "sat")
_PART = regex(r"(?:(\*)|([0-9]{1,2}|[a-z]{3})(?:-([0-9]{1,2}|[a-z]{3}))?)(?:/([0-9]{1,2}))?")


class _CronField(NamedTuple):
    name: str
    first: int
    last: int
    words: tuple[str, ...] = ()


_FIELDS = (
    _CronField("minute", 0, 59),
    _CronField("hour", 0, 23),
    _CronField("day of the month", 1, 31),
    _CronField("month", 1, 12, _MONTHS),
    # Sunday is 0 and 7.
    _CronField("day of the week", 0, 7, _DAYS),
)


class Cron(NamedTuple):
    """The values of each field that match. `either` is true if one of the two days is enough."""

    minutes: tuple[int, ...]
    hours: tuple[int, ...]
    month_days: frozenset[int]
    months: frozenset[int]
    week_days: frozenset[int]
    either: bool

    def is_day(self, day: date) -> bool:
        if day.month not in self.months:
            return False
        by_month, by_week = day.day in self.month_days, day.isoweekday() % 7 in self.week_days
        return by_month or by_week if self.either else by_month and by_week


@lru_cache(1024)
def parse_cron(text: str) -> Cron:
    fields = text.lower().split() if len(text) <= LONGEST else []
    if len(fields) != len(_FIELDS):
        raise ValueError(f"{text[:40]!r} is not a cron expression: write five fields, for example 30 8 * * mon-fri")
    minutes, hours, month_days, months, week_days = map(_matching, fields, _FIELDS)
    either = not (fields[2].startswith("*") or fields[4].startswith("*"))
    return Cron(
        tuple(sorted(minutes)),
        tuple(sorted(hours)),
        frozenset(month_days),
        frozenset(months),
        frozenset([day % 7 for day in week_days]),
        either,
    )


def _matching(text: str, field: _CronField) -> set[int]:
    found: set[int] = set()
    for part in text.split(","):
        match = _PART.fullmatch(part)
        if match is None:
            raise ValueError(f"the {field.name} {part!r} cannot be read")
        star, low, high, step = match.groups()
        first = field.first if star else _value(low, field)
        last = field.last if star or (step and not high) else first if high is None else _value(high, field)
        if last < first or step == "0":
            raise ValueError(f"the {field.name} {part!r} matches nothing")
        found.update(range(first, last + 1, int(step or 1)))
    return found


def _value(word: str, field: _CronField) -> int:
    value = int(word) if word.isdigit() else field.words.index(word) + field.first if word in field.words else -1
    if not field.first <= value <= field.last:
        raise ValueError(f"the {field.name} {word!r} is not from {field.first} to {field.last}")
    return value


def next_from(cron: Cron, at: float, zone: ZoneInfo) -> float | None:
    """The first matching time that is not before `at`; None if there is none in eight years."""
    # A time that daylight saving moved may be on the day before.
    day = _next_day(cron, datetime.fromtimestamp(at, zone).toordinal() - 1)
    while day is not None:
        for hour, minute in product(cron.hours, cron.minutes):
            found = datetime.combine(date.fromordinal(day), time(hour, minute), zone).timestamp()
            if found >= at:
                return found
        day = _next_day(cron, day + 1)
    return None


@lru_cache(4096)
def _next_day(cron: Cron, first: int) -> int | None:
    """The first matching day from this one on, as an ordinal."""
    last = min(first + _AHEAD, date.max.toordinal())
    return next((each for each in range(first, last) if cron.is_day(date.fromordinal(each))), None)
