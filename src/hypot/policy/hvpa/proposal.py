"""What a source proposes: totals per container and resource, or only a number of replicas.

A source is a function of the observed workload. The decision has a list of sources and knows nothing else about them.
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

# Whether a total may only keep or lower the count, or only keep or raise it.
Bound = Literal["", "at most", "at least"]


class HvpaContext(NamedTuple):
    """The inputs of every source. `switched_off` are the containers whose size must not change."""

    hvpa: Hvpa
    seen: Seen
    scale: Scale
    current_sizes: tuple[CurrentSize, ...]
    switched_off: frozenset[str]
    last_scale: float | None
    vertical: Vertical
    settings: Settings
    # Why more is needed at once, as text; empty if it is not.
    urgency: str = ""

    @property
    def replicas(self) -> int:
        return self.scale.replicas


class SizeProposal(NamedTuple):
    """What one source proposes, and how it was computed."""

    source: str
    steps: tuple[Step, ...]
    totals: Mapping[Place, int] = {}
    # Whether the totals come from the usage of pods, so that they also say how large a pod must be.
    measured: bool = False
    # A proposed count without sizes.
    replicas: int | None = None
    # The size per pod that the totals were computed from.
    advice: Mapping[str, Mapping[str, int]] = {}
    # Totals that were learnt at another count, and so must not raise, or not lower, the current count.
    bounded: Mapping[Place, Bound] = {}
    # Why the proposal is incomplete; there is no scale-down while any recommendation is missing.
    missing: str = ""


Source = Callable[[HvpaContext], SizeProposal | None]


class Total(NamedTuple):
    """The needed total of one resource of one container, its source, and in which direction it may move the count."""

    amount: int
    source: str
    bound: Bound = ""


def total_of(place: Place, now: int, proposals: tuple[SizeProposal, ...]) -> Total | None:
    """The largest total: measured ones, and totals from counts if nothing was measured or if they raise the total."""
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
