"""Checkpoints of a running controller: listed when first needed, and overwritten, not duplicated."""

import asyncio

import pytest
from structlog.testing import capture_logs

from hypot.cluster.port import Answer, RefusedError, UnreachableError, encoded
from hypot.kinds.vpa import VPA
from hypot.policy.model.seen import Container, Pod, PodSample
from hypot.policy.model.settings import Settings
from hypot.run.observe.rows import AutoscalerRow
from hypot.run.store.usage_history import UsageHistory, key_of
from hypot.run.store.usage_store import TRIES, Patience, UsageStore

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
    """Answers with a list of checkpoints, or with another status; records the requests."""

    def __init__(self, *items, status=200):
        self.items, self.status, self.asked = items, status, []

    async def call(self, request):
        self.asked.append((request.method, request.path.rpartition("/")[2]))
        if self.status == 0:
            raise UnreachableError("away")
        body = (
            {"metadata": {}, "items": self.items} if request.method == "GET" else {"metadata": {"resourceVersion": "8"}}
        )
        return Answer(self.status, encoded(body))


async def measured():
    """A history that has something to write."""
    history = UsageHistory(Settings())
    history.declare(WEB, ("app",), NOW)
    pod = Pod("web-1", containers=(Container("app"),), uid="uid-1")
    await history.observe({("shop", "web-1"): PodSample(NOW, 15.0, (("app", {"cpu": 700}),))}, {KEY: (pod,)}, NOW)
    return history


async def test_an_object_created_after_the_start_is_written_too():
    """Without an object to size at the start nothing was listed; the list comes once, before the first write."""
    server = Server()
    keeper = UsageStore(server, await measured(), ())
    await keeper.restore({}, {}, NOW)
    assert server.asked == []
    await keeper.write(ROWS, NOW + 1)
    await keeper.write(ROWS, NOW + 2)
    assert [method for method, _ in server.asked] == ["GET", "POST"]


async def test_what_is_there_is_written_over():
    server = Server(STORED)
    keeper = UsageStore(server, await measured(), ())
    await keeper.write(ROWS, NOW + 1)
    assert server.asked[1] == ("PUT", "web-app")


async def test_a_cluster_without_the_kind_is_left_alone():
    server = Server(status=404)
    keeper = UsageStore(server, await measured(), ())
    for seconds in (1, 2):
        await keeper.write(ROWS, NOW + seconds)
    assert [method for method, _ in server.asked] == ["GET"]


async def test_a_server_that_is_away_is_asked_again():
    """The reconcile continues."""
    server = Server(status=0)
    keeper = UsageStore(server, await measured(), ())
    await keeper.write(ROWS, NOW + 1)
    server.status = 200
    await keeper.write(ROWS, NOW + 2)
    assert [method for method, _ in server.asked] == ["GET", "GET", "POST"]


async def test_a_refusal_is_not_a_kind_that_is_not_served():
    """A new leader gets the error and tries again; the next store continues to count the refusals."""
    server, patience = Server(status=403), Patience()
    for _ in range(TRIES - 1):
        with pytest.raises(RefusedError, match="403"):
            await UsageStore(server, await measured(), (), patience).restore(ROWS, {}, NOW)
    keeper = UsageStore(server, await measured(), (), patience)
    with capture_logs() as logs:
        await keeper.restore(ROWS, {}, NOW)
    assert [each["event"] for each in logs] == ["continuing without checkpoints"]
    await keeper.write(ROWS, NOW + 1)
    assert server.asked == [("GET", "verticalpodautoscalercheckpoints")] * TRIES


async def test_patience_is_reset_by_every_successful_list():
    """Only consecutive refusals count."""
    server, patience = Server(status=500), Patience()
    for status in (500, 500, 200, 500, 500, 200):
        server.status = status
        keeper = UsageStore(server, await measured(), (), patience)
        if status == 500:
            with pytest.raises(RefusedError):
                await keeper.restore(ROWS, {}, NOW)
        else:
            await keeper.restore(ROWS, {}, NOW)
    await keeper.write(ROWS, NOW + 1)
    assert server.asked[-1][0] == "POST"


async def test_a_refusal_in_a_reconcile_is_tried_again_a_few_times():
    """The reconcile continues."""
    server = Server(status=403)
    keeper = UsageStore(server, await measured(), ())
    for seconds in range(1, 10):
        await keeper.write(ROWS, NOW + seconds)
    assert [method for method, _ in server.asked] == ["GET"] * TRIES


async def test_what_is_known_of_an_object_is_dropped_with_it():
    """A new object may have the same name, and the old knowledge is wrong for it."""
    keeper = UsageStore(Server(STORED), await measured(), ())
    await keeper.write(ROWS, NOW + 1)
    keeper.forget({("Hvpa", "shop", "web")})
    assert {key for key, _ in (*keeper._there, *keeper._written)} == {KEY}
    keeper.forget({KEY})
    assert (keeper._there, keeper._written) == ({}, {})
