"""Pods as far as measuring needs them, and which addresses may be scraped."""

from collections.abc import Mapping, Sequence
from ipaddress import ip_address, ip_network
from typing import Any, NamedTuple

from hypot.cluster.addresses import inside, own_or_metadata
from hypot.core.instant import read_time


class PodOwner(NamedTuple):
    """What pods belong to, as events name it. The uid of a Deployment is not known here."""

    api_version: str
    kind: str
    namespace: str
    name: str
    uid: str = ""


class ServedPod(NamedTuple):
    """A pod that runs. `ports` has the ports that have a name; the address is empty if it may not be scraped."""

    namespace: str
    name: str
    uid: str
    labels: Mapping[str, str]
    address: str
    ports: Mapping[str, int]
    # When it was created, in seconds of the epoch; 0 if that is not known.
    created: float = 0.0
    # None if nothing owns it.
    owner: PodOwner | None = None
    # Since when it is ready, in seconds of the epoch; 0 if it is not.
    ready: float = 0.0


class PodAddresses:
    """The addresses that may be scraped: those of these networks, or all that a pod can have."""

    def __init__(self, networks: Sequence[str] = ()) -> None:
        self._networks = [ip_network(each) for each in networks]

    def allow(self, address: str) -> bool:
        """By default never the machine itself, nor a metadata service."""
        try:
            ip = ip_address(address)
        except ValueError:
            return False
        several = [ip, *inside(ip)]
        if self._networks:
            return any(several[-1] in network for network in self._networks)
        return not any(map(own_or_metadata, several))


def read_served_pod(data: Mapping[str, Any], addresses: PodAddresses) -> ServedPod | None:
    """A pod from its manifest; None if it does not run."""
    metadata, status = _mapping(data, "metadata"), _mapping(data, "status")
    address = str(status.get("podIP") or "")
    if status.get("phase") != "Running" or metadata.get("deletionTimestamp") is not None:
        return None
    spec = _mapping(data, "spec")
    # Init containers that are restarted always run beside the others.
    sidecars = [one for one in _list(spec, "initContainers") if one.get("restartPolicy") == "Always"]
    ports = {
        str(port["name"]): port["containerPort"]
        for container in (*sidecars, *_list(spec, "containers"))
        for port in _list(container, "ports")
        if port.get("name") and type(port.get("containerPort")) is int
    }
    labels = {str(key): str(value) for key, value in _mapping(metadata, "labels").items()}
    name, namespace, uid = (str(metadata.get(key) or "") for key in ("name", "namespace", "uid"))
    allowed, created = address if addresses.allow(address) else "", read_time(metadata.get("creationTimestamp")) or 0.0
    owner, ready = _owner(metadata, namespace, labels), _ready(status)
    return ServedPod(namespace, name, uid, labels, allowed, ports, created, owner, ready)


def _ready(status: Mapping[str, Any]) -> float:
    is_ready = (one for one in _list(status, "conditions") if (one.get("type"), one.get("status")) == ("Ready", "True"))
    return next((read_time(one.get("lastTransitionTime")) or 1.0 for one in is_ready), 0.0)


def _owner(metadata: Mapping[str, Any], namespace: str, labels: Mapping[str, str]) -> PodOwner | None:
    """The controller of a pod. A ReplicaSet of a Deployment has the name of the Deployment and the hash of the pods."""
    found = next((one for one in _list(metadata, "ownerReferences") if one.get("controller") is True), None)
    if found is None:
        return None
    version, kind, name, uid = (str(found.get(key) or "") for key in ("apiVersion", "kind", "name", "uid"))
    end = f"-{labels.get('pod-template-hash')}"
    if kind == "ReplicaSet" and len(name) > len(end) and name.endswith(end):
        return PodOwner("apps/v1", "Deployment", namespace, name.removesuffix(end))
    return PodOwner(version, kind, namespace, name, uid)


def _mapping(data: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    found = data.get(key)
    return found if isinstance(found, dict) else {}


def _list(data: Mapping[str, Any], key: str) -> list[Mapping[str, Any]]:
    found = data.get(key)
    return [one for one in found if isinstance(one, dict)] if isinstance(found, list) else []
