"""What a tenant's objects and any endpoint may send: nothing of it raises, and no other object is disturbed."""

import asyncio
import copy
import json
import os
from contextlib import asynccontextmanager
from math import isfinite

import msgspec
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from hypot.cluster.port import Answer
from hypot.cluster.prometheus import PrometheusApi, PrometheusError
from hypot.kinds.base import Ref
from hypot.policy.model.seen import Failure, Reply
from hypot.policy.observe.freshness import MOST_AHEAD
from hypot.policy.observe.metric_queries import external_query, object_query, pods_query
from hypot.policy.observe.snapshot import read_autoscaler
from hypot.run.observe.past_usage import PastUsage
from hypot.run.observe.pod_metrics import MetricsApi
from hypot.run.observe.prometheus import MOST, Prometheus
from hypot.run.observe.queries import MetricApis
from hypot.run.observe.recommenders import _read
from hypot.run.webhook.admission import BadReviewError, review
from unit.policy.sizes_world import NAMESPACE, advised, box, hvpa, limit_range, node, recommended, sample, vpa
from unit.run.reconcile.test_many import named, replicas_of
from unit.run.run_world import NOW, World, all_kinds, hpa, web, wpa

# `make fuzz N=100000` tries that many.
TRIES = int(os.environ.get("HYPOT_FUZZ") or 100)
often = settings(max_examples=TRIES, deadline=None, suppress_health_check=list(HealthCheck))
# Each of these runs a whole controller. tests/conftest.py multiplies a number below N for each 10,000 of N.
seldom = settings(often, max_examples=max(min(TRIES, 10_000) // 4, 25))


def nested(depth):
    value = 1
    for _ in range(depth):
        value = [value]
    return value


NUMBERS = (0, -1, 1, 2**31, 2**63, 10**30, 0.5, -0.5, 1e308, 5e-324)
TEXTS = (
    "",
    "0",
    "-1",
    "1e400",
    "9" * 400,
    "NaN",
    "1Ei",
    "\0",
    "é" * 300,
    "2099-01-01T00:00:00Z",
    "0000",
    "../../x",
    "a=b,c",
)
SHAPES = (None, True, [], {}, [None], {"": None}, [[]], {"a": [1, {"b": None}]}, nested(100))
values = st.sampled_from((*NUMBERS, *TEXTS, *SHAPES))
KEPT = ({"apiVersion"}, {"kind"}, {"metadata", "name"}, {"metadata", "namespace"})


def places(value, path=()):
    """All paths, without those that make an object another object."""
    if path and set(path) not in KEPT and path != ("metadata",):
        yield path
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, each in inner:
        yield from places(each, (*path, key))


@st.composite
def attacked(draw, wholes):
    """One of these, with one to three places replaced or removed."""
    whole = copy.deepcopy(draw(wholes))
    for _ in range(draw(st.integers(1, 3))):
        if not (found := list(places(whole))):
            break
        *path, last = draw(st.sampled_from(found))
        outer = whole
        for key in path:
            outer = outer[key]
        if draw(st.booleans()) and isinstance(outer, dict):
            outer[last] = copy.deepcopy(draw(values))
        elif isinstance(outer, dict):
            del outer[last]
        else:
            outer[last] = copy.deepcopy(draw(values))
    return whole


@st.composite
def bodies(draw, wholes):
    """An attacked answer as bytes, sometimes cut, nested too deeply, or no text at all."""
    text = json.dumps(draw(attacked(wholes))).encode()
    how = draw(st.sampled_from(["as it is"] * 4 + ["cut", "deep", "bytes", "digits"]))
    if how == "cut":
        return text[: draw(st.integers(0, len(text)))]
    if how == "deep":
        return text.replace(b'"', b"[" * 5000 + b'"', 1) if draw(st.booleans()) else b"[" * 5000 + b"]" * 5000
    if how == "bytes":
        return text.replace(b"e", b"\xff", 1)
    return text.replace(b"1", b"1" * 400, 1) if how == "digits" else text


class Says:
    """A port that answers everything with this body."""

    def __init__(self, body, status=200):
        self.body, self.status = body, status

    async def call(self, _):
        return Answer(self.status, self.body)


# Answers.

USAGE = {"kind": "PodMetricsList", "metadata": {}, "items": [sample(0), sample(1)]}
statuses = st.sampled_from([200, 200, 200, 404, 500])


@often
@given(bodies(st.just(USAGE)), statuses)
@example(b'{"items":[{"metadata":' + b"[" * 5000 + b"]" * 5000 + b"}]}", 200)
@example(b'{"items":[{"metadata":{"name":"\xff"}}]}', 200)
def test_the_usage_of_pods(body, status):
    usage = asyncio.run(MetricsApi(Says(body, status), ()).read())
    assert all(
        amount >= 0 for each in usage.samples.values() for _, amounts in each.containers for amount in amounts.values()
    )


VALUE = {
    "metricName": "m",
    "metric": {"name": "m"},
    "timestamp": "2027-01-15T08:00:00Z",
    "value": "1",
    "windowSeconds": 60,
}
VALUES = {"items": [{**VALUE, "describedObject": {"kind": "Pod", "name": "web-0"}, "metricLabels": {"a": "b"}}]}


@often
@given(bodies(st.just(VALUES)), statuses)
def test_custom_and_external_metrics(body, status):
    """Whole numbers that a float can hold, also below zero, and none from the future."""
    queries = [
        pods_query("m", None, NAMESPACE, "app=web"),
        object_query("m", None, NAMESPACE, Ref(kind="Service", name="web")),
        external_query("m", None, NAMESPACE),
    ]
    answered = asyncio.run(MetricApis(Says(body, status)).ask(queries, NOW))
    by_pod = answered.of_pods("m", None, NAMESPACE, (), "app=web")
    of_object = answered.of_object("m", None, NAMESPACE, Ref(kind="Service", name="web"))
    external = answered.external("m", None, NAMESPACE)
    if status != 200:
        assert all(isinstance(each, Failure) for each in (by_pod, of_object, external))
    values = [] if isinstance(by_pod, Failure) else list(by_pod.values())
    amounts = [value.milli for value in values]
    amounts += [] if isinstance(of_object, Failure) else [of_object]
    amounts += [] if isinstance(external, Failure) else external
    assert all(type(amount) is int and isfinite(float(amount)) for amount in amounts)
    assert all(isfinite(value.at) and isfinite(value.window) and value.at <= NOW + MOST_AHEAD for value in values)


REPLY = {
    "targetReplicas": 3,
    "lowerBoundReplicas": 1,
    "upperBoundReplicas": 5,
    "observedTargetValue": 1.5,
    "timestamp": 1.0,
}


@often
@given(bodies(st.just({**REPLY, "reason": "why", "error": {"code": 5, "message": "no"}})))
def test_a_recommender(body):
    assert isinstance(_read(body), Reply | Failure)


SERIES = {"metric": {"namespace": "shop", "pod": "web-0", "container": "app"}, "value": [1_800_000_000.0, "0.5"]}
RESULT = {"status": "success", "data": {"resultType": "vector", "result": [SERIES, SERIES]}}


class Session:
    """Answers each query with this body."""

    def __init__(self, body):
        self.body, self.status, self.content = body, 200, self

    @asynccontextmanager
    async def post(self, *_, **__):
        self.left = [self.body]
        yield self

    async def readany(self):
        return self.left.pop() if self.left else b""


@often
@given(bodies(st.just(RESULT)))
@example(json.dumps({**RESULT, "data": {"result": [{**SERIES, "value": [1.0, "1e308"]}]}}).encode())
def test_prometheus(body):
    """No sample at all, or amounts within bounds."""
    usage = asyncio.run(Prometheus(PrometheusApi(Session(body), "http://127.0.0.1:1")).read())
    assert not (usage.trouble and usage.samples)
    for (namespace, pod), found in usage.samples.items():
        assert (type(namespace), type(pod)) == (str, str)
        assert 0 <= found.at < MOST
        for container, amounts in found.containers:
            assert type(container) is str
            assert all(type(amount) is int and 0 <= amount <= MOST * 1000 for amount in amounts.values())


RANGE = {"status": "success", "data": {"result": [{"values": [[1_800_000_000, "0.5"], [1_800_000_300, "1e9"]]}]}}


@often
@given(bodies(st.just(RANGE)))
@example(json.dumps({**RANGE, "data": {"result": [{"values": [[1_800_000_000, "1e308"]]}]}}).encode())
def test_past_usage(body):
    """A failure with a reason, or amounts within bounds at times that were asked for."""
    source = PastUsage(PrometheusApi(Session(body), "http://127.0.0.1:1"))
    try:
        found = asyncio.run(source.read("up", 1_800_000_000.0, 1_800_003_600.0))
    except PrometheusError:
        return
    assert all(type(at) is int and 1_800_000_000 <= at <= 1_800_003_600 for at in found)
    assert all(0 <= amount < MOST for amount in found.values())


# The webhook.

REVIEW = {
    "apiVersion": "admission.k8s.io/v1",
    "kind": "AdmissionReview",
    "request": {
        "uid": "u",
        "resource": {"group": "", "version": "v1", "resource": "pods"},
        "operation": "CREATE",
        "namespace": NAMESPACE,
        "object": web(1)[-1],
    },
}
ADVISED = vpa("Recreate", status=advised(recommended(target=("2", "2Gi"))))


@often
@given(bodies(st.just(REVIEW)), attacked(st.just(ADVISED)))
def test_a_review(body, sizer):
    """Every review is allowed, or no review at all."""
    found = read_autoscaler(sizer)
    try:
        done = review(body, lambda *_: found, lambda _: ())
    except BadReviewError:
        return
    assert msgspec.json.decode(done.body)["response"]["allowed"] is True


# Watched objects.

KINDS = all_kinds(WatermarkPodAutoscaler="act", HorizontalPodAutoscaler="act", VerticalPodAutoscaler="act", Hvpa="act")
TARGETED = [
    hpa(),
    wpa(),
    vpa("Recreate"),
    vpa("Auto", status=advised(recommended())),
    hvpa(),
    hvpa(status={"lastScaling": {}}),
]
AROUND = [*web(3, box()), node(), limit_range(min={"cpu": "1"}), sample(0), sample(1)]


@st.composite
def worlds(draw):
    """A workload with one autoscaler, of which one to three objects are attacked."""
    objects = [*AROUND, draw(st.sampled_from(TARGETED))]
    for place in [*draw(st.lists(st.integers(0, len(objects) - 1), min_size=1, max_size=3)), len(objects) - 1]:
        objects[place] = draw(attacked(st.just(objects[place])))
    return objects


def advised_at(url, **more):
    recommender = {"url": url, "targetType": "cpu", "highWatermark": "80", "lowWatermark": "50", **more}
    return [*AROUND, wpa(metrics=None, recommender=recommender)]


MARKS = "\u0300\u0323"


@seldom
@given(worlds())
@example(advised_at(f"http://{MARKS * 125_000}.b.svc/"))
@example(advised_at(f"http://{MARKS * 1000}.b.svc/"))
@example(advised_at("https://127.0.0.1:1/", tlsConfig={"serverName": MARKS * 125_000}))
def test_objects_of_a_tenant(objects):
    """No internal error, and the workload of another is scaled."""

    async def run():
        async with World(*named("api"), *objects, kinds=KINDS) as world:
            for _ in range(2):
                world.queue("80")
                await world.reconcile()
            assert dict(world.app.errors.total) == {}
            assert replicas_of(world, "api") == 8

    asyncio.run(run())
