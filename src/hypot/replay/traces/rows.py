"""Turns the rows of a file into traces: times in seconds, cut to the time window, one trace per workload."""

from collections.abc import Iterator
from itertools import pairwise

import numpy as np
import polars as pl

from hypot.kinds.base import count_of
from hypot.replay.traces.make import Origin, TraceRows, make_traces, refuse_interleaved, short_note
from hypot.replay.traces.table import MEMORY, REPLICAS, ROW, RUNS, TIME, VALUE, WORKLOAD, ZONE, TraceTable, wrong_cells
from hypot.replay.traces.times import EXAMPLE, scaled, zone_note
from hypot.replay.traces.trace import (
    MAX_VALUE,
    TimeWindow,
    TooShortError,
    Trace,
    TraceError,
    moment,
    stem_of,
)

# The most columns of which wrong cells are shown.
_SHOWN = 10
_HINT = ": an empty cell is a gap"


class Across:
    """What is known across all parts of a file; updated part by part."""

    def __init__(self, file: str, window: TimeWindow) -> None:
        self.file, self.window = file, window
        self._first: dict[str, tuple[int, int]] = {}
        self._covered: tuple[float, float] | None = None
        self._short: list[TooShortError] = []
        self._made = 0

    def other(self, thing: str, value: int, row: int) -> int | None:
        """The row of an earlier part with another value of `thing`, which must be the same in all rows; or None."""
        known, where = self._first.setdefault(thing, (value, row))
        return None if known == value else where

    def covers(self, first: float, last: float) -> None:
        """Records that a part has times from `first` to `last`."""
        begin, end = self._covered or (first, last)
        self._covered = (min(begin, first), max(end, last))

    def made(self, traces: int, short: list[TooShortError]) -> None:
        """Records how many traces were made, and which workloads have too few values."""
        self._made += traces
        self._short += short

    def notes(self, *, is_fleet: bool) -> tuple[str, ...]:
        """The notes after the last part. Raises if there is no trace."""
        if self._made:
            return (short_note(self._short, str(self.window)),) if self._short else ()
        if self.window != TimeWindow() and self._covered is not None:
            first, last = map(moment, self._covered)
            one = " of one workload" if is_fleet else ""
            raise TraceError(f"{self.file}: has no two rows{one} {self.window}: it covers {first} to {last}")
        raise TraceError(*(problem for one in self._short for problem in one.problems))


def traces_of(table: TraceTable, across: Across) -> list[Trace]:
    """All traces of a part of a file, cut to the window. Rows outside the window need only a valid time."""
    table, problems = _in_seconds(table, across)
    table = _within(table, across) if table.rows.height else table
    columns = table.opened.table.columns
    problems += _wrong_values(table)
    for alias, place in ((MEMORY, columns.memory), (REPLICAS, columns.replicas)):
        if place is not None:
            problems += wrong_cells(table, place, _is_wrong(alias), "number", _HINT)
    if columns.workload is not None:
        problems += wrong_cells(table, columns.workload, pl.col(WORKLOAD).is_null(), "name")
    if problems:
        raise TraceError(*problems)
    traces, short = _by_workload(table)
    across.made(len(traces), short)
    return traces


def _is_wrong(alias: str) -> pl.Expr:
    """What is no amount; NaN is a missing one."""
    one = pl.col(alias)
    return one.is_null() | (one.is_not_nan() & ((one < 0) | (one > MAX_VALUE)))


def _wrong_values(table: TraceTable) -> list[str]:
    columns, wrong = table.opened.table.columns, _is_wrong(VALUE)
    if not columns.is_wide:
        return wrong_cells(table, columns.values[0], wrong, "number", _HINT)
    names = table.opened.table.names
    concerned = set(table.rows.filter(wrong)[WORKLOAD].unique())
    places = [place for place in columns.values if names[place].strip() in concerned]
    of_one = {place: wrong & (pl.col(WORKLOAD) == names[place].strip()) for place in places[:_SHOWN]}
    problems = [line for place, its in of_one.items() for line in wrong_cells(table, place, its, "number", _HINT)]
    more = len(places) - len(of_one)
    return [*problems, f"{table.file}: and {count_of(more, 'more column')} with such cells"] if more else problems


def _in_seconds(table: TraceTable, across: Across) -> tuple[TraceTable, list[str]]:
    """The rows that have a time, and the problems of the others."""
    wrong = pl.col(TIME).is_null() | ~pl.col(TIME).is_finite()
    zone = table.opened.said.zone
    hint = f": {EXAMPLE}{f'; clocks in {zone} skip an hour a year' if table.opened.times.late is not None else ''}"
    problems = wrong_cells(table, table.opened.table.columns.time, wrong, "time", hint)
    table = table.now(table.rows.filter(~wrong) if problems else table.rows)
    if not table.rows.height:
        return table, problems
    if table.opened.times.zone is not None:
        return _zoned(table, problems, across)
    if not table.opened.times.plain:
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
            return table.now(table.rows, "" if without else zone_note(zones.unique().to_list())), problems
        row = row if without else other
    else:
        row = int(table.rows.filter(pl.col(ZONE).is_null())[ROW][0])
    more = f" (nor have {count_of(without - 1, 'more row')})" if without > 1 else ""
    return table, [*problems, f"{table.file}: row {row} has no time zone{more}, but other rows have one: add it"]


def _within(table: TraceTable, across: Across) -> TraceTable:
    """The rows inside the window."""
    window = across.window
    if window == TimeWindow():
        return table
    start = -np.inf if window.start is None else window.start
    end = np.inf if window.end is None else window.end
    across.covers(*(float(at) for at in table.rows.select(pl.min(TIME), b=pl.max(TIME)).row(0)))
    rows = table.rows.filter(pl.col(TIME).is_between(start, end))
    if WORKLOAD in rows.columns:
        lost = set(table.rows[WORKLOAD].unique()) - set(rows[WORKLOAD].unique()) - {None}
        problem = f"{table.file}: has no rows {window}"
        across.made(0, [TooShortError(str(name), problem) for name in lost])
    return table.now(rows)


def _by_workload(table: TraceTable) -> tuple[list[Trace], list[TooShortError]]:
    opened, rows = table.opened, table.rows
    said = opened.said
    origin = Origin(table.file, opened.unit, table.notes, opened.assumed, said.sum, said.unit is not None)
    stem = stem_of(table.file)
    if not rows.height:
        return [], []
    if WORKLOAD not in rows.columns:
        return make_traces([(stem, _numbers(rows))], origin)
    if origin.sum and opened.table.columns.is_wide:
        whole = rows.filter(pl.col(VALUE).is_not_nan())
        refuse_interleaved(table.file, [np.sort(group[TIME].to_numpy()) for _, group in _groups(whole)])
        return make_traces([(stem, _numbers(rows))], origin)
    return make_traces(((name, _numbers(group)) for name, group in _groups(rows)), origin)


def _groups(rows: pl.DataFrame) -> Iterator[tuple[str, pl.DataFrame]]:
    """The rows of each workload, in order of appearance; workloads with contiguous rows are not copied."""
    if not rows.height:
        return
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
