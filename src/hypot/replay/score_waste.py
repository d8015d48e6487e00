"""What was paid and not used, and the harm of too little."""

from typing import Any

from hypot.replay.record import Floats, Run
from hypot.replay.score_columns import DAY, percent, ratio

# More than one kill a day for ten pods is bad.
BAD_KILLS = 0.1


def waste(run: Run) -> dict[str, Any]:
    """The family of waste and harm. Pods that burst beyond their requests make slack negative."""
    ticks = run.ticks
    pod_days = float(ticks.pods.sum()) * run.world.tick / DAY
    kills = ratio(float(ticks.killed.sum()), pod_days)
    return {
        "slack": _slack(ticks.cpu, ticks.used_cpu),
        "slack_memory": _slack(ticks.memory, ticks.used_memory),
        "idle_cores": float((ticks.cpu - ticks.used_cpu).mean()),
        "idle_memory": float((ticks.memory - ticks.used_memory).mean()) / 2**30,
        "throttled": percent(float(ticks.capped.sum()), float(ticks.ready.sum())),
        "ooms": kills,
        "oom_bad": None if kills is None else kills > BAD_KILLS,
        "efficiency": percent(float(ticks.work.sum()), float(ticks.cpu.sum())),
    }


def _slack(requested: Floats, used: Floats) -> float | None:
    return percent(float((requested - used).sum()), float(requested.sum()))
