"""The API server's defaults for scaling behavior, case by case."""

import pytest

from conformance.harness import each_case
from hypot.core.quantity import Quantity
from hypot.kinds.hpa.defaults import DEFAULT_DOWN, DEFAULT_UP, default_behavior, default_pace
from hypot.kinds.hpa.fields import Behavior, ScalingRules

KEYS = {
    "stabilization_window_seconds": "stabilizationWindowSeconds",
    "select_policy": "selectPolicy",
    "policies": "policies",
    "period_seconds": "periodSeconds",
}


@each_case("hpa_defaults.json")
def test_hpa_defaults(case):
    """Each missing field gets its default, each given field is kept."""
    given, expect = case["given"], case["expect"]
    match given["function"]:
        case "default_scale_up_rules":
            assert_agrees(default_pace(pace(given["rules"]), DEFAULT_UP), expect["rules"])
        case "default_scale_down_rules":
            assert_agrees(default_pace(pace(given["rules"]), DEFAULT_DOWN), expect["rules"])
        case "default_behavior":
            made = default_behavior(behavior(given["behavior"]))
            assert (made is None) is (expect["behavior"] is None)
            for side, rules in (expect["behavior"] or {}).items():
                assert_agrees(getattr(made, side), rules)
        case unknown:
            pytest.fail(f"unknown function {unknown}")


def assert_agrees(made, expected):
    """Compare the fields that the case has; quantities by their amount."""
    assert (made is None) is (expected is None)
    wire = {} if made is None else made.write()
    for key, value in camel(expected or {}).items():
        if key == "tolerance" and value is not None:
            assert Quantity.parse(wire[key]) == Quantity.parse(value)
        else:
            assert wire.get(key) == value, key


def behavior(given):
    return None if given is None else Behavior(pace(given["scale_up"]), pace(given["scale_down"]))


def pace(rules):
    return None if rules is None else ScalingRules.read(camel(rules))


def camel(value):
    if isinstance(value, list):
        return [camel(item) for item in value]
    return {KEYS.get(k, k): camel(v) for k, v in value.items()} if isinstance(value, dict) else value
