"""Makes a trace of numbers: in time order, each time once, with notes on repairs and gaps."""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from hypot.kinds.base import count_of
from hypot.replay.traces.trace import Trace, TraceError, Unit, moment, span
from hypot.replay.world.record import Floats

# A step longer than this many times the median step is a gap.
_GAP = 1.5


class TraceRows(NamedTuple):
    """What was read of one workload; `rows` are row numbers as users count them."""

    times: Floats
    values: Floats
    memory: Floats | None
    rows: npt.NDArray[np.uint32]
    replicas: Floats | None = None

    def at(self, which: npt.NDArray[np.intp] | npt.NDArray[np.bool_]) -> "TraceRows":
        memory, replicas = (None if column is None else column[which] for column in (self.memory, self.replicas))
        return TraceRows(self.times[which], self.values[which], memory, self.rows[which], replicas)


class Origin(NamedTuple):
    """Where rows come from, and what is known about all of them."""

    source: str
    unit: Unit | None = None
    notes: tuple[str, ...] = ()


def make_trace(workload: str, read: TraceRows, origin: Origin) -> Trace:
    """The trace. Raises TraceError if the rows contradict each other or are too few."""
    inverted = int(np.count_nonzero(np.diff(read.times) < 0))
    notes = list(origin.notes)
    if inverted:
        read = read.at(np.argsort(read.times, kind="stable"))
        notes.append(f"the rows were not in time order ({count_of(inverted, 'step')} back) and were sorted")
    again = np.equal(read.times[1:], read.times[:-1])
    _refuse_contradictions(workload, read, again, origin.source)
    if again.any():
        read = read.at(~np.concatenate(([False], again)))
        notes.append(f"{count_of(int(np.count_nonzero(again)), 'repeated row')} dropped")
    if len(read.times) < 2:
        raise TraceError(
            f"{origin.source}: workload {workload!r} has {count_of(len(read.times), 'row')}: at least two are needed"
        )
    notes += gap_notes(read.times)
    for column in (read.times, read.values, read.memory, read.replicas):
        if column is not None:
            column.setflags(write=False)
    numbers = read.times, read.values, read.memory
    return Trace(workload, *numbers, origin.unit, origin.source, tuple(notes), read.replicas)


def _refuse_contradictions(workload: str, read: TraceRows, again: npt.NDArray[np.bool_], source: str) -> None:
    differs = np.diff(read.values) != 0
    for column in (read.memory, read.replicas):
        if column is not None:
            differs |= np.diff(column) != 0
    places = np.flatnonzero(again & differs)
    if not len(places):
        return
    first = int(places[0])
    more = f"; and {count_of(len(places) - 1, 'more pair')}" if len(places) > 1 else ""
    raise TraceError(
        f"{source}: rows {read.rows[first]} and {read.rows[first + 1]} give workload {workload!r} different values "
        f"for the same time ({moment(float(read.times[first]))}){more}: keep one, or name the workload in a column"
    )


def gap_notes(times: Floats) -> list[str]:
    """Reports missing samples."""
    steps = np.diff(times)
    gaps = np.flatnonzero(steps > _GAP * np.median(steps))
    if not len(gaps):
        return []
    longest = int(gaps[np.argmax(steps[gaps])])
    where = f"the longest {span(float(steps[longest]))} from {moment(float(times[longest]))}"
    return [f"{count_of(len(gaps), 'gap')}, {where}"]
