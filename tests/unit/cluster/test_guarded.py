"""A write is sent in time and once, or not at all."""

import asyncio
from collections.abc import Callable, Iterator
from contextlib import suppress
from itertools import chain, repeat

import pytest

from hypot.cluster.api import Api
from hypot.cluster.port import MayNotWriteError, Request, UnreachableError
from unit.cluster.server import OK, PODS, WRITES, each_write, head, talking

pytestmark = pytest.mark.asyncio


def answering(*times: float) -> Callable[[], float]:
    """A guard that gives these answers, and repeats the last."""
    given: Iterator[float] = chain(times, repeat(times[-1]))
    return lambda: next(given)


@each_write
async def test_a_write_is_not_sent_twice(request_):
    """A cut connection does not show whether the write was done, so only the caller may repeat it."""
    seen = []

    async def conversation(reader: asyncio.StreamReader, _: asyncio.StreamWriter) -> None:
        seen.append(await head(reader))

    async with talking(conversation) as access, Api(access) as api:
        with pytest.raises(UnreachableError, match=f"{request_.method} {request_.path}: the connection was closed"):
            await api.call(request_)
        assert api.calls == {(request_.method, "pods", "none"): 1}
    assert len(seen) == 1


async def test_a_read_is_tried_once_more():
    """A read does not fail because the server closed an idle connection."""
    seen = []

    async def conversation(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while True:
            seen.append(await head(reader))
            if len(seen) == 2:
                return
            writer.write(OK)

    async with talking(conversation) as access, Api(access) as api:
        assert (await api.call(PODS)).ok
        assert (await api.call(PODS)).ok
    assert len(seen) == 3


@each_write
@pytest.mark.parametrize("reused", [False, True])
@pytest.mark.parametrize("asked", [1, 2])
async def test_a_write_that_came_too_late_is_not_sent(request_, reused, asked):
    """The guard is checked before the call, on the connection and for the bytes; once it expires nothing is sent."""
    seen = []

    async def conversation(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while data := await reader.read(2**16):
            seen.append(data)
            writer.write(OK)

    guard = answering(*[5.0] * asked, -1.0)
    async with talking(conversation) as access, Api(access, guard=guard) as api:
        if reused:
            await api.call(PODS)
        with pytest.raises(MayNotWriteError, match=f"{request_.method} {request_.path}: not sent"):
            await api.call(request_)
    assert b"".join(seen).count(b"HTTP/1.1") == (1 if reused else 0)
    assert request_.method.encode() not in b"".join(seen)


async def test_without_the_right_to_write_nothing_is_connected():
    """The guard is checked before anything else; reads continue without it."""
    seen = []

    async def conversation(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        seen.append(await head(reader))
        writer.write(OK)

    async with talking(conversation) as access, Api(access, guard=lambda: 0.0) as api:
        with pytest.raises(MayNotWriteError):
            await api.call(WRITES[0])
        assert seen == []
        assert (await api.call(PODS)).ok


async def test_a_long_write_is_not_ended_late():
    """Bytes that wait for a slow server are held back too, so that it never gets the whole write."""
    size = 64 * 2**20
    left = [5.0]
    received = [0]
    ended = asyncio.Event()

    async def conversation(reader: asyncio.StreamReader, _: asyncio.StreamWriter) -> None:
        await head(reader)
        left[0] = -1.0
        with suppress(OSError):
            while data := await reader.read(2**20):
                received[0] += len(data)
        ended.set()

    async with talking(conversation) as access, Api(access, guard=lambda: left[0]) as api:
        with pytest.raises(UnreachableError, match="PUT /api/v1/namespaces/a/configmaps/b: "):
            await api.call(Request("PUT", "/api/v1/namespaces/a/configmaps/b", body=bytes(size)))
        await asyncio.wait_for(ended.wait(), 120)
    assert received[0] < size


@each_write
async def test_a_write_waits_no_longer_than_it_may(request_):
    """The write may have been done, so the error differs from that of a write that was never sent."""
    silent = asyncio.Event()

    async def conversation(reader: asyncio.StreamReader, _: asyncio.StreamWriter) -> None:
        await head(reader)
        await silent.wait()

    ends = asyncio.get_running_loop().time() + 0.3
    guard = lambda: ends - asyncio.get_running_loop().time()  # noqa: E731  the clock of this loop
    async with talking(conversation) as access, Api(access, guard=guard) as api:
        with pytest.raises(UnreachableError, match="no answer within 0"):
            await api.call(request_)
        with pytest.raises(MayNotWriteError):
            await api.call(request_)
