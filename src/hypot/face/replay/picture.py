"""The figures of a replay as pictures. Needs matplotlib, which hypot does not install."""

from collections.abc import Sequence
from textwrap import wrap

from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from hypot.face.chart import Chart
from hypot.face.matplotlib_chart import DASHES, WIDTH, blank, draw, saved
from hypot.face.replay.charts import DEMAND, charts_of
from hypot.face.replay.rule_prices import RULES
from hypot.face.replay.value import FIGURES, CannotDraw, ReplayReport, headline
from hypot.face.replay.watch import WATCH
from hypot.face.style import LIGHT, dash_of, printable, tint_of

_HEIGHT = 3.4


def figures_of(report: ReplayReport) -> tuple[str, ...]:
    """The names in `FIGURES` for which this report has something to show."""
    charts = {chart.key: chart for chart in charts_of(report)}
    return tuple([figure for figure in FIGURES if _wanted(charts, figure)])


def picture(report: ReplayReport, figure: str, form: str) -> bytes:
    """One of `FIGURES`, as `png` or `svg`; `overview` combines up to five of them."""
    report = report.bounded()
    charts = {chart.key: chart for chart in charts_of(report)}
    wanted = _wanted(charts, figure)
    if not wanted:
        raise CannotDraw(f"{report.title}: there is nothing to show in the figure {figure!r}")
    return saved(lambda: (_overview if figure == "overview" else _stacked)(report, wanted), form)


def _wanted(charts: dict[str, Chart], figure: str) -> list[Chart]:
    if figure not in FIGURES:
        raise CannotDraw(f"there is no figure {figure!r}; the figures are {', '.join(FIGURES)}")
    if figure == "overview":
        return [charts[key] for key in ("supply", "replicas", "pareto", "plane", "spread") if key in charts]
    if figure in {WATCH, RULES}:
        return [chart for key, chart in charts.items() if key.startswith(f"{figure}-")]
    return [charts[figure]] if figure in charts else []


def _overview(report: ReplayReport, charts: Sequence[Chart]) -> Figure:
    """Figures over time across the whole width, the others side by side below them."""
    across = [chart for chart in charts if chart.x.kind == "time"]
    beside = [chart for chart in charts if chart.x.kind != "time"]
    made = blank(0.9 + 2.5 * len(across) + 3.4 * bool(beside))
    rows = len(across) + bool(beside)
    grid = made.add_gridspec(rows, max(len(beside), 1), height_ratios=[2.5] * len(across) + [3.4] * bool(beside))
    for i, chart in enumerate(across):
        draw(made.add_subplot(grid[i, :]), chart, report.span)
    for i, chart in enumerate(beside):
        draw(made.add_subplot(grid[len(across), i]), chart, report.span)
    _headed(report, made, charts, headline(report)[0])
    return made


def _stacked(report: ReplayReport, charts: Sequence[Chart]) -> Figure:
    square = charts[0].x.kind != "time"
    lanes = max((len(chart.notes) for chart in charts if chart.y.kind == "lanes"), default=0)
    made = blank(0.9 + max((5.0 if square else _HEIGHT) * len(charts), 0.45 * lanes), 7.0 if square else WIDTH)
    for axes, chart in zip(made.subplots(len(charts), 1, squeeze=False)[:, 0], charts, strict=True):
        draw(axes, chart, report.span)
    _headed(report, made, charts, report.title)
    return made


def _headed(report: ReplayReport, made: Figure, charts: Sequence[Chart], title: str) -> None:
    """Adds the title, and one legend for all figures."""
    label = wrap(printable(title), int(10 * made.get_figwidth()))
    made.suptitle("\n".join(label), fontsize=12, fontweight="bold")
    drawn = {who for chart in charts for who in chart.owners}
    keys = [
        Line2D([], [], color=LIGHT[tint_of(i)], linestyle=DASHES[dash_of(i)], label=printable(name), linewidth=2)
        for i, name in enumerate(report.policies)
        if name in drawn
    ]
    if any(chart.key == "supply" for chart in charts):
        keys.append(Line2D([], [], color=LIGHT["faint"], alpha=0.3, linewidth=7, label=DEMAND))
    if keys:
        made.legend(handles=keys, loc="outside lower center", ncols=min(len(keys), 8), frameon=False, fontsize=8.5)
