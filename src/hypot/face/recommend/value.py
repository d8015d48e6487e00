"""What a page about many workloads says, in figures: by namespace, what is wasted, what is risky, where to begin."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from hypot.replay.advice.advice import WorkloadAdvice
from hypot.replay.advice.saving import MONTH
from hypot.replay.engine.used_numbers import UsedNumber

HOURS = MONTH / 3600.0
# So many workloads are worth beginning with.
FIRST = 10
_LEVELS = ("high", "medium", "low")


class RecommendReport(NamedTuple):
    """All workloads that were judged, those that were not and why, and what was assumed."""

    advice: Sequence[WorkloadAdvice]
    left: Sequence[tuple[str, str]] = ()
    numbers: Sequence[UsedNumber] = ()


class SavingTotals(NamedTuple):
    """Some workloads together, in dollars a month; late and lost requests are in the prices."""

    name: str
    workloads: int
    today: float
    saving: float
    # What is requested and not used: cores on average, and what they cost.
    idle: float
    wasted: float
    # What is requested, without what is late: today, and as recommended.
    before: float
    after: float

    @property
    def share(self) -> float:
        return self.saving / self.today if self.today else 0.0


class Risk(NamedTuple):
    """Something to look at first, and the workloads that have it."""

    what: str
    workloads: tuple[str, ...]


def totals(name: str, some: Sequence[WorkloadAdvice]) -> SavingTotals:
    idle = [one.today.scores.idle_cores or 0.0 for one in some]
    wasted = sum(cores * one.plan.world.prices.cpu * HOURS for cores, one in zip(idle, some, strict=True))
    today = sum(one.today.price for one in some)
    before, after = sum(one.today.cost for one in some), sum(one.best.cost for one in some)
    return SavingTotals(name, len(some), today, sum(saved(one) for one in some), sum(idle), wasted, before, after)


def saved(one: WorkloadAdvice) -> float:
    return 0.0 if one.keeps else one.best.saving.monthly


def by_namespace(some: Sequence[WorkloadAdvice]) -> list[SavingTotals]:
    """The namespace with the largest saving first."""
    found: dict[str, list[WorkloadAdvice]] = {}
    for one in some:
        found.setdefault(namespace_of(one), []).append(one)
    return sorted((totals(name, each) for name, each in found.items()), key=lambda one: (-one.saving, one.name))


def namespace_of(one: WorkloadAdvice) -> str:
    return one.plan.subject.namespace or "no namespace"


def by_saving(some: Sequence[WorkloadAdvice]) -> list[WorkloadAdvice]:
    return sorted(some, key=lambda one: (-saved(one), one.workload))


def to_begin_with(some: Sequence[WorkloadAdvice]) -> list[WorkloadAdvice]:
    """The largest savings of which one can be sure; those with a low confidence only if there are too few others."""
    saving = [one for one in by_saving(some) if not one.keeps]
    sure = [one for one in saving if one.confidence != "low"]
    return [*sure, *(one for one in saving if one.confidence == "low")][:FIRST]


def risks(report: RecommendReport) -> Iterator[Risk]:
    """Only those that any workload has."""
    kinds = {
        "More requests are late or lost today than the SLO allows": [one for one in report.advice if _misses(one)],
        "Pods run out of memory today": [one for one in report.advice if (one.today.scores.ooms or 0.0) > 0.0],
        "The best choice makes more requests late than today, within the SLO": [
            one for one in report.advice if one.best.late > one.today.late
        ],
        "Nodes must have room for pods that use more than they request": [one for one in report.advice if one.risks],
        "The confidence is low: measure what is assumed before you change anything": [
            one for one in report.advice if one.confidence == "low" and not one.keeps
        ],
    }
    for what, some in kinds.items():
        if some:
            yield Risk(what, tuple([one.workload for one in by_saving(some)]))


def _misses(one: WorkloadAdvice) -> bool:
    return one.today.late > 100.0 * (1.0 - one.plan.world.service.slo)
