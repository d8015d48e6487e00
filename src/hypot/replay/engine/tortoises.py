"""A Tortoise in the simulated world, and the controller of the HPA that it edits.

With `hypot.dev/decide` the Tortoise sets the count as well. Otherwise its HPA is decided as a cluster would do it.
"""

from dataclasses import dataclass, field, replace
from math import inf
from typing import Any

from hypot.core.amount import RESOURCES
from hypot.core.learning.bounds import NONE
from hypot.core.learning.clock import Turns
from hypot.kinds.hpa import HPA
from hypot.kinds.node import replaced
from hypot.kinds.tortoise import Tortoise
from hypot.policy.decide import decide
from hypot.policy.model.decision import Conditions, Decision, condition_of
from hypot.policy.model.hpa_edit import HpaEdit
from hypot.policy.model.seen import Seen
from hypot.policy.model.settings import Settings
from hypot.policy.model.state import State
from hypot.policy.tortoise.phases import blind_since
from hypot.replay.engine.acting import size_of
from hypot.replay.engine.deciders import DisagreementError, ExplainedDecider, HistoryRecorder, Scene
from hypot.replay.engine.replica_rules import HpaReplicaRule
from hypot.replay.numbers.hvpa import HvpaPast, no_hvpa_past
from hypot.replay.numbers.plan import NumericPlan, no_plan, pursue_plan
from hypot.replay.numbers.tortoise import (
    HORIZONTAL,
    TortoisePast,
    is_held_back,
    tortoise_act,
    tortoise_look,
    tortoise_size,
)
from hypot.replay.numbers.tortoise_hpa import HpaForm, decided_count, edit_hpa, follow_hpa, form_in_use
from hypot.replay.numbers.tortoise_rule import Codes, TortoiseNumbers, edited_by, state_of
from hypot.replay.world.lifecycle import scale_to
from hypot.replay.world.record import Moment


@dataclass(slots=True)
class EditedHpa:
    """The HPA that a Tortoise edits; None if there is none."""

    hpa: HPA | None = None


@dataclass(slots=True)
class ExplainedTortoise(ExplainedDecider):
    """A Tortoise that makes the full decision."""

    edited: EditedHpa = field(default_factory=EditedHpa)

    def observed(self, scene: Scene, i: int, now: float) -> Seen:
        return replace(ExplainedDecider.observed(self, scene, i, now), hpa=self.edited.hpa)

    def decided(self, decision: Decision) -> None:
        edit = decision.hpa
        if edit is not None and edit.writes and not decision.dry_run:
            self.edited.hpa = None if edit.deletes else edit.after


@dataclass(slots=True)
class ExplainedFollower:
    """The controller of that HPA, which makes the full decision."""

    edited: EditedHpa
    every: float
    state: State = field(default_factory=State)

    def step(self, scene: Scene, i: int, now: float) -> None:
        hpa = self.edited.hpa
        if hpa is None:
            return
        decision, self.state = decide(hpa, scene.observer.seen(i, now), self.state, scene.settings)
        if decision.rescales or scene.is_explained(now):
            scene.moments.append(Moment(now, decision))
        if decision.rescales and decision.desired is not None:
            self.state = self.state.acted(decision, now)
            scale_to(scene.c, scene.s, scene.p, decision.desired, now)
        self.edited.hpa = replaced(hpa, status=decision.status)


@dataclass(slots=True)
class HpaObjects:
    """Makes the HPA from its plain numbers; the same come back every week."""

    tortoise: Tortoise
    named: HPA | None
    numbers: TortoiseNumbers
    container: str
    settings: Settings
    made: dict[Any, HPA] = field(default_factory=dict)

    def hpa_of(self, past: TortoisePast, status: Any = None) -> HPA | None:
        """The HPA with this status; None if there is none."""
        if not past.exists[0]:
            return None
        edit = (past.edited[0], past.hpa_low[0], past.hpa_high[0], *past.hpa_targets)
        hpa = self.made.get(edit)
        if hpa is None:
            hpa = self.made[edit] = replaced(self._made(past), status=None)
        return hpa if status is None else replaced(hpa, status=status)

    def _made(self, past: TortoisePast) -> HPA:
        bounds = (past.hpa_low[0], past.hpa_high[0])
        if self.named is not None and not past.edited[0]:
            begins = bounds == self.numbers.bounds
            return self.named if begins else HpaEdit("", self.named, self.named).bounded(*bounds).after
        words = zip(RESOURCES, self.numbers.rule.words, past.hpa_targets, strict=True)
        given = {(self.container, resource): percent for resource, word, percent in words if word == HORIZONTAL}
        targets = {place: percent for place, percent in given.items() if percent}
        return edited_by(self.tortoise, self.named, (*given,), bounds, targets, self.settings)


@dataclass(slots=True)
class TortoiseParts:
    """What a Tortoise and the controller of its HPA share: plain numbers, and the objects for what is shown."""

    numbers: TortoiseNumbers
    past: TortoisePast
    codes: Codes
    turns: Turns
    # The state of the HPA.
    counting: HpaReplicaRule
    objects: HpaObjects
    # The status of the HPA while it has no metrics.
    status: Any = None

    @property
    def form(self) -> HpaForm:
        """The HPA as it is."""
        return form_in_use(self.past, self.numbers.found, self.numbers.made)


@dataclass(slots=True)
class TortoiseDecider:
    """A Tortoise that uses plain numbers; it makes the full decision only where one is recorded."""

    autoscaler: Tortoise
    parts: TortoiseParts
    feed: HistoryRecorder
    every: float
    columns: HvpaPast = field(default_factory=no_hvpa_past)
    plan: NumericPlan = field(default_factory=no_plan)
    # What slots had said before the last one ended, and the slot that began then.
    codes: Codes = ((), ())
    begun: tuple[int, int] = (NONE, NONE)

    def step(self, scene: Scene, i: int, now: float) -> None:
        c, s, p, parts, columns = scene.c, scene.s, scene.p, self.parts, self.columns
        rule, past, current, blind = parts.numbers.rule, parts.past, s.asked[0], scene.observer.blind(now)
        before = self._before()
        tortoise_look(
            rule, past, columns, parts.codes, parts.turns, parts.form.hpa, self.feed.usage, c, s, p, i, now, blind
        )
        edit_hpa(rule, past, parts.numbers.made)
        moves = parts.counting.past
        count = decided_count(rule, past, parts.form, moves, c, s, p, i, now, blind)
        rescales = tortoise_size(rule, past, columns, current, count, now) and rule.acts
        held = is_held_back(rule, columns, self.plan, rescales)
        if (rescales and not held) or scene.is_explained(now):
            self._report(scene, i, now, before)
        if held:
            pursue_plan(self.plan, c, s, p, scene.in_place, now)
        elif rescales:
            tortoise_act(past, columns, self.plan, c, s, p, scene.in_place, now)
            if rule.decides:
                parts.counting.moved(current, count, now)

    def _before(self) -> TortoisePast:
        """A copy of the state. That of the slots is copied only when another one has begun."""
        past = self.parts.past
        begun = (past.turn[0], past.slot[0])
        if begun != self.begun or not self.codes[0]:
            cpu, memory = self.parts.codes
            self.begun, self.codes = begun, (cpu[:], memory[:])
        return TortoisePast(*[column[:] for column in past])

    def _report(self, scene: Scene, i: int, now: float, before: TortoisePast) -> None:
        """Record the full decision, which must agree with the plain numbers."""
        parts, columns = self.parts, self.columns
        counted = parts.counting.state() if parts.numbers.rule.decides else State()
        seen = replace(scene.observer.seen(i, now, self.feed.view()), hpa=parts.objects.hpa_of(before, parts.status))
        state = state_of(parts.numbers, before, self.codes, columns, scene.container, counted)
        decision, _ = decide(self.autoscaler, seen, state, scene.settings)
        whole = (decision.desired, size_of(decision.desired_sizes, scene.container))
        numeric = (columns.desired[0], (*columns.size,))
        if numeric != whole or not self._edits_alike(decision):
            bounds = (parts.past.first[0], parts.past.last[0], *parts.past.targets)
            edit = "" if decision.hpa is None else f" and {decision.hpa.words}"
            texts = f"plain numbers {numeric} with {bounds}, full decision {whole}{edit}"
            raise DisagreementError(f"{decision.autoscaler} at {now}: {texts}")
        scene.moments.append(Moment(now, decision))

    def _edits_alike(self, decision: Decision) -> bool:
        """Whether the full decision gives the HPA the same."""
        rule, past = self.parts.numbers.rule, self.parts.past
        if decision.hpa is None:
            return True
        after = decision.hpa.after
        if rule.acts:
            return replaced(after, status=None) == self.parts.objects.hpa_of(past)
        return past.first[0] == NONE or (after.min_replicas, after.max_replicas) == (past.first[0], past.last[0])


@dataclass(slots=True)
class HpaFollower:
    """The controller of that HPA, which uses plain numbers; it makes the full decision only where one is recorded."""

    parts: TortoiseParts
    every: float
    # The last conditions of the HPA while it has no metrics.
    conditions: Conditions = ()

    def step(self, scene: Scene, i: int, now: float) -> None:
        c, s, p, parts, past = scene.c, scene.s, scene.p, self.parts, self.parts.past
        if not past.exists[0]:
            return
        current = s.asked[0]
        desired = follow_hpa(past, parts.form, parts.counting.past, c, s, p, i, now, scene.observer.blind(now))
        fails = past.failing_since[0] < inf
        if desired != current or fails or self.conditions or scene.is_explained(now):
            self._report(scene, i, now, desired)
        if desired != current:
            parts.counting.moved(current, desired, now)
            scale_to(c, s, p, desired, now)

    def _report(self, scene: Scene, i: int, now: float, desired: int) -> None:
        """Record the full decision, which must agree with the plain numbers; its status says what it could not read."""
        parts, past = self.parts, self.parts.past
        hpa = parts.objects.hpa_of(past, parts.status)
        if hpa is None:
            return
        state = parts.counting.state()._replace(conditions=self.conditions)
        decision, _ = decide(hpa, scene.observer.seen(i, now), state, scene.settings)
        active = condition_of(decision.conditions, "ScalingActive")
        fails = active is not None and active.status == "False"
        self.conditions, parts.status = (decision.conditions, decision.status) if fails else ((), None)
        whole = (decision.desired, blind_since(replaced(hpa, status=parts.status)))
        numeric = (desired, past.failing_since[0] if past.lacks[0] and not past.shows[0] else None)
        if numeric != whole:
            raise DisagreementError(f"{decision.autoscaler} at {now}: plain numbers {numeric}, full decision {whole}")
        if decision.rescales or scene.is_explained(now):
            scene.moments.append(Moment(now, decision))
