"""How much a policy moved, and what moving cost."""

from typing import Any, NamedTuple

import numpy as np

from hypot.replay.oracle import Reference
from hypot.replay.record import Floats, Run
from hypot.replay.score_columns import (
    DAY,
    FIVE_MINUTES,
    MINUTE,
    Bools,
    Signs,
    count,
    log_distance,
    moves,
    ratio,
    ticks_in,
    turns,
    window_means,
)

# A turn after a longer time follows the day, not a boundary.
SOON = 30 * MINUTE


class Asked(NamedTuple):
    """Which way what is asked for moved, from each tick to the next."""

    replicas: Signs
    cpu: Signs
    memory: Signs

    @property
    def resized(self) -> Bools:
        """Cpu and memory that change together are one change."""
        return np.logical_or(self.cpu, self.memory)


def asked_of(run: Run) -> Asked:
    return Asked(*(moves(column) for column in (run.ticks.replicas, run.ticks.size_cpu, run.ticks.size_memory)))


def effort(run: Run, reference: Reference, asked: Asked) -> dict[str, Any]:
    """The family of effort, by what was asked for; the first tick is where a run stands, not a change."""
    ticks, tick = run.ticks, run.world.tick
    days = len(ticks.at) * tick / DAY
    turned = np.logical_or.reduce([turns(direction, ticks_in(SOON, tick)) for direction in asked])
    return {
        "replica_changes": ratio(count(asked.replicas != 0), days),
        "size_changes": ratio(count(asked.resized), days),
        "restarts": ratio(float(ticks.evicted.sum()), days),
        "disruption": float(np.maximum(ticks.pods - ticks.ready, 0.0).sum()) * tick,
        "reversals": ratio(count(turned), days),
        "path": _path(run, reference.demand),
    }


def _path(run: Run, demand: Floats) -> float | None:
    """Movement for a unit of movement, on 5-minute means."""
    length = ticks_in(FIVE_MINUTES, run.world.tick)
    supplied = log_distance(window_means(run.ticks.ready_cpu, length))
    return ratio(supplied, log_distance(window_means(demand, length)))
