"""The fields of a pod in a dump that its size may depend on."""

import pytest

from hypot.core.instant import read_time
from hypot.policy.families import seen_by
from hypot.policy.model.seen import Ended, Eviction, PendingResize
from hypot.policy.model.settings import Settings
from hypot.policy.observe.read_pods import read_pod, read_resize
from hypot.policy.observe.snapshot import Snapshot
from unit.policy.sizes_world import DAY, GI, MI, NOW, ago, box, node, pod, sized, vpa, workload


def test_a_pod_in_full():
    """Every field that a size may depend on is read."""
    ended = {"reason": "OOMKilled", "startedAt": ago(20), "finishedAt": ago(10)}
    container = box(limits=sized("2"), resizePolicy=[{"resourceName": "memory", "restartPolicy": "RestartContainer"}])
    status = {
        "qosClass": "Burstable",
        "reason": "Evicted",
        "containerStatuses": [
            {
                "name": "app",
                "restartCount": 2,
                "lastState": {"terminated": ended},
                "resources": {"requests": sized("3")},
            }
        ],
    }
    found = read_pod(pod(0, container, status=status, annotations={"vpaObservedContainers": "app"}))
    assert (found.uid, found.node, found.qos, found.reason) == ("u0", "n1", "Burstable", "Evicted")
    assert found.annotations == {"vpaObservedContainers": "app"}
    app = found.containers[0]
    assert app.requests == {"cpu": 1000, "memory": 1000 * GI}
    assert (app.actual_requests, app.actual_limits) == ({"cpu": 3000}, {})
    assert (app.current_requests, app.current_limits) == ({"cpu": 3000}, {})
    assert app.ended == Ended("OOMKilled", NOW - 20, NOW - 10)
    assert (app.restarts, app.restarts_on_resize) == (2, frozenset({"memory"}))


def test_native_sidecars_run_with_the_others():
    """Other init containers end before the pod runs."""
    spec = {"initContainers": [box("proxy", restartPolicy="Always"), box("init")]}
    found = read_pod(pod(0, spec=spec))
    assert [(c.name, c.sidecar) for c in found.containers] == [("app", False), ("proxy", True)]
    assert [c.name for c in found.init_containers] == ["init"]


def test_the_newest_end_of_a_container_counts():
    """The current end of a container is newer than its previous end."""
    before = {"terminated": {"reason": "Error", "finishedAt": ago(DAY)}}
    now = {"terminated": {"reason": "OOMKilled", "startedAt": ago(20), "finishedAt": ago(10)}}
    status = {"containerStatuses": [{"name": "app", "state": now, "lastState": before}]}
    assert read_pod(pod(0, status=status)).containers[0].ended == Ended("OOMKilled", NOW - 20, NOW - 10)


@pytest.mark.parametrize(
    ("conditions", "resize"),
    [
        ([("PodResizePending", "True", "Deferred", "")], PendingResize("deferred", NOW - 9)),
        ([("PodResizePending", "True", "Infeasible", "too much")], PendingResize("infeasible", NOW - 9, "too much")),
        ([("PodResizePending", "True", "Odd", "")], PendingResize("unknown", NOW - 9)),
        ([("PodResizeInProgress", "True", "", "")], PendingResize("in-progress", NOW - 9)),
        ([("PodResizeInProgress", "True", "Error", "no")], PendingResize("error", NOW - 9, "no")),
        ([("PodResizeInProgress", "True", "", "slow")], PendingResize("unknown", NOW - 9, "slow")),
        (
            [("PodResizeInProgress", "True", "", ""), ("PodResizePending", "True", "Deferred", "")],
            PendingResize("deferred", NOW - 9),
        ),
        ([("PodResizePending", "False", "Deferred", "")], None),
        ([("Ready", "True", "", "")], None),
    ],
)
def test_conditions_of_a_resize(conditions, resize):
    """Only true conditions count; a pending resize comes before a running resize."""
    keys = ("type", "status", "reason", "message")
    reported = [{**dict(zip(keys, one, strict=True)), "lastTransitionTime": ago(9)} for one in conditions]
    assert read_resize(reported) == resize


LOW = "The node was low on resource: memory. Threshold quantity: 100Mi, available: 92140Ki. "
APP = "Container app was using 123Mi, request is 64Mi, has larger consumption of memory. "
PROXY = "Container proxy was using 1234567, which exceeds its request of 0. "
BY_KUBELET = {"type": "DisruptionTarget", "status": "True", "reason": "TerminationByKubelet"}
ENDED = {**BY_KUBELET, "lastTransitionTime": ago(9)}
NOT_READY = {"type": "Ready", "status": "False", "lastTransitionTime": ago(7)}


def evicted(message, *conditions, **changes):
    status = {"phase": "Failed", "reason": "Evicted", "message": message, "conditions": list(conditions), **changes}
    return read_pod(pod(0, box(), box("proxy"), status=status)).eviction


@pytest.mark.parametrize(
    ("message", "used"),
    [
        (LOW + APP, {"app": 123_000 * MI}),
        (LOW + PROXY, {"proxy": 1_234_567_000}),
        (LOW + PROXY + APP, {"app": 123_000 * MI, "proxy": 1_234_567_000}),
        ("The node was low on resource: memory. " + APP, {"app": 123_000 * MI}),
        (LOW + APP.replace("123Mi", "much"), {"app": None}),
        (LOW + APP.replace("123Mi", "-1Mi"), {"app": None}),
        (LOW + APP.replace("123Mi", ""), {"app": None}),
        (LOW + "Container app was using 12", {"app": None}),
        (LOW + APP + "Container stranger was using 1Gi, request is 0, ", {"app": 123_000 * MI}),
        (LOW + APP + "x" * 10**6 + PROXY, {"app": 123_000 * MI}),
        (LOW + APP + "Container proxy was using " * 10**5, {"app": 123_000 * MI, "proxy": None}),
    ],
)
def test_usage_of_a_pod_evicted_for_memory_pressure(message, used):
    """The usage of each container that the kubelet names, in the wording of current and older releases."""
    assert evicted(message, ENDED) == Eviction(NOW - 9, used)


@pytest.mark.parametrize(
    "message",
    [
        None,
        7,
        ["memory"],
        "",
        LOW,
        LOW + "Container stranger was using 1Gi, request is 0, has larger consumption of memory. ",
        LOW + "Container app",
        LOW + "Pod web-0 was using 1Gi, request is 64Mi, has larger consumption of memory. ",
        APP,
        "x" * 10**6 + LOW + APP,
        "The node was low on resource: ephemeral-storage. " + APP.replace("consumption of memory", "ephemeral-storage"),
        "The node was low on resource: memory-of-old. " + APP,
        "The node had condition: [MemoryPressure]. ",
        "Container app exceeded its local ephemeral storage limit 1Gi. ",
    ],
)
def test_messages_that_blame_no_container(message):
    """Another resource, no container by name, or not the kubelet's wording."""
    assert evicted(message, ENDED) is None


@pytest.mark.parametrize("changes", [{"phase": "Running"}, {"reason": "NodeLost"}, {"reason": ["Evicted"]}])
def test_a_pod_that_was_not_evicted_or_not_yet(changes):
    """Its message is ignored."""
    assert evicted(LOW + APP, ENDED, **changes) is None


@pytest.mark.parametrize(
    ("conditions", "at"),
    [
        ([ENDED, NOT_READY], NOW - 9),
        ([NOT_READY], NOW - 7),
        ([BY_KUBELET, NOT_READY], NOW - 7),
        ([{**ENDED, "status": "False"}, NOT_READY], NOW - 7),
        ([{**ENDED, "reason": "PreemptionByScheduler"}, NOT_READY], NOW - 7),
        ([{**ENDED, "reason": "PreemptionByScheduler"}], None),
        ([{**NOT_READY, "status": "True"}], None),
        ([{**NOT_READY, "lastTransitionTime": "soon"}], None),
        ([7, {}], None),
        ([], None),
    ],
)
def test_when_a_pod_was_evicted(conditions, at):
    """By the kubelet's condition, else since when the pod is not ready; without a time there is no eviction."""
    found = evicted(LOW + APP, *conditions)
    assert (found and found.at) == at


@pytest.mark.parametrize(
    ("created", "started", "made"), [(ago(9), ago(5), NOW - 9), (ago(9), None, NOW - 9), (None, ago(5), NOW - 5)]
)
def test_when_a_pod_was_made(created, started, made):
    """The creation time counts, as a pod may wait long for a node; without it, the start time."""
    found = read_pod({"metadata": {"creationTimestamp": created}, "status": {"startTime": started}})
    assert found.made == made


@pytest.mark.parametrize("junk", [None, 7, "x", [], {}, [1], [{}], {"a": 1}])
def test_what_cannot_be_read_counts_as_absent(junk):
    """A pod with unreadable fields is still a pod."""
    parts = ("containerStatuses", "initContainerStatuses", "conditions", "startTime", "phase", "reason", "qosClass")
    found = read_pod(pod(0, status=dict.fromkeys(parts, junk), spec={"nodeName": junk}, annotations=junk, uid=junk))
    assert found.name == "web-0"
    assert found.containers[0].ended is None
    assert found.started is None
    assert found.eviction is None
    assert read_time(junk) is None


@pytest.mark.parametrize("junk", [[], {}, [1], {"a": 1}, 7])
def test_a_phase_that_is_not_text(junk):
    """A dump with such a pod can still be read."""
    snapshot = Snapshot([vpa(), workload(), pod(0, status={"phase": junk}), node()])
    assert len(seen_by(snapshot, snapshot.autoscalers()[0], NOW, Settings()).pods) == 1
