"""From metrics and pods to a replica count, case by case."""

import pytest

from conformance.harness import each_case
from conformance.worlds import NOW, ago, hpa_pod, samples
from hypot.core.quantity import format_milli
from hypot.kinds.base import Ref
from hypot.kinds.hpa.fields import (
    ContainerResourceSource,
    ExternalSource,
    Metric,
    ObjectSource,
    PodsSource,
    ResourceSource,
    Target,
)
from hypot.kinds.meta import MetricName
from hypot.kinds.metric_values import MetricValue
from hypot.policy.horizontal.hpa_metrics import group, read_metric
from hypot.policy.horizontal.proposal import MetricContext
from hypot.policy.model.seen import Failure, Scale, Seen, metric_key
from hypot.policy.model.settings import Settings


@each_case("hpa_replica_calculator.json")
def test_hpa_replica_calculator(case):
    """Each calculation of the controller, done by the stages of a decision, gives the expected result."""
    given, expect = case["given"], case["expect"]
    match given["function"]:
        case "group_pods":
            assert_grouped(given, expect)
        case "calculate_requests":
            assert_requests(given, expect)
        case _:
            assert_proposal(given, expect)


def assert_proposal(given, expect):
    """One metric, read as a decision reads it."""
    metric, seen = METRICS[given["function"]](given)
    scale = Scale(given.get("current_replicas", 0), given.get("status_replicas", 0), "name=x")
    pods = tuple(hpa_pod(pod, given.get("resource_name", "")) for pod in given.get("pods", ()))
    look = MetricContext(
        Seen(NOW, scale, pods, **seen),
        scale,
        settings(given),
        given.get("tolerance_scale_down", 0.1),
        given.get("tolerance_scale_up", 0.1),
    )
    reading = read_metric(metric, look)
    wanted_error = expect.get("error_contains") or expect.get("error")
    if wanted_error:
        assert reading.proposal is None
        assert wanted_error in reading.error
        return
    assert reading.error == ""
    if "replicas" in expect:
        assert reading.proposal == expect["replicas"]
    for key in ("raw_average_value_millis", "usage_millis"):
        if key in expect:
            assert reading.value == expect[key]
    if "utilization_percent" in expect:
        assert reading.step.numbers["utilization"] == expect["utilization_percent"]


def settings(given):
    return Settings(
        gates={"PodLevelResources": given.get("pod_level_resources_enabled", True)},
        cpu_initialization_period=given.get("cpu_initialization_period_seconds", 120),
        initial_readiness_delay=given.get("initial_readiness_delay_seconds", 10),
    )


def resource_utilization(given):
    target = Target("Utilization", utilization=given["target_utilization_percent"])
    return _resource(given, target)


def resource_average_value(given):
    return _resource(given, Target("AverageValue", average=format_milli(given["target_average_value_millis"])))


def _resource(given, target):
    name, container = given["resource_name"], given.get("container")
    metric = Metric("Resource", resource=ResourceSource(name, target))
    if container:
        source = ContainerResourceSource(name, container, target)
        metric = Metric("ContainerResource", container_resource=source)
    return metric, {"pod_metrics": samples(given["pod_metrics"], name)}


def pods_average_value(given):
    if given.get("resource_name"):
        return resource_average_value(given)
    name = given.get("metric_name", "qps")
    target = Target("AverageValue", average=format_milli(given["target_average_value_millis"]))
    found = {
        m["pod"]: MetricValue(m["value_millis"], ago(m["timestamp_seconds_ago"]), m["window_seconds"])
        for m in given["pod_metrics"]
    }
    return Metric("Pods", pods=PodsSource(MetricName(name), target)), {"pods_metrics": {metric_key(name, None): found}}


def object_value(given):
    return _object(given, Target("Value", value=format_milli(given["target_value_millis"])))


def object_average_value(given):
    return _object(given, Target("AverageValue", average=format_milli(given["target_average_value_millis"])))


def _object(given, target):
    described = given["described_object"]
    ref = Ref(described["api_version"], described["kind"], described["name"])
    value = given.get("object_metric_value_millis")
    found = Failure("no metric") if value is None else value
    metric = Metric("Object", object=ObjectSource(ref, MetricName(given["metric_name"]), target))
    return metric, {"object_metrics": {metric_key(given["metric_name"], None, str(ref)): found}}


def external_value(given):
    return _external(given, Target("Value", value=format_milli(given["target_value_millis"])))


def external_average_value(given):
    return _external(given, Target("AverageValue", average=format_milli(given["target_average_value_millis"])))


def _external(given, target):
    name = given["metric_name"]
    metric = Metric("External", external=ExternalSource(MetricName(name), target))
    return metric, {"external_metrics": {metric_key(name, None): tuple(given["external_metric_values_millis"])}}


METRICS = {
    "resource_utilization": resource_utilization,
    "resource_average_value": resource_average_value,
    "pods_average_value": pods_average_value,
    "object_value": object_value,
    "object_average_value": object_average_value,
    "external_value": external_value,
    "external_average_value": external_average_value,
}


def assert_grouped(given, expect):
    """Ready, unready, missing and ignored pods."""
    resource = given.get("resource_name", "")
    found = {
        m["pod"]: MetricValue(m.get("value_millis", 1), ago(m["timestamp_seconds_ago"]), m["window_seconds"])
        for m in given["pod_metrics"]
    }
    pods = [hpa_pod(pod, resource) for pod in given["pods"]]
    groups = group(pods, found, found, resource, NOW, settings(given))
    assert groups.ready == expect["ready_pod_count"]
    for key, names in (("unready", groups.unready), ("missing", groups.missing), ("ignored", groups.ignored)):
        assert names == set(expect.get(f"{key}_pods", ())), key


def assert_requests(given, expect):
    """The requests that utilisation refers to, by pod, or the first pod without a request."""
    resource, container = given["resource_name"], given.get("container") or ""
    enabled = given.get("pod_level_resources_enabled", False)
    pods = [hpa_pod(pod, resource) for pod in given["pods"]]
    found = {pod.name: pod.request(resource, container, pod_level=enabled) for pod in pods}
    failed = [request.message for request in found.values() if isinstance(request, Failure)]
    wanted_error = expect.get("error") or expect.get("error_contains")
    if wanted_error:
        assert failed
        assert wanted_error in failed[0]
        return
    assert not failed
    assert found == expect["requests_millis_by_pod"]


def test_every_calculation_is_known():
    """Every function of the conventions is covered."""
    named = {"resource_utilization", "pods_average_value", "object_value", "object_average_value"}
    assert named | {"external_value", "external_average_value"} <= set(METRICS)
    with pytest.raises(KeyError):
        METRICS["no_such_calculation"]
