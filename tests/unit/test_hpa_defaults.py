"""What the API server fills in, and what it drops."""

import pytest

from hypot.kinds.hpa import HPA
from hypot.kinds.hpa_defaults import keeps_tolerance, stored, with_defaults
from hypot.kinds.hpa_parts import cpu, memory

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
    """Also an empty one; an empty list stays empty."""
    assert with_defaults(HPA.from_dict(manifest(behavior=behavior))).to_dict()["spec"]["behavior"] == expected


def test_no_behavior_stays_none():
    """It is another algorithm."""
    assert with_defaults(HPA.from_dict(manifest())).behavior is None


@pytest.mark.parametrize("metrics", [None, []])
def test_no_metric_becomes_cpu_at_80_percent(metrics):
    """Absent or empty."""
    assert with_defaults(HPA.from_dict(manifest(metrics=metrics))).metrics == (cpu(utilization=80),)


def test_a_complete_object_is_returned_as_it_is():
    """No copy without a change."""
    hpa = with_defaults(HPA.from_dict(with_up()))
    assert with_defaults(hpa) is hpa


@pytest.mark.parametrize(("version", "kept"), [((1, 34), None), ((1, 35), "0.05")])
def test_a_server_without_the_gate_drops_tolerances(version, kept):
    """Without a word."""
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
    """Even behind a closed gate."""
    assert keeps_tolerance(old and HPA.from_dict(old), version) is kept


@pytest.mark.parametrize(
    ("amount", "canonical"),
    [("0.05", "50m"), (47.2, "47200m"), (25, "25"), ("1000m", "1"), ("1.5Gi", "1536Mi"), ("1e3", "1e3")],
)
def test_quantities_are_stored_in_their_canonical_form(amount, canonical):
    """As kubectl shows them."""
    hpa = stored(HPA("deployment/web", max_replicas=3, metrics=[memory(average=amount)]))
    assert hpa.metrics == (memory(average=canonical),)


def test_a_status_is_not_stored():
    """It is output."""
    assert "status" not in stored(HPA.from_dict({**manifest(), "status": {"desiredReplicas": 5}})).to_dict()
