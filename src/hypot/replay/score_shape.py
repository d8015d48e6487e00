"""Whether the point in two dimensions, replicas and size, was a sensible one."""

from collections.abc import Sequence
from math import inf, log
from typing import Any

import numpy as np

from hypot.replay.oracle import Reference, least_cores, pods_for_memory, useful_work
from hypot.replay.record import Floats
from hypot.replay.score_columns import HOUR, NOTHING, SAME, Bools, Signs, changes, count, ratio, sum_of_products
from hypot.replay.score_effort import Asked
from hypot.replay.tally import Account
from hypot.replay.world import World


def shape(account: Account, world: World, reference: Reference, asked: Asked) -> dict[str, Any]:
    """The family of shape."""
    t, tick = account.t, world.tick
    against = _against(asked, asked.cpu, asked.cpu_ways) | _against(asked, asked.memory, asked.memory_ways)
    return {
        "overshoot": float(t.overshoot[0]) if t.overshoot[0] >= 0.0 else None,
        "shape": _shape_error(account.ticks, world, reference, asked),
        "horizontal": _horizontal(asked),
        "paradox": count(against),
        "stuck": int(t.stuck[0]) * tick / HOUR,
        "starving": float(t.starving[0]) * tick,
        "peak_pods": round(float(t.peak[0])),
    }


def path_dependence(totals: Sequence[float]) -> float:
    """How far apart the same recommendations end in other orders or timings; the first total is compared with."""
    return max((_distance(total, totals[0]) for total in totals), default=0.0)


def _distance(total: float, first: float) -> float:
    if total == first:
        return 0.0
    return abs(log(total / first)) if total > 0.0 and first > 0.0 else inf


def _shape_error(ticks: int, world: World, reference: Reference, asked: Asked) -> float | None:
    """Against the cheapest shape that does the same work as the one asked for, not the work that came.

    What is asked for rarely changes, so each stretch of ticks is judged once.
    """
    fewest = pods_for_memory(reference.held, world, reference.most_held)
    first = asked.since if fewest is None else np.union1d(asked.since, changes(fewest) + 1)
    place = np.searchsorted(asked.since, first, "right") - 1
    lasted = np.diff(np.append(first, ticks)).astype(np.float64)
    replicas, cpu = asked.replicas[place], asked.cpu[place]
    work = useful_work(replicas, cpu, world)
    least = least_cores(work, None if fewest is None else fewest[first], world)
    some = (work > NOTHING) & (least > NOTHING)
    wasted = np.log(replicas[some] * cpu[some] / least[some])
    return ratio(sum_of_products(wasted, lasted[some]), float(lasted[some].sum()))


def _horizontal(asked: Asked) -> float | None:
    before, after = float(asked.replicas[0]), float(asked.replicas[-1])
    total_before, total_after = before * float(asked.cpu[0]), after * float(asked.cpu[-1])
    if min(before, after, total_before, total_after) <= NOTHING:
        return None
    grown = log(total_after / total_before)
    return log(after / before) / grown if abs(grown) > SAME else None


def _against(asked: Asked, sizes: Floats, way: Signs) -> Bools:
    """The changes in which the total moved one way and the size of a pod the other."""
    totals = asked.replicas * sizes
    before, after = totals[:-1], totals[1:]
    found: Bools = ((before - after) * way > SAME * np.maximum(before, after)) & (way != 0)
    return found
