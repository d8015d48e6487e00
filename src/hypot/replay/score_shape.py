"""Whether the point in two dimensions, replicas and size, was a sensible one."""

from collections.abc import Sequence
from math import inf, log
from typing import Any

import numpy as np

from hypot.replay.oracle import Reference, cheapest, useful_work
from hypot.replay.record import Floats, Run
from hypot.replay.score_columns import (
    HOUR,
    MINUTE,
    NOTHING,
    SAME,
    Bools,
    Signs,
    count,
    most_behind,
    moves,
    ratio,
    stretches,
    ticks_in,
    to_the_end,
)
from hypot.replay.score_effort import Asked

# Less use than this is idle; this close to the cap is at it.
IDLE, AT_CAP = 0.2, 0.99
# What demand of this long ago may still explain a supply.
RECENT = 10 * MINUTE


def shape(run: Run, reference: Reference, asked: Asked) -> dict[str, Any]:
    """The family of shape."""
    ticks, tick = run.ticks, run.world.tick
    cores = ticks.replicas * ticks.size_cpu
    paradox = _paradox(cores, asked.cpu) | _paradox(ticks.replicas * ticks.size_memory, asked.memory)
    return {
        "shape": _shape_error(run, reference),
        "horizontal": _horizontal(ticks.replicas, cores),
        "paradox": count(paradox),
        "stuck": to_the_end(_stuck(run, reference)) * tick / HOUR,
        "starving": float(stretches(_pinned(run), _acted(run, asked)).max(initial=0)) * tick,
        "overshoot": _overshoot(run, reference),
        "peak_pods": round(float(ticks.pods.max())),
    }


def path_dependence(totals: Sequence[float]) -> float:
    """How far apart the same recommendations end in other orders or timings; the first total is compared with."""
    return max((_distance(total, totals[0]) for total in totals), default=0.0)


def _distance(total: float, first: float) -> float:
    if total == first:
        return 0.0
    return abs(log(total / first)) if total > 0.0 and first > 0.0 else inf


def _shape_error(run: Run, reference: Reference) -> float | None:
    """Against the cheapest shape that does the same work as the one asked for, not the work that came."""
    asked = run.ticks.replicas * run.ticks.size_cpu
    work = useful_work(run.ticks.replicas, run.ticks.size_cpu, run.world)
    least = cheapest(work, reference.held, run.world)
    total = least.replicas * least.cpu
    some = (work > NOTHING) & (total > NOTHING)
    return ratio(float(np.log(asked[some] / total[some]).sum()), count(some))


def _horizontal(replicas: Floats, total: Floats) -> float | None:
    ends = (replicas[0], replicas[-1], total[0], total[-1])
    if min(ends) <= NOTHING:
        return None
    grown = log(total[-1] / total[0])
    return log(replicas[-1] / replicas[0]) / grown if abs(grown) > SAME else None


def _paradox(total: Floats, size: Signs) -> Bools:
    """Where the total moved one way and the size of a pod the other."""
    opposed: Bools = moves(total) * size < 0
    return opposed


def _stuck(run: Run, reference: Reference) -> Bools:
    """Where little of what is paid for is used, though the reference has a smaller shape for what comes."""
    paid = run.ticks.cpu
    return (run.ticks.used_cpu < IDLE * paid) & (reference.total < paid * (1.0 - SAME))


def _pinned(run: Run) -> Bools:
    """Where pods that serve use all they can get."""
    return (run.ticks.cap_cpu > NOTHING) & (run.ticks.used_cpu >= AT_CAP * run.ticks.cap_cpu)


def _acted(run: Run, asked: Asked) -> Bools:
    """Where replicas or size were changed, or a pod was evicted for it."""
    acted = run.ticks.evicted > 0.0
    acted[1:] |= asked.resized | (asked.replicas != 0)
    return acted


def _overshoot(run: Run, reference: Reference) -> float | None:
    """The most supply in a tick in which it grew, over the largest demand of that tick and the 10 minutes before."""
    recent = most_behind(reference.demand, ticks_in(RECENT, run.world.tick))
    grown = np.zeros(len(recent), dtype=np.bool_)
    grown[1:] = moves(run.ticks.ready_cpu) > 0.0
    grown &= recent > NOTHING
    return float((run.ticks.ready_cpu[grown] / recent[grown]).max()) if grown.any() else None
