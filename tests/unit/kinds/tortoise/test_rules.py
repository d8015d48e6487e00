"""The rules for Tortoises, and the definition that gives an API server the same rules."""

import jsonschema
import pytest

from hypot.kinds.crd import definition_of
from hypot.kinds.tortoise import Tortoise
from hypot.kinds.tortoise.crd import FACTS
from hypot.kinds.tortoise.rules import update_problems
from hypot.kinds.vpa.rules import MAX_POLICIES
from unit.kinds.tortoise.test_tortoise import BOTH, HEAD, STATUS, WEB, manifest

CRD = definition_of(Tortoise, "tortoises", ("tortoise",), FACTS)
VERSION = CRD["spec"]["versions"][0]
ROOT = VERSION["schema"]["openAPIV3Schema"]
SPEC = ROOT["properties"]["spec"]

VERTICAL = {"containerName": "app", "policy": {"cpu": "Vertical", "memory": "Vertical"}}


def to(**changes):
    return manifest(targetRefs={"scaleTargetRef": {**WEB, **changes}})


def editing(hpa):
    return manifest(targetRefs={"scaleTargetRef": WEB, "horizontalPodAutoscalerName": hpa})


def scaled(*items):
    return manifest(autoscalingPolicy=list(items))


def sized(**policy):
    return manifest(resourcePolicy=[{"containerName": "app", **policy}])


def paced(**pace):
    return manifest(horizontalPodAutoscalerBehavior={"scaleUp": pace})


def noted(**annotations):
    notes = {f"hypot.dev/{name.replace('_', '-')}": text for name, text in annotations.items()}
    return {**manifest(), "metadata": {"name": "web", "annotations": notes}}


def found(data, severity):
    return [problem for problem in Tortoise.from_dict(data).problems() if problem.severity == severity]


# What the rules and the schema refuse.
REFUSED = [
    (manifest(targetRefs=None), "spec.targetRefs.scaleTargetRef.kind: Required value"),
    (manifest(targetRefs={}), "spec.targetRefs.scaleTargetRef.kind: Required value"),
    (to(kind=""), "spec.targetRefs.scaleTargetRef.kind: Required value"),
    (to(name=None), "spec.targetRefs.scaleTargetRef.name: Required value"),
    (to(apiVersion="a/b/c"), 'spec.targetRefs.scaleTargetRef.apiVersion: Invalid value: "a/b/c"'),
    (editing(""), 'spec.targetRefs.horizontalPodAutoscalerName: Invalid value: "": must not be empty'),
    (editing("My HPA"), 'spec.targetRefs.horizontalPodAutoscalerName: Invalid value: "My HPA"'),
    (manifest(updateMode="auto"), 'spec.updateMode: Unsupported value: "auto": supported values: "Auto", "Emer'),
    (manifest(updateMode=""), 'spec.updateMode: Unsupported value: ""'),
    (manifest(updateMode=False), "spec.updateMode: json: cannot unmarshal bool"),
    (manifest(deletionPolicy="Delete"), 'spec.deletionPolicy: Unsupported value: "Delete"'),
    (scaled({"policy": {"cpu": "Off"}}), "spec.autoscalingPolicy[0].containerName: Required value"),
    (scaled({"containerName": "", "policy": {"cpu": "Off"}}), "spec.autoscalingPolicy[0].containerName: Required"),
    (
        scaled({"containerName": "app", "policy": {"memory": "vertical"}}),
        'spec.autoscalingPolicy[0].policy.memory: Unsupported value: "vertical": supported values: "Horizontal", "Off"',
    ),
    (
        scaled({"containerName": "app", "policy": "Off"}),
        "spec.autoscalingPolicy[0].policy: json: cannot unmarshal string",
    ),
    (
        scaled(*[{**BOTH, "containerName": f"c{i}"} for i in range(MAX_POLICIES + 1)]),
        "spec.autoscalingPolicy: Too many",
    ),
    (manifest(resourcePolicy=[{}]), "spec.resourcePolicy[0].containerName: Required value"),
    (sized(minAllocatedResources={"cpu": "-1"}), "spec.resourcePolicy[0].minAllocatedResources.cpu: Invalid value"),
    (sized(maxAllocatedResources={"memory": "1GB"}), "spec.resourcePolicy[0].maxAllocatedResources.memory: Invalid"),
    (sized(maxAllocatedResources={"cpu": 0.5}), "spec.resourcePolicy[0].maxAllocatedResources.cpu: json: cannot"),
    (manifest(maxReplicas=0), "spec.maxReplicas: Invalid value: 0: must be greater than or equal to 1"),
    (manifest(maxReplicas=-3), "spec.maxReplicas: Invalid value: -3"),
    (
        paced(stabilizationWindowSeconds=-1),
        "spec.horizontalPodAutoscalerBehavior.scaleUp.stabilizationWindowSeconds: Inv",
    ),
    (
        paced(policies=[{"type": "Percent", "value": 0, "periodSeconds": 60}]),
        "spec.horizontalPodAutoscalerBehavior.scaleUp.policies[0].value: Invalid value: 0",
    ),
    (
        paced(policies=[{"type": "Share", "value": 10, "periodSeconds": 2000}]),
        'spec.horizontalPodAutoscalerBehavior.scaleUp.policies[0].type: Unsupported value: "Share"',
    ),
    (
        paced(selectPolicy="Most"),
        'spec.horizontalPodAutoscalerBehavior.scaleUp.selectPolicy: Unsupported value: "Most"',
    ),
]
# What a schema alone accepts: unknown fields, CEL and annotations.
BEYOND_THE_SCHEMA = [
    (manifest(replicas=3), 'spec.replicas: strict decoding error: unknown field "spec.replicas"'),
    (
        scaled({"containerName": "app", "policy": {"gpu": "Off"}}),
        "spec.autoscalingPolicy[0].policy.gpu: strict decoding error",
    ),
    (scaled(BOTH, BOTH), 'spec.autoscalingPolicy[1].containerName: Duplicate value: "app"'),
    (
        manifest(resourcePolicy=[{"containerName": "app", "minAllocatedResources": {"cpu": 1}}] * 2),
        'spec.resourcePolicy[1].containerName: Duplicate value: "app"',
    ),
    (
        sized(minAllocatedResources={"cpu": 2}, maxAllocatedResources={"cpu": "1500m"}),
        'spec.resourcePolicy[0].maxAllocatedResources.cpu: Invalid value: "1500m": must not be below min',
    ),
    (sized(minAllocatedResources={"cpu": "100u"}), "spec.resourcePolicy[0].minAllocatedResources.cpu: Invalid value"),
    (noted(decide="yes"), 'metadata.annotations.hypot.dev/decide: Unsupported value: "yes"'),
    (noted(tortoise_slot_hours="5"), 'metadata.annotations.hypot.dev/tortoise-slot-hours: Invalid value: "5"'),
    (noted(tortoise_maximum_max_replicas="many"), "metadata.annotations.hypot.dev/tortoise-maximum-max-replicas: Inv"),
    (noted(tortoise_max_max_replicas="5"), "metadata.annotations.hypot.dev/tortoise-max-max-replicas: Unsupported"),
    (
        noted(tortoise_minimum_min_replicas="9", tortoise_preferred_max_replicas="9"),
        'metadata.annotations.hypot.dev/tortoise-minimum-min-replicas: Invalid value: "9": minimum-min-replicas 9 must',
    ),
    (noted(round_cpu="none"), "metadata.annotations.hypot.dev/round-cpu: Invalid value"),
]


@pytest.mark.parametrize(("data", "message"), [*REFUSED, *BEYOND_THE_SCHEMA])
def test_refused(data, message):
    """Each with the field, in the words of an API server."""
    assert any(str(problem).startswith(message) for problem in found(data, "error")), found(data, "error")


def test_the_fix_of_a_range_names_its_own_fields():
    """A Tortoise has maxAllocatedResources, not the maxAllowed of a VPA."""
    one = sized(minAllocatedResources={"cpu": "2"}, maxAllocatedResources={"cpu": "1"})
    [one] = [each for each in found(one, "error") if each.rule == "allowed-range"]
    assert one.hint == "swap them, or raise maxAllocatedResources"


@pytest.mark.parametrize("data", [data for data, _ in REFUSED])
def test_the_schema_refuses_the_same(data):
    """An API server has no code of hypot."""
    assert not jsonschema.Draft202012Validator(ROOT).is_valid(without_nulls(data))


def without_nulls(value):
    """An API server drops null where the schema does not allow it."""
    return {k: without_nulls(v) for k, v in value.items() if v is not None} if isinstance(value, dict) else value


@pytest.mark.parametrize(
    "data",
    [
        manifest(),
        to(kind="StatefulSet"),
        to(apiVersion="argoproj.io/v1alpha1", kind="Rollout"),
        to(apiVersion=None),
        editing("web"),
        *[manifest(updateMode=mode) for mode in ("Off", "Auto", "Emergency")],
        *[manifest(deletionPolicy=policy) for policy in ("DeleteAll", "NoDelete")],
        manifest(autoscalingPolicy=[]),
        scaled(BOTH, {**BOTH, "containerName": "proxy"}),
        sized(minAllocatedResources={"cpu": "1", "memory": "1Gi"}, maxAllocatedResources={"cpu": 1}),
        sized(),
        manifest(maxReplicas=1),
        manifest(horizontalPodAutoscalerBehavior={}),
        paced(selectPolicy="Disabled"),
        paced(policies=[{"type": "Pods", "value": 4, "periodSeconds": 60}], tolerance="0.05"),
        noted(decide="true", tortoise_time_zone="Europe/Berlin", tortoise_maximum_max_replicas="200", round_cpu="10m"),
    ],
)
def test_accepted(data):
    """By the rules and by the schema."""
    assert Tortoise.from_dict(data).problems() == ()
    jsonschema.validate({**without_nulls(data), "status": STATUS}, ROOT)


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (scaled({"containerName": "app"}), "spec.autoscalingPolicy[0].policy: is empty"),
        (scaled({"containerName": "app", "policy": {}}), "spec.autoscalingPolicy[0].policy: is empty"),
        (
            manifest(**editing("web")["spec"], autoscalingPolicy=[VERTICAL]),
            "spec.targetRefs.horizontalPodAutoscalerName: is never edited",
        ),
        (sized(minAllocatedResources={"gpu": 1}), "spec.resourcePolicy[0].minAllocatedResources.gpu: Unsupported"),
    ],
)
def test_warnings(data, message):
    """What is accepted but has no effect."""
    assert found(data, "error") == []
    assert [str(problem) for problem in found(data, "warning") if str(problem).startswith(message)]


def test_all_problems_at_once():
    """A user fixes them in one go."""
    data = manifest(
        targetRefs={"scaleTargetRef": {"kind": "Deployment"}, "horizontalPodAutoscalerName": "_"},
        updateMode="On",
        deletionPolicy="None",
        autoscalingPolicy=[{"policy": {"cpu": "Up", "memory": "Down"}}],
        resourcePolicy=[{"minAllocatedResources": {"cpu": "x"}}],
        maxReplicas=0,
        horizontalPodAutoscalerBehavior={"scaleDown": {"policies": []}, "scaleUp": {"selectPolicy": "x"}},
    )
    assert len(found(data, "error")) == 12


class TestUpdates:
    """What an update must not change, with the status of before."""

    @staticmethod
    def refused(old, new, **status):
        before = Tortoise.from_dict({**old, "status": {**STATUS, **status}})
        return [problem.field for problem in update_problems(Tortoise.from_dict(new), before)]

    @pytest.mark.parametrize(
        ("new", "field"),
        [
            (to(kind="StatefulSet"), "spec.targetRefs.scaleTargetRef.kind"),
            (to(name="other"), "spec.targetRefs.scaleTargetRef.name"),
            (to(apiVersion="apps/v1beta1"), None),
            (manifest(), None),
        ],
    )
    def test_the_target(self, new, field):
        """Its kind and name are immutable."""
        assert self.refused(manifest(), new) == ([field] if field else [])

    @pytest.mark.parametrize(
        ("old", "new", "edited", "accepted"),
        [
            ("a", "a", "a", True),
            ("a", None, "a", True),
            ("a", "b", "a", False),
            ("a", "b", "b", True),
            (None, "b", "b", True),
            (None, "b", "a", False),
            # In mode Off no HPA was made, so there is none to leave behind.
            (None, "b", "", True),
            ("a", "b", "", False),
        ],
    )
    def test_the_name_of_the_hpa(self, old, new, edited, accepted):
        """It may be removed, or be set to the HPA that is edited already."""
        before, after = (manifest() if name is None else editing(name) for name in (old, new))
        targets = {**STATUS["targets"], "horizontalPodAutoscaler": edited}
        refused = self.refused(before, after, targets=targets)
        assert refused == ([] if accepted else ["spec.targetRefs.horizontalPodAutoscalerName"])

    @pytest.mark.parametrize(
        ("old", "new", "fields"),
        [
            ([BOTH], {"autoscalingPolicy": [VERTICAL]}, ["spec.deletionPolicy"]),
            ([BOTH], {"autoscalingPolicy": [VERTICAL], "deletionPolicy": "DeleteAll"}, []),
            ([BOTH], {"autoscalingPolicy": [BOTH]}, []),
            ([BOTH], {}, []),
            ([VERTICAL], {"autoscalingPolicy": [VERTICAL]}, []),
            # Chosen automatically: the status knows what it was.
            (None, {"autoscalingPolicy": [VERTICAL]}, ["spec.deletionPolicy"]),
        ],
    )
    def test_the_last_horizontal_resource(self, old, new, fields):
        """Its HPA goes with it, so the user must allow that."""
        assert self.refused(manifest(autoscalingPolicy=old), manifest(**new)) == fields

    def test_the_last_horizontal_resource_of_a_named_hpa(self):
        """All problems at once."""
        old = manifest(**editing("tortoise-hpa-web")["spec"], autoscalingPolicy=[BOTH])
        new = manifest(**editing("tortoise-hpa-web")["spec"], autoscalingPolicy=[VERTICAL])
        assert self.refused(old, new) == ["spec.targetRefs.horizontalPodAutoscalerName", "spec.deletionPolicy"]

    @pytest.mark.parametrize(
        ("phase", "accepted"),
        [
            *[(phase, True) for phase in ("Working", "PartlyWorking", "Emergency", "BackToNormal")],
            *[(phase, False) for phase in ("", "Initializing", "GatheringData", None)],
        ],
    )
    def test_emergency(self, phase, accepted):
        """It needs learned bounds."""
        new = manifest(updateMode="Emergency")
        refused = self.refused(manifest(updateMode="Auto"), new, tortoisePhase=phase)
        assert refused == ([] if accepted else ["spec.updateMode"])
        assert self.refused(new, new, tortoisePhase=phase) == []


class TestDefinition:
    """The CustomResourceDefinition."""

    def test_names(self):
        """Those of the original, so that its manifests and clients work."""
        assert CRD["metadata"]["name"] == "tortoises.autoscaling.mercari.com"
        assert CRD["spec"]["scope"] == "Namespaced"
        assert VERSION["name"] == "v1beta3"
        assert VERSION["subresources"] == {"status": {}}

    def test_columns(self):
        """What `kubectl get tortoise` shows."""
        columns = VERSION["additionalPrinterColumns"]
        shown = ["Mode", "Phase", "Target", "Min", "Max", "Blocked", "Age"]
        assert [column["name"] for column in columns if "priority" not in column] == shown

    def test_every_field_is_there_and_described(self):
        """The tables define the fields."""
        assert list(SPEC["properties"]) == [w.key for _, w in Tortoise.TABLE]
        assert [path for path, place in fields_of(SPEC) if not place.get("description")] == []

    def test_structural(self):
        """Every place has a type or keeps unknown fields, and nothing has a default."""
        for path, place in fields_of(ROOT):
            is_open = place.get("x-kubernetes-int-or-string") or place.get("x-kubernetes-preserve-unknown-fields")
            assert "type" in place or is_open, path
            assert "default" not in place, path
            assert ("items" in place) == (place.get("type") == "array"), path

    def test_facts_name_only_what_exists(self):
        """A hint for a removed field would be lost silently."""
        required = [(part, key) for part, keys in FACTS.required.items() for key in keys]
        places = [*FACTS.hints, *FACTS.shapes, *required]
        assert [(part.__name__, key) for part, key in places if key not in part.BY_KEY] == []

    def test_cel_by_place(self):
        """The ids of the rules in CEL, except `type`, which every number has."""
        ids = {
            path: [one["message"].rsplit("[", 1)[1].rstrip("]") for one in place.get("x-kubernetes-validations", ())]
            for path, place in [("", SPEC), *fields_of(SPEC)]
        }
        assert {path: rules for path, rules in ids.items() if set(rules) - {"type"}} == {
            "": ["last-horizontal"] * 2,
            "targetRefs": ["immutable"] * 3,
            "resourcePolicy[]": ["whole-amount", "whole-amount", "allowed-range"] * 2,
        }

    def test_containers_are_keys(self):
        """An API server refuses a container twice, and clients merge by container."""
        for key in ("autoscalingPolicy", "resourcePolicy"):
            assert SPEC["properties"][key]["x-kubernetes-list-type"] == "map"
            assert SPEC["properties"][key]["x-kubernetes-list-map-keys"] == ["containerName"]

    def test_status_is_open(self):
        """What another version writes is kept."""
        status = ROOT["properties"]["status"]
        jsonschema.validate({**STATUS, "another": {"thing": [1]}}, status)
        assert not jsonschema.Draft202012Validator(status).is_valid({"tortoisePhase": 3})
        assert HEAD["kind"] == CRD["spec"]["names"]["kind"]


def fields_of(schema, path=""):
    for key, child in schema.get("properties", {}).items():
        here = f"{path}.{key}" if path else key
        yield here, child
        yield from fields_of(child, here)
    if "items" in schema:
        if path.endswith(("Policy", "policies")):
            yield f"{path}[]", {"description": "an item", **schema["items"]}
        yield from fields_of(schema["items"], f"{path}[]")


@pytest.mark.parametrize(
    ("spec", "where", "hint"),
    [
        (
            {"autoscalingPolicy": [{"containerName": "*", "policy": {"cpu": "Horizontal"}}]},
            "spec.autoscalingPolicy[0].containerName",
            "write an item for each container, or leave the list out",
        ),
        (
            {"resourcePolicy": [{"containerName": "*", "minAllocatedResources": {"cpu": "1"}}]},
            "spec.resourcePolicy[0].containerName",
            "write an item for each container",
        ),
    ],
)
def test_no_name_stands_for_all_containers(spec, where, hint):
    """A Tortoise has no such name, unlike a VPA: it would turn everything Off, in silence."""
    target = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"}
    data = {"metadata": {"name": "web"}, "spec": {"targetRefs": {"scaleTargetRef": target}, **spec}}
    [found] = [each for each in Tortoise.from_dict(data).problems() if each.rule == "container-name"]
    assert (found.field, found.severity, found.hint) == (where, "warning", hint)
    twice = {key: value * 2 for key, value in spec.items()}
    data = {"metadata": {"name": "web"}, "spec": {"targetRefs": {"scaleTargetRef": target}, **twice}}
    assert "duplicate-policy" in [each.rule for each in Tortoise.from_dict(data).problems()]
