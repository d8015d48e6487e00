"""Rules for MetricRules, the file of the metrics server, and for autoscalers that read what it serves."""

from collections.abc import Iterator
from difflib import get_close_matches

from hypot.kinds.metric_rules import MetricRules
from hypot.kinds.metric_rules.fields import MetricRule
from hypot.kinds.metric_rules.read import words
from hypot.kinds.names import group_of
from hypot.lint.input.item import Item
from hypot.lint.input.world import InputWorld, metrics_of
from hypot.lint.rule import MEASURING, Hit, RuleFamily

SERVED = RuleFamily("Metrics server", "The rules of `hypot metrics`, and the metrics that they serve.")


@SERVED.rule(
    "metric-rules",
    "error",
    title="MetricRules that the metrics server refuses",
    why="`hypot metrics` does not start with such a file; a server that runs keeps the last valid rules.",
    fix="correct the file; docs/metrics-api.md has the fields",
    example="spec.rules[0].scrape.pth: unknown field; did you mean path?",
    kinds=(MetricRules.KIND,),
)
def metric_rules(world: InputWorld) -> Iterator[Hit]:
    for item in _items(world):
        for problem in MetricRules.from_dict(dict(item.data)).problems():
            yield Hit(item, problem.where, words(problem))


@SERVED.rule(
    "metric-not-served",
    "warning",
    title="A Pods metric that no rule of the metrics server serves",
    why="The metrics server answers 404, so the HorizontalPodAutoscaler does not scale by it. Only one server of a "
    "cluster serves custom metrics; with `forwardTo` it asks another one for what no rule serves.",
    fix="write a name that a rule serves, or let a rule serve it in this namespace",
    example="no rule serves hit in the namespace shop; did you mean hits?",
    kinds=MEASURING,
)
def metric_not_served(world: InputWorld) -> Iterator[Hit]:
    rules = [rule for item in _items(world) for rule in MetricRules.from_dict(dict(item.data)).readable().rules or ()]
    if not rules:
        return
    for hpa in world.hpa_sources:
        served = _served(rules, hpa.item.namespace)
        for where, metric in metrics_of(hpa):
            name = metric.pods.metric.name if metric.pods is not None and metric.pods.metric is not None else None
            if name and name not in served:
                near = get_close_matches(name, sorted(served), 1, 0.7)
                hint = f"; did you mean {near[0]}?" if near else ""
                message = f"no rule serves {name} in the namespace {hpa.item.namespace}{hint}"
                yield Hit(hpa.item, (*where, "pods", "metric", "name"), message)


def _items(world: InputWorld) -> list[Item]:
    return world.of_kind(group_of(MetricRules.API_VERSION), MetricRules.KIND)


def _served(rules: list[MetricRule], namespace: str) -> set[str]:
    """The names that are served for pods of this namespace; its labels are not known here."""
    return {
        name
        for rule in rules
        if rule.namespaces is None or rule.namespaces.may_choose(namespace)
        for metric in rule.metrics or ()
        for name in metric.names or ()
    }
