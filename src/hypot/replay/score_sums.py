"""What several families of scores are made of: sums over a run, and means of five minutes. Each is computed once."""

from typing import NamedTuple

import numpy as np

from hypot.replay.oracle import cost_of_sums
from hypot.replay.record import Floats, Run
from hypot.replay.score_columns import FIVE_MINUTES, NOTHING, SAME, sum_of_products, ticks_in, window_means


class Sums(NamedTuple):
    """Over all ticks of a run."""

    # What was requested, in cores and bytes, and what that cost.
    cpu: float
    memory: float
    cost: float
    # Pods that were paid for, that served, that were there and did not serve, and that were evicted for a new size.
    pods: float
    ready: float
    waiting: float
    evicted: float
    # Requests that came, came late, and were lost.
    came: float
    late: float
    lost: float


def sums_of(run: Run) -> Sums:
    ticks, tick = run.ticks, run.world.tick
    cpu, memory = float(ticks.cpu.sum()), float(ticks.memory.sum())
    waiting = ticks.pods - ticks.ready
    return Sums(
        cpu=cpu,
        memory=memory,
        cost=cost_of_sums(cpu, memory, run.world),
        pods=float(ticks.pods.sum()),
        ready=float(ticks.ready.sum()),
        waiting=float(np.maximum(waiting, 0.0, out=waiting).sum()),
        evicted=float(ticks.evicted.sum()),
        came=float(ticks.requests.sum()) * tick,
        late=sum_of_products(ticks.requests, ticks.late) * tick,
        lost=float(ticks.lost.sum()),
    )


class Means(NamedTuple):
    """Supply and demand, a row each, in windows of five minutes."""

    rows: Floats

    def ways(self, least: float) -> Floats:
        """From one to the next: up (1), down (-1) or the same (0); what is less than this share is the same."""
        before, after = self.rows[:, :-1], self.rows[:, 1:]
        step = after - before
        way = np.sign(step)
        way *= np.abs(step, out=step) > least * np.maximum(before, after)
        return way

    def distances(self) -> tuple[float, float]:
        """How far each moved, in logarithms; from and to nothing is no distance that could be told."""
        logs = np.log(np.maximum(self.rows, NOTHING))
        steps = np.abs(logs[:, 1:] - logs[:, :-1])
        steps *= steps > SAME
        nothing = self.rows <= NOTHING
        if nothing.any():
            steps[nothing[:, 1:] | nothing[:, :-1]] = 0.0
        supply, demand = steps.sum(axis=1)
        return float(supply), float(demand)


def means_of(run: Run, demand: Floats) -> Means:
    length = ticks_in(FIVE_MINUTES, run.world.tick)
    return Means(np.stack((window_means(run.ticks.ready_cpu, length), window_means(demand, length))))
