"""To a Tortoise: it edits an HPA, so what counts pods stays an HPA beside it."""

from collections.abc import Mapping
from typing import Any

from hypot.authoring.convert.result import Converted, Note, Workload
from hypot.authoring.convert.to_hpa import NO_SIZES
from hypot.core.amount import RESOURCES
from hypot.kinds.base import Kind
from hypot.kinds.hpa import HPA
from hypot.kinds.hvpa import Hvpa
from hypot.kinds.tortoise import Tortoise
from hypot.kinds.tortoise.fields import AUTO
from hypot.kinds.tortoise.policies import HORIZONTAL, OFF, VERTICAL
from hypot.kinds.vpa import VPA
from hypot.kinds.vpa.fields import ANY_CONTAINER, ContainerPolicy
from hypot.kinds.vpa.fields import OFF as NOT_SIZED

_STARTS_OFF = Note("assumed", "mode Off: it computes and reports only; write Auto once what it reports is right")


def from_hpa(hpa: HPA, workload: Workload) -> Converted:
    """The HPA stays, and the Tortoise edits it."""
    scaled = {metric.resource.name for metric in hpa.metrics or () if metric.resource is not None} or {"cpu"}
    notes = [
        _STARTS_OFF,
        Note("check", f"keep HPA {hpa.name}: in mode Auto the Tortoise edits its bounds and its targets"),
    ]
    policies = {name: {each: HORIZONTAL if each in scaled else OFF for each in RESOURCES} for name in workload.requests}
    if not policies:
        notes.append(Note("assumed", "the controller chooses how containers are scaled; give the workload to write it"))
    others = [metric.type for metric in hpa.metrics or () if metric.resource is None]
    if others:
        kept = ", ".join(sorted({str(one) for one in others}))
        notes.append(Note("check", f"metrics of the type {kept} stay as they are in the HPA"))
    spec: dict[str, Any] = {
        "targetRefs": {"scaleTargetRef": _reference(hpa), "horizontalPodAutoscalerName": hpa.name},
        "updateMode": OFF,
        "autoscalingPolicy": [{"containerName": name, "policy": policy} for name, policy in policies.items()] or None,
        "maxReplicas": hpa.max_replicas,
        "horizontalPodAutoscalerBehavior": hpa.behavior.write() if hpa.behavior else None,
    }
    return Converted((_tortoise(hpa, spec),), tuple(notes))


def from_vpa(vpa: VPA) -> Converted:
    """The bounds of its containers; nothing is scaled horizontally."""
    policies = vpa.container_policies
    containers = (policies.containers if policies is not None else None) or ()
    named = [one for one in containers if one.container_name != ANY_CONTAINER]
    notes = [Note("lost", "eviction rules, limits that stay, and knobs: a Tortoise has its administrator's")]
    if len(named) < len(containers):
        notes.append(Note("lost", f"the policy for all other containers, {ANY_CONTAINER}: a Tortoise names each"))
    if not named:
        text = "the controller may also scale horizontally: name the containers in autoscalingPolicy if it must not"
        notes.append(Note("check", text))
    mode = OFF if vpa.mode == NOT_SIZED else AUTO
    notes.append(Note("assumed", f"mode {mode}, as the VPA has {vpa.mode}"))
    spec: dict[str, Any] = {
        "targetRefs": {"scaleTargetRef": _reference(vpa)},
        "updateMode": mode,
        "resourcePolicy": [_bounds(one) for one in named if one.min_allowed or one.max_allowed] or None,
        "autoscalingPolicy": [_scaled(one) for one in named] or None,
    }
    return Converted((_tortoise(vpa, spec),), tuple(notes))


def with_bounds(made: Converted, hvpa: Hvpa) -> Converted:
    """The same, with the bounds of the Hvpa's containers."""
    policies = hvpa.container_policies
    containers = (policies.containers if policies is not None else None) or ()
    bounds = [_bounds(one) for one in containers if (one.min_allowed or one.max_allowed)]
    named = [one for one in bounds if one["containerName"] != ANY_CONTAINER]
    objects = [_with(one, resourcePolicy=named) if isinstance(one, Tortoise) and named else one for one in made.objects]
    notes = [note for note in made.notes if note != NO_SIZES] if named else made.notes
    lost = [Note("lost", "intervals and overlap: of the sizes only the bounds of containers remain")] if named else []
    return Converted(tuple(objects), (*lost, *notes))


def _with(one: Kind, **more: Any) -> Kind:
    manifest = one.to_dict()
    manifest["spec"].update(more)
    return type(one).from_dict(manifest)


def _reference(one: HPA | VPA) -> dict[str, Any]:
    return one.target.write() if one.target is not None else {}


def _bounds(policy: ContainerPolicy) -> dict[str, Any]:
    given: dict[str, Mapping[str, Any] | str | None] = {
        "containerName": policy.container_name,
        "minAllocatedResources": policy.min_allowed,
        "maxAllocatedResources": policy.max_allowed,
    }
    return {key: value for key, value in given.items() if value}


def _scaled(policy: ContainerPolicy) -> dict[str, Any]:
    sized = RESOURCES if policy.controlled_resources is None else policy.controlled_resources
    words = {each: VERTICAL if policy.mode != NOT_SIZED and each in sized else OFF for each in RESOURCES}
    return {"containerName": policy.container_name, "policy": words}


def _tortoise(like: HPA | VPA, spec: Mapping[str, Any]) -> Tortoise:
    metadata = {key: value for key, value in like.metadata.items() if key in {"name", "namespace", "labels"}}
    made = Tortoise.from_dict(
        {
            "apiVersion": Tortoise.API_VERSION,
            "kind": Tortoise.KIND,
            "metadata": metadata,
            "spec": {key: value for key, value in spec.items() if value is not None},
        }
    )
    made.raise_if_refused()
    return made
