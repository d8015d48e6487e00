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
    ScaleType,
    ScalingRules,
    WatermarkRules,
    WorkloadAutoscaler,
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
from hypot.authoring.convert.result import CannotConvertError, TargetWorkload, workload_of
from hypot.kinds.tortoise import Tortoise
from hypot.policy.tortoise.edited_hpa import edited, target_of

REQUESTS = {"app": {"cpu": 1000, "memory": 2**30 * 1000}, "proxy": {"cpu": 200, "memory": 2**28 * 1000}}
WORKLOAD = TargetWorkload(4, REQUESTS, {"matchLabels": {"app": "web"}})
QUEUE = external("jobs", average=30, labels={"queue": "mail"})


def web(*metrics, **given):
    return HPA("deployment/web", **{"min_replicas": 2, "max_replicas": 10, "metrics": metrics or None, **given})


def texts(made, word):
    return [note.text for note in made.notes if note.word == word]


def learning(**spec):
    target = {"scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"}}
    whole = {"kind": "Tortoise", "metadata": {"name": "web"}, "spec": {"targetRefs": target, **spec}}
    return Tortoise.from_dict({"apiVersion": Tortoise.API_VERSION, **whole})


def test_a_target_becomes_a_single_watermark():
    """Its tolerance is that of the watermark, and the algorithm follows from the kind of target."""
    made = convert(web(QUEUE, scale_down=ScalingRules([limit(percent=50, per="1m")], window="10m")), "wpa")
    (wpa,) = made.objects
    assert (wpa.algorithm, wpa.tolerance, wpa.min_replicas, wpa.max_replicas) == ("average", "100m", 2, 10)
    assert wpa.metrics == (band("jobs", high=30, labels={"queue": "mail"}),)
    assert (wpa.down_factor, wpa.down_forbidden_window, wpa.down_delay) == (50, 60, 600)
    assert (wpa.up_factor, wpa.up_forbidden_window, wpa.up_delay) == (100, 15, None)
    assert wpa.tolerate_zero
    assert any("delay" in text for text in texts(made, "assumed"))
    assert "delete HorizontalPodAutoscaler web" in texts(made, "check")[-1]


def test_a_percentage_needs_the_requests_of_the_workload():
    """With them it is an amount per pod, of all containers together, or of the pod itself."""
    made = convert(web(cpu(utilization=50)), "wpa", WORKLOAD)
    assert made.objects[0].metrics == (resource_band("cpu", high="600m", labels={"app": "web"}),)
    assert any("600m" in text for text in texts(made, "assumed"))
    of_pod = WORKLOAD._replace(of_pod={"cpu": 3000})
    assert convert(web(cpu(utilization=50)), "wpa", of_pod).objects[0].metrics[0].resource.high == "1500m"
    with pytest.raises(CannotConvertError, match="give the workload's manifest too"):
        convert(web(cpu(utilization=50)), "wpa")


def test_usage_is_measured_of_the_pods_of_the_workload():
    """By its selector; without its manifest by a label that is assumed, never of the whole namespace."""
    chosen = {"matchExpressions": [{"key": "tier", "operator": "In", "values": ["web"]}]}
    one = web(memory(average="1Gi"))
    assert convert(one, "wpa", WORKLOAD._replace(selector=chosen)).objects[0].metrics[0].resource.selector == chosen
    made = convert(one, "wpa")
    assert made.objects[0].metrics == (resource_band("memory", high="1Gi", labels={"app": "web"}),)
    assert any("app=web" in text for text in texts(made, "check"))
    with pytest.raises(CannotConvertError, match="labels of pods"):
        convert(HPA("deployment/" + "a" * 80, max_replicas=2, metrics=[memory(average="1Gi")]), "wpa")


def test_metrics_that_a_wpa_cannot_read_are_named():
    """Also those of another algorithm than the first."""
    made = convert(web(QUEUE, pods("hits", average=1), on("svc/a", "load", value=1), external("total", value=5)), "wpa")
    assert len(made.objects[0].metrics) == 1
    assert len(texts(made, "lost")) == 3
    with pytest.raises(CannotConvertError, match="serve it as an external metric"):
        convert(web(pods("hits", average=1)), "wpa")


BY_POD = {"limits": [limit(pods=1, per="5m")]}
SMALLER = {"limits": [limit(percent=10, per="1m"), limit(percent=50, per="10m")], "select": "Min"}


@pytest.mark.parametrize(
    ("rules", "steps", "text"),
    [
        (BY_POD, (10, 300), "1 pod per 300 s becomes steps of 10 %"),
        (SMALLER, (10, 600), "the smaller of 10 % per 60 s and 50 % per 600 s becomes steps of 10 %"),
        ({**SMALLER, "select": "Max"}, (10, 60), "the larger of"),
        ({"limits": [*BY_POD["limits"], limit(percent=100, per=15)], "select": "Min"}, (10, 300), "the smaller of"),
        ({"limits": [limit(pods=3, per="1m")]}, (30, 60), "3 pods per 60 s"),
    ],
)
def test_the_steps_of_policies_are_never_larger(rules, steps, text):
    """Of several the smallest with the longest pause, or one of them where the largest counts."""
    made = convert(web(QUEUE, scale_down=ScalingRules(**rules)), "wpa")
    assert (made.objects[0].down_factor, made.objects[0].down_forbidden_window) == steps
    assert any(text in one for one in texts(made, "assumed"))


@pytest.mark.parametrize(("rules", "first"), [(None, 4), (ScalingRules(), 5), (ScalingRules([limit(percent=900)]), 10)])
def test_a_smaller_first_step_is_noted(rules, first):
    """An HPA may add four pods however few there are."""
    made = convert(web(QUEUE, min_replicas=1, scale_up=rules), "wpa")
    smaller = [text for text in texts(made, "lost") if "the first step is smaller" in text]
    expected = f"scaleUp: the first step is smaller: 1 pod becomes 2 at most, and by the HPA {first}"
    assert smaller == ([] if first == 10 else [expected])


def test_a_frozen_direction_stays_frozen():
    """Also where another field says so, and back."""
    frozen = web(QUEUE, scale_down=FROZEN)
    wpa = convert(frozen, "wpa").objects[0]
    assert wpa.down_factor == 0
    assert convert(wpa, "hpa").objects[0].scale_down == FROZEN
    hvpa = convert(frozen, "hvpa").objects[0]
    assert (hvpa.scale_up, hvpa.scale_down.mode) == (None, "Off")
    assert convert(hvpa, "hpa").objects[0].scale_down == FROZEN


def test_scale_to_zero_is_lost():
    """Other kinds keep one pod."""
    made = convert(web(QUEUE, min_replicas=0), "wpa")
    assert made.objects[0].min_replicas == 1
    assert any("minReplicas 0" in text for text in texts(made, "lost"))


def test_a_band_becomes_its_middle_and_two_tolerances():
    """Both directions begin to act at the same values as before; how far they go is noted."""
    wpa = WPA(
        "deployment/web",
        max_replicas=20,
        algorithm="average",
        tolerance="0.01",
        metrics=[band("jobs", low=40, high=50)],
        scale_up=WatermarkRules(percent=50, forbidden_window="1m", delay="30s"),
        modulo=2,
        tolerate_zero=True,
    )
    made = convert(wpa, "hpa")
    (hpa,) = made.objects
    assert hpa.metrics == (external("jobs", average="45"),)
    assert (hpa.scale_up.tolerance, hpa.scale_down.tolerance) == ("122m", "120m")
    assert (hpa.scale_up.limits, hpa.scale_up.window) == ((limit(percent=50, per=60),), 30)
    assert (hpa.scale_down.limits, hpa.scale_down.window) == ((limit(percent=20, per=300),), 300)
    how_far = (
        "jobs: counts follow 45, and above the band they followed 50, below it 40: just above, 10 pods become 12 and"
        " became 11; just below, 9 and 9, so more pods may be removed, as far as one step goes"
    )
    assert texts(made, "lost") == [how_far, "counts in multiples of 2, rounded up: up to 1 pod more may be removed"]
    assert any("1.35" in text for text in texts(made, "check"))


def test_a_wide_band_is_noted_with_its_numbers():
    """Far from its middle the counts differ most. A single watermark has no such difference."""
    wide = WPA("deployment/web", max_replicas=40, algorithm="average", metrics=[band("jobs", low=20, high=100)])
    (text, zero) = texts(convert(wide, "hpa"), "lost")
    assert "just above, 10 pods become 19 and became 12; just below, 3 and 8" in text
    assert "without tolerateZero" in zero
    back = convert(convert(web(QUEUE), "wpa").objects[0], "hpa")
    assert back.objects[0].metrics == (external("jobs", average="30", labels={"queue": "mail"}),)
    assert texts(back, "lost") == []


def test_the_pause_after_any_scaling_is_a_window():
    """So that nothing is removed right after pods were added; what is too long is noted."""
    rules = WatermarkRules(percent="500m", forbidden_window="2h", delay="1m")
    wpa = WPA("deployment/web", max_replicas=40, metrics=[band("jobs", high=10)], scale_down=rules, tolerate_zero=True)
    made = convert(wpa, "hpa")
    assert made.objects[0].scale_down.limits == (limit(percent=1, per=1800),)
    assert made.objects[0].scale_down.window == 3600
    assert [text.split(":")[1] for text in texts(made, "lost")] == [
        " the least step is 1 %, so more pods are removed than by 0.5 %",
        " a pause of 7200 s",
        " a wait of 7200 s",
    ]


@pytest.mark.parametrize(
    ("given", "reason"),
    [
        ({"recommender": Recommender("https://a/", high=2, low=1)}, "come from a recommender"),
        ({"metrics": [resource_band("cpu", high="2")]}, "the total usage of cpu"),
    ],
)
def test_a_wpa_without_an_equivalent_is_refused(given, reason):
    """With the reason."""
    with pytest.raises(CannotConvertError, match=reason):
        convert(WPA("deployment/web", max_replicas=3, **given), "hpa")


def test_an_hpa_becomes_an_hvpa_that_keeps_sizes():
    """Whatever they are: its metrics vote for a count, so no minimum change of a total holds it back."""
    slow = ScalingRules([limit(pods=1, per="1m")], window="10m")
    made = convert(web(cpu(utilization=70), scale_up=slow, scale_down=slow), "hvpa")
    (hvpa,) = made.objects
    assert hvpa.intervals == (interval(10, extrapolation="horizontalOnly"),)
    assert (hvpa.min_replicas, hvpa.uses_hpa, hvpa.uses_vpa) == (2, True, False)
    assert hvpa.container_policies.containers == (ContainerPolicy("*", controlled_resources=[]),)
    assert (hvpa.scale_up.stabilization, hvpa.scale_down.stabilization) == ("600s", "600s")
    assert texts(made, "lost") == [
        f"{key}: its policies: as many pods are {done} at once as the metrics say"
        for key, done in (("scaleUp", "added"), ("scaleDown", "removed"))
    ]
    assert convert(web(), "hvpa").objects[0].scale_down.stabilization == "300s"


def test_a_vpa_becomes_an_hvpa_with_a_fixed_count():
    """The count is that of the workload; an update mode that cannot be kept only recommends."""
    policy = ContainerPolicy("app", max_allowed={"cpu": "2", "memory": "4Gi"})
    made = convert(VPA("deployment/web", mode="Initial", containers=[policy]), "hvpa", WORKLOAD)
    (hvpa,) = made.objects
    assert (hvpa.min_replicas, hvpa.max_replicas, hvpa.uses_hpa) == (4, 4, False)
    assert hvpa.container_policies.containers == (policy,)
    assert hvpa.scale_up.mode == hvpa.scale_down.mode == "Off"
    assert hvpa.scale_up.min_change.cpu.percentage == 10
    for vpa, workload in (
        (VPA("deployment/web"), WORKLOAD),
        (VPA("deployment/web", containers=[policy]), TargetWorkload()),
    ):
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


@pytest.mark.parametrize(
    ("metric", "app", "added"),
    [
        (cpu(utilization=70), {"cpu": "Horizontal", "memory": "Off"}, "cpu of app and cpu of proxy, first at 70 %"),
        (memory(utilization=75, container="app"), {"cpu": "Off", "memory": "Horizontal"}, ""),
        (cpu(average="2", container="app"), {"cpu": "Horizontal", "memory": "Off"}, "cpu of app, first at 70 %"),
    ],
)
def test_a_tortoise_scales_what_the_hpa_measures(metric, app, added):
    """No metric is removed, and the notes say what the Tortoise adds and what it never changes."""
    made = convert(web(metric), "tortoise", WORKLOAD)
    (tortoise,) = made.objects
    words = {one.container_name: one.policy.write() for one in tortoise.autoscaling_policy}
    assert words["app"] == app
    scaled = [(name, each) for name, types in words.items() for each, word in types.items() if word == "Horizontal"]
    after = edited(web(metric), 2, 10, {}, scaled, None)
    assert after.metrics[:1] == (metric,)
    notes = " ".join(texts(made, "check"))
    assert added in notes
    assert ("adds ContainerResource metrics" in notes) == (len(after.metrics) > 1)
    assert ("never changes" in notes) == (target_of(metric, web(metric)) is None)


def test_a_tortoise_needs_what_it_can_learn():
    """The usage of a container; what the controller would choose instead is something else."""
    for one, workload in ((web(QUEUE), WORKLOAD), (web(cpu(utilization=70)), TargetWorkload())):
        with pytest.raises(CannotConvertError, match="a Tortoise learns nothing else"):
            convert(one, "tortoise", workload)
    sidecar = WORKLOAD._replace(sidecars=frozenset({"proxy"}))
    made = convert(web(cpu(utilization=70), cpu(utilization=60, container="proxy")), "tortoise", sidecar)
    assert [one.container_name for one in made.objects[0].autoscaling_policy] == ["app"]
    assert any("sidecars" in text for text in texts(made, "lost"))


def test_other_kinds_become_an_hpa_and_a_tortoise():
    """In the order in which they are applied; bounds of containers are kept."""
    policy = ContainerPolicy("app", max_allowed={"cpu": "2"})
    hvpa = Hvpa(
        "deployment/web",
        intervals=[interval(3, cpu="2", memory="1Gi")],
        containers=[policy],
        metrics=cpu(utilization=70),
    )
    hpa, tortoise = convert(hvpa, "tortoise", WORKLOAD).objects
    assert (hpa.max_replicas, hpa.metrics) == (3, (cpu(utilization=70),))
    assert tortoise.resource_policy[0].max_allocated == {"cpu": "2"}


@pytest.mark.parametrize(("mode", "expected"), [("Off", "Off"), ("Initial", "Off"), ("Recreate", "Auto")])
def test_a_vpa_becomes_a_tortoise_that_sizes_the_same_containers(mode, expected):
    """Also those that it does not name, if the workload is given."""
    vpa = VPA("deployment/web", mode=mode, containers=[ContainerPolicy("app", max_allowed={"cpu": "2"})])
    made = convert(vpa, "tortoise", WORKLOAD)
    (tortoise,) = made.objects
    assert tortoise.mode == expected
    both = {"cpu": "Vertical", "memory": "Vertical"}
    assert {one.container_name: one.policy.write() for one in tortoise.autoscaling_policy} == {
        "app": both,
        "proxy": both,
    }
    assert any("only new pods" in text for text in texts(made, "lost")) == (mode == "Initial")
    assert not any("eviction" in note.text or "RequestsOnly" in note.text for note in made.notes)
    assert any("does not name" in text for text in texts(convert(vpa, "tortoise"), "check"))


def test_what_a_vpa_loses_is_named_if_it_has_it():
    """And nothing else."""
    policy = ContainerPolicy("*", controlled_values="RequestsOnly", memory_interval=60)
    updates = {"updatePolicy": {"minReplicas": 2, "updateMode": "Auto"}}
    written = VPA("deployment/web", containers=[policy]).to_dict()
    made = convert(VPA.from_dict(written | {"spec": written["spec"] | updates}), "tortoise", WORKLOAD)
    assert texts(made, "lost") == [
        "conditions of the update policy: minReplicas",
        "of the policies of containers memoryAggregationIntervalSeconds: a Tortoise has what its administrator set",
        "RequestsOnly: a Tortoise raises and lowers limits with the requests",
    ]
    bare = WORKLOAD._replace(requests={"app": {"cpu": 1000}})
    assert "the memory of app: a Tortoise sizes only what has a request" in texts(
        convert(VPA("deployment/web"), "tortoise", bare), "lost"
    )


def test_a_tortoise_becomes_an_hpa_with_assumed_targets():
    """What it learned is not in its manifest."""
    policy = [{"containerName": "app", "policy": {"cpu": "Horizontal", "memory": "Vertical"}}]
    one = learning(maxReplicas=5, autoscalingPolicy=policy, updateMode="Auto")
    made = convert(one, "hpa")
    assert made.objects[0].metrics == (cpu(utilization=80, container="app"),)
    assert made.objects[0].name == "tortoise-hpa-web"
    assert any("better keep that one" in text for text in texts(made, "check"))
    with pytest.raises(CannotConvertError, match="no maxReplicas"):
        convert(learning(updateMode="Auto"), "hpa")
    vertical = [{"containerName": "app", "policy": {"cpu": "Vertical"}}]
    with pytest.raises(CannotConvertError, match="nothing to do"):
        convert(learning(maxReplicas=5, autoscalingPolicy=vertical, updateMode="Auto"), "hpa")
    hurried = convert(learning(maxReplicas=5, updateMode="Emergency"), "hpa")
    assert any("Emergency" in text for text in texts(hurried, "lost"))


def test_another_kind_keeps_the_name_of_a_tortoise():
    """Only an HPA may have the name of the one that the Tortoise edits."""
    made = convert(learning(maxReplicas=5, updateMode="Auto"), "hvpa")
    assert made.objects[0].name == "web"
    assert any("delete HPA tortoise-hpa-web, too" in text for text in texts(made, "check"))
    assert not any("better keep" in text for text in texts(made, "check"))


RESTING = [
    WPA("deployment/web", max_replicas=3, metrics=[resource_band("cpu", high="2")], algorithm="average", dry_run=True),
    Hvpa(
        "deployment/web",
        intervals=[interval(3, cpu="1", memory="1Gi")],
        scale_up=ScaleType("Off"),
        scale_down=ScaleType("Off"),
    ),
    learning(maxReplicas=3),
]


@pytest.mark.parametrize("one", RESTING, ids=lambda one: one.KIND)
def test_what_only_reports_never_becomes_active(one):
    """No HPA only reports; the other kinds have a switch."""
    for to in {"hpa", "tortoise"} - {one.KIND.lower()}:
        with pytest.raises(CannotConvertError, match="it only reports"):
            convert(one, to, WORKLOAD)
    if not isinstance(one, Hvpa):
        (hvpa,) = convert(one, "hvpa", WORKLOAD).objects
        assert hvpa.scale_up.mode == hvpa.scale_down.mode == "Off"
    if isinstance(one, Hvpa):
        assert convert(one, "wpa", WORKLOAD).objects[0].dry_run


def test_what_holds_an_hvpa_back_holds_its_hpa_back():
    """As far as an HPA can."""
    hvpa = Hvpa(
        "deployment/web",
        intervals=[interval(3, cpu="2", memory="1Gi")],
        metrics=cpu(utilization=70),
        scale_up=ScaleType("MaintenanceWindow"),
        scale_down=ScaleType(stabilization="2h"),
        window=("220000+0000", "230000+0000"),
    )
    made = convert(hvpa, "hpa")
    assert made.objects[0].scale_down.window == 3600
    lost = texts(made, "lost")
    assert any("scaleUp: the maintenance window" in text for text in lost)
    assert any("a wait of 7200 s" in text for text in lost)
    assert any("200m of cpu and 200M of memory" in text for text in lost)


def test_a_vpa_has_no_count():
    """So there is no HPA and no WatermarkPodAutoscaler."""
    for to in ("hpa", "wpa"):
        with pytest.raises(CannotConvertError, match="a VPA sizes pods"):
            convert(VPA("deployment/web"), to)


class TestToAutoscaler:
    """Bounds remain; it starts Off, beside what there is."""

    @pytest.mark.parametrize(
        ("one", "kept"),
        [
            (web(QUEUE), {"axes": "Replicas", "minReplicas": 2, "maxReplicas": 10}),
            (web(QUEUE, min_replicas=None), {"axes": "Replicas", "minReplicas": 1, "maxReplicas": 10}),
            (
                WPA("deployment/web", min_replicas=3, max_replicas=9, metrics=[band("a", high=1)]),
                {"axes": "Replicas", "minReplicas": 3, "maxReplicas": 9},
            ),
            (
                VPA("deployment/web", mode="Recreate", containers={"app": {"max_allowed": {"cpu": 4}}}),
                {
                    "axes": "Size",
                    "resourcePolicy": {"containerPolicies": [{"containerName": "app", "maxAllowed": {"cpu": 4}}]},
                },
            ),
            (
                Hvpa("deployment/web", intervals=[interval(6, cpu="1", memory="1Gi")], min_replicas=2),
                {"minReplicas": 2, "maxReplicas": 6},
            ),
            (learning(updateMode="Auto", maxReplicas=7), {"maxReplicas": 7}),
            (learning(updateMode="Auto"), {}),
        ],
        ids=["hpa", "hpa without a minimum", "wpa", "vpa", "hvpa", "tortoise", "tortoise without a maximum"],
    )
    def test_what_is_kept(self, one, kept):
        """Bounds, and which axes it sets."""
        made = convert(one, "autoscaler")
        (autoscaler,) = made.objects
        spec = autoscaler.to_dict()["spec"]
        assert spec == {"targetRef": spec["targetRef"], "updateMode": "Off", **kept}
        assert texts(made, "assumed")[0].startswith("mode Off")
        assert texts(made, "check")[0].startswith(f"keep {one.KIND} web until then")
        assert not any(text.startswith("delete") for text in texts(made, "check"))

    def test_what_is_lost_is_named(self):
        """Metrics, speed and windows; a metric of pods may be that of requests."""
        given = web(QUEUE, pods("rps", average=5), min_replicas=0, scale_down=FROZEN)
        made = convert(given, "autoscaler")
        lost = texts(made, "lost")
        assert [text.partition(":")[0] for text in lost] == ["metrics and their targets", "minReplicas 0", "behavior"]
        assert any("rps: if it counts requests per second" in text for text in texts(made, "check"))
        windowed = Hvpa(
            "deployment/web", intervals=[interval(3, cpu="1", memory="1Gi")], window=("220000+0100", "230000+0100")
        )
        assert any("maintenance window" in text for text in texts(convert(windowed, "autoscaler"), "lost"))

    @pytest.mark.parametrize(
        ("one", "sizes_memory"),
        [
            (web(QUEUE), False),
            (VPA("deployment/web", mode="Recreate"), True),
            (Hvpa("deployment/web", intervals=[interval(6, cpu="1", memory="1Gi")]), True),
            (learning(updateMode="Auto"), True),
        ],
        ids=["hpa", "vpa", "hvpa", "tortoise"],
    )
    def test_sizes_of_memory_are_lost(self, one, sizes_memory):
        """Pods get what the template says, which may be too little by now."""
        lost = texts(convert(one, "autoscaler"), "lost")
        assert any(text.startswith("sizes of memory") for text in lost) == sizes_memory

    def test_a_workload_without_a_count(self):
        """A VPA may size a DaemonSet; an Autoscaler has no such target."""
        with pytest.raises(CannotConvertError, match="has no replica count"):
            convert(VPA("daemonset/agent"), "autoscaler")

    def test_back(self):
        """What counts pods may be an HPA at a target that nobody learned."""
        one = WorkloadAutoscaler("deployment/web", mode="Auto", max_replicas=8, late_price=3)
        made = convert(one, "hpa")
        (hpa,) = made.objects
        assert (hpa.min_replicas, hpa.max_replicas, hpa.metrics) == (2, 8, (cpu(utilization=80),))
        lost = texts(made, "lost")
        assert any("all sizes" in text for text in lost)
        assert any("the objective" in text for text in lost)
        assert convert(one, "wpa", WORKLOAD).objects[0].max_replicas == 8
        with pytest.raises(CannotConvertError, match="it sets no replicas"):
            convert(WorkloadAutoscaler("deployment/web", mode="Auto", axes="Size"), "hpa")
        with pytest.raises(CannotConvertError, match="it only reports"):
            convert(WorkloadAutoscaler("deployment/web"), "hpa")


@pytest.mark.parametrize("to", KINDS)
def test_the_same_kind_stays_as_it_is(to):
    """Without its status, in its newest version."""
    same = {
        "hpa": web(),
        "wpa": WPA("deployment/web", max_replicas=3, metrics=[band("a", high=1)]),
        "hvpa": Hvpa("deployment/web", intervals=[interval(1, cpu="1", memory="1Gi")]),
        "tortoise": learning(),
        "autoscaler": WorkloadAutoscaler("deployment/web", mode="Auto"),
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


def test_what_holds_for_every_kind_is_kept():
    """Holds and planned minimums; an HPA that stays keeps all its annotations."""
    kept = {"hypot.dev/paused": "down", "hypot.dev/hold": "3"}
    one = web(QUEUE, cpu(utilization=70), annotations=kept)
    for to in ("wpa", "hvpa"):
        made = convert(one, to, WORKLOAD)
        assert made.objects[0].annotations == kept
        assert not any("annotations" in text for text in texts(made, "lost"))
    assert not convert(one, "tortoise", WORKLOAD).objects[0].annotations
    back = convert(WPA("deployment/web", max_replicas=3, metrics=[band("a", high=1)], annotations=kept), "hpa")
    assert any("kube-controller-manager" in text for text in texts(back, "check"))


def test_a_workload_is_found_by_its_reference():
    """In the same namespace; requests that are absent have the value of the limit."""
    container = {"name": "app", "resources": {"requests": {"cpu": "x"}, "limits": {"memory": "1Gi"}}}
    sidecar = {"name": "proxy", "restartPolicy": "Always", "resources": {"requests": {"cpu": "100m"}}}
    pod = {"containers": [container], "initContainers": [sidecar, {}]}
    template = {"metadata": {"labels": {"app": "web", "tier": "a"}}, "spec": pod}
    chosen = {"matchLabels": {"app": "web"}}
    spec = {"replicas": 3, "selector": chosen, "template": template}
    deployment = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web"}, "spec": spec}
    found = workload_of(web().target, "default", [{}, deployment])
    requests = {"app": {"memory": 2**30 * 1000}, "proxy": {"cpu": 100}}
    assert found == TargetWorkload(3, requests, chosen, {}, frozenset({"proxy"}))
    assert found.total("cpu") is None
    assert list(found.sized) == ["app"]
    assert workload_of(web().target, "shop", [deployment]) == TargetWorkload()
    pod["resources"] = {"requests": {"cpu": "2"}}
    for other in ({}, {"app": "web"}, {"matchLabels": {"app": "other"}}, {"matchExpressions": [{"key": "app"}]}):
        spec["selector"] = other
        again = workload_of(web().target, "default", [deployment])
        assert (again.selector, again.total("cpu")) == ({"matchLabels": {"app": "web", "tier": "a"}}, 2000)
