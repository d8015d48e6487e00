"""Metrics for Prometheus, and when the controller hangs."""

import asyncio
import ssl
from collections.abc import Awaitable, Callable
from http import HTTPStatus

import structlog
from aiohttp import web

from hypot.run.report.gauges import MetricsSnapshot, exposition
from hypot.serving.answers import only_get, said
from hypot.serving.listener import Held, Limits, Listener, first_to_go
from hypot.serving.logs import RareLine

TEXT_FORMAT = "text/plain; version=0.0.4; charset=utf-8"
# If no reconcile begins for this long and for this many periods, the loop or the reconcile hangs and a restart helps.
STUCK_AFTER = 60.0
STUCK_PERIODS = 4
PAGE = "/metrics"
# How long a client may take to read the answer.
READING_WITHIN = 30.0
# Scrapes at the same time. If one more comes, the client that holds the most loses one.
MOST_SCRAPES = 4

Refusal = Callable[[web.BaseRequest], Awaitable[web.Response | None]]

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


class MetricsEndpoint:
    """Answers Prometheus. `refusal` returns the answer for a client that may not read, or None."""

    def __init__(self, snapshot: Callable[[], MetricsSnapshot], refusal: Refusal | None = None) -> None:
        self._snapshot, self._refusal = snapshot, refusal
        self._listener = Listener(self._answer, Limits())
        self._scrapes: set[Held] = set()
        self._cut = RareLine("scrape-cut")

    @property
    def port(self) -> int:
        """The port it listens on; 0 if it does not listen."""
        return self._listener.port

    async def start(self, host: str, port: int, tls: ssl.SSLContext | None = None) -> None:
        await self._listener.start(host, port, tls)
        log.info("serving metrics", host=host, port=self.port, tls=tls is not None)

    async def stop(self) -> None:
        await self._listener.stop()

    async def _answer(self, request: web.BaseRequest) -> web.StreamResponse:
        if request.path != PAGE:
            return said(HTTPStatus.NOT_FOUND, f"not found; the page is {PAGE}")
        if request.method != "GET":
            return only_get()
        refused = None if self._refusal is None else await self._refusal(request)
        return await self._metrics(request) if refused is None else refused

    async def _metrics(self, request: web.BaseRequest) -> web.StreamResponse:
        response = web.StreamResponse(headers={"Content-Type": TEXT_FORMAT})
        scrape = self._begun(request)
        try:
            async with scrape.within:
                await self._report(request, response)
        except (TimeoutError, ConnectionError) as error:
            late = "too many scrapes at once" if scrape.dropped else "the client reads too slowly"
            self._cut.log(reason=str(error) or late)
            if request.transport is not None:
                request.transport.abort()
        finally:
            self._scrapes.discard(scrape)
        return response

    def _begun(self, request: web.BaseRequest) -> Held:
        if len(self._scrapes) >= MOST_SCRAPES:
            first = first_to_go(self._scrapes)
            self._scrapes.discard(first)
            first.drop()
        scrape = Held.begin(request.remote or "", READING_WITHIN)
        self._scrapes.add(scrape)
        return scrape

    async def _report(self, request: web.BaseRequest, response: web.StreamResponse) -> None:
        """Write slice by slice, so that a long scrape does not block other tasks."""
        slices = exposition(self._snapshot())
        await response.prepare(request)
        for each in slices:
            if each:
                await response.write(each)
            await asyncio.sleep(0)
        await response.write_eof()
