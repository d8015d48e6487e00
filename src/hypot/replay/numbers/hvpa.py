"""The decision of an Hvpa in plain numbers: the rules of `core` in the order of `policy.hvpa`, for one container.

It gives only the desired replicas and size. A test checks that both agree.
"""

from math import inf
from typing import Any

from hypot.core.axes.gate import (
    FREE,
    UNSET,
    averaged,
    belief,
    held_to,
    is_peak,
    lags_after_removal,
    learned_total,
    may_be_noise,
    needed_change,
    swings_after,
    without_noise,
)
from hypot.core.axes.saturation import beyond, fewest, is_at_cap, is_full, is_near, least_kept
from hypot.core.replicas.window import forced_into
from hypot.replay.numbers.hpa import FAILED, propose, total_of_utilization
from hypot.replay.numbers.hvpa_resolve import (
    CPU,
    MEMORY,
    HvpaPast,
    HvpaRule,
    ResourceRule,
    no_hvpa_past,
    resolve,
)
from hypot.replay.numbers.plan import NumericPlan, begin_plan, is_bound
from hypot.replay.world.cohorts import STOPPING, Cohorts
from hypot.replay.world.params import Params
from hypot.replay.world.signals import cpu_sample, is_sampled, memory_sample
from hypot.replay.world.site import Site
from hypot.replay.world.tick import cap_of

__all__ = ["HvpaPast", "HvpaRule", "ResourceRule", "hvpa_act", "hvpa_moved", "hvpa_step", "no_hvpa_past"]


def hvpa_step(
    rule: HvpaRule, past: HvpaPast, u: Any, c: Cohorts, s: Site, p: Params, i: int, now: float, blind: bool
) -> bool:
    """Whether anything should change, as observed after tick `i`; records the proposal and what was observed."""
    current = s.asked[0]
    recount(past, current, now)
    killed = record_current_size(past, c, s, current)
    stay(past, current)
    if current == 0:
        return False
    urgent = killed > (past.last_scale[0] if past.last_up[0] == -inf else past.last_up[0])
    hot = detect_saturation(past, c, p, i, now, blind)
    if past.fewest[0] > 0 and lags(rule, past, now):
        past.fewest[0] = current
    heard = False
    missing = False
    count = FAILED
    if rule.by_metrics:
        count, missing = ask_metrics(rule, past, c, s, p, i, now, blind)
        heard = count != FAILED or past.by_metrics[CPU] >= 0 or past.by_metrics[MEMORY] >= 0
    if rule.by_usage:
        known = ask_usage(rule, past, u, current, urgent, now)
        heard = heard or known
        missing = missing or not known
    if not heard and not hot:
        return False
    resolve(rule, past, current, count, missing, urgent, now)
    return conclude(rule, past, current)


def conclude(rule: HvpaRule, past: HvpaPast, current: int) -> bool:
    """Whether the proposal differs from the current state, and whether it scales anything up."""
    if past.resizes[0] == 0:
        # The size does not change.
        past.grows[0] = past.desired[0] > current
        return bool(past.desired[0] != current)
    past.resizes[0] = (
        past.size[0] != past.request[CPU]
        or past.size[1] != past.request[MEMORY]
        or past.size[2] != past.limit[CPU]
        or past.size[3] != past.limit[MEMORY]
    )
    larger = past.size[0] > past.request[CPU] or past.size[1] > past.request[MEMORY]
    if past.rises[0] and (is_behind(rule.cpu, past, CPU) or is_behind(rule.memory, past, MEMORY)):
        larger, past.resizes[0] = True, 1
    past.grows[0] = past.desired[0] > current or larger
    return bool(past.desired[0] != current or past.resizes[0])


def is_behind(of: ResourceRule, past: HvpaPast, r: int) -> bool:
    """Whether some pods lack what the largest pod has and all should have: an earlier move stopped half way."""
    return bool(of.controlled and past.size[r] >= past.request[r] > past.least[r])


def is_held(rule: HvpaRule, past: HvpaPast, plan: NumericPlan, moves: bool) -> bool:
    """Whether the decision waits for a plan in progress. A resource that it does not control does not count."""
    cpu = past.size[0] if rule.cpu.controlled else 0
    memory = past.size[1] if rule.memory.controlled else 0
    return is_bound(plan, past.desired[0] if moves else 0, cpu, memory)


def hvpa_act(
    rule: HvpaRule, past: HvpaPast, plan: NumericPlan, c: Cohorts, s: Site, p: Params, in_place: bool, now: float
) -> None:
    """Carry out the decision, as far as possible at once."""
    hvpa_moved(rule, past, plan, now)
    cpu, memory, cpu_limit, memory_limit = past.size[0], past.size[1], past.size[2], past.size[3]
    had_cpu, had_memory, resizes = past.request[CPU], past.request[MEMORY], past.resizes[0] != 0
    replicas = past.desired[0]
    begin_plan(
        plan,
        c,
        s,
        p,
        in_place,
        replicas,
        cpu,
        memory,
        cpu_limit,
        memory_limit,
        had_cpu,
        had_memory,
        resizes,
        now,
    )


def hvpa_moved(rule: HvpaRule, past: HvpaPast, plan: NumericPlan, now: float) -> None:
    """Record that the last decision was carried out."""
    past.last_scale[0] = now
    if past.grows[0]:
        past.swings[0] = swings_after(
            past.swings[0], past.last_up[0], past.last_down[0], plan.restarted[0], rule.wait_down, now
        )
        past.last_up[0] = now
    else:
        past.last_down[0] = now


def recount(past: HvpaPast, current: int, now: float) -> None:
    """Record a change of replicas, by any controller, with the sizes recommended before it; zero does not count."""
    before = past.replicas[0]
    if current in (0, before):
        return
    past.replicas[0] = current
    if before < 0:
        return
    past.recount_at[0] = now
    past.recount_before[0], past.recount_after[0] = before, current
    past.recount_advice[CPU], past.recount_advice[MEMORY] = past.advice[CPU], past.advice[MEMORY]


def record_current_size(past: HvpaPast, c: Cohorts, s: Site, current: int) -> float:
    """Record the size of the largest pod, the smallest and all; returns the last kill of a pod with the most memory."""
    cpu = cpu_limit = memory = memory_limit = least_cpu = least_memory = -1
    all_cpu = all_memory = pods = 0
    killed = -inf
    for k in range(c.used[0]):
        if c.life[k] == STOPPING:
            continue
        count = c.count[k]
        pods += count
        least_cpu = c.cpu[k] if least_cpu < 0 else min(least_cpu, c.cpu[k])
        least_memory = c.memory[k] if least_memory < 0 else min(least_memory, c.memory[k])
        all_cpu += count * c.cpu[k]
        all_memory += count * c.memory[k]
        if c.cpu[k] > cpu or (c.cpu[k] == cpu and c.cpu_limit[k] > cpu_limit):
            cpu, cpu_limit = c.cpu[k], c.cpu_limit[k]
        if c.memory[k] > memory:
            memory, memory_limit, killed = c.memory[k], c.memory_limit[k], c.killed_at[k]
        elif c.memory[k] == memory:
            memory_limit, killed = max(memory_limit, c.memory_limit[k]), max(killed, c.killed_at[k])
    if pods == 0:
        cpu, memory, cpu_limit, memory_limit = s.written[0], s.written[1], s.written[2], s.written[3]
        all_cpu, all_memory, pods = cpu, memory, 1
        least_cpu, least_memory = cpu, memory
    past.request[CPU], past.request[MEMORY] = cpu, memory
    past.limit[CPU], past.limit[MEMORY] = cpu_limit, memory_limit
    past.least[CPU], past.least[MEMORY] = least_cpu, least_memory
    past.size[0], past.size[1], past.size[2], past.size[3] = cpu, memory, cpu_limit, memory_limit
    for r in range(2):
        written = s.written[r] > 0 and s.written[2 + r] >= 0
        past.ratio_request[r] = s.written[r] if written else past.request[r]
        past.ratio_limit[r] = s.written[2 + r] if written else past.limit[r]
    if pods != current:
        # While pods start and stop, those that exist represent the others.
        all_cpu, all_memory = -(-all_cpu * current // pods), -(-all_memory * current // pods)
    past.current_total[CPU], past.current_total[MEMORY] = all_cpu, all_memory
    return killed


def stay(past: HvpaPast, current: int) -> None:
    """Reset: no source asks for anything yet, and the proposal is the current state."""
    past.desired[0] = current
    past.resizes[0] = past.grows[0] = past.rises[0] = past.fewest[0] = 0
    for r in range(2):
        past.by_usage[r] = past.by_metrics[r] = past.by_saturation[r] = past.total[r] = UNSET
        past.kept[r] = past.near[r] = 0
        past.bound[r] = FREE
        past.used[r] = 0.0


def ask_metrics(
    rule: HvpaRule, past: HvpaPast, c: Cohorts, s: Site, p: Params, i: int, now: float, blind: bool
) -> tuple[int, bool]:
    """The replicas that metrics without a total ask for, and whether any metric has no value."""
    if blind:
        return FAILED, True
    hpa = rule.hpa
    by_count = FAILED
    missing = False
    for m in range(hpa.metrics):
        by_total = rule.totals[m] and past.current_total[hpa.subjects[m]] > 0
        asked = ask_total(rule, past, m, c, s, p, i, now) if by_total else propose(hpa, m, c, s, p, i, now)
        if asked == FAILED:
            missing = True
        elif not by_total:
            by_count = max(by_count, forced_into(asked, hpa.low, hpa.high))
    calm(rule, rule.cpu, past, CPU, s.asked[0], now)
    calm(rule, rule.memory, past, MEMORY, s.asked[0], now)
    return by_count, missing


def ask_total(rule: HvpaRule, past: HvpaPast, m: int, c: Cohorts, s: Site, p: Params, i: int, now: float) -> int:
    """Record the total that a utilization asks for, and the usage that it stands for."""
    r = rule.hpa.subjects[m]
    unit = 1 if r == CPU else 1000
    total = total_of_utilization(rule.hpa, m, past.current_total[r] * unit, c, s, p, i, now)
    if total == FAILED:
        return FAILED
    total = -(-total // unit)
    if lags(rule, past, now):
        total = max(total, past.current_total[r])
    past.by_metrics[r] = max(past.by_metrics[r], total)
    past.used[r] = max(past.used[r], float(total) * rule.hpa.targets[m] / 100.0)
    return int(past.by_metrics[r])


def lags(rule: HvpaRule, past: HvpaPast, now: float) -> bool:
    """Whether samples may still be of the time before replicas were removed."""
    return lags_after_removal(past.recount_at[0], past.recount_before[0], past.recount_after[0], rule.settle, now)


def calm(rule: HvpaRule, of: ResourceRule, past: HvpaPast, r: int, replicas: int, now: float) -> None:
    """Take out of a total what does not last; idle pods keep the least that usage would give them."""
    total, used, had = past.by_metrics[r], past.used[r], past.current_total[r]
    if total < 0:
        return
    past.mean[r] = averaged(past.mean[r], past.mean_at[r], total, rule.wait_down, now)
    past.mean_at[r] = now
    if is_peak(used, past.peak[r], past.peak_at[r], rule.wait_down, now):
        past.peak[r], past.peak_at[r] = used, now
    needed = needed_change(of.up_value, of.up_percent, had, of.default_change)
    doubted = may_be_noise(past.last_down[0], rule.wait_down, now) and not past.near[r]
    kept = without_noise(total, used, past.mean[r], past.peak[r], had, needed, doubted)
    past.by_metrics[r] = max(kept, past.kept[r], of.floor * replicas)


def ask_usage(rule: HvpaRule, past: HvpaPast, u: Any, current: int, urgent: bool, now: float) -> bool:
    """The total that pod usage asks for; false if nothing was measured yet."""
    ask_resource(rule.cpu, past, CPU, int(u.target[CPU]), rule.settle, current, urgent, now)
    ask_resource(rule.memory, past, MEMORY, int(u.target[MEMORY]), rule.settle, current, urgent, now)
    if past.by_usage[CPU] < 0 and past.by_usage[MEMORY] < 0:
        return False
    for r in range(2):
        past.advice[r] = int(u.target[r]) if past.by_usage[r] >= 0 else UNSET
    return True


def ask_resource(
    of: ResourceRule, past: HvpaPast, r: int, amount: int, settle: float, current: int, urgent: bool, now: float
) -> None:
    if amount < 0 or not of.controlled:
        return
    at, then = past.recount_at[0], past.recount_advice[r]
    before, after = past.recount_before[0], past.recount_after[0]
    total = amount * current
    if at > -inf:
        past.bound[r] = belief(at, before, after, then, amount, settle, of.half_life, urgent, now)
        total = learned_total(amount, before, after, then, past.bound[r], r == CPU)
    past.by_usage[r] = max(held_to(total, past.current_total[r], past.bound[r]), past.kept[r])


def detect_saturation(past: HvpaPast, c: Cohorts, p: Params, i: int, now: float, blind: bool) -> bool:
    """Whether pods use everything they can get, in two samples; if so, records what to ask for.

    Also records the least totals that usage leaves.
    """
    used_cpu = used_memory = cpu = memory = most_cpu = most_memory = pods = 0
    for k in range(0 if blind else c.used[0]):
        if c.life[k] == STOPPING or not is_sampled(c, p, k, now):
            continue
        count = c.count[k]
        pods += count
        used_cpu += count * cpu_sample(c, p, k, i)
        used_memory += count * memory_sample(c, p, k, i)
        cpu += count * c.cpu[k]
        memory += count * c.memory[k]
        limit = c.cpu_limit[k]
        most_cpu += count * (limit if limit >= 0 else max(c.cpu[k], int(cap_of(c, p, k) * 1000)))
        limit = c.memory_limit[k]
        most_memory += count * (limit if limit >= 0 else max(c.memory[k], int(p.node_memory)))
    at = now - p.lag
    cpu_is_hot = pods > 0 and is_full(used_cpu, cpu) and most_cpu > 0 and is_at_cap(used_cpu, most_cpu)
    # Requests and usage are compared in milli-units, as they are observed.
    memory_is_hot = pods > 0 and is_full(used_memory * 1000, memory * 1000)
    memory_is_hot = memory_is_hot and most_memory > 0 and is_at_cap(used_memory, most_memory)
    if most_cpu > 0:
        past.near[CPU] = is_near(used_cpu, most_cpu)
        past.kept[CPU] = least_kept(past.current_total[CPU], used_cpu, most_cpu)
        past.fewest[0] = fewest(past.replicas[0], used_cpu, most_cpu)
    if most_memory > 0:
        past.near[MEMORY] = is_near(used_memory, most_memory)
        past.kept[MEMORY] = least_kept(past.current_total[MEMORY], used_memory, most_memory)
    twice = note_saturation(past, CPU, cpu_is_hot, most_cpu, at)
    return note_saturation(past, MEMORY, memory_is_hot, most_memory, at) or twice


def note_saturation(past: HvpaPast, r: int, is_hot: bool, cap: int, at: float) -> bool:
    """Record the first such sample; only a second one leads to a proposal."""
    if not is_hot:
        past.hot[r] = inf
        return False
    if past.hot[r] == inf:
        past.hot[r] = at
    if past.hot[r] >= at:
        return False
    past.by_saturation[r] = beyond(cap)
    return True
