"""From one dump to the next: what the state is worth once the cluster has changed without us.

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
from hypot.policy.model.state import State
from hypot.policy.stages.restrain import longest_period


@dataclass(frozen=True, slots=True)
class Remembered:
    """Memory, and the size of the target when it was last looked at."""

    state: State
    replicas: int | None = None
    at: float | None = None
    # Which object, and which target of it; what is remembered says nothing of another. Empty where nobody says.
    of: str = ""

    def to_dict(self) -> dict[str, Any]:
        of = {"of": self.of} if self.of else {}
        return {**self.state.to_dict(), "seen": {"replicas": self.replicas, "at": self.at, **of}}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> "Remembered":
        seen = data.get("seen") or {}
        return cls(State.from_dict(data), seen.get("replicas"), seen.get("at"), str(seen.get("of") or ""))


def resumed(
    autoscaler: Autoscaler, earlier: Remembered | None, current: int | None, now: float, settings: Settings
) -> State:
    """The state to decide with: the status alone, or what is remembered, brought up to date by the status."""
    reported = State.from_status(autoscaler.status)
    if earlier is None:
        return reported
    family = family_of(autoscaler)
    if family.behavior is None:
        at = _moved_at(earlier.state, reported, earlier.replicas, current, now)
        moved = earlier.state if at is None else replace(earlier.state, last_scale=at)
        return _updated(moved, reported, autoscaler.status)
    state = earlier.state
    if (behavior := family.behavior(autoscaler, settings)) is not None:
        state = _with_moves(state, reported, earlier.replicas, current, now, behavior)
    state = _without_outdated(state, now, family.longest_window(autoscaler, settings))
    return _updated(state, reported, autoscaler.status)


def _updated(state: State, reported: State, status: Any) -> State:
    """Where the status speaks, it is the truth; where it is silent, the state is."""
    if not isinstance(status, Mapping):
        return state
    times = [at for at in (state.last_scale, reported.last_scale) if at is not None]
    return replace(
        state,
        last_scale=max(times, default=None),
        desired=reported.desired if "desiredReplicas" in status else state.desired,
        conditions=reported.conditions or state.conditions,
        scalings=max(state.scalings, reported.scalings),
    )


def _with_moves(
    state: State, reported: State, before: int | None, after: int | None, now: float, behavior: Behavior
) -> State:
    """Scale events since the last look. Rate limits of a behavior count them; nothing else does."""
    at = _moved_at(state, reported, before, after, now)
    if at is None:
        return state
    if before is None or after is None or before == after:
        # It moved, but by how much is not known: perhaps there and back again.
        return replace(state, unknown_move=at)
    pace = behavior.scale_up if after > before else behavior.scale_down
    return state.with_event(before, after, at, _period(pace))


def _moved_at(state: State, reported: State, before: int | None, after: int | None, now: float) -> float | None:
    """When the autoscaler scaled since the last look; None where it did not."""
    if reported.last_scale is not None:
        return reported.last_scale if state.last_scale is None or reported.last_scale > state.last_scale else None
    if reported.conditions or before is None or after is None or before == after:
        # A controller that writes conditions would also have written when it scaled: somebody else did.
        return None
    return now


def _period(pace: Pace | None) -> float:
    return float(longest_period(pace.limits or ())) if pace else 0.0


def _without_outdated(state: State, now: float, window: float) -> State:
    """Recommendations that all lie before the window tell nothing about it, which is not the same as none."""
    known = state.recommendations
    if known is None or max(known.times, default=now) >= now - window:
        return state
    return replace(state, recommendations=None, since=None)
