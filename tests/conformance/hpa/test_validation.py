"""The API server's validation of HorizontalPodAutoscalers and Scales, case by case."""

import pytest

from conformance.harness import each_case
from hypot.kinds.hpa import HPA
from hypot.kinds.hpa.rules import HpaStrictness, scale_problems, spec_problems, status_problems
from hypot.kinds.metadata import metadata_problems, metadata_update_problems


@each_case("hpa_validation.json")
def test_hpa_validation(case):
    """The verdict and the first error are the same, and the number of errors where the case has it."""
    expect, texts = case["expect"], [str(problem) for problem in problems(case["given"])]
    assert expect["valid"] is (not texts), texts
    if "first_error_contains" in expect:
        assert expect["first_error_contains"] in texts[0]
    if "any_error_field_or_text_contains" in expect:
        assert any(expect["any_error_field_or_text_contains"] in text for text in texts), texts
    if "error_count" in expect:
        assert len(texts) == expect["error_count"], texts


def problems(given):
    new, old = given["object"], given.get("old_object") or {}
    metadata, before = new.get("metadata") or {}, old.get("metadata") or {}
    match given["operation"]:
        case "create":
            yield from metadata_problems(metadata, namespace_required=True)
            yield from spec_problems(HPA.from_dict(new), strict(given["options"]))
        case "update":
            yield from metadata_update_problems(metadata, before)
            yield from spec_problems(HPA.from_dict(new), strict(given["options"]))
        case "status_update":
            yield from metadata_update_problems(metadata, before)
            yield from status_problems(new.get("status") or {})
        case "validate_scale":
            yield from scale_problems(new)
        case unknown:
            pytest.fail(f"unknown operation {unknown}")


def strict(options):
    target, described = options["scale_target_ref"], options["object_metrics"]
    return HpaStrictness(
        least_min_replicas=options["min_replicas_lower_bound"],
        any_target_version=target["allow_invalid_api_version"],
        any_target_group=target["allow_empty_api_group"],
        any_described_version=described["allow_invalid_api_version"],
        any_described_group=described["allow_empty_api_group"],
    )
