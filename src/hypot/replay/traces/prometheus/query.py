"""Demand history from a Prometheus server, or from any server with the same API."""

import json
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from hypot.replay.traces.prometheus.http import TOKEN, HttpAnswer, PrometheusServer, ask, find_server
from hypot.replay.traces.prometheus.series import Found, NoSeriesError, gather, traces_of_series
from hypot.replay.traces.reading import NOTHING_SAID, TraceReading
from hypot.replay.traces.trace import MAX_ROWS, TimeWindow, Trace, TraceError, chosen

# Prometheus refuses more than 11,000 points a series.
MAX_POINTS = 10_000
_PATH = "/api/v1/query_range"
_LONGEST_NAME = 60


def from_prometheus(
    url: str,
    query: str,
    start: float,
    end: float,
    step: float,
    timeout: float = 30.0,
    progress: Callable[[int, int], None] | None = None,
    said: TraceReading = NOTHING_SAID,
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
        try:
            gather(server.url, data, found)
        except NoSeriesError as error:
            raise TraceError(_no_prometheus(server, 200)) from error
        if progress is not None:
            progress(done, len(windows))
    if not found:
        asked = TimeWindow(start, end)
        raise TraceError(
            f"{server.url}: the query found no series {asked}: try it in Prometheus' own expression browser"
        )
    plain = " ".join(query.split())[:_LONGEST_NAME]
    return list(chosen(traces_of_series(server.url, plain, found, tuple(notes), said, TimeWindow()), said))


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
