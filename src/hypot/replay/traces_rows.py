"""From the rows of a file to its traces: seconds, the window, one trace a workload."""

from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import numpy as np
import polars as pl

from hypot.replay.traces_across import Across
from hypot.replay.traces_checks import Origin, Rows, make_trace
from hypot.replay.traces_table import MEMORY, ROW, RUNS, TIME, VALUE, WORKLOAD, ZONE, Table, wrong_cells
from hypot.replay.traces_times import EXAMPLE, NO_ZONE, scaled, zone_note
from hypot.replay.traces_value import Trace, TraceError, Window, count, fewest


def traces_of(table: Table, across: Across) -> list[Trace]:
    """All traces of a part of a file, cut to the window. Rows outside of it need only have a time."""
    table, problems = _in_seconds(table, across)
    table = _within(table, across) if table.rows.height else table
    columns = table.opened.columns
    for alias, place in ((VALUE, columns.value), (MEMORY, columns.memory)):
        if place is not None:
            wrong = pl.col(alias).is_null() | ~pl.col(alias).is_finite() | (pl.col(alias) < 0)
            problems += wrong_cells(table, place, wrong, "number")
    if columns.workload is not None:
        problems += wrong_cells(table, columns.workload, pl.col(WORKLOAD).is_null(), "name")
    if problems:
        raise TraceError(*problems)
    return _by_workload(table)


def _in_seconds(table: Table, across: Across) -> tuple[Table, list[str]]:
    """The rows that have a time, and what is wrong with the others."""
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


def _zoned(table: Table, problems: list[str], across: Across) -> tuple[Table, list[str]]:
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
    more = f" (nor have {count(without - 1, 'more row')})" if without > 1 else ""
    return table, [*problems, f"{table.file}: row {row} has no time zone{more}, though other rows have one: add it"]


def _within(table: Table, across: Across) -> Table:
    """What is left of the window; workloads of which too little is left are passed over."""
    window = across.window
    if window == Window():
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


def _by_workload(table: Table) -> list[Trace]:
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
    """The rows of each workload, as they appear; where they stand together, none is copied."""
    starts = rows.select(RUNS).to_series()
    names = rows[WORKLOAD].gather(starts)
    if names.n_unique() < len(names):
        yield from ((str(name), group) for (name,), group in rows.group_by(WORKLOAD, maintain_order=True))
        return
    for name, (start, end) in zip(names, pairwise([*starts, rows.height]), strict=True):
        yield str(name), rows.slice(start, end - start)


def _numbers(rows: pl.DataFrame) -> Rows:
    memory = rows[MEMORY].to_numpy() if MEMORY in rows.columns else None
    return Rows(rows[TIME].to_numpy(), rows[VALUE].to_numpy(), memory, rows[ROW].to_numpy())
