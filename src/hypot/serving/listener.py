"""A listener that no client can block or fill: few connections, deadlines for every request, and bounded memory.

If there are too many connections, or the bodies being read take too much memory, the client that holds the most loses
the one it has held longest without a complete request. So clients that only hold connections do not lock out others.
"""

import asyncio
import gc
import os
import socket
import ssl
from asyncio.sslproto import SSLProtocol
from collections import Counter
from collections.abc import Awaitable, Callable, Collection
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Protocol, Self, TypeVar, cast

import structlog
from aiohttp import StreamReader, web

log = structlog.get_logger()

Answer = Callable[[web.BaseRequest], Awaitable[web.StreamResponse]]
BACKLOG = 128
HANDSHAKE_WITHIN = 5
# How long a client may still send after an early answer. Else it might not see the answer.
LINGER = 1
# The pause after a failed accept: the system has no file or memory left.
ACCEPT_AGAIN = 0.1
RETRY_AFTER = {"Retry-After": "1"}
# A connection that ends leaves reference cycles behind, with its TLS buffers after an error. Python's own collection is
# off (`garbage`), so this many ended connections are collected here.
COLLECT_AFTER = 256


@dataclass(frozen=True, slots=True)
class Limits:
    """What all clients together may hold, and how long one may take; sizes are in bytes, times in seconds."""

    connections: int = 64
    header_within: float = 10.0
    # How long a connection without a request stays open after an answer.
    kept_for: float = 15.0
    body: int = 0
    # All bodies that are being read.
    bodies: int = 0
    body_within: float = 10.0
    stop_within: float = 1.0
    # The longest line of a request (also of one header), and the most headers.
    line: int = 4096
    headers: int = 32


class _OfClient(Protocol):
    @property
    def client(self) -> str: ...
    @property
    def since(self) -> float: ...


_T = TypeVar("_T", bound=_OfClient)
_Lost = Callable[["_Connection"], None]


class _Connection(web.RequestHandler):
    """One connection, from the moment it is accepted: TLS handshakes and endings count too."""

    __slots__ = ("answering", "client", "deadline", "handling", "header_within", "lost", "opened", "since")

    def __init__(self, manager: web.Server, client: str, header_within: float, lost: _Lost, **how: Any) -> None:
        loop = asyncio.get_running_loop()
        super().__init__(manager, loop=loop, **how)
        self.client, self.header_within, self.lost = client, header_within, lost
        # When it was accepted or last answered.
        self.since = loop.time()
        # Whether the header of a request is complete, and whether the whole request is.
        self.handling = self.answering = False
        self.deadline: asyncio.TimerHandle | None = None
        self.opened: asyncio.Transport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.opened = cast("asyncio.Transport", transport)
        super().connection_made(transport)
        self._expect_header()

    def data_received(self, data: bytes) -> None:
        """The first bytes after an answer start the deadline for the next header."""
        self._expect_header()
        super().data_received(data)

    def connection_lost(self, exc: BaseException | None) -> None:
        self.handle()
        super().connection_lost(exc)
        self.opened = None
        self.lost(self)

    def _expect_header(self) -> None:
        if self.deadline is None and not self.handling:
            self.deadline = asyncio.get_running_loop().call_later(self.header_within, self.drop)

    def handle(self) -> None:
        """The header is complete."""
        self.handling = True
        if self.deadline is not None:
            self.deadline.cancel()
            self.deadline = None

    def answered(self) -> None:
        self.since, self.handling, self.answering = asyncio.get_running_loop().time(), False, False

    def drop(self) -> None:
        if self.opened is not None:
            self.opened.abort()


@dataclass(eq=False, slots=True)
class Held:
    """Work for a client that has a deadline, and that may have to make room before."""

    client: str
    since: float
    within: asyncio.Timeout
    dropped: bool = field(default=False, init=False)

    @classmethod
    def begin(cls, client: str, seconds: float) -> Self:
        return cls(client, asyncio.get_running_loop().time(), asyncio.timeout(seconds))

    def drop(self) -> None:
        """End it now: the task that does it gets a TimeoutError."""
        self.dropped = True
        if not self.within.expired():
            self.within.reschedule(self.since)


@dataclass(eq=False, slots=True)
class _Body(Held):
    """A body that is being read."""

    parts: list[bytes] = field(default_factory=list)
    size: int = 0

    def add(self, part: bytes) -> None:
        self.parts.append(part)
        self.size += len(part)

    def drop(self) -> None:
        self.parts, self.size = [], 0
        Held.drop(self)


class Listener:
    """Accepts connections within the limits, and calls `answer` for each request when its header is complete."""

    def __init__(self, answer: Answer, limits: Limits) -> None:
        self._answer, self._limits = answer, limits
        self._sockets: list[socket.socket] = []
        self._accepting: list[asyncio.Task[None]] = []
        self._connections: set[_Connection] = set()
        # Connections whose TLS handshake is not complete.
        self._opening: dict[_Connection, asyncio.Task[None]] = {}
        self._ended = 0
        self._bodies: set[_Body] = set()
        self._server: web.Server | None = None

    @property
    def port(self) -> int:
        """The port it listens on; 0 if it does not listen."""
        return int(self._sockets[0].getsockname()[1]) if self._sockets else 0

    async def start(self, host: str, port: int, tls: ssl.SSLContext | None = None) -> None:
        """Listen; port 0 means any free port."""
        self._sockets = await _bound(host, port)
        self._server = server = web.Server(self._handle)
        self._accepting = [asyncio.create_task(self._accept(each, server, tls)) for each in self._sockets]

    async def stop(self) -> None:
        """Answer the requests that are complete, then close."""
        server, self._server = self._server, None
        ending = [*self._accepting, *self._opening.values()]
        for task in ending:
            task.cancel()
        await asyncio.gather(*ending, return_exceptions=True)
        for each in self._sockets:
            each.close()
        self._accepting, self._sockets = [], []
        if server is not None:
            server.pre_shutdown()
            await server.shutdown(self._limits.stop_within)

    async def body(self, request: web.BaseRequest) -> bytes:
        """The whole body of a request. Raises the HTTP error if it is too large or too slow, or had to make room."""
        limits, connection = self._limits, _connection_of(request)
        if (request.content_length or 0) > limits.body:
            raise _too_large(limits.body)
        body = _Body.begin(connection.client, limits.body_within)
        self._bodies.add(body)
        try:
            async with body.within:
                await self._read(request.content, body)
            connection.answering = True
            return b"".join(body.parts)
        except TimeoutError as error:
            if body.dropped:
                raise web.HTTPServiceUnavailable(text="too many large requests\n", headers=RETRY_AFTER) from error
            raise web.HTTPRequestTimeout(text=f"no whole body within {limits.body_within:g} s\n") from error
        except (ConnectionError, web.RequestPayloadError) as error:
            raise web.HTTPBadRequest(text="the body ended early\n") from error
        finally:
            self._bodies.discard(body)
            # Now, because errors keep their frames, and with them this body, until the next garbage collection.
            body.parts = []

    async def _read(self, content: StreamReader, body: _Body) -> None:
        while not body.dropped and (part := await content.readany()):
            body.add(part)
            if body.size > self._limits.body:
                raise _too_large(self._limits.body)
            self._make_room_for_bodies()
        if body.dropped:
            raise TimeoutError

    def _make_room_for_bodies(self) -> None:
        while sum(each.size for each in self._bodies) > self._limits.bodies:
            held = [each for each in self._bodies if each.size]
            first_to_go(held, lambda each: each.size).drop()

    async def _accept(self, listening: socket.socket, server: web.Server, tls: ssl.SSLContext | None) -> None:
        loop = asyncio.get_running_loop()
        while True:
            try:
                accepted, address = await loop.sock_accept(listening)
            except OSError as error:
                log.warning("cannot accept a connection", error=str(error))
                await asyncio.sleep(ACCEPT_AGAIN)
                continue
            self._make_room()
            connection = self._connection(server, str(address[0]))
            self._connections.add(connection)
            opening = asyncio.create_task(_opened(connection, accepted, tls))
            self._opening[connection] = opening
            opening.add_done_callback(partial(self._is_open, connection, accepted))

    def _connection(self, server: web.Server, client: str) -> _Connection:
        return _Connection(
            server,
            client,
            self._limits.header_within,
            self._lost,
            keepalive_timeout=self._limits.kept_for,
            lingering_time=LINGER,
            max_line_size=self._limits.line,
            max_field_size=self._limits.line,
            max_headers=self._limits.headers,
            # A small compressed body may have any size.
            auto_decompress=False,
            access_log=None,
        )

    def _is_open(self, connection: _Connection, accepted: socket.socket, task: asyncio.Task[None]) -> None:
        del self._opening[connection]
        if task.cancelled() or task.exception() is not None:
            accepted.close()
            self._lost(connection)

    def _lost(self, connection: _Connection) -> None:
        self._connections.discard(connection)
        self._ended += 1
        if self._ended % COLLECT_AFTER == 0:
            gc.collect()

    def _make_room(self) -> None:
        if len(self._connections) < self._limits.connections:
            return
        idle = [each for each in self._connections if not each.answering]
        connection = first_to_go(idle or self._connections)
        self._connections.discard(connection)
        if opening := self._opening.get(connection):
            opening.cancel()
        connection.drop()

    async def _handle(self, request: web.BaseRequest) -> web.StreamResponse:
        connection = _connection_of(request)
        connection.handle()
        connection.answering = not request.body_exists
        try:
            return await self._answer(request)
        finally:
            connection.answered()


def _connection_of(request: web.BaseRequest) -> _Connection:
    return cast("_Connection", request.protocol)


def first_to_go(held: Collection[_T], weight: Callable[[_T], int] = lambda _: 1) -> _T:
    """Of the client that holds the most, what it has held longest."""
    by_client: Counter[str] = Counter()
    for each in held:
        by_client[each.client] += weight(each)
    return min(held, key=lambda each: (-by_client[each.client], each.since))


class _Tls(SSLProtocol):
    """TLS with small buffers: those of asyncio take up to 1 MiB of memory for each connection."""

    max_size = 32 << 10


async def _opened(connection: _Connection, accepted: socket.socket, tls: ssl.SSLContext | None) -> None:
    """Raises OSError if the TLS handshake fails or takes too long."""
    loop = asyncio.get_running_loop()
    if tls is None:
        await loop.connect_accepted_socket(lambda: connection, accepted)
        return
    done: asyncio.Future[None] = loop.create_future()
    secured = _Tls(
        *(loop, connection, tls, done),
        server_side=True,
        ssl_handshake_timeout=HANDSHAKE_WITHIN,
        ssl_shutdown_timeout=LINGER,
    )
    transport, _ = await loop.connect_accepted_socket(lambda: secured, accepted)
    try:
        await done
    except BaseException:
        transport.abort()
        raise


class ListenError(OSError):
    """The address cannot be listened on."""


async def _bound(host: str, port: int) -> list[socket.socket]:
    loop, made = asyncio.get_running_loop(), list[socket.socket]()
    try:
        found = await loop.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
        for family, _, _, _, address in dict.fromkeys(found):
            made.append(socket.create_server(address[:2], family=family, backlog=BACKLOG))
            made[-1].settimeout(0.0)
    except OSError as error:
        for each in made:
            each.close()
        why = os.strerror(error.errno) if error.errno and error.errno > 0 else str(error)
        raise ListenError(f"cannot listen on {host}:{port}: {why}") from error
    return made


def _too_large(most: int) -> web.HTTPException:
    return web.HTTPRequestEntityTooLarge(most, most + 1)
