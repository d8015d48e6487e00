"""One valid manifest that has every field, and each place in it changed once to each value to be tried there."""

import copy
from collections.abc import Iterator
from typing import Any

from cluster.fuzz.manifest_values import JUNK, METADATA, POOLS, RESOURCES, STATUS, TYPES

Object = dict[str, Any]
Place = tuple[str | int, ...]

METRIC = {"name": "requests", "selector": {"matchLabels": {"queue": "orders"}}}
AMOUNT = {"type": "AverageValue", "averageValue": "500m"}
SHARE = {"type": "Utilization", "averageUtilization": 60}
SERVICE = {"apiVersion": "v1", "kind": "Service", "name": "web"}
PACE = {
    "stabilizationWindowSeconds": 60,
    "selectPolicy": "Max",
    "tolerance": "0.1",
    "policies": [
        {"type": "Pods", "value": 4, "periodSeconds": 60},
        {"type": "Percent", "value": 50, "periodSeconds": 60},
    ],
}
EVERYTHING: Object = {
    "apiVersion": "autoscaling/v2",
    "kind": "HorizontalPodAutoscaler",
    "metadata": {"name": "web"},
    "spec": {
        "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"},
        "minReplicas": 1,
        "maxReplicas": 9,
        "metrics": [
            {"type": "Resource", "resource": {"name": "cpu", "target": SHARE}},
            {"type": "Resource", "resource": {"name": "memory", "target": AMOUNT}},
            {"type": "ContainerResource", "containerResource": {"name": "cpu", "container": "app", "target": SHARE}},
            {"type": "Pods", "pods": {"metric": METRIC, "target": AMOUNT}},
            {"type": "Object", "object": {"describedObject": SERVICE, "metric": METRIC, "target": AMOUNT}},
            {"type": "External", "external": {"metric": METRIC, "target": {"type": "Value", "value": "5"}}},
        ],
        "behavior": {"scaleUp": PACE, "scaleDown": PACE},
    },
}
# Times that some parsers accept and others do not.
ODD_TIMES = (
    *("2026-03-02T09:30:60Z", "2026-03-02t09:30:00Z", "2026-03-02T09:30:00z", "2026-03-02T24:00:00Z"),
    *("2026-03-02 09:30:00Z", "+2026-03-02T09:30:00Z", "2026-03-02T09:30:00", "2026-03-02T09:30:00.Z"),
    *("2026-03-02T09:30:00+0100", "0000-02-29T00:00:00Z", "10000-01-01T00:00:00Z", "2026-02-29T00:00:00Z"),
)


def one_by_one() -> Iterator[Object]:
    for key, values in METADATA.items():
        yield from (_with(("metadata", key), value) for value in values)
    for key, values in STATUS.items():
        yield from (_with(("status",), {key: value}) for value in values)
    for value in ODD_TIMES:
        yield _with(("metadata", "creationTimestamp"), value)
        yield _with(("status",), {"lastScaleTime": value})
    for place in _places(EVERYTHING["spec"], ("spec",)):
        yield from (_with(place, value) for value in _values(place))
        yield _without(place)


def _places(data: Any, place: Place) -> Iterator[Place]:
    """Every key, except those below a selector."""
    inside = data.items() if isinstance(data, dict) else enumerate(data) if isinstance(data, list) else ()
    for key, value in inside:
        yield (*place, key)
        if key != "selector":
            yield from _places(value, (*place, key))


def _values(place: Place) -> tuple[Any, ...]:
    key, above = place[-1], place[-2]
    if key == "type":
        return TYPES["target" if above == "target" else "policy" if "policies" in place else "metric"]
    if key == "name" and above in {"resource", "containerResource"}:
        return RESOURCES
    return POOLS.get(str(key), JUNK)


def _with(place: Place, value: Any) -> Object:
    data = copy.deepcopy(EVERYTHING)
    _parent(data, place)[place[-1]] = copy.deepcopy(value)
    return data


def _without(place: Place) -> Object:
    data = copy.deepcopy(EVERYTHING)
    del _parent(data, place)[place[-1]]
    return data


def _parent(data: Any, place: Place) -> Any:
    for key in place[:-1]:
        data = data[key]
    return data
