"""One page about all workloads of a cluster: savings by namespace, waste, risks, and where to begin."""

from collections.abc import Iterator, Sequence

from hypot.face.chart import Axis, Chart, Dots, round_ticks
from hypot.face.page import SORTING, START, framed
from hypot.face.plotly_chart import ChartOptions, plotted
from hypot.face.recommend.value import (
    RecommendReport,
    SavingTotals,
    by_namespace,
    by_saving,
    namespace_of,
    risks,
    saved,
    to_begin_with,
    totals,
)
from hypot.face.replay.html import bullets, numbers_table, text
from hypot.face.replay.script import STYLE
from hypot.face.replay.value import ASSUMED
from hypot.replay.advice.advice import WorkloadAdvice
from hypot.replay.advice.today import described

_NAMES = 12
# The smallest amount that a logarithmic axis shows.
_LEAST = 0.01
_STYLE = """
td.bar { min-width: 12rem; text-align: left; }
td.bar span { display: inline-block; height: .8rem; vertical-align: middle; margin-right: .4rem;
  background: var(--tint-3); }
td.text, th.text { text-align: left; white-space: normal; min-width: 7rem; }
td::after { content: none !important; }
"""
_HEADS = (
    *("workload", "namespace", "today", "$/month", "late %", "best", "$/month", "late %"),
    *("saves $/month", "from", "to", "%", "confidence"),
)
_TEXTS = frozenset({"workload", "namespace", "today", "best", "confidence"})


def page(report: RecommendReport) -> str:
    """The whole page. The same report gives the same bytes."""
    whole, chart = totals("", report.advice), savings_chart(report.advice)
    head = f"{report.advice[0].workload}" if len(report.advice) == 1 else f"{len(report.advice)} workloads"
    drawn = {"figure-savings": plotted(chart, ChartOptions())}
    style, script = f"{STYLE}{_STYLE}", f"{SORTING}{START}"
    return framed(f"Recommended for {head}", "\n".join(_body(report, whole, chart)), drawn, style=style, script=script)


def savings_chart(advice: Sequence[WorkloadAdvice]) -> Chart:
    """What each workload costs today, and what share of it is saved."""
    prices = [max(one.today.price, _LEAST) for one in advice]
    ends = (min(prices) / 1.5, max(prices) * 1.5)
    ticks, labels = round_ticks(*ends)
    dots = Dots(
        "workloads",
        "",
        "tint-3",
        tuple(prices),
        tuple([100.0 * saved(one) / price for one, price in zip(advice, prices, strict=True)]),
        tuple(["ring" if one.keeps else "dot" for one in advice]),
        (9.0,) * len(advice),
        tuple([(one.workload, f"{_best(one)}, confidence {one.confidence}") for one in advice]),
    )
    label = "Each dot is a workload; a ring keeps what it has. Look first at the top right."
    x, y = Axis("$ a month today", "log", ticks, labels, ends), Axis("saved, %", unit=" %")
    return Chart("savings", "Cost today, and the share that is saved", label, x, y, (), (dots,))


def _body(report: RecommendReport, whole: SavingTotals, chart: Chart) -> Iterator[str]:
    some = sum(not one.keeps for one in report.advice)
    yield '<p class="what">What would be cheaper than today</p>'
    yield f'<h1 id="verdict">${whole.saving:,.2f} a month ({100 * whole.share:.0f} %) can be saved</h1>'
    yield (
        f"<p>{some} of {len(report.advice)} workloads have a choice that clearly saves. Today they cost "
        f"${whole.today:,.2f} a month of 30 days, with late and lost requests and restarts at their prices. "
        f"What is requested costs ${whole.before:,.2f} today and ${whole.after:,.2f} as recommended. "
        f"{whole.idle:,.1f} requested cores are not used on average: ${whole.wasted:,.2f} a month.</p>"
    )
    yield f"<h2>By namespace</h2>\n{_namespaces(by_namespace(report.advice))}"
    if first := to_begin_with(report.advice):
        yield f"<h2>Begin with these</h2>\n{_workloads(first, 'begin')}"
        yield "<p>The largest savings first; those with a low confidence last.</p>"
    found = [f"{one.what}: {_listed(one.workloads)}." for one in risks(report)]
    found += [f"Not judged: {name}: {why}." for name, why in report.left]
    if found:
        yield f"<h2>Risks</h2>\n{bullets(found)}"
    yield f'<h2>All workloads</h2>\n<div class="figure"><h4>{chart.title}</h4><p>{chart.label}</p>'
    yield f'<div class="chart" id="figure-{chart.key}"></div></div>'
    yield _workloads(by_saving(report.advice), "scores")
    if report.numbers:
        yield numbers_table([(one.key, one.text, one.source or ASSUMED) for one in report.numbers])


def _listed(names: Sequence[str]) -> str:
    more = f" and {len(names) - _NAMES} more" if len(names) > _NAMES else ""
    return f"{', '.join(names[:_NAMES])}{more}"


def _namespaces(found: Sequence[SavingTotals]) -> str:
    most = max((one.saving for one in found), default=0.0)
    heads = ("namespace", "workloads", "$/month today", "unused cores", "unused $/month", "saves %", "saves $/month")
    rows = []
    for one in found:
        width = 9 * max(one.saving, 0.0) / most if most > 0 else 0.0
        figures = (f"{one.workloads}", f"{one.today:,.2f}", f"{one.idle:,.1f}", f"{one.wasted:,.2f}")
        cells = "".join(f"<td>{cell}</td>" for cell in (*figures, f"{100 * one.share:.0f}"))
        bar = f'<td class="bar"><span style="width: {width:.2f}rem"></span>{one.saving:,.2f}</td>'
        rows.append(f'<tr><td class="name">{text(one.name)}</td>{cells}{bar}</tr>')
    return _table("namespaces", [f"<th>{head}</th>" for head in heads], rows)


def _workloads(found: Sequence[WorkloadAdvice], key: str) -> str:
    heads = [f'<th tabindex="0"{_class(head)}><span>{head}</span></th>' for head in _HEADS]
    return _table(key, heads, [_row(one) for one in found])


def _class(head: str) -> str:
    return ' class="text"' if head in _TEXTS else ""


def _row(one: WorkloadAdvice) -> str:
    today, best = one.today, one.best
    between = (
        ("", "") if one.keeps or best.saving.interval is None else tuple(f"{x:,.2f}" for x in best.saving.interval)
    )
    share = "" if one.keeps else f"{100 * best.saving.share:.0f}"
    after = ("", "") if one.keeps else (f"{best.cost:,.2f}", f"{best.late:.3f}")
    cells = (
        *(one.workload, namespace_of(one), described(today.policy), f"{today.cost:,.2f}", f"{today.late:.3f}"),
        *(_best(one), *after, "" if one.keeps else f"{saved(one):,.2f}", *between, share, one.confidence),
    )
    return "<tr>" + "".join(map(_cell, _HEADS, cells)) + "</tr>"


def _cell(head: str, value: str) -> str:
    raw = "" if head in _TEXTS else f' data-value="{value.replace(",", "")}"'
    return f"<td{_class(head)}{raw}>{text(value)}</td>"


def _best(one: WorkloadAdvice) -> str:
    return "keep today" if one.keeps else one.best.choice


def _table(key: str, heads: Sequence[str], rows: Sequence[str]) -> str:
    body = "\n".join(rows)
    head = f"<thead><tr>{''.join(heads)}</tr></thead>"
    return f'<div class="wide"><table id="{key}">\n{head}\n<tbody>\n{body}\n</tbody></table></div>'
