"""Scrapes all targets, again and again."""

import math
from collections import Counter
from collections.abc import Callable, Coroutine
from dataclasses import dataclass, field
from typing import Any

import aiohttp
import structlog

from hypot.cluster.clock import boot, wall
from hypot.cluster.time_slice import SharedSlice
from hypot.metricsapi.ages import Ages
from hypot.metricsapi.costs.learner import CostLearner
from hypot.metricsapi.scrape.fetch import ScrapeError, ScrapeRequest, fetch
from hypot.metricsapi.scrape.schedule import Schedule
from hypot.metricsapi.scrape.secrets import Secrets
from hypot.metricsapi.served_pods import ServedPod
from hypot.metricsapi.targets import ScrapeTarget, ScrapeTargets
from hypot.metricsapi.task_pool import TaskPool

log = structlog.get_logger()
MOST_SCRAPES = 50
LARGEST_BODY = 20 * 2**20
# A pod that does not listen is expected to soon, until it has been ready for so many periods. At most so many periods
# are between two scrapes until then.
STARTING_PERIODS, STARTING_PAUSE = 10, 2.0


@dataclass(slots=True)
class ScrapeCounts:
    """What happened so far."""

    scrapes: int = 0
    faults: Counter[str] = field(default_factory=Counter)
    rejected: Counter[str] = field(default_factory=Counter)
    bytes: int = 0
    # The sum of the seconds that successful scrapes took.
    seconds: float = 0.0


class Scraper:
    """Scrapes the targets as the schedule says, some at the same time."""

    def __init__(
        self,
        targets: ScrapeTargets,
        session: aiohttp.ClientSession,
        secrets: Secrets,
        period: float = 60.0,
        ages: Ages | None = None,
        largest: int = LARGEST_BODY,
        clock: Callable[[], float] = boot,
        active: Callable[[], bool] = lambda: True,
        counts: ScrapeCounts | None = None,
        costs: CostLearner | None = None,
    ) -> None:
        """No scrape begins while it is not `active`. `costs` learns from each scrape."""
        self.targets, self.ages, self.period = targets, ages or Ages(), period
        self.counts = counts or ScrapeCounts()
        self.costs = costs or CostLearner(targets.plan, period, self.ages)
        self.schedule = Schedule(period, lambda: targets.scraped)
        self._session, self._secrets, self._largest = session, secrets, largest
        self._clock, self._active = clock, active
        self._shared = SharedSlice()
        # How often a metric of each rule was found missing.
        self._missed: Counter[str] = Counter()

    async def run(self) -> None:
        """Run until it is cancelled."""
        await TaskPool(self._following, MOST_SCRAPES, "scrape failed").run()

    def _following(self) -> Coroutine[Any, Any, None] | None:
        target = self.schedule.next(self._clock()) if self._active() else None
        return None if target is None else self.scrape(target)

    async def scrape(self, target: ScrapeTarget) -> None:
        """One scrape. What fails is the target's own trouble."""
        began = self._clock()
        try:
            await self._scraped(target)
            self.counts.seconds += self._clock() - began
        except ScrapeError as error:
            self._failed(target, error)
        finally:
            self.counts.scrapes += 1
            if not target.gone:
                self.schedule.add([target])

    async def _scraped(self, target: ScrapeTarget) -> None:
        scrape, pod, url = target.rule.scrape, target.pod, target.url
        if url is None:
            return
        access = await self._secrets.access(pod.namespace, scrape.scheme or "", scrape.credentials)
        asked = ScrapeRequest(
            url,
            target.rule.wanted,
            access.headers,
            access.tls,
            scrape.server_name or "",
            self.costs.counts(target.rule),
        )
        scraped = await fetch(self._session, asked, self.period / 2, self._largest, self._shared)
        self.counts.bytes += scraped.size
        # The pod may have been replaced in the meantime.
        if target.pod.uid == pod.uid:
            before = target.missing
            self.counts.rejected.update(target.sampled(scraped, self.ages))
            if target.missing and target.missing != before:
                self._say_missing(target)
            self.costs.scraped(target, scraped)

    def _starts(self, pod: ServedPod) -> bool:
        return not pod.ready or wall() - pod.ready < STARTING_PERIODS * self.period

    def _say_missing(self, target: ScrapeTarget) -> None:
        """A pod may have no line of a counter before its first request, so this is no fault. Not each pod is logged."""
        self._missed[target.rule.name] += 1
        times = self._missed[target.rule.name]
        if times & (times - 1) == 0:
            log.warning(
                "metrics missing",
                rule=target.rule.name,
                namespace=target.pod.namespace,
                pod=target.pod.name,
                metrics=list(target.missing),
                times=times,
            )

    def _failed(self, target: ScrapeTarget, error: ScrapeError) -> None:
        starts = error.fault == "connection" and self._starts(target.pod)
        target.failed(str(error), STARTING_PAUSE if starts else math.inf)
        self.counts.faults[error.fault] += 1
        if error.unauthorized:
            self._secrets.forget(target.pod.namespace)
        # At 1, 2, 4, 8 … faults in a row: a pod that never answers must not fill the log.
        if target.faults & (target.faults - 1) == 0:
            log.warning(
                "scrape failed",
                rule=target.rule.name,
                namespace=target.pod.namespace,
                pod=target.pod.name,
                faults=target.faults,
                error=str(error),
            )
