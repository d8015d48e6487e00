"""The pods to measure, and what is known of each: its last samples, and how its scrapes or queries went."""

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from yarl import URL

from hypot.core.scraping.rate import Counter, CounterSample
from hypot.kinds.metric_values import MetricValue
from hypot.metricsapi.ages import Ages
from hypot.metricsapi.body.request_classes import ScrapedRequests
from hypot.metricsapi.body.totals import Scraped
from hypot.metricsapi.plan import RulePlan, ScrapePlan
from hypot.metricsapi.served_pods import ServedPod

Named = tuple[str, str]
# Why a pod has no target: it has no port of the name in the rule, or no address that may be scraped.
Unreachable = Literal["port", "address"]
# The largest value that readers of Kubernetes take, in milli-units: theirs are numbers of 64 bits.
LARGEST_MILLI = 10**18


@dataclass(slots=True, eq=False)
class ScrapeTarget:
    """A pod and a rule that chooses it."""

    rule: RulePlan
    pod: ServedPod
    # Where it is scraped; None if its values come from a Prometheus.
    url: URL | None
    # The last two samples of each wanted metric.
    samples: list[Counter] = field(default_factory=list)
    # When requests by class were counted last, and the counts; None if the last scrape had none that can be used.
    counted: tuple[float, ScrapedRequests] | None = None
    # When its last scrape began; None before the first one.
    began: float | None = None
    # How many scrapes failed since the last one that did not, and why the last one did.
    faults: int = 0
    trouble: str = ""
    # How many periods may be between two scrapes, however many failed.
    longest_pause: float = math.inf
    # The metrics that were not there at the last scrape or query; the others were.
    missing: tuple[str, ...] = ()
    # What was made of the last samples to answer requests.
    made: dict[Any, Any] = field(default_factory=dict)
    # Changes with whatever an answer is made of.
    revision: int = 0
    gone: bool = False

    def renew(self) -> None:
        """Forget what was made of it: something has changed."""
        self.revision += 1
        self.made.clear()

    def sampled(self, scraped: Scraped, ages: Ages) -> list[str]:
        """Take the samples of a scrape. Returns why some of them do not count."""
        rejected, after, missing = [], [], []
        for i, (served, counter) in enumerate(zip(self.rule.served, self.known, strict=True)):
            total = scraped.totals[i]
            if total is None and i not in scraped.declared:
                missing.append(self.rule.wanted[i].name)
            if total is None and served.is_counter and i in scraped.declared and not _has_counted(counter):
                # A program that has not counted yet often has no line either.
                total = 0.0
            if total is None:
                # The next line may be of another process, so it is not compared with one before the gap.
                after.append(Counter())
                continue
            sample = CounterSample(scraped.at, scraped.wall, total)
            if not served.is_counter:
                after.append(Counter(None, sample))
                continue
            taken = counter.sampled(sample, ages.least_gap)
            if taken is counter:
                rejected.append("too-soon")
            elif counter.new is not None and taken.old is None:
                rejected.append("reset")
            after.append(taken)
        self.take(after, tuple(dict.fromkeys(missing)))
        return rejected

    @property
    def known(self) -> list[Counter]:
        """The last two samples of each wanted metric, also if there are none."""
        return self.samples or [Counter()] * len(self.rule.wanted)

    def take(self, samples: list[Counter], missing: tuple[str, ...] = ()) -> None:
        """Take these samples of a scrape or a query that did not fail. It may say nothing of some metrics."""
        self.faults, self.trouble, self.missing = 0, "", missing
        self.samples = samples
        self.renew()

    def failed(self, trouble: str, longest_pause: float = math.inf) -> None:
        """A scrape or a query gave nothing. The samples stay until they are too old."""
        self.faults += 1
        self.trouble, self.longest_pause = trouble, longest_pause

    def value(self, i: int, now: float, ages: Ages) -> MetricValue | None:
        """The value of its metric number `i`; None if there is none, or if it is too old."""
        if not self.samples:
            return None
        counter = self.samples[i]
        if self.rule.served[i].is_counter:
            rate = counter.rate(now, ages.longest_gap, ages.oldest)
            found = None if rate is None else MetricValue(rate.milli, rate.wall, rate.window)
        elif counter.new is None or now - counter.new.at > ages.oldest:
            found = None
        else:
            found = MetricValue(round(counter.new.value * 1000), counter.new.wall, 0.0)
        return found if found is not None and abs(found.milli) <= LARGEST_MILLI else None

    def expires(self, i: int, ages: Ages) -> float:
        """Until when its value number `i` is served, if no other sample follows."""
        new = self.samples[i].new if self.samples else None
        return float("-inf") if new is None else new.at + ages.oldest

    def adopt(self, former: "ScrapeTarget") -> None:
        """Take over the samples of the same pod from a target of former rules, if they mean the same."""
        same_source = former.url == self.url and former.rule.prometheus == self.rule.prometheus
        if former.pod.uid == self.pod.uid and former.rule.wanted == self.rule.wanted and same_source:
            self.samples = former.samples
            self.renew()
            self.counted = former.counted if former.rule.learned == self.rule.learned else None

    def is_complete(self, now: float, ages: Ages) -> bool:
        """Whether all its metrics have a value."""
        return all(self.value(i, now, ages) is not None for i in range(len(self.rule.served)))


def _has_counted(counter: Counter) -> bool:
    return counter.new is not None and counter.new.value != 0


class ScrapeTargets:
    """All targets."""

    def __init__(self, plan: ScrapePlan) -> None:
        self.plan = plan
        self._by_pod: dict[Named, tuple[ScrapeTarget, ...]] = {}
        # For each rule: its targets by namespace and pod.
        self._by_rule: dict[str, dict[str, dict[str, ScrapeTarget]]] = {rule.name: {} for rule in plan.rules}
        # For each rule and namespace: the number of the last change of its targets.
        self._generations: dict[Named, int] = {}
        self._changes = 0
        self._count = self._scraped = 0
        # Pods that a rule chooses and that cannot be scraped: the rule, and why.
        self.unreachable: dict[Named, dict[str, Unreachable]] = {}

    def __iter__(self) -> Iterator[ScrapeTarget]:
        return (target for several in self._by_pod.values() for target in several)

    @property
    def scraped(self) -> int:
        """How many targets are scraped; the others are asked of a Prometheus."""
        return self._scraped

    def __len__(self) -> int:
        return self._count

    def of_rule(self, rule: str, namespace: str) -> Mapping[str, ScrapeTarget]:
        return self._by_rule.get(rule, {}).get(namespace, {})

    def generation(self, rule: str, namespace: str) -> int:
        """Another number whenever a target of the rule has come to the namespace, gone from it, or got other labels."""
        return self._generations.get((rule, namespace), 0)

    def has(self, rule: str) -> bool:
        """Whether a rule has any target."""
        return bool(self._by_rule.get(rule))

    def all_of_rule(self, rule: str) -> list[ScrapeTarget]:
        return [target for pods in self._by_rule.get(rule, {}).values() for target in pods.values()]

    def namespaces(self, rule: str) -> Iterator[str]:
        return iter(self._by_rule.get(rule, {}))

    def update(
        self, key: Named, pod: ServedPod | None, namespace_labels: Mapping[str, str] | None
    ) -> list[ScrapeTarget]:
        """Take the newest state of a pod; None if it is gone. Returns the targets that are new.

        A pod of the same name with another uid is another pod. A changed label or address keeps the samples.
        """
        before = {target.rule.name: target for target in self._by_pod.pop(key, ())}
        self.unreachable.pop(key, None)
        kept, new = [], []
        for rule, url in [] if pod is None else self._choosing(pod, namespace_labels):
            known = before.get(rule.name)
            if known is not None and pod is not None and known.pod.uid == pod.uid:
                del before[rule.name]
                self._update(known, pod, url)
                kept.append(known)
            elif pod is not None:
                new.append(ScrapeTarget(rule, pod, url))
        self._count += len(new) - len(before)
        for target in before.values():
            target.gone = True
            self._scraped -= target.url is not None
            self._forget(target)
        for target in new:
            self._scraped += target.url is not None
            self._by_rule[target.rule.name].setdefault(key[0], {})[key[1]] = target
            self._changed(target)
        if kept or new:
            self._by_pod[key] = (*kept, *new)
        return new

    def _update(self, target: ScrapeTarget, pod: ServedPod, url: URL | None) -> None:
        """Most events of a pod change nothing here."""
        same = target.pod._replace(ready=pod.ready) == pod and target.url == url
        target.pod, target.url = pod, url
        if not same:
            target.renew()
            self._changed(target)

    def _changed(self, target: ScrapeTarget) -> None:
        self._changes += 1
        self._generations[target.rule.name, target.pod.namespace] = self._changes

    def _choosing(self, pod: ServedPod, labels: Mapping[str, str] | None) -> Iterator[tuple[RulePlan, URL | None]]:
        """The rules that choose a pod, and the address by which each scrapes it, if it does."""
        for rule in self.plan.rules:
            if not rule.chooses_namespace(pod.namespace, labels) or not rule.pods.matches(pod.labels):
                continue
            if rule.prometheus is not None:
                yield rule, None
                continue
            url = _url(rule, pod) if pod.address else None
            if url is None:
                why = self.unreachable.setdefault((pod.namespace, pod.name), {})
                why[rule.name] = "port" if pod.address else "address"
            else:
                yield rule, url

    def _forget(self, target: ScrapeTarget) -> None:
        by_namespace = self._by_rule[target.rule.name]
        pods = by_namespace.get(target.pod.namespace, {})
        if pods.get(target.pod.name) is not target:
            return
        del pods[target.pod.name]
        self._changed(target)
        if not pods:
            del by_namespace[target.pod.namespace]
            del self._generations[target.rule.name, target.pod.namespace]


def _url(rule: RulePlan, pod: ServedPod) -> URL | None:
    scrape = rule.scrape
    port = scrape.port if isinstance(scrape.port, int) else pod.ports.get(scrape.port or "")
    if port is None:
        return None
    query = [(key, text) for key, texts in (scrape.parameters or {}).items() for text in texts]
    return URL.build(
        scheme=scrape.scheme or "http", host=pod.address, port=port, path=scrape.path or "/metrics", query=query
    )
