"""What the metrics of a HorizontalPodAutoscaler have in common: where they look, and what they propose."""

from collections.abc import Callable, Mapping
from functools import lru_cache
from math import isfinite
from typing import Any, NamedTuple

from hypot.core.ratio import first_above, first_below, within
from hypot.kinds.hpa_parts import MetricName
from hypot.policy.decision import ErrorKind, Threshold
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
    thresholds: tuple[Threshold, ...] = ()


def identity(metric: MetricName | None) -> tuple[str, Mapping[str, Any] | None]:
    return (metric.name or "", metric.selector) if metric else ("", None)


def outcome(ratio: float, replicas: int, look: Look) -> str:
    if within(ratio, look.down, look.up):
        return f"within tolerance, stay at {replicas}"
    return f"proposes {replicas}"


def finite(ratio: float) -> float | None:
    """A ratio to nothing is no number."""
    return ratio if isfinite(ratio) else None


def band(subject: str, target: int, look: Look, show: Callable[[int], str], grain: int = 1) -> tuple[Threshold, ...]:
    """The two amounts between which this metric leaves things alone; bytes are counted whole."""
    whole = grain if target % grain == 0 else 1
    above, below = _edges(target // whole, look.down, look.up)
    found = [Threshold(subject, "up", show((above - 1) * whole), show(above * whole))]
    if below >= 0:
        found.append(Threshold(subject, "down", show((below + 1) * whole), show(below * whole)))
    return tuple(found)


@lru_cache(4096)
def _edges(target: int, down: float, up: float) -> tuple[int, int]:
    return first_above(target, up), first_below(target, down)
