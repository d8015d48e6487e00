"""A replay as one self-contained HTML page: verdict, scores, figures and settings."""

from collections.abc import Iterator, Sequence
from html import escape
from math import isfinite
from typing import Any

import numpy as np

from hypot.face.page import CONFIG, for_script, framed
from hypot.face.replay.charts import charts_of, resolution
from hypot.face.replay.figure import Axis, Chart, Dots, Line, Note
from hypot.face.replay.html import all_scores, bullets, fleet_scores, keys, scores_table, settings_table, switches, text
from hypot.face.replay.script import SCRIPT, STYLE
from hypot.face.replay.value import ReplayReport, headline
from hypot.replay.world.record import Floats

_MARGIN = {"l": 58, "r": 10, "t": 8, "b": 38}
_UPRIGHT = {"l": 58, "r": 14, "t": 8, "b": 44}
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
_LANE, _LANES_LEAST = 46, 70
# The units of the time axis: milliseconds for dates, otherwise hours.
_UNITS = {True: 1000.0, False: 1.0 / 3600.0}


def page(report: ReplayReport) -> str:
    """The whole page. The same report gives the same bytes."""
    report = report.bounded()
    charts = charts_of(report)
    drawn = {f"figure-{chart.key}": _plotted(report, chart) for chart in charts}
    numbers = f"const start = {for_script(_number(report.span[0]))}, unit = {for_script(_UNITS[report.dated])};"
    return framed(
        f"Replay of {report.title}",
        "\n".join(_body(report, charts)),
        drawn,
        style=STYLE,
        script=f"{numbers}{SCRIPT}",
        config={**CONFIG, "doubleClick": "reset"},
    )


def _body(report: ReplayReport, charts: Sequence[Chart]) -> Iterator[str]:
    first, rest = headline(report)
    yield f'<p class="what">Replay of {text(report.title)}</p>\n<h1 id="verdict">{text(first)}</h1>'
    yield f"<p>{text(rest)}</p>" if rest else ""
    yield switches(report)
    yield from _scores(report)
    yield '<div class="charts">'
    yield from (_figure(chart) for chart in charts if chart.x.kind != "time")
    yield "</div>"
    over_time = [chart for chart in charts if chart.x.kind == "time"]
    if over_time:
        label = f"{resolution(report)} Drag to zoom all figures; double-click to reset.".strip()
        yield f"<h2>Over time</h2>\n<p>{label}{'' if report.dated else ' Times are hours.'}</p>"
        yield '<div class="time">'
        yield from (_figure(chart) for chart in over_time)
        yield "</div>"
    if report.settings:
        yield f"<details><summary>The simulated world</summary>\n{settings_table(report.settings)}</details>"


def _scores(report: ReplayReport) -> Iterator[str]:
    yield "<h2>Scores</h2>"
    if report.fleet:
        yield fleet_scores(report)
    else:
        yield scores_table(report)
        yield f"<details><summary>All scores</summary>\n{all_scores(report)}</details>"
    notes = [line for line in (report.shapes, *report.notes) if line]
    yield bullets(notes) if notes else ""


def _figure(chart: Chart) -> str:
    lanes = f' style="height: {_lanes_height(chart)}px"' if chart.y.kind == "lanes" else ""
    label = f"<h4>{escape(chart.title)}</h4><p>{escape(chart.label)}</p>{keys(chart.lines) if chart.legend else ''}"
    return f'<div class="figure">{label}<div class="chart" id="figure-{chart.key}"{lanes}></div></div>'


def _lanes_height(chart: Chart) -> int:
    return _LANES_LEAST + _LANE * len(chart.notes)


def _plotted(report: ReplayReport, chart: Chart) -> dict[str, Any]:
    """The data and the layout that plotly draws."""
    lines = [_line(report, chart, line) for line in chart.lines]
    dots = [_dots(report, chart, dots) for dots in chart.dots]
    return {"data": [*lines, *dots], "layout": _layout(report, chart)}


def _line(report: ReplayReport, chart: Chart, line: Line) -> dict[str, Any]:
    filled = line.look in {"area", "shade"}
    width = 0 if line.look == "shade" else line.width
    steps = line.look in {"step", "shade", "haze"}
    silent = line.look in {"shade", "band", "haze"} or line.tint == "line"
    meta: dict[str, Any] = {"who": report.key(line.who), "tint": line.tint}
    place = {"x": _numbers(line.xs)}
    if chart.x.kind == "time":
        meta["at"], place = _steps(line.xs, report.span[0]), {}
    return {
        "type": "scatter",
        "mode": "lines",
        "name": escape(line.name, quote=False),
        **place,
        "y": _numbers(line.ys),
        "meta": {**meta, "veil": "38"} if filled else meta,
        "line": {"width": width, "dash": line.dash, "shape": "hv" if steps else "linear"},
        **({"fill": "tozeroy"} if filled else {}),
        **({"opacity": 0.3} if line.look in {"band", "haze"} else {}),
        **({"yaxis": "y2"} if line.look == "shade" else {}),
        **({"hoverinfo": "skip"} if silent else {"hovertemplate": f"%{{y:.4~g}}{escape(chart.y.unit, quote=False)}"}),
    }


def _dots(report: ReplayReport, chart: Chart, dots: Dots) -> dict[str, Any]:
    over_time = chart.x.kind == "time"
    when = ("%{x|%a %d %b, %H:%M:%S}<br>" if report.dated else "after %{x:.2f} h<br>") if over_time else ""
    where = {} if over_time else {"x": _numbers(np.array(dots.xs))}
    meta: dict[str, Any] = {"who": report.key(dots.who), "tint": dots.tint}
    if over_time:
        meta["at"] = _steps(np.array(dots.xs), report.span[0])
    labels = {"text": [escape(label, quote=False) for label in dots.labels], "textposition": dots.side}
    return {
        "type": "scatter",
        "mode": "markers+text" if dots.labels else "markers",
        "name": escape(dots.name, quote=False),
        **where,
        "y": _numbers(np.array(dots.ys)),
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


def _layout(report: ReplayReport, chart: Chart) -> dict[str, Any]:
    over_time = chart.x.kind == "time"
    unified = over_time and not chart.dots
    layout: dict[str, Any] = {
        "paper_bgcolor": "rgba(0,0,0,0)",
        "plot_bgcolor": "rgba(0,0,0,0)",
        "font": {"size": 12, "family": "system-ui, sans-serif"},
        "margin": _MARGIN if over_time else _UPRIGHT,
        "hovermode": "x unified" if unified else "closest",
        "showlegend": False,
        "uirevision": "same",
        "xaxis": _time_axis(report) if over_time else _axis(chart.x),
        "yaxis": _axis(chart.y),
        "annotations": [_note(chart, note) for note in chart.notes],
    }
    if over_time:
        layout["meta"] = "time"
    if any(line.look == "shade" for line in chart.lines):
        layout["yaxis2"] = {"overlaying": "y", "range": [0, 1], "visible": False, "fixedrange": True}
    return layout


def _time_axis(report: ReplayReport) -> dict[str, Any]:
    """The same for all figures, so that they line up."""
    unit = _UNITS[report.dated]
    drawn: dict[str, Any] = {"type": "date"} if report.dated else {"type": "linear", "ticksuffix": " h"}
    return {**drawn, "range": [_number(end * unit, 6) for end in report.span]}


def _axis(axis: Axis) -> dict[str, Any]:
    if axis.kind == "lanes":
        return {"range": list(axis.ends or ()), "visible": False, "fixedrange": True}
    title = {"text": escape(axis.title, quote=False), "standoff": 6}
    drawn: dict[str, Any] = {"title": title, "hoverformat": ".4~g", "type": axis.kind, "zeroline": False}
    if axis.kind == "linear" and axis.ends is None:
        drawn["rangemode"] = "tozero"
    if axis.ends is not None:
        ends = np.log10(axis.ends) if axis.kind == "log" else np.array(axis.ends)
        drawn["range"] = [_number(end, 6) for end in ends.tolist()]
    if axis.ticks:
        drawn |= {"tickvals": _numbers(np.array(axis.ticks)), "ticktext": list(axis.label)}
    return drawn


def _note(chart: Chart, note: Note) -> dict[str, Any]:
    """In lanes and over time at the left edge, at any zoom; elsewhere at its place."""
    drawn = {"text": escape(note.label, quote=False), "showarrow": False, "xanchor": "left", "font": {"size": 11}}
    if chart.y.kind == "lanes":
        return {**drawn, "xref": "paper", "x": 0, "y": _number(note.y)}
    if chart.x.kind == "time":
        y = float(np.log10(note.y)) if chart.y.kind == "log" else note.y
        return {**drawn, "xref": "paper", "x": 0, "y": _number(y), "yanchor": "bottom", "bgcolor": "white"}
    x, y = (float(np.log10(one)) if axis.kind == "log" else one for one, axis in ((note.x, chart.x), (note.y, chart.y)))
    return {**drawn, "x": _number(x, 6), "y": _number(y, 6), "yanchor": "top", "opacity": 0.7}


def _one_or_all(values: list[Any]) -> Any:
    """A single value if it is the same for all points."""
    return values[0] if values and values.count(values[0]) == len(values) else values


def _numbers(values: Floats) -> list[float | int | None]:
    return [_number(value) for value in values.tolist()]


def _number(value: float, digits: int = 4) -> float | int | None:
    """Rounded to four digits, more than a screen can show; None for values that are not finite."""
    if not isfinite(value):
        return None
    if abs(value) >= 10.0**digits:
        return round(value)
    short = float(f"{value:.{digits}g}")
    return int(short) if short.is_integer() else short


def _steps(at: Floats, start: float) -> list[float | int | None]:
    """Times as seconds since the previous time, which is shorter."""
    return [_number(step, 9) for step in np.round(np.diff(at, prepend=start), 3).tolist()]
