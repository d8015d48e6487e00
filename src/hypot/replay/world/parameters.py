"""The simulated world in numbers: every parameter by name, with its default and the reason for it.

Times are seconds, cpu is in cores, memory in bytes, money in dollars. `world_file` reads a world from YAML.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple

Signal = Literal["requests", "latency", "queue", "usage"]


def _given(default: Any, unit: str, why: str) -> Any:
    return field(default=default, metadata={"unit": unit, "why": why})


class Span(NamedTuple):
    """A stretch of time, in seconds since the start of the replay."""

    start: float
    end: float


class Drop(NamedTuple):
    """A stretch of time in which a core does only `factor` of its usual work."""

    start: float
    end: float
    factor: float


@dataclass(frozen=True, slots=True)
class Demand:
    """How a trace becomes work."""

    unit: Literal["requests", "cores"] = _given("requests", "word", "Whether values are requests/s, or cores.")
    scale: float = _given(1.0, "number", "What each value of a trace is multiplied with.")
    peak: float | None = _given(
        None, "cores", "Scale each trace so that its 99.9th percentile asks for this many cores; instead of scale."
    )
    noise: float = _given(0.0, "number", "Sigma of a log-normal factor, drawn anew for every tick.")
    retries: float = _given(0.0, "share", "How many of the lost requests come back.")
    retry_after: float = _given(3.0, "seconds", "How long a lost request waits before it comes back.")
    drops: tuple[Drop, ...] = _given((), "drops", "When a core does less than usual, and how much.")
    drops_per_day: float = _given(0.0, "number", "How many such drops come at random, a day on average.")
    drop_factor: float = _given(0.5, "share", "How much of its work a core does in a random drop.")
    drop_length: float = _given(7200.0, "seconds", "How long a random drop lasts.")


@dataclass(frozen=True, slots=True)
class Service:
    """What a request costs, and when it is late."""

    work: float = _given(0.02, "seconds", "The cpu time of one request.")
    deadline: float = _given(0.25, "seconds", "A request that takes longer is late.")
    slo: float = _given(0.99, "share", "How many requests must be in time.")
    timeout: float = _given(10.0, "seconds", "Requests that have waited this long are lost.")
    base_cpu: float = _given(0.05, "cores", "What each replica uses without any request.")
    base_share: float = _given(0.0, "share", "The same as a share of its cpu request; the larger one counts.")
    parallel: float = _given(0.0, "number", "The most cores one replica can make use of; 0: as many as it has.")
    skew: float = _given(0.0, "share", "By how much one replica gets more than its share of the load.")
    throttling: float = _given(0.0, "seconds", "Added to the 99th percentile while usage is above 0.9 of a limit.")
    useful: float = _given(0.8, "share", "Up to which utilisation the service keeps its promise; for the oracle.")


@dataclass(frozen=True, slots=True)
class Heap:
    """The memory of a replica."""

    base: int = _given(200 * 2**20, "bytes", "What each replica has without any request.")
    per_request: int = _given(2**20, "bytes", "What each request in flight adds.")
    cache: int = _given(0, "bytes", "What caches add as a replica grows old.")
    cache_fill: float = _given(3600.0, "seconds", "How fast they fill: to 63 % within this time.")
    leak: float = _given(0.0, "bytes/second", "What is never given back.")
    rise: float = _given(30.0, "seconds", "How fast memory follows a rising need.")
    fall: float = _given(1800.0, "seconds", "How fast it is given back: heaps do so slowly.")
    useful: float = _given(0.9, "share", "Up to which share of its request memory is safe; for the oracle.")


@dataclass(frozen=True, slots=True)
class Pods:
    """From creation to the end of a pod."""

    start: float = _given(30.0, "seconds", "From creation to ready, with the image there.")
    create: float = _given(3.0, "seconds", "The part of it before the containers run.")
    pull: float = _given(15.0, "seconds", "What is added on a node that is new.")
    burn_cpu: float = _given(0.5, "cores", "What starting up uses.")
    burn_time: float = _given(10.0, "seconds", "For how long.")
    stop: float = _given(30.0, "seconds", "How long a pod that must go finishes its requests; it is paid for.")
    backoff: float = _given(10.0, "seconds", "The wait after the first crash; it doubles with each.")
    longest_backoff: float = _given(300.0, "seconds", "The longest such wait.")
    healthy: float = _given(600.0, "seconds", "After this long without a crash the wait is short again.")
    headroom: float = _given(0.5, "share", "How far a pod without a cpu limit can go beyond its request.")
    headroom_cores: float = _given(0.0, "cores", "The same in cores; the larger one counts.")


@dataclass(frozen=True, slots=True)
class Metrics:
    """What autoscalers see, and how late."""

    window: float = _given(30.0, "seconds", "Over how long usage is averaged.")
    lag: float = _given(15.0, "seconds", "How old the newest sample is.")
    gaps: tuple[Span, ...] = _given((), "spans", "When there are no metrics at all.")
    names: Mapping[str, Signal] = field(
        default_factory=dict,
        hash=False,
        metadata={"unit": "names", "why": "What each Pods, Object or External metric of a policy stands for."},
    )


@dataclass(frozen=True, slots=True)
class ResizeParameters:
    """Changes of size in place."""

    in_place: bool = field(default=True, metadata={"unit": "truth", "why": "Whether the cluster can."})
    takes: float = _given(2.0, "seconds", "How long one takes.")
    room: float | None = _given(None, "cores", "How much a pod can grow on its node; none: as much as it likes.")


@dataclass(frozen=True, slots=True)
class Nodes:
    """Machines. Without a number to start with there is always room."""

    start: int | None = _given(None, "count", "How many there are at the start; none: there is always room.")
    cpu: float = _given(8.0, "cores", "What each has.")
    memory: int = _given(32 * 2**30, "bytes", "What each has.")
    reserved: float = _given(0.05, "share", "What the system keeps for itself.")
    provisioning: float = _given(120.0, "seconds", "Until a new one takes pods.")
    removal: float = _given(600.0, "seconds", "How long one must be empty before it goes.")


@dataclass(frozen=True, slots=True)
class Workload:
    """What runs, where no manifest of a workload says so."""

    replicas: int = _given(2, "count", "How many replicas there are at the start.")
    cpu: float = _given(1.0, "cores", "The cpu request of each.")
    memory: int = _given(2**30, "bytes", "The memory request of each.")
    cpu_limit: float | None = _given(1.2, "cores", "The cpu limit of each; none: it can go as far as its headroom.")
    memory_limit: int | None = _given(2**30, "bytes", "The memory limit of each; none: it is never killed.")


@dataclass(frozen=True, slots=True)
class Shapes:
    """Which replicas and sizes the oracle may use. It is a reference, so it is printed with every result."""

    min_replicas: int = _given(2, "count", "The fewest replicas, for availability.")
    max_replicas: int = _given(1000, "count", "The most.")
    min_cpu: float = _given(1.0, "cores", "The smallest pod.")
    max_cpu: float = _given(1.0, "cores", "The largest pod; as large as the smallest: replicas of one size.")
    min_memory: int = _given(2**30, "bytes", "The smallest pod.")
    max_memory: int = _given(2**30, "bytes", "The largest pod.")


@dataclass(frozen=True, slots=True)
class Prices:
    """What an hour costs."""

    cpu: float = _given(0.04048, "dollars", "A requested core.")
    memory: float = _given(0.004445, "dollars", "A requested gigabyte (10^9 bytes).")
    node: float = _given(0.4, "dollars", "A node, for the second view.")
    late: float = _given(10.0, "number", "What a late or lost request costs, in prices of a request's cpu time.")
    restart: float = _given(300.0, "seconds", "What a restart costs, in the price of this much time of a pod.")


@dataclass(frozen=True, slots=True)
class Scoring:
    """Which part of a run counts."""

    skip: float = _given(0.0, "seconds", "How long policies may warm up before anything is judged.")
    windows: int = _given(1, "count", "Into how many windows of equal length the rest is cut, for median and worst.")
    tune: float = _given(0.0, "share", "The first part of the trace, on which the best of a grid is chosen.")


@dataclass(frozen=True, slots=True)
class World:
    """Everything but the trace and the policy."""

    tick: float = _given(15.0, "seconds", "The length of one step; 5 for studies of bursts.")
    seed: int = _given(0, "count", "Noise and random drops are drawn from this and the name of the workload.")
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
