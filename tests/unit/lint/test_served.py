"""Metrics that the metrics server serves, by namespace."""

import pytest

from hypot.lint import check
from unit.lint.lint_cases import autoscaler, external, hpa, metric_rules, pods, workload


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


def said(*objects):
    return [one.message for one in check(*objects).findings if one.rule == "metric-not-served"]


def with_metric(metric, **more):
    """The HPA with this metric, whose identifier also has these fields."""
    [block] = [value for value in metric.values() if isinstance(value, dict)]
    block["metric"] |= more
    return hpa(metrics=[metric])


def external_rules(*, is_external, namespaces=None):
    found = metric_rules(namespaces)
    found["spec"]["rules"][0]["metrics"][0]["external"] = is_external
    return found


def test_a_rule_for_other_pods():
    """It serves a metric of that name, but not for the pods that are scaled."""
    other = metric_rules()
    other["spec"]["rules"][0]["pods"] = {"matchLabels": {"app": "api"}}
    asking = hpa(metrics=[pods(name="hits")])
    assert said(other, asking, workload()) == [
        "the pods of Deployment shop/web are not chosen by web, which alone serves hits"
    ]
    # The pods are not known without their workload, and one rule that chooses them is enough.
    assert said(other, asking) == []
    assert said({**other, "metadata": {"name": "other"}}, metric_rules(), asking, workload()) == []


@pytest.mark.parametrize(
    ("selector", "is_empty"),
    [
        (None, False),
        ({}, False),
        ({"matchLabels": {"verb": "GET"}}, True),
        ({"matchExpressions": [{"key": "verb", "operator": "Exists"}]}, True),
        ({"matchExpressions": [{"key": "verb", "operator": "NotIn", "values": ["GET"]}]}, False),
    ],
)
def test_a_selector_of_a_metric_without_labels(selector, is_empty):
    asked = with_metric(pods(name="hits"), **({} if selector is None else {"selector": selector}))
    expected = ["hits has no labels of its own, so this selector matches nothing; remove it"] if is_empty else []
    assert said(metric_rules(), asked, workload()) == expected


@pytest.mark.parametrize(
    ("is_external", "namespaces", "name", "message"),
    [
        (True, None, "hits", ""),
        (False, None, "hits", "hits is served for pods only; write external: true into its rule"),
        (True, None, "queue", "no rule serves queue as an external metric in the namespace shop"),
        (True, {"names": ["bank"]}, "hits", "no rule serves hits as an external metric in the namespace shop"),
        # Then another server has that API.
        (False, None, "queue", ""),
    ],
)
def test_external_metrics(is_external, namespaces, name, message):
    rules = external_rules(is_external=is_external, namespaces=namespaces)
    found = said(rules, hpa(metrics=[external(name)]), workload())
    assert [one[: len(message)] for one in found] == ([message] if message else [])


def test_metrics_of_an_autoscaler():
    """It names metrics of its pods."""
    asking = autoscaler(metrics={"requests": {"name": "hits"}, "late": {"name": "lte"}})
    assert said(metric_rules(), asking, workload()) == ["no rule serves lte in the namespace shop"]
    assert said(metric_rules(), autoscaler(), workload()) == []
