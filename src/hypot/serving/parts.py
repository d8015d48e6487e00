"""A body in parts, which are joined and encrypted piece by piece: copies of a whole large body take longer."""

from collections.abc import Iterator, Sequence

from aiohttp.abc import AbstractStreamWriter
from aiohttp.payload import Payload

# How many bytes are written at once. Copies of this size stay in the caches of the processor.
PIECE = 128 * 1024


class PartsPayload(Payload):
    """Sends a piece when the client has taken most of the former ones. The parts may be shared with other answers."""

    def __init__(self, parts: Sequence[bytes]) -> None:
        super().__init__(parts)
        self._parts = parts
        self._size = sum(map(len, parts))

    def decode(self, encoding: str = "utf-8", errors: str = "strict") -> str:
        return b"".join(self._parts).decode(encoding, errors)

    async def write(self, writer: AbstractStreamWriter) -> None:
        for piece in pieces(self._parts):
            await writer.write(piece)


def pieces(parts: Sequence[bytes]) -> Iterator[bytes]:
    """The parts, joined until they have the size of a piece."""
    joined, size = list[bytes](), 0
    for part in parts:
        joined.append(part)
        size += len(part)
        if size >= PIECE:
            yield b"".join(joined)
            joined, size = [], 0
    if joined:
        yield b"".join(joined)
