"""The decision of a Tortoise by plain numbers: what it observes are sums over groups of pods, for one container.

What follows from that is decided by `policy.tortoise.tuning`, like everywhere else. A test checks that both agree.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from math import inf
from typing import NamedTuple

from hypot.core.amount import CPU, MEMORY, RESOURCES, round_up
from hypot.kinds.hpa import HPA
from hypot.kinds.tortoise import Tortoise
from hypot.kinds.tortoise.settings import TortoiseSettings
from hypot.kinds.tortoise.status import WORKING
from hypot.policy.model.current_size import LONGEST_WAIT
from hypot.policy.model.hpa_edit import HpaEdit
from hypot.policy.model.learned import SlotLayout
from hypot.policy.model.size import Place
from hypot.policy.model.tortoise_state import TortoiseState, key_of
from hypot.policy.tortoise.edited_hpa import UtilizationTarget, behavior_of, edited, new_hpa, targets_in
from hypot.policy.tortoise.needs import MeasuredUsage, Needs, needs_from
from hypot.policy.tortoise.phases import is_healthy
from hypot.policy.tortoise.policies import PolicyTable
from hypot.policy.tortoise.sizes import GRAINS, Counts, limit_for
from hypot.policy.tortoise.tuning import TortoiseLook, Tuned, begun, left_behind, sized, targets_of, tuned
from hypot.replay.numbers.hpa import UTILIZATION, HpaRule, measure_pods
from hypot.replay.numbers.hvpa import detect_saturation, no_hvpa_past, record_current_size, stay
from hypot.replay.numbers.hvpa_resolve import HvpaPast
from hypot.replay.numbers.usage import NumericUsage
from hypot.replay.world.cohorts import READY_STATES, STOPPING, Cohorts
from hypot.replay.world.params import Params
from hypot.replay.world.site import Site


class TortoiseRule(NamedTuple):
    """A Tortoise as it applies to one container."""

    tortoise: Tortoise
    own: TortoiseSettings
    container: str
    policies: PolicyTable
    horizontal: tuple[Place, ...]
    counts: Counts
    layout: SlotLayout
    ranges: Mapping[Place, tuple[int, int]]
    # Resources whose size it may change, and those that are not Off.
    controlled: tuple[str, ...]
    scaled: tuple[str, ...]
    # How pods are measured.
    measuring: HpaRule


@dataclass(slots=True)
class TortoisePast:
    """Its state, and the result of its last decision.

    What pods have, their saturation, the proposed size and when sizes last changed are in the columns of an Hvpa.
    """

    known: TortoiseState | None = None
    columns: HvpaPast = field(default_factory=no_hvpa_past)
    # The HPA as it is, and its targets.
    hpa: HPA | None = None
    targets: Mapping[Place, UtilizationTarget] = field(default_factory=dict)
    # The last look, what followed from it, and the state and the HPA before it.
    look: TortoiseLook | None = None
    found: Tuned | None = None
    before: TortoiseState | None = None
    hpa_before: HPA | None = None
    # Whether the others get the size of the largest pod.
    catches_up: bool = False

    def observe_hpa(self, hpa: HPA | None) -> None:
        if hpa is not self.hpa:
            self.hpa, self.targets = hpa, {} if hpa is None else targets_in(hpa)


def tortoise_look(
    rule: TortoiseRule,
    past: TortoisePast,
    u: NumericUsage,
    c: Cohorts,
    s: Site,
    p: Params,
    i: int,
    now: float,
    blind: bool,
) -> None:
    """Observe after tick `i`, learn, and decide what the HPA should have."""
    columns, current, own, hpa = past.columns, s.asked[0], rule.own, past.hpa
    record_current_size(columns, c, s, current)
    stay(columns, current)
    detect_saturation(columns, c, p, i, now, blind)
    places = [(rule.container, resource) for resource in RESOURCES]
    targets = targets_of(past.known, rule.horizontal, past.targets)
    saturated = [place for place, more in zip(places, columns.by_saturation, strict=True) if more >= 0]
    most = rule.counts.most if hpa is None or hpa.max_replicas is None else hpa.max_replicas
    used = dict(zip(RESOURCES, u.target, strict=True))
    decides = rule.tortoise.decides
    past.look = TortoiseLook(
        now,
        rule.tortoise.mode,
        decides,
        current,
        rule.counts,
        rule.policies,
        rule.horizontal,
        dict(zip(places, columns.request, strict=True)),
        rule.ranges,
        targets,
        needs(rule, targets, most, saturated, c, s, p, i, now, blind) if targets else Needs({}),
        {(rule.container, resource): used[resource] for resource in rule.scaled if used[resource] > 0},
        saturated,
        infeasible=False,
        written=None if hpa is None else (hpa.min_replicas or 1, hpa.max_replicas or 1),
        named=rule.tortoise.names_hpa,
        planned=0,
        healthy=decides or is_healthy(hpa, now, own.emergency_grace_period),
    )
    past.before, past.hpa_before = past.known, hpa
    past.found = tuned(past.look, begun(past.known, rule.layout, rule.horizontal, now), own)
    if past.found.past is not None:
        past.known = past.found.past


def needs(
    rule: TortoiseRule,
    targets: Mapping[Place, int],
    most: int,
    saturated: list[Place],
    c: Cohorts,
    s: Site,
    p: Params,
    i: int,
    now: float,
    blind: bool,
) -> Needs:
    """What is needed now, over all groups of pods."""
    pods = crashing = 0
    for k in range(c.used[0]):
        if c.life[k] != STOPPING:
            pods += c.count[k]
            if c.life[k] not in READY_STATES and now - c.killed_at[k] < LONGEST_WAIT:
                crashing += c.count[k]
    used: dict[Place, MeasuredUsage | str] = {}
    for place, target in targets.items():
        if blind:
            used[place] = "there are no metrics"
            continue
        use = measure_pods(rule.measuring, UTILIZATION, RESOURCES.index(place[1]), target, c, s, p, i, now)
        if use.samples == 0 or use.asked == 0:
            used[place] = "no pod has a usable sample"
        else:
            used[place] = MeasuredUsage(use.used, use.samples, use.late)
    return needs_from(pods, crashing, used, targets, s.asked[0], most, saturated)


# What an edit of the HPA sets: its bounds, and the target of each place; None if only its bounds change.
Edit = tuple[tuple[int, int], tuple[tuple[Place, int], ...] | None]


def edit_of(rule: TortoiseRule, past: TortoisePast) -> Edit | None:
    """What the HPA should have after the last look; None if it stays as it is, or replicas follow nothing."""
    found = past.found
    if found is None or found.past is None or found.bounds is None:
        return None
    if found.slot is None and past.hpa is not None:
        return found.bounds, None
    places = rule.horizontal
    if past.hpa is not None:
        places = tuple([place for place in places if found.phases[place[0]][place[1]] == WORKING])
    return found.bounds, tuple([(place, found.past.targets[key_of(place)]) for place in places])


def edited_by(rule: TortoiseRule, there: HPA | None, edit: Edit) -> HPA:
    """The HPA with this edit."""
    if there is not None and edit[1] is None:
        return HpaEdit(there.name, there, there).bounded(*edit[0]).after
    behavior = behavior_of(rule.tortoise, rule.own)
    return edited(there or new_hpa(rule.tortoise), *edit[0], dict(edit[1] or ()), rule.horizontal, behavior)


def tortoise_size(rule: TortoiseRule, past: TortoisePast, current: int, count: int) -> bool:
    """Whether anything should change at this count; records the proposal."""
    columns = past.columns
    if past.look is None or past.found is None:
        return False
    last = columns.last_down[0]
    made = sized(past.look, past.found, count, last if last > -inf else None, rule.own)
    columns.desired[0] = count
    for r, resource in enumerate((CPU, MEMORY)):
        amount = made.wanted.get((rule.container, resource), columns.request[r])
        if amount == columns.request[r]:
            continue
        columns.size[r] = round_up(amount, GRAINS[resource])
        if columns.limit[r] >= 0:
            base, limit = columns.ratio_request[r], columns.ratio_limit[r]
            columns.size[2 + r] = limit_for(resource, columns.size[r], base, limit, count, rule.own)
    changed = columns.size != [*columns.request, *columns.limit]
    least = {(rule.container, resource): columns.least[r] for r, resource in enumerate(RESOURCES)}
    past.catches_up = not changed and bool(left_behind(past.found.phases, past.look.sizes, least))
    columns.resizes[0] = int(changed or past.catches_up)
    return bool(count != current or columns.resizes[0])


def tortoise_moved(past: TortoisePast, now: float) -> None:
    """Record that the last decision was carried out; only a change of size counts."""
    columns = past.columns
    if columns.resizes[0]:
        larger = columns.size[0] > columns.request[0] or columns.size[1] > columns.request[1]
        grows = larger or past.catches_up
        (columns.last_up if grows else columns.last_down)[0] = now
