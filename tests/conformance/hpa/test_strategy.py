"""How strict the API server is on creation and on update, and when it drops a tolerance, case by case."""

import pytest

from conformance.harness import each_case
from hypot.kinds.hpa import HPA
from hypot.kinds.hpa.defaults import keeps_tolerance
from hypot.kinds.hpa.rules import strictness
from hypot.kinds.values.version import NEWEST

# The tolerance gate can be open or closed here; from 1.37 on it cannot be closed.
WITH_TOLERANCE_GATE = (1, 36)


@each_case("hpa_strategy.json")
def test_hpa_strategy(case):
    """The validation options are the same, and a tolerance is kept or dropped in the same cases."""
    given, expect = case["given"], case["expect"]
    match given["function"]:
        case "validation_options":
            assert options(given) == expect
        case "prepare_tolerance":
            gates = {"HPAConfigurableTolerance": given["configurable_tolerance_gate"]}
            kept = keeps_tolerance(old_with(given["old_has_tolerance"]), WITH_TOLERANCE_GATE, gates)
            assert (given["new_has_tolerance"] and kept) is expect["tolerance_kept"]
        case unknown:
            pytest.fail(f"unknown function {unknown}")


def options(given):
    gates = {"HPAScaleToZero": given["scale_to_zero_enabled"]}
    old = given["old_object"] and HPA.from_dict(given["old_object"])
    strict = strictness(HPA.from_dict(given["new_object"]), old, NEWEST, gates)
    return {
        "min_replicas_lower_bound": strict.least_min_replicas,
        "scale_target_ref": {
            "allow_invalid_api_version": strict.any_target_version,
            "allow_empty_api_group": strict.any_target_group,
        },
        "object_metrics": {
            "allow_invalid_api_version": strict.any_described_version,
            "allow_empty_api_group": strict.any_described_group,
        },
    }


def old_with(tolerance):
    if tolerance is None:
        return None
    pace = {"tolerance": "0.1"} if tolerance else {}
    return HPA.from_dict({"spec": {"maxReplicas": 5, "behavior": {"scaleUp": pace}}})
