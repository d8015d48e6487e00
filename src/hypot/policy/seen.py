"""Everything observed for one decision. Amounts are integers of milli-units, times are seconds since the epoch."""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple

from hypot.kinds.selector import Selector


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


class Owner(NamedTuple):
    kind: str
    name: str


@dataclass(frozen=True, slots=True)
class Container:
    name: str
    requests: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Pod:
    """A pod as autoscalers look at it."""

    name: str
    phase: str = "Running"
    deleted: bool = False
    ready: str | None = None
    ready_since: float | None = None
    started: float | None = None
    containers: tuple[Container, ...] = ()
    init_containers: tuple[Container, ...] = ()
    labels: Mapping[str, str] = field(default_factory=dict)
    owners: tuple[Owner, ...] = ()
    pod_requests: Mapping[str, int] | None = None
    overhead: Mapping[str, int] = field(default_factory=dict)

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


@dataclass(frozen=True, slots=True)
class PodSample:
    """A pod's usage by container, as metrics.k8s.io gave it."""

    at: float
    window: float
    containers: tuple[tuple[str, Mapping[str, int]], ...]
    labels: Mapping[str, str] = field(default_factory=dict)

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


class Value(NamedTuple):
    """One value of a custom metric."""

    milli: int
    at: float = 0.0
    window: float = 60.0


@dataclass(frozen=True, slots=True)
class Reply:
    """What a recommender answered."""

    replicas: int
    low: int = 0
    high: int = 0
    reason: str = ""
    observed: float = 0.0


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
    rivals: tuple[str, ...] = ()
    # The state of the DatadogMonitor that guards a WatermarkPodAutoscaler; None where there is no such object.
    monitor: str | None = None
    reply: Reply | Failure | None = None


def metric_key(name: str | None, selector: Mapping[str, Any] | None, of: str = "") -> str:
    """One name for one query: metric, selector and, for Object metrics, the object."""
    chosen = json.dumps(selector, sort_keys=True) if selector else ""
    return f"{of}|{name or ''}|{chosen}"


def rivals(pods: Iterable[Pod], others: Mapping[str, Selector]) -> tuple[str, ...]:
    """Which other autoscalers select any of these pods."""
    labels = [pod.labels for pod in pods]
    return tuple(name for name, selector in others.items() if any(selector.matches(each) for each in labels))
