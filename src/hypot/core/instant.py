"""Times and durations as Kubernetes writes them: RFC 3339, and the durations of Go. All are stored as seconds."""

from datetime import UTC, datetime
from functools import lru_cache
from typing import Any

from hypot.core.regex import regex

# The years 1 and 9999: times outside cannot be printed.
EARLIEST, LATEST = -62135596800.0, 253402300799.0

# A duration that is not negative. Nine digits are longer than any useful wait, and the length of a text is bounded.
SPAN_PATTERN = r"\+?(0|(([0-9]{1,9}(\.[0-9]{0,9})?|\.[0-9]{1,9})(ns|us|µs|μs|ms|s|m|h))+)"
LONGEST_SPAN = 64
_SPAN = regex(SPAN_PATTERN)
_PART = regex(r"([0-9.]+)([a-zµμ]+)")
_UNITS = {"ns": 1e-9, "us": 1e-6, "µs": 1e-6, "μs": 1e-6, "ms": 1e-3, "s": 1.0, "m": 60.0, "h": 3600.0}


def show_time(at: float) -> str:
    """RFC 3339 in UTC, whole seconds, as Kubernetes prints times."""
    return _show_second(int(min(max(at, EARLIEST), LATEST)))


@lru_cache(1024)
def _show_second(at: int) -> str:
    return datetime.fromtimestamp(at, UTC).isoformat().replace("+00:00", "Z")


def read_time(text: Any) -> float | None:
    """Seconds since the epoch from an RFC 3339 time; None if it is not one."""
    if not isinstance(text, str):
        return None
    try:
        read = datetime.fromisoformat(text)
    except ValueError:
        return None
    at = (read if read.tzinfo else read.replace(tzinfo=UTC)).timestamp()
    return at if EARLIEST <= at <= LATEST else None


@lru_cache(1024)
def span(text: str) -> float:
    """Seconds from a duration such as `1m30s`, `1.5h` or `0`."""
    if len(text) > LONGEST_SPAN or _SPAN.fullmatch(text) is None:
        raise ValueError(f"{text[:40]!r} is not a duration: write for example 90s, 3m or 1h30m")
    return sum(float(number) * _UNITS[unit] for number, unit in _PART.findall(text))


def read_duration(text: Any) -> float | None:
    """Seconds of a duration such as 15.03s or 1m0s; None if it is not one."""
    try:
        return span(text) if isinstance(text, str) else None
    except ValueError:
        return None
