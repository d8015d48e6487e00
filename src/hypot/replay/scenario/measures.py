"""Figures of a run that are not scores: a column at a time, how often it changed, a score within a window.

In a file a measure has one of these forms. Times count from the start; without them the measure covers the whole run:

    {score: late, from: 2h, to: 4h}
    {column: total, at: 7h}
    {column: replicas, take: changes, from: 1h}
    {column: size_memory, take: most, in: Gi}
    {settled: total <= 1, from: 5h}                                seconds from then until this holds to the end
    {rule: urgent}                                                 steps of this rule in decisions that changed state
"""

from collections.abc import Callable, Mapping
from dataclasses import fields
from typing import Any

import numpy as np

from hypot.replay.scenario.conditions import ConditionError, parse
from hypot.replay.scenario.demand import seconds
from hypot.replay.score.columns import HOUR, to_the_end
from hypot.replay.score.scorecard import Scores
from hypot.replay.score.scores import part, score
from hypot.replay.world.record import Floats, Run, Ticks

SCORES = frozenset(f.name for f in fields(Scores))
# Columns that are calculated from others: everything that was requested, in cores and in bytes.
_MADE = ("total", "total_memory")
COLUMNS = frozenset((*Ticks._fields, *_MADE))
FORMS = ("score", "column", "settled", "rule")
# The units in which bytes can be shown.
SCALES = {"Mi": 2**20, "Gi": 2**30}
_IN_CORES = frozenset(("total", "size_cpu", "cpu", "ready_cpu", "used_cpu", "cap_cpu", "work"))


class MeasureError(ValueError):
    """A measure that cannot be taken."""


def checked(name: str, measure: Any) -> None:
    """Raise if a measure asks for something that does not exist."""
    forms = [form for form in FORMS if isinstance(measure, Mapping) and form in measure]
    if len(forms) != 1:
        raise MeasureError(f"{name}: write one of {', '.join(FORMS)}")
    if measure.get("in", "Gi") not in SCALES:
        raise MeasureError(f"{name}: in must be one of {', '.join(SCALES)}")
    known = {"score": SCORES, "column": COLUMNS}.get(forms[0])
    if known is not None and measure[forms[0]] not in known:
        raise MeasureError(f"{name}: unknown {forms[0]} {measure[forms[0]]}; write one of {', '.join(sorted(known))}")
    if forms[0] == "column" and "at" not in measure and measure.get("take") not in TAKEN:
        raise MeasureError(f"{name}: write at, or take with one of {', '.join(TAKEN)}")
    if forms[0] == "settled":
        try:
            unknown = parse(measure["settled"]).names() - COLUMNS
        except ConditionError as error:
            raise MeasureError(f"{name}: {error}") from error
        if unknown:
            raise MeasureError(f"{name}: unknown column {min(unknown)}")


def figures(run: Run, measures: Mapping[str, Mapping[str, Any]]) -> dict[str, float | None]:
    """Every score of a run, and every measure by its name."""
    found: dict[str, float | None] = dict(score(run).to_dict())
    for name, measure in measures.items():
        found[name] = _taken(_within(run, measure), measure, run)
    return found


def _within(run: Run, measure: Mapping[str, Any]) -> Run:
    begin = run.ticks.at[0]
    first = begin + seconds(measure.get("from", 0))
    last = begin + seconds(measure["to"]) if "to" in measure else np.inf
    inside = run if first == begin and last == np.inf else part(run, first, last)
    if not len(inside.ticks.at):
        raise MeasureError(f"{dict(measure)}: the run has no ticks in that time")
    return inside


def unit_of(name: str, measures: Mapping[str, Mapping[str, Any]]) -> str:
    """The unit of a figure; empty for a plain number."""
    measure = measures.get(name, {"score": name})
    if "settled" in measure:
        return "s"
    if "column" in measure and measure.get("take") != "changes":
        return "cores" if measure["column"] in _IN_CORES else f"{measure['in']}B" if "in" in measure else ""
    units = {f.name: f.metadata["unit"] for f in fields(Scores)}
    return str(units.get(measure.get("score", ""), ""))


def _taken(run: Run, measure: Mapping[str, Any], whole: Run) -> float | None:
    if "score" in measure:
        value: float | None = getattr(score(run), measure["score"])
        return value
    if "rule" in measure:
        return float(sum(step.rule == measure["rule"] for one in run.moments for step in one.decision.steps))
    if "settled" in measure:
        return _settled(run, measure["settled"])
    if "at" in measure:
        place = int(np.searchsorted(whole.ticks.at, whole.ticks.at[0] + seconds(measure["at"]), "right")) - 1
        return float(column_of(whole, measure["column"])[place]) / SCALES.get(measure.get("in", ""), 1)
    taken = TAKEN[measure["take"]](column_of(run, measure["column"]), run.world.tick)
    return taken / SCALES.get(measure.get("in", ""), 1)


def column_of(run: Run, name: str) -> Floats:
    ticks = run.ticks
    if name == "total":
        return ticks.replicas * ticks.size_cpu
    found: Floats = ticks.replicas * ticks.size_memory if name == "total_memory" else getattr(ticks, name)
    return found


def _settled(run: Run, text: str) -> float | None:
    """None if it does not hold at the end."""
    condition = parse(text)
    columns = {name: column_of(run, name) for name in condition.names()}
    true = np.array([condition.holds({n: float(c[i]) for n, c in columns.items()}) for i in range(len(run.ticks.at))])
    held = to_the_end(true)
    return (len(true) - held) * run.world.tick if held else None


def _changes(column: Floats, tick: float) -> float:
    del tick
    return float(np.count_nonzero(np.abs(np.diff(column)) > 1e-9))


def _turned_to(pick: Callable[[Floats], Any]) -> Callable[[Floats, float], float]:
    def taken(column: Floats, tick: float) -> float:
        del tick
        return float(pick(column))

    return taken


TAKEN: dict[str, Callable[[Floats, float], float]] = {
    "first": _turned_to(lambda column: column[0]),
    "last": _turned_to(lambda column: column[-1]),
    "least": _turned_to(np.min),
    "most": _turned_to(np.max),
    "mean": _turned_to(np.mean),
    "sum": _turned_to(np.sum),
    "changes": _changes,
    "hours": lambda column, tick: float(column.sum()) * tick / HOUR,
}
