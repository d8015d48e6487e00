"""Compressed bodies, piece by piece."""

import gzip
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hypot.metricsapi.body.unpack import PIECE, UnpackError, unpacker

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

PACKERS = {"gzip": gzip.compress, "zstd": zstd.compress, "identity": lambda data: data, "": lambda data: data}
PACKED = ["gzip", "zstd"]


def unpacked(encoding, packed, size):
    one = unpacker(encoding)
    found = [piece for at in range(0, len(packed), size) for piece in one.pieces(packed[at : at + size])]
    one.close()
    return found


@given(st.sampled_from(sorted(PACKERS)), st.lists(st.binary(min_size=1, max_size=300), min_size=1), st.integers(1, 50))
def test_what_was_packed(encoding, parts, size):
    """Several members or frames may follow each other."""
    packed = b"".join(PACKERS[encoding](part) for part in parts)
    assert b"".join(unpacked(encoding, packed, size)) == b"".join(parts)


@pytest.mark.parametrize("encoding", PACKED)
def test_a_bomb_is_unpacked_in_small_pieces(encoding):
    """So that the caller can stop before it fills the memory."""
    packed = PACKERS[encoding](bytes(64 * 2**20))
    found = unpacker(encoding).pieces(packed)
    assert {len(next(found)) for _ in range(10)} == {PIECE}


@pytest.mark.parametrize("encoding", PACKED)
@pytest.mark.parametrize("packed", [b"not packed", b"\x1f\x8b\x08broken body", b"\x28\xb5\x2f\xfd\xff\xff\xff\xff\xff"])
def test_a_broken_body(encoding, packed):
    with pytest.raises(UnpackError, match=r"not valid|not complete"):
        unpacked(encoding, packed, 100)


@pytest.mark.parametrize("encoding", PACKED)
def test_a_truncated_body(encoding):
    with pytest.raises(UnpackError, match="not complete"):
        unpacked(encoding, PACKERS[encoding](b"a" * 1000)[:-5], 100)


def test_a_window_that_would_take_much_memory():
    """A frame may ask for a window of gigabytes."""
    options = {zstd.CompressionParameter.window_log: 27, zstd.CompressionParameter.compression_level: 1}
    made = zstd.ZstdCompressor(options=options)
    packed = made.compress(b"a" * 2**20) + made.flush()
    with pytest.raises(UnpackError, match="not valid"):
        unpacked("zstd", packed, 2**20)


def test_an_encoding_that_was_not_asked_for():
    with pytest.raises(UnpackError, match="content encoding"):
        unpacker("br")
