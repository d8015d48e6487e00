"""The HPA that a Tortoise keeps: as it is, and as it should be."""

from collections.abc import Iterator
from typing import Any, NamedTuple

from hypot.kinds.hpa import HPA
from hypot.kinds.node import replaced
from hypot.policy.model.size import Edge


class FieldChange(NamedTuple):
    """A field of the spec that changes; an absent value is None."""

    field: str
    before: Any
    after: Any


class HpaEdit(NamedTuple):
    """An HPA to write, or to delete. `before` is None if it does not exist."""

    name: str
    before: HPA | None
    after: HPA
    deletes: bool = False

    @property
    def writes(self) -> bool:
        return self.deletes or (self.before != self.after and any(True for _ in self.changes()))

    @property
    def words(self) -> str:
        """What the HPA gets, in a few words."""
        if self.deletes:
            return f"HorizontalPodAutoscaler {self.name} is deleted"
        before, after = self.before, self.after
        if before is not None and before != after:
            bounds = (before.min_replicas, before.max_replicas)
            if bounds == (after.min_replicas, after.max_replicas):
                changed = {change.field.split()[0] for change in self.changes()}
                return "the behavior of the HPA changes" if changed == {"behavior"} else "the metrics of the HPA change"
        return f"the HPA gets {after.min_replicas} to {after.max_replicas} replicas"

    def changes(self) -> Iterator[FieldChange]:
        """The fields that change, each metric on its own."""
        had, gets = _fields(self.before), _fields(self.after)
        for name in dict.fromkeys((*had, *gets)):
            if had.get(name) != gets.get(name):
                yield FieldChange(name, had.get(name), gets.get(name))

    def bounded(self, low: int, high: int) -> "HpaEdit":
        return self._replace(after=replaced(self.after, min_replicas=low, max_replicas=high))

    def limited(self, edge: Edge) -> "HpaEdit":
        """With the larger, or the smaller, of each bound before and after, and the targets as they are."""
        before, after = self.before, self.after
        if before is None:
            return self
        low = int(edge(before.min_replicas or 1, after.min_replicas or 1))
        high = int(edge(before.max_replicas or 1, after.max_replicas or 1))
        return self._replace(after=before).bounded(min(low, high), high)

    def to_dict(self) -> dict[str, Any]:
        return {
            "name": self.name,
            "exists": self.before is not None,
            "deletes": self.deletes,
            "changes": [change._asdict() for change in self.changes()],
            "spec": self.after.to_dict()["spec"],
        }


def _fields(hpa: HPA | None) -> dict[str, Any]:
    spec = {} if hpa is None else hpa.to_dict().get("spec", {})
    found = {name: spec[name] for name in ("minReplicas", "maxReplicas") if name in spec}
    for metric in spec.get("metrics") or ():
        found[_named(metric, found)] = metric
    if "behavior" in spec:
        found["behavior"] = spec["behavior"]
    return found


def _named(metric: dict[str, Any], taken: dict[str, Any]) -> str:
    kind = str(metric.get("type"))
    source = metric.get(f"{kind[:1].lower()}{kind[1:]}") or {}
    named = source.get("name") or (source.get("metric") or {}).get("name") or ""
    words = f"{kind} {named}" + (f" of {source['container']}" if source.get("container") else "")
    name, number = f"metric {words}", 2
    while name in taken:
        name, number = f"metric {words} ({number})", number + 1
    return name
