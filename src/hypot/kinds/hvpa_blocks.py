"""The templates of an HPA and a VPA within an Hvpa: its sources of recommendations."""

from collections.abc import Mapping
from dataclasses import field as dataclass_field
from typing import Annotated, Any, ClassVar

from hypot.kinds.hpa_parts import Behavior, Metric
from hypot.kinds.hvpa_scale import MinChange, ScaleType
from hypot.kinds.meta import ObjectMeta
from hypot.kinds.node import BOOL, INT32, MAPPING, Node, Scalar, Wire, node
from hypot.kinds.vpa_parts import ResourcePolicy, UpdatePolicy


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
