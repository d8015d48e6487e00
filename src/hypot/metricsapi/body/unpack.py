"""Unpacks a compressed body piece by piece, so that a small body cannot become a large one in memory."""

import sys
import zlib
from collections.abc import Callable, Iterator
from typing import Any, Protocol

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

ACCEPTED = "zstd, gzip"
# What is unpacked at once.
PIECE = 256 * 1024
# What is given to the unpacker at once: it copies what is left after each of many small members.
_PACKED = 16 * 1024
# The window that every HTTP client must accept is 8 MB; a larger one costs memory.
_LARGEST_WINDOW = 23
_GZIP = 16 + zlib.MAX_WBITS


class UnpackError(ValueError):
    """A body that is not compressed as it says."""


class Unpacker(Protocol):
    """Turns the pieces of a body into what they contain."""

    def pieces(self, packed: bytes) -> Iterator[bytes]:
        """What was packed, in pieces; some of them may be empty, so that other tasks may run in between."""
        ...

    def close(self) -> None:
        """Raises an UnpackError if the body ended too early."""


class _Plain:
    def pieces(self, packed: bytes) -> Iterator[bytes]:
        yield packed

    def close(self) -> None:
        return


class _Gzip:
    """Several members may follow each other."""

    def __init__(self) -> None:
        self._object = zlib.decompressobj(_GZIP)

    def pieces(self, packed: bytes) -> Iterator[bytes]:
        for at in range(0, len(packed), _PACKED):
            yield from self._pieces(packed[at : at + _PACKED])

    def _pieces(self, packed: bytes) -> Iterator[bytes]:
        left = packed
        while left:
            if self._object.eof:
                self._object = zlib.decompressobj(_GZIP)
            try:
                found = self._object.decompress(left, PIECE)
            except zlib.error as error:
                raise UnpackError("the body is not valid gzip") from error
            left = self._object.unconsumed_tail or self._object.unused_data
            yield found

    def close(self) -> None:
        if not self._object.eof:
            raise UnpackError("the gzip body is not complete")


class _Zstd:
    """Several frames may follow each other."""

    def __init__(self) -> None:
        self._object = self._new()

    def _new(self) -> Any:
        return zstd.ZstdDecompressor(options={zstd.DecompressionParameter.window_log_max: _LARGEST_WINDOW})

    def pieces(self, packed: bytes) -> Iterator[bytes]:
        for at in range(0, len(packed), _PACKED):
            yield from self._pieces(packed[at : at + _PACKED])

    def _pieces(self, packed: bytes) -> Iterator[bytes]:
        left = packed
        while True:
            if self._object.eof:
                if not left:
                    return
                self._object = self._new()
            try:
                found = self._object.decompress(left, PIECE)
            except zstd.ZstdError as error:
                raise UnpackError("the body is not valid zstd") from error
            left = self._object.unused_data if self._object.eof else b""
            yield found
            if not self._object.eof and self._object.needs_input:
                return

    def close(self) -> None:
        if not self._object.eof:
            raise UnpackError("the zstd body is not complete")


_UNPACKERS: dict[str, Callable[[], Unpacker]] = {"": _Plain, "identity": _Plain, "gzip": _Gzip, "zstd": _Zstd}


def unpacker(encoding: str) -> Unpacker:
    made = _UNPACKERS.get(encoding.strip().lower())
    if made is None:
        raise UnpackError("the body has a content encoding that was not asked for")
    return made()
