"""Queries again and again: in virtual time, with a Prometheus that only exists here."""

import asyncio
import json
from contextlib import asynccontextmanager

import aiohttp
import pytest
from structlog.testing import capture_logs

from hypot.cluster.named_server import ServerFileError
from hypot.cluster.prometheus import PrometheusError
from hypot.metricsapi.prometheus import querier as module
from hypot.metricsapi.prometheus.querier import MOST_QUERIES, Querier
from unit.metricsapi.pods_world import AHEAD, add, pod, rule, targets_of

pytestmark = [pytest.mark.asyncio, pytest.mark.looptime]


def now():
    return asyncio.get_running_loop().time()


def series(name, part, value):
    metric = {"namespace": "shop", "pod": name, "hypot_part": part}
    return {"metric": metric, "value": [AHEAD + now(), str(value)]}


class Api:
    """Prometheus: the pods that it knows are scraped once a second, and count 450 per second."""

    def __init__(self, *pods):
        self.pods, self.asked, self.running, self.most = set(pods), [], 0, 0
        self.fails, self.takes, self.status = None, 0.0, 200

    async def ask(self, path, form, largest):
        assert (path, largest) == ("query", 24 << 20)
        self.asked.append((now(), form["query"]))
        self.running += 1
        self.most = max(self.most, self.running)
        try:
            await asyncio.sleep(self.takes)
        finally:
            self.running -= 1
        if isinstance(self.fails, Exception):
            raise self.fails
        return self.status, self.fails or json.dumps(self.answer()).encode()

    def answer(self):
        found = []
        for name in self.pods:
            for part, at in (("now", now()), ("earlier", now() - 60)):
                found += [series(name, f"0 {part} total", 450 * at), series(name, f"0 {part} at", AHEAD + at)]
        return {"status": "success", "data": {"resultType": "vector", "result": found}}


def made(*pods, rules=None, api=None, **more):
    rules = rules or [rule(scrape=None, prometheus={})]
    api = api or Api(*[one.name for one in pods])
    return Querier(targets_of(*rules, pods=pods), api, clock=now, **more), api


@asynccontextmanager
async def running(querier):
    task = asyncio.ensure_future(querier.run())
    try:
        yield
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


def served(querier, name="web-0"):
    found = querier.targets.of_rule("web", "shop")[name].value(0, now(), querier.ages)
    return None if found is None else (found.milli, found.window)


async def test_one_query_for_all_pods():
    """Values are there at once, and a rule is queried four times per period, however many pods it has."""
    querier, api = made(*[pod(f"web-{i}") for i in range(50)])
    async with running(querier):
        await asyncio.sleep(1)
        assert {served(querier, f"web-{i}") for i in range(50)} == {(450_000, 60.0)}
        await asyncio.sleep(60)
    assert [round(at) for at, _ in api.asked] == [0, 15, 30, 45, 60]
    assert (querier.counts.queries, querier.counts.faults) == (5, {})


async def test_nothing_is_asked_without_a_reason():
    """No pod, or another replica leads."""
    leads = False
    querier, api = made(active=lambda: leads)
    async with running(querier):
        await asyncio.sleep(30)
        add(querier.targets, pod())
        await asyncio.sleep(30)
        assert api.asked == []
        leads = True
        await asyncio.sleep(1)
        assert len(api.asked) == 1


async def test_a_pod_that_comes():
    """Prometheus may know it later than the cluster; it is faulty until then."""
    querier, api = made(pod())
    async with running(querier):
        await asyncio.sleep(1)
        add(querier.targets, pod("web-1"))
        await asyncio.sleep(15)
        target = querier.targets.of_rule("web", "shop")["web-1"]
        assert (target.faults, querier.counts.faults) == (1, {"missing": 1})
        api.pods.add("web-1")
        await asyncio.sleep(15)
        assert served(querier, "web-1") == (450_000, 60.0)
        assert target.faults == 0


@pytest.mark.parametrize(
    ("fails", "status", "fault"),
    [
        (aiohttp.ClientConnectionError("refused"), 200, "connection"),
        (OSError("no route"), 200, "connection"),
        (ServerFileError("its token file /t cannot be read"), 200, "credentials"),
        (PrometheusError("its answer is over 24 MiB"), 200, "too-large"),
        (b'{"status": "error", "error": "query timed out"}', 503, "status"),
        (b"<html>", 401, "status"),
        (b"<html>", 200, "body"),
        (b'{"status": "success"}', 200, "body"),
        (b'{"status": "success", "data": {"result": [{"value": 3}]}}', 200, "body"),
        (b"[" * 100_000, 200, "body"),
    ],
)
async def test_a_query_that_fails(fails, status, fault):
    """It is counted by its reason, pods are faulty, and values age; then it works again."""
    querier, api = made(pod())
    async with running(querier):
        await asyncio.sleep(1)
        api.fails, api.status = fails, status
        await asyncio.sleep(60)
        assert querier.counts.faults == {fault: 4}
        assert querier.targets.of_rule("web", "shop")["web-0"].faults == 4
        assert served(querier) == (450_000, 60.0)
        await asyncio.sleep(40)
        assert served(querier) is None
        api.fails, api.status = None, 200
        await asyncio.sleep(15)
        assert served(querier) == (450_000, 60.0)


async def test_a_prometheus_that_hangs():
    """Each query has 10 s, and few run at once."""
    rules = [rule(f"web{i}", scrape=None, prometheus={}) for i in range(12)]
    querier, api = made(pod(), rules=rules)
    api.takes = 1000.0
    async with running(querier):
        await asyncio.sleep(60)
        assert api.most == MOST_QUERIES
    assert querier.counts.faults["timeout"] >= 20
    assert api.running == 0
    assert {query for _, query in api.asked}


async def test_too_many_series(monkeypatch):
    """Small parts take more memory than their text."""
    monkeypatch.setattr(module, "MOST_SERIES", 3)
    querier, _ = made(pod("web-0"), pod("web-1"))
    async with running(querier):
        await asyncio.sleep(1)
    assert querier.counts.faults == {"too-large": 1}


async def test_the_log_says_it_once():
    """At 1, 2, 4, 8 … queries in a row, with how many pods and one of them."""
    querier, api = made(pod("web-0"), pod("web-1"))
    api.pods.clear()
    with capture_logs() as lines:
        async with running(querier):
            await asyncio.sleep(15 * 9)
    said = [line for line in lines if line["event"] == "query without values of pods"]
    assert [line["in_a_row"] for line in said] == [1, 2, 4, 8]
    assert said[0] == {
        **said[0],
        "rule": "web",
        "pods": 2,
        "namespace": "shop",
        "error": "Prometheus has no requests_total of it",
    }


@pytest.mark.parametrize(("window", "offset"), [(None, 60_000), (120, 120_000)])
async def test_the_window_of_a_rule(window, offset):
    """The scrapePeriod by default."""
    source = {} if window is None else {"window": window}
    querier, api = made(pod(), rules=[rule(scrape=None, prometheus=source)])
    async with running(querier):
        await asyncio.sleep(1)
    assert f"offset {offset}ms" in api.asked[0][1]
