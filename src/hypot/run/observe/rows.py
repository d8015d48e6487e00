"""The parts of each watched object that are kept: only what decisions need.

Lists omit the apiVersion and kind of their items, so the caller passes them.
"""

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from hypot.core.instant import read_time
from hypot.kinds.base import Ref
from hypot.kinds.catalogue import Autoscaler
from hypot.kinds.node import replaced
from hypot.kinds.selector import SelectorError
from hypot.kinds.values.nested import inner, mappings
from hypot.policy.model.seen import ClusterNode, LimitRange, Pod
from hypot.policy.observe.read_namespace import settings_in
from hypot.policy.observe.read_pods import read_pod
from hypot.policy.observe.read_scale import selector_text
from hypot.policy.observe.read_sizes import read_limit_range, read_node
from hypot.policy.observe.snapshot import read_autoscaler
from hypot.policy.observe.targets import target_of
from hypot.run.config import OPT_IN_LABEL, OPT_IN_VALUE
from hypot.run.outcome import Key

Object = Mapping[str, Any]

_METADATA = ("name", "namespace", "uid", "resourceVersion", "generation", "ownerReferences")
_SPEC = ("replicas", "selector", "parallelism")
_STATUS = ("replicas", "selector", "targetSelector", "numberReady", "desiredNumberScheduled", "active")


class Manager(NamedTuple):
    """A field manager: its name, the subresource that it wrote, and when."""

    name: str
    subresource: str
    at: float


class AutoscalerRow(NamedTuple):
    """An autoscaler, the object it was read from, and its field managers."""

    autoscaler: Autoscaler
    data: Object
    managers: tuple[Manager, ...]
    # The uid and the target: an object with a new target starts afresh. Empty if the target cannot be read.
    identity: str = ""
    # The identity of the object when its status was written; a status of another identity is removed.
    reported_of: str = ""

    @property
    def as_stored(self) -> Autoscaler:
        """The autoscaler with its status, whichever target that belongs to."""
        status = self.data.get("status")
        return self.autoscaler if self.autoscaler.status == status else replaced(self.autoscaler, status=status)

    @property
    def uid(self) -> str:
        return str(inner(self.data, "metadata").get("uid") or "")

    @property
    def version(self) -> str:
        return str(inner(self.data, "metadata").get("resourceVersion") or "")


def keep_autoscaler(api_version: str, kind: str, data: dict[str, Any]) -> AutoscalerRow:
    metadata = dict(inner(data, "metadata"))
    managers = tuple([_manager(entry) for entry in mappings(metadata.pop("managedFields", None))])
    whole = {**data, "apiVersion": api_version, "kind": kind, "metadata": metadata}
    autoscaler = read_autoscaler(whole)
    target = target_of(autoscaler)
    identity = f"{metadata.get('uid') or ''} {target.kind}/{target.name}" if target.kind and target.name else ""
    return AutoscalerRow(autoscaler, whole, managers, identity)


def follow_autoscaler(
    known: Callable[[Key], AutoscalerRow | None], api_version: str, kind: str, data: dict[str, Any]
) -> AutoscalerRow:
    """The same, compared with the previous row: after a change of target, the old status is ignored until it changes.

    A replica that only serves the webhook has no other way to detect this.
    """
    row = keep_autoscaler(api_version, kind, data)
    reported_of = _change_of(row, known((kind, row.autoscaler.namespace, row.autoscaler.name)))
    if row.identity in {"", reported_of}:
        return row._replace(reported_of=reported_of)
    return row._replace(reported_of=reported_of, autoscaler=replaced(row.autoscaler, status=None))


def _change_of(row: AutoscalerRow, before: AutoscalerRow | None) -> str:
    """The identity that the status belongs to. If target and status changed at once, it is the old one."""
    if before is None or before.uid != row.uid:
        return row.identity
    if row.identity == before.identity and row.data.get("status") != before.data.get("status"):
        return row.identity or before.reported_of
    return before.reported_of or row.identity


def _manager(entry: Object) -> Manager:
    at = read_time(entry.get("time")) or 0.0
    return Manager(str(entry.get("manager") or ""), str(entry.get("subresource") or ""), at)


def keep_pod(data: dict[str, Any]) -> Pod:
    return read_pod(data)


def keep_workload(api_version: str, kind: str, data: dict[str, Any]) -> Object:
    """Keep the scale, the selector and the sizes in the pod template."""
    spec, status = inner(data, "spec"), inner(data, "status")
    return {
        "apiVersion": api_version,
        "kind": kind,
        "metadata": _some(inner(data, "metadata"), _METADATA),
        "spec": {**_some(spec, _SPEC), **_template(spec)},
        "status": {**_some(status, _STATUS), **_selector(api_version, kind, data)},
    }


def _selector(api_version: str, kind: str, data: Object) -> dict[str, str]:
    """The selector as text, which every reconcile needs; an unreadable selector is reported when it is used."""
    try:
        return {"selector": selector_text(data, Ref(kind=kind, api_version=api_version))}
    except SelectorError:
        return {}


def _template(spec: Object) -> dict[str, Any]:
    if "jobTemplate" in spec:
        return {"jobTemplate": {"spec": _template(inner(spec, "jobTemplate", "spec"))}}
    labels = inner(spec, "template", "metadata").get("labels")
    containers = [
        _some(container, ("name", "resources", "resizePolicy"))
        for container in mappings(inner(spec, "template", "spec").get("containers"))
    ]
    return {"template": {"metadata": {"labels": labels}, "spec": {"containers": containers}}}


def keep_replica_set(data: dict[str, Any]) -> Object | None:
    """Keep a ReplicaSet; old ones without pods are dropped, as they are many and not needed."""
    spec, status = inner(data, "spec"), inner(data, "status")
    owned = any(owner.get("controller") is True for owner in mappings(inner(data, "metadata").get("ownerReferences")))
    if owned and not spec.get("replicas") and not status.get("replicas"):
        return None
    kept = keep_workload("apps/v1", "ReplicaSet", data)
    if owned:
        # The Deployment above it has the same selector and template.
        kept = {**kept, "spec": _some(spec, ("replicas",))}
    return kept


def keep_node(data: dict[str, Any]) -> ClusterNode:
    return read_node(data)


def keep_limit_range(data: dict[str, Any]) -> tuple[LimitRange, ...]:
    return read_limit_range(data)


class NamespaceRow(NamedTuple):
    """Whether a namespace is opted in, and the settings of Tortoises in its annotations."""

    opted_in: bool
    annotations: Mapping[str, str] = {}


def keep_namespace(data: dict[str, Any]) -> NamespaceRow:
    opted_in = inner(data, "metadata", "labels").get(OPT_IN_LABEL) == OPT_IN_VALUE
    return NamespaceRow(opted_in, settings_in(data))


def keep_monitor(data: dict[str, Any]) -> Object:
    metadata = _some(inner(data, "metadata"), ("name", "namespace"))
    return {"metadata": metadata, "status": _some(inner(data, "status"), ("monitorState",))}


def _some(data: Object, keys: tuple[str, ...]) -> dict[str, Any]:
    return {key: data[key] for key in keys if key in data}
