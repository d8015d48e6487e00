"""The one entry: the same decision in the command line, in replay and in the controller."""

from collections.abc import Iterable

from hypot.kinds.catalogue import Autoscaler
from hypot.policy.families import family_of
from hypot.policy.hold import held, holds_of
from hypot.policy.model.decision import Decision, Hold
from hypot.policy.model.seen import Seen
from hypot.policy.model.settings import Settings
from hypot.policy.model.state import State
from hypot.policy.report import report


def decide(
    spec: Autoscaler, seen: Seen, state: State, settings: Settings, holds: Iterable[Hold] = ()
) -> tuple[Decision, State]:
    """What this autoscaler would do now, why, and what must be remembered. Pure: deciding twice changes nothing.

    The holds that its annotations ask for are in force, and those that are given.
    """
    state = state.until(seen.now)
    move, after = family_of(spec).decide(spec, seen, state, settings)
    kept = held(move, (*holds_of(spec.annotations), *holds), seen)
    decision = report(spec, kept, state, settings)
    return decision, after.after_report(decision)
