"""A Tortoise in the simulated world, and the controller of the HPA that it edits.

With `hypot.dev/decide` the Tortoise sets the count as well. Otherwise its HPA is decided as a cluster would do it.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from hypot.kinds.hpa import HPA
from hypot.kinds.node import replaced
from hypot.kinds.tortoise import Tortoise
from hypot.kinds.tortoise.policies import OFF
from hypot.policy.decide import decide
from hypot.policy.model.decision import Conditions, Decision, condition_of
from hypot.policy.model.seen import Seen
from hypot.policy.model.settings import Settings
from hypot.policy.model.state import State
from hypot.policy.tortoise.tuning import least_kept
from hypot.replay.engine.acting import size_of
from hypot.replay.engine.deciders import DisagreementError, ExplainedDecider, HistoryRecorder, Scene
from hypot.replay.engine.replica_rules import HpaReplicaRule
from hypot.replay.numbers import hpa_rule
from hypot.replay.numbers.hpa import FAILED, HpaRule, count_for, is_outside, largest_proposal, look_first
from hypot.replay.numbers.plan import NumericPlan, begin_plan, is_bound, no_plan, pursue_plan
from hypot.replay.numbers.tortoise import (
    Edit,
    TortoisePast,
    TortoiseRule,
    edit_of,
    edited_by,
    tortoise_look,
    tortoise_moved,
    tortoise_size,
)
from hypot.replay.numbers.tortoise_rule import state_of
from hypot.replay.world.lifecycle import scale_to
from hypot.replay.world.parameters import Signal
from hypot.replay.world.record import Moment


@dataclass(slots=True)
class EditedHpa:
    """The HPA that a Tortoise edits, and the same as plain numbers; None if there is none."""

    hpa: HPA | None = None
    rule: HpaRule | None = None


@dataclass(slots=True)
class EditForms:
    """Makes the HPA with an edit, and its plain numbers; the same edits come back every week."""

    tortoise: TortoiseRule
    names: Mapping[str, Signal]
    settings: Settings
    made: dict[Edit, tuple[HPA, HpaRule | None]] = field(default_factory=dict)

    def with_edit(self, there: HPA | None, edit: Edit) -> EditedHpa:
        """The HPA as it is now with this edit; its status stays."""
        found = self.made.get(edit)
        if found is None:
            hpa = replaced(edited_by(self.tortoise, there, edit), status=None)
            found = self.made[edit] = (hpa, self.rule_of(hpa))
        hpa, rule = found
        if there is not None and there.status is not None:
            hpa = replaced(hpa, status=there.status)
        return EditedHpa(hpa, rule)

    def rule_of(self, hpa: HPA) -> HpaRule | None:
        return hpa_rule.rule_of(hpa, self.tortoise.container, self.names, self.settings)


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
class TortoiseDecider:
    """A Tortoise that uses plain numbers; it makes the full decision only where one is recorded."""

    autoscaler: Tortoise
    rule: TortoiseRule
    feed: HistoryRecorder
    every: float
    edited: EditedHpa
    forms: EditForms
    # The HPA that it decides itself; None if another controller does.
    counting: HpaReplicaRule | None = None
    past: TortoisePast = field(default_factory=TortoisePast)
    plan: NumericPlan = field(default_factory=no_plan)

    def step(self, scene: Scene, i: int, now: float) -> None:
        c, s, p, past, rule = scene.c, scene.s, scene.p, self.past, self.rule
        current, there, acts = s.asked[0], self.edited, self.autoscaler.mode != OFF
        past.observe_hpa(there.hpa)
        tortoise_look(rule, past, self.feed.usage, c, s, p, i, now, scene.observer.blind(now))
        edit = edit_of(rule, past)
        after = there if edit is None else self.forms.with_edit(there.hpa, edit)
        count = self._count(scene, after, i, now)
        rescales = tortoise_size(rule, past, current, count) and acts
        size, had = past.columns.size, past.columns.request
        cpu, memory = (size[r] if resource in rule.controlled else 0 for r, resource in enumerate(("cpu", "memory")))
        held = is_bound(self.plan, count if rescales else 0, cpu, memory)
        if (rescales and not held) or scene.is_explained(now):
            self._report(scene, i, now, after.hpa)
        if acts and (self.counting is None or there.hpa is not None):
            there.hpa, there.rule = after.hpa, after.rule
        if held:
            pursue_plan(self.plan, c, s, p, scene.in_place, now)
        elif rescales:
            resizes = past.columns.resizes[0] != 0
            want = (count, size[0], size[1], size[2], size[3], had[0], had[1])
            begin_plan(self.plan, c, s, p, scene.in_place, *want, resizes, now)
            tortoise_moved(past, now)
            if self.counting is not None:
                self.counting.moved(current, count, now)

    def _count(self, scene: Scene, after: EditedHpa, i: int, now: float) -> int:
        current = int(scene.s.asked[0])
        if self.counting is None or after.rule is None or not self.rule.horizontal:
            return current
        self.counting.rule = after.rule
        is_blind = scene.observer.blind(now)
        count = self.counting.blind(current, now) if is_blind else self.counting.count(scene, i, now)
        return count if self.past.look is None else max(count, least_kept(self.past.look))

    def _report(self, scene: Scene, i: int, now: float, after: HPA | None) -> None:
        """Record the full decision, which must agree with the plain numbers."""
        counted = State() if self.counting is None else self.counting.state()
        seen = replace(scene.observer.seen(i, now, self.feed.view()), hpa=self.past.hpa)
        decision, _ = decide(self.autoscaler, seen, state_of(self.past, scene.container, counted), scene.settings)
        whole = (decision.desired, size_of(decision.desired_sizes, scene.container))
        numeric = (self.past.columns.desired[0], (*self.past.columns.size,))
        decided = None if decision.hpa is None else decision.hpa.after
        bounds = [(hpa.min_replicas, hpa.max_replicas) for hpa in (after, decided) if hpa is not None]
        if numeric != whole or len(set(bounds)) > 1:
            texts = f"plain numbers {numeric}, full decision {whole}, bounds {bounds}"
            raise DisagreementError(f"{decision.autoscaler} at {now}: {texts}")
        scene.moments.append(Moment(now, decision))


@dataclass(slots=True)
class HpaFollower:
    """The controller of the HPA that a Tortoise edits."""

    edited: EditedHpa
    every: float
    # None if only full decisions work.
    counting: HpaReplicaRule | None
    state: State = field(default_factory=State)
    # The last conditions of the HPA while it has no metrics.
    conditions: Conditions = ()

    def step(self, scene: Scene, i: int, now: float) -> None:
        if self.edited.hpa is None:
            return
        if self.counting is None or self.edited.rule is None:
            self._decide_in_full(scene, i, now, self.edited.hpa)
            return
        rule = self.counting.rule = self.edited.rule
        c, s, p, past, current = scene.c, scene.s, scene.p, self.counting.past, scene.s.asked[0]
        look_first(past, current, now)
        outside = is_outside(rule, current)
        best = FAILED if outside or scene.observer.blind(now) else largest_proposal(rule, c, s, p, i, now)
        desired = count_for(rule, past, best, current, now)
        failing = bool(self.conditions) or (best == FAILED and not outside)
        if desired != current or failing or scene.is_explained(now):
            self._report(scene, i, now, self.edited.hpa, desired, failing=failing)
        if desired != current:
            self.counting.moved(current, desired, now)
            scale_to(c, s, p, desired, now)

    def _decide_in_full(self, scene: Scene, i: int, now: float, hpa: HPA) -> None:
        decision, self.state = decide(hpa, scene.observer.seen(i, now), self.state, scene.settings)
        if decision.rescales or scene.is_explained(now):
            scene.moments.append(Moment(now, decision))
        if decision.rescales and decision.desired is not None:
            self.state = self.state.acted(decision, now)
            scale_to(scene.c, scene.s, scene.p, decision.desired, now)
        self.edited.hpa = replaced(hpa, status=decision.status)

    def _report(self, scene: Scene, i: int, now: float, hpa: HPA, desired: int, *, failing: bool) -> None:
        """Record the full decision, which must agree with the plain numbers; its status says what it could not read."""
        state = self.counting.state() if self.counting is not None else self.state
        seen = scene.observer.seen(i, now)
        decision, _ = decide(hpa, seen, state._replace(conditions=self.conditions), scene.settings)
        if decision.desired != desired:
            message = f"{decision.autoscaler} at {now}: plain numbers {desired}, full decision {decision.desired}"
            raise DisagreementError(message)
        if decision.rescales or scene.is_explained(now):
            scene.moments.append(Moment(now, decision))
        if failing:
            active = condition_of(decision.conditions, "ScalingActive")
            fails = active is not None and active.status == "False"
            self.conditions = decision.conditions if fails else ()
            self.edited.hpa = replaced(hpa, status=decision.status if fails else None)
