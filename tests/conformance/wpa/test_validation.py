"""The checks of a spec by the WatermarkPodAutoscaler controller, case by case; its messages are not compared."""

import json

import pytest

from conformance.harness import each_case
from hypot.core.quantity import Quantity
from hypot.kinds.wpa import WPA, with_defaults
from hypot.kinds.wpa.fields import marks_of
from hypot.kinds.wpa.rules import spec_problems

# What a reconcile that stopped at the checks leaves in the status.
REFUSALS = ("FailedSpecCheck", "Invalid WPA specification")


@each_case("wpa_validation.json")
def test_wpa_validation(case):
    """The verdict on the same spec is the same, and so are the watermarks."""
    given, expect = case["given"], case["expect"]
    match given["function"]:
        case "CheckWPAValidity":
            assert_verdict(list(spec_problems(wpa_of(given["spec"]).readable())), valid=expect["valid"])
        case "fillMissingWatermark":
            metric = given["metric"]
            marks = marks_of(amount(metric["high_watermark_milli"]), amount(metric["low_watermark_milli"]))
            assert marks == (amount(expect["high_watermark_milli"]), amount(expect["low_watermark_milli"]))
        case "Reconcile" if given.get("defaulted"):
            text = json.dumps(expect)
            assert_verdict(wpa_of(given["spec"]).problems(), valid=not any(word in text for word in REFUSALS))
        case "Reconcile" if given.get("spec") is not None:
            wpa = wpa_of(given["spec"])
            assert with_defaults(wpa) is not wpa, "an object without defaults is completed first"
        case unknown:
            pytest.skip(f"{unknown} is plumbing of the peer and has no counterpart in hypot")


def assert_verdict(problems, *, valid):
    """Most cases have no metrics, which hypot reports on purpose; that must hide no difference, nor be the only one."""
    refusals = [problem for problem in problems if problem.severity == "error"]
    others = [str(problem) for problem in refusals if not measures_nothing(problem)]
    if bool(others) is valid:
        pytest.fail(f"metrics apart, expected valid={valid}, found {others}")
    assert bool(refusals) is not valid, "needs metrics or a recommender"


def measures_nothing(problem):
    return problem.rule == "metrics-or-recommender" and problem.kind == "Required"


def wpa_of(spec):
    return WPA.from_dict({"metadata": {"name": "wpa"}, "spec": wire(spec)})


def wire(spec):
    """The description with the keys of a manifest."""
    out = {}
    for key, value in spec.items():
        if key == "metrics":
            out[key] = [metric(item) for item in value or ()]
        elif key.endswith(("_milli", "_milli_percent")):
            out[camel(key.removesuffix("_percent").removesuffix("_milli"))] = amount(value)
        else:
            nested = isinstance(value, dict) and key != "settings"
            out[camel(key)] = wire(value) if nested else value
    return out


def metric(given):
    """One metric: its block is named after its type, and only an external metric calls its name `metricName`."""
    block = wire({k: v for k, v in given.items() if k not in {"type", "name", "selector_match_labels"}})
    labels = given.get("selector_match_labels")
    block["metricName" if given["type"] == "External" else "name"] = given.get("name")
    block["metricSelector"] = None if labels is None else {"matchLabels": labels}
    return {"type": given["type"], given["type"].lower(): block}


def amount(milli):
    return None if milli is None else str(Quantity.from_milli(milli))


def camel(key):
    head, *rest = key.split("_")
    return head + "".join(word.capitalize() for word in rest)
