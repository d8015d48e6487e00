"""The rules for Hvpas: what each refuses, and similar manifests that are fine."""

import pytest

from hypot.core.axes.interval import replicas_for
from hypot.kinds.hpa.fields import cpu
from hypot.kinds.hvpa import Hvpa
from hypot.kinds.hvpa.intervals import intervals_of
from unit.policy.hvpa.hvpa_cases import INTERVALS, at, found, hpa, manifest, noted, policy, seed, sized, vpa

GOOD = {
    "a last interval bounded by the hpa block": sized((2, 1, "1Gi"), (None, 2, "2Gi"), hpa=hpa(maxReplicas=4)),
    "sizes from maxAllowed": sized((2, 1), (4, 2), vpa=vpa(policy(high={"memory": "4Gi"}))),
    "sizes of what is controlled": sized((2, 1), (4, 2), vpa=vpa(policy(controlledResources=["cpu"]))),
    "sizes of nobody": sized((2, 1), (4, 2), vpa=vpa(policy(mode="Off"))),
    "horizontalOnly at the current size": sized((5, None, None, "horizontalOnly")),
    "horizontalOnly above a size": sized((2, 1, "1Gi"), (8, 1, None, "horizontalOnly")),
    "a sidecar that stays small": sized(
        (2, 1, "1Gi"), (4, 2, "2Gi"), vpa=vpa(policy("app"), policy("proxy", high={"cpu": "100m", "memory": "64Mi"}))
    ),
    "fewer millicores a pod, more in total": sized((2, "1", "1Gi"), (4, "600m", "1Gi")),
    "linear": sized((1, 5, "5Gi"), (5, 20, "20Gi", "linear")),
    "linearPerPod": sized((1, 5, "5Gi"), (5, 20, "20Gi", "linearPerPod")),
    "an overlap that no border has": at(["scalingIntervalsOverlap", "cpu", "value"], "499m"),
    "a wide overlap above horizontalOnly": sized(
        (1, 1, "1Gi"), (9, 1, "1Gi", "horizontalOnly"), scalingIntervalsOverlap={"cpu": {"value": 5}}
    ),
    "a window": seed(
        scaleDown={"updatePolicy": {"updateMode": "MaintenanceWindow"}},
        maintenanceTimeWindow={"begin": "220000+0100", "end": "010000+0100"},
    ),
    "selectors that match": seed(
        hpa={**hpa(labels={"a": "b"}), "selector": {"matchExpressions": [{"key": "a", "operator": "Exists"}]}}
    ),
    "own": noted(recommendations="own"),
    "objects": noted(recommendations="objects"),
}


@pytest.mark.parametrize("name", GOOD)
def test_what_is_fine(name):
    """These are similar to what is refused."""
    assert found(GOOD[name]) == []


HPA_SPEC, VPA_SPEC = "spec.hpa.template.spec", "spec.vpa.template.spec"
CONTAINER = f"{VPA_SPEC}.resourcePolicy.containerPolicies[0]"
FIRST, SECOND, LIST = "spec.scalingIntervals[0]", "spec.scalingIntervals[1]", "spec.scalingIntervals"
WEIGHTED = "spec.weightBasedScalingIntervals"

BAD = {
    "no target": (
        seed(targetRef={}),
        {("reference-kind", "spec.targetRef.kind"), ("reference-name", "spec.targetRef.name")},
    ),
    "a strange version": (
        at(["targetRef", "apiVersion"], "a/b/c"),
        {("reference-version", "spec.targetRef.apiVersion")},
    ),
    "negative replicas": (seed(replicas=-1), {("not-negative", "spec.replicas")}),
    "minReplicas 0": (seed(hpa=hpa(minReplicas=0)), {("min-replicas", f"{HPA_SPEC}.minReplicas")}),
    "maxReplicas 0": (seed(hpa=hpa(maxReplicas=0)), {("max-replicas", f"{HPA_SPEC}.maxReplicas")}),
    "min over max": (
        sized((5, 1, "1Gi"), hpa=hpa(minReplicas=3, maxReplicas=2)),
        {("min-over-max", f"{HPA_SPEC}.maxReplicas")},
    ),
    "a metric without its block": (
        seed(hpa=hpa(metrics=[{"type": "Resource"}])),
        {("metric-source", f"{HPA_SPEC}.metrics[0].resource")},
    ),
    "too many metrics": (
        seed(hpa=hpa(metrics=[cpu(utilization=50).write()] * 16)),
        {("metric-count", f"{HPA_SPEC}.metrics")},
    ),
    "an invalid pace": (
        seed(hpa=hpa(behavior={"scaleUp": {"selectPolicy": "Median"}})),
        {("select-policy", f"{HPA_SPEC}.behavior.scaleUp.selectPolicy")},
    ),
    "min above max allowed": (
        seed(vpa=vpa(policy(low={"memory": "40Gi"}, high={"memory": "39Gi"}))),
        {("allowed-range", f"{CONTAINER}.maxAllowed.memory")}
        | {("interval-bounds", f"{LIST}[{i}].maxResources.memory") for i in range(5)},
    ),
    "an update policy without a mode": (
        seed(vpa={"deploy": True, "template": {"spec": {"updatePolicy": {}}}}),
        {("update-mode", f"{VPA_SPEC}.updatePolicy.updateMode")},
    ),
    "an owner of its own": (
        seed(hpa={"deploy": True, "template": {"metadata": {"ownerReferences": [{"name": "a"}]}}}),
        {("owner-references", "spec.hpa.template.metadata.ownerReferences")},
    ),
    "invalid labels": (
        seed(hpa=hpa(labels={"a": "b c"})),
        {("labels", "spec.hpa.template.metadata.labels")},
    ),
    "a selector of others": (
        seed(hpa={**hpa(labels={"a": "b"}), "selector": {"matchLabels": {"a": "c"}}}),
        {("selector", "spec.hpa.template.metadata.labels")},
    ),
    "a selector that cannot be read": (
        seed(vpa={"deploy": True, "selector": {"matchExpressions": [{"key": "a", "operator": "Gt"}]}}),
        {("selector", "spec.vpa.selector")},
    ),
    "an unknown key in a selector": (
        seed(vpa={"deploy": True, "selector": {"matchLabel": {}}}),
        {("unknown-field", "spec.vpa.selector.matchLabel")},
    ),
    "an unknown mode": (
        at(["scaleUp", "updatePolicy", "updateMode"], "ScaleUp"),
        {("update-mode", "spec.scaleUp.updatePolicy.updateMode")},
    ),
    "an unknown mode of the released form": (
        at(["vpa", "scaleDown", "updatePolicy", "updateMode"], "On"),
        {("update-mode", "spec.vpa.scaleDown.updatePolicy.updateMode")},
    ),
    "an invalid duration": (
        at(["scaleUp", "stabilizationDuration"], "3 minutes"),
        {("stabilization", "spec.scaleUp.stabilizationDuration")},
    ),
    "a negative duration": (
        at(["hpa", "scaleDown", "stabilizationDuration"], "-3m"),
        {("stabilization", "spec.hpa.scaleDown.stabilizationDuration")},
    ),
    "an invalid change": (
        at(["scaleUp", "minChange", "cpu", "value"], "much"),
        {("quantity", "spec.scaleUp.minChange.cpu.value")},
    ),
    "a negative change": (
        at(["scaleDown", "minChange", "memory", "value"], "-1Gi"),
        {("quantity", "spec.scaleDown.minChange.memory.value")},
    ),
    "a negative base": (
        at(["baseResourcesPerReplica", "cpu", "value"], -1),
        {("quantity", "spec.baseResourcesPerReplica.cpu.value")},
    ),
    "a negative percentage": (
        at(["limitsRequestsGapScaleParams", "cpu", "percentage"], -1),
        {("percentage", "spec.limitsRequestsGapScaleParams.cpu.percentage")},
    ),
    "an overlap of more than all": (
        at(["scalingIntervalsOverlap", "cpu", "percentage"], 101),
        {("percentage", "spec.scalingIntervalsOverlap.cpu.percentage")},
    ),
    "an overlap wider than an interval": (
        at(["scalingIntervalsOverlap", "cpu", "value"], "500m"),
        {("overlap", "spec.scalingIntervalsOverlap.cpu.value")},
    ),
    "an overlap wider than a part of an interval": (
        sized((10, 1, "1Gi"), scalingIntervalsOverlap={"cpu": {"value": 2}}),
        {("overlap", "spec.scalingIntervalsOverlap.cpu.value")},
    ),
    "another resource in a map": (
        at(["scalingIntervalsOverlap", "storage"], {"percentage": 3}),
        {("unknown-field", "spec.scalingIntervalsOverlap.storage")},
    ),
    "another resource in a size": (
        at(["scalingIntervals", 0, "maxResources", "storage"], "3Gi"),
        {("interval-resource", f"{FIRST}.maxResources.storage")},
    ),
    "a window that cannot be read": (
        seed(maintenanceTimeWindow={"begin": "22:00", "end": "230000+0100"}),
        {("maintenance-window", "spec.maintenanceTimeWindow.begin")},
    ),
    "half a window": (
        seed(maintenanceTimeWindow={"begin": "220000+0100"}),
        {("maintenance-window", "spec.maintenanceTimeWindow.end")},
    ),
    "a mode without its window": (
        at(["scaleUp", "updatePolicy", "updateMode"], "MaintenanceWindow"),
        {("maintenance-window", "spec.maintenanceTimeWindow")},
    ),
    "no intervals": (manifest(), {("scaling-intervals", LIST)}),
    "an empty list of intervals": (manifest(scalingIntervals=[]), {("scaling-intervals", LIST)}),
    "too many intervals": (
        sized(*[(count, count, f"{count}Gi") for count in range(1, 52)]),
        {("scaling-intervals", LIST)},
    ),
    "a gap in the counts": (
        sized((None, 1, "1Gi"), (2, 2, "2Gi")),
        {("interval-replicas", f"{FIRST}.maxReplicas")},
    ),
    "an end that nobody names": (
        sized((2, 1, "1Gi"), (None, 2, "2Gi")),
        {("interval-replicas", f"{SECOND}.maxReplicas")},
    ),
    "a repeated count": (
        sized((2, 1, "1Gi"), (2, 2, "2Gi")),
        {("interval-replicas", f"{SECOND}.maxReplicas")},
    ),
    "counts that fall": (
        sized((3, 1, "1Gi"), (2, 2, "2Gi")),
        {("interval-replicas", f"{SECOND}.maxReplicas")},
    ),
    "an end at the interval before it": (
        sized((3, 1, "1Gi"), (None, 2, "2Gi"), hpa=hpa(maxReplicas=3)),
        {("interval-replicas", f"{SECOND}.maxReplicas")},
    ),
    "zero replicas": (sized((0, 1, "1Gi")), {("interval-replicas", f"{FIRST}.maxReplicas")}),
    "more replicas than anybody has": (sized((2**31 - 1, 1, "1Gi")), {("interval-replicas", f"{FIRST}.maxReplicas")}),
    "a first interval below minReplicas": (
        sized((1, 1, "1Gi"), (4, 2, "2Gi"), hpa=hpa(minReplicas=2)),
        {("interval-replicas", f"{FIRST}.maxReplicas")},
    ),
    "totals that fall": (
        sized((2, "1", "1Gi"), (4, "400m", "1Gi")),
        {("interval-total", f"{SECOND}.maxResources.cpu")},
    ),
    "totals that stand": (
        sized((2, "1", "1Gi"), (4, "500m", "512Mi")),
        {("interval-total", f"{SECOND}.maxResources.{name}") for name in ("cpu", "memory")},
    ),
    "a total by maxAllowed that falls": (
        sized(
            (2, 8, "1Gi"), (4, None, "1Gi"), vpa=vpa(policy("a"), policy("b", high={"cpu": 1}), policy(high={"cpu": 9}))
        ),
        {("interval-size", f"{SECOND}.maxResources.cpu")},
    ),
    "a total by one container's maxAllowed that falls": (
        sized((2, 8, "1Gi"), (4, None, "1Gi"), vpa=vpa(policy("b", high={"cpu": 3}), policy(high={"cpu": 9}))),
        {("interval-total", SECOND)},
    ),
    "a size that nobody gives": (
        sized((2, 1, "1Gi"), (4, 2)),
        {("interval-size", f"{SECOND}.maxResources.memory")},
    ),
    "no size at all": (sized((4,)), {("interval-size", f"{FIRST}.maxResources.{name}") for name in ("cpu", "memory")}),
    "a size of nothing": (sized((2, 0, "1Gi")), {("interval-size", f"{FIRST}.maxResources.cpu")}),
    "an invalid size": (sized((2, "one", "1Gi")), {("quantity", f"{FIRST}.maxResources.cpu")}),
    "half a byte": (sized((2, 1, "500m")), {("whole-amount", f"{FIRST}.maxResources.memory")}),
    "a size below minAllowed": (
        sized((2, 1, "1Gi"), vpa=vpa(policy("a"), policy("b", low={"cpu": 2}))),
        {("interval-bounds", f"{FIRST}.maxResources.cpu")},
    ),
    "a size above maxAllowed": (
        sized((2, 1, "1Gi"), vpa=vpa(policy("a", high={"cpu": "900m"}), policy("b", high={"cpu": "800m"}))),
        {("interval-bounds", f"{FIRST}.maxResources.cpu")},
    ),
    "an unknown extrapolation": (
        sized((2, 1, "1Gi", "logarithmic")),
        {("extrapolation", f"{FIRST}.effectiveIntervalExtrapolation")},
    ),
    "weights beside intervals": (
        seed(weightBasedScalingIntervals=[{"vpaWeight": 50}]),
        {("weights-and-intervals", WEIGHTED)},
    ),
    "a weight above all": (
        manifest(weightBasedScalingIntervals=[{"vpaWeight": 101}]),
        {("weight", f"{WEIGHTED}[0].vpaWeight")},
    ),
    "a negative count of weights": (
        manifest(weightBasedScalingIntervals=[{"vpaWeight": 0, "startReplicaCount": -1}]),
        {("weight", f"{WEIGHTED}[0].startReplicaCount")},
    ),
    "weights in the wrong order": (
        manifest(weightBasedScalingIntervals=[{"startReplicaCount": 4, "lastReplicaCount": 3}]),
        {("weight", f"{WEIGHTED}[0].lastReplicaCount")},
    ),
    "weights beyond maxReplicas": (
        manifest(hpa=hpa(maxReplicas=3), weightBasedScalingIntervals=[{"startReplicaCount": 4}]),
        {("weight", f"{WEIGHTED}[0].lastReplicaCount")},
    ),
    "too many weights": (manifest(weightBasedScalingIntervals=[{}] * 51), {("weight", WEIGHTED)}),
    "a weight of the first drafts": (
        manifest(weightBasedScalingIntervals=[{"vpaWeight": 0.6}]),
        {("type", f"{WEIGHTED}[0].vpaWeight")},
    ),
    "recommendations of others": (
        noted(recommendations="theirs"),
        {("recommendations", "metadata.annotations.hypot.dev/recommendations")},
    ),
    "an invalid knob": (
        seed(vpa={"deploy": True, "template": {"metadata": {"annotations": {"hypot.dev/cpu-half-life": "soon"}}}}),
        {("knob", "spec.vpa.template.metadata.annotations.hypot.dev/cpu-half-life")},
    ),
    "the unreleased spelling of intervals": (
        manifest(INTERVALS.replace("scalingIntervals", "scaleIntervals")),
        {("unknown-field", "spec.scaleIntervals"), ("scaling-intervals", LIST)},
    ),
}


@pytest.mark.parametrize("name", BAD)
def test_what_is_refused(name):
    """Each rule reports its problem and nothing else, with a message and a path."""
    data, expected = BAD[name]
    assert set(found(data)) == expected
    for problem in Hvpa.from_dict(data).problems():
        assert problem.message
        assert problem.path


def test_a_missing_window_is_reported_once():
    """However many directions wait for it."""
    waits = {"updatePolicy": {"updateMode": "MaintenanceWindow"}}
    assert found(seed(scaleUp=waits, scaleDown=waits)) == [("maintenance-window", "spec.maintenanceTimeWindow")]


def test_the_last_interval_and_the_hpa_may_differ():
    """The interval counts; an HPA that is not deployed is ignored."""
    template = hpa(maxReplicas=9)
    assert found(seed(hpa=template), "warning") == [("last-interval", "spec.scalingIntervals[4].maxReplicas")]
    assert found(seed(hpa={**template, "deploy": False}), "warning") == []


OVERLAP, BASE = "spec.scalingIntervalsOverlap.cpu.percentage", "spec.baseResourcesPerReplica.cpu"
ALL = {"scalingIntervalsOverlap": {"cpu": {"percentage": 100}}}
TWO_SIZES = [(1, 1, "1Gi"), (3, 2, "2Gi")]


def based(**cpu_change):
    return sized(*TWO_SIZES, baseResourcesPerReplica={"cpu": cpu_change})


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (sized(*TWO_SIZES, **ALL), [("overlap-of-all", OVERLAP)]),
        (sized(*TWO_SIZES, scalingIntervalsOverlap={"cpu": {"percentage": 99}}), []),
        (sized(*TWO_SIZES, **ALL, vpa=vpa(policy(low={"cpu": "50m"}))), []),
        (
            sized(*TWO_SIZES, **ALL, vpa=vpa(policy("a", low={"cpu": "50m"}), policy("b"))),
            [("overlap-of-all", OVERLAP)],
        ),
        (sized(*TWO_SIZES, **ALL, vpa=vpa(policy(controlledResources=["memory"]))), []),
        (sized((1, 1, "1Gi"), (9, 1, "1Gi", "horizontalOnly"), **ALL), []),
        (sized((1, 1, "1Gi"), **ALL), []),
        (based(value="999m"), []),
        (based(value=1), [("base-load", f"{BASE}.value")]),
        (based(value=3), [("base-load", f"{BASE}.value")]),
        (based(percentage=99), []),
        (based(percentage=100), [("base-load", f"{BASE}.percentage")]),
        (based(value=3, percentage=100), [("base-load", f"{BASE}.percentage")]),
    ],
)
def test_overlaps_and_base_loads_of_everything(data, expected):
    """They are accepted, because such objects may be stored, and have no effect or keep every replica."""
    assert (found(data, "warning"), found(data)) == (expected, [])


def test_with_an_overlap_of_all_only_minimums_remove_replicas():
    """That is what the warning says."""
    free, least = (Hvpa.from_dict(sized(*TWO_SIZES, **ALL, vpa=vpa(policy(low=low)))) for low in (None, {"cpu": "50m"}))
    assert replicas_for(intervals_of(free, "app", "cpu"), 1, 3) == 3
    assert replicas_for(intervals_of(least, "app", "cpu"), 149, 3) == 1


def test_the_hint_for_a_size_that_nobody_gives():
    """It names what to write."""
    (problem,) = Hvpa.from_dict(sized((2, 1, "1Gi"), (4, 2))).problems()
    assert problem.hint == (
        "write a size of memory in every interval, or controlledResources without memory in the container policies"
    )
