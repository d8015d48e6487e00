"""The basis of the scores, added up tick by tick in plain numbers, so that no column needs to be kept for it.

The columns are lists here and arrays where they are compiled.
"""

from math import inf
from typing import Any, NamedTuple

from hypot.replay.score.columns import FIVE_MINUTES, MINUTE, NOTHING, SAME, ticks_in
from hypot.replay.world.parameters import World
from hypot.replay.world.record import (
    CAP_CPU,
    COLUMNS,
    CPU,
    EVICTED,
    LATE,
    LOST,
    MEMORY,
    P99,
    PODS,
    READY,
    READY_CPU,
    REPLICAS,
    REQUESTS,
    SIZE_CPU,
    SIZE_MEMORY,
    USED_CPU,
)

# Below this usage a pod is idle; from this share of the cap on, it is at the cap.
IDLE, AT_CAP = 0.2, 0.99
# Demand within this time may still explain a supply.
RECENT = 10 * MINUTE


class Terms(NamedTuple):
    """The constants for counting a tick: its length, and the share of requests that may be late."""

    tick: float
    allowed: float
    # Ticks in a 5-minute window, and the ticks before a supply that may still explain it.
    window: int
    recent: int


class Tally(NamedTuple):
    """The totals of the ticks so far. Most columns have one element; -1 means none."""

    # The sums of each column, of late requests per second, and of pods that do not serve.
    sums: Any
    late: Any
    waiting: Any
    # Ticks with more late and lost requests than allowed, how many of them are in the current stretch, and how many
    # stretches have ended.
    broken: Any
    stretch: Any
    stretches: Any
    # The current window: its ticks, requests, weighted 99th percentile, and supply; finished windows; and the worst.
    inside: Any
    came: Any
    felt: Any
    supplied: Any
    windows: Any
    worst: Any
    # Ticks with demand, missing and excess supply as shares of demand, excess as a share of supply, ticks with either.
    counted_ticks: Any
    under: Any
    over: Any
    over_supply: Any
    under_ticks: Any
    over_ticks: Any
    # Ticks at the cap without any action: the current run, and the longest; and ticks with little usage.
    pinned: Any
    starving: Any
    stuck: Any
    # The supply of the last tick, the highest ratio of raised supply to the demand that explains it, and the most pods.
    supply: Any
    overshoot: Any
    peak: Any
    # The smallest and the largest mean size of pods, the fewest bytes of one, how many pods there were less than
    # requested, and the most cores that pods could get for each core that they requested.
    smallest: Any
    largest: Any
    least_memory: Any
    absent: Any
    burst: Any
    # What is requested, and how often that changed.
    replicas: Any
    cpu: Any
    memory: Any
    asked: Any


class Kept(NamedTuple):
    """What is evaluated at the end: room for each tick, window, stretch and change."""

    # The 99th percentile of latency in each tick, and the requests as its weight.
    p99: Any
    requests: Any
    # The supply of each window, and the length of each stretch.
    supplied: Any
    stretches: Any
    # What was requested, from which tick on.
    since: Any
    replicas: Any
    cpu: Any
    memory: Any


def terms_of(world: World) -> Terms:
    allowed = (1.0 - world.service.slo) * (1.0 + SAME)
    return Terms(world.tick, allowed, ticks_in(FIVE_MINUTES, world.tick), ticks_in(RECENT, world.tick))


def no_tally() -> Tally:
    counted = {"broken", "stretch", "stretches", "inside", "windows", "reported", "under_ticks", "over_ticks"}
    counted |= {"pinned", "starving", "stuck", "asked"}
    nothing = Tally(*([0] if name in counted else [0.0] for name in Tally._fields))
    return nothing._replace(sums=[0.0] * COLUMNS, worst=[-1.0], overshoot=[-1.0], smallest=[inf], least_memory=[inf])


def count(t: Tally, terms: Terms, kept: Kept, k: int, row: Any, demand: Any) -> None:
    """Count tick `k`. Sums of columns that can be taken at once are added elsewhere."""
    requests, slowest, supply = row[REQUESTS], row[P99], row[READY_CPU]
    kept.p99[k], kept.requests[k] = slowest, requests
    t.late[0] += requests * row[LATE]
    t.came[0] += requests
    t.felt[0] += requests * slowest
    t.supplied[0] += supply
    t.inside[0] += 1
    if t.inside[0] == terms.window:
        end_window(t, kept)
    if (row[LATE] - terms.allowed) * requests * terms.tick + row[LOST] > NOTHING:
        t.broken[0] += 1
        t.stretch[0] += 1
    elif t.stretch[0] > 0:
        end_stretch(t, kept)
    if row[PODS] > row[READY]:
        t.waiting[0] += row[PODS] - row[READY]
    t.peak[0] = max(t.peak[0], row[PODS])
    compare(t, supply, demand[k])
    if supply != t.supply[0]:
        follow_supply(t, terms, k, supply, demand)
    paid, used, cap = row[CPU], row[USED_CPU], row[CAP_CPU]
    acts = row[EVICTED] > 0.0
    if row[REPLICAS] != t.replicas[0] or row[SIZE_CPU] != t.cpu[0] or row[SIZE_MEMORY] != t.memory[0] or k == 0:
        acts = ask(t, kept, k, row) or acts
    if used < AT_CAP * cap or cap <= NOTHING:
        t.pinned[0] = 0
    else:
        t.pinned[0] = 1 if acts else t.pinned[0] + 1
        t.starving[0] = max(t.starving[0], t.pinned[0])
    t.stuck[0] = t.stuck[0] + 1 if used < IDLE * paid and demand[k] < paid * (1.0 - SAME) else 0
    follow_pods(t, row, paid, supply)


def follow_pods(t: Tally, row: Any, paid: float, supply: float) -> None:
    """What the pods of a lower bound may be like: as those of the run."""
    pods = row[PODS]
    if row[CAP_CPU] > t.burst[0] * supply and supply > NOTHING:
        t.burst[0] = row[CAP_CPU] / supply
    if pods < row[REPLICAS]:
        t.absent[0] += row[REPLICAS] - pods
    if pods > 0.0:
        t.smallest[0], t.largest[0] = min(t.smallest[0], paid / pods), max(t.largest[0], paid / pods)
        t.least_memory[0] = min(t.least_memory[0], row[MEMORY] / pods)


def compare(t: Tally, supply: float, demand: float) -> None:
    """The share by which supply misses demand; without demand, all supply is excess."""
    if demand <= NOTHING:
        if supply > 0.0:
            t.over_ticks[0] += 1
            t.over_supply[0] += 1.0
        return
    t.counted_ticks[0] += 1
    share = (supply - demand) / demand
    if share > SAME:
        t.over_ticks[0] += 1
        t.over[0] += share
        t.over_supply[0] += (supply - demand) / supply
    elif share < -SAME:
        t.under_ticks[0] += 1
        t.under[0] -= share


def follow_supply(t: Tally, terms: Terms, k: int, supply: float, demand: Any) -> None:
    """After an increase of supply: its ratio to the largest demand of this tick and the recent ones."""
    before = t.supply[0]
    t.supply[0] = supply
    if k == 0 or supply < before or not differ(supply, before):
        return
    most = 0.0
    for n in range(max(0, k - terms.recent), k + 1):
        most = max(most, demand[n])
    if most > NOTHING:
        t.overshoot[0] = max(t.overshoot[0], supply / most)


def ask(t: Tally, kept: Kept, k: int, row: Any) -> bool:
    """Record that something else is requested; returns whether that is a real change."""
    replicas, cpu, memory, n = row[REPLICAS], row[SIZE_CPU], row[SIZE_MEMORY], t.asked[0]
    moved = differ(replicas, t.replicas[0]) or differ(cpu, t.cpu[0]) or differ(memory, t.memory[0])
    t.replicas[0], t.cpu[0], t.memory[0] = replicas, cpu, memory
    kept.since[n], kept.replicas[n], kept.cpu[n], kept.memory[n] = k, replicas, cpu, memory
    t.asked[0] = n + 1
    return moved


def differ(one: float, other: float) -> bool:
    """Whether two amounts differ by more than rounding from another order of addition."""
    return abs(one - other) > SAME * max(abs(one), abs(other))


def end_window(t: Tally, kept: Kept) -> None:
    if t.came[0] > NOTHING:
        t.worst[0] = max(t.worst[0], t.felt[0] / t.came[0])
    kept.supplied[t.windows[0]] = t.supplied[0]
    t.windows[0] += 1
    t.inside[0] = 0
    t.came[0] = t.felt[0] = t.supplied[0] = 0.0


def end_stretch(t: Tally, kept: Kept) -> None:
    kept.stretches[t.stretches[0]] = t.stretch[0]
    t.stretches[0] += 1
    t.stretch[0] = 0


def count_loop(t: Tally, terms: Terms, kept: Kept, rows: Any, demand: Any) -> None:
    """Count all ticks of a run whose rows are available."""
    for k in range(len(rows)):
        count(t, terms, kept, k, rows[k], demand)


def finish(t: Tally, kept: Kept) -> None:
    """End the current window and stretch with the run."""
    if t.inside[0] > 0:
        end_window(t, kept)
    if t.stretch[0] > 0:
        end_stretch(t, kept)


class Account(NamedTuple):
    """A run, reduced to what the scores need."""

    ticks: int
    t: Tally
    kept: Kept


def room_for(ticks: int, terms: Terms, whole: Any, parts: Any) -> Kept:
    """Room for a run of `ticks` ticks; `whole` and `parts` make columns of integers and of floats."""
    windows = -(-ticks // terms.window)
    return Kept(
        parts(ticks),
        parts(ticks),
        parts(windows),
        whole(ticks // 2 + 1),
        whole(ticks),
        parts(ticks),
        parts(ticks),
        parts(ticks),
    )
