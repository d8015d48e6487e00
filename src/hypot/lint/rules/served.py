"""Rules for MetricRules, the file of the metrics server, and for autoscalers that read what it serves."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from hypot.core.similar import similar
from hypot.kinds.autoscaler.rules import METRICS
from hypot.kinds.meta import MetricName
from hypot.kinds.metric_rules import MetricRules
from hypot.kinds.metric_rules.fields import MetricRule
from hypot.kinds.metric_rules.read import problems_of, words
from hypot.kinds.selector import Selector, SelectorError, read_selector
from hypot.kinds.values.names import group_of
from hypot.lint.input.item import Item
from hypot.lint.input.world import AnyAutoscaler, InputWorld, metrics_of
from hypot.lint.rule import AUTOSCALER_ONLY, MEASURING, Hit, RuleFamily

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
        for problem in problems_of(MetricRules.from_dict(dict(item.data)), item.data):
            yield Hit(item, problem.where, words(problem))


@SERVED.rule(
    "metric-not-served",
    "warning",
    title="A metric that no rule of the metrics server serves",
    why="The metrics server answers 404 or an empty list, so no autoscaler scales by it. A rule "
    "must choose the pods of the target, and an External metric needs `external: true`. A metric of pods has no "
    "labels, so a selector that requires some matches nothing. Only one server of a cluster serves custom metrics; "
    "with `forwardTo` it asks another one for what no rule serves.",
    fix="write a name that a rule serves, or let a rule serve it for these pods",
    example="no rule serves hit in the namespace shop; did you mean hits?",
    kinds=(*MEASURING, *AUTOSCALER_ONLY),
)
def metric_not_served(world: InputWorld) -> Iterator[Hit]:
    rules = [rule for item in _items(world) for rule in MetricRules.from_dict(dict(item.data)).readable().rules or ()]
    for one in world.workload_autoscalers if rules else ():
        for key, asked in (("requests", one.spec.requests_metric), ("late", one.spec.late_metric)):
            found = () if asked is None else _of_pods(world, one, _here(rules, one), asked)
            yield from [Hit(one.item, (*METRICS, key, *at), text) for at, text in found]
    for hpa in world.hpa_sources if rules else ():
        here = _here(rules, hpa)
        for where, metric in metrics_of(hpa):
            if metric.pods is not None and metric.pods.metric is not None:
                found = _of_pods(world, hpa, here, metric.pods.metric)
                yield from [Hit(hpa.item, (*where, "pods", "metric", *at), text) for at, text in found]
            if metric.external is not None and metric.external.metric is not None:
                name = metric.external.metric.name or ""
                if text := _external(hpa.item.namespace, rules, here, name):
                    yield Hit(hpa.item, (*where, "external", "metric", "name"), text)


def _here(rules: Sequence[MetricRule], one: AnyAutoscaler) -> list[MetricRule]:
    """The rules for the namespace of an autoscaler."""
    return [rule for rule in rules if rule.namespaces is None or rule.namespaces.may_choose(one.item.namespace)]


def _of_pods(
    world: InputWorld, one: AnyAutoscaler, here: Sequence[MetricRule], metric: MetricName
) -> Iterator[tuple[tuple[str, ...], str]]:
    """What is wrong with a metric of pods, and where in it."""
    name = metric.name or ""
    serving = [rule for rule in here if name in _names(rule)]
    if name and not serving:
        yield ("name",), f"no rule serves {name} in the namespace {one.item.namespace}{_near(name, here)}"
    target = world.target_of(one)
    if serving and target is not None and target.template is not None:
        labels = target.template.labels
        if not any(_chooses(rule, labels) for rule in serving):
            rules = " and ".join(str(rule.name) for rule in serving[:3])
            yield ("name",), f"the pods of {target.key} are not chosen by {rules}, which alone serves {name}"
    if serving and not _selector(metric.selector).matches({}):
        yield ("selector",), f"{name} has no labels of its own, so this selector matches nothing; remove it"


def _external(namespace: str, rules: Sequence[MetricRule], here: Sequence[MetricRule], name: str) -> str:
    """What is wrong with an external metric. Without a rule for any, another server has that API."""
    served = {each for rule in here for metric in rule.metrics or () if metric.external for each in metric.names or ()}
    if not name or name in served:
        return ""
    if any(name in _names(rule) for rule in here):
        return f"{name} is served for pods only; write external: true into its rule, or ask for a Pods metric"
    if any(metric.external for rule in rules for metric in rule.metrics or ()):
        return f"no rule serves {name} as an external metric in the namespace {namespace}"
    return ""


def _near(name: str, here: Sequence[MetricRule]) -> str:
    near = similar(name, sorted({each for rule in here for each in _names(rule)}), 1, 0.7)
    return f"; did you mean {near[0]}?" if near else ""


def _names(rule: MetricRule) -> set[str]:
    return {name for metric in rule.metrics or () for name in metric.names or ()}


def _chooses(rule: MetricRule, labels: Mapping[str, str]) -> bool:
    return _selector(rule.pods).matches(labels)


def _selector(written: Any) -> Selector:
    """An invalid one is reported elsewhere, so it chooses everything here."""
    try:
        return read_selector(written)
    except SelectorError:
        return Selector()


def _items(world: InputWorld) -> list[Item]:
    return world.of_kind(group_of(MetricRules.API_VERSION), MetricRules.KIND)
