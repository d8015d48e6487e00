"""Pods and their metrics, from objects as kubectl prints them. What cannot be read counts as absent."""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from hypot.core.quantity import QuantityError, milli
from hypot.policy.memory import read_time
from hypot.policy.seen import Container, Owner, Pod, PodSample

_GO_UNITS = {"h": 3600.0, "m": 60.0, "s": 1.0, "ms": 1e-3, "us": 1e-6, "µs": 1e-6, "μs": 1e-6, "ns": 1e-9}
_GO_PART = re.compile(r"(\d+(?:\.\d*)?|\.\d+)(h|ms|m|s|us|µs|μs|ns)")


def inner(data: Any, *keys: str) -> dict[str, Any]:
    """The mapping at this path; empty where there is none."""
    for key in keys:
        data = data.get(key) if isinstance(data, dict) else None
    return data if isinstance(data, dict) else {}


def mappings(value: Any) -> Iterator[dict[str, Any]]:
    """The mappings of a list."""
    return (item for item in value if isinstance(item, dict)) if isinstance(value, list) else iter(())


def name_of(data: Mapping[str, Any]) -> str:
    return str(inner(data, "metadata").get("name") or "")


def labels_of(data: Mapping[str, Any]) -> dict[str, str]:
    """Labels are text; a figure that somebody wrote without quotes is taken for its text."""
    labels = inner(data, "metadata", "labels")
    if all(type(value) is str for value in labels.values()):
        return labels
    return {str(key): str(value) for key, value in labels.items()}


def read_amount(value: Any) -> int | None:
    """Milli-units of a quantity; None for what is none."""
    try:
        return milli(value)
    except QuantityError:
        return None


def read_amounts(data: Any) -> dict[str, int]:
    if not isinstance(data, dict):
        return {}
    return {name: amount for name, value in data.items() if (amount := read_amount(value)) is not None}


def read_pod(data: Mapping[str, Any]) -> Pod:
    metadata, spec, status = inner(data, "metadata"), inner(data, "spec"), inner(data, "status")
    ready = next((c for c in mappings(status.get("conditions")) if c.get("type") == "Ready"), None)
    sidecars, others = _init_containers(spec)
    return Pod(
        name=name_of(data),
        phase=str(status.get("phase") or ""),
        deleted=metadata.get("deletionTimestamp") is not None,
        ready=None if ready is None else str(ready.get("status")),
        ready_since=None if ready is None else read_time(ready.get("lastTransitionTime")),
        started=read_time(status.get("startTime")),
        containers=(*(_container(c) for c in mappings(spec.get("containers"))), *sidecars),
        init_containers=others,
        labels=labels_of(data),
        owners=tuple(_owner(o) for o in mappings(metadata.get("ownerReferences"))),
        pod_requests=read_amounts(inner(spec, "resources", "requests")) or None,
        overhead=read_amounts(spec.get("overhead")),
    )


def _init_containers(spec: Mapping[str, Any]) -> tuple[tuple[Container, ...], tuple[Container, ...]]:
    """Native sidecars, which run as long as the pod does, and those that end before it starts."""
    given = list(mappings(spec.get("initContainers")))
    sidecars = tuple(_container(c) for c in given if c.get("restartPolicy") == "Always")
    return sidecars, tuple(_container(c) for c in given if c.get("restartPolicy") != "Always")


def _container(data: Mapping[str, Any]) -> Container:
    """A limit without a request is also the request, as the API server completes it."""
    resources = inner(data, "resources")
    requests = {**read_amounts(resources.get("limits")), **read_amounts(resources.get("requests"))}
    return Container(str(data.get("name") or ""), requests)


def _owner(data: Mapping[str, Any]) -> Owner:
    return Owner(str(data.get("kind") or ""), str(data.get("name") or ""))


def read_sample(data: Mapping[str, Any], labels: Mapping[str, str]) -> PodSample:
    """A pod's usage; its labels are given because not every metrics server repeats them."""
    containers = [(str(c.get("name") or ""), read_amounts(c.get("usage"))) for c in mappings(data.get("containers"))]
    at, window = read_time(data.get("timestamp")), read_duration(data.get("window"))
    return PodSample(at or 0.0, window or 0.0, tuple(containers), labels)


def read_duration(text: Any) -> float | None:
    """Seconds of a Go duration such as 15.03s or 1m0s; None for what is none."""
    if not isinstance(text, str):
        return None
    parts = list(_GO_PART.finditer(text))
    if not parts or "".join(part.group() for part in parts) != text:
        return None
    return sum(float(part[1]) * _GO_UNITS[part[2]] for part in parts)
