"""The state in ConfigMaps: read once at the start, and written where it changed, whatever the number of objects."""

import asyncio
import time
from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple

import msgspec

from hypot.cluster.port import Answer, MayNotWriteError, Port, RefusedError, Request, UnreachableError, encoded
from hypot.cluster.time_slice import TimeSlice
from hypot.core.instant import show_time
from hypot.run.requests import MANAGER, WRITE_WITHIN
from hypot.run.store import shard_text
from hypot.run.store.shard_text import (
    FULL,
    RESIDUES,
    USAGE,
    VERSION,
    BrokenError,
    NewerStateError,
    OpenedShard,
    ShardPlace,
    UnknownVersionError,
)
from hypot.run.store.thread import aside

# An entry is a JSON object, or bytes.
Entry = Mapping[str, Any] | bytes
Clock = Callable[[], float]

PREFIX = "hypot-state"
LABELS = {"app.kubernetes.io/name": "hypot", "hypot.dev/state": "true"}
UNUSED = ShardPlace(0, 0, 0)
SELECTOR = ",".join(f"{name}={value}" for name, value in LABELS.items())
# How often a shard is written because usage was measured, and the least time between two such shards, in seconds.
USAGE_EVERY, SHARD_EVERY = 600.0, 60.0
# Shards that are written at the same time.
AT_ONCE = 4


class LoadedState(NamedTuple):
    """The saved state; not complete if any ConfigMap is missing or cannot be used."""

    entries: dict[str, Any]
    notes: tuple[str, ...]
    complete: bool
    # The residues whose shard could not hold all of its entries.
    overfull: frozenset[int] = frozenset()

    def lost(self, key: str) -> bool:
        """Whether there may have been an entry that did not fit; otherwise a missing entry means a new object."""
        return key not in self.entries and shard_text.shard_of(key, RESIDUES) in self.overfull


class _ShardMetadata(msgspec.Struct, rename="camel"):
    name: str = ""
    resource_version: str = ""


class _ConfigMap(msgspec.Struct, rename="camel"):
    metadata: _ShardMetadata
    data: dict[str, str] | None = None
    binary_data: dict[str, bytes] | None = None

    def place(self) -> ShardPlace:
        """The place that its data names."""
        data = self.data or {}
        if data.get("count") == "unused":
            return UNUSED
        try:
            index, count = data["count"].split(" of ")
            place = ShardPlace(int(index) - 1, int(count), int(data["generation"]))
        except (KeyError, ValueError):
            raise BrokenError("it does not say which shard it is") from None
        if place.count not in shard_text.COUNTS or not 0 <= place.index < place.count:
            raise BrokenError(f"there is no shard {place}")
        return place

    @property
    def packed(self) -> bytes:
        return (self.binary_data or {}).get("state", b"")

    def version(self) -> int:
        """The version of its format. A newer format may have another header, so what its data says counts too."""
        said = (self.data or {}).get("version", "")
        return max(shard_text.version_of(self.packed), int(said) if said.isdecimal() and len(said) < 6 else 0)

    async def opened(self) -> OpenedShard:
        return await aside(shard_text.opened, self.packed)

    async def is_ours(self) -> bool:
        """Whether the content is hypot's state; for a ConfigMap without the labels."""
        try:
            self.place()
            await self.opened()
        except BrokenError:
            return False
        except UnknownVersionError:
            pass
        return True


class _ConfigMaps(msgspec.Struct):
    items: list[_ConfigMap]


class _EntryText(NamedTuple):
    """An entry and its text: the same entry object need not be encoded again."""

    entry: Entry
    text: bytes
    residue: int


class _Shard(NamedTuple):
    """A shard as it is written. `weight` is the size that counts, before anything was dropped."""

    place: ShardPlace
    packed: bytes
    weight: int = 0
    dropped: int = 0


class Shards:
    """The state in at most 64 ConfigMaps. Only one call at a time."""

    def __init__(self, port: Port, namespace: str, prefix: str = PREFIX, *, clock: Clock = time.time) -> None:
        self._port, self._prefix, self._clock = port, prefix, clock
        self._namespace = namespace
        self._path = f"/api/v1/namespaces/{namespace}/configmaps"
        self._count, self._generation = 1, 0
        # Whether the ConfigMaps were listed, and their resourceVersions by the number in their name.
        self._looked = False
        self._versions: dict[int, str] = {}
        # ConfigMaps that another client wrote or created: they may have lost their labels.
        self._taken: set[int] = set()
        self._texts: dict[str, _EntryText] = {}
        self._parts: list[dict[str, bytes]] = [{} for _ in range(RESIDUES)]
        # About what all entries take together, so that they are not packed twice at the start.
        self._estimate = 0
        # The residues that changed since they were written.
        self._changed: set[int] = set()
        # The shards in use that are in their ConfigMap, what was dropped from them and what they weigh.
        self._written: set[int] = set()
        self._dropped: dict[int, str] = {}
        self._weights: dict[int, int] = {}
        # The ConfigMaps that are no longer used and say so.
        self._emptied: set[int] = set()
        # The shard whose usage was encoded last, and when.
        self._turn, self._turned = -1, -USAGE_EVERY

    async def load(self) -> LoadedState:
        """The state of earlier reconciles. Raises if the API server does not answer: then nothing is known about it.

        Raises NewerStateError if a newer hypot wrote any of it.
        """
        shards, dropped, notes = [], [], []
        for found in await self._look():
            try:
                place, opened = found.place(), await found.opened()
                shards.append((place, await self._read(opened.entries)))
                dropped.append(opened.dropped)
            except (BrokenError, UnknownVersionError) as error:
                notes.append(f"ConfigMap {self._namespace}/{found.metadata.name} cannot be used: {error}")
        speaker = shard_text.newest([place for place, _ in shards])
        overfull = frozenset(residue for residue, at in speaker.items() if dropped[at])
        entries, missing = shard_text.joined(shards)
        if not shards and not notes:
            notes.append(f"there is no state in namespace {self._namespace}: no ConfigMap has the labels {SELECTOR}")
        elif missing:
            share = f"{len(missing)} of {RESIDUES} parts of the state"
            notes.append(f"{share} are missing in the ConfigMaps {self._prefix}-* of namespace {self._namespace}")
        if lost := sum(dropped[at] for at in set(speaker.values())):
            notes.append(f"{lost} entries did not fit into the state: their objects start without it")
        return LoadedState(entries, tuple(notes), not missing, overfull)

    async def check(self) -> None:
        """Raise NewerStateError if a newer hypot wrote any of the state."""
        await self._look()

    async def _read(self, texts: Mapping[str, bytes]) -> dict[str, Any]:
        entries, time_slice = {}, TimeSlice()
        for key, text in texts.items():
            entries[key] = shard_text.read_entry(key, text)
            if time_slice.is_due():
                await time_slice.take()
        return entries

    async def _look(self) -> list[_ConfigMap]:
        """The ConfigMaps as they are now. The next write has a newer generation than all of them."""
        listed = await self._list({"labelSelector": SELECTOR})
        found = {index: each for each in listed if (index := self._index(each.metadata.name)) is not None}
        for index in self._taken.difference(found):
            named = await self._list({"fieldSelector": f"metadata.name={self._prefix}-{index}"})
            found.update([(index, each) for each in named if await each.is_ours()])
        self._leave_newer(found.values())
        self._versions = {index: each.metadata.resource_version for index, each in found.items()}
        self._generation = 1 + max([self._generation, *_generations(found.values())])
        self._written.clear()
        self._emptied.clear()
        self._looked = True
        return list(found.values())

    def _leave_newer(self, found: Iterable[_ConfigMap]) -> None:
        for each in found:
            if each.version() > VERSION:
                what = f"ConfigMap {self._namespace}/{each.metadata.name} has state of version {each.version()}"
                raise NewerStateError(
                    f"{what} from a newer hypot, and this one reads version {VERSION}: run the newer hypot, or delete "
                    f"the ConfigMaps {self._prefix}-* to start without state"
                )

    async def _list(self, query: Mapping[str, str]) -> list[_ConfigMap]:
        request = Request("GET", self._path, query)
        answer = await self._port.call(request)
        if not answer.ok:
            raise RefusedError(request, answer)
        try:
            return msgspec.json.decode(answer.body, type=_ConfigMaps).items
        except msgspec.DecodeError as error:
            raise UnreachableError(f"GET {self._path}: the answer is not a list of ConfigMaps: {error}") from error

    def _index(self, name: str) -> int | None:
        number = name.removeprefix(f"{self._prefix}-")
        known = name != number and number.isdecimal() and str(int(number)) == number and int(number) < RESIDUES
        return int(number) if known else None

    def due(self, at: float) -> Callable[[str], bool]:
        """Which entries of usage should be encoded again now: those of one shard after the other.

        Each shard has its turn every 10 minutes, and only one in a minute. `at` is a time on a steady clock.
        """
        if at - self._turned < max(USAGE_EVERY / self._count, SHARD_EVERY):
            return lambda _key: False
        self._turn, self._turned = (self._turn + 1) % self._count, at
        turn, count = self._turn, self._count
        return lambda key: shard_text.shard_of(key, count) == turn

    @property
    def used(self) -> float:
        """How much of the possible state is used; nothing more fits at 1."""
        return shard_text.used_share(self._count, max(self._weights.values(), default=0))

    @property
    def full(self) -> tuple[str, ...]:
        """What did not fit into the state that was saved last."""
        return tuple(self._dropped.values())

    async def save(self, entries: Mapping[str, Entry]) -> list[str]:
        """Write the changed shards; return what failed. No passed entry may change later.

        Raises NewerStateError if a newer hypot wrote in between.
        """
        if not self._looked:
            try:
                await self._look()
            except (UnreachableError, RefusedError) as error:
                return [f"the state was not written, because its ConfigMaps cannot be listed: {error}"]
        await self._take(entries)
        return await self._write(await self._packed())

    async def _take(self, entries: Mapping[str, Entry]) -> None:
        """Encode each entry; entries that are the same objects as last time are not encoded again."""
        time_slice = TimeSlice()
        for key, entry in entries.items():
            known = self._texts.get(key)
            if known is None or known.entry is not entry:
                self._encode(key, entry, known)
            if time_slice.is_due():
                await time_slice.take()
        if len(self._texts) > len(entries):
            for key in [key for key in self._texts if key not in entries]:
                known = self._texts.pop(key)
                self._estimate -= _about(known.text)
                del self._parts[known.residue][key]
                self._changed.add(known.residue)

    def _encode(self, key: str, entry: Entry, known: _EntryText | None) -> None:
        text = entry if isinstance(entry, bytes) else encoded(entry)
        residue = shard_text.shard_of(key, RESIDUES) if known is None else known.residue
        self._texts[key] = _EntryText(entry, text, residue)
        if known is None or known.text != text:
            self._estimate += _about(text) - (0 if known is None else _about(known.text))
            self._parts[residue][key] = text
            self._changed.add(residue)

    async def _packed(self) -> dict[int, _Shard]:
        """The shards to write by number; split into more shards if any is too large."""
        if not self._written:
            self._grow(shard_text.grown(self._count, self._estimate // self._count))
        while True:
            shards = {index: await self._pack(index) for index in self._stale()}
            count = shard_text.grown(self._count, max([shard.weight for shard in shards.values()], default=0))
            if count == self._count:
                break
            self._grow(count)
        for index, shard in shards.items():
            self._weights[index] = shard.weight
            self._dropped.pop(index, None)
            if shard.weight > FULL:
                shards[index] = await self._cut(index, shard)
        return shards

    def _grow(self, count: int) -> None:
        if count != self._count:
            self._count = count
            self._generation += 1
            self._written.clear()
            self._weights.clear()
            self._dropped.clear()

    def _stale(self) -> list[int]:
        changed = {residue % self._count for residue in self._changed}
        return [index for index in range(self._count) if index in changed or index not in self._written]

    def _part(self, index: int) -> dict[str, bytes]:
        """The entries of a shard. Usage comes last: it has little in common with the rest, which compresses well."""
        part = {key: text for part in self._parts[index :: self._count] for key, text in part.items()}
        return dict(sorted(part.items(), key=lambda item: item[0].startswith(USAGE)))

    async def _pack(self, index: int) -> _Shard:
        part = self._part(index)
        packed = await aside(shard_text.pack, part)
        return _Shard(self._place(index), packed, _weight(packed, part))

    async def _cut(self, index: int, shard: _Shard) -> _Shard:
        """The shard with the entries that fit into it; it says how many do not."""
        part = kept = self._part(index)
        packed, weight = shard.packed, shard.weight
        while weight > FULL:
            # A little less than would fit, and at least one byte less.
            sizes = {key: _about(text) for key, text in kept.items()}
            size = sum(sizes.values())
            fits = shard_text.that_fit(sizes, min(size - 1, int(size * FULL / weight * 0.95)))
            if len(fits) == len(kept):
                break
            kept = {key: text for key, text in kept.items() if key in fits}
            packed = await aside(shard_text.pack, kept, len(part) - len(kept))
            weight = _weight(packed, kept)
        dropped = sorted(set(part) - set(kept))
        if dropped:
            some = ", ".join(dropped[:3]) + (" and others" if len(dropped) > 3 else "")
            self._dropped[index] = (
                f"the state is full: shard {shard.place} keeps {len(kept)} of {len(part)} entries; {some} will start "
                "without state after a restart"
            )
        return shard._replace(packed=packed, dropped=len(dropped))

    async def _write(self, shards: Mapping[int, _Shard]) -> list[str]:
        """Write all changed shards; after a change of the number of shards, one step after the other.

        A split moves keys to shards whose numbers have more binary digits. These are written first, so that a stop in
        between loses nothing. Shards that are no longer used come last.
        """
        settled = all(index in self._written for index in range(self._count))
        for step in [shards] if settled else _steps(shards):
            if notes := await self._put_all({index: shards[index] for index in step}):
                return notes
        unused = [index for index in self._versions if index >= self._count and index not in self._emptied]
        return await self._put_all({index: _Shard(UNUSED, shard_text.pack({})) for index in unused})

    def _place(self, index: int) -> ShardPlace:
        return ShardPlace(index, self._count, self._generation)

    async def _put_all(self, shards: Mapping[int, _Shard]) -> list[str]:
        limit = asyncio.Semaphore(AT_ONCE)

        async def put(index: int, shard: _Shard) -> str:
            async with limit:
                return await self._put(index, shard)

        notes = await asyncio.gather(*(put(index, shard) for index, shard in shards.items()))
        return [note for note in notes if note]

    async def _put(self, index: int, shard: _Shard) -> str:
        """Write one shard; return what failed, or an empty text."""
        place, name, version = shard.place, f"{self._prefix}-{index}", self._versions.get(index)
        body = encoded(self._config_map(name, version, shard))
        query = {"fieldManager": MANAGER}
        request = (
            Request("POST", self._path, query, body, timeout=WRITE_WITHIN)
            if version is None
            else Request("PUT", f"{self._path}/{name}", query, body, timeout=WRITE_WITHIN)
        )
        what = f"shard {place} of the state was not written to ConfigMap {self._namespace}/{name}"
        try:
            answer = await self._port.call(request)
        except UnreachableError as error:
            # It may have been written, and then its version has changed.
            self._looked = False
            return f"{what}: {error}"
        except MayNotWriteError as error:
            return f"{what}: {error}"
        if not answer.ok:
            return f"{what}: {self._refused(index, answer)}"
        self._versions[index] = msgspec.json.decode(answer.body, type=_ConfigMap).metadata.resource_version
        self._taken.discard(index)
        if place is UNUSED:
            self._emptied.add(index)
        else:
            self._written.add(index)
            self._changed.difference_update(range(index, RESIDUES, self._count))
        return ""

    def _refused(self, index: int, answer: Answer) -> str:
        if answer.conflict:
            self._looked = False
            if index in self._taken and index not in self._versions:
                return f"the object of that name is not hypot's state, and is left alone ({answer.message})"
            self._taken.add(index)
            return f"another client wrote it; the next reconcile overwrites that ({answer.message})"
        if answer.gone:
            self._versions.pop(index, None)
            self._written.discard(index)
            return f"it was deleted; the next reconcile creates it again ({answer.message})"
        return f"{answer.status} {answer.message}"

    def _config_map(self, name: str, version: str | None, shard: _Shard) -> dict[str, Any]:
        metadata = {"name": name, "namespace": self._namespace, "labels": LABELS}
        reported = {
            "version": str(VERSION),
            "written": show_time(self._clock()),
            "count": str(shard.place),
            "generation": str(shard.place.generation),
            **({"dropped": str(shard.dropped)} if shard.dropped else {}),
        }
        return {
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": metadata if version is None else {**metadata, "resourceVersion": version},
            "data": reported,
            "binaryData": {"state": shard.packed},
        }


def _steps(numbers: Iterable[int]) -> list[list[int]]:
    """The numbers grouped by their binary digits: 8 to 15, 4 to 7, 2 and 3, 1, 0, for example."""
    by_length: dict[int, list[int]] = {}
    for number in numbers:
        by_length.setdefault(number.bit_length(), []).append(number)
    return [by_length[length] for length in sorted(by_length, reverse=True)]


def _generations(found: Iterable[_ConfigMap]) -> list[int]:
    """The generations that can be read; unreadable ones are reported when the entries are read."""
    numbers = [(each.data or {}).get("generation", "") for each in found]
    return [int(number) for number in numbers if number.isdecimal() and len(number) < 16]


def _about(text: bytes) -> int:
    """About what an entry takes once packed: JSON compresses well, usage does not."""
    return 10 + (len(text) // 9 if text.startswith(b"{") else len(text) * 4 // 7)


def _weight(packed: bytes, part: Mapping[str, bytes]) -> int:
    return shard_text.weight(len(packed), sum(map(len, part.values())))
