"""The usage of all containers: samples, OOM kills and evictions are added; decisions only read it."""

import asyncio
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from math import inf
from typing import Any, NamedTuple, cast

import numpy as np

from hypot.cluster.time_slice import TimeSlice
from hypot.core.amount import MEMORY, of_milli
from hypot.kinds.catalogue import Autoscaler
from hypot.kinds.vpa.knobs import knobs_of
from hypot.policy.model.current_size import live
from hypot.policy.model.seen import Pod, PodSample, Seen, UsageView
from hypot.policy.model.settings import Settings
from hypot.policy.usage.usage import Usage
from hypot.policy.vertical.oom import last_oom, put_out
from hypot.run.outcome import Key
from hypot.run.store import usage_json, usage_text
from hypot.run.store.shard_text import USAGE
from hypot.run.store.thread import aside

# An autoscaler's container.
Subject = tuple[Key, str]
Named = tuple[str, str]

# How far in the future and in the past a sample may be: one too far ahead would make all others look old, and a sample
# without a time is from 1970.
AHEAD, OLDEST = 60.0, 86_400.0
# Pods, and new pods, that are processed in one slice: a few milliseconds.
POD_SLICE, NEW_POD_SLICE = 1500, 250
# Autoscalers whose usage is encoded at once.
ENCODED_AT_ONCE = 500


class Observed(NamedTuple):
    """How many samples were added, and how many OOM kills and evictions were new."""

    samples: int = 0
    ooms: int = 0


@dataclass(slots=True)
class _ObservedPod:
    """A pod of one autoscaler. `numbers` are its containers' instances; None before they are looked up."""

    at: float = -inf
    numbers: dict[str, int] | None = None
    # When each container was last OOM-killed, or evicted because of memory pressure.
    ooms: dict[str, float] = field(default_factory=dict)


@dataclass(slots=True)
class _Owner:
    autoscaler: Autoscaler
    rows: dict[str, int] = field(default_factory=dict)
    pods: dict[str, _ObservedPod] = field(default_factory=dict)
    # The last saved entry, and whether there is newer data.
    entry: bytes | None = None
    touched: bool = False


@dataclass(slots=True)
class _SampleBatch:
    """Samples to add at once. No sample time is later than `now`."""

    now: float
    pods: int = 0
    instances: list[int] = field(default_factory=list)
    times: list[float] = field(default_factory=list)
    cpu: list[float] = field(default_factory=list)
    memory: list[float] = field(default_factory=list)
    ooms: list[tuple[int, float, int]] = field(default_factory=list)


class _AllBut:
    """All pods but these."""

    def __init__(self, gone: Collection[str]) -> None:
        self._gone = frozenset(gone)

    def __contains__(self, pod: object) -> bool:
        return pod not in self._gone


def key_of(autoscaler: Autoscaler) -> Key:
    return autoscaler.KIND, autoscaler.namespace, autoscaler.name


def entry_key(key: Key) -> str:
    return USAGE + "/".join(key)


def _all(_key: str) -> bool:
    return True


class UsageHistory:
    """The histograms of all autoscalers that size pods. A new leader begins with an empty history."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._usage = Usage()
        self._owners: dict[Key, _Owner] = {}

    def declare(self, autoscaler: Autoscaler, containers: Iterable[str], now: float) -> Key:
        """Track these containers too, with the current knobs; cheap if nothing is new."""
        key = key_of(autoscaler)
        owner = self._owners.get(key)
        if owner is None:
            owner = self._owners[key] = _Owner(autoscaler)
        if owner.autoscaler is not autoscaler:
            owner.autoscaler = autoscaler
            for container in owner.rows:
                self._usage.declare(key, container, knobs_of(autoscaler, container, self._settings.vpa), now)
        new = [container for container in containers if container not in owner.rows]
        for container in new:
            owner.rows[container] = self._usage.declare(
                key, container, knobs_of(autoscaler, container, self._settings.vpa), now
            )
        if new:
            _look_up_again(owner)
        return key

    async def observe(
        self, samples: Mapping[Named, PodSample], pods: Mapping[Key, Collection[Pod]], now: float
    ) -> Observed:
        """Add the usage, OOM kills and evictions of the pods of each autoscaler; known ones change nothing."""
        self._forget_the_future(now)
        seen = Observed()
        for part in self._folding(samples, pods, now):
            seen = Observed(*(one + other for one, other in zip(seen, part, strict=True)))
            await asyncio.sleep(0)
        return seen

    def _forget_the_future(self, now: float) -> None:
        """After the clock was set back: times too far in the future count as now, or no sample would be new."""
        if not self._usage.set_back(now, AHEAD):
            return
        for owner in self._owners.values():
            owner.touched = True
            for tracked in owner.pods.values():
                if tracked.at > now + AHEAD:
                    tracked.at = -inf

    def _folding(
        self, samples: Mapping[Named, PodSample], pods: Mapping[Key, Collection[Pod]], now: float
    ) -> Iterator[Observed]:
        """Add samples in slices, so that other tasks do not wait long."""
        batch = _SampleBatch(now)
        for key, its in pods.items():
            owner = self._owners.get(key)
            if owner is None:
                continue
            for pod in (*live(its), *put_out(its)):
                sample = samples.get((key[1], pod.name))
                if sample is not None and not now - OLDEST < sample.at:
                    sample = None
                self._take(owner, pod, sample, batch)
                if batch.pods >= POD_SLICE:
                    yield self._fold(batch)
                    batch = _SampleBatch(now)
        yield self._fold(batch)

    def _take(self, owner: _Owner, pod: Pod, sample: PodSample | None, batch: _SampleBatch) -> None:
        uid = pod.uid or pod.name
        tracked = owner.pods.get(uid)
        if tracked is None:
            tracked = owner.pods[uid] = _ObservedPod()
        numbers = tracked.numbers
        if numbers is None:
            numbers = tracked.numbers = {
                c.name: self._usage.instance(owner.rows[c.name], uid) for c in pod.containers if c.name in owner.rows
            }
            batch.pods += POD_SLICE // NEW_POD_SLICE
        batch.pods += 1
        # A much older sample is new too: the clock that measured the last one was ahead and has been corrected.
        if sample is not None and not tracked.at - AHEAD <= sample.at <= tracked.at:
            tracked.at, owner.touched = sample.at, True
            for name, amounts in sample.containers:
                if name in numbers:
                    _add(batch, numbers[name], amounts, min(sample.at, batch.now))
        for container in pod.containers:
            if (container.ended is not None or pod.eviction is not None) and container.name in numbers:
                oom = last_oom(pod, container)
                # Every reconcile sees a kill again, but it counts once; if a clock was set back, the next seems older.
                if oom is not None and oom[0] != tracked.ooms.get(container.name):
                    tracked.ooms[container.name], owner.touched = oom[0], True
                    batch.ooms.append((numbers[container.name], *oom))

    def _fold(self, batch: _SampleBatch) -> Observed:
        """Add the batch; samples first, because they show which kills are already known."""
        if batch.instances:
            instances = np.array(batch.instances, np.intp)
            self._usage.fold(instances, np.array(batch.times), np.array(batch.cpu), np.array(batch.memory))
        ooms = [self._usage.oom(*oom) for oom in batch.ooms]
        return Observed(len(batch.instances), sum(ooms))

    def view(self, key: Key) -> UsageView | None:
        """The histograms of one autoscaler; None if nothing was ever measured."""
        owner = self._owners.get(key)
        if owner is None or not any(self._is_known(row) for row in owner.rows.values()):
            return None
        return self._usage.view(key)

    def usage(self, autoscaler: Autoscaler, seen: Seen, settings: Settings) -> tuple[UsageView | None, tuple[str, ...]]:
        """The same, with the signature that a snapshot expects."""
        del seen, settings
        return self.view(key_of(autoscaler)), ()

    def _is_known(self, row: int) -> bool:
        table = self._usage.aggregates
        return bool(table["samples"][row] or table["loaded"][row] or self._usage.memory.total[row])

    async def retain(self, pods: Collection[str]) -> None:
        """Drop all pods but these, by uid; their usage stays in the histograms."""
        gone: set[str] = set()
        for owner in self._owners.values():
            for uid in [uid for uid in owner.pods if uid not in pods]:
                del owner.pods[uid]
                gone.add(uid)
        listed = sorted(gone)
        for start in range(0, len(listed), NEW_POD_SLICE):
            self._usage.retain(_AllBut(listed[start : start + NEW_POD_SLICE]))
            await asyncio.sleep(0)

    def forget(self, key: Key) -> None:
        """Drop an autoscaler that is gone."""
        if self._owners.pop(key, None) is not None:
            self._usage.forget(key)

    def expire(self, now: float, contributing: Collection[str] | None = None) -> tuple[Subject, ...]:
        """Drop containers without samples for long; checks at most once an hour. See `policy.usage.Usage.expire`."""
        subjects: list[Subject] = []
        for declared, container in self._usage.expire(now, contributing):
            gone = cast("Key", declared), container
            subjects.append(gone)
            owner = self._owners[gone[0]]
            del owner.rows[container]
            owner.touched = True
            _look_up_again(owner)
        return tuple(subjects)

    # Saving and restoring across a restart.

    def owners(self) -> tuple[Key, ...]:
        return tuple(self._owners)

    def sampled(self) -> dict[Subject, float]:
        """Every container that was ever sampled, and the time of its last cpu sample."""
        last, samples = self._usage.aggregates["last"], self._usage.aggregates["samples"]
        return {
            (key, container): float(last[row])
            for key, owner in self._owners.items()
            for container, row in owner.rows.items()
            if samples[row]
        }

    def status(self, subject: Subject, now: float) -> dict[str, Any]:
        """The status of a checkpoint."""
        return self._usage.save(*subject, now)

    async def entries(self, now: float, due: Callable[[str], bool] = _all) -> dict[str, bytes]:
        """The usage entries to save: new ones, and those that are due and have newer data, are encoded again.

        An entry that is not encoded again is the same object.
        """
        waiting, found, time_slice = [], {}, TimeSlice()
        for key, owner in self._owners.items():
            name = entry_key(key)
            if owner.touched and (owner.entry is None or due(name)):
                waiting.append((name, owner))
            elif owner.entry is not None:
                found[name] = owner.entry
            if time_slice.is_due():
                await time_slice.take()
        for start in range(0, len(waiting), ENCODED_AT_ONCE):
            part = waiting[start : start + ENCODED_AT_ONCE]
            entries = await aside(self._encoded, [owner for _, owner in part], now)
            for (name, owner), entry in zip(part, entries, strict=True):
                owner.entry, owner.touched, found[name] = entry, False, entry
        return found

    def _encoded(self, owners: Iterable[_Owner], now: float) -> list[bytes]:
        """Runs in a thread: nothing else changes the histograms while a reconcile waits for it."""
        return usage_text.write(self._usage, [usage_text.Owned(each.rows, _windows(each)) for each in owners], now)

    async def resume(self, key: Key, entry: Mapping[str, Any] | bytes, now: float) -> list[str]:
        """Restore a declared autoscaler from a saved entry; return notes on the parts that cannot be used."""
        owner = self._owners[key]
        owner.touched = True
        if not isinstance(entry, bytes):
            return await self._resume_json(key, entry, now)
        try:
            found = usage_text.read(entry)
        except ValueError as error:
            return [f"the saved usage of {'/'.join(key)} is ignored: {error}"]
        owner.entry = entry

        def row(number: int, data: Any) -> None:
            usage_text.read_row(self._usage, number, data, found.at)

        def window(instance: int, data: Any) -> float:
            return usage_text.read_window(self._usage, instance, data, found.at)

        return self._resume_rows(key, found.rows, row, now) + await self._resume_pods(key, found.pods, window)

    async def _resume_json(self, key: Key, entry: Mapping[str, Any], now: float) -> list[str]:
        """The same for an entry of version 1."""
        at, usage = usage_json.written_at(entry) or now, self._usage
        containers = _mapping(entry.get("containers"))
        rows = self._resume_rows(
            key, containers, lambda row, data: usage_json.read_row(usage, row, _mapping(data), at), now
        )
        pods = {uid: _mapping(windows) for uid, windows in _mapping(entry.get("pods")).items()}
        return rows + await self._resume_pods(key, pods, lambda *given: usage_json.read_window(usage, *given))

    def _resume_rows(
        self, key: Key, containers: Mapping[str, Any], read: Callable[[int, Any], None], now: float
    ) -> list[str]:
        owner, notes = self._owners[key], []
        for container, data in containers.items():
            try:
                self._expect_empty((key, container), now)
                read(owner.rows[container], data)
            except ValueError as error:
                notes.append(f"the saved usage of container {container} of {'/'.join(key)} is ignored: {error}")
        return notes

    async def _resume_pods(
        self, key: Key, pods: Mapping[str, Mapping[str, Any]], read: Callable[[int, Any], float]
    ) -> list[str]:
        owner, notes, time_slice = self._owners[key], [], TimeSlice()
        for uid, windows in pods.items():
            pod = owner.pods.setdefault(uid, _ObservedPod())
            for container, data in windows.items():
                if container not in owner.rows:
                    continue
                try:
                    killed = read(self._usage.instance(owner.rows[container], uid), data)
                except ValueError as error:
                    notes.append(f"the saved usage of pod {uid} of {'/'.join(key)} is ignored: {error}")
                    continue
                if killed > -inf:
                    pod.ooms[container] = killed
            if time_slice.is_due():
                await time_slice.take()
        return notes

    def _expect_empty(self, subject: Subject, now: float) -> None:
        """Track this container of a declared autoscaler; ValueError if it has usage already."""
        key, container = subject
        self.declare(self._owners[key].autoscaler, (container,), now)
        if self.knows(subject):
            raise ValueError("its usage was measured or loaded before")

    def knows(self, subject: Subject) -> bool:
        """Whether anything was measured or loaded."""
        key, container = subject
        row = self._owners[key].rows.get(container) if key in self._owners else None
        return row is not None and self._is_known(row)

    def load(self, subject: Subject, status: Any, now: float) -> None:
        """Begin with the status of a checkpoint; a ValueError says why that is impossible."""
        self._expect_empty(subject, now)
        try:
            self._usage.load(*subject, status)
        except OverflowError as error:
            raise ValueError(f"a number is too large: {error}") from error
        self._owners[subject[0]].touched = True


def _look_up_again(owner: _Owner) -> None:
    """Look up all instances again, because rows were added or removed."""
    for pod in owner.pods.values():
        pod.numbers = None


def _add(batch: _SampleBatch, number: int, amounts: Mapping[str, int], at: float) -> None:
    """Add one sample to the batch; -1 means not measured."""
    memory = amounts.get("memory")
    batch.instances.append(number)
    batch.times.append(at)
    batch.cpu.append(amounts.get("cpu", -1))
    batch.memory.append(-1 if memory is None else of_milli(MEMORY, memory))


def _windows(owner: _Owner) -> dict[str, list[usage_text.Window]]:
    return {
        uid: [(name, number, pod.ooms.get(name, -inf)) for name, number in pod.numbers.items()]
        for uid, pod in owner.pods.items()
        if pod.numbers
    }


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}
