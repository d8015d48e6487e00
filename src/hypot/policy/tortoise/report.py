"""How a decision of a Tortoise is explained and reported."""

from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Any

from hypot.core.amount import RESOURCES, brief
from hypot.core.axes.shape import is_short
from hypot.core.learning.slots import HOURS, slots_of
from hypot.kinds.base import count_of
from hypot.kinds.derived import derived
from hypot.kinds.floor import EVERY_CONTAINER
from hypot.kinds.hpa import HPA
from hypot.kinds.problem import Problem
from hypot.kinds.tortoise import Tortoise
from hypot.kinds.tortoise.fields import policies_of
from hypot.kinds.tortoise.policies import HORIZONTAL, OFF
from hypot.kinds.tortoise.settings import TortoiseSettings
from hypot.kinds.tortoise.status import (
    FAILED,
    GROWN_AT_PREFERRED,
    INITIALIZING,
    OVERRIDDEN,
    SIZES_UPDATED,
    TARGET_UPDATED,
    WEEKDAYS,
)
from hypot.kinds.values.nested import inner
from hypot.policy.horizontal import hpa as horizontal
from hypot.policy.model.decision import Event, Move, MoveReport
from hypot.policy.model.hpa_edit import HpaEdit
from hypot.policy.model.learned import Learned, SlotLayout
from hypot.policy.model.seen import Scale, Seen
from hypot.policy.model.settings import Settings
from hypot.policy.model.size import Place, Size, briefly, changes_of, shown
from hypot.policy.model.state import State
from hypot.policy.model.tortoise_state import TortoiseState, key_of
from hypot.policy.stages.report import Effect, Findings, Refusal, sentence
from hypot.policy.stages.schedule import WITHOUT_EFFECT
from hypot.policy.tortoise.edited_hpa import wire_ref
from hypot.policy.tortoise.needs import Needs, amount_of, unit_size
from hypot.policy.tortoise.policies import PolicyTable, measured_by_pod, places_of
from hypot.policy.tortoise.sizes import SizedResource, counts_of
from hypot.policy.tortoise.tuning import SlotBounds, TortoiseLook, Tuned, unlearned_emergency
from hypot.policy.tortoise.week import BoundsRule, bounds_rule

REQUESTS = "containerResourceRequests"
BY_CONTAINER = "Use a metric of type ContainerResource, or write autoscalingPolicy."


class TortoiseFindings(Findings):
    """The findings of one pass."""

    def __init__(self, tortoise: Tortoise, seen: Seen, state: State, own: TortoiseSettings) -> None:
        super().__init__(tortoise, seen, state)
        self.tortoise, self.own, self.vertical = tortoise, own, state.vertical
        # Why the count changes, and the periods of its rate limits, if it is decided here.
        self.why_count = self.why_caught_up = ""
        self.event_periods: tuple[float | None, float | None] = (None, None)

    @property
    def is_off(self) -> bool:
        return self.tortoise.mode == OFF

    def report_failure(self, message: str) -> None:
        self.condition(FAILED, "True", "ReconcileError", message)
        self.warn("ReconcileError", sentence(message))

    def kept_status(self) -> dict[str, Any]:
        """The status as it is, with what the original definition requires."""
        past = self.state.tortoise
        return {
            "tortoisePhase": (past.phase if past is not None else "") or INITIALIZING,
            "containerResourcePhases": [],
            "targets": {"scaleTargetRef": wire_ref(self.tortoise), "verticalPodAutoscalers": []},
            "recommendations": {},
            **super().kept_status(),
        }

    def report_success(self) -> None:
        self.condition(FAILED, "False", "Reconciled", "the object was reconciled")
        self.condition(OVERRIDDEN, "False", "NotOverridden", "the update mode of the spec applies")

    def report_settings(self, problems: Iterable[Problem]) -> None:
        """Settings that were ignored."""
        for problem in problems:
            text = f"{problem.field}: {problem.message}: it is ignored."
            self.step("observe", "setting-ignored", None, None, text)
            self.warn("SettingIgnored", text)

    def report_policies(self, policies: PolicyTable) -> None:
        listed = "; ".join(
            f"{name} {', '.join(f'{resource} {word}' for resource, word in words.items())}"
            for name, words in policies.items()
        )
        origin = "By the spec" if self.tortoise.autoscaling_policy else "Chosen automatically"
        self.step("observe", "policies", None, None, f"{origin}: {listed}.", {"policies": _plain(policies)})
        for name, written in (policies_of(self.tortoise, policies) or {}).items():
            for resource, word in written.items():
                if word != policies[name][resource]:
                    self._report_no_request(name, resource, word)
        self._report_measured_by_pod(policies)

    def report_planned(self, policies: PolicyTable, most: Mapping[Place, int]) -> None:
        """What a schedule asks for now and this Tortoise cannot give. `most` is the largest request of each place."""
        floor, limit = self.tortoise.floor, counts_of(self.tortoise, self.own).most
        lost: list[str] = []
        given = bool(floor.replicas)
        if floor.replicas and not places_of(policies, HORIZONTAL):
            given = False
            lost.append("no resource is Horizontal, so no replicas follow")
        elif floor.replicas > limit:
            lost.append(f"there may be {count_of(limit, 'replica')} at most")
        for name, amounts in floor.sizes:
            names = list(policies) if name == EVERY_CONTAINER else [name]
            if name not in policies and name != EVERY_CONTAINER:
                lost.append(f"the pods have no container {name}")
                continue
            for resource, amount in amounts:
                places = [(each, resource) for each in names if (each, resource) in most]
                given = given or bool(places)
                if not places:
                    lost.append(f"{resource} of {' and '.join(names)} is Off")
                lost += [
                    f"{resource} of {place[0]} may be {brief(resource, most[place])} at most"
                    for place in places
                    if most[place] < amount
                ]
        if lost:
            text = f"Not all that is planned has an effect: {'; '.join(lost)}."
            self.step("restrain", WITHOUT_EFFECT, None, None, text, {"lost": lost, "given": given})

    def _report_no_request(self, container: str, resource: str, word: str) -> None:
        text = f"{resource} of {container} is {word} in the spec, but has no request, so it is Off"
        self.step("observe", "no-request", None, None, f"{sentence(text)} Add a request to the pod template.")

    def _report_measured_by_pod(self, policies: PolicyTable) -> None:
        """Why a named HPA is not edited although it has a metric of usage."""
        hpa = self.seen.hpa
        if hpa is None or not self.tortoise.names_hpa or self.tortoise.autoscaling_policy:
            return
        found = sorted(measured_by_pod(hpa) & set(RESOURCES))
        if found and not places_of(policies, HORIZONTAL):
            why = f"{' and '.join(found)} by pod (type: Resource), and by container nothing"
            text = f"HorizontalPodAutoscaler {hpa.name} measures {why}, so it is not edited. {BY_CONTAINER}"
            self.step("observe", "measured-by-pod", None, None, text)

    def report_needs(self, needs: Needs, targets: Mapping[Place, int]) -> None:
        if needs.reason is not None:
            message = f"what is needed now is unknown and not learned: {needs.message}"
            self.step("observe", needs.reason, None, None, sentence(message))
            return
        for (container, resource), total in needs.totals.items():
            target = targets[container, resource]
            text = f"{resource} of {container} needs {brief(resource, total)} in total at its target of {target} %."
            self.step("recommend", "needed", None, None, sentence(text), {"total": total, "target": target})

    def _report_slot(self, learned: Learned, bounds: SlotBounds, *, several: bool) -> None:
        (container, resource), needed, instead, low, high, *_ = bounds
        layout = learned.layout
        what = f"{resource} of {container}" if several else resource
        amount = brief(resource, amount_of(resource, needed))
        slot = slot_name(layout, layout.place(self.now)[1])
        who = f"{slot} has no history. {_listed(layout, instead)}" if instead else slot
        weeks = count_of(layout.weeks, "week")
        is_old = learned.is_old(needed, instead or (layout.place(self.now)[1],))
        when = f"more than {weeks} ago, and nothing newer is known" if is_old else f"in the last {weeks}"
        text = f"{who} needed at most {amount} of {what} {when}: {low} to {high} replicas."
        numbers = {"needed": needed, "minReplicas": low, "maxReplicas": high, "instead": list(instead)}
        self.step("resolve", "slot", None, None, text, numbers)

    def report_new_slots(self) -> None:
        message = "the slots have changed: each has what the former ones at its time needed"
        self.step("observe", "other-slots", None, None, sentence(message))

    def report_tuning(self, look: TortoiseLook, found: Tuned) -> None:
        """What the HPA should have, and why."""
        for place, percent in found.targets.items():
            self._report_target(place, look.targets[place], percent, look.used[place], look.sizes[place])
        if found.targets:
            self.condition(TARGET_UPDATED, "True", "TargetsComputed", "the target utilizations were computed")
        learned = None
        if found.slot is not None and found.past is not None:
            learned = found.past.learned_in(key_of(found.slot.place))
        if found.slot is not None and learned is not None:
            self._report_slot(learned, found.slot, several=len(look.horizontal) > 1)
            self._report_maximum(found.slot, look.counts.preferred)
        if found.slot is None and look.needs.reason == "saturated" and look.named and look.written is not None:
            self._report_saturated_hpa(look.written[1])
        self._report_full_hpa(look, found)
        before = self.state.tortoise.phase if self.state.tortoise is not None else ""
        if found.past is not None and found.phase != INITIALIZING:
            self._report_phase(before, found.phase, healthy=look.healthy)

    def _report_saturated_hpa(self, most: int) -> None:
        """People wrote this maximum, and nothing is learned yet that could replace it."""
        where = f"the maximum of {most} in HorizontalPodAutoscaler {self.tortoise.hpa_name}"
        text = f"Pods are saturated at {where}: raise it. It stays as it is until something is learned."
        self.step("restrain", "saturated-while-gathering", None, None, text)
        self.warn("SaturatedWhileGathering", text)

    def _report_full_hpa(self, look: TortoiseLook, found: Tuned) -> None:
        """Pods that run need more than they have, and the maximum allows no more of them."""
        bounds = found.bounds or look.written
        short = [
            place for place, total in look.needs.totals.items() if is_short(total, look.replicas, look.sizes[place])
        ]
        if bounds is not None and look.replicas >= bounds[1] and short:
            (container, resource), most = short[0], bounds[1]
            text = f"{resource} of {container} needs more than {most} replicas of this size, which is the maximum."
            self.step("restrain", "at-maximum", most, most, sentence(text))

    def _report_maximum(self, slot: SlotBounds, preferred: int) -> None:
        high, held = slot.raised, slot.held
        if high > slot.high:
            text = f"Pods are saturated at the maximum: it is {high} for now, which is not learned."
            self.step("restrain", "saturated-maximum", slot.high, high, text)
        if slot.lifted:
            why = f"{slot.lifted[:1].upper()}{slot.lifted[1:]}"
            text = f"{why}: the maximum of {high} may exceed the preferred count."
            self.step("restrain", "preferred-replicas", high, high, text)
        elif preferred < high and held < high:
            text = f"Pods may still grow: the maximum is {held} instead of {high}."
            self.step("restrain", "preferred-replicas", high, held, text)

    def _report_target(self, place: Place, before: int, after: int, used: int, size: int) -> None:
        container, resource = place
        peak = f"a peak of {brief(resource, used)}, {-(-100 * used // size)} % of the request"
        becomes = (
            f"its target stays at {before} %" if before == after else f"its target of {before} % becomes {after} %"
        )
        text = f"{resource} of {container} has {peak}: {becomes}."
        self.step("resolve", "target", None, None, sentence(text), {"before": before, "after": after})

    def _report_phase(self, before: str, phase: str, *, healthy: bool) -> None:
        if before == phase:
            return
        why = "" if healthy else ": its HPA has had no metrics for too long"
        text = f"The phase is {phase}{why}." if not before else f"The phase was {before} and is {phase}{why}."
        self.step("observe", "phase", None, None, text)

    def report_unlearned_emergency(self, look: TortoiseLook) -> None:
        """What an emergency does and does not do before there are bounds."""
        floor = unlearned_emergency(look)
        if not look.horizontal:
            message = "no resource is Horizontal, so this emergency adds no replicas"
        elif floor is not None:
            message = f"no bounds are learned yet: the minimum of the HPA becomes {floor}, its own maximum"
        else:
            what = "the replicas of the workload" if look.written is None else "the minimum of the HPA"
            message = f"no bounds are learned yet, so this emergency adds no replicas: raise {what} by hand"
        self.condition(OVERRIDDEN, "True", "BoundsNotLearned", message)
        self.step("restrain", "emergency", None, floor, sentence(message))
        self.warn("EmergencyModeFailed", sentence(message))

    def report_kept(self, count: int, kept: int) -> None:
        text = "What is needed now is unknown: no pod is removed."
        self.step("restrain", "need-unknown", count, kept, text)

    def report_sizes(self, resources: Iterable[SizedResource], wanted: Mapping[Place, int]) -> None:
        for one in resources:
            container, resource = one.place
            amount = wanted.get(one.place, one.size)
            if amount != one.size:
                why = "" if one.used is None else f", and a peak of {brief(resource, one.used)}"
                if one.total is not None:
                    why = f", and all pods need {brief(resource, one.total)}"
                has = f"{resource} of {container} has {brief(resource, one.size)} per pod{why}"
                text = f"{has}: it gets {brief(resource, amount)}."
                self.step("resolve", "size", None, None, sentence(text), {"before": one.size, "after": amount})

    def report_growth(self, count: int, preferred: int, *, grows: bool) -> None:
        replicas = count_of(count, "replica")
        if grows:
            message = f"pods grow: there are {replicas}, and {preferred} are preferred"
            self.condition(GROWN_AT_PREFERRED, "True", "Grown", message)
        elif count < preferred and GROWN_AT_PREFERRED in self.reported:
            message = f"there are {replicas}, fewer than the preferred {preferred}"
            self.condition(GROWN_AT_PREFERRED, "False", "BelowPreferred", message)

    def report_catch_up(self, containers: tuple[str, ...]) -> None:
        self.catches_up = True
        self.why_caught_up = (
            f"the largest pod has the desired size of {' and '.join(containers)}, and the others get it too"
        )
        self.step("resolve", "catch-up", None, None, sentence(self.why_caught_up))

    def report_resize(self) -> None:
        if self.desired_sizes != self.sizes or self.catches_up:
            self.condition(SIZES_UPDATED, "True", "SizesDecided", "the size of the pods changes")
        elif SIZES_UPDATED in self.reported:
            self.condition(SIZES_UPDATED, "False", "SizesKept", "the pods keep their size")

    def report_shrinks(self, per_day: int) -> None:
        often = {0: "never shrink", 1: "shrink at most once a day"}.get(
            per_day, f"shrink at most {per_day} times a day"
        )
        self.step("restrain", "shrinks-per-day", None, None, f"Pods {often}: they keep their size.")

    def report_ranges(self, wanted: tuple[Size, ...], taken: tuple[Size, ...]) -> None:
        names = [each.container for each, other in zip(wanted, taken, strict=True) if each != other]
        text = (
            f"A LimitRange of the namespace does not allow the size of {' and '.join(names)}: it gets what is allowed."
        )
        self.step("restrain", "limit-range", None, None, text)

    def decided_count(self, hpa: HPA, settings: Settings) -> int:
        """The count of the HPA as it should be, decided here and now."""
        move, after = horizontal.decide(hpa, self.seen, self.state, settings)
        self.steps += move.steps
        self.readings, self.event_periods = move.readings, move.event_periods
        self.unknown += move.unknown
        self.state = after._replace(conditions=self.state.conditions)
        self.why_count = move.reason
        if move.desired is None:
            return self.seen.scale.replicas if isinstance(self.seen.scale, Scale) else 0
        return move.desired

    def reason(self, current: int, desired: int, edit: HpaEdit | None) -> str:
        parts = [self.why_count] if desired != current else []
        changed = [
            f"{new.container} {', '.join(f'{r} {a}' for r, a in _changed(old, new).items())}"
            for old, new in zip(self.sizes, self.desired_sizes, strict=True)
            if changes_of(old.requests, new.requests)
        ]
        parts += [f"each pod gets {'; '.join(changed)}"] if changed else [self.why_caught_up]
        if edit is not None and edit.writes:
            parts.append(edit.words)
        return "; ".join(part for part in parts if part)

    def status(
        self,
        policies: PolicyTable,
        phases: Mapping[str, Mapping[str, str]],
        phase: str,
        past: TortoiseState | None,
        edit: HpaEdit | None,
        used: Mapping[Place, int],
    ) -> dict[str, Any]:
        """The status if nothing changes, without its conditions."""
        target = wire_ref(self.tortoise)
        hpa = "" if edit is None else edit.name
        status: dict[str, Any] = {
            "tortoisePhase": phase,
            "autoscalingPolicy": [{"containerName": name, "policy": dict(words)} for name, words in policies.items()],
            "containerResourcePhases": [
                {"containerName": name, "resourcePhases": {r: {"phase": word} for r, word in words.items()}}
                for name, words in phases.items()
            ],
            "targets": {"horizontalPodAutoscaler": hpa, "scaleTargetRef": target, "verticalPodAutoscalers": []},
            "recommendations": self._recommendations(past),
            "conditions": {
                "containerRecommendationFromVPA": _usage(used),
                REQUESTS: listed_requests(self.sizes),
            },
        }
        if edit is not None and not edit.deletes:
            status |= {"minReplicas": edit.after.min_replicas, "maxReplicas": edit.after.max_replicas}
        return status

    def _recommendations(self, past: TortoiseState | None) -> dict[str, Any]:
        vertical = {
            "containerResourceRecommendation": [
                {"containerName": size.container, "RecommendedResource": shown(size.requests)}
                for size in self.desired_sizes
            ]
        }
        if past is None:
            return {"vertical": vertical}
        targets: dict[str, dict[str, int]] = {}
        for key, percent in past.targets.items():
            container, _, resource = key.rpartition("/")
            targets.setdefault(container, {})[resource] = percent
        lows, highs = self._slots(past.learned)
        listed = [{"containerName": name, "targetUtilization": each} for name, each in targets.items()]
        return {
            "horizontal": {"targetUtilizations": listed, "minReplicas": lows, "maxReplicas": highs},
            "vertical": vertical,
        }

    def _slots(self, learned: tuple[Learned, ...]) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
        """The bounds of every slot: those of the place that asks for most."""
        rule = bounds_rule(counts_of(self.tortoise, self.own), self.own)
        tables = [_slots(each, self._unit_size(each.place), rule) for each in learned]
        if len(tables) == 1:
            return tables[0]
        lows, highs = zip(*tables, strict=True)
        return _highest(lows), _highest(highs)

    def _unit_size(self, place: str) -> int:
        container, _, resource = place.rpartition("/")
        size = next((each.requests.get(resource, 0) for each in self.sizes if each.container == container), 0)
        return unit_size(resource, size)


def _highest(bounds: Iterable[list[dict[str, Any]]]) -> list[dict[str, Any]]:
    """The highest bound of each slot."""
    return [max(slot, key=lambda bound: int(bound["value"])) for slot in zip(*bounds, strict=True)]


@derived
def _slots(learned: Learned, size: int, rule: BoundsRule) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """The bounds of every slot, in the form of the status. Treat them as read-only: they are shared."""
    layout, table = learned.layout, learned.table()
    lows: list[dict[str, Any]] = []
    highs: list[dict[str, Any]] = []
    for slot in range(slots_of(layout.hours, layout.daily)):
        for made, value in zip((lows, highs), rule.bounds(table.highest(slot), size), strict=True):
            made.append(_slot_bound(layout, slot, value))
    return lows, highs


@lru_cache(16_384)
def _slot_bound(layout: SlotLayout, slot: int, value: int) -> dict[str, Any]:
    """One bound in the form of the status. Workloads share equal ones: each has hundreds."""
    return {**_slot(layout, slot), "value": value}


def _slot(layout: SlotLayout, slot: int) -> dict[str, Any]:
    day, hour = divmod(slot, HOURS // layout.hours)
    weekday = {} if layout.daily else {"weekday": WEEKDAYS[day]}
    start = hour * layout.hours
    return {"from": start, "to": start + layout.hours, **weekday, "timezone": layout.zone}


def slot_name(layout: SlotLayout, slot: int) -> str:
    """A slot as people say it: Monday 9:00 to 10:00."""
    zone = "" if layout.zone == "UTC" else f" {layout.zone}"
    return f"{slot_hours(layout, slot)}{zone}"


def slot_hours(layout: SlotLayout, slot: int) -> str:
    """The same, by the clock of its zone."""
    named = _slot(layout, slot)
    day = f"{named['weekday']} " if "weekday" in named else ""
    return f"{day}{named['from']}:00 to {named['to']}:00"


def _listed(layout: SlotLayout, slots: tuple[int, ...]) -> str:
    names = [slot_name(layout, slot) for slot in slots[:3]]
    return ", ".join(names) + (f" and {len(slots) - 3} more" if len(slots) > 3 else "")


def listed_requests(sizes: Iterable[Size]) -> list[dict[str, Any]]:
    """Sizes in the form in which the status records them for new pods."""
    return [
        {
            "containerName": size.container,
            "resource": shown(size.requests),
            **({"limits": shown(size.limits)} if size.limits else {}),
        }
        for size in sizes
    ]


def recorded_requests(status: Any) -> Any:
    """The sizes for new pods in a status."""
    return inner(status, "conditions").get(REQUESTS)


def _usage(used: Mapping[Place, int]) -> list[dict[str, Any]]:
    by_container: dict[str, dict[str, int]] = {}
    for (container, resource), amount in sorted(used.items()):
        by_container.setdefault(container, {})[resource] = amount
    found = []
    for name, amounts in by_container.items():
        each = {resource: {"quantity": text} for resource, text in shown(amounts).items()}
        found.append({"containerName": name, "maxRecommendation": each, "recommendation": each})
    return found


def _changed(old: Size, new: Size) -> dict[str, str]:
    """The requests that change, for messages."""
    return briefly({r: amount for r, amount in new.requests.items() if amount != old.requests.get(r)})


def _plain(table: PolicyTable) -> dict[str, dict[str, str]]:
    return {name: dict(words) for name, words in table.items()}


def report(_tortoise: Tortoise, move: Move, _state: State, _settings: Settings, effect: Effect) -> MoveReport:
    """The report of a written move."""
    status: dict[str, Any] = {}
    if move.decided and not move.dry_run:
        requests = effect.recorded if effect.sizes_differ else listed_requests(move.desired_sizes)
        status["conditions"] = {**move.observed.get("conditions", {}), REQUESTS: requests or []}
    events = []
    if move.moves and not move.dry_run:
        events.append(Event("Normal", "Scaled", f"{sentence(move.reason)}"))
    return MoveReport(move.unwritten, tuple(events), status)


def refused(_tortoise: Tortoise, _move: Move, state: State, message: str) -> Refusal:
    """The report of a move that could not be written."""
    del state
    return Refusal(FAILED, "FailedUpdate", "FailedScaling", message, word="True")
