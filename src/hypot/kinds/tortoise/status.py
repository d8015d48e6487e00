"""The status of a Tortoise in the form of v1beta3.

An API server with the original definition requires `conditions`, `containerResourcePhases`, `recommendations`,
`targets` (with `scaleTargetRef` and `verticalPodAutoscalers`) and `tortoisePhase`, also if they are empty. Some fields
are hypot's own: `minReplicas`, `maxReplicas`, `observedGeneration`, and `limits` next to requests. That definition
drops them.
"""

from collections.abc import Mapping
from typing import Any, ClassVar

from hypot.kinds.base import Ref
from hypot.kinds.conditions import ConditionsByType
from hypot.kinds.identity import TORTOISE_CONDITIONS
from hypot.kinds.meta import INT64, TIME, StatusCondition
from hypot.kinds.node import INT32, STRING, WHOLE_OR_QUANTITY, Node, Scalar, node, wire
from hypot.kinds.tortoise.policies import OFF, ContainerAutoscalingPolicy
from hypot.kinds.vpa.fields import RESOURCE_LIST, Amount, ResourceList

# The phases of a Tortoise. A resource of a container has the phase GatheringData, Working or Off.
INITIALIZING, GATHERING = "Initializing", "GatheringData"
PARTLY_WORKING, WORKING = "PartlyWorking", "Working"
IN_EMERGENCY, BACK_TO_NORMAL = "Emergency", "BackToNormal"
PHASES = (INITIALIZING, GATHERING, PARTLY_WORKING, WORKING, IN_EMERGENCY, BACK_TO_NORMAL)
RESOURCE_PHASES = (GATHERING, WORKING, OFF)
# In these phases there are bounds that Emergency can use.
MAY_HAVE_EMERGENCY = (WORKING, PARTLY_WORKING, IN_EMERGENCY, BACK_TO_NORMAL)

FAILED = "FailedToReconcile"
TARGET_UPDATED, SIZES_UPDATED = "HPATargetUtilizationUpdated", "VerticalRecommendationUpdated"
GROWN_AT_PREFERRED = "ScaledUpBasedOnPreferredMaxReplicas"
OVERRIDDEN = "EffectiveModeOverridden"
CONDITIONS = (FAILED, TARGET_UPDATED, SIZES_UPDATED, GROWN_AT_PREFERRED, OVERRIDDEN)
# The role of a VPA that only recommends; hypot makes none.
MONITOR = "Monitor"
# As Go names them, from Sunday on.
WEEKDAYS = ("Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday")


def _is_percentages(value: Any) -> bool:
    return isinstance(value, dict) and all(isinstance(k, str) and INT32.fits(v) for k, v in value.items())


PERCENTAGES = Scalar(
    "map[v1.ResourceName]int32",
    {"type": "object", "additionalProperties": INT32.schema},
    _is_percentages,
    "a mapping of resource to percent",
    each=INT32,
)


@node
class ResourcePhase(Node):
    GO: ClassVar[str] = "v1beta3.ResourcePhase"

    phase: str | None = wire("phase", STRING, f"one of {', '.join(RESOURCE_PHASES)}")
    changed: str | None = wire("lastTransitionTime", TIME, "since when")


@node
class ResourcePhases(Node):
    GO: ClassVar[str] = "map[v1.ResourceName]v1beta3.ResourcePhase"

    cpu: ResourcePhase | None = wire("cpu", ResourcePhase, "of cpu")
    memory: ResourcePhase | None = wire("memory", ResourcePhase, "of memory")


@node
class ContainerPhases(Node):
    GO: ClassVar[str] = "v1beta3.ContainerResourcePhases"

    container_name: str | None = wire("containerName", STRING, "the container")
    phases: ResourcePhases | None = wire("resourcePhases", ResourcePhases, "the phase of each of its resources")


@node
class MonitorRef(Node):
    GO: ClassVar[str] = "v1beta3.TargetStatusVerticalPodAutoscaler"

    name: str | None = wire("name", STRING, "the VPA")
    role: str | None = wire("role", STRING, f"always {MONITOR}")


@node
class Targets(Node):
    GO: ClassVar[str] = "v1beta3.TargetsStatus"

    hpa: str | None = wire("horizontalPodAutoscaler", STRING, "the HPA that is edited; empty if there is none")
    target: Ref | None = wire("scaleTargetRef", Ref, "the workload")
    vpas: tuple[MonitorRef, ...] | None = wire(
        "verticalPodAutoscalers", MonitorRef, "the VPAs of the original controller; hypot needs none", many=True
    )


@node
class ContainerTargets(Node):
    GO: ClassVar[str] = "v1beta3.HPATargetUtilizationRecommendationPerContainer"

    container_name: str | None = wire("containerName", STRING, "the container")
    percent: Mapping[str, int] | None = wire(
        "targetUtilization", PERCENTAGES, "the target by resource, in percent of the request"
    )


@node
class SlotReplicas(Node):
    """The learned number of replicas in one slot of the week or of the day."""

    GO: ClassVar[str] = "v1beta3.ReplicasRecommendation"

    start: int | None = wire("from", INT64, "the hour in which the slot starts")
    end: int | None = wire("to", INT64, "the hour before which it ends")
    weekday: str | None = wire("weekday", STRING, "the day of the week, such as Sunday; every day if absent")
    time_zone: str | None = wire("timezone", STRING, "the time zone of these hours")
    value: int | None = wire("value", INT32, "the number of replicas; 0 if nothing is known yet")
    updated: str | None = wire("updatedAt", TIME, "when it was last learned")


@node
class Horizontal(Node):
    GO: ClassVar[str] = "v1beta3.HorizontalRecommendations"

    targets: tuple[ContainerTargets, ...] | None = wire(
        "targetUtilizations", ContainerTargets, "the target utilization of each container", many=True
    )
    max_replicas: tuple[SlotReplicas, ...] | None = wire(
        "maxReplicas", SlotReplicas, "the maximum in each slot", many=True
    )
    min_replicas: tuple[SlotReplicas, ...] | None = wire(
        "minReplicas", SlotReplicas, "the minimum in each slot", many=True
    )


@node
class ContainerSize(Node):
    GO: ClassVar[str] = "v1beta3.RecommendedContainerResources"

    container_name: str | None = wire("containerName", STRING, "the container")
    size: ResourceList | None = wire("RecommendedResource", RESOURCE_LIST, "its recommended requests")


@node
class VerticalRecommendations(Node):
    GO: ClassVar[str] = "v1beta3.VerticalRecommendations"

    sizes: tuple[ContainerSize, ...] | None = wire(
        "containerResourceRecommendation", ContainerSize, "the recommended size of each container", many=True
    )


@node
class Recommendations(Node):
    GO: ClassVar[str] = "v1beta3.Recommendations"

    horizontal: Horizontal | None = wire("horizontal", Horizontal, "what the HPA gets")
    vertical: VerticalRecommendations | None = wire("vertical", VerticalRecommendations, "what the pods get")


@node
class DatedAmount(Node):
    GO: ClassVar[str] = "v1beta3.ResourceQuantity"

    amount: Amount | None = wire("quantity", WHOLE_OR_QUANTITY, "the amount")
    updated: str | None = wire("updatedAt", TIME, "when it was observed")


@node
class DatedAmounts(Node):
    GO: ClassVar[str] = "map[v1.ResourceName]v1beta3.ResourceQuantity"

    cpu: DatedAmount | None = wire("cpu", DatedAmount, "of cpu")
    memory: DatedAmount | None = wire("memory", DatedAmount, "of memory")


@node
class ContainerUsage(Node):
    """The percentile of usage from which targets and sizes are computed, as a VPA would recommend it."""

    GO: ClassVar[str] = "v1beta3.ContainerRecommendationFromVPA"

    container_name: str | None = wire("containerName", STRING, "the container")
    highest: DatedAmounts | None = wire("maxRecommendation", DatedAmounts, "the highest lately")
    latest: DatedAmounts | None = wire("recommendation", DatedAmounts, "the latest")


@node
class ContainerRequests(Node):
    GO: ClassVar[str] = "v1beta3.ContainerResourceRequests"

    container_name: str | None = wire("containerName", STRING, "the container")
    requests: ResourceList | None = wire("resource", RESOURCE_LIST, "the requests that its pods should have")
    limits: ResourceList | None = wire("limits", RESOURCE_LIST, "the limits that belong to these requests")


@node
class TortoiseCondition(StatusCondition):
    GO: ClassVar[str] = "v1beta3.TortoiseCondition"

    updated: str | None = wire("lastUpdateTime", TIME)


@node
class Conditions(Node):
    GO: ClassVar[str] = "v1beta3.Conditions"

    conditions: tuple[TortoiseCondition, ...] | None = wire(
        TORTOISE_CONDITIONS, TortoiseCondition, "the conditions, sorted by type", many=True
    )
    usage: tuple[ContainerUsage, ...] | None = wire(
        "containerRecommendationFromVPA", ContainerUsage, "the usage of each container", many=True
    )
    requests: tuple[ContainerRequests, ...] | None = wire(
        "containerResourceRequests", ContainerRequests, "the requests of each container", many=True
    )

    def __getitem__(self, type_: str) -> TortoiseCondition:
        """A condition by its type."""
        return ConditionsByType(self.conditions)[type_]


@node
class TortoiseStatus(Node):
    GO: ClassVar[str] = "v1beta3.TortoiseStatus"

    phase: str | None = wire("tortoisePhase", STRING, f"one of {', '.join(PHASES)}")
    conditions: Conditions | None = wire("conditions", Conditions, "conditions, and what was observed")
    recommendations: Recommendations | None = wire("recommendations", Recommendations, "what is recommended")
    targets: Targets | None = wire("targets", Targets, "the objects that it works with")
    phases: tuple[ContainerPhases, ...] | None = wire(
        "containerResourcePhases", ContainerPhases, "the phase of each container", many=True
    )
    policies: tuple[ContainerAutoscalingPolicy, ...] | None = wire(
        "autoscalingPolicy", ContainerAutoscalingPolicy, "the policies in force: as in the spec, or chosen", many=True
    )
    min_replicas: int | None = wire("minReplicas", INT32, "the minimum that the HPA should have now")
    max_replicas: int | None = wire("maxReplicas", INT32, "the maximum that the HPA should have now")
    generation: int | None = wire("observedGeneration", INT64, "the generation of the spec that this status describes")

    @property
    def tortoise_phase(self) -> str | None:
        """The name in Kubernetes of `phase`."""
        return self.phase

    @property
    def container_resource_phases(self) -> tuple[ContainerPhases, ...] | None:
        """The name in Kubernetes of `phases`."""
        return self.phases

    @property
    def autoscaling_policy(self) -> tuple[ContainerAutoscalingPolicy, ...] | None:
        """The name in Kubernetes of `policies`."""
        return self.policies

    @property
    def observed_generation(self) -> int | None:
        """The name in Kubernetes of `generation`."""
        return self.generation

    @property
    def hpa(self) -> str:
        """The HPA in `targets`; empty if there is none."""
        return (self.targets.hpa if self.targets is not None else None) or ""
