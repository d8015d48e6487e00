"""Stabilisation, rate limits and bounds, case by case."""

import pytest

from conformance.harness import each_case
from conformance.worlds import NOW, pace
from hypot.core.quantity import Quantity, format_milli
from hypot.core.replicas.window import changed_within
from hypot.kinds.hpa import HPA
from hypot.kinds.hpa.defaults import DEFAULT_DOWN, DEFAULT_UP, default_pace
from hypot.kinds.hpa.fields import Behavior
from hypot.policy.horizontal.hpa import restrain
from hypot.policy.model.settings import Settings
from hypot.policy.model.state import EMPTY, State, TimedValues
from hypot.policy.stages.restrain import (
    LIMIT_REASONS,
    RateHistory,
    allowed,
    limit_by_doubling,
    limit_by_pace,
    longest_period,
)


@each_case("hpa_behavior.json")
def test_hpa_behavior(case):
    """Each pure function of the controller's normalisation gives the expected result."""
    given, expect = case["given"], case["expect"]
    check = CHECKS.get(given["function"])
    if check is None:
        pytest.fail(f"unknown function {given['function']}")
    check(given, expect)


def history(entries, key):
    values = tuple(e[key] for e in entries)
    return TimedValues(values, tuple(NOW - e["seconds_ago"] for e in entries))


def past(given):
    return RateHistory(
        history(given.get("scale_up_events", ()), "replica_change"),
        history(given.get("scale_down_events", ()), "replica_change"),
    )


def bounds_without_behavior(given, expect):
    limited = limit_by_doubling(
        given["current_replicas"],
        given["desired_replicas"],
        given["min_replicas"],
        given["max_replicas"],
        given["scale_up_limit_factor"],
        given["scale_up_limit_minimum"],
    )
    assert limited.replicas == expect["replicas"]
    assert LIMIT_REASONS[limited.limit][0] == expect["reason"]


def up_limit(given, expect):
    rules = default_pace(pace(given["rules"]), DEFAULT_UP)
    assert allowed(rules, given["current_replicas"], past(given), NOW, grows=True) == expect["limit"]


def down_limit(given, expect):
    rules = default_pace(pace(given["rules"]), DEFAULT_DOWN)
    assert allowed(rules, given["current_replicas"], past(given), NOW, grows=False) == expect["limit"]


def rate(given, expect):
    up = default_pace(pace(given["scale_up_rules"]), DEFAULT_UP)
    down = default_pace(pace(given["scale_down_rules"]), DEFAULT_DOWN)
    assert up == default_pace(pace(given["effective_scale_up_rules"]), DEFAULT_UP)
    assert down == default_pace(pace(given["effective_scale_down_rules"]), DEFAULT_DOWN)
    limited = limit_by_pace(
        given["current_replicas"],
        given["desired_replicas"],
        given["min_replicas"],
        given["max_replicas"],
        up,
        down,
        past(given),
        NOW,
    )
    assert limited.replicas == expect["replicas"]
    assert LIMIT_REASONS[limited.limit][0] == expect["reason"]


def hpa(behavior=None):
    """An autoscaler with bounds so wide that they never matter."""
    spec = {"minReplicas": 0, "maxReplicas": 10**9}
    if behavior is not None:
        spec["behavior"] = behavior.write()
    return HPA.from_dict({"metadata": {"name": "x"}, "spec": spec})


def stabilised_without_behavior(given, expect):
    known, wanted = history(given["recommendations"], "recommendation"), given["desired_replicas"]
    settings = Settings(downscale_window=given["downscale_stabilization_window_seconds"])
    done = restrain(hpa(), wanted, wanted, State(known), NOW, settings)
    assert done.stabilised.replicas == expect["stabilized_replicas"]
    assert len(done.history.values) == expect["recommendation_log_length"]


def stabilised_with_behavior(given, expect):
    up = pace({"stabilization_window_seconds": given["scale_up_stabilization_window_seconds"]})
    down = pace({"stabilization_window_seconds": given["scale_down_stabilization_window_seconds"]})
    behavior = Behavior(default_pace(up, DEFAULT_UP), default_pace(down, DEFAULT_DOWN))
    known = history(given["recommendations"], "recommendation")
    wanted, current = given["desired_replicas"], given["current_replicas"]
    done = restrain(hpa(behavior), wanted, current, State(known), NOW, Settings())
    assert done.stabilised.replicas == expect["stabilized_replicas"]
    if expect["recommendations_after"] is not None:
        assert list(done.history.values) == expect["recommendations_after"]


def stored_event(given, expect):
    before = history(given["events_before"], "replica_change")
    lookback = changed_within(before.values, before.times, NOW - given["lookback_period_seconds"])
    assert lookback == expect["replica_change_in_lookback_before_store"]
    upwards = given["direction"] == "up"
    memory = State(ups=before if upwards else EMPTY, downs=EMPTY if upwards else before)
    period = None
    if given["behavior_present"]:
        period = longest_period(pace(given["rules"]).limits)
        memory = memory.with_event(given["previous_replicas"], given["new_replicas"], NOW, period)
    after = memory.ups if upwards else memory.downs
    outdated = [period is not None and at < NOW - period for at in after.times]
    found = [{"replica_change": v, "outdated": o} for v, o in zip(after.values, outdated, strict=True)]
    assert found == expect["events_after"]


def built_quantity(given, expect):
    binary = given["resource_name"] == "memory"
    text = format_milli(given["raw_value_millis"], binary=binary)
    assert Quantity.parse(text).milli == expect["value_millis"]
    assert ("BinarySI" if binary else "DecimalSI") == expect["format"]


CHECKS = {
    "convert_desired_replicas_with_rules": bounds_without_behavior,
    "calculate_scale_up_limit_with_scaling_rules": up_limit,
    "calculate_scale_down_limit_with_behaviors": down_limit,
    "convert_desired_replicas_with_behavior_rate": rate,
    "stabilize_recommendation": stabilised_without_behavior,
    "stabilize_recommendation_with_behaviors": stabilised_with_behavior,
    "store_scale_event": stored_event,
    "build_quantity": built_quantity,
}
