"""The requests that change workloads.

Each names the version that was observed, so that it overwrites no newer change; without a version there is no request.
"""

from collections.abc import Iterable
from typing import Any

from hypot.cluster.port import STRATEGIC_PATCH, Request, encoded
from hypot.policy.model.size import Size

MANAGER = "hypot"
# A write that takes longer is abandoned; the next reconcile sees whether it was done.
WRITE_WITHIN = 5.0


class NotSeenError(ValueError):
    """The object to write to was not observed, or not with a name, uid and version: nothing is sent."""


def scale_request(path: str, namespace: str, name: str, version: str, replicas: int, uid: str = "") -> Request:
    """Set the count, if the target still has this version and, if the uid is known, is still the same object."""
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
    """Resize the containers of a running pod in place."""
    _must_be_seen(path, uid, version)
    body = {"metadata": _same(uid, version), "spec": {"containers": [_container(size) for size in sizes]}}
    return Request(
        "PATCH", f"{path}/resize", {"fieldManager": MANAGER}, encoded(body), STRATEGIC_PATCH, timeout=WRITE_WITHIN
    )


def evict_request(path: str, namespace: str, name: str, uid: str, version: str) -> Request:
    """Evict a pod, within the disruption budgets."""
    _must_be_seen(path, name, uid, version)
    body = {
        "apiVersion": "policy/v1",
        "kind": "Eviction",
        "metadata": {"name": name, "namespace": namespace},
        "deleteOptions": {"preconditions": _same(uid, version)},
    }
    return Request("POST", f"{path}/eviction", {}, encoded(body), timeout=WRITE_WITHIN)


def template_request(path: str, uid: str, version: str, sizes: Iterable[Size]) -> Request:
    """Change the size in a workload's pod template, which causes a rollout."""
    _must_be_seen(path, uid, version)
    containers = [_container(size) for size in sizes]
    body = {"metadata": _same(uid, version), "spec": {"template": {"spec": {"containers": containers}}}}
    return Request("PATCH", path, {"fieldManager": MANAGER}, encoded(body), STRATEGIC_PATCH, timeout=WRITE_WITHIN)


def _container(size: Size) -> dict[str, Any]:
    return {"name": size.container, "resources": size.to_dict()}


def _same(uid: str, version: str) -> dict[str, str]:
    """The precondition that it is still the observed object, unchanged."""
    return {"uid": uid, "resourceVersion": version}


def _must_be_seen(path: str, *known: str) -> None:
    """A path must end in a name: an empty name would mean all objects, an empty version any version."""
    if path.endswith("/") or not all(known):
        raise NotSeenError(f"{path} is not written to: it was not observed with a name, a uid and a version")
