"""What a source proposes: totals per container and resource, or only a number of replicas.

A source is a function of the observed workload. The decision has a list of sources and knows nothing else about them.
"""

from collections.abc import Callable, Mapping
from typing import Literal, NamedTuple

from hypot.core.amount import brief
from hypot.kinds.hvpa import Hvpa
from hypot.policy.model.current_size import CurrentSize
from hypot.policy.model.decision import Step
from hypot.policy.model.seen import Scale, Seen
from hypot.policy.model.settings import Settings
from hypot.policy.model.size import Place
from hypot.policy.model.state import RecentUse, Vertical
from hypot.policy.stages.saturation import ResourcePressure

# Whether a total may only keep or lower the count, only keep or raise it, or only keep it.
Bound = Literal["", "at most", "at least", "exactly"]


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
    # What pods use of what they can get.
    pressures: Mapping[Place, ResourcePressure] = {}

    @property
    def replicas(self) -> int:
        return self.scale.replicas

    def near_cap(self, place: Place) -> bool:
        pressure = self.pressures.get(place)
        return pressure is not None and pressure.near

    def least_kept(self, place: Place, total: int) -> int:
        """What this total may fall to at most: what is learnt while pods are at their cap is too little."""
        pressure = self.pressures.get(place)
        return 0 if pressure is None else pressure.least_kept(total)


class SizeProposal(NamedTuple):
    """What one source proposes, and how it was computed."""

    source: str
    steps: tuple[Step, ...]
    totals: Mapping[Place, int] = {}
    # Whether it measures every container, so that one without a total was not measured yet.
    measured: bool = False
    # Whether the totals come from usage; otherwise they are whole replicas of the current size.
    exact: bool = True
    # A proposed count without sizes.
    replicas: int | None = None
    # The size per pod that the totals were computed from.
    advice: Mapping[str, Mapping[str, int]] = {}
    # What its totals were lately, by `container/resource`.
    recent: Mapping[str, RecentUse] = {}
    # Totals that were learnt at another count, and so must not raise, or not lower, the current count.
    bounded: Mapping[Place, Bound] = {}
    # The total before the count rose, and that count, if it rose lately.
    raised: Mapping[Place, tuple[int, int]] = {}
    # Why the proposal is incomplete; there is no scale-down while any recommendation is missing.
    missing: str = ""


def kept_step(place: Place, least: int) -> Step:
    container, resource = place
    message = f"With less than {brief(resource, least)} of {resource} in total, {container} would reach its cap"
    return Step("recommend", "kept-size", None, None, f"{message}: it keeps that.", {"total": least})


Source = Callable[[HvpaContext], SizeProposal | None]


class Total(NamedTuple):
    """The needed total of one resource of one container, its source, and in which direction it may move the count."""

    amount: int
    source: str
    bound: Bound = ""
    raised: tuple[int, int] | None = None


def total_of(place: Place, now: int, proposals: tuple[SizeProposal, ...]) -> Total | None:
    """The largest total. Those of whole replicas count only if there is no exact one, or if they raise the total."""
    found = [
        (proposal.exact, Total(proposal.totals[place], proposal.source))
        for proposal in proposals
        if place in proposal.totals
    ]
    known = any(exact for exact, _ in found)
    heard = [total for exact, total in found if exact or not known or total.amount > now]
    return min(heard, key=lambda total: (-total.amount, total.source), default=None)
