"""Carries out the decision for one autoscaler, and collects the results."""

import asyncio
from collections.abc import Awaitable, Callable, Collection, Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Self

import structlog

from hypot.cluster.clock import Clock, boot
from hypot.kinds.catalogue import info_of
from hypot.policy.model.decision import PLAN_UNDER_WAY, Decision, Event, Hold, MoveReport, condition_of, renewed
from hypot.policy.model.plan import SetTemplate, actions_sentence, ways_of
from hypot.policy.model.settings import Settings
from hypot.policy.model.state import State
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
from hypot.policy.report import report
from hypot.policy.stages.report import DONE, Effect, sentence
from hypot.run.act.actor import Actor
from hypot.run.act.proof import Objection, lacking, objection, proof_of
from hypot.run.act.recorded import is_recorded, pods_without_record, recorded, unrecorded
from hypot.run.act.steps import ALL_AT_ONCE, Results, Steps, in_place_meanwhile
from hypot.run.outcome import CARRIED_OUT, Done, Judged, Outcome
from hypot.run.report.events import PostedEvent, plan_ended, resize_failed, subject_of
from hypot.run.webhook.admission import held_for_new_pods

log = structlog.get_logger()
# The reason of the condition CarriedOut while a plan is under way.
UNDER_WAY = "UnderWay"
NOT_EVICTED = "is not evicted: the webhook that sizes new pods is not installed, so it would come back as it was"
RESIZED_INSTEAD = "resized in place, because no pod is evicted at the moment"
LATER = "The rest follows in the next reconcile."
EVICTED_LATER = "Pods are evicted once the size is recorded and the last evicted pod is back."
# Writes a status before the writes that depend on it: new pods start with the size that it records.
Record = Callable[[Outcome], Awaitable[Done]]


@dataclass(frozen=True, slots=True)
class Attempt:
    """The result of a move so far, and the events to report in addition."""

    judged: Judged
    state: State
    effect: Effect = DONE
    # Whether the move happened, so that its windows and counters start.
    acted: bool = False
    # Whether the object changed before the first write: then nothing is written or reported for it.
    over: bool = False
    refusal: str = ""
    unsure: bool = False
    counted: int | None = None
    events: tuple[Event, ...] = ()

    @classmethod
    def of(cls, judged: Judged, effect: Effect = DONE) -> Self:
        return cls(judged, judged.state, effect)

    def with_results(self, results: Results) -> Self:
        """With the count and the size that were set, and when the last pod was evicted or restarted."""
        effect, state, counted = self.effect, self.state, self.counted
        for action in results.done:
            if isinstance(action, RecordSize | SetTemplate):
                effect = recorded(self.judged, effect, action.sizes)
            elif isinstance(action, ScaleTo):
                counted = action.replicas
        if results.evicted:
            tries = state.vertical.tries + 1 if proof_of(self.judged) == "retry" else 0
            state = state._replace(vertical=replace(state.vertical, evicted=self.judged.seen.now, tries=tries))
        if results.restarted:
            state = state._replace(vertical=replace(state.vertical, restarted=self.judged.seen.now))
        return replace(self, effect=effect, state=state, counted=counted)

    def with_plan(self, plan: Plan | None) -> Self:
        return replace(self, state=self.state._replace(plan=plan))

    def with_events(self, *events: Event) -> Self:
        return replace(self, events=(*self.events, *events))

    def objected(self, found: Iterable[Objection]) -> Self:
        """With the objections to evictions; the first objection with a hold is listed among the holds."""
        objections = list(found)
        note = next((each.hold for each in objections if each.hold is not None), None)
        effect = self.effect if note is None or self.effect.note is not None else self.effect._replace(note=note)
        return replace(self, effect=effect).with_events(*[each.event for each in objections])

    def progressed(self, progress: Progress) -> Self:
        """With the progress of the plan, in a condition that stays until the next plan."""
        judged, word = self.judged, "True" if progress.ended == "Done" else "False"
        old = condition_of(judged.move.unwritten, CARRIED_OUT)
        reason = progress.ended or UNDER_WAY
        condition = renewed(old, CARRIED_OUT, word, reason, progress.message, judged.seen.now)
        return replace(self, effect=self.effect._replace(progress=condition))

    def failed(self, done: Done) -> Self:
        return replace(
            self, effect=self.effect._replace(refused=done.refusal), refusal=done.refusal, unsure=done.unsure
        )

    def outcome(self, settings: Settings) -> Outcome:
        """The outcome: what is reported, and the state that is kept."""
        if self.over:
            return replace(without_writes(self.judged, settings), acting="observe")
        judged, effect, now = self.judged, self.effect, self.judged.seen.now
        decision = report(judged.autoscaler, judged.move, judged.before, settings, effect)
        state = self.state.after_report(decision)
        state = (state.acted(decision, now) if self.acted else state).reported(decision)
        holds = judged.holds if effect.note is None else (*judged.holds, effect.note)
        outcome = replace(Outcome.of(judged, decision, state), holds=holds, refusal=self.refusal)
        return replace(outcome, unsure=self.unsure, counted=self.counted)


def without_writes(judged: Judged, settings: Settings) -> Outcome:
    """The outcome of a move without writes."""
    decision = report(judged.autoscaler, judged.move, judged.before, settings)
    return Outcome.of(judged, decision, judged.state.after_report(decision))


def without_report(judged: Judged, message: str) -> Outcome:
    """The same if it cannot be reported: the object is only counted."""
    still = judged.move._replace(decided=False, error=message, error_kind="internal")
    decision = Decision.of(still, MoveReport(still.unwritten, still.warnings, still.observed))
    return Outcome.of(judged, decision, judged.state.after_report(decision))


@dataclass(frozen=True, slots=True)
class Executed:
    """The outcome after its writes, and additional events."""

    outcome: Outcome
    reported: tuple[PostedEvent, ...] = ()


class Executor:
    """Executes one move at a time for each autoscaler; different autoscalers do not wait for each other."""

    def __init__(
        self,
        actor: Actor,
        record: Record,
        settings: Settings,
        sizes_new_pods: Callable[[], bool],
        *,
        dry_run: bool = False,
        stands: Callable[[Judged], bool] = lambda _: True,
        clock: Clock = boot,
    ) -> None:
        """`sizes_new_pods`: whether new pods get the size that is recorded for them.

        `stands`: whether the object still exists and its spec has not changed; called before each write.
        """
        self._actor, self._record, self._settings = actor, record, settings
        self._sizes_new_pods, self._dry_run = sizes_new_pods, dry_run
        self._stands, self._clock = stands, clock
        self._resizing = asyncio.Semaphore(ALL_AT_ONCE)

    def has_work(self, judged: Judged) -> bool:
        if judged.acting != "act":
            return False
        return judged.move.rescales or judged.before.plan is not None

    async def execute(self, judged: Judged) -> Executed:
        attempt = await self._tried(judged)
        outcome = attempt.outcome(self._settings)
        if self._dry_run and not outcome.refusal:
            # The writes did not happen, so the state does not record them, and no plan has begun.
            before = without_writes(judged, self._settings).state
            plan = None if outcome.state.plan is None else judged.before.plan
            outcome = replace(outcome, state=before._replace(plan=plan), counted=None)
        about = subject_of(outcome)
        return Executed(outcome, tuple([PostedEvent(about, event) for event in attempt.events]))

    async def _tried(self, judged: Judged) -> Attempt:
        if info_of(judged.autoscaler).decides_both and judged.move.rescales:
            return await self._begin(judged)
        if judged.before.plan is not None:
            return await self._pursue(Attempt.of(judged))
        if judged.move.by_pod:
            return await self._size_pods(judged)
        return await self._scale(judged)

    async def _scale(self, judged: Judged) -> Attempt:
        move, attempt = judged.move, Attempt.of(judged)
        action = ScaleTo(move.desired or 0, move.current or 0)
        done = await self._actor.do(move.target, action, judged.seen)
        return replace(attempt, acted=True, counted=move.desired) if done.ok else attempt.failed(done)

    async def _size_pods(self, judged: Judged) -> Attempt:
        """Change pods one by one; a pod that cannot be changed does not stop the others."""
        wanted = [each for each in judged.move.actions if each.action != "none"]
        objections, barred = self._objections(judged, [each.pod for each in wanted if each.action == "evict"])
        if not self._dry_run:
            barred |= pods_without_record(judged, self._settings.vpa)
        actions = list(_pod_steps(judged, barred, waits=proof_of(judged) == "awaited"))
        attempt = Attempt.of(judged).objected(objections)
        results = await self._take(attempt, actions)
        if self._is_over(judged, results):
            return replace(attempt, over=True, events=())
        resized = {each.pod for each in results.done if isinstance(each, ResizePod)}
        done = resized | {each.pod for each in results.done if isinstance(each, EvictPod)}
        instead = [each.pod for each in wanted if each.action == "evict" and each.pod in resized]
        undone = [each.pod for each in wanted if each.pod not in done]
        attempt = attempt.with_events(*[_resized_instead(pod) for pod in instead], *_refusals(results))
        attempt = attempt.with_results(results)
        attempt = replace(attempt, effect=attempt.effect._replace(undone=frozenset([*undone, *instead])))
        if done:
            return replace(attempt, acted=True)
        unsure = any(how.unsure for _, how in results.refused)
        return replace(attempt, refusal=_kept(len(undone)) if undone else "", unsure=unsure)

    def _objections(self, judged: Judged, pods: Iterable[str]) -> tuple[list[Objection], set[str]]:
        """Why some of these pods are not evicted, and which; none if one may be evicted, now or once one is back."""
        names = set(pods)
        if names and not self._sizes_new_pods():
            return [Objection.of_webhook(f"{name} {NOT_EVICTED}") for name in sorted(names)], names
        known = proof_of(judged)
        barred = names - lacking(judged) if known == "larger" else names
        why = objection(known, judged.seen, judged.state.vertical) if barred else None
        return ([], set()) if why is None else ([why], barred)

    async def _take(self, attempt: Attempt, actions: Iterable[Action]) -> Results:
        judged = attempt.judged

        async def write(action: Action) -> Done:
            if isinstance(action, RecordSize):
                with_size = replace(attempt, effect=recorded(judged, attempt.effect, action.sizes))
                return await self._record(with_size.outcome(self._settings))
            return await self._actor.do(judged.move.target, action, judged.seen)

        news = [each for each in actions if not isinstance(each, RecordSize) or not is_recorded(judged, each.sizes)]
        # The replica that sizes the next pod may not have seen yet what is recorded now.
        is_known = not any(isinstance(each, RecordSize) for each in news) and not _was_held(judged)
        steps = Steps(write, lambda: self._stands(judged), self._clock, self._resizing)
        return await steps.take(news, proof_of(judged) if is_known else "awaited")

    def _is_over(self, judged: Judged, results: Results) -> bool:
        """Whether the object changed before the first write."""
        return bool(results.left) and not results.done and not results.refused and not self._stands(judged)

    async def _begin(self, judged: Judged) -> Attempt:
        """Begin a plan. Once any write is done the plan is kept, and the next reconcile retries what was refused."""
        autoscaler, seen = judged.autoscaler, judged.seen
        move = sized_by(autoscaler, judged.move)
        pinned = any(hold.pinned == move.desired for hold in judged.holds)

        def made(resizing: Resizing) -> Progress:
            return begin(move, seen, resizing, self._settings.kubernetes, seen.now, insists=pinned)

        progress, objections = self._possible(judged, made, resizing_of(autoscaler.annotations))
        attempt = Attempt.of(judged, unrecorded(judged))
        results = await self._take(attempt, progress.actions)
        objected = attempt.objected(objections)
        if results.refused and (progress.plan is None or not results.done):
            return objected.with_results(results).failed(results.refused[0][1])
        if self._is_over(judged, results) or (results.left and progress.plan is None):
            return replace(attempt, over=True)
        if not results.done:
            # No error, but nothing could be written: no plan has begun, and the status stays as it was.
            undone = attempt.effect._replace(done="nothing")
            attempt = replace(attempt, effect=undone, refusal=_message(progress, results))
            # Continue the earlier plan, if there is one.
            return await self._pursue(attempt) if judged.before.plan else _after(attempt, progress, results, objections)
        plan = None if progress.plan is None else entitled(progress.plan, autoscaler, seen.now)
        attempt = replace(attempt.with_results(results).with_plan(plan), acted=True)
        if results.refused and all(isinstance(each, RecordSize) for each in results.done):
            attempt = replace(attempt, effect=attempt.effect._replace(done="recorded"))
        return _after(attempt, progress, results, objections)

    def _possible(
        self, judged: Judged, made: Callable[[Resizing], Progress], resizing: Resizing
    ) -> tuple[Progress, list[Objection]]:
        """The next step; without evictions if pods would come back with their old size, or not at all."""
        progress = made(resizing)
        evicted = [each.pod for each in progress.actions if isinstance(each, EvictPod)]
        objections, _ = self._objections(judged, evicted)
        if not objections:
            return in_place_meanwhile(progress) if proof_of(judged) == "awaited" else progress, []
        progress = made("InPlace")
        # Once new pods get their size, the same plan may evict again.
        plan = None if progress.plan is None else replace(progress.plan, resizing=resizing)
        return progress._replace(plan=plan), objections

    async def _pursue(self, attempt: Attempt) -> Attempt:
        judged, plan = attempt.judged, attempt.judged.before.plan
        if plan is None:
            return attempt

        def made(resizing: Resizing) -> Progress:
            now, asked = judged.seen.now, replace(plan, resizing=resizing)
            return _stopped(plan, judged.holds) or _allowed(
                judged, plan, pursue(asked, judged.seen, self._settings.kubernetes, now)
            )

        progress, objections = self._possible(judged, made, plan.resizing)
        ways = {*ways_of(plan, progress.actions)}
        if not ways.isdisjoint(_blocked_ways(judged)):
            if len(ways) == 1:
                return attempt.progressed(Progress((), plan, "", _waits_for(judged, ways)))
            progress = _given_up("one part of it is held, and the other part does not wait for it")
        results = await self._take(attempt, progress.actions)
        if self._is_over(judged, results):
            return replace(attempt, over=True)
        refusal = results.refused[0][1].refusal if results.refused else attempt.refusal
        after = replace(attempt.with_results(results).with_plan(progress.plan), refusal=refusal)
        return _after(after, progress, results, objections)


def _was_held(judged: Judged) -> bool:
    """Whether the status still holds back new pods, although no hold applies any more."""
    return bool(held_for_new_pods(judged.autoscaler) - {hold.blocks for hold in judged.holds})


def _after(attempt: Attempt, progress: Progress, results: Results, objections: list[Objection]) -> Attempt:
    """With the progress of the plan, and the events for what failed."""
    ended = [] if progress.ended in {"", "Done"} else [plan_ended(progress.message)]
    shown = attempt.progressed(progress._replace(message=_message(progress, results))).objected(objections)
    return shown.with_events(*_refusals(results), *ended)


def _message(progress: Progress, results: Results) -> str:
    """The message of the progress; it reports only steps that were done."""
    if len(results.done) == len(results.steps):
        return progress.message
    rest = EVICTED_LATER if any(isinstance(each, EvictPod) for each in results.left) else LATER
    rest = sentence(f"to be tried again: {results.refused[0][1].refusal}") if results.refused else rest
    return f"{actions_sentence(results.done)} {rest}".strip()


def _refusals(results: Results) -> Iterator[Event]:
    """Events for refused writes; a write that another client overtook is not an error."""
    for action, how in results.refused:
        if how.overtaken:
            continue
        if isinstance(action, ResizePod | EvictPod):
            yield resize_failed(action.pod, how.refusal)
        else:
            yield Event("Warning", "FailedScaling", how.refusal)


def _pod_steps(judged: Judged, barred: set[str], *, waits: bool) -> Iterator[ResizePod | EvictPod]:
    """The step for each pod; some pods that are not evicted, or not yet, are resized in place instead."""
    uids = {pod.name: pod.uid for pod in judged.seen.pods}
    for each in judged.move.actions:
        if each.action == "resize" or (each.or_resize and (waits or each.pod in barred)):
            yield ResizePod(each.pod, uids.get(each.pod, ""), each.sizes)
        elif each.action == "evict" and each.pod not in barred:
            yield EvictPod(each.pod, uids.get(each.pod, ""), each.sentence)


def _kept(pods: int) -> str:
    return "1 pod keeps its size" if pods == 1 else f"{pods} pods keep their size"


def _resized_instead(pod: str) -> Event:
    return Event("Normal", "InPlaceResizedByVPA", f"{pod}: {RESIZED_INSTEAD}.")


def _stopped(plan: Plan, holds: Iterable[Hold]) -> Progress | None:
    """Abandon a plan that is held as a whole; the rest is decided again once nothing holds it."""
    for hold in holds:
        if hold.blocks == "both" and hold.reason != PLAN_UNDER_WAY and not _is_pinned(plan, hold):
            return _given_up(hold.message)
    return None


def _allowed(judged: Judged, plan: Plan, progress: Progress) -> Progress:
    """The next step, unless the object no longer allows it; a count that people pinned is always allowed."""
    is_over = progress.plan is None and not progress.actions
    if is_over or not info_of(judged.autoscaler).decides_both or any(_is_pinned(plan, hold) for hold in judged.holds):
        return progress
    why = withdrawn(judged.autoscaler, plan, progress.actions, judged.seen.now)
    return _given_up(why) if why else progress


def _is_pinned(plan: Plan, hold: Hold) -> bool:
    """Whether the plan only goes to the count that this hold pins."""
    return hold.pinned == plan.replicas and plan.sizes == plan.before_sizes


def _given_up(why: str) -> Progress:
    return Progress((), None, "Superseded", sentence(f"The plan is abandoned: {why}"))


def _blocked_ways(judged: Judged) -> set[str]:
    """The directions that are held. Missing data holds scale-downs, even those decided before data went missing."""
    provided = condition_of(judged.move.unwritten, "RecommendationProvided")
    is_blind = not judged.move.decided or (provided is not None and provided.status == "False")
    return {str(hold.blocks) for hold in judged.holds} - {"both"} | ({"down"} if is_blind else set())


def _waits_for(judged: Judged, ways: Collection[str]) -> str:
    holds = [hold.message for hold in judged.holds if hold.blocks in ways]
    return f"Waiting: {holds[0] if holds else 'the demand is unknown'}."
