"""Turns a trace into the work of every tick."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple
from zlib import crc32

import numpy as np

from hypot.replay.score.columns import DAY, window_sums
from hypot.replay.world.parameters import Drop, Span, World
from hypot.replay.world.record import Floats

if TYPE_CHECKING:
    from hypot.replay.traces.trace import Trace

# The peak that a trace is scaled to is this percentile of it: single spikes do not count.
PEAK = 99.9
# The first demand of a trace is the mean of this many seconds.
BEGINNING = 900.0


class Load(NamedTuple):
    """The load of every tick: work in cores, efficiency of a core, and the memory that comes with it, in bytes."""

    start: float
    work: Floats
    efficiency: Floats
    memory: Floats
    # How many of these ticks are before the trace begins.
    lead: int = 0


def ticks_of(trace: "Trace", tick: float) -> int:
    """How many whole ticks a trace covers; a partial tick at the end is not replayed."""
    return max(1, int((trace.times[-1] - trace.times[0]) // tick))


def lead_of(world: World) -> int:
    """How many ticks are replayed before a trace begins."""
    return int(world.demand.lead_in / world.tick)


def ticks_replayed(trace: "Trace", world: World) -> int:
    """How many ticks a job has."""
    return lead_of(world) + ticks_of(trace, world.tick)


def led_in(load: Load, world: World) -> Load:
    """The load with its first demand before it, so that every policy begins with a shape that fits."""
    lead, beginning = lead_of(world), max(1, int(BEGINNING / world.tick))
    before = [np.repeat(column[:beginning].mean(), lead) for column in load[1:4]]
    work, efficiency, memory = map(np.concatenate, zip(before, load[1:4], strict=True))
    return Load(load.start - lead * world.tick, work, efficiency, memory, lead)


def gaps_in(load: Load, world: World) -> tuple[Span, ...]:
    """When there are no metrics, in seconds since the first tick."""
    before = load.lead * world.tick
    return tuple([Span(start + before, end + before) for start, end in world.metrics.gaps])


def load_of(trace: "Trace", world: World) -> Load:
    """The mean of the trace over every tick, interpolated linearly; noise and drops depend on seed and workload."""
    demand, count = world.demand, ticks_of(trace, world.tick)
    rng = _chance(trace, world)
    work = means_of_ticks(trace.times, trace.values * _cores_each(trace, world), count, world.tick)
    if rng is not None and demand.noise > 0:
        work *= rng.lognormal(-(demand.noise**2) / 2, demand.noise, count)
    memory = np.zeros(count) if trace.memory is None else means_of_ticks(trace.times, trace.memory, count, world.tick)
    return Load(float(trace.times[0]), work, _efficiency(world, count, rng), memory)


def means_of_ticks(times: Floats, values: Floats, count: int, tick: float) -> Floats:
    """The mean of each tick from the first time on. The points of a regular trace are found without a search."""
    step = times[1] - times[0]
    # As floats: steps may be so short that the number of points is infinite.
    points, ticks = round(min(tick / step, len(times))), round(step / tick)
    if points * step == tick and len(times) > points * count and _is_regular(times, step):
        return _means_of_steps(values[: points * count + 1], points)
    if ticks * tick == step and _is_regular(times, step):
        return _means_within_steps(values, ticks)[:count]
    return means(times, values, times[0] + tick * np.arange(count + 1))


def means(times: Floats, values: Floats, edges: Floats) -> Floats:
    """The means between successive edges of a function that is linear between its points."""
    steps = np.diff(times) * (values[1:] + values[:-1]) / 2
    areas = np.concatenate(([0.0], np.cumsum(steps)))
    edges = np.minimum(edges, times[-1])
    place = np.clip(np.searchsorted(times, edges, "right") - 1, 0, len(times) - 2)
    since = edges - times[place]
    # A share, not a slope, which would be infinite where times are very close.
    way = since / (times[place + 1] - times[place])
    area = areas[place] + since * (values[place] + (values[place + 1] - values[place]) * way / 2)
    found: Floats = np.maximum(np.diff(area) / np.diff(edges), 0.0)
    return found


def _is_regular(times: Floats, step: float) -> bool:
    return bool((times[1:] - times[:-1] == step).all())


def _means_of_steps(values: Floats, points: int) -> Floats:
    """For ticks that are `points` steps long."""
    middles = values[1:] + values[:-1]
    found = window_sums(middles, points) if points > 1 else middles
    found *= 0.5 / points
    return np.maximum(found, 0.0, out=found)


def _means_within_steps(values: Floats, ticks: int) -> Floats:
    """For steps that are `ticks` ticks long: the mean of a tick is the value at its middle."""
    way = (np.arange(ticks) + 0.5) / ticks
    found = (values[:-1, np.newaxis] + np.multiply.outer(values[1:] - values[:-1], way)).ravel()
    return np.maximum(found, 0.0, out=found)


def _chance(trace: "Trace", world: World) -> "np.random.Generator | None":
    """None if nothing is random: creating a generator takes longer than many ticks."""
    if world.demand.noise <= 0 and world.demand.drops_per_day <= 0:
        return None
    return np.random.default_rng([world.seed, crc32(trace.workload.encode())])


def _cores_each(trace: "Trace", world: World) -> float:
    """The cores per unit of the trace, scaled as the world says."""
    demand = world.demand
    each = world.service.work if (trace.unit or demand.unit) == "rps" else 1.0
    if demand.peak is None:
        return each * demand.scale
    return each * demand.peak / max(each * float(np.percentile(trace.values, PEAK)), 1e-12)


def _efficiency(world: World, count: int, rng: "np.random.Generator | None") -> Floats:
    factors = np.ones(count)
    drops = (*world.demand.drops, *_random_drops(world, count, rng))
    if not drops:
        return factors
    at = world.tick * np.arange(count)
    for start, end, factor in drops:
        first, last = np.searchsorted(at, (start, end))
        factors[first:last] = factor
    return factors


def _random_drops(world: World, count: int, rng: "np.random.Generator | None") -> Iterator[Drop]:
    demand, length = world.demand, count * world.tick
    if rng is None:
        return
    for start in np.sort(rng.uniform(0, length, rng.poisson(demand.drops_per_day * length / DAY))):
        yield Drop(start, start + demand.drop_length, demand.drop_factor)
