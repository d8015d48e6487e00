"""To a Tortoise: it edits an HPA, so what counts pods stays an HPA beside it."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any

from hypot.authoring.convert.of_vpa import lost_of_vpa, target_of_vpa
from hypot.authoring.convert.result import CannotConvertError, Converted, Note, TargetWorkload, metadata_like
from hypot.authoring.convert.to_hpa import NO_SIZES
from hypot.core.amount import RESOURCES
from hypot.kinds.base import Kind, Ref
from hypot.kinds.hpa import HPA
from hypot.kinds.hpa.defaults import with_defaults
from hypot.kinds.hpa.fields import Metric
from hypot.kinds.hvpa import Hvpa
from hypot.kinds.tortoise import Tortoise
from hypot.kinds.tortoise.fields import AUTO
from hypot.kinds.tortoise.policies import HORIZONTAL, OFF, VERTICAL
from hypot.kinds.vpa import VPA
from hypot.kinds.vpa.fields import ANY_CONTAINER, INITIAL, REQUESTS_ONLY, ContainerPolicy, policy_of
from hypot.kinds.vpa.fields import OFF as NOT_SIZED
from hypot.policy.model.size import Place
from hypot.policy.tortoise.edited_hpa import FIRST_TARGET, target_of, targets_in

_OF_POLICIES = {
    "oom_bump_up_ratio": "oomBumpUpRatio",
    "oom_min_bump_up": "oomMinBumpUp",
    "memory_interval": "memoryAggregationIntervalSeconds",
    "memory_interval_count": "memoryAggregationIntervalCount",
    "startup_boost": "startupBoost",
}
_STARTS_OFF = Note("assumed", "mode Off: it computes and reports only; write Auto once what it reports is right")


def from_hpa(hpa: HPA, workload: TargetWorkload) -> Converted:
    """The HPA stays, and the Tortoise edits it."""
    metrics = with_defaults(hpa).metrics or ()
    by_container = {place for place in _by_container(hpa, metrics) if place[0] not in workload.sidecars}
    by_pod = [one.resource.name or "" for one in metrics if one.resource is not None]
    scaled = {
        *by_container,
        *[(name, each) for name, asked in workload.sized.items() for each in by_pod if each in asked],
    }
    if not scaled:
        fix = "give the workload's manifest too, with its requests" if by_pod else "it needs one for cpu or memory"
        text = f"no metric of the HPA is for the usage of a container, and a Tortoise learns nothing else; {fix}"
        raise CannotConvertError(text)
    names = dict.fromkeys([*workload.sized, *[name for name, _ in sorted(scaled)]])
    policies = {name: {each: HORIZONTAL if (name, each) in scaled else OFF for each in RESOURCES} for name in names}
    spec: dict[str, Any] = {
        "targetRefs": {
            "scaleTargetRef": (hpa.target or Ref()).write(),
            "horizontalPodAutoscalerName": hpa.name,
        },
        "updateMode": OFF,
        "autoscalingPolicy": [{"containerName": name, "policy": policy} for name, policy in policies.items()],
        "maxReplicas": hpa.max_replicas,
        "horizontalPodAutoscalerBehavior": hpa.behavior.write() if hpa.behavior else None,
    }
    return Converted((_tortoise(hpa, spec),), tuple(_notes_of_edit(hpa, metrics, scaled, workload)))


def _by_container(hpa: HPA, metrics: Iterable[Metric]) -> set[Place]:
    """What the HPA measures by container, also as an amount."""
    measured = {
        (one.container_resource.container or "", one.container_resource.name or "")
        for one in metrics
        if one.container_resource is not None
    }
    return {place for place in measured | targets_in(hpa).keys() if place[1] in RESOURCES}


def _notes_of_edit(
    hpa: HPA, metrics: Iterable[Metric], scaled: Collection[Place], workload: TargetWorkload
) -> Iterator[Note]:
    """What the Tortoise does to the HPA."""
    yield _STARTS_OFF
    edited, known = targets_in(hpa), [f"{resource} of {name}" for name, resource in sorted(scaled)]
    text = f"keep HPA {hpa.name}: in mode Auto the Tortoise writes its bounds, and a target for {_listed(known)}"
    yield Note("check", text)
    low = 1 if hpa.min_replicas is None else hpa.min_replicas
    text = "the Tortoise learns the minimum, at least its setting minimumMinReplicas; pods may be removed down to it"
    yield Note("lost", f"minReplicas {low}: {text}")
    added = [f"{resource} of {name}" for name, resource in sorted(set(scaled) - edited.keys())]
    if added:
        text = f"the Tortoise adds ContainerResource metrics to the HPA for {_listed(added)}, first at {FIRST_TARGET} %"
        yield Note("check", text)
    removed = [f"{resource} of {name}" for name, resource in sorted(edited.keys() - set(scaled))]
    if removed:
        text = "the Tortoise leaves sidecars alone and removes their metrics from the HPA; pods may be removed, too"
        yield Note("lost", f"{_listed(removed)}: {text}")
    kept = [_described(one) for one in metrics if target_of(one, hpa) is None]
    if kept:
        text = (
            f"the Tortoise never changes {_listed(kept)}, and the metric that asks for most pods counts: remove from "
        )
        yield Note("check", f"{text}the HPA what is not to count beside the targets that are learned")
    if not workload.sized:
        yield Note(
            "check", "containers that are not listed are Off; give the workload's manifest too, to have them listed"
        )


def _listed(texts: Sequence[str]) -> str:
    return texts[0] if len(texts) == 1 else f"{', '.join(texts[:-1])} and {texts[-1]}"


def _described(metric: Metric) -> str:
    """The type and the name of a metric that the Tortoise does not edit."""
    source: Any = metric.container_resource or metric.resource or metric.pods or metric.object or metric.external
    name = getattr(source, "name", None) or getattr(getattr(source, "metric", None), "name", None)
    container = f" of {source.container}" if metric.container_resource is not None else ""
    return f"the {metric.type} metric {name}{container}"


def from_vpa(vpa: VPA, workload: TargetWorkload) -> Converted:
    """The bounds of its containers; nothing is scaled horizontally."""
    written = vpa.container_policies
    policies = (written.containers if written is not None else None) or ()
    named = [one.container_name or "" for one in policies if one.container_name != ANY_CONTAINER]
    each = {
        name: policy_of(written, name) or ContainerPolicy(name) for name in dict.fromkeys([*named, *workload.sized])
    }
    mode = OFF if vpa.mode in {NOT_SIZED, INITIAL} else AUTO
    spec: dict[str, Any] = {
        "targetRefs": {"scaleTargetRef": target_of_vpa(vpa).write()},
        "updateMode": mode,
        "resourcePolicy": [_bounds(name, one) for name, one in each.items() if one.min_allowed or one.max_allowed]
        or None,
        "autoscalingPolicy": [_scaled(name, one) for name, one in each.items()] or None,
    }
    notes = _notes_of_vpa(vpa, policies, each, mode, workload)
    return Converted((_tortoise(vpa, spec),), tuple(notes))


def _notes_of_vpa(
    vpa: VPA,
    policies: Sequence[ContainerPolicy],
    each: Mapping[str, ContainerPolicy],
    mode: str,
    workload: TargetWorkload,
) -> Iterator[Note]:
    why = ": a Tortoise cannot size only new pods" if vpa.mode == INITIAL else ""
    yield Note("lost" if why else "assumed", f"mode {mode}, as the VPA has {vpa.mode}{why}")
    yield from lost_of_vpa(vpa)
    more = [text for name, text in _OF_POLICIES.items() if any(getattr(one, name) for one in policies)]
    if more:
        yield Note(
            "lost", f"of the policies of containers {', '.join(more)}: a Tortoise has what its administrator set"
        )
    if any(one.controlled_values == REQUESTS_ONLY for one in policies):
        yield Note("lost", "RequestsOnly: a Tortoise raises and lowers limits with the requests")
    if any(one.container_name == ANY_CONTAINER for one in policies) and not workload.sized:
        yield Note("lost", f"the policy for all other containers, {ANY_CONTAINER}: a Tortoise names each")
    if not each:
        text = "the controller may also scale horizontally: name the containers in autoscalingPolicy if it must not"
        yield Note("check", text)
    elif not workload.sized:
        text = "containers that the VPA does not name are Off, though it sizes them; give the workload's manifest too"
        yield Note("check", text)
    for name, asked in workload.sized.items():
        missing = [
            one for one in RESOURCES if one not in asked and _scaled(name, each[name])["policy"][one] == VERTICAL
        ]
        if missing:
            yield Note("lost", f"the {' and '.join(missing)} of {name}: a Tortoise sizes only what has a request")


def with_bounds(made: Converted, hvpa: Hvpa) -> Converted:
    """The same, with the bounds of the Hvpa's containers."""
    policies = hvpa.container_policies
    containers = (policies.containers if policies is not None else None) or ()
    bounded = [one for one in containers if (one.min_allowed or one.max_allowed)]
    named = [_bounds(one.container_name or "", one) for one in bounded if one.container_name != ANY_CONTAINER]
    objects = [_with(one, resourcePolicy=named) if isinstance(one, Tortoise) and named else one for one in made.objects]
    notes = [note for note in made.notes if note != NO_SIZES] if named else made.notes
    lost = [Note("lost", "intervals and overlap: of the sizes only the bounds of containers remain")] if named else []
    return Converted(tuple(objects), (*lost, *notes))


def _with(one: Kind, **more: Any) -> Kind:
    manifest = one.to_dict()
    manifest["spec"].update(more)
    return type(one).from_dict(manifest)


def _bounds(name: str, policy: ContainerPolicy) -> dict[str, Any]:
    given: dict[str, Mapping[str, Any] | str | None] = {
        "containerName": name,
        "minAllocatedResources": policy.min_allowed,
        "maxAllocatedResources": policy.max_allowed,
    }
    return {key: value for key, value in given.items() if value}


def _scaled(name: str, policy: ContainerPolicy) -> dict[str, Any]:
    sized = RESOURCES if policy.controlled_resources is None else policy.controlled_resources
    words = {each: VERTICAL if policy.mode != NOT_SIZED and each in sized else OFF for each in RESOURCES}
    return {"containerName": name, "policy": words}


def _tortoise(like: HPA | VPA, spec: Mapping[str, Any]) -> Tortoise:
    metadata = {key: value for key, value in metadata_like(like).items() if value}
    if isinstance(like, HPA):
        metadata.pop("annotations", None)  # the HPA stays, and has them
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
