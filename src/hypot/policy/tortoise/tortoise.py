"""One decision of a Tortoise: what it learned becomes the bounds and targets of its HPA, and the sizes of its pods."""

from collections.abc import Mapping
from dataclasses import replace
from math import ceil
from typing import NamedTuple

from hypot.core.slots import replicas_of
from hypot.kinds.hpa import HPA
from hypot.kinds.tortoise import Tortoise
from hypot.kinds.tortoise.fields import EMERGENCY
from hypot.kinds.tortoise.policies import HORIZONTAL, OFF, VERTICAL, scales_horizontally
from hypot.kinds.tortoise.settings import DAILY, TortoiseSettings
from hypot.kinds.tortoise.status import (
    BACK_TO_NORMAL,
    GATHERING,
    IN_EMERGENCY,
    INITIALIZING,
    TARGET_UPDATED,
    WORKING,
)
from hypot.policy.horizontal import hpa as horizontal
from hypot.policy.model.current_size import CurrentSize, current_size
from hypot.policy.model.decision import Move
from hypot.policy.model.hpa_edit import HpaEdit
from hypot.policy.model.learned import Learned, SlotLayout
from hypot.policy.model.seen import Failure, Scale, Seen
from hypot.policy.model.settings import Settings
from hypot.policy.model.size import Place
from hypot.policy.model.state import State
from hypot.policy.model.tortoise_state import TortoiseState, key_of
from hypot.policy.stages.estimate import estimated
from hypot.policy.stages.report import sentence
from hypot.policy.stages.saturation import Saturation, saturation
from hypot.policy.tortoise.edited_hpa import FIRST_TARGET, edited, new_hpa, targets_in
from hypot.policy.tortoise.needs import Needs, amount_of, counted_in, needs_of, sizes_by_place, unit_size
from hypot.policy.tortoise.phases import gathers_for, is_healthy, overall, phase_after, stepped_back
from hypot.policy.tortoise.policies import PolicyTable, in_force, main_of, places_of
from hypot.policy.tortoise.report import TortoiseFindings
from hypot.policy.tortoise.sizes import (
    Counts,
    SizedResource,
    bounds_of,
    counts_of,
    horizontal_size,
    may_shrink,
    vertical_size,
    with_requests,
)
from hypot.policy.tortoise.targets import next_target
from hypot.policy.tortoise.week import bounds_rule
from hypot.policy.vertical.ranges import in_ranges


def decide(tortoise: Tortoise, seen: Seen, state: State, settings: Settings) -> tuple[Move, State]:
    """Decide what hypot does now and why; also return the new state. Nothing is written or reported here."""
    own, _problems = settings.tortoise.overridden(seen.namespace_annotations, tortoise.annotations)
    return _TortoisePass(tortoise, seen, state, settings, own).run()


class Subject(NamedTuple):
    """What is scaled: the observed size of each container, how each resource is scaled, and the counts."""

    scale: Scale
    current: tuple[CurrentSize, ...]
    policies: PolicyTable
    counts: Counts
    # The place that needs were counted in so far, as text; empty if there is none.
    known: str = ""

    @property
    def replicas(self) -> int:
        return self.scale.replicas

    @property
    def horizontal(self) -> tuple[Place, ...]:
        return places_of(self.policies, HORIZONTAL)

    @property
    def main(self) -> Place | None:
        return main_of(self.horizontal, self.known)


def layout_of(settings: TortoiseSettings) -> SlotLayout:
    daily = settings.slot_period == DAILY
    return SlotLayout(settings.slot_hours, daily, settings.time_zone, settings.window_weeks)


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
        policies = in_force(self.tortoise, current, self.seen.hpa)
        known = self.state.tortoise.learned.place if self.state.tortoise is not None else ""
        subject = Subject(scale, current, policies, counts_of(self.tortoise, self.own), known)
        self.report_policies(policies)
        return self._decided(subject)

    def _undecided(self, replicas: int | None, message: str) -> tuple[Move, State]:
        self.report_failure(message)
        return self.stays(replicas, self.kept_status()), self.state

    def _decided(self, subject: Subject) -> tuple[Move, State]:
        past, targets = self._past(subject), self._targets(subject)
        pressure = saturation(self.seen, [one.container for one in subject.current], self.vertical.hot)
        if pressure.hot != self.vertical.hot:
            self.vertical = replace(self.vertical, hot=pressure.hot)
        needs = self._needs(subject, targets, pressure)
        used = self._used(subject)
        past = self._learned(subject, past, needs)
        if past is not None:
            past = self._retargeted(subject, past, targets, used, needs)
        phases = self._phases(subject, past, used)
        usual = overall([word for words in phases.values() for word in words.values()])
        bounds = self._bounds(subject, past, needs, pressure, phases)
        phase = self._phase(subject, past, usual, bounds)
        edit, past = self._edited(subject, past, phases, phase, bounds)
        count = self._count(subject, edit)
        self._sized(subject, past, needs, used, phases, phase, count)
        if past is not None:
            past = replace(past, phase=phase)
        self.state = self.state._replace(tortoise=past or self._rested())
        self.report_success()
        status = self.status(subject.policies, phases, phase, past, edit, used)
        # Where hypot decides the count itself, nobody needs the HPA.
        written = None if edit is not None and edit.before is None and self.tortoise.decides else edit
        reason = self.reason(subject.replicas, count, written)
        move = self.move(
            subject.replicas, count, status, reason=reason, dry_run=self.is_off, event_periods=self.event_periods
        )
        return move._replace(hpa=written), self.state.after_deciding(self.state.recommendations, self.vertical)

    def _rested(self) -> TortoiseState | None:
        """What was learned, while replicas follow nothing: they may again."""
        known = self.state.tortoise
        return None if known is None else known.scales((), self.now)

    def _past(self, subject: Subject) -> TortoiseState | None:
        """What was learned so far; it starts over if the slots have changed. None if replicas follow nothing."""
        main, known = subject.main, self.state.tortoise
        if main is None:
            return None
        layout = layout_of(self.own)
        if known is None or known.learned.layout != layout or known.learned.place != key_of(main):
            if known is not None:
                message = "slots, or the container that needs are counted in, have changed: learning starts over"
                self.step("observe", "learning-starts-over", None, None, sentence(message))
            kept = TortoiseState(Learned.begun(layout, key_of(main), self.now))
            known = kept if known is None else replace(kept, targets=known.targets, phase=known.phase, low=known.low)
        return known.scales(subject.horizontal, self.now)

    def _targets(self, subject: Subject) -> dict[Place, int]:
        """The target of each place: as decided last, else that of the HPA."""
        kept = self.state.tortoise.targets if self.state.tortoise is not None else {}
        there = {} if self.seen.hpa is None else targets_in(self.seen.hpa)
        return {
            place: kept.get(key_of(place)) or (there[place].percent if place in there else FIRST_TARGET)
            for place in subject.horizontal
        }

    def _needs(self, subject: Subject, targets: Mapping[Place, int], pressure: Saturation) -> Needs:
        if not targets:
            return Needs({})
        hpa = self.seen.hpa
        most = subject.counts.most if hpa is None or hpa.max_replicas is None else hpa.max_replicas
        look = horizontal.metric_context(hpa or new_hpa(self.tortoise), self.seen, self.all_settings)
        needs = needs_of(look, targets, subject.replicas, most, pressure)
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

    def _learned(self, subject: Subject, past: TortoiseState | None, needs: Needs) -> TortoiseState | None:
        if past is None or subject.main is None:
            return past
        sizes = sizes_by_place(subject.current)
        needed = None if needs.reason else counted_in(subject.main, needs, sizes)
        return replace(past, learned=past.learned.observed(self.now, needed, needs.reason))

    def _retargeted(
        self,
        subject: Subject,
        past: TortoiseState,
        targets: Mapping[Place, int],
        used: Mapping[Place, int],
        needs: Needs,
    ) -> TortoiseState:
        """With new targets, if it is time, and for places that were observed long enough."""
        kept = {key_of(place): percent for place, percent in targets.items()}
        past = replace(past, targets=kept)
        ready = [place for place in targets if place in used and self._is_gathered(past, place)]
        if not ready or subject.replicas >= subject.counts.most or past.phase in {IN_EMERGENCY, BACK_TO_NORMAL}:
            return past
        last = past.retargeted
        if last is not None and self.now - last < self.own.target_update_interval:
            return past
        sizes = sizes_by_place(subject.current)
        made: dict[Place, int] = {}
        for place in ready:
            share = needs.totals.get(place, 0) / max(subject.replicas * sizes[place], 1)
            average = share * targets[place]
            made[place] = next_target(targets[place], used[place], sizes[place], average, subject.replicas, self.own)
        for place in ready:
            self.report_target(place, targets[place], made[place], used[place], sizes[place])
        self.condition(TARGET_UPDATED, "True", "TargetsComputed", "the target utilizations were computed")
        kept |= {key_of(place): percent for place, percent in made.items()}
        return replace(past, targets=kept, retargeted=self.now)

    def _is_gathered(self, past: TortoiseState, place: Place) -> bool:
        return self.now - past.since[key_of(place)] >= gathers_for(self.own)

    def _phases(
        self, subject: Subject, past: TortoiseState | None, used: Mapping[Place, int]
    ) -> dict[str, dict[str, str]]:
        def phase(place: Place, word: str) -> str:
            if word == OFF:
                return OFF
            is_ready = place in used if word == VERTICAL else past is not None and self._is_gathered(past, place)
            return WORKING if is_ready else GATHERING

        return {
            name: {resource: phase((name, resource), word) for resource, word in words.items()}
            for name, words in subject.policies.items()
        }

    def _bounds(
        self,
        subject: Subject,
        past: TortoiseState | None,
        needs: Needs,
        pressure: Saturation,
        phases: Mapping[str, Mapping[str, str]],
    ) -> tuple[int, int, int] | None:
        """The least and the most replicas in this slot, and the most while pods may still grow; None if unknown."""
        if past is None or subject.main is None or not any(phases[c][r] == WORKING for c, r in subject.horizontal):
            return None
        needed, instead = past.learned.needed(self.now)
        if not needed:
            return None
        own, counts = self.own, subject.counts
        size = unit_size(subject.main[1], sizes_by_place(subject.current)[subject.main])
        low, high = bounds_rule(counts, own).bounds(needed, size)
        self.report_slot(past.learned, needed, instead, low, high, subject.main)
        if needs.reason == "saturated":
            high = self.raised(high, replicas_of(subject.replicas, 1, own.max_replicas_multiplier), counts.most)
        held = self._held_maximum(subject, needs, pressure, high)
        return low, max(held, low), high

    def _held_maximum(self, subject: Subject, needs: Needs, pressure: Saturation, high: int) -> int:
        """The maximum, held at the preferred count while pods can grow instead."""
        preferred = subject.counts.preferred
        if high <= preferred:
            return high
        sizes = sizes_by_place(subject.current)
        ratios = {place: total / sizes[place] for place, total in needs.totals.items() if sizes.get(place)}
        place = max(ratios, key=lambda each: (ratios[each], each), default=subject.main)
        if place is None or sizes[place] >= bounds_of(self.tortoise, place, self.own)[1]:
            return self.lifted(high, "the size is at its maximum")
        if self.vertical.infeasible:
            return self.lifted(high, "no node has room for larger pods")
        if any(each in pressure.twice for each in subject.horizontal) and subject.replicas >= preferred:
            return self.lifted(high, "pods use all that they can get")
        now = min(subject.replicas, ceil(ratios[place])) if place in ratios else subject.replicas
        held = min(high, max(preferred, now))
        self.report_preferred(high, held)
        return held

    def _phase(
        self, subject: Subject, past: TortoiseState | None, usual: str, bounds: tuple[int, int, int] | None
    ) -> str:
        if past is None:
            return usual
        if not self.seen.hpa and not self.is_off and not self.tortoise.decides and not past.phase:
            return INITIALIZING
        before, own = past.phase, self.own
        reached = bounds is None or stepped_back(past.low, own.replica_reduction_factor) < bounds[0]
        healthy = self.tortoise.decides or is_healthy(self.seen.hpa, self.now, own.emergency_grace_period)
        scales = bounds is not None and bool(subject.horizontal)
        phase = phase_after(before, usual, self.tortoise.mode, scales=scales, healthy=healthy, reached=reached)
        self.report_phase(before, phase, healthy=healthy)
        return phase

    def _edited(
        self,
        subject: Subject,
        past: TortoiseState | None,
        phases: Mapping[str, Mapping[str, str]],
        phase: str,
        bounds: tuple[int, int, int] | None,
    ) -> tuple[HpaEdit | None, TortoiseState | None]:
        """The HPA as it should be; None if there is none to write."""
        there = self.seen.hpa
        if past is None or not subject.horizontal:
            return self._unneeded(there), past
        if bounds is None and there is not None:
            return self._kept(subject, past, there)
        if bounds is None:
            low, high = subject.counts.least, subject.counts.most
        elif phase == IN_EMERGENCY:
            low = high = bounds[2]
        elif phase == BACK_TO_NORMAL:
            low, high = max(stepped_back(past.low, self.own.replica_reduction_factor), bounds[0]), bounds[2]
        else:
            low, high = bounds[0], bounds[1]
        least = self._planned(low, subject.counts.most)
        high = max(least, high)
        base = there or new_hpa(self.tortoise)
        working = [place for place in subject.horizontal if there is None or phases[place[0]][place[1]] == WORKING]
        targets = {place: past.targets[key_of(place)] for place in working}
        behavior = self.tortoise.behavior or (None if self.tortoise.names_hpa else self.own.default_hpa_behavior)
        after = edited(base, least, high, targets, subject.horizontal, behavior)
        return HpaEdit(after.name, there, after), replace(past, low=low, planned=least if least > low else 0)

    def _planned(self, low: int, most: int) -> int:
        """This minimum, or what is planned for now if that is more."""
        return max(low, min(self.tortoise.floor.replicas, most))

    def _kept(self, subject: Subject, past: TortoiseState, there: HPA) -> tuple[HpaEdit, TortoiseState]:
        """Nothing is known yet: the HPA goes on as it is, except for a planned minimum."""
        written, high = there.min_replicas or 1, there.max_replicas or 1
        low = past.low if past.planned == written else written
        least = self._planned(low, min(high, subject.counts.most))
        edit = HpaEdit(there.name, there, there)
        edit = edit if least == written else edit.bounded(least, high)
        return edit, replace(past, low=low, planned=least if least > low else 0)

    def _unneeded(self, there: HPA | None) -> HpaEdit | None:
        """Its own HPA without any metric would keep its replicas for ever: it is deleted, if that is allowed."""
        written = self.tortoise.autoscaling_policy
        is_meant = bool(written) and not scales_horizontally(written)
        if there is None or self.tortoise.names_hpa or not self.tortoise.deletes_all or not is_meant:
            return None
        text = f"No resource is Horizontal any more: HorizontalPodAutoscaler {there.name} is deleted."
        self.step("resolve", "hpa-deleted", None, None, text)
        return HpaEdit(there.name, there, there, deletes=True)

    def _count(self, subject: Subject, edit: HpaEdit | None) -> int:
        """The count: as it is, or by the HPA as it should be if hypot decides that too."""
        if edit is None or edit.deletes or not self.tortoise.decides or subject.replicas == 0:
            return subject.replicas
        return self.decided_count(edit.after, self.all_settings)

    def _sized(
        self,
        subject: Subject,
        past: TortoiseState | None,
        needs: Needs,
        used: Mapping[Place, int],
        phases: Mapping[str, Mapping[str, str]],
        phase: str,
        count: int,
    ) -> None:
        """Decide the size of each container."""
        resources = self._resources(subject, past, needs, used)
        wanted: dict[Place, int] = {}
        several, emergency = len(subject.horizontal) > 1, phase == IN_EMERGENCY or self.tortoise.mode == EMERGENCY
        for one in resources:
            name, resource = one.place
            if phases[name][resource] != WORKING or not count:
                continue
            if subject.policies[name][resource] == VERTICAL:
                wanted[one.place] = vertical_size(one, self.own, emergency=emergency)
            else:
                wanted[one.place] = horizontal_size(one, count, subject.counts, self.own, several=several)
        rises = {one.place for one in resources if wanted.get(one.place, one.size) > one.size}
        falls = {one.place for one in resources if wanted.get(one.place, one.size) < one.size}
        at_preferred = any(subject.policies[name][resource] == HORIZONTAL for name, resource in rises)
        self.report_growth(count, subject.counts.preferred, grows=at_preferred)
        if falls and not self._may_fall(rises, phase):
            wanted = {place: amount for place, amount in wanted.items() if place not in falls}
            falls = set()
        self.report_sizes(resources, wanted)
        by_container: dict[str, dict[str, int]] = {}
        for (name, resource), amount in wanted.items():
            by_container.setdefault(name, {})[resource] = amount
        self.desired_sizes = tuple(
            [with_requests(one, by_container.get(one.container, {}), count, self.own) for one in subject.current]
        )
        if self.desired_sizes != self.sizes:
            taken = in_ranges(self.tortoise, self.seen, self.sizes, self.desired_sizes)
            if taken != self.desired_sizes:
                self.report_ranges(self.desired_sizes, taken)
            self.desired_sizes = taken
        self._catch_up(subject, phases)
        self.report_resize()

    def _catch_up(self, subject: Subject, phases: Mapping[str, Mapping[str, str]]) -> None:
        """The largest pod has the desired size, and others may lack it: an earlier change was not completed."""
        if self.desired_sizes != self.sizes or self.vertical.infeasible:
            return
        behind = [
            one.container
            for one in subject.current
            for resource, phase in phases.get(one.container, {}).items()
            if phase == WORKING and one.requests.get(resource, 0) > one.least.get(resource, 0)
        ]
        if behind:
            self.report_catch_up(tuple(dict.fromkeys(behind)))

    def _may_fall(self, rises: set[Place], phase: str) -> bool:
        """Whether pods may shrink now: not while others grow, nor in an emergency, nor too often."""
        if rises or phase in {IN_EMERGENCY, BACK_TO_NORMAL}:
            return False
        if may_shrink(self.own.shrinks_per_day, self.vertical.last_down, self.now):
            return True
        self.report_shrinks(self.own.shrinks_per_day)
        return False

    def _resources(
        self, subject: Subject, past: TortoiseState | None, needs: Needs, used: Mapping[Place, int]
    ) -> list[SizedResource]:
        # Of several containers it is not known which of them needed that much.
        peak = past.learned.peak() if past is not None and len(subject.horizontal) == 1 else 0
        made = []
        for one in subject.current:
            for resource, word in subject.policies.get(one.container, {}).items():
                place = (one.container, resource)
                if word == OFF or not one.requests.get(resource):
                    continue
                bounds = bounds_of(self.tortoise, place, self.own)
                highest = amount_of(resource, peak) if place == subject.main else 0
                target = past.targets.get(key_of(place), FIRST_TARGET) if past is not None else FIRST_TARGET
                total = needs.totals.get(place) if word == HORIZONTAL else None
                made.append(
                    SizedResource(place, one.requests[resource], *bounds, used.get(place), total, highest, target)
                )
        return made
