"""A part of a file in memory: the wanted columns, each cell as a number, each row with its row number."""

from typing import NamedTuple

import polars as pl

from hypot.kinds.base import count_of
from hypot.replay.traces.columns import OpenedTable, TableScan, WorkloadBatch
from hypot.replay.traces.forms import cell_of
from hypot.replay.traces.times import PARTS, last_of_equal_hours
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
    frame = _only(file, table, part)
    if times.parts is not None:
        frame = frame.with_columns(times.parts.alias(PARTS))
    cells = {ROW: pl.col(_NUMBERED), TIME: times.seconds, ZONE: times.zone, _LATE: times.late, _CLOCK: times.clock}
    for alias, place in ((MEMORY, columns.memory), (REPLICAS, columns.replicas)):
        cells[alias] = None if place is None else opened.others.read(*cell_of(table, place))
    if columns.workload is not None:
        names = _name_texts(file, table, columns.workload)
        cells[WORKLOAD] = names.cast(pl.Categorical) if part.rows > PART_ROWS else names
    chosen = {alias: cell.alias(alias) for alias, cell in cells.items() if cell is not None}
    wanted = _wide(opened, frame, chosen) if columns.is_wide else frame.select(*chosen.values(), _value(opened))
    rows = wanted.collect(engine="streaming")
    if len(rows) != part.rows * len(columns.values):
        raise TraceError(table.broken(f"of {part.rows} rows only {len(rows) // len(columns.values)} were found"))
    read = TraceTable(file, opened, part, _with_clean_names(rows), opened.notes)
    if not rows.height or rows[TIME].null_count():
        filled = pl.any_horizontal(*(_filled(table, place) for place in columns.wanted()))
        read = _without_empty_rows(read, frame.filter(filled).select(pl.col(_NUMBERED).alias(ROW)))
    return read._replace(rows=_of_equal_hours(read.rows))


def _value(opened: OpenedTable) -> pl.Expr:
    [place] = opened.table.columns.values
    return opened.values.read(*cell_of(opened.table, place)).alias(VALUE)


def _wide(opened: OpenedTable, frame: pl.LazyFrame, chosen: dict[str, pl.Expr]) -> pl.LazyFrame:
    """One row for each value, with the name of its workload."""
    table = opened.table
    kinds = {table.schema[place][1] for place in table.columns.values}
    kind = pl.String() if pl.String() in kinds else pl.Float64()
    names = {str(place): table.names[place].strip() for place in table.columns.values}
    values = [pl.col(table.schema[int(place)][0]).cast(kind).alias(place) for place in names]
    found = frame.select(*chosen.values(), *values).unpivot(
        list(names), index=list(chosen), variable_name=WORKLOAD, value_name=VALUE
    )
    workload = pl.col(WORKLOAD).replace_strict(names, return_dtype=pl.Enum(list(names.values())))
    return found.with_columns(workload, opened.values.read(pl.col(VALUE), kind).alias(VALUE))


def _of_equal_hours(rows: pl.DataFrame) -> pl.DataFrame:
    if _LATE not in rows.columns:
        return rows
    newest_first = pl.col(_CLOCK).first() > pl.col(_CLOCK).last()
    if rows.select(newest_first).item():
        rows = rows.sort(ROW, descending=True, maintain_order=True)
    groups = [WORKLOAD] if WORKLOAD in rows.columns else []
    return last_of_equal_hours(rows, _CLOCK, TIME, _LATE, groups).drop(_LATE, _CLOCK)


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


def _without_empty_rows(table: TraceTable, filled: pl.LazyFrame) -> TraceTable:
    """Drops empty rows, with a note unless they are at the end of the file. `filled` has the numbers of the others."""
    numbers, opened = filled.collect(engine="streaming"), table.opened.table
    kept = table.rows.join(numbers, ROW, "semi", maintain_order="left")
    if not kept.height:
        if table.part.rows < opened.rows:
            return table.now(kept)
        raise TraceError(f"{table.file}: has no data rows: at least two are needed")
    empty = table.rows.join(numbers, ROW, "anti")[ROW].unique()
    is_end = table.rows[ROW].max() == opened.first_row + opened.rows - 1
    missing = int((empty < kept[ROW].max()).sum()) if is_end else len(empty)
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
        return f"({text[:_LONGEST_TEXT]!r}) is a share: record requests/s or cores"
    return f"({text[:_LONGEST_TEXT]!r}) is not a {wanted}"
