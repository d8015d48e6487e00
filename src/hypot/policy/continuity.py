"""From one dump to the next: which part of the state is still valid after the cluster changed in between.

Nothing reports the writes in between. The autoscaler's own status says when it last scaled, and the replica count says
by how much. What neither of them says is unknown and never guessed.
"""

from collections.abc import Mapping
from dataclasses import replace
from math import inf
from typing import Any

from hypot.core.dataclass import dataclass
from hypot.kinds.catalogue import Autoscaler
from hypot.kinds.hpa.fields import Behavior, ScalingRules
from hypot.policy.families import family_of
from hypot.policy.model.settings import Settings
from hypot.policy.model.state import NO_PAST, State
from hypot.policy.stages.restrain import longest_period


@dataclass(frozen=True, slots=True)
class Remembered:
    """The state, and the replica count of the target when it was last observed."""

    state: State
    replicas: int | None = None
    at: float | None = None
    # The object and its target that this state belongs to; it is not valid for any other. Empty if unknown.
    of: str = ""
    # When the controller started without the state of this object; None if it had it.
    cold: float | None = None

    def to_dict(self) -> dict[str, Any]:
        of = {"of": self.of} if self.of else {}
        cold = {} if self.cold is None else {"cold": self.cold}
        return {**self.state.to_dict(), "seen": {"replicas": self.replicas, "at": self.at, **of, **cold}}

    def to_entry(self) -> dict[str, Any]:
        """As the controller saves it: of what an Autoscaler learned, only a checkpoint."""
        learned = self.state.autoscaler
        if learned is None:
            return self.to_dict()
        rest = replace(self, state=self.state._replace(autoscaler=None))
        return {**rest.to_dict(), "autoscaler": learned.to_checkpoint()}

    def essence(self) -> tuple[Any, ...]:
        """All that must not be lost.

        A crash may lose the rest: when the object was last observed, how long its last recommendation lasted, the texts
        of conditions, the sizes that were recommended last, what utilization lately asked for, and what an Autoscaler
        learned since its last checkpoint.
        """
        state, sizes = self.state, self.state.vertical
        known = state.recommendations
        return (
            None if known is None else (known.values, known.lasted(inf).times),
            [(each.type, each.status, each.reason, each.since) for each in state.conditions],
            (state.since, state.ups, state.downs, state.unknown_move, state.last_scale, state.desired, state.scalings),
            sizes is NO_PAST
            or (
                sizes.last_up,
                sizes.last_down,
                sizes.swings,
                sizes.replicas,
                sizes.recount,
                sizes.hot,
                sizes.stuck,
                sizes.infeasible,
                sizes.evicted,
                sizes.restarted,
            ),
            (state.plan, self.replicas, self.of, self.cold),
            None if state.tortoise is None else state.tortoise.essence(),
        )

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> "Remembered":
        seen = data.get("seen") or {}
        cold = seen.get("cold")
        return cls(
            State.from_dict(data),
            seen.get("replicas"),
            seen.get("at"),
            str(seen.get("of") or ""),
            float(cold) if isinstance(cold, int | float) else None,
        )


def resumed(
    autoscaler: Autoscaler, earlier: Remembered | None, current: int | None, now: float, settings: Settings
) -> State:
    """The state to decide with: from the status alone, or the remembered state updated from the status."""
    reported = State.from_status(autoscaler.status)
    if earlier is None:
        return reported
    family = family_of(autoscaler)
    if family.behavior is None:
        at = _moved_at(earlier.state, reported, earlier.replicas, current, now)
        moved = earlier.state if at is None else earlier.state._replace(last_scale=at)
        return _updated(moved, reported, autoscaler.status)
    state = earlier.state
    if (behavior := family.behavior(autoscaler, settings)) is not None:
        state = _with_moves(state, reported, earlier.replicas, current, now, behavior)
    state = _without_outdated(state, now, family.longest_window(autoscaler, settings))
    return _updated(state, reported, autoscaler.status)


def _updated(state: State, reported: State, status: Any) -> State:
    """The state with every value that the status contains; the other values stay."""
    if not isinstance(status, Mapping):
        return state
    times = [at for at in (state.last_scale, reported.last_scale) if at is not None]
    return state._replace(
        last_scale=max(times, default=None),
        desired=reported.desired if "desiredReplicas" in status else state.desired,
        conditions=reported.conditions or state.conditions,
        scalings=max(state.scalings, reported.scalings),
    )


def _with_moves(
    state: State, reported: State, before: int | None, after: int | None, now: float, behavior: Behavior
) -> State:
    """Add the scale events since the last observation. Only the rate limits of a behavior use them."""
    at = _moved_at(state, reported, before, after, now)
    if at is None:
        return state
    if before is None or after is None or before == after:
        # It scaled, but by how much is unknown: it may have scaled there and back.
        return state._replace(unknown_move=at)
    pace = behavior.scale_up if after > before else behavior.scale_down
    return state.with_event(before, after, at, _period(pace))


def _moved_at(state: State, reported: State, before: int | None, after: int | None, now: float) -> float | None:
    """When the autoscaler scaled since the last observation; None if it did not."""
    if reported.last_scale is not None:
        return reported.last_scale if state.last_scale is None or reported.last_scale > state.last_scale else None
    if reported.conditions or before is None or after is None or before == after:
        # A controller that writes conditions also writes when it scaled, so something else scaled the target.
        return None
    return now


def _period(pace: ScalingRules | None) -> float:
    return float(longest_period(pace.limits or ())) if pace else 0.0


def _without_outdated(state: State, now: float, window: float) -> State:
    """Drop recommendations that are all older than the window: the window is then unknown, which differs from empty."""
    known = state.recommendations
    if known is None or max(known.times, default=now) >= now - window:
        return state
    return state._replace(recommendations=None, since=None)
