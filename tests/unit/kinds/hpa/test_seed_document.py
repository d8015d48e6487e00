"""The snippets of the design document behind the authoring API, each as Python and as the manifest that it makes."""

import pytest

from hypot.kinds.base import InvalidAutoscaler
from hypot.kinds.hpa import HPA
from hypot.kinds.hpa.fields import FROZEN, Limit, Metric, ScalingRules, cpu, external, limit, on, pods
from hypot.lint import check

CONTAINER = {"name": "bookstore-api-container", "image": "bookstore", "resources": {"requests": {"cpu": "500m"}}}
BOOKSTORE = {
    "apiVersion": "apps/v1",
    "kind": "Deployment",
    "metadata": {"name": "bookstore-api"},
    "spec": {
        "selector": {"matchLabels": {"app": "bookstore"}},
        "template": {"metadata": {"labels": {"app": "bookstore"}}, "spec": {"containers": [CONTAINER]}},
    },
}
INGRESS = {"apiVersion": "networking.k8s.io/v1", "kind": "Ingress", "metadata": {"name": "bookstore"}}


def spec(**more):
    target = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "bookstore-api"}
    return {"scaleTargetRef": target, "maxReplicas": 10, **more}


def bookstore(*metrics, **more):
    return HPA(BOOKSTORE, max_replicas=10, metrics=metrics or None, **more).to_dict()["spec"]


def test_the_minimal_api():
    """A target and a maximum; the name is that of the target."""
    made = HPA(BOOKSTORE, max_replicas=10).to_dict()
    assert (made["metadata"], made["spec"]) == ({"name": "bookstore-api"}, spec())


@pytest.mark.parametrize(
    ("metric", "manifest"),
    [
        (
            cpu(utilization=50),
            {
                "type": "Resource",
                "resource": {"name": "cpu", "target": {"type": "Utilization", "averageUtilization": 50}},
            },
        ),
        (
            on(INGRESS, "hits-per-second", value=1000),
            {
                "type": "Object",
                "object": {
                    "describedObject": {"apiVersion": "networking.k8s.io/v1", "kind": "Ingress", "name": "bookstore"},
                    "metric": {"name": "hits-per-second"},
                    "target": {"type": "Value", "value": 1000},
                },
            },
        ),
        (
            pods("transactions-processed-per-second", average=1000),
            {
                "type": "Pods",
                "pods": {
                    "metric": {"name": "transactions-processed-per-second"},
                    "target": {"type": "AverageValue", "averageValue": 1000},
                },
            },
        ),
        (
            external("dead-letter-queue-size", value=1),
            {
                "type": "External",
                "external": {"metric": {"name": "dead-letter-queue-size"}, "target": {"type": "Value", "value": 1}},
            },
        ),
        (
            cpu(container="bookstore-api-container", average=25),
            {
                "type": "ContainerResource",
                "containerResource": {
                    "name": "cpu",
                    "container": "bookstore-api-container",
                    "target": {"type": "AverageValue", "averageValue": 25},
                },
            },
        ),
    ],
)
def test_each_type_of_metric(metric, manifest):
    """The type of the target follows from the keyword."""
    assert bookstore(metric) == spec(metrics=[manifest])


@pytest.mark.parametrize("direction", ["up", "down"])
def test_policies(direction):
    """The document's MAX_PODS is the type Pods."""
    rules = ScalingRules([limit(pods=5, per=30)])
    written = {"policies": [{"type": "Pods", "value": 5, "periodSeconds": 30}]}
    side = {"up": "scaleUp", "down": "scaleDown"}[direction]
    assert bookstore(**{f"scale_{direction}": rules}) == spec(behavior={side: written})


def test_what_the_document_calls_disabled():
    """It selects no policy."""
    assert bookstore(scale_down=FROZEN) == spec(behavior={"scaleDown": {"selectPolicy": "Disabled"}})


@pytest.mark.parametrize("invented", ["MaxUnavailable", "MaxPods", "Disabled"])
def test_invented_policy_types_are_refused_with_the_fix(invented):
    """Kubernetes has Pods and Percent."""
    with pytest.raises(InvalidAutoscaler, match=r'supported values: "Percent", "Pods"') as raised:
        bookstore(scale_up=ScalingRules([Limit(invented, 5, 30)]))
    assert raised.value.problems[0].hint


def test_pods_have_no_utilization():
    """The document's snippet is refused by Kubernetes."""
    with pytest.raises(InvalidAutoscaler, match="write average=100"):
        pods("transactions-processed-per-second", utilization=1000)


def test_a_status_is_read():
    """The document writes desiredReplicas and conditions into the constructor."""
    with pytest.raises(InvalidAutoscaler, match="the cluster writes the status"):
        HPA(BOOKSTORE, max_replicas=10, desired_replicas=5, conditions={"AbleToScale": "True"})
    metric = cpu(container="bookstore-api-container", average=25)
    live = HPA(BOOKSTORE, max_replicas=10, metrics=[metric]).to_dict()
    source = {"container": "bookstore-api-container", "name": "cpu", "current": {"averageValue": "20"}}
    live["status"] = {
        "desiredReplicas": 5,
        "conditions": [{"type": "AbleToScale", "status": "True"}],
        "currentMetrics": [{"type": "ContainerResource", "containerResource": source}],
    }
    reported = HPA.from_dict(live).reported
    assert (reported.desired_replicas, reported.conditions.AbleToScale.status) == (5, "True")
    assert reported[metric].current.average_value == "20"


def test_a_metric_name_is_not_made_up():
    """The document would generate one; no series could match it."""
    with pytest.raises(InvalidAutoscaler, match="name: is required"):
        external(value=1)


def test_a_utilization_without_requests_is_refused():
    """The document asks for limits; the controller needs requests."""
    bare = {"spec": {"containers": [{"name": "api"}]}}
    workload = {**BOOKSTORE, "spec": {"template": bare}}
    with pytest.raises(InvalidAutoscaler, match=r"has no cpu request, so 50 % of it cannot be computed"):
        HPA(workload, max_replicas=10, metrics=[cpu(utilization=50)])
    assert HPA(workload, max_replicas=10, metrics=[cpu(average="500m")]).metrics


def test_a_value_and_a_utilization_at_once_are_refused():
    """By the constructor, and by the rules if it was read from a manifest."""
    with pytest.raises(InvalidAutoscaler, match="keep utilization or average"):
        cpu(utilization=50, average="50m")
    both = {"type": "Value", "averageUtilization": 50, "averageValue": "50m"}
    metric = Metric.read({"type": "Resource", "resource": {"name": "cpu", "target": both}})
    with pytest.raises(InvalidAutoscaler, match="may not set both a target raw value and a target utilization"):
        bookstore(metric)


def test_whole_cores_are_reported():
    """`averageValue: 25` is twenty-five cores for each pod, which Kubernetes accepts."""
    made = HPA(BOOKSTORE, max_replicas=10, metrics=[cpu(container="bookstore-api-container", average=25)])
    assert "unit-slip" in {finding.rule for finding in check(made, BOOKSTORE).findings}
