"""Reads pods and their metrics from objects as kubectl prints them. Unreadable values count as absent."""

import re
from collections.abc import Iterable, Mapping
from typing import Any

from hypot.core.instant import read_duration, read_time
from hypot.core.quantity import QuantityError, milli
from hypot.kinds.values.nested import inner, mappings
from hypot.policy.model.seen import Container, Ended, Eviction, Owner, PendingResize, Pod, PodSample, ResizeState

_PENDING: dict[str, ResizeState] = {"Deferred": "deferred", "Infeasible": "infeasible"}
# The kubelet's message on an eviction because of memory pressure, and on each container above its request.
_OUT_OF_MEMORY = "The node was low on resource: memory."
_OFFENDER = re.compile(r"Container (\S+) was using (?:([^\s,]+), )?")
_LONGEST_MESSAGE = 16_384


def name_of(data: Mapping[str, Any]) -> str:
    return str(inner(data, "metadata").get("name") or "")


def labels_of(data: Mapping[str, Any]) -> dict[str, str]:
    """The labels as text; an unquoted number in a file becomes its text."""
    labels = inner(data, "metadata", "labels")
    if all(type(value) is str for value in labels.values()):
        return labels
    return {str(key): str(value) for key, value in labels.items()}


def read_amount(value: Any) -> int | None:
    """Milli-units of a quantity; None if it is not a quantity."""
    try:
        return milli(value)
    except QuantityError:
        return None


def read_amounts(data: Any) -> dict[str, int]:
    if not isinstance(data, dict):
        return {}
    read = [(name, read_amount(value)) for name, value in data.items()]
    return {name: amount for name, amount in read if amount is not None and amount >= 0}


def read_pod(data: Mapping[str, Any]) -> Pod:
    metadata, spec, status = inner(data, "metadata"), inner(data, "spec"), inner(data, "status")
    ready = next((c for c in mappings(status.get("conditions")) if c.get("type") == "Ready"), None)
    reported = _by_name(status.get("containerStatuses"))
    sidecars, others = _init_containers(spec, status)
    containers = (*(read_container(c, reported) for c in mappings(spec.get("containers"))), *sidecars)
    return Pod(
        name=name_of(data),
        phase=str(status.get("phase") or ""),
        deleted=metadata.get("deletionTimestamp") is not None,
        ready=None if ready is None else str(ready.get("status")),
        ready_since=None if ready is None else read_time(ready.get("lastTransitionTime")),
        started=read_time(status.get("startTime")),
        containers=containers,
        init_containers=others,
        labels=labels_of(data),
        owners=_owners(metadata.get("ownerReferences")),
        pod_requests=read_amounts(inner(spec, "resources", "requests")) or None,
        overhead=read_amounts(spec.get("overhead")),
        uid=_text(metadata, "uid"),
        reason=_text(status, "reason"),
        node=_text(spec, "nodeName"),
        annotations=inner(metadata, "annotations"),
        resize=read_resize(status.get("conditions")),
        qos=_text(status, "qosClass"),
        version=_text(metadata, "resourceVersion"),
        eviction=read_eviction(status, containers),
        created=read_time(metadata.get("creationTimestamp")),
    )


def _text(data: Mapping[str, Any], key: str) -> str:
    return str(data.get(key) or "")


def _by_name(statuses: Any) -> dict[str, Mapping[str, Any]]:
    return {_text(status, "name"): status for status in mappings(statuses)}


def _init_containers(
    spec: Mapping[str, Any], status: Mapping[str, Any]
) -> tuple[tuple[Container, ...], tuple[Container, ...]]:
    """Native sidecars, which run as long as the pod does, and ordinary init containers, which end before it starts."""
    given, reported = list(mappings(spec.get("initContainers"))), _by_name(status.get("initContainerStatuses"))
    sidecars = [read_container(c, reported, sidecar=True) for c in given if c.get("restartPolicy") == "Always"]
    return tuple(sidecars), tuple([read_container(c, reported) for c in given if c.get("restartPolicy") != "Always"])


def read_container(
    data: Mapping[str, Any], reported: Mapping[str, Mapping[str, Any]] | None = None, *, sidecar: bool = False
) -> Container:
    """Read a container. A limit without a request is also the request, as the API server defaults it."""
    resources = inner(data, "resources")
    limits = read_amounts(resources.get("limits"))
    name = _text(data, "name")
    status = (reported or {}).get(name, {})
    actual = status.get("resources")
    policies = [p.get("resourceName") for p in mappings(data.get("resizePolicy")) if _restarts(p)]
    restarts = status.get("restartCount")
    return Container(
        name,
        {**limits, **read_amounts(resources.get("requests"))},
        limits,
        read_amounts(inner(actual, "requests")) if isinstance(actual, dict) else None,
        read_amounts(inner(actual, "limits")) if isinstance(actual, dict) else None,
        _last_end(status),
        restarts if isinstance(restarts, int) else 0,
        frozenset([str(resource) for resource in policies]),
        sidecar,
    )


def _restarts(policy: Mapping[str, Any]) -> bool:
    return policy.get("restartPolicy") == "RestartContainer"


def _last_end(status: Mapping[str, Any]) -> Ended | None:
    """The last termination of the container, which may be its current state."""
    ends = [_ended(inner(status, state, "terminated")) for state in ("lastState", "state")]
    return max((end for end in ends if end is not None), key=lambda end: end.finished or 0.0, default=None)


def _ended(data: Mapping[str, Any]) -> Ended | None:
    if not data:
        return None
    return Ended(_text(data, "reason"), read_time(data.get("startedAt")), read_time(data.get("finishedAt")))


def read_resize(conditions: Any) -> PendingResize | None:
    """The in-place resize from a pod's conditions; only true conditions count, a pending resize comes first."""
    reported = {_text(c, "type"): c for c in mappings(conditions) if c.get("status") == "True"}
    waiting, running = reported.get("PodResizePending"), reported.get("PodResizeInProgress")
    if waiting is not None:
        state = _PENDING.get(_text(waiting, "reason"), "unknown")
        return PendingResize(state, read_time(waiting.get("lastTransitionTime")), _text(waiting, "message"))
    if running is None:
        return None
    since, message = read_time(running.get("lastTransitionTime")), _text(running, "message")
    if _text(running, "reason") == "Error":
        return PendingResize("error", since, message)
    return PendingResize("unknown" if _text(running, "reason") or message else "in-progress", since, message)


def read_eviction(status: Mapping[str, Any], containers: Iterable[Container]) -> Eviction | None:
    """An eviction because of memory pressure; None if the kubelet's message names none of these containers."""
    if status.get("reason") != "Evicted" or status.get("phase") != "Failed":
        return None
    message = _text(status, "message")[:_LONGEST_MESSAGE]
    at = _evicted_at(status.get("conditions"))
    if at is None or not message.startswith(_OUT_OF_MEMORY):
        return None
    reported = dict(_OFFENDER.findall(message))
    amounts = read_amounts(reported)
    used = {c.name: amounts.get(c.name) for c in containers if c.name in reported}
    return Eviction(at, used) if used else None


def _evicted_at(conditions: Any) -> float | None:
    """When the kubelet ended the pod; older kubelets only report since when it is not ready."""
    reported = {_text(c, "type"): c for c in mappings(conditions)}
    target, ready = reported.get("DisruptionTarget", {}), reported.get("Ready", {})
    by_kubelet = target.get("status") == "True" and target.get("reason") == "TerminationByKubelet"
    at = read_time(target.get("lastTransitionTime")) if by_kubelet else None
    if at is None and ready.get("status") != "True":
        at = read_time(ready.get("lastTransitionTime"))
    return at


def _owners(references: Any) -> tuple[Owner, ...]:
    """The owners of a pod, its controller first."""
    ordered = sorted(mappings(references), key=lambda reference: reference.get("controller") is not True)
    return tuple([Owner(_text(reference, "kind"), _text(reference, "name")) for reference in ordered])


def read_sample(data: Mapping[str, Any], labels: Mapping[str, str]) -> PodSample:
    """A pod's usage. The caller passes the labels because not every metrics server repeats them."""
    containers = [(str(c.get("name") or ""), read_amounts(c.get("usage"))) for c in mappings(data.get("containers"))]
    at, window = read_time(data.get("timestamp")), read_duration(data.get("window"))
    return PodSample(at or 0.0, window or 0.0, tuple(containers), labels)
