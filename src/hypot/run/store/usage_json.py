"""Usage as version 1 of the state has it: JSON with exact weights. It is only read."""

from base64 import b64decode
from collections.abc import Mapping
from math import inf, isfinite, isnan
from typing import Any

import numpy as np

from hypot.core.usage.histogram import Bank
from hypot.policy.usage.usage import Usage

# The values for one container of one pod, in this order.
WINDOW = ("last_cpu", "last_memory", "window_end", "memory_peak", "oom_peak")
_DOUBLES = np.dtype("<f8")


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


def written_at(entry: Mapping[str, Any]) -> float:
    """When the entry was written; 0 if it does not say."""
    seen = entry.get("seen")
    at = seen.get("at") if isinstance(seen, Mapping) else None
    return float(at) if isinstance(at, int | float) else 0.0


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


def read_window(usage: Usage, instance: int, values: Any) -> float:
    """Restore the window; return the time of the last OOM kill, or minus infinity."""
    if not isinstance(values, list) or len(values) != len(WINDOW) + 1:
        raise ValueError(f"a window has {len(WINDOW) + 1} numbers")
    named = dict(zip((*WINDOW, "oom"), values, strict=True))
    read = [_number(named, name, -inf) for name in named]
    for name, value in zip(WINDOW, read, strict=False):
        usage.instances[name][instance] = max(value, 0.0) if name in {"memory_peak", "oom_peak"} else value
    return read[-1]


def _number(data: Mapping[str, Any], key: str, unset: float | None = None) -> float:
    value = data.get(key)
    if value is None and unset is not None:
        return unset
    if isinstance(value, bool) or not isinstance(value, int | float) or isnan(value):
        raise ValueError(f"{key}: {value!r} is not a number")
    return float(value)
