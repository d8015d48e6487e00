"""Carrying out what was decided for one autoscaler, and remembering what came of it."""

from collections.abc import Awaitable, Callable, Iterable, Iterator
from dataclasses import dataclass, replace

from hypot.kinds.hvpa import Hvpa
from hypot.kinds.hvpa_intervals import allowed
from hypot.kinds.version import Version
from hypot.policy.decide import write_failed
from hypot.policy.decision import Decision, PodAction, condition_of, with_condition
from hypot.policy.hold import Hold
from hypot.policy.plan import (
    Action,
    EvictPod,
    Plan,
    Progress,
    RecordSize,
    ResizePod,
    Resizing,
    ScaleTo,
    begin,
    pursue,
    resizing_of,
)
from hypot.policy.podrow import inner, mappings
from hypot.policy.seen import Seen
from hypot.policy.size import resources_of
from hypot.policy.telling import sentence
from hypot.run.act import FINE, Actor, Done
from hypot.run.admission import sizer_of
from hypot.run.events import Told, plan_ended, resize_failed, subject_of, webhook_unavailable
from hypot.run.outcome import PLAN_UNDER_WAY, Outcome
from hypot.run.proof import Proof, proof

# The condition that says how the last decision on both axes fares, and its reason while it does.
CARRIED_OUT, UNDER_WAY = "CarriedOut", "UnderWay"
NOT_EVICTED = "is not evicted: the webhook that sizes new pods is not in place, so it would come back as it was"
NOT_SIZED = (
    "no pod is evicted: those that came up after the last eviction were not sized. Can the API server reach the webhook"
    " and does a LimitRange allow the size? Once that is so, restart a pod: one that comes up sized ends this"
)
# Writes a status before what depends on it: new pods come up at the size that it records.
Record = Callable[[Outcome], Awaitable[Done]]


@dataclass(frozen=True, slots=True)
class Carried:
    """The outcome after its writes, and what else is to be told."""

    outcome: Outcome
    told: tuple[Told, ...] = ()


class Carrier:
    """One at a time for each autoscaler; different ones do not wait for each other."""

    def __init__(
        self,
        actor: Actor,
        record: Record,
        kubernetes: Version,
        sizes_new_pods: Callable[[], bool],
        *,
        dry_run: bool = False,
    ) -> None:
        """`sizes_new_pods`: whether pods that come up get the size that is recorded for them."""
        self._actor, self._record, self._kubernetes = actor, record, kubernetes
        self._sizes_new_pods, self._dry_run = sizes_new_pods, dry_run

    def has_work(self, outcome: Outcome) -> bool:
        if outcome.acting != "act":
            return False
        return outcome.decision.rescales or outcome.before.plan is not None

    async def carry(self, outcome: Outcome) -> Carried:
        carried = await self._carry(outcome)
        return _tried(outcome, carried) if self._dry_run else carried

    async def _carry(self, outcome: Outcome) -> Carried:
        if isinstance(outcome.autoscaler, Hvpa) and outcome.decision.rescales:
            return await self._begin(outcome, outcome.autoscaler)
        if outcome.before.plan is not None:
            return await self._pursue(outcome)
        if outcome.decision.by_pod:
            return await self._size_pods(outcome)
        return Carried(await self._scale(outcome))

    async def _scale(self, outcome: Outcome) -> Outcome:
        decision = outcome.decision
        done = await self._actor.scale(decision.target, decision.current or 0, decision.desired or 0)
        return replace(_acted(outcome), counted=decision.desired) if done.ok else _failed(outcome, done)

    async def _size_pods(self, outcome: Outcome) -> Carried:
        """Pods are changed one by one; one that refuses does not stop the others."""
        told: list[Told] = []
        undone: list[str] = []
        changed = unsure = False
        known = _proof(outcome)
        for action in _pod_actions(outcome.decision.actions, outcome.seen):
            if isinstance(action, EvictPod) and not self._may_evict(known):
                undone.append(action.pod)
                told += self._not_evicted(outcome, action.pod, known)
                continue
            done = await self._actor.do(outcome.decision.target, action, outcome.seen)
            changed = changed or done.ok
            unsure = unsure or done.unsure
            if isinstance(action, EvictPod) and (done.ok or done.unsure):
                outcome = _evicted(outcome)
                # The first one shows whether the others would come back with their size.
                known = "awaited" if known == "none" else known
            undone += [] if done.ok else [action.pod]
            if not done.ok and not done.overtaken:
                told.append(Told(subject_of(outcome), resize_failed(action.pod, done.refusal)))
        outcome = _without_events_of(outcome, undone)
        if not changed:
            refusal = f"{len(undone)} pods keep their size" if undone else ""
            return Carried(replace(outcome, refusal=refusal, unsure=unsure), tuple(dict.fromkeys(told)))
        return Carried(_acted(outcome), tuple(dict.fromkeys(told)))

    def _may_evict(self, known: Proof) -> bool:
        return self._sizes_new_pods() and known in {"none", "sized"}

    def _not_evicted(self, outcome: Outcome, pod: str, known: Proof) -> Iterator[Told]:
        """Why a pod is left; nothing is wrong while the one that was evicted before it has not come back yet."""
        if not self._sizes_new_pods():
            yield Told(subject_of(outcome), webhook_unavailable(f"{pod} {NOT_EVICTED}"))
        elif known == "unsized":
            yield Told(subject_of(outcome), webhook_unavailable(NOT_SIZED))

    async def _begin(self, outcome: Outcome, hvpa: Hvpa) -> Carried:
        resizing, seen = self._possible(resizing_of(hvpa.annotations)), outcome.seen
        progress = begin(_of_sized(outcome.decision, hvpa), seen, resizing, self._kubernetes, seen.now)
        done = await self._do(outcome, progress)
        if not done.ok:
            return Carried(_failed(outcome, done))
        acted = _counted(_acted(outcome), progress)
        return self._after(replace(acted, memory=replace(acted.memory, plan=progress.plan)), progress)

    def _possible(self, resizing: Resizing) -> Resizing:
        """Without the webhook a pod that is evicted would come back as it was."""
        return "InPlace" if resizing == "InPlaceOrRecreate" and not self._sizes_new_pods() else resizing

    async def _pursue(self, outcome: Outcome) -> Carried:
        plan = outcome.before.plan
        if plan is None:
            return Carried(outcome)
        plan = replace(plan, resizing=self._possible(plan.resizing))
        progress = _stopped(outcome.holds) or pursue(plan, outcome.seen, self._kubernetes, outcome.seen.now)
        if not _blocked_ways(outcome).isdisjoint(_ways(plan, progress.actions)):
            return Carried(outcome)
        done = await self._do(outcome, progress)
        # What was refused is asked for again by the same plan, in the next sweep.
        left = progress.plan if done.ok else plan
        after = replace(outcome, memory=replace(outcome.memory, plan=left), refusal=done.refusal)
        return self._after(_counted(after, progress), progress) if done.ok else Carried(after)

    async def _do(self, outcome: Outcome, progress: Progress) -> Done:
        """In order; a count waits for what comes before it, pods do not wait for each other.

        Once the count is set the plan is under way, and asks for what was refused after it in the next sweep: a
        template, say, whose version is another one since then.
        """
        result, is_counted = FINE, False
        for action in progress.actions:
            done = await self._one(outcome, action)
            if done.ok:
                is_counted = is_counted or isinstance(action, ScaleTo)
                continue
            result = done
            if not isinstance(action, ResizePod | EvictPod):
                break
        return FINE if is_counted else result

    async def _one(self, outcome: Outcome, action: Action) -> Done:
        if isinstance(action, RecordSize):
            return FINE if _is_recorded(outcome, action) else await self._record(outcome)
        return await self._actor.do(outcome.decision.target, action, outcome.seen)

    def _after(self, outcome: Outcome, progress: Progress) -> Carried:
        told = _told(outcome, progress)
        if progress.ended in {"", "Done"}:
            return Carried(told)
        return Carried(told, (Told(subject_of(outcome), plan_ended(progress.words)),))


def _pod_actions(actions: tuple[PodAction, ...], seen: Seen) -> Iterator[ResizePod | EvictPod]:
    uids = {pod.name: pod.uid for pod in seen.pods}
    for action in actions:
        if action.action == "resize":
            yield ResizePod(action.pod, uids.get(action.pod, ""), action.sizes)
        elif action.action == "evict":
            yield EvictPod(action.pod, uids.get(action.pod, ""), action.sentence)


def _proof(outcome: Outcome) -> Proof:
    evicted, seen = outcome.memory.vertical.evicted, outcome.seen
    return proof(seen.pods, sizer_of(outcome.autoscaler), evicted, seen.now)


def _evicted(outcome: Outcome) -> Outcome:
    vertical = replace(outcome.memory.vertical, evicted=outcome.seen.now)
    return replace(outcome, memory=replace(outcome.memory, vertical=vertical))


def _counted(outcome: Outcome, progress: Progress) -> Outcome:
    counts = [action.replicas for action in progress.actions if isinstance(action, ScaleTo)]
    return replace(outcome, counted=counts[-1]) if counts else outcome


def _stopped(holds: Iterable[Hold]) -> Progress | None:
    """A plan that is held as a whole is given up; what is left of it is decided anew once nothing holds."""
    for hold in holds:
        if hold.blocks == "both" and hold.reason != PLAN_UNDER_WAY:
            return Progress((), None, "Superseded", sentence(f"The plan is given up: {hold.words}"))
    return None


def _blocked_ways(outcome: Outcome) -> set[str]:
    """Nothing shrinks on missing data, also where that was decided on while there was some."""
    provided = condition_of(outcome.decision.conditions, "RecommendationProvided")
    is_blind = not outcome.decision.decided or (provided is not None and provided.status == "False")
    return {str(hold.blocks) for hold in outcome.holds} - {"both"} | ({"down"} if is_blind else set())


def _ways(plan: Plan, actions: Iterable[Action]) -> Iterator[str]:
    """Whether these steps of the plan give more, less or both."""
    had = {size.container: size.requests for size in plan.before_sizes}
    sizes = [
        amount - had.get(size.container, {}).get(resource, 0)
        for size in plan.sizes
        for resource, amount in size.requests.items()
    ]
    for action in actions:
        for change in [action.replicas - action.expected] if isinstance(action, ScaleTo) else sizes:
            if change:
                yield "up" if change > 0 else "down"


def _tried(before: Outcome, carried: Carried) -> Carried:
    """After a dry run: what was sent is not there, so it is not remembered as done, and no plan has begun."""
    after = carried.outcome
    if after.refusal:
        return carried
    plan = None if after.memory.plan is None else before.before.plan
    return replace(carried, outcome=replace(after, memory=replace(before.memory, plan=plan), counted=None))


def _without_events_of(outcome: Outcome, pods: list[str]) -> Outcome:
    """Nothing is told as done that was not."""
    names = tuple([f"{pod}: " for pod in pods])
    events = tuple([one for one in outcome.decision.events if not one.message.startswith(names)])
    return replace(outcome, decision=replace(outcome.decision, events=events)) if pods else outcome


def _of_sized(decision: Decision, hvpa: Hvpa) -> Decision:
    """Without the containers whose size is not this autoscaler's to change."""
    off = {size.container for size in decision.sizes if allowed(hvpa, size.container).switched_off}
    if not off:
        return decision
    return replace(
        decision,
        sizes=tuple([size for size in decision.sizes if size.container not in off]),
        desired_sizes=tuple([size for size in decision.desired_sizes if size.container not in off]),
    )


def _is_recorded(outcome: Outcome, action: RecordSize) -> bool:
    """Whether the object's status, as it is watched, says already how pods come up."""
    status = outcome.autoscaler.status
    listed = mappings(inner(status, "lastScaling", "vpaStatus").get("containerResources"))
    return {each.get("containerName"): each.get("resources") for each in listed} == resources_of(action.sizes)


def _told(outcome: Outcome, progress: Progress) -> Outcome:
    """How the plan stands, in a condition that stays until there is another one."""
    word = "True" if progress.ended == "Done" else "False"
    told = (CARRIED_OUT, word, progress.ended or UNDER_WAY, progress.words, outcome.seen.now)
    decision, memory = outcome.decision, outcome.memory
    decision = replace(
        decision,
        conditions=with_condition(decision.conditions, *told),
        unwritten=with_condition(decision.unwritten, *told),
    )
    memory = replace(memory, conditions=with_condition(memory.conditions, *told))
    return replace(outcome, decision=decision, memory=memory)


def _acted(outcome: Outcome) -> Outcome:
    return replace(outcome, memory=outcome.memory.acted(outcome.decision, outcome.seen.now))


def _failed(outcome: Outcome, done: Done) -> Outcome:
    decision = write_failed(outcome.autoscaler, outcome.decision, outcome.memory, done.refusal)
    memory = outcome.memory.failed(decision)
    return replace(outcome, decision=decision, memory=memory, refusal=done.refusal, unsure=done.unsure)
