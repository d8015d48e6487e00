"""The families of scores: quality for users, cost and waste, how closely supply followed demand, how much changed."""

from collections.abc import Mapping, Sequence
from math import inf, log, prod
from typing import Any, NamedTuple

import numpy as np

from hypot.replay.score.columns import (
    DAY,
    HOUR,
    MINUTE,
    NOTHING,
    SAME,
    Bools,
    Ints,
    Moves,
    Signs,
    changes,
    count,
    percent,
    ratio,
    sum_of_products,
    ticks_in,
    together,
    turns,
    ways,
    weighted_percentile,
)
from hypot.replay.score.lower_bound import AllowedShapes, lower_bound
from hypot.replay.score.needed import Needed, cost_of_sums, least_cores, pods_for_memory, static_peak, useful_work
from hypot.replay.score.scorecard import Scores
from hypot.replay.score.sums import Means, Sums
from hypot.replay.score.tally import Account
from hypot.replay.world.parameters import World
from hypot.replay.world.record import CAPPED, KILLED, NODES, USED_CPU, USED_MEMORY, WORK, Floats

# A turn after more than this follows the daily pattern, not a boundary.
SOON = 30 * MINUTE


class Requested(NamedTuple):
    """What was requested from which tick on, one value per change; and the direction of each change."""

    since: Ints
    replicas: Floats
    cpu: Floats
    memory: Floats
    replica_ways: Signs
    cpu_ways: Signs
    memory_ways: Signs

    @property
    def moves(self) -> tuple[Moves, ...]:
        """The moves of each, at the ticks they led to."""
        found = (self.replica_ways, self.cpu_ways, self.memory_ways)
        return tuple([Moves(self.since[1:][way != 0], way[way != 0]) for way in found])


def requested_of(account: Account) -> Requested:
    kept, count = account.kept, account.t.asked[0]
    since = np.asarray(kept.since[:count])
    series = [np.asarray(column[:count]) for column in (kept.replicas, kept.cpu, kept.memory)]
    return Requested(since, *series, *(ways(values) for values in series))


def effort(account: Account, world: World, sums: Sums, means: Means, requested: Requested) -> dict[str, Any]:
    """The family of effort, from what was requested; the first tick is the start, not a change."""
    days = account.ticks * world.tick / DAY
    turned = together(*(turns(moved, ticks_in(SOON, world.tick)) for moved in requested.moves))
    supplied, wanted = means.distances()
    # Cpu and memory that change together are one change.
    resized = (requested.cpu_ways != 0) | (requested.memory_ways != 0)
    return {
        "replica_changes": ratio(count(requested.replica_ways != 0), days),
        "size_changes": ratio(count(resized), days),
        "restarts": ratio(sums.evicted, days),
        "disruption": sums.waiting * world.tick,
        "reversals": ratio(len(turned), days),
        "path": ratio(supplied, wanted),
    }


# Changes of a 5-minute mean by less than this share do not count.
DEAD_BAND = 0.01
# No term of a comparison counts more than this; otherwise a single zero would decide it.
MOST_TERM = 100.0


def elasticity(account: Account, means: Means, baseline: Scores | None) -> dict[str, Any]:
    """The family of elasticity; accuracy is defined only in ticks with demand."""
    t, length = account.t, account.ticks
    found: dict[str, Any] = {
        "under": percent(float(t.under[0]), int(t.counted_ticks[0])),
        "over": percent(float(t.over[0]), int(t.counted_ticks[0])),
        "over_supply": percent(float(t.over_supply[0]), length),
        "under_time": percent(int(t.under_ticks[0]), length),
        "over_time": percent(int(t.over_ticks[0]), length),
        "instability": _instability(means),
    }
    found["deviation"] = _deviation(found)
    found["speedup"] = speedup(found, baseline)
    return found


def _instability(means: Means) -> float | None:
    supplied, wanted = means.ways(DEAD_BAND)
    return percent(count(supplied != wanted), len(wanted))


def _deviation(found: dict[str, Any]) -> float | None:
    """A p-norm whose exponent is the number of terms, so that the worst term has the most weight."""
    terms = [found[name] for name in ("under", "over_supply", "under_time", "over_time", "instability")]
    if None in terms:
        return None
    return float(sum(term ** len(terms) for term in terms) ** (1.0 / len(terms)))


def speedup(found: Mapping[str, Any], baseline: Scores | None) -> float | None:
    """The geometric mean of how much better each of four scores is than in the baseline."""
    if baseline is None:
        return None
    names = ("under", "over", "under_time", "over_time")
    pairs = [(getattr(baseline, name), found[name]) for name in names]
    if any(None in pair for pair in pairs):
        return None
    return float(prod(_term(before, after) for before, after in pairs) ** (1.0 / len(pairs)))


def _term(before: float, after: float) -> float:
    """How much better; two values that are both zero are equal."""
    if before <= NOTHING and after <= NOTHING:
        return 1.0
    return min(max(before / max(after, NOTHING), 1.0 / MOST_TERM), MOST_TERM)


def money(account: Account, world: World, need: Needed, sums: Sums, requested: Requested) -> dict[str, Any]:
    """The family of costs. Without nodes there is no node cost; there is no cost relative to nothing."""
    hours = world.tick / HOUR
    nodes = float(account.t.sums[NODES])
    # A rounding error must not put a run below its bound.
    least = min(sums.cost, least_cost(account, world, need, sums, requested))
    return {
        "cost": sums.cost,
        "cpu_hours": sums.cpu * hours,
        "memory_hours": sums.memory * hours / 1e9,
        "node_cost": nodes * world.prices.node * hours if nodes > NOTHING else None,
        "lower_bound": least,
        "to_lower_bound": ratio(sums.cost, least),
        "to_static": ratio(sums.cost, static_peak(need, world).cost),
        "price": prices_at(sums, world, (1.0,))[0],
    }


def _allowed(account: Account, world: World, requested: Requested) -> AllowedShapes:
    """The shapes that the world allows, and those that the run had: pods may differ from what is requested."""
    shapes, t = world.shapes, account.t
    return AllowedShapes(
        min(shapes.min_replicas, round(float(requested.replicas.min()))),
        min(shapes.min_cpu, float(requested.cpu.min()), float(t.smallest[0])),
        max(shapes.max_cpu, float(requested.cpu.max()), float(t.largest[0])),
        min(shapes.min_memory, float(requested.memory.min()), float(t.least_memory[0])),
        float(t.burst[0]) or 1.0,
    )


def least_cost(account: Account, world: World, need: Needed, sums: Sums, requested: Requested) -> float:
    """The lower bound. Pods that were missing, and so were not paid for, count as the smallest ones."""
    shapes, absent = _allowed(account, world, requested), float(account.t.absent[0])
    unpaid = cost_of_sums(absent * shapes.smallest, absent * shapes.memory, world)
    return max(0.0, lower_bound(need.busy, need.efficiency, sums.late + sums.lost, shapes, world) - unpaid)


def prices_at(sums: Sums, world: World, factors: Sequence[float] = (0.1, 1.0, 10.0)) -> tuple[float, ...]:
    """The price of a run if a late or lost request costs each of these multiples of the world's price."""
    prices = world.prices
    each = prices.late * world.service.work * prices.cpu / HOUR
    pod_second = ratio(sums.cost, sums.pods * world.tick) or 0.0
    restarts = prices.restart * pod_second * sums.evicted
    harmed = sums.late + sums.lost
    return tuple(sums.cost + factor * each * harmed + restarts for factor in factors)


def quality(account: Account, world: World, sums: Sums) -> dict[str, Any]:
    """The family of quality. If no request arrived, every score is None."""
    if sums.came <= NOTHING:
        return {}
    t, kept, tick = account.t, account.kept, world.tick
    late, lost = percent(sums.late, sums.came), percent(sums.lost, sums.came)
    lasted = np.asarray(kept.stretches[: t.stretches[0]], dtype=np.int64)
    worst = float(t.worst[0])
    return {
        "late": late,
        "late_minutes": int(t.broken[0]) * tick / MINUTE,
        "lost": lost,
        "budget": ratio(((late or 0.0) + (lost or 0.0)) / 100.0, 1.0 - world.service.slo),
        "p99": _milliseconds(weighted_percentile(np.asarray(kept.p99), np.asarray(kept.requests), 0.99)),
        "worst_p99": _milliseconds(worst if worst >= 0.0 else None),
        "recovery": _median(lasted) * tick,
        "longest_recovery": float(lasted.max(initial=0)) * tick,
    }


def _median(lengths: Ints) -> float:
    if not len(lengths):
        return 0.0
    ordered = np.sort(lengths)
    return float(ordered[(len(ordered) - 1) // 2] + ordered[len(ordered) // 2]) / 2.0


def _milliseconds(seconds: float | None) -> float | None:
    return None if seconds is None else 1000.0 * seconds


def shape(account: Account, world: World, need: Needed, requested: Requested) -> dict[str, Any]:
    """The family of shape."""
    t, tick = account.t, world.tick
    sizes = ((requested.cpu, requested.cpu_ways), (requested.memory, requested.memory_ways))
    cpu, memory = (_against(requested, values, way) for values, way in sizes)
    return {
        "overshoot": float(t.overshoot[0]) if t.overshoot[0] >= 0.0 else None,
        "shape": _shape_error(account.ticks, world, need, requested),
        "horizontal": _horizontal(requested),
        "paradox": count(cpu | memory),
        "stuck": int(t.stuck[0]) * tick / HOUR,
        "starving": float(t.starving[0]) * tick,
        "peak_pods": round(float(t.peak[0])),
    }


def path_dependence(totals: Sequence[float]) -> float:
    """How far apart the same recommendations end in other orders or timings, compared with the first total."""
    return max((_distance(total, totals[0]) for total in totals), default=0.0)


def _distance(total: float, first: float) -> float:
    if total == first:
        return 0.0
    return abs(log(total / first)) if total > 0.0 and first > 0.0 else inf


def _shape_error(ticks: int, world: World, need: Needed, requested: Requested) -> float | None:
    """Compares with the cheapest shape for the work that the requested shape can do, not for the work that arrived.

    Requests rarely change, so each stretch of ticks is scored once.
    """
    fewest = pods_for_memory(need.held, world, need.most_held)
    first = requested.since if fewest is None else np.union1d(requested.since, changes(fewest) + 1)
    place = np.searchsorted(requested.since, first, "right") - 1
    lasted = np.diff(np.append(first, ticks)).astype(np.float64)
    replicas, cpu = requested.replicas[place], requested.cpu[place]
    work = useful_work(replicas, cpu, world)
    least = least_cores(work, None if fewest is None else fewest[first], world)
    some = (work > NOTHING) & (least > NOTHING)
    wasted = np.log(replicas[some] * cpu[some] / least[some])
    return ratio(sum_of_products(wasted, lasted[some]), float(lasted[some].sum()))


def _horizontal(requested: Requested) -> float | None:
    before, after = float(requested.replicas[0]), float(requested.replicas[-1])
    total_before, total_after = before * float(requested.cpu[0]), after * float(requested.cpu[-1])
    if min(before, after, total_before, total_after) <= NOTHING:
        return None
    grown = log(total_after / total_before)
    return log(after / before) / grown if abs(grown) > SAME else None


def _against(requested: Requested, sizes: Floats, way: Signs) -> Bools:
    """The changes in which the total moved in one direction and the size of a pod in the other."""
    totals = requested.replicas * sizes
    before, after = totals[:-1], totals[1:]
    found: Bools = ((before - after) * way > SAME * np.maximum(before, after)) & (way != 0)
    return found


# More than one kill per day for ten pods is bad.
BAD_KILLS = 0.1


def waste(account: Account, world: World, sums: Sums) -> dict[str, Any]:
    """The family of waste and harm. Pods that use more than their requests make slack negative."""
    of, length = account.t.sums, account.ticks
    kills = ratio(float(of[KILLED]), sums.pods * world.tick / DAY)
    idle_cpu = sums.cpu - float(of[USED_CPU])
    idle_memory = sums.memory - float(of[USED_MEMORY])
    return {
        "slack": percent(idle_cpu, sums.cpu),
        "slack_memory": percent(idle_memory, sums.memory),
        "idle_cores": idle_cpu / length,
        "idle_memory": idle_memory / length / 2**30,
        "throttled": percent(float(of[CAPPED]), sums.ready),
        "ooms": kills,
        "oom_bad": None if kills is None else kills > BAD_KILLS,
        "efficiency": percent(float(of[WORK]), sums.cpu),
    }
