"""What somebody who knows the future would buy: the cheapest allowed shape for each tick.

A reference, not a lower bound: it keeps requests below a utilisation that the service bears, while a policy may let
pods run hotter, on what their limits or nodes spare. Which shapes are allowed belongs to the world.
"""

from typing import NamedTuple

import numpy as np

from hypot.replay.record import Floats
from hypot.replay.score_columns import HOUR, NOTHING, SAME, most_ahead
from hypot.replay.world import World

# A core that does no work at all would ask for cores without end.
LEAST_EFFICIENCY = 1e-6
# The service model lets no queue grow beyond this utilisation.
MOST_UTILISATION = 0.995


class Shape(NamedTuple):
    """So many pods of this size, one value a tick; memory in bytes."""

    replicas: Floats
    cpu: Floats
    memory: Floats


class Reference(NamedTuple):
    """The clairvoyant's purchase, one value a tick, its cost, and in how many ticks no allowed shape was enough."""

    # What drives it: cores of work at the efficiency of the tick, and the memory that the load needs, in bytes.
    busy: Floats
    held: Floats
    # Cores that must be requested now, and those for the time until a pod ordered now would serve.
    demand: Floats
    ahead: Floats
    # What is bought for `ahead`: pods, cores of each, cores and bytes of all.
    replicas: Floats
    cpu: Floats
    total: Floats
    memory: Floats
    cost: float
    beyond: int


class StaticPeak(NamedTuple):
    """The one shape that would have been enough all the time, and its cost over that time."""

    replicas: int
    cpu: float
    memory: float
    cost: float


def reference(work: Floats, efficiency: Floats, world: World, held: Floats | None = None) -> Reference:
    """The cheapest allowed shape for the demand of each tick and of the time that a pod takes to start.

    `held` is the memory that the load needs beyond what each pod has anyway, in bytes; without it, it is estimated.
    """
    busy = work / np.maximum(efficiency, LEAST_EFFICIENCY)
    held = in_flight(busy, world) * world.memory.per_request if held is None else held
    demand, beyond = _demand(busy, held, world)
    start = int(np.ceil(world.pods.start / world.tick - SAME))
    busy_ahead, held_ahead = most_ahead(busy, start), most_ahead(held, start)
    shape = cheapest(busy_ahead, held_ahead, world)
    total, memory = shape.replicas * shape.cpu, shape.replicas * shape.memory
    cost = cost_of(total, memory, world)
    return Reference(
        busy, held, demand, most_ahead(demand, start), shape.replicas, shape.cpu, total, memory, cost, beyond
    )


def cheapest(busy: Floats, held: Floats, world: World) -> Shape:
    """The fewest pods whose size is allowed: each pod more has its base usage, so no other count is cheaper."""
    shapes = world.shapes
    count = _count(busy, held, world)
    each = np.maximum(count, 1.0)
    cpu = np.clip(_cpu_of(busy / each, world), shapes.min_cpu, shapes.max_cpu)
    memory = np.clip(_memory_of(held / each, world), shapes.min_memory, shapes.max_memory)
    return Shape(count, cpu, memory)


def useful_work(replicas: Floats, cpu: Floats, world: World) -> Floats:
    """The cores of work that these pods do while they keep their promise; none where base usage takes it all."""
    service = world.service
    each = service.useful * cpu - np.maximum(service.base_cpu, service.base_share * cpu)
    if service.parallel > 0.0:
        each = np.minimum(each, service.useful * service.parallel)
    return replicas * np.maximum(each, 0.0)


def in_flight(busy: Floats, world: World) -> Floats:
    """How many requests are there at once: what a single server holds that is used as far as it may be."""
    return busy / (1.0 - min(world.service.useful, MOST_UTILISATION))


def static_peak(reference: Reference, world: World) -> StaticPeak:
    """The cheapest shape for the largest demand of the run, kept all the time."""
    if not len(reference.busy):
        return StaticPeak(0, 0.0, 0.0, 0.0)
    most = cheapest(reference.busy.max(keepdims=True), reference.held.max(keepdims=True), world)
    replicas, cpu, memory = (float(column[0]) for column in most)
    all_the_time = np.full(len(reference.busy), replicas)
    return StaticPeak(int(replicas), cpu, memory, cost_of(all_the_time * cpu, all_the_time * memory, world))


def cost_of(cpu: Floats, memory: Floats, world: World) -> float:
    """What requests of so many cores and bytes cost, one value a tick."""
    hours = world.tick / HOUR
    gigabytes = float(memory.sum()) / 1e9
    return (float(cpu.sum()) * world.prices.cpu + gigabytes * world.prices.memory) * hours


def _demand(busy: Floats, held: Floats, world: World) -> tuple[Floats, int]:
    """The cores that must be requested in each tick, and how many ticks want more than the largest shape has."""
    shapes = world.shapes
    count = _count(busy, held, world)
    needed = count * _cpu_of(busy / np.maximum(count, 1.0), world)
    demand = np.clip(needed, shapes.min_replicas * shapes.min_cpu, shapes.max_replicas * shapes.max_cpu)
    most_work = shapes.max_replicas * _work_of_the_largest(world)
    most_held = shapes.max_replicas * _room(world)
    beyond = (busy > most_work * (1.0 + SAME) + NOTHING) | (held > most_held * (1.0 + SAME) + NOTHING)
    return demand, int(np.count_nonzero(beyond))


def _count(busy: Floats, held: Floats, world: World) -> Floats:
    """The fewest pods for the work and for its memory. Memory counts only where more pods would help."""
    shapes = world.shapes
    count = _pods_for(busy, _work_of_the_largest(world), shapes.max_replicas)
    if _room(world) > 0.0:
        count = np.maximum(count, _pods_for(held, _room(world), shapes.max_replicas))
    return np.clip(count, shapes.min_replicas, shapes.max_replicas)


def _pods_for(load: Floats, each: float, most: int) -> Floats:
    if each <= NOTHING:
        return np.where(load > NOTHING, float(most), 0.0)
    return np.ceil(np.minimum(load / each, float(most)) - SAME)


def _cpu_of(work: Floats, world: World) -> Floats:
    """The least request of a pod that does so much work: use, with its base, stays within the useful share of it."""
    service = world.service
    needed = (work + service.base_cpu) / service.useful
    if service.base_share <= 0.0:
        return needed
    if service.base_share >= service.useful:
        return np.where(work > NOTHING, world.shapes.max_cpu, needed)
    return np.maximum(needed, work / (service.useful - service.base_share))


def _memory_of(held: Floats, world: World) -> Floats:
    return (world.memory.base + world.memory.cache + held) / world.memory.useful


def _work_of_the_largest(world: World) -> float:
    return float(useful_work(np.ones(1), np.full(1, world.shapes.max_cpu), world)[0])


def _room(world: World) -> float:
    """The memory that the largest pod has for the load; negative where not even an idle pod fits."""
    return world.memory.useful * world.shapes.max_memory - world.memory.base - world.memory.cache
