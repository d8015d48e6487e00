"""At which values of its metrics an HPA asks for more replicas, if the values themselves are not known."""

from collections.abc import Iterator
from typing import NamedTuple

from hypot.kinds.hpa import HPA
from hypot.kinds.hpa.defaults import DEFAULT_METRICS
from hypot.kinds.hpa.fields import Metric, Target
from hypot.kinds.values.nested import amount
from hypot.policy.horizontal.tolerances import tolerances
from hypot.policy.model.settings import Settings
from hypot.policy.model.threshold import Slope, Threshold, Unit


def pods_without_values(hpa: HPA) -> int:
    """The number of pods that the thresholds are for: its minimum, or 1 if that is 0."""
    return max(1, hpa.min_replicas or 1)


def thresholds_without_values(hpa: HPA, settings: Settings) -> Iterator[tuple[Threshold, ...]]:
    """Of each metric that has any, if all pods are ready."""
    pods = pods_without_values(hpa)
    down, up = tolerances(hpa, settings)
    for metric in hpa.metrics or DEFAULT_METRICS:
        subject, target, unit = _measured(metric)
        if target > 0:
            slope = Slope(subject, target, target, pods, pods, down, up, pods, hpa.max_replicas or pods, unit)
            if found := slope.thresholds():
                yield found


class _Measured(NamedTuple):
    """What a metric measures, its target, 0 if there is none, and the unit of the target."""

    subject: str
    target: int
    unit: Unit = "amount"


def _measured(metric: Metric) -> _Measured:
    source = metric.resource or metric.container_resource
    if source is None:
        named = metric.pods or metric.object or metric.external
        name = (named.metric.name or "") if named is not None and named.metric is not None else ""
        return _of_amount(name, (named.target if named is not None else None) or Target())
    name, target = source.name or "", source.target or Target()
    if metric.container_resource is not None:
        name = f"{name} of container {metric.container_resource.container}"
    if target.average is None:
        return _Measured(name, target.utilization or 0, "percent")
    found = _of_amount(name, target)
    whole = source.name == "memory" and found.target % 1000 == 0
    return _Measured(found.subject, found.target // 1000, "bytes") if whole else found


def _of_amount(name: str, target: Target) -> _Measured:
    if target.average is not None:
        return _Measured(f"{name} per pod", amount(target.average) or 0)
    return _Measured(name, amount(target.value) or 0)
