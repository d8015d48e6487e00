"""The weights of released HVPAs: at which count which share of a change goes to the size of pods."""

from collections.abc import Sequence
from typing import NamedTuple

FULL = 100


class Weight(NamedTuple):
    """From which count to which a weight holds; the first that matches counts."""

    percent: int
    first: int
    last: int


def weight_at(weights: Sequence[Weight], replicas: int) -> int | None:
    return next((w.percent for w in weights if w.first <= replicas <= w.last), None)
