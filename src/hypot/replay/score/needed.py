"""What is needed: the cheapest allowed shape that keeps the service at its useful utilisation, tick by tick.

It is the demand that supply is compared with, and it gives the static peak. The world says which shapes are allowed.
"""

from typing import NamedTuple

import numpy as np

from hypot.replay.score.columns import HOUR, NOTHING, SAME
from hypot.replay.world.parameters import World
from hypot.replay.world.record import Floats

# The least efficiency; a core that does no work at all would need infinitely many cores.
LEAST_EFFICIENCY = 1e-6
# The service model applies the queueing formula only up to this utilisation.
MOST_UTILISATION = 0.995


class Shape(NamedTuple):
    """A number of pods of one size, one value per tick; memory in bytes."""

    replicas: Floats
    cpu: Floats
    memory: Floats


class Needed(NamedTuple):
    """What the load needs, one value per tick."""

    # The cores that must be requested.
    demand: Floats
    # The work in cores at the efficiency of the tick, that efficiency, and the memory that the load needs, in bytes.
    busy: Floats
    efficiency: Floats
    held: Floats
    # The largest of `busy` and of `held`.
    most_busy: float
    most_held: float


class StaticPeak(NamedTuple):
    """The one shape that would have been enough all the time, and its cost."""

    replicas: int
    cpu: float
    memory: float
    cost: float


def needed(work: Floats, efficiency: Floats, world: World, held: Floats | None = None) -> Needed:
    """What each tick needs. `held` is the memory that the load needs beyond the base of each pod; None: estimated."""
    busy = work if (efficiency == 1.0).all() else work / np.maximum(efficiency, LEAST_EFFICIENCY)
    held = busy * (_in_flight_each(world) * world.memory.per_request) if held is None else held
    most_busy, most_held = float(busy.max(initial=0.0)), float(held.max(initial=0.0))
    count = _count(busy, pods_for_memory(held, world, most_held), world)
    return Needed(_demand(busy, count, world), busy, efficiency, held, most_busy, most_held)


def cheapest(busy: Floats, held: Floats, world: World) -> Shape:
    """The fewest pods whose size is allowed: each further pod adds its base usage, so no other count is cheaper."""
    fewest = pods_for_memory(held, world, float(held.max(initial=0.0)))
    return _shape(busy, held, _count(busy, fewest, world), world)


def least_cores(busy: Floats, fewest: Floats | None, world: World) -> Floats:
    """The cores of the cheapest shape with at least `fewest` pods that does this work."""
    count = _count(busy, fewest, world)
    return count * _cpu_each(busy, count, world)


def useful_work(replicas: Floats, cpu: Floats, world: World) -> Floats:
    """The cores of work that these pods do within the SLO; zero if base usage takes everything."""
    service = world.service
    each = service.useful * cpu - np.maximum(service.base_cpu, service.base_share * cpu)
    if service.parallel > 0.0:
        each = np.minimum(each, service.useful * service.parallel)
    return replicas * np.maximum(each, 0.0)


def _in_flight_each(world: World) -> float:
    """How many requests are in flight for each busy core: those of a single server at its useful utilisation."""
    return 1.0 / (1.0 - min(world.service.useful, MOST_UTILISATION))


def static_peak(need: Needed, world: World) -> StaticPeak:
    """The cheapest shape for the largest demand of the run, kept all the time."""
    if not len(need.demand):
        return StaticPeak(0, 0.0, 0.0, 0.0)
    most = cheapest(np.array([need.most_busy]), np.array([need.most_held]), world)
    replicas, cpu, memory = (float(column[0]) for column in most)
    all_the_time = replicas * len(need.demand)
    return StaticPeak(int(replicas), cpu, memory, cost_of_sums(all_the_time * cpu, all_the_time * memory, world))


def cost_of_sums(cpu: float, memory: float, world: World) -> float:
    """What requests cost, from their sums over ticks in cores and bytes."""
    return (cpu * world.prices.cpu + memory / 1e9 * world.prices.memory) * world.tick / HOUR


def pods_for_memory(held: Floats, world: World, most_held: float) -> Floats | None:
    """How many pods have this memory; None if the fewest pods always have enough, or more pods would not help."""
    room = _room(world)
    if room <= 0.0 or most_held <= room * world.shapes.min_replicas:
        return None
    return _pods_for(held, room, world.shapes.max_replicas)


def _demand(busy: Floats, count: Floats, world: World) -> Floats:
    """The cores that must be requested in each tick."""
    shapes = world.shapes
    needed = _cores_of(busy, count, world)
    if not shapes.min_replicas:
        needed[count == 0.0] = 0.0
    return np.clip(needed, shapes.min_replicas * shapes.min_cpu, shapes.max_replicas * shapes.max_cpu, out=needed)


def _count(busy: Floats, fewest: Floats | None, world: World) -> Floats:
    """The fewest allowed pods for the work, and no fewer than `fewest`."""
    shapes = world.shapes
    count = _pods_for(busy, _work_of_the_largest(world), shapes.max_replicas)
    if fewest is not None:
        np.maximum(count, fewest, out=count)
    return np.clip(count, float(shapes.min_replicas), float(shapes.max_replicas), out=count)


def _pods_for(load: Floats, each: float, most: int) -> Floats:
    """How many pods are needed; `most` if a pod cannot do any of it."""
    if each <= NOTHING:
        return np.where(load > NOTHING, float(most), 0.0)
    pods = load / each
    pods -= SAME
    return np.ceil(pods, out=pods)


def _shape(busy: Floats, held: Floats, count: Floats, world: World) -> Shape:
    shapes = world.shapes
    cpu = np.broadcast_to(np.float64(shapes.max_cpu), count.shape)
    memory = np.broadcast_to(np.float64(shapes.max_memory), count.shape)
    if shapes.min_cpu < shapes.max_cpu:
        cpu = _cpu_each(busy, count, world)
    if shapes.min_memory < shapes.max_memory:
        memory = _memory_each(held, count, world)
    return Shape(count, cpu, memory)


def _cpu_each(busy: Floats, count: Floats, world: World) -> Floats:
    """The least allowed cpu size with which `count` pods do this work."""
    each = np.maximum(count, 1.0)
    return np.clip(_cores_of(busy, each, world) / each, world.shapes.min_cpu, world.shapes.max_cpu)


def _memory_each(held: Floats, count: Floats, world: World) -> Floats:
    needed = (world.memory.base + world.memory.cache + held / np.maximum(count, 1.0)) / world.memory.useful
    return np.clip(needed, world.shapes.min_memory, world.shapes.max_memory)


def _cores_of(busy: Floats, count: Floats, world: World) -> Floats:
    """The least cpu requests of `count` pods for this work: usage with their base stays within the useful share."""
    service = world.service
    needed = count * service.base_cpu
    needed += busy
    needed /= service.useful
    if service.base_share <= 0.0:
        return needed
    if service.base_share >= service.useful:
        return np.where(busy > NOTHING * count, world.shapes.max_cpu * count, needed)
    return np.maximum(needed, busy / (service.useful - service.base_share))


def _work_of_the_largest(world: World) -> float:
    return float(useful_work(np.ones(1), np.array([world.shapes.max_cpu]), world)[0])


def _room(world: World) -> float:
    """The memory that the largest pod has for the load; negative if not even an idle pod fits."""
    return world.memory.useful * world.shapes.max_memory - world.memory.base - world.memory.cache
