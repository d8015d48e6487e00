"""One decision of a Tortoise: what it learned becomes the bounds and targets of its HPA, and the sizes of its pods."""

from collections.abc import Mapping
from dataclasses import replace
from typing import NamedTuple

from hypot.core.axes.shape import Counts
from hypot.core.learning.bounds import pods_kept
from hypot.kinds.base import Ref
from hypot.kinds.hpa import HPA
from hypot.kinds.tortoise import Tortoise
from hypot.kinds.tortoise.fields import DECIDE, EMERGENCY
from hypot.kinds.tortoise.policies import HORIZONTAL, OFF, scales_horizontally
from hypot.kinds.tortoise.settings import TortoiseSettings
from hypot.kinds.tortoise.status import WORKING
from hypot.policy.horizontal import hpa as horizontal
from hypot.policy.model.current_size import CurrentSize, current_size
from hypot.policy.model.decision import Move
from hypot.policy.model.hpa_edit import HpaEdit
from hypot.policy.model.seen import Failure, Scale, Seen
from hypot.policy.model.settings import Settings
from hypot.policy.model.size import Place
from hypot.policy.model.state import State
from hypot.policy.model.tortoise_state import TortoiseState, key_of
from hypot.policy.stages.estimate import estimated
from hypot.policy.stages.report import sentence
from hypot.policy.stages.saturation import Saturation, saturation
from hypot.policy.tortoise.edited_hpa import behavior_of, edited, new_hpa, targets_in
from hypot.policy.tortoise.needs import Needs, needs_of, sizes_by_place
from hypot.policy.tortoise.phases import is_healthy
from hypot.policy.tortoise.policies import PolicyTable, in_force, places_of, scaled_in
from hypot.policy.tortoise.report import TortoiseFindings
from hypot.policy.tortoise.sizes import bounds_of, counts_of, with_requests
from hypot.policy.tortoise.tuning import (
    TortoiseLook,
    Tuned,
    begun,
    layout_of,
    left_behind,
    sized,
    targets_of,
    tuned,
)
from hypot.policy.vertical.ranges import in_ranges


def decide(tortoise: Tortoise, seen: Seen, state: State, settings: Settings) -> tuple[Move, State]:
    """Decide what hypot does now and why; also return the new state. Nothing is written or reported here."""
    own, problems = settings.tortoise.overridden(seen.namespace_annotations, tortoise.annotations)
    one = _TortoisePass(tortoise, seen, state, settings, own)
    one.report_settings(problems)
    return one.run()


class Subject(NamedTuple):
    """What is scaled: the observed size of each container, how each resource is scaled, and the counts."""

    scale: Scale
    current: tuple[CurrentSize, ...]
    policies: PolicyTable
    counts: Counts
    horizontal: tuple[Place, ...]


class _TortoisePass(TortoiseFindings):
    """One pass, in the order of the stages."""

    def __init__(self, tortoise: Tortoise, seen: Seen, state: State, settings: Settings, own: TortoiseSettings) -> None:
        super().__init__(tortoise, seen, state, own)
        self.all_settings = settings

    def run(self) -> tuple[Move, State]:
        scale = self.seen.scale
        if isinstance(scale, Failure):
            self.no_scale(scale, "FailedGetScale")
            self.reported.pop("AbleToScale", None)
            return self._undecided(None, f"the target's scale could not be read: {scale.message}")
        current = current_size(self.seen, scale.replicas)
        if not current:
            message = "there is neither a pod nor a pod template of the target, so no size is known"
            self.failed(message, "internal")
            self.step("observe", "no-size", None, None, sentence(message))
            return self._undecided(scale.replicas, message)
        self.sizes = self.desired_sizes = tuple([one.size for one in current])
        if self.tortoise.names_hpa and self.seen.hpa is None:
            message = f"HorizontalPodAutoscaler {self.tortoise.hpa_name} does not exist"
            self.failed(message, "spec")
            self.step("observe", "no-hpa", None, None, f"{message}: nothing changes.")
            return self._undecided(scale.replicas, message)
        hpa = self.seen.hpa
        if hpa is not None and not _is_same(hpa.target, self.tortoise.target):
            message = f"HorizontalPodAutoscaler {hpa.name} scales {hpa.target or Ref()}, not {self.tortoise.target}"
            self.failed(message, "spec")
            self.step("observe", "other-target", None, None, f"{message}: nothing changes.")
            return self._undecided(scale.replicas, message)
        if message := self._conflict():
            self.failed(message, "spec")
            self.step("observe", "conflict", None, None, f"{sentence(message)} Nothing changes.")
            return self._undecided(scale.replicas, message)
        policies = in_force(self.tortoise, current, self.seen.hpa)
        horizontal = places_of(policies, HORIZONTAL)
        counts = counts_of(self.tortoise, self.own)
        self.report_policies(policies)
        self.report_planned(
            policies, {place: bounds_of(self.tortoise, place, self.own)[1] for place in scaled_in(policies)}
        )
        return self._decided(Subject(scale, current, policies, counts, horizontal))

    def _conflict(self) -> str:
        """The conflict with an HPA that sets the same count, if hypot decides that: each would undo the other."""
        if not self.tortoise.decides:
            return ""
        own = () if self.seen.hpa is None else (f"{self.seen.hpa.namespace}/{self.seen.hpa.name}",)
        names = [*own, *[other for other in self.seen.others if other not in own]]
        todo = f"remove it, or the annotation {DECIDE} of this Tortoise"
        return f"HorizontalPodAutoscaler {names[0]} scales the same target: {todo}" if names else ""

    def _undecided(self, replicas: int | None, message: str) -> tuple[Move, State]:
        self.report_failure(message)
        return self.stays(replicas, self.kept_status()), self.state

    def _decided(self, subject: Subject) -> tuple[Move, State]:
        known = self.state.tortoise
        past = begun(known, layout_of(self.own), subject.horizontal, self.now)
        if known is not None and past is not None and known.learned[0].layout != past.learned[0].layout:
            self.report_new_slots()
        look = self._look(subject)
        found = tuned(look, past, self.own)
        self.report_tuning(look, found)
        past, edit = found.past, self._edited(subject, found)
        count = self._count(look, edit)
        self._sized(subject, look, found, count)
        self.state = self.state._replace(tortoise=past or self._rested())
        self.report_success()
        if self.tortoise.mode == EMERGENCY and found.slot is None:
            self.report_unlearned_emergency(look)
        status = self.status(subject.policies, found.phases, found.phase, past, edit, look.used)
        # Where hypot decides the count itself, nobody needs the HPA.
        written = None if edit is not None and edit.before is None and self.tortoise.decides else edit
        replicas = subject.scale.replicas
        reason = self.reason(replicas, count, written)
        move = self.move(replicas, count, status, reason=reason, dry_run=self.is_off, event_periods=self.event_periods)
        return move._replace(hpa=written), self.state.after_deciding(self.state.recommendations, self.vertical)

    def _look(self, subject: Subject) -> TortoiseLook:
        pressure = saturation(self.seen, [one.container for one in subject.current], self.vertical.hot)
        if pressure.hot != self.vertical.hot:
            self.vertical = replace(self.vertical, hot=pressure.hot)
        hpa, decides, sizes = self.seen.hpa, self.tortoise.decides, sizes_by_place(subject.current)
        there = {} if hpa is None else targets_in(hpa)
        targets = targets_of(self.state.tortoise, subject.horizontal, there)
        in_force = targets if decides and not self.is_off else {p: t for p, t in targets.items() if p in there}
        scaled = scaled_in(subject.policies)
        return TortoiseLook(
            self.now,
            self.tortoise.mode,
            decides,
            subject.scale.replicas,
            subject.counts,
            subject.policies,
            subject.horizontal,
            sizes,
            {place: bounds_of(self.tortoise, place, self.own) for place in scaled},
            targets,
            in_force,
            self._needs(subject, targets, pressure),
            self._used(subject),
            pressure.twice,
            bool(self.vertical.infeasible),
            None if hpa is None else (hpa.min_replicas or 1, hpa.max_replicas or 1),
            self.tortoise.names_hpa,
            self.tortoise.floor.replicas,
            {place: self.tortoise.floor.least(place[0]).get(place[1], 0) for place in scaled},
            decides or is_healthy(hpa, self.now, self.own.emergency_grace_period),
        )

    def _rested(self) -> TortoiseState | None:
        """What was learned, while replicas follow nothing: they may again."""
        known = self.state.tortoise
        return None if known is None else known.scales((), self.now)

    def _needs(self, subject: Subject, targets: Mapping[Place, int], pressure: Saturation) -> Needs:
        if not targets:
            return Needs({})
        hpa, past = self.seen.hpa, self.state.tortoise
        decided = past.high if past is not None and self.tortoise.decides and not self.is_off else 0
        most = (decided if hpa is None else hpa.max_replicas) or subject.counts.most
        look = horizontal.metric_context(hpa or new_hpa(self.tortoise), self.seen, self.all_settings)
        needs = needs_of(look, targets, subject.scale.replicas, most, pressure)
        self.report_needs(needs, targets)
        return needs

    def _used(self, subject: Subject) -> dict[Place, int]:
        """The percentile of usage of each pod, as a VPA would recommend it; without histograms, what a VPA says."""
        resources = {
            one.container: [r for r, word in subject.policies.get(one.container, {}).items() if word != OFF]
            for one in subject.current
        }
        found = estimated(
            self.tortoise, self.seen.usage, {n: r for n, r in resources.items() if r}, self.all_settings.vpa
        )
        advice = self.seen.size_advice
        if not found and advice is not None and not isinstance(advice, Failure):
            found = advice.containers
        return {
            (bounds.container, resource): amount
            for bounds in found
            for resource, amount in (bounds.uncapped or bounds.target).items()
            if resource in resources.get(bounds.container, ()) and amount > 0
        }

    def _edited(self, subject: Subject, found: Tuned) -> HpaEdit | None:
        """The HPA as it should be; None if there is none to write."""
        there, past = self.seen.hpa, found.past
        if past is None:
            return self._unneeded(there)
        base = there or new_hpa(self.tortoise)
        known, behavior = targets_in(base), behavior_of(self.tortoise, self.own)
        if found.slot is None and self.tortoise.names_hpa:
            # Nothing is known yet: what people wrote stays, and only what is missing is added.
            behavior = base.behavior
        low, high = found.bounds or (base.min_replicas, base.max_replicas)
        given = [p for p in subject.horizontal if p not in known or found.phases[p[0]][p[1]] == WORKING]
        targets = {place: past.targets[key_of(place)] for place in given}
        after = edited(base, low, high, targets, subject.horizontal, behavior)
        return HpaEdit(after.name, there, after)

    def _unneeded(self, there: HPA | None) -> HpaEdit | None:
        """Its own HPA without any metric would keep its replicas forever: it is deleted, if that is allowed."""
        written = self.tortoise.autoscaling_policy
        is_meant = bool(written) and not scales_horizontally(written)
        if there is None or self.tortoise.names_hpa or not self.tortoise.deletes_all or not is_meant:
            return None
        text = f"No resource is Horizontal any more: HorizontalPodAutoscaler {there.name} is deleted."
        self.step("resolve", "hpa-deleted", None, None, text)
        return HpaEdit(there.name, there, there, deletes=True)

    def _count(self, look: TortoiseLook, edit: HpaEdit | None) -> int:
        """The count: as it is, or by the HPA as it should be if hypot decides that too."""
        if edit is None or edit.deletes or not look.decides or look.replicas == 0:
            return look.replicas
        count = self.decided_count(edit.after, self.all_settings)
        kept = pods_kept(look.replicas, look.counts.most, look.needs.reason is not None)
        if count < kept:
            self.report_kept(count, kept)
        return max(count, kept)

    def _sized(self, subject: Subject, look: TortoiseLook, found: Tuned, count: int) -> None:
        """Decide the size of each container."""
        made = sized(look, found, count, self.vertical.last_down, self.own)
        self.report_growth(count, subject.counts.preferred, grows=made.grows)
        if made.waits:
            self.report_shrinks(self.own.shrinks_per_day)
        self.report_sizes(made.resources, made.wanted)
        by_container: dict[str, dict[str, int]] = {}
        for (name, resource), amount in made.wanted.items():
            by_container.setdefault(name, {})[resource] = amount
        self.desired_sizes = tuple(
            [with_requests(one, by_container.get(one.container, {}), count, self.own) for one in subject.current]
        )
        if self.desired_sizes != self.sizes:
            taken = in_ranges(self.tortoise, self.seen, self.sizes, self.desired_sizes)
            if taken != self.desired_sizes:
                self.report_ranges(self.desired_sizes, taken)
            self.desired_sizes = taken
        self._catch_up(subject, found.phases)
        self.report_resize()

    def _catch_up(self, subject: Subject, phases: Mapping[str, Mapping[str, str]]) -> None:
        """The largest pod has the desired size, and others may lack it: an earlier change was not completed."""
        if self.desired_sizes != self.sizes or self.vertical.infeasible:
            return
        least = {(one.container, r): one.least.get(r, 0) for one in subject.current for r in one.requests}
        behind = left_behind(phases, sizes_by_place(subject.current), least)
        if behind:
            self.report_catch_up(tuple(dict.fromkeys([container for container, _ in behind])))


def _is_same(one: Ref | None, other: Ref | None) -> bool:
    """Whether two references are to the same object, whatever version they name; absent parts do not differ."""
    first, second = one or Ref(), other or Ref()
    pairs = ((first.kind, second.kind), (first.name, second.name), (first.group, second.group))
    return all(not here or not there or here == there for here, there in pairs)
