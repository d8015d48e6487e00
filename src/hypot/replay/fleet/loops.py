"""The loop over the ticks of one workload, for each kind of policy: plain numbers throughout, compiled as written."""

from typing import Any

from hypot.core.bank.rule import AutoscalerPast
from hypot.core.replicas.window import forced_into
from hypot.core.sizes.fit import LARGEST
from hypot.replay.numbers.autoscaler import AutoscalerNumbers, autoscaler_act, autoscaler_step
from hypot.replay.numbers.autoscaler import is_held as waits_for_plan
from hypot.replay.numbers.hpa import HpaRule, hpa_step, look_first, moved
from hypot.replay.numbers.hvpa import HvpaPast, HvpaRule, hvpa_act, hvpa_step, is_held
from hypot.replay.numbers.past import PastMoves
from hypot.replay.numbers.plan import NumericPlan, pursue_plan
from hypot.replay.numbers.price_record import PriceRecord, record_prices
from hypot.replay.numbers.tortoise import (
    TortoisePast,
    TortoiseRule,
    is_held_back,
    tortoise_act,
    tortoise_look,
    tortoise_size,
)
from hypot.replay.numbers.tortoise_hpa import HpaForm, decided_count, edit_hpa, follow_hpa, form_in_use
from hypot.replay.numbers.usage import EVERY, NumericUsage, bound, observe
from hypot.replay.numbers.vpa import Advice, VpaRule, size_new_pods, vpa_act, vpa_step
from hypot.replay.numbers.wpa import WpaColumns, WpaRule, wpa_step
from hypot.replay.world.cohorts import Cohorts
from hypot.replay.world.lifecycle import pass_time, scale_to
from hypot.replay.world.params import Params
from hypot.replay.world.site import Site
from hypot.replay.world.tick import live_through, next_time

# Groups of pods for which there must be room when a decision is made: what it may split off or create.
SPARE = 8
# From this on, a result does not fit into a 64-bit integer.
MOST_WHOLE = 9e18


def hpa_loop(
    rule: HpaRule,
    past: PastMoves,
    c: Cohorts,
    s: Site,
    p: Params,
    rows: Any,
    load: Any,
    gaps: Any,
    start: float,
    every: float,
) -> bool:
    """Run all ticks. False if there were more groups of pods at once than there is room for."""
    due = start + every
    for i in range(len(load[0])):
        if not one_tick(c, s, p, rows, i, load, start):
            return False
        now = start + i * p.tick + p.tick
        if now < due:
            continue
        due = next_time(now, due, every)
        look_at_count(rule, past, c, s, p, i, now, is_blind(gaps, now - start))
    return True


def look_at_count(
    rule: HpaRule, past: PastMoves, c: Cohorts, s: Site, p: Params, i: int, now: float, blind: bool
) -> None:
    """One decision of an HPA; without metrics only its bounds change replicas."""
    current = s.asked[0]
    if blind:
        look_first(past, current, now)
        desired = forced_into(current, rule.low, rule.high)
    else:
        desired = hpa_step(rule, past, c, s, p, i, now)
    if desired != current:
        moved(rule, past, current, desired, now)
        scale_to(c, s, p, desired, now)


def wpa_loop(
    rule: WpaRule,
    marks: WpaColumns,
    c: Cohorts,
    s: Site,
    p: Params,
    rows: Any,
    load: Any,
    gaps: Any,
    start: float,
    every: float,
) -> bool:
    """Run all ticks with a WPA."""
    due = start + every
    for i in range(len(load[0])):
        if not one_tick(c, s, p, rows, i, load, start):
            return False
        now = start + i * p.tick + p.tick
        if now < due:
            continue
        due = next_time(now, due, every)
        current = s.asked[0]
        if is_blind(gaps, now - start):
            desired = forced_into(current, rule.low, rule.high)
        else:
            desired = wpa_step(rule, marks, c, s, p, i, now)
        if desired != current:
            marks.last_scale[0] = now
            scale_to(c, s, p, desired, now)
    return True


def static_loop(c: Cohorts, s: Site, p: Params, rows: Any, load: Any, start: float) -> bool:
    """Run all ticks without an autoscaler."""
    for i in range(len(load[0])):  # noqa: SIM110  a generator cannot be compiled
        if not one_tick(c, s, p, rows, i, load, start):
            return False
    return True


def one_tick(c: Cohorts, s: Site, p: Params, rows: Any, i: int, load: Any, start: float) -> bool:
    """Run one tick; the load has three columns: work, efficiency and memory."""
    at = start + i * p.tick
    if at >= s.due[0] or c.used[0] > 1:
        pass_time(c, s, p, at)
    live_through(c, s, p, rows, i, at, load[0][i], load[1][i], load[2][i])
    return bool(c.used[0] <= len(c.count) - SPARE)


def is_blind(gaps: Any, since: float) -> bool:
    """Whether there are no metrics this long after the start."""
    for i in range(len(gaps)):  # noqa: SIM110  a generator cannot be compiled
        if gaps[i, 0] <= since < gaps[i, 1]:
            return True
    return False


def fits_already(c: Cohorts, _slots: int, more: int) -> bool:
    """Like `has_place`, for compiled columns, which cannot grow."""
    return bool(c.used[0] + more <= len(c.count))


def times_over_in_64_bits(amount: int, result: int, base: int) -> int:
    """`times_over` by long division with digits of 15 bits, for a base below 2**47; saturates at `LARGEST`."""
    if abs(float(amount) * float(result)) < MOST_WHOLE:
        return amount * result // base
    if abs(amount / base * result) >= MOST_WHOLE:
        return LARGEST if amount > 0 else -LARGEST
    left, over, made = amount % base, 0, 0
    for digit in range(3, -1, -1):
        over = over * 32768 + left * ((result >> (15 * digit)) & 32767)
        made = made * 32768 + over // base
        over = over % base
    return amount // base * result + made


def larger(one: Any, other: Any) -> Any:
    return max(one, other)


def smaller(one: Any, other: Any) -> Any:
    return min(one, other)


# The most bytes of all pods together; percentages are calculated from them in milli-units.
MOST_TOGETHER = 2**63 // 200_000


def vpa_loop(
    count_rule: HpaRule,
    past: PastMoves,
    rule: VpaRule,
    a: Advice,
    u: NumericUsage,
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
    """Run all ticks with a VPA, and with or without an HPA that decides before or after it."""
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
    plan: NumericPlan,
    u: NumericUsage,
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
    """Run all ticks with an Hvpa and the plans that it makes."""
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
        if is_held(rule, past, plan, moves):
            pursue_plan(plan, c, s, p, in_place, now)
        elif moves:
            hvpa_act(rule, past, plan, c, s, p, in_place, now)
        else:
            continue
        if not fits(c, s):
            return False
    return True


def tortoise_loop(
    rule: TortoiseRule,
    past: TortoisePast,
    found: HpaForm,
    made: HpaForm,
    moves: PastMoves,
    columns: HvpaPast,
    plan: NumericPlan,
    u: NumericUsage,
    c: Cohorts,
    s: Site,
    p: Params,
    rows: Any,
    load: Any,
    gaps: Any,
    start: float,
    every: float,
    in_place: bool,
    codes: Any,
    turns: Any,
) -> bool:
    """Run all ticks with a Tortoise, and with the controller of its HPA unless it decides the count too."""
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
        form = form_in_use(past, found, made)
        tortoise_look(rule, past, columns, codes, turns, form.hpa, u, c, s, p, i, now, blind)
        edit_hpa(rule, past, made)
        form = form_in_use(past, found, made)
        count = decided_count(rule, past, form, moves, c, s, p, i, now, blind)
        if not size_and_count(rule, past, form, moves, columns, plan, c, s, p, count, in_place, now):
            return False
        if past.exists[0] and not rule.decides:
            current, desired = s.asked[0], follow_hpa(past, form, moves, c, s, p, i, now, blind)
            if desired != current:
                moved(form.hpa, moves, current, desired, now)
                scale_to(c, s, p, desired, now)
    return True


def autoscaler_loop(
    of: AutoscalerNumbers,
    past: AutoscalerPast,
    columns: HvpaPast,
    plan: NumericPlan,
    priced: PriceRecord,
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
    """Run all ticks with an Autoscaler and the plans that it makes."""
    due = start + every
    if not fits(c, s):
        return False
    for i in range(len(load[0])):
        if not one_tick(c, s, p, rows, i, load, start):
            return False
        now = start + i * p.tick + p.tick
        if now < due:
            continue
        due = next_time(now, due, every)
        moves = autoscaler_step(of, past, columns, plan, c, s, p, i, now, is_blind(gaps, now - start)) and of.acts
        record_prices(priced, past, now)
        if waits_for_plan(of, columns, plan, moves):
            pursue_plan(plan, c, s, p, in_place, now)
        elif moves:
            autoscaler_act(columns, plan, c, s, p, in_place, now)
        else:
            continue
        if not fits(c, s):
            return False
    return True


def size_and_count(
    rule: TortoiseRule,
    past: TortoisePast,
    form: HpaForm,
    moves: PastMoves,
    columns: HvpaPast,
    plan: NumericPlan,
    c: Cohorts,
    s: Site,
    p: Params,
    count: int,
    in_place: bool,
    now: float,
) -> bool:
    """Carry out what a Tortoise decided. False if there is no room for the groups of pods."""
    current = s.asked[0]
    rescales = tortoise_size(rule, past, columns, current, count, now) and rule.acts
    if is_held_back(rule, columns, plan, rescales):
        pursue_plan(plan, c, s, p, in_place, now)
    elif rescales:
        tortoise_act(past, columns, plan, c, s, p, in_place, now)
        if rule.decides:
            moved(form.hpa, moves, current, count, now)
    else:
        return True
    return fits(c, s)


def fits(c: Cohorts, s: Site) -> bool:
    """Whether there is room for the groups of the next tick, and every sum over all pods fits into an integer."""
    largest = max(s.template[0], s.template[1], s.template[2], s.template[3])
    for k in range(c.used[0]):
        largest = max(largest, c.next_cpu_limit[k], c.next_memory[k], c.next_memory_limit[k])
    return bool(c.used[0] <= len(c.count) - SPARE and largest < MOST_TOGETHER // max(1, s.asked[0]))
