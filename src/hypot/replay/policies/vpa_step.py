"""A VerticalPodAutoscaler with a horizontal step, kept for comparison: GEP-23's first alternative.

When the size that a pod needs leaves the allowed range, a replica is added or removed; nothing else changes replicas.
"""

from collections.abc import Mapping
from typing import NamedTuple

from hypot.core.amount import brief
from hypot.kinds.base import count_of
from hypot.policy.model.decision import Step

# A recommendation follows a change of replicas slowly: the seconds between two steps, so that the first shows.
PAUSE = 3600.0


class SizeRange(NamedTuple):
    """The sizes that a pod may have, by resource, and how many pods there may be."""

    least: Mapping[str, int]
    most: Mapping[str, int]
    low: int
    high: int


def stepped(needed: Mapping[str, int], allowed: SizeRange, replicas: int, since_last: float | None) -> tuple[int, Step]:
    """The replicas, and why: one more if any resource needs more than its range, one less if all need less."""
    above = [r for r, amount in needed.items() if r in allowed.most and amount > allowed.most[r]]
    below = [r for r, amount in needed.items() if r in allowed.least and amount < allowed.least[r]]
    if since_last is not None and since_last < PAUSE:
        message = f"The last step was less than {PAUSE:.0f} s ago: keep {count_of(replicas, 'replica')}."
        return replicas, Step("resolve", "step-pause", replicas, replicas, message)
    if above and replicas < allowed.high:
        message = f"{above[0]} needs {brief(above[0], needed[above[0]])}, more than a pod may have: add one replica."
        return replicas + 1, Step("resolve", "step-out", replicas, replicas + 1, message)
    if below and len(below) == len([r for r in needed if r in allowed.least]) and replicas > allowed.low:
        message = f"{below[0]} needs {brief(below[0], needed[below[0]])}, less than a pod must have: drop one replica."
        return replicas - 1, Step("resolve", "step-in", replicas, replicas - 1, message)
    message = f"The needed size is within its range: keep {count_of(replicas, 'replica')}."
    return replicas, Step("resolve", "step-none", replicas, replicas, message)
