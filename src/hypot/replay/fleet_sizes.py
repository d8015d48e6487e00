"""The ticks of one workload whose pods change their size: plain numbers throughout, compiled as it stands."""

from typing import Any

from hypot.replay.cohorts import Cohorts
from hypot.replay.fleet_loop import SPARE, is_blind, look_at_count, one_tick
from hypot.replay.params import Params
from hypot.replay.past import Past
from hypot.replay.plan import Plan, pursue_plan
from hypot.replay.quick_hpa import HpaRule
from hypot.replay.quick_hvpa import HvpaPast, HvpaRule, hvpa_act, hvpa_step, is_held
from hypot.replay.quick_vpa import Advice, VpaRule, size_new_pods, vpa_act, vpa_step
from hypot.replay.site import Site
from hypot.replay.tick import next_time
from hypot.replay.usage import EVERY, Usage, bound, observe

# Bytes of all pods together, of which percents are made in milli-units.
MOST_TOGETHER = 2**63 // 200_000


def vpa_loop(
    count_rule: HpaRule,
    past: Past,
    rule: VpaRule,
    a: Advice,
    u: Usage,
    c: Cohorts,
    s: Site,
    p: Params,
    rows: Any,
    load: Any,
    gaps: Any,
    start: float,
    every: float,
    in_place: bool,
    counts: bool,
    counts_first: bool,
) -> bool:
    """A VerticalPodAutoscaler, with an HPA before or after it, or without any."""
    due, size_due = start + every, start + EVERY
    for i in range(len(load[0])):
        if not one_tick(c, s, p, rows, i, load, start):
            return False
        now, slot = start + i * p.tick + p.tick, i % p.slots
        blind, looks = is_blind(gaps, now - start), counts and now >= due
        if looks:
            due = next_time(now, due, every)
        if looks and counts_first:
            look_at_count(count_rule, past, c, s, p, slot, now, blind)
        if now >= size_due:
            size_due = next_time(now, size_due, EVERY)
            observe(u, c, p, slot, now, blind)
            bound(u)
            taken = vpa_step(rule, a, u, c, s, now)
            size_new_pods(rule, a, s)
            if taken > 0 and not vpa_act(rule, a, c, s, p, in_place, now):
                return False
            if not fits(c, s):
                return False
        if looks and not counts_first:
            look_at_count(count_rule, past, c, s, p, slot, now, blind)
    return True


def hvpa_loop(
    rule: HvpaRule,
    past: HvpaPast,
    plan: Plan,
    u: Usage,
    c: Cohorts,
    s: Site,
    p: Params,
    rows: Any,
    load: Any,
    gaps: Any,
    start: float,
    every: float,
    in_place: bool,
) -> bool:
    """An Hvpa, and the plans that it makes."""
    due, size_due = start + every, start + EVERY
    if not fits(c, s):
        return False
    for i in range(len(load[0])):
        if not one_tick(c, s, p, rows, i, load, start):
            return False
        now = start + i * p.tick + p.tick
        blind = is_blind(gaps, now - start)
        if now >= size_due:
            size_due = next_time(now, size_due, EVERY)
            observe(u, c, p, i, now, blind)
        if now < due:
            continue
        due = next_time(now, due, every)
        moves = hvpa_step(rule, past, u, c, s, p, i, now, blind)
        if is_held(past, plan, moves):
            pursue_plan(plan, c, s, p, in_place, now)
        elif moves:
            hvpa_act(past, plan, c, s, p, in_place, now)
        else:
            continue
        if not fits(c, s):
            return False
    return True


def fits(c: Cohorts, s: Site) -> bool:
    """Whether there is room for the groups of the next tick, and no sum of all pods is beyond a whole number."""
    largest = max(s.template[0], s.template[1], s.template[2], s.template[3])
    for k in range(c.used[0]):
        largest = max(largest, c.next_cpu_limit[k], c.next_memory[k], c.next_memory_limit[k])
    return bool(c.used[0] <= len(c.count) - SPARE and largest < MOST_TOGETHER // max(1, s.asked[0]))
