"""What a source asks for: totals per container and resource, or a number of replicas alone.

A source is a function of one look at the workload. The decision knows a list of them and nothing else about them.
"""

from collections.abc import Callable, Mapping
from typing import Literal, NamedTuple

from hypot.kinds.hvpa import Hvpa
from hypot.policy.model.current_size import CurrentSize
from hypot.policy.model.decision import Step
from hypot.policy.model.seen import Scale, Seen
from hypot.policy.model.settings import Settings
from hypot.policy.model.size import Place
from hypot.policy.model.state import Vertical

# A total that may only keep the count or lower it, or only keep it or raise it.
Bound = Literal["", "at most", "at least"]


class HvpaContext(NamedTuple):
    """What every source looks at. `switched_off` are the containers that nothing may size."""

    hvpa: Hvpa
    seen: Seen
    scale: Scale
    current_sizes: tuple[CurrentSize, ...]
    switched_off: frozenset[str]
    last_scale: float | None
    vertical: Vertical
    settings: Settings
    # Why more is needed at once, in words; empty where it is not.
    urgency: str = ""

    @property
    def replicas(self) -> int:
        return self.scale.replicas


class SizeProposal(NamedTuple):
    """What one source asks for, and how it came about."""

    source: str
    steps: tuple[Step, ...]
    totals: Mapping[Place, int] = {}
    # Whether the totals are measured by what pods use, so that they also say how large a pod must be.
    measured: bool = False
    # A vote for a count alone: it says nothing about sizes.
    replicas: int | None = None
    # The size per pod that the totals were made of.
    advice: Mapping[str, Mapping[str, int]] = {}
    # Where a total was learnt at another count, and so may not move this one up, or down.
    bounded: Mapping[Place, Bound] = {}
    # Why it says less than it should; nothing shrinks while anybody's answer is missing.
    missing: str = ""


Source = Callable[[HvpaContext], SizeProposal | None]


class Total(NamedTuple):
    """How much one resource of one container needs, who says so, and whether that may move the count either way."""

    amount: int
    source: str
    bound: Bound = ""


def total_of(place: Place, now: int, proposals: tuple[SizeProposal, ...]) -> Total | None:
    """What was measured counts; what was merely counted joins where nothing was measured, or where it asks for more."""
    measured = [
        Total(proposal.totals[place], proposal.source)
        for proposal in proposals
        if proposal.measured and place in proposal.totals
    ]
    counted = [
        Total(proposal.totals[place], proposal.source)
        for proposal in proposals
        if not proposal.measured and place in proposal.totals
    ]
    heard = [*measured, *(total for total in counted if not measured or total.amount > now)]
    return min(heard, key=lambda total: (-total.amount, total.source), default=None)
