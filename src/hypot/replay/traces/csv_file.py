"""Reads CSV with polars. Where polars fails, this module finds the row that is wrong."""

import csv
from functools import partial
from pathlib import Path

import polars as pl

from hypot.kinds.base import count_of
from hypot.replay.traces.columns import OpenedTable, find_columns
from hypot.replay.traces.trace import MAX_ROWS, TraceError

MAX_CSV_BYTES = 4 * 2**30
_LONGEST_HEADER = 2**20
_BLOCK = 2**24


def open_csv(file: str, size: int) -> OpenedTable:
    if size > MAX_CSV_BYTES:
        raise TraceError(
            f"{file}: {size / 2**30:.1f} GiB of CSV is too much, the limit is {MAX_CSV_BYTES / 2**30:.3g} GiB: "
            "write it as Parquet, or split it by workload"
        )
    names = _header(file)
    columns = find_columns(file, names)
    rows = _lines(file) - 1
    if rows > MAX_ROWS:
        raise TraceError(f"{file}: {rows:,} rows are too many, the limit is {MAX_ROWS:,}: split it by workload")
    try:
        frame = pl.scan_csv(Path(file).absolute(), infer_schema=False, glob=False)
        if len(frame.collect_schema()) != len(names):
            raise TraceError(broken_csv(file, len(names), "its first row cannot be read"))
    except pl.exceptions.PolarsError as error:
        raise TraceError(broken_csv(file, len(names), str(error))) from error
    return OpenedTable(frame, names, columns, 2, rows, partial(broken_csv, file, len(names)))


def _header(file: str) -> list[str]:
    with open(file, "rb") as stream:  # noqa: PTH123  the path is text, as the user wrote it
        line = stream.readline(_LONGEST_HEADER)
    try:
        text = line.decode("utf-8-sig").rstrip("\r\n")
    except UnicodeDecodeError as error:
        raise TraceError(f"{file}: row 1 is not UTF-8: save the file as UTF-8") from error
    if not text.strip():
        raise TraceError(f"{file}: row 1 is empty: it must hold the column names")
    if "\r" in text or "\0" in text or len(line) == _LONGEST_HEADER:
        raise TraceError(f"{file}: row 1 is not valid CSV: separate fields by commas and end lines with a line feed")
    if text.count('"') % 2:
        raise TraceError(f"{file}: row 1: a quote is not closed on its line")
    return next(csv.reader([text]))


def _lines(file: str) -> int:
    """The number of lines. It reveals rows that polars reads as part of another row."""
    found, last = 0, b"\n"
    with open(file, "rb") as stream:  # noqa: PTH123  as above
        while block := stream.read(_BLOCK):
            found += block.count(b"\n")
            last = block[-1:]
    return found + (last != b"\n")


def broken_csv(file: str, fields: int, message: str) -> str:
    """Why a file cannot be read, with the row number; if no row is at fault, the message of polars."""
    with open(file, "rb") as stream:  # noqa: PTH123  as above
        for row, line in enumerate(stream, 1):
            fault = _fault(line, fields)
            if fault:
                return f"{file}: row {row}: {fault}"
    return f"{file}: cannot be read as CSV: {message.partition(chr(10))[0]}"


def _fault(line: bytes, fields: int) -> str:
    try:
        text = line.decode().rstrip("\r\n")
    except UnicodeDecodeError:
        return "not UTF-8: save the file as UTF-8"
    if text.count('"') % 2:
        return "a quote is not closed on its line"
    try:
        found = len(next(csv.reader([text], strict=True), ()))
    except csv.Error:
        return "there is text next to a quoted field: quote the whole field, or none of it"
    return f"{found} fields, but row 1 names {count_of(fields, 'column')}" if found > fields else ""
