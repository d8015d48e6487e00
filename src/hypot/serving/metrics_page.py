"""Metrics for Prometheus."""

import asyncio
import ssl
from collections.abc import Callable, Iterator
from http import HTTPStatus

import structlog
from aiohttp import web

from hypot.serving.answers import only_get, said
from hypot.serving.listener import Held, Limits, Listener, first_to_go
from hypot.serving.logs import RareLine
from hypot.serving.readers import Attributes, Readers

TEXT_FORMAT = "text/plain; version=0.0.4; charset=utf-8"
PAGE = "/metrics"
_WANTED = Attributes("get", PAGE)
# How long a client may take to read the answer.
READING_WITHIN = 30.0
# Scrapes at the same time. If one more comes, the client that holds the most loses one.
MOST_SCRAPES = 4

log = structlog.get_logger()


class MetricsEndpoint:
    """Answers Prometheus with the slices of `exposition`. Everybody may read, unless there are `readers`."""

    def __init__(self, exposition: Callable[[], Iterator[bytes]], readers: Readers | None = None) -> None:
        self._exposition, self._readers = exposition, readers
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
        refused = None if self._readers is None else await self._readers.refusal(request, _WANTED)
        if refused is None:
            return await self._metrics(request)
        challenge = {"WWW-Authenticate": "Bearer"} if refused.status is HTTPStatus.UNAUTHORIZED else {}
        return said(refused.status, refused.message, **challenge)

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
        slices = self._exposition()
        await response.prepare(request)
        for each in slices:
            if each:
                await response.write(each)
            await asyncio.sleep(0)
        await response.write_eof()
