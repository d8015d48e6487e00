"""The autoscalers of a policy at work in the simulated world."""

from dataclasses import dataclass, field, replace
from math import inf
from typing import Protocol

from hypot.kinds.hpa import HPA
from hypot.kinds.vpa import VPA
from hypot.kinds.vpa_parts import OFF
from hypot.kinds.wpa import WPA
from hypot.policy.decide import Autoscaler, decide
from hypot.policy.decision import Decision
from hypot.policy.memory import Memory
from hypot.policy.seen import UsageView
from hypot.policy.settings import Settings
from hypot.policy.vpa_act import mode_of
from hypot.replay.acting import (
    Plain,
    act_on_pods,
    refused,
    resize_all,
    restart_some,
    serving,
    set_template,
    settled,
    size_of,
)
from hypot.replay.cohorts import Cohorts
from hypot.replay.lifecycle import scale_to
from hypot.replay.params import Params
from hypot.replay.record import Moment
from hypot.replay.seeing import Eyes
from hypot.replay.site import Site
from hypot.replay.world import Span

NEVER = Span(inf, -inf)
# How long a change of both axes may take before it is given up.
PATIENCE = 300.0


class DisagreementError(AssertionError):
    """The quick step and the whole decision differ: a defect of hypot, never of the input."""


@dataclass(slots=True)
class Scene:
    """Everything that the parts of one policy share."""

    c: Cohorts
    s: Site
    p: Params
    eyes: Eyes
    settings: Settings
    container: str
    in_place: bool
    # Whether there are times without metrics at all.
    gaps: bool = False
    # Decisions inside are told whole, whether or not they change something.
    told: Span = NEVER
    moments: list[Moment] = field(default_factory=list)

    def is_told(self, now: float) -> bool:
        return self.told.start <= now <= self.told.end


class Part(Protocol):
    """One autoscaler; `every` is how often it decides."""

    every: float

    def step(self, scene: Scene, i: int, now: float) -> None:
        """Look, decide and act, after tick `i`."""


class Feed(Protocol):
    """What keeps a history of usage."""

    def view(self) -> UsageView: ...


class Mind(Protocol):
    """A horizontal autoscaler in plain numbers, and what it remembers."""

    def blind(self, current: int, now: float) -> int:
        """The same without metrics: only its bounds move it."""

    def count(self, scene: Scene, i: int, now: float) -> int:
        """How many replicas there are to be; what was seen is remembered."""

    def moved(self, before: int, after: int, now: float) -> None:
        """What is remembered of a move."""

    def memory(self) -> Memory:
        """The same past, as the whole decision reads it."""


@dataclass(slots=True)
class Quick:
    """A horizontal autoscaler by its quick step; the whole decision is made only where it is told."""

    autoscaler: HPA | WPA
    mind: Mind
    every: float

    def step(self, scene: Scene, i: int, now: float) -> None:
        current = scene.s.asked[0]
        blind = scene.gaps and scene.eyes.blind(now)
        desired = self.mind.blind(current, now) if blind else self.mind.count(scene, i, now)
        if desired != current or scene.is_told(now):
            self._tell(scene, i, now, desired)
        if desired != current:
            self.mind.moved(current, desired, now)
            scale_to(scene.c, scene.s, scene.p, desired, now)

    def _tell(self, scene: Scene, i: int, now: float, desired: int) -> None:
        """The whole decision, which must be the same."""
        decision, _ = decide(self.autoscaler, scene.eyes.seen(i, now), self.mind.memory(), scene.settings)
        if decision.desired != desired:
            words = f"{decision.autoscaler} at {now}: {desired} replicas quickly, {decision.desired} in full"
            raise DisagreementError(words)
        scene.moments.append(Moment(now, decision))


@dataclass(slots=True)
class Whole:
    """Any autoscaler by its whole decision; one that sizes pods reads the history of usage."""

    autoscaler: Autoscaler
    every: float
    feed: Feed | None = None
    memory: Memory = field(default_factory=Memory)
    plan: "Plan | None" = None

    def step(self, scene: Scene, i: int, now: float) -> None:
        if self.plan is not None:
            self.plan = self.plan.pursued(scene, now)
            if self.plan is not None:
                return
        usage = None if self.feed is None else self.feed.view()
        decision, memory = decide(self.autoscaler, scene.eyes.seen(i, now, usage), self.memory, scene.settings)
        if decision.rescales or scene.is_told(now):
            scene.moments.append(Moment(now, decision))
        if decision.rescales:
            memory = memory.acted(decision, now)
            self.plan = act(scene, decision, now)
        elif decision.by_pod and self._sizes_new_pods():
            prepare(scene, decision)
        self.memory = memory

    def _sizes_new_pods(self) -> bool:
        return isinstance(self.autoscaler, VPA) and mode_of(self.autoscaler.update_policy) != OFF


def prepare(scene: Scene, decision: Decision) -> None:
    """New pods come up as recommended, whatever happens to those that run."""
    size = size_of(decision.desired_sizes, scene.container)
    if size is not None and decision.decided:
        set_template(scene.s, size)


def act(scene: Scene, decision: Decision, now: float) -> "Plan | None":
    """Write a decision; what is left of it is returned as a plan."""
    c, s, p = scene.c, scene.s, scene.p
    if decision.by_pod:
        prepare(scene, decision)
        act_on_pods(c, s, p, decision.actions, scene.container, now, scene.in_place)
        return None
    replicas = s.asked[0] if decision.desired is None else decision.desired
    size = size_of(decision.desired_sizes, scene.container) if decision.resizes else None
    if size is None:
        scale_to(c, s, p, replicas, now)
        return None
    return Plan(replicas, size, now).begun(scene, now)


@dataclass(frozen=True, slots=True)
class Plan:
    """Both axes of one decision: what grows grows first, and only then the other one shrinks."""

    replicas: int
    size: Plain
    since: float
    # Whether pods shrink only once the new ones serve.
    waits: bool = False

    def begun(self, scene: Scene, now: float) -> "Plan | None":
        c, s, p = scene.c, scene.s, scene.p
        more = self.replicas > s.asked[0]
        shrinks = self.size[0] < s.template[0] or self.size[1] < s.template[1]
        set_template(s, self.size)
        if more:
            scale_to(c, s, p, self.replicas, now)
        return replace(self, waits=more and shrinks).pursued(scene, now)

    def pursued(self, scene: Scene, now: float) -> "Plan | None":
        """One step further; None once it is done, or takes too long."""
        c, s, p = scene.c, scene.s, scene.p
        late = now - self.since > PATIENCE
        if self.waits and not late and serving(c) < self.replicas:
            return self
        if settled(c, self.size) or late:
            if self.replicas != s.asked[0]:
                scale_to(c, s, p, self.replicas, now)
            return None
        self._resize(scene, now)
        return self

    def _resize(self, scene: Scene, now: float) -> None:
        if scene.in_place:
            resize_all(scene.c, scene.s, scene.p, self.size, now)
        if not scene.in_place or refused(scene.c):
            # What its node has no room for comes back on another.
            restart_some(scene.c, scene.s, scene.p, self.size, now)
