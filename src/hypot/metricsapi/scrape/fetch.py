"""One scrape: a GET whose body is read as it arrives."""

import asyncio
import ssl
from asyncio.sslproto import SSLProtocol
from collections.abc import Iterator, Mapping, Sequence
from typing import Literal, NamedTuple

import aiohttp
from yarl import URL

from hypot.cluster.clock import boot, wall
from hypot.cluster.time_slice import SharedSlice
from hypot.metricsapi.body.exposition import ExpositionError
from hypot.metricsapi.body.request_classes import RequestCounts
from hypot.metricsapi.body.totals import Scraped, Totals, Wanted
from hypot.metricsapi.body.unpack import ACCEPTED, UnpackError, unpacker

# Why a scrape failed.
Fault = Literal["connection", "credentials", "status", "timeout", "too-large", "body"]
_READ_AT_ONCE = 256 * 1024
# asyncio gives each TLS connection a buffer of 256 KiB for as long as it is open, and thousands are; it may keep as
# much again of what arrived. With small buffers, bodies that are not packed take a little more processor time.
_TLS_BUFFER = 32 * 1024
# What identifies the format; most pods write the plain text format whatever is asked for.
_ACCEPT = "application/openmetrics-text;version=1.0.0;q=0.9,text/plain;version=0.0.4"
_OPEN_METRICS = "application/openmetrics-text"
# The headers of an answer whose end is known, or whose contents say that they are complete. All others end where the
# connection does.
_ENDS = frozenset({"content-length", "transfer-encoding", "content-encoding"})
_AGENT = "hypot-metrics"
_UNAUTHORIZED = frozenset({401, 403})


class ScrapeError(Exception):
    """A scrape that gave nothing."""

    def __init__(self, fault: Fault, message: str, *, unauthorized: bool = False) -> None:
        super().__init__(message)
        self.fault: Fault = fault
        # Whether the pod did not accept the credentials.
        self.unauthorized = unauthorized


class ScrapeRequest(NamedTuple):
    """Where to send the GET, with what, and what is needed of the body."""

    url: URL
    wanted: Sequence[Wanted]
    headers: Mapping[str, str]
    tls: ssl.SSLContext | None = None
    server_name: str = ""
    counts: RequestCounts | None = None


def new_session(keep: float) -> aiohttp.ClientSession:
    """Connections stay open from one scrape to the next. The caller bounds how many scrapes run at once.

    From now on, all TLS connections of this process have small buffers.
    """
    SSLProtocol.max_size = _TLS_BUFFER
    return aiohttp.ClientSession(
        connector=aiohttp.TCPConnector(limit=0, keepalive_timeout=keep),
        cookie_jar=aiohttp.DummyCookieJar(),
        auto_decompress=False,
        read_bufsize=_READ_AT_ONCE,
        headers={"Accept": _ACCEPT, "Accept-Encoding": ACCEPTED, "User-Agent": _AGENT},
    )


async def fetch(
    session: aiohttp.ClientSession,
    asked: ScrapeRequest,
    within: float,
    largest: int,
    shared: SharedSlice | None = None,
) -> Scraped:
    """Send the GET and read the totals. Raises a ScrapeError; nothing of the body is in its message.

    `shared` is what all scrapes together may take of a turn of the event loop.
    """
    try:
        async with asyncio.timeout(within):
            return await _fetched(session, asked, largest, shared or SharedSlice())
    except TimeoutError:
        raise ScrapeError("timeout", f"no complete answer within {within:.0f} s") from None
    except (aiohttp.ClientError, OSError, ValueError) as error:
        if isinstance(error, ExpositionError | UnpackError):
            raise ScrapeError("body", str(error)) from error
        raise ScrapeError("connection", _shown(error)) from error


async def _fetched(session: aiohttp.ClientSession, asked: ScrapeRequest, largest: int, shared: SharedSlice) -> Scraped:
    async with session.get(
        asked.url,
        headers=asked.headers,
        ssl=asked.tls or True,
        server_hostname=asked.server_name or None,
        allow_redirects=False,
        timeout=aiohttp.ClientTimeout(total=None),
    ) as answer:
        at, shown = boot(), wall()
        if answer.status != 200:
            unauthorized = answer.status in _UNAUTHORIZED
            raise ScrapeError("status", f"it answers {answer.status}", unauthorized=unauthorized)
        body = _ScrapedBody(answer, asked, largest)
        async for packed in answer.content.iter_any():
            for _ in body.steps(packed):
                if shared.is_due():
                    await shared.take()
        return body.close(at, shown)


class _ScrapedBody:
    """A body that is unpacked and added up as it arrives."""

    def __init__(self, answer: aiohttp.ClientResponse, asked: ScrapeRequest, largest: int) -> None:
        self._unpacked = unpacker(answer.headers.get("Content-Encoding", ""))
        open_metrics = answer.headers.get("Content-Type", "").lower().startswith(_OPEN_METRICS)
        delimited = not _ENDS.isdisjoint(each.lower() for each in answer.headers)
        self._counts = asked.counts
        self._totals = Totals(asked.wanted, asked.counts, open_metrics=open_metrics, delimited=delimited)
        self._largest, self._packed, self._size = largest, 0, 0

    def steps(self, packed: bytes) -> Iterator[None]:
        """Other tasks may run after each step."""
        self._packed += len(packed)
        for piece in self._unpacked.pieces(packed):
            self._size += len(piece)
            if max(self._size, self._packed) > self._largest:
                # The rest is not read, so the connection is not used again.
                raise ScrapeError("too-large", f"the body has more than {self._largest:,} bytes")
            yield from self._totals.steps(piece)
            yield

    def close(self, at: float, shown: float) -> Scraped:
        self._unpacked.close()
        totals, declared = self._totals.close(), self._totals.declared
        requests = None if self._counts is None else self._counts.close()
        return Scraped(at, shown, totals, self._size, requests, declared)


def _shown(error: Exception) -> str:
    text = str(error) or type(error).__name__
    return text if len(text) <= 200 else f"{text[:197]}..."
