"""What the CRD of WatermarkPodAutoscalers needs beyond their fields: CEL rules, columns, status."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from hypot.kinds.base import Ref
from hypot.kinds.crd import (
    BLOCKED_COLUMN,
    CONDITION,
    GENERATION,
    MIN_OVER_MAX,
    OPEN,
    TEXT,
    TIME,
    Check,
    Facts,
    Place,
    PrinterColumn,
    cel_amount,
    condition_path,
    listed,
)
from hypot.kinds.node import INT32, WHOLE_OR_QUANTITY
from hypot.kinds.wpa import WPA
from hypot.kinds.wpa.fields import BandMetric, ExternalBand, Recommender, ResourceBand
from hypot.kinds.wpa.rules import (
    LONGEST_QUANTITY,
    MAX_METRICS,
    MAX_SELECTOR_ENTRIES,
    OPERATORS,
    QUANTITY_TEXT,
    VALUES_NEEDED,
    MetricLabelRequirement,
    MetricLabelSelector,
)


def _compared(mark: str) -> str:
    return f"{cel_amount(mark)}.compareTo(quantity('0'))"


def _factor_checks() -> Iterator[Check]:
    up, down = "self.scaleUpLimitFactor", "self.scaleDownLimitFactor"
    yield Check("limit-factor", f"!has({up}) || {_compared(up)} >= 0", "must not be negative", ".scaleUpLimitFactor")
    yield Check(
        "limit-factor",
        f"!has({down}) || ({_compared(down)} >= 0 && {cel_amount(down)}.isLessThan(quantity('100')))",
        "must be at least 0 and less than 100",
        ".scaleDownLimitFactor",
    )


_SPEC_CHECKS = (
    MIN_OVER_MAX,
    *_factor_checks(),
    Check(
        "metrics-or-recommender",
        "!has(self.recommender) || !has(self.metrics) || size(self.metrics) == 0",
        "metrics and recommender are mutually exclusive",
        ".recommender",
        "Forbidden",
    ),
    Check(
        "metrics-or-recommender",
        "has(self.recommender) || (has(self.metrics) && size(self.metrics) > 0)",
        "needs metrics or a recommender",
        ".metrics",
        "Required",
    ),
)


def _mark_checks(block: str, unless: str = "") -> Iterator[Check]:
    """The rules for two watermarks, one of which may be missing. `unless` says when they do not apply."""
    high, low = f"self{block}.highWatermark", f"self{block}.lowWatermark"
    at_high, at_low = f"{block}.highWatermark", f"{block}.lowWatermark"
    least_low = f"{_compared(low)} >= (has({high}) ? 0 : 1)"
    ordered = f"!{cel_amount(high)}.isLessThan({cel_amount(low)})"
    yield Check("watermark", f"{unless}!has({high}) || {_compared(high)} > 0", "must be greater than zero", at_high)
    yield Check(
        "watermark",
        f"{unless}!has({low}) || {least_low}",
        "must not be negative, nor zero as the only watermark",
        at_low,
    )
    yield Check(
        "watermark",
        f"{unless}!has({high}) || !has({low}) || {ordered}",
        "must not be below the low watermark",
        at_high,
    )


def _metric_checks(kind: str) -> Iterator[Check]:
    """The rules of a block apply only if the type names it."""
    block, name = f".{kind.lower()}", "metricName" if kind == "External" else "name"
    source = f"self{block}"
    other = f"self.type != '{kind}' || "
    absent = f"{other}!has({source}) || "
    needed = {
        "metric-name": (name, f"has({source}.{name}) && size({source}.{name}) > 0", "must specify a metric name"),
        "metric-selector": (
            "metricSelector",
            f"has({source}.metricSelector)",
            "must be set; {} matches every series",
        ),
        "watermark": (
            "highWatermark",
            f"has({source}.highWatermark) || has({source}.lowWatermark)",
            "at least one watermark must be set",
        ),
    }
    yield Check("metric-source", f"{other}has({source})", f"type {kind} needs this block", block, "Required")
    for rule, (key, cel, message) in needed.items():
        yield Check(rule, f"{absent}({cel})", message, f"{block}.{key}", "Required")
    yield from _mark_checks(block, absent)


_REQUIREMENT_CHECK = Check(
    "selector",
    f"(self.operator in {list(VALUES_NEEDED)}) == (has(self.values) && size(self.values) > 0)",
    "values must be given for In and NotIn, and not for Exists and DoesNotExist",
    ".values",
)

_STATUS: dict[str, Any] = {
    **OPEN,
    "properties": {
        "currentReplicas": {**INT32.schema, "description": "the count that the scale reports"},
        "desiredReplicas": {**INT32.schema, "description": "the count that was last decided"},
        "lastScaleTime": {**TIME, "description": "the last scaling, in either direction"},
        "scalingEventsCount": {**INT32.schema, "description": "number of scalings so far"},
        "lastConditionType": {**TEXT, "description": "the condition that was written last"},
        "lastConditionState": {**TEXT, "description": "its state"},
        "observedGeneration": GENERATION,
        "currentMetrics": listed(
            "the values that were compared, one per metric", {**OPEN, "properties": {"type": TEXT}}
        ),
        "conditions": listed("newest transition first", CONDITION),
    },
}


# A recursive path (`..`) visits mappings in random order, and continues into the next metric.
_FIRST_METRIC = ".spec.metrics[0]['external','resource']"
# External metrics report a value, resources the mean of the pods.
_FIRST_VALUE = ".status.currentMetrics[0]['external','resource']['currentValue','currentAverageValue']"

_COLUMNS = (
    PrinterColumn("scaling active", "string", condition_path("ScalingActive"), "whether a count could be computed"),
    PrinterColumn("condition", "string", ".status.lastConditionType", "the condition that was written last"),
    PrinterColumn("condition state", "string", ".status.lastConditionState", "its state"),
    PrinterColumn("value", "string", _FIRST_VALUE, "value of the first metric"),
    PrinterColumn("high watermark", "string", f"{_FIRST_METRIC}.highWatermark", "high watermark of the first metric"),
    PrinterColumn("low watermark", "string", f"{_FIRST_METRIC}.lowWatermark", "low watermark of the first metric"),
    PrinterColumn("age", "date", ".metadata.creationTimestamp", "time since creation"),
    PrinterColumn("min replicas", "integer", ".spec.minReplicas", "never fewer than this"),
    PrinterColumn("max replicas", "integer", ".spec.maxReplicas", "never more than this"),
    PrinterColumn("dry-run", "string", condition_path("DryRun"), "whether decisions are only reported"),
    replace(BLOCKED_COLUMN, name="blocked"),
    PrinterColumn("last scale", "date", ".status.lastScaleTime", "time since the last scaling"),
    PrinterColumn("scale count", "integer", ".status.scalingEventsCount", "number of scalings so far", wide=True),
)


def _hints() -> Iterator[tuple[Place, dict[str, Any]]]:
    for part in (WPA, ExternalBand, ResourceBand, Recommender):
        for _, w in part.TABLE:
            if w.type is WHOLE_OR_QUANTITY:
                yield (part, w.key), {"pattern": QUANTITY_TEXT, "maxLength": LONGEST_QUANTITY}
    yield (WPA, "tolerance"), {"maxLength": LONGEST_QUANTITY}
    yield (WPA, "metrics"), {"maxItems": MAX_METRICS}
    for block in (ExternalBand, ResourceBand):
        yield (block, "metricSelector"), {"x-kubernetes-map-type": "atomic"}
    yield (MetricLabelSelector, "matchLabels"), {"maxProperties": MAX_SELECTOR_ENTRIES}
    yield (MetricLabelSelector, "matchExpressions"), {"maxItems": MAX_SELECTOR_ENTRIES}
    yield (MetricLabelRequirement, "key"), {"minLength": 1}
    yield (MetricLabelRequirement, "operator"), {"enum": list(OPERATORS)}


FACTS = Facts(
    doc="Keeps a workload's metrics between two watermarks by adding and removing replicas.",
    status=_STATUS,
    columns=_COLUMNS,
    required={
        WPA: ("maxReplicas", "scaleTargetRef"),
        Ref: ("kind", "name"),
        BandMetric: ("type",),
        Recommender: ("highWatermark", "lowWatermark", "url"),
        MetricLabelRequirement: ("key", "operator"),
    },
    checks={
        WPA: _SPEC_CHECKS,
        BandMetric: (*_metric_checks("External"), *_metric_checks("Resource")),
        Recommender: tuple(_mark_checks("")),
        MetricLabelRequirement: (_REQUIREMENT_CHECK,),
    },
    hints=dict(_hints()),
    shapes={(block, "metricSelector"): MetricLabelSelector for block in (ExternalBand, ResourceBand)},
)
