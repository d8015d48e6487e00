"""Histograms as VerticalPodAutoscalerCheckpoints, which other recommenders use too.

The status is not a subresource, so an object is written as a whole. It is replaced, not applied: each bucket is its own
field, so buckets of another recommender would stay next to hypot's. Its owner is its autoscaler, so the cluster deletes
both together; upstream checkpoints have no owner, and upstream looks for orphans every ten minutes. An annotation names
the target: an autoscaler may get a new target, and hypot may restart before it has measured that one.
"""

from collections.abc import Container, Iterable, Mapping
from hashlib import sha256
from math import inf
from typing import Any, NamedTuple

from hypot.cluster.port import Request, encoded
from hypot.cluster.time_slice import TimeSlice
from hypot.core.instant import read_time
from hypot.kinds.catalogue import CATALOGUE, measuring, names_of
from hypot.kinds.values.nested import inner, mappings
from hypot.kinds.vpa.checkpoint import CheckpointSpec
from hypot.policy.observe.read_pods import name_of
from hypot.run.outcome import Key
from hypot.run.requests import MANAGER, WRITE_WITHIN
from hypot.run.store import usage_json, usage_text
from hypot.run.store.usage_history import Subject, UsageHistory, entry_key

PLURAL = "verticalpodautoscalercheckpoints"
# The annotation that names the object and the target of a checkpoint.
OF = "hypot.dev/of"
PER_RECONCILE = 10
PERIOD = 300.0
# A checkpoint that is newer than the state by more than this is used instead of the state, which is more exact and has
# unfinished peaks. The state of an autoscaler is at most 64 minutes old (`shards.Turns`).
OUTDATED = 7200.0
LONGEST_NAME = 253
_KEPT = ("name", "labels", "annotations", "finalizers", "ownerReferences")

Object = Mapping[str, Any]


class StoredCheckpoint(NamedTuple):
    """An existing checkpoint: its version, and the metadata that must stay."""

    version: str
    metadata: Mapping[str, Any]


def known(data: Object) -> StoredCheckpoint:
    metadata = inner(data, "metadata")
    return StoredCheckpoint(
        str(metadata.get("resourceVersion") or ""), {key: metadata[key] for key in _KEPT if key in metadata}
    )


def checkpoint_name(owner: str, container: str) -> str:
    """The upstream name; if it is too long, it is cut and a checksum makes it unique."""
    name = f"{owner}-{container}"
    if len(name) <= LONGEST_NAME:
        return name
    return f"{name[: LONGEST_NAME - 9].rstrip('-.')}-{sha256(name.encode()).hexdigest()[:8]}"


def due(
    sampled: Mapping[Subject, float], written: Mapping[Subject, float], now: float, most: int = PER_RECONCILE
) -> list[Subject]:
    """The checkpoints to write now: those with new samples, least recently written first, each at most once per PERIOD.

    Of two checkpoints with the same name only the first is written; the state has both.
    """
    first = {_place(subject): subject for subject in sorted(sampled, key=_rank, reverse=True)}
    ages = {subject: _before(written.get(subject, 0.0), now) for subject in first.values()}
    found = [subject for subject, at in ages.items() if at < sampled[subject] and now - at >= PERIOD]
    return sorted(found, key=lambda subject: (ages[subject], _rank(subject)))[:most]


def _before(written: float, now: float) -> float:
    """The time of the last write; a time in the future (the clock was set back) counts as never."""
    return written if written <= now else 0.0


def _place(subject: Subject) -> tuple[str, str]:
    (_, namespace, name), container = subject
    return namespace, checkpoint_name(name, container)


def _rank(subject: Subject) -> tuple[bool, Subject]:
    """The sort key for two subjects with one checkpoint name: a VerticalPodAutoscaler comes first."""
    return CATALOGUE[subject[0][0]].counts, subject


def checkpoint_request(
    subject: Subject, uid: str, identity: str, status: Mapping[str, Any], there: StoredCheckpoint | None
) -> Request:
    """Create a checkpoint, or replace the existing one; `uid` and `identity` are those of the autoscaler."""
    (kind, namespace, owner), container = subject
    path = f"/apis/{CheckpointSpec.API_VERSION}/namespaces/{namespace}/{PLURAL}"
    metadata: dict[str, Any] = {"name": checkpoint_name(owner, container), "namespace": namespace}
    if there is not None:
        metadata |= {**there.metadata, "resourceVersion": there.version}
    if identity:
        metadata["annotations"] = {**inner(metadata, "annotations"), OF: identity}
    if uid and not metadata.get("ownerReferences"):
        metadata["ownerReferences"] = [_reference(kind, owner, uid)]
    body = {
        "apiVersion": CheckpointSpec.API_VERSION,
        "kind": CheckpointSpec.KIND,
        "metadata": metadata,
        "spec": {"vpaObjectName": owner, "containerName": container},
        "status": status,
    }
    query = {"fieldManager": MANAGER}
    if there is None:
        return Request("POST", path, query, encoded(body), timeout=WRITE_WITHIN)
    return Request("PUT", f"{path}/{metadata['name']}", query, encoded(body), timeout=WRITE_WITHIN)


def _reference(kind: str, name: str, uid: str) -> dict[str, Any]:
    version = CATALOGUE[kind].api_version
    return {"apiVersion": version, "kind": kind, "name": name, "uid": uid}


def belongs_to(data: Object, identity: str) -> bool:
    """Whether a checkpoint is for this object and target; true without the annotation, as from other recommenders."""
    written = inner(data, "metadata", "annotations").get(OF)
    return not written or not identity or written == identity


def subject_of(data: Object, owners: Container[Key]) -> Subject | None:
    """The subject of a checkpoint: the autoscaler that owns it, else the VPA or the Hvpa of that name, else None."""
    spec = inner(data, "spec")
    name, container = str(spec.get("vpaObjectName") or ""), str(spec.get("containerName") or "")
    namespace = str(inner(data, "metadata").get("namespace") or "")
    owned = [str(each.get("kind")) for each in mappings(inner(data, "metadata").get("ownerReferences"))]
    known = names_of(measuring())
    kinds = [kind for kind in known if kind in owned] or known
    found = next((key for kind in kinds if (key := (kind, namespace, name)) in owners), None)
    return None if found is None or not container else (found, container)


async def restore(
    history: UsageHistory,
    entries: Mapping[str, Mapping[str, Any] | bytes],
    checkpoints: Iterable[Object],
    now: float,
) -> list[str]:
    """Restore declared autoscalers from the state or from checkpoints; return notes on what cannot be used."""
    notes: list[str] = []
    kept = _by_subject(history.owners(), checkpoints)
    time_slice = TimeSlice()
    for key in history.owners():
        if time_slice.is_due():
            await time_slice.take()
        its = kept.get(key, {})
        entry = entries.get(entry_key(key))
        newest = max((_updated(data) for data in its.values()), default=-inf)
        if entry is not None and (newest == -inf or newest <= _written_at(entry) + OUTDATED):
            notes += await history.resume(key, entry, now)
            its = {container: data for container, data in its.items() if not history.knows((key, container))}
        notes += _loaded(history, key, its, now)
    return notes


def _written_at(entry: Mapping[str, Any] | bytes) -> float:
    return usage_text.written_at(entry) if isinstance(entry, bytes) else usage_json.written_at(entry)


def _by_subject(owners: Iterable[Key], checkpoints: Iterable[Object]) -> dict[Key, dict[str, Object]]:
    found: dict[Key, dict[str, Object]] = {}
    there = frozenset(owners)
    for data in checkpoints:
        subject = subject_of(data, there)
        if subject is not None:
            found.setdefault(subject[0], {})[subject[1]] = data
    return found


def _loaded(history: UsageHistory, key: Key, checkpoints: Mapping[str, Object], now: float) -> list[str]:
    notes = []
    for container, data in sorted(checkpoints.items()):
        try:
            history.load((key, container), inner(data, "status"), now)
        except ValueError as error:
            notes.append(f"checkpoint {key[1]}/{name_of(data)} cannot be used: {error}")
    return notes


def _updated(data: Object) -> float:
    return read_time(inner(data, "status").get("lastUpdateTime")) or 0.0
