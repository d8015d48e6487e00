"""Demand history from a Prometheus server, or from any server with the same API."""

import json
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from hypot.kinds.base import count_of
from hypot.replay.traces.make import Origin, TraceRows, make_trace
from hypot.replay.traces.prometheus_http import TOKEN, HttpAnswer, PrometheusServer, ask, find_server
from hypot.replay.traces.trace import MAX_ROWS, TimeWindow, Trace, TraceError, fewest, moment, named
from hypot.replay.world.record import Floats

# Prometheus refuses more than 11,000 points a series.
MAX_POINTS = 10_000
_PATH = "/api/v1/query_range"
_LONGEST_NAME = 60

Labels = tuple[tuple[str, str], ...]
Found = dict[Labels, list[Floats]]


def from_prometheus(
    url: str,
    query: str,
    start: float,
    end: float,
    step: float,
    timeout: float = 30.0,
    progress: Callable[[int, int], None] | None = None,
) -> list[Trace]:
    """One trace per series. Reports progress in requests. The timeout applies to each request.

    Raises TraceError with every problem of every series.
    """
    server = find_server(url)
    windows = list(_windows(server, start, end, step))
    found: Found = {}
    notes: dict[str, None] = {}
    for done, (first, last) in enumerate(windows, 1):
        form = {"query": query, "start": _seconds(first), "end": _seconds(last), "step": _seconds(_milli(step))}
        data = _data(server, ask(server, _PATH, form, timeout), notes)
        _gather(server, data, found)
        if progress is not None:
            progress(done, len(windows))
    if not found:
        asked = TimeWindow(start, end)
        raise TraceError(
            f"{server.url}: the query found no series {asked}: try it in Prometheus' own expression browser"
        )
    return _traces(server, query, found, tuple(notes))


def _milli(seconds: float) -> int:
    return round(seconds * 1000)


def _seconds(milli: int) -> str:
    return f"{milli / 1000:.3f}"


def _windows(server: PrometheusServer, start: float, end: float, step: float) -> Iterator[tuple[int, int]]:
    """Time ranges, in milliseconds, that one request can ask for; they do not overlap."""
    if not (np.isfinite([start, end, step]).all() and step >= 0.001 and end - start >= step):
        raise TraceError(f"{server.url}: the time range must be longer than one step, and the step at least 1 ms")
    first, last, pace = _milli(start), _milli(end), _milli(step)
    if (last - first) // pace >= MAX_ROWS:
        raise TraceError(f"{server.url}: asked for more than {MAX_ROWS:,} points: use a longer step")
    while first <= last:
        yield first, min(last, first + (MAX_POINTS - 1) * pace)
        first += MAX_POINTS * pace


def _data(server: PrometheusServer, answer: HttpAnswer, notes: dict[str, None]) -> Any:
    """The data of an answer. Raises TraceError with the error that Prometheus reports."""
    if answer.status in {401, 403}:
        raise TraceError(
            f"{server.url}: refuses the credentials ({answer.status}): put a token into {TOKEN}, "
            "or write user:password@ before the host"
        )
    try:
        content = json.loads(answer.body)
    except (ValueError, RecursionError) as error:
        raise TraceError(_no_prometheus(server, answer.status)) from error
    if not isinstance(content, dict) or content.get("status") not in {"success", "error"}:
        raise TraceError(_no_prometheus(server, answer.status))
    if content["status"] == "error" or answer.status != 200:
        said = server.hidden(str(content.get("error", "without a reason")))
        raise TraceError(f"{server.url}: refuses the query ({answer.status}): {said}")
    for warning in content.get("warnings") or ():
        notes[f"Prometheus warns: {server.hidden(str(warning))}"] = None
    return content.get("data")


def _no_prometheus(server: PrometheusServer, status: int) -> str:
    return f"{server.url}: does not answer like Prometheus ({status}): is a part of the path missing?"


def _gather(server: PrometheusServer, data: Any, found: Found) -> None:
    """Adds one answer to `found`: an array of times and values per series."""
    try:
        series = [(_labels(one), "values" in one or "histograms" not in one, one) for one in data["result"]]
        pieces = {labels: _points(one["values"]) for labels, numbers, one in series if numbers}
    except (LookupError, TypeError, AttributeError, ValueError, OverflowError) as error:
        raise TraceError(_no_prometheus(server, 200)) from error
    histogram = next((labels for labels, numbers, _ in series if not numbers), None)
    if histogram is not None:
        raise TraceError(f"{server.url}: the query returns histograms ({_label_set(histogram)}): ask for numbers")
    for labels, piece in pieces.items():
        found.setdefault(labels, []).append(piece)
    if sum(len(piece) for all_pieces in found.values() for piece in all_pieces) > MAX_ROWS:
        raise TraceError(f"{server.url}: sent more than {MAX_ROWS:,} points: ask for fewer series, or a longer step")


def _labels(series: Any) -> Labels:
    return tuple(sorted((str(key), str(value)) for key, value in series["metric"].items()))


def _points(values: Any) -> Floats:
    return np.array([(float(at), float(value)) for at, value in values], np.float64).reshape(-1, 2)


def _traces(server: PrometheusServer, query: str, found: Found, notes: tuple[str, ...]) -> list[Trace]:
    names = workload_names(list(found), query)
    series = [(name, np.concatenate(pieces)) for name, pieces in zip(names, found.values(), strict=True)]
    short = [name for name, points in series if np.count_nonzero(~np.isnan(points[:, 1])) < 2]
    if len(short) == len(series):
        raise TraceError(
            f"{server.url}: no series of the query has two points: ask for a longer time range or a shorter step"
        )
    if short:
        notes = (*notes, f"ignored: {named(short, 'workload')} with fewer than two points")
    traces: list[Trace] = []
    problems: list[str] = []
    for name, points in series:
        try:
            traces += [_trace(server, name, points, notes)] if name not in short else []
        except TraceError as error:
            problems += error.problems
    if problems:
        raise TraceError(*fewest(problems, server.url))
    return traces


def _trace(server: PrometheusServer, name: str, points: Floats, notes: tuple[str, ...]) -> Trace:
    """Prometheus writes NaN where there is no number, so NaN is read as a gap."""
    empty = np.isnan(points[:, 1])
    if empty.any():
        notes = (*notes, f"{count_of(int(np.count_nonzero(empty)), 'point')} without a number (NaN) ignored")
        points = points[~empty]
    times, values = np.ascontiguousarray(points[:, 0]), np.ascontiguousarray(points[:, 1])
    wrong = np.flatnonzero(~np.isfinite(times) | ~np.isfinite(values) | (values < 0))
    if len(wrong):
        at = int(wrong[0])
        more = f", and at {count_of(len(wrong) - 1, 'more time')}" if len(wrong) > 1 else ""
        raise TraceError(
            f"{server.url}: workload {name!r} has {values[at]:g} at {moment(float(times[at]))}{more}: "
            "demand must be a number that is at least 0"
        )
    return make_trace(
        name,
        TraceRows(times, values, None, np.arange(1, len(times) + 1, dtype=np.uint32)),
        Origin(server.url, None, notes),
    )


def workload_names(series: list[Labels], query: str) -> list[str]:
    """The shortest name that distinguishes each series from the others."""
    names = [_short(dict(labels)) or _label_set(labels) for labels in series]
    for longer in (_with_namespace, _label_set):
        often = Counter(names)
        names = [longer(labels) if often[name] > 1 else name for name, labels in zip(names, series, strict=True)]
    plain = " ".join(query.split())[:_LONGEST_NAME]
    return [plain if name == "{}" else name for name in names]


def _short(labels: dict[str, str]) -> str:
    for kind in ("workload", "deployment", "statefulset", "daemonset"):
        if labels.get(kind):
            return labels[kind]
    return "/".join(filter(None, (labels.get("namespace"), labels["pod"]))) if labels.get("pod") else ""


def _with_namespace(labels: Labels) -> str:
    known = dict(labels)
    short = _short(known)
    return (
        f"{known['namespace']}/{short}"
        if short and "namespace" in known and not known.get("pod")
        else _label_set(labels)
    )


def _label_set(labels: Labels) -> str:
    """The labels in PromQL notation."""
    known = dict(labels)
    name = known.pop("__name__", "")
    inside = ", ".join(f"{key}={json.dumps(value, ensure_ascii=False)}" for key, value in known.items())
    return f"{name}{{{inside}}}" if inside or not name else name
