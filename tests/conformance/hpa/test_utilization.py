"""Ratios of usage to target, case by case."""

import pytest

from conformance.harness import each_case
from hypot.core.replicas.ratio import trunc_div, utilization


@each_case("hpa_utilization.json")
def test_hpa_utilization(case):
    """Percentages and averages are truncated to whole numbers before the ratio is computed."""
    given, expect = case["given"], case["expect"]
    close = {"rel": expect.get("ratio_relative_tolerance", 0.01)}
    match given["function"]:
        case "resource_utilization_ratio":
            requests = given["request_millis_by_pod"]
            usage = {pod: used for pod, used in given["usage_millis_by_pod"].items() if pod in requests}
            asked = sum(requests[pod] for pod in usage)
            if expect.get("error") or expect.get("error_contains"):
                assert asked == 0
                return
            percent = utilization(sum(usage.values()), asked)
            assert percent == expect["current_utilization_percent"]
            assert trunc_div(sum(usage.values()), len(usage)) == expect["raw_average_value_millis"]
            assert percent / given["target_utilization_percent"] == pytest.approx(expect["utilization_ratio"], **close)
        case "metric_usage_ratio":
            values = given["value_millis_by_pod"].values()
            average = trunc_div(sum(values), len(values))
            assert average == expect["current_usage_millis"]
            assert average / given["target_usage_millis"] == pytest.approx(expect["usage_ratio"], **close)
        case unknown:
            pytest.fail(f"unknown function {unknown}")
