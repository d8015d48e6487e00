"""Whether the point in two dimensions, replicas and size, was a sensible one."""

from collections.abc import Sequence
from math import inf, log
from typing import Any

import numpy as np

from hypot.replay.oracle import Reference, least_cores, pods_for_memory, useful_work
from hypot.replay.record import Floats, Run
from hypot.replay.score_columns import (
    HOUR,
    MINUTE,
    NOTHING,
    SAME,
    Bools,
    Ints,
    Moves,
    changes,
    most_behind,
    moves,
    ratio,
    stretches,
    sum_of_products,
    ticks_in,
    to_the_end,
    together,
)
from hypot.replay.score_effort import Asked
from hypot.replay.score_sums import Sums

# Less use than this is idle; this close to the cap is at it.
IDLE, AT_CAP = 0.2, 0.99
# What demand of this long ago may still explain a supply.
RECENT = 10 * MINUTE
# From the end of a run: how many ticks are looked at first, and how many times as many if that was not enough.
FIRST_LOOK, LOOK_FURTHER = 64, 8


def shape(run: Run, reference: Reference, asked: Asked, sums: Sums) -> dict[str, Any]:
    """The family of shape."""
    ticks, tick = run.ticks, run.world.tick
    return {
        "overshoot": _overshoot(run, reference),
        "shape": _shape_error(run, reference, asked),
        "horizontal": _horizontal(run),
        "paradox": len(
            together(_paradox(run, asked.cpu, ticks.size_cpu), _paradox(run, asked.memory, ticks.size_memory))
        ),
        "stuck": _stuck(run, reference) * tick / HOUR,
        "starving": _starving(run, asked, sums) * tick,
        "peak_pods": round(float(ticks.pods.max())),
    }


def path_dependence(totals: Sequence[float]) -> float:
    """How far apart the same recommendations end in other orders or timings; the first total is compared with."""
    return max((_distance(total, totals[0]) for total in totals), default=0.0)


def _distance(total: float, first: float) -> float:
    if total == first:
        return 0.0
    return abs(log(total / first)) if total > 0.0 and first > 0.0 else inf


def _shape_error(run: Run, reference: Reference, asked: Asked) -> float | None:
    """Against the cheapest shape that does the same work as the one asked for, not the work that came.

    What is asked for rarely changes, so each stretch of ticks is judged once.
    """
    ticks, world = run.ticks, run.world
    fewest = pods_for_memory(reference.held, world, reference.most_held)
    anew = asked.anew if fewest is None else together(asked.anew, changes(fewest))
    borders = np.concatenate(([0], anew + 1, [len(ticks.at)]))
    first, lasted = borders[:-1], (borders[1:] - borders[:-1]).astype(np.float64)
    replicas, cpu = ticks.replicas[first], ticks.size_cpu[first]
    work = useful_work(replicas, cpu, world)
    least = least_cores(work, None if fewest is None else fewest[first], world)
    some = (work > NOTHING) & (least > NOTHING)
    wasted = np.log(replicas[some] * cpu[some] / least[some])
    return ratio(sum_of_products(wasted, lasted[some]), float(lasted[some].sum()))


def _horizontal(run: Run) -> float | None:
    replicas, sizes = run.ticks.replicas, run.ticks.size_cpu
    before, after = float(replicas[0]), float(replicas[-1])
    total_before, total_after = before * float(sizes[0]), after * float(sizes[-1])
    if min(before, after, total_before, total_after) <= NOTHING:
        return None
    grown = log(total_after / total_before)
    return log(after / before) / grown if abs(grown) > SAME else None


def _paradox(run: Run, resized: Moves, sizes: Floats) -> Ints:
    """The steps in which the total moved one way and the size of a pod the other."""
    at = resized.at
    if not len(at):
        return at
    before, after = run.ticks.replicas[at] * sizes[at], run.ticks.replicas[at + 1] * sizes[at + 1]
    against = (before - after) * resized.way
    return at[against > SAME * np.maximum(before, after)]


def _stuck(run: Run, reference: Reference) -> int:
    """For how many ticks up to the end little of what is paid for is used, though the reference has a smaller shape.

    Looked for from the end on, further back only as long as all of it is stuck.
    """
    ticks, length, seen = run.ticks, len(run.ticks.at), FIRST_LOOK
    while True:
        last = slice(max(0, length - seen), length)
        paid = ticks.cpu[last]
        stuck = (ticks.used_cpu[last] < IDLE * paid) & (reference.total[last] < paid * (1.0 - SAME))
        lasted = to_the_end(stuck)
        if lasted < seen or seen >= length:
            return lasted
        seen *= LOOK_FURTHER


def _starving(run: Run, asked: Asked, sums: Sums) -> float:
    """The longest time, in ticks, for which pods that serve used all they can get and nobody did anything."""
    ticks = run.ticks
    pinned = (ticks.used_cpu >= AT_CAP * ticks.cap_cpu).nonzero()[0]
    pinned = pinned[ticks.cap_cpu[pinned] > NOTHING]
    return float(stretches(pinned, _acted(run, asked, sums)).max(initial=0))


def _acted(run: Run, asked: Asked, sums: Sums) -> Bools:
    """Where replicas or size were changed, or a pod was evicted for it."""
    acted = run.ticks.evicted > 0.0 if sums.evicted > 0.0 else np.zeros(len(run.ticks.at), dtype=np.bool_)
    for moved in asked.moved:
        acted[moved.at + 1] = True
    return acted


def _overshoot(run: Run, reference: Reference) -> float | None:
    """The most supply in a tick in which it grew, over the largest demand of that tick and the 10 minutes before."""
    supply = run.ticks.ready_cpu
    supplied = moves(supply, changes(supply))
    grown = supplied.at[supplied.way > 0] + 1
    if not len(grown):
        return None
    recent = most_behind(reference.demand, ticks_in(RECENT, run.world.tick))[grown]
    some = recent > NOTHING
    return float((supply[grown][some] / recent[some]).max()) if some.any() else None
