"""The writes that move workloads, as requests.

Each names the version that was looked at, so that nobody's newer word is overwritten; without one there is no request.
"""

from collections.abc import Iterable
from typing import Any

from hypot.cluster.port import STRATEGIC_PATCH, Request, encoded
from hypot.policy.model.size import Size

MANAGER = "hypot"
# A write that takes longer is given up; whether it was done, the next reconcile sees.
WRITE_WITHIN = 5.0


class NotSeenError(ValueError):
    """What is to be written was not seen, or not as an object that can be told from any other: nothing is sent."""


def scale_request(path: str, namespace: str, name: str, version: str, replicas: int, uid: str = "") -> Request:
    """Set the count, if the target is still at this version, and the very object where its uid is known."""
    _must_be_seen(path, name, version)
    same = _same(uid, version) if uid else {"resourceVersion": version}
    body = {
        "apiVersion": "autoscaling/v1",
        "kind": "Scale",
        "metadata": {"name": name, "namespace": namespace, **same},
        "spec": {"replicas": replicas},
    }
    return Request("PUT", f"{path}/scale", {"fieldManager": MANAGER}, encoded(body), timeout=WRITE_WITHIN)


def resize_request(path: str, uid: str, version: str, sizes: Iterable[Size]) -> Request:
    """Another size for the containers of a running pod, in place."""
    _must_be_seen(path, uid, version)
    body = {"metadata": _same(uid, version), "spec": {"containers": [_container(size) for size in sizes]}}
    return Request(
        "PATCH", f"{path}/resize", {"fieldManager": MANAGER}, encoded(body), STRATEGIC_PATCH, timeout=WRITE_WITHIN
    )


def evict_request(path: str, namespace: str, name: str, uid: str, version: str) -> Request:
    """Ask for a pod to go, within the disruption budgets."""
    _must_be_seen(path, name, uid, version)
    body = {
        "apiVersion": "policy/v1",
        "kind": "Eviction",
        "metadata": {"name": name, "namespace": namespace},
        "deleteOptions": {"preconditions": _same(uid, version)},
    }
    return Request("POST", f"{path}/eviction", {}, encoded(body), timeout=WRITE_WITHIN)


def template_request(path: str, uid: str, version: str, sizes: Iterable[Size]) -> Request:
    """Another size in a workload's pod template, which rolls its pods."""
    _must_be_seen(path, uid, version)
    containers = [_container(size) for size in sizes]
    body = {"metadata": _same(uid, version), "spec": {"template": {"spec": {"containers": containers}}}}
    return Request("PATCH", path, {"fieldManager": MANAGER}, encoded(body), STRATEGIC_PATCH, timeout=WRITE_WITHIN)


def _container(size: Size) -> dict[str, Any]:
    return {"name": size.container, "resources": size.to_dict()}


def _same(uid: str, version: str) -> dict[str, str]:
    """Only if it is still the object that was looked at, as it was then."""
    return {"uid": uid, "resourceVersion": version}


def _must_be_seen(path: str, *known: str) -> None:
    """A path ends in a name; an empty name would be all objects, an empty version any."""
    if path.endswith("/") or not all(known):
        raise NotSeenError(f"{path} is not written to: it was not seen with a name, a uid and a version")
