"""The parts of a HorizontalPodAutoscaler, and short functions to write them."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, ClassVar, Self, overload

from hypot.kinds.base import Kind, Ref, refer, seconds
from hypot.kinds.floor import Floor
from hypot.kinds.hpa.status import HPAStatus
from hypot.kinds.hpa.versions import CURRENT, FORMER, V2BETA1, misread, upgraded
from hypot.kinds.meta import MetricName
from hypot.kinds.node import INT32, QUANTITY, STRING, Node, node, replaced, wire
from hypot.kinds.problem import Problem

Amount = str | int | float


@node
class Target(Node):
    """The target of a metric. The field that is set decides; the controller reads `type` for Object metrics only."""

    GO: ClassVar[str] = "v2.MetricTarget"

    type: str | None = wire("type", STRING, "Utilization, Value or AverageValue")
    value: Amount | None = wire("value", QUANTITY, "in total")
    average: Amount | None = wire("averageValue", QUANTITY, "per pod")
    utilization: int | None = wire("averageUtilization", INT32, "percent of the request")


@node
class ResourceSource(Node):
    GO: ClassVar[str] = "v2.ResourceMetricSource"

    name: str | None = wire("name", STRING, "cpu or memory")
    target: Target | None = wire("target", Target, "the target value")


@node
class ContainerResourceSource(Node):
    GO: ClassVar[str] = "v2.ContainerResourceMetricSource"

    name: str | None = wire("name", STRING)
    container: str | None = wire("container", STRING)
    target: Target | None = wire("target", Target, "the target value")


@node
class PodsSource(Node):
    GO: ClassVar[str] = "v2.PodsMetricSource"

    metric: MetricName | None = wire("metric", MetricName, "the metric series")
    target: Target | None = wire("target", Target, "the target value")


@node
class ObjectSource(Node):
    GO: ClassVar[str] = "v2.ObjectMetricSource"

    described: Ref | None = wire("describedObject", Ref)
    metric: MetricName | None = wire("metric", MetricName, "the metric series")
    target: Target | None = wire("target", Target, "the target value")


@node
class ExternalSource(Node):
    GO: ClassVar[str] = "v2.ExternalMetricSource"

    metric: MetricName | None = wire("metric", MetricName, "the metric series")
    target: Target | None = wire("target", Target, "the target value")


@node
class Metric(Node):
    """One metric: a type, and the source of that type. Write it with `cpu`, `memory`, `pods`, `on` or `external`."""

    GO: ClassVar[str] = "v2.MetricSpec"
    BUILT_IN: ClassVar[bool] = True

    type: str | None = wire("type", STRING)
    object: ObjectSource | None = wire("object", ObjectSource)
    external: ExternalSource | None = wire("external", ExternalSource)
    pods: PodsSource | None = wire("pods", PodsSource)
    resource: ResourceSource | None = wire("resource", ResourceSource)
    container_resource: ContainerResourceSource | None = wire("containerResource", ContainerResourceSource)


# hypot reads this many metrics of an object. Kubernetes has no limit, and no HPA needs as many.
MOST_METRICS = 100


@node
class Limit(Node):
    """How much may change in a period. Write it with `limit`."""

    GO: ClassVar[str] = "v2.HPAScalingPolicy"
    BUILT_IN: ClassVar[bool] = True

    type: str | None = wire("type", STRING)
    value: int | None = wire("value", INT32)
    period: int | None = wire("periodSeconds", INT32)


@node
class ScalingRules(Node):
    """How fast to scale in one direction: limits, which of them applies, a stabilisation window, a tolerance."""

    GO: ClassVar[str] = "v2.HPAScalingRules"

    limits: tuple[Limit, ...] | None = wire("policies", Limit, many=True)
    window: int | None = wire("stabilizationWindowSeconds", INT32)
    select: str | None = wire("selectPolicy", STRING)
    tolerance: Amount | None = wire("tolerance", QUANTITY)

    def __post_init__(self) -> None:
        """Accept any iterable of limits, and durations as text."""
        object.__setattr__(self, "window", seconds(self.window))
        if isinstance(self.limits, Iterable):
            object.__setattr__(self, "limits", tuple(self.limits))


FROZEN = ScalingRules(select="Disabled")


@node
class Behavior(Node):
    GO: ClassVar[str] = "v2.HorizontalPodAutoscalerBehavior"

    scale_up: ScalingRules | None = wire("scaleUp", ScalingRules)
    scale_down: ScalingRules | None = wire("scaleDown", ScalingRules)


@node
class HPASpec(Kind):
    """The fields of a HorizontalPodAutoscaler, as read; `HPA` adds writing and checking."""

    API_VERSION: ClassVar[str] = "autoscaling/v2"
    KIND: ClassVar[str] = "HorizontalPodAutoscaler"
    FORMER_VERSIONS: ClassVar[tuple[str, ...]] = FORMER
    BUILT_IN: ClassVar[bool] = True
    STATUS: ClassVar[type[Node] | None] = HPAStatus
    GO: ClassVar[str] = "v2.HorizontalPodAutoscalerSpec"

    target: Ref | None = wire("scaleTargetRef", Ref)
    min_replicas: int | None = wire("minReplicas", INT32)
    max_replicas: int | None = wire("maxReplicas", INT32)
    metrics: tuple[Metric, ...] | None = wire("metrics", Metric, many=True)
    behavior: Behavior | None = wire("behavior", Behavior, path="")

    def floored(self, floor: Floor) -> Self:
        return replaced(self, floor=floor, min_replicas=floor.minimum(self.min_replicas, self.max_replicas))

    @property
    def scale_up(self) -> ScalingRules | None:
        return self.behavior.scale_up if isinstance(self.behavior, Behavior) else None

    @property
    def scale_down(self) -> ScalingRules | None:
        return self.behavior.scale_down if isinstance(self.behavior, Behavior) else None

    @classmethod
    def in_current_version(cls, data: Mapping[str, Any]) -> Mapping[str, Any]:
        """Read manifests of any version that Kubernetes ever served."""
        return data if data.get("apiVersion", CURRENT) == CURRENT else upgraded(data)

    def unreadable_status(self) -> Iterator[Problem]:
        return iter(()) if self.read_from == V2BETA1 else Kind.unreadable_status(self)  # v2beta1 had other fields

    @classmethod
    def misread_in(cls, data: Mapping[str, Any]) -> tuple[Problem, ...]:
        """The problems with the fields of autoscaling/v1. The betas are no longer served."""
        return tuple(misread(data))


@overload
def cpu(*, utilization: int, container: str | None = None) -> Metric: ...
@overload
def cpu(*, average: Amount, container: str | None = None) -> Metric: ...
def cpu(*, utilization: int | None = None, average: Amount | None = None, container: str | None = None) -> Metric:
    """Hold cpu at a percentage of its request, or at an amount per pod."""
    return _resource("cpu", utilization, average, container)


@overload
def memory(*, utilization: int, container: str | None = None) -> Metric: ...
@overload
def memory(*, average: Amount, container: str | None = None) -> Metric: ...
def memory(*, utilization: int | None = None, average: Amount | None = None, container: str | None = None) -> Metric:
    """Hold memory at a percentage of its request, or at an amount per pod."""
    return _resource("memory", utilization, average, container)


def pods(name: str, *, average: Amount, labels: Mapping[str, str] | None = None) -> Metric:
    """Hold a custom metric of the pods at an average."""
    return Metric("Pods", pods=PodsSource(_metric_name(name, labels), _target(average=average)))


@overload
def on(of: str | Ref, name: str, *, value: Amount, labels: Mapping[str, str] | None = None) -> Metric: ...
@overload
def on(of: str | Ref, name: str, *, average: Amount, labels: Mapping[str, str] | None = None) -> Metric: ...
def on(
    of: str | Ref,
    name: str,
    *,
    value: Amount | None = None,
    average: Amount | None = None,
    labels: Mapping[str, str] | None = None,
) -> Metric:
    """Hold a metric of another object, in total or per pod."""
    if value is not None and average is not None:
        raise TypeError("on() takes value or average, not both")
    source = ObjectSource(refer(of), _metric_name(name, labels), _target(value=value, average=average))
    return Metric("Object", object=source)


@overload
def external(name: str, *, value: Amount, labels: Mapping[str, str] | None = None) -> Metric: ...
@overload
def external(name: str, *, average: Amount, labels: Mapping[str, str] | None = None) -> Metric: ...
def external(
    name: str,
    *,
    value: Amount | None = None,
    average: Amount | None = None,
    labels: Mapping[str, str] | None = None,
) -> Metric:
    """Hold a metric from outside the cluster, in total or per pod."""
    source = ExternalSource(_metric_name(name, labels), _target(value=value, average=average))
    return Metric("External", external=source)


def limit(*, pods: int | None = None, percent: int | None = None, per: Any = 15) -> Limit:
    """At most this many pods, or this percentage, per period."""
    if pods is not None and percent is not None:
        raise TypeError("limit() takes pods or percent, not both")
    kind = "Pods" if percent is None else "Percent"
    return Limit(kind, pods if percent is None else percent, seconds(per))


def _resource(name: str, utilization: int | None, average: Amount | None, container: str | None) -> Metric:
    target = _target(utilization=utilization, average=average)
    if container is None:
        return Metric("Resource", resource=ResourceSource(name, target))
    return Metric("ContainerResource", container_resource=ContainerResourceSource(name, container, target))


def _target(*, value: Amount | None = None, average: Amount | None = None, utilization: int | None = None) -> Target:
    kind = "Utilization" if utilization is not None else "AverageValue" if average is not None else "Value"
    return Target(kind, value, average, utilization)


def _metric_name(name: str, labels: Mapping[str, str] | None) -> MetricName:
    return MetricName(name, {"matchLabels": dict(labels)} if labels else None)
