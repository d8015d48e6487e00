"""The charts as one picture. Needs matplotlib, which hypot does not install."""

from collections.abc import Sequence
from io import BytesIO
from typing import Any

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.axis import Axis as DrawnAxis
from matplotlib.figure import Figure, SubFigure
from matplotlib.layout_engine import ConstrainedLayoutEngine
from matplotlib.ticker import FixedFormatter, FixedLocator, MaxNLocator, NullLocator

from hypot.face.intervals.charts import COLOURS, WIDTHS, IntervalAxis, IntervalChart, Panel, Series, parts_of
from hypot.kinds.hvpa import Hvpa

_WIDTH, _HEIGHT = 11.0, 7.4
_GRID = "#dde2e8"
_FAINT = "#5b6673"
_DASHES = {"up": "solid", "untrimmed": "dotted", "down": "solid"}
# The same Hvpa gives the same bytes: no date, and constant identifiers within an SVG.
_STYLE: Any = {
    "font.size": 9,
    "text.parse_math": False,
    "svg.hashsalt": "hypot",
    "axes.edgecolor": _GRID,
    "axes.titlelocation": "left",
}


def picture(hvpa: Hvpa, form: str) -> bytes:
    """All charts in one figure, as `png` or `svg`."""
    panels = [(part.name, panel) for part in parts_of(hvpa) for panel in part.panels]
    with mpl.rc_context(_STYLE):
        spaced = ConstrainedLayoutEngine(w_pad=0.1, h_pad=0.08)
        made = Figure(figsize=(_WIDTH, _HEIGHT * len(panels) + 0.4), dpi=110, layout=spaced)
        label = f"Effective scaling intervals of {hvpa.namespace}/{hvpa.name}"
        made.suptitle(label, fontsize=13, fontweight="bold")
        for (name, panel), place in zip(panels, _places(made, len(panels)), strict=True):
            _draw_panel(place, name, panel)
        out = BytesIO()
        made.savefig(out, format=form, metadata={"Date": None} if form == "svg" else None)
    return out.getvalue()


def _places(made: Figure, count: int) -> Sequence[SubFigure]:
    return list(made.subfigures(count, 1, squeeze=False)[:, 0])


def _draw_panel(place: SubFigure, name: str, panel: Panel) -> None:
    place.suptitle(f"{panel.resource} of {name}", fontsize=11, fontweight="bold")
    for axes, chart in zip(place.subplots(2, 2).flat, panel.charts, strict=True):
        _draw_chart(axes, chart)


def _draw_chart(axes: Axes, chart: IntervalChart) -> None:
    for series in chart.series:
        _draw_line(axes, series, "o" if chart.marked else "")
    axes.set_title(chart.title, fontsize=10, fontweight="bold")
    axes.set_xscale("log" if chart.x.log else "linear")
    axes.set_yscale("log" if chart.y.log else "linear")
    if not chart.y.log:
        axes.set_ylim(bottom=min(0.0, axes.get_ylim()[0]))
    _dress(axes.xaxis, chart.x)
    _dress(axes.yaxis, chart.y)
    axes.grid(visible=True, color=_GRID, linewidth=0.7)
    axes.set_axisbelow(True)
    axes.tick_params(length=0, labelcolor=_FAINT)
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(frameon=False, fontsize=8)


def _draw_line(axes: Axes, series: Series, marker: str) -> None:
    ys = [float("nan") if y is None else y for y in series.ys]
    style = "dashed" if series.dashed else _DASHES[series.role]
    axes.plot(
        series.xs,
        ys,
        label=series.name,
        color=COLOURS[series.role],
        linestyle=style,
        linewidth=WIDTHS[series.role],
        marker=marker,
        markersize=4,
    )


def _dress(drawn: DrawnAxis, axis: IntervalAxis) -> None:
    drawn.set_label_text(axis.title)
    if axis.ticks:
        drawn.set_major_locator(FixedLocator(axis.ticks))
        drawn.set_major_formatter(FixedFormatter([f"{tick:g}" for tick in axis.ticks]))
        drawn.set_minor_locator(NullLocator())
    elif axis.title == "replicas":
        drawn.set_major_locator(MaxNLocator(integer=True))
