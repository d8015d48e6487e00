"""The status of a HorizontalPodAutoscaler, as the API server decodes it, and what was reported for one metric."""

from collections.abc import Mapping
from typing import Any, ClassVar, Protocol

from hypot.kinds.base import Ref
from hypot.kinds.conditions import ConditionsByType
from hypot.kinds.meta import INT64, TIME, MetricName, StatusCondition
from hypot.kinds.node import INT32, QUANTITY, STRING, Node, node, wire
from hypot.kinds.values.nested import inner, mappings


@node
class CurrentValue(Node):
    """What a metric was when it was read last."""

    GO: ClassVar[str] = "v2.MetricValueStatus"

    value: Any = wire("value", QUANTITY)
    average_value: Any = wire("averageValue", QUANTITY)
    average_utilization: int | None = wire("averageUtilization", INT32)


@node
class ResourceStatus(Node):
    GO: ClassVar[str] = "v2.ResourceMetricStatus"

    name: str | None = wire("name", STRING)
    current: CurrentValue | None = wire("current", CurrentValue)


@node
class ContainerResourceStatus(Node):
    GO: ClassVar[str] = "v2.ContainerResourceMetricStatus"

    name: str | None = wire("name", STRING)
    container: str | None = wire("container", STRING)
    current: CurrentValue | None = wire("current", CurrentValue)


@node
class PodsStatus(Node):
    GO: ClassVar[str] = "v2.PodsMetricStatus"

    metric: MetricName | None = wire("metric", MetricName)
    current: CurrentValue | None = wire("current", CurrentValue)


@node
class ObjectStatus(Node):
    GO: ClassVar[str] = "v2.ObjectMetricStatus"

    described_object: Ref | None = wire("describedObject", Ref)
    metric: MetricName | None = wire("metric", MetricName)
    current: CurrentValue | None = wire("current", CurrentValue)


@node
class ExternalStatus(Node):
    GO: ClassVar[str] = "v2.ExternalMetricStatus"

    metric: MetricName | None = wire("metric", MetricName)
    current: CurrentValue | None = wire("current", CurrentValue)


@node
class MetricStatus(Node):
    """What was reported for one metric."""

    GO: ClassVar[str] = "v2.MetricStatus"
    BUILT_IN: ClassVar[bool] = True

    type: str | None = wire("type", STRING)
    object: ObjectStatus | None = wire("object", ObjectStatus)
    external: ExternalStatus | None = wire("external", ExternalStatus)
    pods: PodsStatus | None = wire("pods", PodsStatus)
    resource: ResourceStatus | None = wire("resource", ResourceStatus)
    container_resource: ContainerResourceStatus | None = wire("containerResource", ContainerResourceStatus)

    @property
    def current(self) -> CurrentValue:
        """Its values; empty if none was read."""
        source = _source(self)
        return (source.current if source is not None else None) or CurrentValue()


class MetricLike(Protocol):
    """A metric of a spec or of a status: one of its sources is set."""

    @property
    def type(self) -> str | None: ...


def _source(metric: MetricLike) -> Any:
    sources = (getattr(metric, name) for name in ("object", "external", "pods", "resource", "container_resource"))
    return next((one for one in sources if one is not None), None)


def identity_of(metric: MetricLike) -> tuple[object, ...]:
    """What makes a metric the same in spec and status: its source, name, container, labels and described object."""
    source = _source(metric)
    named = getattr(source, "metric", None)
    described = getattr(source, "described", None) or getattr(source, "described_object", None)
    selector = getattr(named, "selector", None) or {}
    name = named.name if named is not None else getattr(source, "name", None)
    of = None if described is None else (described.group, described.kind, described.name)
    return metric.type, name, getattr(source, "container", None), of, _labels(selector)


def _labels(selector: Mapping[str, Any]) -> frozenset[str]:
    """What must hold of the series, in any order."""
    labels, expressions = inner(selector, "matchLabels"), selector.get("matchExpressions")
    one_by_one = [repr(one) for one in labels.items()]
    return frozenset([*one_by_one, *[_expression(one) for one in mappings(expressions)]])


def _expression(written: Mapping[str, Any]) -> str:
    values = written.get("values")
    shown = sorted(map(repr, values)) if isinstance(values, list) else []
    return repr((written.get("key"), written.get("operator"), shown))


@node
class HPACondition(StatusCondition):
    GO: ClassVar[str] = "v2.HorizontalPodAutoscalerCondition"
    BUILT_IN: ClassVar[bool] = True


@node
class ReplicasStatus(Node):
    """What the status of an autoscaler that counts pods begins with."""

    observed_generation: int | None = wire("observedGeneration", INT64)
    last_scale_time: str | None = wire("lastScaleTime", TIME)
    current_replicas: int | None = wire("currentReplicas", INT32)
    desired_replicas: int | None = wire("desiredReplicas", INT32)


@node
class HPAStatusV1(ReplicasStatus):
    """The status of autoscaling/v1."""

    GO: ClassVar[str] = "v2.HorizontalPodAutoscalerStatus"

    utilization: int | None = wire("currentCPUUtilizationPercentage", INT32)


@node
class HPAStatus(ReplicasStatus):
    """The status of autoscaling/v2: `status.conditions["ScalingActive"]`, `status[cpu(utilization=70)].current`."""

    GO: ClassVar[str] = "v2.HorizontalPodAutoscalerStatus"

    current_metrics: tuple[MetricStatus, ...] | None = wire("currentMetrics", MetricStatus, many=True)
    listed_conditions: tuple[HPACondition, ...] | None = wire("conditions", HPACondition, many=True, path="conditions")

    @property
    def conditions(self) -> ConditionsByType[HPACondition]:
        """The conditions by type."""
        return ConditionsByType(self.listed_conditions)

    def __getitem__(self, metric: MetricLike) -> MetricStatus:
        """What was reported for a metric, which may be the value that the autoscaler was built with."""
        wanted = identity_of(metric)
        for one in self.current_metrics or ():
            if identity_of(one) == wanted:
                return one
        raise KeyError(f"nothing is reported for this {metric.type} metric")
