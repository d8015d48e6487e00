"""One set of rules at work: the watch of its pods, their scrapes or queries, and the values that are served."""

import asyncio
from collections.abc import Callable
from typing import NamedTuple

import aiohttp

from hypot.cluster.port import Port
from hypot.cluster.prometheus import PrometheusApi
from hypot.metricsapi.config import MetricsConfig
from hypot.metricsapi.costs.learner import CostLearner
from hypot.metricsapi.plan import ScrapePlan
from hypot.metricsapi.prometheus.querier import Querier, QueryCounts
from hypot.metricsapi.scrape.scraper import ScrapeCounts, Scraper
from hypot.metricsapi.scrape.secrets import Secrets
from hypot.metricsapi.serve.values import ServedValues
from hypot.metricsapi.served_pods import PodAddresses
from hypot.metricsapi.targets import ScrapeTarget
from hypot.metricsapi.watch import PodWatch


class Collected(NamedTuple):
    """What happened so far, also by former rules."""

    scrapes: ScrapeCounts
    queries: QueryCounts


class Collector:
    """Collects while it runs; scrapes and asks Prometheus only while it is `active`."""

    def __init__(
        self,
        port: Port,
        plan: ScrapePlan,
        session: aiohttp.ClientSession,
        secrets: Secrets,
        prometheus: PrometheusApi | None,
        config: MetricsConfig,
        active: Callable[[], bool],
        counts: Collected,
    ) -> None:
        self.plan = plan
        self.watch = PodWatch(port, plan, PodAddresses(config.pod_networks), self._add)
        self.targets = self.watch.targets
        self.costs = CostLearner(plan, config.scrape_period, config.ages)
        self.scraper = Scraper(
            self.targets,
            session,
            secrets,
            config.scrape_period,
            config.ages,
            active=active,
            counts=counts.scrapes,
            costs=self.costs,
        )
        self.querier = Querier(
            self.targets, prometheus, config.scrape_period, config.ages, active=active, counts=counts.queries
        )
        self.values = ServedValues(self.targets, config.ages)

    @property
    def awaited(self) -> str:
        """What has not been listed yet; empty if everything has."""
        return self.watch.awaited

    def _add(self, new: list[ScrapeTarget]) -> None:
        self.scraper.schedule.add([target for target in new if target.url is not None])

    async def run(self) -> None:
        await asyncio.gather(self.watch.run(), self.scraper.run(), self.querier.run())

    def adopt(self, former: "Collector") -> None:
        """Take over what former rules sampled and learned, so that a change of rules leaves no gap."""
        self.costs.adopt(former.costs)
        for target in self.targets:
            known = former.targets.of_rule(target.rule.name, target.pod.namespace).get(target.pod.name)
            if known is not None:
                target.adopt(known)
