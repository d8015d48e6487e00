"""The status of an Hvpa: its words, and its schema for the CRD.

The schema is typed where columns, people and hypot look, and open beside that: what a released controller wrote there
is kept.
"""

from typing import Any

from hypot.kinds.hvpa.fields import MODES
from hypot.kinds.node import INT32

READY, RECOMMENDED = "Ready", "RecommendationProvided"
BLOCKED, LIMITED = "ScalingBlocked", "ScalingLimited"
CONDITIONS = (READY, RECOMMENDED, BLOCKED, LIMITED)
# Why a container was not scaled, in the order in which the gates are asked. The weights are the released controller's.
BLOCKING_REASONS = ("UpdatePolicy", "StabilizationWindow", "MaintenanceWindow", "MinChange", "ParadoxicalScaling")
RELEASED_REASONS = ("Weight",)

_OPEN: dict[str, Any] = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
_TEXT = {"type": "string"}
_TIME = {"type": "string", "format": "date-time", "nullable": True}


def _object(doc: str, **properties: dict[str, Any]) -> dict[str, Any]:
    return {**_OPEN, "description": doc, "properties": properties}


def _list(doc: str, items: dict[str, Any]) -> dict[str, Any]:
    return {"type": "array", "description": doc, "items": items, "x-kubernetes-list-type": "atomic"}


def _count(doc: str) -> dict[str, Any]:
    return {**INT32.schema, "description": doc}


def _policy(direction: str) -> dict[str, Any]:
    mode = {**_TEXT, "description": f"one of {', '.join(MODES)}"}
    return _object(f"the update policy that held for scaling {direction}", updateMode=mode)


def _scaling(doc: str) -> dict[str, Any]:
    """A point that was decided, applied or held back: counts, and sizes by container."""
    return _object(
        doc,
        lastUpdated={**_TIME, "description": "when"},
        hpaStatus=_object(
            "the counts",
            currentReplicas=_count("how many there were"),
            desiredReplicas=_count("how many there should be"),
        ),
        vpaStatus=_object(
            "the sizes",
            containerResources=_list(
                "by container",
                _object(
                    "one container",
                    containerName={**_TEXT, "description": "the container"},
                    resources={**_OPEN, "description": "its requests and limits"},
                ),
            ),
        ),
    )


STATUS: dict[str, Any] = {
    **_OPEN,
    "properties": {
        "replicas": _count("how many pods of the target there are; an HPA reads it through scale"),
        "targetSelector": {**_TEXT, "description": "the target's selector as text; an HPA reads it through scale"},
        "desiredReplicas": _count("the count that was last decided"),
        "scaleUpUpdatePolicy": _policy("up"),
        "scaleDownUpdatePolicy": _policy("down"),
        "overrideScaleUpStabilization": {
            "type": "boolean",
            "description": "whether an OOM kill, an eviction or saturation opens the gates upwards",
        },
        "replicasAtRecommendation": _count("the count that the size recommendation was learnt at"),
        "lastBlockedScaling": _list(
            "what was held back, and why",
            _object(
                "one reason",
                reason={**_TEXT, "description": f"one of {', '.join((*BLOCKING_REASONS, *RELEASED_REASONS))}"},
                scalingStatus=_scaling("what would have been applied"),
            ),
        ),
        "lastScaling": _scaling("what was applied last"),
        "lastProcessedRecommendations": _scaling("the recommendations that were used last"),
        "lastError": _object(
            "what went wrong last",
            description={**_TEXT, "description": "in words"},
            lastUpdateTime={**_TIME, "description": "when"},
            lastOperation={**_TEXT, "description": "at what"},
        ),
        "observedGeneration": {"type": "integer", "format": "int64", "description": "the spec this status is about"},
        "conditions": _list(
            f"how things stand: {', '.join(CONDITIONS)}",
            {
                **_OPEN,
                "properties": {
                    **dict.fromkeys(("type", "status", "reason", "message"), _TEXT),
                    "lastTransitionTime": _TIME,
                },
            },
        ),
    },
}
