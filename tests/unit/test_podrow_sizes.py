"""What a pod of a dump tells that its size may depend on."""

import pytest

from hypot.policy.memory import read_time
from hypot.policy.podrow import read_pod, read_resize
from hypot.policy.seen import (
    Ended,
    Resize,
)
from hypot.policy.settings import Settings
from hypot.policy.snapshot import Snapshot
from unit.sizes_world import (
    DAY,
    GI,
    NOW,
    ago,
    box,
    node,
    pod,
    sized,
    vpa,
    workload,
)


def test_a_pod_in_full():
    """All that a size may depend on."""
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


def test_native_sidecars_run_beside_the_others():
    """Other init containers end before."""
    spec = {"initContainers": [box("proxy", restartPolicy="Always"), box("init")]}
    found = read_pod(pod(0, spec=spec))
    assert [(c.name, c.sidecar) for c in found.containers] == [("app", False), ("proxy", True)]
    assert [c.name for c in found.init_containers] == ["init"]


def test_the_newest_end_of_a_container_counts():
    """One that is ended now is newer than how it ended before."""
    before = {"terminated": {"reason": "Error", "finishedAt": ago(DAY)}}
    now = {"terminated": {"reason": "OOMKilled", "startedAt": ago(20), "finishedAt": ago(10)}}
    status = {"containerStatuses": [{"name": "app", "state": now, "lastState": before}]}
    assert read_pod(pod(0, status=status)).containers[0].ended == Ended("OOMKilled", NOW - 20, NOW - 10)


@pytest.mark.parametrize(
    ("conditions", "resize"),
    [
        ([("PodResizePending", "True", "Deferred", "")], Resize("deferred", NOW - 9)),
        ([("PodResizePending", "True", "Infeasible", "too much")], Resize("infeasible", NOW - 9, "too much")),
        ([("PodResizePending", "True", "Odd", "")], Resize("unknown", NOW - 9)),
        ([("PodResizeInProgress", "True", "", "")], Resize("in-progress", NOW - 9)),
        ([("PodResizeInProgress", "True", "Error", "no")], Resize("error", NOW - 9, "no")),
        ([("PodResizeInProgress", "True", "", "slow")], Resize("unknown", NOW - 9, "slow")),
        (
            [("PodResizeInProgress", "True", "", ""), ("PodResizePending", "True", "Deferred", "")],
            Resize("deferred", NOW - 9),
        ),
        ([("PodResizePending", "False", "Deferred", "")], None),
        ([("Ready", "True", "", "")], None),
    ],
)
def test_what_conditions_tell_of_a_resize(conditions, resize):
    """Only those that are true; one that waits before one that runs."""
    keys = ("type", "status", "reason", "message")
    told = [{**dict(zip(keys, one, strict=True)), "lastTransitionTime": ago(9)} for one in conditions]
    assert read_resize(told) == resize


@pytest.mark.parametrize("junk", [None, 7, "x", [], {}, [1], [{}], {"a": 1}])
def test_what_cannot_be_read_counts_as_absent(junk):
    """Whatever stands where a pod tells of itself, there is a pod."""
    parts = ("containerStatuses", "initContainerStatuses", "conditions", "startTime", "phase", "reason", "qosClass")
    found = read_pod(pod(0, status=dict.fromkeys(parts, junk), spec={"nodeName": junk}, annotations=junk, uid=junk))
    assert found.name == "web-0"
    assert found.containers[0].ended is None
    assert found.started is None
    assert read_time(junk) is None


@pytest.mark.parametrize("junk", [[], {}, [1], {"a": 1}, 7])
def test_a_phase_that_is_no_word(junk):
    """A dump with such a pod is read all the same."""
    snapshot = Snapshot([vpa(), workload(), pod(0, status={"phase": junk}), node()])
    assert len(snapshot.seen(snapshot.autoscalers()[0], NOW, Settings()).pods) == 1
