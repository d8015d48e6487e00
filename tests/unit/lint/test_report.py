"""The library's entry point: its input, its output, and its robustness."""

from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hypot.kinds.base import InvalidAutoscaler
from hypot.kinds.hpa import HPA
from hypot.kinds.hpa.fields import cpu as cpu_metric
from hypot.kinds.selector import Selector
from hypot.kinds.text.load import load
from hypot.lint import check
from hypot.lint.input.item import Key
from hypot.lint.input.world import worth_keeping
from unit.lint.lint_cases import (
    band,
    changed,
    checkpoint,
    container,
    hpa,
    hvpa,
    sized,
    thing,
    vpa,
    weighted,
    workload,
    wpa,
)

NO_CPU = workload("web", container(requests={}))
IGNORE = "hypot.dev/lint-ignore"
SLIPPED = sized({"minAllowed": {"cpu": "250"}, "maxAllowed": {"cpu": "1"}})


def rules(report):
    return [one.rule for one in report.findings]


def test_objects_may_be_authored_or_read():
    """An authored object is checked together with a manifest; without files there are no lines."""
    target = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"}
    authored = HPA(target, max_replicas=5, min_replicas=2, metrics=[cpu_metric(utilization=70)], namespace="shop")
    (found,) = check(authored, NO_CPU).findings
    assert (found.rule, found.file, found.line) == ("request-missing", "", None)
    assert found.object == "HorizontalPodAutoscaler shop/web"


def test_errors_are_raised_together():
    """One exception, in the same form as for authored objects."""
    report = check(hpa(minReplicas=1), hpa("b", minReplicas=20), NO_CPU)
    with pytest.raises(InvalidAutoscaler) as caught:
        report.raise_for_errors()
    assert [problem.rule for problem in caught.value.problems] == [one.rule for one in report.errors]
    assert "HorizontalPodAutoscaler shop/b spec.maxReplicas" in str(caught.value)


def test_advice_alone_raises_nothing():
    """Only errors raise."""
    report = check(hpa(minReplicas=1), workload())
    report.raise_for_errors()
    assert rules(report) == ["single-replica"]
    assert report.errors == ()


def test_rules_are_silenced_for_all_or_for_one():
    """By argument for all objects, by annotation for one; both are counted."""
    first, second = hpa("a", minReplicas=1, annotations={IGNORE: "single-replica"}), hpa("b", minReplicas=1)
    assert rules(check(first, second, ignore=["two-autoscalers", "target-not-given"])) == ["single-replica"]
    assert check(first, second, ignore=["two-autoscalers", "target-not-given"]).silenced == 5


def test_generated_autoscalers_get_no_advice():
    """The controller that made the object decides; errors are still reported."""
    owners = [{"apiVersion": "keda.sh/v1", "kind": "ScaledObject", "name": "web", "uid": "1", "controller": True}]
    assert rules(check(hpa(minReplicas=1, owners=owners), NO_CPU)) == ["request-missing"]


def test_findings_come_by_file_and_line(tmp_path):
    """The order of rules and files does not matter."""
    for name in ("b.yaml", "a.yaml"):
        (tmp_path / name).write_text(
            "apiVersion: autoscaling/v2\nkind: HorizontalPodAutoscaler\nmetadata:\n  name: web\nspec:\n"
            "  maxReplicas: 0\n  minReplica: 1\n  scaleTargetRef: {kind: Deployment, name: web}\n",
            encoding="utf-8",
        )
    places = [(one.file, one.line) for one in check(*load([str(tmp_path)])).findings]
    assert places == sorted(places)
    assert {line for _, line in places} >= {6, 7, 8}


def test_repeated_problem_is_reported_once():
    """The API server reports an unknown type twice."""
    report = check(hpa(metrics=[{"type": "Cpu"}]), workload())
    assert rules(report) == ["metric-type"]


@pytest.mark.parametrize(
    ("objects", "found"),
    [
        ([hpa(api_version="autoscaling/v1"), workload()], ["unknown-field"]),
        ([wpa(metrics=[band(lowWatermark=0.5)]), workload()], ["type"]),
        ([SLIPPED, workload(replicas=2)], ["allowed-range"]),
    ],
)
def test_consequences_of_a_mistake_are_left_out(objects, found):
    """A field of another version, a watermark that cannot be read, a unit that makes bounds exclude each other."""
    assert rules(check(*objects)) == found


def test_a_wrong_unit_that_makes_bounds_exclude_each_other():
    """The fix is the unit, not to swap the bounds."""
    (found,) = check(SLIPPED, workload(replicas=2)).findings
    assert (found.rule, found.severity, found.hint) == ("allowed-range", "error", "write the unit: 250m")
    assert found.message.endswith("which is 250; minAllowed 250 means 250 whole cores for each container")


def test_a_fraction_of_a_byte():
    """128m is an error of its own, and the fix is the unit too."""
    (found,) = check(sized({"minAllowed": {"memory": "128m"}}), workload(replicas=2)).findings
    assert (found.rule, found.hint) == ("whole-amount", "write the unit: 128Mi, or Gi")
    assert found.message.endswith("minAllowed 128m means 0.128 bytes for each container")


def test_unreadable_part_is_not_judged_further():
    """Metrics of the wrong type do not count as absent, which would mean cpu at 80 %."""
    assert rules(check(hpa(metrics="cpu"), NO_CPU)) == ["type"]


def test_workload_given_twice_is_not_judged():
    """It is unknown which of the two counts."""
    assert rules(check(hpa(), workload(), NO_CPU)) == ["duplicate-object"]


def test_what_is_skipped_while_reading():
    """Pods and metrics of a dump are skipped; anything that may be scaled stays."""
    passed = [
        ("v1", "Pod"),
        ("metrics.k8s.io/v1beta1", "PodMetrics"),
        ("v1", "Secret"),
        ("apps/v1", "ControllerRevision"),
    ]
    kept = [("apps/v1", "Deployment"), ("v1", "LimitRange"), ("argoproj.io/v1alpha1", "Rollout"), ("batch/v1", "Job")]
    assert not any(worth_keeping(*one) for one in passed)
    assert all(worth_keeping(*one) for one in kept)


ANYTHING = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-5, 5)
    | st.text("ab%-", max_size=3)
    | st.sampled_from(["50%", "1Gi", "Off"]),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text("ab", max_size=2), inner, max_size=2),
    max_leaves=4,
)
PLACES = [
    (hpa(metrics=None), ("metadata",)),
    (hpa(), ("metadata", "annotations")),
    (hpa(), ("metadata", "ownerReferences")),
    (hpa(), ("spec",)),
    (hpa(), ("spec", "metrics")),
    (hpa(), ("spec", "metrics", 0, "resource")),
    (hpa(), ("spec", "metrics", 0, "resource", "target")),
    (hpa(), ("spec", "behavior")),
    (wpa(), ("spec", "metrics")),
    (wpa(), ("spec", "tolerance")),
    (wpa(), ("spec", "metrics", 0, "external")),
    (workload(), ("spec", "template")),
    (workload(), ("spec", "selector")),
    (workload(), ("spec", "replicas")),
    (workload(), ("spec", "template", "spec")),
    (workload(), ("spec", "template", "spec", "containers", 0)),
    (workload(), ("spec", "template", "spec", "containers", 0, "resources")),
    (workload(), ("spec", "template", "metadata")),
    (thing("policy/v1", "PodDisruptionBudget", selector={}, minAvailable=2), ("spec",)),
    (thing("policy/v1", "PodDisruptionBudget", selector={}, minAvailable=2), ("spec", "minAvailable")),
    (thing("v1", "LimitRange", limits=[]), ("spec", "limits")),
    (thing("v1", "ResourceQuota", hard={"cpu": 1}), ("spec", "hard")),
    (thing("keda.sh/v1alpha1", "ScaledObject", scaleTargetRef={"name": "web"}), ("spec", "scaleTargetRef")),
    (vpa(), ("spec",)),
    (vpa(), ("spec", "targetRef")),
    (vpa(), ("spec", "updatePolicy")),
    (vpa(), ("spec", "updatePolicy", "updateMode")),
    (vpa(), ("spec", "resourcePolicy")),
    (sized({}), ("spec", "resourcePolicy", "containerPolicies")),
    (sized({}), ("spec", "resourcePolicy", "containerPolicies", 0)),
    (sized({}), ("spec", "resourcePolicy", "containerPolicies", 0, "maxAllowed")),
    (hvpa(), ("spec",)),
    (hvpa(), ("spec", "hpa")),
    (hvpa(), ("spec", "hpa", "template", "spec")),
    (hvpa(), ("spec", "hpa", "template", "spec", "metrics")),
    (hvpa(), ("spec", "vpa")),
    (hvpa(), ("spec", "vpa", "template")),
    (hvpa(), ("spec", "scaleUp")),
    (hvpa(), ("spec", "scalingIntervals")),
    (hvpa(), ("spec", "scalingIntervals", 0)),
    (weighted(), ("metadata",)),
    (weighted(), ("spec", "hpa")),
    (weighted(), ("spec", "vpa", "scaleUp")),
    (weighted(), ("spec", "vpa", "template", "spec", "resourcePolicy", "containerPolicies")),
    (weighted(), ("spec", "weightBasedScalingIntervals")),
    (weighted(), ("spec", "weightBasedScalingIntervals", 0)),
    (checkpoint(), ("spec",)),
    (checkpoint(), ("status",)),
]


@settings(max_examples=200, deadline=None)
@given(place=st.sampled_from(PLACES), value=ANYTHING)
def test_nothing_in_a_manifest_breaks_the_linter(place, value):
    """Any value anywhere is reported or ignored, never an exception."""
    manifest, path = place
    limits = thing("v1", "LimitRange", limits=[{"type": "Container", "max": {"cpu": "1"}}])
    beside = [hpa("beside"), vpa("beside"), hvpa("beside"), workload(), limits]
    beside += [thing("policy/v1", "PodDisruptionBudget", "all", selector={}, minAvailable=2)]
    report = check(changed(manifest, *path, to=value), *beside)
    assert report.objects >= len(beside)


def test_cost_grows_with_the_input_not_with_its_square(monkeypatch):
    """Equal labels, equal selectors and one target for all are the worst case."""
    many, asked = 500, Counter()
    for cls, name in ((Selector, "matches"), (Key, "__str__")):
        monkeypatch.setattr(cls, name, counted(getattr(cls, name), name, asked))
    objects = [hpa(f"w{i}", target={"name": f"w{i}"}) for i in range(many)]
    objects += [workload(f"w{i}", labels={"app": "shop"}) for i in range(many)]
    objects += [hpa(f"on-one-{i}", target={"name": "one"}) for i in range(many)]
    report = check(*objects)
    assert {"ambiguous-selector", "two-autoscalers"} <= set(rules(report))
    assert asked["matches"] < 10
    assert 0 < asked["__str__"] < 20 * many


def counted(function, name, asked):
    def wrapper(*arguments):
        asked[name] += 1
        return function(*arguments)

    return wrapper


def test_many_different_labels_are_distinguished_by_the_rarest(monkeypatch):
    """A label that all objects share does not make every selector a candidate."""
    many, asked = 500, Counter()
    monkeypatch.setattr(Selector, "matches", counted(Selector.matches, "matches", asked))
    objects = [hpa(f"w{i}", target={"name": f"w{i}"}) for i in range(many)]
    objects += [workload(f"w{i}", labels={"part": "shop", "app": f"w{i}"}) for i in range(many)]
    assert check(*objects).findings == ()
    assert asked["matches"] == many


OLD_TARGETS = [
    ("resource", {"name": "cpu", "targetAverageUtilization": 70}, "target.averageUtilization"),
    ("resource", {"name": "cpu", "targetAverageValue": "1"}, "target.averageValue"),
    ("pods", {"metric": {"name": "hits"}, "targetAverageValue": "1"}, "target.averageValue"),
    ("external", {"metric": {"name": "hits"}, "targetValue": "1"}, "target.value"),
    ("external", {"metricName": "hits", "target": {"type": "Value", "value": "1"}}, "metric.name"),
]


@pytest.mark.parametrize("version", ["autoscaling/v2beta2", "autoscaling/v2"])
@pytest.mark.parametrize(("kind", "source", "instead"), OLD_TARGETS)
def test_a_field_of_v2beta1_is_one_finding(version, kind, source, instead):
    """The target is not missing as well, and the fix says where it belongs."""
    scaler = hpa(api_version=version, metrics=[{"type": kind.capitalize(), kind: source}])
    (finding,) = check(scaler, workload(), kubernetes="1.25").errors
    assert finding.rule == "unknown-field"
    assert f"write it as {instead}" in finding.hint


def test_a_misspelt_field_is_not_missing_as_well():
    scaler = hpa(maxReplicas=None, maxReplica=10)
    (finding,) = check(scaler, workload()).errors
    assert (finding.rule, finding.hint) == ("unknown-field", "did you mean maxReplicas?")


def test_what_is_missing_besides_a_misspelt_field_is_reported():
    scaler = hpa(maxReplicas=None, minReplica=2)
    assert {finding.rule for finding in check(scaler, workload()).errors} == {"unknown-field", "max-replicas"}


@pytest.mark.parametrize(
    ("changes", "hint"),
    [
        ({"minReplicas": 22, "maxReplicas": 20}, "raise maxReplicas to 22 or more, or lower minReplicas to 20 or less"),
        ({"maxReplicas": 1e23}, "write a whole number from -2147483648 to 2147483647"),
        ({"maxReplicas": 1.5}, "write a whole number from -2147483648 to 2147483647"),
        ({"metrics": 3}, "write a list of MetricSpec instead of 3"),
    ],
)
def test_a_fix_says_what_to_write(changes, hint):
    hints = {finding.hint for finding in check(hpa(**changes), workload()).errors}
    assert hint.replace("MetricSpec", "Metric") in hints
