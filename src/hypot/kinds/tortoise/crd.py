"""What the CRD of Tortoises needs beyond their fields: CEL rules, columns, and the schema of the status."""

from collections.abc import Iterator
from typing import Any

from hypot.kinds.base import Ref
from hypot.kinds.crd import Check, Facts, Place, PrinterColumn, status_of
from hypot.kinds.hpa.fields import Limit, ScalingRules
from hypot.kinds.hvpa.crd import HPA_SHAPES, behavior_hints
from hypot.kinds.tortoise import Tortoise
from hypot.kinds.tortoise.fields import DELETE_ALL, LEAST, MOST, ContainerResourcePolicy, TargetRefs
from hypot.kinds.tortoise.policies import HORIZONTAL, ContainerAutoscalingPolicy
from hypot.kinds.tortoise.status import TortoiseStatus
from hypot.kinds.vpa.crd import range_checks
from hypot.kinds.vpa.fields import RESOURCES
from hypot.kinds.vpa.rules import MAX_POLICIES

_HPA = "horizontalPodAutoscalerName"


def _target_checks() -> Iterator[Check]:
    """Rules of an update. Whether a name is that of the HPA in the status is beyond what a rule for a spec can see."""
    for key in ("kind", "name"):
        cel = f"self.scaleTargetRef.{key} == oldSelf.scaleTargetRef.{key}"
        yield Check("immutable", cel, f"the {key} of the target is immutable", ".scaleTargetRef")
    same = f"!has(self.{_HPA}) || !has(oldSelf.{_HPA}) || self.{_HPA} == oldSelf.{_HPA}"
    yield Check("immutable", same, "may be removed, but not changed", f".{_HPA}")


def _horizontal(whose: str) -> str:
    """A CEL test for whether any resource is Horizontal."""
    axes = [f"(has(p.policy.{resource}) && p.policy.{resource} == '{HORIZONTAL}')" for resource in RESOURCES]
    return f"{whose}.autoscalingPolicy.exists(p, has(p.policy) && ({' || '.join(axes)}))"


def _last_horizontal_checks() -> Iterator[Check]:
    had = f"has(oldSelf.autoscalingPolicy) && {_horizontal('oldSelf')}"
    has = "has(self.autoscalingPolicy) && size(self.autoscalingPolicy) > 0"
    removed = f"({had}) && ({has} && !{_horizontal('self')})"
    unnamed = f"!has(self.targetRefs.{_HPA})"
    message = "must be removed together with the last Horizontal resource"
    yield Check("last-horizontal", f"!({removed}) || {unnamed}", message, f".targetRefs.{_HPA}")
    deletes = f"has(self.deletionPolicy) && self.deletionPolicy == '{DELETE_ALL}'"
    message = f"must be {DELETE_ALL} when the last Horizontal resource is removed"
    yield Check("last-horizontal", f"!({removed}) || ({deletes})", message, ".deletionPolicy")


def _blocked() -> PrinterColumn:
    path = '.status.conditions.tortoiseConditions[?(@.type=="ScalingBlocked")].reason'
    return PrinterColumn("Blocked", "string", path, "why a change is held back")


_COLUMNS = (
    PrinterColumn("Mode", "string", ".spec.updateMode", "whether it acts"),
    PrinterColumn("Phase", "string", ".status.tortoisePhase", "how much it has learned"),
    PrinterColumn("Target", "string", ".spec.targetRefs.scaleTargetRef.name", "the workload"),
    PrinterColumn("Min", "integer", ".status.minReplicas", "the minimum that the HPA should have now"),
    PrinterColumn("Max", "integer", ".status.maxReplicas", "the maximum that the HPA should have now"),
    _blocked(),
    PrinterColumn("Age", "date", ".metadata.creationTimestamp", "time since creation"),
    PrinterColumn("HPA", "string", ".status.targets.horizontalPodAutoscaler", "the HPA that it edits", wide=True),
)


def _hints() -> Iterator[tuple[Place, dict[str, Any]]]:
    by_container = {
        "maxItems": MAX_POLICIES,
        "x-kubernetes-list-type": "map",
        "x-kubernetes-list-map-keys": ["containerName"],
    }
    for key in ("autoscalingPolicy", "resourcePolicy"):
        yield (Tortoise, key), by_container
    yield from behavior_hints()


FACTS = Facts(
    doc="Learns the bounds and the target of an HPA, and the size of pods, from the weeks of a workload.",
    status=status_of(TortoiseStatus),
    columns=_COLUMNS,
    required={
        Tortoise: ("targetRefs",),
        TargetRefs: ("scaleTargetRef",),
        Ref: ("kind", "name"),
        ContainerAutoscalingPolicy: ("containerName",),
        ContainerResourcePolicy: ("containerName",),
        Limit: ("periodSeconds", "type", "value"),
    },
    checks={
        Tortoise: tuple(_last_horizontal_checks()),
        TargetRefs: tuple(_target_checks()),
        ContainerResourcePolicy: tuple(range_checks(LEAST, MOST)),
    },
    hints=dict(_hints()),
    shapes={place: shape for place, shape in HPA_SHAPES.items() if place[0] is ScalingRules},
)
