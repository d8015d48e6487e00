"""Histograms and unfinished windows as bytes: a restarted controller continues exactly where the last one stopped.

Weights are rounded to 16 binary digits, in memory too, so nothing is rounded twice and a restart changes no decision. A
checkpoint rounds more and omits unfinished peaks; in a close case that would change sizes.

A whole number is the difference to the time of writing, a fraction a time itself, so most times take a byte or two.
"""

from collections.abc import Iterator, Mapping, Sequence
from math import inf, isfinite
from typing import Any, NamedTuple

import msgspec
import numpy as np

from hypot.core.usage.histogram import FARTHEST, Bank
from hypot.core.usage.layout import FloatArray
from hypot.policy.usage.usage import Usage

# The columns for one container of one pod, in this order; the time of its last OOM kill follows.
_TIMES, _PEAKS = ("last_cpu", "last_memory", "window_end"), ("memory_peak", "oom_peak")
_UUID_BYTES = 16
_WEIGHTS = np.dtype("<u2")
# Whole numbers up to this are exact.
_LARGEST = 2.0**53
Time = int | float | None


# A container of a pod: its name, its instance, and when it was last killed or evicted for memory.
Window = tuple[str, int, float]


class Owned(NamedTuple):
    """An autoscaler: the rows of its containers, and the windows of its pods by uid."""

    rows: Mapping[str, int]
    pods: Mapping[str, Sequence[Window]]


class _Histogram(msgspec.Struct, array_like=True):
    first: int
    # A weight is a whole number times two to this power.
    exponent: int
    weights: bytes
    reference: float
    half_life: float | None


class _StoredRow(msgspec.Struct, array_like=True):
    name: str
    cpu: _Histogram
    memory: _Histogram
    created: Time
    first: Time
    last: Time
    samples: int
    loaded: bool


class _Window(msgspec.Struct, array_like=True):
    # The number of its container in the entry.
    container: int
    last_cpu: Time
    last_memory: Time
    window_end: Time
    memory_peak: int | float
    oom_peak: int | float
    oom: Time


class _StoredPod(msgspec.Struct, array_like=True):
    # 16 bytes for a UUID, otherwise text.
    uid: Any
    windows: list[_Window]


class _Entry(msgspec.Struct, array_like=True):
    at: int
    rows: list[_StoredRow]
    pods: list[_StoredPod]


def write(usage: Usage, owned: Sequence[Owned], now: float) -> list[bytes]:
    """An entry for each autoscaler. The weights in memory are rounded as they are written."""
    at = int(now)
    rows = np.array([row for each in owned for row in each.rows.values()], np.intp)
    windows = [window for each in owned for its in each.pods.values() for window in its]
    instances = np.array([instance for _, instance, _ in windows], np.intp)
    ooms = np.array([oom for _, _, oom in windows], np.float64)
    histograms = _histograms(usage.cpu, rows), _histograms(usage.memory, rows)
    sampled = [_brief(usage.aggregates[name][rows], at) for name in ("created", "first", "last")]
    counted = [usage.aggregates[name][rows].tolist() for name in ("samples", "loaded")]
    times = [_brief(column, at) for column in (*[usage.instances[name][instances] for name in _TIMES], ooms)]
    peaks = [_brief(usage.instances[name][instances], 0) for name in _PEAKS]
    each_row = zip(*histograms, *sampled, *counted, strict=True)
    each_window = zip(*times[:-1], *peaks, times[-1], strict=True)
    return [_entry(each, at, each_row, each_window) for each in owned]


def _entry(owned: Owned, at: int, each_row: Iterator[Any], each_window: Iterator[Any]) -> bytes:
    """One entry; the iterators are shared by all entries, and this one takes its part."""
    rows = [(name, *next(each_row)) for name in owned.rows]
    numbers = {name: number for number, name in enumerate(owned.rows)}
    pods = [
        (_short(uid), [(numbers[container], *next(each_window)) for container, _, _ in windows])
        for uid, windows in owned.pods.items()
    ]
    return msgspec.msgpack.encode((at, rows, pods))


def _histograms(bank: Bank, rows: Any) -> list[tuple[Any, ...]]:
    rounded = bank.round_weights(rows)
    width, split = len(bank.layout), rounded.numbers.astype(_WEIGHTS).view(np.uint8)
    # All low bytes, then all high bytes: these are alike, so they compress well.
    low_bytes, high_bytes = split[:, ::2].tobytes(), split[:, 1::2].tobytes()
    starts = range(0, width * len(rows), width)
    half_lives = [each if isfinite(each) else None for each in bank.half_life[rows].tolist()]
    columns = (bank.first[rows].tolist(), (bank.last[rows] + 1).tolist(), rounded.exponents.tolist())
    return [
        (
            low,
            exponent,
            low_bytes[at + low : at + high] + high_bytes[at + low : at + high],
            reference,
            half_life,
        )
        for at, low, high, exponent, reference, half_life in zip(
            starts, *columns, bank.reference[rows].tolist(), half_lives, strict=True
        )
    ]


def _brief(values: FloatArray, at: int) -> list[Time]:
    """Whole differences where they are exact, otherwise the values themselves; None for what is not finite."""
    with np.errstate(invalid="ignore"):
        past = values - at
        whole = (np.rint(past) == past) & (past + at == values) & (np.abs(past) < _LARGEST)
    found: list[Time] = np.where(whole, past, 0.0).astype(np.int64).tolist()
    for number in np.flatnonzero(~whole).tolist():
        value = float(values[number])
        found[number] = value if isfinite(value) else None
    return found


def _short(uid: str) -> bytes | str:
    try:
        short = bytes.fromhex(uid.replace("-", ""))
    except ValueError:
        return uid
    return short if _long(short) == uid else uid


class Read(NamedTuple):
    """An entry: when it was written, its containers, and its windows by pod and container."""

    at: float
    rows: dict[str, _StoredRow]
    pods: dict[str, dict[str, _Window]]


def read(entry: bytes) -> Read:
    """The content of an entry; ValueError if it is none. The parts are checked when they are used."""
    try:
        found = msgspec.msgpack.decode(entry, type=_Entry)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise ValueError(f"it cannot be read: {error}") from error
    names = [row.name for row in found.rows]
    pods = {
        _long(pod.uid): {names[each.container]: each for each in pod.windows if 0 <= each.container < len(names)}
        for pod in found.pods
    }
    return Read(float(found.at), {row.name: row for row in found.rows}, pods)


def written_at(entry: bytes) -> float:
    """When the entry was written; 0 if it cannot be read."""
    try:
        return float(msgspec.msgpack.decode(entry, type=_Entry).at)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return 0.0


def _long(uid: Any) -> str:
    if not isinstance(uid, bytes) or len(uid) != _UUID_BYTES:
        return str(uid)
    digits = uid.hex()
    return f"{digits[:8]}-{digits[8:12]}-{digits[12:16]}-{digits[16:20]}-{digits[20:]}"


def read_row(usage: Usage, row: int, data: _StoredRow, at: float) -> None:
    """Read a container into an empty row. After a ValueError, which says why, nothing has changed.

    If the half-life has changed since, the new one applies from the time of writing.
    """
    banks = (usage.cpu, data.cpu), (usage.memory, data.memory)
    weights = [_read_weights(bank, each) for bank, each in banks]
    created, first, last = (_time(each, at) for each in (data.created, data.first, data.last))
    if not 0 <= data.samples < 2**62:
        raise ValueError(f"{data.samples} is not a number of samples")
    for (bank, each), numbers in zip(banks, weights, strict=True):
        now_holds = float(bank.half_life[row])
        bank.put_rounded(row, each.first, numbers, each.exponent)
        bank.reference[row] = each.reference
        bank.half_life[row] = inf if each.half_life is None else each.half_life
        bank.change_half_life(row, now_holds, at)
    table = usage.aggregates
    table["created"][row] = 0.0 if created is None else created
    table["first"][row] = inf if first is None else first
    table["last"][row] = -inf if last is None else last
    table["samples"][row], table["loaded"][row] = data.samples, data.loaded


def _read_weights(bank: Bank, data: _Histogram) -> Any:
    count, odd = divmod(len(data.weights), 2)
    if odd or not 0 <= data.first <= data.first + count <= len(bank.layout):
        raise ValueError(f"{len(data.weights)} bytes of weights from bucket {data.first} do not fit")
    if not abs(data.exponent) <= FARTHEST:
        raise ValueError(f"no weight has the exponent {data.exponent}")
    if not (isfinite(data.reference) and (data.half_life is None or 0 < data.half_life < inf)):
        raise ValueError(f"the reference and the half-life cannot be {data.reference} and {data.half_life}")
    planes = np.frombuffer(data.weights, np.uint8).reshape(2, count)
    return planes.T.copy().view(_WEIGHTS).reshape(-1)


def read_window(usage: Usage, instance: int, data: _Window, at: float) -> float:
    """Restore a window; return the time of the last OOM kill, or minus infinity. ValueError if it cannot be used."""
    times = [_time(getattr(data, name), at) for name in (*_TIMES, "oom")]
    peaks = [float(getattr(data, name)) for name in _PEAKS]
    if not all(0 <= peak < inf for peak in peaks):
        raise ValueError(f"peaks cannot be {peaks}")
    *ends, oom = [-inf if each is None else each for each in times]
    for name, value in zip((*_TIMES, *_PEAKS), (*ends, *peaks), strict=True):
        usage.instances[name][instance] = value
    return oom


def _time(value: Time, at: float) -> float | None:
    if value is None:
        return None
    found = at + value if isinstance(value, int) else value
    if not isfinite(found):
        raise ValueError(f"{value} is not a time")
    return float(found)
