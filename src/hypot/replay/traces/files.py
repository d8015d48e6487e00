"""Opens one file and reads its traces."""

from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import NamedTuple

import polars as pl

from hypot.replay.traces.columns import OpenedTable, WorkloadBatch
from hypot.replay.traces.csv_file import open_csv
from hypot.replay.traces.format import inspected
from hypot.replay.traces.parquet import open_parquet
from hypot.replay.traces.parts import parts_of
from hypot.replay.traces.rows import Across, traces_of
from hypot.replay.traces.table import read_table
from hypot.replay.traces.trace import TimeWindow, Trace, TraceError, fewest


class File(NamedTuple):
    """A file and the parts in which it is read."""

    path: str
    opened: OpenedTable
    parts: list[WorkloadBatch]


def open_file(path: str, progress: Callable[[int, int], None]) -> File:
    """Reads what is needed to find the parts: for a large fleet, the workload names, with progress reported in rows."""
    size, parquet = inspected(path)
    if not parquet:
        opened = open_csv(path, size)
        return File(path, opened, [opened.whole])
    opened = open_parquet(path)
    try:
        return File(path, opened, parts_of(path, opened, progress))
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException) as error:
        raise TraceError(opened.broken(str(error))) from error


def read_file(file: File, window: TimeWindow) -> Iterator[Trace]:
    """Its traces, part by part. After the first problem, it only looks for further problems and raises all of them.

    Some notes are known only at the end. They are added to the last trace, so one trace is always held back.
    """
    across = Across(file.path, window)
    held: deque[Trace] = deque()
    problems: list[str] = []
    for part in file.parts:
        try:
            held.extend(_read(file, part, across))
        except TraceError as error:
            problems += error.problems
        while not problems and len(held) > 1 and part is not file.parts[-1]:
            yield held.popleft()
        if problems:
            held.clear()
    try:
        notes = across.notes(is_fleet=file.opened.columns.workload is not None)
    except TraceError as error:
        problems += error.problems
    if problems:
        raise TraceError(*(fewest(problems, file.path) if len(file.parts) > 1 else problems))
    for trace in held:
        yield replace(trace, notes=trace.notes + notes)


def _read(file: File, part: WorkloadBatch, across: Across) -> list[Trace]:
    try:
        return traces_of(read_table(file.path, file.opened, part), across)
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException) as error:
        raise TraceError(file.opened.broken(str(error))) from error
