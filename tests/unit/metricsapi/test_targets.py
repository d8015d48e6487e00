"""Targets: which pods, by which address, with which values."""

from types import SimpleNamespace

import pytest
from structlog.testing import capture_logs

from hypot.metricsapi.ages import Ages
from hypot.metricsapi.costs.learner import CostLearner
from hypot.metricsapi.own_metrics import ServerState, exposition
from hypot.metricsapi.served_pods import PodAddresses
from hypot.metricsapi.watch import PodWatch
from unit.metricsapi.pods_world import (
    AHEAD,
    DEPTH,
    NAMESPACE,
    RATE,
    add,
    only,
    plan_with,
    pod,
    rule,
    scraped,
    targets_of,
)

AGES = Ages()
KEY = (NAMESPACE, "web-0")


def target_with(*samples, metrics=(RATE,)):
    target = only(targets_of(rule("web", *metrics), pods=[pod()]))
    reasons = [target.sampled(scraped(at, *totals), AGES) for at, *totals in samples]
    return target, reasons


def served(target, now, i=0):
    found = target.value(i, now, AGES)
    return None if found is None else (found.milli, found.at - AHEAD, found.window)


def test_requests_of_a_minute():
    """0 and 27,000 requests in 60 s are 450 per second."""
    target, reasons = target_with((0, 0), (60, 27_000))
    assert served(target, 61) == (450_000, 60, 60)
    assert reasons == [[], []]


def test_two_scrapes_before_the_first_value():
    target, _ = target_with()
    assert served(target, 0) is None
    target.sampled(scraped(0, 5), AGES)
    assert served(target, 0) is None
    assert not target.is_complete(0, AGES)
    target.sampled(scraped(60, 65), AGES)
    assert served(target, 60) == (1000, 60, 60)
    assert target.is_complete(60, AGES)


@pytest.mark.parametrize(("now", "is_served"), [(60, True), (150, True), (150.001, False), (1000, False)])
def test_the_age_of_a_value(now, is_served):
    """Of exactly 90 s it is served, older not at all."""
    target, _ = target_with((0, 0, 7), (60, 60, 7), metrics=(RATE, DEPTH))
    assert [served(target, now, i) is not None for i in (0, 1)] == [is_served] * 2
    assert target.expires(0, AGES) == target.expires(1, AGES) == 150


@pytest.mark.parametrize(
    ("samples", "reasons", "value"),
    [
        # A restart.
        ([(0, 900), (60, 1000), (120, 5)], [[], [], ["reset"]], None),
        ([(0, 900), (60, 1000), (120, 5), (180, 65)], [[], [], ["reset"], []], (1000, 180, 60)),
        ([(0, 900), (5, 0)], [[], ["reset"]], None),
        # Too close to the last one.
        ([(0, 0), (9, 90)], [[], ["too-soon"]], None),
        ([(0, 0), (60, 60), (69, 600)], [[], [], ["too-soon"]], (1000, 60, 60)),
        ([(0, 0), (10, 90)], [[], []], (9000, 10, 10)),
        # Too far apart.
        ([(0, 0), (600, 600)], [[], []], (1000, 600, 600)),
        ([(0, 0), (601, 600)], [[], []], None),
        # Nothing happens.
        ([(0, 7), (60, 7)], [[], []], (0, 60, 60)),
    ],
)
def test_samples(samples, reasons, value):
    """What they say, and why some do not count."""
    target, found = target_with(*samples)
    assert found == reasons
    assert served(target, samples[-1][0]) == value


NOTHING, EMPTY = None, "declared, without a line"


@pytest.mark.parametrize(
    ("totals", "value"),
    [
        # No request yet: 0, as soon as the program says that it will count.
        ([EMPTY, EMPTY], 0),
        ([EMPTY, 600], 10_000),
        ([EMPTY, EMPTY, 60], 1000),
        # A program that says nothing before its first request has no value; the first two scrapes with a line give one.
        ([NOTHING, NOTHING], None),
        ([NOTHING, 600], None),
        ([NOTHING, 600, 660], 1000),
        # It restarted, and has not counted again: neither negative, nor 0 requests of the process before.
        ([900, 960, EMPTY], None),
        ([900, 960, NOTHING], None),
        ([900, 960, EMPTY, EMPTY], None),
        ([900, 960, EMPTY, EMPTY, 60], 1000),
        ([900, 960, NOTHING, NOTHING, EMPTY, 60], 1000),
        # It disappears from a process: what comes back is compared with nothing before, and never with 0.
        ([900, 960, EMPTY, 1020], None),
        ([900, 960, NOTHING, 1020], None),
        ([900, 960, EMPTY, 1020, 1080], 1000),
        ([900, 960, NOTHING, 1020, 1080], 1000),
        ([0, 0, NOTHING, 60], None),
    ],
)
def test_a_counter_without_lines(totals, value):
    """Never too low, never too high, and no fault."""
    target, _ = target_with()
    for i, total in enumerate(totals):
        found = scraped(60 * i, None if total is EMPTY else total)
        target.sampled(found._replace(declared=frozenset([0] if total is EMPTY else [])), AGES)
        assert target.missing == (("requests_total",) if total is NOTHING else ())
    found = target.value(0, 60 * (len(totals) - 1), AGES)
    assert (found and found.milli) == value
    assert target.faults == 0


def test_a_metric_that_is_missing_costs_only_itself():
    target, _ = target_with((0, 0, 7), (60, 60, None), metrics=(RATE, DEPTH))
    assert (served(target, 60), served(target, 60, 1)) == ((1000, 60, 60), None)
    assert (target.missing, target.is_complete(60, AGES)) == (("depth",), False)
    target.sampled(scraped(120, 120, 8), AGES)
    assert (served(target, 120, 1), target.missing) == ((8000, 120, 0), ())


def test_a_gauge_without_lines_has_no_value():
    """Its zero would be a value, unlike that of a counter."""
    target, _ = target_with(metrics=(DEPTH,))
    target.sampled(scraped(0, None)._replace(declared=frozenset([0])), AGES)
    assert served(target, 0) is None


def test_readiness_changes_no_answer():
    """A pod that flaps must not have its lists made again."""
    targets = targets_of(pods=[pod()])
    target, before = only(targets), targets.generation("web", NAMESPACE)
    add(targets, pod(ready=AHEAD))
    assert (target.pod.ready, targets.generation("web", NAMESPACE)) == (AHEAD, before)


def test_a_gauge():
    """One scrape is enough, and it may fall, also below zero."""
    target, _ = target_with((0, 7.5), metrics=(DEPTH,))
    assert served(target, 1) == (7500, 0, 0)
    assert target.sampled(scraped(60, -2), AGES) == []
    assert served(target, 61) == (-2000, 60, 0)


def test_large_values():
    """A counter may count nanoseconds; a value that no reader can take is not served."""
    target, _ = target_with((0, 9e17, 1e15), (60, 9e17 + 6e10, 1.1e15), metrics=(RATE, DEPTH))
    assert served(target, 60) == (10**12, 60, 60)
    assert served(target, 60, 1) is None
    target.sampled(scraped(120, 9e17 + 6e10, 1e15), AGES)
    assert served(target, 120, 1) == (10**18, 120, 0)


def test_a_target_without_samples():
    target, _ = target_with()
    assert target.expires(0, AGES) == float("-inf")


def test_a_success_ends_the_faults():
    target, _ = target_with()
    target.faults, target.trouble = 7, "it answers 500"
    target.sampled(scraped(0, 1), AGES)
    assert (target.faults, target.trouble) == (0, "")


def test_another_pod_of_the_same_name():
    """Its counter starts at zero, so samples of the former pod do not count."""
    targets = targets_of(pods=[pod()])
    former = only(targets)
    former.sampled(scraped(0, 0), AGES)
    assert len(add(targets, pod(uid="other"))) == 1
    assert former.gone
    assert only(targets).samples == []
    assert targets.of_rule("web", NAMESPACE)["web-0"] is only(targets)


@pytest.mark.parametrize(
    ("changes", "url"),
    [
        ({"labels": {"app": "web", "version": "2"}}, "http://10.0.0.1:8080/metrics"),
        ({"address": "10.0.0.2"}, "http://10.0.0.2:8080/metrics"),
    ],
)
def test_a_pod_that_changes_keeps_its_samples(changes, url):
    targets = targets_of(pods=[pod()])
    target, before = only(targets), targets.generation("web", NAMESPACE)
    target.sampled(scraped(0, 0), AGES)
    target.made["kept"] = (90.0, b"{}")
    assert add(targets, pod(**changes)) == []
    assert only(targets) is target
    assert target.samples[0].new.value == 0
    assert (target.pod, str(target.url), target.made) == (pod(**changes), url, {})
    assert targets.generation("web", NAMESPACE) > before


@pytest.mark.parametrize("after", [None, pod(labels={"app": "other"}), pod(labels={})])
def test_a_pod_that_goes(after):
    """It is deleted, or no rule chooses it any more."""
    targets = targets_of(pods=[pod(), pod("web-1")])
    gone = targets.of_rule("web", NAMESPACE)["web-0"]
    targets.update(KEY, after, None)
    assert gone.gone
    assert [each.pod.name for each in targets] == ["web-1"]
    targets.update((NAMESPACE, "web-1"), None, None)
    assert (len(targets), list(targets.namespaces("web")), dict(targets.of_rule("web", NAMESPACE))) == (0, [], {})


def test_several_rules_for_one_pod():
    """Each has a target of its own, and one may go without the other."""
    both = rule("a", namespaces={"selector": {"matchLabels": {"team": "a"}}}), rule("b")
    targets = targets_of(*both)
    assert [each.rule.name for each in add(targets, pod(), {"team": "a"})] == ["a", "b"]
    kept = targets.of_rule("b", NAMESPACE)["web-0"]
    assert add(targets, pod(), {"team": "b"}) == []
    assert only(targets) is kept


@pytest.mark.parametrize(
    ("scrape", "url"),
    [
        ({"port": 9102}, "http://10.0.0.1:9102/metrics"),
        ({"port": "stats", "path": "/stats/all"}, "http://10.0.0.1:9102/stats/all"),
        ({"port": 443, "scheme": "https"}, "https://10.0.0.1/metrics"),
        ({"port": 1, "parameters": {"name": ["a", "b&c"]}}, "http://10.0.0.1:1/metrics?name=a&name=b%26c"),
    ],
)
def test_addresses(scrape, url):
    targets = targets_of(rule(scrape=scrape), pods=[pod(ports={"stats": 9102})])
    assert str(only(targets).url) == url


def test_an_ipv6_address():
    assert str(only(targets_of(pods=[pod(address="fd00::1")])).url) == "http://[fd00::1]:8080/metrics"


def test_a_rule_without_scrapes():
    """Its pods need neither a port nor an address, and they do not count for the pace of scrapes."""
    both = rule("a", scrape=None, prometheus={}), rule("b")
    targets = targets_of(*both, pods=[pod(address=""), pod("web-1")])
    assert [(each.rule.name, each.pod.name, each.url is None) for each in targets] == [
        ("a", "web-0", True),
        ("a", "web-1", True),
        ("b", "web-1", False),
    ]
    assert (len(targets), targets.scraped, targets.has("a"), targets.unreachable) == (
        3,
        1,
        True,
        {KEY: {"b": "address"}},
    )
    targets.update((NAMESPACE, "web-1"), None, None)
    assert (targets.scraped, targets.has("b")) == (0, False)
    assert [each.pod.name for each in targets.all_of_rule("a")] == ["web-0"]


@pytest.mark.parametrize(("changed", "adopted"), [({}, True), ({"podLabel": "name"}, False)])
def test_samples_after_a_change_of_rules(changed, adopted):
    """They stay only if they come from the same series."""
    former, new = (only(targets_of(rule(scrape=None, prometheus=one), pods=[pod()])) for one in ({}, changed))
    former.sampled(scraped(0, 5), AGES)
    new.adopt(former)
    assert bool(new.samples) is adopted


def test_a_pod_without_the_port():
    """That is reported until the pod has it, or is gone."""
    targets = targets_of(rule(scrape={"port": "http"}), pods=[pod()])
    assert targets.unreachable == {KEY: {"web": "port"}}
    assert len(targets) == 0
    add(targets, pod(ports={"http": 80}))
    assert (len(targets), targets.unreachable) == (1, {})
    add(targets, pod())
    targets.update(KEY, None, None)
    assert targets.unreachable == {}


def test_pods_that_cannot_be_scraped_are_logged_a_few_times():
    """A wrong name of a port is wrong for all of them."""
    plan = plan_with(rule("a", scrape={"port": "http"}), rule("b"))
    watch = PodWatch(None, plan, PodAddresses(), list)
    with capture_logs() as logs:
        for i in range(9):
            for _ in range(2):
                watch._changed((NAMESPACE, f"web-{i}"), pod(f"web-{i}"))
        watch._changed((NAMESPACE, "web-9"), pod("web-9", address="", ports={"http": 80}))
    assert [(each["rule"], each["times"]) for each in logs] == [
        *[("a", times) for times in (1, 2, 4, 8)],
        ("a", 1),
        ("b", 1),
    ]
    state = ServerState(
        0.0, AGES, collector=SimpleNamespace(plan=plan, targets=watch.targets, costs=CostLearner(plan, 60.0, AGES))
    )
    lines = [line for line in b"".join(exposition(state)).decode().splitlines() if "unreachable{" in line]
    assert lines == [
        'hypot_metrics_pods_unreachable{rule="a",reason="address"} 1',
        'hypot_metrics_pods_unreachable{rule="a",reason="port"} 9',
        'hypot_metrics_pods_unreachable{rule="b",reason="address"} 1',
    ]
