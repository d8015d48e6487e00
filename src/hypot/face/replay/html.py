"""The tables of a report as HTML. Everything that comes from files is escaped."""

from collections.abc import Iterator, Mapping, Sequence
from html import escape
from typing import Any

from hypot.face.chart import Line
from hypot.face.replay.charts import DEMAND
from hypot.face.replay.scores import (
    CHOSEN,
    SPREAD,
    ScoreColumn,
    best_of,
    best_spreads,
    known_of,
    missing_of,
    policies_of,
    rows_of,
    shown,
    spreads_of,
    wins_of,
)
from hypot.face.replay.value import ASSUMED, REFERENCES, ReplayReport
from hypot.face.style import LOOKS, TINTS, dash_of, printable, tint_of
from hypot.replay.score.scorecard import Scores
from hypot.replay.world.units import Parameter, sections, shown_in


def text(label: str) -> str:
    return escape(printable(label))


def switches(report: ReplayReport) -> str:
    """A switch for each policy and reference that is drawn, and one for all policies; at first only some may be on."""
    count = len(report.policies)
    labels = [_switch(report, name, tint_of(i), dash_of(i), on=i < LOOKS) for i, name in enumerate(report.policies)]
    if report.runs:
        labels.append(_switch(report, DEMAND, "faint", "area"))
    if count > len(TINTS):
        labels.append(f'<label><input id="all" type="checkbox"{_checked(on=count <= LOOKS)}>all policies</label>')
    label = (
        f"<p>At first {LOOKS} of {count} policies are drawn; the switches show the others.</p>" if count > LOOKS else ""
    )
    return "\n".join(['<nav id="policies" aria-label="What is drawn">', *labels, "</nav>", label])


def _checked(*, on: bool) -> str:
    return " checked" if on else ""


def _switch(report: ReplayReport, name: str, tint: str, look: str, *, on: bool = True) -> str:
    box = f'<input type="checkbox" value="{report.key(name)}"{_checked(on=on)}>'
    return f'<label style="--of: var(--{tint})">{box}{_key(tint, look)}{text(name)}</label>'


def _key(tint: str, look: str = "solid") -> str:
    return f'<span class="key {look}" style="--of: var(--{tint})"></span>'


def keys(lines: Sequence[Line]) -> str:
    """The legend of a figure that needs its own."""
    named = {line.name: _key(line.tint, "area" if line.look == "shade" else line.dash) for line in lines}
    return '<p class="keys">' + "".join(f"<span>{key}{text(name)}</span>" for name, key in named.items()) + "</p>"


def scores_table(report: ReplayReport) -> str:
    """The chosen columns, one row per policy; a click on a heading sorts."""
    heads = "".join(_head(column) for column in CHOSEN)
    best = {column.key: best_of(column, report.scores) for column in CHOSEN}
    rows = [_row(report, name, one, best) for name, one in rows_of(report.scores).items()]
    return _sortable(heads, rows)


def _sortable(heads: str, rows: Sequence[str]) -> str:
    first = '<th tabindex="0" title="Sort by name"><span>policy</span></th>'
    body = "\n".join(["<tbody>", *rows, "</tbody>"])
    return f'<div class="wide"><table id="scores">\n<thead><tr>{first}{heads}</tr></thead>\n{body}\n</table></div>'


def _head(column: ScoreColumn, more: str = "") -> str:
    label = f"{column.why} {_direction(column)}".strip()
    unit = f"<br><small>{escape(f'{more} {column.unit}'.strip())}</small>"
    return f'<th tabindex="0" title="{escape(label)}"><span>{escape(column.head)}</span>{unit}</th>'


def _direction(column: ScoreColumn) -> str:
    return {"low": "Lower is better.", "high": "Higher is better.", "": ""}[column.better]


def _row(report: ReplayReport, name: str, scores: Scores, best: Mapping[str, frozenset[str]]) -> str:
    cells = "".join(_cell(column, column.of(scores), best=name in best[column.key]) for column in CHOSEN)
    return f"{_start(report, name)}{cells}</tr>"


def _start(report: ReplayReport, name: str) -> str:
    if name in REFERENCES:
        return f'<tr class="reference"><td class="name">{text(name)}</td>'
    place = report.place(name)
    return f'<tr><td class="name">{_key(tint_of(place), dash_of(place))}{text(name)}</td>'


def _cell(column: ScoreColumn, value: float | None, *, best: bool = False) -> str:
    raw = "" if value is None else f"{float(value):.6g}"
    mark = ' class="best"' if best else ""
    return f'<td{mark} data-value="{raw}">{escape(shown(column, value))}</td>'


def all_scores(report: ReplayReport) -> str:
    """Every score that any policy has, one row each with its meaning."""
    rows = rows_of(report.scores)
    heads = "".join(f"<th>{text(name)}</th>" for name in rows)
    lines = [f'<tr><th class="name">score</th>{heads}</tr>']
    group = ""
    for column in known_of(rows):
        if column.group not in {"", group}:
            group = column.group
            lines.append(f'<tr class="part"><th colspan="{len(rows) + 1}">{group}</th></tr>')
        lines.append(_score_row(column, rows))
    return '<div class="wide whole"><table id="all-scores">\n' + "\n".join(lines) + "\n</table></div>"


def _score_row(column: ScoreColumn, rows: Mapping[str, Scores]) -> str:
    best = best_of(column, rows)
    cells = "".join(_cell(column, column.of(one), best=name in best) for name, one in rows.items())
    name = escape(f"{column.head}, {column.unit}" if column.unit else column.head)
    return f'<tr><td class="name">{name}<br><small>{escape(column.why)}</small></td>{cells}</tr>'


def fleet_scores(report: ReplayReport) -> str:
    """The median and the worst of every policy over the workloads, and how many it wins."""
    heads = "".join(_head(column, more) for column in SPREAD for more in ("median,", "worst,"))
    heads += '<th tabindex="0" title="On how many workloads it has the lowest price."><span>wins</span></th>'
    won = wins_of(report.fleet)
    cells = dict.fromkeys(policies_of(report.fleet), "")
    for column in SPREAD:
        spreads = spreads_of(report.fleet, column)
        best = best_spreads(column, spreads)
        for name, spread in spreads.items():
            values = (None, None) if spread is None else spread
            cells[name] += "".join(_cell(column, values[i], best=name in best[i]) for i in (0, 1))
    rows = [
        f'{_start(report, name)}{row}<td data-value="{won.get(name, "")}">{won.get(name, "-")}</td></tr>'
        for name, row in cells.items()
    ]
    missing = missing_of(report.fleet)
    return _sortable(heads, rows) + (bullets(missing) if missing else "")


def numbers_table(numbers: Sequence[tuple[str, str, str]]) -> str:
    """The numbers that no world file gives, with their origin."""
    rows = [
        f'<tr><td class="name">{text(name)}</td><td>{text(value)}</td><td class="note">{text(origin)}</td></tr>'
        for name, value, origin in numbers
    ]
    assumed = sum(origin == ASSUMED for _, _, origin in numbers)
    head = f"Numbers of the world that its file does not give ({assumed} assumed)"
    table = '<div class="wide"><table id="numbers">\n' + "\n".join(rows) + "\n</table></div>"
    return f"<details><summary>{head}</summary>\n{table}</details>"


def settings_table(settings: Mapping[str, Any]) -> str:
    """The parameters of the world, name by name; values that differ from the default are highlighted."""
    known = {
        f"{part.name}.{one.name}" if part.name else one.name: one for part in sections() for one in part.parameters
    }
    rows = [_setting(name, value, known.get(name)) for name, value in _flat(settings, known)]
    return '<div class="wide"><table id="settings">\n' + "\n".join(rows) + "\n</table></div>"


def _flat(settings: Mapping[str, Any], known: Mapping[str, Parameter], prefix: str = "") -> Iterator[tuple[str, Any]]:
    for key, value in settings.items():
        name = f"{prefix}{key}"
        if isinstance(value, Mapping) and name not in known:
            yield from _flat(value, known, f"{name}.")
        else:
            yield name, value


def _setting(name: str, value: Any, parameter: Parameter | None) -> str:
    as_usual = parameter is None or value == parameter.default
    is_number = isinstance(value, int | float)
    label = shown_in(parameter.unit, value) if parameter is not None and (is_number or value is None) else _plain(value)
    mark = "" if as_usual else ' class="changed"'
    why = "" if parameter is None else parameter.why
    return f'<tr><td class="name">{text(name)}</td><td{mark}>{text(label)}</td><td class="note">{escape(why)}</td></tr>'


def _plain(value: Any) -> str:
    if isinstance(value, Mapping):
        return ", ".join(f"{key}: {_plain(one)}" for key, one in value.items()) or "none"
    if isinstance(value, tuple | list):
        return ", ".join(_plain(one) for one in value) or "none"
    return str(value)


def bullets(lines: Sequence[str]) -> str:
    return "<ul>" + "".join(f"<li>{text(line)}</li>" for line in lines) + "</ul>"
