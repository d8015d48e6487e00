"""Conversions between kinds: what is kept, and what the notes say."""

import pytest

from hypot import (
    FROZEN,
    HPA,
    VPA,
    WPA,
    ContainerPolicy,
    Hvpa,
    Recommender,
    ScalingRules,
    WatermarkRules,
    band,
    cpu,
    external,
    interval,
    limit,
    memory,
    on,
    pods,
    resource_band,
)
from hypot.authoring.convert.convert import KINDS, convert
from hypot.authoring.convert.result import CannotConvertError, Workload, workload_of
from hypot.kinds.tortoise import Tortoise

WORKLOAD = Workload(4, {"app": {"cpu": 1000, "memory": 2**30 * 1000}, "proxy": {"cpu": 200, "memory": 2**28 * 1000}})
QUEUE = external("jobs", average=30, labels={"queue": "mail"})


def web(*metrics, **given):
    return HPA("deployment/web", **{"min_replicas": 2, "max_replicas": 10, "metrics": metrics or None, **given})


def texts(made, word):
    return [note.text for note in made.notes if note.word == word]


def learning(**spec):
    target = {"scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"}}
    whole = {"kind": "Tortoise", "metadata": {"name": "web"}, "spec": {"targetRefs": target, **spec}}
    return Tortoise.from_dict({"apiVersion": Tortoise.API_VERSION, **whole})


def test_a_target_becomes_a_band_without_width():
    """Its tolerance is the band's, and the algorithm follows from the kind of target."""
    made = convert(web(QUEUE, scale_down=ScalingRules([limit(percent=50, per="1m")], window="10m")), "wpa")
    (wpa,) = made.objects
    assert (wpa.algorithm, wpa.tolerance, wpa.min_replicas, wpa.max_replicas) == ("average", "100m", 2, 10)
    assert wpa.metrics == (band("jobs", low=30, high=30, labels={"queue": "mail"}),)
    assert (wpa.down_factor, wpa.down_forbidden_window, wpa.down_delay) == (50, 60, 600)
    assert (wpa.up_factor, wpa.up_forbidden_window, wpa.up_delay) == (100, 15, None)
    assert any("delay" in text for text in texts(made, "assumed"))
    assert "delete HorizontalPodAutoscaler web" in texts(made, "check")[-1]


def test_a_percentage_needs_the_requests_of_the_workload():
    """With them it is an amount per pod, of all containers together."""
    made = convert(web(cpu(utilization=50)), "wpa", WORKLOAD)
    assert made.objects[0].metrics == (resource_band("cpu", low="600m", high="600m"),)
    assert any("600m" in text for text in texts(made, "assumed"))
    with pytest.raises(CannotConvertError, match="give the workload's manifest too"):
        convert(web(cpu(utilization=50)), "wpa")


def test_metrics_that_a_wpa_cannot_read_are_named():
    """Also those of another algorithm than the first."""
    made = convert(web(QUEUE, pods("hits", average=1), on("svc/a", "load", value=1), external("total", value=5)), "wpa")
    assert len(made.objects[0].metrics) == 1
    assert len(texts(made, "lost")) == 3
    with pytest.raises(CannotConvertError, match="serve it as an external metric"):
        convert(web(pods("hits", average=1)), "wpa")
    assert convert(web(memory(average="1Gi")), "wpa").objects[0].metrics == (
        resource_band("memory", low="1Gi", high="1Gi"),
    )


def test_a_frozen_direction_stays_frozen():
    """A factor of zero stops a direction of a WatermarkPodAutoscaler, and back."""
    wpa = convert(web(QUEUE, scale_down=FROZEN), "wpa").objects[0]
    assert wpa.down_factor == 0
    assert convert(wpa, "hpa").objects[0].scale_down == FROZEN


def test_scale_to_zero_is_lost():
    """Other kinds keep one pod."""
    made = convert(web(QUEUE, min_replicas=0), "wpa")
    assert made.objects[0].min_replicas == 1
    assert any("minReplicas 0" in text for text in texts(made, "lost"))


def test_a_band_becomes_its_middle_and_two_tolerances():
    """Both directions begin to act at the same values as before."""
    wpa = WPA(
        "deployment/web",
        max_replicas=10,
        algorithm="average",
        tolerance="0.01",
        metrics=[band("jobs", low=40, high=50)],
        scale_up=WatermarkRules(percent=50, forbidden_window="1m", delay="30s"),
        modulo=2,
    )
    made = convert(wpa, "hpa")
    (hpa,) = made.objects
    assert hpa.metrics == (external("jobs", average="45"),)
    assert (hpa.scale_up.tolerance, hpa.scale_down.tolerance) == ("122m", "120m")
    assert (hpa.scale_up.limits, hpa.scale_up.window) == ((limit(percent=50, per=60),), 30)
    assert hpa.scale_down.limits == (limit(percent=20, per=300),)
    assert texts(made, "lost") == ["counts in multiples of 2"]
    assert any("1.35" in text for text in texts(made, "check"))


@pytest.mark.parametrize(
    ("given", "reason"),
    [
        ({"recommender": Recommender("https://a/", high=2, low=1)}, "come from a recommender"),
        ({"metrics": [band("jobs", high=2)], "dry_run": True}, "dryRun"),
        ({"metrics": [resource_band("cpu", high="2")]}, "the total usage of cpu"),
    ],
)
def test_a_wpa_without_an_equivalent_is_refused(given, reason):
    """With the reason."""
    with pytest.raises(CannotConvertError, match=reason):
        convert(WPA("deployment/web", max_replicas=3, **given), "hpa")


def test_an_hpa_becomes_an_hvpa_that_keeps_sizes():
    """The size comes from the workload; without it there is no interval."""
    (hvpa,) = convert(web(cpu(utilization=70)), "hvpa", WORKLOAD).objects
    assert hvpa.intervals == (interval(10, cpu="1", memory="1Gi", extrapolation="horizontalOnly"),)
    assert (hvpa.min_replicas, hvpa.uses_hpa, hvpa.uses_vpa) == (2, True, False)
    with pytest.raises(CannotConvertError, match="which nothing in the input says"):
        convert(web(), "hvpa")


def test_a_vpa_becomes_an_hvpa_with_a_fixed_count():
    """The count is that of the workload; an update mode that cannot be kept only recommends."""
    policy = ContainerPolicy("app", max_allowed={"cpu": "2", "memory": "4Gi"})
    made = convert(VPA("deployment/web", mode="Initial", containers=[policy]), "hvpa", WORKLOAD)
    (hvpa,) = made.objects
    assert (hvpa.min_replicas, hvpa.max_replicas, hvpa.uses_hpa) == (4, 4, False)
    assert hvpa.container_policies.containers == (policy,)
    assert hvpa.scale_up.mode == hvpa.scale_down.mode == "Off"
    for vpa, workload in ((VPA("deployment/web"), WORKLOAD), (VPA("deployment/web", containers=[policy]), Workload())):
        with pytest.raises(CannotConvertError):
            convert(vpa, "hvpa", workload)


def test_a_tortoise_edits_the_hpa_that_stays():
    """It starts Off, and scales what the HPA scaled."""
    made = convert(web(memory(utilization=70), scale_down=FROZEN), "tortoise", WORKLOAD)
    (tortoise,) = made.objects
    assert (tortoise.hpa_name, tortoise.mode, tortoise.max_replicas) == ("web", "Off", 10)
    words = {one.container_name: one.policy.write() for one in tortoise.autoscaling_policy}
    assert words["app"] == {"cpu": "Off", "memory": "Horizontal"}
    assert tortoise.behavior.scale_down == FROZEN
    assert not any("delete" in text for text in texts(made, "check"))


def test_other_kinds_become_an_hpa_and_a_tortoise():
    """In the order in which they are applied; bounds of containers are kept."""
    policy = ContainerPolicy("app", max_allowed={"cpu": "2"})
    hvpa = Hvpa(
        "deployment/web",
        intervals=[interval(3, cpu="2", memory="1Gi")],
        containers=[policy],
        metrics=cpu(utilization=70),
    )
    hpa, tortoise = convert(hvpa, "tortoise").objects
    assert (hpa.max_replicas, hpa.metrics) == (3, (cpu(utilization=70),))
    assert tortoise.resource_policy[0].max_allocated == {"cpu": "2"}
    sized = convert(VPA("deployment/web", mode="Off", containers=[policy]), "tortoise")
    assert sized.objects[0].mode == "Off"
    assert sized.objects[0].autoscaling_policy[0].policy.write() == {"cpu": "Vertical", "memory": "Vertical"}


def test_a_tortoise_becomes_an_hpa_with_assumed_targets():
    """What it learned is not in its manifest."""
    policy = [{"containerName": "app", "policy": {"cpu": "Horizontal", "memory": "Vertical"}}]
    made = convert(learning(maxReplicas=5, autoscalingPolicy=policy), "hpa")
    assert made.objects[0].metrics == (cpu(utilization=80, container="app"),)
    assert made.objects[0].name == "tortoise-hpa-web"
    with pytest.raises(CannotConvertError, match="no maxReplicas"):
        convert(learning(), "hpa")
    vertical = [{"containerName": "app", "policy": {"cpu": "Vertical"}}]
    with pytest.raises(CannotConvertError, match="nothing to do"):
        convert(learning(maxReplicas=5, autoscalingPolicy=vertical), "hpa")


def test_a_vpa_has_no_count():
    """So there is no HPA and no WatermarkPodAutoscaler."""
    for to in ("hpa", "wpa"):
        with pytest.raises(CannotConvertError, match="a VPA sizes pods"):
            convert(VPA("deployment/web"), to)


@pytest.mark.parametrize("to", KINDS)
def test_the_same_kind_stays_as_it_is(to):
    """Without its status, in its newest version."""
    same = {
        "hpa": web(),
        "wpa": WPA("deployment/web", max_replicas=3, metrics=[band("a", high=1)]),
        "hvpa": Hvpa("deployment/web", intervals=[interval(1, cpu="1", memory="1Gi")]),
        "tortoise": learning(),
    }[to]
    made = convert(type(same).from_dict(same.to_dict() | {"status": {}}), to)
    assert made.objects == (same,)
    old = HPA.from_dict(web().to_dict() | {"apiVersion": "autoscaling/v2beta2"})
    assert texts(convert(old, "hpa"), "assumed") == ["autoscaling/v2beta2 is written as autoscaling/v2"]


def test_an_invalid_object_is_refused():
    """Its problems are the reason."""
    with pytest.raises(CannotConvertError, match="it is not valid"):
        convert(HPA.from_dict(web().to_dict() | {"spec": {"maxReplicas": 0}}), "wpa")


def test_annotations_are_lost():
    """They are named."""
    made = convert(web(QUEUE, annotations={"hypot.dev/pause": "true"}), "wpa")
    assert "hypot.dev/pause" in texts(made, "lost")[0]


def test_a_workload_is_found_by_its_reference():
    """In the same namespace; requests that are absent have the value of the limit."""
    container = {"name": "app", "resources": {"requests": {"cpu": "x"}, "limits": {"memory": "1Gi"}}}
    sidecar = {"name": "proxy", "restartPolicy": "Always", "resources": {"requests": {"cpu": "100m"}}}
    spec = {"replicas": 3, "template": {"spec": {"containers": [container], "initContainers": [sidecar, {}]}}}
    deployment = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web"}, "spec": spec}
    found = workload_of(web().target, "default", [{}, deployment])
    assert found == Workload(3, {"app": {"memory": 2**30 * 1000}, "proxy": {"cpu": 100}})
    assert found.total("cpu") is None
    assert workload_of(web().target, "shop", [deployment]) == Workload()
