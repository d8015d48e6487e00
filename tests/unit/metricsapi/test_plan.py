"""What rules choose, and what they serve."""

import pytest

from hypot.kinds.metric_rules import GARDENER
from hypot.kinds.metric_rules.read import rules_of
from hypot.kinds.selector import Selector
from hypot.metricsapi.body.totals import Wanted
from hypot.metricsapi.plan import ServedValue, plan_of
from unit.metricsapi.pods_world import DEPTH, RATE, plan_with, rule


def test_the_preset():
    (one,) = plan_of([rules_of(GARDENER)]).rules
    assert one.wanted == (Wanted("apiserver_request_total"),)
    names = ("shoot:apiserver_request_total:rate", "shoot:apiserver_request_total:sum")
    assert one.served == (ServedValue(names, is_counter=True, external=False),)
    assert one.uses_secrets


def test_counters_and_gauges():
    (one,) = plan_with(rule("web", RATE, DEPTH)).rules
    assert [each.name for each in one.wanted] == ["requests_total", "depth"]
    assert [(each.is_counter, each.external) for each in one.served] == [(True, False), (False, True)]
    assert not one.uses_secrets


TEAM = {"matchLabels": {"team": "a"}}


@pytest.mark.parametrize(
    ("namespaces", "name", "labels", "chosen"),
    [
        (None, "shop", None, True),
        ({"names": ["shop"]}, "shop", None, True),
        ({"names": ["shop"]}, "shop-2", None, False),
        ({"prefix": "shoot-"}, "shoot--a", None, True),
        ({"prefix": "shoot-"}, "a-shoot-", None, False),
        ({"selector": TEAM}, "shop", {"team": "a"}, True),
        ({"selector": TEAM}, "shop", {"team": "b"}, False),
        # Its labels are not known.
        ({"selector": TEAM}, "shop", None, False),
        # All of them must match.
        ({"names": ["shop"], "prefix": "sh", "selector": TEAM}, "shop", {"team": "a"}, True),
        ({"names": ["shop"], "prefix": "x", "selector": TEAM}, "shop", {"team": "a"}, False),
    ],
)
def test_namespaces(namespaces, name, labels, chosen):
    (one,) = plan_with(rule(namespaces=namespaces)).rules
    assert one.chooses_namespace(name, labels) is chosen
    assert one.needs_namespaces is bool(namespaces and "selector" in namespaces)


@pytest.mark.parametrize(
    ("rules", "watched"),
    [
        ([rule(namespaces={"names": ["b", "a"]}), rule("c", namespaces={"names": ["b", "c"]})], ("a", "b", "c")),
        ([rule(namespaces={"names": ["b"]}), rule("c", namespaces={"prefix": "a"})], ()),
        ([rule()], ()),
    ],
)
def test_what_is_watched(rules, watched):
    """Single namespaces only if every rule names its own."""
    assert plan_with(*rules).watched() == watched


@pytest.mark.parametrize(
    ("credentials", "uses"),
    [
        ({"token": {"name": "a", "key": "b"}}, True),
        ({"ca": {"name": "a", "key": "b"}}, True),
        ({"certificate": {"name": "a"}}, True),
        ({"serviceAccount": True}, False),
        ({}, False),
    ],
)
def test_who_reads_secrets(credentials, uses):
    """The rights of the metrics server follow from it."""
    (one,) = plan_with(rule(scrape={"port": 443, "scheme": "https", "credentials": credentials})).rules
    assert one.uses_secrets is uses


def test_several_files():
    """Their rules follow each other. Without a selector, lines of all labels count."""
    plan = plan_of([rules_of(GARDENER), rules_of(GARDENER)])
    assert [one.name for one in plan.rules] == ["shoot-apiserver"] * 2
    assert plan.rules[0].wanted[0].where == Selector()
