"""The rules for VerticalPodAutoscalers, and the definition that gives an API server the same rules."""

import jsonschema
import pytest
import yaml

from hypot.kinds.catalogue import crd_of, facts_of
from hypot.kinds.vpa import VPA
from hypot.kinds.vpa.rules import GATES, MAX_POLICIES, MAX_RESOURCES, spec_problems, strictness

WEB = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"}
HEAD = {"apiVersion": "autoscaling.k8s.io/v1", "kind": "VerticalPodAutoscaler", "metadata": {"name": "web"}}


def manifest(**spec):
    return {**HEAD, "spec": {"targetRef": WEB, **spec}}


def to(**changes):
    return manifest(targetRef={**WEB, **changes})


def updates(**policy):
    return manifest(updatePolicy={"updateMode": "Recreate", **policy})


def container(**policy):
    return manifest(resourcePolicy={"containerPolicies": [{"containerName": "app", **policy}]})


def boost(**cpu):
    return manifest(startupBoost={"cpu": cpu})


def noted(**annotations):
    notes = {f"hypot.dev/{name.replace('_', '-')}": text for name, text in annotations.items()}
    return {**manifest(), "metadata": {"name": "web", "annotations": notes}}


def errors(data):
    return [problem for problem in VPA.from_dict(data).problems() if problem.severity == "error"]


def warnings(data):
    return [problem for problem in VPA.from_dict(data).problems() if problem.severity == "warning"]


RULES = [
    (manifest(targetRef=None), "spec.targetRef: Required value"),
    (to(kind=""), "spec.targetRef.kind: Required value"),
    (to(name=None), "spec.targetRef.name: Required value"),
    (to(apiVersion="a/b/c"), 'spec.targetRef.apiVersion: Invalid value: "a/b/c": unexpected GroupVersion string'),
    (manifest(updatePolicy={}), "spec.updatePolicy.updateMode: Required value"),
    (
        updates(updateMode="inplace"),
        'spec.updatePolicy.updateMode: Unsupported value: "inplace": supported values: "In',
    ),
    (updates(updateMode=""), 'spec.updatePolicy.updateMode: Unsupported value: ""'),
    (updates(minReplicas=0), "spec.updatePolicy.minReplicas: Invalid value: 0: must be greater than or equal to 1"),
    (updates(evictAfterOOMSeconds=0), "spec.updatePolicy.evictAfterOOMSeconds: Invalid value: 0"),
    (
        updates(evictionRequirements=[{"resources": ["cpu"]}]),
        "spec.updatePolicy.evictionRequirements[0].changeRequirem",
    ),
    (
        updates(evictionRequirements=[{"resources": ["cpu"], "changeRequirement": "Higher"}]),
        'spec.updatePolicy.evictionRequirements[0].changeRequirement: Unsupported value: "Higher"',
    ),
    (
        updates(evictionRequirements=[{"changeRequirement": "TargetHigherThanRequests"}]),
        "spec.updatePolicy.evictionRequirements[0].resources: Required value",
    ),
    (
        updates(evictionRequirements=[{"changeRequirement": "TargetHigherThanRequests", "resources": ["cpu"]}] * 21),
        "spec.updatePolicy.evictionRequirements: Too many: 21: must have at most 20 items",
    ),
    (manifest(recommenders=[{"name": "a"}] * 2), "spec.recommenders: Too many: 2: must have at most 1 item"),
    (manifest(recommenders=[{}]), "spec.recommenders[0].name: Required value"),
    (container(containerName=""), "spec.resourcePolicy.containerPolicies[0].containerName: Required value"),
    (container(mode="auto"), 'spec.resourcePolicy.containerPolicies[0].mode: Unsupported value: "auto"'),
    (
        container(controlledValues="Limits"),
        "spec.resourcePolicy.containerPolicies[0].controlledValues: Unsupported value",
    ),
    (
        container(mode="Off", controlledValues="RequestsAndLimits"),
        "spec.resourcePolicy.containerPolicies[0].controlledValues: Forbidden",
    ),
    (
        container(controlledResources=["cpu", "mem"]),
        'spec.resourcePolicy.containerPolicies[0].controlledResources[1]: Unsupported value: "mem"',
    ),
    (container(controlledResources=["cpu", 1]), "spec.resourcePolicy.containerPolicies[0].controlledResources: json:"),
    (
        container(minAllowed={"cpu": "100"}, maxAllowed={"cpu": "10"}),
        'spec.resourcePolicy.containerPolicies[0].maxAllowed.cpu: Invalid value: "10": must not be below minAllowed',
    ),
    (
        container(minAllowed={"cpu": "187500u"}),
        'spec.resourcePolicy.containerPolicies[0].minAllowed.cpu: Invalid value: "187500u": must be a whole',
    ),
    (
        container(maxAllowed={"memory": "0.1Gi"}),
        "spec.resourcePolicy.containerPolicies[0].maxAllowed.memory: Invalid value",
    ),
    (
        container(maxAllowed={"memory": "512MB"}),
        "spec.resourcePolicy.containerPolicies[0].maxAllowed.memory: Invalid value",
    ),
    (container(maxAllowed={"cpu": -1}), "spec.resourcePolicy.containerPolicies[0].maxAllowed.cpu: Invalid value: -1"),
    (container(maxAllowed={"cpu": "-1"}), "spec.resourcePolicy.containerPolicies[0].maxAllowed.cpu: Invalid value"),
    (
        container(maxAllowed={"cpu": 0.5}),
        "spec.resourcePolicy.containerPolicies[0].maxAllowed.cpu: json: cannot unmarshal",
    ),
    (
        container(maxAllowed=["cpu"]),
        "spec.resourcePolicy.containerPolicies[0].maxAllowed: json: cannot unmarshal array",
    ),
    (container(oomBumpUpRatio="0.99"), "spec.resourcePolicy.containerPolicies[0].oomBumpUpRatio: Invalid value"),
    (container(oomBumpUpRatio="-1"), "spec.resourcePolicy.containerPolicies[0].oomBumpUpRatio: Invalid value"),
    (container(oomMinBumpUp="-1"), "spec.resourcePolicy.containerPolicies[0].oomMinBumpUp: Invalid value"),
    (container(oomMinBumpUp="much"), "spec.resourcePolicy.containerPolicies[0].oomMinBumpUp: Invalid value"),
    (
        container(memoryAggregationIntervalSeconds=0),
        "spec.resourcePolicy.containerPolicies[0].memoryAggregationIntervalSeconds: Invalid value: 0",
    ),
    (
        container(memoryAggregationIntervalCount=0),
        "spec.resourcePolicy.containerPolicies[0].memoryAggregationIntervalCount: Invalid value: 0",
    ),
    (boost(), "spec.startupBoost.cpu.type: Required value"),
    (boost(type="Double"), 'spec.startupBoost.cpu.type: Unsupported value: "Double"'),
    (boost(type="Factor"), "spec.startupBoost.cpu.factor: Required value"),
    (boost(type="Factor", factor=0), "spec.startupBoost.cpu.factor: Invalid value: 0"),
    (boost(type="Factor", factor=2, quantity="1"), "spec.startupBoost.cpu.quantity: Forbidden"),
    (boost(type="Factor", factor=2, durationSeconds=-1), "spec.startupBoost.cpu.durationSeconds: Invalid value: -1"),
    (boost(type="Quantity"), "spec.startupBoost.cpu.quantity: Required value"),
    (boost(type="Quantity", quantity="1500u"), "spec.startupBoost.cpu.quantity: Invalid value"),
    (boost(type="Quantity", quantity=1, factor=1), "spec.startupBoost.cpu.factor: Forbidden"),
    (
        container(startupBoost={"cpu": {}}),
        "spec.resourcePolicy.containerPolicies[0].startupBoost.cpu.type: Required value",
    ),
    (
        manifest(resourcePolicy={"containerPolicies": [{"containerName": f"c{i}"} for i in range(MAX_POLICIES + 1)]}),
        "spec.resourcePolicy.containerPolicies: Too many: 16",
    ),
    (manifest(selector={}), 'spec.selector: strict decoding error: unknown field "spec.selector"'),
    (noted(cpu_half_life="soon"), 'metadata.annotations.hypot.dev/cpu-half-life: Invalid value: "soon"'),
    ({**manifest(), "status": []}, "status: status is not a mapping"),
    ({**manifest(), "status": {"conditions": {}}}, "status.conditions: json: cannot unmarshal object"),
]


class TestRules:
    """The checks of the webhook and the schema, and those that prevent harm."""

    @pytest.mark.parametrize(("data", "text"), RULES)
    def test_each_rule_says_where_and_why(self, data, text):
        """One fault gives one error."""
        (problem,) = errors(data)
        assert str(problem).startswith(text)

    @pytest.mark.parametrize(
        "data",
        [
            manifest(),
            to(apiVersion=None),
            updates(updateMode="InPlace", minReplicas=1),
            updates(evictionRequirements=[]),
            container(minAllowed={"cpu": "1"}, maxAllowed={"cpu": "1000m"}),
            container(minAllowed={"cpu": None}, maxAllowed={}),
            container(minAllowed={"memory": "0.0625Gi"}, maxAllowed={"memory": "1.5Gi"}),
            container(mode="Off", controlledValues="RequestsOnly"),
            container(controlledResources=[]),
            container(oomBumpUpRatio=1, oomMinBumpUp=0),
            boost(type="Factor", factor=1),
            boost(type="Quantity", quantity="100m"),
            manifest(startupBoost={}),
            manifest(recommenders=[]),
            {**manifest(), "status": {"recommendation": {}, "of_another_version": 1}},
            {
                "spec": manifest()["spec"],
                "metadata": {"name": "web", "annotations": {"hypot.dev/ignore": "vpa-conflict"}},
            },
        ],
    )
    def test_what_works_is_accepted(self, data):
        """Equal bounds, bounds without a value, an unversioned target, a status of another version."""
        assert VPA.from_dict(data).problems() == ()

    @pytest.mark.parametrize(
        ("data", "rule", "field"),
        [
            (updates(updateMode="Auto"), "auto-mode", "spec.updatePolicy.updateMode"),
            (
                updates(evictionRequirements=[{"resources": [], "changeRequirement": "TargetLowerThanRequests"}]),
                "eviction-never",
                "spec.updatePolicy.evictionRequirements[0].resources",
            ),
            (
                container(minAllowed={"mem": 1}),
                "ignored-resource",
                "spec.resourcePolicy.containerPolicies[0].minAllowed.mem",
            ),
            (
                manifest(resourcePolicy={"containerPolicies": [{"containerName": "*"}] * 2}),
                "duplicate-policy",
                "spec.resourcePolicy.containerPolicies[1].containerName",
            ),
            ({**manifest(), "apiVersion": "autoscaling.k8s.io/v1beta2"}, "old-api-version", "apiVersion"),
            (
                noted(target_cpu_percentile="0.97"),
                "knob-order",
                "metadata.annotations.hypot.dev/target-cpu-percentile",
            ),
        ],
    )
    def test_what_is_odd_is_reported(self, data, rule, field):
        """It is accepted with a warning."""
        assert errors(data) == []
        assert [(problem.rule, problem.field) for problem in warnings(data)] == [(rule, field)]

    def test_a_misspelt_resource_gets_a_hint(self):
        """Only cpu and memory are ever sized, so another name is mostly a misspelling."""
        (problem,) = warnings(container(maxAllowed={"CPU": 1}))
        assert problem.hint == "did you mean cpu?"

    def test_the_number_of_resources_is_limited(self):
        """To as many as an API server can afford to check."""
        many = {f"r{i}": 1 for i in range(MAX_RESOURCES + 1)}
        (problem,) = errors(container(maxAllowed=many))
        assert (problem.rule, problem.kind) == ("resource-count", "TooMany")

    def test_numbers_are_limited(self):
        """An API server reads a larger number as a fraction."""
        (problem,) = errors(container(maxAllowed={"cpu": 2**63}))
        assert (problem.rule, problem.kind) == ("quantity", "Invalid")

    def test_resizing_in_place_needs_a_cluster_that_can(self):
        """Before 1.33 nothing would ever happen."""
        vpa = VPA.from_dict(updates(updateMode="InPlace"))
        assert [problem.rule for problem in vpa.problems((1, 32))] == ["in-place-version"]
        assert vpa.problems((1, 33)) == ()


GATED = {
    "PerVPAConfig": container(oomBumpUpRatio="1.5"),
    "CPUStartupBoost": boost(type="Factor", factor=2),
    "InPlace": updates(updateMode="InPlace"),
}


class TestGates:
    """Fields that the upstream components keep behind feature gates."""

    @pytest.mark.parametrize("gate", GATES)
    def test_a_gate_is_open_unless_it_is_closed_explicitly(self, gate):
        """The fields themselves work in hypot."""
        vpa = VPA.from_dict(GATED[gate])
        assert vpa.problems() == vpa.problems(gates={gate: True}) == ()
        (problem,) = vpa.problems(gates={gate: False})
        assert (problem.rule, problem.kind) == ("vpa-gate", "Forbidden")
        assert gate in problem.message

    @pytest.mark.parametrize("gate", GATES)
    def test_an_update_may_keep_what_it_used(self, gate):
        """An update does not lose what was allowed before."""
        vpa = VPA.from_dict(GATED[gate])
        assert list(spec_problems(vpa, strictness(vpa, {gate: False}))) == []

    def test_a_resource_that_was_there_before_is_kept(self):
        """It is kept with a warning."""
        vpa = VPA.from_dict(container(controlledResources=["cpu", "disk"]))
        (problem,) = spec_problems(vpa, strictness(vpa))
        assert (problem.rule, problem.severity) == ("controlled-resources", "warning")


CRD = crd_of(VPA)
VERSION = CRD["spec"]["versions"][0]
SPEC = VERSION["schema"]["openAPIV3Schema"]["properties"]["spec"]
# Rules that a schema cannot express: they concern CEL, a closed gate or an annotation.
BEYOND_SCHEMA = {"allowed-range", "whole-amount", "controlled-values", "startup-boost", "oom-bump-up", "knob", "type"}


def cel_rules(schema):
    message = [validation["message"] for validation in schema.get("x-kubernetes-validations", ())]
    return {word.rpartition("[")[2].rstrip("]") for word in message}


class TestDefinition:
    """The definition for an API server."""

    def test_names(self):
        """The names are those of the community, with its approval."""
        assert CRD["metadata"] == {
            "name": "verticalpodautoscalers.autoscaling.k8s.io",
            "annotations": {"api-approved.kubernetes.io": "https://github.com/kubernetes/kubernetes/pull/63797"},
        }
        assert CRD["spec"]["names"]["shortNames"] == ["vpa"]
        assert (VERSION["name"], VERSION["subresources"]) == ("v1", {"status": {}})

    def test_columns(self):
        """`kubectl get vpa` shows its usual columns, and what holds a change back."""
        columns = VERSION["additionalPrinterColumns"]
        shown = [column["name"] for column in columns if "priority" not in column]
        assert shown == ["Mode", "CPU", "Mem", "Provided", "Age", "Blocked"]

    @pytest.mark.parametrize(("data", "text"), RULES)
    def test_schema_and_rules_agree(self, data, text):
        """The schema refuses what it can express; the rest has a rule in CEL."""
        (problem,) = errors(data)
        if problem.where[0] != "spec" or problem.rule == "unknown-field":
            return
        fits = jsonschema.Draft202012Validator(SPEC).is_valid({k: v for k, v in data["spec"].items() if v is not None})
        assert not fits or problem.rule in BEYOND_SCHEMA, text

    def test_cel_where_a_schema_is_not_enough(self):
        """By place and id, except `type`, which every number has."""
        policy = SPEC["properties"]["resourcePolicy"]["properties"]["containerPolicies"]["items"]
        assert cel_rules(policy) == {"allowed-range", "whole-amount", "controlled-values", "oom-bump-up"}
        for cpu in (SPEC["properties"]["startupBoost"], policy["properties"]["startupBoost"]):
            assert cel_rules(cpu["properties"]["cpu"]) == {"startup-boost", "whole-amount"}

    def test_facts_name_only_what_exists(self):
        """A hint or a requirement for a removed field would be lost silently."""
        facts = facts_of(VPA)
        places = [*facts.hints, *((part, key) for part, keys in facts.required.items() for key in keys)]
        assert [(part.__name__, key) for part, key in places if key not in part.BY_KEY] == []

    def test_it_is_plain_yaml(self):
        """It has no anchors, and is the same each time."""
        assert "&id" not in yaml.safe_dump(CRD)
        assert crd_of(VPA) == CRD
