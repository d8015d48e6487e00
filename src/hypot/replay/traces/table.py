"""A part of a file in memory: the wanted columns, each cell as a number, each row with its row number."""

from typing import NamedTuple

import polars as pl

from hypot.kinds.base import count_of
from hypot.replay.traces.columns import OpenedTable, TableScan, WorkloadBatch
from hypot.replay.traces.forms import cell_of
from hypot.replay.traces.times import last_of_equal_hours
from hypot.replay.traces.trace import MAX_VALUE, PART_ROWS, TraceError, several

ROW, TIME, ZONE, VALUE, MEMORY, WORKLOAD = "row", "time", "zone", "value", "memory", "workload"
REPLICAS = "replicas"
_LATE, _CLOCK = "late", "clock"
# A column name that no file has.
_NUMBERED = "the number of the row"
_SHOWN_CELLS = 3
_LONGEST_TEXT = 40
# The row indexes at which another workload begins.
RUNS = pl.col(WORKLOAD).ne_missing(pl.col(WORKLOAD).shift()).arg_true()


class TraceTable(NamedTuple):
    """The wanted columns of a part of a file, and notes on what was repaired so far."""

    file: str
    opened: OpenedTable
    part: WorkloadBatch
    rows: pl.DataFrame
    notes: tuple[str, ...]

    def now(self, rows: pl.DataFrame, *notes: str) -> "TraceTable":
        return self._replace(rows=rows, notes=self.notes + tuple(filter(None, notes)))


def read_table(file: str, opened: OpenedTable, part: WorkloadBatch) -> TraceTable:
    """Reads a whole part, once, and only the wanted columns. No other function reads whole parts."""
    table, times, columns = opened.table, opened.times, opened.table.columns
    cells = {TIME: times.seconds, ZONE: times.zone, _LATE: times.late, _CLOCK: times.clock}
    values = _value_names(columns.values)
    numbers = {**values, MEMORY: columns.memory, REPLICAS: columns.replicas}
    cells |= {alias: None if place is None else _number(opened, place) for alias, place in numbers.items()}
    if columns.workload is not None:
        names = _name_texts(file, table, columns.workload)
        cells[WORKLOAD] = names.cast(pl.Categorical) if part.rows > PART_ROWS else names
    frame = _only(file, table, part)
    wanted = [cell.alias(alias) for alias, cell in cells.items() if cell is not None]
    rows = frame.select(*wanted, pl.col(_NUMBERED).alias(ROW)).collect(engine="streaming")
    if len(rows) != part.rows:
        raise TraceError(table.broken(f"of {part.rows} rows only {len(rows)} were found"))
    read = TraceTable(file, opened, part, _with_clean_names(rows), opened.notes)
    if not rows.height or rows[TIME].null_count():
        filled = pl.any_horizontal(*(_filled(table, place) for place in columns.wanted()))
        read = _without_empty_rows(read, frame.select(filled).collect(engine="streaming").to_series())
    return read._replace(rows=_long(_of_equal_hours(read.rows), table, values))


def _value_names(places: tuple[int, ...]) -> dict[str, int]:
    """Names of columns in memory."""
    return {VALUE: places[0]} if len(places) == 1 else {f"{VALUE} {place}": place for place in places}


def _of_equal_hours(rows: pl.DataFrame) -> pl.DataFrame:
    if _LATE not in rows.columns:
        return rows
    newest_first = pl.col(_CLOCK).first() > pl.col(_CLOCK).last()
    if rows.select(newest_first).item():
        rows = rows.reverse()
    groups = [WORKLOAD] if WORKLOAD in rows.columns else []
    return last_of_equal_hours(rows, _CLOCK, TIME, _LATE, groups).drop(_LATE, _CLOCK)


def _long(rows: pl.DataFrame, table: TableScan, values: dict[str, int]) -> pl.DataFrame:
    """One row for each value, with the name of its workload."""
    if len(values) == 1:
        return rows
    names = {alias: table.names[place].strip() for alias, place in values.items()}
    kind = pl.Enum(list(names.values()))
    shared = [name for name in (ROW, TIME, ZONE) if name in rows.columns]
    found = rows.rename(names | {name: f" {name}" for name in shared})
    found = found.unpivot(index=[f" {name}" for name in shared], variable_name=" workload", value_name=" value")
    back = {f" {name}": name for name in (*shared, WORKLOAD, VALUE)}
    return found.rename(back).with_columns(pl.col(WORKLOAD).cast(kind))


def _only(file: str, table: TableScan, part: WorkloadBatch) -> pl.LazyFrame:
    """The rows of a part, each with its row number in the file."""
    if part.length < table.rows:
        frame = table.frame.slice(part.first, part.length).with_row_index(_NUMBERED, table.first_row + part.first)
    else:
        frame = table.numbered(_NUMBERED)
    if part.names is None or table.columns.workload is None:
        return frame
    name = workload_names(file, table, table.columns.workload)
    known = name.is_in([one for one in part.names if one is not None])
    return frame.filter(known | name.is_null() if None in part.names else known)


def _number(opened: OpenedTable, place: int) -> pl.Expr:
    return opened.numbers[place].read(*cell_of(opened.table, place))


def workload_names(file: str, table: TableScan, place: int) -> pl.Expr:
    """The names without surrounding blanks; null where there is no name."""
    return _clean(_name_texts(file, table, place))


def _name_texts(file: str, table: TableScan, place: int) -> pl.Expr:
    cell, kind = cell_of(table, place)
    if not (kind.is_integer() or isinstance(kind, pl.String | pl.Categorical | pl.Enum)):
        raise TraceError(f"{file}: column {table.names[place]} has type {kind}, not workload names")
    return cell.cast(pl.String)


def _clean(text: pl.Expr) -> pl.Expr:
    stripped = text.str.strip_chars()
    return pl.when(stripped != "").then(stripped)


def _with_clean_names(rows: pl.DataFrame) -> pl.DataFrame:
    if WORKLOAD not in rows.columns:
        return rows
    names = rows.select(pl.col(WORKLOAD).gather(RUNS).unique().cast(pl.String))
    if names.equals(names.select(_clean(pl.col(WORKLOAD)))):
        return rows
    kind = rows.schema[WORKLOAD]
    return rows.with_columns(_clean(pl.col(WORKLOAD).cast(pl.String)).cast(kind))


def _filled(table: TableScan, place: int) -> pl.Expr:
    cell, kind = cell_of(table, place)
    return (cell.str.strip_chars() != "").fill_null(value=False) if isinstance(kind, pl.String) else cell.is_not_null()


def _without_empty_rows(table: TraceTable, filled: pl.Series) -> TraceTable:
    """Drops empty rows, with a note unless they are at the end of the file."""
    kept, opened = table.rows.filter(filled), table.opened.table
    if not kept.height:
        if table.part.rows < opened.rows:
            return table.now(kept)
        raise TraceError(f"{table.file}: has no data rows: at least two are needed")
    empty = table.rows[ROW].filter(~filled)
    is_end = table.rows[ROW][-1] == opened.first_row + opened.rows - 1
    missing = int((empty < kept[ROW][-1]).sum()) if is_end else len(empty)
    return table.now(kept, f"{count_of(missing, 'empty row')} ignored" if missing else "")


def wrong_cells(table: TraceTable, place: int, wrong: pl.Expr, wanted: str, hint: str = "") -> list[str]:
    """One message about all wrong cells of a column: the first ones with their content, and how many more."""
    rows = table.rows.select(pl.col(ROW).filter(wrong).unique().sort()).to_series()
    if not len(rows):
        return []
    scan = table.opened.table
    texts = opened_texts(scan, cell_of(scan, place)[0], rows.head(_SHOWN_CELLS))
    rows_found = [f"row {row} {_why(text, wanted)}" for row, text in texts]
    if len(rows) > len(rows_found):
        rows_found.append(count_of(len(rows) - len(rows_found), "more row"))
    return [f"{table.file}: column {scan.names[place]}: {several(rows_found)}{hint}"]


def opened_texts(opened: TableScan, cell: pl.Expr, rows: pl.Series) -> list[tuple[int, str | None]]:
    """The original content of some cells; `rows` must be sorted."""
    first, last = int(rows[0]), int(rows[-1])
    texts = opened.frame.select(cell.cast(pl.String).alias(VALUE)).slice(first - opened.first_row, last - first + 1)
    wanted = pl.col(ROW).is_in(rows.to_list())
    return texts.with_row_index(ROW, first).filter(wanted).collect(engine="streaming").rows()


def _why(text: str | None, wanted: str) -> str:
    if text is None or not text.strip():
        return "is empty"
    try:
        value = float(text.replace("\u221e", "inf"))
    except ValueError:
        value = 0.0
    if value != value:  # noqa: PLR0124  only NaN differs from itself
        return "is NaN"
    if abs(value) == float("inf"):
        return "is infinite"
    if value > MAX_VALUE and wanted == "number":
        return f"is too large ({text.strip()[:_LONGEST_TEXT]}): at most {MAX_VALUE:g} fits"
    if value < 0 and wanted == "number":
        return f"is negative ({text.strip()[:_LONGEST_TEXT]})"
    if wanted == "number" and text.rstrip().endswith("%"):
        return f"({text[:_LONGEST_TEXT]!r}) is a share, not requests/s or cores"
    return f"({text[:_LONGEST_TEXT]!r}) is not a {wanted}"
