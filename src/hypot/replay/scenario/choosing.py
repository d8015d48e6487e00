"""What decides in a scenario of single decisions: hypot's own rules, released weights, or a bare interval lookup."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol

from hypot.core.amount import RESOURCES, of_milli
from hypot.core.axes.interval import replicas_for, rounded
from hypot.kinds.catalogue import Autoscaler
from hypot.kinds.hvpa import Hvpa
from hypot.kinds.hvpa.intervals import intervals_of
from hypot.kinds.hvpa.weights import Weight, weight_at
from hypot.policy.decide import decide
from hypot.policy.model.seen import Failure, Recommendation, Scale, Seen
from hypot.policy.model.settings import Settings
from hypot.policy.model.size import Size
from hypot.policy.model.state import EMPTY, State
from hypot.replay.policies.weights import blended, plain_blend

# Another way to read a manifest, for the side that shows what goes wrong.
LOOKUP = "lookup"
# The replicas, the size of each in amounts, and whether anything could be decided.
Chosen = tuple[int, Mapping[str, int], bool]


class Chooser(Protocol):
    def chosen(self, seen: Seen) -> Chosen: ...


def chooser_of(autoscaler: Autoscaler, by: str, settings: Settings) -> Chooser:
    """What decides for this manifest."""
    if isinstance(autoscaler, Hvpa) and by == LOOKUP:
        return Bare(autoscaler)
    if isinstance(autoscaler, Hvpa) and autoscaler.is_weight_based:
        return Blending(autoscaler)
    return Deciding(autoscaler, settings)


@dataclass(slots=True)
class Deciding:
    """The rules that also run in a cluster, with their state."""

    autoscaler: Autoscaler
    settings: Settings
    state: State = field(default_factory=lambda: State(recommendations=EMPTY))

    def chosen(self, seen: Seen) -> Chosen:
        decision, state = decide(self.autoscaler, seen, self.state, self.settings)
        self.state = state.acted(decision, seen.now) if decision.rescales else state
        current = replicas_in(seen)
        replicas = current if decision.desired is None or not decision.rescales else decision.desired
        size = _size_of(decision.desired_sizes) if decision.rescales else {}
        return replicas, size, decision.decided

    @property
    def target(self) -> int:
        """The target utilization that a Tortoise has computed, in percent; 0 if there is none."""
        return 0 if self.state.tortoise is None else max(self.state.tortoise.targets.values(), default=0)


@dataclass(slots=True)
class Blending:
    """Weights as the documentation of released HVPAs describes them: that share of each change, on each axis alone."""

    hvpa: Hvpa

    def chosen(self, seen: Seen) -> Chosen:
        current, size = replicas_in(seen), size_in(seen)
        first, last = self.hvpa.min_replicas, self.hvpa.max_replicas or current
        weights = [Weight(w.vpa_weight or 0, w.start or first, w.last or last) for w in self.hvpa.weights or ()]
        weight = weight_at(weights, current)
        target = advice_in(seen)
        advised = getattr(seen.count_advice, "desired", current)
        if weight is None:
            return current, {}, False
        replicas = plain_blend(current, min(max(advised, first), last), weight)
        return replicas, {r: blended(size.get(r, 0), amount, weight) for r, amount in target.items()}, True


@dataclass(slots=True)
class Bare:
    """The replicas that the intervals have for the total, and the total divided by them, without any other rule."""

    hvpa: Hvpa

    def chosen(self, seen: Seen) -> Chosen:
        current = replicas_in(seen)
        totals = {resource: amount * current for resource, amount in advice_in(seen).items()}
        votes = [
            replicas_for(intervals, total, current)
            for resource, total in totals.items()
            if (intervals := intervals_of(self.hvpa, "app", resource))
        ]
        replicas = max(votes, default=current)
        return replicas, {resource: rounded(total, replicas, 1) for resource, total in totals.items()}, bool(votes)


def replicas_in(seen: Seen) -> int:
    if isinstance(seen.scale, Scale):
        return seen.scale.replicas
    raise TypeError("a scenario always has a scale")


def size_in(seen: Seen) -> dict[str, int]:
    """The current size of a pod."""
    requests = seen.pods[0].containers[0].requests
    return {resource: of_milli(resource, requests[resource]) for resource in RESOURCES if resource in requests}


def advice_in(seen: Seen) -> Mapping[str, int]:
    """The recommended size of a pod."""
    advice = seen.size_advice
    if advice is None or isinstance(advice, Failure):
        return {}
    return _target(advice)


def _target(advice: Recommendation) -> Mapping[str, int]:
    return advice.containers[0].target


def _size_of(sizes: tuple[Size, ...]) -> Mapping[str, int]:
    return sizes[0].requests if sizes else {}
