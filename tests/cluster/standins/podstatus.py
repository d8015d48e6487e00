"""What a kubelet writes about a pod: functions from a pod to the same pod with another status."""

import time
from typing import Any

from cluster.plane.api import Object
from cluster.standins.metricsserver import stamp

PENDING, IN_PROGRESS = "PodResizePending", "PodResizeInProgress"
LOOPBACK = "127.0.0.1"


def now() -> str:
    return stamp(time.time())


def address(namespace: str, name: str) -> str:
    return f"/api/v1/namespaces/{namespace}/pods/{name}"


def path(pod: Object) -> str:
    return address(pod["metadata"]["namespace"], pod["metadata"]["name"])


def condition(pod: Object, kind: str) -> Object:
    """The condition of this kind; empty if the pod has none."""
    return next((each for each in pod["status"].get("conditions", ()) if each["type"] == kind), {})


def is_ready(pod: Object) -> bool:
    return condition(pod, "Ready").get("status") == "True"


def with_status(pod: Object, **changes: Any) -> Object:
    return {**pod, "status": {**pod["status"], **changes}}


def with_condition(pod: Object, kind: str, status: str, reason: str = "") -> Object:
    """The transition time changes with the status; for a pending resize also with the reason."""
    old = condition(pod, kind)
    kept = old.get("status") == status and (kind != PENDING or old["reason"] == reason)
    new = {
        "type": kind,
        "status": status,
        "reason": reason,
        "lastTransitionTime": old["lastTransitionTime"] if kept else now(),
        "observedGeneration": pod["metadata"]["generation"],
    }
    return with_status(pod, conditions=[*without(pod, kind)["status"]["conditions"], new])


def without(pod: Object, *kinds: str) -> Object:
    return with_status(
        pod, conditions=[each for each in pod["status"].get("conditions", ()) if each["type"] not in kinds]
    )


def with_containers(pod: Object, containers: list[Object], unready: str = "ContainersNotReady") -> Object:
    """The pod is ready when all its containers are."""
    ready = all(container["ready"] for container in containers)
    pod = with_status(pod, containerStatuses=containers)
    for kind in ("ContainersReady", "Ready"):
        pod = with_condition(pod, kind, str(ready), "" if ready else unready)
    return pod


def started(pod: Object, ip: str = LOOPBACK) -> Object:
    """The pod as started; unchanged if it already runs."""
    if pod["status"]["phase"] == "Running":
        return pod
    assert pod["status"]["phase"] == "Pending", f"{path(pod)} has ended"
    pod = with_status(pod, phase="Running", startTime=now(), podIP=ip, podIPs=[{"ip": ip}])
    for kind in ("PodScheduled", "Initialized"):
        pod = with_condition(pod, kind, "True")
    return with_containers(pod, [_running(container) for container in pod["spec"]["containers"]])


def readied(pod: Object, ready: bool) -> Object:
    return with_containers(pod, [{**each, "ready": ready} for each in pod["status"]["containerStatuses"]])


def failed(pod: Object) -> Object:
    over = {"ready": False, "started": False}
    containers = [{**each, **over, "state": _ended(each, "Error", 1)} for each in pod["status"]["containerStatuses"]]
    return with_status(with_containers(pod, containers, "PodFailed"), phase="Failed")


def crashed(pod: Object, reason: str, times: int) -> Object:
    """The first container ended for this reason, and runs again."""
    first, *others = pod["status"]["containerStatuses"]
    return with_containers(pod, [_restarted(first, reason, 137 if reason == "OOMKilled" else 1, times), *others])


def restarts(pod: Object) -> int:
    return sum(container["restartCount"] for container in pod["status"]["containerStatuses"])


def wants_resize(pod: Object) -> bool:
    return any(status["resources"] != spec["resources"] for status, spec in _pairs(pod))


def allocated(pod: Object) -> Object:
    """The node has reserved the requested resources; the containers do not have them yet."""
    given = [{**status, "allocatedResources": _sizes(spec)["allocatedResources"]} for status, spec in _pairs(pod)]
    return with_status(pod, containerStatuses=given)


def resized(pod: Object) -> Object:
    """The containers have the requested resources, after a restart where their resize policy says so."""
    return with_containers(pod, [_resized(status, spec) for status, spec in _pairs(pod)])


def _running(container: Object) -> Object:
    return {
        "name": container["name"],
        "image": container["image"],
        "imageID": "",
        "ready": False,
        "started": True,
        "restartCount": 0,
        "state": {"running": {"startedAt": now()}},
        **_sizes(container),
    }


def _sizes(container: Object) -> Object:
    resources = container["resources"]
    return {"resources": resources, "allocatedResources": resources.get("requests", {})}


def _ended(status: Object, reason: str, code: int) -> Object:
    began = status["state"]["running"]["startedAt"]
    return {"terminated": {"reason": reason, "exitCode": code, "startedAt": began, "finishedAt": now()}}


def _restarted(status: Object, reason: str, code: int, times: int = 1) -> Object:
    again = {"ready": False, "lastState": _ended(status, reason, code), "state": {"running": {"startedAt": now()}}}
    return {**status, **again, "restartCount": status["restartCount"] + times}


def _resized(status: Object, spec: Object) -> Object:
    with_restart = {
        each["resourceName"] for each in spec.get("resizePolicy", ()) if each["restartPolicy"] == "RestartContainer"
    }
    if any(_of(status, name) != _of(spec, name) for name in with_restart):
        status = _restarted(status, "Completed", 0)
    return {**status, **_sizes(spec)}


def _of(container: Object, resource: str) -> list[str | None]:
    return [container["resources"].get(kind, {}).get(resource) for kind in ("requests", "limits")]


def _pairs(pod: Object) -> list[tuple[Object, Object]]:
    """Status and spec of each container."""
    specs = {container["name"]: container for container in pod["spec"]["containers"]}
    return [(status, specs[status["name"]]) for status in pod["status"]["containerStatuses"]]
