"""Whether the API server can be reached: one line when it cannot, and one when it answers again."""

import asyncio
import json

import pytest
from aiohttp import web
from structlog.testing import capture_logs

from hypot.cluster.api import Api
from hypot.cluster.config import EXEC_VERSIONS, Access, Plugin
from hypot.cluster.connection import SELDOM, Connection
from hypot.cluster.port import OutageError, Request, UnreachableError
from ports import free_port
from unit.cluster.server import PODS, access_at, changed, serving

WHEN = "2026-01-01T00:00:00Z"
LOST, BACK = "API server unreachable, trying again", "API server answers again"


class Clock:
    now = 100.0

    def __call__(self):
        return self.now


def events(logged):
    return [line["event"] for line in logged]


def test_an_outage_is_two_lines():
    """However many requests fail meanwhile."""
    clock = Clock()
    connection = Connection("https://here", "a kubeconfig", clock)
    with capture_logs() as logged:
        connection.answered()
        for _ in range(20):
            clock.now += 10
            connection.failed("no connection")
        connection.answered()
        connection.answered()
    assert [{**line, "log_level": ""} for line in logged] == [
        {
            "event": LOST,
            "server": "https://here",
            "error": "no connection",
            "credentials": "a kubeconfig",
            "log_level": "",
        },
        {"event": BACK, "server": "https://here", "after_seconds": 190, "log_level": ""},
    ]


def test_a_connection_that_comes_and_goes():
    """At most one pair of lines a minute; an outage that lasts is logged as soon as the minute is over."""
    clock = Clock()
    connection = Connection("https://here", "a kubeconfig", clock)
    with capture_logs() as logged:
        for _ in range(10):
            connection.failed("no connection")
            connection.answered()
            clock.now += 1
        assert events(logged) == [LOST, BACK]
        connection.failed("no connection")
        clock.now += SELDOM
        connection.failed("no connection")
    assert events(logged) == [LOST, BACK, LOST]


async def asked(access, *requests, connection):
    """What each request raises."""
    async with Api(access, connection=connection) as api:
        return [type(each) for each in await asyncio.gather(*map(api.call, requests), return_exceptions=True)]


@pytest.mark.asyncio
async def test_a_server_that_is_not_there():
    """Every request fails for the same reason, which is logged once."""
    access = access_at(free_port())
    with capture_logs() as logged:
        raised = await asked(access, *[PODS] * 5, connection=Connection(access.server, access.source))
    assert raised == [OutageError] * 5
    assert [(line["event"], line["server"]) for line in logged] == [(LOST, access.server)]
    assert logged[0]["error"] == f"no connection to {access.server.removeprefix('https://')}: Connection refused"


@pytest.mark.asyncio
async def test_credentials_that_run_out(tmp_path):
    """A plugin that works no more, such as after a logout, is an outage too: no request can be sent."""
    token = {
        "apiVersion": EXEC_VERSIONS[0],
        "kind": "ExecCredential",
        "status": {"token": "t", "expirationTimestamp": WHEN},
    }
    once = f"mkdir {tmp_path}/used && echo '{json.dumps(token)}'"
    clock = Clock()
    async with serving(answering) as access:
        plugged = changed(access, token="", plugin=Plugin(EXEC_VERSIONS[0], "sh", ("-c", once)))
        connection = Connection(access.server, access.source)
        async with Api(plugged, connection=connection, clock=clock) as api:
            assert (await api.call(PODS)).ok
            clock.now += 1e10
            with capture_logs() as logged, pytest.raises(OutageError):
                await api.call(PODS)
    assert events(logged) == [LOST]
    assert "sh ended with status 1" in logged[0]["error"]


async def answering(_: web.Request) -> web.Response:
    return web.Response()


@pytest.mark.asyncio
async def test_a_slow_answer_is_no_outage_if_others_are_answered():
    """What is asked for may be the reason, so that the caller logs it."""
    asked_for = []

    async def answer(request: web.Request) -> web.Response:
        asked_for.append(request.path)
        if request.path == "/slow" or len(asked_for) == 1:
            await asyncio.sleep(0.6)
        return web.Response()

    slow = Request("GET", "/slow", timeout=0.3)
    async with serving(answer) as access:
        connection = Connection(access.server, access.source)
        async with Api(access, connection=connection) as api:
            with capture_logs() as logged, pytest.raises(OutageError, match=r"no answer within 0\.3 s"):
                await api.call(slow)
            assert events(logged) == [LOST]
            with capture_logs() as logged:
                late = asyncio.ensure_future(api.call(slow))
                while not late.done():
                    await api.call(PODS)
                with pytest.raises(UnreachableError) as raised:
                    await late
    assert type(raised.value) is UnreachableError
    assert events(logged) == [BACK]


@pytest.mark.asyncio
async def test_without_a_connection_nothing_is_logged():
    """Commands report the error themselves."""
    with capture_logs() as logged:
        raised = await asked(Access(f"https://127.0.0.1:{free_port()}"), PODS, connection=None)
    assert (raised, logged) == ([UnreachableError], [])
