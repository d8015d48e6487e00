"""Times in files: numbers in any unit, texts with or without a zone, Parquet dates."""

import re
from typing import NamedTuple

import numpy as np
import polars as pl

from hypot.replay.traces.reading import OPTION, Assumed
from hypot.replay.traces.trace import END_OF_SECONDS, several
from hypot.replay.world.record import Floats

# Where the next unit begins.
_EDGES = (END_OF_SECONDS, 1e14, 1e17, 1e20)
_UNITS = ("seconds", "milliseconds", "microseconds", "nanoseconds")
# 2026-01-05, 2026/01/05 or 05.01.2026. In 05/01/2026 nobody knows which is the month.
_DATE = r"^(?:([0-9]{4})[-/]([0-9]{2})[-/]([0-9]{2})|([0-9]{1,2})\.([0-9]{1,2})\.([0-9]{4}),?)(?:[Tt]|\s+)"
_CLOCK = r"([0-9]{2}:[0-9]{2})(?:(:[0-9]{2})(?:[.,]([0-9]{1,9}))?)?"
_ZONE = r"\s?(?:([Zz]|UTC|GMT)|([+-])([01][0-9]|2[0-3])(?::?([0-5][0-9]))?)?$"
_FORM = _DATE + _CLOCK + _ZONE
EXAMPLE = "write Unix seconds or RFC 3339, for example 2024-03-01T12:00:00Z"
ASSUMED_ZONE = Assumed("zone", "UTC", f"its times have no time zone; {OPTION} zone=Europe/Berlin names it")


_PYTHON_DATE, _PYTHON_FORM = re.compile(_DATE), re.compile(_FORM)
# The beginning of 31.12.2026.
DOTTED = re.compile(r"\s*[0-9]{1,2}\.[0-9]{1,2}\.[0-9]{4}")


def is_time_text(text: str) -> bool:
    return _PYTHON_FORM.match(text.strip()) is not None


PARTS = "the parts of the time"


class TimeFormat(NamedTuple):
    """How to read a column of times: seconds, and minutes ahead of UTC where each row states its own zone."""

    seconds: pl.Expr
    zone: pl.Expr | None = None
    # A column that the other expressions need, called PARTS: the parts of texts.
    parts: pl.Expr | None = None
    # Plain numbers are scaled after all of them are read.
    plain: bool = False
    # The same times if they are in the second of two equal hours, after clocks were set back; and on the clock.
    late: pl.Expr | None = None
    clock: pl.Expr | None = None


def findings(cell: pl.Expr) -> pl.Expr:
    """The first text that is a date or a number; null if there is none, so the format stays unknown."""
    text = cell.str.strip_chars()
    dated = text.str.contains(_DATE)
    return pl.when(dated | text.cast(pl.Float64, strict=False).is_not_null()).then(text)


def is_date(text: str) -> bool:
    return _PYTHON_DATE.match(text.strip()) is not None


def has_zone(text: str) -> bool:
    found = _PYTHON_FORM.match(text.strip())
    return found is not None and (found[10] is not None or found[11] is not None)


def reading(cell: pl.Expr, kind: pl.DataType, zone: str, *, dated: bool) -> TimeFormat | None:
    """Chosen by the type of the column and whether its texts are dates. None: the column does not hold times."""
    if isinstance(kind, pl.Datetime | pl.Date):
        at = cell.cast(pl.Datetime("us", getattr(kind, "time_zone", None)))
        if getattr(kind, "time_zone", None) or not zone:
            return TimeFormat(_epoch(at))
        return TimeFormat(_epoch(_in_zone(at, zone)), late=_epoch(_in_zone(at, zone, late=True)), clock=_epoch(at))
    if isinstance(kind, pl.String):
        return _text(cell, zone) if dated else TimeFormat(_number(cell), plain=True)
    return TimeFormat(cell.cast(pl.Float64, strict=False), plain=True) if kind.is_numeric() else None


def _number(cell: pl.Expr) -> pl.Expr:
    return cell.str.strip_chars().cast(pl.Float64, strict=False)


def _epoch(cell: pl.Expr) -> pl.Expr:
    return cell.dt.timestamp("us") / 1e6


def _in_zone(local: pl.Expr, zone: str, *, late: bool = False) -> pl.Expr:
    """Null where the clocks of the zone skip this time."""
    return local.dt.replace_time_zone(zone, ambiguous="latest" if late else "earliest", non_existent="null")


def _text(cell: pl.Expr, zone: str) -> TimeFormat:
    whole, parts = cell.str.strip_chars().str.extract_groups(_FORM), pl.col(PARTS)
    year = parts.struct[0].fill_null(parts.struct[5])
    month = parts.struct[1].fill_null(parts.struct[4].str.zfill(2))
    day = parts.struct[2].fill_null(parts.struct[3].str.zfill(2))
    clock = parts.struct[6] + parts.struct[7].fill_null(":00") + "." + parts.struct[8].fill_null("0")
    text = year + "-" + month + "-" + day + "T" + clock
    local = text.str.to_datetime("%Y-%m-%dT%H:%M:%S%.f", time_unit="us", strict=False)
    minutes = parts.struct[11].cast(pl.Int32) * 60 + parts.struct[12].fill_null("0").cast(pl.Int32)
    ahead = pl.when(parts.struct[10] == "-").then(-minutes).otherwise(minutes)
    own = pl.when(parts.struct[9].is_not_null()).then(0).otherwise(ahead)
    stated = _epoch(local) - own.fill_null(0) * 60
    if not zone:
        return TimeFormat(stated, own, whole)
    early, late = (_epoch(_in_zone(local, zone, late=second)) for second in (False, True))
    early, late = (pl.when(own.is_not_null()).then(stated).otherwise(each) for each in (early, late))
    return TimeFormat(early, own, whole, late=late, clock=_epoch(local))


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


def last_of_equal_hours(rows: pl.DataFrame, clock: str, early: str, late: str, group: list[str]) -> pl.DataFrame:
    """Chooses the second of two equal hours for the rows that follow a step back of the clock."""
    twice = pl.col(early) != pl.col(late)
    if not rows.select(twice.any()).item():
        return rows
    back = (pl.col(clock).diff() <= 0).fill_null(value=False)
    stretch = (twice != twice.shift()).fill_null(value=True).cum_sum()
    again = back & twice & twice.shift().fill_null(value=False)

    def within(each: pl.Expr, by: list[str]) -> pl.Expr:
        return each.over(by) if by else each

    marked = rows.with_columns(within(again, group).alias("again"), within(stretch, group).alias("stretch"))
    second = pl.col("again").cum_sum().over([*group, "stretch"]) > 0
    chosen = pl.when(second).then(pl.col(late)).otherwise(pl.col(early)).alias(early)
    return marked.with_columns(chosen).drop("again", "stretch")
