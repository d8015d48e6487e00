"""The body of an answer, whole and bounded."""

import aiohttp


async def whole(content: aiohttp.StreamReader, largest: int) -> bytes:
    """All of it, in however many parts it comes; of one that is too large, a little more than may be."""
    parts: list[bytes] = []
    size = 0
    while size <= largest and (part := await content.readany()):
        parts.append(part)
        size += len(part)
    return b"".join(parts)
