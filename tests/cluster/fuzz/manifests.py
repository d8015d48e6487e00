"""HorizontalPodAutoscalers around every rule of the API server: valid, with one fault, with several."""

import copy
import json
from typing import Any

from hypothesis import strategies as st

from cluster.fuzz.manifest_values import JUNK, METADATA, PERCENTAGE, POOLS, RESOURCES, SOURCES, STATUS, TYPES

Object = dict[str, Any]
Place = tuple[str | int, ...]

KIND = "HorizontalPodAutoscaler"
CARRIED = "autoscaling.alpha.kubernetes.io/"


def sample(values: Any) -> st.SearchStrategy[Any]:
    """One of the values, as a copy that may be changed."""
    return st.sampled_from(list(values)).map(copy.deepcopy)


quantities = st.sampled_from(["1", "500m", "1.5Gi", "1e3", "250", "0.5", 7, 0.25])
names = st.sampled_from(["requests", "queue_depth", "http.rate"])
references = st.sampled_from(
    [
        {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"},
        {"apiVersion": "argoproj.io/v1alpha1", "kind": "Rollout", "name": "Web"},
        {"apiVersion": "v1", "kind": "ReplicationController", "name": "web"},
        {"kind": "ReplicationController", "name": "web"},
    ]
).map(copy.deepcopy)
described = st.sampled_from([{"apiVersion": "v1", "kind": "Service", "name": "web"}, {"kind": "Service", "name": "w"}])
selectors = st.none() | st.fixed_dictionaries({"matchLabels": st.fixed_dictionaries({"queue": st.just("orders")})})


def target(*keys: str) -> st.SearchStrategy[Object]:
    """A target that is given by one of these keys."""
    forms = {
        "averageUtilization": ("Utilization", st.integers(1, 200)),
        "averageValue": ("AverageValue", quantities),
        "value": ("Value", quantities),
    }
    return st.one_of([st.fixed_dictionaries({"type": st.just(forms[key][0]), key: forms[key][1]}) for key in keys])


def named() -> st.SearchStrategy[Object]:
    return st.fixed_dictionaries({"name": names}, optional={"selector": selectors})


def source(kind: str) -> st.SearchStrategy[Object]:
    """The valid block of a metric type."""
    either = target("averageUtilization", "averageValue")
    blocks = {
        "Resource": {"name": st.sampled_from(["cpu", "memory", "gpu"]), "target": either},
        "ContainerResource": {
            "name": st.sampled_from(["cpu", "memory", "nvidia.com/gpu"]),
            "container": st.sampled_from(["app", "side-car"]),
            "target": either,
        },
        "Pods": {"metric": named(), "target": target("averageValue")},
        "Object": {
            "describedObject": described.map(copy.deepcopy),
            "metric": named(),
            "target": target("value", "averageValue"),
        },
        "External": {"metric": named(), "target": target("value", "averageValue")},
    }
    return st.fixed_dictionaries(blocks[kind])


def key_of(kind: str) -> str:
    return kind[:1].lower() + kind[1:]


metrics = st.sampled_from(SOURCES).flatmap(
    lambda kind: st.fixed_dictionaries({"type": st.just(kind), key_of(kind): source(kind)})
)
policies = st.fixed_dictionaries(
    {
        "type": st.sampled_from(["Pods", "Percent"]),
        "value": st.integers(1, 200),
        "periodSeconds": st.sampled_from([1, 15, 1800]),
    }
)
paces = st.fixed_dictionaries(
    {},
    optional={
        "policies": st.lists(policies, min_size=1, max_size=2),
        "stabilizationWindowSeconds": st.sampled_from([0, 300, 3600]),
        "selectPolicy": st.sampled_from(["Max", "Min", "Disabled"]),
        "tolerance": st.sampled_from(["0", "0.1", "50m", 0.05, "2"]),
    },
)
behaviors = st.fixed_dictionaries({}, optional={"scaleUp": paces, "scaleDown": paces})


@st.composite
def sound(draw: st.DrawFn) -> Object:
    """A manifest without a fault."""
    spec: Object = {"scaleTargetRef": draw(references), "maxReplicas": draw(st.integers(3, 50))}
    if draw(st.booleans()):
        spec["minReplicas"] = draw(st.integers(1, 3))
    if draw(st.integers(0, 3)):
        spec["metrics"] = draw(st.lists(metrics, max_size=3))
    if draw(st.booleans()):
        spec["behavior"] = draw(behaviors)
    return {"apiVersion": "autoscaling/v2", "kind": KIND, "metadata": {"name": "web"}, "spec": spec}


# What autoscaling/v1 carries in annotations, in its old spelling; the API server ignores what it cannot read.
CARRIED_METRICS = (
    [{"type": "Pods", "pods": {"metricName": "requests", "targetAverageValue": "5"}}],
    [{"type": "Resource", "resource": {"name": "memory", "targetAverageValue": "1Gi"}}],
    [{"type": "Resource", "resource": {"name": "memory", "targetAverageUtilization": 0}}],
    [{"type": "External", "external": {"metricName": "q", "targetValue": "+5", "metricSelector": {}}}],
    [
        {
            "type": "ContainerResource",
            "containerResource": {"name": "cpu", "container": "a", "targetAverageUtilization": 5},
        }
    ],
    [],
    {},
)
CARRIED_LIMITS = {"Policies": [{"Type": "Pods", "Value": 4, "PeriodSeconds": 15}], "SelectPolicy": "Min"}
CARRIED_BEHAVIORS = (
    {"ScaleUp": CARRIED_LIMITS, "ScaleDown": {**CARRIED_LIMITS, "StabilizationWindowSeconds": 5, "Tolerance": None}},
    {"ScaleUp": {**CARRIED_LIMITS, "StabilizationWindowSeconds": 7200}, "ScaleDown": CARRIED_LIMITS},
    {"ScaleUp": {**CARRIED_LIMITS, "SelectPolicy": None}},
    {"ScaleUp": {}, "ScaleDown": None},
    {"ScaleUp": {"SelectPolicy": "Max"}},
    {"ScaleUp": None, "ScaleDown": None},
    {},
    [],
)


@st.composite
def sound_v1(draw: st.DrawFn) -> Object:
    """A manifest of autoscaling/v1 without a fault, except in what its annotations carry."""
    spec: Object = {"scaleTargetRef": draw(references), "maxReplicas": draw(st.integers(3, 50))}
    spec |= draw(
        st.fixed_dictionaries({}, optional={"minReplicas": st.integers(1, 3), PERCENTAGE: st.integers(1, 200)})
    )
    metadata: Object = {"name": "web"}
    carried = {"metrics": CARRIED_METRICS, "behavior": CARRIED_BEHAVIORS, "conditions": ([], {}), "x y": ("z",)}
    key = draw(st.sampled_from([None, None, *carried]))
    if key is not None:
        metadata["annotations"] = {CARRIED + key: draw(st.sampled_from(carried[key]).map(json.dumps))}
    return {"apiVersion": "autoscaling/v1", "kind": KIND, "metadata": metadata, "spec": spec}


def places(value: Any, where: Place = ()) -> list[Place]:
    """Every path in a manifest, except the root."""
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [place for key, inner in items for place in ((*where, key), *places(inner, (*where, key)))]


def look(data: Any, where: Place) -> Any:
    for part in where:
        data = data[part]
    return data


def pool(data: Object, where: Place) -> tuple[Any, ...]:
    """The values to try at a place: those for its key, or junk."""
    key = where[-1]
    if key == "name" and {"resource", "containerResource"} & set(where[-2:]):
        return RESOURCES
    if key != "type":
        return POOLS.get(str(key), JUNK)
    owner = look(data, where[:-1])
    return TYPES["policy" if "periodSeconds" in owner else "target" if "target" in where else "metric"]


@st.composite
def with_another_value(draw: st.DrawFn, data: Object) -> None:
    """Replace a value with a plausible one, valid or not."""
    by_key: dict[Any, list[Place]] = {}
    for place in places(data["spec"]):
        if place[-1] in POOLS or place[-1] == "type":
            by_key.setdefault(place[-1], []).append(place)
    if by_key:
        where = draw(st.sampled_from(by_key[draw(st.sampled_from(sorted(by_key)))]))
        look(data["spec"], where[:-1])[where[-1]] = draw(sample(pool(data["spec"], where)))


@st.composite
def with_junk(draw: st.DrawFn, data: Object) -> None:
    """Put a value where it does not belong."""
    where = draw(st.sampled_from([("spec",), ("metadata",), *(("spec", *place) for place in places(data["spec"]))]))
    look(data, where[:-1])[where[-1]] = draw(sample(JUNK))


@st.composite
def without_something(draw: st.DrawFn, data: Object) -> None:
    where = draw(st.sampled_from(places(data["spec"])))
    look(data["spec"], where[:-1]).pop(where[-1])


@st.composite
def with_another_key(draw: st.DrawFn, data: Object) -> None:
    """Add a field that exists elsewhere, or nowhere."""
    blocks = [(), *(place for place in places(data["spec"]) if isinstance(look(data["spec"], place), dict))]
    owner = look(data["spec"], draw(st.sampled_from(blocks)))
    key = draw(st.sampled_from([*POOLS, "type", "minReplica", "MaxReplicas", "resource", "external", "x y"]))
    owner[key] = draw(sample(POOLS.get(key, JUNK)))


@st.composite
def with_another_source(draw: st.DrawFn, data: Object) -> None:
    """Add a second block to a metric, or a metric whose block may not match its type."""
    owned = data["spec"].get("metrics")
    kind = draw(st.sampled_from(SOURCES))
    if isinstance(owned, list) and owned and isinstance(owned[0], dict):
        owned[0][key_of(kind)] = draw(source(kind))
    else:
        data["spec"]["metrics"] = [{"type": draw(st.sampled_from(SOURCES)), key_of(kind): draw(source(kind))}]


@st.composite
def with_another_target(draw: st.DrawFn, data: Object) -> None:
    """Give a target several forms, or none."""
    found = [place for place in places(data["spec"]) if place[-1] == "target"]
    owner = look(data["spec"], draw(st.sampled_from(found))) if found else None
    if isinstance(owner, dict):
        for key in ("value", "averageValue", "averageUtilization"):
            owner.pop(key, None)
        for key in sorted(draw(st.sets(st.sampled_from(["value", "averageValue", "averageUtilization"])))):
            owner[key] = 5


@st.composite
def with_metadata(draw: st.DrawFn, data: Object) -> None:
    if not isinstance(data["metadata"], dict):
        return
    key = draw(st.sampled_from(list(METADATA)))
    data["metadata"][key] = draw(sample(METADATA[key]))
    if key == "generateName" and draw(st.booleans()):
        data["metadata"].pop("name", None)


@st.composite
def with_status(draw: st.DrawFn, data: Object) -> None:
    key = draw(st.sampled_from(list(STATUS)))
    data["status"] = draw(sample(JUNK)) if draw(st.integers(0, 7)) == 0 else {key: draw(sample(STATUS[key]))}


CHANGES = (
    *(with_another_value, with_another_value, with_another_value, with_junk, without_something, with_another_key),
    *(with_another_source, with_another_target, with_metadata, with_metadata, with_status),
)


@st.composite
def manifests(draw: st.DrawFn, made: st.SearchStrategy[Object]) -> Object:
    """A manifest with up to three changes, most of which are faults."""
    data = draw(made)
    for _ in range(draw(st.sampled_from([1, 2, 3, 1, 2, 0]))):
        if isinstance(data["spec"], dict) and data["spec"]:
            draw(draw(st.sampled_from(CHANGES))(data))
    return data
