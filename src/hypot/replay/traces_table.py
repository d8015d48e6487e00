"""A file in memory: the wanted columns, each cell a number, each row with its number."""

from typing import NamedTuple

import polars as pl

from hypot.replay.traces_columns import Opened
from hypot.replay.traces_times import EXAMPLE, Reading, number, reading, telling
from hypot.replay.traces_value import TraceError, count, several

ROW, TIME, ZONE, VALUE, MEMORY, WORKLOAD = "row", "time", "zone", "value", "memory", "workload"
_FILLED = "filled"
_SHOWN_CELLS = 3
_LONGEST_TEXT = 40


class Table(NamedTuple):
    """The wanted columns of a file, and what was repaired so far."""

    file: str
    opened: Opened
    times: Reading
    rows: pl.DataFrame
    notes: tuple[str, ...]

    def now(self, rows: pl.DataFrame, *notes: str) -> "Table":
        return self._replace(rows=rows, notes=self.notes + tuple(filter(None, notes)))


def read_table(file: str, opened: Opened) -> Table:
    """The only place that reads all of a file: once, and no more columns than are wanted."""
    columns = opened.columns
    times = _times(file, opened)
    cells = [times.seconds.alias(TIME), _numbers(file, opened, columns.value).alias(VALUE)]
    if times.zone is not None:
        cells.append(times.zone.alias(ZONE))
    if columns.memory is not None:
        cells.append(_numbers(file, opened, columns.memory).alias(MEMORY))
    if columns.workload is not None:
        cells.append(_names(file, opened, columns.workload).alias(WORKLOAD))
    filled = pl.any_horizontal(*(_filled(opened, place) for place in columns.wanted()))
    rows = opened.frame.select(*cells, filled.alias(_FILLED)).collect(engine="streaming")
    if len(rows) != opened.rows:
        raise TraceError(opened.broken(f"of {opened.rows} rows only {len(rows)} were found"))
    table = Table(file, opened, times, rows.with_row_index(ROW, opened.first_row), columns.notes)
    return _without_empty_rows(table)


def _cell(opened: Opened, place: int) -> tuple[pl.Expr, pl.DataType]:
    name, kind = list(opened.frame.collect_schema().items())[place]
    return pl.col(name), kind


def _times(file: str, opened: Opened) -> Reading:
    cell, kind = _cell(opened, opened.columns.time)
    dated = False
    if isinstance(kind, pl.String):
        first = opened.frame.select(telling(cell).alias(TIME)).drop_nulls().head(1).collect()
        dated = first.height > 0 and first.item()
    found = reading(cell, kind, dated)
    if found is None:
        name = opened.names[opened.columns.time]
        raise TraceError(f"{file}: column {name} holds {kind}, not times: {EXAMPLE}")
    return found


def _numbers(file: str, opened: Opened, place: int) -> pl.Expr:
    cell, kind = _cell(opened, place)
    if not (kind.is_numeric() or isinstance(kind, pl.String)):
        raise TraceError(f"{file}: column {opened.names[place]} holds {kind}, not numbers")
    return number(cell, kind)


def _names(file: str, opened: Opened, place: int) -> pl.Expr:
    cell, kind = _cell(opened, place)
    if not (kind.is_integer() or isinstance(kind, pl.String | pl.Categorical | pl.Enum)):
        raise TraceError(f"{file}: column {opened.names[place]} holds {kind}, not names of workloads")
    text = cell.cast(pl.String).str.strip_chars()
    return pl.when(text != "").then(text).cast(pl.Categorical)


def _filled(opened: Opened, place: int) -> pl.Expr:
    cell, kind = _cell(opened, place)
    return (cell.str.strip_chars() != "").fill_null(value=False) if isinstance(kind, pl.String) else cell.is_not_null()


def _without_empty_rows(table: Table) -> Table:
    """Blank lines say nothing; at the end of a file they are not worth a word."""
    if table.rows.height and table.rows[_FILLED].all():
        return table.now(table.rows.drop(_FILLED))
    kept = table.rows.filter(_FILLED).drop(_FILLED)
    if not kept.height:
        raise TraceError(f"{table.file}: has no row of data: at least two are needed")
    missing = int(kept[ROW][-1]) - table.opened.first_row + 1 - kept.height
    return table.now(kept, f"{count(missing, 'empty row')} passed over" if missing else "")


def wrong_cells(table: Table, place: int, wrong: pl.Expr, wanted: str, hint: str = "") -> list[str]:
    """One line about all cells of a column that are wrong: the first with what stands there, and how many more."""
    rows = table.rows.filter(wrong)[ROW]
    if not len(rows):
        return []
    cell, _ = _cell(table.opened, place)
    texts = opened_texts(table.opened, cell, rows.head(_SHOWN_CELLS))
    words = [f"row {row} {_why(text, wanted)}" for row, text in texts]
    if len(rows) > len(words):
        words.append(count(len(rows) - len(words), "more row"))
    return [f"{table.file}: column {table.opened.names[place]}: {several(words)}{hint}"]


def opened_texts(opened: Opened, cell: pl.Expr, rows: pl.Series) -> list[tuple[int, str | None]]:
    """What really stands in some cells."""
    texts = opened.frame.select(cell.cast(pl.String).alias(VALUE)).with_row_index(ROW, opened.first_row)
    return texts.filter(pl.col(ROW).is_in(rows.to_list())).collect(engine="streaming").rows()


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
