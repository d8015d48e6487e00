"""The demand of a scenario: generated from a few numbers, or a recorded trace if it is available.

In a file it has one of these forms:

    points: [[0s, 0.2], [4h, 6]]                                   cores, interpolated linearly
    steps: [[0s, 0.7], [30m, 1.5]]      with length: 1h            cores, each until the next
    wave: {mean: 4, swing: 0.25, period: 6h}  with length: 48h     cores, a sine; swing is a share of the mean
    bursts: {quiet: 0.2, high: 12, rises: 5m, lasts: 15m, apart: 6h, seed: 3}  with length: 96h
    trace: crane_app0_cpu_1min          with peak: 12, skip: 24h, length: 48h, and a standin of one of the other forms
"""

import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from hypot.kinds.units import PLAIN, SECONDS
from hypot.replay.traces.trace import Trace
from hypot.replay.world.record import Floats

# Midnight in UTC, so that times of day are as written.
EPOCH = 1_699_920_000.0
FORMS = ("points", "steps", "wave", "bursts", "trace")
WORKLOAD = "web"
# A step is a line that takes this many seconds, too steep to matter.
_STEEP = 1e-3
# Seconds between the points of a curve.
_GRAIN = 60.0
# The same percentile as the world's `demand.peak`.
_PEAK = 99.9


class DemandError(ValueError):
    """A demand that cannot be made."""


def trace_of(data: Mapping[str, Any], folder: Path | None = None) -> Trace:
    """The demand as a trace in cores, from `EPOCH` on."""
    forms = [form for form in FORMS if form in data]
    if len(forms) != 1:
        raise DemandError(f"write one of {', '.join(FORMS)}, not {' and '.join(forms) or 'none'}")
    try:
        return _FORMED[forms[0]](data, folder)
    except KeyError as error:
        raise DemandError(f"{forms[0]}: {error.args[0]} is missing") from error
    except TypeError as error:
        raise DemandError(f"{forms[0]}: {data[forms[0]]!r} does not have that form") from error


def seconds(written: Any) -> float:
    """A duration as users write it, in seconds."""
    try:
        return float(SECONDS.read(written))
    except (ValueError, TypeError) as error:
        raise DemandError(f"{written!r} is not a duration; write one such as 90s or 2h30m") from error


def cores(written: Any) -> float:
    try:
        return float(PLAIN.read(written))
    except (ValueError, TypeError) as error:
        raise DemandError(f"{written!r} is not a number of cores") from error


def folder_of_traces() -> Path | None:
    """The folder of recorded traces: `$HYPOT_TRACES`, or next to the checkout; None if there is none."""
    named = os.environ.get("HYPOT_TRACES")
    beside = Path(__file__).resolve().parents[5] / "shared" / "traces"
    found = Path(named) if named else beside
    return found if found.is_dir() else None


def _points(data: Mapping[str, Any], folder: Path | None) -> Trace:
    del folder
    return _made(*_pairs(data["points"]), _length(data))


def _steps(data: Mapping[str, Any], folder: Path | None) -> Trace:
    del folder
    times, values = _pairs(data["steps"])
    end = max(_length(data) or 0.0, times[-1] + _GRAIN)
    edges = np.column_stack((times, np.append(times[1:] - _STEEP, end))).ravel()
    return _made(edges, np.repeat(values, 2), _length(data))


def _wave(data: Mapping[str, Any], folder: Path | None) -> Trace:
    del folder
    wave = data["wave"]
    mean, swing, period = cores(wave["mean"]), cores(wave["swing"]), seconds(wave["period"])
    times = _grid(data, min(_GRAIN, period / 40))
    begin = seconds(wave.get("begin", 0)) / period
    return _made(times, mean * (1 + swing * np.sin(2 * np.pi * (times / period + begin))))


def _bursts(data: Mapping[str, Any], folder: Path | None) -> Trace:
    """A quiet load with bursts at random times that rise and decay."""
    del folder
    bursts = data["bursts"]
    quiet, high = cores(bursts["quiet"]), cores(bursts["high"])
    rises, lasts, apart = (seconds(bursts[name]) for name in ("rises", "lasts", "apart"))
    times = _grid(data, _GRAIN)
    rng = np.random.default_rng(int(bursts.get("seed", 0)))
    values = np.full(len(times), quiet)
    for begin in np.cumsum(rng.exponential(apart, int(times[-1] / apart) + 1)):
        before, after = np.minimum(times - begin, 0.0), np.maximum(times - begin, 0.0)
        shape = np.maximum(1.0 + before / rises, 0.0) * np.exp(-after / lasts)
        values += high * rng.uniform(0.3, 1.0) * shape
    return _made(times, values)


def _recorded(data: Mapping[str, Any], folder: Path | None) -> Trace:
    """A section of a recorded trace, scaled to its peak; the stand-in if the recording is not available."""
    name = str(data["trace"])
    path = None if folder is None else folder / f"{name}.csv"
    if path is None or not path.is_file():
        as_long = {"length": data["length"]} if "length" in data else {}
        made = trace_of({**data["standin"], **as_long})
        return replace(made, notes=(f"{name} is not available: a generated trace of its kind replaces it",))
    from hypot.replay.traces.history import read_traces  # noqa: PLC0415  polars is slow to import

    trace = read_traces([str(path)])[0]
    start = trace.times[0] + seconds(data.get("skip", 0))
    length = _length(data)
    inside = (trace.times >= start) & (trace.times <= start + (length or np.inf))
    times, values = trace.times[inside], trace.values[inside]
    scale = cores(data["peak"]) / max(float(np.percentile(values, _PEAK)), 1e-12)
    return _made(times - times[0], values * scale)


_FORMED = {"points": _points, "steps": _steps, "wave": _wave, "bursts": _bursts, "trace": _recorded}


def _pairs(written: Any) -> tuple[Floats, Floats]:
    if not isinstance(written, Sequence) or not written or any(len(pair) != 2 for pair in written):
        raise DemandError("write pairs of a time and a number of cores, such as [[0s, 0.2], [4h, 6]]")
    times = np.array([seconds(at) for at, _ in written])
    if times[0] != 0 or np.any(np.diff(times) <= 0):
        raise DemandError("the first time must be 0s, and each time later than the one before")
    return times, np.array([cores(value) for _, value in written])


def _length(data: Mapping[str, Any]) -> float | None:
    return seconds(data["length"]) if "length" in data else None


def _grid(data: Mapping[str, Any], grain: float) -> Floats:
    length = _length(data)
    if length is None:
        raise DemandError("there is no length: write one, such as 'length: 12h'")
    return np.arange(0.0, length + grain, grain)


def _made(times: Floats, values: Floats, length: float | None = None) -> Trace:
    """A trace; a length cuts it, or extends its last value."""
    if length is not None:
        end = float(np.interp(length, times, values))
        inside = times < length
        times, values = np.append(times[inside], length), np.append(values[inside], end)
    if len(times) < 2:
        raise DemandError("a single point has no length; write a second point, or 'length: 1h'")
    return Trace(WORKLOAD, EPOCH + times, np.maximum(values, 0.0), unit="cores")
