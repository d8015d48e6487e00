"""Opens one file and reads its traces."""

from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import NamedTuple

import polars as pl

from hypot.replay.traces.columns import OpenedTable, WorkloadBatch
from hypot.replay.traces.csv_file import open_csv
from hypot.replay.traces.format import Inspected
from hypot.replay.traces.forms import opened_table
from hypot.replay.traces.parquet import open_parquet
from hypot.replay.traces.parts import parts_of
from hypot.replay.traces.reading import Assumed, TraceReading, TraceUnit
from hypot.replay.traces.rows import Across, traces_of
from hypot.replay.traces.table import read_table
from hypot.replay.traces.trace import TimeWindow, Trace, TraceError, fewest


class TableFile(NamedTuple):
    """A file with a table, and the parts in which it is read."""

    path: str
    opened: OpenedTable
    parts: list[WorkloadBatch]

    @property
    def part_count(self) -> int:
        return len(self.parts)

    @property
    def rows(self) -> int:
        return self.opened.table.rows * len(self.opened.table.columns.values)

    @property
    def unit(self) -> TraceUnit | None:
        return self.opened.unit

    @property
    def assumed(self) -> tuple[Assumed, ...]:
        return self.opened.assumed

    def about(self, rows: int) -> float:
        """The estimated number of traces, of `rows` rows each where workloads were not counted."""
        each = len(self.opened.table.columns.values)
        return sum(part.workloads or max(1.0, part.rows / rows) for part in self.parts) * each

    def traces(self, window: TimeWindow) -> Iterator[Trace]:
        """Its traces, part by part. After the first problem, it only looks for further problems and raises all of them.

        Some notes are known only at the end. They are added to the last trace, so one trace is always held back.
        """
        across = Across(self.path, window)
        held: deque[Trace] = deque()
        problems: list[str] = []
        for part in self.parts:
            try:
                held.extend(self._read(part, across))
            except TraceError as error:
                problems += error.problems
            while not problems and len(held) > 1 and part is not self.parts[-1]:
                yield held.popleft()
            if problems:
                held.clear()
        try:
            notes = across.notes(is_fleet=self.opened.table.columns.workload is not None)
        except TraceError as error:
            problems += error.problems
        if problems:
            raise TraceError(*fewest(problems, self.path))
        for trace in held:
            yield replace(trace, notes=trace.notes + notes)

    def _read(self, part: WorkloadBatch, across: Across) -> list[Trace]:
        try:
            return traces_of(read_table(self.path, self.opened, part), across)
        except (pl.exceptions.PolarsError, pl.exceptions.PanicException) as error:
            raise TraceError(self.opened.table.broken(str(error))) from error


def open_table(path: str, about: Inspected, said: TraceReading, progress: Callable[[int, int], None]) -> TableFile:
    """Reads what is needed to find the parts: for a large fleet, the workload names, with progress reported in rows."""
    table = open_parquet(path, said) if about.form == "parquet" else open_csv(path, about.size, about.content, said)
    try:
        opened = opened_table(path, table, said)
        parts = [table.whole] if about.form == "csv" else parts_of(path, table, progress)
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException) as error:
        raise TraceError(table.broken(str(error))) from error
    return TableFile(path, opened, parts)
