"""The shapes of the twins: one HorizontalPodAutoscaler each, the Deployment under it, and what may happen to it."""

from dataclasses import dataclass, field
from typing import Any

Object = dict[str, Any]
SELECTOR = {"matchLabels": {"verb": "GET"}}


@dataclass(frozen=True)
class Metric:
    """A metric of an HPA, and its usage at the target: milli-units per pod, or in total."""

    spec: Object
    at_target: int
    kind: str
    name: str


@dataclass(frozen=True)
class Shape:
    """One twin. `hazards` are the things that its script may do in addition to changing demand."""

    name: str
    metrics: tuple[Metric, ...]
    hazards: tuple[str, ...] = ()
    behavior: Object | None = None
    low: int | None = 1
    high: int = 9
    replicas: int = 3
    containers: tuple[Object, ...] = ()
    template: Object = field(default_factory=dict)
    ready_after: float = 0.4

    def hpa(self) -> Object:
        spec: Object = {
            "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": self.name},
            "minReplicas": self.low,
            "maxReplicas": self.high,
            "metrics": [metric.spec for metric in self.metrics],
        }
        if self.behavior:
            spec["behavior"] = self.behavior
        metadata = {"name": self.name}
        return {"apiVersion": "autoscaling/v2", "kind": "HorizontalPodAutoscaler", "metadata": metadata, "spec": spec}

    def deployment(self) -> Object:
        labels = {"app": self.name}
        pod = {"nodeName": "node-1", "containers": list(self.containers or (container("app"),)), **self.template}
        return {
            "apiVersion": "apps/v1",
            "kind": "Deployment",
            "metadata": {"name": self.name},
            "spec": {
                "replicas": self.replicas,
                "selector": {"matchLabels": labels},
                "strategy": {"rollingUpdate": {"maxSurge": 2, "maxUnavailable": 0}},
                "template": {"metadata": {"labels": {**labels, "tier": "web"}}, "spec": pod},
            },
        }


def container(name: str, cpu: str | None = "100m", memory: str | None = "128Mi", **more: Any) -> Object:
    requests = {key: text for key, text in (("cpu", cpu), ("memory", memory)) if text}
    return {"name": name, "image": "registry.test/app", "resources": {"requests": requests}, **more}


def utilisation(resource: str, percent: int, request: int) -> Metric:
    target = {"type": "Utilization", "averageUtilization": percent}
    spec = {"type": "Resource", "resource": {"name": resource, "target": target}}
    return Metric(spec, request * percent // 100, resource, resource)


def average(resource: str, milli: int) -> Metric:
    target = {"type": "AverageValue", "averageValue": f"{milli}m"}
    return Metric({"type": "Resource", "resource": {"name": resource, "target": target}}, milli, resource, resource)


def of_container(resource: str, name: str, percent: int, request: int) -> Metric:
    target = {"type": "Utilization", "averageUtilization": percent}
    spec = {"type": "ContainerResource", "containerResource": {"name": resource, "container": name, "target": target}}
    return Metric(spec, request * percent // 100, resource, resource)


def average_of_container(resource: str, name: str, milli: int) -> Metric:
    target = {"type": "AverageValue", "averageValue": f"{milli}m"}
    spec = {"type": "ContainerResource", "containerResource": {"name": resource, "container": name, "target": target}}
    return Metric(spec, milli, resource, resource)


def pods(name: str, milli: int, selector: Object | None = None) -> Metric:
    named = {"name": name, **({"selector": selector} if selector else {})}
    target = {"type": "AverageValue", "averageValue": f"{milli}m"}
    return Metric({"type": "Pods", "pods": {"metric": named, "target": target}}, milli, "pods", name)


def of_object(name: str, milli: int, described: Object, *, per_pod: bool = False) -> Metric:
    target = _total(milli, per_pod=per_pod)
    spec = {"type": "Object", "object": {"describedObject": described, "metric": {"name": name}, "target": target}}
    return Metric(spec, milli * (4 if per_pod else 1), "object", name)


def external(name: str, milli: int, selector: Object | None = None, *, per_pod: bool = False) -> Metric:
    named = {"name": name, **({"selector": selector} if selector else {})}
    spec = {"type": "External", "external": {"metric": named, "target": _total(milli, per_pod=per_pod)}}
    return Metric(spec, milli * (4 if per_pod else 1), "external", name)


def _total(milli: int, *, per_pod: bool) -> Object:
    if per_pod:
        return {"type": "AverageValue", "averageValue": f"{milli}m"}
    return {"type": "Value", "value": f"{milli}m"}


MIB = 2**20 * 1000
CPU, MEMORY = utilisation("cpu", 60, 100), utilisation("memory", 70, 128 * MIB)
SERVICE = {"apiVersion": "v1", "kind": "Service", "name": "front"}
HERE = {"apiVersion": "v1", "kind": "Namespace", "name": "whatever"}
WINDOWS = {"scaleUp": {"stabilizationWindowSeconds": 6}, "scaleDown": {"stabilizationWindowSeconds": 11}}
POLICIES = {
    direction: {
        "stabilizationWindowSeconds": 2,
        "selectPolicy": select,
        "policies": [
            {"type": "Pods", "value": 2, "periodSeconds": 7},
            {"type": "Percent", "value": 50, "periodSeconds": 11},
        ],
    }
    for direction, select in (("scaleUp", "Min"), ("scaleDown", "Max"))
}
QUICK = {direction: {"stabilizationWindowSeconds": 0} for direction in ("scaleUp", "scaleDown")}
TOLERANT = {
    "scaleUp": {"stabilizationWindowSeconds": 0, "tolerance": "20m"},
    "scaleDown": {"stabilizationWindowSeconds": 2, "tolerance": "0.3"},
}
INTOLERANT = {
    direction: {"stabilizationWindowSeconds": 0, "tolerance": "0.01"} for direction in ("scaleUp", "scaleDown")
}
ONE_WAY = {
    "scaleUp": {"policies": [{"type": "Percent", "value": 100, "periodSeconds": 15}]},
    "scaleDown": {"selectPolicy": "Disabled"},
}
SIDECAR = container("proxy", cpu="50m", memory="64Mi", restartPolicy="Always")
POD_LEVEL = {"resources": {"requests": {"cpu": "300m", "memory": "512Mi"}}}
PODS_MOVE = ("unready", "fail", "hide", "lag")

SHAPES = (
    Shape("cpu-share", (CPU,), ("hide", "pause", "freeze")),
    Shape("memory-share", (MEMORY,), ("hide", "pend", "linger")),
    Shape("cpu-amount", (average("cpu", 200),), ("unready", "hide", "lag", "pend", "linger"), QUICK),
    Shape("memory-amount", (average("memory", 100 * MIB),), ("hide", "fail")),
    Shape(
        "one-container",
        (of_container("cpu", "app", 50, 100),),
        PODS_MOVE,
        containers=(container("app"), container("helper")),
    ),
    Shape("one-container-amount", (average_of_container("memory", "app", 64 * MIB),), ("hide", "scale"), QUICK),
    Shape("of-pods", (pods("requests_per_second", 10_000, SELECTOR),), ("hide", "unready", "silence")),
    Shape("of-object", (of_object("hits", 500_000, SERVICE),), ("unready", "fail", "linger", "pend"), QUICK),
    Shape("of-object-per-pod", (of_object("hits", 100_000, SERVICE, per_pod=True),), ("silence", "scale")),
    Shape("of-namespace", (of_object("queue", 70_000, HERE),), ("silence", "edit")),
    Shape("from-outside", (external("lag", 100_000, SELECTOR),), ("unready", "silence", "scale"), QUICK),
    Shape("from-outside-per-pod", (external("lag", 30_000, per_pod=True),), ("edit", "scale")),
    Shape("three-metrics", (CPU, pods("rps", 20_000), external("lag", 100_000)), ("silence", "hush", "unready")),
    Shape("with-windows", (CPU,), ("scale", "edit"), WINDOWS, high=30),
    Shape("with-policies", (external("lag", 50_000, per_pod=True),), ("scale", "edit"), POLICIES, high=40),
    Shape("with-tolerance", (CPU,), ("hide",), TOLERANT),
    Shape("one-way", (pods("rps", 10_000),), ("scale",), ONE_WAY, high=30),
    Shape("rolling", (average("memory", 100 * MIB),), ("roll", "roll", "scale"), INTOLERANT, ready_after=2.0),
    Shape("many-missing", (CPU,), ("hide", "hide", "fail", "lie"), QUICK, replicas=6),
    Shape("very-slow-start", (CPU,), ("unready", "pend"), QUICK, ready_after=18.0),
    Shape("slow-start", (CPU,), ("unready", "lag", "fail"), QUICK, replicas=5, ready_after=6.0),
    Shape("failing", (CPU, external("lag", 100_000)), ("silence", "silence", "scale"), QUICK),
    Shape("no-requests", (CPU, MEMORY), ("scale",), containers=(container("app"), container("bare", cpu=None))),
    Shape(
        "zero-outside",
        (external("lag", 30_000, per_pod=True),),
        ("zero", "wake", "pause", "silence", "scale"),
        QUICK,
        low=0,
    ),
    Shape("zero-object", (of_object("hits", 500_000, SERVICE),), ("zero", "wake", "pause"), QUICK, low=0),
    Shape("with-sidecar", (utilisation("cpu", 80, 150),), PODS_MOVE, template={"initContainers": [SIDECAR]}),
    Shape("pod-level", (utilisation("cpu", 50, 300),), ("hide", "unready"), template=POD_LEVEL),
    Shape("refused", (external("lag", 100_000, per_pod=True),), ("refuse", "remove", "refuse"), QUICK),
    Shape("conflicts", (CPU,), ("conflict",), QUICK),
)
