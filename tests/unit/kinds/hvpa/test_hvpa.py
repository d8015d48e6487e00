"""Hvpas: writing and reading them, and what absent fields mean."""

import copy
import pickle
from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hypot.kinds.base import InvalidAutoscaler
from hypot.kinds.hpa.fields import ScalingRules, cpu
from hypot.kinds.hvpa import Hvpa, hpa_of, refusals, vpa_of
from hypot.kinds.hvpa.fields import Change, HvpaSpec, MaintenanceWindow, MinChange, ResourceChanges, ScaleType, interval
from hypot.kinds.vpa.fields import ContainerPolicy, policy_of
from unit.policy.hvpa.hvpa_cases import (
    BASE,
    HEAD,
    INTERVALS,
    OVERLAP,
    RELEASED,
    TARGET,
    found,
    hpa,
    manifest,
    policy,
    seed,
    sized,
    vpa,
)


class TestTheSeed:
    """The proposal's own manifests."""

    def test_the_last_example_loads(self):
        """It has five intervals, base load and overlap, and no problems."""
        hvpa = Hvpa.from_dict(seed())
        assert hvpa.problems() == ()
        assert [i.max_replicas for i in hvpa.intervals] == [1, 2, 3, 4, 5]
        assert hvpa.intervals[1].max_resources == {"cpu": 1, "memory": "4Gi"}
        assert hvpa.overlap == ResourceChanges(Change("250m", 30), Change("1.5Gi", 30))
        assert hvpa.base.memory == Change("200M", 10)
        assert hvpa.to_dict() == seed()

    def test_misspelt_keys_are_named(self):
        """The proposal writes percentate twice; both are reported, with the right key."""
        text = (BASE + INTERVALS + OVERLAP).replace("percentage: 10", "percentate: 10")
        text = text.replace("1.5Gi\n        percentage", "1.5Gi\n        percentate")
        problems = Hvpa.from_dict(manifest(text)).problems()
        fields = ["baseResourcesPerReplica.memory.percentate", "scalingIntervalsOverlap.memory.percentate"]
        assert [(p.rule, p.field) for p in problems] == [("unknown-field", f"spec.{field}") for field in fields]
        assert {p.hint for p in problems} == {"did you mean percentage?"}
        assert {p.severity for p in problems} == {"error"}

    def test_the_first_example_is_weight_based(self):
        """The form that the proposal replaces can still be stored and checked."""
        weights = [
            {"vpaWeight": 0, "startReplicaCount": 1, "lastReplicaCount": 3},
            {"vpaWeight": 100, "startReplicaCount": 4, "lastReplicaCount": 4},
        ]
        hvpa = Hvpa.from_dict(manifest(weightBasedScalingIntervals=weights))
        assert hvpa.problems() == ()
        assert hvpa.is_weight_based
        assert [(w.vpa_weight, w.start, w.last) for w in hvpa.weights] == [(0, 1, 3), (100, 4, 4)]

    def test_the_single_bucket_is_weight_based_too(self):
        """A weight between 0 and 100 was never supported, but is not an error."""
        weights = [{"vpaWeight": 50, "startReplicaCount": 1, "lastReplicaCount": 4}]
        assert found(manifest(weightBasedScalingIntervals=weights)) == []

    def test_other_tables_of_the_proposal(self):
        """Vertical only is one count; horizontal only is the same size at every count."""
        assert found(sized((2, 4, "16Gi"), hpa=hpa(minReplicas=2, maxReplicas=2))) == []
        assert found(sized(*[(count, "500m", "2Gi") for count in range(1, 6)])) == []
        assert found(sized((5, "500m", "2Gi", "horizontalOnly"))) == []


class TestReleased:
    """Manifests of the released controller."""

    def test_it_is_read_without_complaint(self):
        """Every field that it had is known."""
        hvpa = Hvpa.from_dict(manifest(RELEASED))
        assert hvpa.problems() == ()
        assert hvpa.is_weight_based
        assert (hvpa.vpa.scale_up.mode, hvpa.vpa.scale_down.mode) == ("MaintenanceWindow", "Off")
        assert hvpa.vpa.limits_gap.memory == Change("1G", 40)
        assert hvpa.vpa.scale_up.min_change.replicas == Change("1")

    def test_old_metrics_are_read_as_current_ones(self):
        """In v2beta1 targets were next to the name; an object was called target."""
        metrics = hpa_of(Hvpa.from_dict(manifest(RELEASED))).to_dict()["spec"]["metrics"]
        assert metrics == [
            {
                "type": "Resource",
                "resource": {"name": "memory", "target": {"type": "Utilization", "averageUtilization": 50}},
            },
            {
                "type": "Object",
                "object": {
                    "describedObject": {"kind": "Service", "name": "web"},
                    "metric": {"name": "hits"},
                    "target": {"type": "Value", "value": "2k"},
                },
            },
        ]

    def test_current_metrics_stay_as_they_are(self):
        """Also an Object metric, where target has another meaning."""
        source = {
            "describedObject": {"apiVersion": "v1", "kind": "Service", "name": "web"},
            "metric": {"name": "hits"},
            "target": {"type": "Value", "value": "2k"},
        }
        data = seed(hpa=hpa(metrics=[{"type": "Object", "object": source}]))
        assert found(data) == []
        assert Hvpa.from_dict(data).to_dict() == data

    def test_the_other_group_is_an_alias(self):
        """It is read as our group, with a warning; any other version is refused."""
        alias = {**seed(), "apiVersion": "autoscaling.gardener.cloud/v1alpha1"}
        assert found(alias) == []
        assert found(alias, "warning") == [("old-api-version", "apiVersion")]
        assert Hvpa.from_dict(alias).to_dict() == seed()
        assert found({**seed(), "apiVersion": "autoscaling.k8s.io/v2"}) == [("api-version-not-served", "apiVersion")]

    def test_fields_that_moved_are_reported(self):
        """Next to intervals the scale parameters of the blocks are not read; empty ones are not reported."""
        spec = {key: value for key, value in manifest(RELEASED)["spec"].items() if not key.startswith("weight")}
        data = {**HEAD, "spec": {**spec, **seed()["spec"]}}
        assert found(data, "warning") == [
            ("last-interval", "spec.scalingIntervals[4].maxReplicas"),
            ("unread-field", "spec.hpa.scaleUp"),
            ("unread-field", "spec.hpa.scaleDown"),
            ("unread-field", "spec.vpa.scaleUp"),
            ("unread-field", "spec.vpa.scaleDown"),
            ("unread-field", "spec.vpa.limitsRequestsGapScaleParams"),
        ]
        empty = {"deploy": True, "scaleUp": {"updatePolicy": {}, "minChange": {"cpu": {}}}}
        assert found(seed(vpa=empty), "warning") == []


class TestSources:
    """The sources of recommendations, and the content of the templates."""

    @pytest.mark.parametrize(
        ("block", "used", "warned"),
        [(None, True, False), ({"deploy": True}, True, False), ({"deploy": False}, False, False), ({}, False, True)],
    )
    def test_deploy(self, block, used, warned):
        """No block means hypot's own recommender; a block without deploy means none, with a warning."""
        for key in ("hpa", "vpa"):
            hvpa = Hvpa.from_dict(seed(**{key: block}))
            assert (hvpa.uses_hpa if key == "hpa" else hvpa.uses_vpa) is used
            assert found(hvpa.to_dict(), "warning") == ([("deploy-absent", f"spec.{key}.deploy")] if warned else [])

    def test_without_any_source(self):
        """Nothing would ever be scaled."""
        off = {"deploy": False}
        assert found(seed(hpa=off, vpa=off), "warning") == [("no-source", "spec")]

    def test_what_the_templates_say(self):
        """Counts come from the HPA template, policies and knobs from the VPA template."""
        annotations = {"hypot.dev/recommendations": "objects"}
        notes = {"metadata": {"annotations": {"example.com/a": "b"}}}
        block = vpa(policy("app", high={"cpu": 2}))
        block["template"] |= notes
        data = seed(hpa=hpa(minReplicas=2, maxReplicas=7), vpa=block)
        data["metadata"]["annotations"] = annotations
        hvpa = Hvpa.from_dict(data)
        assert (hvpa.min_replicas, hvpa.max_replicas) == (2, 7)
        assert policy_of(hvpa.container_policies, "app").max_allowed == {"cpu": 2}
        assert hvpa.knob_annotations == {"example.com/a": "b"}
        assert hvpa.recommendations == "objects"

    def test_without_templates(self):
        """The defaults apply, and there are no problems."""
        hvpa = Hvpa.from_dict(seed(hpa={"deploy": True}, vpa={"deploy": True, "template": {}}))
        assert (hvpa.min_replicas, hvpa.max_replicas, hvpa.container_policies) == (1, None, None)
        assert (hvpa.knob_annotations, hvpa.recommendations, hvpa.problems()) == ({}, "own", ())

    def test_the_hpa_of_the_template(self):
        """It has the same target and name as the Hvpa; without its own maximum, that of the last interval."""
        data = seed(hpa=hpa(labels={"a": "b"}, minReplicas=1, behavior={"scaleDown": {"selectPolicy": "Disabled"}}))
        data["metadata"]["namespace"] = "garden"
        assert hpa_of(Hvpa.from_dict(data)).to_dict() == {
            "apiVersion": "autoscaling/v2",
            "kind": "HorizontalPodAutoscaler",
            "metadata": {"name": "kube-apiserver", "namespace": "garden", "labels": {"a": "b"}},
            "spec": {
                "scaleTargetRef": TARGET,
                "minReplicas": 1,
                "maxReplicas": 5,
                "behavior": {"scaleDown": {"selectPolicy": "Disabled"}},
            },
        }
        assert hpa_of(Hvpa.from_dict(seed())).to_dict()["spec"] == {"scaleTargetRef": TARGET, "maxReplicas": 5}

    def test_the_vpa_of_the_template(self):
        """The VPA has the same target, and the policies of the template."""
        made = vpa_of(Hvpa.from_dict(seed(vpa=vpa(policy("app", mode="Off"))))).to_dict()
        assert made["spec"]["targetRef"] == TARGET
        assert made["spec"]["resourcePolicy"] == {"containerPolicies": [{"containerName": "app", "mode": "Off"}]}


class TestWriting:
    """Hvpas as users write them in Python."""

    def test_the_least_that_works(self):
        """Only blocks with content are written."""
        hvpa = Hvpa("deployment/web", intervals=[interval(3, cpu=2, memory="4Gi")])
        assert hvpa.to_dict() == {
            **HEAD,
            "metadata": {"name": "web"},
            "spec": {
                "targetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"},
                "scalingIntervals": [{"maxReplicas": 3, "maxResources": {"cpu": 2, "memory": "4Gi"}}],
            },
        }

    def test_everything_else(self):
        """Each keyword is in the manifest under its own name."""
        hvpa = Hvpa(
            "deployment/web",
            intervals=[interval(2, cpu=1, memory="2Gi"), interval(extrapolation="horizontalOnly")],
            overlap=ResourceChanges(cpu=Change(percentage=30)),
            base=ResourceChanges(memory=Change("100M", 5)),
            limits_gap=ResourceChanges(cpu=Change(percentage=20)),
            scale_up=ScaleType("Auto", MinChange(cpu=Change("200m")), "3m"),
            scale_down=ScaleType("MaintenanceWindow", stabilization=timedelta(minutes=30)),
            window=("220000+0100", "230000+0100"),
            min_replicas=1,
            max_replicas=8,
            metrics=cpu(utilization=100),
            hpa_scale_down=ScalingRules(window=0),
            containers=[ContainerPolicy("*", min_allowed={"cpu": "100m"}, max_allowed={"cpu": 1, "memory": "2Gi"})],
            knobs={"hypot.dev/cpu-half-life": "6h"},
            use_vpa=False,
            annotations={"hypot.dev/recommendations": "own"},
        )
        spec = hvpa.to_dict()["spec"]
        assert spec["hpa"]["template"]["spec"] == {
            "minReplicas": 1,
            "maxReplicas": 8,
            "metrics": [cpu(utilization=100).write()],
            "behavior": {"scaleDown": {"stabilizationWindowSeconds": 0}},
        }
        assert (spec["hpa"]["deploy"], spec["vpa"]["deploy"]) == (True, False)
        assert spec["vpa"]["template"]["metadata"] == {"annotations": {"hypot.dev/cpu-half-life": "6h"}}
        assert spec["scaleUp"] == {
            "updatePolicy": {"updateMode": "Auto"},
            "minChange": {"cpu": {"value": "200m"}},
            "stabilizationDuration": "3m",
        }
        assert spec["scaleDown"]["stabilizationDuration"] == "1800s"
        assert spec["maintenanceTimeWindow"] == {"begin": "220000+0100", "end": "230000+0100"}
        assert Hvpa.from_dict(hvpa.to_dict()) == hvpa
        assert pickle.loads(pickle.dumps(hvpa)) == hvpa  # noqa: S301  its own bytes

    def test_the_least_change_may_be_any_form_of_changes(self):
        """A mapping, or the class that overlap and base have."""
        written = ScaleType(min_change={"cpu": "10%"})
        assert ScaleType(min_change=ResourceChanges(cpu=Change(percentage=10))) == written
        assert ScaleType(min_change=MinChange(cpu=Change(percentage=10))) == written

    def test_all_problems_at_once(self):
        """One exception has the Python path of each."""
        with pytest.raises(InvalidAutoscaler) as caught:
            Hvpa(
                "deployment/web",
                intervals=[interval(2, cpu=1, memory="1Gi"), interval(2, cpu=2, memory="2Gi")],
                min_replicas=0,
                containers=[ContainerPolicy("a", min_allowed={"cpu": 2}, max_allowed={"cpu": 1})],
                scale_up=ScaleType("Sometimes"),
            )
        paths = [problem.path for problem in caught.value.problems]
        assert paths == [
            "min_replicas",
            "containers[0].max_allowed.cpu",
            "scale_up.mode",
            "intervals[1].max_replicas",
            "intervals[0].max_resources.cpu",
            "intervals[1].max_resources.cpu",
        ]


@pytest.mark.parametrize(
    ("scale", "mode", "seconds"),
    [
        ({}, "Auto", None),
        ({"updatePolicy": {}}, "Auto", None),
        ({"updatePolicy": {"updateMode": "Off"}, "stabilizationDuration": "1m30s"}, "Off", 90.0),
        ({"stabilizationDuration": "soon"}, "Auto", None),
        ({"updatePolicy": 7, "stabilizationDuration": 7}, "Auto", None),
    ],
)
def test_how_a_direction_is_held_back(scale, mode, seconds):
    """An absent or unreadable value does not hold anything back."""
    made = ScaleType.read(scale)
    assert (made.mode, made.stabilization_seconds) == (mode, seconds)


@pytest.mark.parametrize(
    ("window", "bounds"),
    [
        (MaintenanceWindow("220000+0100", "010000+0100"), (75600, 0)),
        (MaintenanceWindow("220000+0100"), None),
        (MaintenanceWindow("2200", "010000+0100"), None),
        (MaintenanceWindow(7, 7), None),
    ],
)
def test_bounds_of_a_window(window, bounds):
    """In seconds of the day, UTC."""
    assert window.bounds == bounds


def test_refusals_are_those_of_the_object_itself():
    """Errors only, the same on each call, and never those of a similar object."""
    good, bad = Hvpa.from_dict(seed()), Hvpa.from_dict(seed(replicas=-1, hpa={}))
    for _ in range(2):
        assert [problem.rule for problem in refusals(bad)] == ["not-negative"]
        assert refusals(good) == ()


JUNK = st.recursive(
    st.none() | st.booleans() | st.integers(-5, 2**40) | st.floats(allow_nan=False) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=6,
)


def places(value, path=()):
    yield path
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, inner in items:
        yield from places(inner, (*path, key))


FULL = {
    **manifest(RELEASED, BASE, INTERVALS, OVERLAP, scaleUp={"minChange": {"cpu": {"value": "1"}}}),
    "status": {"replicas": 3},
}
PLACES = [path for path in places(FULL) if path]


@given(st.sampled_from(PLACES), JUNK)
def test_junk_never_raises(path, junk):
    """Any value anywhere in a manifest is kept, reported and written again."""
    data = copy.deepcopy(FULL)
    here = data
    for step in path[:-1]:
        here = here[step]
    here[path[-1]] = junk
    hvpa = Hvpa.from_dict(data)
    for problem in hvpa.problems():
        str(problem)
    for name in ("uses_hpa", "uses_vpa", "min_replicas", "max_replicas", "is_weight_based", "recommendations"):
        getattr(hvpa, name)
    assert isinstance(hvpa.knob_annotations, dict)
    assert policy_of(hvpa.container_policies, "app") is None or hvpa.container_policies
    readable = hvpa.readable()
    assert hpa_of(readable).KIND == "HorizontalPodAutoscaler"
    assert vpa_of(readable).KIND == "VerticalPodAutoscaler"
    hvpa.to_dict()


def test_the_spec_alone_can_be_read():
    """Policies need the fields, not the class for authors."""
    assert HvpaSpec.from_dict(seed()).max_replicas is None
