"""An Hvpa in a dump of a cluster: which recommendations count, and which pods are sized."""

import pytest

from hypot.policy.model.state import State
from unit.policy.sizes_world import (
    DAY,
    GI,
    HOUR,
    LABELS,
    NOW,
    TARGET,
    advised,
    ago,
    box,
    checkpoint,
    conditions,
    decided,
    fleet,
    hvpa,
    limits,
    made,
    node,
    pod,
    recommended,
    reported,
    sample,
    sentences,
    sized,
    vpa,
    wanted,
    workload,
)

LEARNT = {"cpu": {20: 1}, "memory": {40: 1}}
MEMORY = 1_470_157_273
METRICS = [
    {"type": "Resource", "resource": {"name": "cpu", "target": {"type": "Utilization", "averageUtilization": 100}}}
]
COUNTED = {"deploy": True, "template": {"spec": {"minReplicas": 1, "maxReplicas": 4, "metrics": METRICS}}}
OBJECTS = {"hypot.dev/recommendations": "objects"}
HVPA = {"apiVersion": "autoscaling.k8s.io/v1alpha1", "kind": "Hvpa", "name": "web"}
READY = {"conditions": [{"type": "Ready", "status": "True", "lastTransitionTime": ago(DAY)}]}


def hpa(target=TARGET, desired=4, current=2, name="web"):
    spec = {"scaleTargetRef": target, "minReplicas": 1, "maxReplicas": 4, "metrics": METRICS}
    return made(
        "autoscaling/v2",
        "HorizontalPodAutoscaler",
        name,
        spec,
        {"desiredReplicas": desired, "currentReplicas": current},
    )


def child(*advice, **said):
    """The VPA of the same target."""
    return vpa("Off", name="web-child", status=advised(*advice, **said) if advice or said else None)


def point(*objects, **more):
    """Replicas, and cpu and memory of each pod."""
    decision = decided(*objects, kind="Hvpa", **more)
    assert decision.decided
    return decision.desired, wanted(decision).get("cpu"), wanted(decision).get("memory")


def undecided(*objects, **more):
    """Why nothing could be decided."""
    decision = decided(*objects, kind="Hvpa", **more)
    assert not decision.decided
    assert (decision.desired, decision.desired_sizes) == (decision.current, decision.sizes)
    return decision.error


# Sources of recommendations.


@pytest.mark.parametrize("owner", ["web-child", "web"])
def test_checkpoints_of_the_vpa_of_the_target_or_of_the_hvpa(owner):
    """They come before the status of the VPA, and the answer says so."""
    objects = [hvpa(), child(recommended(target=("3", "3Gi"))), checkpoint(owner=owner, **LEARNT), *fleet(2)]
    assert point(*objects) == (2, 410, MEMORY)
    assert sentences(decided(*objects, kind="Hvpa"), "size")[0].startswith("According to the histograms of usage")


def test_the_status_of_a_vpa_where_there_are_no_checkpoints():
    """Three cores for each of two pods are six in total, which leads to three replicas."""
    objects = [hvpa(), child(recommended(target=("3", "3Gi"))), *fleet(2)]
    assert point(*objects) == (3, 2000, 2 * GI)
    assert sentences(decided(*objects, kind="Hvpa"), "size")[0].startswith(
        "According to the status of VerticalPodAutoscaler web-child each of the 2 pods needs"
    )


def test_broken_checkpoints_leave_the_status():
    """The status is used, and the broken checkpoint is reported."""
    objects = [hvpa(), child(recommended(target=("3", "3Gi"))), checkpoint(version="v2"), *fleet(2)]
    assert point(*objects)[0] == 3
    assert "checkpoint web-app cannot be used" in decided(*objects, kind="Hvpa").unknown[0]


def test_neither_checkpoints_nor_a_vpa():
    """Nothing moves, and the answer says what is missing."""
    assert "neither a history of usage nor a VerticalPodAutoscaler" in undecided(hvpa(), *fleet(2))


@pytest.mark.parametrize(
    "said",
    [
        {"RecommendationProvided": "False"},
        {"ConfigUnsupported": "True"},
        {"ConfigDeprecated": "True"},
        {"LowConfidence": "True"},
    ],
)
def test_a_vpa_with_an_unreliable_recommendation(said):
    """Its recommendation is not used, and the error names the VPA."""
    assert "VerticalPodAutoscaler web-child" in undecided(hvpa(), child(recommended(), **said), *fleet(2))


def test_objects_alone():
    """With the annotation checkpoints are not read."""
    objects = [hvpa(annotations=OBJECTS), child(recommended(target=("3", "3Gi"))), checkpoint(**LEARNT), *fleet(2)]
    assert point(*objects)[0] == 3


@pytest.mark.parametrize("target", [TARGET, HVPA], ids=["of the target", "of the Hvpa"])
def test_the_count_of_an_hpa(target):
    """Four pods of one core are four cores, which two pods of two cores provide."""
    objects = [hvpa(hpa=COUNTED, annotations=OBJECTS), hpa(target), child(recommended()), *fleet(2)]
    assert point(*objects) == (2, 2000, 2 * GI)
    assert sentences(decided(*objects, kind="Hvpa"), "count") == [
        "According to the status of HorizontalPodAutoscaler web there should be 4 replicas."
    ]


def test_the_count_of_an_hpa_that_saw_another_count():
    """Used again it would count twice, so it is ignored, and nothing scales down meanwhile."""
    objects = [
        hvpa(hpa=COUNTED, annotations=OBJECTS),
        hpa(current=1),
        child(recommended(target=("500m", "1Gi"))),
        *fleet(2),
    ]
    assert point(*objects) == (2, 1000, GI)
    decision = decided(*objects, kind="Hvpa")
    assert "was computed at 1 replica, not at 2" in sentences(decision, "no-count")[0]
    assert conditions(decision)["RecommendationProvided"] == "False"


def test_own_metrics_where_the_dump_has_them():
    """Both pods use twice their request of one core, so four cores are needed, and no more memory."""
    objects = [hvpa(hpa=COUNTED), child(recommended()), *fleet(2, status=READY), sample(0, "2"), sample(1, "2")]
    assert point(*objects) == (2, 2000, GI)


def test_an_hpa_that_scales_the_hvpa_is_decided_too():
    """Its target is the Hvpa's own scale."""
    scaled = hvpa(status={"replicas": 2, "targetSelector": "app=web"}, replicas=2)
    decision = decided(
        scaled, hpa(HVPA), *fleet(2, status=READY), sample(0, "2"), sample(1, "2"), kind="HorizontalPodAutoscaler"
    )
    assert (decision.decided, decision.current, decision.desired) == (True, 2, 4)


def test_the_reason_of_a_change_of_size():
    """If only memory changes, memory is the reason, and nothing false is said about cpu."""
    quiet = [hvpa(hpa=COUNTED), checkpoint(**LEARNT), *fleet(2)]
    decision = decided(*quiet, kind="Hvpa")
    assert wanted(decision) == {"cpu": 1000, "memory": MEMORY}
    assert "replicas are added" not in " ".join(sentences(decision, "size"))
    assert decision.reason.startswith("memory of app")


# Groups and manifests.


def test_the_group_of_gardener_is_an_alias():
    """Both groups lead to the same decision."""
    objects = [checkpoint(**LEARNT), *fleet(2)]
    alias = decided(hvpa(group="autoscaling.gardener.cloud"), *objects, kind="Hvpa")
    assert alias.desired_sizes == decided(hvpa(), *objects, kind="Hvpa").desired_sizes
    of_alias = {**HVPA, "apiVersion": "autoscaling.gardener.cloud/v1alpha1"}
    counted = hvpa(group="autoscaling.gardener.cloud", hpa=COUNTED, annotations=OBJECTS)
    assert point(counted, hpa(of_alias), child(recommended()), *fleet(2))[1] == 2000


def test_a_weight_based_manifest():
    """The released form is read, but not decided by."""
    weights = [
        {"vpaWeight": 0, "startReplicaCount": 1, "lastReplicaCount": 2},
        {"vpaWeight": 100, "startReplicaCount": 3},
    ]
    old = hvpa(scalingIntervals=None, weightBasedScalingIntervals=weights)
    assert "use spec.scalingIntervals" in undecided(old, checkpoint(**LEARNT), *fleet(2))


def test_all_errors_are_reported():
    """One message contains all of them."""
    intervals = [{"maxReplicas": 3, "maxResources": sized("1")}, {"maxReplicas": 3, "maxResources": sized("2")}]
    policies = [{"containerName": "app", "minAllowed": sized("2"), "maxAllowed": sized("1")}]
    broken = hvpa(
        scalingIntervals=intervals,
        scaleDown={"updatePolicy": {"updateMode": "MaintenanceWindow"}},
        vpa={"deploy": True, "template": {"spec": {"resourcePolicy": {"containerPolicies": policies}}}},
    )
    error = undecided(broken, checkpoint(**LEARNT), *fleet(2))
    assert all(word in error for word in ("scalingIntervals[1].maxReplicas", "maintenanceTimeWindow", "maxAllowed"))


# Existing pods and containers.


def test_zero_replicas():
    """The workload stays switched off."""
    decision = decided(hvpa(), checkpoint(**LEARNT), workload("Deployment", 0), kind="Hvpa")
    assert (decision.decided, decision.moves) == (True, False)
    assert sentences(decision, "scaling-disabled")


def test_no_pods_but_a_template():
    """The size of the template counts for the pods to come."""
    assert point(hvpa(), checkpoint(**LEARNT), workload("Deployment", 2)) == (2, 410, MEMORY)


def test_neither_pods_nor_a_template():
    """Then no size is known."""
    custom = {"apiVersion": "example.com/v1", "kind": "Shop", "name": "web"}
    bare = made("example.com/v1", "Shop", "web", {"replicas": 2, "selector": {"matchLabels": LABELS}}, {"replicas": 2})
    assert "no size is known" in undecided(hvpa(targetRef=custom), checkpoint(**LEARNT), bare)


def test_pods_of_different_size():
    """In a rollout the total is what the pods really have; the size is that of the largest pod."""
    rollout = [workload("Deployment", 2), pod(0, box(cpu="300m")), pod(1, box(cpu="1"))]
    decision = decided(hvpa(), checkpoint(**LEARNT), *rollout, kind="Hvpa")
    assert decision.sizes[0].requests["cpu"] == 1000
    assert "cpu 820m (vpa; has 1300m)" in sentences(decision, "total")[0]


def test_what_was_resized_in_place_counts():
    """The actual size of the pods counts, as the template is stale then."""
    status = {"containerStatuses": [{"name": "app", "resources": {"requests": sized("410m", str(MEMORY))}}]}
    decision = decided(hvpa(), checkpoint(**LEARNT), *fleet(2, status=status), kind="Hvpa")
    assert not decision.moves


def test_containers_that_are_switched_off_or_new():
    """Both keep their size: one is switched off, nothing is known about the other."""
    policies = [{"containerName": "log", "mode": "Off"}]
    spec = {"vpa": {"deploy": True, "template": {"spec": {"resourcePolicy": {"containerPolicies": policies}}}}}
    learnt = [checkpoint(**LEARNT), checkpoint("log", **LEARNT), checkpoint("gone", **LEARNT)]
    three = (box(), box("log"), box("new"))
    decision = decided(hvpa(**spec), *learnt, *fleet(2, *three), kind="Hvpa")
    assert (wanted(decision)["cpu"], wanted(decision, "log")["cpu"], wanted(decision, "new")["cpu"]) == (
        410,
        1000,
        1000,
    )


def test_limits_follow():
    """They keep their proportion to the requests."""
    decision = decided(hvpa(), checkpoint(**LEARNT), *fleet(2, box(limits=sized("2"))), kind="Hvpa")
    assert limits(decision) == {"cpu": 820}


def test_a_node_that_is_not_in_the_dump():
    """Whether pods without a limit are saturated is unknown, and this is reported."""
    hot = [sample(0, "1500m"), sample(1, "1500m")]
    objects = [hvpa(), child(recommended()), *fleet(2), *hot]
    assert "without the Node in the input" in " ".join(decided(*objects, kind="Hvpa").unknown)
    assert decided(*objects, node(), kind="Hvpa").unknown == ()


def test_an_oom_that_was_answered():
    """A kill before the last scale-up overrides nothing any more."""
    ended = {"reason": "OOMKilled", "startedAt": ago(DAY), "finishedAt": ago(2 * HOUR)}
    status = {"containerStatuses": [{"name": "app", "lastState": {"terminated": ended}}]}
    slow = {"scaleUp": {"minChange": {"cpu": {"value": "9"}, "memory": {"value": "90Gi"}}}}
    objects = [hvpa(**slow), child(recommended(target=("1", "1500Mi"))), *fleet(2, status=status)]
    decision, state = reported(*objects, kind="Hvpa")
    assert decision.moves
    answered = State.from_dict(state.acted(decision, NOW - HOUR).to_dict())
    assert not decided(*objects, kind="Hvpa", memory=answered).moves
