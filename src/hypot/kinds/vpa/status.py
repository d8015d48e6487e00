"""The status of a VerticalPodAutoscaler: what was recommended, and how that stands."""

from collections.abc import Mapping
from dataclasses import field as dataclass_field
from typing import Annotated, ClassVar

from hypot.kinds.meta import INT64, Condition
from hypot.kinds.node import STRING, Node, Wire, node
from hypot.kinds.vpa.fields import RESOURCE_LIST, Amount

Amounts = Mapping[str, Amount]


@node
class ContainerRecommendation(Node):
    """The size of one container: the target, the range within which a pod is left alone, the target without bounds."""

    GO: ClassVar[str] = "RecommendedContainerResources"
    GO_PACKAGE: ClassVar[str] = "v1"

    container_name: Annotated[str | None, Wire("containerName", STRING)] = None
    target: Annotated[Amounts | None, Wire("target", RESOURCE_LIST)] = dataclass_field(default=None, hash=False)
    lower: Annotated[Amounts | None, Wire("lowerBound", RESOURCE_LIST)] = dataclass_field(default=None, hash=False)
    upper: Annotated[Amounts | None, Wire("upperBound", RESOURCE_LIST)] = dataclass_field(default=None, hash=False)
    uncapped: Annotated[Amounts | None, Wire("uncappedTarget", RESOURCE_LIST)] = dataclass_field(
        default=None, hash=False
    )


@node
class PodRecommendation(Node):
    GO: ClassVar[str] = "RecommendedPodResources"
    GO_PACKAGE: ClassVar[str] = "v1"

    containers: Annotated[
        tuple[ContainerRecommendation, ...] | None,
        Wire("containerRecommendations", ContainerRecommendation, many=True),
    ] = None


@node
class VPACondition(Condition):
    GO: ClassVar[str] = "VerticalPodAutoscalerCondition"
    GO_PACKAGE: ClassVar[str] = "v1"


@node
class VPAStatus(Node):
    GO: ClassVar[str] = "VerticalPodAutoscalerStatus"
    GO_PACKAGE: ClassVar[str] = "v1"

    recommendation: Annotated[PodRecommendation | None, Wire("recommendation", PodRecommendation)] = None
    conditions: Annotated[tuple[VPACondition, ...] | None, Wire("conditions", VPACondition, many=True)] = None
    generation: Annotated[int | None, Wire("observedGeneration", INT64)] = None
