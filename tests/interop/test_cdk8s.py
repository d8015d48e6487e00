"""to_cdk8s with the real cdk8s: what is synthesized is what hypot would write."""

import pytest
import yaml

from hypot import (
    HPA,
    VPA,
    WPA,
    ContainerPolicy,
    Hvpa,
    ScalingRules,
    band,
    cpu,
    external,
    from_yaml,
    interval,
    limit,
    memory,
    pods,
)

WEB = HPA(
    "deployment/web",
    min_replicas=2,
    max_replicas=20,
    metrics=[
        cpu(utilization=70),
        memory(average="512Mi"),
        pods("requests_per_second", average="0.5"),
        external("queue_depth", average=30, labels={"queue": "mail"}),
    ],
    scale_up=ScalingRules([limit(pods=4, per="1m")], tolerance="0.05"),
    namespace="shop",
    labels={"team": "web"},
    annotations={"hypot.dev/lint-ignore": "single-replica"},
)
OTHERS = [
    VPA("deployment/web", mode="Off", containers=[ContainerPolicy("app", max_allowed={"cpu": "2"})]),
    WPA("deployment/web", max_replicas=9, tolerance="0.01", metrics=[band("jobs", low=40, high="1k")]),
    Hvpa("deployment/web", intervals=[interval(1, cpu="500m", memory="2Gi"), interval(3, cpu="2", memory="8Gi")]),
]


@pytest.fixture
def chart(node):
    del node
    cdk8s = pytest.importorskip("cdk8s", reason="cdk8s is not installed: make test-interop has it")
    return cdk8s.Chart(cdk8s.App(), "shop")


def synthesized(chart):
    import cdk8s  # noqa: PLC0415  it starts Node

    return list(cdk8s.Testing.synth(chart))


def test_every_quantity_and_the_order_of_fields_survive(chart):
    """The classes that cdk8s generates would drop a tolerance of 0.05."""
    made = WEB.to_cdk8s(chart, "web-hpa")
    (manifest,) = synthesized(chart)
    assert manifest == WEB.to_dict()
    assert list(manifest["spec"]) == list(WEB.to_dict()["spec"])
    assert made.name == "web"


@pytest.mark.parametrize("one", OTHERS, ids=lambda one: one.KIND)
def test_other_kinds_are_synthesized_too(chart, one):
    """As they are."""
    one.to_cdk8s(chart, "it")
    assert synthesized(chart) == [one.to_dict()]


def test_other_metadata_and_unknown_fields_are_kept(chart):
    """What a construct's metadata does not take is added, with slashes in keys."""
    manifest = WEB.to_dict()
    manifest["metadata"]["finalizers"] = ["example.com/a"]
    manifest["spec"]["x/y~z"] = {"a": [1, None]}
    HPA.from_dict(manifest).to_cdk8s(chart, "web")
    assert synthesized(chart) == [manifest]


def test_it_stands_next_to_a_workload_of_cdk8s_plus(chart):
    """The whole app is YAML that hypot reads back."""
    plus = pytest.importorskip("cdk8s_plus_37", reason="cdk8s-plus is not installed: make test-interop has it")
    import cdk8s  # noqa: PLC0415  it starts Node

    deployment = plus.Deployment(chart, "web", metadata=cdk8s.ApiObjectMetadata(name="web"), replicas=2)
    deployment.add_container(image="web", name="app")
    WEB.to_cdk8s(chart, "hpa").add_dependency(deployment)
    text = cdk8s.Yaml.stringify(*synthesized(chart))
    assert [one["kind"] for one in yaml.safe_load_all(text)] == ["Deployment", "HorizontalPodAutoscaler"]
    assert list(from_yaml(text)) == [WEB]
