"""The state of a replay as records: one block of memory with a fixed layout, which compiled code gets by address."""

from collections.abc import Iterator
from itertools import chain
from struct import Struct, calcsize
from typing import Any, NamedTuple

import numpy as np

from hypot.core.bank.bank import RuleBank
from hypot.core.bank.rule import AutoscalerPast, LearnedLoad, ShapeProposal
from hypot.core.bank.season import Season
from hypot.core.usage.decay import Decaying
from hypot.kinds.hvpa.fields import MOST_REPLICAS
from hypot.replay.numbers.hvpa import HvpaPast, HvpaRule, ResourceRule
from hypot.replay.numbers.plan import NumericPlan
from hypot.replay.numbers.price_record import PriceRecord
from hypot.replay.numbers.tortoise import TortoisePast, TortoiseRule
from hypot.replay.numbers.usage import NumericRecipe, NumericUsage
from hypot.replay.numbers.vpa import Advice
from hypot.replay.numbers.wpa import WpaColumns
from hypot.replay.score.tally import Tally
from hypot.replay.world.cohorts import Cohorts
from hypot.replay.world.site import Site

# Limits: groups of pods, ticks of history, metrics and policies of a rule, and entries of a past. They are the same for
# every workload, so that one compiled loop fits all; a workload that needs more is replayed by the plain engine.
PLACES, SLOTS, RULES, ENTRIES = 64, 32, 8, 1024
# Sums of milli-units, times a hundred where percentages are calculated from them, must fit into a 64-bit integer.
LARGEST = 2**63 // 200


class NotCoveredError(ValueError):
    """The compiled engine cannot replay this; the plain engine must. The message says why."""


class TooLargeError(NotCoveredError):
    """The state is too large for the records."""


# Columns with one element per tick of history, and columns that keep their own length.
_TICKS = {
    "returning",
    "requests_seen",
    "latency_seen",
    "usage_seen",
    "queue_seen",
    "queue_each_seen",
    "late_seen",
    "late_each_seen",
}
_AS_THEY_ARE = {"template", "written", "row", "felt", "coming", "coming_due", "idle_since"}
# Columns with several elements, for the tuples in which most columns have one.
_MANY = {WpaColumns: {"sides", "counts", "readies"}, Site: _TICKS | _AS_THEY_ARE}
# Tuples whose columns keep their own length, and columns with one element per count of replicas.
_WHOLE = {
    Advice,
    AutoscalerPast,
    RuleBank,
    Decaying,
    HvpaPast,
    LearnedLoad,
    NumericPlan,
    NumericRecipe,
    NumericUsage,
    PriceRecord,
    ShapeProposal,
    Season,
    Tally,
    TortoisePast,
    TortoiseRule,
}
_COUNTED = {ResourceRule: {"lows", "highs", "belows", "pins", "mosts"}, HvpaRule: {"pinned_at"}}
_ONE = {"used", "serials", "newest", "differed", "ups_used", "downs_used"}
# Columns of times, which are floats even if they are empty.
_TIMES = {"periods"}


def record_of(value: Any, place: int) -> Any:
    """A tuple of numbers and columns as one record; columns have `place` elements unless their length is fixed.

    For groups of pods, only those in use are copied.
    """
    used = value.used[0] if isinstance(value, Cohorts) else None
    kinds: list[Any] = [type(value), place]
    numbers: list[Any] = []
    _collect(value, used, kinds, numbers)
    key = tuple(kinds)
    form = _FORMS.get(key)
    if form is None:
        form = _FORMS[key] = _form(value, place, used)
    made = np.empty(1, form.shape)
    form.packing.pack_into(made.view(np.uint8).data, 0, *numbers)
    return made[0]


class _RecordForm(NamedTuple):
    """The memory layout of a record, and the packer that writes its numbers."""

    shape: "np.dtype[np.void]"
    packing: Struct


# There are thousands of workloads, but their records have only a few layouts.
_FORMS: dict[Any, _RecordForm] = {}
_CODES = {"f": "d", "i": "q", "b": "?"}


def _collect(value: Any, used: int | None, kinds: list[Any], numbers: list[Any]) -> None:
    """Collects all numbers in order, and what the layout depends on: their types, and how many elements are in use."""
    for part in value:
        if _is_record(part):
            _collect(part, used, kinds, numbers)
            continue
        if not isinstance(part, list | tuple):
            kinds.append(type(part))
            numbers.append(part)
            continue
        column = part[:used]
        first = column[0] if column else 0
        if isinstance(first, list):
            kinds.append((len(column), list, len(first)))
            numbers.extend(chain.from_iterable(column))
        else:
            kinds.append((len(column), float if isinstance(first, float) else int))
            numbers.extend(column)


def _form(value: Any, place: int, used: int | None) -> _RecordForm:
    shape = _shape(value, place)
    parts, end = ["="], 0
    for start, count, code in _runs(value, shape, used, 0):
        parts.append(f"{start - end}x{count}{code}")
        end = start + count * calcsize(f"={code}")
    # Packing sets all other bytes to zero, up to the end of the record.
    parts.append(f"{shape.itemsize - end}x")
    return _RecordForm(shape, Struct("".join(parts)))


def _runs(value: Any, shape: Any, used: int | None, at: int) -> Iterator[tuple[int, int, str]]:
    """The runs of adjacent numbers: offset, count and type."""
    for name, part in zip(value._fields, value, strict=True):
        kind, start = shape.fields[name][0], at + shape.fields[name][1]
        if _is_record(part):
            yield from _runs(part, kind, used, start)
        elif _is_number(part):
            yield start, 1, _CODES[kind.kind]
        elif kind.ndim == 2:
            yield from ((start + n * kind.base.itemsize * SLOTS, len(row), "d") for n, row in enumerate(part[:used]))
        else:
            yield start, len(part[:used]), _CODES[kind.base.kind]


def _shape(value: Any, place: int) -> "np.dtype[np.void]":
    parts: list[Any] = []
    for name, part in zip(value._fields, value, strict=True):
        if _is_record(part):
            parts.append((name, _shape(part, place)))
        elif _is_number(part):
            parts.append(
                (name, np.bool_ if isinstance(part, bool) else np.int64 if isinstance(part, int) else np.float64)
            )
        else:
            parts.append((name, *_column(type(value), name, part, place)))
    return np.dtype(parts, align=True)


def _column(of: type, name: str, part: Any, place: int) -> tuple[Any, tuple[int, ...]]:
    first = part[0] if part else 0.0 if name in _TIMES else 0
    if isinstance(first, list):
        return np.float64, (place, SLOTS)
    kind = np.float64 if isinstance(first, float) else np.int64
    if of in _WHOLE:
        return kind, (len(part),)
    if name in _COUNTED.get(of, ()):
        return np.int64, (MOST_REPLICAS,)
    if name in _ONE or (of in _MANY and name not in _MANY[of]):
        return kind, (1,)
    return kind, (len(part) if name in _AS_THEY_ARE else SLOTS if name in _TICKS else place,)


def _is_number(value: Any) -> bool:
    return isinstance(value, bool | int | float)


def _is_record(value: Any) -> bool:
    return isinstance(value, tuple) and hasattr(value, "_fields")


class LargestSizes(NamedTuple):
    """The largest replicas and sizes that a workload can reach."""

    replicas: int
    cpu: int
    memory: int


def check(slots: int, returning: int, rules: int, entries: int, sizes: LargestSizes) -> None:
    """Raises if anything would not fit."""
    if max(slots, returning) > SLOTS:
        raise TooLargeError(
            f"metrics are {slots} ticks old, requests come back after {returning} ticks; the limit is {SLOTS}"
        )
    if rules > RULES or entries > ENTRIES:
        raise TooLargeError(f"{rules} metrics or policies, {entries} past entries; limits are {RULES} and {ENTRIES}")
    largest = sizes.replicas * max(sizes.cpu, sizes.memory * 1000)
    if not 0 <= largest < LARGEST:
        raise TooLargeError(f"{sizes.replicas} replicas of {sizes.memory} bytes do not fit into an integer")
