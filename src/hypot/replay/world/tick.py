"""One tick of the world: pods get load and serve or queue it, memory follows, and everything is recorded."""

from math import ceil, exp, log
from typing import Any

from hypot.replay.world.cohorts import (
    COMING_UP,
    CREATING,
    MORTAL,
    RUNNING,
    SERVING,
    STARTING,
    STOPPING,
    WAITING,
    Cohorts,
)
from hypot.replay.world.lifecycle import crash, follow, nodes_filled
from hypot.replay.world.params import Params
from hypot.replay.world.record import (
    AT,
    BACKLOG,
    CAP_CPU,
    CAPPED,
    CPU,
    EFFICIENCY,
    EVICTED,
    KILLED,
    LATE,
    LATE_LOST,
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
from hypot.replay.world.service import (
    approached,
    base_use,
    crowding,
    late_share,
    mean_latency,
    percentile,
    queueing_time,
    service_time,
    usable_cores,
    utilisation,
    wait_odds,
)
from hypot.replay.world.site import Site

# A pod that uses at least this share of its cap counts as capped.
HELD_BACK = 0.99
# Above this share of the cpu limit, throttling within a period adds latency.
THROTTLED = 0.9
# One request in a hundred is slower than the 99th percentile.
SLOWEST = log(0.01)


def live_through(
    c: Cohorts, s: Site, p: Params, rows: Any, i: int, at: float, work: float, efficiency: float, memory: float
) -> None:
    """Simulate the tick that begins at `at`; `work` is the new work in cores, `memory` the memory that it brings."""
    if s.stale[0] or s.apart[0]:
        look_around(c, s, p, at)
    row, slot, weight, offered = s.row, i % p.slots, s.weight[0], work
    if p.retries > 0.0:
        offered += s.returning[i % p.retry_ticks] * p.work / p.tick
    row[AT], row[WORK], row[EFFICIENCY], row[REQUESTS] = at, work, efficiency, offered * p.rate
    row[LOST], s.died[0] = s.died[0], 0.0
    row[LATE_LOST], s.late_died[0] = s.late_died[0], 0.0
    row[BACKLOG] = row[CAPPED] = row[LATENCY] = row[P99] = row[LATE] = row[SERVED] = 0.0
    used_cpu, used_memory, dying = 0.0, 0.0, False
    if weight == 0.0:
        turn_away(s, p, offered)
    for k in range(c.used[0]):
        if c.leader[k] != k:
            take_after(c, k, slot)
            continue
        life, mass = c.life[k], c.mass[k]
        use = load = heap = 0.0
        if life == SERVING:
            share = c.share[k] / weight
            load = offered * share
            use, in_flight = serve(c, s, p, k, load, share * mass, efficiency)
            heap = memory * share + p.heap_per_request * in_flight
        elif life == STOPPING:
            use = drain(c, s, p, k, efficiency)
        else:
            use = start_up(c, p, k, at)
        heap = heap_after(c, p, k, life, at + p.tick, s.epoch[0], heap)
        used_cpu += mass * use
        used_memory += mass * heap
        c.heap[k] = c.heap_seen[k][slot] = heap
        c.cpu_seen[k][slot], c.load_seen[k][slot] = use, load * p.rate
        dying = dying or 0 <= c.memory_limit[k] < heap
    if dying:
        kill(c, s, p, at + p.tick)
    row[USED_CPU], row[USED_MEMORY] = used_cpu, used_memory
    s.requests_seen[slot] = row[REQUESTS]
    s.latency_seen[slot] = row[LATENCY]
    s.usage_seen[slot] = used_cpu
    s.queue_seen[slot] = row[BACKLOG]
    s.queue_each_seen[slot] = row[BACKLOG] / max(1.0, row[READY]) if row[BACKLOG] > 0.0 else 0.0
    s.late_seen[slot] = row[LATE] * row[REQUESTS]
    s.late_each_seen[slot] = s.late_seen[slot] / max(1.0, row[READY])
    if p.retries > 0.0:
        s.returning[i % p.retry_ticks] = p.retries * row[LOST]
    write_down(s, rows, i)


def look_around(c: Cohorts, s: Site, p: Params, now: float) -> None:
    """Update what stays constant until pods change, and let groups that behave the same follow one leader."""
    if s.stale[0]:
        take_watches(c, s, p)
    if not p.merging:
        follow(c, s, p, now - p.window - p.lag)


def take_after(c: Cohorts, k: int, slot: int) -> None:
    """Copy what happened to its leader."""
    leader = c.leader[k]
    c.backlog[k] = c.backlog[leader]
    c.late[k] = c.late[leader]
    c.heap[k] = c.heap_seen[k][slot] = c.heap[leader]
    c.cpu_seen[k][slot], c.load_seen[k][slot] = c.cpu_seen[leader][slot], c.load_seen[leader][slot]


def kill(c: Cohorts, s: Site, p: Params, now: float) -> None:
    """Crash every group that uses more memory than its limit."""
    for k in range(c.used[0]):
        if 0 <= c.memory_limit[k] < c.heap[k] and c.life[k] in MORTAL:
            crash(c, s, p, k, now)


def take_watches(c: Cohorts, s: Site, p: Params) -> None:
    """Recalculate what stays constant until pods change: what follows from their sizes, and the sums over pods."""
    row = s.row
    row[PODS] = row[CPU] = row[MEMORY] = row[READY] = row[READY_CPU] = row[READY_MEMORY] = row[CAP_CPU] = 0.0
    weight = 0.0
    for k in range(c.used[0]):
        life, count, request = c.life[k], c.count[k], c.cpu[k] / 1000.0
        cap, base = cap_of(c, p, k), base_use(p.base_cpu, p.base_share, request)
        cores = usable_cores(cap, base, p.parallel)
        c.cap[k], c.base[k], c.cores[k], c.exponent[k] = cap, base, cores, crowding(max(1.0, cores))
        c.leader[k], c.mass[k] = k, count
        if life != WAITING:
            row[PODS] += count
            row[CPU] += count * request
            row[MEMORY] += count * c.memory[k]
        if life == SERVING:
            row[READY] += count
            row[READY_CPU] += count * request
            row[READY_MEMORY] += count * c.memory[k]
            row[CAP_CPU] += count * cap
            weight += count * c.share[k]
    row[NODES] = s.nodes[0] if s.nodes[0] >= 0 else ceil(nodes_filled(c, p, waiting=False) - 1e-9)
    s.weight[0], s.stale[0] = weight, 0


def cap_of(c: Cohorts, p: Params, k: int) -> float:
    """The most cores a pod can get: its limit, or without a limit its request plus some free capacity of its node."""
    if c.cpu_limit[k] >= 0:
        return float(c.cpu_limit[k] / 1000.0)
    request = c.cpu[k] / 1000.0
    return float(request + max(p.headroom * request, p.headroom_cores))


def turn_away(s: Site, p: Params, offered: float) -> None:
    """No pod serves: all arriving requests are lost."""
    s.row[LOST] += offered * p.rate * p.tick
    if offered > 0.0:
        s.row[LATENCY] = s.row[P99] = p.timeout


def serve(c: Cohorts, s: Site, p: Params, k: int, load: float, part: float, efficiency: float) -> tuple[float, float]:
    """The cpu that each pod uses for its load, and its requests in flight: those it serves, times their latency.

    `part` is the share of all requests that this group gets.
    """
    row, mass, cores, cap = s.row, c.mass[k], c.cores[k], c.cap[k]
    power, offered, waiting, left, felt = cores * efficiency, load, 0.0, 0.0, s.felt
    if c.backlog[k] > 0.0:
        offered += c.backlog[k] / p.tick
    done = min(offered, power)
    queued = offered > load or load > power
    if queued:
        waiting = max(0.0, c.backlog[k] + (load - done) * p.tick)
        left = keep_waiting(c, s, p, k, waiting, power)
    if k > 0 and felt[0] == cores and felt[1] == offered and felt[2] == left and felt[3] == efficiency:
        mean, slowest, late = felt[4], felt[5], felt[6]
    else:
        mean, slowest, late = latency_of(p, cores, c.exponent[k], offered, left, efficiency)
        if c.used[0] > 1:
            felt[0], felt[1], felt[2], felt[3] = cores, offered, left, efficiency
            felt[4], felt[5], felt[6] = mean, slowest, late
    if queued:
        keep_late(c, s, p, k, load * p.tick, late, waiting)
    use = min(cap, c.base[k] + done / efficiency)
    if p.throttling > 0.0 and c.cpu_limit[k] >= 0 and use > THROTTLED * cap:
        slowest += p.throttling
    row[SERVED] += mass * done * p.tick * p.rate
    row[LATE] += part * late
    row[LATENCY] += part * mean
    row[P99] = max(row[P99], slowest)
    if use >= HELD_BACK * cap:
        row[CAPPED] += mass
    return use, min(load, power) * p.rate * mean


def latency_of(
    p: Params, cores: float, exponent: float, offered: float, left: float, efficiency: float
) -> tuple[float, float, float]:
    """The mean latency of requests, the 99th percentile, and the share of requests that is late."""
    power, alone = cores * efficiency, service_time(p.work, cores, efficiency)
    rho = utilisation(offered, power)
    odds, queueing = wait_odds(rho, exponent), queueing_time(alone, max(1.0, cores), rho)
    alone += left / power
    mean, slowest = mean_latency(alone, odds, queueing), percentile(SLOWEST, alone, odds, queueing)
    return min(p.timeout, mean), min(p.timeout, slowest), late_share(p.deadline, alone, odds, queueing)


def next_time(now: float, due: float, every: float) -> float:
    """When to decide next: in step with the earlier times, however late this decision was."""
    late = now - due
    return now + every - (late if late < every else late - every * int(late / every))


def start_up(c: Cohorts, p: Params, k: int, at: float) -> float:
    """The cpu of a pod that does not serve yet: its base once it runs, and more at first."""
    if c.life[k] not in COMING_UP:
        return 0.0
    runs_from = max(at, c.due[k] if c.life[k] == CREATING else c.started[k])
    burst = c.started[k] if c.life[k] == STARTING else c.due[k]
    runs = max(0.0, at + p.tick - runs_from) / p.tick
    burns = max(0.0, min(at + p.tick, burst + p.burn_time) - max(at, burst)) / p.tick
    base = c.base[k]
    return float(min(c.cap[k], base * (runs - burns) + max(base, p.burn_cpu) * burns))


def drain(c: Cohorts, s: Site, p: Params, k: int, efficiency: float) -> float:
    """A terminating pod finishes the requests that wait for it."""
    power = c.cores[k] * efficiency
    done = min(c.backlog[k] / p.tick, power)
    waiting = max(0.0, c.backlog[k] - done * p.tick)
    keep_waiting(c, s, p, k, waiting, power)
    keep_late(c, s, p, k, 0.0, 0.0, waiting)
    s.row[SERVED] += c.mass[k] * done * p.tick * p.rate
    return float(min(c.cap[k], c.base[k] + done / efficiency))


def keep_waiting(c: Cohorts, s: Site, p: Params, k: int, waiting: float, power: float) -> float:
    """What is left of the work that waits after the tick; what would wait longer than the timeout is lost."""
    left, most = waiting, power * p.timeout
    if left > most:
        s.row[LOST] += c.mass[k] * (left - most) * p.rate
        left = most
    c.backlog[k] = left
    s.row[BACKLOG] += c.mass[k] * left * p.rate
    return float(left)


def keep_late(c: Cohorts, s: Site, p: Params, k: int, came: float, late: float, waiting: float) -> None:
    """Which part of the work that is left counted as late when it came, and of what is lost; `came` did in this tick.

    Work is done in the order in which it comes. Among equals, what is late waits longest and is lost first.
    """
    counted = min(c.late[k], max(0.0, waiting - came)) + min(waiting, late * came)
    lost = min(counted, waiting - c.backlog[k])
    s.row[LATE_LOST] += c.mass[k] * lost * p.rate
    c.late[k] = counted - lost


def heap_after(c: Cohorts, p: Params, k: int, life: int, now: float, epoch: float, load: float) -> float:
    """Memory moves towards what is needed, quickly up and slowly down; leaks count from the start of the replay."""
    if life not in RUNNING:
        return 0.0 if life == CREATING else float(c.heap[k])
    need = p.heap_base + load
    if p.heap_leak != 0.0:
        need += p.heap_leak * (now - max(c.started[k], epoch))
    if p.heap_cache > 0.0:
        need += p.heap_cache * (1.0 - exp((c.started[k] - now) / p.heap_cache_fill))
    return approached(c.heap[k], need, p.heap_rise, p.heap_fall)


def write_down(s: Site, rows: Any, i: int) -> None:
    row = s.row
    row[REPLICAS], row[SIZE_CPU], row[SIZE_MEMORY] = s.asked[0], s.template[0] / 1000.0, s.template[1]
    row[EVICTED], row[KILLED] = s.evicted[0], s.killed[0]
    s.evicted[0] = s.killed[0] = 0
    keep(rows, i, row)


def keep(rows: Any, i: int, row: Any) -> None:
    """Append the row; rows come in the order of their ticks."""
    del i
    rows.extend(row)
