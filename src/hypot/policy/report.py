"""The report of a move: conditions, events and status, from the move, its holds and the result of its writes."""

from hypot.kinds.base import Kind
from hypot.kinds.catalogue import info_of
from hypot.kinds.hvpa.status import BLOCKED
from hypot.policy.families import Family, family_of
from hypot.policy.model.decision import (
    PLAN_UNDER_WAY,
    Condition,
    Conditions,
    Decision,
    Event,
    Move,
    MoveReport,
    condition_of,
    main_reason,
    placed,
    renewed,
    with_condition,
)
from hypot.policy.model.settings import Settings
from hypot.policy.model.state import State
from hypot.policy.stages.report import DONE, Effect, sentence

HELD_EVENT = "ScalingHeld"


def report(spec: Kind, move: Move, state: State, settings: Settings, effect: Effect = DONE) -> Decision:
    """The decision with its report; `state` is the state before the decision."""
    family = family_of(spec)
    made = family.report(spec, move, state, settings, effect)
    blocked = _hold_condition(family, move, effect, state)
    unwritten = _with(move.unwritten, blocked)
    status = {**move.observed, **made.status}
    if blocked is not None and family.names_last_condition:
        status |= {"lastConditionType": blocked.type, "lastConditionState": blocked.status}
    conditions, events = _with(made.conditions, blocked), move.warnings
    if effect.refused or effect.done == "nothing":
        refusal = family.refused(spec, move, state, effect.refused)
        status |= refusal.status
        conditions = unwritten
        if effect.refused:
            message = (refusal.condition, refusal.word, refusal.reason, refusal.message, move.at)
            conditions = unwritten = with_condition(unwritten, *message)
            events = (*events, Event("Warning", refusal.event, refusal.message))
            move = move._replace(decided=False, error=refusal.message, error_kind="internal")
    elif effect.done == "all":
        events = (*events, *[event for event in made.events if not event.pod or event.pod not in effect.undone])
        events = (*events, *_held_event(move, blocked))
    unwritten = _with(unwritten, effect.progress)
    shown = _with(family.in_order(conditions), effect.progress)
    status = {key: value for key, value in status.items() if value is not None}
    if unwritten is not move.unwritten:
        move = move._replace(unwritten=unwritten)
    return Decision.of(move, MoveReport(shown, events, status, info_of(spec).conditions_key))


def _with(conditions: Conditions, one: Condition | None) -> Conditions:
    return conditions if one is None else placed(conditions, one)


def _held_event(move: Move, blocked: Condition | None) -> tuple[Event, ...]:
    """An event, if a hold changed a move."""
    if blocked is None or move.wanted is None or not move.wanted.moves:
        return ()
    return (Event("Normal", HELD_EVENT, sentence(blocked.message)),)


def _hold_condition(family: Family, move: Move, effect: Effect, state: State) -> Condition | None:
    """The condition that reports the holds. A note or a plan under way gives the reason only if no other hold does.

    Its transition time follows from the condition before this decision: the kind does not know of holds and has
    already renewed the condition.
    """
    if move.holds is None and effect.note is None:
        return None
    notes = [] if effect.note is None else [effect.note]
    holds = [*(move.holds or ()), *notes]
    if not holds:
        return _released(family, move, state)
    kind, status = family.held
    message = "; ".join(dict.fromkeys(hold.message for hold in holds))
    reason = main_reason([hold for hold in move.holds or () if hold.reason != PLAN_UNDER_WAY] or notes or holds)
    return renewed(condition_of(state.conditions, kind), kind, status, reason, message, move.at)


def _released(family: Family, move: Move, state: State) -> Condition | None:
    """Clear an earlier hold: kinds that do not set the condition themselves would leave it at True."""
    there = condition_of(move.unwritten, BLOCKED)
    if there is None or there.status != "True" or family.holds_for(there.reason):
        return None
    old = condition_of(state.conditions, BLOCKED)
    return renewed(old, BLOCKED, "False", "NotHeld", "no hold applies", move.at)
