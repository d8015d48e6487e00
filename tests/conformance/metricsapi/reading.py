"""What an HPA reads of the answers of the three APIs, as the controller reads them."""

import asyncio

from conformance.worlds import NOW
from fake_cluster import FakeCluster
from hypot.cluster.port import Answer, encoded
from hypot.core.instant import show_time
from hypot.core.quantity import format_milli
from hypot.kinds.base import Ref
from hypot.kinds.hpa.fields import ExternalSource, Metric, PodsSource, ResourceSource, Target
from hypot.kinds.meta import MetricName
from hypot.kinds.metric_values import (
    CustomValue,
    ExternalValue,
    MetricObject,
    MetricValue,
    custom_list,
    external_list,
    write_custom,
    write_external,
)
from hypot.kinds.selector import parse_selector
from hypot.policy.horizontal.hpa_metrics import read_metric
from hypot.policy.horizontal.proposal import MetricContext
from hypot.policy.model.seen import Scale, Seen, metric_key
from hypot.policy.model.settings import Settings
from hypot.policy.observe.metric_queries import external_query, object_query, pods_query
from hypot.run.observe.pod_metrics import METRICS, MetricsApi
from hypot.run.observe.queries import MetricApis

NAMESPACE = "test-namespace"
AVERAGE = Target("AverageValue", average="1")


def hpa_client(given, expect):
    {"resource": of_resource, "custom": of_custom, "external": of_external}[given["api"]](given, expect)


def answering(path, body):
    cluster = FakeCluster()
    cluster.fixed[path] = Answer(200, encoded(body))
    return cluster


def refused(metric, expect, **seen):
    """The error of an HPA that scales on this metric."""
    scale = Scale(3, 3, "name=x")
    reading = read_metric(metric, MetricContext(Seen(NOW, scale, **seen), scale, Settings(), 0.1, 0.1))
    assert reading.proposal is None
    assert expect["error_contains"] in reading.error


def of_resource(given, expect):
    items = [
        {
            "metadata": {"name": f"test-pod-{i}", "namespace": NAMESPACE},
            "timestamp": show_time(NOW),
            "window": f"{given.get('window_seconds', 60)}s",
            "containers": [
                {"name": name, "usage": {given["resource"]: format_milli(amount)}} for name, amount in pod.items()
            ],
        }
        for i, pod in enumerate(given["pods"])
    ]
    path = f"{METRICS}/namespaces/{NAMESPACE}/pods"
    read = asyncio.run(MetricsApi(answering(path, {"items": items}), (NAMESPACE,)).read()).samples
    samples = {name: sample for (_, name), sample in read.items()}
    if "error_contains" in expect:
        metric = Metric("Resource", resource=ResourceSource(given["resource"], AVERAGE))
        refused(metric, expect, pod_metrics=samples)
        return
    usage = {name: sample.usage(given["resource"], given.get("container", "")) for name, sample in samples.items()}
    assert {name: amount for name, amount in usage.items() if amount is not None} == expect["milli_by_pod"]


def of_custom(given, expect):
    metric, wanted = given["metric"], given.get("object")
    ref = Ref(wanted["apiVersion"], wanted["kind"], wanted["name"]) if wanted else None
    query = object_query(metric, None, NAMESPACE, ref) if ref else pods_query(metric, None, NAMESPACE, "name=x")
    described = MetricObject(ref.kind, NAMESPACE, ref.name, ref.api_version) if ref else None
    values = [CustomValue(described, metric, MetricValue(milli, NOW)) for milli in given["values_milli"]]
    body = custom_list([write_custom(one, "v1beta2") for one in values], "v1beta2")
    answered = asyncio.run(MetricApis(answering(query.path, body)).ask([query], NOW))
    if ref:
        assert f"/{expect['requested_resource']}/{ref.name}/" in query.path
        assert answered.of_object(metric, None, NAMESPACE, ref) == expect["value_milli"]
        return
    found = answered.of_pods(metric, None, NAMESPACE, (), "name=x")
    source = PodsSource(MetricName(metric), AVERAGE)
    refused(Metric("Pods", pods=source), expect, pods_metrics={metric_key(metric, None): found})


def of_external(given, expect):
    metric = given["metric"]
    labels = {each.key: each.values[0] for each in parse_selector(given.get("selector", "")).requirements}
    selector = {"matchLabels": labels} if labels else None
    query = external_query(metric, selector, NAMESPACE)
    assert dict(query.parameters).get("labelSelector", "") == given.get("selector", "")
    values = [ExternalValue(metric, labels, MetricValue(milli, NOW)) for milli in given["values_milli"]]
    body = external_list([write_external(one) for one in values])
    answered = asyncio.run(MetricApis(answering(query.path, body)).ask([query], NOW))
    found = answered.external(metric, selector, NAMESPACE)
    if "error_contains" in expect:
        source = ExternalSource(MetricName(metric), AVERAGE)
        refused(Metric("External", external=source), expect, external_metrics={metric_key(metric, None): found})
        return
    assert list(found) == expect["values_milli"]


CHECKS = {"hpa_client": hpa_client}
