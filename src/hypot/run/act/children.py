"""The HPA and VPA objects that an Hvpa keeps if it takes its recommendations from their statuses."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from hypot.cluster.port import APPLY_PATCH, MERGE_PATCH, Request, encoded
from hypot.kinds.base import Ref
from hypot.kinds.hpa.fields import Behavior, ScalingRules
from hypot.kinds.hvpa import Hvpa, hpa_of, vpa_of
from hypot.kinds.node import replaced
from hypot.kinds.values.nested import inner, mappings
from hypot.kinds.vpa.fields import OFF, UpdatePolicy
from hypot.policy.model.seen import Scale
from hypot.policy.observe.read_pods import name_of
from hypot.run.in_time import in_turns
from hypot.run.internal_errors import InternalErrors
from hypot.run.observe.rows import AutoscalerRow, Object
from hypot.run.observe.watches import Watches, resource_of
from hypot.run.outcome import Outcome
from hypot.run.requests import MANAGER, WRITE_WITHIN

# The name of the Hvpa that owns a child; this label identifies a child that lost its owner reference.
OF = "hypot.dev/hvpa"
_KINDS = ("HorizontalPodAutoscaler", "VerticalPodAutoscaler")


def wanted(hvpa: Hvpa, uid: str) -> tuple[dict[str, Any], ...]:
    """The children that the Hvpa needs; none if hypot computes the recommendations itself."""
    if hvpa.recommendations != "objects":
        return ()
    made = []
    if hvpa.uses_hpa:
        made.append(_child(hvpa, uid, _counter(hvpa)))
    if hvpa.uses_vpa:
        made.append(_child(hvpa, uid, _sizer(hvpa)))
    return tuple(made)


def _counter(hvpa: Hvpa) -> dict[str, Any]:
    """The child HPA. It scales the Hvpa itself, so it only advises; its own window would repeat old proposals."""
    hpa = hpa_of(hvpa)
    behavior = hpa.behavior or Behavior()
    down = replaced(behavior.scale_down or ScalingRules(), window=0)
    target = Ref(kind=hvpa.KIND, name=hvpa.name, api_version=hvpa.API_VERSION)
    return replaced(hpa, target=target, behavior=replaced(behavior, scale_down=down)).to_dict()


def _sizer(hvpa: Hvpa) -> dict[str, Any]:
    vpa = vpa_of(hvpa)
    policy = replaced(vpa.update_policy or UpdatePolicy(), mode=OFF)
    return replaced(vpa, update_policy=policy).to_dict()


def _child(hvpa: Hvpa, uid: str, made: dict[str, Any]) -> dict[str, Any]:
    written = inner(made, "metadata")
    owner = {
        "apiVersion": hvpa.API_VERSION,
        "kind": hvpa.KIND,
        "name": hvpa.name,
        "uid": uid,
        "controller": True,
        "blockOwnerDeletion": False,
    }
    metadata = {
        "name": hvpa.name,
        "namespace": hvpa.namespace,
        "labels": {**(written.get("labels") or {}), OF: hvpa.name},
        **({"annotations": written["annotations"]} if written.get("annotations") else {}),
        "ownerReferences": [owner],
    }
    return {"apiVersion": made["apiVersion"], "kind": made["kind"], "metadata": metadata, "spec": made["spec"]}


# By the uid of the owner and the kind of the child.
Owned = Mapping[tuple[str, str], Sequence[AutoscalerRow]]


def requests_for(hvpa: Hvpa, row: AutoscalerRow, watches: Watches, owned: Owned) -> list[Request]:
    """The writes that bring the children to the desired state; none for an Hvpa without name, namespace or uid."""
    if not (hvpa.name and hvpa.namespace and row.uid):
        return []
    asked = {child["kind"]: child for child in wanted(hvpa, row.uid)}
    found: list[Request] = []
    for kind in _KINDS:
        there = [each for each in owned.get((row.uid, kind), ()) if each.autoscaler.namespace == hvpa.namespace]
        child = asked.get(kind)
        if child is None:
            found += [_delete(each) for each in there]
            continue
        found += [_delete(each) for each in there if name_of(each.data) != hvpa.name]
        named = watches.row((kind, hvpa.namespace, hvpa.name))
        if named is None:
            found.append(_create(child))
        elif named.version and _is_ours(named.data, hvpa, row.uid) and not covers(named.data, child):
            found.append(_repair(child, named.version))
    return found


def owned_objects(watches: Watches) -> Owned:
    """All objects that have an owner: they are searched once, and not for each Hvpa."""
    found: dict[tuple[str, str], list[AutoscalerRow]] = {}
    for kind in _KINDS:
        watched = watches.autoscalers.get(kind)
        for (_, name), row in watched.items() if watched else ():
            if name and row.uid and row.version:
                for owner in _owners(row.data):
                    found.setdefault((owner, kind), []).append(row)
    return found


def _is_ours(data: Object, hvpa: Hvpa, uid: str) -> bool:
    """Whether the Hvpa owns it, or it has the label and no owner; other objects of this name are left alone."""
    owners = _owners(data)
    return uid in owners or (not owners and inner(data, "metadata", "labels").get(OF) == hvpa.name)


def _owners(data: Object) -> set[str]:
    return {str(owner.get("uid")) for owner in mappings(inner(data, "metadata").get("ownerReferences"))}


def covers(there: Any, asked: Any) -> bool:
    """Whether `there` contains everything in `asked`; the API server may have added more."""
    if isinstance(asked, Mapping):
        return isinstance(there, Mapping) and all(covers(there.get(key), value) for key, value in asked.items())
    if isinstance(asked, list):
        same = isinstance(there, list) and len(there) == len(asked)
        return same and all(covers(one, other) for one, other in zip(there, asked, strict=True))
    return bool(there == asked)


def _create(child: dict[str, Any]) -> Request:
    """Create a child whose name is free; if another client took the name meanwhile, the server refuses this write."""
    path = resource_of(child["kind"]).path(child["metadata"]["namespace"])
    return Request("POST", path, {"fieldManager": MANAGER}, encoded(child), timeout=WRITE_WITHIN)


def _repair(child: dict[str, Any], version: str) -> Request:
    """Revert changes to a child, if it has not changed again."""
    metadata = child["metadata"]
    child = {**child, "metadata": {**metadata, "resourceVersion": version}}
    path = f"{resource_of(child['kind']).path(metadata['namespace'])}/{metadata['name']}"
    query = {"fieldManager": MANAGER, "force": "true"}
    return Request("PATCH", path, query, encoded(child), APPLY_PATCH, timeout=WRITE_WITHIN)


def _delete(row: AutoscalerRow) -> Request:
    child = row.autoscaler
    path = f"{resource_of(child.KIND).path(child.namespace)}/{child.name}"
    body = {"preconditions": {"uid": row.uid, "resourceVersion": row.version}}
    return Request("DELETE", path, {}, encoded(body), timeout=WRITE_WITHIN)


def count_request(hvpa: Hvpa, row: AutoscalerRow, scale: Scale, version: str) -> Request | None:
    """Set the Hvpa's own count to its target's, because the child HPA reads it there; None if they are equal.

    `version`: the version that was decided on, or what hypot's own write made of it; a newer change wins.
    """
    if not (hvpa.name and hvpa.namespace and version):
        return None
    if hvpa.recommendations != "objects" or inner(row.data, "spec").get("replicas") == scale.replicas:
        return None
    body = {"metadata": {"resourceVersion": version}, "spec": {"replicas": scale.replicas}}
    path = f"{resource_of(Hvpa.KIND).path(hvpa.namespace)}/{hvpa.name}"
    return Request("PATCH", path, {"fieldManager": MANAGER}, encoded(body), MERGE_PATCH, timeout=WRITE_WITHIN)


def housekeeping(
    outcomes: Iterable[Outcome], watches: Watches, version: Callable[[Outcome], str], errors: InternalErrors
) -> list[Request]:
    """All writes for the children of all Hvpas; none while the watched objects may be outdated."""
    found: list[Request] = []
    if watches.blind:
        return found
    hvpas = [outcome for outcome in outcomes if isinstance(outcome.autoscaler, Hvpa)]
    owned = owned_objects(watches) if hvpas else {}
    for outcome in in_turns(hvpas, lambda outcome: outcome.key[1]):
        hvpa, row = outcome.autoscaler, watches.row(outcome.key)
        if outcome.acting != "act" or row is None or not isinstance(hvpa, Hvpa):
            continue
        if outcome.decision.error_kind == "spec":
            continue
        try:
            found += requests_for(hvpa, row, watches, owned)
            scale = outcome.seen.scale
            request = count_request(hvpa, row, scale, version(outcome)) if isinstance(scale, Scale) else None
            found += [request] if request else []
        except Exception as error:  # noqa: BLE001  it is this object's alone
            errors.add(outcome.key, "act", error)
    return found
