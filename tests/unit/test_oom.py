"""OOM kills in pods and events, whatever they look like."""

import pytest

from hypot.policy.oom import OutOfMemory, last_oom, ooms_between, ooms_of_event, put_out
from hypot.policy.seen import Container, Ended, Eviction, Pod

ENDED = "2018-02-23T13:38:48Z"
AT = 1519393128.0
OOM = {"terminated": {"reason": "OOMKilled", "finishedAt": ENDED}}
RUNS = {"running": {}}


def pod(*statuses, memory="1Ki"):
    spec = [{"name": "app", "resources": {"requests": {"memory": memory}}}]
    metadata = {"namespace": "shop", "name": "web-1"}
    return {"metadata": metadata, "spec": {"containers": spec}, "status": {"containerStatuses": list(statuses)}}


def status(state, restarts=0, last=None, **more):
    return {"name": "app", "restartCount": restarts, "state": state, "lastState": last or {}, **more}


def test_a_kill_is_told_with_the_request():
    """The request of the pod as it is now."""
    found = ooms_between(pod(status(RUNS)), pod(status(OOM), memory="2Ki"))
    assert found == (OutOfMemory("shop", "web-1", "app", 2048, AT),)


def test_a_kill_right_after_a_kill_counts():
    """Where the restart count tells that there was a life in between."""
    assert ooms_between(pod(status(OOM)), pod(status(OOM, 1)))
    assert not ooms_between(pod(status(OOM)), pod(status(OOM)))


def test_the_kubelet_knows_better_than_the_spec():
    """Even that nothing is asked for."""
    (found,) = ooms_between(pod(status(RUNS)), pod(status(OOM, resources={"requests": {"memory": "3Ki"}})))
    assert found.memory == 3072
    (found,) = ooms_between(pod(status(RUNS)), pod(status(OOM, resources={})))
    assert found.memory == 0


def test_a_new_container_tells_nothing():
    """Nobody saw it alive."""
    assert not ooms_between(pod(), pod(status(OOM)))


@pytest.mark.parametrize("request_", [None, "much", {}, True])
def test_a_request_that_cannot_be_read_is_none(request_):
    """It never raises."""
    (found,) = ooms_between(pod(status(RUNS)), pod(status(OOM), memory=request_))
    assert found.memory == 0


NOTES = {"offending_containers": "app", "offending_containers_usage": "1Mi", "starved_resource": "memory"}


def eviction(notes=NOTES, **changes):
    metadata = {"creationTimestamp": ENDED, "annotations": notes}
    victim = {"kind": "Pod", "namespace": "shop", "name": "web-1"}
    return {"reason": "Evicted", "involvedObject": victim, "metadata": metadata, **changes}


def test_an_eviction_is_told_with_the_usage():
    """By either version of events."""
    expected = (OutOfMemory("shop", "web-1", "app", 2**20, AT),)
    event = eviction()
    assert ooms_of_event(event) == expected
    event["regarding"] = event.pop("involvedObject")
    assert ooms_of_event(event) == expected


@pytest.mark.parametrize(
    "event",
    [
        eviction(reason="Killing"),
        eviction(involvedObject={"kind": "Node"}),
        eviction(metadata={"annotations": NOTES}),
        eviction(notes=None),
        eviction(notes={**NOTES, "starved_resource": "memory,memory"}),
        eviction(notes={**NOTES, "starved_resource": "ephemeral-storage"}),
        eviction(notes={**NOTES, "offending_containers_usage": "much"}),
        eviction(notes={**NOTES, "offending_containers": 7}),
    ],
)
def test_events_that_tell_nothing(event):
    """No eviction of a pod, no time, or lists that do not fit."""
    assert ooms_of_event(event) == ()


@pytest.mark.parametrize(
    "thing", [None, [], "pod", 7, {"status": []}, {"status": {"containerStatuses": [7, {"name": []}]}}]
)
def test_anything_may_come(thing):
    """It tells nothing, and raises nothing."""
    assert ooms_between(thing, thing) == ()
    assert ooms_between(pod(status(RUNS)), thing) == ()
    assert ooms_of_event(thing) == ()


KILL = Ended("OOMKilled", AT - 60, AT - 30)


@pytest.mark.parametrize(
    ("ended", "eviction", "told"),
    [
        (None, None, None),
        (KILL, None, (AT - 30, 2048)),
        (KILL._replace(reason="Error"), None, None),
        (KILL._replace(finished=None), None, None),
        (None, Eviction(AT, {"app": 4_096_000}), (AT, 4096)),
        (KILL, Eviction(AT, {"app": 1}), (AT, 1)),
        (KILL, Eviction(AT, {"app": None}), (AT, 2048)),
        (KILL, Eviction(AT, {"proxy": 4_096_000}), None),
    ],
)
def test_how_a_container_of_a_pod_last_ran_out(ended, eviction, told):
    """Killed with what it had, or put out with what it used; the latter is the end of the pod."""
    container = Container("app", {"memory": 2_048_000}, ended=ended)
    found = Pod("web-1", containers=(container,), eviction=eviction)
    assert last_oom(found, container) == told
    assert put_out([found]) == ([found] if eviction else [])


def test_what_the_kubelet_says_it_has_counts():
    """A resize shows there first, and no request at all is nothing."""
    resized = Container("app", {"memory": 1000}, actual_requests={"memory": 7000}, ended=KILL)
    assert last_oom(Pod("web-1"), resized) == (AT - 30, 7)
    assert last_oom(Pod("web-1"), Container("app", ended=KILL)) == (AT - 30, 0)
