"""The fields of an Autoscaler: its target, its bounds, what a late request costs, and the metrics of requests."""

import math
from collections.abc import Mapping
from typing import Any, ClassVar, Literal

from hypot.core.instant import read_duration
from hypot.kinds import identity
from hypot.kinds.autoscaler.status import AutoscalerStatus
from hypot.kinds.base import Kind, Ref
from hypot.kinds.meta import MetricName
from hypot.kinds.node import INT32, STRING, Node, Scalar, node, wire
from hypot.kinds.vpa.fields import AUTO, OFF, ResourcePolicy

AutoscalerMode = Literal["Off", "Auto"]
AUTOSCALER_MODES = (OFF, AUTO)
BOTH_AXES, REPLICAS, SIZE = "Both", "Replicas", "Size"
Axes = Literal["Both", "Replicas", "Size"]
AXES = (BOTH_AXES, REPLICAS, SIZE)

# What holds if the object does not say it.
MIN_REPLICAS, MAX_REPLICAS = 2, 100
LATE_AFTER, LATE_PRICE = "250ms", 10
# So that an API server can add it up: it cannot read a duration of some centuries.
LATE_AFTER_PATTERN = r"([0-9]{1,7}(\.[0-9]{1,6})?(ms|s|m)|[0-9]{1,4}(\.[0-9]{1,6})?h)+"
# In seconds, and in core-times of a request.
LATE_AFTER_RANGE = (0.001, 3600.0)
LATE_PRICE_RANGE = (0.1, 1000)


def _is_number(value: Any) -> bool:
    return type(value) is int or (type(value) is float and math.isfinite(value))


NUMBER = Scalar("float64", {"type": "number"}, _is_number, "a number such as 10 or 0.5")


@node
class Late(Node):
    GO: ClassVar[str] = "v1alpha1.Late"

    after: str | None = wire(
        "after", STRING, f"a request is late after this time, such as 250ms; {LATE_AFTER} if absent", path="late_after"
    )
    price: float | None = wire(
        "price",
        NUMBER,
        f"what a late request costs, in core-times of a request; {LATE_PRICE} if absent",
        path="late_price",
        schema={"minimum": LATE_PRICE_RANGE[0], "maximum": LATE_PRICE_RANGE[1]},
    )


@node
class Objective(Node):
    GO: ClassVar[str] = "v1alpha1.Objective"

    late: Late | None = wire("late", Late, "which requests are late, and what one costs", path="")


@node
class RequestMetrics(Node):
    GO: ClassVar[str] = "v1alpha1.RequestMetrics"

    requests: MetricName | None = wire(
        "requests", MetricName, "requests per second of each pod, from the custom metrics API", path="requests_metric"
    )
    late: MetricName | None = wire(
        "late", MetricName, "late requests per second of each pod; needs requests", path="late_metric"
    )


_NO_OBJECTIVE, _NOT_LATE, _NO_METRICS = Objective(), Late(), RequestMetrics()


@node
class AutoscalerSpec(Kind):
    """The fields of an Autoscaler, as read; `WorkloadAutoscaler` adds writing and checking."""

    API_VERSION: ClassVar[str] = identity.AUTOSCALER.api_version
    KIND: ClassVar[str] = identity.AUTOSCALER.kind
    STATUS: ClassVar[type[Node] | None] = AutoscalerStatus
    GO: ClassVar[str] = "v1alpha1.AutoscalerSpec"

    target: Ref | None = wire("targetRef", Ref, "the workload to scale")
    update_mode: str | None = wire(
        "updateMode",
        STRING,
        "Off learns and reports only, Auto acts; Off if absent",
        schema={"enum": list(AUTOSCALER_MODES)},
        path="mode",
    )
    written_axes: str | None = wire(
        "axes",
        STRING,
        "what it sets: the number of replicas, the size of pods, or both; Both if absent",
        schema={"enum": list(AXES)},
        path="axes",
    )
    written_min: int | None = wire(
        "minReplicas",
        INT32,
        f"never fewer replicas; {MIN_REPLICAS} if absent, or maxReplicas if that is less",
        schema={"minimum": 1},
        path="min_replicas",
    )
    written_max: int | None = wire(
        "maxReplicas",
        INT32,
        f"never more replicas; {MAX_REPLICAS} if absent",
        schema={"minimum": 1},
        path="max_replicas",
    )
    resource_policy: ResourcePolicy | None = wire(
        "resourcePolicy",
        ResourcePolicy,
        "which containers are sized, and within which bounds; from the template's requests to four times these, "
        "at most half of the largest node, if absent",
        path="",
    )
    objective: Objective | None = wire("objective", Objective, "what is optimized besides cost", path="")
    metrics: RequestMetrics | None = wire(
        "metrics", RequestMetrics, "metrics of the requests that the pods serve; usage alone if absent", path=""
    )

    @property
    def mode(self) -> str:
        """The effective update mode; Off if absent."""
        written = self.update_mode
        return written if isinstance(written, str) and written else OFF

    @property
    def acts(self) -> bool:
        """Whether it changes its target, and does not only report."""
        return self.mode == AUTO

    @property
    def axes(self) -> str:
        """The effective axes; Both if absent."""
        written = self.written_axes
        return written if isinstance(written, str) and written else BOTH_AXES

    @property
    def counts(self) -> bool:
        """Whether it may set the number of replicas."""
        return self.axes != SIZE

    @property
    def sizes(self) -> bool:
        """Whether it may set the size of pods."""
        return self.axes != REPLICAS

    @property
    def min_replicas(self) -> int:
        """The effective minimum; that of its schedule, too, as far as the maximum allows."""
        written = self.written_min
        low = written if isinstance(written, int) else min(MIN_REPLICAS, self.max_replicas)
        return self.floor.minimum(low, self.max_replicas) or low

    @property
    def max_replicas(self) -> int:
        """The effective maximum."""
        return self.written_max if isinstance(self.written_max, int) else MAX_REPLICAS

    @property
    def container_policies(self) -> ResourcePolicy | None:
        """Which containers are sized, and within which bounds."""
        return self.resource_policy if isinstance(self.resource_policy, ResourcePolicy) else None

    @property
    def late(self) -> Late:
        """What is written about late requests; empty if nothing is."""
        objective = self.objective if isinstance(self.objective, Objective) else _NO_OBJECTIVE
        return objective.late if isinstance(objective.late, Late) else _NOT_LATE

    @property
    def late_after(self) -> float:
        """The effective time after which a request is late, in seconds."""
        written = read_duration(self.late.after)
        return written if written is not None else read_duration(LATE_AFTER) or 0.0

    @property
    def late_price(self) -> float:
        """The effective cost of a late request, in core-times of a request."""
        written = self.late.price
        return written if _is_number(written) and written is not None else LATE_PRICE

    @property
    def requests_metric(self) -> MetricName | None:
        """The metric of requests per second of each pod; None if there is none."""
        return _metric(self.request_metrics.requests)

    @property
    def late_metric(self) -> MetricName | None:
        """The metric of late requests per second of each pod; None if there is none."""
        return _metric(self.request_metrics.late)

    @property
    def request_metrics(self) -> RequestMetrics:
        """What is written about metrics of requests; empty if nothing is."""
        return self.metrics if isinstance(self.metrics, RequestMetrics) else _NO_METRICS

    @property
    def knob_annotations(self) -> Mapping[str, str]:
        """The annotations that may contain knobs of the size recommender."""
        return self.annotations

    @property
    def reported(self) -> AutoscalerStatus:
        """The status of a live object; empty if there is none."""
        return AutoscalerStatus.read(self.status).readable() if isinstance(self.status, dict) else AutoscalerStatus()


def _metric(written: Any) -> MetricName | None:
    return written if isinstance(written, MetricName) and written.name else None
