"""Times of day and durations in the syntax of an Hvpa.

A time is `HHMMSS` and a zone offset, stored as seconds of the day in UTC. A span is a Go duration, stored as seconds.
"""

import re
from functools import lru_cache

DAY = 86_400
# What a schema can check and `parse` accepts. A zone offset may be up to a day, as in Go.
PATTERN = r"([01][0-9]|2[0-3])([0-5][0-9])([0-5][0-9])([+-])([01][0-9]|2[0-4])([0-5][0-9]|60)"
_FORM = re.compile(PATTERN)

# A duration that is not negative. Nine digits are longer than any useful wait, and the length of a text is bounded.
SPAN_PATTERN = r"\+?(0|(([0-9]{1,9}(\.[0-9]{0,9})?|\.[0-9]{1,9})(ns|us|µs|μs|ms|s|m|h))+)"
LONGEST_SPAN = 64
_SPAN = re.compile(SPAN_PATTERN)
_PART = re.compile(r"([0-9.]+)([a-zµμ]+)")
_UNITS = {"ns": 1e-9, "us": 1e-6, "µs": 1e-6, "μs": 1e-6, "ms": 1e-3, "s": 1.0, "m": 60.0, "h": 3600.0}


def parse(text: str) -> int:
    """Seconds of the day in UTC from a local time such as `160554+0200`."""
    match = _FORM.fullmatch(text)
    if match is None:
        raise ValueError(f"{text[:40]!r} is not a time of day: write HHMMSS and a zone offset, for example 220000+0100")
    hour, minute, second, sign, zone_hour, zone_minute = match.groups()
    local = int(hour) * 3600 + int(minute) * 60 + int(second)
    ahead = int(zone_hour) * 3600 + int(zone_minute) * 60
    return (local - ahead if sign == "+" else local + ahead) % DAY


def format(second: int) -> str:  # noqa: A001 - the counterpart of parse
    """The time in the syntax of a window, in UTC."""
    minutes, seconds = divmod(second % DAY, 60)
    return f"{minutes // 60:02}{minutes % 60:02}{seconds:02}+0000"


def add(second: int, more: int) -> int:
    """The time of day this many seconds later, possibly on another day."""
    return (second + more) % DAY


def contains(begin: int, end: int, at: int) -> bool:
    """Whether a time is within the window, ends included. A window that ends before it begins spans midnight."""
    if end < begin:
        return at >= begin or at <= end
    return begin <= at <= end


def duration(begin: int, end: int) -> int:
    """How long the window is open. If both ends are equal the result is a day, although only a second is within it."""
    return (end - begin) % DAY or DAY


@lru_cache(1024)
def span(text: str) -> float:
    """Seconds from a duration such as `1m30s`, `1.5h` or `0`."""
    if len(text) > LONGEST_SPAN or _SPAN.fullmatch(text) is None:
        raise ValueError(f"{text[:40]!r} is not a duration: write for example 90s, 3m or 1h30m")
    return sum(float(number) * _UNITS[unit] for number, unit in _PART.findall(text))
