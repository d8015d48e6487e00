"""The weeks of Tortoises as one self-contained HTML page."""

from collections.abc import Sequence
from html import escape
from typing import Any

from hypot.face.history.charts import LearnedWeek, chart_of
from hypot.face.page import framed
from hypot.face.plotly_chart import ChartOptions, plotted

_STYLE = ".chart { height: 420px; }\n"


def page(weeks: Sequence[LearnedWeek]) -> str:
    """The whole page. The same weeks give the same bytes."""
    charts: dict[str, Any] = {}
    parts = ["<h1>What was learned</h1>"]
    for number, week in enumerate(weeks, 1):
        chart, key = chart_of(week), f"week-{number}"
        charts[key] = plotted(chart, ChartOptions())
        parts.append(f"<section><h2>{escape(week.name)}</h2><p>{escape(week.target)}</p><p>{escape(chart.label)}</p>")
        parts.append(f'<div class="chart" id="{key}"></div></section>')
    return framed(f"History of {', '.join(week.name for week in weeks)}", "\n".join(parts), charts, style=_STYLE)
