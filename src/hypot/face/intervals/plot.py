"""The charts as one self-contained HTML page: no network, no second file."""

from collections.abc import Iterator, Sequence
from html import escape
from typing import Any

from hypot.face.intervals.charts import Panel, parts_of
from hypot.face.intervals.table import UNITS, CountRow, IntervalTable, figure, notes_of, silent
from hypot.face.page import framed
from hypot.face.plotly_chart import ChartOptions, plotted
from hypot.kinds.hvpa import Hvpa

_INTRO = """<h1>Effective scaling intervals</h1>
<p>The demand for one resource at a time, without the gates for time and minimum change. Where <em>up</em> and
<em>down</em> differ, a workload stays unchanged although the demand varies. Drag to zoom, double-click to reset.</p>"""


def page(hvpas: Sequence[Hvpa]) -> str:
    """The whole page. The same Hvpas give the same bytes."""
    charts: dict[str, Any] = {}
    sections = [_section(hvpa, f"hvpa-{i + 1}", charts) for i, hvpa in enumerate(hvpas)]
    names = ", ".join(hvpa.name for hvpa in hvpas)
    return framed(f"Scaling intervals of {names}", "\n".join([_INTRO, *sections]), charts)


def _section(hvpa: Hvpa, key: str, charts: dict[str, Any]) -> str:
    parts = [f'<section id="{key}">', f"<h2>{escape(f'{hvpa.namespace}/{hvpa.name}')}</h2>"]
    if hvpa.target is not None:
        parts.append(f"<p>{escape(str(hvpa.target))}</p>")
    for i, part in enumerate(parts_of(hvpa)):
        parts.append(f"<h3>{escape(part.name)}</h3>")
        parts += [_table(part.table)] if part.table.rows else []
        parts += [f"<p>{silence}</p>"] if (silence := silent(part.table)) else []
        for panel in part.panels:
            parts += _panel(panel, part.name, f"{key}-{i + 1}-{panel.resource}", charts)
    return "\n".join([*parts, "</section>"])


def _panel(panel: Panel, name: str, key: str, charts: dict[str, Any]) -> Iterator[str]:
    yield f"<h3>{escape(f'{panel.resource} of {name}')}</h3>"
    yield '<div class="charts">'
    for chart in panel.charts:
        where = f"{key}-{chart.key}"
        charts[where] = plotted(chart, ChartOptions())
        yield f"<div><h4>{escape(chart.title)}</h4><p>{escape(chart.label)}</p>"
        yield f'<div class="chart" id="{where}"></div></div>'
    yield "</div>"


def _table(table: IntervalTable) -> str:
    count = len(table.resources)
    resources = "".join(f'<th class="group" colspan="4">{name}, {UNITS[name][0]}</th>' for name in table.resources)
    ends = '<th class="group" colspan="2">up to</th><th colspan="2">down to</th>' * count
    columns = ('<th class="first">per pod</th><th>total</th>' + "<th>per pod</th><th>total</th>") * count
    heads = [f"<th></th>{resources}<th></th>", f"<th></th>{ends}<th></th>", f"<th>replicas</th>{columns}<th></th>"]
    rows = [*heads, *("".join(_cells(table, row)) for row in table.rows)]
    body = "\n".join(f"<tr>{cells}</tr>" for cells in rows)
    return f'<div class="wide"><table>\n{body}\n</table></div>'


def _cells(table: IntervalTable, row: CountRow) -> Iterator[str]:
    yield f"<td>{row.replicas}</td>"
    for resource in table.resources:
        reach = row.reaches[resource]
        amounts = (row.up_to_per_pod(resource), reach.up_to, row.down_to_per_pod(resource), reach.down_to)
        figures = ["" if amount is None else figure(resource, amount) for amount in amounts]
        yield f'<td class="first">{"</td><td>".join(figures)}</td>'
    yield f'<td class="note">{escape("; ".join(notes_of(row)))}</td>'
