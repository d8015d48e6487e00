"""Series of Prometheus: from the data of an answer to traces, one for each series or the sum of several."""

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import chain
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from hypot.kinds.base import count_of
from hypot.replay.traces.make import Origin, TraceRows, make_traces, refuse_interleaved, short_note
from hypot.replay.traces.reading import OPTION, Assumed, TraceReading
from hypot.replay.traces.trace import (
    END_OF_SECONDS,
    MAX_ROWS,
    MAX_VALUE,
    TimeWindow,
    Trace,
    TraceError,
    fewest,
    moment,
    several,
)
from hypot.replay.world.record import Floats

# Labels that name a workload.
WORKLOADS: Final = ("workload", "deployment", "statefulset", "daemonset")

Labels = tuple[tuple[str, str], ...]
Found = dict[Labels, list[Floats]]


class NoSeriesError(ValueError):
    """Data that are not those of a range query."""


def gather(source: str, data: Any, found: Found) -> None:
    """Adds the data of one answer to `found`: an array of times and values per series."""
    try:
        series = [(_labels(one), "values" in one or "histograms" not in one, one) for one in data["result"]]
        pieces = [(labels, _points(one["values"])) for labels, numbers, one in series if numbers]
    except (LookupError, TypeError, AttributeError, ValueError, OverflowError) as error:
        raise NoSeriesError(str(error)) from error
    histogram = next((labels for labels, numbers, _ in series if not numbers), None)
    if histogram is not None:
        raise TraceError(f"{source}: the query returns histograms ({label_set(histogram)}): ask for numbers")
    for labels, piece in pieces:
        found.setdefault(labels, []).append(piece)
    if sum(len(piece) for all_pieces in found.values() for piece in all_pieces) > MAX_ROWS:
        raise TraceError(f"{source}: has more than {MAX_ROWS:,} points: ask for fewer series, or a longer step")


def _labels(series: Any) -> Labels:
    return tuple(sorted((str(key), str(value)) for key, value in series["metric"].items()))


def _points(values: Any) -> Floats:
    if {*map(type, values)} - {list} or {*map(len, values)} - {2}:
        raise ValueError("a point is not a time and a value")
    return np.array(list(map(float, chain.from_iterable(values))), np.float64).reshape(-1, 2)


class TraceSeries(NamedTuple):
    """The series that are one workload."""

    name: str
    points: list[Floats]


def traces_of_series(
    source: str, whole: str, found: Found, notes: tuple[str, ...], said: TraceReading, window: TimeWindow
) -> list[Trace]:
    """The traces in a window. `whole` is the name of a single series without labels, and of the sum of all series."""
    groups = _groups(source, whole, found, said)
    assumed = assumed_of_series(whole, found, said)
    problems = [problem for group in groups for problem in _problems(source, group, window)]
    if problems:
        raise TraceError(*fewest(problems, source))
    if said.sum:
        for group in groups:
            refuse_interleaved(source, [points[:, 0] for points in group.points])
    origin = Origin(source, said.unit, notes, assumed, said.sum, said.unit is not None)
    try:
        traces, short = make_traces(((group.name, _rows(group, window)) for group in groups), origin)
    except TraceError as error:
        raise TraceError(*fewest(list(error.problems), source)) from error
    if not traces:
        raise TraceError(_too_short(source, groups, window))
    if short:
        traces[-1] = replace(traces[-1], notes=(*traces[-1].notes, short_note(short, str(window))))
    return traces


def assumed_of_series(whole: str, found: Found, said: TraceReading) -> tuple[Assumed, ...]:
    """That each series is a workload, unless their labels or the user say it."""
    names = workload_names(list(found), whole)
    if said.sum or said.name or said.workload or len(names) < 2 or all(_of_workload(dict(labels)) for labels in found):
        return ()
    todo = f"{OPTION} sum=true adds them up, {OPTION} workload=… chooses"
    why = f"each of {len(names)} series is a workload of its own, {several(names, most=4)}; {todo}"
    return (Assumed("sum", "false", why),)


def _groups(source: str, whole: str, found: Found, said: TraceReading) -> list[TraceSeries]:
    names = workload_names(list(found), whole)
    if said.name:
        names = [dict(labels).get(said.name) or label_set(labels) for labels in found]
    elif said.sum:
        names = [whole] * len(found)
    groups: dict[str, TraceSeries] = {}
    for name, pieces in zip(names, found.values(), strict=True):
        groups.setdefault(name, TraceSeries(name, [])).points.append(np.concatenate(pieces))
    several_of = [group for group in groups.values() if len(group.points) > 1]
    if several_of and not said.sum:
        first = several_of[0]
        raise TraceError(
            f"{source}: {len(first.points)} series have {said.name}={json.dumps(first.name, ensure_ascii=False)}: "
            f"add them up with {OPTION} sum=true, or name another label"
        )
    return list(groups.values())


def _problems(source: str, group: TraceSeries, window: TimeWindow) -> Iterator[str]:
    """What is wrong in a series; NaN stands for a missing number."""
    for points in group.points:
        times, values = points[_inside(points, window)].T if len(points) else (np.empty(0), np.empty(0))
        wrong = np.flatnonzero(~(np.abs(times) < END_OF_SECONDS) | (values < 0) | (values > MAX_VALUE))
        if len(wrong):
            at = int(wrong[0])
            more = f", and at {count_of(len(wrong) - 1, 'more time')}" if len(wrong) > 1 else ""
            yield (
                f"{source}: workload {group.name!r} has {values[at]:g} at {moment(float(times[at]))}{more}: "
                f"write Unix seconds, and numbers from 0 to {MAX_VALUE:g} or NaN"
            )


def _inside(points: Floats, window: TimeWindow) -> npt.NDArray[np.bool_]:
    times = points[:, 0]
    start = -np.inf if window.start is None else window.start
    end = np.inf if window.end is None else window.end
    inside: npt.NDArray[np.bool_] = ~((times < start) | (times > end))
    return inside


def _rows(group: TraceSeries, window: TimeWindow) -> TraceRows:
    points = np.concatenate([points[_inside(points, window)] for points in group.points])
    times, values = np.ascontiguousarray(points[:, 0]), np.ascontiguousarray(points[:, 1])
    return TraceRows(times, values, None, np.arange(1, len(times) + 1, dtype=np.uint32))


def _too_short(source: str, groups: Sequence[TraceSeries], window: TimeWindow) -> str:
    times = np.concatenate([points[:, 0] for group in groups for points in group.points])
    if window == TimeWindow() or not len(times):
        return f"{source}: no series has two values: ask for a longer time range or a shorter step"
    first, last = moment(float(times.min())), moment(float(times.max()))
    return f"{source}: no series has two values {window}: it covers {first} to {last}"


def workload_names(series: list[Labels], query: str) -> list[str]:
    """The shortest name that distinguishes each series from the others."""
    names = [_short(dict(labels)) or label_set(labels) for labels in series]
    for longer in (_with_namespace, label_set):
        often = Counter(names)
        names = [longer(labels) if often[name] > 1 else name for name, labels in zip(names, series, strict=True)]
    return [query if name == "{}" else name for name in names]


def _of_workload(labels: dict[str, str]) -> str:
    return next((labels[kind] for kind in WORKLOADS if labels.get(kind)), "")


def _short(labels: dict[str, str]) -> str:
    name = _of_workload(labels)
    return name or ("/".join(filter(None, (labels.get("namespace"), labels["pod"]))) if labels.get("pod") else "")


def _with_namespace(labels: Labels) -> str:
    known = dict(labels)
    short = _short(known)
    return (
        f"{known['namespace']}/{short}"
        if short and "namespace" in known and not known.get("pod")
        else label_set(labels)
    )


def label_set(labels: Labels) -> str:
    """The labels in PromQL notation."""
    known = dict(labels)
    name = known.pop("__name__", "")
    inside = ", ".join(f"{key}={json.dumps(value, ensure_ascii=False)}" for key, value in known.items())
    return f"{name}{{{inside}}}" if inside or not name else name
