"""A pod on the loopback that answers scrapes."""

from contextlib import asynccontextmanager

from aiohttp import web
from yarl import URL


@asynccontextmanager
async def answering(answer, tls=None):
    """Yields the URL of its metrics, and the requests that it got. `answer` is bytes, or makes a response."""
    asked = []

    async def answered(request):
        asked.append(request)
        found = await answer(request) if callable(answer) else answer
        return web.Response(body=found) if isinstance(found, bytes) else found

    runner = web.ServerRunner(web.Server(answered, access_log=None), shutdown_timeout=0.1)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0, ssl_context=tls)
    await site.start()
    port = runner.addresses[0][1]
    try:
        yield URL(f"{'https' if tls else 'http'}://127.0.0.1:{port}/metrics"), asked
    finally:
        await runner.cleanup()
