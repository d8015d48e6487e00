"""Health and readiness over HTTP."""

import asyncio

import pytest

from hypot.serving.probes import Probes
from unit.serving.started import got, started

pytestmark = pytest.mark.asyncio


def probes(health=lambda: "", ready=lambda: ""):
    return started(Probes(health, ready))


@pytest.mark.parametrize("path", ["/healthz", "/readyz"])
async def test_all_is_well(path):
    """The page says ok."""
    async with probes() as (_, client):
        assert await got(client, path) == (200, "ok\n")


@pytest.mark.parametrize(("path", "source"), [("/healthz", "health"), ("/readyz", "ready")])
async def test_the_page_says_what_is_wrong(path, source):
    """Each page calls its own function, on each request."""
    message = ["pods are not in step yet"]
    async with probes(**{source: lambda: message[0]}) as (_, client):
        assert await got(client, path) == (503, "pods are not in step yet\n")
        message[0] = ""
        assert await got(client, path) == (200, "ok\n")


async def test_probes_are_answered_next_to_idle_connections():
    """64 of them used to reset every probe."""
    async with probes() as (server, client):
        idle = [await asyncio.open_connection("127.0.0.1", server.port) for _ in range(200)]
        for path in ("/healthz", "/readyz") * 3:
            assert await got(client, path) == (200, "ok\n")
        for _, writer in idle:
            writer.transport.abort()


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "HEAD", "OPTIONS"])
async def test_only_get(method):
    """The pages are read-only."""
    async with probes() as (_, client), client.request(method, "/healthz") as answer:
        assert (answer.status, answer.headers["Allow"]) == (405, "GET")


async def test_other_pages_are_not_here():
    """The answer lists the pages that exist."""
    async with probes() as (_, client):
        for asked in ("/metrics", "/debug/../etc/passwd"):
            status, text = await got(client, asked)
            assert (status, "/healthz" in text) == (404, True)


async def test_before_the_start_there_is_no_port():
    """Stopping twice is allowed."""
    server = Probes(str, str)
    assert server.port == 0
    async with started(server):
        assert server.port
    await server.stop()
    assert server.port == 0
