"""The status of a WatermarkPodAutoscaler."""

from typing import TYPE_CHECKING, Any, ClassVar

from hypot.kinds.conditions import ConditionsByType
from hypot.kinds.hpa.status import ReplicasStatus
from hypot.kinds.meta import StatusCondition
from hypot.kinds.node import QUANTITY, STRING, Node, node, wire

if TYPE_CHECKING:
    from hypot.kinds.wpa.fields import BandMetric


@node
class BandStatus(Node):
    """The value of a metric that was compared with its watermarks."""

    GO: ClassVar[str] = "v2.MetricStatus"

    name: str | None = wire("name", STRING)
    metric_name: str | None = wire("metricName", STRING)
    current_value: str | int | None = wire("currentValue", QUANTITY)
    current_average_value: str | int | None = wire("currentAverageValue", QUANTITY)


@node
class BandMetricStatus(Node):
    """What was reported for one metric."""

    GO: ClassVar[str] = "v2.MetricStatus"

    type: str | None = wire("type", STRING)
    external: BandStatus | None = wire("external", BandStatus)
    resource: BandStatus | None = wire("resource", BandStatus)


@node
class WPAStatus(ReplicasStatus):
    GO: ClassVar[str] = "v1alpha1.WatermarkPodAutoscalerStatus"

    current_metrics: tuple[BandMetricStatus, ...] | None = wire("currentMetrics", BandMetricStatus, many=True)
    listed_conditions: tuple[StatusCondition, ...] | None = wire("conditions", StatusCondition, many=True)

    @property
    def conditions(self) -> ConditionsByType[StatusCondition]:
        """The conditions by type."""
        return ConditionsByType(self.listed_conditions)

    def __getitem__(self, metric: "BandMetric") -> BandStatus:
        """What was reported for a metric, which may be the value that the autoscaler was built with."""
        for one in self.current_metrics or ():
            reported = one.external if one.type == "External" else one.resource
            if one.type == metric.type and reported is not None and _name(reported) == _name(metric.source):
                return reported
        raise KeyError(f"nothing is reported for this {metric.type} metric")


def _name(part: Any) -> Any:
    """Its name in the metrics API: an External status has it under another key."""
    return getattr(part, "metric_name", None) or getattr(part, "name", None)
