"""The state in ConfigMaps: read once at the start, written once per reconcile, whatever the number of objects."""

import asyncio
import time
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple, TypeVar

import msgspec

from hypot.cluster.port import Answer, MayNotWriteError, Port, RefusedError, Request, UnreachableError, encoded
from hypot.policy.model.decision import show_time
from hypot.run.requests import MANAGER, WRITE_WITHIN
from hypot.run.store import shard_text
from hypot.run.store.shard_text import (
    FULL,
    RESIDUES,
    VERSION,
    BrokenError,
    NewerStateError,
    ShardPlace,
    UnknownVersionError,
)
from hypot.run.time_slice import TimeSlice

Entries = Mapping[str, Mapping[str, Any]]
Clock = Callable[[], float]
T = TypeVar("T")

PREFIX = "hypot-state"
LABELS = {"app.kubernetes.io/name": "hypot", "hypot.dev/state": "true"}
UNUSED = ShardPlace(0, 0, 0)
SELECTOR = ",".join(f"{name}={value}" for name, value in LABELS.items())
# Not the shared executor: it is full while name lookups of recommenders hang.
_THREAD = ThreadPoolExecutor(1, "state")


class LoadedState(NamedTuple):
    """The saved state; not complete if parts of it may be missing."""

    entries: dict[str, dict[str, Any]]
    notes: tuple[str, ...]
    complete: bool


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

    async def opened(self) -> dict[str, msgspec.Raw]:
        return await _aside(shard_text.opened, self.packed)

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
    """An entry and its JSON: the same entry object need not be encoded again."""

    entry: Mapping[str, Any]
    text: bytes


class Shards:
    """The state in at most sixteen ConfigMaps. Only one call at a time."""

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
        self._written: dict[int, dict[str, bytes]] = {}
        self._texts: dict[str, _EntryText] = {}

    async def load(self) -> LoadedState:
        """The state of earlier reconciles. Raises if the API server does not answer: then nothing is known about it.

        Raises NewerStateError if a newer hypot wrote any of it.
        """
        shards, notes = [], []
        for found in await self._look():
            try:
                place = found.place()
                shards.append((place, await self._read(await found.opened())))
            except (BrokenError, UnknownVersionError) as error:
                notes.append(f"ConfigMap {self._namespace}/{found.metadata.name} cannot be used: {error}")
        entries, missing = shard_text.joined(shards)
        if not shards and not notes:
            notes.append(f"there is no state in namespace {self._namespace}: no ConfigMap has the labels {SELECTOR}")
        elif missing:
            share = f"{len(missing)} of {RESIDUES} parts of the state"
            notes.append(f"{share} are missing in the ConfigMaps {self._prefix}-* of namespace {self._namespace}")
        return LoadedState(entries, tuple(notes), complete=not missing)

    async def check(self) -> None:
        """Raise NewerStateError if a newer hypot wrote any of the state."""
        await self._look()

    async def _read(self, texts: Mapping[str, msgspec.Raw]) -> dict[str, dict[str, Any]]:
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

    async def save(self, entries: Entries) -> list[str]:
        """Write the changed shards; return what failed. The caller must not change an entry after passing it.

        Raises NewerStateError if a newer hypot wrote in between.
        """
        if not self._looked:
            try:
                await self._look()
            except (UnreachableError, RefusedError) as error:
                return [f"the state was not written, because its ConfigMaps cannot be listed: {error}"]
        texts = await self._encoded(entries)
        packed, notes = await self._packed(texts, entries)
        return notes + await self._write(packed, texts)

    async def _encoded(self, entries: Entries) -> dict[str, bytes]:
        """Each entry as JSON; entries that are the same objects as last time are not encoded again."""
        known, time_slice = self._texts, TimeSlice()
        self._texts = {}
        for key, entry in entries.items():
            before = known.pop(key, None)
            if before is not None and before.entry is entry:
                self._texts[key] = before
                continue
            self._texts[key] = _EntryText(entry, encoded(entry))
            if time_slice.is_due():
                await time_slice.take()
        return {key: each.text for key, each in self._texts.items()}

    async def _packed(self, texts: dict[str, bytes], entries: Entries) -> tuple[dict[int, bytes], list[str]]:
        """The changed shards by number, and notes; split into more shards if any is too large.

        Entries that still do not fit are removed from the texts.
        """
        while True:
            parts = self._changed(texts)
            packed = {index: await _packed(part) for index, part in parts.items()}
            weights = {index: _weight(packed[index], parts[index]) for index in parts}
            count = shard_text.grown(self._count, max(weights.values(), default=0))
            if count == self._count:
                break
            self._count = count
            self._generation += 1
            self._written.clear()
        notes = []
        for index in [index for index in parts if weights[index] > FULL]:
            packed[index], dropped = await self._cut(parts[index], weights[index], entries)
            for key in dropped:
                del texts[key]
            some = ", ".join(sorted(dropped)[:3])
            kept = f"{len(parts[index]) - len(dropped)} of {len(parts[index])} entries"
            message = f"the state is full: shard {index + 1} of {self._count} keeps the latest {kept}"
            notes.append(
                f"{message}; {some}{' and others' if len(dropped) > 3 else ''} will start without state after a restart"
            )
        return packed, notes

    async def _cut(self, part: Mapping[str, bytes], size: int, entries: Entries) -> tuple[bytes, set[str]]:
        """The entries that fit into one shard, packed, and the keys of those that do not."""
        kept = dict(part)
        packed = b""
        while size > FULL:
            # A little less than would fit if all entries compressed equally, and at least one byte less.
            room = min(sum(map(len, kept.values())) - 1, int(sum(map(len, kept.values())) * FULL / size * 0.95))
            ages = [(key, shard_text.seen_at(entries[key]), len(text)) for key, text in kept.items()]
            fits = shard_text.latest(ages, room)
            kept = {key: kept[key] for key in kept if key in fits}
            packed = await _packed(kept)
            size = _weight(packed, kept)
        return packed, set(part) - set(kept)

    def _changed(self, texts: Mapping[str, bytes]) -> dict[int, dict[str, bytes]]:
        parts = shard_text.spread(texts, self._count)
        return {index: part for index, part in enumerate(parts) if part != self._written.get(index)}

    async def _write(self, packed: Mapping[int, bytes], texts: Mapping[str, bytes]) -> list[str]:
        """Write all changed shards at once; after a change of the number of shards, one step after the other.

        A split moves keys to shards whose numbers have more binary digits. These are written first, so that a stop in
        between loses nothing. Shards that are no longer used come last.
        """
        parts = shard_text.spread(texts, self._count)
        settled = all(index in self._written for index in range(self._count))
        for step in [packed] if settled else _steps(packed):
            notes = await self._put_all({index: (self._place(index), packed[index], parts[index]) for index in step})
            if notes:
                return notes
        unused = [index for index in self._versions if index >= self._count and self._written.get(index) != {}]
        return await self._put_all({index: (UNUSED, shard_text.pack({}), {}) for index in unused})

    def _place(self, index: int) -> ShardPlace:
        return ShardPlace(index, self._count, self._generation)

    async def _put_all(self, shards: Mapping[int, tuple[ShardPlace, bytes, dict[str, bytes]]]) -> list[str]:
        notes = await asyncio.gather(*(self._put(index, *shard) for index, shard in shards.items()))
        return [note for note in notes if note]

    async def _put(self, index: int, place: ShardPlace, packed: bytes, part: dict[str, bytes]) -> str:
        """Write one shard; return what failed, or an empty text."""
        name, version = f"{self._prefix}-{index}", self._versions.get(index)
        body = encoded(self._config_map(name, version, place, packed))
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
        self._written[index] = part
        self._taken.discard(index)
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
            self._written.pop(index, None)
            return f"it was deleted; the next reconcile creates it again ({answer.message})"
        return f"{answer.status} {answer.message}"

    def _config_map(self, name: str, version: str | None, place: ShardPlace, packed: bytes) -> dict[str, Any]:
        metadata = {"name": name, "namespace": self._namespace, "labels": LABELS}
        reported = {
            "version": str(VERSION),
            "written": show_time(self._clock()),
            "count": str(place),
            "generation": str(place.generation),
        }
        return {
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": metadata if version is None else {**metadata, "resourceVersion": version},
            "data": reported,
            "binaryData": {"state": packed},
        }


def _steps(numbers: Iterable[int]) -> list[list[int]]:
    """The numbers grouped by their binary digits: 8 to 15, 4 to 7, 2 and 3, 1, 0."""
    by_length: dict[int, list[int]] = {}
    for number in numbers:
        by_length.setdefault(number.bit_length(), []).append(number)
    return [by_length[length] for length in sorted(by_length, reverse=True)]


def _generations(found: Iterable[_ConfigMap]) -> list[int]:
    """The generations that can be read; unreadable ones are reported when the entries are read."""
    numbers = [(each.data or {}).get("generation", "") for each in found]
    return [int(number) for number in numbers if number.isdecimal() and len(number) < 16]


async def _packed(part: Mapping[str, bytes]) -> bytes:
    """The shard as bytes; compressed in a thread, so that other tasks can run."""
    return await _aside(shard_text.pack, {key: msgspec.Raw(text) for key, text in part.items()})


async def _aside(work: Callable[[Any], T], given: Any) -> T:
    return await asyncio.get_running_loop().run_in_executor(_THREAD, work, given)


def _weight(packed: bytes, part: Mapping[str, bytes]) -> int:
    return shard_text.weight(len(packed), sum(map(len, part.values())))
