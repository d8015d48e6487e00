"""One tick of the world: load is shared out, served or kept waiting, memory follows, and all of it is written down."""

from math import ceil, exp
from typing import Any

from hypot.replay.cohorts import COMING_UP, CREATING, MORTAL, RUNNING, SERVING, STARTING, STOPPING, WAITING, Cohorts
from hypot.replay.lifecycle import crash
from hypot.replay.params import Params
from hypot.replay.record import (
    AT,
    BACKLOG,
    CAP_CPU,
    CAPPED,
    CPU,
    EFFICIENCY,
    EVICTED,
    KILLED,
    LATE,
    LATENCY,
    LOST,
    MEMORY,
    NODES,
    P99,
    PODS,
    READY,
    READY_CPU,
    READY_MEMORY,
    REPLICAS,
    REQUESTS,
    SERVED,
    SIZE_CPU,
    SIZE_MEMORY,
    USED_CPU,
    USED_MEMORY,
    WORK,
)
from hypot.replay.service import (
    approached,
    base_use,
    capacity,
    late_share,
    mean_latency,
    percentile,
    service_time,
    utilisation,
    wait_chance,
)
from hypot.replay.site import Site

# From which share of its cap on a pod counts as held back by it.
HELD_BACK = 0.99
# From which share of its limit on throttling within a period is felt.
THROTTLED = 0.9


def live_through(
    c: Cohorts, s: Site, p: Params, rows: Any, i: int, at: float, work: float, efficiency: float, memory: float
) -> None:
    """The tick that begins at `at`; `work` is what comes anew, in cores, `memory` what comes along with it."""
    row, slot, again = s.row, i % p.slots, i % p.retry_ticks
    clear(row, s.blank)
    offered = work + s.returning[again] * p.work / p.tick
    s.returning[again] = 0.0
    row[AT], row[WORK], row[EFFICIENCY], row[REQUESTS] = at, work, efficiency, offered / p.work
    row[LOST] = s.died[0]
    s.died[0] = 0.0
    weight = s.weight[0]
    if weight == 0.0:
        turn_away(s, p, offered)
    for k in range(c.used[0]):
        if c.life[k] != WAITING:
            live(c, s, p, k, slot, offered, weight, efficiency, memory)
    s.requests_seen[slot] = row[REQUESTS]
    s.latency_seen[slot] = row[LATENCY]
    s.usage_seen[slot] = row[USED_CPU]
    s.queue_seen[slot] = row[BACKLOG]
    s.queue_each_seen[slot] = row[BACKLOG] / max(1.0, row[READY])
    s.returning[again] = p.retries * row[LOST]
    write_down(s, rows, i)


def turn_away(s: Site, p: Params, offered: float) -> None:
    """Nobody serves: whoever comes waits in vain."""
    s.row[LOST] += offered / p.work * p.tick
    if offered > 0.0:
        s.row[LATENCY] = s.row[P99] = p.timeout


def live(
    c: Cohorts,
    s: Site,
    p: Params,
    k: int,
    slot: int,
    offered: float,
    weight: float,
    efficiency: float,
    memory: float,
) -> None:
    """One group through the tick: what it serves, what it uses, and what is seen of it."""
    row, life, count = s.row, c.life[k], c.count[k]
    row[PODS] += count
    row[CPU] += count * c.cpu[k] / 1000.0
    row[MEMORY] += count * c.memory[k]
    use = load = in_flight = heap = 0.0
    if life == SERVING:
        load = offered * c.share[k] / weight
        use, in_flight = serve(c, s, p, k, load, weight, efficiency)
        heap = memory * c.share[k] / weight
    elif life == STOPPING:
        use = drain(c, s, p, k, efficiency)
    else:
        use = start_up(c, p, k, row[AT])
    if life in RUNNING:
        remember(c, p, k, row[AT] + p.tick, s.epoch[0], heap + p.heap_per_request * in_flight)
    elif life == CREATING:
        c.heap[k] = 0.0
    row[USED_CPU] += count * use
    row[USED_MEMORY] += count * c.heap[k]
    c.cpu_seen[k][slot] = use
    c.heap_seen[k][slot] = c.heap[k]
    c.load_seen[k][slot] = load / p.work
    if life in MORTAL and 0 <= c.memory_limit[k] < c.heap[k]:
        crash(c, s, p, k, row[AT] + p.tick)


def cap_of(c: Cohorts, p: Params, k: int) -> float:
    """The most cores a pod can get: its limit, else its request and some of what its node has free."""
    if c.cpu_limit[k] >= 0:
        return float(c.cpu_limit[k] / 1000.0)
    request = c.cpu[k] / 1000.0
    return float(request + max(p.headroom * request, p.headroom_cores))


def serve(c: Cohorts, s: Site, p: Params, k: int, load: float, weight: float, efficiency: float) -> tuple[float, float]:
    """What each pod uses for its load, and how many requests it has in hand: those it takes, as long as they take."""
    row, count, request = s.row, c.count[k], c.cpu[k] / 1000.0
    cap = cap_of(c, p, k)
    base = base_use(p.base_cpu, p.base_share, request)
    power = capacity(cap, base, p.parallel, efficiency)
    offered = load + c.backlog[k] / p.tick
    done = min(offered, power)
    left = keep_waiting(c, s, p, k, load - done, power)
    cores = power / efficiency
    servers, alone = max(1.0, cores), service_time(p.work, cores, efficiency)
    rho = utilisation(offered, power)
    chance, delay, part = wait_chance(rho, servers), left / power, count * c.share[k] / weight
    mean = min(p.timeout, mean_latency(alone, chance, rho, servers, delay))
    slowest = min(p.timeout, percentile(0.99, alone, chance, rho, servers, delay))
    use = min(cap, base + done / efficiency)
    if p.throttling > 0.0 and c.cpu_limit[k] >= 0 and use > THROTTLED * cap:
        slowest += p.throttling
    row[SERVED] += count * done * p.tick / p.work
    row[LATE] += part * late_share(p.deadline, alone, chance, rho, servers, delay)
    row[LATENCY] += part * mean
    row[P99] = max(row[P99], slowest)
    row[READY] += count
    row[READY_CPU] += count * request
    row[READY_MEMORY] += count * c.memory[k]
    row[CAP_CPU] += count * cap
    if use >= HELD_BACK * cap:
        row[CAPPED] += count
    return use, min(load, power) / p.work * mean


def start_up(c: Cohorts, p: Params, k: int, at: float) -> float:
    """What a pod uses that does not serve yet: its base once it runs, and more at first."""
    if c.life[k] not in COMING_UP:
        return 0.0
    runs_from = max(at, c.due[k] if c.life[k] == CREATING else c.started[k])
    burst = c.started[k] if c.life[k] == STARTING else c.due[k]
    runs = max(0.0, at + p.tick - runs_from) / p.tick
    burns = max(0.0, min(at + p.tick, burst + p.burn_time) - max(at, burst)) / p.tick
    base = base_use(p.base_cpu, p.base_share, c.cpu[k] / 1000.0)
    return float(min(cap_of(c, p, k), base * (runs - burns) + max(base, p.burn_cpu) * burns))


def drain(c: Cohorts, s: Site, p: Params, k: int, efficiency: float) -> float:
    """A pod on its way out finishes what waits for it."""
    cap = cap_of(c, p, k)
    base = base_use(p.base_cpu, p.base_share, c.cpu[k] / 1000.0)
    power = capacity(cap, base, p.parallel, efficiency)
    done = min(c.backlog[k] / p.tick, power)
    keep_waiting(c, s, p, k, -done, power)
    s.row[SERVED] += c.count[k] * done * p.tick / p.work
    return float(min(cap, base + done / efficiency))


def keep_waiting(c: Cohorts, s: Site, p: Params, k: int, surplus: float, power: float) -> float:
    """The work that waits after the tick; what would wait longer than the timeout is lost."""
    left = max(0.0, c.backlog[k] + surplus * p.tick)
    most = power * p.timeout
    if left > most:
        s.row[LOST] += c.count[k] * (left - most) / p.work
        left = most
    c.backlog[k] = left
    s.row[BACKLOG] += c.count[k] * left / p.work
    return float(left)


def remember(c: Cohorts, p: Params, k: int, now: float, epoch: float, load: float) -> None:
    """Memory follows its need, quickly up and slowly down; nothing has leaked before the replay began."""
    age = now - c.started[k]
    need = p.heap_base + load + p.heap_leak * (now - max(c.started[k], epoch))
    if p.heap_cache > 0.0:
        need += p.heap_cache * (1.0 - exp(-age / p.heap_cache_fill))
    c.heap[k] = approached(c.heap[k], need, p.heap_rise, p.heap_fall)


def write_down(s: Site, rows: Any, i: int) -> None:
    row = s.row
    row[REPLICAS], row[SIZE_CPU], row[SIZE_MEMORY] = s.asked[0], s.template[0] / 1000.0, s.template[1]
    row[EVICTED], row[KILLED] = s.evicted[0], s.killed[0]
    s.evicted[0] = s.killed[0] = 0
    row[NODES] = s.nodes[0] if s.nodes[0] >= 0 else ceil(s.filled[0] - 1e-9)
    keep(rows, i, row)


def clear(row: Any, blank: Any) -> None:
    row[:] = blank


def keep(rows: Any, i: int, row: Any) -> None:
    """One row after the other, in the order of their ticks."""
    del i
    rows.extend(row)
