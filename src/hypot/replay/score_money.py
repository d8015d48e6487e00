"""What a run cost, and what it cost with the harm it did."""

from collections.abc import Sequence
from typing import Any

from hypot.replay.oracle import Reference, static_peak
from hypot.replay.record import NODES
from hypot.replay.score_columns import HOUR, NOTHING, ratio
from hypot.replay.score_sums import Sums
from hypot.replay.tally import Account
from hypot.replay.world import World


def money(account: Account, world: World, reference: Reference, sums: Sums) -> dict[str, Any]:
    """The family of costs. Without nodes there is no second view; without a reference cost no relative one."""
    hours = world.tick / HOUR
    nodes = float(account.t.sums[NODES])
    return {
        "cost": sums.cost,
        "cpu_hours": sums.cpu * hours,
        "memory_hours": sums.memory * hours / 1e9,
        "node_cost": nodes * world.prices.node * hours if nodes > NOTHING else None,
        "to_oracle": ratio(sums.cost, reference.cost),
        "to_static": ratio(sums.cost, static_peak(reference, world).cost),
        "price": prices_at(sums, world, (1.0,))[0],
    }


def prices_at(sums: Sums, world: World, factors: Sequence[float] = (0.1, 1.0, 10.0)) -> tuple[float, ...]:
    """The price of a run where a late or lost request costs so many times what the world says."""
    prices = world.prices
    each = prices.late * world.service.work * prices.cpu / HOUR
    pod_second = ratio(sums.cost, sums.pods * world.tick) or 0.0
    restarts = prices.restart * pod_second * sums.evicted
    harmed = sums.late + sums.lost
    return tuple(sums.cost + factor * each * harmed + restarts for factor in factors)
