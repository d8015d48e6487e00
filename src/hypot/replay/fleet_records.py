"""The state of a replay as records: fixed places in one piece of memory, which compiled code takes by its address."""

from typing import Any, NamedTuple

import numpy as np

from hypot.replay.quick_wpa import Marks
from hypot.replay.site import Site

# Places for groups of pods, ticks that are remembered, metrics and policies of a rule, and entries of a past. They are
# the same for every workload, so that one compiled loop fits all; what needs more is replayed by the plain engine.
PLACES, SLOTS, RULES, ENTRIES = 64, 32, 8, 1024
# Sums of milli-units, a hundred times as large where percents are made of them, must fit a machine's integer.
LARGEST = 2**63 // 200


class TooLargeError(ValueError):
    """The state does not fit its places."""


# Columns with a place for each tick that is remembered, and those that are as long as they are.
_TICKS = {"returning", "requests_seen", "latency_seen", "usage_seen", "queue_seen", "queue_each_seen"}
_AS_THEY_ARE = {"template", "row", "blank", "coming", "coming_due", "idle_since"}
# Columns with several places, of those tuples that have most columns for a single number.
_MANY = {Marks: {"sides", "counts", "readies"}, Site: _TICKS | _AS_THEY_ARE}
_ONE = {"used", "serials", "ups_used", "downs_used"}


def record_of(value: Any, place: int) -> Any:
    """A tuple of numbers and columns as one record; columns have so many places unless theirs are fixed."""
    made = np.zeros(1, _shape(value, place))
    _fill(made[0], value)
    return made[0]


def _shape(value: Any, place: int) -> "np.dtype[np.void]":
    parts: list[Any] = []
    for name, part in zip(value._fields, value, strict=True):
        if _is_record(part):
            parts.append((name, _shape(part, place)))
        elif isinstance(part, bool | int | float):
            parts.append(
                (name, np.bool_ if isinstance(part, bool) else np.int64 if isinstance(part, int) else np.float64)
            )
        else:
            parts.append((name, *_column(type(value), name, part, place)))
    return np.dtype(parts, align=True)


def _column(of: type, name: str, part: Any, place: int) -> tuple[Any, tuple[int, ...]]:
    there = np.asarray(part)
    kind = np.float64 if there.dtype.kind == "f" and len(there) else np.int64
    if there.ndim == 2:
        return np.float64, (place, SLOTS)
    if name in _ONE or (of in _MANY and name not in _MANY[of]):
        return kind, (1,)
    return kind, (len(there) if name in _AS_THEY_ARE else SLOTS if name in _TICKS else place,)


def _fill(record: Any, value: Any) -> None:
    for name, part in zip(value._fields, value, strict=True):
        if _is_record(part):
            _fill(record[name], part)
        elif isinstance(part, bool | int | float):
            record[name] = part
        else:
            there = np.asarray(part)
            if there.ndim == 2:
                record[name][: len(there), : there.shape[1]] = there
            else:
                record[name][: len(there)] = there


def _is_record(value: Any) -> bool:
    return isinstance(value, tuple) and hasattr(value, "_fields")


class Sizes(NamedTuple):
    """The largest that a workload can become."""

    replicas: int
    cpu: int
    memory: int


def check(slots: int, returning: int, rules: int, entries: int, sizes: Sizes) -> None:
    """Raises where anything would not fit."""
    if max(slots, returning) > SLOTS:
        raise TooLargeError(
            f"metrics that are {slots} ticks old, requests that come back after {returning}; {SLOTS} fit"
        )
    if rules > RULES or entries > ENTRIES:
        raise TooLargeError(f"{rules} metrics or policies, {entries} entries of a past; {RULES} and {ENTRIES} fit")
    largest = sizes.replicas * max(sizes.cpu, sizes.memory * 1000)
    if not 0 <= largest < LARGEST:
        raise TooLargeError(f"{sizes.replicas} replicas of {sizes.memory} bytes are more than an integer holds")
