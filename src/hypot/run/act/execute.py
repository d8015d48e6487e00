"""Carrying out what was decided for one autoscaler, and remembering what came of it."""

import asyncio
from collections.abc import Awaitable, Callable, Collection, Iterable, Iterator
from dataclasses import dataclass, replace

from hypot.cluster.clock import Clock, boot
from hypot.kinds.hvpa import Hvpa
from hypot.kinds.version import Version
from hypot.policy.decide import write_failed
from hypot.policy.hold import PLAN_UNDER_WAY, Hold, noted
from hypot.policy.model.decision import Decision, Event, condition_of, with_condition
from hypot.policy.model.plan import SetTemplate, ways_of
from hypot.policy.model.plan import told as in_words
from hypot.policy.plan.pursue import (
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
from hypot.policy.plan.rights import entitled, sized_by, withdrawn
from hypot.policy.stages.report import sentence
from hypot.run.act.actor import Actor
from hypot.run.act.proof import as_hold, lacking, objection, proof_of
from hypot.run.act.recorded import as_before, is_recorded, recorded, unrecorded
from hypot.run.act.steps import ALL_AT_ONCE, Deeds, Steps, in_place_meanwhile
from hypot.run.outcome import CARRIED_OUT, Done, Outcome
from hypot.run.report.events import Told, plan_ended, resize_failed, subject_of, webhook_unavailable
from hypot.run.webhook.admission import told_blocks

# The condition that says how the last decision on both axes fares, and its reason while it does.
UNDER_WAY = "UnderWay"
NOT_EVICTED = "is not evicted: the webhook that sizes new pods is not in place, so it would come back as it was"
RESIZED_INSTEAD = "resized in place, for nothing is evicted at the moment"
LATER = "The rest follows in the next sweep."
EVICTED_LATER = "Pods are evicted once the size is recorded and the last one that went is back."
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
        stands: Callable[[Outcome], bool] = lambda _: True,
        clock: Clock = boot,
    ) -> None:
        """`sizes_new_pods`: whether pods that come up get the size that is recorded for them.

        `stands`: whether the object is still there and asks for what was decided on; asked before each write.
        """
        self._actor, self._record, self._kubernetes = actor, record, kubernetes
        self._sizes_new_pods, self._dry_run = sizes_new_pods, dry_run
        self._stands, self._clock = stands, clock
        self._resizing = asyncio.Semaphore(ALL_AT_ONCE)

    def has_work(self, outcome: Outcome) -> bool:
        if outcome.acting != "act":
            return False
        return outcome.decision.rescales or outcome.before.plan is not None

    async def carry(self, outcome: Outcome) -> Carried:
        carried = _noted(await self._carry(outcome))
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
        action = ScaleTo(decision.desired or 0, decision.current or 0)
        done = await self._actor.do(decision.target, action, outcome.seen)
        return replace(_acted(outcome), counted=decision.desired) if done.ok else _failed(outcome, done)

    async def _size_pods(self, outcome: Outcome) -> Carried:
        """Pods are changed one by one; one that refuses does not stop the others."""
        wanted = [each for each in outcome.decision.actions if each.action != "none"]
        told, barred = self._objections(outcome, [each.pod for each in wanted if each.action == "evict"])
        actions = list(_pod_steps(outcome, barred, waits=proof_of(outcome) == "awaited"))
        deeds = await self._take(outcome, actions)
        if self._is_over(outcome, deeds):
            return Carried(replace(outcome, acting="observe"))
        resized = {each.pod for each in deeds.done if isinstance(each, ResizePod)}
        done = resized | {each.pod for each in deeds.done if isinstance(each, EvictPod)}
        instead = [each.pod for each in wanted if each.action == "evict" and each.pod in resized]
        undone = [each.pod for each in wanted if each.pod not in done]
        told += [Told(subject_of(outcome), _resized_instead(pod)) for pod in instead]
        told += _refusals(outcome, deeds)
        outcome = _without_events_of(_remembered(outcome, deeds), [*undone, *instead])
        if done:
            return Carried(_acted(outcome), tuple(told))
        unsure = any(how.unsure for _, how in deeds.refused)
        refusal = f"{len(undone)} pods keep their size" if undone else ""
        return Carried(replace(outcome, refusal=refusal, unsure=unsure), tuple(told))

    def _objections(self, outcome: Outcome, pods: Iterable[str]) -> tuple[list[Told], set[str]]:
        """Why some of these pods are not evicted, and which; none where one may go, now or once one is back."""
        names = set(pods)
        if names and not self._sizes_new_pods():
            words = [f"{name} {NOT_EVICTED}" for name in sorted(names)]
            return [Told(subject_of(outcome), webhook_unavailable(each)) for each in words], names
        known = proof_of(outcome)
        barred = names - lacking(outcome) if known == "larger" else names
        why = objection(known, outcome.seen, outcome.memory.vertical.evicted) if barred else None
        return ([], set()) if why is None else ([Told(subject_of(outcome), why)], barred)

    async def _take(self, outcome: Outcome, actions: Iterable[Action]) -> Deeds:
        async def write(action: Action) -> Done:
            if isinstance(action, RecordSize):
                return await self._record(recorded(outcome, action.sizes))
            return await self._actor.do(outcome.decision.target, action, outcome.seen)

        news = [each for each in actions if not isinstance(each, RecordSize) or not is_recorded(outcome, each.sizes)]
        # What was recorded this very moment is perhaps not known yet to whoever sizes the pod that comes next.
        is_known = not any(isinstance(each, RecordSize) for each in news) and not _was_held(outcome)
        steps = Steps(write, lambda: self._stands(outcome), self._clock, self._resizing)
        return await steps.take(news, proof_of(outcome) if is_known else "awaited")

    def _is_over(self, outcome: Outcome, deeds: Deeds) -> bool:
        """Whether the object has changed before the first write: then nothing is done nor told in its name."""
        return bool(deeds.left) and not deeds.done and not deeds.refused and not self._stands(outcome)

    async def _begin(self, outcome: Outcome, hvpa: Hvpa) -> Carried:
        """Once anything was done the plan stands, and asks in the next sweep for what was refused."""
        outcome = unrecorded(outcome)
        decision, seen = sized_by(hvpa, outcome.decision), outcome.seen
        pinned = any(hold.pinned == decision.desired for hold in outcome.holds)

        def made(resizing: Resizing) -> Progress:
            return begin(decision, seen, resizing, self._kubernetes, seen.now, insists=pinned)

        progress, told = self._possible(outcome, made, resizing_of(hvpa.annotations))
        deeds = await self._take(outcome, progress.actions)
        if deeds.refused and (progress.plan is None or not deeds.done):
            return Carried(_failed(_remembered(outcome, deeds), deeds.refused[0][1]), tuple(told))
        if self._is_over(outcome, deeds) or (deeds.left and progress.plan is None):
            return Carried(replace(outcome, acting="observe"))
        if not deeds.done:
            undone = _not_done(outcome, _words(progress, deeds))
            # What is under way is better than nothing.
            return await self._pursue(undone) if outcome.before.plan else _after(undone, progress, deeds, told)
        acted = _acted(_remembered(outcome, deeds))
        plan = None if progress.plan is None else entitled(progress.plan, hvpa, seen.now)
        acted = replace(acted, memory=replace(acted.memory, plan=plan))
        return _after(_without_move(acted, deeds), progress, deeds, told)

    def _possible(
        self, outcome: Outcome, made: Callable[[Resizing], Progress], resizing: Resizing
    ) -> tuple[Progress, list[Told]]:
        """The next step; without evictions where pods would come back as they were, or not at all."""
        progress = made(resizing)
        told, _ = self._objections(outcome, [each.pod for each in progress.actions if isinstance(each, EvictPod)])
        if not told:
            return in_place_meanwhile(progress) if proof_of(outcome) == "awaited" else progress, told
        progress = made("InPlace")
        # Once pods come up sized, the same plan may evict again.
        plan = None if progress.plan is None else replace(progress.plan, resizing=resizing)
        return progress._replace(plan=plan), told

    async def _pursue(self, outcome: Outcome) -> Carried:
        plan = outcome.before.plan
        if plan is None:
            return Carried(outcome)

        def made(resizing: Resizing) -> Progress:
            now, asked = outcome.seen.now, replace(plan, resizing=resizing)
            return _stopped(plan, outcome.holds) or _allowed(
                outcome, plan, pursue(asked, outcome.seen, self._kubernetes, now)
            )

        progress, told = self._possible(outcome, made, plan.resizing)
        ways = {*ways_of(plan, progress.actions)}
        if not ways.isdisjoint(_blocked_ways(outcome)):
            if len(ways) == 1:
                return Carried(_told(outcome, Progress((), plan, "", _waits_for(outcome, ways))))
            progress = _given_up("a part of it may not be done now, and the other does not wait for that")
        deeds = await self._take(outcome, progress.actions)
        if self._is_over(outcome, deeds):
            return Carried(replace(outcome, acting="observe"))
        after = _remembered(outcome, deeds)
        refusal = deeds.refused[0][1].refusal if deeds.refused else outcome.refusal
        after = replace(after, memory=replace(after.memory, plan=progress.plan), refusal=refusal)
        return _after(after, progress, deeds, told)


def _noted(carried: Carried) -> Carried:
    """With what stands in the way of evictions as a hold, so that it shows where all others do, and behind them."""
    notes = [note for told in carried.told if (note := as_hold(told.event)) is not None]
    outcome = carried.outcome
    if not notes or outcome.acting != "act":
        return carried
    note = notes[0]
    decision = noted(outcome.decision, outcome.holds, note, outcome.before)
    memory = replace(outcome.memory, conditions=decision.conditions)
    return replace(carried, outcome=replace(outcome, decision=decision, memory=memory, holds=(*outcome.holds, note)))


def _was_held(outcome: Outcome) -> bool:
    """Whether new pods are still held by what the status says, though nothing holds any more."""
    return bool(told_blocks(outcome.autoscaler) - {hold.blocks for hold in outcome.holds})


def _after(outcome: Outcome, progress: Progress, deeds: Deeds, told: list[Told]) -> Carried:
    """How the plan stands, and what went wrong on the way."""
    ended = [] if progress.ended in {"", "Done"} else [Told(subject_of(outcome), plan_ended(progress.words))]
    shown = _told(outcome, progress._replace(words=_words(progress, deeds)))
    return Carried(shown, (*told, *_refusals(outcome, deeds), *ended))


def _words(progress: Progress, deeds: Deeds) -> str:
    """Nothing is told as done that was not."""
    if len(deeds.done) == len(deeds.steps):
        return progress.words
    rest = EVICTED_LATER if any(isinstance(each, EvictPod) for each in deeds.left) else LATER
    rest = sentence(f"to be asked for again: {deeds.refused[0][1].refusal}") if deeds.refused else rest
    return f"{in_words(deeds.done)} {rest}".strip()


def _refusals(outcome: Outcome, deeds: Deeds) -> Iterator[Told]:
    """Nothing is wrong where somebody else was quicker."""
    for action, how in deeds.refused:
        if how.overtaken:
            continue
        event = Event("Warning", "FailedScaling", how.refusal)
        if isinstance(action, ResizePod | EvictPod):
            event = resize_failed(action.pod, how.refusal)
        yield Told(subject_of(outcome), event)


def _pod_steps(outcome: Outcome, barred: set[str], *, waits: bool) -> Iterator[ResizePod | EvictPod]:
    """What happens to each pod; where it is not evicted, or not yet, a resize is better than nothing to some."""
    uids = {pod.name: pod.uid for pod in outcome.seen.pods}
    for each in outcome.decision.actions:
        if each.action == "resize" or (each.or_resize and (waits or each.pod in barred)):
            yield ResizePod(each.pod, uids.get(each.pod, ""), each.sizes)
        elif each.action == "evict" and each.pod not in barred:
            yield EvictPod(each.pod, uids.get(each.pod, ""), each.sentence)


def _resized_instead(pod: str) -> Event:
    return Event("Normal", "InPlaceResizedByVPA", f"{pod}: {RESIZED_INSTEAD}.")


def _remembered(outcome: Outcome, deeds: Deeds) -> Outcome:
    """With the count and the size that were set, and when the last pod was evicted."""
    for action in deeds.done:
        outcome = recorded(outcome, action.sizes) if isinstance(action, RecordSize | SetTemplate) else outcome
    if deeds.evicted:
        vertical = replace(outcome.memory.vertical, evicted=outcome.seen.now)
        outcome = replace(outcome, memory=replace(outcome.memory, vertical=vertical))
    counts = [action.replicas for action in deeds.done if isinstance(action, ScaleTo)]
    return replace(outcome, counted=counts[-1]) if counts else outcome


def _stopped(plan: Plan, holds: Iterable[Hold]) -> Progress | None:
    """A plan that is held as a whole is given up; what is left of it is decided anew once nothing holds."""
    for hold in holds:
        if hold.blocks == "both" and hold.reason != PLAN_UNDER_WAY and not _is_pinned(plan, hold):
            return _given_up(hold.words)
    return None


def _allowed(outcome: Outcome, plan: Plan, progress: Progress) -> Progress:
    """The next step, unless the object does not allow it any more; a count that people hold asks nobody."""
    hvpa, is_over = outcome.autoscaler, progress.plan is None and not progress.actions
    if is_over or not isinstance(hvpa, Hvpa) or any(_is_pinned(plan, hold) for hold in outcome.holds):
        return progress
    why = withdrawn(hvpa, plan, progress.actions, outcome.seen.now)
    return _given_up(why) if why else progress


def _is_pinned(plan: Plan, hold: Hold) -> bool:
    """Whether it is the hold's own count that is gone to."""
    return hold.pinned == plan.replicas and plan.sizes == plan.before_sizes


def _given_up(why: str) -> Progress:
    return Progress((), None, "Superseded", sentence(f"The plan is given up: {why}"))


def _blocked_ways(outcome: Outcome) -> set[str]:
    """Nothing shrinks on missing data, also where that was decided on while there was some."""
    provided = condition_of(outcome.decision.conditions, "RecommendationProvided")
    is_blind = not outcome.decision.decided or (provided is not None and provided.status == "False")
    return {str(hold.blocks) for hold in outcome.holds} - {"both"} | ({"down"} if is_blind else set())


def _waits_for(outcome: Outcome, ways: Collection[str]) -> str:
    holds = [hold.words for hold in outcome.holds if hold.blocks in ways]
    return f"Waiting: {holds[0] if holds else 'nobody knows what is needed'}."


def _tried(before: Outcome, carried: Carried) -> Carried:
    """After a dry run: what was sent is not there, so it is not remembered as done, and no plan has begun."""
    after = carried.outcome
    if after.refusal:
        return carried
    plan = None if after.memory.plan is None else before.before.plan
    return replace(carried, outcome=replace(after, memory=replace(before.memory, plan=plan), counted=None))


def _without_events_of(outcome: Outcome, pods: list[str]) -> Outcome:
    """Nothing is told as done that was not."""
    events = tuple([one for one in outcome.decision.events if not one.pod or one.pod not in pods])
    return replace(outcome, decision=replace(outcome.decision, events=events)) if pods else outcome


def _without_move(outcome: Outcome, deeds: Deeds) -> Outcome:
    """Where a size was recorded and all else was refused, nothing has moved that could be told of."""
    if not deeds.refused or any(not isinstance(each, RecordSize) for each in deeds.done):
        return outcome
    return replace(outcome, decision=replace(outcome.decision, events=_warnings(outcome.decision)))


def _warnings(decision: Decision) -> tuple[Event, ...]:
    return tuple([event for event in decision.events if event.type == "Warning"])


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
    failed = replace(outcome, decision=decision, memory=memory, refusal=done.refusal, unsure=done.unsure)
    return as_before(failed)


def _not_done(outcome: Outcome, why: str) -> Outcome:
    """Nothing was wrong and nothing could be written: no plan has begun, and the status says what it said."""
    told, decision = _failed(outcome, Done(why)).decision.reported, outcome.decision
    decision = replace(decision, conditions=decision.unwritten, events=_warnings(decision), reported=told)
    return replace(outcome, decision=decision, memory=outcome.memory.failed(decision), refusal=why)
