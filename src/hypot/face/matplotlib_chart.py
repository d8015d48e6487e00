"""A chart as matplotlib draws it into a picture. Needs matplotlib, which hypot does not install."""

import warnings
from collections.abc import Callable
from io import BytesIO
from typing import Any

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.dates import AutoDateLocator, ConciseDateFormatter
from matplotlib.figure import Figure
from matplotlib.layout_engine import ConstrainedLayoutEngine
from matplotlib.ticker import FixedFormatter, FixedLocator, MaxNLocator, NullLocator

from hypot.face.chart import Chart, Dots, Line, TimeSpan
from hypot.face.style import LIGHT, printable
from hypot.face.thin import Floats

# The width of most pictures in inches.
WIDTH = 11.0
DASHES: dict[str, Any] = {"solid": "solid", "dash": (0, (6, 3)), "dot": (0, (1.5, 1.5))}
_DPI = 110
_DAY, _HOUR = 86400.0, 3600.0
_SYMBOLS = {"up": "^", "down": "v", "resize": "D", "evicted": "o", "killed": "x", "dot": "o", "ring": "o", "bar": "|"}
_HOLLOW = {"evicted", "ring"}
# plotly measures a marker by its diameter in pixels, matplotlib by its area in points.
_POINTS = 0.62
_ALIGNED = {"right": "left", "left": "right", "center": "center"}
_LEVELLED = {"top": "bottom", "bottom": "top", "middle": "center"}
# Tick labels for years, months, days, hours, minutes and seconds.
_DATES = ["%Y", "%b %Y", "%d %b", "%d %b %H:%M", "%H:%M", "%H:%M:%S"]
# Above the chart, at the right.
_LEGEND: Any = {
    "frameon": False,
    "fontsize": 8,
    "ncols": 5,
    "loc": "lower right",
    "bbox_to_anchor": (1.0, 1.0),
    "borderaxespad": 0.2,
}
# More entries than this would reach into the title, so they go beside the chart.
_FEW_LINES = 5
_BESIDE: Any = {"ncols": 1, "loc": "center left", "bbox_to_anchor": (1.0, 0.5)}
# The same charts give the same bytes: no date, and constant identifiers within an SVG.
_STYLE: Any = {
    "font.size": 9,
    "text.parse_math": False,
    "svg.hashsalt": "hypot",
    "axes.edgecolor": LIGHT["line"],
    "axes.titlelocation": "left",
    "timezone": "UTC",
}


def saved(make: Callable[[], Figure], form: str) -> bytes:
    """The figure that `make` draws in the style of all pictures, as `png` or `svg`."""
    with mpl.rc_context(_STYLE), warnings.catch_warnings():
        # Characters that the font lacks are drawn as boxes; nothing can be done about it here.
        warnings.filterwarnings("ignore", message="Glyph .* missing from")
        out = BytesIO()
        make().savefig(out, format=form, metadata={"Date": None} if form == "svg" else None)
    return out.getvalue()


def blank(height: float, width: float = WIDTH) -> Figure:
    """A figure without charts."""
    return Figure(figsize=(width, height), dpi=_DPI, layout=ConstrainedLayoutEngine(w_pad=0.1, h_pad=0.08))


def draw(axes: Axes, chart: Chart, span: TimeSpan, **legend: Any) -> None:
    """Draws a chart; `legend` are options of its legend."""
    over_time = chart.x.kind == "time"
    for line in chart.lines:
        xs = np.asarray(line.xs)
        _draw_line(axes, line, _time(span, xs) if over_time else xs)
    for dots in chart.dots:
        xs = np.array(dots.xs)
        _draw_dots(axes, dots, _time(span, xs) if over_time else xs)
    _dress(axes, chart)
    if over_time:
        _dress_time(span, axes)
    _annotate(axes, chart)
    if chart.legend:
        beside = _BESIDE if over_time and len(chart.lines) > _FEW_LINES else {}
        axes.legend(**{**_LEGEND, **beside, **legend})


def _time(span: TimeSpan, at: Floats) -> Floats:
    """Days since 1970, which matplotlib shows as dates, or hours since the start."""
    return at / (_DAY if span.dated else _HOUR)


def _draw_line(axes: Axes, line: Line, xs: Floats) -> None:
    tint, ys = LIGHT[line.tint], np.asarray(line.ys)
    if line.look == "shade":
        across, name = axes.get_xaxis_transform(), printable(line.name)
        axes.fill_between(xs, 0, ys, step="post", color=tint, alpha=0.22, linewidth=0, transform=across, label=name)
        return
    if line.look == "shape":
        axes.fill(xs, ys, color=tint, alpha=0.22, linewidth=0, label=printable(line.name))
        return
    if line.look == "area":
        axes.fill_between(xs, ys, color=tint, alpha=0.25, linewidth=0)
    axes.plot(
        xs,
        ys,
        color=tint,
        alpha=0.3 if line.look in {"band", "haze"} else 1.0,
        linestyle=DASHES[line.dash],
        linewidth=line.width * 0.75,
        drawstyle="steps-post" if line.look == "step" else "default",
        solid_capstyle="butt",
        marker="o" if line.marked else "",
        markersize=4,
        label=printable(line.name),
    )


def _draw_dots(axes: Axes, dots: Dots, xs: Floats) -> None:
    tint = LIGHT[dots.tint]
    ys, sizes = np.array(dots.ys), (np.array(dots.sizes) * _POINTS) ** 2
    for number, symbol in enumerate(dict.fromkeys(dots.symbols)):
        of_it = np.array([one == symbol for one in dots.symbols])
        inside = "none" if symbol in _HOLLOW else tint
        marker: Any = _SYMBOLS[symbol]
        strokes = symbol in {"killed", "bar"}
        colours: dict[str, Any] = {"c": tint} if strokes else {"facecolors": inside, "edgecolors": tint}
        name = "_" if number else printable(dots.name)
        axes.scatter(
            xs[of_it],
            ys[of_it],
            s=sizes[of_it],
            marker=marker,
            linewidths=1.0,
            alpha=0.9,
            zorder=3,
            label=name,
            **colours,
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
            drawn.set_major_formatter(FixedFormatter(axis.tick_labels))
        elif axis.whole:
            drawn.set_major_locator(MaxNLocator(integer=True))
        if axis.ends is not None:
            ends(*axis.ends)
        drawn.set_label_text(axis.title)
    if chart.y.kind == "linear" and chart.y.ends is None:
        # The margin below zero keeps a line at zero whole.
        axes.set_ylim(bottom=0.0 if chart.x.kind == "time" else min(0.0, axes.get_ylim()[0]))
    if chart.y.kind == "lanes":
        axes.set_yticks([])
        axes.spines["left"].set_visible(False)


def _dress_time(span: TimeSpan, axes: Axes) -> None:
    axes.set_xlim(*_time(span, np.array([span.start, span.end])))
    if not span.dated:
        axes.set_xlabel("hours")
        return
    locator: Any = AutoDateLocator(maxticks=9)  # type: ignore[no-untyped-call]
    axes.xaxis.set_major_locator(locator)
    concise: Any = ConciseDateFormatter
    axes.xaxis.set_major_formatter(concise(locator, formats=_DATES, zero_formats=_DATES, show_offset=False))


def _annotate(axes: Axes, chart: Chart) -> None:
    for note in chart.notes:
        at_edge = chart.y.kind == "lanes" or chart.x.kind == "time"
        x, across = (0.0, axes.get_yaxis_transform()) if at_edge else (note.x, axes.transData)
        box = {"facecolor": LIGHT["paper"], "edgecolor": "none", "alpha": 0.8, "pad": 0.8} if at_edge else None
        level = "center" if chart.y.kind == "lanes" else "bottom" if at_edge else "top"
        axes.text(x, note.y, f" {note.label}", transform=across, fontsize=8, color=LIGHT["faint"], bbox=box, va=level)
