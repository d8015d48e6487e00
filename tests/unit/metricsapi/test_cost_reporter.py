"""Events about changed costs: one for each change, few at a time, and only from the leader."""

import json

import pytest
from structlog.testing import capture_logs

from fake_cluster import FakeCluster
from hypot.cluster.port import Answer, UnreachableError, encoded
from hypot.core.scraping.cost_change import CostChange
from hypot.metricsapi.costs.learner import WorkloadChange
from hypot.metricsapi.costs.reporter import MOST_EVENTS, REASONS, CostReporter
from hypot.metricsapi.served_pods import PodOwner

pytestmark = pytest.mark.asyncio
WEB = PodOwner("apps/v1", "Deployment", "shop", "web")


def change(direction="rose", ratio=2.0, workload=WEB):
    return WorkloadChange("web", workload, CostChange(direction, ratio, 0.5 * ratio, 0.5))


class World:
    def __init__(self):
        self.cluster, self.left, self.now = FakeCluster(), 10.0, 0.0
        self.reporter = CostReporter(self.cluster, "me", lambda: self.left, lambda: self.now)

    async def report(self, *changes):
        self.reporter.take(changes)
        await self.reporter.send()

    @property
    def events(self):
        return [json.loads(call.body) for call in self.cluster.calls if call.method == "POST"]


async def test_one_event_for_one_change():
    """On the Deployment, with the reason and the figures."""
    world = World()
    await world.report(change())
    await world.report()
    (event,) = world.events
    assert event["involvedObject"] == {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "namespace": "shop",
        "name": "web",
    }
    assert (event["type"], event["reason"], event["metadata"]["namespace"]) == ("Warning", "RequestCostRose", "shop")
    assert event["message"] == (
        "Requests take 2 times the usual cpu: a pod uses 1 cpu, and 0.5 would be usual for its requests (rule web)."
    )


@pytest.mark.parametrize("direction", ["rose", "fell", "usual", "settled"])
async def test_each_direction_has_a_reason(direction):
    world = World()
    await world.report(change(direction, 0.5))
    (event,) = world.events
    assert event["type"] == REASONS[event["reason"]][0]


async def test_a_replica_that_does_not_lead_reports_nothing():
    """Not even later, when it leads: the leader reported it."""
    world = World()
    world.left = 0.0
    await world.report(change())
    world.left = 10.0
    await world.report()
    assert world.events == []


async def test_many_changes_at_once():
    """A node that slows down a hundred workloads gives a few events, and a log line for each."""
    world = World()
    many = [change(workload=WEB._replace(name=f"web-{i}")) for i in range(100)]
    with capture_logs() as logged:
        await world.report(*many)
    assert len(world.events) == MOST_EVENTS
    assert len([line for line in logged if line["event"] == "cost of requests changed"]) == 100
    world.now = 601.0
    await world.report(change())
    assert len(world.events) == MOST_EVENTS + 1


async def test_no_answer_is_tried_again():
    """With the same name, so that there are never two."""
    world = World()

    def failing(_request):
        raise UnreachableError("down")

    world.cluster.faults = failing
    await world.report(change())
    world.cluster.faults = None
    await world.report()
    await world.report()
    assert len({event["metadata"]["name"] for event in world.events}) == 1
    assert len(world.events) <= 2


async def test_a_refusal_is_logged():
    """For example without the right to write events; other events follow."""
    world = World()
    world.cluster.faults = lambda _: Answer(403, encoded({"message": "no"}))
    with capture_logs() as logged:
        await world.report(change())
    assert {"event": "event refused", "status": 403, "error": "no"}.items() <= logged[-1].items()
    world.cluster.faults = None
    await world.report()
    assert len(world.events) == 1
