"""Effective scaling intervals: the proposal's tables, its workbook, and the redesign's own fixture."""

import pytest

from conformance.harness import each_case
from conformance.hvpa.cases import UNITS, changes, division, intervals, sizes
from hypot.core.axes.interval import Given, effective, interval_of
from hypot.kinds.hvpa import Hvpa
from hypot.kinds.hvpa.intervals import intervals_of

# Sizes without a unit have up to four decimals.
FINE = 10_000


@each_case("hvpa_intervals.json")
def test_hvpa_intervals(case):
    """Written intervals become one effective interval for each replica count."""
    given, expect = case["given"], case["expect"]
    if "unit" in given or "from" in given:
        check_unitless(given, expect)
        return
    hvpa = Hvpa.from_dict(manifest(given))
    errors = [problem for problem in hvpa.problems() if problem.severity == "error"]
    assert bool(errors) is (expect.get("error", False) or not expect.get("valid", True))
    if not errors:
        check_intervals(hvpa, expect)


def check_unitless(given, expect):
    written = given.get("scaling_intervals") or [
        {**given[end], "max_replicas": given[end]["replicas"]} for end in ("from", "to")
    ]
    rows = [Given(row["max_replicas"], row["max_per_pod"] * FINE, division(given)) for row in written]
    made = effective(rows, 1, 0, 0, given.get("overlap_percentage", 0))
    for row in expect.get("intervals") or expect["max_per_pod"]:
        total = interval_of(made, row["replicas"]).high / FINE
        assert total / row["replicas"] == pytest.approx(row.get("max_per_pod", row.get("value")))
        assert total == pytest.approx(row.get("max_total", total))


def manifest(given):
    written = intervals(given)
    used = sorted({resource for one in written for resource in one["maxResources"]} or {"cpu"})
    bounds = {
        "minAllowed": sizes(given.get("min_allowed_per_pod")),
        "maxAllowed": sizes(given.get("max_allowed_per_pod")),
    }
    policy = {"containerName": "*", "controlledResources": used, **{key: each for key, each in bounds.items() if each}}
    spec = {
        "targetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"},
        "hpa": {"deploy": True, "template": {"spec": {"minReplicas": given.get("hpa_min_replicas", 1)}}},
        "vpa": {"deploy": True, "template": {"spec": {"resourcePolicy": {"containerPolicies": [policy]}}}},
        "scalingIntervals": written,
        "scalingIntervalsOverlap": changes(given.get("overlap")),
    }
    return {"metadata": {"name": "web"}, "spec": spec}


def check_intervals(hvpa, expect):
    made = {resource: intervals_of(hvpa, "app", resource) for resource in ("cpu", "memory")}
    for row in expect.get("effective_intervals", ()):
        check_row(made, row)
    for row in expect.get("max_totals", ()):
        for unit in sorted(UNITS.keys() & row.keys()):
            resource, factor = UNITS[unit]
            assert interval_of(made[resource], row["replicas"]).high == row[unit] * factor
    for unit, value in expect.get("per_pod_pinned", {}).items():
        resource, factor = UNITS[unit]
        assert {one.pinned for one in made[resource]} == {value * factor}
    if "max_cpu_cores_per_pod" in expect:
        last = made["cpu"][-1]
        assert last.high == expect["max_cpu_cores_per_pod"] * 1000 * last.replicas


def check_row(made, row):
    count = row["replicas"]
    for unit, (resource, factor) in UNITS.items():
        one = interval_of(made[resource], count)
        for word, total in (("min", one and one.low), ("max", one and one.high)):
            for key, pods in ((f"{word}_total_{unit}", 1), (f"{word}_{unit}_per_pod", count)):
                if key in row:
                    assert total / pods / factor == pytest.approx(row[key], rel=1e-5), key
