"""The status of a VerticalPodAutoscaler: the recommendation and the conditions."""

from collections.abc import Mapping
from typing import ClassVar

from hypot.kinds.conditions import ConditionsByType
from hypot.kinds.meta import INT64, StatusCondition
from hypot.kinds.node import STRING, Node, node, wire
from hypot.kinds.vpa.fields import RESOURCE_LIST, Amount

Amounts = Mapping[str, Amount]


@node
class ContainerRecommendation(Node):
    """The size of one container: the target, the range within which a pod is left alone, the target without bounds."""

    GO: ClassVar[str] = "v1.RecommendedContainerResources"

    container_name: str | None = wire("containerName", STRING)
    target: Amounts | None = wire("target", RESOURCE_LIST)
    lower_bound: Amounts | None = wire("lowerBound", RESOURCE_LIST)
    upper_bound: Amounts | None = wire("upperBound", RESOURCE_LIST)
    uncapped_target: Amounts | None = wire("uncappedTarget", RESOURCE_LIST)


@node
class PodRecommendation(Node):
    GO: ClassVar[str] = "v1.RecommendedPodResources"

    containers: tuple[ContainerRecommendation, ...] | None = wire(
        "containerRecommendations", ContainerRecommendation, many=True
    )

    @property
    def container_recommendations(self) -> tuple[ContainerRecommendation, ...] | None:
        """The name in Kubernetes of `containers`."""
        return self.containers


@node
class VPACondition(StatusCondition):
    GO: ClassVar[str] = "v1.VerticalPodAutoscalerCondition"


@node
class VPAStatus(Node):
    GO: ClassVar[str] = "v1.VerticalPodAutoscalerStatus"

    recommendation: PodRecommendation | None = wire("recommendation", PodRecommendation)
    listed_conditions: tuple[VPACondition, ...] | None = wire("conditions", VPACondition, many=True, path="conditions")
    observed_generation: int | None = wire("observedGeneration", INT64)

    @property
    def conditions(self) -> ConditionsByType[VPACondition]:
        """The conditions by type."""
        return ConditionsByType(self.listed_conditions)

    @property
    def containers(self) -> Mapping[str, ContainerRecommendation]:
        """The recommendation of each container, by name."""
        listed = (self.recommendation.containers or ()) if self.recommendation is not None else ()
        return {one.container_name: one for one in listed if one.container_name is not None}
