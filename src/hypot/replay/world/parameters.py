"""The parameters of the simulated world: each with its name, its default and the reason for it.

Times are in seconds, cpu in cores, memory in bytes, money in dollars. `hypot.replay.world.file` reads them from YAML.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple

Signal = Literal["requests", "latency", "queue", "usage", "late"]


def _given(default: Any, unit: str, why: str) -> Any:
    return field(default=default, metadata={"unit": unit, "why": why})


class Span(NamedTuple):
    """A time span, in seconds since the start of the replay."""

    start: float
    end: float


class Drop(NamedTuple):
    """A time span in which a core does only `factor` of its usual work."""

    start: float
    end: float
    factor: float


@dataclass(frozen=True, slots=True)
class Demand:
    """How the values of a trace become work."""

    unit: Literal["rps", "cores"] = _given("rps", "word", "Whether trace values are requests/s (rps) or cores.")
    scale: float = _given(1.0, "number", "The factor by which each value of a trace is multiplied.")
    peak: float | None = _given(
        None, "cores", "Scale each trace so that its 99.9th percentile needs this many cores; replaces scale."
    )
    lead_in: float = _given(
        3600.0,
        "seconds",
        "How long the mean demand of its first 15 minutes is held before a trace begins, so that every policy starts "
        "with a shape that fits. It is not scored. Scenarios have none: they start as they are written.",
    )
    noise: float = _given(0.0, "number", "Sigma of a log-normal factor, drawn for every tick.")
    retries: float = _given(0.0, "share", "The share of the lost requests that are sent again.")
    retry_after: float = _given(3.0, "seconds", "How long a lost request waits before it is sent again.")
    drops: tuple[Drop, ...] = _given((), "drops", "When a core does less work than usual, and what share of it.")
    drops_per_day: float = _given(0.0, "number", "How many such drops occur at random, on average per day.")
    drop_factor: float = _given(0.5, "share", "The share of its usual work that a core does in a random drop.")
    drop_length: float = _given(7200.0, "seconds", "How long a random drop lasts.")


@dataclass(frozen=True, slots=True)
class Service:
    """What a request costs, and when it is late."""

    work: float = _given(0.02, "seconds", "The cpu time of one request.")
    deadline: float = _given(0.25, "seconds", "A request that takes longer is late.")
    slo: float = _given(0.99, "share", "The share of requests that must be in time.")
    timeout: float = _given(10.0, "seconds", "Requests that have waited this long are lost.")
    base_cpu: float = _given(0.05, "cores", "The cpu that each replica uses without any request.")
    base_share: float = _given(0.0, "share", "The same as a share of its cpu request; the larger one counts.")
    parallel: float = _given(0.0, "number", "The most cores that one replica can use; 0: as many as it has.")
    skew: float = _given(0.0, "share", "How much more than the mean load one replica gets.")
    throttling: float = _given(0.0, "seconds", "Added to the 99th percentile while usage is above 0.9 of the limit.")
    useful: float = _given(0.8, "share", "The utilisation up to which the service meets its SLO; for the demand.")


@dataclass(frozen=True, slots=True)
class Heap:
    """The memory of a replica."""

    base: int = _given(200 * 2**20, "bytes", "The memory that each replica uses without any request.")
    per_request: int = _given(2**20, "bytes", "The memory that each request in flight adds.")
    cache: int = _given(0, "bytes", "The memory that caches add as a replica gets older.")
    cache_fill: float = _given(3600.0, "seconds", "How fast caches fill: to 63 % within this time.")
    leak: float = _given(0.0, "bytes/second", "Memory that is never released.")
    rise: float = _given(30.0, "seconds", "How fast memory rises to what is needed.")
    fall: float = _given(1800.0, "seconds", "How fast memory is released; heaps release it slowly.")
    useful: float = _given(0.9, "share", "The share of the memory request that is safe to use; for the static peak.")


@dataclass(frozen=True, slots=True)
class Pods:
    """The life of a pod, from its creation to its end."""

    start: float = _given(30.0, "seconds", "From creation to ready, with the image on the node.")
    create: float = _given(3.0, "seconds", "The part of it before the containers run.")
    pull: float = _given(15.0, "seconds", "Added on a new node, to pull the image.")
    burn_cpu: float = _given(0.5, "cores", "The cpu that a starting pod uses.")
    burn_time: float = _given(10.0, "seconds", "For how long it uses that.")
    stop: float = _given(30.0, "seconds", "How long a terminating pod finishes its requests; it is paid for.")
    backoff: float = _given(10.0, "seconds", "The wait after the first crash; it doubles with each crash.")
    longest_backoff: float = _given(300.0, "seconds", "The longest such wait.")
    healthy: float = _given(600.0, "seconds", "After this long without a crash the wait starts over.")
    headroom: float = _given(0.5, "share", "How far a pod without a cpu limit can exceed its request.")
    headroom_cores: float = _given(0.0, "cores", "The same in cores; the larger one counts.")


@dataclass(frozen=True, slots=True)
class Metrics:
    """What autoscalers observe, and with what delay."""

    window: float = _given(30.0, "seconds", "The time over which usage is averaged.")
    lag: float = _given(15.0, "seconds", "How old the newest sample is.")
    gaps: tuple[Span, ...] = _given((), "spans", "When there are no metrics at all.")
    names: Mapping[str, Signal] = field(
        default_factory=dict,
        hash=False,
        metadata={"unit": "names", "why": "The signal behind each Pods, Object or External metric of a policy."},
    )


@dataclass(frozen=True, slots=True)
class ResizeParameters:
    """In-place resizes of pods."""

    in_place: bool = field(default=True, metadata={"unit": "truth", "why": "Whether the cluster supports them."})
    takes: float = _given(2.0, "seconds", "How long a resize takes.")
    room: float | None = _given(None, "cores", "By how much a pod's cpu request can rise on its node; none: no limit.")


@dataclass(frozen=True, slots=True)
class Nodes:
    """Nodes. If their number at the start is not set, there is always room."""

    start: int | None = _given(None, "count", "How many there are at the start; none: there is always room.")
    cpu: float = _given(8.0, "cores", "The cpu of each node.")
    memory: int = _given(32 * 2**30, "bytes", "The memory of each node.")
    reserved: float = _given(0.05, "share", "The share that is reserved for the system.")
    provisioning: float = _given(120.0, "seconds", "How long it takes until a new node can run pods.")
    removal: float = _given(600.0, "seconds", "How long a node must be empty before it is removed.")


@dataclass(frozen=True, slots=True)
class Workload:
    """The workload, if no manifest describes it."""

    replicas: int = _given(2, "count", "How many replicas there are at the start.")
    cpu: float = _given(1.0, "cores", "The cpu request of each.")
    memory: int = _given(2**30, "bytes", "The memory request of each.")
    cpu_limit: float | None = _given(1.2, "cores", "The cpu limit of each; none: its headroom is the limit.")
    memory_limit: int | None = _given(2**30, "bytes", "The memory limit of each; none: it is never OOM-killed.")


@dataclass(frozen=True, slots=True)
class Shapes:
    """Which replicas and sizes the lower bound, the demand and the static peak may use; printed with every result."""

    min_replicas: int = _given(2, "count", "The fewest replicas, for availability.")
    max_replicas: int = _given(1000, "count", "The most replicas.")
    min_cpu: float = _given(1.0, "cores", "The cpu of the smallest pod.")
    max_cpu: float = _given(1.0, "cores", "The cpu of the largest pod; equal to the smallest: only one size.")
    min_memory: int = _given(2**30, "bytes", "The memory of the smallest pod.")
    max_memory: int = _given(2**30, "bytes", "The memory of the largest pod.")


@dataclass(frozen=True, slots=True)
class Prices:
    """Prices per hour."""

    cpu: float = _given(0.04048, "dollars", "A requested core.")
    memory: float = _given(0.004445, "dollars", "A requested gigabyte (10^9 bytes).")
    node: float = _given(0.4, "dollars", "A node, for the cost by nodes.")
    late: float = _given(10.0, "number", "The cost of a late or lost request, in multiples of its cpu price.")
    restart: float = _given(300.0, "seconds", "What a restart costs: the price of a pod for this long.")


@dataclass(frozen=True, slots=True)
class Scoring:
    """Which part of a run counts."""

    skip: float = _given(0.0, "seconds", "How long policies may warm up before scoring begins.")
    windows: int = _given(1, "count", "The number of equal windows of the rest, for median and worst.")
    tune: float = _given(0.0, "share", "The first part of the trace, on which the best policy of a grid is chosen.")


@dataclass(frozen=True, slots=True)
class World:
    """Everything but the trace and the policy."""

    tick: float = _given(15.0, "seconds", "The length of one step; 5 for studies of bursts.")
    seed: int = _given(0, "count", "The seed of noise and random drops, together with the name of the workload.")
    demand: Demand = field(default=Demand(), metadata={"why": Demand.__doc__})
    service: Service = field(default=Service(), metadata={"why": Service.__doc__})
    memory: Heap = field(default=Heap(), metadata={"why": Heap.__doc__})
    pods: Pods = field(default=Pods(), metadata={"why": Pods.__doc__})
    metrics: Metrics = field(default=Metrics(), metadata={"why": Metrics.__doc__})
    resize: ResizeParameters = field(default=ResizeParameters(), metadata={"why": ResizeParameters.__doc__})
    nodes: Nodes = field(default=Nodes(), metadata={"why": Nodes.__doc__})
    workload: Workload = field(default=Workload(), metadata={"why": Workload.__doc__})
    shapes: Shapes = field(default=Shapes(), metadata={"why": Shapes.__doc__})
    prices: Prices = field(default=Prices(), metadata={"why": Prices.__doc__})
    scoring: Scoring = field(default=Scoring(), metadata={"why": Scoring.__doc__})
