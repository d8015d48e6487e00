"""The checks of the VerticalPodAutoscaler webhook, case by case; fields and kinds are compared, not its messages."""

import re

import pytest

from conformance.harness import each_case
from hypot.kinds.vpa import VPA
from hypot.kinds.vpa.rules import CPU_BOOST, IN_PLACE_GATE, PER_VPA_CONFIG, VpaStrictness, spec_problems, strictness

# The option of a case, and the gate that it opens.
GATES = {
    "allow_cpu_startup_boost": CPU_BOOST,
    "allow_per_vpa_config": PER_VPA_CONFIG,
    "allow_in_place": IN_PLACE_GATE,
}
KINDS = {
    "Required value": "Required",
    "Invalid value": "Invalid",
    "Unsupported value": "NotSupported",
    "Forbidden": "Forbidden",
    "Too many": "TooMany",
}


@each_case("vpa_validation.json")
def test_vpa_validation(case):
    """The verdict, the field and the kind of error, and the number of errors and warnings are the same."""
    given, expect = case["given"], case["expect"]
    match given["function"]:
        case "validate_vpa" | "very_invalidate_vpa":
            problems = list(spec_problems(VPA.from_dict(given["vpa"]), strict(given["options"])))
            same_errors([p for p in problems if p.severity == "error"], expect)
            same_warnings([p for p in problems if p.severity == "warning"], expect)
        case "allow_cpu_boost" | "allow_per_vpa_config" | "allow_in_place":
            gate, old = given["feature_gate"], given["old_vpa"]
            asked = strictness(None if old is None else VPA.from_dict(old), {gate: given["feature_enabled"]})
            assert asked.closes(gate) is not expect["allowed"]
        case unknown:
            pytest.fail(f"unknown function {unknown}")


def strict(options):
    closed = {gate for option, gate in GATES.items() if not options[option]}
    return VpaStrictness(
        needs_target=options["is_create"],
        closed_gates=frozenset(closed),
        kept_resources=frozenset(options.get("existing_controlled_resources") or ()),
    )


def same_errors(errors, expect):
    texts = [str(problem) for problem in errors]
    assert expect["valid"] is (not errors), texts
    if "error_count" in expect:
        assert len(errors) == expect["error_count"], texts
    if "error_field" in expect:
        found = {(problem.field, problem.kind) for problem in errors}
        assert (dotted(expect["error_field"]), KINDS[expect["error_type"]]) in found, texts
    if "error_fields_subset_of" in expect:
        assert {problem.field for problem in errors} <= {dotted(field) for field in expect["error_fields_subset_of"]}


def same_warnings(warnings, expect):
    """One for one, each at the field that the expected warning names or within it."""
    expected = [dotted(text.split(": ")[0]) for text in expect.get("warnings", ())]
    assert len(warnings) == len(expected), [str(problem) for problem in warnings]
    assert all(problem.field.startswith(place) for problem, place in zip(warnings, expected, strict=True))


def dotted(field):
    """The webhook writes a key of a mapping in brackets."""
    return re.sub(r"\[([a-z][^]]*)\]", r".\1", field)
