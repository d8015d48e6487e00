"""The world as the plain numbers that a tick needs."""

from collections.abc import Container
from math import ceil, exp, inf
from typing import NamedTuple

from hypot.replay.world.parameters import World


class Params(NamedTuple):
    """Times in seconds unless they are ticks; sizes in millicores and bytes unless they are cores."""

    tick: float
    # Over how many ticks a sample is averaged, and that plus the ticks of lag.
    window_ticks: int
    slots: int
    lag: float
    window: float
    retry_ticks: int
    retries: float
    # The cpu time of one request, and how many requests a core serves per second.
    work: float
    rate: float
    deadline: float
    timeout: float
    base_cpu: float
    base_share: float
    parallel: float
    skew: float
    throttling: float
    heap_base: float
    heap_per_request: float
    heap_cache: float
    heap_cache_fill: float
    heap_leak: float
    # The share of the difference to its need by which memory moves in one tick.
    heap_rise: float
    heap_fall: float
    create: float
    start: float
    pull: float
    burn_cpu: float
    burn_time: float
    stop: float
    backoff: float
    longest_backoff: float
    healthy: float
    headroom: float
    headroom_cores: float
    resize_takes: float
    # By how many millicores a pod's cpu request can rise on its node.
    resize_room: float
    # Whether a change of cpu, or of memory, in place restarts the container.
    cpu_restarts: bool
    memory_restarts: bool
    node_cpu: float
    node_memory: float
    provisioning: float
    removal: float
    # Whether groups of equal pods are merged: only if nothing asks for single pods.
    merging: bool
    # Two pods whose memory differs by no more than this count as equal, unless it is near the limit.
    same_heap: float


# Memory differences that do not matter: a page where memory decides (nothing can measure less), else more.
PAGE, SMALL = 4096.0, float(1 << 20)


def params_of(world: World, *, merging: bool, restarting: Container[str] = (), memory_decides: bool = False) -> Params:
    """Metrics are as coarse as ticks: lag and window are rounded up to whole ticks."""
    tick, service, heap, pods, nodes = world.tick, world.service, world.memory, world.pods, world.nodes
    lag, window = ceil(world.metrics.lag / tick), max(1, ceil(world.metrics.window / tick))
    usable = 1.0 - nodes.reserved
    return Params(
        tick=tick,
        window_ticks=window,
        slots=lag + window,
        lag=lag * tick,
        window=window * tick,
        retry_ticks=max(1, ceil(world.demand.retry_after / tick)),
        retries=world.demand.retries,
        work=service.work,
        rate=1.0 / service.work,
        deadline=service.deadline,
        timeout=service.timeout,
        base_cpu=service.base_cpu,
        base_share=service.base_share,
        parallel=service.parallel,
        skew=service.skew,
        throttling=service.throttling,
        heap_base=float(heap.base),
        heap_per_request=float(heap.per_request),
        heap_cache=float(heap.cache),
        heap_cache_fill=heap.cache_fill,
        heap_leak=heap.leak,
        heap_rise=_share(tick, heap.rise),
        heap_fall=_share(tick, heap.fall),
        create=pods.create,
        start=pods.start,
        pull=pods.pull,
        burn_cpu=pods.burn_cpu,
        burn_time=pods.burn_time,
        stop=pods.stop,
        backoff=pods.backoff,
        longest_backoff=pods.longest_backoff,
        healthy=pods.healthy,
        headroom=pods.headroom,
        headroom_cores=pods.headroom_cores,
        resize_takes=world.resize.takes,
        resize_room=inf if world.resize.room is None else 1000.0 * world.resize.room,
        cpu_restarts="cpu" in restarting,
        memory_restarts="memory" in restarting,
        node_cpu=1000.0 * nodes.cpu * usable,
        node_memory=nodes.memory * usable,
        provisioning=nodes.provisioning,
        removal=nodes.removal,
        merging=merging,
        same_heap=0.0 if heap.leak or heap.cache else PAGE if memory_decides else SMALL,
    )


def _share(tick: float, time: float) -> float:
    return 1.0 if time <= 0 else 1.0 - exp(-tick / time)
