"""What was paid and not used, and the harm of too little."""

from typing import Any

from hypot.replay.record import CAPPED, KILLED, USED_CPU, USED_MEMORY, WORK
from hypot.replay.score_columns import DAY, percent, ratio
from hypot.replay.score_sums import Sums
from hypot.replay.tally import Account
from hypot.replay.world import World

# More than one kill a day for ten pods is bad.
BAD_KILLS = 0.1


def waste(account: Account, world: World, sums: Sums) -> dict[str, Any]:
    """The family of waste and harm. Pods that burst beyond their requests make slack negative."""
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
