"""Hvpa decisions: the cases of the redesign and the released controller, the proposals' examples, and the rules."""

from typing import ClassVar

import pytest

from builders import decided, hpa, hvpa_decided, queue
from conformance.harness import each_case, load_cases
from conformance.hvpa.cases import amounts, changes, intervals, milli, size_advice, sizes
from hypot.core import timeofday
from hypot.core.amount import to_milli
from hypot.core.axes.interval import per_pod
from hypot.kinds.hpa.fields import external
from hypot.kinds.hvpa import Hvpa
from hypot.kinds.hvpa.fields import MaintenanceWindow, MinChange
from hypot.kinds.hvpa.intervals import share_of
from hypot.kinds.hvpa.weights import Weight
from hypot.policy.hvpa.gates import direction_of, in_window, threshold
from hypot.policy.hvpa.hvpa import recommend
from hypot.policy.hvpa.proposal import SizeProposal, Total
from hypot.policy.hvpa.resolve import ContainerNeed, sized
from hypot.policy.model.current_size import CurrentSize
from hypot.policy.model.decision import condition_of
from hypot.policy.model.seen import Container, CountAdvice, Ended, Failure, Pod, Scale, Seen
from hypot.policy.model.settings import Settings
from hypot.policy.model.size import Size
from hypot.policy.model.state import State
from hypot.replay.policies.weights import (
    Blend,
    Direction,
    Situation,
    blended,
    is_count_limited,
    plain_blend,
    released,
)

NOW = 1_800_000_000.0
GIB = 2**30
KILLED = Ended("OOMKilled", NOW - 60, NOW - 1)
# No change is too small.
ANY_CHANGE = {"minChange": {"cpu": {"value": 0}, "memory": {"value": 0}}}
UNIT = {"cpu": 1, "memory": GIB}
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


def hours(begin, end):
    return window({"begin_offset_hours_from_now": begin, "end_offset_hours_from_now": end})


OPEN, SHUT = hours(-1, 1), hours(3, 4)


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
    killed = KILLED if given.get("override_scale_up_stabilization") else None
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
    assert blocked_by(decision) == expect["blocked_reasons"]
    size = decision.desired_sizes[0]
    if "new_requests" in expect:
        assert size.requests == amounts(expect["new_requests"])
    if expect.get("new_limits") is not None:
        assert size.limits == amounts(expect["new_limits"])
    if not expect["resources_changed"]:
        assert not decision.resizes


def decided_by(hvpa, totals, replicas, requests, *, last_scale=None, killed=None):
    """The decision for a container called app with these requests, if a source measures these totals."""
    had = {resource: to_milli(resource, amount) for resource, amount in requests.items()}
    pods = [Pod(f"web-{i}", containers=(Container("app", had, ended=killed),)) for i in range(replicas)]
    seen = Seen(NOW, Scale(replicas, replicas, "app=web"), tuple(pods))
    asked = SizeProposal("vpa", (), {("app", resource): amount for resource, amount in totals.items()}, measured=True)
    return hvpa_decided(hvpa, seen, State(last_scale=last_scale), Settings(), [lambda _: asked])[0]


def blocked_by(decision):
    return [one["reason"] for one in decision.reported["lastBlockedScaling"]]


def is_limited(decision):
    return condition_of(decision.conditions, "ScalingLimited").status == "True"


def action_of(decision, resource):
    """What the decision does, in the words of a ramp; if it is blocked by a gate, the reason."""
    if reasons := blocked_by(decision):
        return "postponed" if reasons == ["ParadoxicalScaling"] else " ".join(reasons)
    if decision.desired != decision.current:
        return "horizontal_out" if decision.desired > decision.current else "horizontal_in"
    (had,), (gets,) = decision.sizes, decision.desired_sizes
    change = gets.requests[resource] - had.requests[resource]
    return "vertical_up" if change > 0 else "vertical_down" if change < 0 else "none"


def by_the_proposal(given, expect):
    """One look-up, or a row for each of many totals, where no change is too small."""
    hvpa = of_the_proposal(given)
    if "total_recommendation" not in given:
        assert_ramp(hvpa, given, expect["rows_total_replicas_per_pod_action"])
        return
    asked = given["total_recommendation"]
    totals = {"cpu": asked["cpu_millicores"], "memory": asked["memory_gib"] * GIB}
    had = {"cpu": 100, "memory": GIB}
    alone = {resource: decided_by(hvpa, {resource: amount}, 1, had).desired for resource, amount in totals.items()}
    assert alone == expect["desired_replicas_by_resource"]
    assert decided_by(hvpa, totals, 1, had).desired == expect["desired_replicas"]


def of_the_proposal(given, **spec):
    overlap = changes(given.get("overlap"))
    made = {"scalingIntervals": intervals(given), "scaleUp": ANY_CHANGE, "scaleDown": ANY_CHANGE, **spec}
    return manifest({**made, "scalingIntervalsOverlap": overlap} if overlap else made)


def ramp(hvpa, given, totals):
    """The decision for each total, in either direction; each starts where the one before ended."""
    resource, replicas = given["resource"], given["start"]["replicas"]
    unit = UNIT[resource]
    size = round(given["start"]["per_pod"] * unit)
    for total in totals:
        decision = decided_by(hvpa, {resource: round(total * unit)}, replicas, {resource: size})
        replicas, size = decision.desired, decision.desired_sizes[0].requests[resource]
        yield total, replicas, size, decision


def assert_ramp(hvpa, given, rows):
    resource = given["resource"]
    unit, grain = UNIT[resource], 1 if resource == "cpu" else 1000
    found = ramp(hvpa, given, given["total_recommendations"])
    for row, (total, replicas, size, decision) in zip(rows, found, strict=True):
        assert (total, replicas, action_of(decision, resource)) == (row[0], row[1], row[3])
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
    had = {"cpu": 1000, "memory": GIB}
    if given.get("question") == "direction":
        deltas = {"cpu": given["cpu_total_delta_millicores"], "memory": given["memory_total_delta_bytes"]}
        decision = decided_by(manifest({}), {r: had[r] + delta for r, delta in deltas.items()}, 1, had)
        (needed,) = [step.numbers for step in decision.steps if step.rule == "total"]
        assert needed["direction"] == expect["direction"]
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
        spec["maintenanceTimeWindow"] = OPEN if given["now_inside_window"] else SHUT
    hvpa = manifest(spec)
    errors = [problem for problem in hvpa.problems() if problem.severity == "error"]
    assert bool(errors) is expect.get("error", False)
    if not errors:
        reason = expect["blocked_reason"]
        assert blocked_by(gated(hvpa, given, direction, had)) == ([reason] if reason else [])


def gated(hvpa, given, direction, had):
    """The decision for a change in this direction that is large, unless the case says otherwise."""
    large = given.get("change_exceeds_min_change", True)
    usual = {resource: amount // 2 if large else 1 for resource, amount in had.items()}
    deltas = {
        "cpu": given.get("cpu_delta_millicores", usual["cpu"]),
        "memory": given.get("memory_delta_bytes", usual["memory"]),
    }
    way = 1 if direction == "up" else -1
    totals = {resource: had[resource] + way * delta for resource, delta in deltas.items()}
    ago = given.get("seconds_since_last_scaling")
    last, killed = None if ago is None else NOW - ago, KILLED if given.get("override") else None
    return decided_by(hvpa, totals, 1, had, last_scale=last, killed=killed)


def limits(given, expect):
    share = {"percentage": given["gap_percentage"], "value": given["gap_value"] and f"{given['gap_value']}m"}
    own = {key: value for key, value in share.items() if value is not None}
    hvpa = manifest({"limitsRequestsGapScaleParams": {"cpu": own}} if own else {})
    had = {"requests": given["old_request"], "limits": given["old_limit"]}
    requests, old = ({} if amount is None else {"cpu": amount} for amount in had.values())
    now = CurrentSize("app", requests, old, {"cpu": 0, "memory": 0, **requests})
    amounts = {"cpu": given["new_request"]}
    asked = {"cpu": Total(given["new_request"], "vpa")}
    need = ContainerNeed(now, asked, tuple(asked.items()), amounts, direction_of(now.totals, amounts))
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


def asked_of_hpa(given):
    """The decision of the HPA: if its condition says that it is limited, one replica more is needed."""
    counts, limited = given["hpa_template"], given["hpa"]["scaling_limited_condition"] == "True"
    asked = given["hpa"]["desired_replicas"] + limited
    spec = hpa(external("queue", average=1), min_replicas=counts["min_replicas"], max_replicas=counts["max_replicas"])
    return decided(spec, queue(asked * 1000, given["current_replicas"]))


def by_weight(given, expect):
    """One round of the released controller."""
    advice, one = size_advice(given), given["containers"][0]
    counts = given["hpa_template"]
    asked = asked_of_hpa(given)
    assert asked.desired == given["hpa"]["desired_replicas"]
    assert is_count_limited(asked) is expect["hpa_scale_out_limited"]
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
            asked.desired,
            is_count_limited(asked),
            (had,),
            {} if isinstance(advice, Failure) else {bounds.container: bounds.target for bounds in advice.containers},
            given["seconds_since_last_scaling"],
            in_window=in_window(manifest({"maintenanceTimeWindow": window(given["maintenance_window"])}), NOW),
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


FALLING = [
    given
    for given in (case["given"] for case in load_cases("hvpa_scaling.json"))
    if (totals := given.get("total_recommendations")) and totals[0] > totals[-1] and not given["overlap"]
]
EACH_FALLING = pytest.mark.parametrize("given", FALLING, ids=[given["resource"] for given in FALLING])


class TestRamps:
    """Ramps that the file does not have, over the intervals of its falling ramps."""

    CPU = next(given for given in FALLING if given["resource"] == "cpu")
    RISING: ClassVar = {**CPU, "start": {"replicas": 1, "per_pod": 500}}

    @pytest.mark.parametrize(
        "rows",
        [
            [
                (500, 1, 500, "none"),
                (1000, 2, 500, "horizontal_out"),
                (1500, 2, 750, "vertical_up"),
                (2000, 2, 1000, "vertical_up"),
                (2500, 3, 1000, "horizontal_out"),  # 2500 / 3 is less than a pod has
                (3000, 3, 1000, "none"),
                (3500, 3, 1167, "vertical_up"),
            ],
            [
                (2000, 2, 1000, "horizontal_out"),
                (4000, 3, 1334, "horizontal_out"),
                (6000, 3, 2000, "vertical_up"),
                (8000, 4, 2000, "horizontal_out"),
                (10000, 4, 2500, "vertical_up"),
            ],
            [
                (8000, 4, 2000, "horizontal_out"),
                (16000, 4, 4000, "vertical_up"),
                (17000, 5, 4000, "horizontal_out"),
                (18000, 5, 3600, "vertical_down"),  # what the larger pods have too much
                (40000, 5, 8000, "vertical_up"),
            ],
        ],
    )
    def test_up(self, rows):
        """A pod never gets smaller while replicas are added."""
        found = list(ramp(of_the_proposal(self.RISING), self.RISING, [row[0] for row in rows]))
        assert [(*row[:3], action_of(row[3], "cpu")) for row in found] == rows

    def test_beyond_the_last_interval_the_decision_is_limited(self):
        """The decision itself says so; the count is the last one."""
        found = list(ramp(of_the_proposal(self.RISING), self.RISING, [40000, 40001, 80000, 40000]))
        assert [row[1] for row in found] == [5, 5, 5, 5]
        assert [is_limited(row[3]) for row in found] == [False, True, True, False]

    @EACH_FALLING
    def test_up_the_same_way_as_down(self, given):
        """The totals of a falling ramp in reverse: the count is the smallest whose interval holds the total."""
        key = {"cpu": "max_cpu_millicores_per_pod", "memory": "max_memory_gib_per_pod"}[given["resource"]]
        most = [row["max_replicas"] * row[key] for row in given["scaling_intervals"]]
        unit = UNIT[given["resource"]]
        start = {**given, "start": {"replicas": 1, "per_pod": given["total_recommendations"][-1]}}
        for total, replicas, size, decision in ramp(
            of_the_proposal(given), start, reversed(given["total_recommendations"])
        ):
            assert replicas == 1 + sum(total > high for high in most)
            assert replicas * size >= total * unit
            had = decision.sizes[0].requests[given["resource"]]
            assert size >= had or replicas == decision.current
            assert not is_limited(decision)

    @EACH_FALLING
    @pytest.mark.parametrize("falls", [True, False])
    def test_outside_the_maintenance_window_nothing_moves(self, given, falls):
        """Every total is blocked by the same gate; inside the window the ramp is as without one."""
        scale = {**ANY_CHANGE, "updatePolicy": {"updateMode": "MaintenanceWindow"}}
        totals = given["total_recommendations"] if falls else given["total_recommendations"][::-1]
        start = given["start"] if falls else {"replicas": 1, "per_pod": totals[0] / 2}
        case, spec = {**given, "start": start}, {"scaleUp": scale, "scaleDown": scale}
        for row in ramp(of_the_proposal(given, **spec, maintenanceTimeWindow=SHUT), case, totals):
            assert action_of(row[3], given["resource"]) == "MaintenanceWindow"
            assert row[1:3] == (start["replicas"], start["per_pod"] * UNIT[given["resource"]])
        during = ramp(of_the_proposal(given, **spec, maintenanceTimeWindow=OPEN), case, totals)
        assert [row[:3] for row in during] == [row[:3] for row in ramp(of_the_proposal(given), case, totals)]
