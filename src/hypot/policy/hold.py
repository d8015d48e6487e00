"""Holds restrict a move from outside its kind's rules: annotations, other controllers, the governor, a cold start.

They apply after the kind has decided and before anything is reported. A pin never overrides a block. A move is not
done by half if that would leave less than both the current and the proposed total.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from hypot.core.replicas.ratio import MAX_INT32
from hypot.kinds.floor import SCHEDULE
from hypot.policy.model.current_size import has_crashed
from hypot.policy.model.decision import PLAN_UNDER_WAY, Blocks, Hold, Move, PodAction, Step
from hypot.policy.model.hpa_edit import HpaEdit
from hypot.policy.model.plan import needs_more
from hypot.policy.model.schedule import ScheduleError, schedule_of
from hypot.policy.model.seen import Pod, Seen
from hypot.policy.model.size import Edge, Size, between
from hypot.policy.stages.report import kebab, sentence
from hypot.policy.vertical.fit import amounts

PAUSED, PINNED = "hypot.dev/paused", "hypot.dev/hold"
# The reason of the hold for what is certain to be another controller of the same workload.
CONFLICT = "Conflict"
# The rule of the step that reports a decision that failed only because metrics are missing.
_WITHOUT_METRICS = "hold-on-failure"
_LONGEST_WORD = 40

EDGES: dict[Blocks, Edge] = {"down": max, "up": min}


def holds_of(annotations: Mapping[str, Any]) -> tuple[Hold, ...]:
    """The holds from an object's annotations; a value that cannot be read holds everything."""
    if PAUSED not in annotations and PINNED not in annotations and SCHEDULE not in annotations:
        return ()
    found = (
        _paused(annotations.get(PAUSED)),
        _pin(annotations.get(PINNED)),
        _unreadable_schedule(annotations.get(SCHEDULE)),
    )
    return tuple([hold for hold in found if hold is not None])


def _paused(written: Any) -> Hold | None:
    word = _word(written)
    if written is None or word == "false":
        return None
    if word == "true":
        return Hold("Paused", f"the annotation {PAUSED} stops all scaling")
    if word == "up":
        return Hold("Paused", f"the annotation {PAUSED} stops scaling up", "up")
    if word == "down":
        return Hold("Paused", f"the annotation {PAUSED} stops scaling down", "down")
    return Hold("Paused", f"the annotation {PAUSED} is {_shown(word)}, which is not true, false, up or down")


def _pin(written: Any) -> Hold | None:
    if written is None:
        return None
    word = _word(written)
    if re.fullmatch(r"[0-9]{1,10}", word) and int(word) <= MAX_INT32:
        return Hold("Held", f"the annotation {PINNED} keeps the count at {int(word)}", "both", int(word))
    message = f"the annotation {PINNED} is {_shown(word)}, which is not a number from 0 to {MAX_INT32}"
    return Hold("Held", message)


def _unreadable_schedule(written: Any) -> Hold | None:
    """What is planned is unknown, so nothing is scaled down."""
    try:
        if written is not None:
            schedule_of(written)
    except ScheduleError as error:
        return Hold("ScheduleUnreadable", f"the annotation {SCHEDULE} cannot be read: {error}", "down")
    return None


def other_hpa_hold(hpas: Sequence[str]) -> Hold | None:
    """A hold in both directions that names the first of these HPAs of the same pods; None if there is none."""
    if not hpas:
        return None
    return Hold(CONFLICT, f"HorizontalPodAutoscaler {hpas[0]} scales the same pods: remove one of the two")


def needs_whole_decisions(annotations: Mapping[str, Any]) -> bool:
    """Whether annotations hold or plan anything, so that the rules of the kind alone do not decide."""
    return bool(holds_of(annotations)) or SCHEDULE in annotations


def _word(written: Any) -> str:
    """An annotation as text: a file may have an unquoted true or 5, the API server accepts only strings."""
    return str(written).lower() if isinstance(written, bool) else str(written)


def _shown(word: str) -> str:
    return repr(word if len(word) <= _LONGEST_WORD else f"{word[:_LONGEST_WORD]}…")


def held(move: Move, holds: Iterable[Hold], seen: Seen) -> Move:
    """The move with these holds applied and listed."""
    every = tuple(dict.fromkeys(holds))
    if every == move.holds == ():
        return move
    kept, steps = move, list[Step]()
    for hold in sorted(every, key=lambda hold: hold.pinned is None):
        before, kept = kept, _under(kept, hold, seen)
        if kept is not before:
            steps.append(_step(hold, before, kept))
    if move.hpa is not None and move.hpa.writes:
        edit, said = _held_edit(move.hpa, every)
        kept, steps = kept._replace(hpa=edit), [*steps, *said]
    if _comes_to(kept) == _comes_to(move):
        return move._replace(holds=every)
    reason = _reason(move, kept, every)
    return kept._replace(reason=reason, steps=(*move.steps, *steps), holds=every, wanted=move)


def _comes_to(move: Move) -> tuple[Any, ...]:
    return move.desired, move.desired_sizes, move.catches_up, move.actions, move.hpa


def blocked(move: Move, hold: Hold, seen: Seen) -> Move:
    """The move without what this hold blocks; the same object if the hold blocks nothing."""
    if move.by_pod:
        return _blocked_by_pod(move, hold, seen)
    if not move.moves:
        return move
    if hold.blocks == "both" or _is_half(move, hold.blocks):
        return move._replace(desired=move.current, desired_sizes=move.sizes, catches_up=False)
    current, desired, edge = move.current or 0, move.desired or 0, EDGES[hold.blocks]
    count, sizes = int(edge(current, desired)), _limited(move, edge)
    catches_up = move.catches_up and hold.blocks == "down"
    if (count, sizes, catches_up) == (desired, move.desired_sizes, move.catches_up):
        return move
    return move._replace(desired=count, desired_sizes=sizes, catches_up=catches_up)


def _held_edit(edit: HpaEdit, holds: Iterable[Hold]) -> tuple[HpaEdit | None, list[Step]]:
    """The edit of an HPA as these holds allow it, and how they change it.

    Its bounds are pinned, stay, or change in one direction only.
    """
    kept: HpaEdit | None = edit
    steps: list[Step] = []
    for hold in sorted(holds, key=lambda hold: hold.pinned is None):
        if kept is None or hold.reason == PLAN_UNDER_WAY:
            continue
        before = kept
        if kept.deletes:
            kept = None
        elif hold.pinned is not None:
            kept = kept.bounded(max(hold.pinned, 1), max(hold.pinned, 1))
        elif hold.blocks == "both" or kept.before is None:
            kept = None if kept.before is None else kept._replace(after=kept.before)
        else:
            kept = kept.limited(EDGES[hold.blocks])
        if kept != before:
            words = _kept_words(edit) if kept is None else kept.words.replace("gets", "has", 1)
            steps.append(Step("restrain", kebab(hold.reason), None, None, sentence(f"{hold.message}: {words}")))
    return kept, steps


def _kept_words(edit: HpaEdit) -> str:
    return f"HorizontalPodAutoscaler {edit.name} is not {'deleted' if edit.deletes else 'made'}"


def _is_half(move: Move, blocks: Blocks) -> bool:
    """Whether count and sizes change in opposite directions, so that doing only one of them would be wrong.

    Without the part that is raised, the total would be less than before and less than proposed. Without the part that
    is lowered, it would be more than both, which is right only if more is needed.
    """
    current, desired = move.current or 0, move.desired or 0
    if current == desired:
        return False
    against = EDGES["up" if desired < current else "down"]
    if _limited(move, against) == move.desired_sizes:
        return False
    return blocks == "up" or not needs_more(move.sizes, current, move.desired_sizes, desired)


def _limited(move: Move, edge: Edge) -> tuple[Size, ...]:
    had = {size.container: size for size in move.sizes}
    pairs = [(had.get(size.container, Size(size.container)), size) for size in move.desired_sizes]
    return tuple([between(old, new, edge) for old, new in pairs])


def _blocked_by_pod(move: Move, hold: Hold, seen: Seen) -> Move:
    if not move.decided:
        return move
    pods = {pod.name: pod for pod in seen.pods}
    actions = tuple([_blocked_action(action, hold, pods.get(action.pod), seen.now) for action in move.actions])
    sizes = move.sizes if hold.blocks == "both" else _limited(move, EDGES[hold.blocks])
    if actions == move.actions and sizes == move.desired_sizes:
        return move
    return move._replace(actions=actions, desired_sizes=sizes)


def _blocked_action(action: PodAction, hold: Hold, pod: Pod | None, now: float) -> PodAction:
    """What the hold leaves of this action: all, a part or nothing. Pods that were not observed are left alone.

    A pod that is evicted may come back with the whole new size. So under a partial block a pod that serves is not
    evicted, and a crashed pod only if scale-ups are allowed.
    """
    if action.action == "none":
        return action
    left_alone = PodAction(action.pod, "none", kebab(hold.reason), f"{sentence(hold.message)[:-1]}: leave it.")
    if pod is None or hold.blocks == "both":
        return left_alone
    had = {c.name: Size(c.name, amounts(c.current_requests), amounts(c.current_limits)) for c in pod.containers}
    kept = tuple([between(had.get(s.container, Size(s.container)), s, EDGES[hold.blocks]) for s in action.sizes])
    if kept == action.sizes:
        return action
    if action.action == "evict" and (hold.blocks == "up" or not has_crashed(pod, now)):
        return left_alone
    return left_alone if all(had.get(size.container) == size for size in kept) else action._replace(sizes=kept)


def _under(move: Move, hold: Hold, seen: Seen) -> Move:
    if hold.pinned is None or move.by_pod:
        return blocked(move, hold, seen)
    if not move.decided and (move.current is None or not _only_metrics_are_missing(move)):
        return move
    if move.desired == hold.pinned and not move.resizes:
        return move
    return move._replace(decided=True, desired=hold.pinned, desired_sizes=move.sizes, catches_up=False)


def _only_metrics_are_missing(move: Move) -> bool:
    return any(step.rule == _WITHOUT_METRICS for step in move.steps)


def _step(hold: Hold, before: Move, after: Move) -> Step:
    rule = kebab(hold.reason)
    if after.by_pod:
        pods = [new.pod for old, new in zip(before.actions, after.actions, strict=True) if old != new]
        kept = f"{len(pods)} of {len(after.actions)} pods are held" if pods else "new pods keep the current size"
        return Step("restrain", rule, None, None, sentence(f"{hold.message}: {kept}"), {"pods": pods})
    parts = [f"the count is {after.desired}, not {before.desired}"] if before.desired != after.desired else []
    pairs_of_sizes = zip(before.desired_sizes, after.desired_sizes, strict=True)
    names = [new.container for old, new in pairs_of_sizes if old != new]
    parts += [f"the size of {' and '.join(names)} is held"] if names else []
    message = f"{hold.message}: {', '.join(parts) or 'nothing else changes'}"
    return Step("restrain", rule, before.desired, after.desired, sentence(message))


def _reason(wanted: Move, kept: Move, holds: Sequence[Hold]) -> str:
    edited = kept.hpa.words if kept.hpa is not None and kept.edits else ""
    if not kept.moves:
        return edited
    if kept.by_pod:
        return f"{sum(one.action != 'none' for one in kept.actions)} of {len(kept.actions)} pods changed"
    pins = [hold.message for hold in holds if hold.pinned is not None]
    reason = pins[0] if pins else wanted.reason
    if wanted.hpa is None or kept.hpa == wanted.hpa:
        return reason
    rest = reason.removesuffix(wanted.hpa.words).removesuffix("; ")
    return "; ".join(part for part in (rest, edited) if part)
