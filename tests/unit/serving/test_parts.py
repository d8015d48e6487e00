"""A large body in parts, over HTTP."""

import aiohttp
import pytest
from aiohttp import web

from hypot.serving import parts as module
from hypot.serving.parts import PartsPayload, pieces

PARTS = [b"[", *[b"%d," % i for i in range(1000)], b"0]"]


@pytest.mark.parametrize("size", [1, 100, 10**6])
def test_pieces_are_the_parts(monkeypatch, size):
    """None is empty, and only the last one is smaller than a piece."""
    monkeypatch.setattr(module, "PIECE", size)
    found = list(pieces(PARTS))
    assert b"".join(found) == b"".join(PARTS)
    assert all(len(piece) >= size for piece in found[:-1])
    assert found[-1]


@pytest.mark.asyncio
async def test_a_client_reads_the_whole_body(monkeypatch):
    """Its length is in the header, and the connection stays open for the next one."""
    monkeypatch.setattr(module, "PIECE", 100)

    async def answer(_):
        return web.Response(body=PartsPayload(PARTS), content_type="application/json")

    runner = web.ServerRunner(web.Server(answer), shutdown_timeout=0.1)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    try:
        async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=1)) as session:
            for _ in range(2):
                async with session.get(f"http://127.0.0.1:{runner.addresses[0][1]}/") as found:
                    assert found.content_length == sum(map(len, PARTS))
                    assert found.content_type == "application/json"
                    assert await found.read() == b"".join(PARTS)
    finally:
        await runner.cleanup()
