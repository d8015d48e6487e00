"""Rules, ready for use: which pods they choose, and what is served of each."""

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from hypot.kinds.metric_rules import MetricRules
from hypot.kinds.metric_rules.fields import FromPrometheus, LearnCost, MetricRule, RuleNamespaces, Scrape, ServedMetric
from hypot.kinds.selector import Selector, read_selector
from hypot.metricsapi.body.totals import Wanted, wanted_of


class ServedValue(NamedTuple):
    """What is served of a wanted metric, and how."""

    names: tuple[str, ...]
    is_counter: bool
    external: bool


class LearnPlan(NamedTuple):
    """What is learned of the cost of requests: of which wanted metric, by which labels, against which cpu."""

    metric: int
    by: tuple[str, ...]
    cpu: str = "process_cpu_seconds_total"
    half_life: float = 3600.0
    change_factor: float = 1.5


class RulePlan(NamedTuple):
    """One rule."""

    name: str
    names: frozenset[str]
    by_name: RuleNamespaces
    namespaces: Selector
    pods: Selector
    scrape: Scrape
    wanted: tuple[Wanted, ...]
    served: tuple[ServedValue, ...]
    # Which series of a Prometheus are meant, if its values do not come from scrapes.
    prometheus: FromPrometheus | None = None
    learned: LearnPlan | None = None

    def chooses_namespace(self, name: str, labels: Mapping[str, str] | None) -> bool:
        """Whether pods of a namespace are measured; its labels are None if they are not known."""
        if not self.by_name.may_choose(name):
            return False
        return not self.namespaces.requirements or (labels is not None and self.namespaces.matches(labels))

    @property
    def needs_namespaces(self) -> bool:
        return bool(self.namespaces.requirements)

    @property
    def uses_secrets(self) -> bool:
        credentials = self.scrape.credentials
        return credentials is not None and any((credentials.token, credentials.ca, credentials.certificate))


class ScrapePlan(NamedTuple):
    """All rules. If a pod is chosen by two that serve the same name, the first one counts for that name."""

    rules: tuple[RulePlan, ...]

    def watched(self) -> tuple[str, ...]:
        """The namespaces to watch, if all rules name them; else none, which means all."""
        if not all(rule.names for rule in self.rules):
            return ()
        return tuple(sorted(frozenset[str]().union(*(rule.names for rule in self.rules))))


def plan_of(several: Iterable[MetricRules]) -> ScrapePlan:
    return ScrapePlan(tuple([_rule_plan(rule) for rules in several for rule in rules.rules or ()]))


def _rule_plan(rule: MetricRule) -> RulePlan:
    namespaces = rule.namespaces or RuleNamespaces()
    metrics = rule.metrics or ()
    served = [ServedValue(tuple(one.names or ()), one.counter is not None, bool(one.external)) for one in metrics]
    return RulePlan(
        rule.name or "",
        frozenset(namespaces.names or ()),
        namespaces,
        read_selector(namespaces.selector),
        read_selector(rule.pods),
        rule.scrape or Scrape(),
        tuple([wanted_of(one) for one in metrics]),
        tuple(served),
        rule.prometheus,
        next((_learned(i, one) for i, one in enumerate(metrics) if one.learn_cost is not None), None),
    )


def _learned(metric: int, served: ServedMetric) -> LearnPlan:
    learn = served.learn_cost or LearnCost()
    usual = LearnPlan(metric, tuple(learn.by or ()))
    return usual._replace(
        cpu=learn.cpu or usual.cpu,
        half_life=float(learn.half_life or usual.half_life),
        change_factor=float(learn.change_factor or usual.change_factor),
    )
