"""The week of a Tortoise as a picture. Needs matplotlib, which hypot does not install."""

from matplotlib.figure import Figure

from hypot.face.chart import TimeSpan
from hypot.face.history.charts import LearnedWeek, chart_of
from hypot.face.matplotlib_chart import blank, draw, saved
from hypot.face.style import printable

_HEIGHT = 4.6


def picture(week: LearnedWeek, form: str) -> bytes:
    """The chart, as `png` or `svg`."""
    return saved(lambda: _figure(week), form)


def _figure(week: LearnedWeek) -> Figure:
    made = blank(_HEIGHT)
    made.suptitle(f"{printable(week.name)}: {printable(week.target)}", fontsize=12, fontweight="bold")
    draw(made.subplots(), chart_of(week), TimeSpan(), ncols=4, columnspacing=1.2)
    return made
