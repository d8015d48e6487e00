"""The state as bytes: compressed, with a checksum, in a few shards. Nothing here talks to a cluster.

The checksum of a key, modulo the number of shards, gives its shard. That number is a power of two, so any shard holds
all keys of some of 64 residues, and shards of different numbers can be compared residue by residue.

An entry is JSON, or binary if it does not begin as a JSON object does. Version 1 had only JSON, and at most 16 shards.
"""

import struct
import zlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeVar

import msgspec

VERSION = 2
COUNTS = (1, 2, 4, 8, 16, 32, 64)
RESIDUES = COUNTS[-1]
# A shard that becomes larger than this is split, as long as more shards are allowed.
ROOMY = 768 * 1024
# No shard may be larger: a ConfigMap holds at most 1 MiB.
FULL = 960 * 1024
# The largest size of a decompressed shard: a small payload could decompress without limit.
LARGEST = 32 * 1024 * 1024
# The prefix of entries with usage.
USAGE = "usage/"

_MAGIC = b"hypm"
# Magic, version, checksum of the payload.
_HEADER = struct.Struct(">4sHI")
# The next levels take twice the time to save a tenth of the size.
_LEVEL = 3

T = TypeVar("T")


class BrokenError(ValueError):
    """The bytes are not hypot's state, or were changed."""


class UnknownVersionError(ValueError):
    """The state was written by a hypot version with another format."""


class NewerStateError(Exception):
    """A newer hypot wrote the state. This one must not replace it."""


@dataclass(frozen=True, slots=True)
class ShardPlace:
    """Which shard of how many, and of which generation: each change of the number of shards begins a new one.

    A count of 0 means a shard that is no longer used.
    """

    index: int
    count: int
    generation: int

    def covers(self, residue: int) -> bool:
        return self.count > 0 and residue % self.count == self.index

    def __str__(self) -> str:
        return f"{self.index + 1} of {self.count}" if self.count else "unused"


class OpenedShard(NamedTuple):
    """The entries of a shard, still encoded, and how many others did not fit into it."""

    entries: dict[str, bytes]
    dropped: int = 0


class _Content(msgspec.Struct, array_like=True):
    entries: dict[str, bytes]
    dropped: int = 0


def pack(entries: Mapping[str, Any], dropped: int = 0, version: int = VERSION) -> bytes:
    """A shard as bytes; entries may be encoded already."""
    texts = {key: entry if isinstance(entry, bytes) else msgspec.json.encode(entry) for key, entry in entries.items()}
    payload = zlib.compress(msgspec.msgpack.encode(_Content(texts, dropped)), _LEVEL)
    return _HEADER.pack(_MAGIC, version, zlib.crc32(payload)) + payload


def unpack(data: bytes) -> dict[str, Any]:
    return {key: read_entry(key, text) for key, text in opened(data).entries.items()}


def version_of(data: bytes) -> int:
    """The version of the format; 0 if the bytes are not hypot's state."""
    magic, version, _ = _HEADER.unpack_from(data) if len(data) >= _HEADER.size else (b"", 0, 0)
    return version if magic == _MAGIC else 0


def opened(data: bytes) -> OpenedShard:
    """The entries by key, still encoded: decoding all of them at once takes long."""
    if len(data) < _HEADER.size:
        raise BrokenError("the state is cut off: it has no header")
    magic, version, checksum = _HEADER.unpack_from(data)
    if magic != _MAGIC:
        raise BrokenError("this is not hypot's state: its header is wrong")
    if version not in _READERS:
        raise UnknownVersionError(f"the state has version {version}; only versions up to {VERSION} can be read")
    payload = memoryview(data)[_HEADER.size :]
    if zlib.crc32(payload) != checksum:
        raise BrokenError("the state was changed or cut off: its checksum is wrong")
    try:
        return _READERS[version](_inflated(payload))
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise BrokenError(f"the state cannot be read: {error}") from error


def _inflated(payload: memoryview) -> bytes:
    inflating = zlib.decompressobj()
    try:
        text = inflating.decompress(payload, LARGEST)
    except zlib.error as error:
        raise BrokenError(f"the state cannot be unpacked: {error}") from error
    if not inflating.eof:
        raise BrokenError(f"the state is larger than {LARGEST} bytes once unpacked, or cut off")
    return text


def _read_json(text: bytes) -> OpenedShard:
    found = msgspec.json.decode(text, type=dict[str, msgspec.Raw])
    return OpenedShard({key: bytes(entry) for key, entry in found.items()})


def _read_content(text: bytes) -> OpenedShard:
    found = msgspec.msgpack.decode(text, type=_Content)
    return OpenedShard(found.entries, max(found.dropped, 0))


_READERS: dict[int, Callable[[bytes], OpenedShard]] = {1: _read_json, VERSION: _read_content}


def read_entry(key: str, text: bytes) -> Any:
    """An entry: a dict, or bytes that `usage_text` reads."""
    if not text.startswith(b"{") and key.startswith(USAGE):
        return text
    try:
        return msgspec.json.decode(text, type=dict[str, Any])
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise BrokenError(f"the state of {key} cannot be read: {error}") from error


def shard_of(key: str, count: int) -> int:
    """The shard of a key; the same in every process and release."""
    return zlib.crc32(key.encode(errors="surrogatepass")) % count


def spread(entries: Mapping[str, T], count: int) -> list[dict[str, T]]:
    shards: list[dict[str, T]] = [{} for _ in range(count)]
    for key, entry in entries.items():
        shards[shard_of(key, count)][key] = entry
    return shards


def weight(packed: int, unpacked: int) -> int:
    """The size that counts for a shard: too large to read again is as bad as too large to store."""
    return max(packed, unpacked * FULL // LARGEST)


def grown(count: int, largest: int) -> int:
    """How many shards there should be if the largest of `count` shards weighs `largest`; never fewer than now."""
    for more in COUNTS:
        if more >= count and largest * count <= ROOMY * more:
            return more
    return COUNTS[-1]


def used_share(count: int, largest: int) -> float:
    """How much of the possible state is used, if the largest of `count` shards weighs `largest`: full at 1."""
    return largest * count / (FULL * RESIDUES)


def newest(places: Sequence[ShardPlace]) -> dict[int, int]:
    """For each residue, the newest of these shards that covers it; a residue that no shard covers is absent."""
    found: dict[int, int] = {}
    for at, place in sorted(enumerate(places), key=lambda each: each[1].generation):
        found.update({residue: at for residue in range(RESIDUES) if place.covers(residue)})
    return found


def joined(shards: Sequence[tuple[ShardPlace, Mapping[str, T]]]) -> tuple[dict[str, T], frozenset[int]]:
    """The newest entry of each key, and the residues that no shard covers.

    A process that stopped in the middle of a split left old shards next to new ones. A key that is missing in the
    newest shard of its residue was dropped on purpose, even if an older shard still has it.
    """
    speaker = newest([place for place, _ in shards])
    entries = {
        key: entry
        for at, (_, held) in enumerate(shards)
        for key, entry in held.items()
        if speaker.get(shard_of(key, RESIDUES)) == at
    }
    return entries, frozenset(range(RESIDUES)) - frozenset(speaker)


def that_fit(sizes: Mapping[str, int], room: int) -> set[str]:
    """The keys that fit into `room` together: those of the controller itself, then decisions, then usage, small first.

    So the fewest objects lose something, and the same ones each time.
    """
    kept: set[str] = set()
    for key in sorted(sizes, key=lambda key: ("/" in key, key.startswith(USAGE), sizes[key], key)):
        room -= sizes[key]
        if room < 0 and "/" in key:
            break
        kept.add(key)
    return kept
