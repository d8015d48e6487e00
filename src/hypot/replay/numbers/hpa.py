"""The decision of a HorizontalPodAutoscaler in plain numbers: the rules of `core`, as in `policy.horizontal.hpa`.

It gives only the desired replicas; the Decision that explains why is made where it changes something. A test checks
that both agree.
"""

from math import inf
from typing import Any, NamedTuple

from hypot.core.replicas.bounds import limit_by_doubling, limit_to_reach
from hypot.core.replicas.ratio import (
    assumed_usage,
    count_by_average,
    count_by_share,
    count_by_utilization,
    count_by_value,
    total_by_utilization,
)
from hypot.core.replicas.readiness import cpu_unready
from hypot.core.replicas.window import allowed_reach, envelope, forced_into, highest_recent
from hypot.policy.model.current_size import LONGEST_WAIT
from hypot.replay.numbers.past import PastMoves, is_steady, no_past, note, recommended
from hypot.replay.world.cohorts import NOT_READY, PENDING, STOPPING, WAITING, Cohorts
from hypot.replay.world.lifecycle import alive
from hypot.replay.world.params import Params
from hypot.replay.world.signals import cpu_sample, is_sampled, memory_sample, pod_value, ready_or_leaving, total_value
from hypot.replay.world.site import Site

UTILIZATION, AVERAGE, PODS, VALUE, SHARE = range(5)
CPU, MEMORY = range(2)
# No proposal: a metric that cannot be read.
FAILED = -1


class NumericPace(NamedTuple):
    """One direction of a behavior."""

    window: float
    disabled: bool
    least: bool
    # The number of policies, and the values of each.
    policies: int
    percents: Any
    values: Any
    periods: Any
    # For how long a move in this direction matters.
    longest: float


class HpaRule(NamedTuple):
    """A HorizontalPodAutoscaler as plain numbers; targets are percent or milli-units."""

    # The number of metrics, and the source of each.
    metrics: int
    sources: Any
    # The resource, or the signal behind a custom metric.
    subjects: Any
    targets: Any
    low: int
    high: int
    down: float
    up: float
    behavior: bool
    window: float
    pace_up: NumericPace
    pace_down: NumericPace
    factor: float
    floor: float
    cpu_period: float
    readiness_delay: float


def past_for(rule: HpaRule, every: float) -> PastMoves:
    """Room for everything that its windows and periods hold, with one decision every `every` seconds."""
    window = max(rule.pace_up.window, rule.pace_down.window) if rule.behavior else rule.window
    period = max(rule.pace_up.longest, rule.pace_down.longest)
    return no_past(int(window / every) + 4, int(period / every) + 4)


def hpa_step(rule: HpaRule, past: PastMoves, c: Cohorts, s: Site, p: Params, i: int, now: float) -> int:
    """The desired replicas, as observed after tick `i`; records the recommendation."""
    current = s.asked[0]
    look_first(past, current, now)
    best = FAILED if is_outside(current, rule.low, rule.high) else largest_proposal(rule, c, s, p, i, now)
    return count_for(rule, past, best, current, rule.low, rule.high, now)


def is_outside(current: int, low: int, high: int) -> bool:
    """Whether replicas are outside of the bounds: they change at once, without metrics."""
    return current > high or current < low


def count_for(rule: HpaRule, past: PastMoves, best: int, current: int, low: int, high: int, now: float) -> int:
    """The desired replicas for the largest proposal, within bounds that may change; only these act without one."""
    if best == FAILED:
        return forced_into(current, low, high)
    return restrain(rule, past, best, current, low, high, now)


def largest_proposal(rule: HpaRule, c: Cohorts, s: Site, p: Params, i: int, now: float) -> int:
    """The largest proposal of any metric; while one of them fails, only a proposal to scale up counts."""
    best, failed = FAILED, False
    for m in range(rule.metrics):
        proposal = propose(rule, m, c, s, p, i, now)
        failed = failed or proposal == FAILED
        best = max(best, proposal)
    return FAILED if failed and best < s.asked[0] else best


def look_first(past: PastMoves, current: int, now: float) -> None:
    """Record the replicas at the first look as the first recommendation, with or without metrics."""
    if past.used[0] == 0:
        recommended(past, current, now, now)


def propose(rule: HpaRule, m: int, c: Cohorts, s: Site, p: Params, i: int, now: float) -> int:
    source, subject, target = rule.sources[m], rule.subjects[m], rule.targets[m]
    current = s.asked[0]
    if source == VALUE:
        amount = total_value(s, p, subject, i)
        return count_by_value(amount, target, ready_or_leaving(c), current, rule.down, rule.up)
    if source == SHARE:
        return count_by_share(total_value(s, p, subject, i), target, alive(c), rule.down, rule.up)
    return propose_by_pods(rule, source, subject, target, c, s, p, i, now)


def propose_by_pods(
    rule: HpaRule, source: int, subject: int, target: int, c: Cohorts, s: Site, p: Params, i: int, now: float
) -> int:
    use = measure_pods(rule, source, subject, target, c, s, p, i, now)
    if use.samples == 0 or (source == UTILIZATION and use.asked == 0):
        return FAILED
    current = s.asked[0]
    if source == UTILIZATION:
        return count_by_utilization(
            use.used,
            use.asked,
            use.samples,
            use.samples,
            use.unready,
            use.unready_asked,
            use.missing,
            use.missing_asked,
            use.missing_assumed,
            target,
            current,
            rule.down,
            rule.up,
        )[0]
    return count_by_average(
        use.used, use.samples, use.samples, use.unready, use.missing, target, current, rule.down, rule.up
    )[0]


def total_of_utilization(rule: HpaRule, m: int, total: int, c: Cohorts, s: Site, p: Params, i: int, now: float) -> int:
    """The total request at which this utilization is exactly at its target, in milli-units, like `total`."""
    target = rule.targets[m]
    use = measure_pods(rule, UTILIZATION, rule.subjects[m], target, c, s, p, i, now)
    if use.samples == 0 or use.asked == 0:
        return FAILED
    return total_by_utilization(
        use.used,
        use.asked,
        use.unready,
        use.unready_asked,
        use.missing,
        use.missing_asked,
        use.missing_assumed + use.crashed_assumed,
        target,
        total,
    )


class PodUse(NamedTuple):
    """Usage and requests of the pods that count, and the pods without a usable sample, in milli-units."""

    used: int
    asked: int
    samples: int
    unready: int
    unready_asked: int
    missing: int
    missing_asked: int
    # What pods without a sample are assumed to use in a scale-down, and pods that crashed in addition to what they do.
    missing_assumed: int
    crashed_assumed: int
    # Pods without a usable sample that were created too long ago to be starting.
    late: int


def measure_pods(
    rule: HpaRule, source: int, subject: int, target: int, c: Cohorts, s: Site, p: Params, i: int, now: float
) -> PodUse:
    """Classify the groups by whether their sample is valid, and sum; requests are in milli-units, like usage."""
    used = asked = samples = unready = unready_asked = late = 0
    missing = missing_asked = missing_assumed = crashed_assumed = 0
    cpu, memory = source != PODS and subject == CPU, source != PODS and subject == MEMORY
    sampled_at = now - p.lag
    for k in range(c.used[0]):
        life, count = c.life[k], c.count[k]
        if life == STOPPING:
            continue
        # Utilisation refers to the request in the pod's spec, which a resize changes before it takes effect.
        request = c.next_cpu[k] if cpu else c.next_memory[k] * 1000
        if life in PENDING:
            unready += count
            unready_asked += count * request
            late += count if is_late(rule, c, k, now) else 0
            continue
        if not is_sampled(c, p, k, now):
            missing += count
            late += count if is_late(rule, c, k, now) else 0
            missing_asked += count * request
            missing_assumed += count * assumed_usage(request, target)
            continue
        is_false = life in NOT_READY
        if cpu and cpu_unready(
            is_false,
            c.changed[k],
            c.born[k],
            sampled_at,
            p.window,
            now,
            rule.cpu_period,
            rule.readiness_delay,
        ):
            unready += count
            unready_asked += count * request
            late += count if is_late(rule, c, k, now) else 0
            continue
        each = pod_value(c, s, p, subject, k, i) if source == PODS else 0
        if cpu:
            each = cpu_sample(c, p, k, i)
        elif memory:
            each = memory_sample(c, p, k, i) * 1000
        if now - c.killed_at[k] < LONGEST_WAIT:
            crashed_assumed += count * max(assumed_usage(request, target) - each, 0)
        used += count * each
        asked += count * request
        samples += count
    return PodUse(
        used, asked, samples, unready, unready_asked, missing, missing_asked, missing_assumed, crashed_assumed, late
    )


def is_late(rule: HpaRule, c: Cohorts, k: int, now: float) -> bool:
    """Whether the pods of a group should have a sample by now."""
    return bool(c.life[k] != WAITING and c.born[k] <= now - rule.cpu_period)


def restrain(rule: HpaRule, past: PastMoves, recommendation: int, current: int, low: int, high: int, now: float) -> int:
    """Stabilise, then limit; what is recorded is the recommendation before both."""
    if not rule.behavior:
        settled = highest_of(past, recommendation, now - rule.window)
        recommended(past, recommendation, now, now - rule.window)
        return limit_by_doubling(current, settled, low, high, rule.factor, rule.floor)[0]
    up, down = rule.pace_up, rule.pace_down
    lowest, highest = bounds_of(past, recommendation, now, up.window, down.window)
    settled = forced_into(current, lowest, highest)
    recommended(past, recommendation, now, now - max(up.window, down.window))
    if settled == current:
        return settled
    grows = settled > current
    reach = allowed(up if grows else down, past, current, now, grows)
    return limit_to_reach(current, settled, low, high, reach)[0]


def highest_of(past: PastMoves, recommendation: int, cutoff: float) -> int:
    if is_steady(past, recommendation, cutoff):
        return recommendation
    n = past.used[0]
    return highest_recent(recommendation, past.values[:n], past.times[:n], cutoff)


def bounds_of(
    past: PastMoves, recommendation: int, now: float, up_window: float, down_window: float
) -> tuple[int, int]:
    if is_steady(past, recommendation, now - max(up_window, down_window)):
        return recommendation, recommendation
    n = past.used[0]
    return envelope(recommendation, past.values[:n], past.times[:n], now, up_window, down_window)


def allowed(pace: NumericPace, past: PastMoves, current: int, now: float, grows: bool) -> int:
    if pace.disabled:
        return current
    ups, downs = past.ups_used[0], past.downs_used[0]
    return allowed_reach(
        current,
        grows,
        pace.least,
        pace.percents[: pace.policies],
        pace.values[: pace.policies],
        pace.periods[: pace.policies],
        past.ups[:ups],
        past.up_times[:ups],
        past.downs[:downs],
        past.down_times[:downs],
        -inf,
        now,
    )


def moved(rule: HpaRule, past: PastMoves, before: int, after: int, now: float) -> None:
    """Record a move, for the policies of a behavior."""
    if not rule.behavior or before == after:
        return
    if after > before:
        note(past.ups_used, past.ups, past.up_times, after - before, now, now - rule.pace_up.longest)
    else:
        note(past.downs_used, past.downs, past.down_times, before - after, now, now - rule.pace_down.longest)
