"""The API server over HTTP: one session, guarded writes, and failures as readable messages."""

import asyncio
import io
import os
import random
import re
import time
from collections import Counter
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable
from contextlib import aclosing, asynccontextmanager
from importlib.metadata import version
from typing import Any, Self, TypeVar
from urllib.parse import urlencode

import aiohttp
from yarl import URL

from hypot.cluster.config import Access, AccessError
from hypot.cluster.connection import Connection
from hypot.cluster.credentials import Credentials, Identity, tls_of
from hypot.cluster.guarded import Guard, GuardedRequest, Sending, guarded_socket, sending
from hypot.cluster.port import JSON, LARGEST_ANSWER, Answer, OutageError, RefusedError, Request, UnreachableError

CONNECT_WITHIN = 10.0
CONNECTIONS = 64
LONGEST_LINE = 16 * 2**20
# A server closes an idle connection after 90 s or later. We close it earlier, so that no write meets a closed one.
IDLE_FOR = 30.0
NAMES_HELD_FOR = 30
# The shortest wait, even if the server asks for less.
SHORTEST_PAUSE = 0.1
READ_AT_ONCE = SENT_AT_ONCE = 2**18
# Resources of these groups are metric names, of which there are many.
METRIC_GROUPS = ("custom.metrics.k8s.io", "external.metrics.k8s.io")

_Taken = TypeVar("_Taken")
_Take = Callable[[Request, aiohttp.ClientResponse], Awaitable[_Taken]]
_CALL = aiohttp.ClientTimeout(total=None, sock_connect=CONNECT_WITHIN)
_WATCH = aiohttp.ClientTimeout(total=None, connect=CONNECT_WITHIN, sock_connect=CONNECT_WITHIN)


class _TooMuchError(Exception):
    """A response that is larger than allowed."""


_FAILURES = (aiohttp.ClientError, OSError, AccessError, _TooMuchError)


class Api:
    """A cluster behind an API server. `calls` counts requests by method, kind of path and status class."""

    def __init__(
        self,
        access: Access,
        *,
        guard: Guard | None = None,
        connection: Connection | None = None,
        user_agent: str = "",
        clock: Callable[[], float] = time.time,
    ) -> None:
        self.access = access
        self.calls: Counter[tuple[str, str, str]] = Counter()
        self._guard = guard
        self._connection = connection
        self._user_agent = user_agent or f"hypot/{version('hypot')}"
        self._credentials = Credentials(access, clock)
        self._session: aiohttp.ClientSession | None = None
        self._tls: tuple[Identity, Any] | None = None

    async def __aenter__(self) -> Self:
        """Raises AccessError if files are missing, before any request."""
        identity = await self._credentials.current()
        self._tls_for(identity)
        self._opened()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def close(self) -> None:
        if self._session is not None:
            await self._session.close()
            self._session = None
        await self._credentials.close()

    async def call(self, request: Request) -> Answer:
        """Send a request. Repeats it while the server asks to wait and time allows: then the server did nothing."""
        now = asyncio.get_running_loop().time
        ends = now() + request.timeout
        while True:
            answer = await self._once(request, ends - now())
            left = min(ends - now(), Sending(request, self._guard).left())
            wait = pause(answer, left, random.random())  # noqa: S311  jitter, not a secret
            if wait is None:
                return answer
            await asyncio.sleep(wait)
            if now() >= ends:
                return answer

    @asynccontextmanager
    async def watch(self, request: Request) -> AsyncGenerator[AsyncIterator[bytes], None]:
        """An endless stream of lines. The timeout covers only the start; the caller must detect silence."""
        response = await self._exchange("WATCH", Sending(request, None), request.timeout, _begun)
        try:
            async with aclosing(self._lines(request, response)) as lines:
                yield lines
        finally:
            response.close()

    async def _once(self, request: Request, seconds: float) -> Answer:
        carried = Sending(request, self._guard)
        return await self._exchange(request.method, carried, min(seconds, carried.checked()), _answer)

    async def _exchange(self, verb: str, carried: Sending, within: float, take: _Take[_Taken]) -> _Taken:
        """Send a request, count it, and read the response with `take`, all within the timeout.

        A server that rejects a token did nothing. If the token has been replaced, the request is sent once more.
        """
        request, response, kind = carried.request, None, path_kind(carried.request.path)
        try:
            async with asyncio.timeout(within):
                identity = await self._credentials.current()
                response = await self._ask(verb, carried, identity)
                if response.status == 401 and (renewed := self._credentials.renewed(identity)) is not None:
                    response.close()
                    response, carried = None, carried.again()
                    response = await self._ask(verb, carried, renewed)
                return await _closed_unless(take(request, response), response)
        except _FAILURES as error:
            if carried.held_back:
                raise carried.refusal() from error
            if response is None:
                self.calls[verb, kind, "none"] += 1
            raise self._unreachable(verb, request, error, within) from error

    async def _ask(self, verb: str, carried: Sending, identity: Identity) -> aiohttp.ClientResponse:
        request = carried.request
        query = f"?{urlencode(request.query)}" if request.query else ""
        before = sending.set(carried)
        try:
            response = await self._opened().request(
                request.method,
                URL(f"{self.access.server}{request.path}{query}", encoded=True),
                data=_body(request.body),
                headers=self._headers(request, identity),
                ssl=self._tls_for(identity),
                server_hostname=self.access.tls_server_name or None,
                allow_redirects=False,
                timeout=_WATCH if verb == "WATCH" else _CALL,
            )
        finally:
            sending.reset(before)
        self.calls[verb, path_kind(request.path), f"{response.status // 100}xx"] += 1
        if self._connection is not None:
            self._connection.answered()
        return response

    def _headers(self, request: Request, identity: Identity) -> dict[str, str]:
        """No compression: near an API server it costs more than it saves."""
        headers = {"Accept": JSON, "Accept-Encoding": "identity", "User-Agent": self._user_agent}
        if request.body is not None:
            headers["Content-Type"] = request.content
        if identity.token:
            headers["Authorization"] = f"Bearer {identity.token}"
        return headers

    def _opened(self) -> aiohttp.ClientSession:
        if self._session is None:
            self._session = aiohttp.ClientSession(
                connector=aiohttp.TCPConnector(
                    limit=CONNECTIONS,
                    keepalive_timeout=IDLE_FOR,
                    ttl_dns_cache=NAMES_HELD_FOR,
                    socket_factory=guarded_socket,
                ),
                request_class=GuardedRequest,
                cookie_jar=aiohttp.DummyCookieJar(),
                read_bufsize=READ_AT_ONCE,
            )
        return self._session

    def _tls_for(self, identity: Identity) -> Any:
        """The TLS context, cached. A new certificate gives a new context, which leads to new connections."""
        if not self.access.server.startswith("https:"):
            return True
        shown = Identity("", identity.certificate, identity.key)
        if self._tls is None or self._tls[0] != shown:
            self._tls = shown, tls_of(self.access, identity)
        return self._tls[1]

    async def _lines(self, request: Request, response: aiohttp.ClientResponse) -> AsyncGenerator[bytes, None]:
        splitter = Lines()
        try:
            async for chunk in response.content.iter_any():
                for line in splitter.fed(chunk):
                    yield line
        except _FAILURES as error:
            raise self._unreachable("WATCH", request, error, 0) from error

    def _unreachable(self, verb: str, request: Request, error: Exception, within: float) -> UnreachableError:
        what = what_happened(error, within, self.access.source)
        message = f"{verb} {request.path}: {what}"
        if self._connection is None or not _is_outage(error, self._connection.silent_for() > within):
            return UnreachableError(message)
        self._connection.failed(what)
        return OutageError(message)


def _body(body: bytes | None) -> bytes | io.BytesIO | None:
    """A large body is sent in slices, so that other tasks can run in between."""
    return body if body is None or len(body) <= SENT_AT_ONCE else io.BytesIO(body)


async def _closed_unless(taking: Awaitable[_Taken], response: aiohttp.ClientResponse) -> _Taken:
    """Close a response that could not be read, whatever the reason."""
    try:
        return await taking
    except BaseException:
        response.close()
        raise


async def _begun(request: Request, response: aiohttp.ClientResponse) -> aiohttp.ClientResponse:
    if response.status == 200:
        return response
    raise RefusedError(request, await _answer(request, response))


async def _answer(request: Request, response: aiohttp.ClientResponse) -> Answer:
    chunks, size = [], 0
    async for chunk in response.content.iter_any():
        chunks.append(chunk)
        size += len(chunk)
        if size > request.largest:
            hint = "; ask for fewer at a time with limit" if request.largest == LARGEST_ANSWER else ""
            raise _TooMuchError(f"the answer is over {request.largest / 2**20:.3g} MiB{hint}")
    return Answer(response.status, b"".join(chunks), retry_after(response.headers.get("Retry-After")))


class Lines:
    """Splits chunks into lines. A line may span any number of chunks."""

    def __init__(self, longest: int = LONGEST_LINE) -> None:
        self._longest, self._held, self._size = longest, list[bytes](), 0

    def fed(self, chunk: bytes) -> list[bytes]:
        """The lines that this chunk completes, without empty lines."""
        *ended, rest = chunk.split(b"\n")
        if ended:
            self._size += len(ended[0])
            ended[0] = b"".join((*self._held, ended[0]))
            self._held, self._size = [], 0
        self._held.append(rest)
        self._size += len(rest)
        if self._size > self._longest or any(len(line) > self._longest for line in ended):
            raise _TooMuchError(f"a line is over {self._longest >> 20} MiB")
        return [line for line in ended if line]


def retry_after(header: str | None) -> float | None:
    """The seconds of a Retry-After header, the only form that API servers use; else None."""
    return float(header) if header is not None and re.fullmatch(r"[0-9]{1,6}", header.strip()) else None


def pause(answer: Answer, left: float, spread: float) -> float | None:
    """How long to wait before the request may be repeated, or None if the answer is final."""
    if answer.status not in {429, 503} or answer.retry_after is None:
        return None
    wait = max(answer.retry_after, SHORTEST_PAUSE) * (1 + spread / 10)
    return wait if wait < left else None


def path_kind(path: str) -> str:
    """The kind of a path, without names: `pods`, `deployments/scale`, `pods.metrics.k8s.io`, `discovery`."""
    root, *parts = path.strip("/").split("/")
    if root not in {"api", "apis"}:
        return root
    group, parts = (parts[0], parts[2:]) if root == "apis" and parts else ("", parts[1:])
    if not parts:
        return "discovery"
    if group in METRIC_GROUPS:
        return group
    if parts[0] == "namespaces" and len(parts) > 2 and parts[2] not in {"status", "finalize"}:
        parts = parts[2:]
    resource = f"{parts[0]}.{group}" if group == "metrics.k8s.io" else parts[0]
    return f"{resource}/{parts[2]}" if len(parts) > 2 else resource


def _is_outage(error: Exception, nothing_answered: bool) -> bool:
    """Whether it is no matter of one request. If others were answered meanwhile, only this one was slow."""
    match error:
        case _TooMuchError():
            return False
        case aiohttp.ConnectionTimeoutError():
            return True
        case TimeoutError():
            return nothing_answered
        case _:
            return True


def what_happened(error: Exception, within: float, source: str) -> str:
    """A readable description of a failure."""
    match error:
        case aiohttp.ClientConnectorCertificateError():
            return f"the certificate of {error.host} is not trusted: {error.certificate_error}; see {source}"
        case aiohttp.ClientConnectorError():
            why = os.strerror(error.errno) if error.errno and error.errno > 0 else error.strerror or error.os_error
            return f"no connection to {error.host}:{error.port}: {why}"
        case aiohttp.ServerDisconnectedError():
            return "the connection was closed before an answer came"
        case aiohttp.ClientPayloadError():
            return "the connection was closed within the answer"
        case aiohttp.ConnectionTimeoutError():
            return f"no connection within {CONNECT_WITHIN:g} s"
        case TimeoutError() if within:
            return f"no answer within {within:.3g} s"
        case _:
            return str(error) or type(error).__name__
