"""What goes on around the pods: what is asked for, nodes, requests that come back, and what was seen of all of it."""

from math import inf
from typing import Any, NamedTuple

from hypot.replay.world.params import Params
from hypot.replay.world.record import COLUMNS


class Site(NamedTuple):
    """Columns of plain numbers, most of them with one place, so that they can change where they are."""

    # How many replicas are asked for, and the size of a new pod: millicores, bytes, and their limits.
    asked: Any
    template: Any
    # When something is due next: a change of life, a resize, a node.
    due: Any
    # When the replay began.
    epoch: Any
    # Nodes there are (-1: as many as it takes), nodes that come and when, and since when each is empty.
    nodes: Any
    coming: Any
    coming_due: Any
    idle_since: Any
    # Requests that come back, a place for each tick; and what is seen of the whole: requests, latency, cores in use,
    # the backlog, and the backlog of each pod.
    returning: Any
    requests_seen: Any
    latency_seen: Any
    usage_seen: Any
    queue_seen: Any
    queue_each_seen: Any
    # Since the last tick: requests that died with their pod, pods evicted for a new size, pods killed for memory.
    died: Any
    evicted: Any
    killed: Any
    # Whether pods changed since stock was taken, and as of then: the shares of the load of all that serve together.
    stale: Any
    weight: Any
    # Whether groups may come to live through the same that do not yet.
    apart: Any
    # The row of the present tick; what is in stock stands in it from one tick to the next.
    row: Any
    # What the requests of the last group felt, and what that followed from.
    felt: Any


# Orders of nodes that can be under way at once, and nodes whose emptiness is watched one by one.
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
        died=[0.0],
        evicted=[0],
        killed=[0],
        stale=[1],
        weight=[0.0],
        apart=[0],
        row=[0.0] * COLUMNS,
        felt=[0.0] * 7,
    )
