"""Looks at the columns of a table before it is read: in which form they have times and numbers."""

from collections.abc import Sequence

import polars as pl

from hypot.replay.traces.columns import OpenedTable, TableScan
from hypot.replay.traces.numbers import CELL, NumberTexts, number_forms
from hypot.replay.traces.reading import OPTION, Assumed, TraceReading, TraceUnit
from hypot.replay.traces.times import ASSUMED_ZONE, DOTTED, EXAMPLE, TimeFormat, findings, has_zone, is_date, reading
from hypot.replay.traces.trace import TraceError, several


def opened_table(file: str, table: TableScan, said: TraceReading) -> OpenedTable:
    columns = table.columns
    first = _first_time(table)
    times, assumed = _times(file, table, first, said.zone)
    for place in (*columns.values, *columns.others):
        kind = table.schema[place][1]
        if not (kind.is_numeric() or isinstance(kind, pl.Null | pl.String)):
            raise TraceError(f"{file}: column {table.names[place]} has type {kind}, not numbers")
    unwanted = [place for place in table.shown if place not in columns.wanted()]
    values, others, rest = (_texts(table, places) for places in (columns.values, columns.others, unwanted))
    dotted = DOTTED.match(first) is not None
    found = number_forms(NumberTexts(values, others, rest, said.decimal, table.separator, dotted))
    unit, of_unit = _unit(file, table, found.units, said)
    return OpenedTable(
        table,
        said,
        times,
        found.values,
        found.others,
        unit,
        (*columns.notes, *found.notes),
        (*of_unit, *assumed, *found.assumed),
    )


def _texts(table: TableScan, places: Sequence[int]) -> pl.LazyFrame:
    """The texts of some columns, one below the other; columns of other types have none."""
    cells = [pl.col(table.schema[i][0]).alias(str(i)) for i in places if isinstance(table.schema[i][1], pl.String)]
    if not cells:
        return pl.LazyFrame(schema={CELL: pl.String})
    return table.frame.select(cells).unpivot(value_name=CELL).select(CELL)


def cell_of(table: TableScan, place: int) -> tuple[pl.Expr, pl.DataType]:
    name, kind = table.schema[place]
    return pl.col(name), kind


def _first_time(table: TableScan) -> str:
    """The first text that is a date or a number; empty if there is none, or if the column holds no texts."""
    cell, kind = cell_of(table, table.columns.time)
    if not isinstance(kind, pl.String):
        return ""
    first = table.frame.select(findings(cell).alias("time")).drop_nulls().head(1).collect()
    return str(first.item()) if first.height else ""


def _times(file: str, table: TableScan, first: str, zone: str) -> tuple[TimeFormat, tuple[Assumed, ...]]:
    cell, kind = cell_of(table, table.columns.time)
    dated, with_zone = kind.is_temporal(), getattr(kind, "time_zone", None) is not None
    if isinstance(kind, pl.String):
        dated, with_zone = is_date(first), has_zone(first)
    found = reading(cell, kind, zone, dated=dated)
    if found is None:
        name = table.names[table.columns.time]
        raise TraceError(f"{file}: column {name} has type {kind}, not times: {EXAMPLE}")
    return found, ((ASSUMED_ZONE,) if dated and not with_zone and not zone else ())


def _unit(
    file: str, table: TableScan, in_cells: frozenset[TraceUnit], said: TraceReading
) -> tuple[TraceUnit | None, tuple[Assumed, ...]]:
    """The unit that the user, a column name or the cells say; they must agree."""
    columns, assumed = table.columns, table.columns.assumed
    if not in_cells:
        return columns.unit, assumed
    written = several(sorted(in_cells))
    if len(in_cells) > 1:
        raise TraceError(f"{file}: its values have different units ({written}): choose columns with {OPTION} value=…")
    if columns.unit not in {None, *in_cells}:
        where = f"{OPTION} unit={said.unit}" if said.unit else f"column {table.names[columns.values[0]]}"
        raise TraceError(f"{file}: its values are in {written}, but {where} says {columns.unit}")
    return next(iter(in_cells)), tuple([one for one in assumed if one.key != "unit"])
