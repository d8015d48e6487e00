"""Policies side by side on one workload: each is replayed, scored, and compared with the static peak."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import NamedTuple

from hypot.kinds.base import count_of
from hypot.kinds.hpa import HPA
from hypot.policy.model.settings import Settings
from hypot.replay.engine.deciders import NEVER
from hypot.replay.engine.demand import Load, led_in, load_of, ticks_of
from hypot.replay.engine.engine import replay
from hypot.replay.policies.policy import STATIC_PEAK, Policy
from hypot.replay.score.families import prices_at, speedup
from hypot.replay.score.needed import Needed, cost_of_sums, needed, static_peak
from hypot.replay.score.ranking import front, keeps_slo, point_of
from hypot.replay.score.scorecard import Scores
from hypot.replay.score.scores import ScoreError, account_of, judge, judge_briefly, part, window_borders
from hypot.replay.score.sums import sums_of
from hypot.replay.score.tally import Account
from hypot.replay.traces.trace import Trace
from hypot.replay.world.parameters import Span, World
from hypot.replay.world.record import NO_TICKS, Run

# The policy that elastic speedup is measured against: an HPA on cpu alone with this target.
BASELINE_TARGET = 70


class ReplayJob(NamedTuple):
    """One policy on one workload, as it is handed to a worker."""

    policy: Policy
    trace: Trace
    world: World
    settings: Settings
    explained: Span = NEVER
    # Whether the run itself is wanted, or only its scores.
    keep: bool = True
    # Whether the compiled engine may run it.
    compiled: bool = False
    # Whether only quality, cost and price are wanted of the windows and of the tuning part.
    brief: bool = False


class Scored(NamedTuple):
    """The result of a job: scores over everything that counts, over each window, and over the tuning part."""

    policy: str
    workload: str
    scores: Scores
    windows: tuple[Scores, ...]
    tuning: Scores | None
    # The price at a tenth of the penalty for late requests, at the penalty, and at ten times the penalty.
    prices: tuple[float, ...]
    # The static peak, which is the same for all policies on one trace.
    static: Scores
    notes: tuple[str, ...]
    # Only if they are wanted: the run, and what was needed tick by tick.
    run: Run | None = None
    needed: Needed | None = None


class Course(NamedTuple):
    """The course of a job: the account of the scored ticks, the run, and the function that accounts for parts of it."""

    account: Account
    # Without ticks if nothing needs them.
    run: Run
    account_of: Callable[[Run, Needed], Account]


def do(job: ReplayJob, progress: Callable[[int], None] | None = None) -> Scored:
    """Replay and score; reports progress in ticks since the last report."""
    scoring, world = job.world.scoring, job.world
    load = led_in(load_of(job.trace, world), world)
    lead, last = load.lead, len(load.work)
    first = min(lead + first_judged(last - lead, world), last)
    need = needed_from(job, load, first, last)
    course = _course(job, load, first, need, progress)
    tuning = _part_score(job, course, load, lead, first) if scoring.tune and first > lead else None
    borders = window_borders(last - first, scoring.windows) if scoring.windows > 1 else []
    return Scored(
        job.policy.name,
        job.trace.workload,
        judge(course.account, world, need),
        tuple([_part_score(job, course, load, first + start, first + end) for start, end in pairwise(borders)]),
        tuning,
        prices_at(sums_of(course.account, world), world),
        _static_scores(need, world),
        course.run.notes,
        _cut(job, course.run, lead, last) if job.keep else None,
        need if job.keep else None,
    )


def _course(job: ReplayJob, load: Load, first: int, need: Needed, progress: Callable[[int], None] | None) -> Course:
    """Uses the compiled engine if allowed and possible; both give the same rows. Asking first would take as long."""
    from hypot.replay.fleet.records import NotCoveredError  # noqa: PLC0415  only where it is used

    if job.compiled:
        with suppress(NotCoveredError, ModuleNotFoundError):
            course = _compiled_course(job, load, first, need)
            if progress is not None:
                progress(len(load.work))
            return course
    run = replay(job.policy, job.trace.workload, load, job.world, job.settings, job.explained, progress)
    return Course(account_of(_cut(job, run, first, len(load.work)), need), run, account_of)


def _compiled_course(job: ReplayJob, load: Load, first: int, need: Needed) -> Course:
    from hypot.replay.fleet import fleet  # noqa: PLC0415  numba, which a worker elsewhere may not have

    scoring, given = job.world.scoring, (job.policy, job.trace.workload, load, job.world, job.settings)
    if not job.keep and not scoring.tune and scoring.windows <= 1:
        return Course(fleet.account(*given, first, need), _unseen(job), fleet.account_of)
    run = fleet.replay(*given)
    return Course(fleet.account_of(_cut(job, run, first, len(load.work)), need), run, fleet.account_of)


def _unseen(job: ReplayJob) -> Run:
    return Run(job.policy.name, job.trace.workload, job.world, NO_TICKS, notes=job.policy.notes)


def _part_score(job: ReplayJob, course: Course, load: Load, first: int, last: int) -> Scores:
    """The scores of the ticks from `first` to `last`, exclusive."""
    need = needed_from(job, load, first, last)
    account = course.account_of(_cut(job, course.run, first, last), need)
    return judge_briefly(account, job.world) if job.brief else judge(account, job.world, need)


def _cut(job: ReplayJob, run: Run, first: int, last: int) -> Run:
    """The ticks of a run from `first` to `last`, exclusive."""
    if first == 0 and last == len(run.ticks.at):
        return run
    tick = job.world.tick
    return part(run, run.ticks.at[0] + (first - 0.5) * tick, run.ticks.at[0] + (last - 0.5) * tick)


def needed_from(job: ReplayJob, load: Load, first: int, last: int) -> Needed:
    """What these ticks need. Memory comes from the trace, or is estimated."""
    held = None if job.trace.memory is None else load.memory[first:last]
    return needed(load.work[first:last], load.efficiency[first:last], job.world, held)


def first_judged(ticks: int, world: World) -> int:
    """The first tick that counts: after the skipped time and the tuning part."""
    scoring = world.scoring
    return max(int(scoring.skip / world.tick), int(scoring.tune * ticks))


def check_scoring(trace: Trace, world: World) -> None:
    """Raises if a trace is too short for the scoring that the world asks for."""
    ticks = ticks_of(trace, world.tick)
    left = ticks - first_judged(ticks, world)
    if left < max(1, world.scoring.windows):
        raise ScoreError(
            f"{trace.source}: {trace.workload} has {count_of(ticks, 'tick')} of {world.tick:g} s, {max(left, 0)} of "
            "them to score; use fewer scoring.windows, or a shorter scoring.skip or scoring.tune"
        )


@dataclass(frozen=True, slots=True)
class Comparison:
    """All policies on one workload."""

    workload: str
    source: str
    start: float
    end: float
    judged: tuple[Scored, ...]
    static: Scores
    notes: tuple[str, ...]

    @property
    def scores(self) -> dict[str, Scores]:
        """The scores by policy, with the static peak at the end."""
        return {**self.policies, STATIC_PEAK: self.static}

    @property
    def policies(self) -> dict[str, Scores]:
        return {one.policy: one.scores for one in self.judged}

    @property
    def prices(self) -> dict[str, tuple[float, ...]]:
        return {one.policy: one.prices for one in self.judged}

    @property
    def front(self) -> set[str]:
        points = {name: point_of(scores) for name, scores in self.policies.items()}
        return front({name: point for name, point in points.items() if point is not None})


def compared(trace: Trace, judged: Sequence[Scored], policies: Sequence[Policy], world: World) -> Comparison:
    """Combine the results of every policy on one trace."""
    return Comparison(
        trace.workload,
        trace.source,
        float(trace.times[0]),
        float(trace.times[0]) + ticks_of(trace, world.tick) * world.tick,
        _with_speedup(judged, policies),
        judged[0].static,
        tuple(dict.fromkeys([*trace.notes, *(note for one in judged for note in one.notes)])),
    )


def _static_scores(need: Needed, world: World) -> Scores:
    """The scores of the static peak, as far as it has any."""
    peak, hours = static_peak(need, world), world.tick / 3600
    pods = peak.replicas * len(need.demand)
    return Scores(
        cost=cost_of_sums(pods * peak.cpu, pods * peak.memory, world),
        cpu_hours=pods * peak.cpu * hours,
        memory_hours=pods * peak.memory / 1e9 * hours,
        peak_pods=peak.replicas,
        to_static=1.0,
    )


def _with_speedup(judged: Sequence[Scored], policies: Sequence[Policy]) -> tuple[Scored, ...]:
    """Adds elastic speedup if the baseline policy is among them."""
    named = {one.policy: one.scores for one in judged}
    base = next((named[policy.name] for policy in policies if is_baseline(policy) and policy.name in named), None)
    if base is None:
        return tuple(judged)
    return tuple(
        [one._replace(scores=replace(one.scores, speedup=speedup(one.scores.to_dict(), base))) for one in judged]
    )


def is_baseline(policy: Policy) -> bool:
    """Whether this is a plain HPA on cpu at 70 %."""
    if len(policy.autoscalers) != 1 or not isinstance(policy.autoscalers[0], HPA):
        return False
    metrics = policy.autoscalers[0].metrics or ()
    source = metrics[0].resource if len(metrics) == 1 else None
    target = source.target if source is not None and source.name == "cpu" else None
    return target is not None and target.utilization == BASELINE_TARGET


def tuned(judged: Sequence[Scored], families: Mapping[str, Sequence[str]]) -> dict[str, str]:
    """The best variant of each family on the tuning part.

    One that meets the SLO comes before all that do not; then the price counts, with late requests and restarts.
    """
    known = {one.policy: one.tuning for one in judged if one.tuning is not None and one.tuning.price is not None}
    found: dict[str, str] = {}
    for family, members in families.items():
        ranked = [(not keeps_slo(known[name]), known[name].price, name) for name in members if name in known]
        if len(members) > 1 and ranked:
            found[family] = min(ranked)[2]
    return found
