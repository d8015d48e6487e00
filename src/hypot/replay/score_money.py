"""What a run cost, and what it cost with the harm it did."""

from collections.abc import Sequence
from typing import Any

from hypot.replay.oracle import Reference, static_peak
from hypot.replay.record import Run
from hypot.replay.score_columns import HOUR, NOTHING, ratio
from hypot.replay.score_sums import Sums, sums_of


def money(run: Run, reference: Reference, sums: Sums) -> dict[str, Any]:
    """The family of costs. Without nodes there is no second view; without a reference cost no relative one."""
    world = run.world
    hours = world.tick / HOUR
    nodes = float(run.ticks.nodes.sum())
    return {
        "cost": sums.cost,
        "cpu_hours": sums.cpu * hours,
        "memory_hours": sums.memory * hours / 1e9,
        "node_cost": nodes * world.prices.node * hours if nodes > NOTHING else None,
        "to_oracle": ratio(sums.cost, reference.cost),
        "to_static": ratio(sums.cost, static_peak(reference, world).cost),
        "price": prices_at(run, (1.0,), sums)[0],
    }


def prices_at(run: Run, factors: Sequence[float] = (0.1, 1.0, 10.0), sums: Sums | None = None) -> tuple[float, ...]:
    """The price of a run where a late or lost request costs so many times what the world says."""
    over, prices = sums_of(run) if sums is None else sums, run.world.prices
    each = prices.late * run.world.service.work * prices.cpu / HOUR
    pod_second = ratio(over.cost, over.pods * run.world.tick) or 0.0
    restarts = prices.restart * pod_second * over.evicted
    harmed = over.late + over.lost
    return tuple(over.cost + factor * each * harmed + restarts for factor in factors)
