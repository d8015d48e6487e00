"""Hvpa manifests: valid ones, and ones with faults in any place that the tables know."""

import re
from itertools import accumulate
from typing import Any

from hypothesis import strategies as st

from cluster.fuzz.changes import Changes, Manifest, Path, changed, look
from cluster.fuzz.odd_values import odd_amounts, odd_texts
from cluster.fuzz.sizes import AMOUNTS, ODD_PARTS, containers, modes, update_policies
from cluster.fuzz.watermarks import sound_metadata, targets
from hypot.core.quantity import Quantity, is_quantity
from hypot.kinds.hpa.fields import ScalingRules
from hypot.kinds.hpa.rules import POLICY_TYPES, SELECT_POLICIES
from hypot.kinds.hvpa import Hvpa
from hypot.kinds.hvpa.crd import HPA_SHAPES
from hypot.kinds.hvpa.fields import EXTRAPOLATIONS, MAINTENANCE_WINDOW, METADATA, MODES, MOST_REPLICAS
from hypot.kinds.hvpa.interval_rules import MAX_INTERVALS
from hypot.kinds.hvpa.rules import MAX_METRICS, MAX_WEIGHTS
from hypot.kinds.node import STRING, STRINGS
from hypot.kinds.vpa.fields import RESOURCES
from hypot.kinds.wpa.rules import QUANTITY_TEXT

# Valid manifests.

percentages = st.sampled_from([0, 1, 30, 100])
changes = {
    resource: st.fixed_dictionaries(
        {}, optional={"value": st.sampled_from(AMOUNTS[resource]), "percentage": percentages}
    )
    for resource in RESOURCES
}
shares = st.fixed_dictionaries({}, optional=changes)
overlaps = st.fixed_dictionaries(
    {}, optional=dict.fromkeys(RESOURCES, st.fixed_dictionaries({}, optional={"percentage": percentages}))
)
scales = st.fixed_dictionaries(
    {},
    optional={
        "updatePolicy": st.fixed_dictionaries({}, optional={"updateMode": st.sampled_from(MODES)}),
        "minChange": st.fixed_dictionaries({}, optional={**changes, "replicas": changes["cpu"]}),
        "stabilizationDuration": st.sampled_from(["0", "3m", "1h30m", "1.5h", ".5s", "+90s", "100ms", "5µs"]),
    },
)
both_scales = {"scaleUp": scales, "scaleDown": scales}
windows = st.sampled_from(
    [{"begin": "220000+0100", "end": "010000+0100"}, {"begin": "000000-2460", "end": "235959+0000"}]
)
_NAME = {"name": "hits", "selector": {"matchLabels": {"a": "b"}}}
_AVERAGE = {"type": "AverageValue", "averageValue": "500m"}
_SERVICE = {"kind": "Service", "name": "web", "apiVersion": "v1"}
metrics = st.sampled_from(
    [
        {"type": "Resource", "resource": {"name": "cpu", "target": {"type": "Utilization", "averageUtilization": 80}}},
        {"type": "Resource", "resource": {"name": "memory", "targetAverageUtilization": 80}},
        {"type": "Resource", "resource": {"name": "memory", "targetAverageValue": "1Gi"}},
        {"type": "ContainerResource", "containerResource": {"name": "cpu", "container": "app", "target": _AVERAGE}},
        {"type": "Pods", "pods": {"metric": _NAME, "target": _AVERAGE}},
        {"type": "Pods", "pods": {"metricName": "hits", "targetAverageValue": 2}},
        {"type": "Object", "object": {"target": _SERVICE, "metricName": "hits", "targetValue": 2}},
        {"type": "Object", "object": {"describedObject": _SERVICE, "metric": _NAME, "target": _AVERAGE}},
        {"type": "External", "external": {"metric": _NAME, "target": {"type": "Value", "value": "2k"}}},
        {"type": "External", "external": {"metricName": "hits", "metricSelector": {}, "targetAverageValue": "2"}},
    ]
)
_PACE = {
    "stabilizationWindowSeconds": st.sampled_from([0, 3600]),
    "selectPolicy": st.sampled_from(SELECT_POLICIES),
    "tolerance": st.sampled_from([0, "0.1", "50m"]),
    "policies": st.lists(
        st.fixed_dictionaries(
            {
                "type": st.sampled_from(POLICY_TYPES),
                "value": st.sampled_from([1, 100]),
                "periodSeconds": st.sampled_from([1, 1800]),
            }
        ),
        min_size=1,
        max_size=2,
    ),
}
behaviors = st.fixed_dictionaries(
    {}, optional=dict.fromkeys(("scaleUp", "scaleDown"), st.fixed_dictionaries({}, optional=_PACE))
)
_LABELS = {"app": "web"}
_SELECTORS = ({}, {"matchLabels": _LABELS}, {"matchExpressions": [{"key": "app", "operator": "Exists"}]})


def _block(spec: Manifest, **more: st.SearchStrategy[Manifest]) -> st.SearchStrategy[Manifest]:
    """A source: its template has the labels that its selector requires."""
    metadata = st.fixed_dictionaries(
        {"labels": st.just(_LABELS)},
        optional={"name": st.just("any"), "annotations": st.just({"hypot.dev/cpu-half-life": "24h"})},
    )
    specified = {"spec": st.fixed_dictionaries({}, optional=spec)}
    template = st.fixed_dictionaries({"metadata": metadata}, optional=specified)
    return st.fixed_dictionaries(
        {"template": template},
        optional={"deploy": st.booleans(), "selector": st.sampled_from(_SELECTORS), **both_scales, **more},
    )


_BOUNDS = {"minAllowed": {"cpu": "1m", "memory": 1}, "maxAllowed": {"cpu": "1k", "memory": "1Ti"}}
policies = st.tuples(
    st.fixed_dictionaries(
        {"containerName": containers},
        optional={
            "controlledResources": st.just(["cpu", "memory"]),
            **{key: st.just(amounts) for key, amounts in _BOUNDS.items()},
        },
    ),
    modes,
).map(lambda parts: parts[0] | parts[1])
hpa_specs = {"metrics": st.lists(metrics, max_size=3), "behavior": behaviors}
vpa_specs = {
    "updatePolicy": update_policies,
    "resourcePolicy": st.fixed_dictionaries({}, optional={"containerPolicies": st.lists(policies, max_size=2)}),
}
blocks = st.fixed_dictionaries(
    {},
    optional={
        "hpa": _block(hpa_specs),
        "vpa": _block(vpa_specs, limitsRequestsGapScaleParams=shares),
        "replicas": st.sampled_from([0, 3]),
        "baseResourcesPerReplica": shares,
        "limitsRequestsGapScaleParams": shares,
        "scalingIntervalsOverlap": overlaps,
        "maintenanceTimeWindow": windows,
        **both_scales,
    },
)


@st.composite
def _intervals(draw: st.DrawFn) -> list[Manifest]:
    """Replica counts that rise, and sizes that do not fall."""
    steps = draw(st.lists(st.tuples(*[st.integers(1, 3), st.integers(0, 900)]), min_size=1, max_size=4))
    counts = accumulate(step for step, _ in steps)
    sizes = accumulate((more for _, more in steps), initial=draw(st.sampled_from([1, 500, 999])))
    made = []
    for count, size in zip(counts, sizes, strict=False):
        sized = {"cpu": f"{size}m", "memory": draw(st.sampled_from([f"{size}Mi", size * 2**20]))}
        way = draw(st.sampled_from([None, *EXTRAPOLATIONS]))
        one = {"maxReplicas": count, "maxResources": sized, "effectiveIntervalExtrapolation": way}
        made.append({key: value for key, value in one.items() if value is not None})
    return made


_WEIGHTS = [{"vpaWeight": 0, "startReplicaCount": 1, "lastReplicaCount": 3}, {"startReplicaCount": 4}, {}]


@st.composite
def specs(draw: st.DrawFn) -> Manifest:
    spec = {"targetRef": draw(targets), **draw(blocks)}
    if draw(st.sampled_from([True, True, True, False])):
        spec["scalingIntervals"] = made = draw(_intervals())
        if draw(st.booleans()):
            counts = {"minReplicas": 1, "maxReplicas": made[-1]["maxReplicas"]}
            spec["hpa"] = {"deploy": True, "template": {"spec": counts}}
            if draw(st.booleans()):
                del made[-1]["maxReplicas"]
    else:
        spec["weightBasedScalingIntervals"] = _WEIGHTS
    if MAINTENANCE_WINDOW in str(spec):
        spec["maintenanceTimeWindow"] = draw(windows)
    return spec


def manifest_of(metadata: Manifest, spec: Manifest) -> Manifest:
    return {"apiVersion": Hvpa.API_VERSION, "kind": Hvpa.KIND, "metadata": metadata, "spec": spec}


sound = st.builds(manifest_of, sound_metadata, specs())

# Values on both sides of the limits of the rules.

odd_words = st.sampled_from(
    (
        *("", " ", "a", "a/b", "a/b/c", "//", "a\n", "\x00", "é" * 300, "null", "off", "Sometimes", "logarithmic"),
        *("3m", "-3m", "3", "1h1h", "1d", "1.s", ".s", "9999999999s", "3m\n", " 3m", "9s" * 32, "9s" * 33),
        *("220000+0100", "240000+0100", "2200+0100", "220000", "220000Z", "220000-2460", "220000+0100\n"),
    )
)
odd_metadata = st.one_of(
    st.dictionaries(st.sampled_from(["labels", "annotations"]), odd_texts, max_size=2),
    st.sampled_from(
        [
            {"name": 1},
            {"x": 1},
            {"ownerReferences": []},
            {"ownerReferences": [{}]},
            {"creationTimestamp": None},
            {"creationTimestamp": "yesterday"},
            {"labels": []},
            {"annotations": {"hypot.dev/cpu-half-life": "soon"}},
        ]
    ),
)


def _is_plain_or_none(value: Any) -> bool:
    """HPAs also accept spellings such as `.` and `-0m`, which no schema should; schemas accept 1e300."""
    if not is_quantity(value):
        return isinstance(value, str)
    plain = not isinstance(value, str) or re.fullmatch(QUANTITY_TEXT, value) is not None
    return plain and (Quantity.parse(value).nanos != 0 or "-" not in str(value))


HPA_AMOUNT = HPA_SHAPES[ScalingRules, "tolerance"]
odd_hpa_amounts = odd_amounts.filter(_is_plain_or_none)
COUNTS = (0, 1, 2, MAX_METRICS, MAX_METRICS + 1, MAX_INTERVALS, MAX_INTERVALS + 1, MAX_WEIGHTS + 1)
odd_counts = st.sampled_from([-1, 0, 1, 2, 3, 9, MOST_REPLICAS, MOST_REPLICAS + 1, 2**31, 1.0, "1"])
ODD = (*ODD_PARTS, (STRING, odd_words), (STRINGS, odd_texts), (METADATA, odd_metadata), (HPA_AMOUNT, odd_hpa_amounts))
PLACES: dict[Path, st.SearchStrategy[Any]] = {
    ("spec", "scalingIntervals", 0, "maxReplicas"): odd_counts,
    **{("spec", "hpa", "template", "spec", key): odd_counts for key in ("minReplicas", "maxReplicas")},
}


_OLD = {"metricName", "metricSelector", "targetAverageUtilization", "targetAverageValue", "targetValue"}


def _has_one_form(manifest: Manifest) -> bool:
    """Whether no metric mixes both forms: for such a metric the rules read only the old form."""
    written = look(manifest, ("spec", "hpa", "template", "spec", "metrics"))
    listed = written if isinstance(written, list) else []
    return not any(isinstance(metric, dict) and _has_both(metric) for metric in listed)


def _has_both(metric: Manifest) -> bool:
    keys = [(kind, key) for kind, source in metric.items() if isinstance(source, dict) for key in source]
    new = [key in {"metric", "describedObject"} or (key == "target" and kind != "object") for kind, key in keys]
    return any(new) and any(key in _OLD for _, key in keys)


manifests = changed(sound, Changes(Hvpa, ODD, COUNTS, PLACES)).filter(_has_one_form)
