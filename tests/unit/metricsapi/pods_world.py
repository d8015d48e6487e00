"""Rules, pods and samples for the tests of the metrics server."""

from hypot.kinds.metric_rules.read import rules_of
from hypot.metricsapi.body.totals import Scraped
from hypot.metricsapi.plan import plan_of
from hypot.metricsapi.served_pods import ServedPod
from hypot.metricsapi.targets import ScrapeTargets

# What the wall clock shows when the other clock shows 0.
AHEAD = 1_800_000_000.0
NAMESPACE = "shop"
RATE = {"counter": "requests_total", "names": ["requests_per_second"]}
DEPTH = {"gauge": "depth", "names": ["queue"], "external": True}
APP = {"matchLabels": {"app": "web"}}


def rule(name="web", *metrics, **changes):
    """A rule as in a file. `metrics` are a counter by default."""
    found = {"name": name, "pods": APP, "scrape": {"port": 8080}, "metrics": list(metrics or [RATE]), **changes}
    return {key: value for key, value in found.items() if value is not None}


def plan_with(*rules):
    head = {"apiVersion": "metrics.hypot.dev/v1alpha1", "kind": "MetricRules", "metadata": {"name": "test"}}
    return plan_of([rules_of({**head, "spec": {"rules": list(rules or [rule()])}})])


def pod(name="web-0", **changes):
    found = ServedPod(NAMESPACE, name, f"uid-{name}", {"app": "web"}, "10.0.0.1", {})
    return found._replace(**changes)


def targets_of(*rules, pods=()):
    """All targets of these rules and pods."""
    targets = ScrapeTargets(plan_with(*rules))
    for one in pods:
        add(targets, one)
    return targets


def add(targets, one, labels=None):
    return targets.update((one.namespace, one.name), one, labels)


def only(targets):
    (target,) = targets
    return target


def scraped(at, *totals):
    return Scraped(at, at + AHEAD, list(totals), 0)
