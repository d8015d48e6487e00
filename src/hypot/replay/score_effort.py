"""How much a policy moved, and what moving cost."""

from typing import Any, NamedTuple

from hypot.replay.record import Run
from hypot.replay.score_columns import DAY, MINUTE, Ints, Moves, changes, moves, ratio, ticks_in, together, turns
from hypot.replay.score_sums import Means, Sums

# A turn after a longer time follows the day, not a boundary.
SOON = 30 * MINUTE


class Asked(NamedTuple):
    """How what is asked for moved, from each tick to the next."""

    replicas: Moves
    cpu: Moves
    memory: Moves
    # The steps in which replicas or cpu changed at all.
    anew: Ints

    @property
    def moved(self) -> tuple[Moves, Moves, Moves]:
        return self.replicas, self.cpu, self.memory

    @property
    def resized(self) -> Ints:
        """Cpu and memory that change together are one change."""
        return together(self.cpu.at, self.memory.at)


def asked_of(run: Run) -> Asked:
    ticks = run.ticks
    replicas, cpu = changes(ticks.replicas), changes(ticks.size_cpu)
    return Asked(
        moves(ticks.replicas, replicas),
        moves(ticks.size_cpu, cpu),
        moves(ticks.size_memory, changes(ticks.size_memory)),
        together(replicas, cpu),
    )


def effort(run: Run, sums: Sums, means: Means, asked: Asked) -> dict[str, Any]:
    """The family of effort, by what was asked for; the first tick is where a run stands, not a change."""
    tick = run.world.tick
    days = len(run.ticks.at) * tick / DAY
    turned = together(*(turns(moved, ticks_in(SOON, tick)) for moved in asked.moved))
    supplied, wanted = means.distances()
    return {
        "replica_changes": ratio(len(asked.replicas.at), days),
        "size_changes": ratio(len(asked.resized), days),
        "restarts": ratio(sums.evicted, days),
        "disruption": sums.waiting * tick,
        "reversals": ratio(len(turned), days),
        "path": ratio(supplied, wanted),
    }
