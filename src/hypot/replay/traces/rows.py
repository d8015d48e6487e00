"""Turns the rows of a file into traces: times in seconds, cut to the time window, one trace per workload."""

from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import numpy as np
import polars as pl

from hypot.kinds.base import count_of
from hypot.replay.traces.make import Origin, TraceRows, make_trace
from hypot.replay.traces.table import MEMORY, REPLICAS, ROW, RUNS, TIME, VALUE, WORKLOAD, ZONE, TraceTable, wrong_cells
from hypot.replay.traces.times import EXAMPLE, NO_ZONE, scaled, zone_note
from hypot.replay.traces.trace import TimeWindow, Trace, TraceError, fewest, moment, named


class Across:
    """What is known across all parts of a file; updated part by part."""

    def __init__(self, file: str, window: TimeWindow) -> None:
        self.file, self.window = file, window
        self._first: dict[str, tuple[int, int]] = {}
        self._covered: tuple[float, float] | None = None
        self._is_empty = True
        self._lost: list[str] = []

    def other(self, thing: str, value: int, row: int) -> int | None:
        """The row of an earlier part with another value of `thing`, which must be the same in all rows; or None."""
        known, where = self._first.setdefault(thing, (value, row))
        return None if known == value else where

    def cut(self, first: float, last: float, lost: list[str], *, is_empty: bool) -> None:
        """Records that a part from time `first` to `last` was cut to the window, and which workloads that removed."""
        begin, end = self._covered or (first, last)
        self._covered = (min(begin, first), max(end, last))
        self._is_empty &= is_empty
        self._lost += lost

    def notes(self, *, is_fleet: bool) -> tuple[str, ...]:
        """The notes after the last part. Raises if the window leaves no rows in any part."""
        if self._covered is not None and self._is_empty:
            first, last = map(moment, self._covered)
            one = " of one workload" if is_fleet else ""
            raise TraceError(f"{self.file}: has no two rows{one} {self.window}: it covers {first} to {last}")
        if not self._lost:
            return ()
        return (f"ignored: {named(sorted(self._lost), 'workload')} with fewer than two rows {self.window}",)


def traces_of(table: TraceTable, across: Across) -> list[Trace]:
    """All traces of a part of a file, cut to the window. Rows outside the window need only a valid time."""
    table, problems = _in_seconds(table, across)
    table = _within(table, across) if table.rows.height else table
    columns = table.opened.columns
    for alias, place in ((VALUE, columns.value), (MEMORY, columns.memory), (REPLICAS, columns.replicas)):
        if place is not None:
            wrong = pl.col(alias).is_null() | ~pl.col(alias).is_finite() | (pl.col(alias) < 0)
            problems += wrong_cells(table, place, wrong, "number")
    if columns.workload is not None:
        problems += wrong_cells(table, columns.workload, pl.col(WORKLOAD).is_null(), "name")
    if problems:
        raise TraceError(*problems)
    return _by_workload(table)


def _in_seconds(table: TraceTable, across: Across) -> tuple[TraceTable, list[str]]:
    """The rows that have a time, and the problems of the others."""
    wrong = pl.col(TIME).is_null() | ~pl.col(TIME).is_finite()
    problems = wrong_cells(table, table.opened.columns.time, wrong, "time", f": {EXAMPLE}")
    table = table.now(table.rows.filter(~wrong) if problems else table.rows, table.times.note)
    if not table.rows.height:
        return table, problems
    if table.times.zone is not None:
        return _zoned(table, problems, across)
    if not table.times.plain:
        return table, problems
    read = scaled(table.rows[TIME].to_numpy())
    first = second = int(table.rows[ROW][0])
    if read.odd is not None:
        first, second = (int(table.rows[ROW][place]) for place in sorted(read.odd))
    elif other := across.other("unit", read.unit, first):
        first = other
    if read.odd is not None or first != second:
        rows = (
            f"the times of rows {first} and {second} differ in unit" if first != second else f"row {first} has no time"
        )
        problems.append(f"{table.file}: {rows}: {EXAMPLE}")
    return table.now(table.rows.with_columns(pl.Series(TIME, read.times)), read.note), problems


def _zoned(table: TraceTable, problems: list[str], across: Across) -> tuple[TraceTable, list[str]]:
    zones = table.rows[ZONE]
    without = zones.null_count()
    row = int(table.rows[ROW][0])
    if without in {0, len(zones)}:
        other = across.other("zone", int(without > 0), row)
        if other is None:
            return table.now(table.rows, NO_ZONE if without else zone_note(zones.unique().to_list())), problems
        row = row if without else other
    else:
        row = int(table.rows.filter(pl.col(ZONE).is_null())[ROW][0])
    more = f" (nor have {count_of(without - 1, 'more row')})" if without > 1 else ""
    return table, [*problems, f"{table.file}: row {row} has no time zone{more}, but other rows have one: add it"]


def _within(table: TraceTable, across: Across) -> TraceTable:
    """The rows inside the window; workloads with too few rows left are dropped."""
    window = across.window
    if window == TimeWindow():
        return table
    start = -np.inf if window.start is None else window.start
    end = np.inf if window.end is None else window.end
    rows = table.rows.filter(pl.col(TIME).is_between(start, end))
    named_rows = WORKLOAD in rows.columns
    enough = pl.len() >= 2
    known = rows.filter(pl.col(WORKLOAD).is_null() | enough.over(WORKLOAD) if named_rows else enough)
    lost = set(table.rows[WORKLOAD].unique()) - set(known[WORKLOAD].unique()) if named_rows else set()
    first, last = (float(at) for at in table.rows.select(pl.min(TIME), b=pl.max(TIME)).row(0))
    across.cut(first, last, sorted(map(str, lost)), is_empty=not known.height)
    return table.now(known)


def _by_workload(table: TraceTable) -> list[Trace]:
    origin = Origin(table.file, table.opened.columns.unit, table.notes)
    if not table.rows.height:
        return []
    if WORKLOAD not in table.rows.columns:
        return [make_trace(Path(table.file).stem, _numbers(table.rows), origin)]
    traces: list[Trace] = []
    problems: list[str] = []
    for name, rows in _groups(table.rows):
        try:
            traces.append(make_trace(name, _numbers(rows), origin))
        except TraceError as error:
            problems += error.problems
    if problems:
        raise TraceError(*fewest(problems, table.file))
    return traces


def _groups(rows: pl.DataFrame) -> Iterator[tuple[str, pl.DataFrame]]:
    """The rows of each workload, in order of appearance; workloads with contiguous rows are not copied."""
    starts = rows.select(RUNS).to_series()
    names = rows[WORKLOAD].gather(starts)
    if names.n_unique() < len(names):
        yield from ((str(name), group) for (name,), group in rows.group_by(WORKLOAD, maintain_order=True))
        return
    for name, (start, end) in zip(names, pairwise([*starts, rows.height]), strict=True):
        yield str(name), rows.slice(start, end - start)


def _numbers(rows: pl.DataFrame) -> TraceRows:
    memory, replicas = (rows[name].to_numpy() if name in rows.columns else None for name in (MEMORY, REPLICAS))
    return TraceRows(rows[TIME].to_numpy(), rows[VALUE].to_numpy(), memory, rows[ROW].to_numpy(), replicas)
