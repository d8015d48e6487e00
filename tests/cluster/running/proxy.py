"""Between a controller and the API server: forwards and records every call, and injects the requested faults.

A proxy has its own certificate and uses TLS on both sides. A fault happens at a known moment of a call: before it is
forwarded, so that the server never receives it; during, when the server has done it and the controller does not
know; or after the controller has received the response.
"""

import asyncio
import json
import ssl
import threading
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal
from urllib.parse import parse_qsl

import aiohttp
from aiohttp import web

from cluster.plane.controlplane import ControlPlane, token_of
from cluster.plane.waiting import PATIENCE

Object = dict[str, Any]
When = Literal["before", "during", "after"]
# Headers about one connection, not about the content.
_HOP = {"connection", "content-length", "transfer-encoding", "keep-alive", "host"}
_LARGEST = 64 * 2**20
WORDS = {"configmaps": "state", "leases": "lease", "events": "event", "horizontalpodautoscalers": "hpa"}


@dataclass
class Call:
    """One entry of the journal; without a status where no response came."""

    connection: int
    at: float
    method: str
    path: str
    query: Object
    body: bytes
    status: int | None = None

    @property
    def writes(self) -> bool:
        return self.method != "GET"

    @property
    def done(self) -> bool:
        """Whether the server did what was requested."""
        return self.status is not None and self.status < 300

    @property
    def kind(self) -> str:
        """What the call is about, in one word."""
        return kind_of(self.method, self.path)

    @property
    def json(self) -> Object:
        return json.loads(self.body) if self.body else {}


def kind_of(method: str, path: str) -> str:
    """Writes by what they change; all others are "read"."""
    parts = path.strip("/").split("/")
    if method == "GET":
        return "read"
    if parts[-1] in {"scale", "status", "resize", "eviction"}:
        return parts[-1]
    for part, word in WORDS.items():
        if part in parts:
            return word
    return "other"


@dataclass
class Fault:
    """What is done to calls that match: the first `skip` of them pass, then it happens up to `times` times.

    If the action returns a response, that response is sent.
    """

    matches: Callable[[Call], bool]
    when: When
    do: Callable[[Call], Any]
    skip: int = 0
    times: int = 1
    # Whether the connection is cut afterwards; a call that is only held continues.
    cuts: bool = True
    # The calls that it affected.
    met: list[Call] = field(default_factory=list)

    def takes(self, call: Call, when: When) -> bool:
        if self.when != when or len(self.met) >= self.times or not self.matches(call):
            return False
        if self.skip > 0:
            self.skip -= 1
            return False
        return True


@dataclass
class Held:
    """A call that waits in the proxy: `come` is set when it has arrived, and `release` lets it continue."""

    come: threading.Event = field(default_factory=threading.Event)
    release: threading.Event = field(default_factory=threading.Event)


class Proxy:
    """One for each controller, so that a journal has one author. Runs from `start` to `stop`."""

    def __init__(self, plane: ControlPlane, name: str) -> None:
        self.plane, self.name = plane, name
        self.journal: list[Call] = []
        self.faults: list[Fault] = []
        self.port = 0
        self._open: set[asyncio.Transport] = set()
        self._upstream = ssl.create_default_context()
        plane.ca.configure_trust(self._upstream)
        self._loop = asyncio.SelectorEventLoop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._session: aiohttp.ClientSession | None = None
        self._connector: aiohttp.TCPConnector | None = None
        self._runner: web.AppRunner | None = None

    def start(self) -> "Proxy":
        self._thread.start()
        self._wait(self._serve())
        return self

    def stop(self) -> None:
        self._wait(self._end())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(10 * PATIENCE)
        self._loop.close()

    def kubeconfig(self, user: str = "admin") -> Path:
        """Like the kubeconfig of the control plane, but for the proxy."""
        path, authority = self.plane.folder / f"{self.name}.kubeconfig", str(self.plane.folder / "ca.pem")
        server = {"server": f"https://127.0.0.1:{self.port}", "certificate-authority": authority}
        config = {
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [{"name": "test", "cluster": server}],
            "users": [{"name": user, "user": {"token": token_of(user)}}],
            "contexts": [{"name": "test", "context": {"cluster": "test", "user": user}}],
            "current-context": "test",
        }
        path.write_text(json.dumps(config), encoding="utf-8")
        return path

    def writes(self, *kinds: str, since: float = 0.0) -> list[Call]:
        """Writes that were sent, successful or not."""
        found = [call for call in list(self.journal) if call.writes and call.at >= since]
        return [call for call in found if not kinds or call.kind in kinds]

    def arm(self, kind: str, when: When, do: Callable[[Call], Any], *, skip: int = 0, method: str = "") -> Fault:
        """Do it to one write of this kind, and cut the connection."""

        def matches(call: Call) -> bool:
            return call.kind == kind and method in {"", call.method}

        return self._armed(Fault(matches, when, do, skip))

    def refuse(self, matches: Callable[[Call], bool], status: int, body: Object, times: int, **headers: str) -> Fault:
        """Send this response in place of the server."""

        def answer(_: Call) -> web.Response:
            return web.json_response(body, status=status, headers={k.replace("_", "-"): v for k, v in headers.items()})

        return self._armed(Fault(matches, "before", answer, times=times))

    def hold(self, matches: Callable[[Call], bool], when: When = "before", seconds: float = 90) -> Held:
        """Hold the next such call until it is released; other calls continue."""
        held = Held()

        async def wait(_: Call) -> None:
            held.come.set()
            await asyncio.get_running_loop().run_in_executor(None, held.release.wait, seconds)

        self._armed(Fault(matches, when, wait, cuts=False))
        return held

    def cut(self) -> None:
        """Cut all connections at once, even those in use."""

        def abort() -> None:
            for transport in list(self._open):
                transport.abort()

        self._loop.call_soon_threadsafe(abort)

    def _armed(self, fault: Fault) -> Fault:
        self.faults.append(fault)
        return fault

    async def _serve(self) -> None:
        limits = aiohttp.ClientTimeout(total=None)
        self._connector = aiohttp.TCPConnector(ssl=self._upstream, limit=0)
        self._session = aiohttp.ClientSession(connector=self._connector, timeout=limits, auto_decompress=False)
        app = web.Application(client_max_size=_LARGEST)
        app.router.add_route("*", "/{path:.*}", self._handle)
        self._runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.5)
        await self._runner.setup()
        tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self.plane.ca.issue_cert("127.0.0.1").configure_cert(tls)
        site = web.TCPSite(self._runner, "127.0.0.1", 0, ssl_context=tls)
        await site.start()
        self.port = self._runner.addresses[0][1]

    async def _end(self) -> None:
        for transport in list(self._open):
            transport.abort()
        if self._runner:
            await self._runner.cleanup()
        left = asyncio.all_tasks() - {asyncio.current_task()}
        for task in left:
            task.cancel()
        await asyncio.gather(*left, return_exceptions=True)
        # Only now can no call open another connection.
        if self._connector and self._session:
            await self._connector.close(abort_ssl=True)
            await self._session.close()
        # Connections whose TLS begins or ends, which nobody else knows any more: on a busy machine that could take
        # longer than the loop lives.
        for transport in list(self._loop._transports.values()):
            transport.abort()
        await asyncio.sleep(0.25)

    async def _handle(self, request: web.Request) -> web.StreamResponse:
        assert isinstance(request.transport, asyncio.Transport)
        self._open = {each for each in self._open if not each.is_closing()} | {request.transport}
        peer = request.transport.get_extra_info("peername")
        call = Call(
            int(peer[1]) if peer else 0,
            time.monotonic(),
            request.method,
            request.path,
            dict(parse_qsl(request.query_string)),
            await request.read(),
        )
        self.journal.append(call)
        if answer := await self._happens(call, "before", request):
            return answer
        try:
            return await self._forwarded(call, request)
        except (aiohttp.ClientError, OSError):
            # As without a proxy: if the server is away, there is no response.
            return _cut(request)

    async def _forwarded(self, call: Call, request: web.Request) -> web.StreamResponse:
        assert self._session is not None
        headers = {name: value for name, value in request.headers.items() if name.lower() not in _HOP}
        address = f"https://127.0.0.1:{self.plane.port}{request.raw_path}"
        async with self._session.request(call.method, address, headers=headers, data=call.body or None) as upstream:
            call.status = upstream.status
            kept = {name: value for name, value in upstream.headers.items() if name.lower() not in _HOP}
            if "watch" in call.query:
                return await _streamed(request, upstream, kept)
            body = await upstream.read()
        if answer := await self._happens(call, "during", request):
            return answer
        response = web.Response(status=upstream.status, body=body, headers=kept)
        await response.prepare(request)
        await response.write_eof()
        await self._happens(call, "after", request)
        return response

    async def _happens(self, call: Call, when: When, request: web.Request) -> web.StreamResponse | None:
        """The response to send instead, if any."""
        for fault in list(self.faults):
            if not fault.takes(call, when):
                continue
            fault.met.append(call)
            answer = fault.do(call)
            if asyncio.iscoroutine(answer):
                answer = await answer
            if isinstance(answer, web.Response):
                call.status = answer.status
                return answer
            if fault.cuts:
                return _cut(request)
        return None

    def _wait(self, work: Any) -> None:
        asyncio.run_coroutine_threadsafe(work, self._loop).result(30 * PATIENCE)


async def _streamed(
    request: web.Request, upstream: aiohttp.ClientResponse, headers: dict[str, str]
) -> web.StreamResponse:
    response = web.StreamResponse(status=upstream.status, headers=headers)
    await response.prepare(request)
    async for chunk in upstream.content.iter_any():
        await response.write(chunk)
    await response.write_eof()
    return response


def _cut(request: web.Request) -> web.StreamResponse:
    if request.transport is not None:
        request.transport.abort()
    return web.Response(status=502)


def paths(calls: Iterable[Call]) -> list[str]:
    """The calls as text, for failure messages."""
    return [f"{call.method} {call.path} {call.status}" for call in calls]
