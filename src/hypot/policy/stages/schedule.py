"""Planned minimums: an object is decided as if its own minimum were as high as its schedule asks for now."""

from math import isinf
from typing import TypeVar

from hypot.core.amount import brief
from hypot.core.instant import show_time
from hypot.kinds.base import Kind, count_of
from hypot.kinds.derived import derived
from hypot.kinds.floor import EVERY_CONTAINER, NO_FLOOR, SCHEDULE, Floor
from hypot.policy.model.decision import Condition, Event, Move, Step, condition_of, placed, renewed
from hypot.policy.model.schedule import ScheduleError, ScheduleNow, schedule_at, schedule_of
from hypot.policy.model.state import State
from hypot.policy.stages.report import sentence

SCHEDULED = "Scheduled"
# The rule of the step that says what of a plan has no effect.
WITHOUT_EFFECT = "planned-without-effect"
S = TypeVar("S", bound=Kind)


def planned(spec: S, at: float) -> tuple[S, ScheduleNow | None]:
    """The object as it should be decided now. Without a schedule that can be read it is as it is."""
    written = spec.annotations.get(SCHEDULE)
    if written is None:
        return spec, None
    try:
        now = schedule_at(schedule_of(written), at)
    except ScheduleError as error:
        return spec, ScheduleNow(error=str(error))
    return (spec if now.floor == NO_FLOOR else _floored(spec, now.floor)), now


@derived
def _floored(spec: S, floor: Floor) -> S:
    return spec.floored(floor)


def with_schedule(move: Move, now: ScheduleNow | None, state: State) -> Move:
    """The move with a report of its schedule; `state` is the state before the decision."""
    old = condition_of(state.conditions, SCHEDULED)
    if now is None:
        if old is None:
            return move
        return move._replace(unwritten=tuple([each for each in move.unwritten if each.type != SCHEDULED]))
    if now.error:
        return _unreadable(move, now.error, old)
    holds, reason, message = now.floor != NO_FLOOR, "Over", "nothing more"
    if holds:
        end = "without end" if isinf(now.until) else f"until {show_time(now.until)}"
        reason, message = "InForce", f"at least {words_of(now.floor)} {end}"
        lost = next((step for step in move.steps if step.rule == WITHOUT_EFFECT), None)
        if lost is not None:
            holds = bool(lost.numbers["given"])
            reason = reason if holds else "NoEffect"
            message = f"{message}, but {'; '.join(lost.numbers['lost'])}"
    elif now.ahead is not None:
        window, floor = now.ahead
        reason = "Planned"
        message = f"at least {words_of(floor)} from {show_time(window.start)} to {show_time(window.end)}"
    message = f"the schedule asks for {message}"
    condition = renewed(old, SCHEDULED, holds, reason, message, move.at)
    text = sentence(message)
    step = Step("observe", "schedule", None, None, text)
    begins = old is not None and old.status != condition.status and (holds or old.status == "True")
    event = Event("Normal", "ScheduleBegan", text) if holds else Event("Normal", "ScheduleEnded", text)
    events = (event,) if begins else ()
    return move._replace(
        steps=(step, *move.steps), unwritten=placed(move.unwritten, condition), warnings=(*move.warnings, *events)
    )


def _unreadable(move: Move, error: str, old: Condition | None) -> Move:
    message = f"the schedule cannot be read: {error}"
    condition = renewed(old, SCHEDULED, "Unknown", "Unreadable", message, move.at)
    step = Step("observe", "schedule", None, None, sentence(message))
    return move._replace(steps=(step, *move.steps), unwritten=placed(move.unwritten, condition))


def words_of(floor: Floor) -> str:
    parts = [count_of(floor.replicas, "replica")] if floor.replicas else []
    for name, amounts in floor.sizes:
        listed = ", ".join(f"{resource} {brief(resource, amount)}" for resource, amount in amounts)
        parts.append(f"{'each container' if name == EVERY_CONTAINER else name} {listed}")
    return "; ".join(parts)
