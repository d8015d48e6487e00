"""Carries out a decision on count and sizes: first what is raised, and only then what is lowered.

Pure: the next actions follow from the plan and the observed state, whatever was done before. The caller performs the
actions in order and stops at the first that fails; the next call continues from there.
"""

from collections.abc import Iterable
from typing import NamedTuple

from hypot.core.sizes.fate import DEFERRED_PATIENCE, ending, is_at_once, may_lower, waits_for
from hypot.kinds.base import count_of
from hypot.kinds.values.version import Version
from hypot.policy.model.current_size import live
from hypot.policy.model.decision import Move, show_seconds
from hypot.policy.model.plan import (
    RESIZE_ANNOTATION,
    Action,
    Ended,
    EvictPod,
    Plan,
    Progress,
    RecordSize,
    ResizePod,
    Resizing,
    ScaleTo,
    SetTemplate,
    actions_sentence,
    needs_clearly_more,
    requests_of,
    resizing_note,
    resizing_of,
)
from hypot.policy.model.seen import Failure, Pod, Seen
from hypot.policy.model.size import Size
from hypot.policy.plan.pods import DisruptionRoom, PlanContext, disrupts, fate_of, is_ready, serving
from hypot.policy.vertical.pod_size import Sizes, fits_nowhere, has_enough, has_size, parts_of

__all__ = [
    "RESIZE_ANNOTATION",
    "Action",
    "Ended",
    "EvictPod",
    "Plan",
    "Progress",
    "RecordSize",
    "ResizePod",
    "Resizing",
    "ScaleTo",
    "SetTemplate",
    "begin",
    "outgrows",
    "pursue",
    "resizing_note",
    "resizing_of",
]

# The end of a plan, indexed by the numbers that `core.fate` uses.
_ENDS: tuple[Ended, ...] = ("", "Done", "Infeasible", "TimedOut")


class _PlanStep(NamedTuple):
    """What follows from one observation: what to do, what to wait for, and what is impossible."""

    actions: tuple[Action, ...] = ()
    waiting: tuple[str, ...] = ()
    infeasible: tuple[str, ...] = ()


def begin(
    decision: Move, seen: Seen, resizing: Resizing, kubernetes: Version, now: float, *, insists: bool = False
) -> Progress:
    """The first step of a decision; `Progress.plan` is set if more steps follow.

    `insists`: a user pinned this count, whatever size the remaining pods have.
    """
    if not decision.rescales:
        return Progress((), None, "Done", "Nothing to change.")
    if decision.by_pod:
        return _pod_by_pod(decision, seen)
    plan = _made(decision, resizing, now, behind=not insists and _are_some_behind(decision, seen))
    if _is_at_once(decision, plan, seen):
        return _at_once(plan, seen)
    progress = pursue(plan, seen, kubernetes, now)
    if progress.actions or progress.ended == "Superseded" or resizing == "Template":
        return progress
    # Nothing can be done to the existing pods; new pods still get the size.
    return progress._replace(actions=_recorded(plan, (), seen))


def pursue(plan: Plan, seen: Seen, kubernetes: Version, now: float) -> Progress:
    """The next step; the plan ends when it is done, impossible, or makes no progress for too long."""
    if isinstance(seen.scale, Failure):
        waiting = _PlanStep(waiting=(f"the scale of the target is unknown: {seen.scale.message}",))
        return _progress(plan, waiting, seen, now)
    replicas = seen.scale.replicas
    if replicas not in {plan.before_replicas, plan.replicas}:
        return _superseded(plan, replicas)
    if plan.resizing == "Template":
        return _progress(plan, _by_template(plan, seen, replicas), seen, now)
    return _progress(plan, _by_pods(plan, seen, replicas, kubernetes, now), seen, now)


def outgrows(plan: Plan, decision: Move) -> bool:
    """Whether a newer decision does not wait for the plan."""
    return decision.rescales and needs_clearly_more(plan, decision.desired_sizes, decision.desired or 0)


def _made(decision: Move, resizing: Resizing, now: float, *, behind: bool) -> Plan:
    before = decision.current or 0
    replicas = before if decision.desired is None else decision.desired
    changes = requests_of(decision.sizes, decision.desired_sizes)
    grows, shrinks = any(gets > had for had, gets in changes), any(gets < had for had, gets in changes)
    waits = waits_for(before, replicas, grows, shrinks, behind)
    return Plan(replicas, decision.desired_sizes, now, waits, resizing, before, decision.sizes)


def _are_some_behind(decision: Move, seen: Seen) -> bool:
    """Whether some pods are smaller than the desired size; the decision looked only at the largest pod."""
    sizes = {size.container: size for size in decision.desired_sizes}
    return any(not has_enough(pod, sizes) for pod in live(seen.pods))


def _is_at_once(decision: Move, plan: Plan, seen: Seen) -> bool:
    """Whether only the count changes, and new pods get the right size without further steps."""
    named = not plan.sizes or plan.resizing == "Template" or _template_sizes(plan, seen) == plan.by_container
    has = not plan.sizes or plan.resizing == "Template" or _template_has(plan, seen)
    return is_at_once(decision.resizes, plan.waits, plan.replicas > plan.before_replicas, named and has)


def _at_once(plan: Plan, seen: Seen) -> Progress:
    replicas = plan.before_replicas if isinstance(seen.scale, Failure) else seen.scale.replicas
    if replicas not in {plan.before_replicas, plan.replicas}:
        return _superseded(plan, replicas)
    if replicas == plan.replicas:
        return Progress((), None, "Done", f"The target has {count_of(replicas, 'replica')} already.")
    actions: tuple[Action, ...] = (ScaleTo(plan.replicas, replicas),)
    if plan.replicas > replicas and plan.resizing != "Template":
        actions = _recorded(plan, actions, seen)
    return Progress(actions, None, "Done", actions_sentence(actions))


def _superseded(plan: Plan, replicas: int) -> Progress:
    message = (
        f"Another writer scaled the target to {replicas} while the plan scaled it from {plan.before_replicas} "
        f"to {plan.replicas}: the plan is abandoned."
    )
    return Progress((), None, "Superseded", message)


def _pod_by_pod(decision: Move, seen: Seen) -> Progress:
    """A decision that names the action for each pod and needs no plan."""
    uids = {pod.name: pod.uid for pod in live(seen.pods)}
    actions: list[Action] = [RecordSize(decision.desired_sizes)] if decision.desired_sizes else []
    for action in decision.actions:
        if action.pod in uids and action.action == "resize":
            actions.append(ResizePod(action.pod, uids[action.pod], action.sizes))
        if action.pod in uids and action.action == "evict":
            actions.append(EvictPod(action.pod, uids[action.pod], action.sentence))
    return Progress(tuple(actions), None, "Done", actions_sentence(actions) or "No pod to change.")


def _by_pods(plan: Plan, seen: Seen, replicas: int, kubernetes: Version, now: float) -> _PlanStep:
    """Change pods one by one: in place, or by eviction."""
    pods = sorted(live(seen.pods), key=lambda pod: (is_ready(pod), pod.name, pod.uid))
    sizes = plan.by_container
    if replicas > plan.replicas and (not plan.waits or _has_grown(plan, pods, sizes)):
        # Do not change pods that may be removed: the remaining ones get their size afterwards.
        return _PlanStep((ScaleTo(plan.replicas, replicas),))
    look = PlanContext(
        sizes,
        plan.since,
        evicts=plan.resizing == "InPlaceOrRecreate",
        lowers=may_lower(plan.waits, plan.before_replicas, plan.replicas, replicas, serving(pods, plan.lowered)),
        nodes=seen.nodes,
        controllers=seen.controllers,
        kubernetes=kubernetes,
        now=now,
    )
    step = _among(pods, look, DisruptionRoom.of(pods, sizes, max(replicas, plan.replicas)))
    actions, waiting = step.actions, (*_missing(plan, pods), *step.waiting)
    if replicas < plan.replicas:
        actions = (ScaleTo(plan.replicas, replicas), *actions)
    if not actions and not waiting and not step.infeasible and replicas > plan.replicas:
        waiting = (f"{_ready(pods)} of {len(pods)} pods are ready, and {plan.replicas} must be before any is removed",)
    return _PlanStep(_recorded(plan, actions, seen) if actions else (), waiting, step.infeasible)


def _among(pods: list[Pod], look: PlanContext, room: DisruptionRoom) -> _PlanStep:
    """One pod after the other, because each disrupted pod leaves less room for the next."""
    actions: list[Action] = []
    waiting, infeasible = [], []
    for pod in pods:
        fate = fate_of(pod, look, room)
        disrupted = disrupts(pod, fate, look.sizes)
        if fate.action == "resize":
            actions.append(ResizePod(pod.name, pod.uid, fate.sizes, disrupted))
        elif fate.action == "evict":
            actions.append(EvictPod(pod.name, pod.uid, fate.message, fate.sizes))
        elif fate.action == "wait":
            waiting.append(f"pod {pod.name}: {fate.message}")
        elif fate.action == "infeasible":
            infeasible.append(f"pod {pod.name}: {fate.message}")
        room = room.without(pod) if disrupted else room
    return _PlanStep(tuple(actions), tuple(waiting), tuple(infeasible))


def _by_template(plan: Plan, seen: Seen, replicas: int) -> _PlanStep:
    """Write the template; the workload's own controller does the rest."""
    pods, sizes = live(seen.pods), _template_sizes(plan, seen)
    is_set = _template_has(plan, seen)
    actions: list[Action] = []
    waiting: list[str] = []
    if replicas < plan.replicas or (replicas > plan.replicas and not plan.waits):
        actions.append(ScaleTo(plan.replicas, replicas))
    if is_set and replicas > plan.replicas and plan.waits and _has_grown(plan, pods, sizes):
        return _PlanStep((ScaleTo(plan.replicas, replicas),))
    if not is_set and may_lower(plan.waits, plan.before_replicas, plan.replicas, replicas, _ready(pods)):
        actions.append(SetTemplate(tuple(sizes.values())))
    elif not is_set:
        waiting.append(f"{_ready(pods)} of {plan.replicas} pods are ready; the template change waits for all")
    done = sum(has_size(pod, sizes) for pod in pods)
    if done < len(pods) or (replicas > plan.replicas and plan.waits):
        waiting.append(f"{done} of {len(pods)} pods have the new size, and {_ready(pods)} are ready")
    return _PlanStep(tuple(actions), (*_missing(plan, pods), *waiting))


def _template_sizes(plan: Plan, seen: Seen) -> dict[str, Size]:
    """The sizes of the containers in the template (others were injected); all sizes if the template is unknown."""
    if not seen.template:
        return plan.by_container
    return {part.container.name: part.named for part in parts_of(seen.template, plan.by_container)}


def _template_has(plan: Plan, seen: Seen) -> bool:
    """Whether the template has the size; if it is unknown, whether all pods do."""
    if not seen.template:
        return all(has_size(pod, plan.by_container) for pod in live(seen.pods))
    return all(part.asked for part in parts_of(seen.template, plan.by_container))


def _has_grown(plan: Plan, pods: list[Pod], sizes: Sizes) -> bool:
    """Whether pods may be removed: whichever are, the remaining ones have the size and enough of them are ready.

    A ReplicaSet removes unready pods first, a StatefulSet those with the highest ordinals.
    """
    in_order = any(owner.kind == "StatefulSet" for pod in pods for owner in pod.owners)
    needed = len(pods) if in_order else plan.replicas
    return all(has_enough(pod, sizes) for pod in pods) and serving(pods, sizes) >= max(needed, plan.replicas)


def _ready(pods: list[Pod]) -> int:
    return sum(is_ready(pod) for pod in pods)


def _missing(plan: Plan, pods: list[Pod]) -> tuple[str, ...]:
    return () if len(pods) >= plan.replicas else (f"{len(pods)} of {plan.replicas} pods exist",)


def _recorded(plan: Plan, actions: Iterable[Action], seen: Seen) -> tuple[Action, ...]:
    """Record the size for new pods first, because they may start at any time; but not a size that fits no node."""
    return (RecordSize(plan.sizes), *actions) if plan.sizes and not _is_too_large(plan, seen) else tuple(actions)


def _is_too_large(plan: Plan, seen: Seen) -> bool:
    """Whether most pods would fit no node with the new size; a single odd pod says nothing about new ones."""
    pods = live(seen.pods)
    return 2 * sum(fits_nowhere(pod, plan.by_container, seen.nodes) for pod in pods) > len(pods)


def _progress(plan: Plan, step: _PlanStep, seen: Seen, now: float) -> Progress:
    lasted = show_seconds(max(0.0, now - plan.since))
    shrinks = any(isinstance(each, ScaleTo) and each.replicas < each.expected for each in step.actions)
    stands = bool(step.actions), bool(step.waiting), bool(step.infeasible), shrinks
    ended = _ENDS[ending(*stands, plan.since, _moved(plan, seen, now), now)]
    if ended == "":
        message = actions_sentence(step.actions) or f"Waiting: {_several((*step.waiting, *step.infeasible))}"
        return Progress(step.actions, plan, ended, message)
    if ended == "TimedOut":
        left = _several((*step.infeasible, *step.waiting)) or "the plan is not complete"
        return Progress((), None, ended, f"Abandoned after {lasted}: {left}")
    done = f"{count_of(plan.replicas, 'replica')} {'has' if plan.replicas == 1 else 'have'} the decided size."
    return Progress((), None, ended, _several(step.infeasible) or done)


def _moved(plan: Plan, seen: Seen, now: float) -> float:
    """The time of the last progress. A resize that a node deferred counts, plus its delay if an eviction follows."""
    sizes = _template_sizes(plan, seen) if plan.resizing == "Template" else plan.by_container
    delay = DEFERRED_PATIENCE if plan.resizing == "InPlaceOrRecreate" else 0.0
    times: list[float | None] = [plan.since]
    for pod in seen.pods:
        if pod.resize is not None and pod.resize.since is not None:
            times.append(pod.resize.since + (delay if pod.resize.state == "deferred" else 0.0))
        if has_size(pod, sizes):
            times += [pod.started, pod.ready_since]
    return max(min(at, now) for at in times if at is not None)


def _several(reasons: tuple[str, ...]) -> str:
    """The first reason, and how many more there are."""
    if not reasons:
        return ""
    more = f" (and {len(reasons) - 1} more)" if len(reasons) > 1 else ""
    return f"{reasons[0]}{more}."
