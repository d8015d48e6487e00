"""Figures without a time axis: the cost and harm of each policy, and the shapes that it went through."""

from collections.abc import Iterator, Sequence
from math import ceil, floor, log2
from typing import NamedTuple

import numpy as np

from hypot.face.chart import Axis, Chart, ChartNote, Dots, Line, Symbol, round_ticks
from hypot.face.replay.labels import labelled
from hypot.face.replay.scores import of_policy, policies_of
from hypot.face.replay.value import REFERENCES, ReplayReport
from hypot.face.style import dash_of, printable, tint_of
from hypot.face.thin import Ints
from hypot.replay.score.ranking import PolicyPoint, front, middle, point_of
from hypot.replay.world.record import Floats, Run

# Less harm than this is drawn as this much, because a logarithmic scale cannot show zero.
LEAST_HARM = 0.001
_LEAST_COST = 1e-6
_MOST_EDGES = 1200
_MOST_SPOTS = 240
_MOST_WORKLOADS = 400
# Shifts the paths of policies apart, which would overlap if they use the same size.
_APART = 1.02
_DOT = 11.0
# Lines of one tint differ in their dashes; dots differ in these symbols.
_SYMBOLS: dict[str, Symbol] = {"solid": "dot", "dash": "ring", "dot": "resize"}
# A reference that costs more than this many times the most expensive policy is only in the table.
_FARTHEST = 2.0
# Keeps notes off the edge, where they might be cut.
_INSIDE = 1.001
# More millicores than any pod has.
_BEYOND = 10**9


class _Spot(NamedTuple):
    """A number of pods of this size, for this share of the time."""

    replicas: float
    cpu: float
    share: float


def pareto(report: ReplayReport) -> Chart:
    """Cost against harm. A line joins the Pareto front; references are vertical lines."""
    scores = report.scores or {name: middle(of_policy(report.fleet, name)) for name in policies_of(report.fleet)}
    relative = bool(report.fleet) and all(one.to_static is not None for one in scores.values())
    points = {name: point_of(one, "to_static" if relative else "cost") for name, one in scores.items()}
    known = {name: point for name, point in points.items() if point is not None and name not in REFERENCES}
    if not known:
        return Chart("pareto", "", "", Axis(""), Axis(""), ())
    near = _FARTHEST * max(_drawn(point).cost for point in known.values())
    levels = {name: point.cost for name in REFERENCES if (point := points.get(name)) and 0 < point.cost <= near}
    x = _cost_axis([*(_drawn(point).cost for point in known.values()), *levels.values()], relative=relative)
    y = _harm_axis([_drawn(point).late for point in known.values()])
    path = np.array(sorted({_drawn(known[name]) for name in front(known)})).reshape(-1, 2)
    lines = [Line("the Pareto front", "", "faint", path[:, 0], path[:, 1], dash="dot", width=1.2)]
    ends = np.array(y.ends)
    lines += [Line(name, name, "faint", np.full(2, cost), ends, dash="dash") for name, cost in levels.items()]
    dots = labelled([_pareto_dot(report, name, point, x.unit) for name, point in known.items()], lines, x, y)
    notes = tuple([ChartNote(cost, float(ends[0]) * 1.45, name) for name, cost in levels.items()])
    label = "Further down and left is better. The line joins the Pareto front: no other policy is better in both."
    return Chart("pareto", "Cost against late and lost requests", label, x, y, tuple(lines), tuple(dots), notes)


def _drawn(point: PolicyPoint) -> PolicyPoint:
    return PolicyPoint(max(point.cost, _LEAST_COST), max(point.late, LEAST_HARM))


def _pareto_dot(report: ReplayReport, name: str, point: PolicyPoint, unit: str) -> Dots:
    text = (printable(name), f"{point.cost:.4g}{unit}", f"{point.late:.4g} % late + lost")
    tint, place = tint_of(report.place(name)), _drawn(point)
    symbol = _SYMBOLS[dash_of(report.place(name))]
    return Dots(name, name, tint, (place.cost,), (place.late,), (symbol,), (_DOT,), (text,), (printable(name),))


def _cost_axis(costs: Sequence[float], *, relative: bool) -> Axis:
    """Logarithmic, so that a policy far away leaves room for the others."""
    more = max((max(costs) / min(costs)) ** 0.15, 1.1)
    ends = (min(costs) / more, max(costs) * more)
    label, unit = ("cost, x static peak", " x static peak") if relative else ("cost, $", " $")
    return Axis(label, "log", *round_ticks(*ends), ends, unit)


def _harm_axis(bad: Sequence[float]) -> Axis:
    ends = (min(bad) / 2.5, max(bad) * 2.5)
    ticks, label = round_ticks(*ends)
    labels = tuple([f"≤{word}" if tick <= LEAST_HARM else word for tick, word in zip(ticks, label, strict=True)])
    return Axis("late + lost, %", "log", ticks, labels, ends, " %")


def plane(report: ReplayReport) -> Chart:
    """Replicas and pod size: on a diagonal the total is the same."""
    points = [path for run in report.runs if len(path := path_of(run))]
    if not points:
        return Chart("plane", "", "", Axis(""), Axis(""), ())
    every = np.concatenate(points)
    (left, bottom), (right, top) = _frame(every.min(axis=0)), _frame(every.max(axis=0), up=True)
    totals = _totals(left * bottom, right * top)
    lines = [_diagonal(total, left, right) for total in totals]
    notes = [note for total in totals for note in _total_notes(total, (left, right), (bottom, top))]
    dots = []
    for run in report.runs:
        place = report.place(run.policy)
        apart = _APART ** (place - (len(report.policies) - 1) / 2)
        lines += list(_bands(report, run.policy, apart))
        lines.append(_path(run, place, apart, report.share(_MOST_EDGES)))
        dots.append(_spots(run, place, apart, report.share(_MOST_SPOTS)))
    label = "On a diagonal the total of cores is the same. Dots are larger where a policy stayed longer."
    label += " Bars are scaling intervals." if report.intervals else ""
    x = Axis("replicas", "log", _doubled(left, right), ends=(left, right), unit=" pods")
    y = Axis("cores of a pod", "log", _doubled(bottom, top), ends=(bottom, top), unit=" cores")
    return Chart("plane", "Replicas and size", label, x, y, tuple(lines), tuple(dots), tuple(notes))


def path_of(run: Run) -> Floats:
    """Every shape that was requested, in order, as pairs of replicas and cores, without repetitions."""
    return _pairs(_steps(run))


def _shapes(run: Run) -> Ints:
    """Replicas and millicores of each tick as one integer, for fast comparison; without ticks that request none."""
    replicas, cpu = run.ticks.replicas, run.ticks.size_cpu
    there = (replicas > 0) & (cpu > 0) & np.isfinite(replicas) & np.isfinite(cpu)
    count = np.round(replicas[there]).astype(np.int64)
    milli = np.maximum(np.round(cpu[there] * 1000.0), 1.0).astype(np.int64)
    return count * np.int64(_BEYOND) + milli


def _pairs(shapes: Ints) -> Floats:
    return np.column_stack([shapes // _BEYOND, shapes % _BEYOND / 1000.0])


def _steps(run: Run) -> Ints:
    shapes = _shapes(run)
    return shapes[np.flatnonzero(np.diff(shapes, prepend=-1))]


def _path(run: Run, place: int, apart: float, most: int) -> Line:
    """Each transition between two shapes once; only the longest if there are too many."""
    shapes, which = np.unique(_steps(run), return_inverse=True)
    ways = np.unique(which[:-1] * len(shapes) + which[1:])
    start, end = _pairs(shapes[ways // len(shapes)]), _pairs(shapes[ways % len(shapes)])
    if len(ways) > most:
        length = np.abs(np.log(end / start)).sum(axis=1)
        longest = np.sort(np.argsort(-length, kind="stable")[:most])
        start, end = start[longest], end[longest]
    gap = np.full(len(start), np.nan)
    xs = np.column_stack([start[:, 0], end[:, 0], gap]).ravel()
    ys = np.column_stack([start[:, 1], end[:, 1], gap]).ravel() * apart
    return Line(run.policy, run.policy, tint_of(place), xs, ys, dash=dash_of(place), width=1.0)


def _spots(run: Run, place: int, apart: float, most: int) -> Dots:
    spots = list(spots_of(run, most))
    sizes = [4.0 + 16.0 * spot.share**0.5 for spot in spots]
    texts = [
        (
            printable(run.policy),
            f"{spot.replicas:g} {_pods(spot.replicas)} of {spot.cpu:g} {_cores(spot.cpu)}",
            f"{100 * spot.share:.3g} % of the time",
        )
        for spot in spots
    ]
    round_dot: Symbol = "dot"
    return Dots(
        run.policy,
        run.policy,
        tint_of(place),
        tuple([spot.replicas for spot in spots]),
        tuple([spot.cpu * apart for spot in spots]),
        (round_dot,) * len(spots),
        tuple(sizes),
        tuple(texts),
    )


def spots_of(run: Run, most: int = _MOST_SPOTS) -> Iterator[_Spot]:
    """The shapes in which a policy stayed longest."""
    shapes, counts = np.unique(_shapes(run), return_counts=True)
    order = np.sort(np.argsort(-counts, kind="stable")[:most])
    for (replicas, cpu), count in zip(_pairs(shapes[order]).tolist(), counts[order].tolist(), strict=True):
        yield _Spot(replicas, cpu, count / len(run.ticks.at))


def _bands(report: ReplayReport, policy: str, apart: float) -> Iterator[Line]:
    """For each number of replicas, the sizes between its two totals."""
    for interval in report.intervals.get(policy, ()):
        sizes = [max(total, 1) / 1000.0 / interval.replicas * apart for total in (interval.low, interval.high)]
        xs = np.array([interval.replicas, interval.replicas], dtype=np.float64)
        yield Line("interval", policy, tint_of(report.place(policy)), xs, np.array(sizes), look="band", width=7.0)


def _frame(corner: Floats, *, up: bool = False) -> tuple[float, float]:
    """A little beyond the outermost shapes, so that nothing is cut off."""
    x, y = corner.tolist()
    return (x * 1.35, y * 1.6) if up else (x / 1.35, y / 1.6)


def _totals(low: float, high: float) -> list[float]:
    """Powers of two; every second one if there are many."""
    powers = range(ceil(log2(low)), floor(log2(high)) + 1)
    return [2.0**power for power in powers[:: 1 if len(powers) <= 10 else 2]]


def _diagonal(total: float, left: float, right: float) -> Line:
    xs = np.array([left, right])
    return Line("total", "", "line", xs, total / xs, width=1.0)


def _total_notes(total: float, across: tuple[float, float], up: tuple[float, float]) -> Iterator[ChartNote]:
    """A note at the upper or left end of a diagonal."""
    x = max(across[0], total / up[1]) * _INSIDE
    y = total / x
    if across[0] <= x <= across[1] / 1.5 and up[0] * 1.1 <= y:
        yield ChartNote(x, y, f"{total:g} {_cores(total)}")


def _doubled(low: float, high: float) -> tuple[float, ...]:
    return tuple([2.0**power for power in range(ceil(log2(low)), floor(log2(high)) + 1)])


def spread(report: ReplayReport) -> Chart:
    """The cost of every workload of a fleet, one lane per policy."""
    lanes = {name: float(len(report.policies) - i) for i, name in enumerate(report.policies)} if report.fleet else {}
    dots: list[Dots] = []
    notes, seen = [], [1.0]
    for name, lane in lanes.items():
        costs = np.sort([one.to_lower_bound for one in of_policy(report.fleet, name) if one.to_lower_bound is not None])
        if len(costs):
            dots += _spread_dots(report, name, costs, lane)
            seen += [float(costs[0]), float(costs[-1])]
            notes.append((name, lane))
    left, right = min(seen) / 1.1, max(seen) * 1.1
    label = "One dot per workload, with a bar at the median; further left is cheaper."
    labels = tuple([ChartNote(left, lane + 0.36, printable(name)) for name, lane in notes])
    x, y = (
        Axis("cost, x lower bound", ends=(left, right), unit=" x lower bound"),
        Axis("", "lanes", ends=(0.4, len(lanes) + 0.75)),
    )
    return Chart("spread", "Cost of each workload", label, x, y, (), tuple(dots), labels)


def _spread_dots(report: ReplayReport, name: str, costs: Floats, lane: float) -> Iterator[Dots]:
    tint = tint_of(report.place(name))
    some = costs[
        np.unique(np.linspace(0, len(costs) - 1, min(len(costs), _MOST_WORKLOADS)).round().astype(int))
    ].tolist()
    texts = tuple([(printable(name), f"{cost:.3g} x lower bound") for cost in some])
    count = len(some)
    ring: Symbol = "ring"
    yield Dots(name, name, tint, tuple(some), (lane,) * count, (ring,) * count, (7.0,) * count, texts)
    middle = float(np.median(costs))
    text = (printable(name), f"{middle:.3g} x lower bound, median")
    yield Dots(f"{name}, median", name, "ink", (middle,), (lane,), ("bar",), (22.0,), (text,))


def _pods(number: float) -> str:
    return "pod" if number == 1 else "pods"


def _cores(number: float) -> str:
    return "core" if number == 1 else "cores"
