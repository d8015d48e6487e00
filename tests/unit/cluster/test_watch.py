"""Watches, against real servers with TLS on loopback."""

import asyncio

import pytest
from aiohttp import web

from hypot.cluster.api import Api, Lines
from hypot.cluster.port import RefusedError, Request, UnreachableError
from unit.cluster.server import PODS, head, serving, talking

asynchronous = pytest.mark.asyncio


@asynchronous
async def test_lines_come_as_they_were_sent():
    """A watch has lines of any length, in chunks that ignore line ends."""
    long = b"x" * 300_000
    gone_on = asyncio.Event()

    async def conversation(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await head(reader)
        writer.write(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
        for chunk in (b"on", b"e\ntwo\n\nthr", b"ee\n" + long[:1000], long[1000:] + b"\n"):
            writer.write(b"%x\r\n%s\r\n" % (len(chunk), chunk))
            await writer.drain()
            await asyncio.sleep(0.01)
        await gone_on.wait()
        writer.write(b"4\r\nend\n\r\n0\r\n\r\n")

    async with talking(conversation) as access, Api(access) as api:
        async with api.watch(Request("GET", "/api/v1/pods", {"watch": "1"})) as lines:
            seen = [await anext(lines) for _ in range(4)]
            gone_on.set()
            seen += [line async for line in lines]
        assert api.calls == {("WATCH", "pods", "2xx"): 1}
    assert seen == [b"one", b"two", b"three", long, b"end"]


@asynchronous
async def test_a_watch_that_is_cut_is_reported():
    """A cut connection is an error, not the end of the watch."""

    async def conversation(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await head(reader)
        writer.write(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\none\n\r\n")
        await writer.drain()

    async with talking(conversation) as access, Api(access) as api, api.watch(PODS) as lines:
        assert await anext(lines) == b"one"
        with pytest.raises(UnreachableError, match="WATCH /api/v1/pods: "):
            await anext(lines)


@asynchronous
async def test_a_watch_that_is_left_is_closed():
    """Leaving the watch closes its connection."""
    ended = asyncio.Event()

    async def conversation(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await head(reader)
        writer.write(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\none\n\r\n")
        assert await reader.read() == b""
        ended.set()

    async with talking(conversation) as access, Api(access) as api:
        async with api.watch(PODS) as lines:
            assert await anext(lines) == b"one"
        await asyncio.wait_for(ended.wait(), 120)


@asynchronous
async def test_a_watch_that_does_not_begin_is_refused():
    """The answer is kept, because 410 and 429 mean different things to a reflector."""

    async def handler(_: web.Request) -> web.Response:
        return web.json_response({"reason": "Expired", "message": "too old"}, status=410, headers={"Retry-After": "7"})

    async with serving(handler) as access, Api(access) as api:
        with pytest.raises(RefusedError, match="GET /api/v1/pods: 410 too old") as reported:
            async with api.watch(PODS):
                pytest.fail("it began")
    assert (reported.value.answer.reason, reported.value.answer.retry_after) == ("Expired", 7.0)


@asynchronous
async def test_a_watch_begins_in_its_time():
    """Only the start of a watch has a time limit."""
    silent = asyncio.Event()

    async def conversation(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if b"silent" not in await head(reader):
            writer.write(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
            await asyncio.sleep(0.3)
            writer.write(b"4\r\none\n\r\n")
        await silent.wait()

    async with talking(conversation) as access, Api(access) as api:
        with pytest.raises(UnreachableError, match="WATCH /silent: no answer within"):
            async with api.watch(Request("GET", "/silent", timeout=0.1)):
                pytest.fail("it began")
        async with api.watch(Request("GET", "/slow", timeout=0.2)) as lines:
            assert await anext(lines) == b"one"


def test_a_line_has_a_longest_length():
    """A server that never ends a line does not fill our memory."""
    lines = Lines(longest=10)
    assert lines.fed(b"0123456789\n01234") == [b"0123456789"]
    assert lines.fed(b"56789") == []
    with pytest.raises(Exception, match="a line is over"):
        lines.fed(b"0")
    with pytest.raises(Exception, match="a line is over"):
        Lines(longest=10).fed(b"01234567890\n")
