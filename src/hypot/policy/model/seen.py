"""Everything observed for one decision. Amounts are integers of milli-units, times are seconds since the epoch."""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import field
from types import MappingProxyType
from typing import Any, Literal, NamedTuple, Protocol

from hypot.core.dataclass import dataclass
from hypot.kinds.hpa import HPA
from hypot.kinds.metric_values import MetricValue
from hypot.kinds.selector import Selector
from hypot.kinds.vpa.knobs import Knobs


@dataclass(frozen=True, slots=True)
class Failure:
    """Something that could not be observed, and why. "spec": an error in an object; "internal": one of the cluster."""

    message: str
    kind: Literal["internal", "spec"] = "internal"


@dataclass(frozen=True, slots=True)
class Scale:
    """The target's scale subresource: desired replicas, existing replicas and the selector of its pods."""

    replicas: int
    status_replicas: int
    selector: str
    # The uid of the target: an object that was recreated under the same name is another one. Empty if not in the input.
    uid: str = ""


class Owner(NamedTuple):
    kind: str
    name: str


class Ended(NamedTuple):
    """The last termination of a container."""

    reason: str
    started: float | None = None
    finished: float | None = None


@dataclass(frozen=True, slots=True)
class Container:
    """A container: its resources in the pod spec, its actual resources by the kubelet, and its last termination."""

    name: str
    requests: Mapping[str, int] = field(default_factory=dict)
    limits: Mapping[str, int] = field(default_factory=dict)
    # None if the kubelet does not report them, which differs from nothing set.
    actual_requests: Mapping[str, int] | None = None
    actual_limits: Mapping[str, int] | None = None
    ended: Ended | None = None
    restarts: int = 0
    # Resources whose in-place resize restarts the container.
    restarts_on_resize: frozenset[str] = frozenset()
    # A native sidecar: it starts before the other containers; vertical autoscalers leave it alone.
    sidecar: bool = False

    @property
    def current_requests(self) -> Mapping[str, int]:
        """The actual requests: an in-place resize shows up in the pod's status first, and never in the template."""
        return self.requests if self.actual_requests is None else self.actual_requests

    @property
    def current_limits(self) -> Mapping[str, int]:
        return self.limits if self.actual_limits is None else self.actual_limits


ResizeState = Literal["deferred", "infeasible", "in-progress", "error", "unknown"]


class PendingResize(NamedTuple):
    """An in-place resize that is not done yet, from the pod's conditions."""

    state: ResizeState
    since: float | None = None
    message: str = ""


class Eviction(NamedTuple):
    """The kubelet evicted the pod because of memory pressure."""

    at: float
    # The memory usage of each container that the kubelet names; None if it cannot be read.
    used: Mapping[str, int | None]


@dataclass(frozen=True, slots=True)
class Pod:
    """The parts of a pod that autoscalers use."""

    name: str
    phase: str = "Running"
    deleted: bool = False
    ready: str | None = None
    ready_since: float | None = None
    # When the kubelet accepted it, which may be long after its creation.
    started: float | None = None
    containers: tuple[Container, ...] = ()
    init_containers: tuple[Container, ...] = ()
    labels: Mapping[str, str] = field(default_factory=dict)
    owners: tuple[Owner, ...] = ()
    pod_requests: Mapping[str, int] | None = None
    overhead: Mapping[str, int] = field(default_factory=dict)
    uid: str = ""
    # Why it failed, for example Evicted.
    reason: str = ""
    node: str = ""
    annotations: Mapping[str, str] = field(default_factory=dict)
    resize: PendingResize | None = None
    qos: str = ""
    # The resourceVersion of the object: a write to the pod applies to no other version.
    version: str = ""
    eviction: Eviction | None = None
    created: float | None = None

    @property
    def made(self) -> float | None:
        """When it was created and got its size; if the input does not say, when it started."""
        return self.started if self.created is None else self.created

    def request(self, resource: str, container: str, *, pod_level: bool) -> "int | Failure":
        """The request that utilisation is computed from, or why there is none.

        `containers` are those that run all the time, including native sidecars.
        """
        if pod_level and self.pod_requests is not None and not container:
            return self._pod_level_request(resource)
        total, counted = 0, self.containers
        if container:
            counted = tuple([c for c in counted if c.name == container][:1])
            if not counted:
                return Failure(f"container {container} not found in Pod {self.name}")
        for c in counted:
            amount = c.requests.get(resource)
            if amount is None:
                return Failure(f"missing request for {resource} in container {c.name} of Pod {self.name}")
            total += amount
        return total

    def has_container(self, name: str) -> bool:
        return any(c.name == name for c in self.containers)

    def _pod_level_request(self, resource: str) -> "int | Failure":
        """What the scheduler reserves: the pod-level request or those of the containers, plus the runtime overhead."""
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
    """A pod's usage by container, from metrics.k8s.io."""

    at: float
    window: float
    containers: tuple[tuple[str, Mapping[str, int]], ...]
    labels: Mapping[str, str] = MappingProxyType({})

    def usage(self, resource: str, container: str) -> int | None:
        """Usage of the pod, or of one container; None if any part of it is missing."""
        total, counted = 0, self.containers
        if container:
            counted = tuple([each for each in counted if each[0] == container])
        for _, usage in counted:
            amount = usage.get(resource)
            if amount is None:
                return None
            total += amount
        return total if counted else None

    def is_whole(self, pod: Pod, resource: str) -> bool:
        """Whether the sum includes every container that runs all the time; ordinary init containers never count."""
        reported = {name for name, _ in self.containers}
        return self.usage(resource, "") is not None and all(container.name in reported for container in pod.containers)


@dataclass(frozen=True, slots=True)
class ClusterNode:
    """A node: what pods may request, what they request now, and whether it is under memory pressure."""

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
    # The maximum ratio of limit to request, in milli.
    ratio: Mapping[str, int] = {}


class Bounds(NamedTuple):
    """The recommendation for one container, in millicores and bytes."""

    container: str
    target: Mapping[str, int]
    lower: Mapping[str, int] = {}
    upper: Mapping[str, int] = {}
    uncapped: Mapping[str, int] = {}


@dataclass(frozen=True, slots=True)
class Recommendation:
    """A recommendation of sizes, and its origin as text."""

    containers: tuple[Bounds, ...]
    origin: str


class Controller(NamedTuple):
    """The direct controller of a pod, and how many replicas it keeps; None if unknown."""

    kind: str
    name: str
    replicas: int | None = None


@dataclass(frozen=True, slots=True)
class Reply:
    """The answer of a recommender."""

    replicas: int
    low: int = 0
    high: int = 0
    reason: str = ""
    observed: float = 0.0
    # When the answer was made; None if it does not say.
    at: float | None = None


class CountAdvice(NamedTuple):
    """The count that the status of an HPA asks for; `current` is the count it was computed at."""

    desired: int
    current: int
    origin: str
    # The utilization in percent that it reports, by resource and container; without a container for whole pods.
    utilization: Mapping[tuple[str, str], int] = MappingProxyType({})


class UsageView(Protocol):
    """Read-only access to the histograms of one target's containers."""

    def containers(self) -> tuple[str, ...]:
        """The names of the known containers."""

    def estimate(
        self, knobs: Knobs | Mapping[str, Knobs], containers: Sequence[str], resources: Mapping[str, Sequence[str]]
    ) -> tuple[Bounds, ...]:
        """What each of these containers needs, before the bounds of an object or a pod apply."""


@dataclass(frozen=True, slots=True)
class Seen:
    """The observed state for one autoscaler. A metric that was not asked for is absent.

    >>> from hypot.policy.model.seen import Scale
    >>> Seen(now=0.0, scale=Scale(3, 3, "app=web")).scale.replicas
    3
    """

    now: float
    scale: Scale | Failure
    pods: tuple[Pod, ...] = ()
    pod_metrics: Mapping[str, PodSample] | Failure = field(default_factory=dict)
    pods_metrics: Mapping[str, Mapping[str, MetricValue] | Failure] = field(default_factory=dict)
    object_metrics: Mapping[str, int | Failure] = field(default_factory=dict)
    external_metrics: Mapping[str, tuple[int, ...] | Failure] = field(default_factory=dict)
    # Other autoscalers that select some of these pods.
    others: tuple[str, ...] = ()
    # The state of the DatadogMonitor that guards a WatermarkPodAutoscaler; None if there is no such object.
    monitor: str | None = None
    reply: Reply | Failure | None = None
    nodes: Mapping[str, ClusterNode] = field(default_factory=dict)
    limit_ranges: tuple[LimitRange, ...] = ()
    # The direct controllers of the pods, by kind and name.
    controllers: Mapping[tuple[str, str], Controller] = field(default_factory=dict)
    # The size of each container in the target's pod template.
    template: tuple[Container, ...] = ()
    # The histograms of usage, for hypot's own recommender; None if no samples or checkpoints were loaded.
    usage: UsageView | None = None
    # The sizes that a VPA's status recommends, if needed.
    size_advice: Recommendation | Failure | None = None
    # The count that an HPA's status asks for, if needed.
    count_advice: CountAdvice | Failure | None = None
    # The HPA that a Tortoise edits; None if it does not exist.
    hpa: HPA | None = None
    # The annotations of the namespace.
    namespace_annotations: Mapping[str, str] = field(default_factory=dict)
    # The parts of the input that could not be used, as text.
    notes: tuple[str, ...] = ()
    # The target that the template was read from: a write applies to no other object and no other version of it.
    target_uid: str = ""
    target_version: str = ""


def metric_key(name: str | None, selector: Mapping[str, Any] | None, of: str = "") -> str:
    """The key of one query: metric, selector and, for Object metrics, the object."""
    chosen = json.dumps(selector, sort_keys=True) if selector else ""
    return f"{of}|{name or ''}|{chosen}"


def conflicts(pods: Iterable[Pod], others: Mapping[str, Selector]) -> tuple[str, ...]:
    """Which other autoscalers select any of these pods."""
    labels = [pod.labels for pod in pods]
    return tuple(name for name, selector in others.items() if any(selector.matches(each) for each in labels))
