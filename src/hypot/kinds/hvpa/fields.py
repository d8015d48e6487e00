"""The fields of an Hvpa: its templates, its intervals, and what holds a change back."""

from collections.abc import Mapping
from dataclasses import field as dataclass_field
from typing import Annotated, Any, ClassVar

from hypot.core import timeofday
from hypot.core.interval import HORIZONTAL_ONLY, LINEAR, LINEAR_PER_POD
from hypot.kinds.base import Kind, Ref, seconds
from hypot.kinds.hpa.fields import Behavior, Metric
from hypot.kinds.hpa.versions import V2BETA1, upgraded
from hypot.kinds.meta import ObjectMeta
from hypot.kinds.node import BOOL, INT32, MAPPING, STRING, Node, Scalar, Wire, node
from hypot.kinds.vpa.fields import AMOUNT, RESOURCE_LIST, Amount, ResourceList, ResourcePolicy, UpdatePolicy

AUTO, OFF, MAINTENANCE_WINDOW = "Auto", "Off", "MaintenanceWindow"
MODES = (AUTO, OFF, MAINTENANCE_WINDOW)


@node
class Change(Node):
    """An amount and a percentage: for `minChange` the smaller of the two counts, everywhere else the larger."""

    GO: ClassVar[str] = "ChangeParams"
    GO_PACKAGE: ClassVar[str] = "v1alpha1"

    value: Annotated[Amount | None, Wire("value", AMOUNT, doc="an amount such as 200m or 200M")] = None
    percentage: Annotated[int | None, Wire("percentage", INT32, schema={"minimum": 0}, doc="so many percent")] = None


@node
class ResourceChanges(Node):
    """A change for each resource."""

    GO: ClassVar[str] = "ResourceChangeParams"
    GO_PACKAGE: ClassVar[str] = "v1alpha1"

    cpu: Annotated[Change | None, Wire("cpu", Change, doc="of cpu")] = None
    memory: Annotated[Change | None, Wire("memory", Change, doc="of memory")] = None


@node
class MinChange(ResourceChanges):
    """What the released API has in the place of a map: a third entry, which nobody reads."""

    GO: ClassVar[str] = "ScaleParams"

    replicas: Annotated[Change | None, Wire("replicas", Change, doc="accepted, and never read")] = None


@node
class ScalePolicy(Node):
    GO: ClassVar[str] = "UpdatePolicy"
    GO_PACKAGE: ClassVar[str] = "v1alpha1"

    mode: Annotated[
        str | None,
        Wire("updateMode", STRING, schema={"enum": list(MODES)}, path="", doc="when to act; Auto if absent"),
    ] = None


@node
class ScaleType(Node):
    """What holds one direction back. In Python the mode may be given as its word, and the duration in seconds."""

    GO: ClassVar[str] = "ScaleType"
    GO_PACKAGE: ClassVar[str] = "v1alpha1"

    update_policy: Annotated[
        ScalePolicy | None, Wire("updatePolicy", ScalePolicy, doc="whether and when to act in this direction")
    ] = None
    min_change: Annotated[
        MinChange | None, Wire("minChange", MinChange, doc="totals must move this far; 200m and 200M if absent")
    ] = None
    stabilization: Annotated[
        str | None,
        Wire("stabilizationDuration", STRING, doc="no change so long after the last one, such as 3m; 0 if absent"),
    ] = None

    def __post_init__(self) -> None:
        """Take modes and durations as people write them."""
        if isinstance(self.update_policy, str):
            object.__setattr__(self, "update_policy", ScalePolicy(self.update_policy))
        waits = self.stabilization if isinstance(self.stabilization, str) else seconds(self.stabilization)
        if type(waits) in {int, float}:
            object.__setattr__(self, "stabilization", f"{waits}s")

    @property
    def mode(self) -> str:
        """The update mode that holds."""
        written = self.update_policy.mode if isinstance(self.update_policy, ScalePolicy) else None
        return written if isinstance(written, str) else AUTO

    @property
    def stabilization_seconds(self) -> float | None:
        """None where there is none, or none that can be read."""
        try:
            return timeofday.span(self.stabilization) if isinstance(self.stabilization, str) else None
        except ValueError:
            return None


@node
class Window(Node):
    """When modes of MaintenanceWindow may act: every day from the one time to the other."""

    GO: ClassVar[str] = "MaintenanceTimeWindow"
    GO_PACKAGE: ClassVar[str] = "v1alpha1"

    begin: Annotated[str | None, Wire("begin", STRING, doc="HHMMSS and a zone, such as 220000+0100")] = None
    end: Annotated[str | None, Wire("end", STRING, doc="as begin; before it means the next day")] = None

    @property
    def bounds(self) -> tuple[int, int] | None:
        """Both ends as seconds of the day in UTC; None where one cannot be read."""
        if not isinstance(self.begin, str) or not isinstance(self.end, str):
            return None
        try:
            return timeofday.parse(self.begin), timeofday.parse(self.end)
        except ValueError:
            return None


def _is_metadata(value: Any) -> bool:
    if not isinstance(value, dict):
        return False
    read = ObjectMeta.read(value)
    return read.sound() or not (any(read.misfits()) or any(read.strangers()))


# Kept as the mapping it was, and checked as what it stands for.
METADATA = Scalar("v1.ObjectMeta", MAPPING.schema, _is_metadata, "a mapping", shape=ObjectMeta)
_META_DOC = "labels and annotations of what is made; a name is ignored"
_SELECTOR_DOC = "which objects are its own, for the released controller; hypot goes by owner references"


@node
class HPATemplateSpec(Node):
    GO: ClassVar[str] = "HpaTemplateSpec"
    GO_PACKAGE: ClassVar[str] = "v1alpha1"

    min_replicas: Annotated[
        int | None,
        Wire("minReplicas", INT32, schema={"minimum": 1}, doc="where the first interval begins; 1 if absent"),
    ] = None
    max_replicas: Annotated[
        int | None, Wire("maxReplicas", INT32, schema={"minimum": 1}, doc="the most that the HPA may ask for")
    ] = None
    metrics: Annotated[
        tuple[Metric, ...] | None,
        Wire("metrics", Metric, many=True, doc="of autoscaling/v2, or of v2beta1; cpu at 80 % if absent"),
    ] = None
    behavior: Annotated[
        Behavior | None, Wire("behavior", Behavior, path="", doc="how fast the HPA's wishes may move")
    ] = None


_NO_HPA = HPATemplateSpec()


@node
class HPATemplate(Node):
    GO: ClassVar[str] = "HpaTemplate"
    GO_PACKAGE: ClassVar[str] = "v1alpha1"

    metadata: Annotated[Mapping[str, Any] | None, Wire("metadata", METADATA, path="hpa.metadata", doc=_META_DOC)] = (
        dataclass_field(default=None, hash=False)
    )
    spec: Annotated[
        HPATemplateSpec | None, Wire("spec", HPATemplateSpec, path="", doc="what the HPA is like, its target aside")
    ] = None

    @property
    def min_replicas(self) -> int | None:
        return self._written.min_replicas

    @property
    def max_replicas(self) -> int | None:
        return self._written.max_replicas

    @property
    def metrics(self) -> tuple[Metric, ...] | None:
        return self._written.metrics

    @property
    def behavior(self) -> Behavior | None:
        return self._written.behavior

    @property
    def _written(self) -> HPATemplateSpec:
        return self.spec if isinstance(self.spec, HPATemplateSpec) else _NO_HPA


@node
class HPABlock(Node):
    """The HPA among the sources of recommendations."""

    GO: ClassVar[str] = "HpaSpec"
    GO_PACKAGE: ClassVar[str] = "v1alpha1"

    deploy: Annotated[
        bool | None, Wire("deploy", BOOL, path="use_hpa", doc="whether it is a source; false if absent")
    ] = None
    selector: Annotated[Mapping[str, Any] | None, Wire("selector", MAPPING, path="hpa.selector", doc=_SELECTOR_DOC)] = (
        dataclass_field(default=None, hash=False)
    )
    template: Annotated[HPATemplate | None, Wire("template", HPATemplate, path="", doc="the HPA itself")] = None
    scale_up: Annotated[
        ScaleType | None, Wire("scaleUp", ScaleType, path="hpa.scale_up", doc="of the released controller")
    ] = None
    scale_down: Annotated[
        ScaleType | None, Wire("scaleDown", ScaleType, path="hpa.scale_down", doc="of the released controller")
    ] = None


@node
class VPATemplateSpec(Node):
    GO: ClassVar[str] = "VpaTemplateSpec"
    GO_PACKAGE: ClassVar[str] = "v1alpha1"

    update_policy: Annotated[
        UpdatePolicy | None, Wire("updatePolicy", UpdatePolicy, doc="accepted; the Hvpa itself decides when to act")
    ] = None
    resource_policy: Annotated[
        ResourcePolicy | None,
        Wire("resourcePolicy", ResourcePolicy, path="", doc="what may be done with containers"),
    ] = None


_NO_VPA = VPATemplateSpec()


@node
class VPATemplate(Node):
    GO: ClassVar[str] = "VpaTemplate"
    GO_PACKAGE: ClassVar[str] = "v1alpha1"

    metadata: Annotated[Mapping[str, Any] | None, Wire("metadata", METADATA, path="vpa.metadata", doc=_META_DOC)] = (
        dataclass_field(default=None, hash=False)
    )
    spec: Annotated[
        VPATemplateSpec | None, Wire("spec", VPATemplateSpec, path="", doc="what the VPA is like, its target aside")
    ] = None

    @property
    def update_policy(self) -> UpdatePolicy | None:
        return self._written.update_policy

    @property
    def resource_policy(self) -> ResourcePolicy | None:
        return self._written.resource_policy

    @property
    def _written(self) -> VPATemplateSpec:
        return self.spec if isinstance(self.spec, VPATemplateSpec) else _NO_VPA


@node
class VPABlock(Node):
    """The VPA among the sources of recommendations."""

    GO: ClassVar[str] = "VpaSpec"
    GO_PACKAGE: ClassVar[str] = "v1alpha1"

    deploy: Annotated[
        bool | None, Wire("deploy", BOOL, path="use_vpa", doc="whether it is a source; false if absent")
    ] = None
    selector: Annotated[Mapping[str, Any] | None, Wire("selector", MAPPING, path="vpa.selector", doc=_SELECTOR_DOC)] = (
        dataclass_field(default=None, hash=False)
    )
    template: Annotated[VPATemplate | None, Wire("template", VPATemplate, path="", doc="the VPA itself")] = None
    scale_up: Annotated[
        ScaleType | None, Wire("scaleUp", ScaleType, path="vpa.scale_up", doc="of the released controller")
    ] = None
    scale_down: Annotated[
        ScaleType | None, Wire("scaleDown", ScaleType, path="vpa.scale_down", doc="of the released controller")
    ] = None
    limits_gap: Annotated[
        MinChange | None,
        Wire("limitsRequestsGapScaleParams", MinChange, path="vpa.limits_gap", doc="of the released controller"),
    ] = None


__all__ = [
    "AUTO",
    "EXTRAPOLATIONS",
    "MAINTENANCE_WINDOW",
    "MODES",
    "MOST_REPLICAS",
    "OBJECTS",
    "OFF",
    "OWN",
    "RECOMMENDATIONS",
    "SOURCES",
    "Change",
    "HPABlock",
    "HPATemplate",
    "HPATemplateSpec",
    "HvpaSpec",
    "MinChange",
    "ResourceChanges",
    "ScalePolicy",
    "ScaleType",
    "ScalingInterval",
    "VPABlock",
    "VPATemplate",
    "VPATemplateSpec",
    "WeightInterval",
    "Window",
    "interval",
]

EXTRAPOLATIONS = (LINEAR, HORIZONTAL_ONLY, LINEAR_PER_POD)

# Whose recommendations count: hypot's own on what it observes, or those in the status of HPA and VPA objects.
RECOMMENDATIONS = "hypot.dev/recommendations"
OWN, OBJECTS = "own", "objects"
SOURCES = (OWN, OBJECTS)

# Every count has an interval of its own in the end, so their number has an end.
MOST_REPLICAS = 10_000

_OLD_METRIC_KEYS = frozenset(
    {"metricName", "metricSelector", "targetAverageUtilization", "targetAverageValue", "targetValue"}
)


@node
class ScalingInterval(Node):
    """Up to how many replicas, of at most which size each; write it with `interval`."""

    GO: ClassVar[str] = "ScalingInterval"
    GO_PACKAGE: ClassVar[str] = "v1alpha1"

    max_replicas: Annotated[
        int | None,
        Wire(
            "maxReplicas",
            INT32,
            schema={"minimum": 1, "maximum": MOST_REPLICAS},
            doc="the last count of this interval; that of the hpa block if absent in the last interval",
        ),
    ] = None
    max_resources: Annotated[
        ResourceList | None,
        Wire("maxResources", RESOURCE_LIST, doc="the largest size of one pod there; maxAllowed if absent"),
    ] = dataclass_field(default=None, hash=False)
    extrapolation: Annotated[
        str | None,
        Wire(
            "effectiveIntervalExtrapolation",
            STRING,
            schema={"enum": list(EXTRAPOLATIONS)},
            doc="how an interval of several counts is divided; linear if absent",
        ),
    ] = None


@node
class WeightInterval(Node):
    """The released controller's way to divide a change between size and count; kept and judged, never decided by."""

    GO: ClassVar[str] = "WeightBasedScalingInterval"
    GO_PACKAGE: ClassVar[str] = "v1alpha1"

    vpa_weight: Annotated[
        int | None,
        Wire(
            "vpaWeight",
            INT32,
            schema={"minimum": 0, "maximum": 100},
            doc="percent of a change of size that is applied; 0 if absent",
        ),
    ] = None
    start: Annotated[
        int | None,
        Wire("startReplicaCount", INT32, schema={"minimum": 0}, doc="from this count on; minReplicas if 0 or absent"),
    ] = None
    last: Annotated[
        int | None,
        Wire("lastReplicaCount", INT32, schema={"minimum": 0}, doc="up to this count; maxReplicas if 0 or absent"),
    ] = None


@node
class HvpaSpec(Kind):
    """The fields of an Hvpa, as read; `Hvpa` adds writing and checking."""

    API_VERSION: ClassVar[str] = "autoscaling.k8s.io/v1alpha1"
    KIND: ClassVar[str] = "Hvpa"
    FORMER_VERSIONS: ClassVar[tuple[str, ...]] = ("autoscaling.gardener.cloud/v1alpha1",)
    GO: ClassVar[str] = "HvpaSpec"
    GO_PACKAGE: ClassVar[str] = "v1alpha1"

    replicas: Annotated[
        int | None, Wire("replicas", INT32, schema={"minimum": 0}, doc="what an HPA asked for, through scale")
    ] = None
    target: Annotated[Ref | None, Wire("targetRef", Ref, doc="the workload to scale on both axes")] = None
    hpa: Annotated[
        HPABlock | None, Wire("hpa", HPABlock, path="", doc="the HPA as a source; hypot's own if absent")
    ] = None
    vpa: Annotated[
        VPABlock | None, Wire("vpa", VPABlock, path="", doc="the VPA as a source; hypot's own if absent")
    ] = None
    scale_up: Annotated[ScaleType | None, Wire("scaleUp", ScaleType, doc="what holds a rising total back")] = None
    scale_down: Annotated[ScaleType | None, Wire("scaleDown", ScaleType, doc="what holds a falling total back")] = None
    base: Annotated[
        ResourceChanges | None,
        Wire("baseResourcesPerReplica", ResourceChanges, doc="what a replica uses without any load"),
    ] = None
    limits_gap: Annotated[
        ResourceChanges | None,
        Wire(
            "limitsRequestsGapScaleParams",
            ResourceChanges,
            doc="how far limits stand above requests, in total; in proportion if absent",
        ),
    ] = None
    intervals: Annotated[
        tuple[ScalingInterval, ...] | None,
        Wire("scalingIntervals", ScalingInterval, many=True, doc="which totals are for how many replicas, in order"),
    ] = None
    overlap: Annotated[
        ResourceChanges | None,
        Wire("scalingIntervalsOverlap", ResourceChanges, doc="how far below its interval a count is kept going down"),
    ] = None
    window: Annotated[
        Window | None, Wire("maintenanceTimeWindow", Window, doc="when modes of MaintenanceWindow may act")
    ] = None
    weights: Annotated[
        tuple[WeightInterval, ...] | None,
        Wire(
            "weightBasedScalingIntervals",
            WeightInterval,
            many=True,
            doc="the released controller's form; kept and judged, never decided by",
        ),
    ] = None

    @property
    def uses_hpa(self) -> bool:
        """Whether counts are recommended: by hypot's own recommender where nothing else is said."""
        return self.hpa is None or getattr(self.hpa, "deploy", None) is True

    @property
    def uses_vpa(self) -> bool:
        """Whether sizes are recommended: by hypot's own recommender where nothing else is said."""
        return self.vpa is None or getattr(self.vpa, "deploy", None) is True

    @property
    def hpa_template(self) -> HPATemplate | None:
        found = self.hpa.template if isinstance(self.hpa, HPABlock) else None
        return found if isinstance(found, HPATemplate) else None

    @property
    def vpa_template(self) -> VPATemplate | None:
        found = self.vpa.template if isinstance(self.vpa, VPABlock) else None
        return found if isinstance(found, VPATemplate) else None

    @property
    def min_replicas(self) -> int:
        """Where the first interval begins; no interval is for nobody."""
        template = self.hpa_template
        written = template.min_replicas if template is not None else None
        return max(written, 1) if isinstance(written, int) else 1

    @property
    def max_replicas(self) -> int | None:
        """The most that the HPA may ask for; the last interval is what bounds the Hvpa."""
        template = self.hpa_template
        written = template.max_replicas if template is not None else None
        return written if isinstance(written, int) else None

    @property
    def container_policies(self) -> ResourcePolicy | None:
        template = self.vpa_template
        written = template.resource_policy if template is not None else None
        return written if isinstance(written, ResourcePolicy) else None

    @property
    def is_weight_based(self) -> bool:
        """Whether this is a manifest of the released controller, which had weights in the place of intervals."""
        return bool(self.weights) and not self.intervals

    @property
    def recommendations(self) -> str:
        """Whose recommendations count."""
        written = self.annotations.get(RECOMMENDATIONS)
        return written if written in SOURCES else OWN

    @property
    def knob_annotations(self) -> Mapping[str, str]:
        """The knobs of the size recommender stand here."""
        template = self.vpa_template
        metadata = template.metadata if template is not None else None
        found = metadata.get("annotations") if isinstance(metadata, dict) else None
        return found if isinstance(found, dict) else {}

    @classmethod
    def in_current_version(cls, data: Mapping[str, Any]) -> Mapping[str, Any]:
        """Manifests of the released controller, which wrote metrics as autoscaling/v2beta1 did."""
        return _changed_at(data, ("spec", "hpa", "template", "spec", "metrics"))


def _changed_at(data: Mapping[str, Any], path: tuple[str, ...]) -> Mapping[str, Any]:
    """The same mapping with current metrics at this path; nothing is copied where nothing is old."""
    inner = data.get(path[0])
    if len(path) > 1:
        changed = _changed_at(inner, path[1:]) if isinstance(inner, dict) else inner
    else:
        changed = [_current(metric) for metric in inner] if isinstance(inner, list) else inner
        changed = inner if changed == inner else changed
    return data if changed is inner else {**data, path[0]: changed}


def _current(metric: Any) -> Any:
    blocks = metric.values() if isinstance(metric, dict) else ()
    if not any(isinstance(block, dict) and not _OLD_METRIC_KEYS.isdisjoint(block) for block in blocks):
        return metric
    return upgraded({"apiVersion": V2BETA1, "spec": {"metrics": [metric]}})["spec"]["metrics"][0]


def interval(
    max_replicas: int | None = None,
    *,
    cpu: Amount | None = None,
    memory: Amount | None = None,
    extrapolation: str | None = None,
) -> ScalingInterval:
    """Up to so many replicas, each of at most this size."""
    sizes = {name: amount for name, amount in (("cpu", cpu), ("memory", memory)) if amount is not None}
    return ScalingInterval(max_replicas, sizes or None, extrapolation)
