"""HorizontalPodAutoscalers of earlier API versions, read as autoscaling/v2."""

import json

import pytest

from hypot.kinds.hpa import HPA
from hypot.kinds.hpa.fields import cpu

WEB = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"}
CPU = {"type": "Resource", "resource": {"name": "cpu", "target": {"type": "Utilization", "averageUtilization": 70}}}
ALPHA = "autoscaling.alpha.kubernetes.io/"


def former(version, annotations=None, **spec):
    metadata = {"name": "web"} if annotations is None else {"name": "web", "annotations": annotations}
    head = {"apiVersion": f"autoscaling/{version}", "kind": "HorizontalPodAutoscaler", "metadata": metadata}
    return {**head, "spec": {"scaleTargetRef": WEB, "maxReplicas": 10, **spec}}


def current(annotations=None, **spec):
    return former("v2", annotations, **spec)


def old_metrics(*metrics):
    return {ALPHA + "metrics": json.dumps(metrics)}


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (former("v1"), current()),
        (former("v1", minReplicas=2), current(minReplicas=2)),
        (former("v1", targetCPUUtilizationPercentage=70), current(metrics=[CPU])),
        (former("v1", {"a.io/b": "c"}), current({"a.io/b": "c"})),
        (former("v1", {ALPHA + "conditions": "[]", "a.io/b": "c"}), current({"a.io/b": "c"})),
        (former("v1", {ALPHA + "current-metrics": "[]"}), current()),
        (former("v1", {ALPHA + "metrics": "no JSON"}), current()),
        (former("v1", {ALPHA + "metrics": '{"a": 1}', ALPHA + "behavior": "[]"}), current()),
        (former("v1", {1: "a"}), current({1: "a"})),
        ({**former("v1"), "status": {"currentCPUUtilizationPercentage": 3}}, current()),
        (former("v1", {ALPHA + "behavior": "{}"}), current()),
        (former("v1", {ALPHA + "behavior": '{"ScaleUp": null, "ScaleDown": null}'}), current()),
        (former("v1", {ALPHA + "other": "kept"}), current({ALPHA + "other": "kept"})),
    ],
)
def test_v1_has_one_percentage(old, new):
    """Annotations that carried newer fields are read and dropped, also broken ones; so is the old status."""
    assert HPA.from_dict(old).to_dict() == new


def test_v1_carries_more_metrics_in_an_annotation():
    """They come before the metric of the spec."""
    annotations = old_metrics({"type": "Pods", "pods": {"metricName": "rps", "targetAverageValue": "10"}})
    hpa = HPA.from_dict(former("v1", annotations, targetCPUUtilizationPercentage=70))
    target = {"type": "AverageValue", "averageValue": "10"}
    assert hpa.to_dict() == current(
        metrics=[{"type": "Pods", "pods": {"metric": {"name": "rps"}, "target": target}}, CPU]
    )
    assert [p.rule for p in hpa.problems()] == ["single-metric-version"]


def test_v1_carries_metrics_even_without_a_spec():
    """Problems in them are reported."""
    annotations = old_metrics({"type": "Resource", "resource": {"name": "cpu", "targetAverageUtilization": 0}})
    found = {p.rule for p in HPA.from_dict({**former("v1", annotations), "spec": None}).problems()}
    assert "utilization" in found


def test_v1_carries_a_behavior_in_an_annotation():
    """Its keys are spelt as in Go, and null means absent."""
    behavior = {
        "ScaleUp": {
            "StabilizationWindowSeconds": 9,
            "SelectPolicy": None,
            "Policies": [{"Type": "Pods", "Value": 4, "PeriodSeconds": 60}],
        },
        "ScaleDown": None,
    }
    hpa = HPA.from_dict(former("v1", {ALPHA + "behavior": json.dumps(behavior)}))
    policies = [{"type": "Pods", "value": 4, "periodSeconds": 60}]
    assert hpa.to_dict() == current(behavior={"scaleUp": {"stabilizationWindowSeconds": 9, "policies": policies}})
    assert [p.rule for p in hpa.problems()] == ["single-metric-version"]


def test_a_behavior_that_v1_carries_is_not_completed_before_it_is_checked():
    """Missing policies are reported, not filled in."""
    without_policies = former("v1", {ALPHA + "behavior": '{"ScaleUp": {"SelectPolicy": "Max"}}'})
    found = [p.field for p in HPA.from_dict(without_policies).problems() if p.severity == "error"]
    assert found == ["spec.behavior.scaleUp.policies"]


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"spec": {"scaleTargetRef": WEB, "maxReplicas": 10, "metrics": [{}]}}, "spec.metrics"),
        ({"spec": {"scaleTargetRef": WEB, "maxReplicas": 10, "behavior": {}}}, "spec.behavior"),
        ({"spec": {"scaleTargetRef": WEB, "maxReplicas": 10, "other": 1}}, "spec.other"),
        ({"status": {"conditions": []}}, "status.conditions"),
        ({"status": {"currentCPUUtilizationPercentage": "5"}}, "status.currentCPUUtilizationPercentage"),
        ({"status": {"currentReplicas": "5"}}, "status.currentReplicas"),
        ({"status": "fine"}, "status"),
    ],
)
def test_fields_that_v1_does_not_have_are_reported(changes, field):
    """They are still read as v2 reads them."""
    problems = HPA.from_dict({**former("v1"), **changes}).problems()
    assert {p.field for p in problems if p.severity == "error"} == {field}


def test_the_status_of_a_beta_is_ignored():
    """It had other fields, and no server accepts it any more."""
    status = {"currentMetrics": [{"type": "Resource", "resource": {"name": "cpu", "currentAverageUtilization": 5}}]}
    problems = HPA.from_dict({**former("v2beta1"), "status": status}).problems()
    assert [p.rule for p in problems] == ["old-api-version"]


SELECTOR = {"matchLabels": {"a": "b"}}
INGRESS = {"apiVersion": "networking.k8s.io/v1", "kind": "Ingress", "name": "shop"}
UTILIZATION = {"type": "Utilization", "averageUtilization": 70}
AVERAGE = {"type": "AverageValue", "averageValue": "5"}
VALUE = {"type": "Value", "value": "5"}
SOURCES = [
    ("resource", {"name": "cpu", "targetAverageUtilization": 70}, {"name": "cpu", "target": UTILIZATION}),
    ("resource", {"name": "memory", "targetAverageValue": "5"}, {"name": "memory", "target": AVERAGE}),
    (
        "containerResource",
        {"name": "cpu", "container": "app", "targetAverageUtilization": 70},
        {"name": "cpu", "container": "app", "target": UTILIZATION},
    ),
    (
        "pods",
        {"metricName": "rps", "selector": SELECTOR, "targetAverageValue": "5"},
        {"metric": {"name": "rps", "selector": SELECTOR}, "target": AVERAGE},
    ),
    (
        "object",
        {"target": INGRESS, "metricName": "hits", "targetValue": "5"},
        {"describedObject": INGRESS, "metric": {"name": "hits"}, "target": VALUE},
    ),
    (
        "object",
        {"target": INGRESS, "metricName": "hits", "selector": SELECTOR, "targetValue": "0", "averageValue": "5"},
        {"describedObject": INGRESS, "metric": {"name": "hits", "selector": SELECTOR}, "target": AVERAGE},
    ),
    (
        "external",
        {"metricName": "queue", "metricSelector": SELECTOR, "targetValue": "5"},
        {"metric": {"name": "queue", "selector": SELECTOR}, "target": VALUE},
    ),
    (
        "external",
        {"metricName": "queue", "targetAverageValue": "5"},
        {"metric": {"name": "queue"}, "target": AVERAGE},
    ),
]


@pytest.mark.parametrize(("key", "old", "new"), SOURCES)
def test_v2beta1_has_its_targets_next_to_the_name(key, old, new):
    """Each source is rewritten, in the spec and in v1's annotation, and then has no problems."""
    kind = key[0].upper() + key[1:]
    expected = current(metrics=[{"type": kind, key: new}])
    for data, rule in (
        (former("v2beta1", metrics=[{"type": kind, key: old}]), "old-api-version"),
        (former("v1", old_metrics({"type": kind, key: old})), "single-metric-version"),
    ):
        hpa = HPA.from_dict(data)
        assert hpa.to_dict() == expected
        assert [p.rule for p in hpa.problems()] == [rule]


@pytest.mark.parametrize(
    ("metrics", "field"),
    [
        (
            [{"type": "Resource", "resource": {"name": "cpu", "metricName": "x", "targetAverageUtilization": 70}}],
            "metricName",
        ),
        ([{"type": "Resource", "resource": {"name": "cpu", "targetAverageUtilization": 70, "new": 1}}], "new"),
        ([{"type": "Pods", "pods": "rps"}], "pods"),
        (["cpu"], "spec.metrics[0]"),
        ("cpu", "spec.metrics"),
        ([{"type": "Pods", "pods": {"targetAverageValue": "5"}}], "metric.name"),
    ],
)
def test_what_is_wrong_in_an_old_manifest_stays_wrong(metrics, field):
    """No problem is lost in the conversion."""
    warning, problem = HPA.from_dict(former("v2beta1", metrics=metrics)).problems()
    assert (warning.rule, warning.severity) == ("old-api-version", "warning")
    assert problem.field.endswith(field)


@pytest.mark.parametrize("version", ["v2beta2", "v2"])
def test_v2beta2_has_the_fields_of_v2(version):
    """Only the version changes."""
    spec = {"minReplicas": 2, "metrics": [CPU], "behavior": {"scaleDown": {"selectPolicy": "Disabled"}}}
    hpa = HPA.from_dict(former(version, **spec))
    assert hpa.to_dict() == current(**spec)
    assert hpa.metrics == (cpu(utilization=70),)


@pytest.mark.parametrize(
    "data", [{"spec": None}, {"spec": []}, {}, {"metadata": 3, "spec": {}}, {"metadata": {"annotations": 3}}]
)
@pytest.mark.parametrize("version", ["v1", "v2beta1", "v2beta2"])
def test_an_old_manifest_may_be_as_wrong_as_a_new_one(version, data):
    """Reading never fails."""
    assert HPA.from_dict({"apiVersion": f"autoscaling/{version}", **data}).problems()


def test_the_manifest_that_was_read_is_left_alone():
    """Reading an old manifest does not change it."""
    annotations = old_metrics({"type": "Resource", "resource": {"name": "cpu", "targetAverageUtilization": 70}})
    data = former("v1", annotations, targetCPUUtilizationPercentage=70)
    before = json.dumps(data)
    HPA.from_dict(data)
    assert json.dumps(data) == before
