"""The fields of each object that are kept. This is a list of what is allowed, so that no secret is ever kept.

Of workloads and pods that leaves out environment, commands, arguments, volumes and images.
"""

import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final

from hypot.kinds.catalogue import find_autoscaler
from hypot.kinds.values.names import group_of
from hypot.kinds.values.nested import inner, mappings

Object = Mapping[str, Any]

_METADATA: Final = (
    "name",
    "namespace",
    "uid",
    "resourceVersion",
    "generation",
    "creationTimestamp",
    "deletionTimestamp",
    "labels",
)
_OWNER: Final = ("apiVersion", "kind", "name", "uid", "controller")
# Annotations of objects that are not autoscalers.
_ANNOTATIONS: Final = ("hypot.dev/", "kubernetes.io/config.mirror", "vpaObservedContainers")
_LAST_APPLIED: Final = "kubectl.kubernetes.io/last-applied-configuration"
_CONDITION: Final = ("type", "status", "reason", "lastTransitionTime")
_COUNTS: Final = (
    "replicas",
    "readyReplicas",
    "availableReplicas",
    "updatedReplicas",
    "observedGeneration",
    "selector",
    "targetSelector",
    "numberReady",
    "desiredNumberScheduled",
    "active",
)
_POD_STATUS: Final = ("phase", "reason", "startTime", "qosClass")
_CONTAINER: Final = ("name", "resources", "resizePolicy", "restartPolicy")
_CONTAINER_STATUS: Final = ("name", "ready", "resources", "restartCount", "allocatedResources")
_ENDED: Final = ("reason", "exitCode", "startedAt", "finishedAt")
_POD_SPEC: Final = ("nodeName", "resources", "overhead")
_WORKLOAD_SPEC: Final = (
    "replicas",
    "selector",
    "strategy",
    "updateStrategy",
    "minReadySeconds",
    "parallelism",
    "completions",
    "workloadRef",
    "paused",
)
# Only these triggers of a ScaledObject have a target among their metadata, and nothing else there.
_KEDA_RESOURCES: Final = ("cpu", "memory")
_PASSWORD: Final = re.compile(r"//[^/@]*@")


def kept(api_version: str, kind: str, data: Object) -> dict[str, Any]:
    """The object with only the fields that decisions and rules read. Items of a list have no apiVersion and kind."""
    group = group_of(api_version)
    fields = _FIELDS.get((group, kind), _workload)
    if find_autoscaler(group, kind) is not None:
        fields = _autoscaler
    return {"apiVersion": api_version, "kind": kind, **fields(data)}


def _whole(data: Object) -> dict[str, Any]:
    """Objects that are limits and targets, and nothing else: everything but who wrote them."""
    metadata = inner(data, "metadata")
    notes = {key: text for key, text in inner(metadata, "annotations").items() if key != _LAST_APPLIED}
    made = {**_metadata(data), **({"annotations": notes} if notes else {})}
    return {"metadata": made, **_some(data, ("spec", "status"))}


def _autoscaler(data: Object) -> dict[str, Any]:
    """The address of a recommender may have a password."""
    made = _whole(data)
    recommender = inner(data, "spec", "recommender")
    if isinstance(url := recommender.get("url"), str):
        without = {**recommender, "url": _PASSWORD.sub("//", url)}
        made["spec"] = {**inner(data, "spec"), "recommender": without}
    return made


def _metadata(data: Object) -> dict[str, Any]:
    metadata = inner(data, "metadata")
    made = _some(metadata, _METADATA)
    if owners := [_some(owner, _OWNER) for owner in mappings(metadata.get("ownerReferences"))]:
        made["ownerReferences"] = owners
    notes = {key: text for key, text in inner(metadata, "annotations").items() if str(key).startswith(_ANNOTATIONS)}
    return {**made, "annotations": notes} if notes else made


def _pod(data: Object) -> dict[str, Any]:
    spec, status = inner(data, "spec"), inner(data, "status")
    made = {**_some(status, _POD_STATUS), "conditions": _conditions(status, "PodResize")}
    if status.get("reason") == "Evicted":
        # The kubelet's message names the containers and what they used.
        made |= _some(status, ("message",))
    for name in ("containerStatuses", "initContainerStatuses"):
        if found := [_container_status(one) for one in mappings(status.get(name))]:
            made[name] = found
    return {"metadata": _metadata(data), "spec": _pod_spec(spec), "status": made}


def _pod_spec(spec: Object) -> dict[str, Any]:
    made = _some(spec, _POD_SPEC)
    for name in ("containers", "initContainers"):
        if found := [_some(one, _CONTAINER) for one in mappings(spec.get(name))]:
            made[name] = found
    return made


def _container_status(data: Object) -> dict[str, Any]:
    made = _some(data, _CONTAINER_STATUS)
    for name in ("state", "lastState"):
        if ended := inner(data, name, "terminated"):
            made[name] = {"terminated": _some(ended, _ENDED)}
    return made


def _conditions(status: Object, with_message: str = "-") -> list[dict[str, Any]]:
    """The conditions; messages only of the types that begin with this text."""
    found = []
    for one in mappings(status.get("conditions")):
        keys = (*_CONDITION, "message") if str(one.get("type")).startswith(with_message) else _CONDITION
        found.append(_some(one, keys))
    return found


def _workload(data: Object) -> dict[str, Any]:
    """A workload of any kind: its count, its selector, and the sizes in its pod template."""
    spec, status = inner(data, "spec"), inner(data, "status")
    made = {**_some(spec, _WORKLOAD_SPEC), **_template(spec)}
    if "jobTemplate" in spec:
        made["jobTemplate"] = {"spec": _template(inner(spec, "jobTemplate", "spec"))}
    return {"metadata": _metadata(data), "spec": made, "status": _some(status, _COUNTS)}


def _template(spec: Object) -> dict[str, Any]:
    template = inner(spec, "template")
    if not template:
        return {}
    metadata = _some(inner(template, "metadata"), ("labels",))
    return {"template": {"metadata": metadata, "spec": _pod_spec(inner(template, "spec"))}}


def _usage(data: Object) -> dict[str, Any]:
    containers = [_some(one, ("name", "usage")) for one in mappings(data.get("containers"))]
    return {"metadata": _metadata(data), **_some(data, ("timestamp", "window")), "containers": containers}


def _node(data: Object) -> dict[str, Any]:
    status = inner(data, "status")
    metadata = _some(inner(data, "metadata"), ("name",))
    return {
        "metadata": metadata,
        "status": {**_some(status, ("allocatable",)), "conditions": _conditions(status)},
    }


def _namespace(data: Object) -> dict[str, Any]:
    return {"metadata": _metadata(data)}


def _scale(data: Object) -> dict[str, Any]:
    status = _some(inner(data, "status"), ("replicas", "selector"))
    return {"metadata": _metadata(data), "spec": _some(inner(data, "spec"), ("replicas",)), "status": status}


def _monitor(data: Object) -> dict[str, Any]:
    return {"metadata": _metadata(data), "status": _some(inner(data, "status"), ("monitorState",))}


def _scaled_object(data: Object) -> dict[str, Any]:
    """A ScaledObject. The metadata of its triggers may hold addresses with passwords."""
    made = _whole(data)
    spec = dict(inner(data, "spec"))
    if "triggers" in spec:
        spec["triggers"] = [_trigger(one) for one in mappings(spec["triggers"])]
    return {**made, "spec": spec}


def _trigger(data: Object) -> dict[str, Any]:
    made = _some(data, ("type", "name", "metricType"))
    if data.get("type") in _KEDA_RESOURCES:
        made["metadata"] = _some(inner(data, "metadata"), ("type", "value", "containerName"))
    return made


def _some(data: Object, keys: Iterable[str]) -> dict[str, Any]:
    return {key: data[key] for key in keys if key in data}


_FIELDS: Final[Mapping[tuple[str, str], Callable[[Object], dict[str, Any]]]] = {
    ("", "Pod"): _pod,
    ("", "Node"): _node,
    ("", "Namespace"): _namespace,
    ("metrics.k8s.io", "PodMetrics"): _usage,
    ("autoscaling", "Scale"): _scale,
    ("datadoghq.com", "DatadogMonitor"): _monitor,
    ("keda.sh", "ScaledObject"): _scaled_object,
    ("", "LimitRange"): _whole,
    ("", "ResourceQuota"): _whole,
    ("policy", "PodDisruptionBudget"): _whole,
    ("autoscaling.k8s.io", "VerticalPodAutoscalerCheckpoint"): _whole,
    ("datadoghq.com", "DatadogPodAutoscaler"): _whole,
}
