"""The HPA in the CRD of Hvpas: metrics of autoscaling/v2, or of v2beta1 as released manifests have, and the behavior.

Both forms are kept as they were written; which one it is, is found out when it is read.
"""

from collections.abc import Iterator, Mapping
from typing import Annotated, Any, ClassVar

from hypot.kinds.base import Ref
from hypot.kinds.crd import ONLY_NUMBERS_AND_TEXT, Check, Place
from hypot.kinds.hpa_parts import Behavior, Limit, Pace
from hypot.kinds.hpa_rules import MAX_PERIOD, MAX_WINDOW, METRIC_TYPES, POLICY_TYPES, SELECT_POLICIES
from hypot.kinds.hvpa_blocks import HPATemplateSpec
from hypot.kinds.node import INT32, MAPPING, QUANTITY, STRING, Node, Scalar, Wire, node
from hypot.kinds.wpa_rules import QUANTITY_TEXT, LabelSelector

_OLD = "of v2beta1"
# An HPA takes a number with a fraction for a quantity, so its template does.
_AMOUNT = Scalar(
    QUANTITY.go,
    {"x-kubernetes-preserve-unknown-fields": True, "pattern": QUANTITY_TEXT, **ONLY_NUMBERS_AND_TEXT},
    QUANTITY.fits,
    QUANTITY.want,
)


@node
class _Target(Node):
    GO: ClassVar[str] = "MetricTarget"

    type: Annotated[str | None, Wire("type", STRING, doc="Utilization, Value or AverageValue")] = None
    value: Annotated[Any, Wire("value", _AMOUNT, doc="in total")] = None
    average: Annotated[Any, Wire("averageValue", _AMOUNT, doc="per pod")] = None
    utilization: Annotated[int | None, Wire("averageUtilization", INT32, doc="percent of the request")] = None


@node
class _TargetOrObject(_Target):
    """What is called target in an Object metric: in v2beta1 the object itself."""

    api_version: Annotated[str | None, Wire("apiVersion", STRING, doc=f"of the object; {_OLD}")] = None
    kind: Annotated[str | None, Wire("kind", STRING, doc=f"of the object; {_OLD}")] = None
    name: Annotated[str | None, Wire("name", STRING, doc=f"of the object; {_OLD}")] = None


@node
class _Name(Node):
    GO: ClassVar[str] = "MetricIdentifier"

    name: Annotated[str | None, Wire("name", STRING, doc="name of the series")] = None
    selector: Annotated[Mapping[str, Any] | None, Wire("selector", MAPPING, doc="which of the series")] = None


@node
class _Resource(Node):
    GO: ClassVar[str] = "ResourceMetricSource"

    name: Annotated[str | None, Wire("name", STRING, doc="cpu or memory")] = None
    target: Annotated[_Target | None, Wire("target", _Target, doc="what it is held at")] = None
    old_utilization: Annotated[int | None, Wire("targetAverageUtilization", INT32, doc=_OLD)] = None
    old_average: Annotated[Any, Wire("targetAverageValue", _AMOUNT, doc=_OLD)] = None


@node
class _ContainerResource(_Resource):
    container: Annotated[str | None, Wire("container", STRING, doc="the container")] = None


@node
class _Pods(Node):
    GO: ClassVar[str] = "PodsMetricSource"

    metric: Annotated[_Name | None, Wire("metric", _Name, doc="which series")] = None
    target: Annotated[_Target | None, Wire("target", _Target, doc="what it is held at")] = None
    old_name: Annotated[str | None, Wire("metricName", STRING, doc=_OLD)] = None
    old_selector: Annotated[Mapping[str, Any] | None, Wire("selector", MAPPING, doc=_OLD)] = None
    old_average: Annotated[Any, Wire("targetAverageValue", _AMOUNT, doc=_OLD)] = None


@node
class _Described(Ref):
    """An HPA's own rules say what must be in it, in either form."""


@node
class _Object(Node):
    GO: ClassVar[str] = "ObjectMetricSource"

    described: Annotated[_Described | None, Wire("describedObject", _Described, doc="the object")] = None
    metric: Annotated[_Name | None, Wire("metric", _Name, doc="which series")] = None
    target: Annotated[_TargetOrObject | None, Wire("target", _TargetOrObject, doc="what it is held at")] = None
    old_name: Annotated[str | None, Wire("metricName", STRING, doc=_OLD)] = None
    old_selector: Annotated[Mapping[str, Any] | None, Wire("selector", MAPPING, doc=_OLD)] = None
    old_value: Annotated[Any, Wire("targetValue", _AMOUNT, doc=_OLD)] = None
    old_average: Annotated[Any, Wire("averageValue", _AMOUNT, doc=_OLD)] = None


@node
class _External(Node):
    GO: ClassVar[str] = "ExternalMetricSource"

    metric: Annotated[_Name | None, Wire("metric", _Name, doc="which series")] = None
    target: Annotated[_Target | None, Wire("target", _Target, doc="what it is held at")] = None
    old_name: Annotated[str | None, Wire("metricName", STRING, doc=_OLD)] = None
    old_selector: Annotated[Mapping[str, Any] | None, Wire("metricSelector", MAPPING, doc=_OLD)] = None
    old_value: Annotated[Any, Wire("targetValue", _AMOUNT, doc=_OLD)] = None
    old_average: Annotated[Any, Wire("targetAverageValue", _AMOUNT, doc=_OLD)] = None


@node
class AnyMetric(Node):
    """One metric in either form."""

    GO: ClassVar[str] = "MetricSpec"

    type: Annotated[str | None, Wire("type", STRING, schema={"enum": list(METRIC_TYPES)}, doc="which block counts")] = (
        None
    )
    resource: Annotated[_Resource | None, Wire("resource", _Resource, doc="a resource of the pods")] = None
    container_resource: Annotated[
        _ContainerResource | None, Wire("containerResource", _ContainerResource, doc="a resource of one container")
    ] = None
    pods: Annotated[_Pods | None, Wire("pods", _Pods, doc="a metric of the pods")] = None
    object: Annotated[_Object | None, Wire("object", _Object, doc="a metric of another object")] = None
    external: Annotated[_External | None, Wire("external", _External, doc="a metric from outside the cluster")] = None


HPA_SHAPES: dict[Place, type[Node] | Scalar] = {
    (HPATemplateSpec, "metrics"): AnyMetric,
    (_Name, "selector"): LabelSelector,
    (_Pods, "selector"): LabelSelector,
    (_Object, "selector"): LabelSelector,
    (_External, "metricSelector"): LabelSelector,
    (Pace, "tolerance"): _AMOUNT,
}


def metric_checks() -> Iterator[Check]:
    for kind, block in METRIC_TYPES.items():
        cel, words = f"!has(self.type) || self.type != '{kind}' || has(self.{block})", f"type {kind} needs this block"
        yield Check("metric-source", cel, words, f".{block}", "Required")


def behavior_hints() -> Iterator[tuple[Place, dict[str, Any]]]:
    """The behavior of an HPA has the API server's own schema elsewhere; here it needs words and bounds."""
    yield (Behavior, "scaleUp"), {"description": "of rising wishes"}
    yield (Behavior, "scaleDown"), {"description": "of falling wishes"}
    yield (Pace, "policies"), {"description": "how much may change in a period", "minItems": 1}
    seconds = {"description": "how long wishes are remembered", "minimum": 0, "maximum": MAX_WINDOW}
    yield (Pace, "stabilizationWindowSeconds"), seconds
    yield (Pace, "selectPolicy"), {"description": "which policy counts", "enum": list(SELECT_POLICIES)}
    not_negative = {"pattern": QUANTITY_TEXT.replace("[+-]?", r"\+?", 1), "minimum": 0}
    yield (Pace, "tolerance"), {"description": "how far a value may be off its target, as a share", **not_negative}
    yield (Limit, "type"), {"description": "what is counted", "enum": list(POLICY_TYPES)}
    yield (Limit, "value"), {"description": "how many pods, or percent", "minimum": 1}
    yield (Limit, "periodSeconds"), {"description": "in how many seconds", "minimum": 1, "maximum": MAX_PERIOD}
