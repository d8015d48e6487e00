"""Limit factors, bounds, windows, delays and whole reconciles of a WatermarkPodAutoscaler, case by case."""

import pytest

from builders import made
from conformance.harness import each_case
from conformance.worlds import LONG_AGO, NOW, band, marks
from hypot.core.quantity import format_milli, milli
from hypot.core.replicas.bounds import factor_step
from hypot.core.replicas.watermark import Side
from hypot.kinds.node import FRACTION, WHOLE_OR_QUANTITY
from hypot.kinds.wpa import WPA, with_defaults
from hypot.policy.decide import decide
from hypot.policy.horizontal.recommender import metric_name
from hypot.policy.horizontal.wpa import conclude, gate, recommend, resolve
from hypot.policy.horizontal.wpa_metrics import described
from hypot.policy.model.decision import Condition, MetricReading, Step, condition_of
from hypot.policy.model.seen import Failure, Owner, Pod, Scale, Seen, metric_key
from hypot.policy.model.settings import Settings
from hypot.policy.model.state import State
from hypot.policy.stages.restrain import LIMIT_REASONS, limit_by_steps

SPEC_KEYS = {
    "min_replicas": "minReplicas",
    "max_replicas": "maxReplicas",
    "algorithm": "algorithm",
    "replica_scaling_absolute_modulo": "replicaScalingAbsoluteModulo",
    "upscale_forbidden_window_seconds": "upscaleForbiddenWindowSeconds",
    "downscale_forbidden_window_seconds": "downscaleForbiddenWindowSeconds",
    "upscale_delay_above_watermark_seconds": "upscaleDelayAboveWatermarkSeconds",
    "downscale_delay_below_watermark_seconds": "downscaleDelayBelowWatermarkSeconds",
    "converge_towards_watermark": "convergeTowardsWatermark",
    "dry_run": "dryRun",
    "tolerate_zero": "tolerateZero",
}
QUANTITY_KEYS = {
    "tolerance_milli": "tolerance",
    "scale_up_limit_factor_milli_percent": "scaleUpLimitFactor",
    "scale_down_limit_factor_milli_percent": "scaleDownLimitFactor",
}


@each_case("wpa_limits.json")
def test_wpa_limits(case):
    """Each gate of the controller, done by the stages of a decision, gives the expected result."""
    given, expect = case["given"], case["expect"]
    check = CHECKS.get(given["function"])
    if check is None:
        pytest.fail(f"unknown function {given['function']}")
    check(given, expect)


def autoscaler(given):
    spec = {new: given[old] for old, new in SPEC_KEYS.items() if given.get(old) is not None}
    spec |= {new: format_milli(given[old]) for old, new in QUANTITY_KEYS.items() if given.get(old) is not None}
    target = given.get("scale_target_ref") or {"kind": "Deployment", "name": "foo", "api_version": "apps/v1"}
    spec["scaleTargetRef"] = {"kind": target["kind"], "name": target["name"], "apiVersion": target["api_version"]}
    if given.get("metrics"):
        spec["metrics"] = [band(metric) for metric in given["metrics"]]
    recommender = given.get("recommender")
    if recommender:
        spec["recommender"] = {
            "url": recommender["url"],
            "targetType": recommender["target_type"],
            **marks(recommender),
        }
    return WPA.from_dict({"metadata": {"name": "test", "namespace": "default"}, "spec": spec})


def up_limit(given, expect):
    current = given["current_replicas"]
    step = factor_step(current, round(given["scale_up_limit_factor_percent"] * 1000))
    assert current + step == expect["limit_replicas"]


def down_limit(given, expect):
    current = given["current_replicas"]
    step = factor_step(current, round(given["scale_down_limit_factor_percent"] * 1000))
    assert current - step == expect["limit_replicas"]


def limits(given, expect):
    current = given["current_replicas"]
    limited = limit_by_steps(
        current,
        given["desired_replicas"],
        given["ready_replicas"],
        given["min_replicas"],
        given["max_replicas"],
        round(given["scale_up_limit_factor_percent"] * 1000),
        round(given["scale_down_limit_factor_percent"] * 1000),
    )
    assert limited.replicas == expect["replicas"]
    assert LIMIT_REASONS[limited.limit][0] == expect["limiting_condition"]


def conditions(given, now):
    return tuple(Condition(c["type"], c["status"], "", "", now - c["transition_age_seconds"]) for c in given)


def opened(given, expect):
    now, status = given["decision_time_unix_seconds"], given["status"]
    passage = gate(
        autoscaler(given["spec"]),
        given["current_replicas"],
        given["desired_replicas"],
        status.get("last_scale_time_unix_seconds"),
        conditions(status.get("conditions") or (), now),
        now,
        stable=given["is_stable_regime"],
    )
    assert passage.opens == expect["should_scale"]


def faked(description, answer, current):
    """A metric whose result the case gives."""
    if answer.get("error"):
        step = Step("recommend", "metric-failed", current, None, answer["error"])
        return MetricReading("External", description, None, step, error=answer["error"], error_kind="internal")
    side = Side.ABOVE if answer["is_above_high_watermark"] else Side.WITHIN
    side = Side.BELOW if answer["is_below_low_watermark"] else side
    count = answer["replicas"]
    step = Step("recommend", "watermarks", current, count, "", {"reason": answer.get("details", "")})
    converging = side is Side.WITHIN and count != current
    return MetricReading(
        "External",
        description,
        count,
        step,
        answer["utilization_milli"],
        {"type": "External"},
        ready=answer["ready_replicas"],
        side=side,
        converging=converging,
    )


def comparable(wpa):
    """Its fields, in which 5 and "5" are the same amount."""
    amounts = {w.key for _, w in wpa.TABLE if w.type is WHOLE_OR_QUANTITY or w.type is FRACTION}
    return {key: milli(value) if key in amounts else value for key, value in wpa.write().items()}


def whole_pass(given, expect):
    wpa = autoscaler(given["effective_spec_after_defaulting"])
    assert comparable(with_defaults(autoscaler(given["spec"]))) == comparable(with_defaults(wpa))
    scale = Scale(given["scale"]["spec_replicas"], given["scale"]["status_replicas"], "x=y")
    age = given["status"]["seconds_since_last_scale"]
    memory = State(
        last_scale=None if age is None else NOW - age,
        conditions=conditions(given["status"]["conditions"], NOW),
    )
    answer = given["replica_calculation_for_every_metric"]
    readings = tuple(faked(described(m.source), answer, scale.replicas) for m in wpa.metrics or ()) if answer else ()
    decision, _ = made(wpa, conclude(wpa, Seen(NOW, scale), memory, readings), memory)
    assert decision.status["desiredReplicas"] == expect["status_desired_replicas"]
    for kind, wanted in (expect.get("conditions") or {}).items():
        found = condition_of(decision.conditions, kind)
        assert found is not None, kind
        assert found.status == wanted.get("status", found.status), kind
    second = decision.conditions[1]
    if second.type == "ScalingActive" and "if_second_condition_is_ScalingActive_then_status" in expect:
        assert second.status == expect["if_second_condition_is_ScalingActive_then_status"]
    if "condition_count" in expect:
        assert len({c.type for c in decision.conditions} - {"ConvergeToWatermark"}) == expect["condition_count"]
    assert_gauges(decision, expect.get("prometheus") or {})


def assert_gauges(decision, gauges):
    """The values that the controller's gauges showed for the decision."""
    message = {"able_to_scale": "AbleToScale", "scaling_limited": "ScalingLimited"}
    for label, kind in message.items():
        gauge = gauges.get(f"wpa_controller_conditions{{condition={label}}}")
        if gauge is not None:
            assert (condition_of(decision.conditions, kind).status == "True") == bool(gauge), kind
    if "wpa_controller_replicas_scaling_effective" in gauges:
        assert decision.desired == gauges["wpa_controller_replicas_scaling_effective"]
    moved = (decision.desired or 0) - (decision.current or 0)
    if "wpa_controller_upscale_replicas_total" in gauges:
        assert max(0, moved) == gauges["wpa_controller_upscale_replicas_total"]
    if "wpa_controller_downscale_replicas_total" in gauges:
        assert max(0, -moved) == gauges["wpa_controller_downscale_replicas_total"]


def many_metrics(given, expect):
    wpa, answers = autoscaler(given["spec"]), given["calculator_results"]
    current = given["scale"]["spec_replicas"]
    if wpa.recommender is not None:
        readings = [faked(metric_name(wpa.recommender), answers["recommender"], current)]
    else:
        readings = [faked(described(m.source), answers["per_metric"][m.source.name], current) for m in wpa.metrics]
    best = resolve(readings, current)
    if expect["error"] is not None:
        assert best is None
        return
    assert best.proposal == expect["replicas"]
    assert best.description == expect["metric_name"]
    assert len(readings) == expect["metric_status_count"]
    if "some_condition_message_contains" in expect:
        scale = Scale(current, given["scale"]["status_replicas"], "x=y")
        found = conclude(with_defaults(wpa), Seen(NOW, scale), State(), tuple(readings))
        decision, _ = made(wpa, found, State())
        assert any(expect["some_condition_message_contains"] in c.message for c in decision.conditions)


def end_to_end(given, expect):
    wpa = autoscaler(given["spec"])
    replicas = given["deployment_replicas"]
    pods = tuple(
        Pod(f"foo-1-{i}", ready="True", ready_since=LONG_AGO, started=LONG_AGO, owners=(Owner("ReplicaSet", "foo-1"),))
        for i in range(replicas)
    )
    values = given.get("external_metric_values_milli")
    answer = Failure("no values") if values is None else tuple(values)
    found = {metric_key(m.external.name, m.external.selector): answer for m in wpa.metrics}
    seen = Seen(NOW, Scale(replicas, replicas, "x=y"), pods, external_metrics=found)
    decision, _ = decide(wpa, seen, State(), Settings())
    for kind, wanted in expect.get("conditions", {}).items():
        assert condition_of(decision.conditions, kind).status == wanted["status"]
    if "status_desired_replicas" in expect:
        assert decision.status["desiredReplicas"] == expect["status_desired_replicas"]
    if "deployment_replicas" in expect:
        assert (decision.desired if decision.rescales else replicas) == expect["deployment_replicas"]
    assert recommend(with_defaults(wpa), seen)


CHECKS = {
    "calculateScaleUpLimit": up_limit,
    "calculateScaleDownLimit": down_limit,
    "convertDesiredReplicasWithRules": limits,
    "shouldScale": opened,
    "reconcileWPA": whole_pass,
    "computeReplicas": many_metrics,
    "end_to_end": end_to_end,
}
