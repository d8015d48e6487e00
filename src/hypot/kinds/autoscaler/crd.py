"""What the CRD of Autoscalers needs beyond their fields: CEL rules and columns."""

from collections.abc import Iterator
from typing import Any

from hypot.core import instant
from hypot.kinds.autoscaler import WorkloadAutoscaler
from hypot.kinds.autoscaler.fields import LATE_AFTER_PATTERN, LATE_PRICE_RANGE, MAX_REPLICAS, Late, RequestMetrics
from hypot.kinds.autoscaler.status import AutoscalerStatus
from hypot.kinds.base import Ref
from hypot.kinds.crd import BLOCKED_COLUMN, Check, Facts, Place, PrinterColumn, status_of
from hypot.kinds.meta import MetricName
from hypot.kinds.vpa.crd import PART_CHECKS, PART_HINTS, PART_REQUIRED
from hypot.kinds.wpa.crd import FACTS as WPA_FACTS
from hypot.kinds.wpa.rules import MetricLabelRequirement, MetricLabelSelector


def _count_checks() -> Iterator[Check]:
    no_min = "!has(self.minReplicas)"
    message = f"must be set if minReplicas is above its default of {MAX_REPLICAS}"
    needed = f"{no_min} || has(self.maxReplicas) || self.minReplicas <= {MAX_REPLICAS}"
    yield Check("min-over-max", needed, message, ".maxReplicas", "Required")
    message = "must be greater than or equal to minReplicas"
    ordered = f"{no_min} || !has(self.maxReplicas) || self.minReplicas <= self.maxReplicas"
    yield Check("min-over-max", ordered, message, ".maxReplicas")


def _late_checks() -> Iterator[Check]:
    """The pattern is tested again: a rule that cannot read a stored value would keep its status from being written."""
    read, readable = "duration(self.after)", f"self.after.matches(r'^{LATE_AFTER_PATTERN}$')"
    within = f"{read} >= duration('1ms') && {read} <= duration('1h')"
    message = "must be a duration of at least 1ms and at most 1h"
    yield Check("late-after", f"!has(self.after) || !{readable} || ({within})", message, ".after")
    # An API server rounds the minimum of a whole number down.
    least, most = LATE_PRICE_RANGE
    within = f"self.price >= {float(least)} && self.price <= {float(most)}"
    yield Check("late-price", f"!has(self.price) || ({within})", f"must be between {least} and {most}", ".price")


_LATE_METRIC = Check(
    "late-metric",
    "!has(self.late) || has(self.requests)",
    "must be set if late is: the share of late requests is needed",
    ".requests",
    "Required",
)
_METRIC_NAME = Check(
    "metric-name",
    "!has(self.name) || !(self.name in ['.', '..'])",
    "must not be a dot or two dots",
    ".name",
)

_COLUMNS = (
    PrinterColumn("Mode", "string", ".spec.updateMode", "whether it acts"),
    PrinterColumn("Target", "string", ".spec.targetRef.name", "the workload"),
    PrinterColumn("Replicas", "integer", ".status.replicas", "the current number of pods"),
    PrinterColumn("Size", "string", ".status.size", "the requests of one pod that were last decided"),
    PrinterColumn("Busy", "string", ".status.busy", "how much of their cpu the pods use"),
    PrinterColumn("Saving", "string", ".status.saving", "what it costs less than an HPA at 70 %"),
    PrinterColumn("Rule", "string", ".status.rule", "the rule that decides now"),
    BLOCKED_COLUMN,
    PrinterColumn("Age", "date", ".metadata.creationTimestamp", "time since creation"),
    PrinterColumn("Desired", "integer", ".status.desiredReplicas", "the count that was last decided", wide=True),
    PrinterColumn("Axes", "string", ".spec.axes", "what it sets", wide=True),
)


def _hints() -> Iterator[tuple[Place, dict[str, Any]]]:
    span = {"pattern": f"^{LATE_AFTER_PATTERN}$", "maxLength": instant.LONGEST_SPAN}
    yield (Late, "after"), span
    yield (MetricName, "name"), {"minLength": 1, "pattern": "^[^/%]*$"}
    for place, hint in WPA_FACTS.hints.items():
        if place[0] in {MetricLabelSelector, MetricLabelRequirement}:
            yield place, dict(hint)


FACTS = Facts(
    doc="Learns from a workload itself how many replicas of which size serve it at the least cost.",
    status=status_of(AutoscalerStatus),
    columns=_COLUMNS,
    required={
        WorkloadAutoscaler: ("targetRef",),
        Ref: ("kind", "name"),
        MetricName: ("name",),
        MetricLabelRequirement: WPA_FACTS.required[MetricLabelRequirement],
        **PART_REQUIRED,
    },
    checks={
        WorkloadAutoscaler: tuple(_count_checks()),
        Late: tuple(_late_checks()),
        RequestMetrics: (_LATE_METRIC,),
        MetricName: (_METRIC_NAME,),
        MetricLabelRequirement: WPA_FACTS.checks[MetricLabelRequirement],
        **PART_CHECKS,
    },
    hints={**PART_HINTS, **dict(_hints())},
    shapes={(MetricName, "selector"): MetricLabelSelector},
)
