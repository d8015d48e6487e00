"""The decision of a WatermarkPodAutoscaler in plain numbers: the rules of `core`, as in `policy.horizontal.wpa`."""

from math import inf
from typing import Any, NamedTuple

from hypot.core.replicas.bounds import limit_by_percent
from hypot.core.replicas.watermark import NO_COUNT, Side, count_in_band
from hypot.core.replicas.window import GOES, forced_into, seconds_left, waits_for
from hypot.replay.world.cohorts import CREATING, PENDING, READY_STATES, SERVING, Cohorts
from hypot.replay.world.lifecycle import alive
from hypot.replay.world.params import Params
from hypot.replay.world.signals import cpu_sample, is_sampled, memory_sample, total_value
from hypot.replay.world.site import Site

CPU, MEMORY, EXTERNAL = range(3)
FAILED = -1


class WpaRule(NamedTuple):
    """A WatermarkPodAutoscaler as plain numbers: marks and tolerance in milli-units, factors in milli-percent."""

    # The number of metrics, and the source of each.
    metrics: int
    sources: Any
    signals: Any
    highs: Any
    lows: Any
    singles: Any
    averaged: bool
    tolerance: int
    modulo: int
    towards: int
    low: int
    high: int
    up_factor: int
    down_factor: int
    up_forbidden_window: float
    down_forbidden_window: float
    up_delay: int
    down_delay: int
    readiness_delay: float
    min_available: int
    tolerate_zero: bool


class WpaColumns(NamedTuple):
    """Its state, and what its last decision observed; each column has one element."""

    # When it last moved (-inf: never), and since when a value is beyond each mark (inf: it is not).
    last_scale: Any
    above_since: Any
    below_since: Any
    # The first metric's value, for all pods together if it is an average; the proposal; and for how long windows still
    # forbid moves up and down.
    value: Any
    proposal: Any
    wait_up: Any
    wait_down: Any
    # Scratch: the side and replicas of every metric, and how many pods counted.
    sides: Any
    counts: Any
    readies: Any


def no_marks(metrics: int) -> WpaColumns:
    return WpaColumns([-inf], [inf], [inf], [0.0], [0], [0.0], [0.0], [0] * metrics, [0] * metrics, [0] * metrics)


def wpa_step(rule: WpaRule, marks: WpaColumns, c: Cohorts, s: Site, p: Params, i: int, now: float) -> int:
    """The desired replicas, as observed after tick `i`."""
    current = s.asked[0]
    best, ready, stable = look(rule, marks, c, s, p, i, now)
    wait(rule, marks, now)
    if best != FAILED:
        note_sides(rule, marks, now)
    if current > rule.high or current < rule.low:
        return forced_into(current, rule.low, rule.high)
    if best == FAILED:
        marks.proposal[0] = current
        return int(current)
    marks.proposal[0] = best
    if best == current > 0:
        return int(current)
    wanted = limit_by_percent(current, best, ready, rule.low, rule.high, rule.up_factor, rule.down_factor)[0]
    return wanted if opens(rule, marks, wanted, current, stable, now) else int(current)


def look(rule: WpaRule, marks: WpaColumns, c: Cohorts, s: Site, p: Params, i: int, now: float) -> tuple[int, int, bool]:
    """The largest proposal, how many pods counted for it, and whether every metric is between its marks."""
    current, n = s.asked[0], rule.metrics
    stable = True
    for m in range(n):
        read(rule, marks, m, c, s, p, i, now)
        if marks.counts[m] == FAILED:
            return FAILED, 0, False
        stable = stable and marks.sides[m] == Side.WITHIN
    best, ready = FAILED, 0
    for m in range(n):
        count = marks.counts[m]
        if not stable and marks.sides[m] == Side.WITHIN:
            # A step inside the band only counts while every metric is inside.
            count = current
        if count > best:
            best, ready = count, marks.readies[m]
        elif count == best:
            ready = min(ready, marks.readies[m])
    return best, ready, stable


def read(rule: WpaRule, marks: WpaColumns, m: int, c: Cohorts, s: Site, p: Params, i: int, now: float) -> None:
    """Read one metric: its side, and the replicas it asks for."""
    current = s.asked[0]
    marks.counts[m] = FAILED
    if rule.sources[m] == EXTERNAL:
        ready = ready_pods(rule, c, now)
        usage = total_value(s, p, rule.signals[m], i)
    else:
        ready, usage = sampled_use(rule, rule.sources[m], c, p, i, now)
    if ready == 0:
        return
    marks.readies[m] = ready
    if m == 0:
        marks.value[0] = usage
    if rule.sources[m] == EXTERNAL and usage == 0 and not rule.tolerate_zero:
        marks.sides[m], marks.counts[m] = Side.WITHIN.value, current
        return
    side, count = count_in_band(
        usage,
        ready,
        rule.averaged,
        rule.highs[m],
        rule.lows[m],
        rule.singles[m],
        rule.tolerance,
        rule.modulo,
        rule.towards,
        rule.low,
        rule.high,
        current,
    )
    marks.sides[m] = side.value
    if count != NO_COUNT:
        marks.counts[m] = count


def ready_pods(rule: WpaRule, c: Cohorts, now: float) -> int:
    """Pods that serve, and pending pods whose readiness changed a moment ago; 0 if too few are available."""
    ready = total = 0
    for k in range(c.used[0]):
        total += c.count[k]
        pending = c.life[k] == CREATING and now - c.changed[k] < rule.readiness_delay
        if c.life[k] == SERVING or pending:
            ready += c.count[k]
    if total == 0 or 100 * ready < rule.min_available * total:
        return 0
    return min(ready, alive(c))


def sampled_use(rule: WpaRule, source: int, c: Cohorts, p: Params, i: int, now: float) -> tuple[int, int]:
    """How many pods' samples count, and their total usage; zero if too few are available."""
    ready = usage = total = 0
    for k in range(c.used[0]):
        life, count = c.life[k], c.count[k]
        if life in PENDING:
            continue
        sampled = is_sampled(c, p, k, now)
        serves = life in READY_STATES
        if sampled and source == CPU and (not serves or c.changed[k] < c.born[k] + rule.readiness_delay):
            continue
        total += count
        if not sampled:
            continue
        ready += count
        each = cpu_sample(c, p, k, i) if source == CPU else memory_sample(c, p, k, i) * 1000
        usage += count * each
    if total == 0 or 100 * ready < rule.min_available * total:
        return 0, 0
    return ready, usage


def note_sides(rule: WpaRule, marks: WpaColumns, now: float) -> None:
    above = below = False
    for m in range(rule.metrics):
        above = above or marks.sides[m] == Side.ABOVE
        below = below or marks.sides[m] == Side.BELOW
    marks.above_since[0] = min(marks.above_since[0], now) if above else inf
    marks.below_since[0] = min(marks.below_since[0], now) if below else inf


def wait(rule: WpaRule, marks: WpaColumns, now: float) -> None:
    """For how long windows still forbid a move; before the first move nothing waits."""
    last = marks.last_scale[0]
    marks.wait_up[0] = 0.0 if last == -inf else seconds_left(last, rule.up_forbidden_window, now)
    marks.wait_down[0] = 0.0 if last == -inf else seconds_left(last, rule.down_forbidden_window, now)


def opens(rule: WpaRule, marks: WpaColumns, wanted: int, current: int, stable: bool, now: float) -> bool:
    """Whether windows and delays allow this move now."""
    if wanted == current or marks.last_scale[0] == -inf:
        return True
    if wanted > current:
        return waits_for(marks.wait_up[0], stable, rule.up_delay, marks.above_since[0], now) == GOES
    return waits_for(marks.wait_down[0], stable, rule.down_delay, marks.below_since[0], now) == GOES
