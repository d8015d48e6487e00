"""From the rows of a file to its traces: seconds, the window, one trace a workload."""

from pathlib import Path

import numpy as np
import polars as pl

from hypot.replay.traces_checks import Origin, Rows, make_trace
from hypot.replay.traces_table import MEMORY, ROW, TIME, VALUE, WORKLOAD, ZONE, Table, wrong_cells
from hypot.replay.traces_times import EXAMPLE, NO_ZONE, scaled, zone_note
from hypot.replay.traces_value import Trace, TraceError, Window, count, fewest, moment, named


def traces_of(table: Table, window: Window) -> list[Trace]:
    """All traces of a file, cut to the window. Rows outside of it need only have a time."""
    table, problems = _in_seconds(table)
    try:
        table = _within(table, window) if table.rows.height else table
    except TraceError as error:
        raise TraceError(*problems, *error.problems) from None
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


def _in_seconds(table: Table) -> tuple[Table, list[str]]:
    """The rows that have a time, and what is wrong with the others."""
    wrong = pl.col(TIME).is_null() | ~pl.col(TIME).is_finite()
    problems = wrong_cells(table, table.opened.columns.time, wrong, "time", f": {EXAMPLE}")
    table = table.now(table.rows.filter(~wrong) if problems else table.rows, table.times.note)
    if table.times.zone is not None:
        return _zoned(table, problems)
    if not table.times.plain:
        return table, problems
    read = scaled(table.rows[TIME].to_numpy())
    if read.odd is not None:
        first, second = (int(table.rows[ROW][place]) for place in sorted(read.odd))
        rows = (
            f"the times of rows {first} and {second} differ in unit" if first != second else f"row {first} has no time"
        )
        problems.append(f"{table.file}: {rows}: {EXAMPLE}")
    return table.now(table.rows.with_columns(pl.Series(TIME, read.times)), read.note), problems


def _zoned(table: Table, problems: list[str]) -> tuple[Table, list[str]]:
    zones = table.rows[ZONE]
    without = zones.null_count()
    if without == len(zones):
        return table.now(table.rows, NO_ZONE), problems
    if not without:
        return table.now(table.rows, zone_note(zones.unique().to_list())), problems
    row = int(table.rows.filter(pl.col(ZONE).is_null())[ROW][0])
    more = f" (nor have {count(without - 1, 'more row')})" if without > 1 else ""
    return table, [*problems, f"{table.file}: row {row} has no time zone{more}, though other rows have one: add it"]


def _within(table: Table, window: Window) -> Table:
    if window == Window():
        return table
    start = -np.inf if window.start is None else window.start
    end = np.inf if window.end is None else window.end
    rows = table.rows.filter(pl.col(TIME).is_between(start, end))
    named_rows = WORKLOAD in rows.columns
    known = rows.filter(pl.col(WORKLOAD).is_null() | (pl.len().over(WORKLOAD) >= 2)) if named_rows else rows
    if known.height < (1 if named_rows else 2):
        first, last = (float(at) for at in table.rows.select(pl.min(TIME), b=pl.max(TIME)).row(0))
        one = " of one workload" if named_rows else ""
        raise TraceError(f"{table.file}: has no two rows{one} {window}: it covers {moment(first)} to {moment(last)}")
    if not named_rows:
        return table.now(known)
    lost = sorted(map(str, set(table.rows[WORKLOAD].unique()) - set(known[WORKLOAD].unique())))
    return table.now(known, f"passed over: {named(lost, 'workload')} with fewer than two rows {window}" if lost else "")


def _by_workload(table: Table) -> list[Trace]:
    origin = Origin(table.file, table.opened.columns.unit, table.notes)
    if WORKLOAD not in table.rows.columns:
        return [make_trace(Path(table.file).stem, _numbers(table.rows), origin)]
    traces: list[Trace] = []
    problems: list[str] = []
    for (name,), rows in table.rows.group_by(WORKLOAD, maintain_order=True):
        try:
            traces.append(make_trace(str(name), _numbers(rows), origin))
        except TraceError as error:
            problems += error.problems
    if problems:
        raise TraceError(*fewest(problems, table.file))
    return traces


def _numbers(rows: pl.DataFrame) -> Rows:
    memory = rows[MEMORY].to_numpy() if MEMORY in rows.columns else None
    return Rows(rows[TIME].to_numpy(), rows[VALUE].to_numpy(), memory, rows[ROW].to_numpy())
