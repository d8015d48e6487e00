"""A server on a free port, and a client of it."""

from contextlib import asynccontextmanager

import aiohttp


@asynccontextmanager
async def started(server):
    """The server on a free port, and a client of it."""
    await server.start("127.0.0.1", 0)
    try:
        async with aiohttp.ClientSession(f"http://127.0.0.1:{server.port}") as client:
            yield server, client
    finally:
        await server.stop()


async def got(client, path, method="GET"):
    async with client.request(method, path) as answer:
        return answer.status, await answer.text()
