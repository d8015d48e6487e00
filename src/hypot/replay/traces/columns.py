"""Finds the meaning of each column of a file."""

import json
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Literal, NamedTuple

from hypot.replay.traces.reading import OPTION, Assumed, TraceReading, TraceUnit
from hypot.replay.traces.trace import TraceError, several
from hypot.replay.traces.trace import named as listed

if TYPE_CHECKING:
    import polars as pl

    from hypot.replay.traces.numbers import NumberFormat
    from hypot.replay.traces.times import TimeFormat

TIMES = ("timestamp_seconds", "timestamp", "time", "ts", "datetime", "date", "_time", "@timestamp")
VALUES: dict[str, TraceUnit | None] = {
    "value": None,
    "requests": "rps",
    "rps": "rps",
    "qps": "rps",
    "requests_per_second": "rps",
    "cores": "cores",
    "cpu": "cores",
}
# The first one that a file has counts.
WORKLOADS = ("workload", "series", "deployment")
_MEANINGS = {None: "in the unit of the world", "rps": "requests/s", "cores": "cores"}
_MOST_WORKLOADS = 5000
NAMELESS = f"row 1 holds no column names: write them there, or number the columns: {OPTION} time=1 {OPTION} value=2"


# What a column holds, as far as somebody looked; empty for anything else.
Content = Literal["number", "time", ""]


class TraceColumns(NamedTuple):
    """The indexes of the columns in a file, counted from 0."""

    time: int
    # Several: each is a workload of its own, called like its column.
    values: tuple[int, ...]
    workload: int | None
    memory: int | None
    replicas: int | None
    unit: TraceUnit | None
    notes: tuple[str, ...] = ()
    assumed: tuple[Assumed, ...] = ()

    @property
    def is_wide(self) -> bool:
        return len(self.values) > 1

    @property
    def others(self) -> list[int]:
        """Other columns of numbers."""
        return [place for place in (self.memory, self.replicas) if place is not None]

    def wanted(self) -> list[int]:
        return [self.time, *self.values, *self.others, *([] if self.workload is None else [self.workload])]


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


class TableScan(NamedTuple):
    """A file of which only the column names were read."""

    frame: "pl.LazyFrame"
    # The columns of the frame by place, and their names in the file.
    schema: "list[tuple[str, pl.DataType]]"
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
    # What separates the fields of a row; empty if nothing does.
    separator: str = ""
    # Columns of numbers, also those that are not wanted: they show how numbers are written.
    shown: tuple[int, ...] = ()

    def numbered(self, name: str) -> "pl.LazyFrame":
        """The frame with the row numbers in a column of this name."""
        if self.scan is None:
            return self.frame.with_row_index(name, self.first_row)
        return self.scan(row_index_name=name, row_index_offset=self.first_row)

    @property
    def whole(self) -> WorkloadBatch:
        return WorkloadBatch(self.rows, 0, self.rows)


class OpenedTable(NamedTuple):
    """A file of which also the forms of times and numbers are known."""

    table: TableScan
    said: TraceReading
    times: "TimeFormat"
    # How values are written, and memory and replicas.
    values: "NumberFormat"
    others: "NumberFormat"
    unit: TraceUnit | None
    notes: tuple[str, ...]
    assumed: tuple[Assumed, ...]


def find_columns(
    file: str, names: Sequence[str], said: TraceReading, content: Callable[[int], Content], *, named: bool = True
) -> TraceColumns:
    """Finds columns by what the user said, by name, or by what they hold.

    If columns have no names, `names` are their numbers.
    """
    found = _Finder(names, said)
    time = found.one("time", said.time, TIMES)
    if time is None and named and not found.problems:
        dates = [place for place in range(len(names)) if content(place) == "time"]
        time = dates[0] if len(dates) == 1 else None
    is_time_assumed = time is not None and not said.time and found.plain[time] not in TIMES
    workload = found.first("name", said.name, WORKLOADS)
    memory, replicas = found.one("", "", ("memory",)), found.one("", "", ("replicas",))
    taken = {time, workload, memory, replicas}
    values = found.values(taken)
    guessed = not values and not found.problems
    if guessed:
        values = [
            i for i, name in enumerate(found.names) if _may_be_value(name) and i not in taken and content(i) == "number"
        ]
    if not found.problems and (time is None or not values):
        found.problems.append(_missing(names, time is None, not values) if named else NAMELESS)
    if workload is not None and len(values) > 1 and not found.problems:
        found.problems.append(f"{_columns(names, values)} hold numbers: choose one with {OPTION} value=…")
    if len(values) > _MOST_WORKLOADS:
        found.problems.append(f"{len(values):,} columns of numbers are too many, the limit is {_MOST_WORKLOADS:,}")
    found.refuse_same_names(values)
    if found.problems or time is None:
        raise TraceError(*(f"{file}: {problem}" for problem in found.problems))
    is_wide = len(values) > 1
    unit, assumed = _unit(found.plain, values, said)
    if guessed and not (is_wide and said.workload):
        assumed = (_assumed_values([found.names[place] for place in values], said), *assumed)
    if is_time_assumed:
        assumed = (Assumed("time", found.names[time], "the only column of dates"), *assumed)
    known = {time, workload, *values, *(() if is_wide else (memory, replicas))}
    others = [name for place, name in enumerate(names) if place not in known]
    return TraceColumns(
        time=time,
        values=tuple(values),
        workload=workload,
        memory=None if is_wide else memory,
        replicas=None if is_wide else replicas,
        unit=unit,
        notes=(f"ignored: {listed(others, 'column')}",) if others else (),
        assumed=assumed,
    )


class _Finder:
    """Finds columns, and collects what is wrong."""

    def __init__(self, names: Sequence[str], said: TraceReading) -> None:
        self.names = [name.strip() for name in names]
        self.plain = [name.lower() for name in self.names]
        self.said = said
        self.problems: list[str] = []

    def _said(self, key: str, name: str) -> list[int]:
        """The columns of this name, else the one with this number."""
        for known, wanted in ((self.names, name.strip()), (self.plain, name.strip().lower())):
            if places := [place for place, one in enumerate(known) if one == wanted]:
                return places
        if name.isdecimal() and name.isascii() and 0 < int(name[:9]) <= len(self.names):
            return [int(name) - 1]
        self.problems.append(f"no column {name!r} for {OPTION} {key}={name}; found {listed(self.names, 'column')}")
        return []

    def one(self, key: str, said: str, usual: Sequence[str]) -> int | None:
        places = self._said(key, said) if said else [i for i, name in enumerate(self.plain) if name in usual]
        if len(places) > 1:
            same = several([self.plain[place] for place in places])
            todo = f": choose one with {OPTION} {key}=…" if key and not said else ": keep one of them"
            self.problems.append(f"columns {same} mean the same{todo}")
        return places[0] if places else None

    def first(self, key: str, said: str, usual: Sequence[str]) -> int | None:
        """The column of the first of these names that occurs."""
        name = next((name for name in usual if name in self.plain), "")
        return self.one(key, said, (name,)) if said or name else None

    def values(self, taken: set[int | None]) -> list[int]:
        """The columns that the user said, or the one with a usual name; none if there is none."""
        if self.said.value:
            return list(dict.fromkeys(place for name in self.said.value for place in self._said("value", name)))
        usual = [place for place, name in enumerate(self.plain) if name in VALUES and place not in taken]
        if len(usual) > 1:
            choices = [f"{self.plain[place]} ({_MEANINGS[VALUES[self.plain[place]]]})" for place in usual]
            self.problems.append(f"{len(usual)} value columns: choose {several(choices, 'or')} with {OPTION} value=…")
        return usual

    def refuse_same_names(self, values: Sequence[int]) -> None:
        called = [self.names[place] for place in values]
        for name in dict.fromkeys(name for name in called if called.count(name) > 1):
            self.problems.append(f"{called.count(name)} columns of numbers are called {name!r}: rename them")


def _may_be_value(name: str) -> bool:
    """Columns without a name are numbers of rows; those with an underscore, as `_span`, are about the rows."""
    return bool(name) and not name.startswith("_")


def _assumed_values(names: Sequence[str], said: TraceReading) -> Assumed:
    if len(names) == 1:
        why = "the only column of numbers"
    elif said.sum:
        why = "all columns of numbers are added up"
    else:
        why = f"each column of numbers is a workload of its own; {OPTION} value=… chooses"
    return Assumed("value", json.dumps(names, ensure_ascii=False), why)


def _unit(
    plain: Sequence[str], values: Sequence[int], said: TraceReading
) -> tuple[TraceUnit | None, tuple[Assumed, ...]]:
    """The unit that the user said, or that the names of the columns say."""
    if said.unit is not None:
        return said.unit, ()
    units = {VALUES.get(plain[place]) for place in values}
    unit = units.pop() if len(units) == 1 else None
    if any(plain[place] == "requests" for place in values):
        why = f"column requests as requests/s; {OPTION} unit=requests if each row counts its requests"
        return unit, (Assumed("unit", "rps", why),)
    return unit, ()


def _columns(names: Sequence[str], places: Sequence[int]) -> str:
    return listed([names[place].strip() for place in places], "column")


def _missing(names: Sequence[str], times: bool, values: bool) -> str:
    lacking = [f"times ({', '.join(TIMES)})"] * times + [f"values ({', '.join(VALUES)})"] * values
    keys = [f"{OPTION} time=…"] * times + [f"{OPTION} value=…"] * values
    found = f"no column for {' and none for '.join(lacking)}; found {listed(list(names), 'column')}"
    return f"{found}: name it with {several(keys)}"
