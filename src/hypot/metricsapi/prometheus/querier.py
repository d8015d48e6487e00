"""Asks a Prometheus for the values of all rules that take them from there, again and again."""

import asyncio
from collections import Counter
from collections.abc import Callable, Coroutine
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple

import aiohttp
import msgspec
import structlog

from hypot.cluster.clock import boot
from hypot.cluster.named_server import ServerFileError, has_more_parts
from hypot.cluster.prometheus import PrometheusApi, PrometheusError, VectorAnswer, VectorSeries, read_answer
from hypot.cluster.time_slice import TimeSlice
from hypot.metricsapi.ages import Ages
from hypot.metricsapi.plan import RulePlan
from hypot.metricsapi.prometheus.promql import labels_of_pods, query_of
from hypot.metricsapi.prometheus.samples import Named, Parts, PodFault, PodFaultError, QueryTime, by_pod, take
from hypot.metricsapi.served_pods import ServedPod
from hypot.metricsapi.targets import ScrapeTargets
from hypot.metricsapi.task_pool import TaskPool

log = structlog.get_logger()
# How many queries of a rule begin per period, and how many run at once.
PER_PERIOD, MOST_QUERIES = 4, 4
ANSWER_WITHIN = 10.0
# How many series are read before other tasks may have their turn.
AT_ONCE = 200
# About 180,000 series, or one counter of 45,000 pods. Four answers at once fit into the memory of the pod.
LARGEST_ANSWER = 24 << 20
MOST_SERIES = 200_000
# The objects and texts of one series: itself and its labels; three names and values, their two keys, and the value.
_OBJECTS, _TEXTS = 2, 9
_decoder = msgspec.json.Decoder(VectorAnswer)

QueryFault = Literal["connection", "credentials", "status", "timeout", "too-large", "body"]


class QueryError(Exception):
    """A query that gave nothing."""

    def __init__(self, fault: QueryFault, message: str) -> None:
        super().__init__(message)
        self.fault: QueryFault = fault


class PodTrouble(NamedTuple):
    """A pod of which an answer says nothing, or nothing of one of its metrics, and why."""

    pod: ServedPod
    trouble: str


@dataclass(slots=True)
class QueryCounts:
    """What happened so far."""

    queries: int = 0
    # Of queries, and of single pods.
    faults: Counter[QueryFault | PodFault] = field(default_factory=Counter)
    rejected: Counter[str] = field(default_factory=Counter)
    # The sum of the seconds that successful queries took.
    seconds: float = 0.0


@dataclass(slots=True)
class _Turn:
    """When a rule is due, and how many of its queries in a row failed, or left out pods."""

    due: float = float("-inf")
    running: bool = False
    troubles: int = 0


class Querier:
    """Sends one query per rule, whatever the number of its pods."""

    def __init__(
        self,
        targets: ScrapeTargets,
        api: PrometheusApi | None,
        period: float = 60.0,
        ages: Ages | None = None,
        clock: Callable[[], float] = boot,
        active: Callable[[], bool] = lambda: True,
        counts: QueryCounts | None = None,
    ) -> None:
        """No query begins while it is not `active`. Without an API, no rule may need one."""
        self.targets, self.ages, self.period = targets, ages or Ages(), period
        self.counts = counts or QueryCounts()
        self._api, self._clock, self._active = api, clock, active
        self._turns = {rule.name: _Turn() for rule in targets.plan.rules if rule.prometheus is not None}
        self._rules = [rule for rule in targets.plan.rules if rule.prometheus is not None]

    async def run(self) -> None:
        """Run until it is cancelled."""
        await TaskPool(self._following, MOST_QUERIES, "query failed").run()

    def _following(self) -> Coroutine[Any, Any, None] | None:
        """The query of the rule that has been due for longest."""
        now = self._clock()
        due = [one for one in self._rules if self._turns[one.name].due <= now] if self._active() else []
        for rule in sorted(due, key=lambda rule: self._turns[rule.name].due):
            turn = self._turns[rule.name]
            if not turn.running and self.targets.has(rule.name):
                turn.running, turn.due = True, now + self.period / PER_PERIOD
                return self.query(rule)
        return None

    async def query(self, rule: RulePlan) -> None:
        """One query. If it fails, all pods of the rule are faulty, else those that it says nothing about."""
        began, turn = self._clock(), self._turns[rule.name]
        try:
            series = await self._asked(rule)
            self.counts.seconds += self._clock() - began
            troubles = await self._taken(rule, series, began)
        except QueryError as error:
            self.counts.faults[error.fault] += 1
            faulty = self.targets.all_of_rule(rule.name)
            for target in faulty:
                target.failed(str(error))
            troubles = [PodTrouble(target.pod, target.trouble) for target in faulty]
        finally:
            self.counts.queries += 1
            turn.running = False
        self._report(rule, turn, troubles)

    async def _taken(self, rule: RulePlan, series: list[VectorSeries], began: float) -> list[PodTrouble]:
        """The samples of each pod; returns the pods of which something is missing."""
        found: dict[Named, Parts] = {}
        troubles, part, labels = list[PodTrouble](), TimeSlice(), labels_of_pods(rule)
        time = QueryTime(began, series[0].value[0] if series else 0.0)
        for start in range(0, len(series), AT_ONCE):
            by_pod(series[start : start + AT_ONCE], labels, found)
            if part.is_due():
                await part.take()
        for target in self.targets.all_of_rule(rule.name):
            if part.is_due():
                await part.take()
            parts = found.get((target.pod.namespace, target.pod.name), {})
            try:
                answer = take(target, parts, time, self.ages.least_gap)
                faults = answer.faults
                self.counts.rejected.update(answer.rejected)
            except PodFaultError as error:
                faults = [error]
                target.failed(str(error))
            self.counts.faults.update([each.fault for each in faults])
            troubles += [PodTrouble(target.pod, str(faults[0]))] if faults else []
        return troubles

    async def _asked(self, rule: RulePlan) -> list[VectorSeries]:
        if self._api is None:
            raise QueryError("connection", "no Prometheus is configured")
        source = rule.prometheus
        window = self.period if source is None or source.window is None else source.window
        try:
            async with asyncio.timeout(ANSWER_WITHIN):
                status, body = await self._api.ask("query", {"query": query_of(rule, window)}, LARGEST_ANSWER)
        except TimeoutError:
            raise QueryError("timeout", f"Prometheus did not answer within {ANSWER_WITHIN:.0f} s") from None
        except PrometheusError as error:
            raise QueryError("too-large", str(error)) from error
        except ServerFileError as error:
            raise QueryError("credentials", str(error)) from error
        except (aiohttp.ClientError, OSError, ValueError) as error:
            raise QueryError("connection", str(error)[:200] or type(error).__name__) from error
        return _series(status, body)

    def _report(self, rule: RulePlan, turn: _Turn, pods: list[PodTrouble]) -> None:
        """At 1, 2, 4, 8 … queries in a row: a Prometheus that never answers must not fill the log."""
        turn.troubles = turn.troubles + 1 if pods else 0
        if pods and turn.troubles & (turn.troubles - 1) == 0:
            pod, trouble = pods[0]
            one = {"namespace": pod.namespace, "pod": pod.name, "error": trouble}
            log.warning("query without values of pods", rule=rule.name, pods=len(pods), in_a_row=turn.troubles, **one)


def _series(status: int, body: bytes) -> list[VectorSeries]:
    if has_more_parts(body, _OBJECTS * MOST_SERIES, _TEXTS * MOST_SERIES):
        raise QueryError("too-large", f"the answer has more than {MOST_SERIES:,} series")
    try:
        read = read_answer(_decoder, status, body)
    except PrometheusError as error:
        raise QueryError("status" if status != 200 else "body", str(error)) from error
    if read.data is None:
        raise QueryError("body", f"it answers {status} without data")
    return read.data.result
