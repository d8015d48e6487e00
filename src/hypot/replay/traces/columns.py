"""Finds the meaning of each column of a file."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, NamedTuple

from hypot.replay.traces.trace import TraceError, Unit, named, several

if TYPE_CHECKING:
    import polars as pl

TIMES = ("timestamp_seconds", "timestamp", "time", "ts")
VALUES: dict[str, Unit | None] = {
    "value": None,
    "requests": "requests",
    "rps": "requests",
    "cores": "cores",
    "cpu": "cores",
}
_MEANINGS = {None: "the unit in the world's demand.unit", "requests": "requests/s", "cores": "cores"}


class TraceColumns(NamedTuple):
    """The indexes of the columns in a file, counted from 0."""

    time: int
    value: int
    workload: int | None
    memory: int | None
    replicas: int | None
    unit: Unit | None
    notes: tuple[str, ...]

    def wanted(self) -> list[int]:
        places = (self.time, self.value, self.workload, self.memory, self.replicas)
        return [place for place in places if place is not None]


class WorkloadBatch(NamedTuple):
    """Some workloads of a file, each with all its rows."""

    # How many rows these workloads have.
    rows: int
    # The range of rows of the file that contains them: how many rows come before it, and its length.
    first: int
    length: int
    # The workloads, if rows of others are between theirs; None stands for rows without a workload name.
    names: tuple[str | None, ...] | None = None
    # The number of workloads, if they were counted.
    workloads: int | None = None


class OpenedTable(NamedTuple):
    """A file of which only the column names were read."""

    frame: "pl.LazyFrame"
    names: list[str]
    columns: TraceColumns
    # The number of the first data row, counted from 1, and how many data rows there must be.
    first_row: int
    rows: int
    # Takes the message of a polars error and returns what is wrong with the file.
    broken: Callable[[str], str]
    # How many bytes the wanted columns unpack to, if known.
    size: int = 0
    # Scans the file again, if polars can number rows while it scans: then rows that are filtered out are not unpacked.
    scan: "Callable[..., pl.LazyFrame] | None" = None

    def numbered(self, name: str) -> "pl.LazyFrame":
        """The frame with the row numbers in a column of this name."""
        if self.scan is None:
            return self.frame.with_row_index(name, self.first_row)
        return self.scan(row_index_name=name, row_index_offset=self.first_row)

    @property
    def whole(self) -> WorkloadBatch:
        return WorkloadBatch(self.rows, 0, self.rows)


def find_columns(file: str, names: Sequence[str]) -> TraceColumns:
    """Finds columns by name, ignoring case and surrounding blanks."""
    plain = [name.strip().lower() for name in names]
    times = [i for i, name in enumerate(plain) if name in TIMES]
    values = [i for i, name in enumerate(plain) if name in VALUES]
    workloads = [i for i, name in enumerate(plain) if name == "workload"]
    memories = [i for i, name in enumerate(plain) if name == "memory"]
    counts = [i for i, name in enumerate(plain) if name == "replicas"]
    problems = [*_missing(names, times, values), *_too_many(plain, times, values, workloads, memories, counts)]
    if problems:
        raise TraceError(*(f"{file}: {problem}" for problem in problems))
    known = {*times, *values, *workloads, *memories, *counts}
    others = [name for i, name in enumerate(names) if i not in known]
    return TraceColumns(
        time=times[0],
        value=values[0],
        workload=workloads[0] if workloads else None,
        memory=memories[0] if memories else None,
        replicas=counts[0] if counts else None,
        unit=VALUES[plain[values[0]]],
        notes=(f"ignored: {named(others, 'column')}",) if others else (),
    )


def _missing(names: Sequence[str], times: list[int], values: list[int]) -> list[str]:
    if times and values:
        return []
    lacking = [f"times ({', '.join(TIMES)})"] * (not times) + [f"values ({', '.join(VALUES)})"] * (not values)
    return [f"no column for {' and none for '.join(lacking)}; found {named(list(names), 'column')}{_hint(names)}"]


def _hint(names: Sequence[str]) -> str:
    if len(names) == 1 and any(mark in names[0] for mark in ";\t|"):
        return ": separate columns by commas"
    return ": the first row must hold the column names" if any(map(_is_number, names)) else ""


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _too_many(plain: list[str], times: list[int], values: list[int], *others: list[int]) -> list[str]:
    problems = [
        f"columns {several([plain[i] for i in group])} mean the same: keep one of them"
        for group in (times, *others)
        if len(group) > 1
    ]
    if len(values) > 1:
        choices = [f"{plain[i]} ({_MEANINGS[VALUES[plain[i]]]})" for i in values]
        problems.append(f"{len(values)} value columns: keep {several(choices, 'or')} and remove the others")
    return problems
