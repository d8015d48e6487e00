"""The charts as one picture. Needs matplotlib, which hypot does not install."""

from matplotlib.figure import Figure

from hypot.face.chart import TimeSpan
from hypot.face.intervals.charts import parts_of
from hypot.face.matplotlib_chart import blank, draw, saved
from hypot.kinds.hvpa import Hvpa

_HEIGHT = 7.4
# Two columns fit next to a title, and long keys show dashes.
_LEGEND = {"ncols": 2, "handlelength": 3.0, "columnspacing": 1.0}


def picture(hvpa: Hvpa, form: str) -> bytes:
    """All charts in one figure, as `png` or `svg`."""
    return saved(lambda: _panels(hvpa), form)


def _panels(hvpa: Hvpa) -> Figure:
    """The charts of a resource in two rows, one resource below the other."""
    panels = [(part.name, panel) for part in parts_of(hvpa) for panel in part.panels]
    made = blank(_HEIGHT * len(panels) + 0.4)
    made.suptitle(f"Effective scaling intervals of {hvpa.namespace}/{hvpa.name}", fontsize=13, fontweight="bold")
    places = made.subfigures(len(panels), 1, squeeze=False)[:, 0]
    for (name, panel), place in zip(panels, places, strict=True):
        place.suptitle(f"{panel.resource} of {name}", fontsize=11, fontweight="bold")
        for axes, chart in zip(place.subplots(2, 2).flat, panel.charts, strict=True):
            draw(axes, chart, TimeSpan(), **_LEGEND)
    return made
