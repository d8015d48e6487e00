"""What a choice saves against today, and between which amounts that lies, from the windows of the judged history."""

from collections.abc import Sequence
from math import sqrt
from statistics import mean, stdev
from typing import NamedTuple

from hypot.replay.advice.calibration import FEWEST_WINDOWS, MOST_WINDOWS
from hypot.replay.jobs.comparison import Scored

MONTH = 30 * 86400.0
# The 90th percentile of Student's t by degrees of freedom: 80 % lie between minus and plus this.
_T_90 = (
    *(3.078, 1.886, 1.638, 1.533, 1.476, 1.440, 1.415, 1.397, 1.383, 1.372, 1.363, 1.356, 1.350, 1.345),
    *(1.341, 1.337, 1.333, 1.330, 1.328, 1.325, 1.323, 1.321, 1.319, 1.318, 1.316, 1.315, 1.314, 1.313),
)
_LARGE = 1.282


class Saving(NamedTuple):
    """Dollars in a month of 30 days, late requests and restarts at their prices."""

    monthly: float
    # The share of today's price.
    share: float
    # An interval that has the mean of such windows in 80 of 100 cases; None if there are too few windows.
    interval: tuple[float, float] | None = None

    @property
    def is_clear(self) -> bool:
        """Whether it is one, as far as the windows tell."""
        return self.monthly > 0 and (self.interval is None or self.interval[0] > 0)


def saving(today: Scored, other: Scored, seconds: float) -> Saving:
    """Of the whole judged history, which lasts so many seconds."""
    before, after = (one.scores.price or 0.0 for one in (today, other))
    monthly = (before - after) / seconds * MONTH
    share = (before - after) / before if before else 0.0
    windows = [
        ((first.price or 0.0) - (second.price or 0.0)) / (seconds / len(today.windows)) * MONTH
        for first, second in zip(today.windows, other.windows, strict=True)
    ]
    return Saving(monthly, share, interval(windows))


def interval(values: Sequence[float]) -> tuple[float, float] | None:
    """Of the mean, by Student's t."""
    if len(values) < FEWEST_WINDOWS:
        return None
    degrees = len(values) - 1
    spread = (_T_90[degrees - 1] if degrees <= MOST_WINDOWS else _LARGE) * stdev(values) / sqrt(len(values))
    middle = mean(values)
    return middle - spread, middle + spread
