"""Which values of a metric would change its proposal, computed only where they are shown."""

from collections.abc import Callable, Iterable, Sequence
from typing import Any, Literal, NamedTuple

from hypot.core.quantity import format_milli
from hypot.core.replicas.ratio import count_outside, first_above, first_below
from hypot.core.replicas.watermark import NO_COUNT, count_in_band, lower_edge, upper_edge
from hypot.kinds.base import count_of

Unit = Literal["percent", "amount", "bytes"]


class Threshold(NamedTuple):
    """The value of a metric above or below which it asks for another count, and the first value that does."""

    metric: str
    direction: Literal["up", "down"]
    beyond: str
    first: str
    # Up, it asks for more replicas than this; down, for fewer.
    replicas: int
    # Whether this count is the minimum or the maximum, and not the plain proposal.
    bound: Literal["", "minimum", "maximum"] = ""

    def to_dict(self) -> dict[str, Any]:
        return {
            "metric": self.metric,
            "direction": self.direction,
            "beyond": self.beyond,
            "first": self.first,
            "replicas": self.replicas,
        }


class Slope(NamedTuple):
    """How a proposal follows from an amount: its ratio to a target times the pods, within tolerance and bounds."""

    metric: str
    amount: int
    target: int
    weight: int
    current: int
    down: float
    up: float
    low: int
    high: int
    unit: Unit = "amount"
    # Pods that are not ready count above the target, by what they request: where the count rises is not known.
    only_down: bool = False

    def thresholds(self) -> tuple[Threshold, ...]:
        limits = _Sides(self.metric, self.count, self.amount, self.low, self.high, self.unit)
        return limits.found(self._edges(), only_down=self.only_down)

    def count(self, amount: int) -> int:
        count = count_outside(amount / self.target, self.weight, self.current, self.down, self.up)
        return min(max(count, self.low), self.high)

    def _edges(self) -> set[int]:
        """Amounts near which the count can change: the tolerance, and where the weighted ratio is a whole number."""
        if self.weight <= 0:
            return set()
        edges = {first_above(self.target, self.up), first_below(self.target, self.down)}
        counts = (self.count(self.amount), self.current, self.low, self.high)
        return edges | {(count + side) * self.target // self.weight for count in counts for side in (-1, 0, 1)}


class WatermarkRule(NamedTuple):
    """What `count_in_band` needs besides the usage, in its order."""

    ready: int
    averaged: bool
    high: int
    low: int
    single: bool
    tolerance_milli: int
    modulo: int
    towards: int
    min_count: int
    max_count: int
    current: int


class MarkedBand(NamedTuple):
    """How a proposal follows from an amount between two watermarks, within tolerance and bounds."""

    metric: str
    amount: int
    rule: WatermarkRule
    unit: Unit = "amount"

    def thresholds(self) -> tuple[Threshold, ...]:
        low, high = self.rule.min_count, self.rule.max_count
        return _Sides(self.metric, self.count, self.amount, low, high, self.unit).found(self._edges())

    def count(self, amount: int) -> int:
        rule = self.rule
        _, count = count_in_band(amount * rule.ready if rule.averaged else amount, *rule)
        return min(max(rule.current if count == NO_COUNT else count, rule.min_count), rule.max_count)

    def _edges(self) -> set[int]:
        """Amounts near which the count can change: the widened watermarks, and where a plain one gives whole counts."""
        rule = self.rule
        edges = {upper_edge(rule.high, rule.tolerance_milli), lower_edge(rule.low, rule.tolerance_milli)}
        counts = {self.count(self.amount), rule.current, rule.min_count, rule.max_count}
        counts |= {count + step for count in counts for step in (-rule.modulo, -1, rule.modulo)}
        counts |= {count // rule.modulo * rule.modulo + step for count in counts for step in (0, 1)}
        return edges | {count * mark // rule.ready for count in counts for mark in (rule.high, rule.low)}


class _Sides(NamedTuple):
    """What limits the values of a metric that keep its proposal."""

    metric: str
    count: Callable[[int], int]
    amount: int
    low: int
    high: int
    unit: Unit

    def found(self, edges: Iterable[int], *, only_down: bool = False) -> tuple[Threshold, ...]:
        near = sorted({edge + side for edge in edges for side in (-1, 0, 1)} - {self.amount})
        now, found = self.count(self.amount), []
        above = [] if only_down else [amount for amount in near if amount > self.amount]
        up = next((amount for amount in above if self.count(amount) > now), None)
        if up is not None:
            bound: Literal["", "minimum"] = "minimum" if now == self.low > 0 else ""
            found.append(Threshold(self.metric, "up", self._shown(up - 1), self._shown(up), now, bound))
        below = [amount for amount in reversed(near) if 0 <= amount < self.amount]
        down = next((amount for amount in below if self.count(amount) < now), None)
        if down is not None:
            most: Literal["", "maximum"] = "maximum" if now == self.high else ""
            found.append(Threshold(self.metric, "down", self._shown(down + 1), self._shown(down), now, most))
        return tuple(found)

    def _shown(self, amount: int) -> str:
        if self.unit == "percent":
            return f"{amount} %"
        return format_milli(amount * 1000, binary=True) if self.unit == "bytes" else format_milli(amount)


def described(replicas: int, thresholds: Sequence[Threshold]) -> str:
    """The thresholds of one metric, at least one, in one line."""
    first, *others = thresholds
    count = f"the {first.bound} of {first.replicas}" if first.bound else str(first.replicas)
    parts = [f"{_range(first)} {first.metric} asks for {_MORE[first.direction]} than {count}"]
    parts += [f"{_range(one)} for {_MORE[one.direction]}" for one in others]
    return f"at {count_of(replicas, 'replica')}: {', '.join(parts)}"


_MORE = {"up": "more", "down": "fewer"}


def _range(one: Threshold) -> str:
    """The shorter way to write it: below 660001m is at most 660."""
    if len(one.first) + 1 < len(one.beyond):
        return f"{'at least' if one.direction == 'up' else 'at most'} {one.first}"
    return f"{'above' if one.direction == 'up' else 'below'} {one.beyond}"
