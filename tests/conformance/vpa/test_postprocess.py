"""The VPA's cases for fitting recommendations: policies, LimitRanges, proportional limits, whole cores."""

import pytest

from conformance.harness import each_case
from conformance.vpa.cases import FIELDS, amounts, bounds, limit_range, pod, policy
from hypot.core.sizes.fit import LARGEST, in_proportion, proportional_limit, whole_cores
from hypot.kinds.vpa.knobs import Knobs
from hypot.policy.model.seen import Failure
from hypot.policy.vertical.fit import capped, fit, merged, with_integer_cpu, within_pod_range


@each_case("vpa_postprocess.json")
def test_vpa_postprocess(case):
    """Each step from a recommendation to the size of a container gives the expected result."""
    given, expect = case["given"], case["expect"]
    check = CHECKS.get(given["function"])
    if check is None:
        pytest.fail(f"unknown function {given['function']}")
    check(given, expect)


def fitted(given):
    error = given.get("limit_range_error")
    ranges = limit_range(given.get("container_limit_range"), "Container")
    ranges += limit_range(given.get("pod_limit_range"), "Pod")
    found = Failure(error) if error else ranges
    return fit(bounds(given["recommendation"]), policy(given["resource_policy"]), pod(given["pod"]), found)


def assert_notes(expect, notes):
    if "annotations" in expect:
        assert {name: sorted(message) for name, message in notes.items()} == {
            name: sorted(message) for name, message in expect["annotations"].items()
        }
    for name in expect.get("annotations_absent_for", ()):
        assert name not in notes
    for key, message in expect.items():
        if key.startswith("annotations_of_"):
            name = key.removeprefix("annotations_of_").removesuffix("_contain")
            assert set(message) <= set(notes[name])


def for_a_pod(given, expect):
    result = fitted(given)
    assert bool(result.error) == bool(expect["error"])
    if "recommendation" in expect:
        assert result.bounds == bounds(expect["recommendation"])
    for old, new in FIELDS.items():
        if old in expect:
            assert [getattr(each, new) for each in result.bounds] == [amounts(expect[old])]
    assert_notes(expect, result.notes)


def for_everybody(given, expect):
    most = amounts(given["global_max_allowed"])
    knobs = Knobs(max_allowed_cpu=most.get("cpu"), max_allowed_memory=most.get("memory"))
    result = capped(bounds(given["recommendation"]), policy(given["resource_policy"]), knobs)
    assert result == bounds(expect["recommendation"])


def pod_range(given, expect):
    (of_pods,) = limit_range(given["pod_limit_range"], "Pod")
    field = FIELDS.get(given["field"], given["field"])
    recommended = bounds(given["recommendation"])
    result = within_pod_range(recommended, pod(given["pod"]), of_pods, given["resource"], field)
    assert result == bounds(expect["recommendation"])


def limit_in_proportion(given, expect):
    unit = "millicores" if given["resource"] == "cpu" else "bytes"
    names = ("original_limit", "original_request", "recommended_request", "default_limit")
    numbers = (given[f"{name}_{unit}"] or 0 for name in names)
    limit, cut = proportional_limit(*(-int(-number // 1) for number in numbers))
    assert limit == expect[f"limit_{unit}"]
    assert (limit is None or cut) == expect["annotation_present"]


def proportion(given, expect):
    base = given["scale_base_millicores"]
    up = given["rounding"].startswith("up")
    scaled = in_proportion(given["scaled_quantity_millicores"], base, given["scale_result_millicores"], up)
    assert scaled.amount == expect["result_millicores"]
    assert scaled.cut == (scaled.amount == LARGEST)
    assert (base == 0) == (expect.get("result_type") == "division_by_zero")


def merged_ranges(given, expect):
    items = [
        item
        for one in given["limit_ranges"]
        if one["namespace"] == given.get("namespace", one["namespace"])
        for item in one["items"]
    ]
    result = merged([each for item in items for each in limit_range(item, "Container")], "Container")
    wanted = limit_range(expect["limit_range"], "Container")
    assert result == (wanted[0] if wanted else None)


def integer_cpu(given, expect):
    result = with_integer_cpu(bounds(given["recommendation"]), given["vpa_annotations"])
    assert result == bounds(expect["recommendation"])


def integer_resources(given, expect):
    had, wanted = amounts(given["resources"]), amounts(expect["resources"])
    assert {**had, "cpu": whole_cores(had["cpu"])} == wanted


def admission(given, expect):
    result = fitted(given)
    assert bool(result.error) == bool(expect["error"])
    if expect["error"]:
        assert given["limit_range_error"] in result.error
        return
    patch = result.containers[0].patch if result.containers else None
    requests, limits = (patch.requests, patch.limits) if patch else ({}, {})
    assert -(-requests.get("cpu", 0) // 1000) == expect["request"]["cpu_cores_rounded_up"]
    assert requests.get("memory", 0) == expect["request"]["memory_bytes"]
    assert limits == amounts(expect["limit"])
    assert_notes(expect, result.notes)


def container_resources(given, expect):
    (one,) = fitted(given).containers
    size = one.size if given["add_all"] else one.patch
    assert size.requests == amounts(expect["request"])
    assert size.limits == amounts(expect["limit"])


CHECKS = {
    "recommendation_not_available": for_a_pod,
    "recommendation_to_limit_capping": for_a_pod,
    "recommendation_capped_to_min_max_policy": for_a_pod,
    "apply": for_a_pod,
    "apply_caps_to_limit_range": for_a_pod,
    "apply_limit_range_min_to_request": for_a_pod,
    "cap_pod_memory_with_under_byte_split": for_a_pod,
    "apply_vpa_policy": for_everybody,
    "apply_pod_limit_range": pod_range,
    "get_proportional_resource_limit_cpu": limit_in_proportion,
    "get_proportional_resource_limit_mem": limit_in_proportion,
    "scale_quantity_proportionally_cpu": proportion,
    "no_limit_range": merged_ranges,
    "get_container_limit_range_item": merged_ranges,
    "integer_cpu_post_processor_process": integer_cpu,
    "set_integer_cpu_recommendation": integer_resources,
    "update_resource_requests": admission,
    "get_containers_resources": container_resources,
}
