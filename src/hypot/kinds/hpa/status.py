"""The status of a HorizontalPodAutoscaler, as the API server decodes it."""

from typing import Any, ClassVar

from hypot.kinds.base import Ref
from hypot.kinds.meta import INT64, TIME, MetricName, StatusCondition
from hypot.kinds.node import INT32, QUANTITY, STRING, Node, node, wire


@node
class _Current(Node):
    GO: ClassVar[str] = "v2.MetricValueStatus"

    value: Any = wire("value", QUANTITY)
    average: Any = wire("averageValue", QUANTITY)
    utilization: int | None = wire("averageUtilization", INT32)


@node
class _OfResource(Node):
    GO: ClassVar[str] = "v2.ResourceMetricStatus"

    name: str | None = wire("name", STRING)
    current: _Current | None = wire("current", _Current)


@node
class _OfContainerResource(Node):
    GO: ClassVar[str] = "v2.ContainerResourceMetricStatus"

    name: str | None = wire("name", STRING)
    container: str | None = wire("container", STRING)
    current: _Current | None = wire("current", _Current)


@node
class _OfPods(Node):
    GO: ClassVar[str] = "v2.PodsMetricStatus"

    metric: MetricName | None = wire("metric", MetricName)
    current: _Current | None = wire("current", _Current)


@node
class _OfObject(Node):
    GO: ClassVar[str] = "v2.ObjectMetricStatus"

    described: Ref | None = wire("describedObject", Ref)
    metric: MetricName | None = wire("metric", MetricName)
    current: _Current | None = wire("current", _Current)


@node
class _OfExternal(Node):
    GO: ClassVar[str] = "v2.ExternalMetricStatus"

    metric: MetricName | None = wire("metric", MetricName)
    current: _Current | None = wire("current", _Current)


@node
class _Metric(Node):
    GO: ClassVar[str] = "v2.MetricStatus"
    BUILT_IN: ClassVar[bool] = True

    type: str | None = wire("type", STRING)
    object: _OfObject | None = wire("object", _OfObject)
    external: _OfExternal | None = wire("external", _OfExternal)
    pods: _OfPods | None = wire("pods", _OfPods)
    resource: _OfResource | None = wire("resource", _OfResource)
    container_resource: _OfContainerResource | None = wire("containerResource", _OfContainerResource)


@node
class _Condition(StatusCondition):
    GO: ClassVar[str] = "v2.HorizontalPodAutoscalerCondition"
    BUILT_IN: ClassVar[bool] = True


@node
class HPAStatusV1(Node):
    """The status of autoscaling/v1."""

    GO: ClassVar[str] = "v2.HorizontalPodAutoscalerStatus"

    generation: int | None = wire("observedGeneration", INT64)
    scaled: str | None = wire("lastScaleTime", TIME)
    current: int | None = wire("currentReplicas", INT32)
    desired: int | None = wire("desiredReplicas", INT32)
    utilization: int | None = wire("currentCPUUtilizationPercentage", INT32)


@node
class HPAStatus(Node):
    """The status of autoscaling/v2."""

    GO: ClassVar[str] = "v2.HorizontalPodAutoscalerStatus"

    generation: int | None = wire("observedGeneration", INT64)
    scaled: str | None = wire("lastScaleTime", TIME)
    current: int | None = wire("currentReplicas", INT32)
    desired: int | None = wire("desiredReplicas", INT32)
    metrics: tuple[_Metric, ...] | None = wire("currentMetrics", _Metric, many=True)
    conditions: tuple[_Condition, ...] | None = wire("conditions", _Condition, many=True)
