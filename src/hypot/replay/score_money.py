"""What a run cost, and what it cost with the harm it did."""

from collections.abc import Sequence
from typing import Any

from hypot.replay.oracle import Reference, cost_of, static_peak
from hypot.replay.record import Run
from hypot.replay.score_columns import HOUR, NOTHING, ratio


def money(run: Run, reference: Reference) -> dict[str, Any]:
    """The family of costs. Without nodes there is no second view; without a reference cost no relative one."""
    ticks, world = run.ticks, run.world
    hours = world.tick / HOUR
    cost = cost_of(ticks.cpu, ticks.memory, world)
    nodes = float(ticks.nodes.sum())
    return {
        "cost": cost,
        "cpu_hours": float(ticks.cpu.sum()) * hours,
        "memory_hours": float(ticks.memory.sum()) * hours / 1e9,
        "node_cost": nodes * world.prices.node * hours if nodes > NOTHING else None,
        "to_oracle": ratio(cost, reference.cost),
        "to_static": ratio(cost, static_peak(reference, world).cost),
        "price": prices_at(run, (1.0,))[0],
    }


def prices_at(run: Run, factors: Sequence[float] = (0.1, 1.0, 10.0)) -> tuple[float, ...]:
    """The price of a run where a late or lost request costs so many times what the world says."""
    ticks, prices = run.ticks, run.world.prices
    cost = cost_of(ticks.cpu, ticks.memory, run.world)
    each = prices.late * run.world.service.work * prices.cpu / HOUR
    pod_second = ratio(cost, float(ticks.pods.sum()) * run.world.tick) or 0.0
    restarts = prices.restart * pod_second * float(ticks.evicted.sum())
    harmed = late_requests(run) + float(ticks.lost.sum())
    return tuple(cost + factor * each * harmed + restarts for factor in factors)


def late_requests(run: Run) -> float:
    """How many requests came late."""
    return float((run.ticks.requests * run.ticks.late).sum()) * run.world.tick
