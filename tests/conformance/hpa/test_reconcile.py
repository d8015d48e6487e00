"""Whole reconciles of a HorizontalPodAutoscaler, case by case."""

from builders import refused
from conformance.harness import each_case
from conformance.worlds import NOW, ago, hpa_pod, pace, samples, values
from hypot.kinds.hpa import HPA
from hypot.kinds.selector import read_selector
from hypot.policy.decide import decide
from hypot.policy.model.decision import Condition
from hypot.policy.model.seen import Failure, Scale, Seen, conflicts, metric_key
from hypot.policy.model.settings import Settings
from hypot.policy.model.state import State, TimedValues

BROKEN = Failure("something went wrong")


@each_case("hpa_reconcile.json")
def test_hpa_reconcile(case):
    """The decision, conditions, event and error labels are the same as the controller's."""
    given, expect = case["given"], case["expect"]
    hpa, memory = autoscaler(given["hpa"]), remembered(given)
    before = memory.desired
    decision, kept = decide(hpa, world(given, hpa), memory, settings(given))
    if (given.get("failures") or {}).get("update_scale") and decision.rescales:
        decision = refused(hpa, decision, memory, "the write was refused")
    assert_outcome(decision, before, expect)
    assert_labels(decision, given["hpa"]["status_before"]["current_replicas"], expect)
    again, _ = decide(hpa, world(given, hpa), kept, settings(given))
    assert again.desired == decision.desired or not decision.decided


def assert_outcome(decision, desired_before, expect):
    assert decision.status.get("desiredReplicas", desired_before) == expect["desired_replicas"]
    assert decision.rescales == expect["scale_updated"]
    if expect.get("conditions") is not None:
        found = [{"type": c.type, "status": c.status, "reason": c.reason} for c in decision.conditions]
        assert found == [{k: c[k] for k in ("type", "status", "reason")} for c in expect["conditions"]]
    if "event" in expect:
        normal = [{"reason": e.reason, "message": e.message} for e in decision.events if e.type == "Normal"]
        assert normal == ([expect["event"]] if expect["event"] else [])
    if expect.get("reconcile_error"):
        assert decision.error
    if "reconcile_error_contains" in expect:
        assert expect["reconcile_error_contains"] in decision.error
    if "cpu_utilization_percent" in expect:
        percents = [r.step.numbers.get("utilization") for r in decision.readings if r.metric == "Resource"]
        assert percents == [expect["cpu_utilization_percent"]]


def assert_labels(decision, replicas_before, expect):
    """The labels that the controller's own metrics would count."""
    if "action_label" in expect:
        assert decision.action == expect["action_label"]
    assert decision.error_kind == expect["error_label"]
    for reading in decision.readings:
        if "metric_action_labels" in expect:
            assert reading.action(replicas_before) == expect["metric_action_labels"][reading.metric]
        if "metric_error_labels" in expect:
            assert reading.error_kind == expect["metric_error_labels"][reading.metric]
    if "metric_action_labels" in expect:
        assert {r.metric for r in decision.readings} == set(expect["metric_action_labels"])


def autoscaler(given):
    target = given["scale_target"]
    spec = {
        "scaleTargetRef": {"kind": target["kind"], "name": target["name"], "apiVersion": target["api_version"]},
        "minReplicas": given["min_replicas"],
        "maxReplicas": given["max_replicas"],
        "metrics": given["metrics"],
    }
    if given["behavior"] is not None:
        sides = {"scaleUp": given["behavior"]["scale_up"], "scaleDown": given["behavior"]["scale_down"]}
        spec["behavior"] = {key: pace(rules).write() for key, rules in sides.items() if rules is not None}
    return HPA.from_dict({"metadata": {"name": given["name"], "namespace": given["namespace"]}, "spec": spec})


def remembered(given):
    status, entries = given["hpa"]["status_before"], given["recommendations"]
    history = None
    if entries is not None:
        counts = tuple(e["recommendation"] for e in entries)
        history = TimedValues(counts, tuple(NOW - e["seconds_ago"] for e in entries))
    conditions = [Condition(c["type"], c["status"], c["reason"], "", 0.0) for c in status.get("conditions") or ()]
    return State(
        recommendations=history,
        last_scale=ago(status["last_scale_seconds_ago"]),
        desired=status["desired_replicas"],
        conditions=tuple(conditions),
    )


def settings(given):
    flags, gates = given["controller"], given["feature_gates"]
    # A release whose tolerance gate could still be closed, with the scale-to-zero rules of this file.
    version = (1, 37) if gates.get("HPAConfigurableTolerance", True) else (1, 36)
    return Settings(
        kubernetes=version,
        gates=gates,
        tolerance=flags["tolerance"],
        downscale_window=flags["downscale_stabilization_window_seconds"],
        cpu_initialization_period=flags["cpu_initialization_period_seconds"],
        initial_readiness_delay=flags["initial_readiness_delay_seconds"],
        scale_up_factor=flags["scale_up_limit_factor"],
        scale_up_floor=flags["scale_up_limit_minimum"],
    )


def world(given, hpa):
    failures = given.get("failures") or {}
    pods = tuple(hpa_pod(pod) for pod in given["pods"])
    scale = given["scale"]
    own = (given["hpa"]["namespace"], given["hpa"]["name"])
    others = {
        f"{o['namespace']}/{o['name']}": read_selector({"matchLabels": o["selector_match_labels"]})
        for o in given.get("other_hpa_selectors", ())
        if o["namespace"] == own[0] and (o["namespace"], o["name"]) != own
    }
    return Seen(
        now=NOW,
        scale=BROKEN
        if failures.get("get_scale")
        else Scale(scale["spec_replicas"], scale["status_replicas"], scale["selector"]),
        pods=pods,
        pod_metrics=BROKEN if failures.get("resource_metrics") else samples(given.get("resource_metrics", ())),
        others=conflicts(pods, others),
        **metrics(given, hpa, failures),
    )


def metrics(given, hpa, failures):
    """Every custom and external metric of the autoscaler returns the values of the case."""
    found = {"pods_metrics": {}, "object_metrics": {}, "external_metrics": {}}
    for metric in hpa.metrics:
        if metric.pods:
            key = metric_key(metric.pods.metric.name, metric.pods.metric.selector)
            answer = values(given.get("pods_metric_millis", ()))
            found["pods_metrics"][key] = BROKEN if failures.get("custom_metrics") else answer
        if metric.object:
            key = metric_key(metric.object.metric.name, metric.object.metric.selector, str(metric.object.described))
            missing = failures.get("custom_metrics") or "object_metric_value_millis" not in given
            found["object_metrics"][key] = BROKEN if missing else given["object_metric_value_millis"]
        if metric.external:
            key = metric_key(metric.external.metric.name, metric.external.metric.selector)
            answer = tuple(given.get("external_metric_values_millis", ()))
            found["external_metrics"][key] = BROKEN if failures.get("external_metrics") else answer
    return found
