"""An object derived from another, and the words of a constructor as attributes."""

import inspect

import pytest

from hypot import (
    FROZEN,
    HPA,
    VPA,
    WPA,
    ContainerPolicy,
    ContainerScaling,
    EvictionRequirement,
    Hvpa,
    InvalidAutoscaler,
    Recommender,
    ScaleType,
    ScalingRules,
    Tortoise,
    WatermarkRules,
    WorkloadAutoscaler,
    band,
    cpu,
    interval,
    limit,
)
from hypot.kinds.meta import MetricName

D = "deployment/web"
RULES = ScalingRules([limit(pods=4, per="1m")], window="5m")
METRICS = (cpu(utilization=70),)
META = {"name": "it", "namespace": "shop", "labels": {"a": "b"}, "annotations": {"c": "d"}}
COUNTS = {"min_replicas": 2, "max_replicas": 9}
# Every keyword, in the form that the attribute has.
WHOLE = [
    (HPA, {**META, **COUNTS, "metrics": METRICS, "scale_up": RULES, "scale_down": FROZEN}),
    (
        WPA,
        {
            **META,
            **COUNTS,
            "metrics": (band("rate", low=1),),
            "scale_up": WatermarkRules(50, 60, 30),
            "scale_down": WatermarkRules(0),
            "algorithm": "average",
            "tolerance": "0.01",
            "modulo": 2,
            "converge": "highwatermark",
            "dry_run": True,
            "tolerate_zero": True,
            "min_available": 50,
            "readiness_delay": 30,
        },
    ),
    (WPA, {"max_replicas": 3, "recommender": Recommender(url="https://r", high=2, low=1)}),
    (
        VPA,
        {
            **META,
            "mode": "Auto",
            "min_replicas": 2,
            "evict_after_oom": 600,
            "recommender": "mine",
            "containers": (ContainerPolicy("app", "Off"),),
            "eviction_requirements": (EvictionRequirement(["cpu"], "TargetHigherThanRequests"),),
        },
    ),
    (
        Hvpa,
        {
            **META,
            **COUNTS,
            "intervals": (interval(9, cpu="1", memory="1Gi"),),
            "metrics": METRICS,
            "scale_up": ScaleType("Auto", {"cpu": "10%"}),
            "scale_down": ScaleType("Off"),
            "hpa_scale_up": RULES,
            "hpa_scale_down": FROZEN,
            "containers": (ContainerPolicy("app", "Off"),),
            "knobs": {"hypot.dev/safety-margin": "0.1"},
            "use_vpa": False,
        },
    ),
    (
        Tortoise,
        {
            **META,
            "mode": "Auto",
            "hpa": "web",
            "max_replicas": 9,
            "containers": (ContainerScaling("app", "Horizontal", "Vertical", None, {"memory": "4Gi"}),),
            "deletion_policy": "NoDelete",
            "scale_up": RULES,
            "scale_down": FROZEN,
        },
    ),
    (
        WorkloadAutoscaler,
        {
            **META,
            **COUNTS,
            "mode": "Auto",
            "axes": "Size",
            "containers": (ContainerPolicy("app", "Off"),),
            "late_after": "1s",
            "late_price": 2.5,
            "requests_metric": MetricName("rps"),
            "late_metric": MetricName("late", {"matchLabels": {"route": "cart"}}),
        },
    ),
]


@pytest.mark.parametrize(("kind", "given"), WHOLE)
def test_the_words_of_a_constructor_are_attributes(kind, given):
    """With the values that it was given."""
    made = kind(D, **given)
    words = given.keys() - {"labels", "knobs", "use_vpa", "late_after"}
    assert {word: getattr(made, word) for word in words} == {word: given[word] for word in words}
    assert {word: value for word, value in made.arguments().items() if word in given} == given
    assert made.arguments().keys() == inspect.signature(kind).parameters.keys()


def test_a_time_is_an_attribute_in_seconds():
    """However it was written, and it stays written so."""
    made = WorkloadAutoscaler(D, late_after="1m30s")
    assert made.late_after == 90
    assert made.replace(late_price=3).late.after == "1m30s"


@pytest.mark.parametrize(("kind", "given"), WHOLE)
def test_an_object_is_derived_from_another(kind, given):
    """Everything else stays."""
    made = kind(D, **given)
    assert made.replace() == made
    other = made.replace(namespace="other")
    assert other.to_dict() == made.to_dict() | {"metadata": made.to_dict()["metadata"] | {"namespace": "other"}}


def test_what_no_constructor_takes_stays():
    """Except for the status, which is that of another object."""
    manifest = HPA(D, max_replicas=3).to_dict()
    manifest["metadata"]["finalizers"] = ["a/b"]
    found = HPA.from_dict(manifest | {"status": {"currentReplicas": 1}})
    manifest["spec"]["maxReplicas"] = 7
    assert found.replace(max_replicas=7).to_dict() == manifest
    hvpa = Hvpa(D, intervals=interval(3, cpu="1", memory="1Gi")).to_dict()
    hvpa["spec"]["replicas"] = 2
    assert Hvpa.from_dict(hvpa).replace(max_replicas=3).replicas == 2


def test_a_derived_object_is_checked():
    """Like one that is constructed; an invalid one can be mended."""
    made = HPA(D, max_replicas=3)
    with pytest.raises(InvalidAutoscaler, match="max_replicas"):
        made.replace(max_replicas=0)
    with pytest.raises(TypeError, match="max_replica"):
        made.replace(max_replica=3)
    with pytest.raises(InvalidAutoscaler, match="it is a keyword of VPA"):
        made.replace(mode="Off")
    broken = HPA.from_dict(made.to_dict() | {"spec": made.to_dict()["spec"] | {"maxReplicas": 0}})
    assert broken.replace(max_replicas=3) == made


def test_what_was_read_may_change_afterwards():
    """An object shares nothing with the mapping that it was read from."""
    manifest = VPA(D, labels={"a": "b"}, containers={"app": {"max_allowed": {"cpu": "1"}}}).to_dict()
    found = VPA.from_dict(manifest)
    before = found.to_dict()
    manifest["metadata"]["labels"]["a"] = 3
    manifest["metadata"]["name"] = "other"
    manifest["spec"]["resourcePolicy"]["containerPolicies"][0]["maxAllowed"]["cpu"] = "-1"
    assert found.to_dict() == before
