"""The HPA that a Tortoise edits: the targets in it, and the same HPA with other bounds and targets.

A target is that of a ContainerResource metric, or of an External metric that an annotation declares as the utilization
of a container. If a container has both, the External metric counts, and both are set.
"""

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from hypot.core.amount import RESOURCES
from hypot.core.quantity import QuantityError, milli
from hypot.kinds.base import Ref
from hypot.kinds.hpa import HPA
from hypot.kinds.hpa.fields import Behavior, Metric, cpu, memory
from hypot.kinds.node import replaced
from hypot.kinds.tortoise.fields import TortoiseSpec
from hypot.kinds.tortoise.settings import TortoiseSettings
from hypot.policy.model.size import Place

PREFIXES = {
    resource: f"tortoises.autoscaling.mercari.com/container-based-{resource}-metric-prefix" for resource in RESOURCES
}
# The target of a metric that is added.
FIRST_TARGET = 70
_MADE = {"cpu": cpu, "memory": memory}


class UtilizationTarget(NamedTuple):
    """A metric that holds the utilization of one resource of one container, and its target in percent."""

    place: Place
    percent: int
    external: bool = False


def target_of(metric: Metric, hpa: HPA) -> UtilizationTarget | None:
    """The target of a metric; None if it is for something else."""
    source = metric.container_resource
    if metric.type == "ContainerResource" and source is not None and source.target is not None:
        percent = source.target.utilization
        if not percent or percent < 1 or source.name not in RESOURCES or not source.container:
            return None
        return UtilizationTarget((source.container, source.name), percent)
    return _declared(metric, hpa) if metric.type == "External" else None


def _declared(metric: Metric, hpa: HPA) -> UtilizationTarget | None:
    """An External metric whose name begins with a prefix that the HPA declares; the rest is the container."""
    source = metric.external
    if source is None or source.metric is None or source.target is None or source.target.value is None:
        return None
    name = source.metric.name or ""
    for resource, key in PREFIXES.items():
        prefix = hpa.annotations.get(key)
        if isinstance(prefix, str) and prefix and name.startswith(prefix) and len(name) > len(prefix):
            try:
                percent = milli(source.target.value) // 1000
            except QuantityError:
                return None
            if percent < 1:
                return None
            return UtilizationTarget((name.removeprefix(prefix), resource), percent, external=True)
    return None


def targets_in(hpa: HPA) -> dict[Place, UtilizationTarget]:
    """The target of each container and resource that has one."""
    found: dict[Place, UtilizationTarget] = {}
    for metric in hpa.metrics or ():
        target = target_of(metric, hpa)
        if target is not None and (target.external or target.place not in found):
            found[target.place] = target
    return found


def edited(
    hpa: HPA,
    low: int | None,
    high: int | None,
    targets: Mapping[Place, int],
    scaled: Iterable[Place],
    behavior: Behavior | None,
) -> HPA:
    """The HPA with these bounds, and a target for each place that is scaled by replicas; all else stays as it is.

    A metric of another place that the HPA measures by container is removed: its size follows its usage, so the metric
    would ask for replicas forever.
    """
    wanted = set(scaled)
    metrics: list[Metric] = []
    for metric in hpa.metrics or ():
        target = target_of(metric, hpa)
        if target is None:
            metrics.append(metric)
        elif target.place in wanted:
            metrics.append(_with_target(metric, targets.get(target.place, target.percent)))
    known = targets_in(hpa)
    for container, resource in sorted(wanted - known.keys()):
        percent = targets.get((container, resource), FIRST_TARGET)
        metrics.append(_MADE[resource](utilization=percent, container=container))
    changes = {"min_replicas": low, "max_replicas": high, "metrics": tuple(metrics)}
    return replaced(hpa, **changes, **({} if behavior is None else {"behavior": behavior}))


def _with_target(metric: Metric, percent: int) -> Metric:
    if metric.type == "External":
        source = metric.external
        if source is None or source.target is None or milli(source.target.value or 0) == percent * 1000:
            return metric
        return replaced(metric, external=replaced(source, target=replaced(source.target, value=str(percent))))
    by_container = metric.container_resource
    if by_container is None or by_container.target is None or by_container.target.utilization == percent:
        return metric
    target = replaced(by_container.target, utilization=percent)
    return replaced(metric, container_resource=replaced(by_container, target=target))


def behavior_of(tortoise: TortoiseSpec, settings: TortoiseSettings) -> Behavior | None:
    """The behavior that its HPA gets; None if a named HPA keeps its own."""
    return tortoise.behavior or (None if tortoise.names_hpa else settings.default_hpa_behavior)


def new_hpa(tortoise: TortoiseSpec) -> HPA:
    """The HPA that is made for a Tortoise, without bounds and metrics."""
    metadata = {"name": tortoise.hpa_name, "namespace": tortoise.namespace}
    return HPA.from_dict({"metadata": metadata, "spec": {"scaleTargetRef": wire_ref(tortoise)}})


def wire_ref(tortoise: TortoiseSpec) -> dict[str, str]:
    """The reference to its target, as it is written."""
    ref = tortoise.target.readable() if tortoise.target is not None else Ref()
    written = {"apiVersion": ref.api_version, "kind": ref.kind, "name": ref.name}
    return {key: text for key, text in written.items() if text}
