"""Liveness, readiness and metrics: three pages over plain HTTP."""

import asyncio
from collections.abc import Callable
from http import HTTPStatus

import structlog
from aiohttp import web

from hypot.run.report.gauges import MetricsSnapshot, exposition

TEXT_FORMAT = "text/plain; version=0.0.4; charset=utf-8"
# If no reconcile begins for this long and for this many periods, the loop or the reconcile hangs and a restart helps.
STUCK_AFTER = 60.0
STUCK_PERIODS = 4
# How long a client may take to send a request, and to read the answer.
ASKING_WITHIN = 15.0
READING_WITHIN = 30.0
MOST_CONNECTIONS = 64
MOST_SCRAPES = 4
LONGEST_LINE = 4096

log = structlog.get_logger()


def stuck_after(period: float) -> float:
    """How long a leader may go without beginning a reconcile, if one is due every `period` seconds."""
    return max(STUCK_AFTER, STUCK_PERIODS * period)


def stuck(*, leads: bool, since_attempt: float | None, limit: float) -> str:
    """Why the process hangs, as text; empty if it does not. A replica that does not lead never hangs.

    `since_attempt` is how long ago the last reconcile began, or how long ago leading began if there was none.
    """
    if not leads or since_attempt is None or since_attempt <= limit:
        return ""
    return f"this replica leads, and its last reconcile began {since_attempt:.0f} s ago, more than {limit:.0f} s"


class _Bounded(web.Server):
    """No more connections at once than a few probes and scrapers need."""

    def connection_made(self, handler: web.RequestHandler, transport: asyncio.Transport) -> None:
        super().connection_made(handler, transport)
        if len(self.connections) > MOST_CONNECTIONS:
            # Not immediately: the handler has not started yet and cannot be stopped before.
            asyncio.get_running_loop().call_soon(transport.abort)


class Server:
    """The HTTP server. `health` and `ready` return what is wrong, or an empty text."""

    def __init__(
        self, health: Callable[[], str], ready: Callable[[], str], snapshot: Callable[[], MetricsSnapshot]
    ) -> None:
        self._message = {"/healthz": health, "/readyz": ready}
        self._snapshot = snapshot
        self._runner: web.ServerRunner | None = None
        self._scrapes = 0

    @property
    def port(self) -> int:
        """The port it actually listens on."""
        if self._runner is None or not self._runner.addresses:
            raise RuntimeError("the server has no port before it is started")
        found: int = self._runner.addresses[0][1]
        return found

    async def start(self, host: str, port: int) -> None:
        server = _Bounded(
            self._answer,
            keepalive_timeout=ASKING_WITHIN,
            lingering_time=0.0,
            max_line_size=LONGEST_LINE,
            max_field_size=LONGEST_LINE,
            access_log=None,
        )
        self._runner = web.ServerRunner(server, shutdown_timeout=1.0)
        await self._runner.setup()
        await web.TCPSite(self._runner, host, port).start()
        log.info("serving", host=host, port=self.port)

    async def stop(self) -> None:
        if self._runner is not None:
            await self._runner.cleanup()
            self._runner = None

    async def _answer(self, request: web.BaseRequest) -> web.StreamResponse:
        if request.path != "/metrics" and request.path not in self._message:
            return _said(HTTPStatus.NOT_FOUND, "not found; the pages are /healthz, /readyz and /metrics")
        if request.method != "GET":
            return _said(HTTPStatus.METHOD_NOT_ALLOWED, "only GET is allowed", Allow="GET")
        if request.path == "/metrics":
            return await self._metrics(request)
        wrong = self._message[request.path]()
        return _said(HTTPStatus.SERVICE_UNAVAILABLE, wrong) if wrong else _said(HTTPStatus.OK, "ok")

    async def _metrics(self, request: web.BaseRequest) -> web.StreamResponse:
        if self._scrapes >= MOST_SCRAPES:
            return _said(HTTPStatus.SERVICE_UNAVAILABLE, "too many scrapes at once")
        response = web.StreamResponse(headers={"Content-Type": TEXT_FORMAT})
        self._scrapes += 1
        try:
            async with asyncio.timeout(READING_WITHIN):
                await self._report(request, response)
        except (TimeoutError, ConnectionError) as error:
            log.info("scrape-cut", reason=str(error) or "the client reads too slowly")
            if request.transport is not None:
                request.transport.abort()
        finally:
            self._scrapes -= 1
        return response

    async def _report(self, request: web.BaseRequest, response: web.StreamResponse) -> None:
        """Write slice by slice, so that a long scrape does not block other tasks."""
        slices = exposition(self._snapshot())
        await response.prepare(request)
        for each in slices:
            if each:
                await response.write(each)
            await asyncio.sleep(0)
        await response.write_eof()


def _said(status: HTTPStatus, message: str, **headers: str) -> web.Response:
    return web.Response(status=status, text=f"{message}\n", headers=headers)
