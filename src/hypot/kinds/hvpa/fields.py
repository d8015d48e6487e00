"""The fields of an Hvpa: its templates, its intervals, and the conditions that hold a change back."""

from collections.abc import Mapping
from typing import Any, ClassVar, Literal, Self, cast

from hypot.core import instant, timeofday
from hypot.core.axes.interval import HORIZONTAL_ONLY, LINEAR, LINEAR_PER_POD
from hypot.core.regex import regex
from hypot.kinds import identity
from hypot.kinds.authored.keywords import authored
from hypot.kinds.base import Duration, Kind, Ref, seconds
from hypot.kinds.hpa.fields import Behavior, Metric
from hypot.kinds.hpa.versions import upgraded
from hypot.kinds.identity import AUTOSCALING_V2BETA1
from hypot.kinds.meta import ObjectMeta
from hypot.kinds.node import BOOL, INT32, MAPPING, STRING, Node, Scalar, node, wire
from hypot.kinds.values.plain import GivenAmount, plain
from hypot.kinds.vpa.fields import AMOUNT, RESOURCE_LIST, Amount, ResourceList, ResourcePolicy, UpdatePolicy

AUTO, OFF, MAINTENANCE_WINDOW = "Auto", "Off", "MaintenanceWindow"
MODES = (AUTO, OFF, MAINTENANCE_WINDOW)
ScaleMode = Literal["Auto", "Off", "MaintenanceWindow"]
# The least change of a total that is applied, if the object does not say it.
LEAST_CHANGE: Mapping[str, str] = {"cpu": "200m", "memory": "200M"}


_SCALE_TYPE = {
    "update_policy": 'write mode="Auto"',
    "limits": "it is a keyword of ScalingRules(): write hpa_scale_up or hpa_scale_down of the Hvpa",
    "window": "write stabilization, for how long to wait; ScalingRules() has a window",
}


@node
class Change(Node):
    """An amount and a percentage: for `minChange` the smaller of the two applies, everywhere else the larger.

    >>> Change(value="200m", percentage=30).percentage
    30
    """

    GO: ClassVar[str] = "v1alpha1.ChangeParams"

    value: Amount | None = wire("value", AMOUNT, "an amount such as 200m or 200M")
    percentage: int | None = wire("percentage", INT32, "a percentage", schema={"minimum": 0})


@node
class ResourceChanges(Node):
    """A change for each resource.

    >>> ResourceChanges(cpu=Change(percentage=10)) == ResourceChanges.of({"cpu": "10%"})
    True
    """

    GO: ClassVar[str] = "v1alpha1.ResourceChangeParams"

    cpu: Change | None = wire("cpu", Change, "of cpu")
    memory: Change | None = wire("memory", Change, "of memory")

    @classmethod
    def of(cls, written: "ResourceChangesLike | None") -> Self | None:
        """From `{"cpu": "30%", "memory": "200M"}`: a percentage or an amount, or a `Change` with both."""
        if written is None or isinstance(written, cls):
            return written
        given: Any = written.write() if isinstance(written, ResourceChanges) else plain(written)
        if not isinstance(given, dict):
            return cast("Self", given)  # for the rules
        return cls.read({resource: _change(each) for resource, each in given.items()})


def _change(written: Any) -> Any:
    """A change in the form of a manifest."""
    if isinstance(written, Change):
        return written.write()
    if isinstance(written, str) and written.endswith("%"):
        share = written.removesuffix("%").strip()
        return {"percentage": int(share) if _SHARE.fullmatch(share) else written}
    return {"value": written} if isinstance(written, str | int) else written


_SHARE = regex(r"[0-9]{1,9}")
# Also `{"cpu": "30%"}`, a percentage or an amount of each resource.
ResourceChangesLike = ResourceChanges | Mapping[str, Change | GivenAmount]


@node
class MinChange(ResourceChanges):
    """The released API's form of the same: it has a third entry, which is never read."""

    GO: ClassVar[str] = "v1alpha1.ScaleParams"

    replicas: Change | None = wire("replicas", Change, "accepted but ignored")


@node
class ScalePolicy(Node):
    GO: ClassVar[str] = "v1alpha1.UpdatePolicy"

    mode: str | None = wire("updateMode", STRING, "when to act; Auto if absent", schema={"enum": list(MODES)})


@node
class ScaleType(Node):
    """What holds one direction back.

    >>> ScaleType("Auto", min_change={"cpu": "10%"}, stabilization="5m").mode
    'Auto'
    """

    GO: ClassVar[str] = "v1alpha1.ScaleType"

    update_policy: ScalePolicy | None = wire(
        "updatePolicy", ScalePolicy, "whether and when to act in this direction", path=""
    )
    min_change: MinChange | None = wire(
        "minChange", MinChange, "the least change of a total that is applied; 200m and 200M if absent"
    )
    stabilization: str | None = wire(
        "stabilizationDuration", STRING, "how long to wait after the last change, such as 3m; 0 if absent"
    )

    @authored("ScaleType()", _SCALE_TYPE, "rules")
    def __init__(
        self,
        mode: ScaleMode | ScalePolicy | None = None,
        min_change: ResourceChangesLike | None = None,
        stabilization: Duration | None = None,
        *,
        extra: Mapping[str, Any] | None = None,
    ) -> None:
        """`ScaleType("Auto", min_change={"cpu": "10%"}, stabilization="5m")`."""
        self.set_up(
            extra,
            update_policy=mode if mode is None or isinstance(mode, ScalePolicy) else ScalePolicy(mode),
            min_change=MinChange.of(min_change),
            stabilization=go_duration(stabilization),
        )

    @property
    def mode(self) -> str:
        """The effective update mode."""
        written = self.update_policy.mode if isinstance(self.update_policy, ScalePolicy) else None
        return written if isinstance(written, str) else AUTO

    @property
    def stabilization_seconds(self) -> float | None:
        """The duration in seconds, or None if it is absent or invalid."""
        try:
            return instant.span(self.stabilization) if isinstance(self.stabilization, str) else None
        except ValueError:
            return None


def go_duration(given: Duration | None) -> Any:
    """Text such as 3m; also from seconds or a timedelta."""
    length = plain(given) if isinstance(given, str) else plain(seconds(given))
    return f"{length}s" if type(length) in {int, float} else length


@node
class MaintenanceWindow(Node):
    """When directions with the mode MaintenanceWindow may act: every day from `begin` to `end`.

    >>> MaintenanceWindow("220000+0100", "230000+0100").bounds
    (75600, 79200)
    """

    GO: ClassVar[str] = "v1alpha1.MaintenanceTimeWindow"

    begin: str | None = wire("begin", STRING, "HHMMSS and a zone offset, such as 220000+0100")
    end: str | None = wire("end", STRING, "in the form of begin; if earlier than begin, it is on the next day")

    @property
    def bounds(self) -> tuple[int, int] | None:
        """Both ends as seconds of the day in UTC, or None if either is invalid."""
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


# Kept as the mapping that was read, but checked as ObjectMeta.
METADATA = Scalar("v1.ObjectMeta", MAPPING.schema, _is_metadata, "a mapping", shape=ObjectMeta)
_META_DOC = "labels and annotations of the created object; a name is ignored"
_SELECTOR_DOC = "which objects belong to it, for the released controller; hypot uses owner references"


@node
class HPATemplateSpec(Node):
    GO: ClassVar[str] = "v1alpha1.HpaTemplateSpec"

    min_replicas: int | None = wire(
        "minReplicas", INT32, "the first count of the first interval; 1 if absent", schema={"minimum": 1}
    )
    max_replicas: int | None = wire(
        "maxReplicas", INT32, "the highest count that the HPA may propose", schema={"minimum": 1}
    )
    metrics: tuple[Metric, ...] | None = wire(
        "metrics", Metric, "of autoscaling/v2, or of v2beta1; cpu at 80 % if absent", many=True
    )
    behavior: Behavior | None = wire("behavior", Behavior, "how fast the HPA's proposal may change", path="")


_NO_HPA = HPATemplateSpec()


@node
class HPATemplate(Node):
    GO: ClassVar[str] = "v1alpha1.HpaTemplate"

    metadata: Mapping[str, Any] | None = wire("metadata", METADATA, _META_DOC, path="hpa.metadata")
    spec: HPATemplateSpec | None = wire("spec", HPATemplateSpec, "the spec of the HPA, without its target", path="")


@node
class HPABlock(Node):
    """The HPA as a source of recommendations."""

    GO: ClassVar[str] = "v1alpha1.HpaSpec"

    deploy: bool | None = wire("deploy", BOOL, "whether it is a source; false if absent", path="use_hpa")
    selector: Mapping[str, Any] | None = wire("selector", MAPPING, _SELECTOR_DOC, path="hpa.selector")
    template: HPATemplate | None = wire("template", HPATemplate, "the HPA itself", path="")
    scale_up: ScaleType | None = wire("scaleUp", ScaleType, "for the released controller only", path="hpa.scale_up")
    scale_down: ScaleType | None = wire(
        "scaleDown", ScaleType, "for the released controller only", path="hpa.scale_down"
    )


@node
class VPATemplateSpec(Node):
    GO: ClassVar[str] = "v1alpha1.VpaTemplateSpec"

    update_policy: UpdatePolicy | None = wire(
        "updatePolicy", UpdatePolicy, "accepted; the Hvpa itself decides when to act"
    )
    resource_policy: ResourcePolicy | None = wire(
        "resourcePolicy", ResourcePolicy, "which containers are sized, and within which bounds", path=""
    )


_NO_VPA = VPATemplateSpec()


@node
class VPATemplate(Node):
    GO: ClassVar[str] = "v1alpha1.VpaTemplate"

    metadata: Mapping[str, Any] | None = wire("metadata", METADATA, _META_DOC, path="vpa.metadata")
    spec: VPATemplateSpec | None = wire("spec", VPATemplateSpec, "the spec of the VPA, without its target", path="")


@node
class VPABlock(Node):
    """The VPA as a source of recommendations."""

    GO: ClassVar[str] = "v1alpha1.VpaSpec"

    deploy: bool | None = wire("deploy", BOOL, "whether it is a source; false if absent", path="use_vpa")
    selector: Mapping[str, Any] | None = wire("selector", MAPPING, _SELECTOR_DOC, path="vpa.selector")
    template: VPATemplate | None = wire("template", VPATemplate, "the VPA itself", path="")
    scale_up: ScaleType | None = wire("scaleUp", ScaleType, "for the released controller only", path="vpa.scale_up")
    scale_down: ScaleType | None = wire(
        "scaleDown", ScaleType, "for the released controller only", path="vpa.scale_down"
    )
    limits_gap: MinChange | None = wire(
        "limitsRequestsGapScaleParams", MinChange, "for the released controller only", path="vpa.limits_gap"
    )


Extrapolation = Literal["linear", "horizontalOnly", "linearPerPod"]
EXTRAPOLATIONS = (LINEAR, HORIZONTAL_ONLY, LINEAR_PER_POD)

# Which recommendations are used: hypot's own from what it observes, or those in the status of HPA and VPA objects.
RECOMMENDATIONS = "hypot.dev/recommendations"
OWN, OBJECTS = "own", "objects"
SOURCES = (OWN, OBJECTS)

# Every count gets its own effective interval, so the number of counts must be bounded.
MOST_REPLICAS = 10_000

_OLD_METRIC_KEYS = frozenset(
    {"metricName", "metricSelector", "targetAverageUtilization", "targetAverageValue", "targetValue"}
)


@node
class ScalingInterval(Node):
    """Up to how many replicas, and the largest size of each. Write it with `interval`."""

    GO: ClassVar[str] = "v1alpha1.ScalingInterval"

    max_replicas: int | None = wire(
        "maxReplicas",
        INT32,
        "the last count of this interval; in the last interval the hpa block's maxReplicas if absent",
        schema={"minimum": 1, "maximum": MOST_REPLICAS},
    )
    max_resources: ResourceList | None = wire(
        "maxResources", RESOURCE_LIST, "the largest size of one pod in this interval; maxAllowed if absent"
    )
    extrapolation: str | None = wire(
        "effectiveIntervalExtrapolation",
        STRING,
        "how an interval that spans several counts is divided; linear if absent",
        schema={"enum": list(EXTRAPOLATIONS)},
    )


@node
class WeightInterval(Node):
    """How the released controller divides a change between size and count. Kept and validated, but never used."""

    GO: ClassVar[str] = "v1alpha1.WeightBasedScalingInterval"

    vpa_weight: int | None = wire(
        "vpaWeight",
        INT32,
        "which percentage of a change of size is applied; 0 if absent",
        schema={"minimum": 0, "maximum": 100},
    )
    start: int | None = wire(
        "startReplicaCount", INT32, "from this count on; minReplicas if 0 or absent", schema={"minimum": 0}
    )
    last: int | None = wire(
        "lastReplicaCount", INT32, "up to this count; maxReplicas if 0 or absent", schema={"minimum": 0}
    )


@node
class HvpaSpec(Kind):
    """The fields of an Hvpa, as read; `Hvpa` adds writing and checking."""

    API_VERSION: ClassVar[str] = identity.HVPA.api_version
    KIND: ClassVar[str] = identity.HVPA.kind
    FORMER_VERSIONS: ClassVar[tuple[str, ...]] = identity.HVPA.former_versions
    GO: ClassVar[str] = "v1alpha1.HvpaSpec"

    replicas: int | None = wire(
        "replicas", INT32, "the count that an HPA set through the scale subresource", schema={"minimum": 0}
    )
    target: Ref | None = wire("targetRef", Ref, "the workload to scale on both axes")
    hpa: HPABlock | None = wire("hpa", HPABlock, "the HPA as a source; hypot's own if absent", path="")
    vpa: VPABlock | None = wire("vpa", VPABlock, "the VPA as a source; hypot's own if absent", path="")
    scale_up: ScaleType | None = wire("scaleUp", ScaleType, "what holds scale-up back")
    scale_down: ScaleType | None = wire("scaleDown", ScaleType, "what holds scale-down back")
    base: ResourceChanges | None = wire(
        "baseResourcesPerReplica", ResourceChanges, "what a replica uses without any load"
    )
    limits_gap: ResourceChanges | None = wire(
        "limitsRequestsGapScaleParams",
        ResourceChanges,
        "how far limits are above requests, in total; in proportion if absent",
    )
    intervals: tuple[ScalingInterval, ...] | None = wire(
        "scalingIntervals", ScalingInterval, "the replica counts for each level of total demand, in order", many=True
    )
    overlap: ResourceChanges | None = wire(
        "scalingIntervalsOverlap", ResourceChanges, "how far below its interval a count is kept while scaling down"
    )
    window: MaintenanceWindow | None = wire(
        "maintenanceTimeWindow", MaintenanceWindow, "when directions with the mode MaintenanceWindow may act"
    )
    weights: tuple[WeightInterval, ...] | None = wire(
        "weightBasedScalingIntervals",
        WeightInterval,
        "the released controller's form; kept and validated, but never used",
        many=True,
    )

    @property
    def uses_hpa(self) -> bool:
        """Whether counts are recommended. An absent block means hypot's own recommender."""
        return self.hpa is None or getattr(self.hpa, "deploy", None) is True

    @property
    def uses_vpa(self) -> bool:
        """Whether sizes are recommended. An absent block means hypot's own recommender."""
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
    def hpa_spec(self) -> HPATemplateSpec:
        """The spec of the HPA template; empty if there is none."""
        found = self.hpa_template.spec if self.hpa_template is not None else None
        return found if isinstance(found, HPATemplateSpec) else _NO_HPA

    @property
    def vpa_spec(self) -> VPATemplateSpec:
        """The spec of the VPA template; empty if there is none."""
        found = self.vpa_template.spec if self.vpa_template is not None else None
        return found if isinstance(found, VPATemplateSpec) else _NO_VPA

    @property
    def min_replicas(self) -> int:
        """The first count of the first interval, at least 1."""
        written = self.hpa_spec.min_replicas
        return max(written if isinstance(written, int) else 1, self.floor.replicas, 1)

    @property
    def max_replicas(self) -> int | None:
        """The highest count that the HPA may propose. The last interval bounds the Hvpa."""
        written = self.hpa_spec.max_replicas
        return written if isinstance(written, int) else None

    @property
    def container_policies(self) -> ResourcePolicy | None:
        written = self.vpa_spec.resource_policy
        return written if isinstance(written, ResourcePolicy) else None

    @property
    def is_weight_based(self) -> bool:
        """Whether this is a manifest of the released controller, with weights instead of intervals."""
        return bool(self.weights) and not self.intervals

    @property
    def recommendations(self) -> str:
        """Which recommendations are used."""
        written = self.annotations.get(RECOMMENDATIONS)
        return written if written in SOURCES else OWN

    @property
    def knob_annotations(self) -> Mapping[str, str]:
        """The annotations that may contain knobs of the size recommender."""
        template = self.vpa_template
        metadata = template.metadata if template is not None else None
        found = metadata.get("annotations") if isinstance(metadata, dict) else None
        return found if isinstance(found, dict) else {}

    @classmethod
    def in_current_version(cls, data: Mapping[str, Any]) -> Mapping[str, Any]:
        """Convert manifests of the released controller, which has metrics in the form of autoscaling/v2beta1."""
        return _changed_at(data, ("spec", "hpa", "template", "spec", "metrics"))


def _changed_at(data: Mapping[str, Any], path: tuple[str, ...]) -> Mapping[str, Any]:
    """The same mapping with current metrics at this path. Nothing is copied if no metric is old."""
    first, *rest = path
    inner = data.get(first)
    if rest:
        changed = _changed_at(inner, tuple(rest)) if isinstance(inner, dict) else inner
    else:
        changed = [_current(metric) for metric in inner] if isinstance(inner, list) else inner
        changed = inner if changed == inner else changed
    return data if changed is inner else {**data, first: changed}


def _current(metric: Any) -> Any:
    blocks = metric.values() if isinstance(metric, dict) else ()
    if not any(isinstance(block, dict) and not _OLD_METRIC_KEYS.isdisjoint(block) for block in blocks):
        return metric
    return upgraded({"apiVersion": AUTOSCALING_V2BETA1, "spec": {"metrics": [metric]}})["spec"]["metrics"][0]


@authored("interval()", {}, "part")
def interval(
    max_replicas: int | None = None,
    *,
    cpu: GivenAmount | None = None,
    memory: GivenAmount | None = None,
    extrapolation: Extrapolation | None = None,
) -> ScalingInterval:
    """An interval of up to this many replicas, each of at most this size.

    >>> interval(3, cpu="2", memory="8Gi").max_resources
    {'cpu': '2', 'memory': '8Gi'}
    """
    sizes = {name: plain(amount) for name, amount in (("cpu", cpu), ("memory", memory)) if amount is not None}
    return ScalingInterval(max_replicas, sizes or None, extrapolation)
