"""The status of a HorizontalPodAutoscaler, as far as the API server decodes what somebody wrote there."""

from typing import Annotated, Any, ClassVar

from hypot.kinds.base import Ref
from hypot.kinds.meta import INT64, TIME, Condition, MetricName
from hypot.kinds.node import INT32, QUANTITY, STRING, Node, Wire, node


@node
class _Current(Node):
    GO: ClassVar[str] = "MetricValueStatus"

    value: Annotated[Any, Wire("value", QUANTITY)] = None
    average: Annotated[Any, Wire("averageValue", QUANTITY)] = None
    utilization: Annotated[int | None, Wire("averageUtilization", INT32)] = None


@node
class _OfResource(Node):
    GO: ClassVar[str] = "ResourceMetricStatus"

    name: Annotated[str | None, Wire("name", STRING)] = None
    current: Annotated[_Current | None, Wire("current", _Current)] = None


@node
class _OfContainerResource(Node):
    GO: ClassVar[str] = "ContainerResourceMetricStatus"

    name: Annotated[str | None, Wire("name", STRING)] = None
    container: Annotated[str | None, Wire("container", STRING)] = None
    current: Annotated[_Current | None, Wire("current", _Current)] = None


@node
class _OfPods(Node):
    GO: ClassVar[str] = "PodsMetricStatus"

    metric: Annotated[MetricName | None, Wire("metric", MetricName)] = None
    current: Annotated[_Current | None, Wire("current", _Current)] = None


@node
class _OfObject(Node):
    GO: ClassVar[str] = "ObjectMetricStatus"

    described: Annotated[Ref | None, Wire("describedObject", Ref)] = None
    metric: Annotated[MetricName | None, Wire("metric", MetricName)] = None
    current: Annotated[_Current | None, Wire("current", _Current)] = None


@node
class _OfExternal(Node):
    GO: ClassVar[str] = "ExternalMetricStatus"

    metric: Annotated[MetricName | None, Wire("metric", MetricName)] = None
    current: Annotated[_Current | None, Wire("current", _Current)] = None


@node
class _Metric(Node):
    GO: ClassVar[str] = "MetricStatus"
    BUILT_IN: ClassVar[bool] = True

    type: Annotated[str | None, Wire("type", STRING)] = None
    object: Annotated[_OfObject | None, Wire("object", _OfObject)] = None
    external: Annotated[_OfExternal | None, Wire("external", _OfExternal)] = None
    pods: Annotated[_OfPods | None, Wire("pods", _OfPods)] = None
    resource: Annotated[_OfResource | None, Wire("resource", _OfResource)] = None
    container_resource: Annotated[_OfContainerResource | None, Wire("containerResource", _OfContainerResource)] = None


@node
class _Condition(Condition):
    GO: ClassVar[str] = "HorizontalPodAutoscalerCondition"
    BUILT_IN: ClassVar[bool] = True


@node
class HPAStatusV1(Node):
    """The status of autoscaling/v1."""

    GO: ClassVar[str] = "HorizontalPodAutoscalerStatus"

    generation: Annotated[int | None, Wire("observedGeneration", INT64)] = None
    scaled: Annotated[str | None, Wire("lastScaleTime", TIME)] = None
    current: Annotated[int | None, Wire("currentReplicas", INT32)] = None
    desired: Annotated[int | None, Wire("desiredReplicas", INT32)] = None
    utilization: Annotated[int | None, Wire("currentCPUUtilizationPercentage", INT32)] = None


@node
class HPAStatus(Node):
    """The status of autoscaling/v2."""

    GO: ClassVar[str] = "HorizontalPodAutoscalerStatus"

    generation: Annotated[int | None, Wire("observedGeneration", INT64)] = None
    scaled: Annotated[str | None, Wire("lastScaleTime", TIME)] = None
    current: Annotated[int | None, Wire("currentReplicas", INT32)] = None
    desired: Annotated[int | None, Wire("desiredReplicas", INT32)] = None
    metrics: Annotated[tuple[_Metric, ...] | None, Wire("currentMetrics", _Metric, many=True)] = None
    conditions: Annotated[tuple[_Condition, ...] | None, Wire("conditions", _Condition, many=True)] = None
