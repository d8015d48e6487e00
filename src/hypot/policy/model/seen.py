"""Everything observed for one decision. Amounts are integers of milli-units, times are seconds since the epoch."""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, Literal, NamedTuple, Protocol

from hypot.kinds.selector import Selector
from hypot.kinds.vpa.knobs import Knobs


@dataclass(frozen=True, slots=True)
class Failure:
    """Something that could not be observed, and why; a spec failure is the author's, an internal one the cluster's."""

    message: str
    kind: Literal["internal", "spec"] = "internal"


@dataclass(frozen=True, slots=True)
class Scale:
    """The target's scale subresource: what is asked for, what is there, and whose pods they are."""

    replicas: int
    status_replicas: int
    selector: str
    # Of the target: one that is made again under the same name is another. Empty where the input does not say.
    uid: str = ""


class Owner(NamedTuple):
    kind: str
    name: str


class Ended(NamedTuple):
    """How a container ended the last time."""

    reason: str
    started: float | None = None
    finished: float | None = None


@dataclass(frozen=True, slots=True)
class Container:
    """A container: what its pod asks for, what the kubelet says it has, and how it fared."""

    name: str
    requests: Mapping[str, int] = field(default_factory=dict)
    limits: Mapping[str, int] = field(default_factory=dict)
    # None where the kubelet says nothing, which is not the same as nothing set.
    actual_requests: Mapping[str, int] | None = None
    actual_limits: Mapping[str, int] | None = None
    ended: Ended | None = None
    restarts: int = 0
    # Resources whose change in place restarts the container.
    restarts_on_resize: frozenset[str] = frozenset()
    # Runs beside the others from before they start; vertical autoscalers leave it alone.
    sidecar: bool = False

    @property
    def current_requests(self) -> Mapping[str, int]:
        """What it really has: an in-place resize shows in the status first, and never in the template."""
        return self.requests if self.actual_requests is None else self.actual_requests

    @property
    def current_limits(self) -> Mapping[str, int]:
        return self.limits if self.actual_limits is None else self.actual_limits


ResizeState = Literal["deferred", "infeasible", "in-progress", "error", "unknown"]


class PendingResize(NamedTuple):
    """An in-place resize that is not done yet, as the pod's conditions tell it."""

    state: ResizeState
    since: float | None = None
    message: str = ""


class Eviction(NamedTuple):
    """That the kubelet put a pod out for want of memory."""

    at: float
    # What each container that the kubelet names used; None where that cannot be read.
    used: Mapping[str, int | None]


@dataclass(frozen=True, slots=True)
class Pod:
    """A pod as autoscalers look at it."""

    name: str
    phase: str = "Running"
    deleted: bool = False
    ready: str | None = None
    ready_since: float | None = None
    # When its node took it up, which may be long after it was made.
    started: float | None = None
    containers: tuple[Container, ...] = ()
    init_containers: tuple[Container, ...] = ()
    labels: Mapping[str, str] = field(default_factory=dict)
    owners: tuple[Owner, ...] = ()
    pod_requests: Mapping[str, int] | None = None
    overhead: Mapping[str, int] = field(default_factory=dict)
    uid: str = ""
    # Why it failed, where it did: Evicted, say.
    reason: str = ""
    node: str = ""
    annotations: Mapping[str, str] = field(default_factory=dict)
    resize: PendingResize | None = None
    qos: str = ""
    # Of the object that this was read from: a write to the pod is for no other.
    version: str = ""
    eviction: Eviction | None = None
    created: float | None = None

    @property
    def made(self) -> float | None:
        """When it was given its size; where the input does not say, when it started."""
        return self.started if self.created is None else self.created

    def request(self, resource: str, container: str, *, pod_level: bool) -> "int | Failure":
        """The request that utilisation is measured against, or why there is none.

        `containers` are the ones that run all the time, native sidecars included.
        """
        if pod_level and self.pod_requests is not None and not container:
            return self._pod_level_request(resource)
        total = 0
        for c in self.containers:
            if container and container != c.name:
                continue
            amount = c.requests.get(resource)
            if amount is None:
                return Failure(f"missing request for {resource} in container {c.name} of Pod {self.name}")
            if container:
                return amount
            total += amount
        return Failure(f"container {container} not found in Pod {self.name}") if container else total

    def has_container(self, name: str) -> bool:
        return any(c.name == name for c in self.containers)

    def _pod_level_request(self, resource: str) -> "int | Failure":
        """What the scheduler reserves: the pod's own request or its containers', and the runtime's overhead."""
        amount = (self.pod_requests or {}).get(resource)
        if amount is None:
            amount = self._reserved(resource)
        if amount is None and resource not in self.overhead:
            return Failure(f"missing pod-level request for {resource} in Pod {self.name}")
        return (amount or 0) + self.overhead.get(resource, 0)

    def _reserved(self, resource: str) -> int | None:
        running = [c.requests[resource] for c in self.containers if resource in c.requests]
        before = [c.requests[resource] for c in self.init_containers if resource in c.requests]
        return max(sum(running), *before, 0) if running or before else None


class PodSample(NamedTuple):
    """A pod's usage by container, as metrics.k8s.io gave it."""

    at: float
    window: float
    containers: tuple[tuple[str, Mapping[str, int]], ...]
    labels: Mapping[str, str] = MappingProxyType({})

    def usage(self, resource: str, container: str) -> int | None:
        """Usage of the pod, or of one container; None where any part of it is missing."""
        total, known = 0, False
        for name, usage in self.containers:
            if container and name != container:
                continue
            amount = usage.get(resource)
            if amount is None:
                return None
            total += amount
            known = True
        return total if known else None

    def is_whole(self, pod: Pod, resource: str) -> bool:
        """Whether no container that runs all the time is missing in the sum; those that end before never count."""
        reported = {name for name, _ in self.containers}
        return self.usage(resource, "") is not None and all(container.name in reported for container in pod.containers)


class Value(NamedTuple):
    """One value of a custom metric."""

    milli: int
    at: float = 0.0
    window: float = 60.0


@dataclass(frozen=True, slots=True)
class ClusterNode:
    """A machine: what pods may ask for, what they ask for now, and whether it is short of memory."""

    name: str
    allocatable: Mapping[str, int] = field(default_factory=dict)
    requested: Mapping[str, int] = field(default_factory=dict)
    short_of_memory: bool = False


class LimitRange(NamedTuple):
    """One item of a LimitRange, of type Container or Pod."""

    type: str
    low: Mapping[str, int] = {}
    high: Mapping[str, int] = {}
    default: Mapping[str, int] = {}
    # How often a request goes into its limit at most, in milli.
    ratio: Mapping[str, int] = {}


class Bounds(NamedTuple):
    """What a recommender says of one container, in amounts: millicores and bytes."""

    container: str
    target: Mapping[str, int]
    lower: Mapping[str, int] = {}
    upper: Mapping[str, int] = {}
    uncapped: Mapping[str, int] = {}


@dataclass(frozen=True, slots=True)
class Recommendation:
    """Somebody's recommendation of sizes, and where it comes from in words."""

    containers: tuple[Bounds, ...]
    origin: str


class Controller(NamedTuple):
    """What made a pod directly, and how many it is to keep; None where nobody says."""

    kind: str
    name: str
    replicas: int | None = None


@dataclass(frozen=True, slots=True)
class Reply:
    """What a recommender answered."""

    replicas: int
    low: int = 0
    high: int = 0
    reason: str = ""
    observed: float = 0.0
    # When it was made; None where the answer does not say.
    at: float | None = None


class CountAdvice(NamedTuple):
    """What the status of an HPA asks for; `current` is the count it was computed at."""

    desired: int
    current: int
    origin: str


class UsageView(Protocol):
    """The histograms of one target's containers, only read here."""

    def containers(self) -> tuple[str, ...]:
        """Those that are known, by name."""

    def estimate(
        self, knobs: Knobs | Mapping[str, Knobs], containers: Sequence[str], resources: Mapping[str, Sequence[str]]
    ) -> tuple[Bounds, ...]:
        """What each of these containers needs, before any bound of an object or a pod."""


@dataclass(frozen=True, slots=True)
class Seen:
    """What is true now, for one autoscaler. A metric that was not asked for is simply absent."""

    now: float
    scale: Scale | Failure
    pods: tuple[Pod, ...] = ()
    pod_metrics: Mapping[str, PodSample] | Failure = field(default_factory=dict)
    pods_metrics: Mapping[str, Mapping[str, Value] | Failure] = field(default_factory=dict)
    object_metrics: Mapping[str, int | Failure] = field(default_factory=dict)
    external_metrics: Mapping[str, tuple[int, ...] | Failure] = field(default_factory=dict)
    # Other autoscalers that select some of these pods.
    conflicts: tuple[str, ...] = ()
    # The state of the DatadogMonitor that guards a WatermarkPodAutoscaler; None where there is no such object.
    monitor: str | None = None
    reply: Reply | Failure | None = None
    nodes: Mapping[str, ClusterNode] = field(default_factory=dict)
    limit_ranges: tuple[LimitRange, ...] = ()
    # What made the pods, by the name of the pod's direct controller.
    controllers: Mapping[tuple[str, str], Controller] = field(default_factory=dict)
    # The size of each container in the target's pod template.
    template: tuple[Container, ...] = ()
    # How often sizes were used, for recommenders of our own; absent where nothing was folded or loaded.
    usage: UsageView | None = None
    # What an object's status recommends, where it is asked.
    size_advice: Recommendation | Failure | None = None
    # What an HPA's status asks for, where it is asked.
    count_advice: CountAdvice | Failure | None = None
    # What in the input could not be used, in words.
    notes: tuple[str, ...] = ()
    # The target that the template was read from: a write to that is for no other object, and no other version of it.
    target_uid: str = ""
    target_version: str = ""


def metric_key(name: str | None, selector: Mapping[str, Any] | None, of: str = "") -> str:
    """One name for one query: metric, selector and, for Object metrics, the object."""
    chosen = json.dumps(selector, sort_keys=True) if selector else ""
    return f"{of}|{name or ''}|{chosen}"


def conflicts(pods: Iterable[Pod], others: Mapping[str, Selector]) -> tuple[str, ...]:
    """Which other autoscalers select any of these pods."""
    labels = [pod.labels for pod in pods]
    return tuple(name for name, selector in others.items() if any(selector.matches(each) for each in labels))
