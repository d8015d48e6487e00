"""A Tortoise as it applies to one container, if plain numbers cover everything that it asks for; and its state."""

from array import array
from collections.abc import Mapping, Sequence
from math import inf
from typing import Any, NamedTuple

from hypot.core.amount import RESOURCES
from hypot.core.learning.bounds import NONE
from hypot.core.learning.clock import SlotClock, Turns
from hypot.core.learning.slots import CODE, HOURS, rows_of, slots_of
from hypot.kinds.hpa import HPA
from hypot.kinds.hpa.defaults import with_defaults
from hypot.kinds.hpa.fields import Metric
from hypot.kinds.tortoise import Tortoise
from hypot.kinds.tortoise.fields import AUTO, EMERGENCY
from hypot.kinds.tortoise.policies import HORIZONTAL, OFF, POLICIES
from hypot.kinds.tortoise.settings import PLAIN_FORMULA
from hypot.kinds.tortoise.status import PHASES
from hypot.kinds.vpa.allowed import allowed
from hypot.policy.hold import needs_whole_decisions
from hypot.policy.model.current_size import CurrentSize
from hypot.policy.model.learned import REASONS, Learned, SlotLayout, SlotTally
from hypot.policy.model.settings import Settings
from hypot.policy.model.size import Place
from hypot.policy.model.state import State
from hypot.policy.model.tortoise_state import TortoiseState, key_of
from hypot.policy.tortoise.edited_hpa import FIRST_TARGET, behavior_of, edited, new_hpa, target_of, targets_in
from hypot.policy.tortoise.phases import MISSING, gathers_for
from hypot.policy.tortoise.policies import in_force, places_of
from hypot.policy.tortoise.sizes import bounds_of, counts_of
from hypot.policy.tortoise.tuning import layout_of
from hypot.policy.tortoise.week import bounds_rule
from hypot.replay.numbers import hpa_rule
from hypot.replay.numbers.hpa import UTILIZATION, VALUE
from hypot.replay.numbers.hvpa import HvpaPast
from hypot.replay.numbers.hvpa_rule import MOST_WRITTEN, NO_HPA
from hypot.replay.numbers.hvpa_rule import state_of as columns_of
from hypot.replay.numbers.tortoise import TortoisePast, TortoiseRule, no_tortoise_past
from hypot.replay.numbers.tortoise_hpa import HpaForm
from hypot.replay.world.parameters import Signal

# Needs by slot: the codes of cpu, then of memory.
Codes = tuple[Any, Any]


class TortoiseNumbers(NamedTuple):
    """A Tortoise and its HPA as plain numbers."""

    rule: TortoiseRule
    layout: SlotLayout
    # The HPA as it was found, and from the first edit on; the same if none is named.
    found: HpaForm
    made: HpaForm
    # The bounds and targets that it begins with; the bounds are NONE if none is named.
    bounds: tuple[int, int]
    targets: tuple[int, int]
    # The targets of the HPA that is named; 0 for none.
    there: tuple[int, int]

    def past(self) -> TortoisePast:
        """The state before the first decision."""
        low, high = self.bounds
        past = no_tortoise_past()._replace(targets=[*self.targets], there=[*self.there])
        return past if low == NONE else past._replace(exists=[1], hpa_low=[low], hpa_high=[high])

    def codes(self) -> Codes:
        """Tables in which nothing is learned yet."""
        size = self.rule.slots * rows_of(self.layout.weeks, self.layout.daily)
        return [0] * size, [0] * size

    def turns(self, start: float, end: float) -> Turns:
        """When slots begin."""
        return SlotClock(self.layout.hours, self.layout.zone, start, end).turns(self.rule.slots)


def why_whole(tortoise: Tortoise, container: str, size: tuple[int, int], named: HPA | None, settings: Settings) -> str:
    """Why only full decisions work; empty if plain numbers do."""
    own, _problems = settings.tortoise.overridden({}, tortoise.annotations)
    most = [bounds_of(tortoise, (container, resource), own)[1] for resource in RESOURCES]
    if needs_whole_decisions(tortoise.annotations):
        return "a Tortoise with a hold or a schedule"
    if min(size) <= 0:
        return "a Tortoise whose pods request no cpu or no memory"
    if min(most) <= 0:
        return "a Tortoise whose pods may get nothing"
    if max(most) > MOST_WRITTEN:
        return "a Tortoise whose pods may get too much for 64-bit sums"
    if named is not None and tortoise.behavior is not None:
        # It has other windows from the first edit on.
        return "a Tortoise that changes the behavior of the HPA that it names"
    return ""


def numbers_of(
    tortoise: Tortoise,
    container: str,
    size: tuple[int, int],
    named: HPA | None,
    names: Mapping[str, Signal],
    settings: Settings,
) -> TortoiseNumbers | None:
    """None if only the full decision works. `named` is the HPA that it names."""
    if why_whole(tortoise, container, size, named, settings):
        return None
    rule, layout, horizontal = _rule_of(tortoise, container, size, named, settings)
    if named is None and not horizontal:
        nothing = HpaForm(NO_HPA, [NONE], [0], [1], [0], [0])
        return TortoiseNumbers(rule, layout, nothing, nothing, (NONE, NONE), (FIRST_TARGET, FIRST_TARGET), (0, 0))
    of_edits = edited_by(tortoise, named, horizontal, (1, 1), {}, settings) if horizontal else named
    made = None if of_edits is None else _form_of(of_edits, container, names, settings)
    found = made if named is None else _form_of(named, container, names, settings)
    if made is None or found is None:
        return None
    there = {} if named is None else targets_in(named)
    places = [(container, resource) for resource in RESOURCES]
    cpu, memory = (there[place].percent if place in there else 0 for place in places)
    bounds = (NONE, NONE) if named is None else (named.min_replicas or 1, named.max_replicas or 1)
    return TortoiseNumbers(
        rule, layout, found, made, bounds, (cpu or FIRST_TARGET, memory or FIRST_TARGET), (cpu, memory)
    )


def _rule_of(
    tortoise: Tortoise, container: str, size: tuple[int, int], named: HPA | None, settings: Settings
) -> tuple[TortoiseRule, SlotLayout, tuple[Place, ...]]:
    own, _problems = settings.tortoise.overridden({}, tortoise.annotations)
    requests = dict(zip(RESOURCES, size, strict=True))
    ranges = [bounds_of(tortoise, (container, resource), own) for resource in RESOURCES]
    policies = in_force(tortoise, [CurrentSize(container, requests, {}, {})], named)
    horizontal, words = places_of(policies, HORIZONTAL), policies[container]
    layout, counts, rules = layout_of(own), counts_of(tortoise, own), allowed(tortoise, container)
    slots, learned = slots_of(layout.hours, layout.daily), bounds_rule(counts, own)
    controlled = () if rules.switched_off else rules.controlled
    rule = TortoiseRule(
        acts=tortoise.mode != OFF,
        automatic=tortoise.mode == AUTO,
        emergency=tortoise.mode == EMERGENCY,
        decides=tortoise.decides,
        named=tortoise.names_hpa,
        words=[POLICIES.index(words.get(resource, OFF)) for resource in RESOURCES],
        horizontals=len(horizontal),
        controlled=[int(resource in controlled) for resource in RESOURCES],
        counts=counts,
        least=[least for least, _ in ranges],
        most=[most for _, most in ranges],
        slots=slots,
        per_day=HOURS // layout.hours,
        gathers_for=gathers_for(own),
        low_factor=float(learned.low_factor),
        high_factor=float(learned.high_factor),
        most_low=learned.most_low,
        reduction=float(own.replica_reduction_factor),
        grace=float(own.emergency_grace_period),
        plain=own.target_rule == PLAIN_FORMULA,
        first_target=FIRST_TARGET,
        low_target=own.minimum_target_utilization,
        high_target=own.maximum_target_utilization,
        most_up=own.target_max_increase,
        retargets_every=float(own.target_update_interval),
        buffer=float(own.vertical_buffer),
        least_share=float(own.max_scaling_down_ratio),
        shrinks=own.shrinks_per_day,
        limit_factors=[float(own.resource_limit_multiplier.get(resource, 1)) for resource in RESOURCES],
        least_limits=[own.minimum_cpu_limit, 0],
    )
    return rule, layout, horizontal


def _form_of(hpa: HPA, container: str, names: Mapping[str, Signal], settings: Settings) -> HpaForm | None:
    rule = hpa_rule.rule_of(hpa, container, names, settings)
    if rule is None:
        return None
    metrics = with_defaults(hpa, settings.kubernetes, settings.gates).metrics or ()
    # An average value counts before the target that an edit changes.
    edits = [source in {UTILIZATION, VALUE} for source in rule.sources]
    own = [target_of(metric, hpa) if edit else None for metric, edit in zip(metrics, edits, strict=True)]
    places = [NONE if one is None or one.place[0] != container else RESOURCES.index(one.place[1]) for one in own]
    return HpaForm(
        rule,
        places,
        [*rule.targets],
        [1000 if one is not None and one.external else 1 for one in own],
        [int(_reason(metric) in MISSING) for metric in metrics],
        [int(metric.container_resource is not None or metric.external is not None) for metric in metrics],
    )


def _reason(metric: Metric) -> str:
    """Why an HPA is not active if it cannot read this metric first."""
    return f"FailedGet{metric.type}Metric"


def edited_by(
    tortoise: Tortoise,
    there: HPA | None,
    horizontal: Sequence[Place],
    bounds: tuple[int, int],
    targets: Mapping[Place, int],
    settings: Settings,
) -> HPA:
    """The HPA with these bounds and targets."""
    own, _problems = settings.tortoise.overridden({}, tortoise.annotations)
    return edited(there or new_hpa(tortoise), *bounds, targets, horizontal, behavior_of(tortoise, own))


def state_of(
    numbers: TortoiseNumbers, past: TortoisePast, codes: Codes, columns: HvpaPast, container: str, counted: State
) -> State:
    """The same state, in the form that the full decision reads; `counted` is that of the HPA."""
    followed = [r for r, word in enumerate(numbers.rule.words) if POLICIES[word] == HORIZONTAL]
    keys = {r: key_of((container, RESOURCES[r])) for r in followed}
    begun = {r: key for r, key in keys.items() if past.since[r] < inf}
    known = None
    if begun:
        known = TortoiseState(
            tuple([_learned(numbers.layout, key, past, codes[r], r) for r, key in keys.items()]),
            PHASES[past.phase[0]] if past.phase[0] != NONE else "",
            {key: past.since[r] for r, key in begun.items()},
            {key: past.targets[r] for r, key in keys.items()},
            None if past.retargeted[0] == -inf else past.retargeted[0],
            {key: past.busiest[r] for r, key in keys.items() if past.busiest[r] >= 0},
            past.low[0],
            past.hpa_high[0] if numbers.rule.decides and numbers.rule.acts else 0,
            past.planned[0],
            None if past.short_since[0] == inf else past.short_since[0],
        )
    return counted._replace(vertical=columns_of(columns, container).vertical, tortoise=known)


def _learned(layout: SlotLayout, key: str, past: TortoisePast, codes: Any, r: int) -> Learned:
    tally = None
    if past.tally_turn[r] != NONE:
        # The reasons why observations do not count are not kept.
        missed = (past.tally_missed[r], *[0] * (len(REASONS) - 1))
        place = (past.tally_turn[r], past.tally_slot[r])
        tally = SlotTally(*place, past.tally_needed[r], past.tally_counted[r], missed)
    return Learned(layout, key, past.since[r], array(CODE, codes).tobytes(), tally)
