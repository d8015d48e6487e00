"""The parts of a HorizontalPodAutoscaler, and short ways to write them."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Annotated, Any, ClassVar, overload

from hypot.kinds.base import Kind, Ref, refer, seconds
from hypot.kinds.hpa.status import HPAStatus
from hypot.kinds.hpa.versions import CURRENT, FORMER, V2BETA1, misread, upgraded
from hypot.kinds.meta import MetricName
from hypot.kinds.node import INT32, QUANTITY, STRING, Node, Wire, node
from hypot.kinds.problem import Problem

Amount = str | int | float


@node
class Target(Node):
    """What a metric is held at. Which field is set decides; the controller reads `type` for Object metrics only."""

    GO: ClassVar[str] = "MetricTarget"

    type: Annotated[str | None, Wire("type", STRING)] = None
    value: Annotated[Amount | None, Wire("value", QUANTITY)] = None
    average: Annotated[Amount | None, Wire("averageValue", QUANTITY)] = None
    utilization: Annotated[int | None, Wire("averageUtilization", INT32)] = None


@node
class ResourceSource(Node):
    GO: ClassVar[str] = "ResourceMetricSource"

    name: Annotated[str | None, Wire("name", STRING)] = None
    target: Annotated[Target | None, Wire("target", Target)] = None


@node
class ContainerResourceSource(Node):
    GO: ClassVar[str] = "ContainerResourceMetricSource"

    name: Annotated[str | None, Wire("name", STRING)] = None
    container: Annotated[str | None, Wire("container", STRING)] = None
    target: Annotated[Target | None, Wire("target", Target)] = None


@node
class PodsSource(Node):
    GO: ClassVar[str] = "PodsMetricSource"

    metric: Annotated[MetricName | None, Wire("metric", MetricName)] = None
    target: Annotated[Target | None, Wire("target", Target)] = None


@node
class ObjectSource(Node):
    GO: ClassVar[str] = "ObjectMetricSource"

    described: Annotated[Ref | None, Wire("describedObject", Ref)] = None
    metric: Annotated[MetricName | None, Wire("metric", MetricName)] = None
    target: Annotated[Target | None, Wire("target", Target)] = None


@node
class ExternalSource(Node):
    GO: ClassVar[str] = "ExternalMetricSource"

    metric: Annotated[MetricName | None, Wire("metric", MetricName)] = None
    target: Annotated[Target | None, Wire("target", Target)] = None


@node
class Metric(Node):
    """One metric: a type, and the source of that type. Write it with `cpu`, `memory`, `pods`, `on` or `external`."""

    GO: ClassVar[str] = "MetricSpec"
    BUILT_IN: ClassVar[bool] = True

    type: Annotated[str | None, Wire("type", STRING)] = None
    object: Annotated[ObjectSource | None, Wire("object", ObjectSource)] = None
    external: Annotated[ExternalSource | None, Wire("external", ExternalSource)] = None
    pods: Annotated[PodsSource | None, Wire("pods", PodsSource)] = None
    resource: Annotated[ResourceSource | None, Wire("resource", ResourceSource)] = None
    container_resource: Annotated[
        ContainerResourceSource | None, Wire("containerResource", ContainerResourceSource)
    ] = None


@node
class Limit(Node):
    """How much may change in a period. Write it with `limit`."""

    GO: ClassVar[str] = "HPAScalingPolicy"
    BUILT_IN: ClassVar[bool] = True

    type: Annotated[str | None, Wire("type", STRING)] = None
    value: Annotated[int | None, Wire("value", INT32)] = None
    period: Annotated[int | None, Wire("periodSeconds", INT32)] = None


@node
class Pace(Node):
    """How fast one direction goes: limits, which of them counts, a stabilisation window, a tolerance."""

    GO: ClassVar[str] = "HPAScalingRules"

    limits: Annotated[tuple[Limit, ...] | None, Wire("policies", Limit, many=True)] = None
    window: Annotated[int | None, Wire("stabilizationWindowSeconds", INT32)] = None
    select: Annotated[str | None, Wire("selectPolicy", STRING)] = None
    tolerance: Annotated[Amount | None, Wire("tolerance", QUANTITY)] = None

    def __post_init__(self) -> None:
        """Take lists and durations as people write them."""
        object.__setattr__(self, "window", seconds(self.window))
        if isinstance(self.limits, Iterable):
            object.__setattr__(self, "limits", tuple(self.limits))


FROZEN = Pace(select="Disabled")


@node
class Behavior(Node):
    GO: ClassVar[str] = "HorizontalPodAutoscalerBehavior"

    scale_up: Annotated[Pace | None, Wire("scaleUp", Pace)] = None
    scale_down: Annotated[Pace | None, Wire("scaleDown", Pace)] = None


@node
class HPASpec(Kind):
    """The fields of a HorizontalPodAutoscaler, as read; `HPA` adds writing and checking."""

    API_VERSION: ClassVar[str] = "autoscaling/v2"
    KIND: ClassVar[str] = "HorizontalPodAutoscaler"
    FORMER_VERSIONS: ClassVar[tuple[str, ...]] = FORMER
    BUILT_IN: ClassVar[bool] = True
    STATUS: ClassVar[type[Node] | None] = HPAStatus
    GO: ClassVar[str] = "HorizontalPodAutoscalerSpec"

    target: Annotated[Ref | None, Wire("scaleTargetRef", Ref)] = None
    min_replicas: Annotated[int | None, Wire("minReplicas", INT32)] = None
    max_replicas: Annotated[int | None, Wire("maxReplicas", INT32)] = None
    metrics: Annotated[tuple[Metric, ...] | None, Wire("metrics", Metric, many=True)] = None
    behavior: Annotated[Behavior | None, Wire("behavior", Behavior, path="")] = None

    @property
    def scale_up(self) -> Pace | None:
        return self.behavior.scale_up if isinstance(self.behavior, Behavior) else None

    @property
    def scale_down(self) -> Pace | None:
        return self.behavior.scale_down if isinstance(self.behavior, Behavior) else None

    @classmethod
    def in_current_version(cls, data: Mapping[str, Any]) -> Mapping[str, Any]:
        """Manifests of any version that Kubernetes ever served."""
        return data if data.get("apiVersion", CURRENT) == CURRENT else upgraded(data)

    def unreadable_status(self) -> Iterator[Problem]:
        return iter(()) if self.read_from == V2BETA1 else Kind.unreadable_status(self)  # that one had other fields

    @classmethod
    def misread_in(cls, data: Mapping[str, Any]) -> tuple[Problem, ...]:
        """What is wrong by the fields of autoscaling/v1; the betas are served no more."""
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
    """At most so many pods, or such a percentage, per period."""
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
