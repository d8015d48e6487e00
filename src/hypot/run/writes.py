"""The writes that move workloads, as requests. Each has a precondition, so that nobody's newer word is overwritten."""

from collections.abc import Iterable, Mapping
from typing import Any

from hypot.cluster.port import STRATEGIC_PATCH, Request, encoded
from hypot.policy.size import Size

MANAGER = "hypot"
# A write that takes longer is given up; whether it was done, the next sweep sees.
WRITE_WITHIN = 5.0


def scale_request(path: str, namespace: str, name: str, version: str, replicas: int) -> Request:
    """Set the count, if the target is still at this version."""
    body = {
        "apiVersion": "autoscaling/v1",
        "kind": "Scale",
        "metadata": {"name": name, "namespace": namespace, "resourceVersion": version},
        "spec": {"replicas": replicas},
    }
    return Request("PUT", f"{path}/scale", {"fieldManager": MANAGER}, encoded(body), timeout=WRITE_WITHIN)


def resize_request(path: str, uid: str, version: str, sizes: Iterable[Size]) -> Request:
    """Another size for the containers of a running pod, in place."""
    body = {"metadata": _same(uid, version), "spec": {"containers": [_container(size) for size in sizes]}}
    return Request(
        "PATCH", f"{path}/resize", {"fieldManager": MANAGER}, encoded(body), STRATEGIC_PATCH, timeout=WRITE_WITHIN
    )


def evict_request(path: str, namespace: str, name: str, uid: str, version: str) -> Request:
    """Ask for a pod to go, within the disruption budgets."""
    body = {
        "apiVersion": "policy/v1",
        "kind": "Eviction",
        "metadata": {"name": name, "namespace": namespace},
        "deleteOptions": {"preconditions": _same(uid, version)},
    }
    return Request("POST", f"{path}/eviction", {}, encoded(body), timeout=WRITE_WITHIN)


def template_request(path: str, uid: str, version: str, sizes: Iterable[Size]) -> Request:
    """Another size in a workload's pod template, which rolls its pods."""
    containers = [_container(size) for size in sizes]
    body = {"metadata": _same(uid, version), "spec": {"template": {"spec": {"containers": containers}}}}
    return Request("PATCH", path, {"fieldManager": MANAGER}, encoded(body), STRATEGIC_PATCH, timeout=WRITE_WITHIN)


def _container(size: Size) -> dict[str, Any]:
    return {"name": size.container, "resources": size.to_dict()}


def _same(uid: str, version: str) -> Mapping[str, str]:
    """Only if it is still the object that was looked at."""
    return {key: text for key, text in (("uid", uid), ("resourceVersion", version)) if text}
