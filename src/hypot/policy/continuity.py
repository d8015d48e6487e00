"""From one dump to the next: what memory is worth once the cluster has lived on without us.

Nobody tells us what was written in between. The autoscaler's own status tells when it last scaled, and the size tells
by how much; what neither tells is unknown, never guessed.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from hypot.kinds.catalogue import Autoscaler
from hypot.kinds.hpa.fields import Behavior, Pace
from hypot.policy.families import family_of
from hypot.policy.model.settings import Settings
from hypot.policy.model.state import Memory
from hypot.policy.stages.restrain import longest_period


@dataclass(frozen=True, slots=True)
class Remembered:
    """Memory, and the size of the target when it was last looked at."""

    memory: Memory
    replicas: int | None = None
    at: float | None = None
    # Which object, and which target of it; what is remembered says nothing of another. Empty where nobody says.
    of: str = ""

    def to_dict(self) -> dict[str, Any]:
        of = {"of": self.of} if self.of else {}
        return {**self.memory.to_dict(), "seen": {"replicas": self.replicas, "at": self.at, **of}}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> "Remembered":
        seen = data.get("seen") or {}
        return cls(Memory.from_dict(data), seen.get("replicas"), seen.get("at"), str(seen.get("of") or ""))


def resumed(
    autoscaler: Autoscaler, earlier: Remembered | None, current: int | None, now: float, settings: Settings
) -> Memory:
    """The memory to decide with: the status alone, or what is remembered, brought up to date by the status."""
    told = Memory.from_status(autoscaler.status)
    if earlier is None:
        return told
    family = family_of(autoscaler)
    if family.behavior is None:
        at = _moved_at(earlier.memory, told, earlier.replicas, current, now)
        moved = earlier.memory if at is None else replace(earlier.memory, last_scale=at)
        return _updated(moved, told, autoscaler.status)
    memory = earlier.memory
    if (behavior := family.behavior(autoscaler, settings)) is not None:
        memory = _with_moves(memory, told, earlier.replicas, current, now, behavior)
    memory = _without_outdated(memory, now, family.longest_window(autoscaler, settings))
    return _updated(memory, told, autoscaler.status)


def _updated(memory: Memory, told: Memory, status: Any) -> Memory:
    """Where the status speaks, it is the truth; where it is silent, memory is."""
    if not isinstance(status, Mapping):
        return memory
    times = [at for at in (memory.last_scale, told.last_scale) if at is not None]
    return replace(
        memory,
        last_scale=max(times, default=None),
        desired=told.desired if "desiredReplicas" in status else memory.desired,
        conditions=told.conditions or memory.conditions,
        scalings=max(memory.scalings, told.scalings),
    )


def _with_moves(
    memory: Memory, told: Memory, before: int | None, after: int | None, now: float, behavior: Behavior
) -> Memory:
    """Scale events since the last look. Rate limits of a behavior count them; nothing else does."""
    at = _moved_at(memory, told, before, after, now)
    if at is None:
        return memory
    if before is None or after is None or before == after:
        # It moved, but by how much is not known: perhaps there and back again.
        return replace(memory, unknown_move=at)
    pace = behavior.scale_up if after > before else behavior.scale_down
    return memory.with_event(before, after, at, _period(pace))


def _moved_at(memory: Memory, told: Memory, before: int | None, after: int | None, now: float) -> float | None:
    """When the autoscaler scaled since the last look; None where it did not."""
    if told.last_scale is not None:
        return told.last_scale if memory.last_scale is None or told.last_scale > memory.last_scale else None
    if told.conditions or before is None or after is None or before == after:
        # A controller that writes conditions would also have written when it scaled: somebody else did.
        return None
    return now


def _period(pace: Pace | None) -> float:
    return float(longest_period(pace.limits or ())) if pace else 0.0


def _without_outdated(memory: Memory, now: float, window: float) -> Memory:
    """Recommendations that all lie before the window tell nothing about it, which is not the same as none."""
    known = memory.recommendations
    if known is None or max(known.times, default=now) >= now - window:
        return memory
    return replace(memory, recommendations=None, since=None)
