"""A replay as one self-contained HTML page: verdict, scores, figures and settings."""

from collections.abc import Iterator, Sequence
from html import escape

from hypot.face.chart import Chart
from hypot.face.page import CONFIG, SORTING, for_script, framed
from hypot.face.plotly_chart import ChartOptions, number, plotted
from hypot.face.replay.charts import charts_of, resolution
from hypot.face.replay.html import (
    all_scores,
    bullets,
    fleet_scores,
    keys,
    numbers_table,
    scores_table,
    settings_table,
    switches,
    text,
)
from hypot.face.replay.script import SCRIPT, STYLE
from hypot.face.replay.value import ReplayReport, headline

_LANE, _LANES_LEAST = 46, 70
# More digits would only enlarge the page.
_DIGITS = 4


def page(report: ReplayReport) -> str:
    """The whole page. The same report gives the same bytes."""
    report = report.bounded()
    charts = charts_of(report)
    options = ChartOptions(report.span, report.key, _DIGITS)
    drawn = {f"figure-{chart.key}": plotted(chart, options) for chart in charts}
    numbers = f"const start = {for_script(number(options.span.start))}, unit = {for_script(options.unit)};"
    return framed(
        f"Replay of {report.title}",
        "\n".join(_body(report, charts)),
        drawn,
        style=STYLE,
        script=f"{numbers}\n{SORTING}{SCRIPT}",
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
        yield f"<h2>Over time</h2>\n<p>{label}{'' if report.span.dated else ' Times are hours.'}</p>"
        yield '<div class="time">'
        yield from (_figure(chart) for chart in over_time)
        yield "</div>"
    yield numbers_table(report.numbers) if report.numbers else ""
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
