"""Memory as bytes: packed, checked, and spread over a few shards. Nothing here talks to a cluster.

A key belongs to a shard by its checksum, modulo the number of shards. That number is a power of two, so a shard of any
number holds all keys of some of sixteen residues, and shards of different numbers can be compared residue by residue.
"""

import struct
import zlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import msgspec

VERSION = 1
COUNTS = (1, 2, 4, 8, 16)
RESIDUES = COUNTS[-1]
# A shard that grows above this is split, as long as there may be more of them.
ROOMY = 512 * 1024
# No shard may be larger: a ConfigMap ends at 1 MiB.
FULL = 700 * 1024
# What a shard may be once unpacked: a small text can be made to grow without end.
LARGEST = 32 * 1024 * 1024

_MAGIC = b"hypm"
# Magic, version, checksum of what follows.
_HEADER = struct.Struct(">4sHI")
# The fastest: the next levels take twice the time for a tenth of the size.
_LEVEL = 1

T = TypeVar("T")


class BrokenError(ValueError):
    """The bytes are no state of ours, or were changed on their way."""


class UnknownVersionError(ValueError):
    """Written by a hypot that keeps its state in another form."""


@dataclass(frozen=True, slots=True)
class ShardPlace:
    """Which shard of how many, and of which generation: one begins whenever shards are counted anew.

    A count of 0 is a shard that is not used any more.
    """

    index: int
    count: int
    generation: int

    def covers(self, residue: int) -> bool:
        return self.count > 0 and residue % self.count == self.index

    def __str__(self) -> str:
        return f"{self.index + 1} of {self.count}" if self.count else "unused"


def pack(entries: Mapping[str, Any], version: int = VERSION) -> bytes:
    """Values may be texts that are JSON already, as `msgspec.Raw`."""
    payload = zlib.compress(msgspec.json.encode(dict(entries)), _LEVEL)
    return _HEADER.pack(_MAGIC, version, zlib.crc32(payload)) + payload


def unpack(data: bytes) -> dict[str, dict[str, Any]]:
    return {key: read_entry(key, text) for key, text in opened(data).items()}


def opened(data: bytes) -> dict[str, msgspec.Raw]:
    """The entries by key, each still a text: reading all of them at once takes long."""
    if len(data) < _HEADER.size:
        raise BrokenError("the state is cut off: it has no header")
    magic, version, checksum = _HEADER.unpack_from(data)
    if magic != _MAGIC:
        raise BrokenError("this is no state of hypot: it does not begin as one")
    if version != VERSION:
        raise UnknownVersionError(f"the state has version {version}, and only {VERSION} can be read")
    payload = memoryview(data)[_HEADER.size :]
    if zlib.crc32(payload) != checksum:
        raise BrokenError("the state was changed or cut off: its checksum is wrong")
    return _decoded(_inflated(payload))


def _inflated(payload: memoryview) -> bytes:
    inflating = zlib.decompressobj()
    try:
        text = inflating.decompress(payload, LARGEST)
    except zlib.error as error:
        raise BrokenError(f"the state cannot be unpacked: {error}") from error
    if not inflating.eof:
        raise BrokenError(f"the state is larger than {LARGEST} bytes once unpacked, or cut off")
    return text


def _decoded(text: bytes) -> dict[str, msgspec.Raw]:
    try:
        return msgspec.json.decode(text, type=dict[str, msgspec.Raw])
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise BrokenError(f"the state cannot be read: {error}") from error


def read_entry(key: str, text: msgspec.Raw) -> dict[str, Any]:
    try:
        return msgspec.json.decode(text, type=dict[str, Any])
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise BrokenError(f"the state of {key} cannot be read: {error}") from error


def shard_of(key: str, count: int) -> int:
    """The same in every process and release."""
    return zlib.crc32(key.encode(errors="surrogatepass")) % count


def spread(entries: Mapping[str, T], count: int) -> list[dict[str, T]]:
    shards: list[dict[str, T]] = [{} for _ in range(count)]
    for key, entry in entries.items():
        shards[shard_of(key, count)][key] = entry
    return shards


def weight(packed: int, unpacked: int) -> int:
    """How large a shard counts as: one that could not be read again is as bad as one that cannot be stored."""
    return max(packed, unpacked * FULL // LARGEST)


def grown(count: int, largest: int) -> int:
    """How many shards there should be, where the largest of so many weighs this much; never fewer than there are."""
    for more in COUNTS:
        if more >= count and largest * count <= ROOMY * more:
            return more
    return COUNTS[-1]


def newest(places: Sequence[ShardPlace]) -> dict[int, int]:
    """For each residue which of these shards has the last word on it; a residue that no shard covers is absent."""
    found: dict[int, int] = {}
    for at, place in sorted(enumerate(places), key=lambda each: each[1].generation):
        found.update({residue: at for residue in range(RESIDUES) if place.covers(residue)})
    return found


def joined(shards: Sequence[tuple[ShardPlace, Mapping[str, T]]]) -> tuple[dict[str, T], frozenset[int]]:
    """The newest entry of each key, and the residues of keys that nothing is known of.

    Whoever was stopped in the middle of splitting left old shards beside new ones. A key that the newest shard of its
    residue does not have was forgotten on purpose, whatever older ones say.
    """
    speaker = newest([place for place, _ in shards])
    entries = {
        key: entry
        for at, (_, held) in enumerate(shards)
        for key, entry in held.items()
        if speaker.get(shard_of(key, RESIDUES)) == at
    }
    return entries, frozenset(range(RESIDUES)) - frozenset(speaker)


def seen_at(entry: Mapping[str, Any]) -> float:
    """When the object was last looked at; one that does not say so is the oldest."""
    seen = entry.get("seen")
    at = seen.get("at") if isinstance(seen, Mapping) else None
    return float(at) if isinstance(at, int | float) else 0.0


def latest(entries: Iterable[tuple[str, float, int]], room: int) -> set[str]:
    """Of keys with the times they were seen at and their sizes, those seen last that fit into the room together."""
    kept: set[str] = set()
    for key, _, size in sorted(entries, key=lambda entry: entry[1], reverse=True):
        room -= size
        if room < 0:
            break
        kept.add(key)
    return kept
