"""The figures of a replay: those over everything, and those over time with one line per policy."""

from collections.abc import Callable, Iterator

import numpy as np

from hypot.face.chart import Axis, Chart, ChartNote, Line, Look, round_ticks
from hypot.face.replay.moments import decisions
from hypot.face.replay.plane import pareto, plane, spread
from hypot.face.replay.rule_prices import price_charts
from hypot.face.replay.value import ReplayReport
from hypot.face.replay.watch import watch_charts
from hypot.face.style import dash_of, tint_of
from hypot.face.thin import COLUMNS, means, roughness, thin
from hypot.policy.model.decision import show_seconds
from hypot.replay.world.record import Floats, Run

DEMAND = "demand"
_GIB = 2.0**30
_HOUR = 3600.0
_MANY = 4
_FEWEST_COLUMNS = 60
# Fewer milliseconds or percent than this are drawn as this much, because a logarithmic scale cannot show zero.
_SHORTEST, _LEAST_LATE = 1.0, 0.01
# A line that crosses more than this share of its height in each column hides the others.
_ROUGH = 0.012
_TIME = Axis("", "time")


def charts_of(report: ReplayReport) -> tuple[Chart, ...]:
    """All figures that have something to show."""
    made = [pareto(report), plane(report), spread(report)]
    if all(len(run.ticks.at) for run in report.runs) and report.runs:
        made += _over_time(report)
        made += [chart for run in report.runs for chart in watch_charts(report, run, columns_for(report))]
        made += [chart for run in report.runs for chart in price_charts(report, run)]
    return tuple([chart for chart in made if not chart.empty])


def columns_for(report: ReplayReport) -> int:
    """With more than a few policies, each gets fewer points, so that the page stays small."""
    return report.share(COLUMNS, among=_MANY, least=_FEWEST_COLUMNS)


def resolution(report: ReplayReport) -> str:
    """How much time a point represents, as text; empty if every tick is drawn."""
    at, columns = report.runs[0].ticks.at, columns_for(report)
    if len(at) <= 2 * columns:
        return ""
    column = show_seconds((at[-1] - at[0]) / columns)
    return f"Lines show the lowest and highest value of every {column}; where that is a haze, a line shows the mean."


def spent(run: Run) -> Floats:
    """The cost up to the end of each tick."""
    prices, ticks = run.world.prices, run.ticks
    an_hour = ticks.cpu * prices.cpu + ticks.memory / 1e9 * prices.memory
    return np.cumsum(an_hour) * (run.world.tick / _HOUR)


def _over_time(report: ReplayReport) -> list[Chart]:
    return [
        _supply(report),
        _replicas(report),
        decisions(report),
        _latency(report),
        _late(report),
        *_sizes(report),
        _cost(report),
    ]


def _supply(report: ReplayReport) -> Chart:
    label = "Requested cores of the pods that serve, against the cores that are needed."
    lines = (_demand_line(report), *_lines(report, lambda run: run.ticks.ready_cpu))
    return Chart("supply", "Demand and supply", label, _TIME, Axis("cores", unit=" cores"), lines)


def _demand_line(report: ReplayReport) -> Line:
    """The demand as a filled area below all other lines; if it is not known, the offered work."""
    ticks = report.runs[0].ticks
    needed = ticks.work / np.maximum(ticks.efficiency, 1e-6) if report.demand is None else report.demand
    at = ticks.at[len(ticks.at) - len(needed) :]
    return Line(DEMAND, DEMAND, "faint", *thin(at, needed, columns_for(report)), look="area", width=1.0)


def _replicas(report: ReplayReport) -> Chart:
    most = max(float(run.ticks.replicas.max(initial=1.0)) for run in report.runs)
    few = tuple([float(count) for count in range(int(most) + 1)]) if most <= 6 else ()
    axis = Axis("pods", ticks=few, unit=" pods")
    lines = _lines(report, lambda run: run.ticks.replicas)
    return Chart("replicas", "Replicas", "The requested number of pods.", _TIME, axis, lines)


def _latency(report: ReplayReport) -> Chart:
    deadline = 1000.0 * report.runs[0].world.service.deadline
    lines = _lines(report, lambda run: np.maximum(1000.0 * run.ticks.p99, _SHORTEST), "line", log=True)
    label = "The 99th percentile. Above the dashed line, requests miss their deadline."
    chart = Chart("latency", "Latency", label, _TIME, _powers("p99, ms", " ms", lines, deadline), lines)
    return _with_level(chart, deadline, f"deadline, {deadline:g} ms")


def _late(report: ReplayReport) -> Chart:
    allowed = 100.0 * (1.0 - report.runs[0].world.service.slo)
    lines = _lines(report, lambda run: np.maximum(100.0 * run.ticks.late, _LEAST_LATE), "line", log=True)
    axis = _powers("late, %", " %", lines, allowed, least=_LEAST_LATE)
    chart = Chart("late", "Late requests", "The share of requests that miss their deadline.", _TIME, axis, lines)
    return _with_level(chart, allowed, f"the SLO allows {allowed:.4g} %")


def _sizes(report: ReplayReport) -> Iterator[Chart]:
    label = "The request of a new pod."
    cpu = _lines(report, lambda run: run.ticks.size_cpu)
    yield Chart("cpu", "CPU of a pod", label, _TIME, Axis("cores", unit=" cores"), cpu)
    memory = _lines(report, lambda run: run.ticks.size_memory / _GIB)
    yield Chart("memory", "Memory of a pod", label, _TIME, Axis("GiB", unit=" GiB"), memory)


def _cost(report: ReplayReport) -> Chart:
    label = "What all pods have cost so far, including those that start and stop."
    return Chart("cost", "Cost", label, _TIME, Axis("$", unit=" $"), _lines(report, spent, "line"))


def _lines(
    report: ReplayReport, values: Callable[[Run], Floats], look: Look = "step", *, log: bool = False
) -> tuple[Line, ...]:
    """One line per policy, above all hazes."""
    columns = columns_for(report)
    made: list[Line] = []
    for run in report.runs:
        place = report.place(run.policy)
        line = Line(run.policy, run.policy, tint_of(place), run.ticks.at, values(run), look, dash_of(place))
        made += _thinned(line, columns, log=log)
    return tuple(sorted(made, key=lambda line: line.look != "haze"))


def _thinned(line: Line, columns: int, *, log: bool = False) -> Iterator[Line]:
    """A line that changes too fast to be distinguished becomes a haze, with its mean as the line."""
    at, values = np.asarray(line.xs), np.asarray(line.ys)
    few = thin(at, values, columns)
    if roughness(at, np.log(values) if log else values, columns) <= _ROUGH:
        yield line._replace(xs=few[0], ys=few[1])
        return
    mean = means(at, values, columns)
    yield line._replace(xs=few[0], ys=few[1], look="haze", dash="solid", width=1.0)
    yield line._replace(xs=mean[0], ys=mean[1], look="step")


def _with_level(chart: Chart, level: float, label: str) -> Chart:
    """Adds a horizontal line with a label."""
    at = np.concatenate([np.asarray(line.xs) for line in chart.lines])
    across = np.array([at.min(), at.max()]) if len(at) else at
    line = Line(label, "", "ink", across, np.full(len(across), level), dash="dash", width=1.2)
    notes = tuple([ChartNote(float(x), level, label) for x in across[:1]])
    return chart._replace(lines=(*chart.lines, line), notes=notes)


def _powers(title: str, unit: str, lines: tuple[Line, ...], level: float, *, least: float = 0.0) -> Axis:
    """An axis that covers the lines and the level."""
    seen = np.concatenate([np.asarray(line.ys) for line in lines] + [np.array([level / 1.5, level * 2.0])])
    seen = seen[np.isfinite(seen) & (seen > 0.0)]
    ends = (float(seen.min()) / 1.2, float(seen.max()) * 1.3)
    ticks, label = round_ticks(*ends)
    label = tuple([f"≤{word}" if tick <= least else word for tick, word in zip(ticks, label, strict=True)])
    return Axis(title, "log", ticks, label, ends, unit)
