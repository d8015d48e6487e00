"""The metrics server: samples, scrapes, answers, and what an HPA reads of them, case by case."""

import pytest

from conformance.harness import each_case
from conformance.metricsapi import reading, samples, scraping, serving

CHECKS = {**samples.CHECKS, **scraping.CHECKS, **serving.CHECKS, **reading.CHECKS}


@each_case("custom_metrics.json")
def test_custom_metrics(case):
    """Each function of the peers, done by ours, gives the expected result."""
    given, expect = case["given"], case["expect"]
    check = CHECKS.get(given["kind"])
    if check is None:
        pytest.fail(f"unknown kind {given['kind']}")
    check(given, expect)
