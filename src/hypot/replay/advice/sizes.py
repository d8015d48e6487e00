"""The cpu request that the usage of a workload shows."""

from math import ceil, floor, log10

import numpy as np

from hypot.kinds.hpa import HPA
from hypot.replay.advice.today import cpu_targets
from hypot.replay.engine.demand import load_of, ticks_of
from hypot.replay.policies.policy import Policy
from hypot.replay.score.columns import NOTHING
from hypot.replay.traces.trace import Trace
from hypot.replay.world.parameters import World
from hypot.replay.world.record import Floats

# What a VPA asks for: this percentile of usage, and this much more.
VPA_PERCENTILE, VPA_MARGIN = 90.0, 1.15
# Percentiles of which a useful share of the request is used.
USEFUL_PERCENTILES = (99.0, 100.0)
# A size that differs by less from today's is none of its own.
SAME = 0.05
LEAST = 10


def sizes_shown(today: Policy, trace: Trace, world: World) -> list[int]:
    """Requests in millicores: what a VPA would ask for, and what keeps pods within their useful share."""
    used = usage_of_pods(today, trace, world)
    service = world.service
    wanted = [float(np.percentile(used, VPA_PERCENTILE)) * VPA_MARGIN]
    wanted += [float(np.percentile(used, one)) / service.useful for one in USEFUL_PERCENTILES]
    most = today.workload.cpu
    sizes = [max(LEAST, rounded_up(1000.0 * one)) for one in wanted]
    return [one for one in dict.fromkeys(sizes) if abs(one - most) > SAME * most]


def usage_of_pods(today: Policy, trace: Trace, world: World) -> Floats:
    """The cores that a pod uses, in every tick up to where judging begins: with the replicas it has today."""
    ticks = ticks_of(trace, world.tick)
    work = load_of(trace, world).work[: max(1, int(world.scoring.tune * ticks))]
    used: Floats = work / _replicas(today, work) + world.service.base_cpu
    return used


def _replicas(today: Policy, work: Floats) -> Floats:
    """About as many as it would have; what does not count by cpu has those of its manifest."""
    start, hpas = today.workload, [one for one in today.autoscalers if isinstance(one, HPA)]
    targets = cpu_targets(hpas[0]) if hpas else ()
    if not targets:
        return np.full(len(work), float(max(1, start.replicas)))
    pods = np.ceil(work / (start.cpu / 1000.0 * targets[0] / 100.0))
    low, high = hpas[0].min_replicas or 1, hpas[0].max_replicas or 1
    found: Floats = np.clip(pods, max(1, low), max(1, high))
    return found


def rounded_up(millicores: float) -> int:
    """To two digits."""
    if millicores <= 1:
        return 1
    unit: int = 10 ** max(0, floor(log10(millicores)) - 1)
    return ceil(millicores / unit - NOTHING) * unit
