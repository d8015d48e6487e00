"""Custom and external metrics: which questions are asked, each only once, and what the answers mean."""

import asyncio

import pytest

from fake_cluster import FakeCluster
from fake_objects import refusal
from hypot.cluster.port import Answer, UnreachableError, encoded
from hypot.core.instant import show_time
from hypot.kinds.base import Ref
from hypot.policy.families import family_of
from hypot.policy.model.seen import Failure
from hypot.policy.model.settings import Settings
from hypot.policy.observe.answered import Answered
from hypot.policy.observe.metric_queries import external_query, object_query, pods_query, queries_of
from hypot.policy.observe.questions import External, Questions
from hypot.policy.observe.snapshot import read_autoscaler
from hypot.run.observe.asking import TimeLimits
from hypot.run.observe.queries import MetricApis
from unit.policy.sizes_world import NAMESPACE, hvpa, vpa
from unit.run.run_world import NOW, QUEUE, hpa, items, wpa

CUSTOM = f"/apis/custom.metrics.k8s.io/v1beta2/namespaces/{NAMESPACE}"
LABELLED = {"matchLabels": {"a": "b"}}


def metric(kind, **source):
    return {"type": kind, **source}


PODS = metric("Pods", pods={"metric": {"name": "hits"}, "target": {"type": "AverageValue", "averageValue": "1"}})
OBJECT = metric(
    "Object",
    object={
        "metric": {"name": "depth", "selector": LABELLED},
        "describedObject": {"apiVersion": "networking.k8s.io/v1", "kind": "Ingress", "name": "front"},
        "target": {"type": "Value", "value": "1"},
    },
)
EXTERNAL = metric(
    "External", external={"metric": {"name": "queue", "selector": LABELLED}, "target": {"type": "Value", "value": "1"}}
)


def questions(thing):
    autoscaler = read_autoscaler(thing)
    return family_of(autoscaler).questions(autoscaler, Settings())


async def asked(fixed, *requests, now=NOW):
    cluster = FakeCluster()
    cluster.fixed |= fixed
    return await MetricApis(cluster).ask(requests, now), cluster.calls


def test_what_an_hpa_asks():
    """One query for each metric type; usage only where a metric needs it."""
    found = questions(hpa(metrics=[PODS, OBJECT, EXTERNAL]))
    assert not found.asks_usage
    paths = [(each.path, dict(each.parameters)) for each in queries_of(found, NAMESPACE, "app=web")]
    assert paths == [
        (f"{CUSTOM}/pods/*/hits", {"labelSelector": "app=web"}),
        (f"{CUSTOM}/ingresses.networking.k8s.io/front/depth", {"metricLabelSelector": "a=b"}),
        (QUEUE, {"labelSelector": "a=b"}),
    ]
    assert questions(hpa()).asks_usage


def test_what_the_others_ask():
    """A WatermarkPodAutoscaler chooses pods by its metrics; a VPA asks for usage only, an Hvpa for everything."""
    band = {"metricName": "cpu", "name": "cpu", "metricSelector": LABELLED, "highWatermark": "2", "lowWatermark": "1"}
    resource = questions(wpa(metrics=[{"type": "Resource", "resource": band}]))
    assert (resource.usage, len(resource.chosen), resource.asks_usage) == (False, 1, True)
    assert resource.chosen[0].matches({"a": "b"})
    odd = {**band, "metricSelector": {"matchExpressions": [{"key": "a", "operator": "Like"}]}}
    assert questions(wpa(metrics=[{"type": "Resource", "resource": odd}])).chosen == (None,)
    assert questions(wpa()).external == (External("queue", {}),)
    assert questions(vpa()) == Questions(usage=True)
    counted = {"deploy": True, "template": {"spec": {"maxReplicas": 4, "metrics": [EXTERNAL]}}}
    both = questions(hvpa(hpa=counted))
    assert (both.usage, both.external) == (True, (External("queue", LABELLED),))
    assert questions(hvpa()) == Questions(usage=True)


def test_a_namespace_is_asked_about_itself():
    """A metric of a namespace is asked of the own namespace, whatever name is written."""
    request = object_query("rate", None, NAMESPACE, Ref("v1", "Namespace", "other"))
    assert request.path == f"{CUSTOM}/metrics/rate"


def test_names_stay_in_their_part_of_the_path():
    """Special characters in names are escaped."""
    assert external_query("a/b ?c", None, NAMESPACE).path.endswith(f"/{NAMESPACE}/a%2Fb%20%3Fc")


@pytest.mark.asyncio
async def test_each_question_is_asked_once():
    """Questions that differ in their labels are two questions."""
    one, two = external_query("queue", None, NAMESPACE), external_query("queue", LABELLED, NAMESPACE)
    answered, calls = await asked({QUEUE: items("5")}, one, one, two, one)
    assert len(calls) == 2
    assert answered.external("queue", None, NAMESPACE) == (5000,)


@pytest.mark.asyncio
async def test_series_add_up_or_fail_together():
    """A sum without one of its parts would be too small."""
    answered, _ = await asked({QUEUE: items("5", "1500m")}, external_query("queue", None, NAMESPACE))
    assert answered.external("queue", None, NAMESPACE) == (5000, 1500)
    answered, _ = await asked({QUEUE: items("5", "NaN")}, external_query("queue", None, NAMESPACE))
    assert "not a quantity" in answered.external("queue", None, NAMESPACE).message


@pytest.mark.asyncio
async def test_old_values_are_none():
    """Older than 90 s and than three windows of 60 s is too old; a value without a time is used as it is."""
    request = external_query("queue", None, NAMESPACE)
    for at, window, is_stale in ((NOW - 181, None, True), (NOW - 179, None, False), (NOW - 200, 300, False)):
        answered, _ = await asked({QUEUE: items("5", at=at, window=window)}, request)
        assert isinstance(answered.external("queue", None, NAMESPACE), Failure) is is_stale
    answered, _ = await asked({QUEUE: Answer(200, encoded({"items": [{"value": "5"}]}))}, request)
    assert answered.external("queue", None, NAMESPACE) == (5000,)


@pytest.mark.asyncio
@pytest.mark.parametrize(("ahead", "is_stale"), [(29, False), (31, True), (3600, True)])
async def test_values_from_the_future_are_none(ahead, is_stale):
    """They would stay fresh as long as they lie ahead, whatever happens meanwhile."""
    space = Ref("v1", "Namespace", "x")
    reported = Answer(200, encoded({"items": [{"value": "5", "timestamp": show_time(NOW + ahead)}]}))
    answered, _ = await asked(
        {QUEUE: reported, f"{CUSTOM}/metrics/rate": reported},
        external_query("queue", None, NAMESPACE),
        object_query("rate", None, NAMESPACE, space),
    )
    assert isinstance(answered.external("queue", None, NAMESPACE), Failure) is is_stale
    assert isinstance(answered.of_object("rate", None, NAMESPACE, space), Failure) is is_stale


class Hanging(FakeCluster):
    """A cluster that never answers some paths."""

    def __init__(self, part):
        super().__init__()
        self.part = part

    async def call(self, request):
        if self.part in request.path:
            await asyncio.Event().wait()
        return await super().call(request)


@pytest.mark.asyncio
@pytest.mark.looptime
async def test_questions_that_hang_do_not_stop_the_others():
    """Not those of other namespaces or of the other API; those of the same namespace once the hang is known."""
    cluster = Hanging("stuck")
    apis = MetricApis(cluster, TimeLimits(together=0.3, late=0.1))
    other = QUEUE.replace(f"/{NAMESPACE}/", "/bar/")
    cluster.fixed |= {QUEUE: items("5"), other: items("7"), f"{CUSTOM}/metrics/rate": items("3")}
    space = Ref("v1", "Namespace", "x")
    good = [external_query("queue", None, NAMESPACE), object_query("rate", None, NAMESPACE, space)]
    stuck = [external_query(f"stuck{number}", None, NAMESPACE) for number in range(16)]
    async with asyncio.timeout(120):
        first = await apis.ask([*stuck, *good, external_query("queue", None, "bar")], NOW)
        second = await apis.ask([*stuck, *good], NOW)
    assert first.external("queue", None, "bar") == (7000,)
    assert first.of_object("rate", None, NAMESPACE, space) == 3000
    assert second.external("queue", None, NAMESPACE) == (5000,)
    assert "stuck0 did not answer within" in second.external("stuck0", None, NAMESPACE).message


@pytest.mark.asyncio
async def test_values_of_pods_and_objects():
    """Pods have one value by name; an object has one value."""
    reported = [
        {"describedObject": {"name": name}, "value": value, "timestamp": show_time(at)}
        for name, value, at in (("web-0", "3", NOW), ("web-1", "no", NOW), ("web-2", "4", NOW - 3600))
    ]
    answered, _ = await asked(
        {
            f"{CUSTOM}/pods/*/hits": Answer(200, encoded({"items": reported})),
            f"{CUSTOM}/metrics/rate": Answer(200, encoded({"items": reported[:1]})),
            f"{CUSTOM}/metrics/none": Answer(200, encoded({"items": []})),
            f"{CUSTOM}/metrics/old": Answer(200, encoded({"items": reported[2:]})),
        },
        pods_query("hits", None, NAMESPACE, "app=web"),
        *[object_query(name, None, NAMESPACE, Ref("v1", "Namespace", "x")) for name in ("rate", "none", "old")],
    )
    values = answered.of_pods("hits", None, NAMESPACE, (), "app=web")
    assert {name: value.milli for name, value in values.items()} == {"web-0": 3000}
    space = Ref("v1", "Namespace", "x")
    assert answered.of_object("rate", None, NAMESPACE, space) == 3000
    assert "no value that can be read" in answered.of_object("none", None, NAMESPACE, space).message
    assert "too old" in answered.of_object("old", None, NAMESPACE, space).message


@pytest.mark.asyncio
@pytest.mark.parametrize(
    ("fault", "message"), [(refusal(403, "not yours"), "answers 403: not yours"), (UnreachableError("cut"), "cut")]
)
async def test_failures_are_reported_to_the_caller(fault, message):
    """This holds for all three kinds of questions."""
    cluster = FakeCluster()
    cluster.faults = lambda _: fault
    space = Ref("v1", "Namespace", "x")
    requests = [
        pods_query("hits", None, NAMESPACE, ""),
        object_query("rate", None, NAMESPACE, space),
        external_query("queue", None, NAMESPACE),
    ]
    answered = await MetricApis(cluster).ask(requests, NOW)
    failures = [
        answered.of_pods("hits", None, NAMESPACE, (), ""),
        answered.of_object("rate", None, NAMESPACE, space),
        answered.external("queue", None, NAMESPACE),
    ]
    assert all(message in failure.message for failure in failures)


def test_what_was_not_asked_is_not_known():
    """It is a failure and not an empty result."""
    assert "was not queried" in Answered({}).external("queue", None, NAMESPACE).message
