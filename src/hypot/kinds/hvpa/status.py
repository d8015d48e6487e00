"""The status of an Hvpa: condition types, reasons, and its schema for the CRD.

The schema has types for the fields that columns, users and hypot read. Other fields are open: what a released
controller wrote there is kept.
"""

from typing import Any, ClassVar

from hypot.kinds.conditions import ConditionsByType
from hypot.kinds.crd import CONDITION, GENERATION, OPEN, TEXT, TIME, listed
from hypot.kinds.hvpa.fields import MODES
from hypot.kinds.meta import INT64, StatusCondition
from hypot.kinds.node import INT32, Node, node, wire

READY, RECOMMENDED = "Ready", "RecommendationProvided"
BLOCKED, LIMITED = "ScalingBlocked", "ScalingLimited"
CONDITIONS = (READY, RECOMMENDED, BLOCKED, LIMITED)
# Why a container was not scaled, in the order in which the gates are checked. Only the released controller has Weight.
BLOCKING_REASONS = ("UpdatePolicy", "StabilizationWindow", "MaintenanceWindow", "MinChange", "ParadoxicalScaling")
RELEASED_REASONS = ("Weight",)


def _object(doc: str, **properties: dict[str, Any]) -> dict[str, Any]:
    return {**OPEN, "description": doc, "properties": properties}


def _count(doc: str) -> dict[str, Any]:
    return {**INT32.schema, "description": doc}


def _policy(direction: str) -> dict[str, Any]:
    mode = {**TEXT, "description": f"one of {', '.join(MODES)}"}
    return _object(f"the update policy that applied to scaling {direction}", updateMode=mode)


def _scaling(doc: str) -> dict[str, Any]:
    """A decision that was made, applied or held back: counts, and sizes by container."""
    return _object(
        doc,
        lastUpdated={**TIME, "description": "when"},
        hpaStatus=_object(
            "the counts",
            currentReplicas=_count("the count before"),
            desiredReplicas=_count("the desired count"),
        ),
        vpaStatus=_object(
            "the sizes",
            containerResources=listed(
                "by container",
                _object(
                    "one container",
                    containerName={**TEXT, "description": "the container"},
                    resources={**OPEN, "description": "its requests and limits"},
                ),
            ),
        ),
    )


@node
class HvpaStatus(Node):
    """What users read of it; the rest is kept as it was written."""

    GO: ClassVar[str] = "v1alpha1.HvpaStatus"

    replicas: int | None = wire("replicas", INT32)
    desired_replicas: int | None = wire("desiredReplicas", INT32)
    observed_generation: int | None = wire("observedGeneration", INT64)
    listed_conditions: tuple[StatusCondition, ...] | None = wire("conditions", StatusCondition, many=True)

    @property
    def conditions(self) -> ConditionsByType[StatusCondition]:
        """The conditions by type."""
        return ConditionsByType(self.listed_conditions)


STATUS: dict[str, Any] = {
    **OPEN,
    "properties": {
        "replicas": _count("the current number of pods of the target; an HPA reads it through scale"),
        "targetSelector": {**TEXT, "description": "the target's selector as text; an HPA reads it through scale"},
        "desiredReplicas": _count("the count that was last decided"),
        "scaleUpUpdatePolicy": _policy("up"),
        "scaleDownUpdatePolicy": _policy("down"),
        "overrideScaleUpStabilization": {
            "type": "boolean",
            "description": "whether an OOM kill, an eviction or saturation opens the gates for scale-up",
        },
        "replicasAtRecommendation": _count("the count at which the size recommendation was learned"),
        "lastBlockedScaling": listed(
            "what was held back, and why",
            _object(
                "one reason",
                reason={**TEXT, "description": f"one of {', '.join((*BLOCKING_REASONS, *RELEASED_REASONS))}"},
                scalingStatus=_scaling("what would have been applied"),
            ),
        ),
        "lastScaling": _scaling("what was applied last"),
        "lastProcessedRecommendations": _scaling("the recommendations that were used last"),
        "lastError": _object(
            "what went wrong last",
            description={**TEXT, "description": "the error as text"},
            lastUpdateTime={**TIME, "description": "when"},
            lastOperation={**TEXT, "description": "the operation that failed"},
        ),
        "observedGeneration": GENERATION,
        "conditions": listed(f"the conditions {', '.join(CONDITIONS)}", CONDITION),
    },
}
