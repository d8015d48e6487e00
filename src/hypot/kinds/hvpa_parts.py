"""The parts of an Hvpa: how much in total, how many pods of what size, and what holds a change back."""

from collections.abc import Mapping
from dataclasses import field as dataclass_field
from typing import Annotated, Any, ClassVar

from hypot.core.interval import HORIZONTAL_ONLY, LINEAR, LINEAR_PER_POD
from hypot.kinds.base import Kind, Ref
from hypot.kinds.hpa_versions import V2BETA1, upgraded
from hypot.kinds.hvpa_blocks import HPABlock, HPATemplate, HPATemplateSpec, VPABlock, VPATemplate, VPATemplateSpec
from hypot.kinds.hvpa_scale import (
    AUTO,
    MAINTENANCE_WINDOW,
    MODES,
    OFF,
    Change,
    MinChange,
    ResourceChanges,
    ScalePolicy,
    ScaleType,
    Window,
)
from hypot.kinds.node import INT32, STRING, Node, Wire, node
from hypot.kinds.vpa_parts import RESOURCE_LIST, Amount, ResourceList, ResourcePolicy

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
    def vpa_annotations(self) -> Mapping[str, str]:
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
