"""The autoscalers of a policy in the simulated world, and the usage history that they read."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import inf
from typing import Protocol

from hypot.core.amount import RESOURCES
from hypot.kinds.catalogue import Autoscaler, Sizing, info_of
from hypot.kinds.hpa import HPA
from hypot.kinds.hvpa import Hvpa
from hypot.kinds.vpa import VPA
from hypot.kinds.vpa.knobs import Knobs
from hypot.kinds.wpa import WPA
from hypot.policy.decide import decide
from hypot.policy.families import family_of
from hypot.policy.model.decision import Decision
from hypot.policy.model.seen import Bounds, Seen, UsageView
from hypot.policy.model.settings import Settings
from hypot.policy.model.state import State, Vertical
from hypot.policy.plan.rights import sized_by
from hypot.policy.usage.view import listed
from hypot.replay.engine.acting import act_on_pods, current_size, set_template, size_of
from hypot.replay.engine.observer import WorldObserver
from hypot.replay.numbers.hvpa import HvpaPast, HvpaRule, hvpa_act, hvpa_step, is_held, no_hvpa_past
from hypot.replay.numbers.hvpa_rule import state_of
from hypot.replay.numbers.plan import NumericPlan, begin_plan, is_bound, no_plan, pursue_plan
from hypot.replay.numbers.usage import EVERY, UNKNOWN, NumericUsage, bound, observe
from hypot.replay.numbers.vpa import (
    EVICTED,
    RESIZED,
    Advice,
    VpaRule,
    new_size,
    no_advice,
    size_new_pods,
    vpa_act,
    vpa_step,
)
from hypot.replay.numbers.vpa_rule import usage_of
from hypot.replay.world.cohorts import Cohorts
from hypot.replay.world.lifecycle import scale_to
from hypot.replay.world.parameters import Span
from hypot.replay.world.params import Params
from hypot.replay.world.record import Moment
from hypot.replay.world.site import Site

NEVER = Span(inf, -inf)


class DisagreementError(AssertionError):
    """The numeric step and the full decision differ: a bug in hypot, never a fault of the input."""


@dataclass(slots=True)
class Scene:
    """Everything that the deciders of one policy share."""

    c: Cohorts
    s: Site
    p: Params
    observer: WorldObserver
    settings: Settings
    container: str
    in_place: bool
    # Whether there are times without any metrics.
    gaps: bool = False
    # All decisions in this span are recorded in full, whether or not they change something.
    explained: Span = NEVER
    # When the replay ends.
    end: float = inf
    moments: list[Moment] = field(default_factory=list)

    def is_explained(self, now: float) -> bool:
        return self.explained.start <= now <= self.explained.end


class Decider(Protocol):
    """One autoscaler, which decides every `every` seconds."""

    every: float

    def step(self, scene: Scene, i: int, now: float) -> None:
        """Observe, decide and act, after tick `i`."""


class Feed(Protocol):
    """Keeps a history of usage."""

    def view(self) -> UsageView: ...


class HistoryRecorder(Feed, Protocol):
    """A usage history as plain numbers."""

    usage: NumericUsage


class ReplicaRule(Protocol):
    """A horizontal autoscaler as plain numbers, and its state."""

    def blind(self, current: int, now: float) -> int:
        """The replicas without metrics: only the bounds change them."""

    def count(self, scene: Scene, i: int, now: float) -> int:
        """The desired replicas; updates the state with what was observed."""

    def moved(self, before: int, after: int, now: float) -> None:
        """Record a change of replicas."""

    def state(self) -> State:
        """The same state, in the form that the full decision reads."""


@dataclass(slots=True)
class NumericDecider:
    """A horizontal autoscaler that uses the numeric step; it makes the full decision only where one is recorded."""

    autoscaler: HPA | WPA
    replica_rule: ReplicaRule
    every: float

    def step(self, scene: Scene, i: int, now: float) -> None:
        current = scene.s.asked[0]
        blind = scene.gaps and scene.observer.blind(now)
        desired = self.replica_rule.blind(current, now) if blind else self.replica_rule.count(scene, i, now)
        if desired != current or scene.is_explained(now):
            self._report(scene, i, now, desired)
        if desired != current:
            self.replica_rule.moved(current, desired, now)
            scale_to(scene.c, scene.s, scene.p, desired, now)

    def _report(self, scene: Scene, i: int, now: float, desired: int) -> None:
        """Record the full decision, which must agree with the numeric step."""
        decision, _ = decide(self.autoscaler, scene.observer.seen(i, now), self.replica_rule.state(), scene.settings)
        if decision.desired != desired:
            message = (
                f"{decision.autoscaler} at {now}: numeric step {desired} replicas, full decision {decision.desired}"
            )
            raise DisagreementError(message)
        scene.moments.append(Moment(now, decision))


@dataclass(slots=True)
class ExplainedDecider:
    """Any autoscaler that makes the full decision; those that size pods read the usage history."""

    autoscaler: Autoscaler
    every: float
    feed: Feed | None = None
    state: State = field(default_factory=State)
    plan: NumericPlan = field(default_factory=no_plan)

    def observed(self, scene: Scene, i: int, now: float) -> Seen:
        return scene.observer.seen(i, now, None if self.feed is None else self.feed.view())

    def decided(self, decision: Decision) -> None:
        """What becomes of a decision, besides its move."""

    def step(self, scene: Scene, i: int, now: float) -> None:
        decision, state = decide(self.autoscaler, self.observed(scene, i, now), self.state, scene.settings)
        state = with_restarts(state, self.plan)
        if carry_out(scene, self.plan, self.autoscaler, decision, now):
            state = state.acted(decision, now)
        elif decision.by_pod and not family_of(self.autoscaler).is_off(self.autoscaler):
            prepare(scene, decision)
        self.decided(decision)
        self.state = state


@dataclass(slots=True)
class VpaDecider:
    """A VerticalPodAutoscaler that uses the numeric step; it makes the full decision only where one is recorded."""

    autoscaler: VPA
    rule: VpaRule
    feed: "HistoryRecorder"
    every: float
    advice: Advice = field(default_factory=no_advice)

    def step(self, scene: Scene, i: int, now: float) -> None:
        c, s, rule, advice = scene.c, scene.s, self.rule, self.advice
        if vpa_step(rule, advice, self.feed.usage, c, s, now) or scene.is_explained(now):
            self._report(scene, i, now)
        size_new_pods(rule, advice, s)
        vpa_act(rule, advice, c, s, scene.p, scene.in_place, now)

    def _report(self, scene: Scene, i: int, now: float) -> None:
        """Record the full decision, which must agree with the numeric step."""
        c, names = scene.c, scene.observer.names
        stuck = {pod: c.stuck[k] for k in range(c.used[0]) if c.stuck[k] < inf for pod in names(k)}
        seen = scene.observer.seen(i, now, self.feed.view())
        decision, _ = decide(self.autoscaler, seen, State(vertical=Vertical(stuck=stuck)), scene.settings)
        whole = {
            one.pod: (one.action, size_of(one.sizes, scene.container))
            for one in decision.actions
            if one.action != "none"
        }
        numeric = {
            pod: (_ACTIONS[c.action[k]], new_size(self.rule, self.advice, *current_size(c, k)))
            for k in range(c.used[0])
            if c.action[k]
            for pod in names(k)[: c.taken[k]]
        }
        if numeric != whole:
            raise DisagreementError(f"{decision.autoscaler} at {now}: numeric step {numeric}, full decision {whole}")
        scene.moments.append(Moment(now, decision))


@dataclass(slots=True)
class HvpaDecider:
    """An Hvpa that uses the numeric step; it makes the full decision only where one is recorded."""

    autoscaler: Hvpa
    rule: HvpaRule
    feed: "HistoryRecorder"
    every: float
    past: HvpaPast = field(default_factory=no_hvpa_past)
    plan: NumericPlan = field(default_factory=no_plan)

    def step(self, scene: Scene, i: int, now: float) -> None:
        c, s, p, past = scene.c, scene.s, scene.p, self.past
        moves = hvpa_step(self.rule, past, self.feed.usage, c, s, p, i, now, scene.observer.blind(now))
        held = is_held(self.rule, past, self.plan, moves)
        if (moves and not held) or scene.is_explained(now):
            self._report(scene, i, now, moves=moves)
        if held:
            pursue_plan(self.plan, c, s, p, scene.in_place, now)
        elif moves:
            hvpa_act(self.rule, past, self.plan, c, s, p, scene.in_place, now)

    def _report(self, scene: Scene, i: int, now: float, *, moves: bool) -> None:
        """Record the full decision, which must agree with the numeric step."""
        seen = scene.observer.seen(i, now, self.feed.view())
        decision, _ = decide(self.autoscaler, seen, state_of(self.past, scene.container), scene.settings)
        whole = (decision.desired, size_of(decision.desired_sizes, scene.container))
        numeric = (self.past.desired[0], tuple(self.past.size))
        if decision.moves != moves or (moves and numeric != whole):
            raise DisagreementError(f"{decision.autoscaler} at {now}: numeric step {numeric}, full decision {whole}")
        scene.moments.append(Moment(now, decision))


_ACTIONS = {RESIZED: "resize", EVICTED: "evict"}


def with_restarts(state: State, plan: NumericPlan) -> State:
    """The state with the time when a pod was last restarted to change its size."""
    at = plan.restarted[0]
    return state if at == -inf else state._replace(vertical=replace(state.vertical, restarted=at))


def prepare(scene: Scene, decision: Decision) -> None:
    """Create new pods as recommended, whatever happens to running pods."""
    size = size_of(decision.desired_sizes, scene.container)
    if size is not None and decision.decided:
        set_template(scene.s, size)


def is_held_back(scene: Scene, plan: NumericPlan, autoscaler: Autoscaler, decision: Decision) -> bool:
    """Whether the decision waits for a plan in progress."""
    sized = sized_by(autoscaler, decision) if info_of(autoscaler).decides_both else decision
    cpu, memory, *_ = size_of(sized.desired_sizes, scene.container) or (0, 0)
    return is_bound(plan, (decision.desired or 0) if decision.rescales else 0, cpu, memory)


def carry_out(scene: Scene, plan: NumericPlan, autoscaler: Autoscaler, decision: Decision, now: float) -> bool:
    """Whether the decision is carried out. One that waits for a plan in progress lets the plan take its next step."""
    held = is_held_back(scene, plan, autoscaler, decision)
    if (decision.rescales and not held) or scene.is_explained(now):
        scene.moments.append(Moment(now, decision))
    if held:
        pursue_plan(plan, scene.c, scene.s, scene.p, scene.in_place, now)
    elif decision.rescales:
        act(scene, plan, decision, now)
    return decision.rescales and not held


def act(scene: Scene, plan: NumericPlan, decision: Decision, now: float) -> None:
    """Carry out a decision; what cannot be done at once becomes the plan."""
    c, s, p = scene.c, scene.s, scene.p
    if decision.by_pod:
        prepare(scene, decision)
        act_on_pods(c, s, p, decision.actions, scene.container, now, scene.in_place)
        return
    replicas = s.asked[0] if decision.desired is None else decision.desired
    had, size = (size_of(sizes, scene.container) for sizes in (decision.sizes, decision.desired_sizes))
    if had is None or size is None:
        plan.active[0] = 0
        scale_to(c, s, p, replicas, now)
    else:
        begin_plan(plan, c, s, p, scene.in_place, replicas, *size, *had[:2], decision.resizes, now)


class UsageFeed:
    """Adds the usage of the pods to histograms, as a recommender does, and provides estimates from them."""

    every = EVERY

    def __init__(self, autoscaler: Sizing, scene: Scene) -> None:
        self.usage = usage_of(autoscaler, scene.container, scene.settings)
        self._container = scene.container

    def step(self, scene: Scene, i: int, now: float) -> None:
        observe(self.usage, scene.c, scene.p, i, now, scene.observer.blind(now))
        bound(self.usage)

    def view(self) -> UsageView:
        return self

    def containers(self) -> tuple[str, ...]:
        return (self._container,)

    def estimate(
        self, knobs: Knobs | Mapping[str, Knobs], containers: Sequence[str], resources: Mapping[str, Sequence[str]]
    ) -> tuple[Bounds, ...]:
        """The estimates; they were made with the knobs of the only autoscaler that asks."""
        del knobs
        u = self.usage
        figures = {
            name: [u.lower[place], u.target[place], u.upper[place]]
            for place, name in enumerate(RESOURCES)
            if u.target[place] != UNKNOWN
        }
        found = {self._container: figures} if figures and self._container in containers else {}
        return listed(found, resources)
