"""Exact histograms and unfinished windows: a restarted controller continues exactly where the last one stopped.

A checkpoint rounds weights and omits unfinished peaks; in a close case that would change sizes.
"""

from base64 import b64decode, b64encode
from collections.abc import Iterable, Mapping, Sequence
from math import inf, isfinite, isnan
from typing import Any

import numpy as np

from hypot.core.histogram import Bank
from hypot.policy.usage.usage import Usage

# The values for one container of one pod, in this order.
WINDOW = ("last_cpu", "last_memory", "window_end", "memory_peak", "oom_peak")
_DOUBLES = np.dtype("<f8")


def write_row(usage: Usage, row: int) -> dict[str, Any]:
    """Both histograms of a container, and when and how often it was sampled."""
    table = usage.aggregates
    return {
        "cpu": _write_histogram(usage.cpu, row),
        "memory": _write_histogram(usage.memory, row),
        "created": _finite(table["created"][row]),
        "first": _finite(table["first"][row]),
        "last": _finite(table["last"][row]),
        "samples": int(table["samples"][row]),
        "loaded": bool(table["loaded"][row]),
    }


def _write_histogram(bank: Bank, row: int) -> dict[str, Any]:
    low, high = int(bank.first[row]), int(bank.last[row]) + 1
    weights = bank.weights[row, low:high].astype(_DOUBLES)
    return {
        "first": low,
        "weights": b64encode(weights.tobytes()).decode(),
        "total": float(bank.total[row]),
        "reference": float(bank.reference[row]),
        "halfLife": _finite(bank.half_life[row]),
    }


def read_row(usage: Usage, row: int, data: Mapping[str, Any], at: float) -> None:
    """Read the data into an empty row. After a ValueError, which says why, nothing has changed.

    If the half-life has changed since, the new one applies from the time of writing.
    """
    histograms = [_read_histogram(bank, data.get(name) or {}) for name, bank in _banks(usage)]
    times = {name: _number(data, name, unset) for name, unset in (("created", 0.0), ("first", inf), ("last", -inf))}
    samples = data.get("samples")
    if type(samples) is not int or not 0 <= samples < 2**62:
        raise ValueError(f"samples: {samples!r} is not a number of samples")
    for (_, bank), (low, weights, total, reference, half_life) in zip(_banks(usage), histograms, strict=True):
        now_holds = float(bank.half_life[row])
        bank.weights[row, low : low + len(weights)] = weights
        bank.total[row], bank.reference[row], bank.half_life[row] = total, reference, half_life
        if len(weights):
            bank.first[row], bank.last[row] = low, low + len(weights) - 1
        bank.change_half_life(row, now_holds, at)
    for name, value in times.items():
        usage.aggregates[name][row] = value
    usage.aggregates["samples"][row] = samples
    usage.aggregates["loaded"][row] = data.get("loaded") is True


def _banks(usage: Usage) -> tuple[tuple[str, Bank], tuple[str, Bank]]:
    return ("cpu", usage.cpu), ("memory", usage.memory)


def _read_histogram(bank: Bank, data: Mapping[str, Any]) -> tuple[int, Any, float, float, float]:
    try:
        weights = np.frombuffer(b64decode(str(data.get("weights")), validate=True), _DOUBLES)
    except ValueError as error:
        raise ValueError(f"weights: {error}") from error
    low = data.get("first")
    if type(low) is not int or not 0 <= low <= low + len(weights) <= len(bank.layout):
        raise ValueError(f"first: {len(weights)} buckets from {low!r} do not fit")
    if not np.isfinite(weights).all() or (weights < 0).any():
        raise ValueError("weights: each must be a number, at least 0")
    total, reference = _number(data, "total"), _number(data, "reference")
    half_life = _number(data, "halfLife", inf)
    if not (0 <= total < inf and isfinite(reference) and half_life > 0):
        raise ValueError(f"total, reference and halfLife cannot be {total}, {reference} and {half_life}")
    return low, weights, total, reference, half_life


def write_windows(usage: Usage, instances: Sequence[int], ooms: Iterable[float]) -> list[list[float | None]]:
    """For each instance the values that `WINDOW` names, and the time of its last OOM kill."""
    columns = [usage.instances[name][np.asarray(instances, np.intp)].tolist() for name in WINDOW]
    return [[_finite(value) for value in values] for values in zip(*columns, ooms, strict=True)]


def read_window(usage: Usage, instance: int, values: Any) -> float:
    """Restore the window; return the time of the last OOM kill, or minus infinity."""
    if not isinstance(values, list) or len(values) != len(WINDOW) + 1:
        raise ValueError(f"a window has {len(WINDOW) + 1} numbers")
    named = dict(zip((*WINDOW, "oom"), values, strict=True))
    read = [_number(named, name, -inf) for name in named]
    for name, value in zip(WINDOW, read, strict=False):
        usage.instances[name][instance] = max(value, 0.0) if name in {"memory_peak", "oom_peak"} else value
    return read[-1]


def _finite(value: Any) -> float | None:
    return float(value) if isfinite(value) else None


def _number(data: Mapping[str, Any], key: str, unset: float | None = None) -> float:
    value = data.get(key)
    if value is None and unset is not None:
        return unset
    if isinstance(value, bool) or not isinstance(value, int | float) or isnan(value):
        raise ValueError(f"{key}: {value!r} is not a number")
    return float(value)
