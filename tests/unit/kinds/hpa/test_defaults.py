"""What the API server fills in and drops."""

import pytest

from hypot.kinds.hpa import HPA
from hypot.kinds.hpa.defaults import keeps_tolerance, stored, with_defaults
from hypot.kinds.hpa.fields import cpu, memory

WEB = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"}
UP = {
    "stabilizationWindowSeconds": 0,
    "selectPolicy": "Max",
    "policies": [
        {"type": "Pods", "value": 4, "periodSeconds": 15},
        {"type": "Percent", "value": 100, "periodSeconds": 15},
    ],
}
DOWN = {"selectPolicy": "Max", "policies": [{"type": "Percent", "value": 100, "periodSeconds": 15}]}


def manifest(**spec):
    return {"metadata": {"name": "web"}, "spec": {"scaleTargetRef": WEB, "maxReplicas": 10, **spec}}


def with_up(**pace):
    return manifest(behavior={"scaleUp": pace})


@pytest.mark.parametrize(
    ("behavior", "expected"),
    [
        ({}, {"scaleUp": UP, "scaleDown": DOWN}),
        ({"scaleUp": {}}, {"scaleUp": UP, "scaleDown": DOWN}),
        ({"scaleUp": {"policies": []}}, {"scaleUp": {**UP, "policies": []}, "scaleDown": DOWN}),
        (
            {"scaleDown": {"stabilizationWindowSeconds": 9, "tolerance": "0.5"}},
            {"scaleUp": UP, "scaleDown": {**DOWN, "stabilizationWindowSeconds": 9, "tolerance": "0.5"}},
        ),
        (
            {"scaleUp": {"selectPolicy": "Min", "policies": [{"type": "Pods", "value": 1, "periodSeconds": 9}]}},
            {
                "scaleUp": {
                    **UP,
                    "selectPolicy": "Min",
                    "policies": [{"type": "Pods", "value": 1, "periodSeconds": 9}],
                },
                "scaleDown": DOWN,
            },
        ),
    ],
)
def test_a_behavior_is_completed_field_by_field(behavior, expected):
    """An empty behavior is completed too; an empty list stays empty."""
    assert with_defaults(HPA.from_dict(manifest(behavior=behavior))).to_dict()["spec"]["behavior"] == expected


def test_no_behavior_stays_none():
    """Without a behavior another algorithm applies."""
    assert with_defaults(HPA.from_dict(manifest())).behavior is None


@pytest.mark.parametrize("metrics", [None, []])
def test_no_metric_becomes_cpu_at_80_percent(metrics):
    """The metrics are absent or empty."""
    assert with_defaults(HPA.from_dict(manifest(metrics=metrics))).metrics == (cpu(utilization=80),)


def test_a_complete_object_is_returned_as_it_is():
    """There is no copy without a change."""
    hpa = with_defaults(HPA.from_dict(with_up()))
    assert with_defaults(hpa) is hpa


@pytest.mark.parametrize(("version", "kept"), [((1, 34), None), ((1, 35), "0.05")])
def test_a_server_without_the_gate_drops_tolerances(version, kept):
    """The server drops them silently."""
    hpa = with_defaults(HPA.from_dict(with_up(tolerance="0.05")), version)
    assert hpa.scale_up.tolerance == kept
    assert hpa.scale_up.select == "Max"


@pytest.mark.parametrize(
    ("old", "version", "kept"),
    [
        (None, (1, 35), True),
        (None, (1, 34), False),
        (with_up(), (1, 34), False),
        (manifest(), (1, 34), False),
        (with_up(tolerance="0"), (1, 34), True),
        (manifest(behavior={"scaleDown": {"tolerance": "0.1"}}), (1, 34), True),
    ],
)
def test_a_tolerance_in_use_is_kept(old, version, kept):
    """It is kept even behind a closed gate."""
    assert keeps_tolerance(old and HPA.from_dict(old), version) is kept


@pytest.mark.parametrize(
    ("amount", "shown"),
    [
        *[("0.05", "50m"), (47.2, "47200m"), (25, "25"), ("1000m", "1"), ("1.5Gi", "1536Mi"), ("1e3", "1e3")],
        *[("+5", "+5"), (" 5 ", "5"), ("1.500", "1.500"), ("1E3", "1E3")],
    ],
)
def test_quantities_are_stored_as_kubectl_shows_them(amount, shown):
    """Most are in their canonical form."""
    hpa = stored(HPA("deployment/web", max_replicas=3, metrics=[memory(average=amount)]))
    assert hpa.metrics == (memory(average=shown),)


@pytest.mark.parametrize(
    ("selector", "shown"),
    [
        ({}, {}),
        ({"matchLabels": {}, "matchExpressions": []}, {}),
        ({"matchLabels": {"a": None}}, {"matchLabels": {"a": ""}}),
        ({"matchExpressions": [None]}, {"matchExpressions": [{"key": "", "operator": ""}]}),
        (
            {"matchExpressions": [{"key": "a", "operator": "In", "values": ["b", None]}]},
            {"matchExpressions": [{"key": "a", "operator": "In", "values": ["b", ""]}]},
        ),
    ],
)
def test_a_selector_is_stored_without_empty_parts(selector, shown):
    """As the Go types serialise it."""
    queue = {"metric": {"name": "q", "selector": selector}, "target": {"type": "Value", "value": "5"}}
    data = manifest(metrics=[{"type": "External", "external": queue}])
    assert HPA.from_dict(data).problems() == ()
    (metric,) = stored(HPA.from_dict(data)).metrics
    assert metric.external.metric.selector == shown


def test_an_empty_version_of_a_target_is_not_stored():
    """Only a ReplicationController may have an empty version."""
    data = manifest(scaleTargetRef={"apiVersion": "", "kind": "ReplicationController", "name": "web"})
    assert "apiVersion" not in stored(HPA.from_dict(data)).to_dict()["spec"]["scaleTargetRef"]


def test_a_status_is_not_stored():
    """A status is output."""
    assert "status" not in stored(HPA.from_dict({**manifest(), "status": {"desiredReplicas": 5}})).to_dict()
