"""The figures of a replay as pictures. Needs matplotlib, which hypot does not install."""

import warnings
from collections.abc import Callable, Sequence
from io import BytesIO
from textwrap import wrap
from typing import Any

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.dates import AutoDateLocator, ConciseDateFormatter
from matplotlib.figure import Figure
from matplotlib.layout_engine import ConstrainedLayoutEngine
from matplotlib.lines import Line2D
from matplotlib.ticker import FixedFormatter, FixedLocator, NullLocator

from hypot.face.replay.charts import DEMAND, charts_of
from hypot.face.replay.figure import Chart, Dots, Line
from hypot.face.replay.value import FIGURES, CannotDraw, ReplayReport, headline
from hypot.face.replay.watch import WATCH
from hypot.face.style import LIGHT, dash_of, printable, tint_of
from hypot.replay.policies.policy import ORACLE
from hypot.replay.world.record import Floats

_WIDTH, _HEIGHT, _DPI = 11.0, 3.4, 110
_DAY, _HOUR = 86400.0, 3600.0
_DASHES: dict[str, Any] = {"solid": "solid", "dash": (0, (6, 3)), "dot": (0, (1.5, 1.5))}
_SYMBOLS = {"up": "^", "down": "v", "resize": "D", "evicted": "o", "killed": "x", "dot": "o", "ring": "o", "bar": "|"}
_HOLLOW = {"evicted", "ring"}
# plotly measures a marker by its diameter in pixels, matplotlib by its area in points.
_POINTS = 0.62
_ALIGNED = {"right": "left", "left": "right", "center": "center"}
_LEVELLED = {"top": "bottom", "bottom": "top", "middle": "center"}
# Tick labels for years, months, days, hours, minutes and seconds.
_DATES = ["%Y", "%b %Y", "%d %b", "%d %b %H:%M", "%H:%M", "%H:%M:%S"]
# The same report gives the same bytes: no date, and constant identifiers within an SVG.
_STYLE: Any = {
    "font.size": 9,
    "text.parse_math": False,
    "svg.hashsalt": "hypot",
    "axes.edgecolor": LIGHT["line"],
    "axes.titlelocation": "left",
    "timezone": "UTC",
}


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
    with mpl.rc_context(_STYLE), warnings.catch_warnings():
        # Characters that the font lacks are drawn as boxes; nothing can be done about it here.
        warnings.filterwarnings("ignore", message="Glyph .* missing from")
        made = (_overview if figure == "overview" else _stacked)(report, wanted)
        out = BytesIO()
        made.savefig(out, format=form, metadata={"Date": None} if form == "svg" else None)
    return out.getvalue()


def _wanted(charts: dict[str, Chart], figure: str) -> list[Chart]:
    if figure not in FIGURES:
        raise CannotDraw(f"there is no figure {figure!r}; the figures are {', '.join(FIGURES)}")
    if figure == "overview":
        return [charts[key] for key in ("supply", "replicas", "pareto", "plane", "spread") if key in charts]
    if figure == WATCH:
        return [chart for key, chart in charts.items() if key.startswith(f"{WATCH}-")]
    return [charts[figure]] if figure in charts else []


def _overview(report: ReplayReport, charts: Sequence[Chart]) -> Figure:
    """Figures over time across the whole width, the others side by side below them."""
    across = [chart for chart in charts if chart.x.kind == "time"]
    beside = [chart for chart in charts if chart.x.kind != "time"]
    made = _figure(0.9 + 2.5 * len(across) + 3.4 * bool(beside))
    rows = len(across) + bool(beside)
    grid = made.add_gridspec(rows, max(len(beside), 1), height_ratios=[2.5] * len(across) + [3.4] * bool(beside))
    for i, chart in enumerate(across):
        _draw(report, made.add_subplot(grid[i, :]), chart)
    for i, chart in enumerate(beside):
        _draw(report, made.add_subplot(grid[len(across), i]), chart)
    _headed(report, made, charts, headline(report)[0])
    return made


def _stacked(report: ReplayReport, charts: Sequence[Chart]) -> Figure:
    square = charts[0].x.kind != "time"
    lanes = max((len(chart.notes) for chart in charts if chart.y.kind == "lanes"), default=0)
    made = _figure(0.9 + max((5.0 if square else _HEIGHT) * len(charts), 0.45 * lanes), 7.0 if square else _WIDTH)
    for axes, chart in zip(made.subplots(len(charts), 1, squeeze=False)[:, 0], charts, strict=True):
        _draw(report, axes, chart)
    _headed(report, made, charts, report.title)
    return made


def _figure(height: float, width: float = _WIDTH) -> Figure:
    return Figure(figsize=(width, height), dpi=_DPI, layout=ConstrainedLayoutEngine(w_pad=0.1, h_pad=0.08))


def _headed(report: ReplayReport, made: Figure, charts: Sequence[Chart], title: str) -> None:
    """Adds the title, and one legend for all figures."""
    label = wrap(printable(title), int(10 * made.get_figwidth()))
    made.suptitle("\n".join(label), fontsize=12, fontweight="bold")
    drawn = {who for chart in charts for who in chart.owners}
    keys = [
        Line2D([], [], color=LIGHT[tint_of(i)], linestyle=_DASHES[dash_of(i)], label=printable(name), linewidth=2)
        for i, name in enumerate(report.policies)
        if name in drawn
    ]
    if any(chart.key == "supply" for chart in charts):
        keys.append(Line2D([], [], color=LIGHT["faint"], alpha=0.3, linewidth=7, label=DEMAND))
    if any(line.who == ORACLE for chart in charts for line in chart.lines):
        keys.append(Line2D([], [], color=LIGHT["ink"], linestyle=_DASHES["dot"], label=ORACLE))
    if keys:
        made.legend(handles=keys, loc="outside lower center", ncols=min(len(keys), 8), frameon=False, fontsize=8.5)


def _draw(report: ReplayReport, axes: Axes, chart: Chart) -> None:
    time = _time_of(report)
    for line in chart.lines:
        _draw_line(axes, line, time(line.xs) if chart.x.kind == "time" else line.xs)
    for dots in chart.dots:
        _draw_dots(axes, dots, time(np.array(dots.xs)) if chart.x.kind == "time" else np.array(dots.xs))
    _dress(axes, chart)
    if chart.x.kind == "time":
        _dress_time(report, axes)
    _annotate(axes, chart)
    if chart.legend:
        axes.legend(frameon=False, fontsize=8, ncols=5, loc="lower right", bbox_to_anchor=(1.0, 1.0), borderaxespad=0.2)


def _time_of(report: ReplayReport) -> Callable[[Floats], Floats]:
    """Days since 1970, which matplotlib shows as dates, or hours since the start."""
    if report.dated:
        return lambda at: at / _DAY
    return lambda at: at / _HOUR


def _draw_line(axes: Axes, line: Line, xs: Floats) -> None:
    tint = LIGHT[line.tint]
    if line.look == "shade":
        across, name = axes.get_xaxis_transform(), printable(line.name)
        axes.fill_between(
            xs, 0, line.ys, step="post", color=tint, alpha=0.22, linewidth=0, transform=across, label=name
        )
        return
    if line.look == "area":
        axes.fill_between(xs, line.ys, color=tint, alpha=0.25, linewidth=0)
    axes.plot(
        xs,
        line.ys,
        color=tint,
        alpha=0.3 if line.look in {"band", "haze"} else 1.0,
        linestyle=_DASHES[line.dash],
        linewidth=line.width * 0.75,
        drawstyle="steps-post" if line.look == "step" else "default",
        solid_capstyle="butt",
        label=printable(line.name),
    )


def _draw_dots(axes: Axes, dots: Dots, xs: Floats) -> None:
    tint = LIGHT[dots.tint]
    ys, sizes = np.array(dots.ys), (np.array(dots.sizes) * _POINTS) ** 2
    for symbol in dict.fromkeys(dots.symbols):
        of_it = np.array([one == symbol for one in dots.symbols])
        inside = "none" if symbol in _HOLLOW else tint
        marker: Any = _SYMBOLS[symbol]
        strokes = symbol in {"killed", "bar"}
        colours: dict[str, Any] = {"c": tint} if strokes else {"facecolors": inside, "edgecolors": tint}
        axes.scatter(
            xs[of_it], ys[of_it], s=sizes[of_it], marker=marker, linewidths=1.0, alpha=0.9, zorder=3, **colours
        )
    for x, y, label in zip(xs, ys, dots.labels, strict=False):
        up, across = dots.side.split()
        offset = ({"right": 6, "left": -6, "center": 0}[across], {"top": 5, "bottom": -5, "middle": 0}[up])
        axes.annotate(
            label, (x, y), offset, textcoords="offset points", ha=_ALIGNED[across], va=_LEVELLED[up], fontsize=8.5
        )


def _dress(axes: Axes, chart: Chart) -> None:
    axes.set_title(chart.title, fontsize=10, fontweight="bold")
    axes.grid(visible=True, color=LIGHT["line"], linewidth=0.7)
    axes.set_axisbelow(True)
    axes.tick_params(length=0, labelcolor=LIGHT["faint"])
    axes.tick_params(axis="x", pad=6)
    axes.spines[["top", "right"]].set_visible(False)
    for axis, drawn, scale, ends in (
        (chart.x, axes.xaxis, axes.set_xscale, axes.set_xlim),
        (chart.y, axes.yaxis, axes.set_yscale, axes.set_ylim),
    ):
        if axis.kind == "log":
            scale("log")
            drawn.set_minor_locator(NullLocator())
        if axis.ticks:
            drawn.set_major_locator(FixedLocator(axis.ticks))
            drawn.set_major_formatter(FixedFormatter(axis.label))
        if axis.ends is not None:
            ends(*axis.ends)
        drawn.set_label_text(axis.title)
    if chart.y.kind == "linear":
        axes.set_ylim(bottom=0.0)
    if chart.y.kind == "lanes":
        axes.set_yticks([])
        axes.spines["left"].set_visible(False)


def _dress_time(report: ReplayReport, axes: Axes) -> None:
    axes.set_xlim(*_time_of(report)(np.array(report.span)))
    if not report.dated:
        axes.set_xlabel("hours")
        return
    locator: Any = AutoDateLocator(maxticks=9)  # type: ignore[no-untyped-call]
    axes.xaxis.set_major_locator(locator)
    formatter: Any = ConciseDateFormatter(locator, formats=_DATES, zero_formats=_DATES, show_offset=False)  # type: ignore[no-untyped-call]
    axes.xaxis.set_major_formatter(formatter)


def _annotate(axes: Axes, chart: Chart) -> None:
    for note in chart.notes:
        at_edge = chart.y.kind == "lanes" or chart.x.kind == "time"
        x, across = (0.0, axes.get_yaxis_transform()) if at_edge else (note.x, axes.transData)
        box = {"facecolor": LIGHT["paper"], "edgecolor": "none", "alpha": 0.8, "pad": 0.8} if at_edge else None
        level = "center" if chart.y.kind == "lanes" else "bottom" if at_edge else "top"
        axes.text(x, note.y, f" {note.label}", transform=across, fontsize=8, color=LIGHT["faint"], bbox=box, va=level)
