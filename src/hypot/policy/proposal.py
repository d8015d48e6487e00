"""What the metrics of a HorizontalPodAutoscaler have in common: where they look, and what they propose."""

from collections.abc import Mapping
from functools import lru_cache
from math import isfinite
from typing import Any, NamedTuple

from hypot.core.ratio import first_above, first_below, within
from hypot.kinds.hpa_parts import MetricName
from hypot.policy.decision import Band, ErrorKind, Unit
from hypot.policy.seen import Scale, Seen
from hypot.policy.settings import Settings


class CannotRead(Exception):  # noqa: N818  a turn of the decision, not a mistake
    """A metric that gives no proposal; carried to the one place that turns it into a reading."""

    def __init__(self, message: str, kind: ErrorKind = "internal") -> None:
        super().__init__(message)
        self.kind: ErrorKind = kind


class Look(NamedTuple):
    """What every metric of one autoscaler looks at."""

    seen: Seen
    scale: Scale
    settings: Settings
    down: float
    up: float


class Proposal(NamedTuple):
    """A metric's count, its value as status shows it, and how it came about."""

    replicas: int
    value: int
    description: str
    current: Mapping[str, Any]
    rule: str
    sentence: str
    numbers: Mapping[str, Any]
    band: Band


def identity(metric: MetricName | None) -> tuple[str, Mapping[str, Any] | None]:
    return (metric.name or "", metric.selector) if metric else ("", None)


def outcome(ratio: float, replicas: int, look: Look) -> str:
    if within(ratio, look.down, look.up):
        return f"within tolerance, stay at {replicas}"
    return f"proposes {replicas}"


def finite(ratio: float) -> float | None:
    """A ratio to nothing is no number."""
    return ratio if isfinite(ratio) else None


def band(subject: str, target: int, look: Look, unit: Unit = "amount") -> Band:
    """The two amounts between which this metric leaves things alone; bytes are counted whole."""
    if unit == "bytes" and target % 1000:
        unit = "amount"
    up_at, down_at = _edges(target // 1000 if unit == "bytes" else target, look.down, look.up)
    return Band(subject, up_at, down_at, unit)


@lru_cache(4096)
def _edges(target: int, down: float, up: float) -> tuple[int, int]:
    return first_above(target, up), first_below(target, down)
