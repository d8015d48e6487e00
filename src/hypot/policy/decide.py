"""The entry point: the command line, the replay and the controller decide with the same function."""

from collections.abc import Iterable

from hypot.kinds.catalogue import Autoscaler
from hypot.policy.families import family_of
from hypot.policy.hold import held, holds_of
from hypot.policy.measured import measured_holds
from hypot.policy.model.decision import Decision, Hold, Move
from hypot.policy.model.seen import Seen
from hypot.policy.model.settings import Settings
from hypot.policy.model.state import State
from hypot.policy.report import report
from hypot.policy.stages.schedule import planned, with_schedule


def decide(
    spec: Autoscaler,
    seen: Seen,
    state: State,
    settings: Settings,
    holds: Iterable[Hold] = (),
    *,
    real: bool = False,
) -> tuple[Decision, State]:
    """Decide what this autoscaler does now and why; also return the new state. Pure: it has no side effects.

    The holds from the object's annotations and those in `holds` apply; and those against scaling down on missing usage
    if what is observed is `real`, not that of a replay, which measures each pod.

    >>> from hypot.policy.model.seen import Failure
    >>> seen = Seen(now=0.0, scale=Failure("not found"))
    >>> decision, after = decide(HPA("deployment/web", max_replicas=10), seen, State(), Settings())
    >>> decision.conditions[0].reason
    'FailedGetScale'
    """
    state = state.until(seen.now)
    move, after = proposed(spec, seen, state, settings)
    missing = measured_holds(spec, seen, state, move) if real else ()
    kept = held(move, (*holds_of(spec.annotations), *holds, *missing), seen)
    decision = report(spec, kept, state, settings)
    return decision, after.after_report(decision)


def proposed(spec: Autoscaler, seen: Seen, state: State, settings: Settings) -> tuple[Move, State]:
    """What the rules of its kind and its schedule ask for, before any hold; also return the new state."""
    asked, now = planned(spec, seen.now)
    move, after = family_of(spec).decide(asked, seen, state, settings)
    return with_schedule(move, now, state), after
