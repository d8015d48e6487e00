"""What holds a decision back from outside its kind's own rules: an annotation, a rival, the governor, a cold start.

Holds come after the kind has decided. A block is never opened by a pin, and half a decision is never done where that
would leave less than both what is there and what is wanted.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal, NamedTuple

from hypot.kinds.base import Kind
from hypot.kinds.hvpa import Hvpa
from hypot.kinds.hvpa.status import BLOCKED
from hypot.kinds.wpa import WPA
from hypot.policy.families import ABLE, FAMILIES
from hypot.policy.hvpa.report import HvpaTelling, kebab
from hypot.policy.model.current_size import has_crashed
from hypot.policy.model.decision import (
    Condition,
    Conditions,
    Decision,
    Event,
    PodAction,
    Step,
    condition_of,
    renewed,
    show_time,
)
from hypot.policy.model.plan import needs_more
from hypot.policy.model.seen import Pod, Scale, Seen
from hypot.policy.model.size import Edge, Size, between
from hypot.policy.model.state import Memory
from hypot.policy.stages.report import sentence
from hypot.policy.vertical.fit import amounts

PAUSED, PINNED = "hypot.dev/paused", "hypot.dev/hold"
# The most replicas that a scale can hold.
MOST_REPLICAS = 2**31 - 1
HELD_EVENT = "ScalingHeld"
# The hold of an autoscaler whose last decision is not all done yet: told only where there is no other.
PLAN_UNDER_WAY = "PlanUnderWay"
# The step of a kind that would have decided, had it known the metrics.
_WITHOUT_METRICS = "hold-on-failure"
_LONGEST_WORD = 40

Blocks = Literal["both", "up", "down"]
_ORDER: tuple[Blocks, ...] = ("both", "down", "up")
EDGES: dict[Blocks, Edge] = {"down": max, "up": min}
# The reason of a WatermarkPodAutoscaler's AbleToScale after a successful write.
_WPA_SUCCEEDED = "SuccessfulScale"


class Hold(NamedTuple):
    """One reason to stay: a CamelCase word, the same in words, what it blocks, and the count that it insists on."""

    reason: str
    words: str
    blocks: Blocks = "both"
    pinned: int | None = None


def holds_of(annotations: Mapping[str, Any]) -> tuple[Hold, ...]:
    """What an object's own annotations hold back; a word that nobody can read holds everything."""
    if PAUSED not in annotations and PINNED not in annotations:
        return ()
    found = (_paused(annotations.get(PAUSED)), _pin(annotations.get(PINNED)))
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
    return Hold("Paused", f"the annotation {PAUSED} is {_shown(word)}, which is none of true, up and down")


def _pin(written: Any) -> Hold | None:
    if written is None:
        return None
    word = _word(written)
    if re.fullmatch(r"[0-9]{1,10}", word) and int(word) <= MOST_REPLICAS:
        return Hold("Held", f"the annotation {PINNED} keeps the count at {int(word)}", "both", int(word))
    words = f"the annotation {PINNED} is {_shown(word)}, which is no number from 0 to {MOST_REPLICAS}"
    return Hold("Held", words)


def _word(written: Any) -> str:
    """A file may hold a bare true or 5 where the API server only takes text."""
    return str(written).lower() if isinstance(written, bool) else str(written)


def _shown(word: str) -> str:
    return repr(word if len(word) <= _LONGEST_WORD else f"{word[:_LONGEST_WORD]}…")


def hold_back(
    spec: Kind, decided: tuple[Decision, Memory], holds: Sequence[Hold], seen: Seen, memory: Memory
) -> tuple[Decision, Memory]:
    """A decision and what is remembered after it, under the object's own holds and these. `memory` is from before it.

    May be asked again where more holds become known; those of the first time are then named again.
    """
    decision, after = decided
    every = tuple(dict.fromkeys((*holds_of(spec.annotations), *holds)))
    kept = held(spec, decision, every, seen, memory)
    return (decision, after) if kept is decision else (kept, _remembered(kept, after, memory))


def held(spec: Kind, decision: Decision, holds: Sequence[Hold], seen: Seen, memory: Memory) -> Decision:
    """The decision under these holds, told as it now is; with none, an earlier hold's condition is taken back."""
    if not holds:
        return _released(decision, memory)
    kept, steps = decision, list[Step]()
    for hold in sorted(holds, key=lambda hold: hold.pinned is None):
        before, kept = kept, _under(kept, hold, seen)
        if kept is not before:
            steps.append(_step(hold, before, kept))
    told = _condition(decision, holds, memory)
    if _comes_to(kept) == _comes_to(decision):
        return _with_condition(decision, told)
    return _retold(spec, decision, kept, steps, holds, told, seen, memory)


def noted(decision: Decision, holds: Sequence[Hold], note: Hold, memory: Memory) -> Decision:
    """With what came to light while the decision was carried out: only told, and the reason is still that of holds."""
    told = _condition(decision, (*holds, note), memory)
    others = [hold for hold in holds if hold.reason != PLAN_UNDER_WAY]
    return _with_condition(decision, told._replace(reason=_main_reason(others or (note,))))


def _comes_to(decision: Decision) -> tuple[Any, ...]:
    return decision.desired, decision.desired_sizes, decision.catches_up, decision.actions


def blocked(decision: Decision, hold: Hold, seen: Seen) -> Decision:
    """The decision less what this hold blocks, and not told yet; the very same where it blocks nothing of it."""
    if decision.by_pod:
        return _blocked_by_pod(decision, hold, seen)
    if not decision.moves:
        return decision
    if hold.blocks == "both" or _is_half(decision, hold.blocks):
        return replace(decision, desired=decision.current, desired_sizes=decision.sizes, catches_up=False)
    current, desired, edge = decision.current or 0, decision.desired or 0, EDGES[hold.blocks]
    count, sizes = int(edge(current, desired)), _limited(decision, edge)
    catches_up = decision.catches_up and hold.blocks == "down"
    if (count, sizes, catches_up) == (desired, decision.desired_sizes, decision.catches_up):
        return decision
    return replace(decision, desired=count, desired_sizes=sizes, catches_up=catches_up)


def _is_half(decision: Decision, blocks: Blocks) -> bool:
    """Whether count and sizes go opposite ways, so that one without the other is not what anybody asked for.

    Without the part that grows there would be less than before and less than wanted. Without the part that shrinks
    there would be more than both, which is right only where more is needed.
    """
    current, desired = decision.current or 0, decision.desired or 0
    if current == desired:
        return False
    against = EDGES["up" if desired < current else "down"]
    if _limited(decision, against) == decision.desired_sizes:
        return False
    return blocks == "up" or not needs_more(decision.sizes, current, decision.desired_sizes, desired)


def _limited(decision: Decision, edge: Edge) -> tuple[Size, ...]:
    had = {size.container: size for size in decision.sizes}
    pairs = [(had.get(size.container, Size(size.container)), size) for size in decision.desired_sizes]
    return tuple([between(old, new, edge) for old, new in pairs])


def _blocked_by_pod(decision: Decision, hold: Hold, seen: Seen) -> Decision:
    if not decision.decided:
        return decision
    pods = {pod.name: pod for pod in seen.pods}
    actions = tuple([_blocked_action(action, hold, pods.get(action.pod), seen.now) for action in decision.actions])
    sizes = decision.sizes if hold.blocks == "both" else _limited(decision, EDGES[hold.blocks])
    if actions == decision.actions and sizes == decision.desired_sizes:
        return decision
    return replace(decision, actions=actions, desired_sizes=sizes)


def _blocked_action(action: PodAction, hold: Hold, pod: Pod | None, now: float) -> PodAction:
    """What is left for this pod: all, a part or nothing. Unseen ones are left alone.

    Evicted, it may get all. So one that serves is not, and one that has crashed only where it is to grow.
    """
    if action.action == "none":
        return action
    left_alone = PodAction(action.pod, "none", kebab(hold.reason), f"{sentence(hold.words)[:-1]}: leave it.")
    if pod is None or hold.blocks == "both":
        return left_alone
    had = {c.name: Size(c.name, amounts(c.current_requests), amounts(c.current_limits)) for c in pod.containers}
    kept = tuple([between(had.get(s.container, Size(s.container)), s, EDGES[hold.blocks]) for s in action.sizes])
    if kept == action.sizes:
        return action
    if action.action == "evict" and (hold.blocks == "up" or not has_crashed(pod, now)):
        return left_alone
    return left_alone if all(had.get(size.container) == size for size in kept) else action._replace(sizes=kept)


def _under(decision: Decision, hold: Hold, seen: Seen) -> Decision:
    if hold.pinned is None or decision.by_pod:
        return blocked(decision, hold, seen)
    if not decision.decided and (decision.current is None or not _only_metrics_are_missing(decision)):
        return decision
    if decision.desired == hold.pinned and not decision.resizes:
        return decision
    return replace(decision, decided=True, desired=hold.pinned, desired_sizes=decision.sizes, catches_up=False)


def _only_metrics_are_missing(decision: Decision) -> bool:
    return any(step.rule == _WITHOUT_METRICS for step in decision.steps)


def _step(hold: Hold, before: Decision, after: Decision) -> Step:
    rule = kebab(hold.reason)
    if after.by_pod:
        pods = [new.pod for old, new in zip(before.actions, after.actions, strict=True) if old != new]
        kept = f"{len(pods)} of {len(after.actions)} pods are held" if pods else "new pods come up as before"
        return Step("restrain", rule, None, None, sentence(f"{hold.words}: {kept}"), {"pods": pods})
    parts = [f"the count is {after.desired}, not {before.desired}"] if before.desired != after.desired else []
    pairs_of_sizes = zip(before.desired_sizes, after.desired_sizes, strict=True)
    names = [new.container for old, new in pairs_of_sizes if old != new]
    parts += [f"{' and '.join(names)} as before"] if names else []
    words = f"{hold.words}: {', '.join(parts) or 'nothing else moves'}"
    return Step("restrain", rule, before.desired, after.desired, sentence(words))


def _condition(decision: Decision, holds: Sequence[Hold], memory: Memory) -> Condition:
    """Compared with what was told before this decision, for the kind knows of no hold and says otherwise."""
    kind, status = FAMILIES[decision.autoscaler.kind].held
    words = "; ".join(dict.fromkeys(hold.words for hold in holds))
    return renewed(condition_of(memory.conditions, kind), kind, status, _main_reason(holds), words, decision.at)


def _main_reason(holds: Sequence[Hold]) -> str:
    """Of what stops everything, else of what stops shrinking: whoever sizes new pods goes by it."""
    return min(holds, key=lambda hold: (hold.reason == PLAN_UNDER_WAY, _ORDER.index(hold.blocks))).reason


def _with_condition(decision: Decision, told: Condition) -> Decision:
    """Told beside a decision of which nothing is held back."""
    reported = {**decision.reported, **_last_condition(decision.autoscaler.kind, told)}
    conditions = _in_order(decision.autoscaler.kind, _placed(decision.conditions, told))
    return replace(decision, conditions=conditions, unwritten=_placed(decision.unwritten, told), reported=reported)


def _retold(
    spec: Kind,
    wanted: Decision,
    kept: Decision,
    steps: list[Step],
    holds: Sequence[Hold],
    told: Condition,
    seen: Seen,
    memory: Memory,
) -> Decision:
    """What a decision says once it is another."""
    kind = wanted.autoscaler.kind
    unwritten = _placed(wanted.unwritten, told)
    kept = replace(
        kept,
        reason=_reason(wanted, kept, holds),
        steps=(*wanted.steps, *steps),
        unwritten=unwritten,
        conditions=_in_order(kind, _succeeded(kept, unwritten, memory)),
    )
    reported = {**_reported(spec, wanted, kept, holds, seen, memory), **_last_condition(kind, told)}
    return replace(kept, events=_events(spec, wanted, kept, told, seen, memory), reported=reported)


def _succeeded(kept: Decision, unwritten: Conditions, memory: Memory) -> Conditions:
    if kept.autoscaler.kind != WPA.KIND or not kept.rescales:
        return unwritten
    words = f"the target's scale was set to {kept.desired}"
    told = renewed(condition_of(memory.conditions, ABLE), ABLE, "True", _WPA_SUCCEEDED, words, kept.at)
    return _placed(unwritten, told)


def _reason(wanted: Decision, kept: Decision, holds: Sequence[Hold]) -> str:
    if not kept.moves:
        return ""
    if kept.by_pod:
        return f"{sum(one.action != 'none' for one in kept.actions)} of {len(kept.actions)} pods changed"
    pins = [hold.words for hold in holds if hold.pinned is not None]
    return pins[0] if pins else wanted.reason


def _events(
    spec: Kind, wanted: Decision, kept: Decision, told: Condition, seen: Seen, memory: Memory
) -> tuple[Event, ...]:
    """Warnings stay; of what is told as done, only what still is."""
    events = [event for event in wanted.events if event.type == "Warning"]
    if kept.by_pod:
        acted = {one.pod for one in kept.actions if one.action != "none"}
        events += [event for event in wanted.events if event.type == "Normal" and event.pod in acted]
    elif kept.rescales:
        what = f"New size: {kept.desired}"
        if isinstance(spec, Hvpa):
            what = _hvpa(spec, kept, seen, memory).summary(kept.current or 0, kept.desired or 0)
        events.append(Event("Normal", FAMILIES[kept.autoscaler.kind].moved, f"{what}; reason: {kept.reason}"))
    if wanted.moves:
        events.append(Event("Normal", HELD_EVENT, sentence(told.message)))
    return tuple(events)


def _hvpa(spec: Hvpa, kept: Decision, seen: Seen, memory: Memory) -> HvpaTelling:
    telling = HvpaTelling(spec, seen, memory)
    telling.sizes, telling.desired_sizes = kept.sizes, kept.desired_sizes
    return telling


def _reported(
    spec: Kind, wanted: Decision, kept: Decision, holds: Sequence[Hold], seen: Seen, memory: Memory
) -> Mapping[str, Any]:
    """The status of what is left; what only a move changes is as before where nothing moves."""
    told, scale = wanted.reported, seen.scale
    if kept.by_pod or kept.desired is None or not isinstance(scale, Scale):
        return told
    if isinstance(spec, Hvpa):
        status = _hvpa(spec, kept, seen, memory).status(scale, kept.desired, moves=kept.moves)
        made = {key: status.get(key) for key in ("desiredReplicas", "lastScaling")}
        if wanted.moves:
            made["lastBlockedScaling"] = _blockings(told.get("lastBlockedScaling"), _main_reason(holds))
    else:
        last = kept.at if kept.moves else memory.last_scale
        made = {"desiredReplicas": kept.desired, "lastScaleTime": None if last is None else show_time(last)}
        if isinstance(spec, WPA):
            made["scalingEventsCount"] = memory.scalings + kept.moves
    return {key: value for key, value in {**told, **made}.items() if value is not None}


def _blockings(told: Any, reason: str) -> list[dict[str, str]]:
    known = {str(one.get("reason")) for one in told if isinstance(one, Mapping)} if isinstance(told, list) else set()
    return [{"reason": word} for word in sorted({*known, reason})]


def _last_condition(kind: str, told: Condition) -> dict[str, str]:
    """Only a WatermarkPodAutoscaler tells which condition was set last."""
    return {"lastConditionType": told.type, "lastConditionState": told.status} if kind == WPA.KIND else {}


def _released(decision: Decision, memory: Memory) -> Decision:
    """Kinds that never speak of being blocked, or had nothing to say, leave an earlier hold standing: not so here."""
    there = condition_of(decision.unwritten, BLOCKED)
    family = FAMILIES[decision.autoscaler.kind]
    if there is None or there.status != "True" or family.holds_for(there.reason):
        return decision
    old = condition_of(memory.conditions, BLOCKED)
    return _with_condition(decision, renewed(old, BLOCKED, "False", "NotHeld", "nothing holds it back", decision.at))


def _placed(conditions: Conditions, told: Condition) -> Conditions:
    """This condition in its place; a new one comes last."""
    if all(condition.type != told.type for condition in conditions):
        return (*conditions, told)
    return tuple([told if condition.type == told.type else condition for condition in conditions])


def _in_order(kind: str, conditions: Conditions) -> Conditions:
    return FAMILIES[kind].in_order(conditions)


def _remembered(kept: Decision, after: Memory, memory: Memory) -> Memory:
    """What the held decision leaves behind: the count it stays at, or the old one until a move is written."""
    desired = after.desired
    if not kept.by_pod and kept.decided and kept.desired is not None:
        desired = memory.desired if kept.moves else kept.desired
    return replace(after, conditions=kept.unwritten, desired=desired)
