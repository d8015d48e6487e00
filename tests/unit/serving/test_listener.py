"""The listener over real sockets: clients that hold connections, headers or bodies do not lock out others."""

import asyncio
import ssl
import time
from contextlib import asynccontextmanager, suppress

import aiohttp
import pytest
from aiohttp import web

from hypot.serving import listener as module
from hypot.serving.certificate_holder import CertificateHolder
from hypot.serving.certificates import issue
from hypot.serving.listener import Limits, Listener, ListenError

pytestmark = pytest.mark.asyncio
MANY = 64
ASK = b"GET / HTTP/1.1\r\nHost: x\r\n\r\n"
POST = b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n"
WITHIN = 30.0


@asynccontextmanager
async def listening(tls=None, **limits):
    """A listener that answers with the body of the request, or with ok."""

    async def answer(request):
        if request.method == "POST":
            return web.Response(body=await made.body(request))
        return web.Response(text="ok")

    made = Listener(answer, Limits(**limits))
    await made.start("127.0.0.1", 0, tls)
    try:
        yield made
    finally:
        await made.stop()


class Clients:
    """Open connections, closed at the end."""

    def __init__(self, port, tls=None):
        self._port, self._tls, self._open = port, tls, []

    async def open(self, sent=b""):
        reader, writer = await asyncio.open_connection("127.0.0.1", self._port, ssl=self._tls)
        self._open.append(writer)
        writer.write(sent)
        await writer.drain()
        return reader, writer

    async def ask(self, sent):
        """The answer to these bytes, until the server closes."""
        reader, _ = await self.open(sent)
        return await answer_of(reader)

    def close(self):
        for writer in self._open:
            writer.transport.abort()


@asynccontextmanager
async def clients_of(listener, tls=None):
    clients = Clients(listener.port, tls)
    try:
        yield clients
    finally:
        clients.close()


async def answer_of(reader):
    with suppress(ConnectionError):
        return await asyncio.wait_for(reader.read(), WITHIN)
    return b""


async def got(listener):
    async with aiohttp.ClientSession() as session, session.get(f"http://127.0.0.1:{listener.port}/") as answer:
        return answer.status, await answer.text()


async def until(holds):
    async with asyncio.timeout(WITHIN):
        while not holds():  # noqa: ASYNC110  there is no event to wait for
            await asyncio.sleep(0.01)


@pytest.mark.parametrize("sent", [b"", b"GET / HT", ASK, POST % 9], ids=["idle", "header", "kept alive", "body"])
async def test_connections_that_are_held_do_not_block_others(sent):
    """Each new client is answered; the connection that was held longest is closed."""
    async with listening(connections=MANY, body=9, bodies=99) as listener, clients_of(listener) as clients:
        first, _ = await clients.open(sent)
        for _ in range(MANY - 1):
            await clients.open(sent)
        await until(lambda: len(listener._connections) == MANY)
        for _ in range(3):
            assert await got(listener) == (200, "ok")
        # What it got until it was closed, if anything.
        assert (await answer_of(first)).count(b"HTTP/1.1 ") == (sent == ASK)
        assert len(listener._connections) <= MANY


async def test_a_client_with_many_connections_loses_its_own(monkeypatch):
    """Others keep theirs, however old they are."""
    monkeypatch.setattr(Listener, "_connection", by_turns(Listener._connection))
    async with listening(connections=4) as listener, clients_of(listener) as clients:
        (other, _), *greedy = [await clients.open() for _ in range(6)]
        await until(lambda: len(listener._connections) == 4)
        assert "other" in {each.client for each in listener._connections}
        assert await answer_of(greedy[0][0]) == b""
        other.feed_eof()


def by_turns(made):
    """The first connection is of another client than the rest: all of them have the same address here."""
    names = iter(["other"])

    def make(self, server, client):
        return made(self, server, next(names, client))

    return make


async def test_a_header_has_a_deadline():
    """Also the header of a second request, although the connection may be idle for longer."""
    async with listening(header_within=0.05, kept_for=60.0) as listener, clients_of(listener) as clients:
        assert await clients.ask(b"") == b""
        assert await clients.ask(b"GET / HTTP/1.1\r\nHost:") == b""
        reader, writer = await clients.open(ASK)
        assert await reader.readexactly(15) == b"HTTP/1.1 200 OK"
        writer.write(b"GET / HT")
        assert (await answer_of(reader)).count(b"HTTP/1.1") == 0


async def test_a_body_has_a_deadline():
    """The client gets an answer and is disconnected."""
    async with listening(body=99, bodies=99, body_within=0.05) as listener, clients_of(listener) as clients:
        answer = await clients.ask(POST % 9 + b"8 bytes.")
        assert answer.startswith(b"HTTP/1.1 408 ")
        assert answer.endswith(b"no whole body within 0.05 s\n")
        assert not listener._bodies


@pytest.mark.parametrize(
    "sent",
    [POST % 10, b"POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\na\r\n0123456789\r\n"],
    ids=["declared", "chunked"],
)
async def test_a_body_has_a_largest_size(sent):
    """A declared size is refused before anything is read, any other once it is too large."""
    async with listening(body=9, bodies=99) as listener, clients_of(listener) as clients:
        assert (await clients.ask(sent)).startswith(b"HTTP/1.1 413 ")


async def test_a_compressed_body_is_not_unpacked():
    """A small body could have any size."""
    async with listening(body=99, bodies=99) as listener:
        url, headers = f"http://127.0.0.1:{listener.port}/", {"Content-Encoding": "deflate"}
        async with aiohttp.ClientSession() as session, session.post(url, data=b"as sent", headers=headers) as answer:
            assert await answer.read() == b"as sent"


@pytest.mark.parametrize(
    "sent",
    [
        b"GET /" + b"a" * 5000 + b" HTTP/1.1\r\nHost: x\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: x\r\nLong: " + b"a" * 5000 + b"\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: x\r\n" + b"A: b\r\n" * 200 + b"\r\n",
        b"\x16\x03\x01\x00\x00\r\n\r\n",
    ],
    ids=["line", "header", "headers", "garbage"],
)
async def test_what_is_not_a_request_is_refused(sent):
    """The next client is answered."""
    async with listening() as listener, clients_of(listener) as clients:
        assert (await clients.ask(sent)).startswith(b"HTTP/1.0 400 ")
        assert await got(listener) == (200, "ok")


async def test_bodies_that_are_held_make_room():
    """Of too many bodies the one held longest is dropped, so that another is read at once."""
    async with listening(body=100, bodies=250, body_within=WITHIN) as listener, clients_of(listener) as clients:
        first, _ = await clients.open(POST % 100 + b"x" * 99)
        await until(lambda: sum(each.size for each in listener._bodies) == 99)
        second, writer = await clients.open(POST % 100 + b"y" * 99)
        await until(lambda: sum(each.size for each in listener._bodies) == 198)
        whole, _ = await clients.open(POST % 100 + b"z" * 100)
        answer = await first.readuntil(b"\r\n\r\n")
        assert answer.startswith(b"HTTP/1.1 503 ")
        assert b"\r\nRetry-After: 1\r\n" in answer
        assert (await whole.readuntil(b"\r\n\r\n")).startswith(b"HTTP/1.1 200 ")
        writer.write(b"y")
        assert (await second.readuntil(b"\r\n\r\n")).startswith(b"HTTP/1.1 200 ")
        await until(lambda: not listener._bodies)


async def test_handshakes_count_as_connections():
    """A client that does not begin TLS holds a connection too, and is the first to lose it."""
    issued = issue(["127.0.0.1"], time.time())
    trust = ssl.create_default_context(cadata=issued.ca_pem)
    async with (
        listening(CertificateHolder(issued).context, connections=4) as listener,
        clients_of(listener) as silent,
        clients_of(listener, trust) as clients,
    ):
        opened = [await silent.open() for _ in range(10)]
        await until(lambda: len(listener._opening) == 4)
        for reader, _ in opened[:6]:
            assert await answer_of(reader) == b""
        reader, _ = await clients.open(ASK)
        assert await reader.readexactly(15) == b"HTTP/1.1 200 OK"
    assert not listener._opening


async def test_a_handshake_has_a_deadline(monkeypatch):
    """So has one that fails: nothing of it stays."""
    monkeypatch.setattr(module, "HANDSHAKE_WITHIN", 0.05)
    holder = CertificateHolder(issue(["127.0.0.1"], time.time()))
    async with listening(holder.context) as listener, clients_of(listener) as clients:
        assert await clients.ask(b"") == b""
        await clients.ask(ASK)
        await until(lambda: not listener._connections)


async def test_ended_connections_are_collected(monkeypatch):
    """They leave reference cycles behind, and the controller collects these seldom."""
    collected = []
    monkeypatch.setattr(module, "COLLECT_AFTER", 3)
    monkeypatch.setattr(module.gc, "collect", lambda: collected.append(1))
    async with listening() as listener:
        for _ in range(7):
            assert await got(listener) == (200, "ok")
        await until(lambda: listener._ended == 7)
    assert len(collected) == 2


async def test_a_client_that_goes_away_within_its_body_leaves_nothing(caplog):
    """Nothing is logged: any client could fill the log."""
    async with listening(body=99, bodies=99) as listener, clients_of(listener) as clients:
        _, writer = await clients.open(POST % 9 + b"8 bytes.")
        await until(lambda: sum(each.size for each in listener._bodies) == 8)
        writer.transport.abort()
        await until(lambda: not listener._connections and not listener._bodies)
    assert caplog.records == []


async def test_stopping_disconnects_all_and_frees_the_port():
    """Also clients within a body; stopping twice is allowed."""
    async with listening(body=99, bodies=99, stop_within=0.1) as listener, clients_of(listener) as clients:
        held = [await clients.open(sent) for sent in (b"", ASK, POST % 9 + b"8 bytes.")]
        await until(lambda: listener._bodies)
        port = listener.port
        await listener.stop()
        for reader, _ in held:
            await answer_of(reader)
        await listener.stop()
        assert listener.port == 0
        again = Listener(None, Limits())
        await again.start("127.0.0.1", port)
        assert again.port == port
        await again.stop()


async def test_an_address_that_cannot_be_used_is_reported():
    """The message has the address and the reason."""
    async with listening() as listener:
        with pytest.raises(ListenError, match=f"cannot listen on 127.0.0.1:{listener.port}: Address already in use"):
            await Listener(None, Limits()).start("127.0.0.1", listener.port)
    with pytest.raises(ListenError, match=r"cannot listen on 192\.0\.2\.1:1: "):
        await Listener(None, Limits()).start("192.0.2.1", 1)
