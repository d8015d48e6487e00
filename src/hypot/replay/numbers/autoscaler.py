"""The decision of an Autoscaler in plain numbers: what is observed, from sums over groups, and what is carried out."""

from typing import NamedTuple

from hypot.core.axes.gate import UNSET
from hypot.core.axes.interval import whole_limit
from hypot.core.bank.decide import advise
from hypot.core.bank.observed import observed_of
from hypot.core.bank.rule import AutoscalerPast, AutoscalerRule, ObservedLoad
from hypot.replay.numbers.hvpa import record_current_size
from hypot.replay.numbers.hvpa_resolve import CPU, MEMORY, HvpaPast
from hypot.replay.numbers.plan import NumericPlan, begin_plan, is_bound
from hypot.replay.world.cohorts import SERVING, Cohorts
from hypot.replay.world.params import Params
from hypot.replay.world.signals import cpu_sample, is_sampled, memory_sample, pod_value
from hypot.replay.world.site import Site

NO_SIGNAL = -1


class AutoscalerNumbers(NamedTuple):
    """An Autoscaler as plain numbers: its rule, and the signals behind its metrics."""

    rule: AutoscalerRule
    requests: int
    late: int
    # Whether what it decides is carried out.
    acts: bool


def autoscaler_step(
    of: AutoscalerNumbers,
    past: AutoscalerPast,
    columns: HvpaPast,
    plan: NumericPlan,
    c: Cohorts,
    s: Site,
    p: Params,
    i: int,
    now: float,
    blind: bool,
) -> bool:
    """Whether anything should change, as observed after tick `i`; records the proposal."""
    current = s.asked[0]
    record_current_size(columns, c, s, current)
    columns.desired[0] = current
    columns.resizes[0] = 0
    if current == 0:
        return False
    advise(of.rule, past, look(of, columns, plan, c, s, p, i, now, blind), now)
    columns.desired[0] = past.proposal.replicas[0]
    cpu = past.proposal.cpu[0]
    if of.rule.sizes and cpu != columns.request[CPU]:
        columns.size[0] = cpu
        if columns.limit[CPU] >= 0:
            limit, base = columns.ratio_limit[CPU], columns.ratio_request[CPU]
            columns.size[2] = whole_limit(limit, base, cpu, UNSET, UNSET, current, of.rule.grain)
    lags = of.rule.sizes and columns.request[CPU] > columns.least[CPU]
    columns.resizes[0] = columns.size[0] != columns.request[CPU] or columns.size[2] != columns.limit[CPU] or lags
    return bool(columns.desired[0] != current or columns.resizes[0])


def look(
    of: AutoscalerNumbers,
    columns: HvpaPast,
    plan: NumericPlan,
    c: Cohorts,
    s: Site,
    p: Params,
    i: int,
    now: float,
    blind: bool,
) -> ObservedLoad:
    """What is observed: sums over the pods that served throughout the window of the samples."""
    pods = used = caps = requests = rate = late = ready = memory = memory_limits = 0
    limited = True
    for k in range(c.used[0]):
        if c.life[k] == SERVING:
            ready += c.count[k]
    oldest = now - p.lag - p.window + 1e-6
    if not blind:
        for settled in (True, False):
            for k in range(c.used[0]):
                if c.life[k] != SERVING or not is_sampled(c, p, k, now) or (settled and c.changed[k] > oldest):
                    continue
                count = c.count[k]
                pods += count
                used += count * cpu_sample(c, p, k, i)
                requests += count * c.cpu[k]
                memory += count * memory_sample(c, p, k, i)
                memory_limits += count * c.memory_limit[k]
                limited = limited and c.memory_limit[k] >= 0
                caps += count * (c.cpu_limit[k] if c.cpu_limit[k] >= 0 else c.cpu[k])
                if of.requests != NO_SIGNAL:
                    rate += count * pod_value(c, s, p, of.requests, k, i)
                if of.late != NO_SIGNAL:
                    late += count * pod_value(c, s, p, of.late, k, i)
            if pods > 0:
                break
    return observed_of(
        pods,
        used,
        requests,
        caps,
        rate if of.requests != NO_SIGNAL else -1,
        late if of.late != NO_SIGNAL else -1,
        now - p.lag,
        p.window,
        s.asked[0],
        ready,
        columns.request[CPU],
        columns.ratio_request[CPU],
        columns.ratio_limit[CPU],
        columns.request[MEMORY],
        memory,
        memory_limits if limited else 0,
        plan.restarted[0],
    )


def is_held(of: AutoscalerNumbers, columns: HvpaPast, plan: NumericPlan, moves: bool) -> bool:
    """Whether the decision waits for a plan in progress."""
    return is_bound(plan, columns.desired[0] if moves else 0, columns.size[0] if of.rule.sizes else 0, 0)


def autoscaler_act(
    columns: HvpaPast, plan: NumericPlan, c: Cohorts, s: Site, p: Params, in_place: bool, now: float
) -> None:
    """Carry out the decision, as far as possible at once."""
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
