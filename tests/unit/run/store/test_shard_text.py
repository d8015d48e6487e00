"""State as bytes: packed and checked, and which shard counts for a key."""

import struct
import zlib

import msgspec
import pytest

from hypot.run.store.shard_text import (
    COUNTS,
    FULL,
    LARGEST,
    RESIDUES,
    ROOMY,
    BrokenError,
    ShardPlace,
    UnknownVersionError,
    grown,
    joined,
    opened,
    pack,
    shard_of,
    spread,
    that_fit,
    unpack,
    used_share,
    version_of,
    weight,
)


def header(version, payload):
    return struct.pack(">4sHI", b"hypm", version, zlib.crc32(payload)) + payload


def test_what_is_packed_comes_out_again():
    """Values of every JSON type, texts that are already JSON, and bytes of usage."""
    entries = {"Hvpa/a/b": {"at": 1.5, "list": [1, None, {"x": "ü"}], "big": 2**60}, "VPA/a/b": {}}
    assert unpack(pack(entries)) == entries
    assert unpack(pack({key: msgspec.json.encode(entry) for key, entry in entries.items()})) == entries
    assert unpack(pack({"usage/a": b"\x93\x00"})) == {"usage/a": b"\x93\x00"}
    assert [opened(pack(entries, dropped)).dropped for dropped in (0, 7)] == [0, 7]


def test_another_version():
    """It differs from broken data: a newer hypot wrote it."""
    with pytest.raises(UnknownVersionError, match="version 3"):
        unpack(pack({"a": {}}, version=3))
    assert [version_of(each) for each in (pack({}), pack({}, version=3), b"", b"hypo" * 9)] == [2, 3, 0, 0]


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "no header"),
        (b"hello, this is something else", "header is wrong"),
        (pack({"a": {}})[:-1], "checksum"),
        (header(1, b"no zlib"), "cannot be unpacked"),
        (header(1, zlib.compress(b"{}")[:-5]), "cut off"),
        (header(1, zlib.compress(b"[]")), "cannot be read"),
        (header(1, zlib.compress(b'{"a": 7}')), "state of a cannot be read"),
        (header(2, zlib.compress(b"{}")), "cannot be read"),
        (header(2, zlib.compress(b"\x92\x81\xa1a\x07\x00")), "cannot be read"),
        (header(2, zlib.compress(b"\x92\x81\xa1\xff\xc4\x00\x00")), "cannot be read"),
        (pack({"a": b"\x93"}), "state of a cannot be read"),
        (header(1, zlib.compress(b'{"a": {"b": ' + b"[" * 100_000 + b"]" * 100_000 + b"}}")), "cannot be read"),
    ],
)
def test_broken_bytes(data, message):
    """One error type covers every fault."""
    with pytest.raises(BrokenError, match=message):
        unpack(data)


def test_a_small_text_that_grows_without_end():
    """Unpacking stops at a limit."""
    bomb = zlib.compress(b'{"a": {"b": "' + b"0" * LARGEST + b'"}}', 9)
    with pytest.raises(BrokenError, match="larger than"):
        unpack(header(1, bomb))


def test_a_key_has_one_shard():
    """It never changes: each release finds a key in the shard of the release before."""
    assert [shard_of("Hvpa/shop/web", count) for count in COUNTS] == [0, 1, 1, 5, 5, 5, 5]
    parts = spread({f"Hvpa/shop/web-{number}": {} for number in range(200)}, 8)
    assert sum(len(part) for part in parts) == 200
    assert all(shard_of(key, 8) == index for index, part in enumerate(parts) for key in part)


@pytest.mark.parametrize(
    ("count", "largest", "wanted"),
    [
        (1, 0, 1),
        (1, ROOMY, 1),
        (1, ROOMY + 1, 2),
        (1, 5 * ROOMY, 8),
        (2, ROOMY + 1, 4),
        (4, 10, 4),
        (8, 100 * ROOMY, 64),
        (64, 2 * ROOMY, 64),
    ],
)
def test_how_many_shards(count, largest, wanted):
    """As few as have room, never fewer than now, at most 64."""
    assert grown(count, largest) == wanted


def test_what_could_not_be_read_again_is_as_large_as_what_cannot_be_stored():
    """The packed text is small, but the unpacked text is not."""
    assert weight(10, LARGEST) == FULL
    assert weight(FULL, 10) == FULL


def test_a_stop_in_the_middle_of_splitting():
    """New shards are next to old ones, and one old shard is already replaced: each key has its newest entry."""
    keys = [f"key-{number}" for number in range(100)]
    before, after = ({key: {"by": word} for key in keys} for word in ("old", "new"))
    old, new = spread(before, 2), spread(after, 4)
    left = [
        (ShardPlace(0, 4, 8), new[0]),
        (ShardPlace(1, 2, 7), old[1]),
        (ShardPlace(2, 4, 8), new[2]),
        (ShardPlace(3, 4, 8), new[3]),
    ]
    entries, missing = joined(left)
    assert missing == frozenset()
    assert entries == {key: before[key] if shard_of(key, 4) == 1 else after[key] for key in keys}
    assert joined(left[1:])[1] == {residue for residue in range(RESIDUES) if residue % 4 == 0}


def test_what_was_forgotten_does_not_come_back():
    """An older shard still has it; an unused shard does not count."""
    entries, missing = joined(
        [(ShardPlace(0, 1, 3), {"a": 1}), (ShardPlace(1, 2, 2), {"b": 1}), (ShardPlace(0, 0, 9), {"c": 1})]
    )
    assert entries == {"a": 1}
    assert missing == frozenset()


def test_what_fits():
    """The controller's own entries always, then decisions, then usage: as many as possible."""
    sizes = {"governor": 90, "Hvpa/a/b": 50, "Hvpa/a/c": 5, "usage/Hvpa/a/b": 10, "usage/Hvpa/a/c": 20}
    assert that_fit(sizes, 175) == set(sizes)
    assert that_fit(sizes, 160) == set(sizes) - {"usage/Hvpa/a/c"}
    assert that_fit(sizes, 100) == {"governor", "Hvpa/a/c"}
    assert that_fit(sizes, 10) == {"governor"}


def test_how_full_it_is():
    """At 1 the largest of the most shards has no room left."""
    assert used_share(RESIDUES, FULL) == 1.0
    assert used_share(1, FULL) == 1 / RESIDUES
