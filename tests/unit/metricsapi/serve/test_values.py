"""Values over the wire: which pods, in which form, and until when."""

import json

import pytest

from hypot.metricsapi.ages import Ages
from hypot.metricsapi.serve.query import read_query
from hypot.metricsapi.serve.values import ServedValues, UnknownMetricError
from unit.metricsapi.pods_world import DEPTH, RATE, add, only, pod, rule, scraped, targets_of

AGES = Ages()
CUSTOM = "/apis/custom.metrics.k8s.io/v1beta2/namespaces/shop/pods"
EXTERNAL = "/apis/external.metrics.k8s.io/v1beta1/namespaces/shop/queue"


class World:
    def __init__(self, *rules, pods=()):
        self.now = 61.0
        self.targets = targets_of(*(rules or [rule("web", RATE, DEPTH)]), pods=pods or [pod()])
        for target in self.targets:
            self.sample(target, 450)
        self.values = ServedValues(self.targets, AGES, lambda: self.now)

    def sample(self, target, per_second):
        for at in (0.0, 60.0):
            target.sampled(scraped(at, *[at * per_second] * len(target.rule.wanted)), AGES)

    def body(self, path, **parameters):
        return json.loads(b"".join(self.values.answer(read_query(path, parameters))))

    def items(self, path, **parameters):
        return self.body(path, **parameters)["items"]

    def names(self, **parameters):
        items = self.items(f"{CUSTOM}/*/requests_per_second", **parameters)
        return [each["describedObject"]["name"] for each in items]


POD = {"kind": "Pod", "namespace": "shop", "name": "web-0", "uid": "uid-web-0", "apiVersion": "v1"}
TIME = "2027-01-15T08:01:00Z"


def test_v1beta2():
    assert World().body(f"{CUSTOM}/web-0/requests_per_second") == {
        "kind": "MetricValueList",
        "apiVersion": "custom.metrics.k8s.io/v1beta2",
        "metadata": {},
        "items": [
            {
                "describedObject": POD,
                "metric": {"name": "requests_per_second", "selector": None},
                "timestamp": TIME,
                "windowSeconds": 60,
                "value": "450",
            }
        ],
    }


def test_v1beta1():
    """The name, the selector and the window have other places."""
    assert World().body(f"{CUSTOM.replace('v1beta2', 'v1beta1')}/web-0/requests_per_second") == {
        "kind": "MetricValueList",
        "apiVersion": "custom.metrics.k8s.io/v1beta1",
        "metadata": {},
        "items": [
            {
                "describedObject": POD,
                "metricName": "requests_per_second",
                "timestamp": TIME,
                "window": 60,
                "value": "450",
                "selector": None,
            }
        ],
    }


def test_external():
    """One series per pod, with the labels of the pod. A gauge has no window."""
    assert World().body(EXTERNAL) == {
        "kind": "ExternalMetricValueList",
        "apiVersion": "external.metrics.k8s.io/v1beta1",
        "metadata": {},
        "items": [
            {
                "metricName": "queue",
                "metricLabels": {"app": "web", "pod": "web-0"},
                "timestamp": TIME,
                "value": "27k",
            }
        ],
    }


@pytest.mark.parametrize("count", [0, 2])
def test_lists(count):
    """An empty list is one, too."""
    pods = [pod(f"web-{i}") for i in range(count)] or [pod("other", labels={"app": "web", "old": "1"})]
    assert World(pods=pods).names(labelSelector="!old") == [f"web-{i}" for i in range(count)]


THREE = [
    pod("a", labels={"app": "web", "tier": "1"}),
    pod("b", labels={"app": "web", "tier": "2"}),
    pod("c", labels={"app": "web"}, namespace="other"),
]


@pytest.mark.parametrize(
    ("parameters", "names"),
    [
        ({}, ["a", "b"]),
        ({"labelSelector": "app=web"}, ["a", "b"]),
        ({"labelSelector": "tier in (2,3)"}, ["b"]),
        ({"labelSelector": "tier!=1"}, ["b"]),
        ({"labelSelector": "tier=3"}, []),
        ({"fieldSelector": "metadata.name=b"}, ["b"]),
        # Series have no labels: what requires one matches none.
        ({"metricLabelSelector": "code=200"}, []),
        ({"metricLabelSelector": "code"}, []),
        ({"metricLabelSelector": "!code"}, ["a", "b"]),
        ({"metricLabelSelector": "code!=500", "labelSelector": "tier=1"}, ["a"]),
    ],
)
def test_selectors(parameters, names):
    world = World(pods=THREE)
    assert [world.names(**parameters) for _ in range(2)] == [names, names]


def test_the_selector_of_the_query_is_in_the_answer():
    """An answer without a selector is another one."""
    world = World()
    path = f"{CUSTOM}/*/requests_per_second"
    for parameters, selector in (
        ({}, None),
        (
            {"metricLabelSelector": "!code,b notin (c)"},
            {
                "matchExpressions": [
                    {"key": "code", "operator": "DoesNotExist", "values": []},
                    {"key": "b", "operator": "NotIn", "values": ["c"]},
                ]
            },
        ),
        ({}, None),
    ):
        assert world.items(path, **parameters)[0]["metric"]["selector"] == selector


@pytest.mark.parametrize(
    ("parameters", "names"),
    [({}, ["a", "b"]), ({"labelSelector": "tier=1"}, ["a"]), ({"labelSelector": "pod=b"}, ["b"])],
)
def test_external_series(parameters, names):
    world = World(pods=THREE)
    assert [each["metricLabels"]["pod"] for each in world.items(EXTERNAL, **parameters)] == names


def test_until_when_a_value_is_served():
    """Exactly 90 s, also if it was made before."""
    world = World()
    for now, count in ((61.0, 1), (150.0, 1), (150.1, 0)):
        world.now = now
        assert len(world.names()) == count
        assert len(world.items(EXTERNAL)) == count


def test_a_new_sample_and_new_labels():
    """Nothing of the former answer is kept."""
    world = World()
    assert (world.names(labelSelector="app=web"), world.names(labelSelector="new")) == (["web-0"], [])
    only(world.targets).sampled(scraped(120.0, 27_000 + 60, 7), AGES)
    world.now = 121.0
    assert world.items(f"{CUSTOM}/web-0/requests_per_second")[0]["value"] == "1"
    add(world.targets, pod(labels={"app": "web", "new": "1"}))
    assert world.names(labelSelector="new") == ["web-0"]
    assert world.items(EXTERNAL)[0]["metricLabels"] == {"app": "web", "new": "1", "pod": "web-0"}
    world.targets.update(("shop", "web-0"), None, None)
    assert world.names() == []


def test_two_rules_that_serve_one_name():
    """The first one counts for each pod, also while it has no value; the others of its pods come from the second."""
    first = rule("a", RATE, pods={"matchLabels": {"tier": "1"}})
    second = rule("b", {"counter": "other_total", "names": ["requests_per_second"]})
    world = World(first, second, pods=THREE[:2])
    world.sample(world.targets.of_rule("b", "shop")["a"], 7)
    world.sample(world.targets.of_rule("b", "shop")["b"], 8)
    path = f"{CUSTOM}/*/requests_per_second"
    found = {each["describedObject"]["name"]: each["value"] for each in world.items(path)}
    assert found == {"a": "450", "b": "8"}
    world.targets.of_rule("a", "shop")["a"].samples = []
    world.targets.of_rule("a", "shop")["a"].renew()
    assert world.names() == ["b"]


def test_two_names_of_one_metric():
    """Both are in use for the same rate."""
    world = World(rule("web", {"counter": "a", "names": ["rate", "sum"]}))
    assert [world.items(f"{CUSTOM}/web-0/{name}")[0]["metric"]["name"] for name in ("rate", "sum")] == ["rate", "sum"]


@pytest.mark.parametrize(
    ("path", "message"),
    [
        (f"{CUSTOM}/*/other", "the metric other of pods is not served: no rule has this name"),
        (
            f"{CUSTOM.replace('pods', 'services')}/a/requests_per_second",
            "the metric requests_per_second of services is not served: no rule has this name",
        ),
        (
            EXTERNAL.replace("queue", "requests_per_second"),
            "the metric requests_per_second is not served: no rule has this name",
        ),
        (f"{CUSTOM}/gone/requests_per_second", "pods gone in shop has no value of requests_per_second"),
    ],
)
def test_what_is_not_served(path, message):
    with pytest.raises(UnknownMetricError) as error:
        World().body(path)
    assert error.value.args == (message,)


@pytest.mark.parametrize(
    "parameters", [{"labelSelector": "app=other"}, {"metricLabelSelector": "code=200"}, {"fieldSelector": ""}]
)
def test_a_single_pod_without_a_value(parameters):
    """An empty list would say that there is no such pod."""
    world = World()
    world.now = 61.0 if any(parameters.values()) else 1000.0
    with pytest.raises(UnknownMetricError):
        world.body(f"{CUSTOM}/web-0/requests_per_second", **parameters)
