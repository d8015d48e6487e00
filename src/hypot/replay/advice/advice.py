"""Judges what was tried, and chooses: what costs least of all that is no later than allowed, or what is there."""

from collections.abc import Iterable, Sequence
from typing import Literal, NamedTuple

from hypot.replay.advice.calibration import FEWEST_WINDOWS, Calibrated
from hypot.replay.advice.candidates import PAIR, RIGHT_SIZED, Candidates
from hypot.replay.advice.saving import MONTH, Saving, saving
from hypot.replay.advice.today import TODAY, ScaledWorkload, described
from hypot.replay.jobs.comparison import Comparison, Scored, first_judged, tuned
from hypot.replay.policies.policy import Policy
from hypot.replay.score.columns import NOTHING
from hypot.replay.score.ranking import late_or_lost
from hypot.replay.score.scorecard import Scores
from hypot.replay.world.parameters import World

Confidence = Literal["high", "medium", "low"]
# For a high confidence: at least so many judged windows, and half the interval at most this share of the saving.
MANY_WINDOWS, NARROW = 7, 0.25
# Numbers that change what is best: if one of the first is assumed the confidence is low, of the others never high.
_DECISIVE = ("workload.cpu", "workload.memory")
_OF_REQUESTS = "service.work"
_IMPORTANT = ("service.work", "pods.start", "demand.unit")
_OF_STATIC = "workload.replicas"


class WorkloadPlan(NamedTuple):
    """What is tried on one workload, and what that is based on."""

    subject: ScaledWorkload
    today: Policy
    # Where it comes from.
    today_why: str
    candidates: Candidates
    world: World
    # Whether nothing said what scales it.
    today_assumed: bool
    requests: bool
    calibration: tuple[Calibrated, ...]
    notes: tuple[str, ...] = ()

    @property
    def policies(self) -> list[Policy]:
        return [self.today, *self.candidates.policies]


class TriedChoice(NamedTuple):
    """One choice, the best of its variants: a month of 30 days costs so much."""

    name: str
    policy: Policy
    scores: Scores
    cost: float
    price: float
    saving: Saving

    @property
    def choice(self) -> str:
        """What it is, in a few words."""
        if self.name == RIGHT_SIZED:
            return f"{described(self.policy)} of {self.policy.workload.cpu}m"
        return self.policy.name

    @property
    def late(self) -> float:
        """Late and lost requests, in percent."""
        return late_or_lost(self.scores)


class WorkloadAdvice(NamedTuple):
    """What is best for one workload."""

    workload: str
    source: str
    start: float
    end: float
    # From when on everything is judged.
    judged: float
    plan: WorkloadPlan
    tried: tuple[TriedChoice, ...]
    # The same as today if nothing is clearly better.
    best: TriedChoice
    why: str
    confidence: Confidence
    # Why the confidence is no higher.
    doubts: tuple[str, ...]
    # What a replay takes for granted and a cluster may not give.
    risks: tuple[str, ...]
    notes: tuple[str, ...]

    @property
    def today(self) -> TriedChoice:
        return self.tried[0]

    @property
    def keeps(self) -> bool:
        """Whether today's choice stays."""
        return self.best.name == TODAY


def advice(plan: WorkloadPlan, comparison: Comparison) -> WorkloadAdvice:
    """Of what was replayed on one workload."""
    world = plan.world
    ticks = round((comparison.end - comparison.start) / world.tick)
    first = first_judged(ticks, world)
    seconds = (ticks - first) * world.tick
    tried = _tried(plan, comparison, seconds)
    best, why = chosen(tried, 100.0 * (1.0 - world.service.slo))
    doubts = tuple(_doubts(plan, best, len(comparison.judged[0].windows)))
    return WorkloadAdvice(
        comparison.workload,
        comparison.source,
        comparison.start,
        comparison.end,
        comparison.start + first * world.tick,
        plan,
        tried,
        best,
        why,
        max((one.level for one in doubts), key=_LEVELS.index, default="high"),
        tuple([one.text for one in doubts]),
        tuple(_risks(best)),
        tuple(dict.fromkeys([*plan.notes, *plan.candidates.left_out, *comparison.notes])),
    )


def _tried(plan: WorkloadPlan, comparison: Comparison, seconds: float) -> tuple[TriedChoice, ...]:
    """Today first. Of variants, the one that was best before the judged part."""
    judged = {one.policy: one for one in comparison.judged}
    policies = {one.name: one for one in plan.policies}
    families = {name: [one.name for one in some] for name, some in plan.candidates.families.items()}
    best = {**{name: some[0] for name, some in families.items()}, **tuned(comparison.judged, families)}
    today = judged[TODAY]
    pairs = [(TODAY, TODAY), *best.items()]
    return tuple([_one(name, policies[variant], judged[variant], today, seconds) for name, variant in pairs])


def _one(name: str, policy: Policy, judged: Scored, today: Scored, seconds: float) -> TriedChoice:
    cost, price = ((value or 0.0) / seconds * MONTH for value in (judged.scores.cost, judged.scores.price))
    return TriedChoice(name, policy, judged.scores, cost, price, saving(today, judged, seconds))


def chosen(tried: Sequence[TriedChoice], allowed: float) -> tuple[TriedChoice, str]:
    """The lowest price of those that are no later than today or than the SLO allows, if it clearly saves."""
    today, *others = tried
    most = max(today.late, allowed) + NOTHING
    cheaper = sorted((one for one in others if one.price < today.price), key=lambda one: one.price)
    punctual = [one for one in cheaper if one.late <= most]
    for one in punctual:
        if one.saving.is_clear:
            return one, "the lowest price of those that are no later than today or than the SLO allows"
    if punctual:
        return today, f"{punctual[0].name} is cheaper, but its saving may be 0"
    if cheaper:
        return today, f"{cheaper[0].name} is cheaper, but later than today and than the SLO allows"
    return today, "nothing that was tried is cheaper"


def _risks(best: TriedChoice) -> Iterable[str]:
    start = best.policy.workload
    if best.name == PAIR or (best.name == RIGHT_SIZED and start.cpu_limit != start.cpu):
        yield "pods use more cpu than they request at times, which their nodes must have room for"


class _Doubt(NamedTuple):
    level: Confidence
    text: str


_LEVELS: tuple[Confidence, ...] = ("high", "medium", "low")


def _doubts(plan: WorkloadPlan, best: TriedChoice, windows: int) -> Iterable[_Doubt]:
    """Why the confidence is not high; the rules are in docs/recommend.md."""
    assumed = {one.key for one in plan.calibration if one.origin == "assumed"}
    if windows < FEWEST_WINDOWS:
        yield _Doubt("low", f"fewer than {FEWEST_WINDOWS} days are judged")
    elif windows < MANY_WINDOWS:
        yield _Doubt("medium", f"fewer than {MANY_WINDOWS} days are judged")
    if plan.today_assumed:
        yield _Doubt("low", "what scales it today is assumed")
    low = [*_DECISIVE, *([_OF_REQUESTS] if plan.requests else [])]
    if missing := [key for key in low if key in assumed]:
        yield _Doubt("low", f"assumed: {', '.join(missing)}")
    rest = _IMPORTANT if plan.today.autoscalers else (*_IMPORTANT, _OF_STATIC)
    if missing := [key for key in rest if key in assumed and key not in low]:
        yield _Doubt("medium", f"assumed: {', '.join(missing)}")
    for risk in _risks(best):
        yield _Doubt("medium", risk)
    between = best.saving.interval
    if best.name != TODAY and between is not None and between[1] - between[0] > 2 * NARROW * best.saving.monthly:
        yield _Doubt("medium", "the saving differs much from day to day")
