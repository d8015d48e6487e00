"""Plans what is tried on each history: the workload behind it, what it has today, and in which world."""

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from hypot.cli.pair.manifests import by_rate, served_name, written
from hypot.cli.pair.subject import PairSubject
from hypot.cli.recommend.prices import NodePrices
from hypot.cli.recommend.workloads import UnknownWorkloadError, Workloads
from hypot.cli.replay.comparing import Covering
from hypot.kinds.catalogue import Autoscaler
from hypot.policy.model.settings import Settings
from hypot.replay.advice.advice import WorkloadPlan
from hypot.replay.advice.calibration import calibration, demand_is_requests, numbers_of, world_for
from hypot.replay.advice.candidates import RIGHT_SIZED, candidates
from hypot.replay.advice.today import today_of
from hypot.replay.engine.used_numbers import TRACES, UsedNumber
from hypot.replay.jobs.job_queue import TraceJobs
from hypot.replay.policies.policy import PolicyError
from hypot.replay.traces.trace import Trace, span
from hypot.replay.world.file import WorldFile
from hypot.replay.world.units import sections

# The counter behind the rate of a pair, as `hypot pair` takes it.
COUNTER = "http_requests_total"
# Shorter histories say nothing.
SHORTEST = 3600.0


class PlannedWorkload(NamedTuple):
    """A workload that is tried, with what `hypot pair` needs to write a pair for it."""

    plan: WorkloadPlan
    pair: PairSubject
    numbers: tuple[UsedNumber, ...]


class Left(NamedTuple):
    """A history that is not tried, and why."""

    workload: str
    why: str


class Planner:
    """Plans as histories come, so that they need not all be in memory."""

    def __init__(self, workloads: Workloads, given: WorldFile, prices: NodePrices, settings: Settings) -> None:
        self._workloads, self._given, self._prices, self._settings = workloads, given, prices, settings
        self.planned: list[PlannedWorkload] = []
        self.left: list[Left] = []

    def jobs(self, traces: Iterable[Trace], *, alone: bool) -> Iterator[TraceJobs]:
        for trace in traces:
            try:
                planned = self._plan(trace, alone=alone)
            except (UnknownWorkloadError, PolicyError) as error:
                self.left.append(Left(trace.workload, str(error)))
                continue
            self.planned.append(planned)
            yield TraceJobs(trace, planned.plan.policies, planned.plan.world)

    def assumed(self) -> list[UsedNumber]:
        """The numbers that are assumed for any of them, in the order of the world's documentation."""
        numbers = (one for planned in self.planned for one in planned.numbers if one.origin == "default")
        found = {(one.key, str(one.value)): one for one in numbers}
        order = [TRACES, *(part.name for part in sections())]
        return sorted(found.values(), key=lambda one: order.index(one.section))

    def covering(self) -> list[Covering]:
        """One of each choice: its variants are replayed alike."""
        found = list[Covering]()
        for one in self.planned:
            plan = one.plan
            first = [plan.today, *(some[0] for some in plan.candidates.families.values())]
            found += [Covering(f"{each.name} of {plan.subject.target}", each, plan.world) for each in first]
        return found

    def _plan(self, trace: Trace, *, alone: bool) -> PlannedWorkload:
        lasts = float(trace.times[-1] - trace.times[0])
        if lasts < SHORTEST:
            raise UnknownWorkloadError(f"{span(lasts)} of history, and at least {span(SHORTEST)} are needed")
        if float(trace.values.max()) <= 0.0:
            raise UnknownWorkloadError("there is no demand in its history, so nothing can be compared")
        found = self._workloads.find(trace.workload, alone=alone)
        subject = found.subject
        price = self._prices.of(subject.workload)
        given = world_for(trace, self._given, {served_name(COUNTER): "requests"}, price)
        today, why = today_of(subject, given.world, self._settings)

        def pair_of(rate: str) -> tuple[Autoscaler, ...]:
            pair = written(found.pair, by_rate(COUNTER, rate))
            return pair.hpa, pair.vpa

        tried = candidates(subject, today, trace, given.world, pair_of)
        # A request that is tried is a choice, and not what is assumed of the workload.
        used = numbers_of(trace, given, [today, *tried.policies])
        numbers = tuple([one for one in used if one.policies != (RIGHT_SIZED,)])
        is_unknown = subject.workload is None and not subject.active
        requests = demand_is_requests(trace, given.world)
        known = calibration(numbers, given, price)
        notes = (*found.notes, *today.notes)
        plan = WorkloadPlan(subject, today, why, tried, given.world, is_unknown, requests, known, notes)
        return PlannedWorkload(plan, found.pair, numbers)
