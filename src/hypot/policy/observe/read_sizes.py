"""Reads what sizes depend on from objects as kubectl prints them: recommendations, LimitRanges, Nodes, templates."""

from collections.abc import Iterator, Mapping
from typing import Any

from hypot.core.amount import RESOURCES, of_milli
from hypot.kinds.base import Kind
from hypot.kinds.values.nested import inner, mappings
from hypot.policy.model.seen import (
    Bounds,
    ClusterNode,
    Container,
    Controller,
    CountAdvice,
    Failure,
    LimitRange,
    Recommendation,
)
from hypot.policy.observe.read_pods import name_of, read_amounts, read_container

# The recommendation of an object with one of these conditions must not be used.
_UNUSABLE = ("ConfigUnsupported", "ConfigDeprecated", "LowConfidence")
_KEYS = {"target": "target", "lower": "lowerBound", "upper": "upperBound", "uncapped": "uncappedTarget"}


def read_advice(vpa: Kind) -> Recommendation | Failure:
    """The recommendation in a VerticalPodAutoscaler's status, unless its conditions forbid using it."""
    status = vpa.status if isinstance(vpa.status, dict) else {}
    origin = f"status of VerticalPodAutoscaler {vpa.name}"
    conditions = {str(c.get("type")): c.get("status") for c in mappings(status.get("conditions"))}
    for kind in _UNUSABLE:
        if conditions.get(kind) == "True":
            return Failure(f"the {origin} says {kind}")
    if conditions.get("RecommendationProvided", "True") != "True":
        return Failure(f"the {origin} says that there is no recommendation")
    given = list(mappings(inner(status, "recommendation").get("containerRecommendations")))
    if not given:
        return Failure(f"there is no history of usage, and the {origin} has no recommendation")
    return Recommendation(tuple([_bounds(one) for one in given]), origin)


def _bounds(data: Mapping[str, Any]) -> Bounds:
    read = {name: _amounts(data.get(key)) for name, key in _KEYS.items()}
    return Bounds(str(data.get("containerName") or ""), **read)


def _amounts(data: Any) -> dict[str, int]:
    found = read_amounts(data)
    return {resource: of_milli(resource, found[resource]) for resource in RESOURCES if resource in found}


def read_limit_range(data: Mapping[str, Any]) -> tuple[LimitRange, ...]:
    items = mappings(inner(data, "spec").get("limits"))
    made = [
        LimitRange(
            str(item.get("type") or ""),
            read_amounts(item.get("min")),
            read_amounts(item.get("max")),
            read_amounts(item.get("default")),
            read_amounts(item.get("maxLimitRequestRatio")),
        )
        for item in items
    ]
    return tuple(made)


def read_node(data: Mapping[str, Any]) -> ClusterNode:
    """Read a node; the requests of its pods are added elsewhere."""
    status = inner(data, "status")
    pressure = any(
        c.get("status") == "True" and c.get("reason") == "KubeletHasInsufficientMemory"
        for c in mappings(status.get("conditions"))
    )
    return ClusterNode(name_of(data), read_amounts(status.get("allocatable")), short_of_memory=pressure)


def read_template(workload: Mapping[str, Any]) -> tuple[Container, ...]:
    """The containers of a workload's pod template."""
    spec = inner(workload, "spec", "template", "spec")
    if not spec:
        spec = inner(workload, "spec", "jobTemplate", "spec", "template", "spec")
    return tuple([read_container(c) for c in mappings(spec.get("containers"))])


def read_controller(data: Mapping[str, Any]) -> Controller:
    """How many pods a controller keeps: for a DaemonSet the ready ones, for a Job unknown (its live pods count)."""
    kind = str(data.get("kind") or "")
    if kind == "DaemonSet":
        count = inner(data, "status").get("numberReady")
    elif kind == "Job":
        count = None
    else:
        count = inner(data, "spec").get("replicas", 1)
    return Controller(kind, name_of(data), count if type(count) is int else None)


def read_count_advice(hpa: Kind) -> CountAdvice | Failure:
    """The count that an HPA's status asks for."""
    status = inner(hpa.status)
    desired, current = status.get("desiredReplicas"), status.get("currentReplicas")
    origin = f"the status of HorizontalPodAutoscaler {hpa.name}"
    conditions = {str(c.get("type")): c.get("status") for c in mappings(status.get("conditions"))}
    if conditions.get("ScalingActive") == "False":
        return Failure(f"{origin} says that it is not active")
    if type(desired) is not int or desired < 1:
        return Failure(f"{origin} does not ask for a number of replicas")
    utilization = dict(_utilizations(status.get("currentMetrics")))
    return CountAdvice(desired, current if type(current) is int else 0, origin, utilization)


def _utilizations(metrics: Any) -> Iterator[tuple[tuple[str, str], int]]:
    """The resource, the container and the utilization of each metric of a status that has one."""
    for metric in mappings(metrics):
        source = inner(metric, "resource") or inner(metric, "containerResource")
        percent = inner(source, "current").get("averageUtilization")
        if type(percent) is int and percent >= 0:
            yield (str(source.get("name") or ""), str(source.get("container") or "")), percent
