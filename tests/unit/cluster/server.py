"""Servers with TLS on loopback, in place of an API server: well-behaved ones, and ones that send arbitrary bytes."""

import asyncio
import base64
import gc
import json
import ssl
import threading
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, contextmanager, suppress
from dataclasses import replace
from typing import Any

import pytest
import trustme
import yaml
from aiohttp import web

from hypot.cluster.config import Access
from hypot.cluster.port import RefusedError, Request

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]
Talk = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]

CA = trustme.CA()
TLS = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
CA.issue_cert("127.0.0.1", "api.test").configure_cert(TLS)

PODS = Request("GET", "/api/v1/pods")
WRITES = [
    Request("POST", "/api/v1/namespaces/a/pods", body=b"{}"),
    Request("PUT", "/api/v1/namespaces/a/pods/b", body=b"{}"),
    Request("PATCH", "/api/v1/namespaces/a/pods/b", body=b"{}"),
    Request("DELETE", "/api/v1/namespaces/a/pods/b"),
]
OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}"
each_write = pytest.mark.parametrize("request_", WRITES, ids=lambda each: each.method)

changed = replace


def access_at(port: int) -> Access:
    return Access(f"https://127.0.0.1:{port}", ca=CA.cert_pem.bytes(), token="secret-word", source="a test")  # noqa: S106


async def head(reader: asyncio.StreamReader) -> bytes:
    return await reader.readuntil(b"\r\n\r\n")


@asynccontextmanager
async def serving(handler: Handler, tls: ssl.SSLContext = TLS, port: int = 0) -> AsyncIterator[Access]:
    """A server that answers with a handler, and the access to it."""
    runner = web.ServerRunner(web.Server(handler), shutdown_timeout=0)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", port, ssl_context=tls).start()
    try:
        yield access_at(runner.addresses[0][1])
    finally:
        await runner.cleanup()


@asynccontextmanager
async def talking(conversation: Talk) -> AsyncIterator[Access]:
    """A server that sends arbitrary bytes and then cuts the connection."""
    tasks: set[asyncio.Task[None] | None] = set()

    async def each(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        tasks.add(asyncio.current_task())
        with suppress(OSError, asyncio.IncompleteReadError):
            await conversation(reader, writer)
        writer.transport.abort()

    server = await asyncio.start_server(each, "127.0.0.1", 0, ssl=TLS)
    try:
        yield access_at(server.sockets[0].getsockname()[1])
    finally:
        server.close()
        running = [task for task in tasks if task]
        for task in running:
            task.cancel()
        await asyncio.gather(*running, return_exceptions=True)


def served(cluster: Any) -> Handler:
    """A handler that answers as the cluster does."""

    async def answer(asked: web.Request) -> web.StreamResponse:
        content = asked.headers.get("Content-Type", "application/json").partition(";")[0]
        request = Request(asked.method, asked.path, dict(asked.query), await asked.read() or None, content)
        if asked.query.get("watch") in {"1", "true"}:
            return await watched(asked, request)
        reported = await cluster.call(request)
        return web.Response(status=reported.status, body=reported.body, content_type="application/json")

    async def watched(asked: web.Request, request: Request) -> web.StreamResponse:
        response = web.StreamResponse()
        try:
            async with cluster.watch(request) as lines:
                await response.prepare(asked)
                with suppress(ConnectionError):
                    async for line in lines:
                        await response.write(line + b"\n")
        except RefusedError as no:
            return web.Response(status=no.answer.status, body=no.answer.body, content_type="application/json")
        return response

    return answer


@asynccontextmanager
async def until_stopped(app: Any, cluster: Any, within: float = 30.0) -> AsyncIterator[Any]:
    """A server of hypot that runs until the end of the block."""
    task = asyncio.ensure_future(app.run())
    try:
        yield app
    finally:
        app.stopping.set()
        try:
            await asyncio.wait_for(task, within)
        finally:
            gc.unfreeze()
            # Else the API server would wait for streams that are no longer read.
            cluster.end_watches()


@contextmanager
def running(server, folder):
    """The kubeconfig of a server that runs in another thread: the functions have an event loop of their own."""
    started, stop, found = threading.Event(), None, {}

    async def serve():
        nonlocal stop
        stop = asyncio.Event()
        found["loop"] = asyncio.get_running_loop()
        async with serving(server) as access:
            found["server"] = access.server
            started.set()
            await stop.wait()

    thread = threading.Thread(target=asyncio.run, args=(serve(),))
    thread.start()
    started.wait(10)
    ca = base64.b64encode(CA.cert_pem.bytes()).decode()
    config = {
        "current-context": "here",
        "contexts": [{"name": "here", "context": {"cluster": "c", "user": "u", "namespace": "own"}}],
        "clusters": [{"name": "c", "cluster": {"server": found["server"], "certificate-authority-data": ca}}],
        "users": [{"name": "u", "user": {"token": "secret-word"}}],
    }
    path = folder / "config"
    path.write_text(yaml.safe_dump(config), encoding="utf-8")
    try:
        yield str(path)
    finally:
        found["loop"].call_soon_threadsafe(stop.set)
        thread.join(10)


class Stored:
    """An API server that stores what is applied, and shows it with this status."""

    def __init__(self, *manifests, status):
        self._manifests = {self._key(one["kind"], one["metadata"]["name"]): one for one in manifests}
        self._status = status

    @staticmethod
    def _key(kind, name):
        return kind.lower(), name

    async def __call__(self, request):
        *_, plural, name = request.path.split("/")
        key = self._key(plural.removesuffix("s"), name)
        if request.method == "PATCH":
            made = json.loads(await request.read())
            if "dryRun" not in request.query:
                self._manifests[key] = made
            return web.json_response(made)
        return web.json_response(self._manifests[key] | {"status": self._status})
