"""What the CRD of VerticalPodAutoscalers needs beyond their fields: CEL rules, columns, status.

The rules for the parts are shared: the CRD of any kind with a template of such an autoscaler uses them too.
"""

from collections.abc import Iterator
from typing import Any

from hypot.kinds.base import Ref
from hypot.kinds.crd import (
    BLOCKED_COLUMN,
    CONDITION,
    GENERATION,
    OPEN,
    TEXT,
    Check,
    Facts,
    Place,
    PrinterColumn,
    cel_amount,
    listed,
)
from hypot.kinds.node import Node
from hypot.kinds.vpa import VPA
from hypot.kinds.vpa.fields import (
    FACTOR,
    FIXED,
    OFF,
    REQUESTS_AND_LIMITS,
    RESOURCES,
    ContainerPolicy,
    CPUBoost,
    EvictionRequirement,
    RecommenderRef,
    ResourcePolicy,
    UpdatePolicy,
)
from hypot.kinds.vpa.rules import MAX_POLICIES, MAX_RECOMMENDERS, MAX_REQUIREMENTS

# Groups under k8s.io belong to the Kubernetes community, which has approved this group and its kinds.
APPROVED = {"api-approved.kubernetes.io": "https://github.com/kubernetes/kubernetes/pull/63797"}
_GRAINS = {"cpu": "milli CPUs", "memory": "bytes"}
# From here on a floating-point number cannot distinguish a whole number from the next.
_EXACT = "4.0e15"


def _whole(place: str, resource: str) -> str:
    """A CEL test whether an amount is a whole number of its smallest units: it must equal the nearest whole number.

    CEL cannot multiply a quantity, and parsing one from text exceeds the cost limit of an API server. So millicores are
    computed by adding, and the nearest whole number is added to 0. A list with one item gives a value a name.

    API servers add to some quantities in place, so every sum starts with 0. They also treat fractions of binary units
    as powers of two. Adding 1 keeps an amount whole, and takes it out of the units of `0.1Ki`.
    """
    nearest = "quantity('0').add(int(a.asApproximateFloat() + 0.5))"
    test = f"a.asApproximateFloat() >= {_EXACT} || a.compareTo({nearest}) == 0"
    for _ in range(3 if resource == "cpu" else 0):
        test = f"[quantity('0'){'.add(a)' * 10}].all(a, {test})"
    return f"[quantity('1').add({cel_amount(place)})].all(a, {test})"


def _whole_check(place: str, given: str, resource: str, at: str) -> Check:
    message = f"must be a whole number of {_GRAINS[resource]}"
    return Check("whole-amount", f"!({given}) || {_whole(place, resource)}", message, at)


def range_checks(low_key: str = "minAllowed", high_key: str = "maxAllowed") -> Iterator[Check]:
    """The rules of `range_problems` for the least and the most of each resource."""
    for resource in RESOURCES:
        low, high = f"self.{low_key}['{resource}']", f"self.{high_key}['{resource}']"
        has_low = f"has(self.{low_key}) && '{resource}' in self.{low_key}"
        has_high = f"has(self.{high_key}) && '{resource}' in self.{high_key}"
        yield _whole_check(low, has_low, resource, f".{low_key}.{resource}")
        yield _whole_check(high, has_high, resource, f".{high_key}.{resource}")
        ordered = f"!({has_low} && {has_high}) || !{cel_amount(high)}.isLessThan({cel_amount(low)})"
        yield Check("allowed-range", ordered, f"must not be below {low_key}", f".{high_key}.{resource}")


def _policy_checks() -> Iterator[Check]:
    yield from range_checks()
    switched_off = f"has(self.mode) && self.mode == '{OFF}'"
    both = f"has(self.controlledValues) && self.controlledValues == '{REQUESTS_AND_LIMITS}'"
    message = f"must not be {REQUESTS_AND_LIMITS} if the mode is {OFF}"
    yield Check("controlled-values", f"!({switched_off} && {both})", message, ".controlledValues", "Forbidden")
    ratio = cel_amount("self.oomBumpUpRatio")
    at_least_one = f"!has(self.oomBumpUpRatio) || !{ratio}.isLessThan(quantity('1'))"
    yield Check("oom-bump-up", at_least_one, "must be greater than or equal to 1", ".oomBumpUpRatio")


def _boost_checks() -> Iterator[Check]:
    for kind, wanted, other in ((FACTOR, "factor", "quantity"), (FIXED, "quantity", "factor")):
        unless = f"!has(self.type) || self.type != '{kind}' || "
        yield Check(
            "startup-boost", f"{unless}has(self.{wanted})", f"must be set for type {kind}", f".{wanted}", "Required"
        )
        message = f"must not be set for type {kind}"
        yield Check("startup-boost", f"{unless}!has(self.{other})", message, f".{other}", "Forbidden")
    yield _whole_check("self.quantity", "has(self.quantity)", "cpu", ".quantity")


def _part_hints() -> Iterator[tuple[Place, dict[str, Any]]]:
    yield (ResourcePolicy, "containerPolicies"), {"maxItems": MAX_POLICIES}
    yield (UpdatePolicy, "evictionRequirements"), {"maxItems": MAX_REQUIREMENTS}
    named = {"type": "string", "enum": list(RESOURCES)}
    yield (ContainerPolicy, "controlledResources"), {"items": named}


# The rules of the parts, in any kind that contains them.
PART_REQUIRED: dict[type[Node], tuple[str, ...]] = {
    UpdatePolicy: ("updateMode",),
    ContainerPolicy: ("containerName",),
    EvictionRequirement: ("changeRequirement", "resources"),
    CPUBoost: ("type",),
}
PART_CHECKS: dict[type[Node], tuple[Check, ...]] = {
    ContainerPolicy: tuple(_policy_checks()),
    CPUBoost: tuple(_boost_checks()),
}
PART_HINTS: dict[Place, dict[str, Any]] = dict(_part_hints())

_AMOUNTS: dict[str, Any] = {
    "type": "object",
    "additionalProperties": {"anyOf": [{"type": "integer"}, TEXT], "x-kubernetes-int-or-string": True},
}


_RECOMMENDED: dict[str, Any] = {
    **OPEN,
    "properties": {
        "containerName": {**TEXT, "description": "the container"},
        "target": {**_AMOUNTS, "description": "the recommended request"},
        "lowerBound": {**_AMOUNTS, "description": "a pod with less is changed at once"},
        "upperBound": {**_AMOUNTS, "description": "a pod with more is changed at once"},
        "uncappedTarget": {**_AMOUNTS, "description": "the target without the bounds of its policy"},
    },
}
_CONDITION: dict[str, Any] = {
    **OPEN,
    "properties": {**CONDITION["properties"], "observedGeneration": {"type": "integer", "format": "int64"}},
}
_STATUS: dict[str, Any] = {
    **OPEN,
    "properties": {
        "recommendation": {
            **OPEN,
            "description": "the recommended sizes",
            "properties": {"containerRecommendations": listed("by container, sorted by name", _RECOMMENDED)},
        },
        "conditions": listed("the conditions, sorted by type", _CONDITION),
        "observedGeneration": GENERATION,
    },
}

_FIRST_TARGET = ".status.recommendation.containerRecommendations[0].target"
_COLUMNS = (
    PrinterColumn("Mode", "string", ".spec.updatePolicy.updateMode", "how recommendations reach the pods"),
    PrinterColumn("CPU", "string", f"{_FIRST_TARGET}.cpu", "cpu of the first container"),
    PrinterColumn("Mem", "string", f"{_FIRST_TARGET}.memory", "memory of the first container"),
    PrinterColumn(
        "Provided",
        "string",
        ".status.conditions[?(@.type=='RecommendationProvided')].status",
        "whether there is a recommendation",
    ),
    PrinterColumn("Age", "date", ".metadata.creationTimestamp", "time since creation"),
    BLOCKED_COLUMN,
    PrinterColumn(
        "MinReplicas",
        "integer",
        ".spec.updatePolicy.minReplicas",
        "no pod is disrupted while fewer are alive",
        wide=True,
    ),
)


FACTS = Facts(
    doc="Sizes the containers of a workload by what they use.",
    status=_STATUS,
    columns=_COLUMNS,
    required={VPA: ("targetRef",), Ref: ("kind", "name"), RecommenderRef: ("name",), **PART_REQUIRED},
    checks=PART_CHECKS,
    hints={(VPA, "recommenders"): {"maxItems": MAX_RECOMMENDERS}, **PART_HINTS},
    annotations=APPROVED,
)
