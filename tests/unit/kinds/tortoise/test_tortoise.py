"""Tortoises: writing, reading and completing them."""

import json
import pickle

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hypot.kinds.base import InvalidAutoscaler, Ref
from hypot.kinds.hpa.fields import Behavior, Limit, ScalingRules
from hypot.kinds.tortoise import Tortoise, with_defaults
from hypot.kinds.tortoise.fields import ContainerResourcePolicy, TargetRefs, policies_of
from hypot.kinds.tortoise.policies import AutoscalingTypes, ContainerAutoscalingPolicy
from hypot.kinds.tortoise.rules import update_problems
from hypot.kinds.tortoise.status import Conditions, Targets, TortoiseStatus
from hypot.kinds.vpa.fields import ResourcePolicy, policy_of

WEB = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"}
HEAD = {"apiVersion": "autoscaling.mercari.com/v1beta3", "kind": "Tortoise", "metadata": {"name": "web"}}
BOTH = {"containerName": "app", "policy": {"cpu": "Horizontal", "memory": "Vertical"}}

STATUS = {
    "tortoisePhase": "Working",
    "autoscalingPolicy": [BOTH],
    "containerResourcePhases": [
        {
            "containerName": "app",
            "resourcePhases": {"cpu": {"phase": "Working", "lastTransitionTime": "2026-11-02T00:00:00Z"}},
        }
    ],
    "targets": {
        "horizontalPodAutoscaler": "tortoise-hpa-web",
        "scaleTargetRef": WEB,
        "verticalPodAutoscalers": [{"name": "tortoise-monitor-web", "role": "Monitor"}],
    },
    "recommendations": {
        "horizontal": {
            "targetUtilizations": [{"containerName": "app", "targetUtilization": {"cpu": 75}}],
            "minReplicas": [
                {
                    "from": 0,
                    "to": 1,
                    "weekday": "Sunday",
                    "timezone": "UTC",
                    "value": 5,
                    "updatedAt": "2026-11-02T00:00:00Z",
                }
            ],
            "maxReplicas": [{"from": 0, "to": 24, "timezone": "UTC", "value": 20}],
        },
        "vertical": {
            "containerResourceRecommendation": [
                {"containerName": "app", "RecommendedResource": {"cpu": "500m", "memory": "1Gi"}}
            ]
        },
    },
    "conditions": {
        "containerRecommendationFromVPA": [
            {
                "containerName": "app",
                "maxRecommendation": {"cpu": {"quantity": "6m", "updatedAt": "2026-11-02T00:00:00Z"}},
                "recommendation": {"memory": {"quantity": "54Mi"}},
            }
        ],
        "containerResourceRequests": [{"containerName": "app", "resource": {"cpu": "500m"}}],
        "tortoiseConditions": [
            {"type": "FailedToReconcile", "status": "False", "lastUpdateTime": "2026-11-02T00:00:00Z"}
        ],
    },
    "minReplicas": 5,
    "maxReplicas": 20,
    "observedGeneration": 3,
}


def manifest(**spec):
    return {**HEAD, "spec": {"targetRefs": {"scaleTargetRef": WEB}, **spec}}


def read(**spec):
    return Tortoise.from_dict(manifest(**spec))


class TestWriting:
    """Tortoises as users write them in Python."""

    def test_the_least_that_works(self):
        """Nothing is written that was not given."""
        assert Tortoise("deployment/web").to_dict() == manifest()

    def test_everything(self):
        """Each keyword is in the manifest under its own name."""
        tortoise = Tortoise(
            "sts/web",
            mode="Auto",
            hpa="web-hpa",
            containers={
                "app": {
                    "cpu": "Horizontal",
                    "memory": "Vertical",
                    "min_allocated": {"cpu": 1},
                    "max_allocated": {"cpu": "5"},
                },
                "proxy": {"cpu": "Off"},
            },
            deletion_policy="DeleteAll",
            max_replicas=40,
            scale_down=ScalingRules([Limit("Percent", 2, 90)], window="5m"),
            name="weeks",
            namespace="shop",
            annotations={"hypot.dev/decide": "true"},
        )
        assert tortoise.to_dict() == {
            **HEAD,
            "metadata": {"name": "weeks", "namespace": "shop", "annotations": {"hypot.dev/decide": "true"}},
            "spec": {
                "targetRefs": {
                    "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "StatefulSet", "name": "web"},
                    "horizontalPodAutoscalerName": "web-hpa",
                },
                "updateMode": "Auto",
                "autoscalingPolicy": [BOTH, {"containerName": "proxy", "policy": {"cpu": "Off"}}],
                "resourcePolicy": [
                    {
                        "containerName": "app",
                        "minAllocatedResources": {"cpu": 1},
                        "maxAllocatedResources": {"cpu": "5"},
                    }
                ],
                "deletionPolicy": "DeleteAll",
                "maxReplicas": 40,
                "horizontalPodAutoscalerBehavior": {
                    "scaleDown": {
                        "policies": [{"type": "Percent", "value": 2, "periodSeconds": 90}],
                        "stabilizationWindowSeconds": 300,
                    }
                },
            },
        }
        assert tortoise.problems() == ()
        assert Tortoise.from_dict(tortoise.to_dict()) == tortoise
        assert pickle.loads(pickle.dumps(tortoise)) == tortoise  # noqa: S301  just written

    def test_all_problems_at_once(self):
        """In the words of Python."""
        with pytest.raises(InvalidAutoscaler) as error:
            Tortoise("deployment/", mode="auto", hpa="A", max_replicas=0, scale_up=ScalingRules(window=-1), name="web")
        paths = [problem.path for problem in error.value.problems]
        assert paths == ["target.name", "hpa", "mode", "max_replicas", "scale_up.window"]


class TestReading:
    """What a decision asks of a Tortoise."""

    @pytest.mark.parametrize(
        ("spec", "name", "named"),
        [
            ({}, "tortoise-hpa-web", False),
            ({"targetRefs": {"horizontalPodAutoscalerName": "mine"}}, "mine", True),
            ({"targetRefs": {"horizontalPodAutoscalerName": ""}}, "tortoise-hpa-web", False),
            ({"targetRefs": {"horizontalPodAutoscalerName": 3}}, "tortoise-hpa-web", False),
            ({"targetRefs": "web"}, "tortoise-hpa-web", False),
        ],
    )
    def test_its_hpa(self, spec, name, named):
        """The one that it names, or its own."""
        assert (read(**spec).hpa_name, read(**spec).names_hpa) == (name, named)

    def test_effective_values(self):
        """Absent means Off, keep the HPA, and let another controller decide it."""
        plain = read()
        assert (plain.mode, plain.deletes_all, plain.decides) == ("Off", False, False)
        assert str(plain.target) == "Deployment/web"
        assert read(targetRefs=None).target is None
        acting = Tortoise.from_dict(
            {
                **manifest(updateMode="Auto", deletionPolicy="DeleteAll"),
                "metadata": {"name": "web", "annotations": {"hypot.dev/decide": "true", "hypot.dev/round-cpu": "10m"}},
            }
        )
        assert (acting.mode, acting.deletes_all, acting.decides) == ("Auto", True, True)
        assert acting.knob_annotations["hypot.dev/round-cpu"] == "10m"

    @pytest.mark.parametrize(
        ("written", "policies"),
        [
            (None, None),
            ([], None),
            ([BOTH], {"app": {"cpu": "Horizontal", "memory": "Vertical"}, "proxy": {"cpu": "Off", "memory": "Off"}}),
            ([{"containerName": "app"}], {name: {"cpu": "Off", "memory": "Off"} for name in ("app", "proxy")}),
            (
                [{"containerName": "proxy", "policy": {"memory": "Vertical"}}, {"containerName": "gone"}],
                {"app": {"cpu": "Off", "memory": "Off"}, "proxy": {"cpu": "Off", "memory": "Vertical"}},
            ),
            (
                [{"containerName": "app", "policy": {"cpu": "Sideways", "memory": ["Vertical"]}}, BOTH],
                {name: {"cpu": "Off", "memory": "Off"} for name in ("app", "proxy")},
            ),
        ],
    )
    def test_policies_by_container(self, written, policies):
        """What is not written is Off; without any policy the controller chooses."""
        assert policies_of(read(autoscalingPolicy=written), ["app", "proxy"]) == policies

    def test_bounds_in_the_form_of_a_vpa(self):
        """Whatever sizes pods for a VPA can read them."""
        sizes = [{"containerName": "app", "minAllocatedResources": {"cpu": "1"}, "maxAllocatedResources": {"cpu": 5}}]
        assert read().container_policies is None
        policies = read(resourcePolicy=sizes).container_policies
        assert isinstance(policies, ResourcePolicy)
        app = policy_of(policies, "app")
        assert (app.mode, app.min_allowed, app.max_allowed) == (None, {"cpu": "1"}, {"cpu": 5})
        assert policy_of(policies, "proxy") is None

    def test_what_is_off_is_not_sized(self):
        """With written policies, every container and resource that they leave out is Off."""
        sizes = [{"containerName": name, "minAllocatedResources": {"cpu": "1"}} for name in ("app", "gone")]
        tortoise = read(
            resourcePolicy=sizes,
            autoscalingPolicy=[{"containerName": "app", "policy": {"cpu": "Horizontal"}}, {"containerName": "off"}],
        )
        policies = tortoise.container_policies
        assert policy_of(policies, "app").controlled_resources == ["cpu"]
        assert policy_of(policies, "app").min_allowed == {"cpu": "1"}
        assert [policy_of(policies, name).mode for name in ("app", "off", "gone", "other")] == [None, *["Off"] * 3]
        assert tortoise.container_policies is policies

    def test_status(self):
        """Every field of the original's status is read, and written as it was."""
        assert TortoiseStatus.read(STATUS).sound()
        assert TortoiseStatus.read(STATUS).write() == STATUS
        tortoise = Tortoise.from_dict({**manifest(), "status": STATUS})
        assert tortoise.problems() == ()
        assert (tortoise.reported.phase, tortoise.reported.hpa) == ("Working", "tortoise-hpa-web")
        assert tortoise.reported.recommendations.horizontal.min_replicas[0].value == 5
        assert tortoise.reported.recommendations.vertical.sizes[0].size == {"cpu": "500m", "memory": "1Gi"}
        assert (read().reported.phase, read().reported.hpa) == (None, "")

    def test_status_of_other_versions(self):
        """Unknown fields are fine, wrong types are not."""
        unknown = Tortoise.from_dict({**manifest(), "status": {**STATUS, "more": 1}})
        assert unknown.problems() == ()
        wrong = Tortoise.from_dict({**manifest(), "status": {"tortoisePhase": 3}})
        assert [problem.field for problem in wrong.problems()] == ["status.tortoisePhase"]
        assert wrong.reported.phase is None


class TestDefaults:
    """What an admission webhook of the original fills in."""

    def test_nothing_is_missing(self):
        """The same object."""
        whole = read(updateMode="Auto", deletionPolicy="NoDelete", autoscalingPolicy=[BOTH])
        assert with_defaults(whole, ["app"]) is whole

    def test_as_many_policies_as_containers(self):
        """A policy for another container does not hide that one is missing."""
        complete = with_defaults(read(autoscalingPolicy=[BOTH]), ["nginx"])
        assert [item.container_name for item in complete.autoscaling_policy] == ["app", "nginx"]
        assert complete.autoscaling_policy[1].policy.write() == {"cpu": "Off", "memory": "Off"}

    def test_an_item_without_a_policy(self):
        """It is completed."""
        complete = with_defaults(read(autoscalingPolicy=[{"containerName": "app"}]), ["app"])
        assert complete.autoscaling_policy[0].policy.write() == {"cpu": "Off", "memory": "Off"}

    def test_what_cannot_be_read_stays(self):
        """It is reported by the rules."""
        items = [3, {"containerName": "app", "policy": "Off"}]
        complete = with_defaults(read(autoscalingPolicy=items), ["app"])
        assert complete.to_dict()["spec"]["autoscalingPolicy"] == items


class TestFormerVersions:
    """Every version that the API ever had, read as v1beta3."""

    @staticmethod
    def former(version, **spec):
        return {**HEAD, "apiVersion": f"autoscaling.mercari.com/{version}", "spec": spec}

    def test_the_first_version(self):
        """A Deployment by name, and the policies next to the bounds."""
        data = self.former(
            "v1alpha1",
            targetRefs={"deploymentName": "web", "horizontalPodAutoscalerName": "mine"},
            updateMode="Auto",
            resourcePolicy=[
                {
                    "containerName": "app",
                    "MinAllocatedResources": {"cpu": "1"},
                    "autoscalingPolicy": {"memory": "Horizontal"},
                },
                {"containerName": "proxy", "autoscalingPolicy": {"cpu": "Vertical"}},
            ],
        )
        tortoise = Tortoise.from_dict(data)
        assert tortoise.to_dict() == manifest(
            targetRefs={"scaleTargetRef": WEB, "horizontalPodAutoscalerName": "mine"},
            updateMode="Auto",
            resourcePolicy=[
                {"containerName": "app", "minAllocatedResources": {"cpu": "1"}},
                {"containerName": "proxy"},
            ],
            autoscalingPolicy=[
                {"containerName": "app", "policy": {"cpu": "Horizontal", "memory": "Horizontal"}},
                {"containerName": "proxy", "policy": {"cpu": "Vertical", "memory": "Vertical"}},
            ],
        )
        assert [(p.rule, p.severity) for p in tortoise.problems()] == [("old-api-version", "warning")]

    @pytest.mark.parametrize("version", ["v1alpha1", "v1beta1", "v1beta2", "v1beta3"])
    def test_policies_that_are_the_automatic_ones(self, version):
        """They stay automatic, so that containers that are not listed are scaled, too."""
        sizes = [{"containerName": "app", "autoscalingPolicy": {"cpu": "Horizontal"}}]
        data = self.former(version, targetRefs={"scaleTargetRef": WEB}, resourcePolicy=sizes)
        assert Tortoise.from_dict(data).to_dict() == manifest()

    @pytest.mark.parametrize("version", ["v1alpha1", "v1beta1", "v1beta2", "v1beta3"])
    def test_policies_next_to_a_named_hpa(self, version):
        """They are kept: automatic ones would follow the metrics of that HPA, and might be the opposite."""
        sizes = [{"containerName": "app", "autoscalingPolicy": {"cpu": "Horizontal", "memory": "Vertical"}}]
        refs = {"scaleTargetRef": WEB, "horizontalPodAutoscalerName": "mine"}
        found = Tortoise.from_dict(self.former(version, targetRefs=refs, resourcePolicy=sizes))
        assert found.to_dict()["spec"]["autoscalingPolicy"] == [
            {"containerName": "app", "policy": {"cpu": "Horizontal", "memory": "Vertical"}}
        ]

    @pytest.mark.parametrize("version", ["v1beta1", "v1beta2"])
    def test_betas(self, version):
        """They name any target."""
        sizes = [{"containerName": "app", "autoscalingPolicy": {"memory": "Off"}}]
        tortoise = Tortoise.from_dict(
            self.former(version, targetRefs={"scaleTargetRef": WEB}, resourcePolicy=sizes, deletionPolicy="DeleteAll")
        )
        policy = [{"containerName": "app", "policy": {"cpu": "Horizontal", "memory": "Off"}}]
        assert tortoise.to_dict() == manifest(deletionPolicy="DeleteAll", autoscalingPolicy=policy)
        assert [problem.rule for problem in tortoise.problems()] == ["old-api-version"]

    def test_old_status(self):
        """Its Deployment is the target; other differences are not reported."""
        data = {
            **self.former("v1alpha1", targetRefs={"deploymentName": "web"}),
            "status": {
                "targets": {"deployment": "web", "horizontalPodAutoscaler": "mine"},
                "recommendations": {"horizontal": {"minReplicas": [{"weekday": 0, "value": 3}]}},
            },
        }
        tortoise = Tortoise.from_dict(data)
        assert tortoise.reported.targets.target.write() == WEB
        assert tortoise.reported.hpa == "mine"
        assert [problem.rule for problem in tortoise.problems()] == ["old-api-version"]

    @pytest.mark.parametrize(
        ("version", "spec", "ignored"),
        [
            ("v1alpha1", {"targetRefs": {"deploymentName": "web"}, "featureGates": ["a"]}, "spec.featureGates"),
            (
                "v1beta1",
                {"targetRefs": {"deploymentName": "other", "scaleTargetRef": WEB}},
                "spec.targetRefs.deploymentName",
            ),
            (
                "v1beta2",
                {
                    "targetRefs": {"scaleTargetRef": WEB},
                    "autoscalingPolicy": [BOTH],
                    "resourcePolicy": [{"containerName": "app", "autoscalingPolicy": {"cpu": "Off"}}],
                },
                "spec.resourcePolicy[0].autoscalingPolicy",
            ),
            (
                "v1alpha1",
                {
                    "targetRefs": {"deploymentName": "web"},
                    "resourcePolicy": [
                        {"containerName": "app", "minAllocatedResources": {}, "MinAllocatedResources": {"cpu": 1}}
                    ],
                },
                "spec.resourcePolicy[0].MinAllocatedResources",
            ),
        ],
    )
    def test_what_is_ignored_is_reported(self, version, spec, ignored):
        """As a warning, next to that for the version."""
        tortoise = Tortoise.from_dict(self.former(version, **spec))
        assert [(p.rule, p.severity) for p in tortoise.problems()] == [
            ("old-api-version", "warning"),
            ("old-field", "warning"),
        ]
        assert tortoise.problems()[1].field == ignored
        assert tortoise.target.name == "web"

    def test_the_old_form_in_the_newest_version(self):
        """It is read, with a warning: an API server would reject it."""
        sizes = [
            {"containerName": "app", "MinAllocatedResources": {"cpu": 1}, "autoscalingPolicy": {"cpu": "Vertical"}}
        ]
        tortoise = read(resourcePolicy=sizes)
        assert tortoise.to_dict()["spec"]["resourcePolicy"] == [
            {"containerName": "app", "minAllocatedResources": {"cpu": 1}}
        ]
        assert policies_of(tortoise, ["app"]) == {"app": {"cpu": "Vertical", "memory": "Vertical"}}
        assert [(p.rule, p.severity) for p in tortoise.problems()] == [("old-field", "warning")] * 2

    def test_wrong_types_are_reported(self):
        """Where v1beta3 has them."""
        data = self.former(
            "v1alpha1",
            targetRefs={"deploymentName": 3},
            resourcePolicy=[{"containerName": "a", "autoscalingPolicy": 1}],
        )
        errors = [problem for problem in Tortoise.from_dict(data).problems() if problem.severity == "error"]
        assert [problem.field for problem in errors] == [
            "spec.targetRefs.scaleTargetRef.name",
            "spec.autoscalingPolicy[0].policy",
        ]

    def test_another_group_is_no_version(self):
        """An error, as for other kinds."""
        rules = [p.rule for p in Tortoise.from_dict({**manifest(), "apiVersion": "example.com/v1"}).problems()]
        assert rules == ["api-version-not-served"]


scalars = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=4)
words = st.sampled_from(["app", "Off", "Auto", "Emergency", "Horizontal", "Vertical", "1", "-1", "1e400", "0.5Gi", ""])
OLD_KEYS = ("deploymentName", "featureGates", "MinAllocatedResources", "deployment")
PARTS = (
    Tortoise,
    TargetRefs,
    Ref,
    ContainerResourcePolicy,
    ContainerAutoscalingPolicy,
    AutoscalingTypes,
    Behavior,
    ScalingRules,
)
STATUS_PARTS = (TortoiseStatus, Targets, Conditions)
keys = st.sampled_from([*OLD_KEYS, *[w.key for part in (*PARTS, *STATUS_PARTS) for _, w in part.TABLE]])
anything = st.recursive(
    scalars | words, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(keys, inner, max_size=5), max_leaves=20
)
versions = st.sampled_from([*Tortoise.FORMER_VERSIONS, Tortoise.API_VERSION, "v1"])
specs = st.dictionaries(keys, anything, max_size=6) | anything
notes = st.dictionaries(
    st.sampled_from(["hypot.dev/decide", "hypot.dev/tortoise-slot-hours", "hypot.dev/tortoise-x", 3]), scalars | words
)
manifests = st.builds(
    lambda version, spec, status, annotations: {
        "apiVersion": version,
        "kind": "Tortoise",
        "metadata": {"name": "web", "annotations": annotations},
        "spec": spec,
        "status": status,
    },
    versions,
    specs,
    anything,
    notes,
)


@given(manifests, manifests)
def test_anything_can_be_read(data, other):
    """Whatever was written: reading, checking, completing and asking raise nothing."""
    tortoise, old = Tortoise.from_dict(data), Tortoise.from_dict(other)
    for one in (tortoise, tortoise.readable()):
        json.dumps([problem.to_dict() for problem in one.problems()])
        policies_of(one, ["app", "proxy"])
        policy_of(one.container_policies, "app")
        assert one.hpa_name
        assert isinstance(one.mode, str)
        assert one.target is None or one.target.TABLE
        complete = with_defaults(one, ["app"])
        assert with_defaults(complete, ["app"]) == complete
        [str(problem) for problem in update_problems(one, old)]


@given(manifests)
def test_reading_twice_is_reading_once(data):
    """The manifest that is written is of the newest version, and read as it is."""
    tortoise = Tortoise.from_dict(data)
    again = Tortoise.from_dict(tortoise.to_dict())
    assert again == tortoise
    assert again.misread == ()


@pytest.mark.parametrize(
    ("written", "group"),
    [
        ({"kind": "Deployment", "name": "web"}, "apps"),
        ({"apiVersion": "", "kind": "StatefulSet", "name": "web"}, "apps"),
        ({"apiVersion": "apps.openkruise.io/v1beta1", "kind": "StatefulSet", "name": "web"}, "apps.openkruise.io"),
        ({"kind": "Rollout", "name": "web"}, ""),
    ],
)
def test_a_workload_of_apps_needs_no_api_version(written, group):
    """Most manifests of the original leave it out. What is written stays as it is."""
    data = {**HEAD, "spec": {"targetRefs": {"scaleTargetRef": written}}}
    read = Tortoise.from_dict(data)
    assert read.target.group == group
    assert read.to_dict()["spec"] == data["spec"]
