"""The CustomResourceDefinition of Hvpas, from which an API server knows them."""

import jsonschema
import pytest

from hypot.kinds.catalogue import crd_of, facts_of
from hypot.kinds.hvpa import Hvpa
from hypot.kinds.hvpa.status import BLOCKING_REASONS, CONDITIONS
from unit.policy.hvpa.hvpa_cases import RELEASED, at, manifest, seed, sized

CRD = crd_of(Hvpa)
VERSION = CRD["spec"]["versions"][0]
ROOT = VERSION["schema"]["openAPIV3Schema"]
SPEC = ROOT["properties"]["spec"]

STATUS = {
    "replicas": 3,
    "targetSelector": "app=web",
    "desiredReplicas": 4,
    "scaleUpUpdatePolicy": {"updateMode": "Auto"},
    "overrideScaleUpStabilization": True,
    "replicasAtRecommendation": 3,
    "lastBlockedScaling": [{"reason": "MinChange"}],
    "lastScaling": {
        "lastUpdated": "2026-11-02T00:00:00Z",
        "hpaStatus": {"currentReplicas": 3, "desiredReplicas": 4},
        "vpaStatus": {"containerResources": [{"containerName": "app", "resources": {"requests": {"cpu": "1"}}}]},
    },
    "conditions": [{"type": "ScalingBlocked", "status": "True", "reason": "MinChange"}],
    # From the released controller.
    "hpaWeight": 3,
}


def share(percent):
    return {"type": "Utilization", "averageUtilization": percent}


def measured(**block):
    (name,) = block
    metric = {"type": f"{name[0].upper()}{name[1:]}", **block}
    return at(["hpa", "template", "spec", "metrics"], [metric])


def test_names():
    """Group and names are those of the proposal; groups under k8s.io are served only with an approval annotation."""
    assert CRD["metadata"]["name"] == "hvpas.autoscaling.k8s.io"
    assert CRD["metadata"]["annotations"]["api-approved.kubernetes.io"].startswith("unapproved")
    assert CRD["spec"]["names"]["shortNames"] == ["hvpa"]
    assert VERSION["name"] == "v1alpha1"


def test_scale():
    """An HPA writes its proposal into the spec, and reads the rest from the status."""
    assert VERSION["subresources"] == {
        "status": {},
        "scale": {
            "specReplicasPath": ".spec.replicas",
            "statusReplicasPath": ".status.replicas",
            "labelSelectorPath": ".status.targetSelector",
        },
    }


def test_columns():
    """What `kubectl get hvpa` shows."""
    names = [column["name"] for column in VERSION["additionalPrinterColumns"]]
    assert names == ["Target", "Replicas", "Desired", "Blocked", "Limited", "Age"]


@pytest.mark.parametrize("data", [seed(), manifest(RELEASED)], ids=["proposal", "released"])
def test_manifests_fit(data):
    """The proposal's and the released form are both valid, including metrics of v2beta1."""
    jsonschema.validate({**data, "status": STATUS}, ROOT)


@pytest.mark.parametrize(
    "data",
    [
        at(["scaleUp", "updatePolicy", "updateMode"], "Sometimes"),
        at(["scaleUp", "stabilizationDuration"], "-3m"),
        at(["scaleUp", "minChange", "cpu", "value"], "-1"),
        at(["baseResourcesPerReplica", "cpu", "percentage"], -1),
        at(["maintenanceTimeWindow"], {"begin": "22:00", "end": "230000+0100"}),
        at(["maintenanceTimeWindow"], {"begin": "220000+0100"}),
        at(["hpa", "template", "metadata", "ownerReferences"], [{}]),
        *[sized((2, size, "1Gi")) for size in (0, "0", "00.00", "-1", "+0m", "one", 0.5)],
        *[sized((count, 1, "1Gi")) for count in (0, 10_001)],
        sized((2, 1, "1Gi", "logarithmic")),
        manifest(weightBasedScalingIntervals=[{"vpaWeight": 101}]),
        *[measured(resource={"name": "cpu", "target": share(percent)}) for percent in (0, -5)],
        *[measured(resource={"name": "cpu", "targetAverageUtilization": percent}) for percent in (0, -5)],
        measured(containerResource={"name": "cpu", "container": "app", "target": share(0)}),
        measured(containerResource={"name": "cpu", "container": "app", "targetAverageUtilization": 0}),
    ],
)
def test_what_a_schema_can_refuse_it_refuses(data):
    """The rules refuse all of these too."""
    assert not jsonschema.Draft202012Validator(ROOT).is_valid(data)
    assert any(problem.severity == "error" for problem in Hvpa.from_dict(data).problems())


@pytest.mark.parametrize("size", [1, "1", "+01", "0.5", ".5", "00.050m", "1e3", "1.Gi"])
def test_sizes_are_any_amount_above_zero(size):
    """Leading and trailing zeros do not matter."""
    jsonschema.validate(sized((2, size, "1Gi")), ROOT)


def test_rules_in_cel():
    """Rules that compare fields; rules over sums of quantities, annotations or labels are not among them."""
    reported = {rule["message"].rpartition("[")[2].rstrip("]") for rule in SPEC["x-kubernetes-validations"]}
    assert reported == {
        "scaling-intervals",
        "weights-and-intervals",
        "weight",
        "interval-replicas",
        "interval-size",
        "maintenance-window",
        "percentage",
    }


def test_facts_name_only_what_exists():
    """A hint, requirement or shape for a removed field would be lost silently."""
    facts = facts_of(Hvpa)
    places = [*facts.hints, *facts.shapes, *((part, key) for part, keys in facts.required.items() for key in keys)]
    assert [(part.__name__, key) for part, key in places if key not in part.BY_KEY] == []


def test_words_of_the_status():
    """The descriptions list the reasons and conditions."""
    status = ROOT["properties"]["status"]["properties"]
    assert all(name in status["conditions"]["description"] for name in CONDITIONS)
    reason = status["lastBlockedScaling"]["items"]["properties"]["reason"]
    assert all(name in reason["description"] for name in BLOCKING_REASONS)
