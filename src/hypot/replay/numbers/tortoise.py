"""The decision of a Tortoise in plain numbers: the rules of `core` in the order of `policy.tortoise`.

It is for one container. What pods have, their saturation, the proposed size and when sizes last changed are in the
columns of an Hvpa. A test checks that both agree.
"""

from math import ceil, inf
from typing import Any, NamedTuple

from hypot.core.amount import MIB, round_up
from hypot.core.axes.shape import (
    UNKNOWN,
    Counts,
    count_of,
    is_short,
    is_worth_a_shrink,
    raised_limit,
    size_with_replicas,
)
from hypot.core.learning.bounds import (
    HELD,
    NONE,
    SlotRange,
    held_at,
    hpa_bounds,
    raised_to,
    why_not_held,
    with_planned,
    without_planned,
)
from hypot.core.learning.needs import (
    CRASH_LOOP,
    KNOWN,
    NO_PODS,
    SATURATED,
    UNMEASURED,
    are_crashing,
    counted_in,
    is_enough,
    needed_at,
    units_of,
)
from hypot.core.learning.phases import (
    GATHERING,
    IN_EMERGENCY,
    INITIALIZING,
    NO_PHASE,
    WORKING,
    is_unusual,
    next_phase,
    overall,
    stepped_back,
)
from hypot.core.learning.slots import UNKNOWN as NOT_COUNTED
from hypot.core.learning.slots import bounds_of, highest_near, is_left_out, last_peak, record, replicas_of, skip
from hypot.core.learning.target import average_of, next_target
from hypot.core.sizes.right_size import may_shrink, size_by_usage
from hypot.policy.model.current_size import LONGEST_WAIT
from hypot.replay.numbers.hpa import UTILIZATION, HpaRule, measure_pods
from hypot.replay.numbers.hvpa import detect_saturation, record_current_size, stay
from hypot.replay.numbers.hvpa_resolve import CPU, MEMORY, HvpaPast
from hypot.replay.numbers.plan import NumericPlan, begin_plan, is_bound
from hypot.replay.world.cohorts import READY_STATES, STOPPING, Cohorts
from hypot.replay.world.params import Params
from hypot.replay.world.site import Site

# What scales a resource.
OFF, HORIZONTAL, VERTICAL = range(3)
# The units of needs, and the grains of sizes: cpu, then memory.
UNITS = GRAINS = (1, MIB)


class TortoiseRule(NamedTuple):
    """A Tortoise as plain numbers, as it applies to one container; pairs are of cpu and memory."""

    # Whether its mode is Off, Auto or Emergency, whether it decides the count too, and whether it names an HPA.
    acts: bool
    automatic: bool
    emergency: bool
    decides: bool
    named: bool
    # What scales each resource, how many replicas follow, and whose size it may change.
    words: Any
    horizontals: int
    controlled: Any
    counts: Counts
    # How small and how large the requests may become.
    least: Any
    most: Any
    # How many slots there are, how many in a day, and for how long a resource is observed.
    slots: int
    per_day: int
    gathers_for: float
    low_factor: float
    high_factor: float
    most_low: int
    reduction: float
    grace: float
    # Targets: whether the formula is the published one, their bounds, their largest rise, and how often they change.
    plain: bool
    first_target: int
    low_target: int
    high_target: int
    most_up: int
    retargets_every: float
    buffer: float
    least_share: float
    shrinks: int
    limit_factors: Any
    least_limits: Any


class TortoisePast(NamedTuple):
    """Its state, its HPA, and the result of its last decision; columns have one element, or one per resource."""

    # The slot in progress: the most that was needed in it, how often that was known, and how often not.
    tally_turn: Any
    tally_slot: Any
    tally_needed: Any
    tally_counted: Any
    tally_missed: Any
    # Since when a resource is observed; infinite if it is not.
    since: Any
    targets: Any
    phase: Any
    retargeted: Any
    # The highest average utilization since then, in percent; below zero if it is unknown.
    busiest: Any
    low: Any
    planned: Any
    # Since when pods at the preferred count need more than they have; infinite if they do not.
    short_since: Any
    # The slot of now, the index of the next one, and what ended slots say: the need now, and the last peak.
    turn: Any
    slot: Any
    next: Any
    known: Any
    peak: Any
    # Whether there is an HPA, whether it was edited, its bounds, the targets that it got, and those that it has; 0 for
    # none. Its bounds are those that hypot decides by, if there is none for that reason.
    exists: Any
    edited: Any
    hpa_low: Any
    hpa_high: Any
    hpa_targets: Any
    there: Any
    # Since when the HPA cannot decide, whether it says that a metric of pods is missing, and whether it has any value.
    failing_since: Any
    lacks: Any
    shows: Any
    # Scratch: usage, needs and why there are none, the phase of each resource, the bounds that the HPA should get,
    # wanted sizes, and whether other pods get the size of the largest.
    used: Any
    total: Any
    reason: Any
    phases: Any
    first: Any
    last: Any
    wanted: Any
    catches_up: Any


def no_tortoise_past() -> TortoisePast:
    past = TortoisePast(*([0] for _ in TortoisePast._fields))
    return past._replace(
        tally_turn=[NONE, NONE],
        tally_slot=[NONE, NONE],
        tally_needed=[0, 0],
        tally_counted=[0, 0],
        tally_missed=[0, 0],
        since=[inf, inf],
        targets=[0, 0],
        phase=[NO_PHASE],
        retargeted=[-inf],
        busiest=[-1.0, -1.0],
        short_since=[inf],
        turn=[NONE],
        slot=[NONE],
        known=[0, 0],
        peak=[0, 0],
        hpa_targets=[0, 0],
        there=[0, 0],
        failing_since=[inf],
        used=[UNKNOWN, UNKNOWN],
        total=[UNKNOWN, UNKNOWN],
        reason=[KNOWN],
        phases=[NO_PHASE, NO_PHASE],
        first=[NONE],
        last=[NONE],
        wanted=[0, 0],
    )


def tortoise_look(
    rule: TortoiseRule,
    past: TortoisePast,
    columns: HvpaPast,
    codes: Any,
    turns: Any,
    hpa: HpaRule,
    u: Any,
    c: Cohorts,
    s: Site,
    p: Params,
    i: int,
    now: float,
    blind: bool,
) -> None:
    """Observe after tick `i`, learn, and decide what the HPA should have."""
    current = s.asked[0]
    record_current_size(columns, c, s, current)
    stay(columns, current)
    detect_saturation(columns, c, p, i, now, blind)
    for r in range(2):
        past.used[r] = u.target[r] if rule.words[r] != OFF and u.target[r] > 0 else UNKNOWN
        past.total[r] = UNKNOWN
        if rule.words[r] == HORIZONTAL and past.since[r] == inf:
            past.since[r] = now
    past.reason[0] = observe_needs(rule, past, columns, hpa, c, s, p, i, now, blind)
    if past.reason[0] != KNOWN:
        past.total[CPU] = past.total[MEMORY] = UNKNOWN
    note_busiest(past, columns, current)
    learn(rule, past, codes, turns, now)
    retarget(rule, past, columns, current, now)
    note_phases(rule, past, now)
    note_shortage(rule, past, columns, current, now)
    slot = range_of_slot(rule, past, columns, current, now)
    decide_bounds(rule, past, slot, current, now)


def observe_needs(
    rule: TortoiseRule,
    past: TortoisePast,
    columns: HvpaPast,
    hpa: HpaRule,
    c: Cohorts,
    s: Site,
    p: Params,
    i: int,
    now: float,
    blind: bool,
) -> int:
    """Record what is needed now, over all groups of pods; returns why that is unknown, or KNOWN."""
    if rule.horizontals == 0:
        return KNOWN
    unusable = look_at_pods(c, now)
    if unusable != KNOWN or blind:
        return UNMEASURED if unusable == KNOWN else unusable
    full = False
    for r in range(2):
        if rule.words[r] != HORIZONTAL:
            continue
        target = target_there(past, r)
        use = measure_pods(hpa, UTILIZATION, r, target, c, s, p, i, now)
        serving = use.samples + use.late
        if use.samples == 0 or use.asked == 0 or not is_enough(use.samples, serving):
            return UNMEASURED
        total = needed_at(use.used, use.samples, serving, target)
        past.total[r] = total if r == CPU else -(-total // 1000)
        full = full or columns.by_saturation[r] >= 0
    bounded = past.exists[0] or (rule.decides and rule.acts and past.hpa_high[0] > 0)
    most = past.hpa_high[0] if bounded else rule.counts.most
    return SATURATED if full and s.asked[0] >= most else KNOWN


def look_at_pods(c: Cohorts, now: float) -> int:
    """Why the usage of pods says nothing, or KNOWN."""
    pods = crashing = 0
    for k in range(c.used[0]):
        if c.life[k] != STOPPING:
            pods += c.count[k]
            if c.life[k] not in READY_STATES and now - c.killed_at[k] < LONGEST_WAIT:
                crashing += c.count[k]
    if pods == 0:
        return NO_PODS
    return CRASH_LOOP if are_crashing(crashing, pods) else KNOWN


def learn(rule: TortoiseRule, past: TortoisePast, codes: Any, turns: Any, now: float) -> None:
    """Add what is needed now; what ended slots say changes only when another slot begins."""
    n = past.next[0]
    while n < len(turns.times) and turns.times[n] <= now:
        n += 1
    past.next[0] = n
    turn, slot = turns.turns[n - 1], turns.slots[n - 1]
    begins = turn != past.turn[0] or slot != past.slot[0]
    past.turn[0], past.slot[0] = turn, slot
    for r in range(2):
        if rule.words[r] != HORIZONTAL:
            continue
        tally(rule, past, codes, r, turn, slot)
        if begins:
            past.known[r] = highest_near(codes[r], rule.slots, slot, rule.per_day)
            past.peak[r] = last_peak(codes[r], rule.slots, turn, slot)


def tally(rule: TortoiseRule, past: TortoisePast, codes: Any, r: int, turn: int, slot: int) -> None:
    """One observation. The first in a slot ends the slot before; while the clock is set back, nothing counts."""
    last_turn, last_slot = past.tally_turn[r], past.tally_slot[r]
    if turn < last_turn or (turn == last_turn and slot < last_slot):
        return
    if turn != last_turn or slot != last_slot:
        if last_turn != NONE:
            missed = is_left_out(past.tally_counted[r], past.tally_missed[r])
            record(codes[r], rule.slots, last_turn, last_slot, NOT_COUNTED if missed else past.tally_needed[r])
            skip(codes[r], rule.slots, last_turn * rule.slots + last_slot + 1, turn * rule.slots + slot)
        past.tally_turn[r], past.tally_slot[r] = turn, slot
        past.tally_needed[r] = past.tally_counted[r] = past.tally_missed[r] = 0
    if past.total[r] == UNKNOWN:
        past.tally_missed[r] += 1
        return
    past.tally_needed[r] = max(past.tally_needed[r], counted_in(past.total[r], UNITS[r]))
    past.tally_counted[r] += 1


def target_there(past: TortoisePast, r: int) -> int:
    """The target that usage is compared with: that of the HPA, else the one that was decided last."""
    return int(past.there[r] if past.there[r] > 0 else past.targets[r])


def note_busiest(past: TortoisePast, columns: HvpaPast, current: int) -> None:
    """The highest average utilization since the last update."""
    for r in range(2):
        if past.total[r] != UNKNOWN:
            average = average_of(past.total[r], current, columns.request[r], target_there(past, r))
            past.busiest[r] = max(past.busiest[r], average)


def retarget(rule: TortoiseRule, past: TortoisePast, columns: HvpaPast, current: int, now: float) -> None:
    """New targets, if it is time, for resources that were observed long enough."""
    if current >= rule.counts.most or is_unusual(past.phase[0]) or now - past.retargeted[0] < rule.retargets_every:
        return
    pods, made = rule.counts.least, False
    for r in range(2):
        if rule.words[r] == HORIZONTAL:
            pods = max(pods, replicas_of(last_need(past, r), columns.request[r], 1.0))
    pods = min(pods, rule.counts.most)
    for r in range(2):
        size, peak = columns.request[r], last_need(past, r)
        if rule.words[r] != HORIZONTAL or past.used[r] < 0 or now - past.since[r] < rule.gathers_for:
            continue
        if size < rule.most[r] and is_short(peak, rule.counts.preferred, size):
            # The preferred count of pods needs larger ones.
            continue
        if rule.acts and 0 < past.there[r] != past.targets[r] and now - past.retargeted[0] < 2 * rule.retargets_every:
            # The HPA gets back what was decided last.
            continue
        in_force = past.there[r] > 0 or (rule.decides and rule.acts)
        target = target_there(past, r) if in_force else rule.first_target
        past.targets[r] = next_target(
            target,
            past.used[r],
            size,
            max(past.busiest[r], 0.0),
            pods,
            rule.plain,
            rule.low_target,
            rule.high_target,
            rule.most_up,
        )
        made = True
    if made:
        past.retargeted[0], past.busiest[CPU], past.busiest[MEMORY] = now, -1.0, -1.0


def last_need(past: TortoisePast, r: int) -> int:
    """The most that was needed since each slot occurred last."""
    return int(max(past.peak[r], past.tally_needed[r]) * UNITS[r])


def note_phases(rule: TortoiseRule, past: TortoisePast, now: float) -> None:
    """The phase of each resource."""
    for r in range(2):
        ready = past.used[r] >= 0 if rule.words[r] == VERTICAL else now - past.since[r] >= rule.gathers_for
        past.phases[r] = NO_PHASE if rule.words[r] == OFF else WORKING if ready else GATHERING


def note_shortage(rule: TortoiseRule, past: TortoisePast, columns: HvpaPast, current: int, now: float) -> None:
    """Since when the preferred count of pods needs more than they have."""
    short = False
    for r in range(2):
        short = short or (past.total[r] >= 0 and is_short(past.total[r], current, columns.request[r]))
    if not short or current < rule.counts.preferred:
        past.short_since[0] = inf
    elif past.short_since[0] == inf:
        past.short_since[0] = now


def range_of_slot(rule: TortoiseRule, past: TortoisePast, columns: HvpaPast, current: int, now: float) -> SlotRange:
    """The bounds of the slot of now; NONE if they are unknown."""
    works, place, needed, pods = False, NONE, 0, 0.0
    for r in range(2):
        if rule.words[r] != HORIZONTAL:
            continue
        works = works or past.phases[r] == WORKING
        need = past.known[r]
        if past.tally_slot[r] == past.slot[0]:
            need = max(need, past.tally_needed[r])
        each = need / units_of(columns.request[r], UNITS[r])
        if each > pods:
            place, needed, pods = r, need, each
    if not works or place == NONE:
        return SlotRange(NONE, NONE, NONE, NONE)
    size, most = units_of(columns.request[place], UNITS[place]), rule.counts.most
    low, high = bounds_of(needed, size, rule.low_factor, rule.high_factor, rule.counts.least, rule.most_low, most)
    raised = high
    if past.reason[0] == SATURATED:
        raised = raised_to(high, current, rule.high_factor, most)
    ceiling = most_while_pods_grow(rule, past, columns, place, current, now)
    return SlotRange(low, max(min(raised, ceiling), low), raised, ceiling)


def most_while_pods_grow(
    rule: TortoiseRule, past: TortoisePast, columns: HvpaPast, learned: int, current: int, now: float
) -> int:
    """The most replicas while pods can grow instead, from the preferred count on."""
    preferred = rule.counts.preferred
    place, pods, saturated = learned, float(current), False
    for r in range(2):
        saturated = saturated or (rule.words[r] == HORIZONTAL and columns.by_saturation[r] >= 0)
    found = -1.0
    for r in range(2):
        if past.total[r] >= 0 and past.total[r] / columns.request[r] >= found:
            found = past.total[r] / columns.request[r]
            place, pods = r, found
    size, largest, short_for = columns.request[place], rule.most[place], now - past.short_since[0]
    if why_not_held(size, largest, False, saturated, current, preferred, short_for) != HELD:  # noqa: FBT003  compiled by place
        return rule.counts.most
    return held_at(preferred, current, ceil(pods))


def decide_bounds(rule: TortoiseRule, past: TortoisePast, slot: SlotRange, current: int, now: float) -> None:
    """The phase, and the bounds that the HPA should have; NONE if it stays as it is."""
    before, counts, written = past.phase[0], rule.counts, past.exists[0] != 0
    phases = (past.phases[CPU], past.phases[MEMORY])
    phase = overall(GATHERING in phases, WORKING in phases)
    past.first[0] = past.last[0] = NONE
    if rule.horizontals == 0:
        past.phase[0] = phase
        return
    if not written and rule.acts and not rule.decides and before == NO_PHASE:
        phase = INITIALIZING
    else:
        asked = rule.emergency or (rule.automatic and not rule.decides and misses_metrics(rule, past, now))
        reached = slot.low == NONE or stepped_back(past.low[0], rule.reduction) < slot.low
        phase = next_phase(before, phase, asked, slot.low != NONE, reached)
    low, high = (past.hpa_low[0], past.hpa_high[0]) if written else (NONE, NONE)
    unknown, most, last_low = past.reason[0] != KNOWN, counts.most, past.low[0]
    own_low = without_planned(low, last_low, past.planned[0])
    first, last = hpa_bounds(
        phase, before, unknown, slot, last_low, own_low, rule.named, current, counts.least, most, rule.reduction
    )
    in_emergency = min(high, most) if rule.emergency and written and rule.named else 0
    ceiling = most if slot.low == NONE else slot.ceiling
    made = with_planned(
        first, last, low, high, last_low, past.planned[0], 0, in_emergency, most, ceiling, rule.high_factor
    )
    past.phase[0], past.low[0] = phase, made.low
    past.planned[0] = made.least if made.least > made.low else 0
    past.first[0], past.last[0] = made.first, made.last


def misses_metrics(rule: TortoiseRule, past: TortoisePast, now: float) -> bool:
    """Whether the HPA has missed its metrics for too long, by its status."""
    return bool(past.lacks[0] and not past.shows[0] and now - past.failing_since[0] >= rule.grace)


def tortoise_size(
    rule: TortoiseRule, past: TortoisePast, columns: HvpaPast, current: int, count: int, now: float
) -> bool:
    """Whether anything should change at this count; records the proposal."""
    columns.desired[0] = count
    want_sizes(rule, past, columns, count, now)
    for r in range(2):
        if past.wanted[r] == columns.request[r]:
            continue
        columns.size[r] = round_up(past.wanted[r], GRAINS[r])
        if columns.limit[r] >= 0:
            columns.size[2 + r] = raised_limit(
                columns.ratio_limit[r],
                columns.ratio_request[r],
                columns.size[r],
                count,
                GRAINS[r],
                rule.limit_factors[r],
                rule.least_limits[r],
            )
    changed = lags = False
    for r in range(2):
        changed = changed or columns.size[r] != columns.request[r] or columns.size[2 + r] != columns.limit[r]
        # An earlier change was not completed: the others get the size of the largest pod.
        lags = lags or (columns.request[r] > columns.least[r] and past.phases[r] == WORKING)
    past.catches_up[0] = not changed and lags
    columns.resizes[0] = changed or lags
    return bool(count != current or columns.resizes[0])


def want_sizes(rule: TortoiseRule, past: TortoisePast, columns: HvpaPast, count: int, now: float) -> None:
    """The size of each resource at this count. Pods do not shrink for little, nor while they grow, nor too often."""
    settled, counts = settled_count(rule, past, columns, count), rule.counts
    emergency = past.phase[0] == IN_EMERGENCY or rule.emergency
    rises = is_worth = False
    for r in range(2):
        size, used, least, most = columns.request[r], past.used[r], rule.least[r], rule.most[r]
        wanted = size
        if past.phases[r] == WORKING and size > 0 and count > 0:
            if rule.words[r] == VERTICAL:
                wanted = size_by_usage(
                    size, used, least, most, rule.least_share, rule.buffer, rule.high_factor, emergency
                )
            else:
                wanted = size_with_replicas(
                    settled,
                    past.total[r],
                    used,
                    last_need(past, r),
                    past.targets[r],
                    size,
                    least,
                    most,
                    counts.least,
                    counts.preferred,
                    counts.most,
                    rule.least_share,
                    rule.horizontals > 1,
                )
        past.wanted[r] = wanted
        rises = rises or wanted > size
        is_worth = is_worth or (wanted < size and is_worth_a_shrink(wanted, size, most))
    shrinks = is_worth and not rises and not is_unusual(past.phase[0])
    if not shrinks or not may_shrink(rule.shrinks, columns.last_down[0], now):
        for r in range(2):
            past.wanted[r] = max(past.wanted[r], columns.request[r])


def settled_count(rule: TortoiseRule, past: TortoisePast, columns: HvpaPast, count: int) -> int:
    """The count to size pods for: not above the preferred one unless pods of their largest size need more."""
    counts, asked = rule.counts, NONE
    for r in range(2):
        size = columns.request[r]
        if count > counts.preferred and past.total[r] >= 0 and size > 0:
            own = count_of(
                past.total[r],
                count,
                size,
                rule.most[r],
                rule.least[r],
                counts.least,
                counts.preferred,
                counts.most,
            )
            asked = max(asked, own)
    return count if asked == NONE else min(count, max(counts.preferred, asked))


def is_held_back(rule: TortoiseRule, columns: HvpaPast, plan: NumericPlan, rescales: bool) -> bool:
    """Whether the decision waits for a plan in progress. A resource that it does not control does not count."""
    cpu = columns.size[0] if rule.controlled[CPU] else 0
    memory = columns.size[1] if rule.controlled[MEMORY] else 0
    return is_bound(plan, columns.desired[0] if rescales else 0, cpu, memory)


def tortoise_act(
    past: TortoisePast,
    columns: HvpaPast,
    plan: NumericPlan,
    c: Cohorts,
    s: Site,
    p: Params,
    in_place: bool,
    now: float,
) -> None:
    """Carry out the decision, as far as possible at once."""
    tortoise_moved(past, columns, now)
    begin_plan(
        plan,
        c,
        s,
        p,
        in_place,
        columns.desired[0],
        columns.size[0],
        columns.size[1],
        columns.size[2],
        columns.size[3],
        columns.request[CPU],
        columns.request[MEMORY],
        columns.resizes[0] != 0,
        now,
    )


def tortoise_moved(past: TortoisePast, columns: HvpaPast, now: float) -> None:
    """Record that the last decision was carried out; only a change of size counts."""
    if not columns.resizes[0]:
        return
    larger = columns.size[0] > columns.request[0] or columns.size[1] > columns.request[1]
    if larger or past.catches_up[0]:
        columns.last_up[0] = now
    else:
        columns.last_down[0] = now
