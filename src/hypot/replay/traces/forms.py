"""Looks at the columns of a table before it is read: in which form they have times and numbers."""

import polars as pl

from hypot.replay.traces.columns import OpenedTable, TableScan
from hypot.replay.traces.numbers import PLAIN, NumberForms, Surroundings, number_forms
from hypot.replay.traces.reading import OPTION, Assumed, TraceReading, TraceUnit
from hypot.replay.traces.times import ASSUMED_ZONE, DOTTED, EXAMPLE, TimeFormat, findings, has_zone, is_date, reading
from hypot.replay.traces.trace import TraceError, several


def opened_table(file: str, table: TableScan, said: TraceReading) -> OpenedTable:
    first = _first_time(table)
    times, assumed = _times(file, table, first, said.zone)
    texts: dict[int, pl.Expr] = {}
    for place in table.columns.numbers:
        cell, kind = cell_of(table, place)
        if isinstance(kind, pl.String):
            texts[place] = cell
        elif not (kind.is_numeric() or isinstance(kind, pl.Null)):
            raise TraceError(f"{file}: column {table.names[place]} has type {kind}, not numbers")
    found = NumberForms({}, {})
    if texts:
        others = [cell_of(table, place)[0] for place in table.shown if place not in texts]
        dotted = DOTTED.match(first) is not None
        around = Surroundings(table.columns.memory, said.decimal, table.separator, others, dotted)
        found = number_forms(table.frame, texts, around)
    unit, of_unit = _unit(file, table, found, said)
    return OpenedTable(
        table,
        said,
        times,
        {place: found.formats.get(place, PLAIN) for place in table.columns.numbers},
        unit,
        (*table.columns.notes, *found.notes),
        (*of_unit, *assumed, *found.assumed),
    )


def cell_of(table: TableScan, place: int) -> tuple[pl.Expr, pl.DataType]:
    name, kind = list(table.frame.collect_schema().items())[place]
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
    file: str, table: TableScan, found: NumberForms, said: TraceReading
) -> tuple[TraceUnit | None, tuple[Assumed, ...]]:
    """The unit that the user, a column name or the cells say; they must agree."""
    columns = table.columns
    in_cells = set().union(*found.units.values()) if found.units else set()
    assumed = columns.assumed
    if not in_cells:
        return columns.unit, assumed
    written = several(sorted(in_cells))
    if len(in_cells) > 1:
        raise TraceError(f"{file}: its values have different units ({written}): choose columns with {OPTION} value=…")
    if columns.unit not in {None, *in_cells}:
        where = f"{OPTION} unit={said.unit}" if said.unit else f"column {table.names[columns.values[0]]}"
        raise TraceError(f"{file}: its values are in {written}, but {where} says {columns.unit}")
    return in_cells.pop(), tuple([one for one in assumed if one.key != "unit"])
