"""Reads large files in parts. A first pass over one column finds which rows belong to which workload."""

from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

import polars as pl

from hypot.replay.traces.columns import TableScan, WorkloadBatch
from hypot.replay.traces.table import workload_names
from hypot.replay.traces.trace import MAX_BYTES, MAX_ROWS, PART_ROWS, TraceError

# The most bytes that a part may unpack to, unless it is a single workload.
PART_BYTES = 2**28
# Where the rows of workloads are mixed, each part scans the rows of all of them, so parts are larger.
MIXED = 3
# How many rows of the workload column are scanned at once.
SEEN_ROWS = 4_000_000
MAX_WORKLOADS = 1_000_000
_NAME, _ROWS, _FIRST, _END = "name", "rows", "first", "end"


class RowRange(NamedTuple):
    """The rows of a workload: how many, the first, and the end (exclusive). Rows of others may be between them."""

    name: str | None
    rows: int
    first: int
    end: int


def parts_of(file: str, table: TableScan, progress: Callable[[int, int], None]) -> list[WorkloadBatch]:
    """A large fleet in parts of whole workloads, in the order in which they appear; any other file as one part."""
    column = table.columns.workload
    most = PART_ROWS if not table.size else min(PART_ROWS, PART_BYTES * table.rows // table.size)
    if column is None or table.rows <= most:
        return [table.whole]
    places = survey(file, table, column, progress)
    for one in places:
        _refuse_too_long(file, one, table)
    return list(_parted(places, max(most, 1)))


def survey(file: str, table: TableScan, column: int, progress: Callable[[int, int], None]) -> list[RowRange]:
    """All workloads, ordered by their first row. Reads only the workload column."""
    name = workload_names(file, table, column)
    raw = table.names[column]
    known = pl.DataFrame(schema={_NAME: pl.String, _ROWS: pl.Int64, _FIRST: pl.Int64, _END: pl.Int64})
    for first in range(0, table.rows, SEEN_ROWS):
        rows = table.frame.select(raw).slice(first, SEEN_ROWS).with_row_index(_FIRST, first)
        found = rows.group_by(raw).agg(
            pl.len().cast(pl.Int64).alias(_ROWS),
            pl.min(_FIRST).cast(pl.Int64),
            (pl.max(_FIRST).cast(pl.Int64) + 1).alias(_END),
        )
        seen = found.collect(engine="streaming").select(name.alias(_NAME), _ROWS, _FIRST, _END)
        known = pl.concat([known, seen]).group_by(_NAME).agg(pl.sum(_ROWS), pl.min(_FIRST), pl.max(_END))
        if known.height > MAX_WORKLOADS:
            raise TraceError(f"{file}: has more than {MAX_WORKLOADS:,} workloads: split it by workload")
        progress(min(first + SEEN_ROWS, table.rows), table.rows)
    if known[_ROWS].sum() != table.rows:
        raise TraceError(table.broken(f"of {table.rows} rows only {known[_ROWS].sum()} were found"))
    return [RowRange(*row) for row in known.sort(_FIRST).iter_rows()]


def _refuse_too_long(file: str, one: RowRange, table: TableScan) -> None:
    size = one.rows * table.size // table.rows
    if one.rows > MAX_ROWS or size > MAX_BYTES:
        raise TraceError(
            f"{file}: workload {one.name!r} would unpack to {one.rows:,} rows and {size / 2**30:.1f} GiB, the limit is "
            f"{MAX_ROWS:,} rows and {MAX_BYTES / 2**30:.3g} GiB for one workload: split it by time"
        )


def _parted(places: list[RowRange], most: int) -> Iterator[WorkloadBatch]:
    """Packs as many stretches of the file into a part as fit; a stretch that is too long is split by workload names."""
    for stretches in _packed(_stretches(places), most):
        together = [one for stretch in stretches for one in stretch]
        first, end = together[0].first, max(one.end for one in together)
        if len(stretches) > 1 or len(together) == 1 or _rows(together) <= most:
            yield WorkloadBatch(_rows(together), first, end - first, None, len(together))
            continue
        for group in _packed(([one] for one in together), MIXED * most):
            names = tuple([one.name for (one,) in group])
            yield WorkloadBatch(sum(map(_rows, group)), first, end - first, names, len(names))


def _stretches(places: list[RowRange]) -> Iterator[list[RowRange]]:
    """Groups of workloads whose rows are mixed; in a file sorted by workload, each group is a single workload."""
    stretch: list[RowRange] = []
    end = 0
    for one in places:
        if stretch and one.first >= end:
            yield stretch
            stretch = []
        stretch.append(one)
        end = max(end, one.end)
    yield stretch


def _packed(stretches: Iterable[list[RowRange]], most: int) -> Iterator[list[list[RowRange]]]:
    """Groups of consecutive stretches with at most `most` rows together, and at least one stretch each."""
    packed: list[list[RowRange]] = []
    rows = 0
    for stretch in stretches:
        if packed and rows + _rows(stretch) > most:
            yield packed
            packed, rows = [], 0
        packed.append(stretch)
        rows += _rows(stretch)
    yield packed


def _rows(places: list[RowRange]) -> int:
    return sum(one.rows for one in places)
