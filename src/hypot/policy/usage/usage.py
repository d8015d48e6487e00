"""The usage of containers: samples of cpu and memory folded into one bank of histograms.

Only folding changes the histograms; decisions read them through a `View`. An instance stores its newest samples and the
memory peak of its unfinished window: each window counts once, with its peak, at the time of its end.
"""

from collections.abc import Container, Hashable, Iterable, Iterator
from math import inf, isfinite, nan
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from hypot.core.amount import scale
from hypot.core.usage.columns import NONE
from hypot.core.usage.histogram import Bank
from hypot.core.usage.layout import FloatArray, IntArray
from hypot.policy.usage.checkpoint import CheckpointContent, read, written
from hypot.policy.usage.rows import UsageRows
from hypot.policy.usage.view import Amounts, SizeBasis, View

BoolArray = npt.NDArray[np.bool_]

CPU_WEIGHT = 0.1
PEAK_WEIGHT = 1.0
GC_PERIOD = 3600.0
# Samples per batch: few enough to keep temporary arrays small compared with the bank.
CHUNK = 16_384

# Instance, millicores, bytes, time; None if a resource was not measured.
Sample = tuple[int, float | None, float | None, float]


class Folded(NamedTuple):
    """Which samples were used; the others were missing, negative or too old."""

    cpu: BoolArray
    memory: BoolArray


class Estimates(NamedTuple):
    """Sizes of many containers: lower bounds, targets and upper bounds in three rows for each resource."""

    aggregates: IntArray
    cpu: Amounts
    memory: Amounts


class Usage(UsageRows):
    """The histograms of all containers; folds samples into them."""

    def __init__(self, gc_period: float = GC_PERIOD) -> None:
        super().__init__()
        self._gc_period = gc_period
        self._gc_last = -inf

    def observe(self, samples: Iterable[Sample]) -> Folded:
        """Fold samples in; their order does not matter."""
        rows = [(number, _or_nan(cpu), _or_nan(memory), at) for number, cpu, memory, at in samples]
        table = np.array(rows, np.float64).reshape(-1, 4)
        return self.fold(table[:, 0].astype(np.intp), table[:, 3], table[:, 1], table[:, 2])

    def fold(self, instances: IntArray, at: npt.ArrayLike, cpu: npt.ArrayLike, memory: npt.ArrayLike) -> Folded:
        """Fold many samples in: millicores and bytes, one time for all or for each. Missing values are < 0 or NaN."""
        times, millicores, size = (
            np.broadcast_to(each, instances.shape).astype(np.float64) for each in (at, cpu, memory)
        )
        # Samples of instances that were dropped are ignored.
        times[self.instances["aggregate"][instances] == NONE] = nan
        return Folded(self._fold_cpu(instances, times, millicores), self._fold_memory(instances, times, size))

    def _fold_cpu(self, instances: IntArray, at: FloatArray, cpu: FloatArray) -> BoolArray:
        """Use samples that are strictly newer than the instance's last; of several at the same time, the largest."""
        taken: BoolArray = (cpu >= 0) & np.isfinite(at) & (at > self.instances["last_cpu"][instances])
        if self._repeats(instances):
            order = _in_time(instances, at, cpu, taken)
            again = (np.diff(instances[order]) == 0) & (np.diff(at[order]) == 0)
            taken[order[1:][again]] = False
        for part in _chunks(np.flatnonzero(taken)):
            self._count(instances[part], at[part], cpu[part] / 1000.0)
        return taken

    def _count(self, instances: IntArray, at: FloatArray, cores: FloatArray) -> None:
        np.maximum.at(self.instances["last_cpu"], instances, at)
        rows = self.instances["aggregate"][instances]
        self.cpu.add(rows, cores, CPU_WEIGHT, at)
        np.minimum.at(self.aggregates["first"], rows, at)
        np.maximum.at(self.aggregates["last"], rows, at)
        np.add.at(self.aggregates["samples"], rows, 1)

    def _fold_memory(self, instances: IntArray, at: FloatArray, memory: FloatArray) -> BoolArray:
        """Use samples that are not older than the instance's last. Several of one instance are processed in order."""
        taken: BoolArray = (memory >= 0) & np.isfinite(at) & (at >= self.instances["last_memory"][instances])
        turns = iter((np.flatnonzero(taken),))
        if self._repeats(instances):
            turns = _turns(instances, _in_time(instances, at, memory, taken))
        for turn in turns:
            for part in _chunks(turn):
                self._raise_peaks(instances[part], at[part], memory[part], "memory_peak")
        return taken

    def _raise_peaks(self, instances: IntArray, at: FloatArray, memory: FloatArray, peak: str) -> None:
        """A higher peak replaces the previous one; a sample past the window's end opens the next window."""
        table = self.instances
        rows = table["aggregate"][instances]
        table["last_memory"][instances] = at
        ends = table["window_end"][instances]
        ends = np.where(np.isinf(ends), at, ends)
        before = np.maximum(table["memory_peak"][instances], table["oom_peak"][instances])
        opens = at >= ends
        higher = ~opens & (before != 0) & (memory > before)
        if higher.any():
            self.memory.subtract(rows[higher], before[higher], PEAK_WEIGHT, ends[higher])
        if opens.any():
            interval = self._intervals_of(rows)
            ends = np.where(opens, ends + (np.floor((at - ends) / interval) + 1) * interval, ends)
            table["window_end"][instances] = ends
            table["memory_peak"][instances[opens]] = 0
            table["oom_peak"][instances[opens]] = 0
        new = opens | higher
        if new.any():
            table[peak][instances[new]] = memory[new]
            self.memory.add(rows[new], memory[new], PEAK_WEIGHT, ends[new])

    def oom(self, instance: int, at: float, requested: int) -> bool:
        """A container ran out of memory: it needs more than it requested or ever used. False if the event is too old.

        Peaks of earlier OOM events are ignored, or each event would ask for more than the previous one.
        """
        aggregate = int(self.instances["aggregate"][instance])
        if aggregate == NONE or not isfinite(at):
            return False
        knobs = self.knobs(aggregate)
        if at < self.instances["last_memory"][instance] - knobs.memory_interval:
            return False
        used = max(requested, int(self.instances["memory_peak"][instance]))
        needed = max(used + knobs.oom_min_bump_up, scale(used, knobs.oom_bump_up_ratio))
        self._raise_peaks(np.array([instance]), np.array([at]), np.array([float(needed)]), "oom_peak")
        return True

    def set_back(self, now: float, ahead: float) -> bool:
        """Move samples that are more than `ahead` seconds in the future to now, and return whether there were any.

        Otherwise they would outweigh all later samples. Memory windows of these samples end.
        """
        table, owners = self.instances, self._instances_aggregates()
        stamps = np.maximum(table["last_cpu"], table["last_memory"])[: len(owners)]
        future = np.flatnonzero(stamps > now + ahead)
        newest = self.aggregates["last"][: len(self.aggregates)].copy()
        np.maximum.at(newest, owners[future], stamps[future])
        moved = self._moved_back(self.cpu, newest, now, ahead) | self._moved_back(self.memory, newest, now, ahead)
        if not moved.any():
            return False
        table["last_cpu"][future] = table["last_memory"][future] = -inf
        table["window_end"][np.flatnonzero(moved[owners])] = -inf
        self._move_samples_back(np.flatnonzero(moved), np.maximum(newest[moved] - now, 0.0), now)
        return True

    def _moved_back(self, bank: Bank, newest: FloatArray, now: float, ahead: float) -> BoolArray:
        """A reference may be half a half-life ahead of the newest sample, which may be the peak of a whole window."""
        every = np.arange(len(newest))
        references = bank.reference[every] - bank.half_life[every] - self._intervals_of(every)
        spans = np.maximum(newest, references) - now
        moved: BoolArray = spans > ahead
        bank.set_back(every[moved], spans[moved])
        return moved

    def _move_samples_back(self, rows: IntArray, spans: FloatArray, now: float) -> None:
        """The first sample may be from before the clock was ahead."""
        table = self.aggregates
        first = table["first"][rows]
        table["first"][rows] = np.where(first > now, first - spans, first)
        for name in ("last", "created"):
            table[name][rows] = np.minimum(table[name][rows], now)

    def expire(self, now: float, contributing: Container[str] | None = None) -> tuple[tuple[Hashable, str], ...]:
        """Forget aggregates without samples and contributing pods, and those without new samples; at most once an hour.

        A pod contributes if it is not finished, or if its target still exists; with None all pods contribute. What was
        loaded from a checkpoint decays, but stays as long as its owner exists.
        """
        if abs(now - self._gc_last) < self._gc_period:
            return ()
        self._gc_last = now
        used = {int(self.instances["aggregate"][number]) for number in self._contributing(contributing)}
        table = self.aggregates
        rows = np.flatnonzero((table["kind"][: len(table)] != NONE) & ~table["loaded"][: len(table)]).tolist()
        idle = [row for row in rows if table["samples"][row] == 0 and row not in used]
        gone = sorted({*idle, *(row for row in rows if self.is_expired(row, now))})
        names = tuple((self._owners.key(row), self._containers[row]) for row in gone)
        self._forget(gone)
        return names

    def is_expired(self, aggregate: int, now: float) -> bool:
        """Whether the last cpu sample, or the declaration if there was none, is too long ago."""
        knobs, table = self.knobs(aggregate), self.aggregates
        since = table["last"][aggregate] if table["samples"][aggregate] else table["created"][aggregate]
        return bool(now - since >= knobs.memory_interval * knobs.memory_interval_count)

    def _contributing(self, pods: Container[str] | None) -> Iterator[int]:
        return (number for pod in self._pods if pods is None or pod in pods for number in self._pods.rows(pod))

    def save(self, owner: Hashable, container: str, now: float) -> dict[str, Any]:
        """The status of a checkpoint, without peaks of unfinished windows: they are measured again after a restart."""
        row = self.aggregate(owner, container)
        memory = self.memory.copied(row)
        table = self.instances
        live = np.flatnonzero(self._instances_aggregates() == row)
        live = live[now < table["window_end"][live]]
        peaks = np.maximum(table["memory_peak"][live], table["oom_peak"][live])
        memory.subtract(np.zeros_like(live), peaks, PEAK_WEIGHT, table["window_end"][live])
        first, last = (_or_none(self.aggregates[name][row]) for name in ("first", "last"))
        samples = int(self.aggregates["samples"][row])
        return written(CheckpointContent(self.cpu.save(row), memory.save(0), first, last, samples), now)

    def load(self, owner: Hashable, container: str, status: Any) -> None:
        """Add a checkpoint's status to the histograms. On a ValueError, which says why, nothing has changed."""
        row = self.aggregate(owner, container)
        if self.aggregates["loaded"][row]:
            raise ValueError(f"a checkpoint of container {container!r} of {owner!r} was loaded before")
        state = read(status)
        cpu, memory = Bank(self.cpu.layout), Bank(self.memory.layout)
        cpu.load(cpu.new(self.cpu.half_life[row]), state.cpu)
        memory.load(memory.new(self.memory.half_life[row]), state.memory)
        self.cpu.merge(row, 0, cpu)
        self.memory.merge(row, 0, memory)
        table = self.aggregates
        table["first"][row] = min(table["first"][row], inf if state.first is None else state.first)
        table["last"][row] = max(table["last"][row], -inf if state.last is None else state.last)
        table["samples"][row] += state.samples
        table["loaded"][row] = True

    def view(self, owner: Hashable) -> View:
        return View(self._known(), {self._containers[row]: row for row in self._owners.rows(owner)})

    def estimates(self, aggregates: IntArray, sharing: int = 1) -> Estimates:
        """Sizes of many containers with their own knobs; `sharing` containers share each pod's minimum."""
        cpu, memory = np.zeros((2, 3, len(aggregates)), np.int64)
        kinds = self.aggregates["kind"][aggregates]
        for kind in np.unique(kinds).tolist():
            for part in _chunks(np.flatnonzero(kinds == kind)):
                cpu[:, part], memory[:, part] = self._known().sizes(aggregates[part], self._knobs[kind], sharing)
        return Estimates(aggregates, cpu, memory)

    def _known(self) -> SizeBasis:
        return SizeBasis(self.cpu, self.memory, self.aggregates)

    def _repeats(self, instances: IntArray) -> bool:
        met = np.zeros(len(self.instances), np.bool_)
        met[instances] = True
        return bool(np.count_nonzero(met) < len(instances))


def _in_time(instances: IntArray, at: FloatArray, amounts: FloatArray, taken: BoolArray) -> IntArray:
    """The used samples, sorted by instance and time; at the same time the largest first."""
    chosen = np.flatnonzero(taken)
    return chosen[np.lexsort((-amounts[chosen], at[chosen], instances[chosen]))]


def _turns(instances: IntArray, order: IntArray) -> Iterator[IntArray]:
    """The first samples of all instances, then the second samples of those that have one, and so on."""
    starts = np.flatnonzero(np.diff(instances[order], prepend=NONE))
    lengths = np.diff(starts, append=len(order))
    turn = np.arange(len(order)) - np.repeat(starts, lengths)
    by_turn = order[np.argsort(turn, kind="stable")]
    return iter(np.split(by_turn, np.cumsum(np.bincount(turn))[:-1]))


def _chunks(places: IntArray) -> Iterator[IntArray]:
    for start in range(0, len(places), CHUNK):
        yield places[start : start + CHUNK]


def _or_nan(amount: float | None) -> float:
    return nan if amount is None else float(amount)


def _or_none(at: float) -> float | None:
    return float(at) if isfinite(at) else None


def contributes(phase: str, target_exists: bool) -> bool:
    """Whether a pod keeps an aggregate without samples alive: while it runs, or while its target exists."""
    return target_exists or phase not in {"Succeeded", "Failed"}
