"""The HPAs of Tortoises: made, edited, and handed back as they were found.

An edit applies only the fields that a Tortoise decides on, server-side, to the version that was decided on. An HPA that
existed before keeps what it had in an annotation, until it is handed back.
"""

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any, NamedTuple

from hypot.cluster.port import APPLY_PATCH, MERGE_PATCH, Request, encoded
from hypot.kinds.hpa import HPA
from hypot.kinds.tortoise import Tortoise
from hypot.kinds.values.nested import inner
from hypot.policy.model.hpa_edit import HpaEdit
from hypot.policy.model.size import Place
from hypot.policy.tortoise.edited_hpa import target_of
from hypot.run.in_time import in_turns
from hypot.run.internal_errors import InternalErrors
from hypot.run.observe.rows import AutoscalerRow
from hypot.run.observe.watches import Watches, resource_of
from hypot.run.outcome import Done, Outcome
from hypot.run.report.events import PostedEvent, hpa_created, hpa_deleted, hpa_refused, hpa_updated, subject_of
from hypot.run.requests import MANAGER, WRITE_WITHIN

# The Tortoise that edits an HPA, and what its fields were before.
EDITED_BY, AS_FOUND = "hypot.dev/tortoise", "hypot.dev/as-found"
# The behavior of a named HPA is decided on only if its Tortoise has one.
BEHAVIOR = "behavior"
OWNED = ("minReplicas", "maxReplicas", "metrics")
_LONGEST_RECORD = 128 * 1024
NOT_WRITTEN = Done("the HPA was not written: there was no time, or it has changed; the next reconcile decides again")


class HpaWrite(NamedTuple):
    """A write to an HPA, and the outcome that it belongs to; None if the HPA is handed back."""

    request: Request
    outcome: Outcome | None = None

    def posted(self, done: Done) -> PostedEvent | None:
        """The event of the result; none if another client was faster: the next reconcile decides again."""
        edit = None if self.outcome is None else self.outcome.decision.hpa
        if self.outcome is None or edit is None or done.overtaken:
            return None
        if not done.ok:
            return PostedEvent(subject_of(self.outcome), hpa_refused(edit.name, done.refusal))
        if edit.deletes:
            return PostedEvent(subject_of(self.outcome), hpa_deleted(edit.name))
        bounds = edit.after.min_replicas or 1, edit.after.max_replicas or 1
        made = hpa_created(edit.name, *bounds) if edit.before is None else hpa_updated(edit.name, *bounds)
        return PostedEvent(subject_of(self.outcome), made)


def edited(outcome: Outcome, done: Done | None) -> Outcome:
    """The outcome of a decision that changes only the HPA, with the result of that write; None without one."""
    decision = outcome.decision
    if outcome.refusal or outcome.acting != "act" or not decision.edits or decision.moves or decision.dry_run:
        return outcome
    done = NOT_WRITTEN if done is None else done
    return outcome if done.ok else replace(outcome, refusal=done.refusal, unsure=done.unsure)


def hpa_writes(outcomes: Iterable[Outcome], watches: Watches, errors: InternalErrors) -> list[HpaWrite]:
    """All writes to HPAs of Tortoises; none while the watched objects may be outdated."""
    found: list[HpaWrite] = []
    tortoises = [outcome for outcome in outcomes if isinstance(outcome.autoscaler, Tortoise)]
    if watches.blind:
        return found
    for outcome in in_turns(tortoises, lambda outcome: outcome.key[1]):
        if outcome.acting != "act" or not outcome.decision.decided or outcome.decision.dry_run:
            continue
        try:
            found += _writes_for(outcome, watches)
        except Exception as error:  # noqa: BLE001  it is this object's alone
            errors.add(outcome.key, "act", error)
    return [*found, *_handed_back(watches)]


def _writes_for(outcome: Outcome, watches: Watches) -> Iterator[HpaWrite]:
    tortoise, edit, row = outcome.autoscaler, outcome.decision.hpa, watches.row(outcome.key)
    if not isinstance(tortoise, Tortoise) or edit is None or not edit.writes or row is None or not row.uid:
        return
    there = _row(watches, tortoise.namespace, edit.name)
    if edit.before is None:
        if there is None:
            yield HpaWrite(_create(tortoise, row.uid, edit), outcome)
    elif there is not None and there.version == str(edit.before.metadata.get("resourceVersion") or ""):
        yield HpaWrite(_delete(there) if edit.deletes else _edit(tortoise, edit, there), outcome)


def _row(watches: Watches, namespace: str, name: str) -> AutoscalerRow | None:
    return watches.row((HPA.KIND, namespace, name))


def _path(namespace: str, name: str = "") -> str:
    listed = resource_of(HPA.KIND).path(namespace)
    return f"{listed}/{name}" if name else listed


def _create(tortoise: Tortoise, uid: str, edit: HpaEdit) -> Request:
    """Make the HPA. It is deleted with its Tortoise only if that says so: then the Tortoise owns it."""
    metadata: dict[str, Any] = {
        "name": edit.name,
        "namespace": tortoise.namespace,
        "annotations": {EDITED_BY: tortoise.name},
    }
    if tortoise.deletes_all:
        owner = {"apiVersion": tortoise.API_VERSION, "kind": tortoise.KIND, "name": tortoise.name, "uid": uid}
        metadata["ownerReferences"] = [{**owner, "controller": True, "blockOwnerDeletion": False}]
    body = {"apiVersion": HPA.API_VERSION, "kind": HPA.KIND, "metadata": metadata, "spec": edit.after.to_dict()["spec"]}
    return Request("POST", _path(tortoise.namespace), {"fieldManager": MANAGER}, encoded(body), timeout=WRITE_WITHIN)


def _delete(row: AutoscalerRow) -> Request:
    hpa = row.autoscaler
    body = {"preconditions": {"uid": row.uid, "resourceVersion": row.version}}
    return Request("DELETE", _path(hpa.namespace, hpa.name), {}, encoded(body), timeout=WRITE_WITHIN)


def _edit(tortoise: Tortoise, edit: HpaEdit, row: AutoscalerRow) -> Request:
    spec = edit.after.to_dict()["spec"]
    owned: tuple[str, ...] = (*OWNED, BEHAVIOR)
    annotations = {EDITED_BY: tortoise.name}
    if tortoise.names_hpa:
        annotations[AS_FOUND], owned = _record(row, has_behavior=tortoise.behavior is not None)
    body = {
        "apiVersion": HPA.API_VERSION,
        "kind": HPA.KIND,
        "metadata": {"name": edit.name, "resourceVersion": row.version, "annotations": annotations},
        "spec": {name: spec[name] for name in owned if name in spec},
    }
    query = {"fieldManager": MANAGER, "force": "true"}
    path = _path(tortoise.namespace, edit.name)
    return Request("PATCH", path, query, encoded(body), APPLY_PATCH, timeout=WRITE_WITHIN)


def _record(row: AutoscalerRow, *, has_behavior: bool) -> tuple[str, tuple[str, ...]]:
    """What the HPA was before the first edit, as JSON, and the fields to apply.

    A behavior that was once applied is applied on, as it is: else the API server would remove it.
    """
    written, spec = inner(row.data, "metadata", "annotations").get(AS_FOUND), inner(row.data, "spec")
    found = _read(written) if isinstance(written, str) else {name: spec[name] for name in OWNED if name in spec}
    if found is None:
        return str(written), (*OWNED, BEHAVIOR)
    if has_behavior and BEHAVIOR not in found:
        found = {**found, BEHAVIOR: spec.get(BEHAVIOR)}
    return json.dumps(found, separators=(",", ":")), (*OWNED, BEHAVIOR) if BEHAVIOR in found else OWNED


def _handed_back(watches: Watches) -> Iterator[HpaWrite]:
    """Restore each named HPA whose Tortoise is gone, or no longer names it; only where hypot acts."""
    if watches.config.mode(Tortoise.KIND) != "act":
        return
    tortoises = watches.autoscalers.get(Tortoise.KIND)
    hpas = watches.autoscalers.get(HPA.KIND)
    if tortoises is None or hpas is None or not tortoises.synced or tortoises.missing:
        return
    for (namespace, name), row in hpas.items():
        annotations = inner(row.data, "metadata", "annotations")
        editor, found = annotations.get(EDITED_BY), _found(row, annotations.get(AS_FOUND))
        if not isinstance(editor, str) or found is None or not row.version or not watches.is_opted_in(namespace):
            continue
        still = tortoises.get((namespace, editor))
        if still is not None and isinstance(still.autoscaler, Tortoise) and still.autoscaler.hpa_name == name:
            continue
        gone = {"resourceVersion": row.version, "annotations": {EDITED_BY: None, AS_FOUND: None}}
        request = Request(
            "PATCH",
            _path(namespace, name),
            {"fieldManager": MANAGER},
            encoded({"metadata": gone, "spec": found}),
            MERGE_PATCH,
            timeout=WRITE_WITHIN,
        )
        yield HpaWrite(request)


def _found(row: AutoscalerRow, written: Any) -> Mapping[str, Any] | None:
    """What an HPA gets back, from its annotation; None if it cannot be read, or with it the HPA would not be valid.

    Metrics that hypot does not decide on, and a behavior that it did not, are people's: they stay as they are now.
    """
    read = _read(written) if isinstance(written, str) else None
    if read is None:
        return None
    spec = inner(row.data, "spec")
    owned = {field: read.get(field) for field in (*OWNED, *([BEHAVIOR] if BEHAVIOR in read else []))}
    owned["metrics"] = _metrics_back(row.data, spec.get("metrics"), owned["metrics"])
    return None if HPA.from_dict({**row.data, "spec": {**spec, **owned}}).problems() else owned


def _read(written: str) -> dict[str, Any] | None:
    if len(written) > _LONGEST_RECORD:
        return None
    try:
        read = json.loads(written)
    except (ValueError, RecursionError):
        return None
    return read if isinstance(read, dict) else None


def _metrics_back(data: Mapping[str, Any], now: Any, found: Any) -> list[Any] | None:
    """The metrics of now, with the targets that were found; added ones go, and removed ones return."""
    before = [(metric, _target(data, metric)) for metric in found] if isinstance(found, list) else []
    left = [(metric, target) for metric, target in before if target is not None]
    made: list[Any] = []
    for metric in now if isinstance(now, list) else []:
        target = _target(data, metric)
        if target is None:
            made.append(metric)
            continue
        same = next((each for each in left if each[1] == target), None)
        if same is not None:
            left.remove(same)
            made.append(same[0])
    return [*made, *[metric for metric, _ in left]] or None


def _target(data: Mapping[str, Any], metric: Any) -> tuple[Place, bool] | None:
    """The container and resource that a metric is the utilization of, and whether by an External metric."""
    metrics = [metric] if isinstance(metric, dict) else []
    hpa = HPA.from_dict({"metadata": data.get("metadata"), "spec": {"metrics": metrics}}).readable()
    targets = [target_of(each, hpa) for each in hpa.metrics or ()]
    return (targets[0].place, targets[0].external) if targets and targets[0] is not None else None
