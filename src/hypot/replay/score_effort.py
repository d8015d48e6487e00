"""How much a policy moved, and what moving cost."""

from typing import Any, NamedTuple

import numpy as np

from hypot.replay.record import Floats
from hypot.replay.score_columns import DAY, MINUTE, Ints, Moves, Signs, count, ratio, ticks_in, together, turns, ways
from hypot.replay.score_sums import Means, Sums
from hypot.replay.tally import Account
from hypot.replay.world import World

# A turn after a longer time follows the day, not a boundary.
SOON = 30 * MINUTE


class Asked(NamedTuple):
    """What was asked for from which tick on, one value a change; and how each moved from one to the next."""

    since: Ints
    replicas: Floats
    cpu: Floats
    memory: Floats
    replica_ways: Signs
    cpu_ways: Signs
    memory_ways: Signs

    @property
    def moves(self) -> tuple[Moves, ...]:
        """Those of each, at the ticks they led to."""
        found = (self.replica_ways, self.cpu_ways, self.memory_ways)
        return tuple([Moves(self.since[1:][way != 0], way[way != 0]) for way in found])


def asked_of(account: Account) -> Asked:
    kept, count = account.kept, account.t.asked[0]
    since = np.asarray(kept.since[:count])
    series = [np.asarray(column[:count]) for column in (kept.replicas, kept.cpu, kept.memory)]
    return Asked(since, *series, *(ways(values) for values in series))


def effort(account: Account, world: World, sums: Sums, means: Means, asked: Asked) -> dict[str, Any]:
    """The family of effort, by what was asked for; the first tick is where a run stands, not a change."""
    days = account.ticks * world.tick / DAY
    turned = together(*(turns(moved, ticks_in(SOON, world.tick)) for moved in asked.moves))
    supplied, wanted = means.distances()
    # Cpu and memory that change together are one change.
    resized = (asked.cpu_ways != 0) | (asked.memory_ways != 0)
    return {
        "replica_changes": ratio(count(asked.replica_ways != 0), days),
        "size_changes": ratio(count(resized), days),
        "restarts": ratio(sums.evicted, days),
        "disruption": sums.waiting * world.tick,
        "reversals": ratio(len(turned), days),
        "path": ratio(supplied, wanted),
    }
