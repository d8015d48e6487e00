"""Learns what a request of each class costs, and notices when the cost of a workload changes."""

from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from math import inf
from typing import NamedTuple

import structlog

from hypot.core.scraping.cost_change import CostChange, CostWatch
from hypot.core.scraping.request_cost import CostFit, CostSums, fitted
from hypot.metricsapi.ages import Ages
from hypot.metricsapi.body.request_classes import RequestClasses, RequestCounts, ScrapedRequests
from hypot.metricsapi.body.totals import Scraped
from hypot.metricsapi.plan import LearnPlan, RulePlan, ScrapePlan
from hypot.metricsapi.served_pods import PodOwner, ServedPod
from hypot.metricsapi.targets import ScrapeTarget

log = structlog.get_logger()
# The half-life of recent costs: this many seconds, or this many scrapes if they are seldom.
RECENT_SECONDS, RECENT_SCRAPES = 300.0, 5
# A row whose mix is that new is learned, but not compared: nothing is known of what it should cost.
NEW_MIX = 0.5
MOST_WORKLOADS = 5000
# No pod uses more cores: such a row is wrong, and would drown all others.
MOST_CORES = 1024.0
# Suggested weights are logged when one of them changed by this factor, and at most once in a half-life.
LOGGED_CHANGE = 1.25
# A workload that was not seen for so many half-lives is forgotten.
FORGOTTEN_AFTER = 6.0
# Changes that wait to be reported.
MOST_CHANGES = 1000


class WorkloadChange(NamedTuple):
    """The cost of a request of this workload changed."""

    rule: str
    workload: PodOwner
    change: CostChange


class RuleCosts:
    """What is learned by one rule, of all its pods."""

    def __init__(self, rule: RulePlan, plan: LearnPlan, period: float, ages: Ages) -> None:
        self.rule, self.plan = rule, plan
        self.classes = RequestClasses(plan.by, rule.wanted[plan.metric].where)
        self.fit = CostFit()
        self.workloads: dict[PodOwner, CostWatch] = {}
        self.changes: deque[WorkloadChange] = deque(maxlen=MOST_CHANGES)
        self._sums = CostSums(plan.half_life)
        self._period, self._ages = period, ages
        self._recent = min(max(RECENT_SECONDS, RECENT_SCRAPES * period), plan.half_life / 2)
        self._fitted_at: float | None = None
        self._says_missing = True
        self._logged: dict[str, float] = {}
        self._logged_at = -inf

    def counts(self) -> RequestCounts:
        """Counts a body by the classes of this rule."""
        return RequestCounts(self.classes, self.plan.metric, self.plan.cpu)

    def scraped(self, target: ScrapeTarget, scraped: Scraped) -> None:
        """Learn from the difference to the last scrape of this pod, if nothing restarted in between."""
        if scraped.requests is None:
            target.counted = None
            self._say_missing(target.pod)
            return
        before = target.counted
        if before is not None and scraped.at - before[0] < self._ages.least_gap:
            return
        target.counted = (scraped.at, scraped.requests)
        if before is None or scraped.at - before[0] > self._ages.longest_gap:
            return
        row, cpu = row_of(scraped.at - before[0], before[1], scraped.requests), scraped.requests.cpu - before[1].cpu
        if row is not None and cpu <= MOST_CORES * row[0]:
            self.observed(scraped.at, target.pod, row, cpu)

    def _say_missing(self, pod: ServedPod) -> None:
        if self._says_missing:
            self._says_missing = False
            log.warning(
                "no cost is learned of a pod",
                rule=self.rule.name,
                namespace=pod.namespace,
                pod=pod.name,
                todo=f"expose {self.plan.cpu}, or name another counter of cpu seconds in learnCost.cpu",
            )

    def observed(self, at: float, pod: ServedPod, row: Sequence[float], cpu: float) -> None:
        """Take one row: the seconds, and the requests of each class."""
        self._fit(at)
        if not self.fit.suffices:
            self._sums.add(at, row, cpu)
            return
        watch = self._watch(pod)
        if self.fit.leverage(row) >= NEW_MIX:
            if watch.changed is None:
                self._sums.add(at, row, cpu)
            return
        change = watch.observed(at, row[0], cpu, self.fit.expected(row))
        if watch.is_calm:
            self._sums.add(at, row, cpu)
        if change is not None:
            self.changes.append(WorkloadChange(self.rule.name, workload_of(pod), change))

    def _watch(self, pod: ServedPod) -> CostWatch:
        workload = workload_of(pod)
        watch = self.workloads.get(workload)
        if watch is None:
            watch = CostWatch(self._recent, self.plan.half_life, self.plan.change_factor)
            if len(self.workloads) < MOST_WORKLOADS:
                self.workloads[workload] = watch
        return watch

    def _fit(self, at: float) -> None:
        """Fit again once in a period, and forget workloads that are gone."""
        if self._fitted_at is not None and at - self._fitted_at < self._period / 2:
            return
        self._fitted_at = at
        self.fit = fitted(self._sums, at)
        long_ago = at - FORGOTTEN_AFTER * self.plan.half_life
        for workload in [each for each, watch in self.workloads.items() if watch.last < long_ago]:
            del self.workloads[workload]
        self._log_weights(at)

    def weights(self) -> dict[str, float]:
        """The weight of each class whose cost is known."""
        pairs = zip(self.classes.names, self.fit.weights(), strict=False)
        return {name: weight for name, weight in pairs if weight is not None}

    def _log_weights(self, at: float) -> None:
        weights = self.weights()
        if at - self._logged_at < self.plan.half_life or not _differ(self._logged, weights):
            return
        self._logged, self._logged_at = weights, at
        log.info("other weights suggested", rule=self.rule.name, classes=len(weights), todo="`hypot metrics suggest`")

    def changed(self) -> Iterator[tuple[PodOwner, CostWatch]]:
        """The workloads whose cost is not the usual one."""
        return ((workload, watch) for workload, watch in self.workloads.items() if watch.changed is not None)


def workload_of(pod: ServedPod) -> PodOwner:
    return pod.owner or PodOwner("v1", "Pod", pod.namespace, pod.name, pod.uid)


def _differ(known: Mapping[str, float], new: Mapping[str, float]) -> bool:
    """Whether there is a new class, or a weight that changed much; small weights hardly matter."""
    pairs = [(known.get(name), weight) for name, weight in new.items()]
    return any(
        old is None or max(old, weight, 0.1) > LOGGED_CHANGE * max(min(old, weight), 0.1) for old, weight in pairs
    )


def row_of(seconds: float, before: ScrapedRequests, now: ScrapedRequests) -> list[float] | None:
    """The seconds and the increase of each class; None if a counter decreased, because its process restarted."""
    earlier = [*before.requests, *[0.0] * (len(now.requests) - len(before.requests))]
    later = [*now.requests, *[0.0] * (len(earlier) - len(now.requests))]
    increases = [new - old for old, new in zip(earlier, later, strict=True)]
    if now.cpu < before.cpu or any(each < 0 for each in increases):
        return None
    return [seconds, *increases]


class CostLearner:
    """All rules that learn."""

    def __init__(self, plan: ScrapePlan, period: float, ages: Ages) -> None:
        self._rules = {
            rule.name: RuleCosts(rule, rule.learned, period, ages) for rule in plan.rules if rule.learned is not None
        }

    def __iter__(self) -> Iterator[RuleCosts]:
        return iter(self._rules.values())

    def of_rule(self, name: str) -> RuleCosts | None:
        return self._rules.get(name)

    def counts(self, rule: RulePlan) -> RequestCounts | None:
        """Counts a body of this rule, if it learns."""
        costs = self._rules.get(rule.name)
        return None if costs is None else costs.counts()

    def scraped(self, target: ScrapeTarget, scraped: Scraped) -> None:
        costs = self._rules.get(target.rule.name)
        if costs is not None:
            costs.scraped(target, scraped)

    def take_changes(self) -> Iterable[WorkloadChange]:
        """The changes that nobody took yet."""
        for costs in self:
            while costs.changes:
                yield costs.changes.popleft()

    def adopt(self, former: "CostLearner") -> None:
        """Keep what former rules learned, where they mean the same."""
        for name, costs in self._rules.items():
            known = former.of_rule(name)
            if known is not None and known.rule.wanted == costs.rule.wanted and known.plan == costs.plan:
                self._rules[name] = known
