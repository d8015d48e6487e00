"""Times in files: numbers in any unit, texts with or without a zone, Parquet dates."""

from typing import NamedTuple

import numpy as np
import polars as pl

from hypot.replay.traces.trace import END_OF_SECONDS, several
from hypot.replay.world.record import Floats

# Where the next unit begins.
_EDGES = (END_OF_SECONDS, 1e14, 1e17, 1e20)
_UNITS = ("seconds", "milliseconds", "microseconds", "nanoseconds")
_DATE = r"^([0-9]{4}-[0-9]{2}-[0-9]{2})[Tt ]"
_CLOCK = r"([0-9]{2}:[0-9]{2})(:[0-9]{2}(?:\.[0-9]{1,9})?)?"
_ZONE = r" ?(?:([Zz])|([+-])([01][0-9]|2[0-3]):?([0-5][0-9]))?$"
_FORM = _DATE + _CLOCK + _ZONE
EXAMPLE = "write Unix seconds or RFC 3339, for example 2024-03-01T12:00:00Z"
NO_ZONE = "times have no time zone and are read as UTC"


class TimeFormat(NamedTuple):
    """How to read a column of times: seconds, and minutes ahead of UTC where each row states its own zone."""

    seconds: pl.Expr
    zone: pl.Expr | None = None
    note: str = ""
    # Plain numbers are scaled after all of them are read.
    plain: bool = False


def findings(cell: pl.Expr) -> pl.Expr:
    """Whether a text begins with a date; null where it is neither a date nor a number, so the format stays unknown."""
    text = cell.str.strip_chars()
    dated = text.str.contains(_DATE)
    return pl.when(dated | text.cast(pl.Float64, strict=False).is_not_null()).then(dated)


def reading(cell: pl.Expr, kind: pl.DataType, dated: bool) -> TimeFormat | None:
    """Chosen by the type of the column and whether its texts are dates. None: the column does not hold times."""
    if isinstance(kind, pl.Datetime):
        return TimeFormat(_epoch(cell), note="" if kind.time_zone else NO_ZONE)
    if isinstance(kind, pl.Date):
        return TimeFormat(_epoch(cell.cast(pl.Datetime("us"))), note=NO_ZONE)
    if isinstance(kind, pl.String):
        return _text(cell) if dated else TimeFormat(number(cell, kind), plain=True)
    return TimeFormat(number(cell, kind), plain=True) if kind.is_numeric() else None


def number(cell: pl.Expr, kind: pl.DataType) -> pl.Expr:
    """A cell as a number; null where it is not one."""
    return (cell.str.strip_chars() if isinstance(kind, pl.String) else cell).cast(pl.Float64, strict=False)


def _epoch(cell: pl.Expr) -> pl.Expr:
    return cell.dt.timestamp("us") / 1e6


def _text(cell: pl.Expr) -> TimeFormat:
    parts = cell.str.strip_chars().str.extract_groups(_FORM)
    clock = parts.struct[1] + parts.struct[2].fill_null(":00")
    local = (parts.struct[0] + "T" + clock).str.to_datetime("%Y-%m-%dT%H:%M:%S%.f", time_unit="us", strict=False)
    minutes = parts.struct[5].cast(pl.Int32) * 60 + parts.struct[6].cast(pl.Int32)
    ahead = pl.when(parts.struct[4] == "-").then(-minutes).otherwise(minutes)
    zone = pl.when(parts.struct[3].is_not_null()).then(0).otherwise(ahead)
    return TimeFormat(_epoch(local) - zone.fill_null(0) * 60, zone=zone)


class ScaledTimes(NamedTuple):
    """Times in seconds; or the first two whose units differ."""

    times: Floats
    note: str = ""
    # 0 for seconds, 1 for milliseconds, and so on.
    unit: int = 0
    odd: tuple[int, int] | None = None


def scaled(times: Floats) -> ScaledTimes:
    """The size of the numbers determines the unit; all numbers must have the same unit."""
    sizes = np.abs(times)
    least, unit = (int(size) for size in np.digitize([sizes.min(initial=np.inf), sizes.max(initial=0)], _EDGES))
    if unit == 0:
        return ScaledTimes(times)
    if least != unit or unit == len(_UNITS):
        classes = np.digitize(sizes, _EDGES)
        others, largest = np.flatnonzero(classes != unit), int(np.argmax(classes))
        return ScaledTimes(times, odd=(int(others[0]) if len(others) else largest, largest))
    return ScaledTimes(
        times / 1000.0**unit, f"times are in {_UNITS[unit]} (judged by their size) and were converted to seconds", unit
    )


def zone_note(minutes: list[int]) -> str:
    """A note if there are several zones; that is allowed, for example with daylight saving time."""
    if len(minutes) < 2:
        return ""
    zones = [f"{'-' if m < 0 else '+'}{abs(m) // 60:02}:{abs(m) % 60:02}" for m in sorted(minutes)]
    return f"times have different time zones ({several(zones)}); each was read in its own"
