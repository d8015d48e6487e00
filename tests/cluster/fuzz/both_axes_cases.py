"""Named Hvpas: those that are easy to misjudge, and rules that a definition does not have."""

from typing import Any

from cluster.crds import Unsaid, beside
from cluster.fuzz.changes import Manifest
from cluster.fuzz.size_cases import noted, of_parts
from hypot.kinds.hvpa.fields import MOST_REPLICAS
from hypot.kinds.hvpa.interval_rules import MAX_INTERVALS
from hypot.kinds.hvpa.rules import MAX_METRICS, MAX_WEIGHTS
from hypot.kinds.problem import Problem
from hypot.kinds.vpa.fields import LONGEST_AMOUNT
from hypot.kinds.vpa.rules import MAX_POLICIES
from hypot.kinds.wpa.rules import MAX_SELECTOR_ENTRIES, OPERATORS, VALUES_NEEDED
from unit.policy.hvpa.hvpa_cases import RELEASED, at, hpa, manifest, policy, seed, sized, vpa

COUNTS = ("spec.hpa.template.spec.minReplicas", "spec.hpa.template.spec.maxReplicas")


def with_counts(field: str, unreadable: set[str]) -> bool:
    """The replica counts of the hpa block also bound the intervals."""
    bounded = field.startswith(("spec.scalingIntervals", "spec.weightBasedScalingIntervals"))
    return beside(field, unreadable) or (bounded and not unreadable.isdisjoint(COUNTS))


def measured(*metrics: Manifest) -> Manifest:
    return seed(hpa=hpa(metrics=list(metrics)))


def resource(**target: Any) -> Manifest:
    return {"type": "Resource", "resource": {"name": "cpu", "target": target}}


def external(name: str = "hits", **target: Any) -> Manifest:
    return {"type": "External", "external": {"metric": {"name": name}, "target": target}}


def of_object(**source: Any) -> Manifest:
    return {"type": "Object", "object": {"metric": {"name": "hits"}, "target": {"type": "Value", "value": 1}, **source}}


def of_old_object(**target: Any) -> Manifest:
    return {"type": "Object", "object": {"target": target, "metricName": "hits", "targetValue": 1}}


def paced(**pace: Any) -> Manifest:
    return seed(hpa=hpa(behavior={"scaleUp": pace}))


def template(block: str, **metadata: Any) -> Manifest:
    return seed(**{block: {"deploy": True, "template": {"metadata": metadata}}})


def selecting(**selector: Any) -> Manifest:
    return seed(hpa={**hpa(labels={"app": "web"}), "selector": selector})


_HALF = {"type": "Utilization", "averageUtilization": 50}
_ONE = {"type": "Value", "value": 1}

# The largest manifest.

_LONG = {"cpu": "1" * LONGEST_AMOUNT, "memory": "1" * LONGEST_AMOUNT}
_NO_END = {"cpu": "9" * LONGEST_AMOUNT, "memory": "9" * LONGEST_AMOUNT}
_EXPRESSION = {"key": "a" * 63, "operator": "NotIn", "values": ["b" * 63] * 4}
_SELECTOR = {"matchExpressions": [_EXPRESSION] * MAX_SELECTOR_ENTRIES}
_POLICY = policy("c" * 63, low={"cpu": 1, "memory": 1}, high=_NO_END, controlledResources=["cpu", "memory"] * 5)
_METRIC = {
    "type": "External",
    "external": {
        "metric": {"name": "m" * 63, "selector": _SELECTOR},
        "target": {"type": "Value", "value": "1" * LONGEST_AMOUNT},
    },
}
_LIMIT = {"type": "Pods", "value": 4, "periodSeconds": 60}
LARGEST = sized(
    *[(100 * (i + 1), _LONG["cpu"], _LONG["memory"], "linearPerPod") for i in range(MAX_INTERVALS)],
    hpa=hpa(minReplicas=1, metrics=[_METRIC] * MAX_METRICS, behavior={"scaleUp": {"policies": [_LIMIT] * 100}}),
    vpa=vpa(*[_POLICY] * MAX_POLICIES),
)

TAKEN: dict[str, Manifest] = {
    "the proposal's": seed(),
    "a released one": manifest(RELEASED),
    "the largest manifest": LARGEST,
    "the most weights": manifest(weightBasedScalingIntervals=[{"vpaWeight": 50}] * MAX_WEIGHTS),
    "null is absent": seed(hpa=None, vpa=None, scaleUp=None),
    "null in the place of a size": sized((2, 1, "1Gi", "horizontalOnly")),
    "a bare fraction as a tolerance": paced(tolerance=0.1),
    "a bare fraction as a target": measured(external(type="Value", value=0.5)),
    "as many replicas as there may be": sized((1, 1, "1Gi"), (None, 1, "1Gi"), hpa=hpa(maxReplicas=MOST_REPLICAS)),
    "an hpa block beyond that": sized((1, 1, "1Gi"), hpa=hpa(maxReplicas=MOST_REPLICAS + 1)),
    "a template as Go writes it": template("hpa", creationTimestamp=None, name=""),
    "an Object metric of either form": measured(
        of_object(describedObject={"kind": "Service", "name": "web"}), of_old_object(kind="Service", name="web")
    ),
}
REFUSED: dict[str, Manifest] = {
    "a last interval of more replicas than there may be": sized(
        (1, 1, "1Gi"), (None, 1, "1Gi"), hpa=hpa(maxReplicas=MOST_REPLICAS + 1)
    ),
    "a first interval that the hpa block ends before": sized((None, 1, "1Gi"), hpa=hpa(minReplicas=3, maxReplicas=2)),
    "null in the place of an interval": manifest(scalingIntervals=[None]),
    "null for another resource": at(["scalingIntervals", 0, "maxResources", "storage"], None),
    "a count with a fraction": sized((2.0, 1, "1Gi")),
    "a size with a fraction": sized((2, 0.5, "1Gi")),
    "no policies of a pace": paced(policies=[]),
    **{
        f"a utilization of {percent}": measured(resource(type="Utilization", averageUtilization=percent))
        for percent in (0, -5)
    },
    "an old utilization of 0": measured(
        {"type": "Resource", "resource": {"name": "cpu", "targetAverageUtilization": 0}}
    ),
    "a negative tolerance": paced(tolerance="-0.1"),
    "a negative bare tolerance": paced(tolerance=-0.1),
    "a metric without a type": measured({"resource": {"name": "cpu", "target": _HALF}}),
    "a boolean as a target": measured(external(type="Value", value=True)),
    "a metric whose selector names no label": measured(
        {
            "type": "External",
            "external": {
                "metric": {"name": "a", "selector": {"matchExpressions": [{"operator": "Exists"}]}},
                "target": {"type": "Value", "value": 2},
            },
        }
    ),
    "a selector whose label is null": selecting(matchExpressions=[{"key": None, "operator": "Exists"}]),
    "a negative gap of the released form": at(["vpa", "limitsRequestsGapScaleParams", "cpu", "value"], "-1"),
    "a negative percentage of the released form": at(
        ["vpa", "limitsRequestsGapScaleParams", "replicas", "percentage"], -1
    ),
}

# Rules that a definition cannot express, or does not.


def is_complete(problem: Problem) -> bool:
    """Whether a selector is complete, so that only its names can be invalid."""
    return all(
        one.get("key")
        and one.get("operator") in OPERATORS
        and (one["operator"] in VALUES_NEEDED) == bool(one.get("values"))
        for one in problem.value.get("matchExpressions") or ()
    )


def is_forbidden(problem: Problem) -> bool:
    return problem.kind == "Forbidden"


_TEMPLATE = r"spec\.[hv]pa\.template\.metadata\."
_SUMS = "CEL has no sums of quantities that an API server would pay for"
_NAMES = "whether a text is a label, a definition could say only with a rule for each of them"
_OTHER_METADATA = "a template's metadata is kept as it is; only what hypot reads has a type"
_AN_HPA = "an HPA's own rules; a metric is checked when the HPA is made of it"


# A definition only checks that a metric has the block that its type names, and the types of its values.
_METRICS: dict[str, Manifest] = {
    "metric-name": external("", **_ONE),
    "metric-target": resource(type="Utilization"),
    "target-type": resource(type="Most", averageUtilization=50),
    "target-value": external(type="Value", value=0),
    "resource-name": {"type": "Resource", "resource": {"target": _HALF}},
    "container-name": {
        "type": "ContainerResource",
        "containerResource": {"name": "cpu", "container": "a b", "target": _HALF},
    },
    "reference-kind": of_object(describedObject={"name": "web"}),
    "reference-name": of_object(describedObject={"kind": "Service", "name": ".."}),
    "reference-version": of_object(describedObject={"kind": "Service", "name": "web", "apiVersion": "a/b/c"}),
}


UNSAID = (
    Unsaid("interval-total", r"spec\.scalingIntervals.*", _SUMS, sized((2, "1", "1Gi"), (4, "400m", "1Gi"))),
    Unsaid(
        "interval-bounds", r"spec\.scalingIntervals.*", _SUMS, sized((2, 1, "1Gi"), vpa=vpa(policy(low={"cpu": 2})))
    ),
    Unsaid("whole-amount", r"spec\.scalingIntervals.*", _SUMS, sized((2, 1, "500m"))),
    Unsaid(
        "overlap", r"spec\.scalingIntervalsOverlap\..*", _SUMS, at(["scalingIntervalsOverlap", "cpu", "value"], "500m")
    ),
    Unsaid(
        "recommendations",
        r"metadata\.annotations\..*",
        "a definition sees no annotations",
        noted(seed(), recommendations="theirs"),
    ),
    Unsaid(
        "knob",
        _TEMPLATE + r"annotations\..*",
        "knobs are an open list with ranges of their own",
        template("vpa", annotations={"hypot.dev/cpu-half-life": "soon"}),
    ),
    Unsaid("labels", _TEMPLATE + "labels", _NAMES, template("hpa", labels={"a": "b c"})),
    Unsaid("annotations", _TEMPLATE + "annotations", _NAMES, template("hpa", annotations={"a b": "c"})),
    Unsaid("selector", r"spec\..*[sS]elector", _NAMES, selecting(matchLabels={"a b": "c"}), is_complete),
    Unsaid(
        "selector",
        _TEMPLATE + "labels",
        "a definition could compare labels only one by one",
        selecting(matchLabels={"app": "api"}),
    ),
    Unsaid("type", _TEMPLATE + r"(?!labels|annotations|ownerReferences).*", _OTHER_METADATA, template("hpa", name=1)),
    Unsaid("unknown-field", _TEMPLATE + r".*", _OTHER_METADATA, template("hpa", label={"a": "b"})),
    Unsaid(
        "unknown-field",
        r".*\.metrics\[\d+\]\.object\.(describedObject|target)\..*",
        "in the old form the object stands where the new one has its target",
        measured(of_old_object(kind="Service", name="web", type="Value")),
    ),
    Unsaid(
        "metric-source",
        r".*\.metrics\[\d+\]\..*",
        _AN_HPA,
        measured(external(**_ONE) | resource(**_HALF)),
        is_forbidden,
    ),
    *(Unsaid(rule, r".*\.metrics\[\d+\]\..*", _AN_HPA, measured(metric)) for rule, metric in _METRICS.items()),
    *of_parts(
        seed(vpa=vpa(policy(high={"memory": "4500000000000000.5"}))),
        seed(vpa=vpa(policy(low={"example.com/gpu": 2}, high={"example.com/gpu": 1}))),
    ),
)
