"""Hvpa decisions: the cases of the redesign and the released controller, the proposals' examples, and the rules."""

import pytest

from builders import hvpa_decided
from conformance.harness import each_case
from conformance.hvpa.cases import amounts, changes, intervals, milli, size_advice, sizes
from hypot.core import timeofday
from hypot.core.interval import per_pod, replicas_for
from hypot.kinds.hvpa import Hvpa
from hypot.kinds.hvpa.fields import MaintenanceWindow, MinChange
from hypot.kinds.hvpa.intervals import intervals_of, share_of
from hypot.kinds.hvpa.weights import Weight
from hypot.policy.hvpa.gates import change_gate, direction_of, threshold, time_gate
from hypot.policy.hvpa.hvpa import paradox_gate, recommend
from hypot.policy.hvpa.proposal import Total
from hypot.policy.hvpa.resolve import ContainerNeed, sized, vote_of
from hypot.policy.model.current_size import CurrentSize
from hypot.policy.model.seen import Container, CountAdvice, Ended, Failure, Pod, Scale, Seen
from hypot.policy.model.settings import Settings
from hypot.policy.model.size import Size
from hypot.policy.model.state import State
from hypot.replay.policies.weights import Blend, Direction, Situation, blended, plain_blend, released

NOW = 1_800_000_000.0
GIB = 2**30
# No change is too small.
ANY_CHANGE = {"minChange": {"cpu": {"value": 0}, "memory": {"value": 0}}}
UTILIZATION = {
    "type": "Resource",
    "resource": {"name": "cpu", "target": {"type": "Utilization", "averageUtilization": 100}},
}


@each_case("hvpa_scaling.json")
def test_hvpa_scaling(case):
    """Each case starts at the stage that it describes."""
    given, expect = case["given"], case["expect"]
    check = CHECKS.get(given["function"])
    if check is None:
        pytest.fail(f"unknown function {given['function']}")
    check(given, expect)


def manifest(spec, *, objects=False):
    """An Hvpa with these fields; everything else is the minimum of a valid manifest."""
    annotations = {"annotations": {"hypot.dev/recommendations": "objects"}} if objects else {}
    usual = {
        "targetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"},
        "scalingIntervals": [{"maxReplicas": 9, "maxResources": {"cpu": 9, "memory": "9Gi"}}],
    }
    return Hvpa.from_dict({"metadata": {"name": "web", **annotations}, "spec": {**usual, **spec}})


def scale_type(given):
    made = {"updatePolicy": {"updateMode": given["update_mode"]}, "minChange": changes(given.get("min_change"))}
    seconds = given.get("stabilization_seconds")
    return {**made, "stabilizationDuration": f"{seconds}s"} if seconds is not None else made


def window(given):
    if given is None:
        return None
    ends = {word: int(NOW % 86400) + given[f"{word}_offset_hours_from_now"] * 3600 for word in ("begin", "end")}
    return {word: timeofday.format(second) for word, second in ends.items()}


def policy(container):
    bounds = {"minAllowed": sizes(container.get("min_allowed")), "maxAllowed": sizes(container.get("max_allowed"))}
    written = {"containerName": container["name"], "mode": container.get("scaling_mode")}
    return {**{key: value for key, value in written.items() if value}, **{k: v for k, v in bounds.items() if v}}


def gap(given, replicas):
    """A value per pod, multiplied by the replicas; the manifest's value is for all pods together."""
    made = changes(given.get("limits_requests_gap"))
    if given.get("compat", {}).get("limits_gap_scope") == "per_pod":
        for one in made.values():
            if "value" in one:
                whole = int(str(one["value"]).removesuffix("m")) * replicas
                one["value"] = f"{whole}m" if str(one["value"]).endswith("m") else whole
    return made


def redesigned(given, replicas):
    """The manifest of one of the redesign's cases."""
    counts = given.get("hpa_template") or {}
    bounds = {"minReplicas": counts.get("min_replicas"), "maxReplicas": counts.get("max_replicas")}
    hpa = {"metrics": [UTILIZATION], **{key: value for key, value in bounds.items() if value is not None}}
    spec = {
        "hpa": {"deploy": given["hpa"]["deployed_status_present"], "template": {"spec": hpa}},
        "vpa": {
            "deploy": True,
            "template": {"spec": {"resourcePolicy": {"containerPolicies": [policy(c) for c in given["containers"]]}}},
        },
        "scaleUp": scale_type(given["scale_up"]),
        "scaleDown": scale_type(given["scale_down"]),
        "scalingIntervals": intervals(given),
        "scalingIntervalsOverlap": changes(given["scaling_intervals_overlap"]),
        "baseResourcesPerReplica": changes(given.get("base_resources_per_replica")),
        "limitsRequestsGapScaleParams": gap(given, replicas),
        "maintenanceTimeWindow": window(given.get("maintenance_window")),
    }
    return manifest({key: value for key, value in spec.items() if value}, objects=True)


def observed(given):
    replicas, desired = given["current_replicas"], given["hpa"]["desired_replicas"]
    killed = Ended("OOMKilled", NOW - 60, NOW - 30) if given.get("override_scale_up_stabilization") else None
    containers = tuple(
        Container(c["name"], milli(c["current_requests"]), milli(c.get("current_limits")), ended=killed)
        for c in given["containers"]
    )
    return Seen(
        NOW,
        Scale(replicas, replicas, "app=web"),
        tuple(Pod(f"web-{i}", containers=containers) for i in range(replicas)),
        size_advice=size_advice(given),
        count_advice=None if desired is None else CountAdvice(desired, replicas, "the status of an HPA"),
    )


def whole_decision(given, expect):
    """One round, from a manifest and a workload."""
    hvpa = redesigned(given, expect.get("desired_replicas", 1))
    assert not [problem for problem in hvpa.problems() if problem.severity == "error"]
    ago = given.get("seconds_since_last_scaling")
    decision, _ = hvpa_decided(hvpa, observed(given), State(last_scale=None if ago is None else NOW - ago), Settings())
    assert bool(decision.error) is expect.get("error", False)
    if "error" in expect:
        assert not decision.moves
        return
    assert decision.desired == expect["desired_replicas"]
    assert [one["reason"] for one in decision.reported["lastBlockedScaling"]] == expect["blocked_reasons"]
    size = decision.desired_sizes[0]
    if "new_requests" in expect:
        assert size.requests == amounts(expect["new_requests"])
    if expect.get("new_limits") is not None:
        assert size.limits == amounts(expect["new_limits"])
    if not expect["resources_changed"]:
        assert not decision.resizes


def need_of(totals, requests, replicas, limits=None):
    """The needs of a container called app with these requests."""
    having = {resource: amount * replicas for resource, amount in requests.items()}
    own = CurrentSize("app", requests, limits or {}, {"cpu": 0, "memory": 0, **having})
    asked = {resource: Total(amount, "vpa") for resource, amount in totals.items()}
    return ContainerNeed(own, asked, tuple(asked.items()), totals, direction_of(own.totals, totals))


def by_the_proposal(given, expect):
    """One look-up, or a row for each of many totals, where no change is too small."""
    hvpa = manifest({"scalingIntervals": intervals(given), "scaleUp": ANY_CHANGE, "scaleDown": ANY_CHANGE})
    if "total_recommendation" not in given:
        assert_ramp(hvpa, given, expect["rows_total_replicas_per_pod_action"])
        return
    asked = given["total_recommendation"]
    totals = {"cpu": asked["cpu_millicores"], "memory": asked["memory_gib"] * GIB}
    found = {resource: replicas_for(intervals_of(hvpa, "app", resource), totals[resource], 1) for resource in totals}
    assert found == expect["desired_replicas_by_resource"]
    assert vote_of(hvpa, need_of(totals, {"cpu": 100, "memory": GIB}, 1), 1).replicas == expect["desired_replicas"]


def assert_ramp(hvpa, given, rows):
    resource, replicas = given["resource"], given["start"]["replicas"]
    unit, grain = (1, 1) if resource == "cpu" else (GIB, 1000)
    size = given["start"]["per_pod"] * unit
    for total, row in zip(given["total_recommendations"], rows, strict=True):
        need = need_of({resource: total * unit}, {resource: size}, replicas)
        voted = vote_of(hvpa, need, replicas).replicas
        action = "postponed"
        if not paradox_gate(hvpa, need, replicas, voted).reason:
            made = sized(hvpa, need, replicas, voted).size.requests[resource]
            action = "horizontal_in" if voted < replicas else "vertical_down" if made < size else "none"
            replicas, size = voted, made
        assert (total, replicas, action) == (row[0], row[1], row[3])
        exact = row[2] * unit
        assert exact - 0.01 <= size < exact + grain * 1.01 + unit * 1e-6


def total_of_each_source(given, expect):
    replicas, request = given["current_replicas"], given["current_request_cpu_millicores"]
    case = {
        "current_replicas": replicas,
        "hpa": {"desired_replicas": given["hpa_desired_replicas"]},
        "containers": [
            {
                "name": "app",
                "current_requests": {"cpu_millicores": request},
                "vpa_target": {"cpu_millicores": given["vpa_target_cpu_millicores"]},
            }
        ],
    }
    hvpa = manifest({"hpa": {"deploy": True, "template": {"spec": {"metrics": [UTILIZATION]}}}}, objects=True)
    looks = []
    hvpa_decided(hvpa, observed(case), State(), Settings(), [looks.append])
    proposals = recommend(looks[0])
    found = {proposal.source: proposal.totals["app", "cpu"] for proposal in proposals}
    assert found == {"hpa": expect["hpa_total_cpu_millicores"], "vpa": expect["vpa_total_cpu_millicores"]}


def base_resources(given, expect):
    numerator, denominator = per_pod(
        given["total_recommendation"],
        given["current_request_per_replica"],
        given["current_replicas"],
        given["desired_replicas"],
        given["base_value"] or 0,
        given["base_percentage"] or 0,
    )
    assert numerator / denominator == expect["adjusted_per_replica"]


def smallest_change(given, expect):
    resource = given["resource"]
    unit = "m" if resource == "cpu" else ""
    written = {"value": f"{given['value']}{unit}" if given["value"] is not None else None}
    share = {"percentage": given["percentage"], **written}
    own = {resource: {key: value for key, value in share.items() if value is not None}}
    hvpa = manifest({"scaleUp": {"minChange": own}})
    assert threshold(hvpa, "up", resource, given["current_total"]) == expect["threshold"]


def gates(given, expect):
    if given.get("question") == "direction":
        deltas = {"cpu": given["cpu_total_delta_millicores"], "memory": given["memory_total_delta_bytes"]}
        now = {"cpu": 1000, "memory": GIB}
        assert direction_of(now, {r: now[r] + delta for r, delta in deltas.items()}) == expect["direction"]
        return
    direction = given["direction"]
    seconds = given.get(f"scale_{direction}_stabilization_seconds", 0)
    least = {"cpu": given.get("cpu_threshold_millicores"), "memory": given.get("memory_threshold_bytes")}
    scale = {
        "updatePolicy": {"updateMode": given[f"scale_{direction}_mode"]},
        "stabilizationDuration": f"{seconds}s",
        "minChange": {r: {"value": f"{v}m" if r == "cpu" else v} for r, v in least.items() if v is not None},
    }
    spec = {f"scale{direction.capitalize()}": scale}
    if "now_inside_window" in given:
        hours = (-1, 1) if given["now_inside_window"] else (3, 4)
        message = ("begin_offset_hours_from_now", "end_offset_hours_from_now")
        spec["maintenanceTimeWindow"] = window(dict(zip(message, hours, strict=True)))
    hvpa = manifest(spec)
    errors = [problem for problem in hvpa.problems() if problem.severity == "error"]
    assert bool(errors) is expect.get("error", False)
    if not errors:
        assert (first_gate(hvpa, given, direction) or None) == expect["blocked_reason"]


def first_gate(hvpa, given, direction):
    ago, urgent = given.get("seconds_since_last_scaling"), given.get("override", False)
    gate = time_gate(hvpa, direction, None if ago is None else NOW - ago, NOW, urgent=urgent)
    if gate.reason or (urgent and direction == "up"):
        return gate.reason
    if "cpu_delta_millicores" not in given:
        return "" if given.get("change_exceeds_min_change", True) else "MinChange"
    deltas = {"cpu": given["cpu_delta_millicores"], "memory": given["memory_delta_bytes"]}
    return change_gate(hvpa, direction, {"cpu": 0, "memory": 0}, deltas).reason


def limits(given, expect):
    share = {"percentage": given["gap_percentage"], "value": given["gap_value"] and f"{given['gap_value']}m"}
    own = {key: value for key, value in share.items() if value is not None}
    hvpa = manifest({"limitsRequestsGapScaleParams": {"cpu": own}} if own else {})
    had = {"requests": given["old_request"], "limits": given["old_limit"]}
    requests, old = ({} if amount is None else {"cpu": amount} for amount in had.values())
    need = need_of({"cpu": given["new_request"]}, requests, 1, old)
    assert sized(hvpa, need, 1, 1).size.limits.get("cpu") == expect["new_limit"]


def weighed(given, expect):
    """The plain blend of the documents, of what an HPA and a VPA ask for."""
    weight = given["vpa_weight_percent"]
    replicas = given["initial"]["replicas"]
    if "steps" not in given:
        cores = blended(given["initial"]["cpu_cores_per_replica"], given["vpa_target_cores_per_replica"], weight)
        replicas = plain_blend(replicas, given["hpa_desired_replicas"], weight)
        assert (replicas, cores) == (expect["replicas"], expect["cpu_cores_per_replica"])
        assert replicas * cores == expect["provided_total_cores"]
        return
    memory = given["initial"]["memory_megabytes"] * 10**6
    for step, row in zip(given["steps"], expect["steps"], strict=True):
        replicas = plain_blend(replicas, step["hpa_desired_replicas"], weight)
        memory = blended(memory, step["vpa_memory_megabytes"] * 10**6, weight)
        assert (replicas, memory) == (row["replicas"], row["memory_megabytes_exact"] * 10**6)


def by_weight(given, expect):
    """One round of the released controller."""
    hpa, advice, one = given["hpa"], size_advice(given), given["containers"][0]
    counts = given["hpa_template"]
    limited = hpa["desired_replicas"] >= counts["max_replicas"] and hpa["scaling_limited_condition"] == "True"
    assert limited is expect["hpa_scale_out_limited"]
    scale, least = given["vpa_scale"], MinChange.read(changes(given["vpa_scale"]["min_change"]))
    gaps = MinChange.read(changes(given["limits_requests_gap"]))
    size = Direction(scale["update_mode"], scale["stabilization_seconds"], shares(least))
    count = Direction(given["hpa_scale"]["update_mode"], given["hpa_scale"]["stabilization_seconds"])
    blend = Blend(
        (Weight(given["vpa_weight_percent"], counts["min_replicas"], counts["max_replicas"]),),
        *(count, count, size, size),
        limits_gap=shares(gaps),
        requests_only=frozenset([one["name"]] if one["controlled_values"] == "RequestsOnly" else []),
    )
    had = Size(one["name"], amounts(one["current_requests"]), amounts(one["current_limits"]))
    found = released(
        blend,
        Situation(
            given["current_replicas"],
            hpa["desired_replicas"],
            limited,
            (had,),
            {} if isinstance(advice, Failure) else {bounds.container: bounds.target for bounds in advice.containers},
            given["seconds_since_last_scaling"],
            urgent=given["override_scale_up_stabilization"],
        ),
    )
    assert found.replicas == expect["desired_replicas"]
    assert found.blocked == frozenset(expect["blocked_reasons"])
    assert (found.sizes != (had,)) is expect["resources_changed"]
    if "new_requests" in expect:
        wanted = Size(one["name"], amounts(expect["new_requests"]), amounts(expect["new_limits"]))
        assert found.sizes == (wanted,)


def shares(given):
    return {resource: share_of(given, resource) for resource in ("cpu", "memory")}


def second(text):
    return timeofday.parse(f"{text.replace(':', '')}+0000")


def within(given, expect):
    ends = second(given["begin_utc"]), second(given["end_utc"])
    assert timeofday.contains(*ends, second(given["time_utc"])) is expect["contains"]


def lasting(given, expect):
    ends = second(given["begin_utc"]), second(given["end_utc"])
    assert timeofday.duration(*ends) == expect["duration_seconds"]


def parsed(given, expect):
    assert timeofday.parse(given["text"]) == second(expect["utc"])


def written(given, expect):
    assert timeofday.format(second(given["utc"])) == expect["text"]


def added(given, expect):
    assert timeofday.add(second(given["utc"]), second(given["add"])) == second(expect["utc"])


def window_parsed(given, expect):
    assert (MaintenanceWindow(given["begin"], given["end"]).bounds is None) is expect["error"]


CHECKS = {
    "effective_intervals_v2": whole_decision,
    "effective_intervals_seed": by_the_proposal,
    "total_recommendation": total_of_each_source,
    "base_resources_adjustment": base_resources,
    "min_change_threshold": smallest_change,
    "gates": gates,
    "limits": limits,
    "weight_based_v1": by_weight,
    "weight_based_v1_ideal": weighed,
    "maintenance_window": within,
    "maintenance_window_duration": lasting,
    "maintenance_window_parse": window_parsed,
    "maintenance_time_parse": parsed,
    "maintenance_time_format": written,
    "maintenance_time_add": added,
}
