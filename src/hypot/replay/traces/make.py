"""Makes a trace of numbers: in time order, each time once, as a rate, with notes on repairs and gaps."""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from hypot.kinds.base import count_of
from hypot.replay.traces.reading import FIRST_DATE, OPTION, Assumed, TraceUnit
from hypot.replay.traces.trace import (
    MAX_VALUE,
    TooShortError,
    Trace,
    TraceError,
    moment,
    named,
    span,
)
from hypot.replay.world.record import Floats

# A step longer than this many times the median step is a gap.
_GAP = 1.5
# Demand that never falls for so many rows is rather the total of a counter.
_NEVER_FALLS = 50
_NEVER_FALL = "the values never fall, as those of a counter"
# Series whose times lie between each other: their common step is shorter than this share of their own.
_INTERLEAVED = 0.75


class TraceRows(NamedTuple):
    """What was read of one workload; `rows` are row numbers as users count them. NaN stands for a missing number."""

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
    unit: TraceUnit | None = None
    notes: tuple[str, ...] = ()
    assumed: tuple[Assumed, ...] = ()
    # Whether values at the same time are added up.
    sum: bool = False
    # Whether the user said the unit, so that nothing is assumed of values that look like another one.
    stated: bool = False


def make_traces(found: Iterable[tuple[str, TraceRows]], origin: Origin) -> tuple[list[Trace], list[TooShortError]]:
    """The traces, and the workloads that have too few values. Raises TraceError with all other problems."""
    traces: list[Trace] = []
    short: list[TooShortError] = []
    problems: list[str] = []
    for name, rows in found:
        try:
            traces.append(make_trace(name, rows, origin))
        except TooShortError as error:
            short.append(error)
        except TraceError as error:
            problems += error.problems
    if problems:
        raise TraceError(*problems)
    return traces, short


def short_note(short: Iterable[TooShortError], window: str = "") -> str:
    names = sorted({one.workload for one in short})
    return f"ignored: {named(names, 'workload')} with fewer than two values {window}".rstrip()


def make_trace(workload: str, read: TraceRows, origin: Origin) -> Trace:
    """The trace. Raises TraceError if the rows contradict each other or are too few."""
    notes = list(origin.notes)
    inverted = int(np.count_nonzero(np.diff(read.times) < 0))
    missing = np.isnan(read.values)
    if missing.any():
        read = read.at(~missing)
        notes.append(f"{count_of(int(np.count_nonzero(missing)), 'value')} empty or NaN: left out")
    if inverted:
        read = read.at(np.argsort(read.times, kind="stable"))
    if inverted and not origin.sum:
        notes.append(f"the rows were not in time order ({count_of(inverted, 'step')} back) and were sorted")
    again = np.equal(read.times[1:], read.times[:-1])
    if origin.sum:
        read = _added_up(read, again)
    else:
        _refuse_contradictions(workload, read, again, origin)
        if again.any():
            read = read.at(~np.concatenate(([False], again)))
            notes.append(f"{count_of(int(np.count_nonzero(again)), 'repeated row')} dropped")
    if len(read.times) < 2:
        count = count_of(len(read.times), "value")
        raise TooShortError(workload, f"{origin.source}: workload {workload!r} has {count}: at least two are needed")
    notes += gap_notes(read.times)
    values = _per_second(read) if origin.unit == "requests" else read.values
    _refuse_too_large(workload, read.times, values, origin.source)
    notes += _doubts(read.times)
    if origin.stated and _never_falls(values):
        notes.append(f"{_NEVER_FALL}: a trace holds rates, such as rate(…[2m])")
    memory, replicas = (_filled(read.times, column) for column in (read.memory, read.replicas))
    for column in (read.times, values, memory, replicas):
        if column is not None:
            column.setflags(write=False)
    unit = "rps" if origin.unit == "requests" else origin.unit
    return Trace(
        workload, read.times, values, memory, unit, origin.source, tuple(notes), replicas, _assumed(origin, values)
    )


def _doubts(times: Floats) -> list[str]:
    """What makes no sense as demand, but cannot be refused."""
    if times[-1] - times[0] < 1 and times[-1] < FIRST_DATE:
        return ["it covers less than a second: times are seconds, or dates as text"]
    return []


def _never_falls(values: Floats) -> bool:
    return len(values) >= _NEVER_FALLS and bool(values[-1] > values[0] and (np.diff(values) >= 0).all())


def _assumed(origin: Origin, values: Floats) -> tuple[Assumed, ...]:
    """Also that what looks like the total of a counter is a rate, unless the user said it."""
    if origin.stated or not _never_falls(values):
        return origin.assumed
    others = tuple(one for one in origin.assumed if one.key != "unit")
    whys = [one.why for one in origin.assumed if one.key == "unit"]
    value = "rps" if origin.unit in {None, "requests"} else str(origin.unit)
    why = "; ".join([f"{_NEVER_FALL}, but each is read as a rate; a counter needs rate(…[2m])", *whys])
    return (*others, Assumed("unit", value, why))


def _added_up(read: TraceRows, again: npt.NDArray[np.bool_]) -> TraceRows:
    """The sum of all rows of one time."""
    if not again.any():
        return read
    starts = np.flatnonzero(np.concatenate(([True], ~again)))
    values, memory, replicas = (
        None if column is None else np.add.reduceat(column, starts)
        for column in (read.values, read.memory, read.replicas)
    )
    assert values is not None  # noqa: S101  there are always values
    return TraceRows(read.times[starts], values, memory, read.rows[starts], replicas)


def refuse_interleaved(source: str, series: Sequence[Floats]) -> None:
    """Raises if a sum of these series would add up only some of them at each time. Each has its times in order."""
    steps = [float(np.median(np.diff(times))) for times in series if len(times) > 1]
    together = np.unique(np.concatenate(series)) if len(steps) > 1 else np.empty(0)
    if len(together) > 1 and np.median(np.diff(together)) < _INTERLEAVED * min(steps):
        raise TraceError(
            f"{source}: its series have different times, so their values cannot be added up: "
            "record their sum, such as sum(rate(…[2m]))"
        )


def _per_second(read: TraceRows) -> Floats:
    """Requests since the row before as a rate. The first row, and one after a gap, count for a usual step."""
    steps = np.diff(read.times)
    usual = np.median(steps)
    spans = np.concatenate(([usual], np.where(steps > _GAP * usual, usual, steps)))
    with np.errstate(over="ignore"):
        rates: Floats = read.values / spans
    return rates


def _refuse_too_large(workload: str, times: Floats, values: Floats, source: str) -> None:
    largest = int(np.argmax(values))
    if not values[largest] <= MAX_VALUE:
        at = moment(float(times[largest]))
        raise TraceError(f"{source}: workload {workload!r} has {values[largest]:g} at {at}: at most {MAX_VALUE:g} fits")


def _filled(times: Floats, column: Floats | None) -> Floats | None:
    """Missing numbers lie on a line between their neighbours; None if there is no number at all."""
    if column is None:
        return None
    missing = np.isnan(column)
    if missing.all():
        return None
    return np.interp(times, times[~missing], column[~missing]) if missing.any() else column


def _refuse_contradictions(workload: str, read: TraceRows, again: npt.NDArray[np.bool_], origin: Origin) -> None:
    differs = np.diff(read.values) != 0
    for column in (read.memory, read.replicas):
        if column is not None:
            differs |= np.diff(column) != 0
    places = np.flatnonzero(again & differs)
    if not len(places):
        return
    first = int(places[0])
    more = f"; and {count_of(len(places) - 1, 'more pair')}" if len(places) > 1 else ""
    todo = f"keep one, name the column of the workloads ({OPTION} name=…), or add them up ({OPTION} sum=true)"
    if any(one.key == "zone" for one in origin.assumed):
        zone = f"{OPTION} zone=Europe/Berlin"
        todo = f"if an hour occurs twice because clocks change, name the time zone ({zone}); else {todo}"
    raise TraceError(
        f"{origin.source}: rows {read.rows[first]} and {read.rows[first + 1]} give workload {workload!r} different "
        f"values for the same time ({moment(float(read.times[first]))}){more}: {todo}"
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
