"""From a trace to the work of every tick."""

from typing import TYPE_CHECKING, NamedTuple
from zlib import crc32

import numpy as np

from hypot.replay.record import Floats
from hypot.replay.world import World

if TYPE_CHECKING:
    from hypot.replay.traces import Trace

# The peak that a trace is scaled to is this percentile of it: single spikes do not count.
PEAK = 99.9


class Load(NamedTuple):
    """What comes in every tick: work in cores, how much of it a core does, and memory that comes along, in bytes."""

    start: float
    work: Floats
    efficiency: Floats
    memory: Floats


def ticks_of(trace: "Trace", tick: float) -> int:
    """How many ticks a trace covers; what is left of the last one is not replayed."""
    return max(1, int((trace.times[-1] - trace.times[0]) // tick))


def load_of(trace: "Trace", world: World) -> Load:
    """The mean of the trace over every tick, linear between its points; noise and drops by seed and workload."""
    tick, demand = world.tick, world.demand
    count = ticks_of(trace, tick)
    edges = trace.times[0] + tick * np.arange(count + 1)
    cores = trace.values * (world.service.work if (trace.unit or demand.unit) == "requests" else 1.0)
    scale = demand.scale
    if demand.peak is not None:
        scale = demand.peak / max(float(np.percentile(cores, PEAK)), 1e-12)
    rng = np.random.default_rng([world.seed, crc32(trace.workload.encode())])
    work = means(trace.times, cores * scale, edges)
    if demand.noise > 0:
        work = work * rng.lognormal(-(demand.noise**2) / 2, demand.noise, count)
    memory = np.zeros(count) if trace.memory is None else means(trace.times, trace.memory, edges)
    return Load(float(trace.times[0]), work, _efficiency(world, count, rng), memory)


def means(times: Floats, values: Floats, edges: Floats) -> Floats:
    """The mean between any two edges of what is linear between its points."""
    steps = np.diff(times) * (values[1:] + values[:-1]) / 2
    areas = np.concatenate(([0.0], np.cumsum(steps)))
    edges = np.minimum(edges, times[-1])
    place = np.clip(np.searchsorted(times, edges, "right") - 1, 0, len(times) - 2)
    since = edges - times[place]
    slope = (values[place + 1] - values[place]) / (times[place + 1] - times[place])
    area = areas[place] + since * (values[place] + slope * since / 2)
    found: Floats = np.maximum(np.diff(area) / np.diff(edges), 0.0)
    return found


def _efficiency(world: World, count: int, rng: np.random.Generator) -> Floats:
    demand, tick = world.demand, world.tick
    factors = np.ones(count)
    at = tick * np.arange(count)
    for start, end, factor in demand.drops:
        factors[(at >= start) & (at < end)] = factor
    for start in np.sort(rng.uniform(0, count * tick, rng.poisson(demand.drops_per_day * count * tick / 86400))):
        factors[(at >= start) & (at < start + demand.drop_length)] = demand.drop_factor
    return factors
