"""To an Autoscaler: of what another kind says, bounds remain. The rest is learned from the workload."""

from collections.abc import Iterator
from typing import Any

from hypot.authoring.convert.of_vpa import lost_of_vpa, target_of_vpa
from hypot.authoring.convert.result import Converted, Note, metadata_like
from hypot.kinds.autoscaler import WorkloadAutoscaler
from hypot.kinds.autoscaler.fields import REPLICAS, SIZE
from hypot.kinds.base import Kind
from hypot.kinds.hpa import HPA
from hypot.kinds.hpa.fields import Metric
from hypot.kinds.hvpa import Hvpa
from hypot.kinds.hvpa.intervals import counts_of
from hypot.kinds.tortoise import Tortoise
from hypot.kinds.vpa import VPA
from hypot.kinds.vpa.fields import ContainerPolicies, ResourcePolicy
from hypot.kinds.wpa import WPA, with_defaults

_STARTS_OFF = "mode Off: it learns and reports only; write Auto once what it reports is right"
_LOST_MEMORY = Note(
    "lost", "sizes of memory: an Autoscaler sets cpu only, so check that the memory of the pod template is enough"
)
_ONE_AXIS = "leave axes out if it may set both replicas and sizes, which is usually cheaper"


def from_hpa(hpa: HPA) -> Converted:
    notes = [_only(REPLICAS, hpa), *_lost_metrics(hpa.metrics)]
    if hpa.min_replicas == 0:
        notes.append(Note("lost", "minReplicas 0: an Autoscaler keeps at least one pod"))
    if hpa.behavior is not None:
        notes.append(_lost_pace("behavior"))
    low = 1 if hpa.min_replicas is None else max(1, hpa.min_replicas)
    return _made(hpa, hpa.target, notes, axes="Replicas", min_replicas=low, max_replicas=hpa.max_replicas)


def from_wpa(wpa: WPA) -> Converted:
    notes = [_only(REPLICAS, wpa)]
    what = "the recommender" if wpa.recommender is not None else "metrics and their watermarks"
    notes.append(Note("lost", f"{what}: what is needed is learned from the usage of the pods"))
    notes.append(_lost_pace("limit factors, forbidden windows and delays"))
    low, high = with_defaults(wpa).min_replicas, wpa.max_replicas
    return _made(wpa, wpa.target, notes, axes="Replicas", min_replicas=low, max_replicas=high)


def from_vpa(vpa: VPA) -> Converted:
    notes = [_only(SIZE, vpa), _LOST_MEMORY, *lost_of_vpa(vpa)]
    return _made(vpa, target_of_vpa(vpa), notes, axes="Size", containers=_containers(vpa.container_policies))


def from_hvpa(hvpa: Hvpa) -> Converted:
    low, high = counts_of(hvpa)
    notes = [Note("lost", "intervals, overlap and base: the cheapest pair of replicas and size is learned")]
    if hvpa.uses_hpa:
        notes += _lost_metrics(hvpa.hpa_spec.metrics)
    if hvpa.window is not None:
        notes.append(Note("lost", "the maintenance window: an Autoscaler acts at any time"))
    notes += [_lost_pace("scaleUp and scaleDown"), _LOST_MEMORY]
    containers = _containers(hvpa.container_policies)
    return _made(hvpa, hvpa.target, notes, min_replicas=low, max_replicas=high, containers=containers)


def from_tortoise(tortoise: Tortoise) -> Converted:
    notes = [Note("lost", "what was learned: an Autoscaler learns anew, from the same usage")]
    if tortoise.autoscaling_policy:
        text = "which resources are Horizontal or Vertical: what is not Off is sized, and the number of pods is learned"
        notes.append(Note("lost", text))
    notes.append(_LOST_MEMORY)
    if tortoise.behavior is not None:
        notes.append(_lost_pace("horizontalPodAutoscalerBehavior"))
    containers = _containers(tortoise.container_policies)
    return _made(tortoise, tortoise.target, notes, max_replicas=tortoise.max_replicas, containers=containers)


def _only(axes: str, one: Kind) -> Note:
    return Note("assumed", f"axes {axes}, as a {one.KIND} sets no more; {_ONE_AXIS}")


def _lost_pace(what: str) -> Note:
    return Note("lost", f"{what}: how fast to scale is learned, too")


def _lost_metrics(metrics: tuple[Metric, ...] | None) -> Iterator[Note]:
    yield Note("lost", "metrics and their targets: what is needed is learned from the usage of the pods")
    asked = [one.pods.metric.name for one in metrics or () if one.pods is not None and one.pods.metric is not None]
    if asked:
        text = "if it counts requests per second, write it into metrics.requests"
        yield Note("check", f"{', '.join(map(str, asked))}: {text}")


def _containers(policies: ResourcePolicy | None) -> ContainerPolicies | None:
    return policies.containers if policies is not None else None


def _made(one: Kind, target: Any, notes: list[Note], **given: Any) -> Converted:
    """It only reports at first, so what there is stays beside it."""
    made = WorkloadAutoscaler(target or {}, mode="Off", **given, **metadata_like(one))
    keep = f"keep {one.KIND} {one.name} until then, and delete it before you write Auto"
    return Converted((made,), (Note("assumed", _STARTS_OFF), Note("check", keep), *notes))
