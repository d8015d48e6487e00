"""Paths of the APIs, and what goes over the wire."""

import asyncio
import json
from urllib.parse import parse_qsl, urlsplit

import pytest

from fake_cluster import FakeCluster
from hypot.cluster.port import Answer, encoded
from hypot.core.instant import read_time
from hypot.core.quantity import format_milli
from hypot.kinds.metric_values import (
    CUSTOM,
    RESOURCE,
    CustomValue,
    MetricObject,
    MetricValue,
    custom_list,
    write_custom,
)
from hypot.metricsapi.ages import Ages
from hypot.metricsapi.serve.query import read_query
from hypot.metricsapi.serve.values import ServedValues, UnknownMetricError
from hypot.run.observe.pod_metrics import METRICS, MetricsApi
from unit.metricsapi.pods_world import pod, rule, scraped, targets_of

NOW = 120.0
# The peer's sample provider: so many pods have the metric, and every second one has the label.
PODS, SERIES = 16, 2


def provider():
    metrics = ({"counter": "a", "names": ["some-metric"]}, {"gauge": "b", "names": ["my-external-metric"]})
    rules = [
        rule("pods", metrics[0], pods={}, namespaces={"names": ["ns"]}),
        rule("external", {**metrics[1], "external": True}, pods={}, namespaces={"names": ["default"]}),
    ]
    places = [("ns", i) for i in range(PODS)] + [("default", i) for i in range(SERIES)]
    labels = [{"foo": "bar"}, {"foo": "other"}]
    targets = targets_of(*rules, pods=[pod(f"p{i}", namespace=place, labels=labels[i % 2]) for place, i in places])
    for target in targets:
        for at in (0.0, 60.0, NOW):
            target.sampled(scraped(at, at), Ages())
    return ServedValues(targets, Ages(), lambda: NOW)


def route(given, expect):
    """A path that is no query is 404 NotFound, as a metric that is not served is."""
    url = urlsplit(given["path"])
    query = read_query(url.path, dict(parse_qsl(url.query)))
    status, count = 404, None
    if query is not None:
        try:
            status, count = 200, len(json.loads(b"".join(provider().answer(query)))["items"])
        except UnknownMetricError:
            status, count = 404, None
    assert (status, count) == (expect["status"], expect["item_count"])


def serialize(given, expect):
    group, version = given["version"].split("/")
    if group == RESOURCE:
        reads_usage(given, expect["json_subset"])
        return
    assert group == CUSTOM
    value = MetricValue(given["value_milli"], read_time(given["timestamp"]), given["window_seconds"])
    one = CustomValue(MetricObject("Pod", given["namespace"], given["pod"]), given["metric"], value)
    assert custom_list([write_custom(one, version)], version) == expect["json"]


def reads_usage(given, written):
    """The usage of pods is only read; amounts are rounded up to milli-units."""
    cluster = FakeCluster()
    cluster.fixed[f"{METRICS}/pods"] = Answer(200, encoded({"items": [written]}))
    sample = asyncio.run(MetricsApi(cluster, ()).read()).samples[given["namespace"], given["pod"]]
    assert (sample.at, sample.window) == (read_time(given["timestamp"]), pytest.approx(given["window_seconds"]))
    wanted = [
        (each["name"], {"cpu": -(-each["cpu_nanocores"] // 10**6), "memory": each["memory_bytes"] * 1000})
        for each in given["containers"]
    ]
    assert list(sample.containers) == wanted


def quantity(given, expect):
    assert format_milli(given["milli"]) == expect["text"]


CHECKS = {"route": route, "serialize": serialize, "quantity": quantity}
