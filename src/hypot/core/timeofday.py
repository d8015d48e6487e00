"""Times of day in the syntax of an Hvpa: `HHMMSS` and a zone offset, stored as seconds of the day in UTC."""

from hypot.core.regex import regex

DAY = 86_400
# What a schema can check and `parse` accepts. A zone offset may be up to a day, as in Go.
PATTERN = r"([01][0-9]|2[0-3])([0-5][0-9])([0-5][0-9])([+-])([01][0-9]|2[0-4])([0-5][0-9]|60)"
_FORM = regex(PATTERN)


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
