"""Metrics that the metrics server serves, by namespace."""

import pytest

from hypot.lint import check
from unit.lint.lint_cases import hpa, metric_rules, pods, workload


@pytest.mark.parametrize(
    ("namespaces", "served"),
    [
        (None, True),
        ({"names": ["shop"]}, True),
        ({"names": ["bank"]}, False),
        ({"prefix": "sh"}, True),
        ({"prefix": "b"}, False),
        ({"selector": {"matchLabels": {"team": "a"}}}, True),
    ],
)
def test_a_rule_serves_where_it_may_choose_the_namespace(namespaces, served):
    """Labels of namespaces are not known here."""
    found = check(metric_rules(namespaces), hpa(metrics=[pods(name="hits")]), workload())
    assert [one.rule for one in found.findings] == ([] if served else ["metric-not-served"])


def test_without_rules_nothing_is_known():
    """Another server may serve it."""
    found = check(hpa(metrics=[pods(name="anything")]), workload())
    assert "metric-not-served" not in {one.rule for one in found.findings}
