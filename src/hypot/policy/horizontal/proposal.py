"""What the metrics of a HorizontalPodAutoscaler have in common: their inputs and their proposals."""

from collections.abc import Mapping
from math import isfinite
from typing import Any, NamedTuple

from hypot.core.replicas.ratio import MAX_INT32, within
from hypot.kinds.meta import MetricName
from hypot.policy.model.decision import ErrorKind
from hypot.policy.model.seen import Scale, Seen
from hypot.policy.model.settings import Settings
from hypot.policy.model.threshold import Slope, Unit


class CannotRead(Exception):  # noqa: N818  a turn of the decision, not a mistake
    """A metric gives no proposal; the caller that makes the reading catches this."""

    def __init__(self, message: str, kind: ErrorKind = "internal") -> None:
        super().__init__(message)
        self.kind: ErrorKind = kind


class MetricContext(NamedTuple):
    """The inputs of every metric of one autoscaler."""

    seen: Seen
    scale: Scale
    settings: Settings
    down: float
    up: float
    low: int = 0
    high: int = MAX_INT32


class Proposal(NamedTuple):
    """A metric's count, its value as the status shows it, and how it was computed."""

    replicas: int
    value: int
    description: str
    current: Mapping[str, Any]
    rule: str
    sentence: str
    numbers: Mapping[str, Any]
    band: Slope | None


def identity(metric: MetricName | None) -> tuple[str, Mapping[str, Any] | None]:
    return (metric.name or "", metric.selector) if metric else ("", None)


def outcome(ratio: float, replicas: int, look: MetricContext) -> str:
    if within(ratio, look.down, look.up):
        return f"within tolerance, stay at {replicas}"
    return f"proposes {replicas}"


def finite(ratio: float) -> float | None:
    """The ratio, or None if it is not finite: a ratio to zero is not a number."""
    return ratio if isfinite(ratio) else None


def slope(
    subject: str,
    amount: int,
    target: int,
    weight: int,
    look: MetricContext,
    unit: Unit = "amount",
    *,
    unready: bool = False,
) -> Slope:
    """How this metric's proposal depends on its value; bytes are counted whole."""
    grain = 1000 if unit == "bytes" and target % 1000 == 0 else 1
    shown: Unit = unit if grain == 1000 or unit != "bytes" else "amount"
    low, high = look.low, look.high
    current, down, up = look.scale.replicas, look.down, look.up
    return Slope(subject, amount // grain, target // grain, weight, current, down, up, low, high, shown, unready)
