"""The content of a replay report: everything is given, nothing is calculated again."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from hypot.core.axes.interval import Interval
from hypot.face.chart import TimeSpan
from hypot.replay.policies.policy import STATIC_PEAK
from hypot.replay.score.scorecard import Scores
from hypot.replay.world.record import Floats, Run

# The references that policies are compared with; they cannot win.
REFERENCES = (STATIC_PEAK,)

# The origin of a number that nothing gives.
ASSUMED = "assumed"

# The figures by name. A figure in which a replay has nothing to show cannot be drawn.
FIGURES = (
    "overview",
    "pareto",
    "plane",
    "spread",
    "supply",
    "replicas",
    "decisions",
    "latency",
    "late",
    "cpu",
    "memory",
    "cost",
    "watch",
    "rules",
)
# More lines could not be distinguished.
MOST_RUNS = 40
# Earlier times are counted from the start of a replay: no trace of a cluster is that old.
_CLOCK = 1e8


class CannotDraw(ValueError):  # noqa: N818  it names what was asked for
    """There is no such figure, or this replay has nothing to show in it."""


@dataclass(frozen=True, slots=True)
class ReplayReport:
    """One replay as it is shown: one workload with its runs, or a fleet with only its scores."""

    # What was replayed, and the outcome in one sentence.
    title: str
    verdict: str
    # By policy, including the references.
    scores: Mapping[str, Scores] = field(default_factory=dict)
    runs: tuple[Run, ...] = ()
    # The cores that are needed, one value per tick, up to the last tick of the runs.
    demand: Floats | None = None
    # Scaling intervals of cpu, by policy; totals are millicores.
    intervals: Mapping[str, Sequence[Interval]] = field(default_factory=dict)
    # The world by the names of its file, and as text which shapes the lower bound may use.
    settings: Mapping[str, Any] = field(default_factory=dict)
    shapes: str = ""
    notes: tuple[str, ...] = ()
    # The numbers of the world that its file does not give: name, value, and where it comes from.
    numbers: Sequence[tuple[str, str, str]] = ()
    # By workload and policy.
    fleet: Mapping[str, Mapping[str, Scores]] = field(default_factory=dict)

    @property
    def policies(self) -> tuple[str, ...]:
        """The policies without references, in the order in which they were given."""
        names = [*(run.policy for run in self.runs), *self.scores, *(p for by in self.fleet.values() for p in by)]
        return tuple([name for name in dict.fromkeys(names) if name not in REFERENCES])

    @property
    def span(self) -> TimeSpan:
        """From the first to the last moment of the runs; their times are dates, or seconds since the start."""
        at = [run.ticks.at for run in self.runs if len(run.ticks.at)]
        ends = [run.ticks.at[-1] + run.world.tick for run in self.runs if len(run.ticks.at)]
        start = float(min((one[0] for one in at), default=0.0))
        return TimeSpan(start, float(max(ends, default=0.0)), dated=start >= _CLOCK)

    def bounded(self) -> "ReplayReport":
        """The report with no more runs than a page can hold; all scores stay."""
        if len(self.runs) <= MOST_RUNS:
            return self
        label = f"Only the first {MOST_RUNS} of {len(self.runs)} policies are drawn over time."
        return replace(self, runs=self.runs[:MOST_RUNS], notes=(*self.notes, label))

    def place(self, policy: str) -> int:
        """The index of a policy, which decides its colour."""
        return self.policies.index(policy)

    def key(self, who: str) -> str:
        """An identifier that is safe where policy names are not."""
        return f"policy-{self.place(who) + 1}" if who in self.policies else who

    def share(self, most: int, *, among: int = 7, least: int = 20) -> int:
        """How many of something each run may have, so that a page with many runs stays as small as with `among`."""
        return max(least, min(most, most * among // max(len(self.runs), 1)))


def headline(report: ReplayReport) -> tuple[str, str]:
    """The first sentence of the verdict, and the rest of it."""
    first, *rest = re.split(r"(?<=[.!?])\s+(?=[^\W\d_])", report.verdict, maxsplit=1)
    return first, "".join(rest)
