"""Reads CSV with polars. Where polars fails, this module finds the row that is wrong."""

import csv
import io
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

import polars as pl

from hypot.kinds.base import count_of
from hypot.replay.traces.columns import TableScan, find_columns
from hypot.replay.traces.dialect import Dialect, dialect_of
from hypot.replay.traces.reading import TraceReading
from hypot.replay.traces.trace import MAX_ROWS, TraceError

MAX_CSV_BYTES = 4 * 2**30
_BLOCK = 2**24


class CsvText(NamedTuple):
    """The text of a file: on disk, or in memory if it had to be unpacked."""

    file: str
    content: bytes | None = None

    def open(self) -> BinaryIO:
        if self.content is not None:
            return io.BytesIO(self.content)
        return open(self.file, "rb")  # noqa: PTH123  the path is text, as the user wrote it

    def scan(self, dialect: Dialect) -> pl.LazyFrame:
        source: Any = Path(self.file).absolute() if self.content is None else self.content
        return pl.scan_csv(
            source,
            separator=dialect.separator,
            has_header=dialect.named,
            skip_lines=dialect.skipped,
            infer_schema=False,
            glob=False,
        )


def open_csv(file: str, size: int, content: bytes | None, said: TraceReading) -> TableScan:
    if size > MAX_CSV_BYTES:
        raise TraceError(
            f"{file}: {size / 2**30:.1f} GiB of CSV is too much, the limit is {MAX_CSV_BYTES / 2**30:.3g} GiB: "
            "write it as Parquet, or split it by workload"
        )
    text = CsvText(file, content)
    with text.open() as stream:
        dialect = dialect_of(file, stream)
    columns = find_columns(file, dialect.names, said, dialect.content, named=dialect.named)
    rows = _lines(text) - dialect.first_row + 1
    if rows * len(columns.values) > MAX_ROWS:
        each = f" of {len(columns.values):,} values" if columns.is_wide else ""
        raise TraceError(f"{file}: {rows:,} rows{each} are too many, the limit is {MAX_ROWS:,}: split it by workload")

    def broken(message: str) -> str:
        return broken_csv(text, dialect, message)

    try:
        frame = text.scan(dialect)
        schema = list(frame.collect_schema().items())
        if len(schema) != len(dialect.names):
            raise TraceError(broken("its first row cannot be read"))
    except pl.exceptions.PolarsError as error:
        raise TraceError(broken(str(error))) from error
    shown = tuple([place for place in range(len(dialect.names)) if dialect.content(place) == "number"])
    return TableScan(
        frame, schema, dialect.names, columns, dialect.first_row, rows, broken, separator=dialect.separator, shown=shown
    )


def _lines(text: CsvText) -> int:
    """The number of lines. It reveals rows that polars reads as part of another row."""
    found, last = 0, b"\n"
    with text.open() as stream:
        while block := stream.read(_BLOCK):
            found += block.count(b"\n")
            last = block[-1:]
    return found + (last != b"\n")


def broken_csv(text: CsvText, dialect: Dialect, message: str) -> str:
    """Why a file cannot be read, with the row number; if no row is at fault, the message of polars."""
    with text.open() as stream:
        for row, line in enumerate(stream, 1):
            fault = _fault(line, dialect) if row > dialect.skipped else ""
            if fault:
                return f"{text.file}: row {row}: {fault}"
    return f"{text.file}: cannot be read as CSV: {message.partition(chr(10))[0]}"


def _fault(line: bytes, dialect: Dialect) -> str:
    try:
        text = line.decode().rstrip("\r\n")
    except UnicodeDecodeError:
        return "not UTF-8: save the file as UTF-8"
    if text.count('"') % 2:
        return "a quote is not closed on its line"
    try:
        found = len(next(csv.reader([text], delimiter=dialect.separator, strict=True), ()))
    except csv.Error:
        return "there is text next to a quoted field: quote the whole field, or none of it"
    first = f"row {dialect.first_row - dialect.named}"
    fields = len(dialect.names)
    verb = "names" if dialect.named else "has"
    return f"{found} fields, but {first} {verb} {count_of(fields, 'column')}" if found > fields else ""
