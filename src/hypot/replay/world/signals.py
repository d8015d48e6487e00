"""What autoscalers observe of the world: means over a window that ended a while ago."""

from typing import Any

from hypot.replay.world.cohorts import READY_STATES, RUNNING, Cohorts
from hypot.replay.world.params import Params
from hypot.replay.world.site import Site

REQUESTS, LATENCY, QUEUE, USAGE, LATE = range(5)
SIGNALS = {"requests": REQUESTS, "latency": LATENCY, "queue": QUEUE, "usage": USAGE, "late": LATE}


def window_begins(i: int, p: Params) -> int:
    """The slot after that of tick `i`: the oldest, where the window begins. `i` may be a slot, which saves a modulo."""
    slot: int = (i if i < p.slots else i % p.slots) + 1
    return slot if slot < p.slots else 0


def seen_mean(ring: Any, i: int, p: Params) -> float:
    """The mean of a ring over the window, as observed after tick `i`."""
    slot = window_begins(i, p)
    if p.window_ticks == 1:
        return float(ring[slot])
    total = 0.0
    for _ in range(p.window_ticks):
        total += ring[slot]
        slot = slot + 1 if slot + 1 < p.slots else 0
    return total / p.window_ticks


def seen_last(ring: Any, i: int, p: Params) -> float:
    """The newest value that is observed after tick `i`."""
    slot = window_begins(i, p) + p.window_ticks - 1
    return float(ring[slot if slot < p.slots else slot - p.slots])


def milli_of(value: float) -> int:
    return int(value * 1000.0 + 0.5)


def cpu_sample(c: Cohorts, p: Params, k: int, i: int) -> int:
    """Millicores per pod of a group."""
    return milli_of(seen_mean(c.cpu_seen[k], i, p))


def memory_sample(c: Cohorts, p: Params, k: int, i: int) -> int:
    """Bytes per pod of a group."""
    return int(seen_last(c.heap_seen[k], i, p))


def is_sampled(c: Cohorts, p: Params, k: int, now: float) -> bool:
    """Whether the containers of a group ran throughout the window, so that each pod has a sample."""
    life = c.life[k]
    if life not in RUNNING:
        return False
    return bool(c.started[k] <= now - p.lag - p.window + 1e-6)


def pod_value(c: Cohorts, s: Site, p: Params, signal: int, k: int, i: int) -> int:
    """A custom metric per pod of a group, in milli-units: requests/s, seconds, waiting requests, cores, late ones/s."""
    if signal == REQUESTS:
        return milli_of(seen_mean(c.load_seen[k], i, p))
    if signal == USAGE:
        return cpu_sample(c, p, k, i)
    if signal == LATENCY:
        return milli_of(seen_mean(s.latency_seen, i, p))
    if signal == LATE:
        return milli_of(seen_mean(s.late_each_seen, i, p))
    return milli_of(seen_mean(s.queue_each_seen, i, p))


def total_value(s: Site, p: Params, signal: int, i: int) -> int:
    """The same metric for the whole workload."""
    if signal == REQUESTS:
        return milli_of(seen_mean(s.requests_seen, i, p))
    if signal == LATENCY:
        return milli_of(seen_mean(s.latency_seen, i, p))
    if signal == LATE:
        return milli_of(seen_mean(s.late_seen, i, p))
    return milli_of(seen_mean(s.queue_seen if signal == QUEUE else s.usage_seen, i, p))


def ready_or_leaving(c: Cohorts) -> int:
    """Pods whose Ready condition is true, which includes pods that are being deleted."""
    count = 0
    for k in range(c.used[0]):
        if c.life[k] in READY_STATES:
            count += c.count[k]
    return count
