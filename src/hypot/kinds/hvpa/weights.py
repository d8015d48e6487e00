"""The weights of released HVPAs: for each count, the share of a change that goes to the size of pods."""

from collections.abc import Sequence
from typing import NamedTuple

FULL = 100


class Weight(NamedTuple):
    """A weight and the range of counts that it covers. The first weight that matches is used."""

    percent: int
    first: int
    last: int


def weight_at(weights: Sequence[Weight], replicas: int) -> int | None:
    return next((w.percent for w in weights if w.first <= replicas <= w.last), None)
