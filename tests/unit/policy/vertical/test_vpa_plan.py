"""Which pods of a dump a VerticalPodAutoscaler changes now, how, and why it leaves the others alone."""

import pytest

from hypot.kinds.vpa.knobs import Knobs
from hypot.policy.model.state import State
from unit.policy.sizes_world import (
    DAY,
    GI,
    HOUR,
    NOW,
    acts,
    advised,
    ago,
    box,
    decided,
    fleet,
    node,
    owned,
    pod,
    recommended,
    reported,
    sized,
    vpa,
    workload,
)

# Between 150m and 400m, and between 512Mi and 2Gi, a pod is left alone for half a day.
STATUS = advised(recommended(target=("200m", "1Gi"), lower=("150m", "512Mi"), upper=("400m", "2Gi")))
FITS = box(cpu="200m")


def sizer(mode="Recreate", *policies, **more):
    return vpa(mode, *policies, **{"status": STATUS, **more})


def first(*containers, mode="Recreate", count=2, **more):
    """The action on the first pod, and its rule."""
    return acts(decided(sizer(mode), *fleet(count, *containers, **more)))[0][1:]


def killed(ran, cpu="200m", memory="900Mi", reason="OOMKilled", since=HOUR, **state):
    """Pods whose container ended an hour ago after this many seconds; 900Mi is 14 % away from the target."""
    ended = {"reason": reason, "startedAt": ago(since + ran), "finishedAt": ago(since)}
    status = {"name": "app", "restartCount": 1, "lastState": {"terminated": ended}, **state}
    return {
        "containers": (box(cpu=cpu, memory=memory),),
        "status": {"startTime": ago(2 * HOUR), "containerStatuses": [status]},
    }


def restless(count=2, *, mode="Recreate", updates=None, policies=(), knobs=None, **more):
    """The action on pods that were killed."""
    given = killed(**more)
    fleeting = fleet(count, *given["containers"], status=given["status"])
    setup = {"vpa": knobs} if knobs else {}
    return acts(decided(sizer(mode, *policies, updates=updates), *fleeting, **setup))[0][1:]


# Whether a pod needs another size.


@pytest.mark.parametrize(
    ("container", "age", "expected"),
    [
        (box(cpu="149m"), HOUR, ("evict", "outside-bounds")),
        (box(cpu="401m"), HOUR, ("evict", "outside-bounds")),
        (box(cpu="200m", memory="3Gi"), HOUR, ("evict", "outside-bounds")),
        (box(cpu=None), HOUR, ("evict", "outside-bounds")),
        (box(cpu="150m"), HOUR, ("none", "too-young")),
        (box(cpu="400m"), 12 * HOUR - 1, ("none", "too-young")),
        (box(cpu="400m"), 12 * HOUR, ("evict", "lasting-difference")),
        (box(cpu="190m"), 12 * HOUR, ("none", "small-change")),
        # Ten percent of both resources together.
        (box(cpu="190m", memory="960Mi"), 12 * HOUR, ("evict", "lasting-difference")),
        (FITS, 12 * HOUR, ("none", "within-bounds")),
    ],
)
def test_when_a_pod_is_changed(container, age, expected):
    """Outside its bounds at once; inside them late, and only if the difference matters."""
    assert first(container, status={"startTime": ago(age)}) == expected


def test_when_the_start_of_a_pod_is_unknown():
    """Within its bounds it is left alone."""
    assert first(box(cpu="400m"), status={"startTime": None}) == ("none", "start-unknown")
    assert first(box(cpu="401m"), status={"startTime": None}) == ("evict", "outside-bounds")


@pytest.mark.parametrize(
    ("cpu", "expected"), [("199m", ("none", "fits-nowhere")), ("200m", ("evict", "outside-bounds"))]
)
def test_a_size_that_no_node_could_hold(cpu, expected):
    """An evicted pod would stay Pending for ever."""
    assert acts(decided(sizer(), *fleet(2, box(cpu="100m")), node(cpu=cpu)))[0][1:] == expected


def test_thresholds_are_knobs():
    """For one object, or for all."""
    young = fleet(2, box(cpu="190m"), status={"startTime": ago(HOUR)})
    eager = {"hypot.dev/lifetime-threshold": "30m", "hypot.dev/update-threshold": "0.05"}
    assert acts(decided(sizer(annotations=eager), *young))[0][1:] == ("evict", "lasting-difference")
    setup = {"vpa": Knobs(lifetime_threshold=60.0, update_threshold=0.01)}
    assert acts(decided(sizer(), *young, **setup))[0][1:] == ("evict", "lasting-difference")


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({"ran": 599}, ("evict", "quick-oom")),
        ({"ran": 600}, ("none", "too-young")),
        ({"ran": 60, "reason": "Error"}, ("none", "too-young")),
        ({"ran": 60, "memory": "1Gi"}, ("none", "oom-without-change")),
        ({"ran": 700, "updates": {"evictAfterOOMSeconds": 701}}, ("evict", "quick-oom")),
        ({"ran": 60, "updates": {"evictAfterOOMSeconds": 60}}, ("none", "too-young")),
        ({"ran": 700, "knobs": Knobs(evict_after_oom=701.0)}, ("evict", "quick-oom")),
    ],
)
def test_a_quick_oom(given, expected):
    """An OOM kill soon after the start: waiting would not help."""
    assert restless(**given) == expected


@pytest.mark.parametrize(
    ("mode", "given", "expected"),
    [
        ("InPlaceOrRecreate", {"since": 599}, "evict"),
        # It has run since: it can be resized.
        ("InPlaceOrRecreate", {"since": 600}, "resize"),
        ("InPlaceOrRecreate", {"since": 60, "updates": {"evictAfterOOMSeconds": 60}}, "resize"),
        # It must not be evicted, and a resize may still come in time.
        ("InPlace", {"since": 5}, "resize"),
        ("InPlaceOrRecreate", {"since": 5, "count": 1, "knobs": Knobs(in_place_skips_budget=True)}, "resize"),
        ("InPlaceOrRecreate", {"since": 5, "count": 1}, "none"),
    ],
)
def test_a_loop_of_kills(mode, given, expected):
    """A pod that is OOM-killed soon after each start dies again before a resize is applied."""
    assert restless(mode=mode, **{"ran": 30, **given})[0] == expected


def test_an_oom_of_a_container_that_is_not_sized():
    """A container that is switched off, or injected later, is no reason."""
    assert restless(ran=60, policies=({"containerName": "app", "mode": "Off"},)) == ("none", "no-recommendation")
    given = killed(60)
    seen_before = fleet(2, *given["containers"], status=given["status"], annotations={"vpaObservedContainers": "log"})
    assert acts(decided(sizer(), *seen_before))[0][1:] == ("none", "within-bounds")


def test_a_container_that_was_injected_later():
    """It was not there when the pod got its size, so its missing requests evict no pod."""
    injected = box("proxy", cpu=None, memory=None)
    status = advised(*STATUS["recommendation"]["containerRecommendations"], recommended("proxy"))
    marked = fleet(2, FITS, injected, annotations={"vpaObservedContainers": "app"})
    assert acts(decided(vpa(status=status), *marked))[0][1:] == ("none", "within-bounds")
    assert acts(decided(vpa(status=status), *fleet(2, FITS, injected)))[0][1:] == ("evict", "outside-bounds")


@pytest.mark.parametrize(
    ("resources", "change", "expected"),
    [
        (["cpu"], "TargetHigherThanRequests", "evict"),
        (["cpu"], "TargetLowerThanRequests", "none"),
        (["memory"], "TargetHigherThanRequests", "none"),
        (["memory", "cpu"], "TargetHigherThanRequests", "evict"),
    ],
)
def test_eviction_requirements(resources, change, expected):
    """One of the resources must change in the required direction."""
    proposal = {"evictionRequirements": [{"resources": resources, "changeRequirement": change}]}
    decision = decided(sizer(updates=proposal), *fleet(2, box(cpu="100m")))
    assert acts(decision)[0][1] == expected
    assert ("eviction-requirements" in {action.rule for action in decision.actions}) == (expected == "none")


def test_which_pod_comes_first():
    """Pods that need more, then those furthest off, then by name."""
    sizes = ["500m", "120m", "100m", "600m", "100m", "200m"]
    there = [pod(index, box(cpu=cpu)) for index, cpu in enumerate(sizes)]
    objects = [workload("Deployment", 6), workload("ReplicaSet", 6, name="web-5d9c"), *there]
    assert [name for name, _, _ in acts(decided(sizer(), *objects))] == [f"web-{i}" for i in (2, 4, 1, 3, 0, 5)]


# Whether it may be disrupted now.


@pytest.mark.parametrize(("count", "taken"), [(1, 0), (2, 1), (3, 1), (4, 2), (5, 2), (9, 4)])
def test_half_of_the_pods_may_go(count, taken):
    """Rounded down; a single pod is below the minimum of two."""
    decision = decided(sizer(), *fleet(count, box(cpu="100m")))
    assert [action for _, action, _ in acts(decision)].count("evict") == taken
    left = {rule for _, action, rule in acts(decision) if action == "none"}
    assert left == ({"min-replicas"} if count == 1 else {"disruption-budget"})
    assert decision.reason == (f"{taken} of {count} pods evicted" if taken else "")


def test_the_minimum_of_replicas():
    """The object's own minimum comes before the cluster's; with a tolerance of zero, one pod at a time may go."""
    alone = fleet(1, box(cpu="100m"))
    assert acts(decided(sizer(updates={"minReplicas": 1}), *alone)) == [("web-0", "evict", "outside-bounds")]
    assert acts(decided(sizer(), *alone, vpa=Knobs(min_replicas=1)))[0][1] == "evict"
    three = fleet(3, box(cpu="100m"))
    assert {rule for _, _, rule in acts(decided(sizer(updates={"minReplicas": 4}), *three))} == {"min-replicas"}


def test_the_tolerance_is_a_knob():
    """All but one tenth may go."""
    decision = decided(sizer(annotations={"hypot.dev/eviction-tolerance": "0.9"}), *fleet(10, box(cpu="100m")))
    assert [action for _, action, _ in acts(decision)].count("evict") == 9


def test_pods_that_are_missing_count_against_the_tolerance():
    """Only three of four exist, so one may go."""
    small = box(cpu="100m")
    objects = [
        workload("Deployment", 4),
        workload("ReplicaSet", 4, name="web-5d9c"),
        *(pod(i, small) for i in range(3)),
    ]
    assert [action for _, action, _ in acts(decided(sizer(), *objects))] == ["evict", "none", "none"]


@pytest.mark.parametrize(
    ("more", "rule"),
    [
        ({"deletionTimestamp": ago(1)}, "not-running"),
        ({"status": {"phase": "Succeeded"}}, "not-running"),
        ({"status": {"phase": "Failed"}}, "not-running"),
        ({"status": {"phase": "Pending"}, "spec": {"nodeName": None}}, "not-running"),
        ({"owner": []}, "no-controller"),
    ],
)
def test_pods_that_are_skipped(more, rule):
    """Gone, not running yet, or without a controller that would replace them."""
    objects = [*fleet(2, FITS), pod(7, box(cpu="100m"), **more)]
    assert ("web-7", "none", rule) in acts(decided(sizer(), *objects))


def test_a_pending_pod_is_no_loss():
    """It is evicted beyond the tolerance, while running pods stay."""
    small = box(cpu="100m")
    objects = [workload("Deployment", 3), workload("ReplicaSet", 3, name="web-5d9c")]
    objects += [pod(0, small), pod(1, small), pod(2, small, status={"phase": "Pending"})]
    decision = decided(sizer(), *objects)
    assert ("web-2", "evict", "outside-bounds") in acts(decision)
    assert [action for name, action, _ in acts(decision) if name != "web-2"] == ["none", "none"]


@pytest.mark.parametrize(
    ("controller", "taken"),
    [
        (workload("StatefulSet", 4), 2),
        ({**workload("ReplicationController", 4), "apiVersion": "v1"}, 2),
        (workload("DaemonSet", 4, status={"numberReady": 4}), 2),
        (workload("DaemonSet", 4, status={}), 0),
        ({**workload("Job", 4), "apiVersion": "batch/v1"}, 2),
        # A controller of a kind without a count: every running pod may go.
        ({**workload("CloneSet", 4), "apiVersion": "apps.kruise.io/v1"}, 4),
    ],
    ids=lambda value: str(value["kind"]) if isinstance(value, dict) else str(value),
)
def test_the_controller_gives_the_count(controller, taken):
    """The pod's own controller, by the rules of its kind."""
    made = [pod(i, box(cpu="100m"), owner=owned(controller["kind"], "web")) for i in range(4)]
    target = {key: controller[key] for key in ("apiVersion", "kind")} | {"name": "web"}
    decision = decided(sizer(target=target), controller, *made)
    assert [action for _, action, _ in acts(decision)].count("evict") == taken


def test_a_controller_that_is_not_in_the_dump():
    """Its pods are left alone, and the sentence says what to add to the input."""
    decision = decided(sizer(), workload(), *(pod(i, box(cpu="100m")) for i in range(2)))
    assert {rule for _, _, rule in acts(decision)} == {"replicas-unknown"}
    assert "not in the input" in decision.actions[0].sentence


# How pods are changed.


@pytest.mark.parametrize(
    ("mode", "action", "reason"),
    [
        ("Off", "none", None),
        ("Initial", "none", None),
        ("Recreate", "evict", "EvictedPod"),
        ("Auto", "evict", "EvictedPod"),
        (None, "evict", "EvictedPod"),
        ("InPlaceOrRecreate", "resize", "InPlaceResizedByVPA"),
        ("InPlace", "resize", "InPlaceResizedByVPA"),
    ],
)
def test_the_update_modes(mode, action, reason):
    """The action on a pod outside its bounds, and its event."""
    decision = decided(sizer(mode), *fleet(2, box(cpu="100m")))
    assert acts(decision)[0][1] == action
    assert [(event.type, event.reason) for event in decision.events] == ([("Normal", reason)] if reason else [])
    assert decision.moves == (reason is not None)


def test_an_action_carries_the_size_that_the_pod_gets():
    """Requests, and limits in the proportion of this pod."""
    decision = decided(sizer("InPlace"), *fleet(2, box(cpu="100m", limits=sized("150m", "1Gi"))))
    assert decision.actions[0].to_dict()["resources"] == {
        "app": {"requests": {"cpu": "200m", "memory": "1Gi"}, "limits": {"cpu": "300m", "memory": "1Gi"}}
    }
    assert "resources" not in decision.actions[1].to_dict()


@pytest.mark.parametrize(
    ("mode", "container", "version", "action", "rule"),
    [
        ("InPlaceOrRecreate", box(cpu="100m"), (1, 32), "evict", "resize-not-allowed"),
        ("InPlace", box(cpu="100m"), (1, 32), "none", "resize-not-allowed"),
        # New requests make it Burstable.
        ("InPlaceOrRecreate", box(cpu=None, memory=None), (1, 36), "evict", "resize-not-allowed"),
        ("InPlace", box(cpu=None, memory=None), (1, 36), "none", "resize-not-allowed"),
        # A lower memory limit.
        (
            "InPlace",
            box(cpu="100m", memory="1536Mi", limits=sized(memory="3Gi")),
            (1, 33),
            "none",
            "resize-not-allowed",
        ),
        ("InPlace", box(cpu="100m", memory="1536Mi", limits=sized(memory="3Gi")), (1, 34), "resize", "outside-bounds"),
    ],
)
def test_a_resize_that_the_cluster_would_refuse(mode, container, version, action, rule):
    """It is not tried, and this is reported."""
    best_effort = {"qosClass": "BestEffort"} if not container["resources"] else {}
    there = fleet(2, container, status=best_effort)
    assert acts(decided(sizer(mode), *there, kubernetes=version))[0][1:] == (action, rule)


def waiting(reason="Deferred", kind="PodResizePending", seconds=60.0, message=""):
    """Pods with a pending resize."""
    condition = {"type": kind, "status": "True", "reason": reason, "message": message}
    since = {} if seconds is None else {"lastTransitionTime": ago(seconds)}
    return fleet(4, box(cpu="100m"), status={"conditions": [{**condition, **since}]})


@pytest.mark.parametrize(
    ("pending", "action", "rule"),
    [
        (waiting(seconds=300), "none", "resize-deferred"),
        (waiting(seconds=301), "evict", "resize-deferred"),
        (waiting("Infeasible", seconds=1), "evict", "resize-infeasible"),
        (waiting("", "PodResizeInProgress", 3600), "none", "resize-in-progress"),
        (waiting("", "PodResizeInProgress", 3601), "evict", "resize-in-progress"),
        (waiting("Error", "PodResizeInProgress", 1), "evict", "resize-error"),
        (waiting("Whatever", seconds=1), "evict", "resize-unknown"),
    ],
)
def test_a_resize_that_is_not_done_yet(pending, action, rule):
    """The node gets some time; then the pod is evicted, if the mode allows it."""
    assert acts(decided(sizer("InPlaceOrRecreate"), *pending))[0][1:] == (action, rule)
    kept = acts(decided(sizer("InPlace"), *pending))[0]
    assert kept[1] == "none"


def test_how_long_a_resize_waits_is_remembered():
    """If the condition has no time: five minutes after it was first seen, the pod is evicted."""
    pending = waiting(seconds=None)
    decision, state = reported(sizer("InPlaceOrRecreate"), *pending)
    assert {rule for _, _, rule in acts(decision)} == {"resize-deferred"}
    assert state.vertical.stuck == {f"u{i}": NOW for i in range(4)}
    state = State.from_dict(state.to_dict())
    decision, state = reported(sizer("InPlaceOrRecreate"), *pending, memory=state, now=NOW + 300)
    assert {action for _, action, _ in acts(decision)} == {"none"}
    decision, state = reported(sizer("InPlaceOrRecreate"), *pending, memory=state, now=NOW + 301)
    assert [action for _, action, _ in acts(decision)] == ["evict", "evict", "none", "none"]
    decision, state = reported(sizer("InPlaceOrRecreate"), *fleet(4, box(cpu="100m")), memory=state, now=NOW + 302)
    assert state.vertical.stuck == {}


def test_what_no_node_can_grant_is_remembered():
    """It is requested again only if less is recommended."""
    refused = waiting("Infeasible", message="Node didn't have enough capacity")
    for one in refused[2:]:
        one["spec"]["containers"] = [FITS]
        one["status"]["containerStatuses"] = [{"name": "app", "resources": {"requests": sized("100m", "1Gi")}}]
    decision, state = reported(sizer("InPlace"), *refused)
    assert {action for _, action, _ in acts(decision)} == {"none"}
    assert state.vertical.infeasible["u0"] == {"app": {"cpu": 200, "memory": GI}}
    state = State.from_dict(state.to_dict())
    later = {"memory": state, "now": NOW + DAY}
    assert {rule for _, _, rule in acts(decided(sizer("InPlace"), *fleet(4, box(cpu="100m")), **later))} == {
        "resize-infeasible"
    }
    less = advised(recommended(target=("180m", "1Gi"), lower=("150m", "512Mi"), upper=("400m", "2Gi")))
    again = decided(sizer("InPlace", status=less), *fleet(4, box(cpu="100m")), **later)
    assert [action for _, action, _ in acts(again)] == ["resize", "resize", "none", "none"]


def test_a_requested_resize_is_not_requested_again():
    """The pod's own spec has the new size, and its node has not applied it yet."""
    status = {"containerStatuses": [{"name": "app", "resources": {"requests": sized("100m", "1Gi")}}]}
    assert first(FITS, mode="InPlace", status=status) == ("none", "resize-asked")


def test_one_step_for_pods_with_the_same_result():
    """Many pods do not make a long report; their names are in the numbers of the step."""
    decision = decided(sizer(), *fleet(9, box(cpu="100m")))
    steps = [step for step in decision.steps if step.stage == "restrain"]
    assert [(step.rule, len(step.numbers["pods"])) for step in steps] == [
        ("outside-bounds", 4),
        ("disruption-budget", 5),
    ]
    assert steps[0].sentence.startswith("web-0 (the first of 4): cpu of app is 100m, below its lower bound of 150m")
    assert decision.reason == "4 of 9 pods evicted"
