"""Everything around the pods: requested replicas, nodes, returning requests, and the observed metrics."""

from math import inf
from typing import Any, NamedTuple

from hypot.replay.world.params import Params
from hypot.replay.world.record import COLUMNS


class Site(NamedTuple):
    """Columns of plain numbers. Most have one element, so that they can be changed in place."""

    # The requested replicas, and the size of a new pod: millicores, bytes, and their limits; and the size in the
    # workload's own pod template.
    asked: Any
    template: Any
    written: Any
    # When the next event is due: a change of life, a resize, a node.
    due: Any
    # When the replay began.
    epoch: Any
    # The number of nodes (-1: unlimited), ordered nodes and when they arrive, and since when each node is empty.
    nodes: Any
    coming: Any
    coming_due: Any
    idle_since: Any
    # Lost requests that will come back, one element per tick; and the observed totals: requests, latency, cores in use,
    # the backlog, the backlog of each pod, late requests, and those of each pod.
    returning: Any
    requests_seen: Any
    latency_seen: Any
    usage_seen: Any
    queue_seen: Any
    queue_each_seen: Any
    late_seen: Any
    late_each_seen: Any
    # Since the last tick: requests that died with their pod, and those of them that had counted as late; pods evicted
    # for a new size, pods that were OOM-killed.
    died: Any
    late_died: Any
    evicted: Any
    killed: Any
    # Whether pods changed since the sums were last taken; and as of then, the total load share of all serving pods.
    stale: Any
    weight: Any
    # Whether groups that differ now may later behave the same.
    apart: Any
    # The row of the current tick; the sums over pods stay in it from one tick to the next.
    row: Any
    # The latency of the last group that served, and the inputs from which it was calculated.
    felt: Any


# Node orders that can be pending at once, and the most nodes whose idle time is tracked one by one.
BATCHES, MOST_NODES = 16, 256


def new_site(
    replicas: int,
    cpu: int,
    memory: int,
    cpu_limit: int,
    memory_limit: int,
    nodes: int | None,
    start: float,
    p: Params,
) -> Site:
    return Site(
        asked=[replicas],
        template=[cpu, memory, cpu_limit, memory_limit],
        written=[cpu, memory, cpu_limit, memory_limit],
        due=[-inf],
        nodes=[-1 if nodes is None else nodes],
        epoch=[start],
        coming=[0] * BATCHES,
        coming_due=[inf] * BATCHES,
        idle_since=[inf] * MOST_NODES,
        returning=[0.0] * p.retry_ticks,
        requests_seen=[0.0] * p.slots,
        latency_seen=[0.0] * p.slots,
        usage_seen=[0.0] * p.slots,
        queue_seen=[0.0] * p.slots,
        queue_each_seen=[0.0] * p.slots,
        late_seen=[0.0] * p.slots,
        late_each_seen=[0.0] * p.slots,
        died=[0.0],
        late_died=[0.0],
        evicted=[0],
        killed=[0],
        stale=[1],
        weight=[0.0],
        apart=[0],
        row=[0.0] * COLUMNS,
        felt=[0.0] * 7,
    )
