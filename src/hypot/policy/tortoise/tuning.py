"""All that follows from one look at a workload: what is learned, targets, phases, bounds, and the sizes of its pods.

Nothing is reported here, and no object of a cluster is needed: a replay decides with the same functions.
"""

from collections.abc import Collection, Mapping
from dataclasses import replace
from math import ceil, inf
from typing import NamedTuple

from hypot.core.axes.shape import Counts, is_short, is_worth_a_shrink
from hypot.core.learning.bounds import (
    AT_LARGEST,
    HELD,
    LATE,
    NO_ROOM,
    NONE,
    PATIENCE,
    SATURATED,
    SlotRange,
    held_at,
    hpa_bounds,
    raised_to,
    why_not_held,
    with_planned,
    without_planned,
)
from hypot.core.learning.phases import stepped_back
from hypot.core.learning.slots import replicas_of
from hypot.core.learning.target import average_of, next_target
from hypot.core.sizes.right_size import may_shrink
from hypot.kinds.tortoise.fields import EMERGENCY
from hypot.kinds.tortoise.policies import HORIZONTAL, OFF, VERTICAL
from hypot.kinds.tortoise.settings import DAILY, PLAIN_FORMULA, TortoiseSettings
from hypot.kinds.tortoise.status import BACK_TO_NORMAL, GATHERING, IN_EMERGENCY, INITIALIZING, WORKING
from hypot.policy.model.learned import Learned, SlotLayout
from hypot.policy.model.size import Place
from hypot.policy.model.tortoise_state import TortoiseState, key_of
from hypot.policy.tortoise.edited_hpa import FIRST_TARGET, UtilizationTarget
from hypot.policy.tortoise.needs import Needs, amount_of, counted, unit_size
from hypot.policy.tortoise.phases import code_of, gathers_for, overall, phase_after
from hypot.policy.tortoise.policies import PolicyTable
from hypot.policy.tortoise.sizes import SizedResource, horizontal_size, settled_count, vertical_size
from hypot.policy.tortoise.week import bounds_rule

_WHY_NOT_HELD = {
    HELD: "",
    AT_LARGEST: "the size is at its maximum",
    NO_ROOM: "no node has room for larger pods",
    SATURATED: "pods use all that they can get",
    LATE: f"pods should have grown {PATIENCE / 60:.0f} minutes ago",
}
PhaseTable = Mapping[str, Mapping[str, str]]


class TortoiseLook(NamedTuple):
    """What one decision is made from."""

    now: float
    mode: str
    # Whether hypot decides the count too, and not the controller of the HPA.
    decides: bool
    replicas: int
    counts: Counts
    policies: PolicyTable
    # The places that replicas follow.
    horizontal: tuple[Place, ...]
    # The request of each place, and how small and how large it may become.
    sizes: Mapping[Place, int]
    ranges: Mapping[Place, tuple[int, int]]
    # The target of each place, and of those for which one is in force: in the HPA, or because hypot decides by it.
    targets: Mapping[Place, int]
    in_force: Mapping[Place, int]
    needs: Needs
    used: Mapping[Place, int]
    # The places that two samples found saturated.
    saturated: Collection[Place]
    # Whether no node has room for larger pods.
    infeasible: bool
    # The bounds of the HPA as it is; None if there is no HPA.
    written: tuple[int, int] | None
    # Whether the HPA is one that the Tortoise names: people wrote its maximum.
    named: bool
    # The least replicas that are planned for now, and the least sizes.
    planned: int
    planned_sizes: Mapping[Place, int]
    # Whether the HPA gets its metrics.
    healthy: bool


class SlotBounds(NamedTuple):
    """The least and the most replicas of the slot of now, and how they were found."""

    # The place that asks for most, and what it needed.
    place: Place
    needed: int
    # The slots that the need was taken from instead.
    instead: tuple[int, ...]
    low: int
    high: int
    # The maximum while pods are saturated at it, and while pods can grow instead.
    raised: int
    held: int
    # The most that any minimum may bring with it while pods can grow instead.
    ceiling: int
    # Why it is not held at the preferred count.
    lifted: str = ""


class Tuned(NamedTuple):
    """What the HPA should have, and the state after that."""

    past: TortoiseState | None
    # The targets that were computed now.
    targets: Mapping[Place, int]
    phases: PhaseTable
    # None if nothing is known yet.
    slot: SlotBounds | None
    phase: str
    # The minimum and the maximum; None if the HPA stays as it is.
    bounds: tuple[int, int] | None


class TunedSizes(NamedTuple):
    """The size that each place should have, and what it was computed from."""

    resources: tuple[SizedResource, ...]
    wanted: Mapping[Place, int]
    # Whether pods grow because of the count that is preferred, and whether they shrank too often to shrink now.
    grows: bool
    waits: bool


def layout_of(settings: TortoiseSettings) -> SlotLayout:
    daily = settings.slot_period == DAILY
    return SlotLayout(settings.slot_hours, daily, settings.time_zone, settings.window_weeks)


def begun(
    known: TortoiseState | None, layout: SlotLayout, horizontal: tuple[Place, ...], now: float
) -> TortoiseState | None:
    """What was learned so far, in the slots of now. None if replicas follow nothing."""
    if not horizontal:
        return None
    return (known or TortoiseState(())).learns(layout, horizontal, now).scales(horizontal, now)


def targets_of(
    known: TortoiseState | None, horizontal: tuple[Place, ...], there: Mapping[Place, UtilizationTarget]
) -> dict[Place, int]:
    """The target of each place: that of the HPA, which may not have been written, else as decided last."""
    return {
        place: there[place].percent if place in there else _decided(known, place) or FIRST_TARGET
        for place in horizontal
    }


def _decided(known: TortoiseState | None, place: Place) -> int:
    """The target that was decided last; 0 if none was."""
    return 0 if known is None else known.targets.get(key_of(place), 0)


def tuned(look: TortoiseLook, past: TortoiseState | None, own: TortoiseSettings) -> Tuned:
    """What the HPA should have."""
    learned = () if past is None else _learned(look, past)
    busiest = {} if past is None else _busiest(look, past)
    made = {} if past is None else _new_targets(look, past, learned, busiest, own)
    phases = _phases(look, past, own)
    short_since = _short_since(look, past)
    slot = _slot(look, learned, phases, own, short_since)
    phase = _phase(look, past, phases, slot, own)
    if past is None:
        return Tuned(None, made, phases, slot, phase, None)
    low, least, bounds = _planned(look, past, _bounds(look, past, slot, phase, own), slot, own)
    targets = {place: _decided(past, place) or percent for place, percent in look.targets.items()} | made
    applies = look.decides and look.mode != OFF
    after = replace(
        past,
        learned=learned,
        phase=phase,
        targets={key_of(place): percent for place, percent in targets.items()},
        retargeted=look.now if made else past.retargeted,
        busiest={} if made else {key_of(place): average for place, average in busiest.items()},
        low=low,
        high=bounds[1] if applies and bounds is not None else 0,
        planned=least if least > low else 0,
        short_since=short_since,
    )
    return Tuned(after, made, phases, slot, phase, bounds)


def _learned(look: TortoiseLook, past: TortoiseState) -> tuple[Learned, ...]:
    """With what each place needs now: what asks for most replicas is the same at any size, and so is what it asked."""
    totals = {key_of(place): counted(place[1], total) for place, total in look.needs.totals.items()}
    return tuple([each.observed(look.now, totals.get(each.place), look.needs.reason) for each in past.learned])


def _busiest(look: TortoiseLook, past: TortoiseState) -> dict[Place, float]:
    """The highest average utilization of each place since the last update, in percent."""
    found = {place: past.busiest[key] for place in look.horizontal if (key := key_of(place)) in past.busiest}
    for place, total in look.needs.totals.items():
        average = average_of(total, look.replicas, look.sizes[place], look.targets[place])
        found[place] = max(found.get(place, 0.0), average)
    return found


def _new_targets(
    look: TortoiseLook,
    past: TortoiseState,
    learned: tuple[Learned, ...],
    busiest: Mapping[Place, float],
    own: TortoiseSettings,
) -> dict[Place, int]:
    """New targets, if it is time, for places that were observed long enough.

    A step begins at the target in force: one that was decided and not written changes nothing.
    """
    if look.replicas >= look.counts.most or past.phase in {IN_EMERGENCY, BACK_TO_NORMAL}:
        return {}
    if past.retargeted is not None and look.now - past.retargeted < own.target_update_interval:
        return {}
    made: dict[Place, int] = {}
    peaks = {
        place: amount_of(place[1], each.last_peak(look.now))
        for place, each in zip(look.horizontal, learned, strict=True)
    }
    asked = [replicas_of(peak, look.sizes[place], 1) for place, peak in peaks.items()]
    pods = min(max(*asked, look.counts.least), look.counts.most)
    for place, peak in peaks.items():
        if place not in look.used or not _is_gathered(look.now, past, place, own):
            continue
        if not _will_grow(look, place, peak) and not _is_unwritten(look, past, place, own):
            target, size = look.in_force.get(place, FIRST_TARGET), look.sizes[place]
            made[place] = next_target(
                target,
                look.used[place],
                size,
                busiest.get(place, 0.0),
                pods,
                own.target_rule == PLAIN_FORMULA,
                own.minimum_target_utilization,
                own.maximum_target_utilization,
                own.target_max_increase,
            )
    return made


def _is_unwritten(look: TortoiseLook, past: TortoiseState, place: Place, own: TortoiseSettings) -> bool:
    """Whether the HPA should first get back what was decided last; after another interval its own target counts."""
    decided = _decided(past, place)
    lately = past.retargeted is not None and look.now - past.retargeted < 2 * own.target_update_interval
    return lately and look.mode != OFF and 0 < decided != look.in_force.get(place, decided)


def _will_grow(look: TortoiseLook, place: Place, peak: int) -> bool:
    """Whether the preferred count of pods needs larger ones: usage of these says nothing about the target then."""
    size = look.sizes[place]
    return not look.infeasible and size < look.ranges[place][1] and is_short(peak, look.counts.preferred, size)


def _is_gathered(now: float, past: TortoiseState, place: Place, own: TortoiseSettings) -> bool:
    return now - past.since[key_of(place)] >= gathers_for(own)


def _phases(look: TortoiseLook, past: TortoiseState | None, own: TortoiseSettings) -> dict[str, dict[str, str]]:
    """The phase of each resource."""

    def phase(place: Place, word: str) -> str:
        if word == OFF:
            return OFF
        is_ready = (
            place in look.used if word == VERTICAL else past is not None and _is_gathered(look.now, past, place, own)
        )
        return WORKING if is_ready else GATHERING

    return {
        name: {resource: phase((name, resource), word) for resource, word in words.items()}
        for name, words in look.policies.items()
    }


def _short_since(look: TortoiseLook, past: TortoiseState | None) -> float | None:
    """Since when the preferred count of pods needs more than they have; None if it does not."""
    if past is None or look.replicas < look.counts.preferred:
        return None
    totals = look.needs.totals.items()
    if not any(is_short(total, look.replicas, look.sizes.get(place, 0)) for place, total in totals):
        return None
    return look.now if past.short_since is None else past.short_since


def _slot(
    look: TortoiseLook,
    learned: tuple[Learned, ...],
    phases: PhaseTable,
    own: TortoiseSettings,
    short_since: float | None,
) -> SlotBounds | None:
    """The bounds of the slot of now; None if they are unknown."""
    if not any(phases[c][r] == WORKING for c, r in look.horizontal):
        return None
    needs = [(place, *each.needed(look.now)) for place, each in zip(look.horizontal, learned, strict=True)]
    needs = [each for each in needs if each[1]]
    if not needs:
        return None

    def pods(need: tuple[Place, int, tuple[int, ...]]) -> float:
        place, needed, _ = need
        return needed / unit_size(place[1], look.sizes[place])

    place, needed, instead = max(needs, key=pods)
    low, high = bounds_rule(look.counts, own).bounds(needed, unit_size(place[1], look.sizes[place]))
    raised = high
    if look.needs.reason == "saturated":
        raised = raised_to(high, look.replicas, own.max_replicas_multiplier, look.counts.most)
    ceiling, lifted = _ceiling(look, place, short_since)
    lifted = lifted if raised > look.counts.preferred else ""
    return SlotBounds(place, needed, instead, low, high, raised, max(min(raised, ceiling), low), ceiling, lifted)


def _ceiling(look: TortoiseLook, learned: Place, short_since: float | None) -> tuple[int, str]:
    """The most replicas while pods can grow instead, from the preferred count on; and why they are not held there."""
    preferred, totals = look.counts.preferred, look.needs.totals
    ratios = {place: total / look.sizes[place] for place, total in totals.items() if look.sizes.get(place)}
    place = max(ratios, key=lambda each: (ratios[each], each), default=learned)
    saturated = any(each in look.saturated for each in look.horizontal)
    short_for = -inf if short_since is None else look.now - short_since
    size, largest = look.sizes[place], look.ranges[place][1]
    why = why_not_held(size, largest, look.infeasible, saturated, look.replicas, preferred, short_for)
    if why != HELD:
        return look.counts.most, _WHY_NOT_HELD[why]
    return held_at(preferred, look.replicas, ceil(ratios[place]) if place in ratios else look.replicas), ""


def _phase(
    look: TortoiseLook, past: TortoiseState | None, phases: PhaseTable, slot: SlotBounds | None, own: TortoiseSettings
) -> str:
    usual = overall([word for words in phases.values() for word in words.values()])
    if past is None:
        return usual
    if look.written is None and look.mode != OFF and not look.decides and not past.phase:
        return INITIALIZING
    reached = slot is None or stepped_back(past.low, own.replica_reduction_factor) < slot.low
    scales = slot is not None and bool(look.horizontal)
    return phase_after(past.phase, usual, look.mode, scales=scales, healthy=look.healthy, reached=reached)


def _bounds(
    look: TortoiseLook, past: TortoiseState, slot: SlotBounds | None, phase: str, own: TortoiseSettings
) -> tuple[int, int] | None:
    """The bounds of the HPA; None if it stays as it is."""
    learned = SlotRange(NONE, NONE, NONE, NONE)
    if slot is not None:
        learned = SlotRange(slot.low, slot.held, slot.raised, slot.ceiling)
    written = NONE if look.written is None else without_planned(look.written[0], past.low, past.planned)
    before, unknown, factor = code_of(past.phase), look.needs.reason is not None, own.replica_reduction_factor
    counts = (look.replicas, look.counts.least, look.counts.most)
    made = hpa_bounds(code_of(phase), before, unknown, learned, past.low, written, look.named, *counts, factor)
    return None if made[0] == NONE else made


def _planned(
    look: TortoiseLook,
    past: TortoiseState,
    bounds: tuple[int, int] | None,
    slot: SlotBounds | None,
    own: TortoiseSettings,
) -> tuple[int, int, tuple[int, int] | None]:
    """The minimum without and with what is planned for now, and the bounds; None if the HPA stays as it is."""
    made = with_planned(
        *(bounds or (NONE, NONE)),
        *(look.written or (NONE, NONE)),
        past.low,
        past.planned,
        look.planned,
        unlearned_emergency(look) or 0,
        look.counts.most,
        look.counts.most if slot is None else slot.ceiling,
        own.max_replicas_multiplier,
    )
    return made.low, made.least, None if made.first == NONE else (made.first, made.last)


def unlearned_emergency(look: TortoiseLook) -> int | None:
    """The minimum in an emergency while no bounds are learned: the maximum of a named HPA; else None.

    The maximum of its own HPA is the administrator's then, which may be a hundred times what is needed.
    """
    if look.mode != EMERGENCY or look.written is None or not look.named:
        return None
    return min(look.written[1], look.counts.most)


def sized(look: TortoiseLook, found: Tuned, count: int, last_shrink: float | None, own: TortoiseSettings) -> TunedSizes:
    """The size of each place at this count."""
    resources = _resources(look, found.past)
    wanted: dict[Place, int] = {}
    several, emergency = len(look.horizontal) > 1, found.phase == IN_EMERGENCY or look.mode == EMERGENCY
    settled = settled_count(resources, count, look.counts)
    for one in resources:
        name, resource = one.place
        if not count:
            continue
        if found.phases[name][resource] != WORKING:
            # Nothing is known yet but what is planned for now.
            wanted[one.place] = max(one.size, min(look.planned_sizes.get(one.place, 0), one.most))
            continue
        if look.policies[name][resource] == VERTICAL:
            wanted[one.place] = vertical_size(one, own, emergency=emergency)
        else:
            wanted[one.place] = horizontal_size(one, settled, look.counts, own, several=several)
    rises = {one.place for one in resources if wanted.get(one.place, one.size) > one.size}
    falling = [one for one in resources if wanted.get(one.place, one.size) < one.size]
    falls = {one.place for one in falling}
    waits = False
    is_worth = any(is_worth_a_shrink(wanted[one.place], one.size, one.most) for one in falling)
    # Pods do not shrink for little, nor while others grow, nor in an emergency, nor too often.
    if is_worth and not rises and found.phase not in {IN_EMERGENCY, BACK_TO_NORMAL}:
        waits = not may_shrink(own.shrinks_per_day, -inf if last_shrink is None else last_shrink, look.now)
        falls = falls if waits else set()
    wanted = {place: amount for place, amount in wanted.items() if place not in falls}
    grows = any(look.policies[name][resource] == HORIZONTAL for name, resource in rises)
    return TunedSizes(resources, wanted, grows, waits)


def left_behind(phases: PhaseTable, sizes: Mapping[Place, int], least: Mapping[Place, int]) -> tuple[Place, ...]:
    """The places in which some pods have less than the largest: an earlier change was not completed."""
    return tuple([place for place, size in sizes.items() if size > least[place] and _works(phases, place)])


def _works(phases: PhaseTable, place: Place) -> bool:
    container, resource = place
    return phases.get(container, {}).get(resource) == WORKING


def _resources(look: TortoiseLook, past: TortoiseState | None) -> tuple[SizedResource, ...]:
    learned = {} if past is None else {each.place: each for each in past.learned}
    made = []
    for name, words in look.policies.items():
        for resource, word in words.items():
            place = (name, resource)
            size = look.sizes.get(place)
            if word == OFF or not size:
                continue
            known = learned.get(key_of(place))
            highest = 0 if known is None else amount_of(resource, known.last_peak(look.now))
            target = past.targets.get(key_of(place), FIRST_TARGET) if past is not None else FIRST_TARGET
            total = look.needs.totals.get(place) if word == HORIZONTAL else None
            made.append(SizedResource(place, size, *look.ranges[place], look.used.get(place), total, highest, target))
    return tuple(made)
