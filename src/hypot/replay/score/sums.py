"""What several families of scores share: sums over a run, and 5-minute means. Each is computed once."""

from typing import NamedTuple

import numpy as np

from hypot.replay.score.columns import FIVE_MINUTES, NOTHING, SAME, means_of_windows, ticks_in, window_sums
from hypot.replay.score.needed import cost_of_sums
from hypot.replay.score.tally import Account
from hypot.replay.world.parameters import World
from hypot.replay.world.record import CPU, EVICTED, LATE_LOST, LOST, MEMORY, PODS, READY, REQUESTS, Floats


class Sums(NamedTuple):
    """Sums over all ticks of a run."""

    # The requested cores and bytes, and what they cost.
    cpu: float
    memory: float
    cost: float
    # Pods that were paid for, that served, that existed but did not serve, and that were evicted for a new size.
    pods: float
    ready: float
    waiting: float
    evicted: float
    # Requests that arrived, were answered late, and were lost.
    came: float
    late: float
    lost: float


def sums_of(account: Account, world: World) -> Sums:
    t, tick = account.t, world.tick
    cpu, memory = float(t.sums[CPU]), float(t.sums[MEMORY])
    return Sums(
        cpu=cpu,
        memory=memory,
        cost=cost_of_sums(cpu, memory, world),
        pods=float(t.sums[PODS]),
        ready=float(t.sums[READY]),
        waiting=float(t.waiting[0]),
        evicted=float(t.sums[EVICTED]),
        came=float(t.sums[REQUESTS]) * tick,
        # What is lost in a window may have been late before it.
        late=max(0.0, float(t.late[0]) * tick - float(t.sums[LATE_LOST])),
        lost=float(t.sums[LOST]),
    )


class Means(NamedTuple):
    """The means of supply and demand, one row each, in 5-minute windows."""

    rows: Floats

    def ways(self, least: float) -> Floats:
        """The direction from each mean to the next: up (1), down (-1) or the same (0, for changes up to `least`)."""
        before, after = self.rows[:, :-1], self.rows[:, 1:]
        step = after - before
        way = np.sign(step)
        way *= np.abs(step, out=step) > least * np.maximum(before, after)
        return way

    def distances(self) -> tuple[float, float]:
        """How far each moved, in logarithms; steps from and to zero do not count."""
        logs = np.log(np.maximum(self.rows, NOTHING))
        steps = np.abs(logs[:, 1:] - logs[:, :-1])
        steps *= steps > SAME
        nothing = self.rows <= NOTHING
        if nothing.any():
            steps[nothing[:, 1:] | nothing[:, :-1]] = 0.0
        supply, demand = steps.sum(axis=1)
        return float(supply), float(demand)


def means_of(account: Account, demand: Floats, world: World) -> Means:
    length = ticks_in(FIVE_MINUTES, world.tick)
    supplied = np.asarray(account.kept.supplied[: account.t.windows[0]])
    return Means(means_of_windows(np.stack((supplied, window_sums(demand, length))), account.ticks, length))
