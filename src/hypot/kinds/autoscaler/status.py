"""The status of an Autoscaler: what it decided, and what it learned, in words.

Each text has a limit, and everything that is learned is one text of its own, so the status stays small however long the
workload is known.
"""

from typing import ClassVar

from hypot.kinds.conditions import ConditionsByType
from hypot.kinds.meta import INT64, TIME, StatusCondition
from hypot.kinds.node import INT32, STRING, Node, Scalar, node, wire
from hypot.kinds.vpa.fields import RESOURCE_LIST, ResourceList

READY, LEARNED = "Ready", "Learned"
BLOCKED, LIMITED = "ScalingBlocked", "ScalingLimited"
AUTOSCALER_CONDITIONS = (READY, LEARNED, BLOCKED, LIMITED)

LONGEST_WORDS = 200
WORDS = Scalar(STRING.go, {**STRING.schema, "maxLength": LONGEST_WORDS}, STRING.fits, STRING.want)


def in_words(text: str) -> str:
    """A text that fits into the status; a longer one is cut."""
    return text if len(text) <= LONGEST_WORDS else f"{text[: LONGEST_WORDS - 1]}…"


@node
class ContainerResources(Node):
    GO: ClassVar[str] = "v1alpha1.ContainerResources"

    container_name: str | None = wire("containerName", STRING, "the container")
    requests: ResourceList | None = wire("requests", RESOURCE_LIST, "the requests that its pods should have")
    limits: ResourceList | None = wire("limits", RESOURCE_LIST, "the limits that belong to these requests")


@node
class RuleInUse(Node):
    """The rule that decides one axis."""

    GO: ClassVar[str] = "v1alpha1.RuleInUse"

    rule: str | None = wire("rule", WORDS, "the rule in words")
    since: str | None = wire("since", TIME, "since when it decides")


@node
class LearnedStatus(Node):
    """What is known of the workload."""

    GO: ClassVar[str] = "v1alpha1.Learned"

    since: str | None = wire("since", TIME, "since when it learns")
    replicas: RuleInUse | None = wire("replicas", RuleInUse, "the rule that decides the number of replicas")
    size: RuleInUse | None = wire("size", RuleInUse, "the rule that decides the size of pods")
    demand: str | None = wire("demand", WORDS, "what the workload needs now")
    expected: str | None = wire("expected", WORDS, "what it is expected to need when a change takes effect")
    late: str | None = wire("late", WORDS, "how many requests are late at this use")
    reach: str | None = wire("reach", WORDS, "how much cpu a pod can use, if that is less than it may")
    startup: str | None = wire("startup", WORDS, "how long a new pod takes until it serves")
    work_per_request: str | None = wire("workPerRequest", WORDS, "how much cpu a request takes")


@node
class AutoscalerStatus(Node):
    GO: ClassVar[str] = "v1alpha1.AutoscalerStatus"

    observed_generation: int | None = wire(
        "observedGeneration", INT64, "the generation of the spec that this status describes"
    )
    replicas: int | None = wire("replicas", INT32, "the current number of pods of the target")
    desired_replicas: int | None = wire("desiredReplicas", INT32, "the count that was last decided")
    size: str | None = wire("size", WORDS, "the requests of one pod that were last decided")
    containers: tuple[ContainerResources, ...] | None = wire(
        "containers", ContainerResources, "the size of each container that was last decided", many=True
    )
    rule: str | None = wire("rule", WORDS, "the rule that decides now")
    busy: str | None = wire("busy", WORDS, "how much of their cpu the pods use")
    saving: str | None = wire("saving", WORDS, "what it costs less than an HPA at 70 %")
    learned: LearnedStatus | None = wire("learned", LearnedStatus, "what is known of the workload")
    listed_conditions: tuple[StatusCondition, ...] | None = wire(
        "conditions", StatusCondition, f"the conditions {', '.join(AUTOSCALER_CONDITIONS)}", many=True
    )

    @property
    def conditions(self) -> ConditionsByType[StatusCondition]:
        """The conditions by type."""
        return ConditionsByType(self.listed_conditions)
