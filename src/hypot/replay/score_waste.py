"""What was paid and not used, and the harm of too little."""

from typing import Any

from hypot.replay.record import Run
from hypot.replay.score_columns import DAY, percent, ratio
from hypot.replay.score_sums import Sums

# More than one kill a day for ten pods is bad.
BAD_KILLS = 0.1


def waste(run: Run, sums: Sums) -> dict[str, Any]:
    """The family of waste and harm. Pods that burst beyond their requests make slack negative."""
    ticks, length = run.ticks, len(run.ticks.at)
    kills = ratio(float(ticks.killed.sum()), sums.pods * run.world.tick / DAY)
    idle_cpu = sums.cpu - float(ticks.used_cpu.sum())
    idle_memory = sums.memory - float(ticks.used_memory.sum())
    return {
        "slack": percent(idle_cpu, sums.cpu),
        "slack_memory": percent(idle_memory, sums.memory),
        "idle_cores": idle_cpu / length,
        "idle_memory": idle_memory / length / 2**30,
        "throttled": percent(float(ticks.capped.sum()), sums.ready),
        "ooms": kills,
        "oom_bad": None if kills is None else kills > BAD_KILLS,
        "efficiency": percent(float(ticks.work.sum()), sums.cpu),
    }
