"""The charts of an Autoscaler: what its rules have cost so far, on the workload's own past."""

from collections.abc import Iterator

import numpy as np

from hypot.core.bank.forecasts import FORECASTS
from hypot.face.chart import Axis, Chart, Line
from hypot.face.replay.value import ReplayReport
from hypot.face.style import dash_of, printable, tint_of
from hypot.policy.autoscaler.words import forecast_in_words
from hypot.replay.world.record import Floats, Run

# The prefix of the keys of these figures.
RULES = "rules"
# Prices beyond this share of an HPA's are not shown: early ones may be many times as large.
_MOST = 1.5


def price_charts(report: ReplayReport, run: Run) -> Iterator[Chart]:
    """One figure for the count and one for the size, if rules decide them."""
    if run.prices is None:
        return
    place, at, step = report.place(run.policy), run.prices.at, run.prices.step
    for axis, prices in (("count", run.prices.counts), ("size", run.prices.sizes)):
        shown = prices[prices <= _MOST]
        if not len(shown):
            continue
        lines = [
            _line(forecast_in_words(kind, step), at, prices[kind], tint_of(kind), dash_of(kind), 1.2)
            for kind in range(FORECASTS)
        ]
        yield Chart(
            f"{RULES}-{place + 1}-{axis}",
            f"{printable(run.policy)}: price of the rules for the {axis}",
            "The cheapest rule of each forecast on this past. The cheapest of all decides.",
            Axis("", "time"),
            Axis("of an HPA at 70 %", ends=(0.98 * float(shown.min()), 1.02 * float(shown.max()))),
            (*lines, _line("decides", at, prices[FORECASTS], "ink", "solid", 2.2)),
            legend=True,
        )


def _line(name: str, at: Floats, prices: Floats, tint: str, dash: str, width: float) -> Line:
    return Line(name, "", tint, at, np.where(prices <= _MOST, prices, np.nan), "line", dash, width)
