"""What the CRD of VerticalPodAutoscalerCheckpoints needs beyond their fields.

The status is not a subresource here: recommenders write spec and status together, and an API server would then drop the
status.
"""

from typing import Any

from hypot.kinds.crd import OPEN, TIME, Facts, PrinterColumn
from hypot.kinds.vpa.checkpoint import Checkpoint
from hypot.kinds.vpa.crd import APPROVED

_HISTOGRAM: dict[str, Any] = {
    **OPEN,
    "properties": {
        "referenceTimestamp": {**TIME, "description": "the time that the weights are for"},
        "bucketWeights": {
            "type": "object",
            "description": "weight by bucket; the largest is 10000",
            "additionalProperties": {"type": "number"},
        },
        "totalWeight": {"type": "number", "description": "the sum of the weights before they were scaled"},
    },
}
_STATUS: dict[str, Any] = {
    **OPEN,
    "properties": {
        "lastUpdateTime": {**TIME, "description": "when this was written"},
        "version": {"type": "string", "description": "the format; recommenders read v3"},
        "cpuHistogram": {**_HISTOGRAM, "description": "cpu usage"},
        "memoryHistogram": {**_HISTOGRAM, "description": "memory usage peaks"},
        "firstSampleStart": {**TIME, "description": "the first cpu sample"},
        "lastSampleStart": {**TIME, "description": "the last cpu sample"},
        "totalSamplesCount": {"type": "integer", "format": "int64", "description": "cpu samples so far"},
    },
}

FACTS = Facts(
    doc="What a recommender has learned about one container, kept across restarts of the recommender.",
    status=_STATUS,
    status_apart=False,
    columns=(
        PrinterColumn("VPA", "string", ".spec.vpaObjectName", "the autoscaler"),
        PrinterColumn("Container", "string", ".spec.containerName", "the container"),
        PrinterColumn("Samples", "integer", ".status.totalSamplesCount", "cpu samples so far"),
        PrinterColumn("Updated", "date", ".status.lastUpdateTime", "time since this was written"),
    ),
    required={Checkpoint: ("vpaObjectName", "containerName")},
    annotations=APPROVED,
)
