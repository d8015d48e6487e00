"""The result of a replay: one row per tick, and the decisions that changed something."""

from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from hypot.policy.model.decision import Decision
from hypot.replay.world.parameters import World

Floats = npt.NDArray[np.float64]


class Ticks(NamedTuple):
    """One value per tick, for the tick that begins at `at`. Sums are over pods, cpu in cores, memory in bytes."""

    at: Floats
    # Demand: work in cores at usual efficiency, the current efficiency of a core, and requests/s including retries.
    work: Floats
    efficiency: Floats
    requests: Floats
    # What was requested: replicas, and the size of a new pod.
    replicas: Floats
    size_cpu: Floats
    size_memory: Floats
    # What exists: all pods that are paid for, and those that serve.
    pods: Floats
    ready: Floats
    cpu: Floats
    memory: Floats
    ready_cpu: Floats
    ready_memory: Floats
    # Usage, how many pods use all they can get, and the cores that all serving pods can get together.
    used_cpu: Floats
    used_memory: Floats
    capped: Floats
    cap_cpu: Floats
    # What users experience: requests served and lost in this tick, and those of the lost that had counted as late when
    # they arrived; the backlog after it, the share of arriving requests that is late, and latency in seconds: mean and
    # 99th percentile.
    served: Floats
    lost: Floats
    late_lost: Floats
    backlog: Floats
    late: Floats
    latency: Floats
    p99: Floats
    # Pods that were evicted for a new size in this tick, pods that were OOM-killed; and nodes.
    evicted: Floats
    killed: Floats
    nodes: Floats


# The index of each column.
(AT, WORK, EFFICIENCY, REQUESTS, REPLICAS, SIZE_CPU, SIZE_MEMORY) = range(7)
(PODS, READY, CPU, MEMORY, READY_CPU, READY_MEMORY) = range(7, 13)
(USED_CPU, USED_MEMORY, CAPPED, CAP_CPU) = range(13, 17)
(SERVED, LOST, LATE_LOST, BACKLOG, LATE, LATENCY, P99) = range(17, 24)
(EVICTED, KILLED, NODES) = range(24, 27)
COLUMNS = len(Ticks._fields)
NO_TICKS = Ticks(*np.empty((COLUMNS, 0)))


class Moment(NamedTuple):
    """A decision that changed something."""

    at: float
    decision: Decision


class Watch(NamedTuple):
    """The marks of a WatermarkPodAutoscaler over time, one value a decision."""

    metric: str
    at: Floats
    value: Floats
    high: Floats
    low: Floats
    proposal: Floats
    effective: Floats
    # Seconds for which a window still forbids scaling up, and down; 0 if none does.
    wait_up: Floats
    wait_down: Floats


class RulePrices(NamedTuple):
    """What the rules of an Autoscaler had cost so far, over time, as shares of the price of an HPA at 70 %.

    Of the count, and of the size: a row for the cheapest rule of each forecast, and one for the rule that decides. NaN
    while nothing is priced.
    """

    # The time between two decisions.
    step: float
    at: Floats
    counts: Floats
    sizes: Floats


@dataclass(frozen=True, slots=True)
class Run:
    """One policy on one trace."""

    policy: str
    workload: str
    world: World
    ticks: Ticks
    moments: tuple[Moment, ...] = ()
    watch: Watch | None = None
    # What was repaired or ignored, as text.
    notes: tuple[str, ...] = field(default=())
    prices: RulePrices | None = None
