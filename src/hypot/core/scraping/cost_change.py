"""When the cpu of a request leaps: the recent cost of one workload against its usual one.

Both are the cpu that was used in relation to the cpu that was expected of these requests. What leaves the recent sums
enters the usual ones, so they share no observation. While a change lasts, the usual cost stays as it was.
"""

from dataclasses import field
from math import exp2, sqrt
from typing import Literal, NamedTuple

from hypot.core.dataclass import dataclass

Direction = Literal["rose", "fell", "usual", "settled"]

# Observations without which nothing is reported: recent ones, usual ones, and the half-lives of recent costs they take.
LEAST_RECENT, LEAST_USUAL, LEAST_HALF_LIVES = 3.0, 10.0, 3.0
# A change is larger than what chance makes of this many standard errors.
STANDARD_ERRORS = 3.0
# Pods that use less cpu than this, in cores, are not worth a report.
LEAST_CORES = 0.01
# A change that lasts for so many half-lives of the usual cost is usual from then on.
SETTLED_AFTER = 6.0


class CostChange(NamedTuple):
    """`ratio` is the recent cost in relation to the usual one; the cores that a pod uses, and usually would."""

    direction: Direction
    ratio: float
    cores: float
    usual_cores: float


@dataclass(slots=True)
class CostHistory:
    """Sums of observations: how many, their seconds, cpu that was used and expected, and squares of differences."""

    rows: float = 0.0
    seconds: float = 0.0
    cpu: float = 0.0
    expected: float = 0.0
    squares: float = 0.0

    @property
    def ratio(self) -> float:
        """Used in relation to expected; 0 without any."""
        return self.cpu / self.expected if self.expected > 0 else 0.0

    def scale(self, factor: float) -> None:
        self.rows *= factor
        self.seconds *= factor
        self.cpu *= factor
        self.expected *= factor
        self.squares *= factor

    def take(self, other: "CostHistory", share: float) -> None:
        self.rows += share * other.rows
        self.seconds += share * other.seconds
        self.cpu += share * other.cpu
        self.expected += share * other.expected
        self.squares += share * other.squares


@dataclass(slots=True)
class CostWatch:
    """One workload. Half-lives are in seconds."""

    recent_half_life: float
    usual_half_life: float
    # By which factor the cost must change to be reported; it is usual again within the root of it.
    factor: float
    recent: CostHistory = field(default_factory=CostHistory)
    usual: CostHistory = field(default_factory=CostHistory)
    began: float | None = None
    last: float = 0.0
    # Since when the cost is another; None if it is usual. Whether it is higher.
    changed: float | None = None
    rose: bool = False

    def observed(self, at: float, seconds: float, cpu: float, expected: float) -> CostChange | None:
        """Take one increment. Returns what changed with it, if anything did."""
        self._age(at)
        usual = self.usual.ratio or self.recent.ratio or 1.0
        row = CostHistory(1.0, seconds, cpu, expected, (cpu - expected * usual) ** 2)
        self.recent.take(row, 1.0)
        if self.changed is not None:
            return self._while_changed(at)
        if self._is_known(at) and self._is_beyond(self.factor):
            self.changed, self.rose = at, self.ratio > 1
            return self._change("rose" if self.rose else "fell")
        return None

    def _change(self, direction: Direction) -> CostChange:
        recent = self.recent
        usual = recent.expected * self.usual.ratio
        return CostChange(direction, self.ratio, recent.cpu / recent.seconds, usual / recent.seconds)

    @property
    def ratio(self) -> float:
        """The recent cost in relation to the usual one; 1 while one of them is not known."""
        return self.recent.ratio / self.usual.ratio if self.recent.ratio and self.usual.ratio else 1.0

    @property
    def is_calm(self) -> bool:
        """Whether costs may be learned from it: not while its cost is another, or about to be."""
        return self.changed is None and not self._is_beyond(sqrt(self.factor))

    def _age(self, at: float) -> None:
        if self.began is None:
            self.began = self.last = at
        passed, self.last = max(at - self.last, 0.0), max(at, self.last)
        stays = exp2(-passed / self.recent_half_life)
        if self.changed is None:
            self.usual.scale(exp2(-passed / self.usual_half_life))
            self.usual.take(self.recent, 1.0 - stays)
        self.recent.scale(stays)

    def _while_changed(self, at: float) -> CostChange | None:
        ratio = self.ratio
        if (ratio < sqrt(self.factor)) if self.rose else (ratio > 1 / sqrt(self.factor)):
            self.changed = None
            return self._change("usual")
        if self.changed is not None and at - self.changed >= SETTLED_AFTER * self.usual_half_life:
            change = self._change("settled")
            self.usual, self.changed = CostHistory(), None
            self.usual.take(self.recent, 1.0)
            return change
        return None

    def _is_known(self, at: float) -> bool:
        took = at - (at if self.began is None else self.began)
        enough = self.recent.rows >= LEAST_RECENT and self.usual.rows >= LEAST_USUAL
        return enough and took >= LEAST_HALF_LIVES * self.recent_half_life

    def _is_beyond(self, factor: float) -> bool:
        """Whether the ratio left the band of this factor, and by more than chance."""
        ratio = self.ratio
        if 1 / factor < ratio < factor:
            return False
        recent = self.recent
        if max(recent.cpu, recent.expected * self.usual.ratio) < LEAST_CORES * recent.seconds:
            return False
        chance = STANDARD_ERRORS * sqrt(self.usual.squares / self.usual.rows * recent.rows)
        return abs(recent.cpu - recent.expected * self.usual.ratio) > chance
