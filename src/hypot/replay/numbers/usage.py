"""The usage history of one workload as plain numbers: histograms, and the sizes that a recommender derives from them.

The rules are those of `policy.usage`, for one container and pods in groups; a test checks that both agree.
"""

from math import floor, inf
from typing import Any, NamedTuple

from hypot.core.amount import round_up, scale
from hypot.core.usage.decay import Decaying, bucket_of, new_decaying, percentiles, put, take, weight_at
from hypot.core.usage.estimate import asked, bounds_around, confidence, narrower, wider
from hypot.core.usage.layout import CPU_LAYOUT, MEMORY_LAYOUT
from hypot.policy.usage.usage import CPU_WEIGHT
from hypot.replay.world.cohorts import Cohorts
from hypot.replay.world.params import Params
from hypot.replay.world.signals import cpu_sample, is_sampled, memory_sample

CPU, MEMORY = range(2)
# No size is known, or none is controlled.
UNKNOWN = -1
# Seconds between two samples of usage, and between two looks at sizes.
EVERY = 60.0


class NumericRecipe(NamedTuple):
    """How one resource is recommended: three percentiles, and how they become sizes."""

    controlled: bool
    shares: Any
    unit: float
    margin: float
    interval: float
    least: int
    grain: int


class NumericUsage(NamedTuple):
    """Histograms of both resources, when and how often cpu was sampled, and the recommended sizes."""

    cpu: Decaying
    memory: Decaying
    cpu_recipe: NumericRecipe
    memory_recipe: NumericRecipe
    # How long a memory peak counts as one sample, and what an out-of-memory kill adds to it.
    window: float
    bump_ratio: float
    least_bump: int
    first: Any
    last: Any
    samples: Any
    # The three percentiles of each, now and before, the sizes from them, and whether those of memory may have changed.
    cpu_usage: Any
    memory_usage: Any
    cpu_asked: Any
    memory_asked: Any
    is_new: Any
    # The recommended size, and the bounds within which a size may stay: cpu, then memory.
    lower: Any
    target: Any
    upper: Any


def new_usage(
    cpu: NumericRecipe,
    memory: NumericRecipe,
    half_lives: tuple[float, float],
    window: float,
    bump_ratio: float,
    least_bump: int,
) -> NumericUsage:
    """An empty history."""
    return NumericUsage(
        new_decaying(CPU_LAYOUT, half_lives[CPU]),
        new_decaying(MEMORY_LAYOUT, half_lives[MEMORY]),
        cpu,
        memory,
        window,
        bump_ratio,
        least_bump,
        [inf],
        [-inf],
        [0],
        [0.0] * 6,
        [0.0] * 6,
        [0] * 3,
        [0] * 3,
        [0],
        [UNKNOWN] * 2,
        [UNKNOWN] * 2,
        [UNKNOWN] * 2,
    )


def observe(u: NumericUsage, c: Cohorts, p: Params, i: int, now: float, blind: bool) -> None:
    """Add the usage of all pods as of now, after tick `i`, and their out-of-memory kills."""
    at, heard, by_memory = now - p.lag, 0, u.memory_recipe.controlled
    weight, value, bucket = CPU_WEIGHT * weight_at(u.cpu, at), -1, 0
    for k in range(c.used[0]):
        if by_memory and c.killed_at[k] > c.known_kill[k]:
            learn_of_kill(u, c, k)
        if blind or not is_sampled(c, p, k, now):
            continue
        if c.leader[k] == k:
            used = cpu_sample(c, p, k, i)
            if used != value:
                value, bucket = used, bucket_of(u.cpu, used / 1000.0)
            put(u.cpu, bucket, weight, c.mass[k])
            heard += c.mass[k]
        memory = float(memory_sample(c, p, k, i)) if by_memory else 0.0
        if by_memory and is_new_peak(u, c, k, at, memory):
            c.peak[k] = memory
    if heard > 0:
        u.first[0] = min(u.first[0], at)
        u.last[0] = max(u.last[0], at)
        u.samples[0] += heard
    if u.samples[0] > 0 or u.is_new[0] != 0:
        advise(u)


def learn_of_kill(u: NumericUsage, c: Cohorts, k: int) -> None:
    """The pod needs more than its request and its peak; earlier kills do not count, or each would ask for more."""
    c.known_kill[k] = c.killed_at[k]
    used = max(c.memory[k], int(c.peak[k]))
    needed = max(used + u.least_bump, scale(used, u.bump_ratio))
    if is_new_peak(u, c, k, c.killed_at[k], float(needed)):
        c.oom_peak[k] = float(needed)


def is_new_peak(u: NumericUsage, c: Cohorts, k: int, at: float, memory: float) -> bool:
    """Whether this replaces the peak: a higher peak does, and a sample after the end of the window opens the next."""
    before = max(c.peak[k], c.oom_peak[k])
    if at < c.window_end[k] and (before == 0.0 or memory <= before):
        return False
    take_in(u, c, k, at, before, memory)
    return True


def take_in(u: NumericUsage, c: Cohorts, k: int, at: float, before: float, memory: float) -> None:
    """Add a memory peak instead of the one before, or as the first of its window."""
    end, opens = c.window_end[k], at >= c.window_end[k]
    if opens:
        end = at if end == -inf else end
        end += (floor((at - end) / u.window) + 1.0) * u.window
        c.window_end[k] = end
        c.peak[k] = c.oom_peak[k] = 0.0
    weight = weight_at(u.memory, end)
    if not opens:
        take(u.memory, bucket_of(u.memory, before), weight, c.count[k])
    put(u.memory, bucket_of(u.memory, memory), weight, c.count[k])
    u.is_new[0] = 1


def advise(u: NumericUsage) -> None:
    """Update the recommended sizes."""
    if u.cpu_recipe.controlled:
        percentiles(u.cpu, u.cpu_recipe.shares, u.cpu_usage)
        recommend(u, u.cpu_recipe, u.cpu_usage, u.cpu_asked, CPU)
    if u.is_new[0] != 0:
        percentiles(u.memory, u.memory_recipe.shares, u.memory_usage)
        recommend(u, u.memory_recipe, u.memory_usage, u.memory_asked, MEMORY)
        u.is_new[0] = 0


def recommend(u: NumericUsage, recipe: NumericRecipe, used: Any, wanted: Any, resource: int) -> None:
    """Nothing is recommended without measurements; sizes are recalculated only if the percentiles have changed."""
    if used[1] == 0.0:
        u.target[resource] = UNKNOWN
    elif used[0] != used[3] or used[1] != used[4] or used[2] != used[5] or u.target[resource] == UNKNOWN:
        for j in range(3):
            used[j + 3] = used[j]
            wanted[j] = asked(used[j] * recipe.unit, recipe.margin)
        u.target[resource] = round_up(max(wanted[1], recipe.least), recipe.grain)


def bound(u: NumericUsage) -> None:
    """The bounds within which a size may stay; the confidence of memory depends on the cpu samples, as upstream."""
    bound_one(u, u.cpu_recipe, u.cpu_asked, CPU)
    bound_one(u, u.memory_recipe, u.memory_asked, MEMORY)


def bound_one(u: NumericUsage, recipe: NumericRecipe, wanted: Any, resource: int) -> None:
    if u.target[resource] == UNKNOWN:
        return
    sure = confidence(u.first[0], u.last[0], u.samples[0], recipe.interval)
    lower, upper = bounds_around(wanted[0], wanted[2], narrower(sure), wider(sure), recipe.least)
    u.lower[resource], u.upper[resource] = round_up(lower, recipe.grain), round_up(upper, recipe.grain)
