"""The parts of a HorizontalPodAutoscaler, and short functions to write them."""

from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self, overload

from hypot.kinds import identity
from hypot.kinds.authored.given_target import TargetLike, given_target, unknown_kind
from hypot.kinds.authored.keywords import authored, exactly_one
from hypot.kinds.base import Duration, InvalidAutoscaler, Kind, Ref, seconds
from hypot.kinds.floor import Floor
from hypot.kinds.identity import AUTOSCALING_V1, AUTOSCALING_V2BETA1
from hypot.kinds.meta import MetricName
from hypot.kinds.node import INT32, QUANTITY, STRING, Node, Wire, node, replaced, wire
from hypot.kinds.problem import Problem
from hypot.kinds.values.plain import GivenAmount, plain

if TYPE_CHECKING:
    from hypot.kinds.hpa.status import HPAStatus

Amount = str | int | float
SelectPolicy = Literal["Max", "Min", "Disabled"]


@node
class Target(Node):
    """The target of a metric. The field that is set decides; the controller reads `type` for Object metrics only."""

    GO: ClassVar[str] = "v2.MetricTarget"

    type: str | None = wire("type", STRING, "Utilization, Value or AverageValue")
    value: Amount | None = wire("value", QUANTITY, "in total")
    average: Amount | None = wire("averageValue", QUANTITY, "per pod")
    utilization: int | None = wire("averageUtilization", INT32, "percent of the request")


# Of autoscaling/v1.
_PERCENTAGE_BEFORE = (
    "write it as a metric: {type: Resource, resource: {name: cpu, target: {type: Utilization, averageUtilization: 70}}}"
)
_METRIC_BEFORE: dict[str, tuple[str, str]] = {
    "metricName": ("metric", "write it as metric.name"),
    "metricSelector": ("metric", "write it as metric.selector"),
}
# The targets of autoscaling/v2beta1, which were next to the name.
_TARGET_BEFORE: dict[str, tuple[str, str]] = {
    "targetAverageUtilization": ("target", "write it as target.averageUtilization, with target.type: Utilization"),
    "targetAverageValue": ("target", "write it as target.averageValue, with target.type: AverageValue"),
    "targetValue": ("target", "write it as target.value, with target.type: Value"),
}


@node
class ResourceSource(Node):
    GO: ClassVar[str] = "v2.ResourceMetricSource"
    MOVED: ClassVar[Mapping[str, tuple[str, str]]] = _TARGET_BEFORE

    name: str | None = wire("name", STRING, "cpu or memory")
    target: Target | None = wire("target", Target, "the target value", path="")


@node
class ContainerResourceSource(Node):
    GO: ClassVar[str] = "v2.ContainerResourceMetricSource"
    MOVED: ClassVar[Mapping[str, tuple[str, str]]] = _TARGET_BEFORE

    name: str | None = wire("name", STRING)
    container: str | None = wire("container", STRING)
    target: Target | None = wire("target", Target, "the target value", path="")


@node
class PodsSource(Node):
    GO: ClassVar[str] = "v2.PodsMetricSource"
    MOVED: ClassVar[Mapping[str, tuple[str, str]]] = _METRIC_BEFORE | _TARGET_BEFORE

    metric: MetricName | None = wire("metric", MetricName, "the metric series", path="")
    target: Target | None = wire("target", Target, "the target value", path="")


@node
class ObjectSource(Node):
    GO: ClassVar[str] = "v2.ObjectMetricSource"
    MOVED: ClassVar[Mapping[str, tuple[str, str]]] = _METRIC_BEFORE | _TARGET_BEFORE

    described: Ref | None = wire("describedObject", Ref, path="of")
    metric: MetricName | None = wire("metric", MetricName, "the metric series", path="")
    target: Target | None = wire("target", Target, "the target value", path="")


@node
class ExternalSource(Node):
    GO: ClassVar[str] = "v2.ExternalMetricSource"
    MOVED: ClassVar[Mapping[str, tuple[str, str]]] = _METRIC_BEFORE | _TARGET_BEFORE

    metric: MetricName | None = wire("metric", MetricName, "the metric series", path="")
    target: Target | None = wire("target", Target, "the target value", path="")


@node
class Metric(Node):
    """One metric: a type, and the source of that type. Write it with `cpu`, `memory`, `pods`, `on` or `external`.

    >>> metrics: list[Metric] = [cpu(utilization=70)]
    >>> metrics[0].type
    'Resource'
    """

    GO: ClassVar[str] = "v2.MetricSpec"
    BUILT_IN: ClassVar[bool] = True

    type: str | None = wire("type", STRING)
    object: ObjectSource | None = wire("object", ObjectSource, path="")
    external: ExternalSource | None = wire("external", ExternalSource, path="")
    pods: PodsSource | None = wire("pods", PodsSource, path="")
    resource: ResourceSource | None = wire("resource", ResourceSource, path="")
    container_resource: ContainerResourceSource | None = wire("containerResource", ContainerResourceSource, path="")


# hypot reads this many metrics of an object. Kubernetes has no limit, and no HPA needs as many.
MOST_METRICS = 100


_OF_RESOURCE = {"value": 'a resource has a target per pod: write utilization=70 or average="500m"'}
_OF_PODS = {
    "utilization": "pods have no request for this metric: write average=100, the value per pod",
    "value": "the target is the value per pod: write average=100, or use `on` or `external` for a total",
    "container": "only cpu and memory can be measured for one container",
}
_OUTSIDE = {
    "utilization": "nothing is requested of this metric: write value=1000 in total, or average=100 per pod",
    "container": "only cpu and memory can be measured for one container",
}
_LIMITS = {
    "max_pods": "Kubernetes calls it Pods: write pods=4",
    "max_unavailable": "there is no such policy; write pods=4 for how many pods are removed in a period",
    "disabled": "it is no policy, but a way to select one: write scale_down=FROZEN",
    "type": "the keyword is the type: write pods=4 or percent=100",
    "value": "write pods=4 or percent=100",
    "period": 'write per="60s"',
    "period_seconds": 'write per="60s"',
}
_RULES = {
    "policies": "write limits=[limit(pods=4), limit(percent=100)]",
    "forbidden_window": "it is a keyword of WatermarkRules(); here write window, for how long to look back",
}


@node
class Limit(Node):
    """How much may change in a period. Write it with `limit`."""

    GO: ClassVar[str] = "v2.HPAScalingPolicy"
    BUILT_IN: ClassVar[bool] = True

    type: str | None = wire("type", STRING)
    value: int | None = wire("value", INT32)
    period: int | None = wire("periodSeconds", INT32, path="per")

    def written_as(self, name: str, w: Wire) -> str:
        """The keyword is the type: `pods` or `percent`."""
        return {"Pods": "pods", "Percent": "percent"}.get(str(self.type), name) if name == "value" else w.path or name


@node
class ScalingRules(Node):
    """How fast to scale in one direction: limits, which of them applies, a stabilization window, a tolerance.

    >>> slowly = ScalingRules([limit(percent=10, per="1m")], window="10m", tolerance="0.05")
    >>> HPA("deployment/web", max_replicas=10, scale_up=slowly, scale_down=FROZEN).scale_up.window
    600
    """

    GO: ClassVar[str] = "v2.HPAScalingRules"

    limits: tuple[Limit, ...] | None = wire("policies", Limit, many=True)
    window: int | None = wire("stabilizationWindowSeconds", INT32)
    select: SelectPolicy | None = wire("selectPolicy", STRING)
    tolerance: Amount | None = wire("tolerance", QUANTITY)

    @authored("ScalingRules()", _RULES, "rules")
    def __init__(
        self,
        limits: Iterable[Limit] | Limit | None = None,
        window: Duration | None = None,
        select: SelectPolicy | None = None,
        tolerance: GivenAmount | None = None,
        *,
        extra: Mapping[str, Any] | None = None,
    ) -> None:
        """`ScalingRules([limit(pods=4, per="1m")], window="5m")`."""
        self.set_up(extra, limits=limits, window=seconds(window), select=select, tolerance=tolerance)


FROZEN = ScalingRules(select="Disabled")


@node
class Behavior(Node):
    GO: ClassVar[str] = "v2.HorizontalPodAutoscalerBehavior"

    scale_up: ScalingRules | None = wire("scaleUp", ScalingRules)
    scale_down: ScalingRules | None = wire("scaleDown", ScalingRules)


@node
class HPASpec(Kind):
    """The fields of a HorizontalPodAutoscaler, as read; `HPA` adds writing and checking."""

    API_VERSION: ClassVar[str] = identity.HPA.api_version
    KIND: ClassVar[str] = identity.HPA.kind
    FORMER_VERSIONS: ClassVar[tuple[str, ...]] = identity.HPA.former_versions
    BUILT_IN: ClassVar[bool] = True
    GO: ClassVar[str] = "v2.HorizontalPodAutoscalerSpec"
    MOVED: ClassVar[Mapping[str, tuple[str, str]]] = {"targetCPUUtilizationPercentage": ("metrics", _PERCENTAGE_BEFORE)}

    target: Ref | None = wire("scaleTargetRef", Ref)
    min_replicas: int | None = wire("minReplicas", INT32)
    max_replicas: int | None = wire("maxReplicas", INT32)
    metrics: tuple[Metric, ...] | None = wire("metrics", Metric, many=True)
    behavior: Behavior | None = wire("behavior", Behavior, path="")

    def floored(self, floor: Floor) -> Self:
        return replaced(self, floor=floor, min_replicas=floor.minimum(self.min_replicas, self.max_replicas))

    @property
    def scale_up(self) -> ScalingRules | None:
        return self.behavior.scale_up if isinstance(self.behavior, Behavior) else None

    @property
    def scale_down(self) -> ScalingRules | None:
        return self.behavior.scale_down if isinstance(self.behavior, Behavior) else None

    # Few manifests have a status, or an old version.
    @classmethod
    def status_class(cls) -> "type[HPAStatus]":
        from hypot.kinds.hpa.status import HPAStatus  # noqa: PLC0415

        return HPAStatus

    @property
    def reported(self) -> "HPAStatus":
        """The status of a live object; empty if there is none."""
        of = self.status_class()
        return of.read(self.status).readable() if isinstance(self.status, dict) else of()

    @classmethod
    def in_current_version(cls, data: Mapping[str, Any]) -> Mapping[str, Any]:
        """Read manifests of any version that Kubernetes ever served."""
        if data.get("apiVersion", cls.API_VERSION) == cls.API_VERSION:
            return data
        from hypot.kinds.hpa.versions import upgraded  # noqa: PLC0415

        return upgraded(data)

    def unreadable_status(self) -> Iterator[Problem]:
        """None in a v2beta1, which had other fields."""
        return iter(()) if self.read_from == AUTOSCALING_V2BETA1 else Kind.unreadable_status(self)

    @classmethod
    def misread_in(cls, data: Mapping[str, Any]) -> tuple[Problem, ...]:
        """The problems with the fields of autoscaling/v1. The betas are no longer served."""
        if data.get("apiVersion") != AUTOSCALING_V1:
            return ()
        from hypot.kinds.hpa.versions import misread  # noqa: PLC0415

        return tuple(misread(data))


@overload
def cpu(*, utilization: int, container: str | None = None) -> Metric: ...
@overload
def cpu(*, average: GivenAmount, container: str | None = None) -> Metric: ...
@authored("cpu()", _OF_RESOURCE, "metric")
def cpu(*, utilization: int | None = None, average: GivenAmount | None = None, container: str | None = None) -> Metric:
    """Hold cpu at a percentage of its request, or at an amount per pod.

    >>> cpu(utilization=70, container="app").type
    'ContainerResource'
    """
    return _resource("cpu", utilization, average, container)


@overload
def memory(*, utilization: int, container: str | None = None) -> Metric: ...
@overload
def memory(*, average: GivenAmount, container: str | None = None) -> Metric: ...
@authored("memory()", _OF_RESOURCE, "metric")
def memory(
    *, utilization: int | None = None, average: GivenAmount | None = None, container: str | None = None
) -> Metric:
    """Hold memory at a percentage of its request, or at an amount per pod.

    >>> memory(average="512Mi").resource.target.average
    '512Mi'
    """
    return _resource("memory", utilization, average, container)


@authored("pods()", _OF_PODS, "metric")
def pods(name: str, *, average: GivenAmount, labels: Mapping[str, str] | None = None) -> Metric:
    """Hold a custom metric of the pods at an average.

    >>> pods("requests_per_second", average=100).type
    'Pods'
    """
    return Metric("Pods", pods=PodsSource(_metric_name(name, labels), _target(average=average)))


@overload
def on(of: TargetLike, name: str, *, value: GivenAmount, labels: Mapping[str, str] | None = None) -> Metric: ...
@overload
def on(of: TargetLike, name: str, *, average: GivenAmount, labels: Mapping[str, str] | None = None) -> Metric: ...
@authored("on()", _OUTSIDE, "metric")
def on(
    of: TargetLike,
    name: str,
    *,
    value: GivenAmount | None = None,
    average: GivenAmount | None = None,
    labels: Mapping[str, str] | None = None,
) -> Metric:
    """Hold a metric of another object, in total or per pod.

    >>> on("ingress/shop", "hits_per_second", value=1000).object.described.kind
    'Ingress'
    """
    exactly_one("on()", value=value, average=average)
    described = given_target(of).ref
    if unknown := list(unknown_kind(described, "of")):
        raise InvalidAutoscaler("on()", unknown)
    source = ObjectSource(described, _metric_name(name, labels), _target(value=value, average=average))
    return Metric("Object", object=source)


@overload
def external(name: str, *, value: GivenAmount, labels: Mapping[str, str] | None = None) -> Metric: ...
@overload
def external(name: str, *, average: GivenAmount, labels: Mapping[str, str] | None = None) -> Metric: ...
@authored("external()", _OUTSIDE, "metric")
def external(
    name: str,
    *,
    value: GivenAmount | None = None,
    average: GivenAmount | None = None,
    labels: Mapping[str, str] | None = None,
) -> Metric:
    """Hold a metric from outside the cluster, in total or per pod.

    >>> external("queue_depth", average=30, labels={"queue": "mail"}).type
    'External'
    """
    exactly_one("external()", value=value, average=average)
    source = ExternalSource(_metric_name(name, labels), _target(value=value, average=average))
    return Metric("External", external=source)


@overload
def limit(*, pods: int, per: Duration = 15) -> Limit: ...
@overload
def limit(*, percent: int, per: Duration = 15) -> Limit: ...
@authored("limit()", _LIMITS, "rules")
def limit(*, pods: int | None = None, percent: int | None = None, per: Duration = 15) -> Limit:
    """At most this many pods, or this percentage, per period.

    >>> limit(pods=4, per="1m").period
    60
    """
    exactly_one("limit()", pods=pods, percent=percent)
    kind = "Pods" if percent is None else "Percent"
    return Limit(kind, pods if percent is None else percent, seconds(per))


def _resource(name: str, utilization: int | None, average: GivenAmount | None, container: str | None) -> Metric:
    exactly_one(f"{name}()", utilization=utilization, average=average)
    target = _target(utilization=utilization, average=average)
    if container is None:
        return Metric("Resource", resource=ResourceSource(name, target))
    return Metric("ContainerResource", container_resource=ContainerResourceSource(name, container, target))


def _target(
    *, value: GivenAmount | None = None, average: GivenAmount | None = None, utilization: int | None = None
) -> Target:
    kind = "Utilization" if utilization is not None else "AverageValue" if average is not None else "Value"
    return Target(kind, plain(value), plain(average), utilization)


def _metric_name(name: str, labels: Mapping[str, str] | None) -> MetricName:
    return MetricName(name, {"matchLabels": plain(labels)} if labels else None)
