"""A chart as the data and the layout that plotly draws."""

from collections.abc import Callable, Iterable
from html import escape
from itertools import pairwise
from math import isfinite, log10
from typing import Any, NamedTuple

from hypot.face.chart import Axis, Chart, ChartNote, Dots, Line, TimeSpan

_MARGIN = {"l": 58, "r": 10, "t": 8, "b": 38}
_UPRIGHT = {"l": 58, "r": 14, "t": 8, "b": 44}
_LEGEND = {"orientation": "h", "x": 0, "y": 1.02, "yanchor": "bottom", "bgcolor": "rgba(0,0,0,0)"}
_SYMBOLS = {
    "up": "triangle-up",
    "down": "triangle-down",
    "resize": "diamond",
    "evicted": "circle-open",
    "killed": "x-thin-open",
    "dot": "circle",
    "ring": "circle-open",
    "bar": "line-ns-open",
}
_OPEN = {"evicted", "killed", "ring", "bar"}


class ChartOptions(NamedTuple):
    """What a page says about all its charts."""

    span: TimeSpan = TimeSpan()
    # The identifier of a `who`, by which the script of the page shows and hides lines.
    key: Callable[[str], str] = str
    # To how many digits the numbers of lines are rounded; with six, the two sides of a step stay apart.
    digits: int = 6

    @property
    def unit(self) -> float:
        """The units of the time axis in a second: milliseconds for dates, otherwise hours."""
        return 1000.0 if self.span.dated else 1.0 / 3600.0


def plotted(chart: Chart, options: ChartOptions) -> dict[str, Any]:
    """The data and the layout. The script of the page adds the colours, and the times from `meta.at`."""
    lines = [_line(options, chart, line) for line in chart.lines]
    dots = [_dots(options, chart, dots) for dots in chart.dots]
    return {"data": [*lines, *dots], "layout": _layout(options, chart)}


def _line(options: ChartOptions, chart: Chart, line: Line) -> dict[str, Any]:
    fill = {"area": "tozeroy", "shade": "tozeroy", "shape": "toself"}.get(line.look)
    width = 0 if line.look in {"shade", "shape"} else line.width
    steps = line.look in {"step", "shade", "haze"}
    silent = line.look in {"shade", "shape", "band", "haze"} or line.tint == "line"
    meta: dict[str, Any] = {"who": options.key(line.who), "tint": line.tint}
    place = {"x": _numbers(line.xs, options.digits)}
    if chart.x.kind == "time":
        meta["at"], place = _steps(line.xs, options.span.start), {}
    hover = f"%{{y:.4~g}}{escape(chart.y.unit, quote=False)}{'%{hovertext}' if line.texts else ''}"
    return {
        "type": "scatter",
        "mode": "lines+markers" if line.marked else "lines",
        "name": escape(line.name, quote=False),
        **place,
        "y": _numbers(line.ys, options.digits),
        "meta": {**meta, "veil": "38"} if fill else meta,
        "line": {"width": width, "dash": line.dash, "shape": "hv" if steps else "linear"},
        **({"fill": fill} if fill else {}),
        **({"opacity": 0.3} if line.look in {"band", "haze"} else {}),
        **({"yaxis": "y2"} if line.look == "shade" else {}),
        **({"hovertext": [escape(text, quote=False) for text in line.texts]} if line.texts else {}),
        **({"hoverinfo": "skip"} if silent else {"hovertemplate": hover}),
    }


def _dots(options: ChartOptions, chart: Chart, dots: Dots) -> dict[str, Any]:
    over_time = chart.x.kind == "time"
    when = ("%{x|%a %d %b, %H:%M:%S}<br>" if options.span.dated else "after %{x:.2f} h<br>") if over_time else ""
    where = {} if over_time else {"x": _numbers(dots.xs)}
    meta: dict[str, Any] = {"who": options.key(dots.who), "tint": dots.tint}
    if over_time:
        meta["at"] = _steps(dots.xs, options.span.start)
    labels = {"text": [escape(label, quote=False) for label in dots.labels], "textposition": dots.side}
    return {
        "type": "scatter",
        "mode": "markers+text" if dots.labels else "markers",
        "name": escape(dots.name, quote=False),
        **where,
        "y": _numbers(dots.ys),
        "meta": meta,
        "marker": {
            "symbol": _one_or_all([_SYMBOLS[symbol] for symbol in dots.symbols]),
            "size": _one_or_all([round(size, 1) for size in dots.sizes]),
            "opacity": 0.85,
            "line": {"width": _one_or_all([1.5 if symbol in _OPEN else 0 for symbol in dots.symbols])},
        },
        "hovertext": ["\n".join(escape(line, quote=False) for line in lines) for lines in dots.texts],
        "hovertemplate": f"{when}%{{hovertext}}<extra></extra>",
        **(labels if dots.labels else {}),
    }


def _layout(options: ChartOptions, chart: Chart) -> dict[str, Any]:
    over_time = chart.x.kind == "time"
    # Charts over time line up: their margins are fixed, and the page writes their legends.
    legend = chart.legend and not over_time
    layout: dict[str, Any] = {
        "paper_bgcolor": "rgba(0,0,0,0)",
        "plot_bgcolor": "rgba(0,0,0,0)",
        "font": {"size": 12, "family": "system-ui, sans-serif"},
        "margin": _MARGIN if over_time else _UPRIGHT,
        "hovermode": "closest" if chart.dots else "x unified",
        "showlegend": legend,
        "uirevision": "same",
        "xaxis": _time_axis(options) if over_time else _axis(chart.x),
        "yaxis": _axis(chart.y, from_zero=True),
        "annotations": [_note(chart, note) for note in chart.notes],
    }
    if over_time:
        layout["meta"] = "time"
    if legend:
        layout["legend"] = _LEGEND
        layout["xaxis"]["automargin"] = layout["yaxis"]["automargin"] = True
    if any(line.look == "shade" for line in chart.lines):
        layout["yaxis2"] = {"overlaying": "y", "range": [0, 1], "visible": False, "fixedrange": True}
    return layout


def _time_axis(options: ChartOptions) -> dict[str, Any]:
    drawn: dict[str, Any] = {"type": "date"} if options.span.dated else {"type": "linear", "ticksuffix": " h"}
    return {**drawn, "range": [number(end * options.unit, 6) for end in options.span[:2]]}


def _axis(axis: Axis, *, from_zero: bool = False) -> dict[str, Any]:
    if axis.kind == "lanes":
        return {"range": list(axis.ends or ()), "visible": False, "fixedrange": True}
    title = {"text": escape(axis.title, quote=False), "standoff": 6}
    drawn: dict[str, Any] = {"title": title, "hoverformat": ".4~g", "type": axis.kind, "zeroline": False}
    if from_zero and axis.kind == "linear" and axis.ends is None:
        drawn["rangemode"] = "tozero"
    if axis.ends is not None:
        drawn["range"] = [number(_placed(end, axis), 6) for end in axis.ends]
    if axis.ticks:
        drawn |= {"tickvals": _numbers(axis.ticks), "ticktext": list(axis.tick_labels)}
    return drawn


def _note(chart: Chart, note: ChartNote) -> dict[str, Any]:
    """In lanes and over time at the left edge, at any zoom; elsewhere at its place."""
    drawn = {"text": escape(note.label, quote=False), "showarrow": False, "xanchor": "left", "font": {"size": 11}}
    if chart.y.kind == "lanes":
        return {**drawn, "xref": "paper", "x": 0, "y": number(note.y)}
    y = _placed(note.y, chart.y)
    if chart.x.kind == "time":
        return {**drawn, "xref": "paper", "x": 0, "y": number(y), "yanchor": "bottom", "bgcolor": "white"}
    return {**drawn, "x": number(_placed(note.x, chart.x), 6), "y": number(y, 6), "yanchor": "top", "opacity": 0.7}


def _placed(value: float, axis: Axis) -> float:
    """The value as plotly expects it: on a logarithmic axis its logarithm."""
    return log10(value) if axis.kind == "log" else value


def _one_or_all(values: list[Any]) -> Any:
    """A single value if it is the same for all points."""
    return values[0] if values and values.count(values[0]) == len(values) else values


def _numbers(values: Iterable[float], digits: int = 4) -> list[float | int | None]:
    return [number(float(value), digits) for value in values]


def number(value: float, digits: int = 4) -> float | int | None:
    """Rounded, by default to more digits than a screen can show; None for values that are not finite."""
    if not isfinite(value):
        return None
    if abs(value) >= 10.0**digits:
        return round(value)
    short = float(f"{value:.{digits}g}")
    return int(short) if short.is_integer() else short


def _steps(at: Iterable[float], start: float) -> list[float | int | None]:
    """Times as seconds since the previous time, which is shorter."""
    return [number(round(1000 * (after - before)) / 1000, 9) for before, after in pairwise([start, *map(float, at)])]
