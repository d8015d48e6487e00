"""The charts of a WatermarkPodAutoscaler: its value between two marks, and what its windows forbid."""

from collections.abc import Iterator

import numpy as np

from hypot.face.chart import Axis, Chart, Line, Look
from hypot.face.replay.value import ReplayReport
from hypot.face.style import printable, tint_of
from hypot.face.thin import thin
from hypot.replay.world.record import Floats, Run

# The prefix of the keys of these figures.
WATCH = "watch"


def watch_charts(report: ReplayReport, run: Run, columns: int) -> Iterator[Chart]:
    """Three figures, one below the other, named after the position of the policy."""
    watch, place = run.watch, report.place(run.policy)
    if watch is None or not len(watch.at):
        return
    tint, key, time = tint_of(place), f"{WATCH}-{place + 1}", Axis("", "time")
    other = next(one for one in ("tint-2", "tint-1") if one != tint)

    def line(name: str, ys: Floats, tint: str, look: Look = "step", dash: str = "solid", width: float = 1.2) -> Line:
        return Line(name, "", tint, *thin(watch.at, ys, columns), look, dash, width)

    name = printable(run.policy)
    up, down = watch.wait_up, watch.wait_down
    yield Chart(
        f"{key}-marks",
        f"{name}: value and marks",
        "Above the upper mark pods are added, below the lower mark they are removed. Shaded: a window forbids it.",
        time,
        Axis(printable(watch.metric)),
        (
            line("may not scale down", (down > 0).astype(np.float64), "faint", "shade"),
            line("may not scale up", (up > 0).astype(np.float64), other, "shade"),
            line("value", watch.value, tint, "line"),
            line("high", watch.high, "ink", dash="dash"),
            line("low", watch.low, "ink", dash="dot"),
        ),
        legend=True,
    )
    yield Chart(
        f"{key}-proposal",
        f"{name}: proposed and effective",
        "What the metric asks for, and what remains of it after windows, limits and bounds.",
        time,
        Axis("pods", unit=" pods"),
        (
            line("proposed", watch.proposal, "faint"),
            line("effective", watch.effective, tint, width=1.6),
        ),
        legend=True,
    )
    yield Chart(
        f"{key}-countdown",
        f"{name}: countdown",
        "How long a window still forbids scaling.",
        time,
        Axis("seconds", unit=" s"),
        (
            line("until it may scale down", down, "faint"),
            line("until it may scale up", up, other),
        ),
        legend=True,
    )
