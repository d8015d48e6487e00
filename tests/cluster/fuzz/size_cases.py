"""Named VPAs and checkpoints: those that are easy to misjudge, and rules that a definition does not have."""

from typing import Any

from cluster.crds import Unsaid
from cluster.fuzz.changes import Manifest
from cluster.fuzz.sizes import manifest_of
from hypot.core.quantity import Quantity
from hypot.kinds.problem import Problem
from hypot.kinds.vpa.checkpoint import Checkpoint
from hypot.kinds.vpa.fields import LONGEST_AMOUNT, MAX_RESOURCES
from hypot.kinds.vpa.rules import MAX_POLICIES, MAX_REQUIREMENTS

WEB = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"}


def vpa(**spec: Any) -> Manifest:
    return manifest_of({"name": "web"}, {"targetRef": WEB, **spec})


def container(**policy: Any) -> Manifest:
    return vpa(resourcePolicy={"containerPolicies": [{"containerName": "app", **policy}]})


def updates(**policy: Any) -> Manifest:
    return vpa(updatePolicy={"updateMode": "Recreate", **policy})


def noted(manifest: Manifest, **annotations: str) -> Manifest:
    notes = {f"hypot.dev/{name.replace('_', '-')}": text for name, text in annotations.items()}
    return {**manifest, "metadata": {**manifest["metadata"], "annotations": notes}}


# As users write them after the upstream guide, as its own tests have them, and with every field.
WRITTEN: dict[str, Manifest] = {
    "by the guide": vpa(
        resourcePolicy={
            "containerPolicies": [
                {
                    "containerName": "*",
                    "minAllowed": {"cpu": "100m", "memory": "50Mi"},
                    "maxAllowed": {"cpu": 1, "memory": "500Mi"},
                    "controlledResources": ["cpu", "memory"],
                }
            ]
        }
    ),
    "by a Go client": {
        **vpa(updatePolicy={"updateMode": "Auto", "minReplicas": 2}, resourcePolicy={}, recommenders=None),
        "metadata": {"name": "web", "creationTimestamp": None},
        "status": {"recommendation": None, "conditions": None},
    },
    "only to recommend": vpa(updatePolicy={"updateMode": "Off"}, recommenders=[{"name": "frugal"}]),
    "with every field": vpa(
        updatePolicy={
            "updateMode": "InPlaceOrRecreate",
            "minReplicas": 1,
            "evictAfterOOMSeconds": 600,
            "evictionRequirements": [{"resources": ["cpu"], "changeRequirement": "TargetHigherThanRequests"}],
        },
        resourcePolicy={
            "containerPolicies": [
                {
                    "containerName": "app",
                    "mode": "Auto",
                    "minAllowed": {"cpu": "25m", "memory": "262144k"},
                    "maxAllowed": {"cpu": "2.5", "memory": "1.5Gi"},
                    "controlledResources": ["memory"],
                    "controlledValues": "RequestsOnly",
                    "oomBumpUpRatio": "1.2",
                    "oomMinBumpUp": "100Mi",
                    "memoryAggregationIntervalSeconds": 3600,
                    "memoryAggregationIntervalCount": 24,
                    "startupBoost": {"cpu": {"type": "Quantity", "quantity": "500m", "durationSeconds": 30}},
                },
                {"containerName": "proxy", "mode": "Off"},
            ]
        },
        recommenders=[{"name": "default"}],
        startupBoost={"cpu": {"type": "Factor", "factor": 3}},
    ),
}

_LONG = {"cpu": "0." + "1" * 3 + "0" * (LONGEST_AMOUNT - 5), "memory": "9" * LONGEST_AMOUNT}
_LARGE_POLICY = {
    "containerName": "c" * 63,
    "minAllowed": {**_LONG, **{f"r{i}": i for i in range(MAX_RESOURCES - 2)}},
    "maxAllowed": {**_LONG, **{f"r{i}": i for i in range(MAX_RESOURCES - 2)}},
    "controlledResources": ["cpu", "memory"] * 5,
    "oomBumpUpRatio": "1" * LONGEST_AMOUNT,
    "oomMinBumpUp": "1" * LONGEST_AMOUNT,
    "startupBoost": {"cpu": {"type": "Quantity", "quantity": _LONG["cpu"]}},
}
_REQUIREMENT = {"resources": ["cpu", "memory"] * 5, "changeRequirement": "TargetLowerThanRequests"}

TAKEN: dict[str, Manifest] = {
    **WRITTEN,
    "the largest manifest": vpa(
        updatePolicy={"updateMode": "Off", "evictionRequirements": [_REQUIREMENT] * MAX_REQUIREMENTS},
        resourcePolicy={"containerPolicies": [_LARGE_POLICY] * MAX_POLICIES},
    ),
    "null is absent": container(minAllowed=None, mode=None, controlledResources=None),
    "null in the place of an amount": container(minAllowed={"cpu": None}, maxAllowed={"cpu": 1}),
    "bounds that are equal": container(minAllowed={"cpu": 1}, maxAllowed={"cpu": "1000m"}),
    "nothing is controlled": container(controlledResources=[]),
    "a ratio of one": container(oomBumpUpRatio=1, oomMinBumpUp=0),
    "a ratio that rounds up to one": container(oomBumpUpRatio="0.9999999999"),
    "a resource that nobody sizes, in any parts": container(maxAllowed={"example.com/gpu": "1500u"}),
    "no update policy, no containers": vpa(resourcePolicy={"containerPolicies": []}, recommenders=[]),
    "requests only of a container that is off": container(mode="Off", controlledValues="RequestsOnly"),
    "a boost of nothing": vpa(startupBoost={}),
    "a target without a version": vpa(targetRef={"kind": "Rollout", "name": "web"}),
}
REFUSED: dict[str, Manifest] = {
    "a whole number with a fraction": container(maxAllowed={"cpu": 1.0}),
    "a count with a fraction": updates(minReplicas=1.0),
    "a number beyond 64 bits": container(maxAllowed={"memory": 2**63}),
    "null in the place of a container": vpa(resourcePolicy={"containerPolicies": [None]}),
    "null in the place of a resource": container(controlledResources=[None]),
    "a ratio just below one": container(oomBumpUpRatio="999999999n"),
    "a negative resource that nobody sizes": container(maxAllowed={"example.com/gpu": -1}),
    "a boost without a type, and no amount": vpa(startupBoost={"cpu": {"quantity": "x"}}),
    "no spec": manifest_of({"name": "web"}, {}),
}

# Whole and fractional amounts: in binary units, with exponents, and where floating-point numbers are not exact.
AMOUNTS = (
    *("0", "1", "0.5", "0.001", "0.0001", "1m", "1.5m", "1000u", "1500u", "187500u", "1n", "1000000n", "1000000000n"),
    *("1e3", "1e-3", "1e-4", "1e-9", "5e15", "1e99", "1Ki", "0.1Ki", "0.0001Ki", "0.0009765625Ki", "0.1Gi", "0.5Gi"),
    *("1.001", "1.005", "0.29", "0.57", "4.35", "8.29", "100.7", "1234.567", "123456.789", "999999999.999"),
    *("999999999.9999", "123456789.000000001", "107374182.4", "262144k", "1.1k", "8Pi", "7Ei", "4E", "4.0001E"),
    *("9007199254740993", "399999999999999.5", "3999999999999998", "+5", "1.", ".5", "1500000m", "007", "00.5"),
)

# Rules that a definition cannot express, or does not.

BEYOND_FLOATS = 4 * 10**15
_MILLIS = (".cpu", ".quantity")


def is_huge(problem: Problem) -> bool:
    """Whether an amount is so large that CEL cannot distinguish it from the next whole number."""
    parts = 1000 if problem.field.endswith(_MILLIS) else 1
    return (Quantity.parse(problem.value).nanos + 10**9) * parts >= BEYOND_FLOATS * 10**9


def of_parts(too_large: Manifest, out_of_range: Manifest) -> tuple[Unsaid, ...]:
    """Rules that are missing for containers, wherever their policies are."""
    return (
        Unsaid(
            "whole-amount",
            r".*\.(cpu|memory|quantity)",
            "CEL has floating-point numbers only, and beyond these every second one is missing",
            too_large,
            is_huge,
        ),
        Unsaid(
            "allowed-range",
            r".*\[\d+\]\.(min|max)Allowed\.(?!(cpu|memory)$).*",
            "CEL looks at the resources that are sized; any other would have to be looked for",
            out_of_range,
        ),
    )


VPA_UNSAID = (
    *of_parts(
        container(maxAllowed={"memory": "4500000000000000.5"}),
        container(minAllowed={"example.com/gpu": 2}, maxAllowed={"example.com/gpu": 1}),
    ),
    Unsaid(
        "knob",
        r"metadata\.annotations\..*",
        "a definition sees no annotations",
        noted(vpa(), cpu_half_life="soon"),
    ),
    Unsaid(
        "type",
        r"status.*",
        "with the first writing of an object its status is dropped, whatever it is",
        {**vpa(), "status": {"conditions": {}}},
    ),
)

# Checkpoints.

NOON = "2026-03-02T12:00:00Z"
LEARNT: dict[str, Any] = {
    "lastUpdateTime": NOON,
    "version": "v3",
    "cpuHistogram": {"referenceTimestamp": NOON, "bucketWeights": {"0": 10000, "3": 250}, "totalWeight": 12.5},
    "memoryHistogram": {"referenceTimestamp": NOON, "bucketWeights": {"41": 10000}, "totalWeight": 2},
    "firstSampleStart": NOON,
    "lastSampleStart": NOON,
    "totalSamplesCount": 100,
}


def checkpoint(**changes: Any) -> Manifest:
    """A checkpoint as the upstream recommender writes it, with these changes."""
    written = {
        "metadata": {"name": "web-app", "creationTimestamp": None},
        "spec": {"vpaObjectName": "web", "containerName": "app"},
        "status": LEARNT,
    }
    return {"apiVersion": Checkpoint.API_VERSION, "kind": Checkpoint.KIND, **written, **changes}


def learnt(**changes: Any) -> Manifest:
    return checkpoint(status={**LEARNT, **changes})


def of_cpu(**changes: Any) -> Manifest:
    return learnt(cpuHistogram={**LEARNT["cpuHistogram"], **changes})


CHECKPOINTS_TAKEN: dict[str, Manifest] = {
    "with samples": checkpoint(),
    "without a status": checkpoint(status=None),
    "with an empty status": checkpoint(status={}),
    "before its first sample": checkpoint(
        status={
            "lastUpdateTime": NOON,
            "version": "v3",
            "cpuHistogram": {"referenceTimestamp": None},
            "memoryHistogram": {"referenceTimestamp": NOON},
            "firstSampleStart": None,
            "lastSampleStart": None,
        }
    ),
    "of another version": learnt(version="v4", another=[1, None]),
    "with more in a histogram": of_cpu(another={"thing": 1}),
    "of another format within": of_cpu(bucketWeights={"0": 1.5, "x": -1}, totalWeight=-1),
}
CHECKPOINTS_REFUSED: dict[str, Manifest] = {
    "of nothing": checkpoint(spec={}),
    "of no autoscaler": checkpoint(spec={"containerName": "app"}),
    "of a container without a name": checkpoint(spec={"vpaObjectName": "web", "containerName": ""}),
    "of a pod": checkpoint(spec={"vpaObjectName": "web", "containerName": "app", "pod": "x"}),
    "an invalid status": checkpoint(status=[]),
    "an invalid histogram": learnt(cpuHistogram=[]),
    "invalid weights": of_cpu(bucketWeights=[1]),
    "a weight in words": of_cpu(bucketWeights={"1": "1"}),
    "a total in words": of_cpu(totalWeight="12"),
    "an invalid time": of_cpu(referenceTimestamp="noon"),
    "a part of a sample": learnt(totalSamplesCount=1.5),
    "a version that is a number": learnt(version=3),
}
