"""VerticalPodAutoscalers: writing, reading and completing them."""

import json
import pickle
from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hypot.kinds.base import InvalidAutoscaler
from hypot.kinds.problem import dotted
from hypot.kinds.vpa import VPA, with_defaults
from hypot.kinds.vpa.fields import (
    ContainerPolicy,
    CPUBoost,
    EvictionRequirement,
    RecommenderRef,
    ResourcePolicy,
    StartupBoost,
    amounts_of,
    policy_of,
)
from hypot.kinds.vpa.rules import GATES, strictness

WEB = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"}
HEAD = {"apiVersion": "autoscaling.k8s.io/v1", "kind": "VerticalPodAutoscaler", "metadata": {"name": "web"}}


def manifest(**spec):
    return {**HEAD, "spec": {"targetRef": WEB, **spec}}


def updates(**policy):
    return manifest(updatePolicy={"updateMode": "Recreate", **policy})


def container(**policy):
    return manifest(resourcePolicy={"containerPolicies": [{"containerName": "app", **policy}]})


class TestWriting:
    """VPAs as users write them in Python."""

    def test_the_least_that_works(self):
        """Nothing is written that was not given."""
        assert VPA("deployment/web").to_dict() == manifest()

    def test_everything(self):
        """Each keyword is in the manifest under its own name."""
        vpa = VPA(
            "deployment/web",
            mode="InPlaceOrRecreate",
            min_replicas=3,
            eviction_requirements=[EvictionRequirement(("cpu", "memory"), "TargetHigherThanRequests")],
            evict_after_oom=timedelta(minutes=5),
            containers=[
                ContainerPolicy(
                    "app",
                    "Auto",
                    {"cpu": "10m", "memory": "64Mi"},
                    {"cpu": 2},
                    ("cpu",),
                    "RequestsOnly",
                    oom_bump_up_ratio="1.5",
                    oom_min_bump_up="50Mi",
                    memory_interval=3600,
                    memory_interval_count=24,
                    startup_boost=StartupBoost(CPUBoost("Factor", 3, duration=30)),
                ),
                ContainerPolicy("*", "Off"),
            ],
            recommender="nightly",
            startup_boost=StartupBoost(CPUBoost("Quantity", quantity="500m")),
            name="sizes",
            namespace="shop",
            annotations={"hypot.dev/cpu-half-life": "6h"},
        )
        assert vpa.to_dict()["spec"] == {
            "targetRef": WEB,
            "updatePolicy": {
                "updateMode": "InPlaceOrRecreate",
                "minReplicas": 3,
                "evictionRequirements": [
                    {"resources": ["cpu", "memory"], "changeRequirement": "TargetHigherThanRequests"}
                ],
                "evictAfterOOMSeconds": 300,
            },
            "resourcePolicy": {
                "containerPolicies": [
                    {
                        "containerName": "app",
                        "mode": "Auto",
                        "minAllowed": {"cpu": "10m", "memory": "64Mi"},
                        "maxAllowed": {"cpu": 2},
                        "controlledResources": ["cpu"],
                        "controlledValues": "RequestsOnly",
                        "oomBumpUpRatio": "1.5",
                        "oomMinBumpUp": "50Mi",
                        "memoryAggregationIntervalSeconds": 3600,
                        "memoryAggregationIntervalCount": 24,
                        "startupBoost": {"cpu": {"type": "Factor", "factor": 3, "durationSeconds": 30}},
                    },
                    {"containerName": "*", "mode": "Off"},
                ]
            },
            "recommenders": [{"name": "nightly"}],
            "startupBoost": {"cpu": {"type": "Quantity", "quantity": "500m"}},
        }
        assert (str(vpa), vpa.mode) == ("VerticalPodAutoscaler shop/sizes", "InPlaceOrRecreate")
        assert vpa.problems() == ()

    @pytest.mark.parametrize(
        ("arguments", "path"),
        [
            ({"mode": "Sometimes"}, "mode"),
            ({"min_replicas": 2}, "mode"),
            ({"mode": "Off", "min_replicas": 0}, "min_replicas"),
            ({"mode": "Off", "evict_after_oom": "soon"}, "evict_after_oom"),
            (
                {"mode": "Off", "eviction_requirements": [EvictionRequirement(["cpu"])]},
                "eviction_requirements[0].change",
            ),
            ({"containers": [ContainerPolicy()]}, "containers[0].container_name"),
            ({"containers": [ContainerPolicy("a", max_allowed={"cpu": "1500u"})]}, "containers[0].max_allowed.cpu"),
            ({"containers": [ContainerPolicy("a", min_allowed=[1])]}, "containers[0].min_allowed"),
            ({"containers": [ContainerPolicy("a", min_allowed={1: "5m"})]}, "containers[0].min_allowed"),
            (
                {"containers": [ContainerPolicy("a", controlled_resources=("disk",))]},
                "containers[0].controlled_resources[0]",
            ),
            ({"recommender": ""}, "recommender"),
            ({"startup_boost": StartupBoost(CPUBoost())}, "startup_boost.cpu.type"),
            ({"annotations": {"hypot.dev/safety-margin": "-1"}}, "annotations.hypot.dev/safety-margin"),
        ],
    )
    def test_what_would_be_refused_is_refused_at_once(self, arguments, path):
        """The error is raised on the author's line, with the path that the author wrote."""
        with pytest.raises(InvalidAutoscaler) as raised:
            VPA("deployment/web", **arguments)
        assert raised.value.problems[0].path == path

    def test_it_is_a_value(self):
        """It can be compared and pickled, also where an author wrote a tuple for a list."""
        policy = ContainerPolicy("app", controlled_resources=("cpu",), min_allowed={"cpu": "1"})
        vpa = VPA("deployment/web", containers=[policy], recommender="x")
        assert VPA.from_dict(json.loads(json.dumps(vpa.to_dict()))) == vpa
        assert pickle.loads(pickle.dumps(vpa)) == vpa  # noqa: S301  our own bytes
        assert hash(policy) == hash(ContainerPolicy("app", controlled_resources=["cpu"]))


class TestDefaults:
    """Default values."""

    def test_what_is_missing_is_filled_in(self):
        """Nothing else changes."""
        data = container(minAllowed={"cpu": "1"})
        spec = with_defaults(VPA.from_dict(data)).to_dict()["spec"]
        assert spec["updatePolicy"] == {"updateMode": "Recreate"}
        assert spec["resourcePolicy"]["containerPolicies"] == [
            {
                "containerName": "app",
                "mode": "Auto",
                "minAllowed": {"cpu": "1"},
                "controlledResources": ["cpu", "memory"],
                "controlledValues": "RequestsAndLimits",
            }
        ]

    @pytest.mark.parametrize(
        "data",
        [
            manifest(),
            updates(updateMode=None, minReplicas=2),
            container(mode="Off"),
            container(controlledResources=[]),
            manifest(resourcePolicy={"containerPolicies": None}),
            manifest(resourcePolicy=1, updatePolicy=2),
            manifest(resourcePolicy={"containerPolicies": [1]}),
        ],
    )
    def test_a_complete_object_is_returned_as_it_is(self, data):
        """There is no copy without a change, and invalid values stay as they are."""
        vpa = with_defaults(VPA.from_dict(data))
        assert with_defaults(vpa) is vpa
        assert vpa.mode == "Recreate"

    def test_a_container_that_is_off_stays_valid(self):
        """RequestsAndLimits is refused there, so it is not filled in."""
        assert with_defaults(VPA.from_dict(container(mode="Off"))).problems() == ()


class TestLookups:
    """What other modules read from the parts."""

    def test_the_policy_of_a_container(self):
        """The policy with its own name, else with a star, else none."""
        own, other, general = ContainerPolicy("a"), ContainerPolicy("a", "Off"), ContainerPolicy("*")
        policy = ResourcePolicy((general, own, other))
        assert (policy_of(policy, "a"), policy_of(policy, "b")) == (own, general)
        assert policy_of(ResourcePolicy((own,)), "b") is None
        assert policy_of(None, "a") is policy_of(ResourcePolicy(), "a") is policy_of(ResourcePolicy((1,)), "a") is None

    @pytest.mark.parametrize(
        ("mapping", "amounts"),
        [
            ({"cpu": "1500m", "memory": "1Gi"}, {"cpu": 1500, "memory": 2**30}),
            ({"cpu": 2, "memory": "1.5"}, {"cpu": 2000, "memory": 2}),
            ({"cpu": "x", "memory": None, "disk": 1}, {}),
            ({"cpu": True}, {}),
            (None, {}),
            ([], {}),
        ],
    )
    def test_amounts(self, mapping, amounts):
        """Millicores, and bytes rounded up; invalid amounts are left out."""
        assert amounts_of(mapping) == amounts

    def test_an_author_names_one_recommender(self):
        """The list in the manifest has at most one."""
        assert VPA("deployment/web", recommender="a").recommenders == (RecommenderRef("a"),)


# Junk: any value that a YAML or JSON file can hold, in place of anything in a manifest.
junk = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8) | st.integers(), inner, max_size=3),
    max_leaves=5,
)
FULL = {
    **HEAD,
    "spec": {
        "targetRef": WEB,
        "updatePolicy": {
            "updateMode": "Recreate",
            "minReplicas": 2,
            "evictionRequirements": [{"resources": ["cpu"], "changeRequirement": "TargetHigherThanRequests"}],
            "evictAfterOOMSeconds": 60,
        },
        "resourcePolicy": {
            "containerPolicies": [
                {
                    "containerName": "app",
                    "mode": "Auto",
                    "minAllowed": {"cpu": "1", "memory": "1Gi"},
                    "maxAllowed": {"cpu": "2", "memory": "2Gi"},
                    "controlledResources": ["cpu", "memory"],
                    "controlledValues": "RequestsOnly",
                    "oomBumpUpRatio": "1.2",
                    "oomMinBumpUp": "100Mi",
                    "memoryAggregationIntervalSeconds": 60,
                    "memoryAggregationIntervalCount": 8,
                    "startupBoost": {"cpu": {"type": "Factor", "factor": 2, "durationSeconds": 1}},
                }
            ]
        },
        "recommenders": [{"name": "default"}],
        "startupBoost": {"cpu": {"type": "Quantity", "quantity": "1"}},
    },
    "status": {
        "recommendation": {"containerRecommendations": [{"containerName": "app", "target": {"cpu": "1"}}]},
        "conditions": [{"type": "RecommendationProvided", "status": "True"}],
    },
}


def places(value, where=()):
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, inner in items:
        yield (*where, key)
        yield from places(inner, (*where, key))


def put(data, where, value):
    data = json.loads(json.dumps(data))
    here = data
    for part in where[:-1]:
        here = here[part]
    here[where[-1]] = value
    return data


@given(st.sampled_from(list(places(FULL))), junk)
def test_nothing_in_a_manifest_makes_reading_fail(where, value):
    """With any value at any place it can be read, checked, completed and queried."""
    vpa = VPA.from_dict(put(FULL, where, value))
    for problem in vpa.problems((1, 30), dict.fromkeys(GATES, False)):
        assert str(problem)
        assert problem.path
        json.dumps(problem.to_dict())
    with_defaults(vpa)
    policy = policy_of(vpa.resource_policy, "app")
    amounts_of(policy.min_allowed if policy else None)
    strictness(vpa, dict.fromkeys(GATES, False))
    assert isinstance(vpa.mode, str)


@pytest.mark.parametrize(
    "where", [where for where in places(FULL) if where[0] == "spec" and len(where) > 1], ids=dotted
)
def test_a_value_of_the_wrong_type_is_reported_at_its_path(where):
    """Everywhere except in a list of texts, which is reported as a whole."""
    found = {problem.field: problem.rule for problem in VPA.from_dict(put(FULL, where, [["x"]])).problems()}
    place = where[:-1] if isinstance(where[-1], int) and where[-2] in {"resources", "controlledResources"} else where
    expected = dotted(place)
    assert found.get(expected) == "type" or found.get(f"{expected}[0]") == "type"
