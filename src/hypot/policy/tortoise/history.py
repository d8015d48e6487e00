"""Learns from recorded usage, many workloads at once, what `Learned.observed` would have learned by watching it.

A sample that is missing between two others counts as an observation that could not be measured. All arithmetic is that
of `core.slots`, on arrays with a row for each workload.
"""

from collections.abc import Iterable, Iterator, Sequence
from itertools import repeat
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from hypot.core.learning.clock import SlotClock
from hypot.core.learning.slots import DIGITS, MOST, STALE, rows_of, slots_of
from hypot.policy.model.learned import MOST_LEFT_OUT, REASONS, Learned, LeftOut, SlotLayout, SlotTally
from hypot.policy.model.size import Place
from hypot.policy.model.tortoise_state import PERCENT, key_of
from hypot.policy.tortoise.needs import amount_of

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
# Needs and numbers of samples, by workload and occurrence.
Counts = npt.NDArray[np.int32]
Codes = npt.NDArray[np.uint16]

UNMEASURED = REASONS.index("unmeasured")
_HOUR = 3600
# How many samples, and how many occurrences of slots, are computed at once.
_BATCH = 300_000


class UsageSeries(NamedTuple):
    """The usage of all pods of a workload together, in millicores or bytes, at times in ascending order."""

    place: Place
    # The target utilization in percent.
    target: int
    times: Floats
    amounts: Floats
    layout: SlotLayout = SlotLayout()


class LearnedHistory(NamedTuple):
    """What was learned of one series, and how many occurrences of slots counted and were left out."""

    learned: Learned
    counted: int
    left_out: int


def learned_from(series: Iterable[UsageSeries]) -> Iterator[LearnedHistory]:
    """What each series teaches, in the same order."""
    for batch in _batches(series):
        by_layout: dict[SlotLayout, list[int]] = {}
        for number, one in enumerate(batch):
            by_layout.setdefault(one.layout, []).append(number)
        found: dict[int, LearnedHistory] = {}
        for layout, numbers in by_layout.items():
            found |= zip(numbers, _learned(layout, [batch[number] for number in numbers]), strict=True)
        yield from (found[number] for number in range(len(batch)))


def _batches(series: Iterable[UsageSeries]) -> Iterator[list[UsageSeries]]:
    batch: list[UsageSeries] = []
    samples = longest = 0
    for one in series:
        slots = slots_of(one.layout.hours, one.layout.daily)
        seconds = one.layout.hours * _HOUR * slots
        cells = (int((one.times[-1] - one.times[0]) // seconds) + 2) * slots
        samples, longest = samples + len(one.times), max(longest, cells)
        if batch and max(samples, longest * (len(batch) + 1)) > _BATCH:
            yield batch
            batch, samples, longest = [], len(one.times), cells
        batch.append(one)
    if batch:
        yield batch


class _Cells(NamedTuple):
    """By workload and occurrence, from the first turn of a workload on: needs, and how many samples there are."""

    # The turn of a workload's first cell, and the cell of its last sample, which is in progress.
    turns: Ints
    last: Ints
    needed: Counts
    counted: Counts
    missing: Counts
    # Whether it is after the first sample and over.
    ended: npt.NDArray[np.bool_]


def _learned(layout: SlotLayout, series: Sequence[UsageSeries]) -> list[LearnedHistory]:
    slots = slots_of(layout.hours, layout.daily)
    cells = _cells(layout, series, slots)
    counts = (cells.counted >= np.maximum(cells.missing, 1)) & cells.ended
    left_out = (cells.missing > cells.counted) & cells.ended
    tables = _tables(layout, cells, _packed(cells.needed) * counts, slots)
    totals = zip(counts.sum(axis=1), left_out.sum(axis=1), strict=True)
    made = []
    for row, (one, (counted, lost)) in enumerate(zip(series, totals, strict=True)):
        lately = np.flatnonzero(left_out[row])[-MOST_LEFT_OUT:]
        turns, places = cells.turns[row] + lately // slots, lately % slots
        learned = Learned(
            layout,
            key_of(one.place),
            float(one.times[0]),
            tables[row].tobytes(),
            _tally(cells, row, slots),
            tuple(map(LeftOut, turns.tolist(), places.tolist(), repeat(REASONS[UNMEASURED]))),
        )
        made.append(LearnedHistory(learned, int(counted), int(lost)))
    return made


def _cells(layout: SlotLayout, series: Sequence[UsageSeries], slots: int) -> _Cells:
    lengths = np.array([len(one.times) for one in series])
    times = np.concatenate([one.times for one in series])
    starts = np.cumsum(lengths) - lengths
    begins, ends = times[starts], times[starts + lengths - 1]
    clock = SlotClock(layout.hours, layout.zone, float(begins.min()), float(ends.max()))
    occurrences = clock.occurrences(times)
    turns = occurrences[starts] // slots
    width = int((occurrences[starts + lengths - 1] // slots - turns).max() + 1) * slots
    rows = np.arange(len(series))
    base = rows * width - turns * slots
    # A clock that was set back by more than a slot does not go back to an earlier one.
    cells = np.maximum.accumulate(occurrences + np.repeat(base, lengths))
    groups = np.flatnonzero(np.diff(cells, prepend=-1))
    needed, counted = np.zeros((len(series), width), np.int32), np.zeros((len(series), width), np.int32)
    # Writing to a flat view is many times faster than to `flat`.
    needed.reshape(-1)[cells[groups]] = np.maximum.reduceat(_needs(series, lengths), groups)
    counted.reshape(-1)[cells[groups]] = np.diff(groups, append=len(cells))
    missing = np.maximum(_expected(clock, series, begins, ends, turns * slots, width) - counted, 0)
    first, last = cells[starts] - rows * width, cells[starts + lengths - 1] - rows * width
    numbers = np.arange(width)
    ended = (numbers >= first[:, None]) & (numbers < last[:, None])
    return _Cells(turns, last, needed, counted, missing, ended)


def _needs(series: Sequence[UsageSeries], lengths: Ints) -> Counts:
    """What each sample needs, in millicores or mebibytes."""
    amounts = np.concatenate([one.amounts for one in series])
    shares = np.array([amount_of(one.place[1], one.target) for one in series], np.float64)
    needs = np.rint(amounts * PERCENT / np.repeat(shares, lengths))
    return np.minimum(needs, float(MOST)).astype(np.int32)


def _expected(
    clock: SlotClock, series: Sequence[UsageSeries], begins: Floats, ends: Floats, zeros: Ints, width: int
) -> Counts:
    """How many samples each cell would have without gaps, at the usual step of its series."""
    steps = np.array([_usual_step(one.times) for one in series])
    distinct, which = np.unique(zeros, return_inverse=True)
    edges = clock.begins(distinct[:, None] + np.arange(width + 1))[which]
    ticks = np.ceil((edges - begins[:, None]) / steps[:, None])
    last = np.rint((ends - begins) / steps)
    within = np.clip(ticks, 0.0, last[:, None] + 1.0).astype(np.int32)
    expected: Counts = within[:, 1:] - within[:, :-1]
    return expected


def _usual_step(times: Floats) -> float:
    """The median; a series of one sample has no step."""
    if len(times) < 2:
        return 1.0
    middle = (len(times) - 1) // 2
    steps = times[1:] - times[:-1]
    steps.partition(middle)
    return float(steps[middle])


def _packed(needed: Counts) -> Codes:
    """`core.slots.packed` of each need."""
    amounts = np.clip(needed, 1, MOST)
    exponents = np.maximum(np.frexp(amounts)[1] - DIGITS, 0)
    digits = amounts + ((1 << exponents) >> 1) >> exponents
    over = digits >> DIGITS
    codes: Codes = ((exponents + over) << DIGITS | digits >> over).astype(np.uint16)
    return codes


def _tables(layout: SlotLayout, cells: _Cells, codes: Codes, slots: int) -> Codes:
    """`core.slots.SlotTable.record` of each cell that is over, turn by turn."""
    rows = rows_of(layout.weeks, layout.daily)
    by_turn = codes.reshape(len(codes), -1, slots)
    over = cells.ended.reshape(by_turn.shape)
    table = np.zeros((rows, len(codes), slots), np.uint16)
    for turn in range(by_turn.shape[1]):
        code, here = by_turn[:, turn], table[turn % rows]
        known, others = code > 0, np.zeros(code.shape, np.bool_)
        for row, older in enumerate(table):
            if row != turn % rows:
                others |= older > 0
                np.multiply(older, ~known | ((older < STALE) & (older > code)), out=older)
        # A need stays only if nothing else is known.
        stays = (here | np.uint16(STALE)) * (~others & (here > 0))
        here[:] = np.where(over[:, turn], np.where(known, code, stays), here)
    # The row of a turn depends on its number, not on when a workload began.
    order = (np.arange(rows) - cells.turns[:, None]) % rows
    tables: Codes = table[order, np.arange(len(codes))[:, None]]
    return tables


def _tally(cells: _Cells, row: int, slots: int) -> SlotTally:
    """The slot in progress."""
    last = int(cells.last[row])
    turn, slot = divmod(int(cells.turns[row]) * slots + last, slots)
    left_out = [0] * len(REASONS)
    left_out[UNMEASURED] = int(cells.missing[row, last])
    return SlotTally(turn, slot, int(cells.needed[row, last]), int(cells.counted[row, last]), tuple(left_out))
