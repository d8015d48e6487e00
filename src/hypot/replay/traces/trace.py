"""Recorded demand of a workload, and the errors that reading it can raise."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Literal, NamedTuple

from hypot.kinds.base import count_of
from hypot.replay.traces.reading import FIRST_DATE, OPTION, Assumed, TraceReading
from hypot.replay.world.record import Floats

# What the values of a trace are: requests/s or cores.
Unit = Literal["rps", "cores"]

# Larger inputs are refused before they are unpacked, so that a small file cannot exhaust memory. A file that is read
# in parts may be larger: these limits hold for each of its workloads.
MAX_BYTES = 2 * 2**30
MAX_ROWS = 200_000_000
# A file with more rows than this is read in parts, on demand.
PART_ROWS = 3_000_000
# Times below this are in seconds, until the year 5138. Larger numbers are milliseconds, microseconds or nanoseconds.
END_OF_SECONDS = 1e11
# Larger values are no demand, and their sums would not be exact. Also the limit for bytes of memory.
MAX_VALUE = 1e15


@dataclass(frozen=True, slots=True, eq=False)
class Trace:
    """The demand on one workload over time, interpolated linearly between samples."""

    workload: str
    # Unix seconds, each later than the one before.
    times: Floats
    values: Floats
    # Memory in bytes, over the whole workload, that comes with the load.
    memory: Floats | None = None
    # None: the world's `demand.unit` decides.
    unit: Unit | None = None
    # The file or the URL it was read from.
    source: str = ""
    # What was repaired or ignored, as text.
    notes: tuple[str, ...] = field(default=())
    # How many replicas served it. A replay decides that itself, so its workers do not get them.
    replicas: Floats | None = None
    # How it was read, where it could have been meant in another way.
    assumed: tuple[Assumed, ...] = ()


class TraceError(ValueError):
    """History that cannot be replayed: one line for each problem, for all files at once."""

    def __init__(self, *problems: str) -> None:
        super().__init__(*problems)
        self.problems = problems

    def __str__(self) -> str:
        return "\n".join(self.problems)


class TooShortError(TraceError):
    """A workload with fewer than two values."""

    def __init__(self, workload: str, problem: str) -> None:
        super().__init__(problem)
        self.workload = workload


class TimeWindow(NamedTuple):
    """The requested time range in Unix seconds, both ends included. None: as far as the data goes."""

    start: float | None = None
    end: float | None = None

    def __str__(self) -> str:
        begin = "" if self.start is None else f" from {moment(self.start)}"
        return f"{begin}{'' if self.end is None else f' to {moment(self.end)}'}".strip()


def stem_of(path: str) -> str:
    """The name of a file without its ending: that of a workload that has no other name."""
    name = Path(path).name
    return Path(name[:-3] if name.lower().endswith(".gz") else name).stem


def chosen(traces: Iterable[Trace], said: TraceReading) -> Iterator[Trace]:
    """Only the workloads that the user wants. Raises after the last one if there is none of a name."""
    if not said.workload:
        yield from traces
        return
    left, others = dict.fromkeys(said.workload), []
    for trace in traces:
        if trace.workload in said.workload:
            left.pop(trace.workload, None)
            yield trace
        else:
            others.append(trace.workload)
    if left:
        there = f"there are {named(others, 'workload')}" if others else "there are no others"
        raise TraceError(
            f"no workload is called {several([repr(name) for name in left], 'or')} ({OPTION} workload=…); {there}"
        )


def moment(at: float) -> str:
    """A time as text; traces without dates count from 0 and are shown as plain seconds."""
    if not FIRST_DATE <= at < END_OF_SECONDS:
        return f"{at:.15g} s"
    return datetime.fromtimestamp(at, UTC).isoformat().replace("+00:00", "Z")


def span(seconds: float) -> str:
    """A duration as text."""
    for size, word in ((86_400, "days"), (3600, "h"), (60, "min")):
        if seconds >= 2 * size:
            return f"{seconds / size:.3g} {word}"
    return f"{seconds:.3g} s"


def fewest(problems: list[str], file: str, most: int = 20) -> list[str]:
    """At most `most` problems, so that the list stays readable."""
    if len(problems) <= most:
        return problems
    return [*problems[:most], f"{file}: and {count_of(len(problems) - most, 'more problem')} of this kind"]


def several(parts: list[str], last: str = "and", most: int = 8) -> str:
    """A list as text, cut where it gets long."""
    if len(parts) > most:
        parts = [*parts[:most], f"{len(parts) - most} more"]
    return f" {last} ".join(filter(None, [", ".join(parts[:-1]), *parts[-1:]]))


def named(names: list[str], thing: str) -> str:
    return f"{thing if len(names) == 1 else thing + 's'} {several([repr(name) for name in names])}"
