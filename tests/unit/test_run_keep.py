"""Checkpoints around a running controller: found when they are first needed, and written over, not beside."""

import asyncio

import pytest

from hypot.cluster.port import Answer, UnreachableError, encoded
from hypot.kinds.vpa import VPA
from hypot.policy.seen import Container, Pod, PodSample
from hypot.policy.settings import Settings
from hypot.run.history import UsageHistory, key_of
from hypot.run.keep import HistoryKeeper
from hypot.run.rows import AutoscalerRow

asyncio.set_event_loop(None)
pytestmark = pytest.mark.asyncio

NOW = 1_700_000_000.0
WEB = VPA("Deployment/web", namespace="shop")
KEY = key_of(WEB)
ROWS = {KEY: AutoscalerRow(WEB, {"metadata": {"uid": "u"}}, ())}
STORED = {
    "metadata": {"name": "web-app", "namespace": "shop", "resourceVersion": "7"},
    "spec": {"vpaObjectName": "web", "containerName": "app"},
}


class Server:
    """Answers from a list of checkpoints, or with another status; remembers what it was asked."""

    def __init__(self, *items, status=200):
        self.items, self.status, self.asked = items, status, []

    async def call(self, request):
        self.asked.append((request.method, request.path.rpartition("/")[2]))
        if self.status == 0:
            raise UnreachableError("away")
        body = {"items": self.items} if request.method == "GET" else {"metadata": {"resourceVersion": "8"}}
        return Answer(self.status, encoded(body))


async def measured():
    """A history with something to write."""
    history = UsageHistory(Settings())
    history.declare(WEB, ("app",), NOW)
    pod = Pod("web-1", containers=(Container("app"),), uid="uid-1")
    await history.observe({("shop", "web-1"): PodSample(NOW, 15.0, (("app", {"cpu": 700}),))}, {KEY: (pod,)}, NOW)
    return history


async def test_who_came_after_the_start_is_written_too():
    """With nobody to size at the start nothing was listed, so that is done before the first write, and once."""
    server = Server()
    keeper = HistoryKeeper(server, await measured(), ())
    await keeper.restore({}, {}, NOW)
    assert server.asked == []
    await keeper.write(ROWS, NOW + 1)
    await keeper.write(ROWS, NOW + 2)
    assert [method for method, _ in server.asked] == ["GET", "POST"]


async def test_what_is_there_is_written_over():
    server = Server(STORED)
    keeper = HistoryKeeper(server, await measured(), ())
    await keeper.write(ROWS, NOW + 1)
    assert server.asked[1] == ("PUT", "web-app")


async def test_a_cluster_without_the_kind_is_left_alone():
    server = Server(status=404)
    keeper = HistoryKeeper(server, await measured(), ())
    for seconds in (1, 2):
        await keeper.write(ROWS, NOW + seconds)
    assert [method for method, _ in server.asked] == ["GET"]


async def test_a_server_that_is_away_is_asked_again():
    """And the sweep goes on."""
    server = Server(status=0)
    keeper = HistoryKeeper(server, await measured(), ())
    await keeper.write(ROWS, NOW + 1)
    server.status = 200
    await keeper.write(ROWS, NOW + 2)
    assert [method for method, _ in server.asked] == ["GET", "GET", "POST"]
