"""The metrics server learns over real sockets: from the counters of a pod to its page, an event and a suggestion."""

import json
import time

import pytest
from aiohttp import web

from hypot.core.scraping import cost_change
from hypot.kinds.metric_rules import rules as limits
from hypot.metricsapi import app as app_module
from hypot.metricsapi.costs import learner, reporter
from hypot.metricsapi.costs.suggestion import suggestions_in
from unit.metricsapi import test_app
from unit.metricsapi.test_app import Pods, eventually, is_ready, page, rules, running, small_cluster

pytestmark = pytest.mark.asyncio
GET, LIST = 0.002, 0.02
EVENTS = "/api/v1/namespaces/shop/events"


class CostlyPod(Pods):
    """A pod whose requests vary from scrape to scrape, and whose cpu follows from them."""

    def __init__(self):
        super().__init__()
        self.get = self.list = self.cpu = 0.0
        self.factor, self.before = 1.0, time.monotonic()

    async def answer(self, _request):
        self.scrapes += 1
        passed, self.before = time.monotonic() - self.before, time.monotonic()
        get, lists = (300 + self.scrapes * 37 % 200) * passed, (20 + self.scrapes * 17 % 31) * passed
        self.get, self.list = self.get + get, self.list + lists
        self.cpu += self.factor * (GET * get + LIST * lists)
        return web.Response(
            text=f'requests_total{{verb="GET"}} {self.get}\nrequests_total{{verb="LIST"}} {self.list}\n'
            f"process_cpu_seconds_total {self.cpu}\n"
        )


def owned(manifest):
    reference = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "web-5d4f", "uid": "u", "controller": True}
    manifest["metadata"]["ownerReferences"] = [reference]
    return manifest


@pytest.fixture
def written(tmp_path, monkeypatch):
    """Writes rules whose only metric has these fields more."""
    monkeypatch.setattr(app_module, "GRACE", 0.1)

    def write(**more):
        data = json.loads(rules(test_app.REQUESTS))
        data["spec"]["rules"][0]["metrics"][0] |= more
        (tmp_path / "rules.yaml").write_text(json.dumps(data))
        return tmp_path / "rules.yaml"

    return write


@pytest.fixture
def learning(written, monkeypatch):
    """Rules that learn, in seconds instead of hours."""
    monkeypatch.setattr(learner, "RECENT_SECONDS", 3.0)
    monkeypatch.setattr(limits, "SHORTEST_HALF_LIFE", 1)
    monkeypatch.setattr(cost_change, "LEAST_HALF_LIVES", 1.0)
    monkeypatch.setattr(reporter, "EVERY", 0.1)
    return written(learnCost={"by": ["verb"], "halfLifeSeconds": 30})


async def test_costs_are_learned_and_a_leap_is_an_event(learning):
    """A LIST costs ten times as much as a GET. Then cpu does a third as much: one event on the Deployment."""
    pods = CostlyPod()
    async with pods.running() as port:
        cluster = small_cluster(owned(test_app.pod("web-1", port, **{"pod-template-hash": "5d4f"})))
        async with running(cluster, learning, scrape_period=0.2, min_sample_gap=0.05) as app:
            await eventually(lambda: is_ready(app))

            async def suggested():
                (found,) = suggestions_in((await page(app.metrics.port, "/metrics"))[1].encode()) or [None]
                return found if found is not None and len(found.weighted) == 2 else None

            found = await eventually(suggested)
            costs = {each.name: each.cost for each in found.weighted}
            assert costs["verb=LIST"] == pytest.approx(LIST, rel=0.1)
            assert costs["verb=GET"] == pytest.approx(GET, rel=0.1)

            async def watched():
                watch = next(iter(app.collector.costs.of_rule("web").workloads.values()), None)
                return watch is not None and watch.usual.rows > 15

            await eventually(watched)
            pods.factor = 3.0

            async def events():
                return [json.loads(call.body) for call in cluster.calls if call.path == EVENTS]

            (event,) = await eventually(events)
            assert event["reason"] == "RequestCostRose"
            assert (event["involvedObject"]["kind"], event["involvedObject"]["name"]) == ("Deployment", "web")
            text = (await page(app.metrics.port, "/metrics"))[1]
            named = 'rule="web",kind="Deployment",object_namespace="shop",object_name="web"'
            assert f"hypot_metrics_request_cost_change_ratio{{{named}}}" in text


async def test_without_learn_cost_nothing_is_shown(written):
    """The page is as it was."""
    pods = CostlyPod()
    async with pods.running() as port, running(small_cluster(test_app.pod("web-1", port)), written()) as app:
        await eventually(lambda: is_ready(app))

        async def scraped():
            return app.counts.scrapes.scrapes > 2

        await eventually(scraped)
        assert "cost" not in (await page(app.metrics.port, "/metrics"))[1]
