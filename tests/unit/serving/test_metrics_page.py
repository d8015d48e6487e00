"""The metrics over HTTP."""

import asyncio
from http import HTTPStatus

import pytest
from prometheus_client.parser import text_string_to_metric_families
from structlog.testing import capture_logs

from builders import NOW
from hypot.run.report.gauges import MetricsSnapshot, exposition
from hypot.serving import metrics_page
from hypot.serving.metrics_page import MetricsEndpoint
from hypot.serving.readers import Attributes, Denial
from unit.run.outcomes import representative
from unit.serving.started import got, started

MOVES = representative()["wpa moves"]
WELL = MetricsSnapshot(NOW, leads=True, outcomes=[MOVES])


def metrics(snapshot=WELL, readers=None):
    return started(MetricsEndpoint(lambda: exposition(snapshot), readers))


async def until(holds):
    async with asyncio.timeout(120):
        while not holds():  # noqa: ASYNC110  there is no event to wait for
            await asyncio.sleep(0.01)


@pytest.mark.asyncio
async def test_metrics_are_the_exposition():
    """The page is in the text format, and its parser reads all of it."""
    async with metrics() as (_, client), client.get("/metrics") as answer:
        assert answer.headers["Content-Type"] == "text/plain; version=0.0.4; charset=utf-8"
        page = await answer.text()
    assert page.encode() == b"".join(exposition(WELL))
    assert "wpa_controller_value" in {family.name for family in text_string_to_metric_families(page)}


@pytest.mark.asyncio
async def test_others_get_their_turn_during_a_long_scrape():
    """Other tasks run between any two slices: the webhook answers in the same event loop."""
    many = MetricsSnapshot(NOW, outcomes=[MOVES] * 500)
    turns = 0

    async def other():
        nonlocal turns
        while True:
            turns += 1
            await asyncio.sleep(0)

    async with metrics(many) as (_, client):
        task = asyncio.create_task(other())
        status, page = await got(client, "/metrics")
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
    assert (status, page.encode()) == (200, b"".join(exposition(many)))
    assert turns > len(list(exposition(many)))


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "HEAD", "OPTIONS"])
@pytest.mark.asyncio
async def test_only_get(method):
    """The page is read-only."""
    async with metrics() as (_, client), client.request(method, "/metrics") as answer:
        assert (answer.status, answer.headers["Allow"]) == (405, "GET")


@pytest.mark.asyncio
async def test_other_pages_are_not_here():
    """The answer names the page that exists."""
    async with metrics() as (_, client):
        for asked in ("/readyz", "/debug/../etc/passwd"):
            status, text = await got(client, asked)
            assert (status, "/metrics" in text) == (404, True)


class OneReader:
    """Refuses the first request."""

    def __init__(self, refused):
        self.refused, self.wanted = [refused], []

    async def refusal(self, _request, wanted):
        self.wanted.append(wanted)
        return self.refused.pop() if self.refused else None


@pytest.mark.parametrize(("status", "challenge"), [(401, "Bearer"), (403, None), (503, None)])
@pytest.mark.asyncio
async def test_who_may_not_read_is_refused(status, challenge):
    """It is checked at each scrape. Without an identity, the answer says which kind is wanted."""
    readers = OneReader(Denial(HTTPStatus(status), "no"))
    async with metrics(readers=readers) as (_, client):
        async with client.get("/metrics") as answer:
            assert (answer.status, await answer.text()) == (status, "no\n")
            assert answer.headers.get("WWW-Authenticate") == challenge
        assert (await got(client, "/metrics"))[0] == 200
    assert readers.wanted == [Attributes("get", "/metrics")] * 2


@pytest.mark.asyncio
async def test_a_client_that_reads_too_slowly_is_cut(monkeypatch):
    """A scrape that is not read is dropped."""
    monkeypatch.setattr(metrics_page, "READING_WITHIN", 0.2)
    huge = MetricsSnapshot(NOW, outcomes=[MOVES] * 6000)
    async with metrics(huge) as (server, client):
        reader, writer = await asyncio.open_connection("127.0.0.1", server.port, limit=1024)
        writer.write(b"GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n")
        assert await reader.readexactly(15) == b"HTTP/1.1 200 OK"
        await until(lambda: not server._scrapes)
        assert (await got(client, "/elsewhere"))[0] == 404
        with pytest.raises((ConnectionResetError, asyncio.IncompleteReadError)):
            await reader.readexactly(10**9)
        writer.close()


async def unread(server, client):
    """A scrape from this address that is not read."""
    reader, writer = await asyncio.open_connection("127.0.0.1", server.port, limit=1024, local_addr=(client, 0))
    writer.write(b"GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n")
    assert await reader.readexactly(15) == b"HTTP/1.1 200 OK"
    return writer


@pytest.mark.parametrize(
    ("holders", "left"),
    [
        (["127.0.0.1"] * 4, [1, 2, 3]),
        (["127.0.0.2"] * 4, [1, 2, 3]),
        (["127.0.0.3", "127.0.0.2", "127.0.0.2", "127.0.0.3"], [1, 2, 3]),
        (["127.0.0.3", "127.0.0.2", "127.0.0.2", "127.0.0.4"], [0, 2, 3]),
    ],
)
@pytest.mark.asyncio
async def test_scrapes_that_are_not_read_lock_nobody_out(holders, left):
    """Few run at once, because each holds its text. The client with the most loses its oldest one."""
    huge = MetricsSnapshot(NOW, outcomes=[MOVES] * 6000)
    async with metrics(huge) as (server, client):
        held, writers = [], []
        for address in holders:
            writers.append(await unread(server, address))
            held += [each for each in server._scrapes if each not in held]
        assert len(held) == metrics_page.MOST_SCRAPES
        with capture_logs() as logs:
            status, page = await got(client, "/metrics")
            await until(lambda: len(server._scrapes) == len(left))
        assert (status, page.encode()) == (200, b"".join(exposition(huge)))
        assert [place for place, each in enumerate(held) if each in server._scrapes] == left
        assert [each["reason"] for each in logs] == ["too many scrapes at once"]
        for writer in writers:
            writer.transport.abort()


@pytest.mark.asyncio
async def test_before_the_start_there_is_no_port():
    """Stopping twice is allowed."""
    server = MetricsEndpoint(lambda: exposition(WELL))
    assert server.port == 0
    async with started(server):
        assert server.port
    await server.stop()
    assert server.port == 0
