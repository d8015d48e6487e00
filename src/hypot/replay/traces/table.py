"""A part of a file in memory: the wanted columns, each cell as a number, each row with its row number."""

from typing import NamedTuple

import polars as pl

from hypot.kinds.base import count_of
from hypot.replay.traces.columns import OpenedTable, WorkloadBatch
from hypot.replay.traces.times import EXAMPLE, TimeFormat, findings, number, reading
from hypot.replay.traces.trace import PART_ROWS, TraceError, several

ROW, TIME, ZONE, VALUE, MEMORY, WORKLOAD = "row", "time", "zone", "value", "memory", "workload"
REPLICAS = "replicas"
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
    times: TimeFormat
    rows: pl.DataFrame
    notes: tuple[str, ...]

    def now(self, rows: pl.DataFrame, *notes: str) -> "TraceTable":
        return self._replace(rows=rows, notes=self.notes + tuple(filter(None, notes)))


def read_table(file: str, opened: OpenedTable, part: WorkloadBatch) -> TraceTable:
    """Reads a whole part, once, and only the wanted columns. No other function reads whole parts."""
    columns = opened.columns
    times = _times(file, opened)
    cells = [times.seconds.alias(TIME), _numbers(file, opened, columns.value).alias(VALUE)]
    if times.zone is not None:
        cells.append(times.zone.alias(ZONE))
    if columns.memory is not None:
        cells.append(_numbers(file, opened, columns.memory).alias(MEMORY))
    if columns.replicas is not None:
        cells.append(_numbers(file, opened, columns.replicas).alias(REPLICAS))
    if columns.workload is not None:
        names = _name_texts(file, opened, columns.workload)
        cells.append((names.cast(pl.Categorical) if part.rows > PART_ROWS else names).alias(WORKLOAD))
    frame = _only(file, opened, part)
    rows = frame.select(*cells, pl.col(_NUMBERED).alias(ROW)).collect(engine="streaming")
    if len(rows) != part.rows:
        raise TraceError(opened.broken(f"of {part.rows} rows only {len(rows)} were found"))
    table = TraceTable(file, opened, part, times, _with_clean_names(rows), columns.notes)
    if rows.height and not rows[TIME].null_count():
        return table
    filled = pl.any_horizontal(*(_filled(opened, place) for place in columns.wanted()))
    return _without_empty_rows(table, frame.select(filled).collect(engine="streaming").to_series())


def _only(file: str, opened: OpenedTable, part: WorkloadBatch) -> pl.LazyFrame:
    """The rows of a part, each with its row number in the file."""
    if part.length < opened.rows:
        frame = opened.frame.slice(part.first, part.length).with_row_index(_NUMBERED, opened.first_row + part.first)
    else:
        frame = opened.numbered(_NUMBERED)
    if part.names is None or opened.columns.workload is None:
        return frame
    name = workload_names(file, opened, opened.columns.workload)
    known = name.is_in([one for one in part.names if one is not None])
    return frame.filter(known | name.is_null() if None in part.names else known)


def _cell(opened: OpenedTable, place: int) -> tuple[pl.Expr, pl.DataType]:
    name, kind = list(opened.frame.collect_schema().items())[place]
    return pl.col(name), kind


def _times(file: str, opened: OpenedTable) -> TimeFormat:
    cell, kind = _cell(opened, opened.columns.time)
    dated = False
    if isinstance(kind, pl.String):
        first = opened.frame.select(findings(cell).alias(TIME)).drop_nulls().head(1).collect()
        dated = first.height > 0 and first.item()
    found = reading(cell, kind, dated)
    if found is None:
        name = opened.names[opened.columns.time]
        raise TraceError(f"{file}: column {name} has type {kind}, not times: {EXAMPLE}")
    return found


def _numbers(file: str, opened: OpenedTable, place: int) -> pl.Expr:
    cell, kind = _cell(opened, place)
    if not (kind.is_numeric() or isinstance(kind, pl.String)):
        raise TraceError(f"{file}: column {opened.names[place]} has type {kind}, not numbers")
    return number(cell, kind)


def workload_names(file: str, opened: OpenedTable, place: int) -> pl.Expr:
    """The names without surrounding blanks; null where there is no name."""
    return _clean(_name_texts(file, opened, place))


def _name_texts(file: str, opened: OpenedTable, place: int) -> pl.Expr:
    cell, kind = _cell(opened, place)
    if not (kind.is_integer() or isinstance(kind, pl.String | pl.Categorical | pl.Enum)):
        raise TraceError(f"{file}: column {opened.names[place]} has type {kind}, not workload names")
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


def _filled(opened: OpenedTable, place: int) -> pl.Expr:
    cell, kind = _cell(opened, place)
    return (cell.str.strip_chars() != "").fill_null(value=False) if isinstance(kind, pl.String) else cell.is_not_null()


def _without_empty_rows(table: TraceTable, filled: pl.Series) -> TraceTable:
    """Drops empty rows, with a note unless they are at the end of the file."""
    kept, opened = table.rows.filter(filled), table.opened
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
    rows = table.rows.select(pl.col(ROW).filter(wrong)).to_series()
    if not len(rows):
        return []
    cell, _ = _cell(table.opened, place)
    texts = opened_texts(table.opened, cell, rows.head(_SHOWN_CELLS))
    rows_found = [f"row {row} {_why(text, wanted)}" for row, text in texts]
    if len(rows) > len(rows_found):
        rows_found.append(count_of(len(rows) - len(rows_found), "more row"))
    return [f"{table.file}: column {table.opened.names[place]}: {several(rows_found)}{hint}"]


def opened_texts(opened: OpenedTable, cell: pl.Expr, rows: pl.Series) -> list[tuple[int, str | None]]:
    """The original content of some cells; `rows` must be sorted."""
    first, last = int(rows[0]), int(rows[-1])
    texts = opened.frame.select(cell.cast(pl.String).alias(VALUE)).slice(first - opened.first_row, last - first + 1)
    wanted = pl.col(ROW).is_in(rows.to_list())
    return texts.with_row_index(ROW, first).filter(wanted).collect(engine="streaming").rows()


def _why(text: str | None, wanted: str) -> str:
    if text is None or not text.strip():
        return "is empty"
    try:
        value = float(text)
    except ValueError:
        value = 0.0
    if value != value:  # noqa: PLR0124  only NaN differs from itself
        return "is NaN"
    if abs(value) == float("inf"):
        return "is infinite"
    if value < 0 and wanted == "number":
        return f"is negative ({text.strip()[:_LONGEST_TEXT]})"
    return f"({text[:_LONGEST_TEXT]!r}) is not a {wanted}"
