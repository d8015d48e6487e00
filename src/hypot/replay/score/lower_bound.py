"""The lower bound of a run's cost: the cheapest pods, chosen again in each tick, that serve as many requests in time.

They know the demand, need no time to start, and leave no backlog. They may be late in other ticks than the policy, but
not more often in the whole run. So a late or lost request gets a price: for any price, the least sum of costs and
penalties, minus the penalties of the policy, is a lower bound. The price that gives the highest one is searched for.
"""

from collections.abc import Callable, Iterator
from functools import lru_cache
from math import exp, inf, log
from typing import NamedTuple

import numpy as np

from hypot.replay.score.columns import HOUR, NOTHING, Bools, Ints
from hypot.replay.world.parameters import World
from hypot.replay.world.params import Params, params_of
from hypot.replay.world.record import Floats
from hypot.replay.world.service import base_use, crowding, usable_cores
from hypot.replay.world.tick import latency_of

# Demand is rounded down to this part of the largest demand.
LEVELS = 512
# Up to so many pods more than the fewest, each number is tried; beyond that, fractions of pods are allowed.
COUNTED = 32
# The distance between two sizes that are tried, as a logarithm, and the most of them; and how many loads of a pod are.
SIZE_STEP, SIZES, LOADS = 0.02, 129, 1024
# The range of prices for a late request, in multiples of its cpu, and how many of them are tried.
CHEAP, DEAR, PRICES = 1e-3, 1e9, 18
GOLDEN = (5.0**0.5 - 1.0) / 2.0
# Utilisations for which lateness is calculated: closer together where it rises fast.
UTILISATIONS = np.append(1.0 - np.geomspace(0.999, 0.005, 72), 1.0)
# The logarithm that stands for no lateness at all.
LEAST = -700.0


class AllowedShapes(NamedTuple):
    """Which pods may be used: at least so many, of these sizes in cores, each with so many bytes of memory.

    `burst` is how many cores a pod can get for each core that it requests.
    """

    replicas: int
    smallest: float
    largest: float
    memory: float
    burst: float


class _Load(NamedTuple):
    """How often there is which demand, in cores, while a core does this share of its usual work."""

    efficiency: float
    demand: Floats
    ticks: Floats


class _CheapestPod(NamedTuple):
    """What one pod can do: loads in cores, the price of each size for a tick, and the late share for each of both."""

    loads: Floats
    prices: Floats
    late: Floats


class _Spread(NamedTuple):
    """A load on each number of pods: the load of a pod below it, if a pod can have it; and if there are more pods."""

    load: _Load
    counts: Floats
    places: Ints
    fits: Bools
    many: Ints
    # The fewest of those more pods.
    more: int


def lower_bound(busy: Floats, efficiency: Floats, harmed: float, shapes: AllowedShapes, world: World) -> float:
    """The least cost of a run, in dollars, with at most `harmed` late and lost requests.

    `busy` is the work of each tick in cores, at the efficiency of that tick.
    """
    pod = _pod(shapes, world)
    # Pods whose loads differ are compared by what they cost for each core of work, as if there were fractions of them.
    counted = 0 if world.service.skew else COUNTED
    spreads = [_spread(pod, load, max(1, shapes.replicas), counted) for load in _loads(busy, efficiency)]
    idle = shapes.replicas * float(pod.prices[0])
    each = world.tick / world.service.work

    def bound(price: float) -> float:
        sums = [float(one.load.ticks @ _least(pod, one, idle, price * each)) for one in spreads]
        return sum(sums) - price * harmed

    unit = world.service.work * world.prices.cpu / HOUR
    return max(bound(0.0), _highest(lambda power: bound(unit * exp(power)), log(CHEAP), log(DEAR)))


def _spread(pod: _CheapestPod, load: _Load, fewest: int, counted: int) -> _Spread:
    counts = np.arange(fewest, fewest + counted, dtype=np.float64)[:, None]
    each, last = load.demand / counts, len(pod.loads) - 1
    places = np.searchsorted(pod.loads, each, side="right") - 1
    many = np.searchsorted(pod.loads[1:], load.demand / (fewest + counted)).clip(max=last - 1)
    return _Spread(load, counts, places, each <= pod.loads[last], many, fewest + counted)


def _least(pod: _CheapestPod, spread: _Spread, idle: float, penalty: float) -> Floats:
    """The least cost of a tick for each demand, if a core of late work costs `penalty`.

    Between two known loads it is that of the lower one, and between two sizes the price of the smaller one with the
    lateness of the larger one: a bound may be too low, but not too high.
    """
    demand, penalty = spread.load.demand, penalty * spread.load.efficiency
    one = (pod.prices + penalty * pod.loads[:, None] * pod.late).min(axis=1)
    by_work = np.minimum.accumulate(one[:-1] / pod.loads[1:])
    if not len(spread.counts):
        # Some pods may be late with most of the load while others are not.
        np.minimum(by_work, penalty, out=by_work)
    found: Floats = np.maximum(demand * by_work[spread.many], spread.more * pod.prices[0])
    np.minimum(found, idle + penalty * demand, out=found)
    if len(spread.counts):
        counted = spread.counts * np.where(spread.fits, one[spread.places], inf)
        np.minimum(found, counted.min(axis=0), out=found)
    return found


def _highest(of: Callable[[float], float], low: float, high: float) -> float:
    """The highest value of a function that first rises and then falls."""
    left, right = high - GOLDEN * (high - low), low + GOLDEN * (high - low)
    at_left, at_right = of(left), of(right)
    best = max(at_left, at_right)
    for _ in range(PRICES - 2):
        if at_left >= at_right:
            high, right, at_right = right, left, at_left
            left = high - GOLDEN * (high - low)
            at_left = of(left)
        else:
            low, left, at_left = left, right, at_right
            right = low + GOLDEN * (high - low)
            at_right = of(right)
        best = max(best, at_left, at_right)
    return best


def _loads(busy: Floats, efficiency: Floats) -> Iterator[_Load]:
    if (efficiency == 1.0).all():
        yield _load(busy, 1.0)
        return
    for share in np.unique(efficiency).tolist():
        yield _load(busy[efficiency == share], share)


def _load(busy: Floats, efficiency: float) -> _Load:
    step = float(busy.max(initial=0.0)) / LEVELS
    if step <= NOTHING:
        return _Load(efficiency, np.zeros(1), np.array([float(len(busy))]))
    ticks = np.bincount((busy / step).astype(np.int64), minlength=LEVELS + 1)
    return _Load(efficiency, step * np.arange(len(ticks), dtype=np.float64), ticks.astype(np.float64))


def _pod(shapes: AllowedShapes, world: World) -> _CheapestPod:
    service, hours, p = world.service, world.tick / HOUR, params_of(world, merging=True)
    sizes = _sizes(shapes)
    cores = [
        usable_cores(shapes.burst * size, base_use(service.base_cpu, service.base_share, size), service.parallel)
        for size in sizes.tolist()
    ]
    left = [service.deadline - service.work / min(1.0, each) for each in cores]
    # For a single tick, a little more than a pod can do may still be in time.
    most = [each * (1.0 + max(0.0, time) / world.tick) for each, time in zip(cores, left, strict=True)]
    loads = np.append(0.0, np.geomspace(max(most) / LOADS, max(most), LOADS))
    late = np.stack([_late(p, loads, *each) for each in zip(cores, left, most, strict=True)], axis=1)
    memory = shapes.memory / 1e9 * world.prices.memory
    prices = (sizes * world.prices.cpu + memory) * hours
    if len(sizes) == 1:
        return _CheapestPod(loads, prices, late)
    return _CheapestPod(loads, prices[:-1], late[:, 1:])


def _sizes(shapes: AllowedShapes) -> Floats:
    smallest, largest = max(shapes.smallest, NOTHING), shapes.largest
    if smallest >= largest:
        return np.array([largest])
    count = min(SIZES, 2 + int(log(largest / smallest) / SIZE_STEP))
    return np.geomspace(smallest, largest, count)


def _late(p: Params, loads: Floats, cores: float, left: float, most: float) -> Floats:
    """The share of late requests of a pod under these loads."""
    if left <= 0.0:
        return np.ones(len(loads))
    logs = _lateness(p, cores)
    return np.where(loads > most, 1.0, np.exp(np.interp(loads / cores, UTILISATIONS, logs)))


@lru_cache(maxsize=4096)
def _lateness(p: Params, cores: float) -> Floats:
    """The logarithm of the share of late requests at each utilisation."""
    return np.array([_log_late(p, cores, cores * share) for share in UTILISATIONS.tolist()])


def _log_late(p: Params, cores: float, load: float) -> float:
    late = latency_of(p, cores, crowding(max(1.0, cores)), load, 0.0, 1.0)[2]
    return max(LEAST, log(late)) if late > 0.0 else LEAST
