"""What the CRD of Hvpas needs beyond their fields: CEL rules, metrics of v2 and v2beta1, columns, and scale."""

from collections.abc import Iterator, Mapping
from typing import Any, ClassVar

from hypot.core import instant, timeofday
from hypot.core.axes.interval import HORIZONTAL_ONLY
from hypot.kinds.base import Ref
from hypot.kinds.crd import (
    BLOCKED_COLUMN,
    MIN_OVER_MAX,
    ONLY_NUMBERS_AND_TEXT,
    Check,
    Facts,
    Place,
    PrinterColumn,
    condition_path,
)
from hypot.kinds.hpa.fields import (
    Behavior,
    ExternalSource,
    Limit,
    ObjectSource,
    PodsSource,
    ResourceSource,
    ScalingRules,
    Target,
)
from hypot.kinds.hpa.rules import MAX_PERIOD, MAX_WINDOW, METRIC_TYPES, POLICY_TYPES, SELECT_POLICIES
from hypot.kinds.hvpa import Hvpa
from hypot.kinds.hvpa.fields import (
    MAINTENANCE_WINDOW,
    MOST_REPLICAS,
    HPABlock,
    HPATemplate,
    HPATemplateSpec,
    MaintenanceWindow,
    ScaleType,
    ScalingInterval,
    VPABlock,
    VPATemplate,
)
from hypot.kinds.hvpa.interval_rules import MAX_INTERVALS
from hypot.kinds.hvpa.rules import MAX_METRICS, MAX_WEIGHTS
from hypot.kinds.hvpa.status import LIMITED, STATUS
from hypot.kinds.meta import MetricName
from hypot.kinds.node import INT32, MAPPING, QUANTITY, STRING, Node, Scalar, node, wire
from hypot.kinds.vpa.crd import PART_CHECKS, PART_HINTS, PART_REQUIRED
from hypot.kinds.vpa.fields import AMOUNT, AMOUNT_TEXT, OFF, RESOURCES, Amount, ContainerPolicy
from hypot.kinds.wpa.crd import FACTS as WPA_FACTS
from hypot.kinds.wpa.rules import QUANTITY_TEXT, MetricLabelRequirement, MetricLabelSelector

_OLD = "as in v2beta1"
# An HPA accepts a fractional number as a quantity, so its template does too.
_AMOUNT = Scalar(
    QUANTITY.go,
    {"x-kubernetes-preserve-unknown-fields": True, "pattern": QUANTITY_TEXT, **ONLY_NUMBERS_AND_TEXT},
    QUANTITY.fits,
    QUANTITY.want,
)


@node
class _TargetOrObject(Target):
    """The `target` of an Object metric: the metric target, or in v2beta1 the object itself."""

    api_version: str | None = wire("apiVersion", STRING, f"of the object; {_OLD}")
    kind: str | None = wire("kind", STRING, f"of the object; {_OLD}")
    name: str | None = wire("name", STRING, f"of the object; {_OLD}")


@node
class _HpaResource(ResourceSource):
    old_utilization: int | None = wire("targetAverageUtilization", INT32, _OLD)
    old_average: Any = wire("targetAverageValue", _AMOUNT, _OLD)


@node
class _ContainerResource(_HpaResource):
    container: str | None = wire("container", STRING, "the container")


@node
class _Pods(PodsSource):
    old_name: str | None = wire("metricName", STRING, _OLD)
    old_selector: Mapping[str, Any] | None = wire("selector", MAPPING, _OLD)
    old_average: Any = wire("targetAverageValue", _AMOUNT, _OLD)


@node
class _HpaMetric(Ref):
    """A reference without required fields: the HPA's own rules check it in both forms."""


@node
class _Object(ObjectSource):
    described: _HpaMetric | None = wire("describedObject", _HpaMetric, "the object")
    target: _TargetOrObject | None = wire("target", _TargetOrObject, "the target value")
    old_name: str | None = wire("metricName", STRING, _OLD)
    old_selector: Mapping[str, Any] | None = wire("selector", MAPPING, _OLD)
    old_value: Any = wire("targetValue", _AMOUNT, _OLD)
    old_average: Any = wire("averageValue", _AMOUNT, _OLD)


@node
class _External(ExternalSource):
    old_name: str | None = wire("metricName", STRING, _OLD)
    old_selector: Mapping[str, Any] | None = wire("metricSelector", MAPPING, _OLD)
    old_value: Any = wire("targetValue", _AMOUNT, _OLD)
    old_average: Any = wire("targetAverageValue", _AMOUNT, _OLD)


@node
class AnyMetric(Node):
    """One metric, in the form of v2 or v2beta1."""

    GO: ClassVar[str] = "v2.MetricSpec"

    type: str | None = wire("type", STRING, "which block is used", schema={"enum": list(METRIC_TYPES)})
    resource: _HpaResource | None = wire("resource", _HpaResource, "a resource of the pods")
    container_resource: _ContainerResource | None = wire(
        "containerResource", _ContainerResource, "a resource of one container"
    )
    pods: _Pods | None = wire("pods", _Pods, "a metric of the pods")
    object: _Object | None = wire("object", _Object, "a metric of another object")
    external: _External | None = wire("external", _External, "a metric from outside the cluster")


HPA_SHAPES: dict[Place, type[Node] | Scalar] = {
    (HPATemplateSpec, "metrics"): AnyMetric,
    (MetricName, "selector"): MetricLabelSelector,
    (_Pods, "selector"): MetricLabelSelector,
    (_Object, "selector"): MetricLabelSelector,
    (_External, "metricSelector"): MetricLabelSelector,
    (ScalingRules, "tolerance"): _AMOUNT,
    **{(owner, key): _AMOUNT for owner in (Target, _TargetOrObject) for key in ("value", "averageValue")},
}


def metric_checks() -> Iterator[Check]:
    for kind, block in METRIC_TYPES.items():
        cel, message = f"!has(self.type) || self.type != '{kind}' || has(self.{block})", f"type {kind} needs this block"
        yield Check("metric-source", cel, message, f".{block}", "Required")


def behavior_hints() -> Iterator[tuple[Place, dict[str, Any]]]:
    """Descriptions and bounds of an HPA's behavior. The API server has its own schema for it, but not in this CRD."""
    yield (Behavior, "scaleUp"), {"description": "for scaling up"}
    yield (Behavior, "scaleDown"), {"description": "for scaling down"}
    yield (ScalingRules, "policies"), {"description": "how much may change in a period", "minItems": 1}
    seconds = {
        "description": "how far back recommendations are taken into account",
        "minimum": 0,
        "maximum": MAX_WINDOW,
    }
    yield (ScalingRules, "stabilizationWindowSeconds"), seconds
    yield (ScalingRules, "selectPolicy"), {"description": "which policy is used", "enum": list(SELECT_POLICIES)}
    not_negative = {"pattern": QUANTITY_TEXT.replace("[+-]?", r"\+?", 1), "minimum": 0}
    yield (
        (ScalingRules, "tolerance"),
        {"description": "how far a value may be off its target, as a fraction", **not_negative},
    )
    yield (Limit, "type"), {"description": "what is counted", "enum": list(POLICY_TYPES)}
    yield (Limit, "value"), {"description": "how many pods, or percent", "minimum": 1}
    yield (
        (Limit, "periodSeconds"),
        {"description": "the length of the period in seconds", "minimum": 1, "maximum": MAX_PERIOD},
    )


# Groups under k8s.io belong to the Kubernetes community. An API server serves a kind there only if its CRD has this
# annotation.
UNAPPROVED = {"api-approved.kubernetes.io": "unapproved, experimental API of hypot"}
SCALE = {
    "specReplicasPath": ".spec.replicas",
    "statusReplicasPath": ".status.replicas",
    "labelSelectorPath": ".status.targetSelector",
}


# An amount with a digit that is not zero.
_DIGITS = r"(0*[1-9][0-9]*(\.[0-9]*)?|0*\.0*[1-9][0-9]*)"
_SOME = {"pattern": AMOUNT_TEXT.replace(r"([0-9]+(\.[0-9]*)?|\.[0-9]+)", _DIGITS), "minimum": 1}


@node
class MaxResources(Node):
    """The schema of maxResources. The value itself is kept as the mapping that was read."""

    GO: ClassVar[str] = "v2.ResourceList"

    cpu: Amount | None = wire("cpu", AMOUNT, "cpu of one pod", schema=_SOME)
    memory: Amount | None = wire("memory", AMOUNT, "memory of one pod", schema=_SOME)


def _has(path: str) -> str:
    """A CEL test for whether a field is present, checked from the spec inwards."""
    keys = path.split(".")
    return " && ".join(f"has(self.{'.'.join(keys[: i + 1])})" for i in range(len(keys)))


_LIST, _WEIGHTS = "self.scalingIntervals", "self.weightBasedScalingIntervals"
_LAST = f"{_LIST}[size({_LIST}) - 1]"
_BUT_THE_LAST = list(range(MAX_INTERVALS - 1))
_MIN, _MAX = "hpa.template.spec.minReplicas", "hpa.template.spec.maxReplicas"
_POLICIES = "vpa.template.spec.resourcePolicy.containerPolicies"
_NO_INTERVALS = f"!has({_LIST}) || size({_LIST}) == 0"


def _form_checks() -> Iterator[Check]:
    weighted = f"has({_WEIGHTS}) && size({_WEIGHTS}) > 0"
    some = f"has({_LIST}) && size({_LIST}) > 0"
    message = "needs at least one interval"
    yield Check("scaling-intervals", f"({some}) || ({weighted})", message, ".scalingIntervals", "Required")
    message = "must not be used together with scalingIntervals, which replace it"
    both = f"!({some} && {weighted})"
    yield Check("weights-and-intervals", both, message, ".weightBasedScalingIntervals", "Forbidden")
    first = f"(has(w.startReplicaCount) && w.startReplicaCount > 0 ? w.startReplicaCount : ({_or(_MIN, '1')}))"
    last = f"(has(w.lastReplicaCount) && w.lastReplicaCount > 0 ? w.lastReplicaCount : ({_or(_MAX, '2147483647')}))"
    ordered = f"!has({_WEIGHTS}) || {_WEIGHTS}.all(w, {first} <= {last})"
    message = "must not end below its first count"
    yield Check("weight", ordered, message, ".weightBasedScalingIntervals")


def _or(path: str, otherwise: str) -> str:
    return f"{_has(path)} ? self.{path} : {otherwise}"


def _count_checks() -> Iterator[Check]:
    at, gaps = ".scalingIntervals", f"{_LIST}.filter(i, !has(i.maxReplicas)).size()"
    only_last = f"{_NO_INTERVALS} || {gaps} == (has({_LAST}.maxReplicas) ? 0 : 1)"
    yield Check("interval-replicas", only_last, "only the last interval may leave maxReplicas out", at, "Required")
    written = f"{_NO_INTERVALS} || has({_LAST}.maxReplicas)"
    message = "maxReplicas must be set if the hpa block has none"
    yield Check("interval-replicas", f"{written} || ({_has(_MAX)})", message, at, "Required")
    within = f"self.{_MAX} >= 1 && self.{_MAX} <= {MOST_REPLICAS}"
    message = f"maxReplicas must be set if that of the hpa block is not between 1 and {MOST_REPLICAS}"
    yield Check("interval-replicas", f"{written} || !({_has(_MAX)}) || ({within})", message, at)
    one, following = f"{_LIST}[k]", f"{_LIST}[k + 1]"
    unknown = f"k + 1 >= size({_LIST}) || !has({one}.maxReplicas) || !has({following}.maxReplicas)"
    # The indexes are listed literally: API servers before 1.30 cannot bound the size of a derived list, nor its cost.
    rising = f"{_BUT_THE_LAST}.all(k, {unknown} || {one}.maxReplicas < {following}.maxReplicas)"
    below = f"{_LIST}.all(i, !has(i.maxReplicas) || i.maxReplicas < self.{_MAX})"
    beyond = f"has({_LAST}.maxReplicas) || !({_has(_MAX)}) || {below}"
    message = "maxReplicas must be greater than that of the interval before"
    yield Check("interval-replicas", f"{_NO_INTERVALS} || ({rising} && ({beyond}))", message, at)
    from_hpa = f"size({_LIST}) > 1 || !({_has(_MAX)}) || self.{_MAX} >= self.{_MIN}"
    enough = f"has({_LIST}[0].maxReplicas) ? {_LIST}[0].maxReplicas >= self.{_MIN} : ({from_hpa})"
    message = "the first maxReplicas must not be below minReplicas"
    yield Check("interval-replicas", f"{_NO_INTERVALS} || !({_has(_MIN)}) || ({enough})", message, at)


def _size_checks() -> Iterator[Check]:
    """CEL can check that sizes are present; it cannot multiply them."""
    for name in RESOURCES:
        sized = f"has(i.maxResources) && has(i.maxResources.{name})"
        pinned = f"has(i.effectiveIntervalExtrapolation) && i.effectiveIntervalExtrapolation == '{HORIZONTAL_ONLY}'"
        elsewhere = f"has(p.controlledResources) && !('{name}' in p.controlledResources)"
        capped = f"has(p.maxAllowed) && '{name}' in p.maxAllowed"
        off = f"has(p.mode) && p.mode == '{OFF}'"
        covers = f"self.{_POLICIES}.all(p, ({off}) || ({elsewhere}) || ({capped}))"
        covered = f"{_has(_POLICIES)} && size(self.{_POLICIES}) > 0 && {covers}"
        every = f"{_LIST}.all(i, ({pinned}) || ({sized})) || ({covered})"
        message = f"maxResources.{name} must be set if maxAllowed does not set it"
        yield Check("interval-size", f"{_NO_INTERVALS} || {every}", message, ".scalingIntervals", "Required")


def _other_checks() -> Iterator[Check]:
    modes = [
        f"({_has(path)} && self.{path} == '{MAINTENANCE_WINDOW}')"
        for block in ("", "hpa.", "vpa.")
        for path in (f"{block}{direction}.updatePolicy.updateMode" for direction in ("scaleUp", "scaleDown"))
    ]
    message = f"must be set for the mode {MAINTENANCE_WINDOW}"
    needed = f"has(self.maintenanceTimeWindow) || !({' || '.join(modes)})"
    yield Check("maintenance-window", needed, message, ".maintenanceTimeWindow", "Required")
    for name in RESOURCES:
        path = f"scalingIntervalsOverlap.{name}.percentage"
        within = f"!({_has(path)}) || self.{path} <= 100"
        yield Check("percentage", within, "must be less than or equal to 100", f".{path}")


_TEXTS = {"type": "object", "additionalProperties": {"type": "string"}}
_METADATA: dict[str, Any] = {
    "properties": {
        "labels": {**_TEXTS, "description": "its labels"},
        "annotations": {**_TEXTS, "description": "its annotations; in the vpa block also knobs of the recommender"},
        "ownerReferences": {
            "type": "array",
            "description": "must not be set: objects created from the template belong to the Hvpa",
            "items": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
            "maxItems": 0,
            "x-kubernetes-list-type": "atomic",
        },
    }
}


_COLUMNS = (
    PrinterColumn("Target", "string", ".spec.targetRef.name", "the workload"),
    PrinterColumn("Replicas", "integer", ".status.replicas", "the current number of pods"),
    PrinterColumn("Desired", "integer", ".status.desiredReplicas", "the count that was last decided"),
    BLOCKED_COLUMN,
    PrinterColumn("Limited", "string", condition_path(LIMITED), "whether more is recommended than the bounds allow"),
    PrinterColumn("Age", "date", ".metadata.creationTimestamp", "time since creation"),
)


MAX_CONTROLLED = 10


def _hints() -> Iterator[tuple[Place, dict[str, Any]]]:
    yield (Hvpa, "scalingIntervals"), {"maxItems": MAX_INTERVALS}
    yield (Hvpa, "weightBasedScalingIntervals"), {"maxItems": MAX_WEIGHTS}
    yield (HPATemplateSpec, "metrics"), {"maxItems": MAX_METRICS}
    for key in ("begin", "end"):
        yield (MaintenanceWindow, key), {"pattern": f"^{timeofday.PATTERN}$"}
    span = {"pattern": f"^{instant.SPAN_PATTERN}$", "maxLength": instant.LONGEST_SPAN}
    yield (ScaleType, "stabilizationDuration"), span
    for template in (HPATemplate, VPATemplate):
        yield (template, "metadata"), _METADATA
    for place, hint in WPA_FACTS.hints.items():
        if place[0] in {MetricLabelSelector, MetricLabelRequirement}:
            yield place, dict(hint)
    # A rule searches this list for each interval. Only two names are valid.
    controlled: Place = (ContainerPolicy, "controlledResources")
    yield controlled, {**PART_HINTS[controlled], "maxItems": MAX_CONTROLLED}
    for target in (Target, _TargetOrObject):
        yield (target, "averageUtilization"), {"minimum": 1}
    for source in (_HpaResource, _ContainerResource):
        yield (source, "targetAverageUtilization"), {"minimum": 1}
    yield from behavior_hints()


FACTS = Facts(
    doc="Scales a workload on both axes: turns total resources into a replica count and a pod size.",
    status=STATUS,
    columns=_COLUMNS,
    required={
        Hvpa: ("targetRef",),
        Ref: ("kind", "name"),
        MaintenanceWindow: ("begin", "end"),
        AnyMetric: ("type",),
        Limit: ("periodSeconds", "type", "value"),
        MetricLabelRequirement: WPA_FACTS.required[MetricLabelRequirement],
        **PART_REQUIRED,
    },
    checks={
        Hvpa: (*_form_checks(), *_count_checks(), *_size_checks(), *_other_checks()),
        HPATemplateSpec: (MIN_OVER_MAX,),
        AnyMetric: tuple(metric_checks()),
        MetricLabelRequirement: WPA_FACTS.checks[MetricLabelRequirement],
        **PART_CHECKS,
    },
    hints={**PART_HINTS, **dict(_hints())},
    shapes={
        (HPABlock, "selector"): MetricLabelSelector,
        (VPABlock, "selector"): MetricLabelSelector,
        (ScalingInterval, "maxResources"): MaxResources,
        **HPA_SHAPES,
    },
    annotations=UNAPPROVED,
    scale=SCALE,
)
