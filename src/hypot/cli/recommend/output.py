"""What `hypot recommend` prints."""

import textwrap
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from hypot.cli.output import to_json
from hypot.cli.pair.subject import PairSubject
from hypot.cli.recommend.planning import Left, Planner
from hypot.cli.replay.numbers import number_lines, numbers_document
from hypot.cli.verdict import Glyphs
from hypot.core.instant import show_time
from hypot.face.recommend.value import RecommendReport
from hypot.face.style import printable
from hypot.kinds.base import count_of
from hypot.replay.advice.advice import TriedChoice, WorkloadAdvice, advice
from hypot.replay.advice.calibration import Calibrated
from hypot.replay.advice.candidates import RIGHT_SIZED
from hypot.replay.advice.saving import Saving
from hypot.replay.advice.today import TODAY, described
from hypot.replay.engine.used_numbers import UsedNumber
from hypot.replay.jobs.comparison import Comparison

KEEP = "keep today"
# So many workloads are named above the table, and if there are no more than so many, each is explained below it.
_NAMED, _EXPLAINED = 8, 3
_LONGEST_NAME = 40
_GAP = "  "


class Recommended(NamedTuple):
    """The advice for a workload, and what a pair for it needs."""

    advice: WorkloadAdvice
    pair: PairSubject


class RecommendOutcome(NamedTuple):
    """All workloads in the order of their histories, those that are left out, and what is assumed."""

    workloads: Sequence[Recommended]
    left: Sequence[Left]
    numbers: Sequence[UsedNumber]

    @property
    def advice(self) -> list[WorkloadAdvice]:
        """The largest saving first."""
        return sorted((one.advice for one in self.workloads), key=lambda one: (-one.best.saving.monthly, one.workload))


def outcome_of(planner: Planner, comparisons: Sequence[Comparison]) -> RecommendOutcome:
    found = [
        Recommended(advice(one.plan, comparison), one.pair)
        for one, comparison in zip(planner.planned, comparisons, strict=True)
    ]
    return RecommendOutcome(found, planner.left, planner.assumed())


def as_text(outcome: RecommendOutcome, glyphs: Glyphs, width: int) -> str:
    """What is assumed, the table, and what follows from it."""
    found, style = outcome.advice, glyphs.style
    lines = textwrap.wrap(_head(found), width, break_on_hyphens=False)
    based = number_lines(outcome.numbers, [], width)
    lines += ["", *based] if based else []
    heads, rows = _HEADS, [_row(one) for one in found]
    lines += ["", *_aligned(heads, rows, style)]
    if len(found) == 1:
        lines += ["", *_aligned(_TRIED_HEADS, [_tried_row(one, found[0]) for one in found[0].tried], style)]
    sentences = [*_explained(found), *_below(outcome, found), _MONEY]
    lines += [""]
    for sentence in sentences:
        lines += textwrap.wrap(printable(sentence), width, subsequent_indent="  ", break_on_hyphens=False)
    return "\n".join(lines) + "\n"


_HEADS = ("workload", "today", "$/month", "late %", "best", "$/month", "late %", "saves $/month", "%", "confidence")
_TRIED_HEADS = ("tried", "what", "$/month", "late %", "saves $/month", "%")
_MONEY = "Money is per month of 30 days. What is saved counts late and lost requests and restarts at their prices."
_WORDS = frozenset({"workload", "today", "best", "confidence", "tried", "what"})


def _head(found: Sequence[WorkloadAdvice]) -> str:
    names = ", ".join(one.workload for one in found[:_NAMED])
    more = f" and {len(found) - _NAMED} more" if len(found) > _NAMED else ""
    who = names if len(found) == 1 else f"{len(found)} workloads, {names}{more}"
    first, last = min(one.start for one in found), max(one.end for one in found)
    judged = min(one.judged for one in found)
    sources = list(dict.fromkeys(one.source for one in found))
    where = sources[0] if len(sources) == 1 else f"{len(sources)} files"
    judging = f"judged from {show_time(judged)} on"
    return printable(f"{who}: {show_time(first)} to {show_time(last)}, {judging}, from {where}")


def _row(one: WorkloadAdvice) -> tuple[str, ...]:
    today, best = one.today, one.best
    name = textwrap.shorten(printable(one.workload), _LONGEST_NAME, placeholder="..")
    before = (name, described(today.policy), f"{today.cost:.2f}", f"{today.late:.3f}")
    if one.keeps:
        return (*before, KEEP, "", "", "", "", one.confidence)
    after = (best.choice, f"{best.cost:.2f}", f"{best.late:.3f}", _saved(best.saving), _percent(best.saving))
    return (*before, *after, one.confidence)


def _saved(saving: Saving) -> str:
    if saving.interval is None:
        return f"{saving.monthly:.2f}"
    low, high = saving.interval
    return f"{saving.monthly:.2f} ({low:.2f} to {high:.2f})"


def _percent(saving: Saving) -> str:
    return f"{100 * saving.share:.0f}"


def _tried_row(one: TriedChoice, all_of_it: WorkloadAdvice) -> tuple[str, ...]:
    mark = "*" if one is all_of_it.best else ""
    saved = ("", "") if one.name == TODAY else (_saved(one.saving), _percent(one.saving))
    what = one.choice if one.name == RIGHT_SIZED else described(one.policy)
    return (f"{one.name}{mark}", what, f"{one.cost:.2f}", f"{one.late:.3f}", *saved)


def _aligned(heads: Sequence[str], rows: Sequence[Sequence[str]], style: Any) -> list[str]:
    widths = [max(len(one[i]) for one in (heads, *rows)) for i in range(len(heads))]

    def line(cells: Sequence[str]) -> str:
        placed = [
            cell.ljust(width) if head in _WORDS else cell.rjust(width)
            for cell, width, head in zip(cells, widths, heads, strict=True)
        ]
        return _GAP.join(placed).rstrip()

    return [style(line(heads), bold=True), *map(line, rows)]


def _explained(found: Sequence[WorkloadAdvice]) -> Iterator[str]:
    """Why, for each of a few."""
    if len(found) > _EXPLAINED:
        yield f"-o json has the reasons for all {len(found)} workloads, and what else was tried."
        return
    for one in found:
        doubts = f": {'; '.join(one.doubts)}" if one.doubts else ""
        yield f"{one.workload}: today is {one.plan.today_why}. Best: {one.why}. Confidence {one.confidence}{doubts}."
        yield from (f"{one.workload}: {note}." for note in one.notes)


def _below(outcome: RecommendOutcome, found: Sequence[WorkloadAdvice]) -> Iterator[str]:
    for left in outcome.left:
        yield f"Left out: {left.workload}: {left.why}."
    saving = [one for one in found if not one.keeps]
    if not saving:
        yield f"Nothing to change: {count_of(len(found), 'workload')} should stay as today."
        return
    totals = totals_of(found)
    share = 100 * totals["saving"] / totals["today"] if totals["today"] else 0.0
    before, after = f"${totals['today']:.2f} a month today", f"${totals['recommended']:.2f} as recommended"
    saves = f"saves ${totals['saving']:.2f} ({share:.0f} %)"
    yield f"Together: {before}, {after}: {saves} on {len(saving)} of {count_of(len(found), 'workload')}."
    yield "Next: -o patch prints what to apply; an Autoscaler only reports at first, so that you can watch it."


def report_of(outcome: RecommendOutcome) -> RecommendReport:
    """What the page shows."""
    left = [(one.workload, one.why) for one in outcome.left]
    return RecommendReport([one.advice for one in outcome.workloads], left, outcome.numbers)


def totals_of(found: Sequence[WorkloadAdvice]) -> dict[str, float]:
    """Prices in a month: today, as recommended, and what is saved."""
    today, best = sum(one.today.price for one in found), sum(one.best.price for one in found)
    return {"today": today, "recommended": best, "saving": today - best}


def as_json(outcome: RecommendOutcome) -> str:
    """What -o json prints; recommend.schema.json describes it."""
    return to_json(
        {
            "numbers": numbers_document(outcome.numbers),
            "workloads": [_document(one.advice) for one in outcome.workloads],
            "leftOut": [{"workload": one.workload, "why": one.why} for one in outcome.left],
            "totals": totals_of([one.advice for one in outcome.workloads]),
        }
    )


def _document(one: WorkloadAdvice) -> dict[str, Any]:
    plan = one.plan
    return {
        "name": one.workload,
        "namespace": plan.subject.namespace or None,
        "target": str(plan.subject.target),
        "source": one.source,
        "from": show_time(one.start),
        "to": show_time(one.end),
        "judgedFrom": show_time(one.judged),
        "today": plan.today_why,
        "best": KEEP if one.keeps else one.best.name,
        "why": one.why,
        "saving": _saving(one.best),
        "confidence": one.confidence,
        "doubts": list(one.doubts),
        "tried": [_tried(each) for each in one.tried],
        "calibration": [_calibrated(each) for each in plan.calibration],
        "replicas": {"min": plan.subject.bounds[0], "max": plan.subject.bounds[1], "source": plan.subject.bounds_why},
        "risks": list(one.risks),
        "notes": list(one.notes),
    }


def _saving(one: TriedChoice) -> dict[str, Any]:
    between = one.saving.interval
    return {
        "monthly": one.saving.monthly,
        "share": one.saving.share,
        "interval": None if between is None else {"low": between[0], "high": between[1]},
    }


def _tried(one: TriedChoice) -> dict[str, Any]:
    return {
        "name": one.name,
        "policy": one.policy.name,
        "what": described(one.policy),
        "cpu": one.policy.workload.cpu / 1000,
        "monthlyCost": one.cost,
        "monthlyPrice": one.price,
        "lateOrLost": one.late,
        "saving": _saving(one),
        "scores": one.scores.to_dict(),
    }


def _calibrated(one: Calibrated) -> dict[str, Any]:
    return {"parameter": one.key, "value": one.value, "text": one.text, "from": one.origin, "source": one.source}
