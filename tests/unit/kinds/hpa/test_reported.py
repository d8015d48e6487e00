"""The status of a live object: conditions and metrics under their Kubernetes names."""

import copy
import pickle

import pytest

from hypot.kinds.hpa import HPA
from hypot.kinds.hpa.fields import cpu, external, memory, on, pods
from hypot.kinds.hvpa import Hvpa
from hypot.kinds.tortoise import Tortoise
from hypot.kinds.vpa import VPA
from hypot.kinds.wpa import WPA
from hypot.kinds.wpa.fields import band, resource_band

NAMED = {"name": "hits", "selector": {"matchLabels": {"verb": "GET"}}}
STATUS = {
    "observedGeneration": 3,
    "lastScaleTime": "2026-03-02T09:00:00Z",
    "currentReplicas": 4,
    "desiredReplicas": 5,
    "conditions": [
        {
            "type": "AbleToScale",
            "status": "True",
            "reason": "ReadyForNewScale",
            "message": "recommended size matches current size",
            "lastTransitionTime": "2026-03-02T08:00:00Z",
        },
        {"type": "ScalingActive", "status": "False", "reason": "FailedGetPodsMetric"},
    ],
    "currentMetrics": [
        {
            "type": "Resource",
            "resource": {"name": "cpu", "current": {"averageUtilization": 60, "averageValue": "300m"}},
        },
        {
            "type": "ContainerResource",
            "containerResource": {"name": "cpu", "container": "api", "current": {"averageValue": "25"}},
        },
        {"type": "Pods", "pods": {"metric": NAMED, "current": {"averageValue": "120"}}},
        {
            "type": "Object",
            "object": {
                "describedObject": {"apiVersion": "networking.k8s.io/v1", "kind": "Ingress", "name": "shop"},
                "metric": {"name": "hits"},
                "current": {"value": "1k"},
            },
        },
        {"type": "External", "external": {"metric": {"name": "depth"}, "current": {"value": "7", "averageValue": "2"}}},
    ],
}
LIVE = HPA.from_dict({"metadata": {"name": "web"}, "spec": {}, "status": STATUS}).reported


@pytest.mark.parametrize(
    ("metric", "values"),
    [
        (cpu(utilization=50), (None, "300m", 60)),
        (cpu(container="api", average=25), (None, "25", None)),
        (pods("hits", average=1, labels={"verb": "GET"}), (None, "120", None)),
        (on("ingress/shop", "hits", value=1000), ("1k", None, None)),
        (external("depth", value=1), ("7", "2", None)),
    ],
)
def test_the_entry_of_a_metric_that_built_the_object(metric, values):
    """Whatever its target is: source, name, labels, container and described object make it the same."""
    current = LIVE[metric].current
    assert (current.value, current.average_value, current.average_utilization) == values


@pytest.mark.parametrize(
    "metric",
    [
        memory(utilization=50),
        cpu(container="other", average=25),
        pods("hits", average=1),
        on("ingress/other", "hits", value=1),
        external("hits", value=1),
    ],
)
def test_a_metric_without_an_entry_is_a_key_error(metric):
    """The message says what is missing."""
    with pytest.raises(KeyError, match="nothing is reported"):
        LIVE[metric]


def test_counts_and_conditions():
    """Conditions are found by type, as keys and as attributes."""
    assert (LIVE.observed_generation, LIVE.last_scale_time) == (3, "2026-03-02T09:00:00Z")
    assert (LIVE.current_replicas, LIVE.desired_replicas) == (4, 5)
    able = LIVE.conditions["AbleToScale"]
    assert (able.status, able.reason, able.last_transition_time) == ("True", "ReadyForNewScale", "2026-03-02T08:00:00Z")
    assert LIVE.conditions.ScalingActive.reason == "FailedGetPodsMetric"
    assert list(LIVE.conditions) == ["AbleToScale", "ScalingActive"]
    with pytest.raises(KeyError, match="no condition ScalingLimited; the conditions are AbleToScale, ScalingActive"):
        LIVE.conditions["ScalingLimited"]
    assert not hasattr(LIVE.conditions, "ScalingLimited")


def test_parts_that_cannot_be_read_are_left_out():
    """A status is what others wrote."""
    broken = HPA.from_dict({"metadata": {"name": "web"}, "status": {"currentReplicas": "4", "desiredReplicas": 5}})
    assert (broken.reported.current_replicas, broken.reported.desired_replicas) == (None, 5)
    assert HPA("deployment/web", max_replicas=3).reported.current_replicas is None


def test_the_other_kinds():
    """The same words where the kind has them."""
    conditions = [{"type": "Ready", "status": "True"}]
    wpa = WPA.from_dict({"metadata": {"name": "web"}, "status": {"currentReplicas": 4, "conditions": conditions}})
    assert (wpa.reported.current_replicas, wpa.reported.conditions.Ready.status) == (4, "True")
    hvpa = Hvpa.from_dict({"metadata": {"name": "web"}, "status": {"desiredReplicas": 4, "conditions": conditions}})
    assert (hvpa.reported.desired_replicas, hvpa.reported.conditions.Ready.status) == (4, "True")
    sizes = {"containerRecommendations": [{"containerName": "app", "target": {"cpu": "1"}}]}
    vpa = VPA.from_dict({"metadata": {"name": "web"}, "status": {"recommendation": sizes, "conditions": conditions}})
    assert vpa.reported.containers["app"].target == {"cpu": "1"}
    assert vpa.reported.conditions.Ready.status == "True"


def test_conditions_are_copied_and_pickled():
    """Python asks a copy for attributes before it has any."""
    given = HPA.from_dict({"status": {"conditions": [{"type": "ScalingActive", "status": "True"}]}}).reported.conditions
    for after in (pickle.loads(pickle.dumps(given)), copy.copy(given), copy.deepcopy(given)):  # noqa: S301
        assert after.ScalingActive.status == "True"


def test_a_metric_is_found_in_whatever_order_its_labels_are():
    """A live object has them in the order of a server."""
    shown = {"metric": {"name": "depth", "selector": {"matchLabels": {"b": "2", "a": "1"}}}, "current": {"value": "3"}}
    live = {"status": {"currentMetrics": [{"type": "External", "external": shown}]}}
    metric = external("depth", value=1, labels={"a": "1", "b": "2"})
    assert HPA.from_dict(live).reported[metric].current.value == "3"


def test_the_status_of_a_tortoise_is_read_by_its_names_and_types():
    """As the status of the other kinds; without a status there are no conditions."""
    one = {"type": "FailedToReconcile", "status": "False"}
    status = {"tortoisePhase": "Working", "observedGeneration": 3, "conditions": {"tortoiseConditions": [one]}}
    reported = Tortoise.from_dict({"status": status}).reported
    assert (reported.tortoise_phase, reported.observed_generation) == ("Working", 3)
    assert reported.conditions["FailedToReconcile"].status == "False"
    with pytest.raises(KeyError, match="not reported yet"):
        Tortoise.from_dict({}).reported.conditions["FailedToReconcile"]


def test_the_status_of_a_wpa_is_found_by_metric():
    """As that of an HPA."""
    status = {
        "currentMetrics": [
            {"type": "External", "external": {"metricName": "jobs", "currentValue": "41"}},
            {"type": "Resource", "resource": {"name": "cpu", "currentAverageValue": "200m"}},
        ]
    }
    reported = WPA.from_dict({"status": status}).reported
    assert reported[band("jobs", low=40, high=50)].current_value == "41"
    assert reported[resource_band("cpu", low=1)].current_average_value == "200m"
    with pytest.raises(KeyError, match="nothing is reported for this External metric"):
        reported[band("other", low=1)]
