"""Usage from metrics.k8s.io: all of it in one call; what cannot be read is left out."""

import asyncio

import pytest
from structlog.testing import capture_logs

from fake_cluster import FakeCluster
from fake_objects import refusal
from hypot.cluster.port import Answer, UnreachableError, encoded
from hypot.run.observe import asking
from hypot.run.observe.asking import LARGEST_USAGE, USAGE_AT_ONCE
from hypot.run.observe.pod_metrics import MetricsApi, PodUsage
from unit.policy.sizes_world import NAMESPACE, sample
from unit.run.run_world import NOW

pytestmark = pytest.mark.asyncio
ALL = "/apis/metrics.k8s.io/v1beta1/pods"


def answered(*items, status=200):
    cluster = FakeCluster()
    cluster.fixed[ALL] = Answer(status, encoded({"items": list(items)}))
    return cluster


async def read(cluster, *namespaces):
    return await MetricsApi(cluster, namespaces).read()


async def test_usage_by_pod():
    """Amounts are in milli, with time, window and the labels of the pod."""
    usage = await read(answered(sample(0, "250m", "1Gi"), sample(1, "3000000n", "64Mi")))
    assert usage.trouble == ""
    one = usage.samples[NAMESPACE, "web-0"]
    assert (one.at, one.window, one.labels) == (NOW - 30, 15.0, {"app": "web"})
    assert one.containers == (("app", {"cpu": 250, "memory": 2**30 * 1000}),)
    assert usage.samples[NAMESPACE, "web-1"].containers[0][1]["cpu"] == 3


async def test_an_invalid_amount_is_absent():
    """It is not zero, which would look like low usage."""
    odd = sample(0)
    odd["containers"][0]["usage"] = {"cpu": "NaN", "memory": "-5", "disk": "1e3"}
    usage = await read(answered(odd))
    assert usage.samples[NAMESPACE, "web-0"].containers == (("app", {"disk": 1_000_000}),)


async def test_a_time_that_cannot_be_read_is_long_ago():
    """So the sample is stale."""
    usage = await read(answered({**sample(0), "timestamp": "just now", "window": "soon"}))
    one = usage.samples[NAMESPACE, "web-0"]
    assert (one.at, one.window) == (0.0, 0.0)


@pytest.mark.parametrize("body", [b"", b"no", b'{"items": 3}', b"[]"])
async def test_an_unreadable_answer_is_reported(body):
    """There are no samples then, and a reason."""
    cluster = FakeCluster()
    cluster.fixed[ALL] = Answer(200, body)
    usage = await read(cluster)
    assert usage.samples == {}
    assert "cannot be read" in usage.trouble


async def test_an_unreadable_sample_does_not_remove_the_others():
    """It counts as missing, and missing samples shrink nothing."""
    usage = await read(answered({"metadata": 1}, sample(1), {**sample(2), "containers": "all"}))
    assert list(usage.samples) == [(NAMESPACE, "web-1")]


async def test_no_items_is_no_trouble():
    """The cluster has no pods."""
    cluster = FakeCluster()
    cluster.fixed[ALL] = Answer(200, b'{"items": null}')
    assert await read(cluster) == ({}, "")


async def test_refused_and_unreachable():
    """The message is that of the server."""
    cluster = FakeCluster()
    cluster.faults = lambda _: refusal(503, "metrics-server is down")
    assert (await read(cluster)).trouble == "the resource metrics API answers 503: metrics-server is down"
    cluster.faults = lambda _: UnreachableError("no route")
    assert (await read(cluster)).trouble == "no route"


async def test_one_namespace_that_fails_takes_only_its_own_samples():
    """Each namespace is read by itself, and the trouble is reported."""
    cluster = FakeCluster()
    cluster.put(sample(0))
    cluster.faults = lambda call: refusal(403, "not there") if "/bar/" in call.path else None
    usage = await read(cluster, "bar", NAMESPACE)
    assert list(usage.samples) == [(NAMESPACE, "web-0")]
    assert "not there" in usage.trouble
    assert len(cluster.calls) == 2


async def test_all_namespaces_are_one_call():
    """The number of namespaces does not matter."""
    cluster = FakeCluster()
    cluster.put(sample(0))
    usage = await read(cluster)
    assert [call.path for call in cluster.calls] == [ALL]
    assert list(usage.samples) == [(NAMESPACE, "web-0")]


async def test_answers_have_a_largest_size_and_come_a_few_at_a_time():
    """Together they fit into the memory of the pod."""
    under_way, most, sizes = 0, 0, set()

    class Slow:
        async def call(self, request):
            nonlocal under_way, most
            sizes.add(request.largest)
            under_way += 1
            most = max(most, under_way)
            await asyncio.sleep(0)
            under_way -= 1
            return Answer(200, encoded({"items": []}))

    await MetricsApi(Slow(), [f"space-{number}" for number in range(20)]).read()
    assert (most, sizes) == (USAGE_AT_ONCE, {LARGEST_USAGE})


async def test_answers_with_too_many_parts(monkeypatch):
    """Small parts take more memory than their text, so they are counted before they are read."""

    class Hostile:
        async def call(self, _request):
            return Answer(200, b'{"items":[%s]}' % b",".join([b"{}"] * 100))

    monkeypatch.setattr(asking, "MOST_CONTAINERS", 10)
    assert (await MetricsApi(Hostile(), []).read()).trouble.endswith("answer has more than 150000 containers")
    monkeypatch.setattr(asking, "MOST_CONTAINERS", 100)
    with capture_logs() as logs:
        assert await MetricsApi(Hostile(), []).read() == PodUsage({})
    assert [(each["event"], each["pods"]) for each in logs] == [("samples ignored", 100)]
