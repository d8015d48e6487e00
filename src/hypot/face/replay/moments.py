"""Decisions as marks with their reasons, and pods that were evicted or killed; one lane per policy."""

from collections.abc import Iterator, Sequence
from math import log
from textwrap import wrap
from typing import NamedTuple

import numpy as np

from hypot.face.chart import Axis, Chart, ChartNote, Dots, Symbol
from hypot.face.replay.value import ReplayReport
from hypot.face.style import printable, tint_of
from hypot.policy.model.decision import Decision
from hypot.policy.model.size import changes_of
from hypot.replay.world.record import Floats, Moment, Run

# More marks could not be distinguished, and their reasons would fill the page.
MOST_MARKS = 400
_MOST_TEXT = 700
_ALL_TEXT = 800_000
_WRAPPED = 76
_SMALL, _LARGE = 7.0, 13.0
# The vertical position of the name in its lane, and of the marks for evicted and killed pods.
_NAME, _DEAD = 0.42, -0.25


class _Deaths(NamedTuple):
    symbol: Symbol
    label: str
    at: Floats
    pods: Floats


def decisions(report: ReplayReport) -> Chart:
    """One lane per policy, the first on top."""
    most = report.share(MOST_MARKS)
    shown = sum(min(len(run.moments), most) for run in report.runs)
    room = min(_MOST_TEXT, _ALL_TEXT // max(shown, 1))
    lanes = {run.policy: float(len(report.runs) - i) for i, run in enumerate(report.runs)}
    dots = [one for run in report.runs for one in _lane(report, run, lanes[run.policy], room)]
    start = report.runs[0].ticks.at[:1]
    notes = [ChartNote(float(at), lanes[run.policy] + _NAME, _name(run)) for run in report.runs for at in start]
    axis = Axis("", "lanes", ends=(0.4, len(lanes) + 0.75))
    return Chart("decisions", "Decisions", _label(report, most), Axis("", "time"), axis, (), tuple(dots), tuple(notes))


def chosen(moments: Sequence[Moment], most: int = MOST_MARKS) -> list[Moment]:
    """The largest moves of all, and the largest of each stretch of time, so that no part of a replay has no marks."""
    if len(moments) <= most:
        return list(moments)
    sizes = np.array([move_of(moment.decision) for moment in moments])
    order = np.argsort(-sizes, kind="stable")
    at = np.array([moment.at for moment in moments])
    stretch = np.floor((at - at[0]) / max(at[-1] - at[0], 1.0) * (most // 2) * 0.999).astype(np.int64)
    firsts = order[np.unique(stretch[order], return_index=True)[1]]
    kept = np.unique(np.concatenate([firsts, order[: most - len(firsts)]]))
    return [moments[i] for i in kept.tolist()]


def move_of(decision: Decision) -> float:
    """How far a decision moves replicas or a size, as a logarithm: doubling and halving count the same."""
    moves = [_distance(decision.current or 0, decision.desired or 0)] if decision.recounts else []
    had = {size.container: size.requests for size in decision.sizes}
    moves += [
        _distance(had.get(size.container, {}).get(resource, 0), amount)
        for size in decision.desired_sizes
        for resource, amount in size.requests.items()
    ]
    return max(moves, default=0.0)


def _distance(before: float, after: float) -> float:
    return abs(log(max(after, 1) / max(before, 1)))


def _label(report: ReplayReport, most: int) -> str:
    label = "Hover over a mark to read the reason. ▲ more replicas, ▼ fewer, ◆ only another size."
    if any(run.ticks.evicted.any() or run.ticks.killed.any() for run in report.runs):
        label += " Below, the pods that ended: ○ evicted for a new size, ✕ OOM-killed."
    cut = [run for run in report.runs if len(run.moments) > most]
    return f"{label} At most {most} marks are shown per policy, the largest changes." if cut else label


def _name(run: Run) -> str:
    count = len(run.moments)
    return f"{printable(run.policy)}, {count or 'no'} {'change' if count == 1 else 'changes'}"


def _lane(report: ReplayReport, run: Run, lane: float, room: int) -> Iterator[Dots]:
    tint = tint_of(report.place(run.policy))
    most = report.share(MOST_MARKS)
    kept = chosen(run.moments, most)
    farthest = max((move_of(moment.decision) for moment in kept), default=0.0)
    sizes = [_SMALL + (_LARGE - _SMALL) * (move_of(one.decision) / farthest if farthest else 0.0) for one in kept]
    yield Dots(
        run.policy,
        run.policy,
        tint,
        tuple([moment.at for moment in kept]),
        tuple([lane] * len(kept)),
        tuple([_symbol(moment.decision) for moment in kept]),
        tuple(sizes),
        tuple([decision_lines(moment.decision, room) for moment in kept]),
    )
    for deaths in _deaths_of(run, most):
        yield _dead(deaths, run.policy, lane)


def _symbol(decision: Decision) -> Symbol:
    if not decision.recounts or decision.desired is None or decision.current is None:
        return "resize"
    return "up" if decision.desired > decision.current else "down"


def decision_lines(decision: Decision, room: int = _MOST_TEXT) -> tuple[str, ...]:
    """What changes, why, and the sentences of the steps; cut if there is no room for more."""
    lines = [f"{decision.autoscaler}: {', '.join(_changes(decision))}", decision.reason]
    lines += [step.sentence for step in decision.steps]
    shown: list[str] = []
    for line in lines:
        if not line:
            continue
        if len(line) > room:
            return (*shown, *wrap(f"{printable(line)[: max(room, 0)]} …", _WRAPPED))
        room -= len(line)
        shown += wrap(printable(line), _WRAPPED)
    return tuple(shown)


def _changes(decision: Decision) -> Iterator[str]:
    if decision.recounts:
        yield f"{decision.current} → {decision.desired} replicas"
    had = {size.container: size.requests for size in decision.sizes}
    for size in decision.desired_sizes:
        for resource, (before, after) in changes_of(had.get(size.container, {}), size.requests).items():
            yield f"{size.container} {resource} {before} → {after}"


def _deaths_of(run: Run, most: int) -> Iterator[_Deaths]:
    """At most `most` marks of each kind; pods that ended close together share a mark."""
    kinds: tuple[tuple[Symbol, str, Floats], ...] = (
        ("evicted", "evicted for a new size", run.ticks.evicted),
        ("killed", "killed, out of memory", run.ticks.killed),
    )
    for symbol, label, column in kinds:
        where = np.flatnonzero(column > 0)
        groups = np.array_split(where, min(len(where), most)) if len(where) else []
        firsts = np.array([group[0] for group in groups], dtype=np.int64)
        yield _Deaths(symbol, label, run.ticks.at[firsts], np.array([column[group].sum() for group in groups]))


def _dead(deaths: _Deaths, policy: str, lane: float) -> Dots:
    count = len(deaths.at)
    return Dots(
        f"{policy}, {deaths.label}",
        policy,
        "ink",
        tuple(deaths.at.tolist()),
        (lane + _DEAD,) * count,
        (deaths.symbol,) * count,
        (_SMALL,) * count,
        tuple([(f"{pods:g} {'pod' if pods == 1 else 'pods'} {deaths.label}",) for pods in deaths.pods.tolist()]),
    )
