"""Demand history from a file with the answer of a Prometheus range query, or what promtool prints of one."""

import json
from pathlib import Path
from typing import Any, NamedTuple

from hypot.replay.traces.format import Inspected
from hypot.replay.traces.prometheus.series import Found, NoSeriesError, assumed_of_series, gather, traces_of_series
from hypot.replay.traces.reading import Assumed, TraceReading, TraceUnit
from hypot.replay.traces.trace import TimeWindow, Trace, TraceError, stem_of

MAX_JSON_BYTES = 2**28
_CUT_OFF = "is not complete JSON: {} (column {})"
# Keys at the top of what Grafana answers and exports.
_GRAFANA = frozenset({"results", "panels", "frames"})
_WANTED = "the answer of a range query, /api/v1/query_range"


class SeriesFile(NamedTuple):
    """A file with series of Prometheus."""

    path: str
    found: Found
    notes: tuple[str, ...]
    said: TraceReading

    @property
    def part_count(self) -> int:
        return 1

    @property
    def rows(self) -> int:
        return sum(len(piece) for pieces in self.found.values() for piece in pieces)

    @property
    def unit(self) -> TraceUnit | None:
        return self.said.unit

    @property
    def assumed(self) -> tuple[Assumed, ...]:
        return assumed_of_series(stem_of(self.path), self.found, self.said)

    def about(self, _: int) -> float:
        return 1.0 if self.said.sum else float(len(self.found))

    def traces(self, window: TimeWindow) -> list[Trace]:
        return traces_of_series(self.path, stem_of(self.path), self.found, self.notes, self.said, window)


def open_answer(path: str, about: Inspected, said: TraceReading) -> SeriesFile:
    if about.size > MAX_JSON_BYTES:
        size = about.size / 2**20
        raise TraceError(f"{path}: {size:.0f} MiB of JSON is too much, the limit is {MAX_JSON_BYTES / 2**20:.0f} MiB")
    content = Path(path).read_bytes() if about.content is None else about.content
    try:
        document = json.loads(content)
    except json.JSONDecodeError as error:
        what = f"holds more than one JSON document; save {_WANTED}" if error.msg == "Extra data" else _CUT_OFF
        raise TraceError(f"{path}:{error.lineno}: {what.format(error.msg, error.colno)}") from error
    except (ValueError, RecursionError) as error:
        raise TraceError(f"{path}: is not JSON in UTF-8") from error
    notes: dict[str, None] = {}
    found: Found = {}
    try:
        gather(path, _data(path, document, notes), found)
    except NoSeriesError as error:
        raise TraceError(f"{path}: is JSON, but not {_WANTED}, of Prometheus") from error
    if not found:
        raise TraceError(f"{path}: the query found no series: try it in Prometheus' own expression browser")
    return SeriesFile(path, found, tuple(notes), said)


def _data(path: str, document: Any, notes: dict[str, None]) -> Any:
    if isinstance(document, list):
        # promtool query range -o json.
        document = {"resultType": _kind_of(document), "result": document}
    if not isinstance(document, dict):
        return document
    if document.get("status") == "error":
        raise TraceError(f"{path}: is an error of Prometheus: {document.get('error', 'without a reason')}")
    for warning in _texts(document.get("warnings")):
        notes[f"Prometheus warns: {warning}"] = None
    if not _GRAFANA.isdisjoint(document):
        raise TraceError(f"{path}: is JSON of Grafana: open Inspect, Data in the panel and download CSV")
    data = document.get("data", document)
    kind = data.get("resultType") if isinstance(data, dict) else None
    if kind in {"vector", "scalar", "string"}:
        raise TraceError(f"{path}: is the answer of an instant query ({kind}), with one time only: save {_WANTED}")
    return data


def _kind_of(result: list[Any]) -> str:
    """What promtool prints, which is only the result."""
    return "vector" if any(isinstance(one, dict) and "value" in one for one in result) else "matrix"


def _texts(warnings: Any) -> list[str]:
    return [str(one) for one in warnings] if isinstance(warnings, list) else []
