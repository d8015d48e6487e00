"""Which autoscaler sizes a pod that is about to be created."""

from collections.abc import Mapping
from typing import Any

from hypot.cluster.clock import Clock
from hypot.kinds.catalogue import Autoscaler, info_of, names_of, sets_sizes, sizing
from hypot.kinds.values.names import group_of
from hypot.kinds.values.nested import inner, mappings
from hypot.policy.families import family_of
from hypot.policy.model.seen import Failure, LimitRange
from hypot.policy.observe.read_pods import labels_of
from hypot.policy.observe.surroundings import age_of
from hypot.policy.observe.targets import ScaleTarget, target_key
from hypot.run.observe.conflicts import precedence
from hypot.run.observe.watches import Watches
from hypot.run.outcome import Key

# How long an index is used, in seconds: objects change rarely, and pods come in bursts.
FRESH = 1.0
HASH = "pod-template-hash"


class Finder:
    """Finds autoscalers in the watched objects only, so that it answers at once."""

    def __init__(self, watches: Watches, clock: Clock) -> None:
        self._watches, self._clock = watches, clock
        self._index: dict[ScaleTarget, Key] = {}
        self._until = float("-inf")

    def find(self, pod: Mapping[str, Any], namespace: str) -> Autoscaler | None:
        """The autoscaler of the pod's workload; None if there is none, or if it may only be observed."""
        if not self._watches.is_opted_in(namespace):
            return None
        index = self._fresh()
        owner = next((o for o in mappings(inner(pod, "metadata").get("ownerReferences")) if o.get("controller")), {})
        target = _owner(namespace, owner)
        if target not in index:
            target = self._above(pod, namespace, owner)
        # Use the current object: its target and its status may be newer than the index.
        row = self._watches.row(index[target]) if target in index else None
        return None if row is None or target_key(row.autoscaler) != target else row.autoscaler

    def _above(self, pod: Mapping[str, Any], namespace: str, controller: Mapping[str, Any]) -> ScaleTarget:
        """The owner of the pod's controller. The name of a ReplicaSet that is not watched yet gives the Deployment."""
        _, group, kind, name = _owner(namespace, controller)
        known = self._watches.workload(group, kind, (namespace, name)) or {}
        for owner in mappings(inner(known, "metadata").get("ownerReferences")):
            if owner.get("controller"):
                return _owner(namespace, owner)
        suffix = f"-{labels_of(pod).get(HASH, '')}"
        if (group, kind) == ("apps", "ReplicaSet") and len(suffix) > 1 and name.endswith(suffix):
            return ScaleTarget(namespace, group, "Deployment", name.removesuffix(suffix))
        return ScaleTarget(namespace, "", "", "")

    def limit_ranges_of(self, namespace: str) -> tuple[LimitRange, ...] | Failure:
        ranges = self._watches.limit_ranges
        if ranges is None or not ranges.synced:
            return Failure("LimitRanges are not listed yet")
        return tuple([item for (space, _), items in ranges.items() if space == namespace for item in items])

    def _fresh(self) -> Mapping[ScaleTarget, Key]:
        now = self._clock()
        if now >= self._until:
            self._index, self._until = self._made(), now + FRESH
        return self._index

    def _made(self) -> dict[ScaleTarget, Key]:
        """The sizer of each target: an Hvpa before a VPA, which only advises it; of several of a kind, the first."""
        found: dict[ScaleTarget, Key] = {}
        for kind in names_of(sizing()):
            watched = self._watches.autoscalers.get(kind)
            if watched is None or self._watches.config.mode(kind) != "act":
                continue
            claims: dict[ScaleTarget, list[Autoscaler]] = {}
            for row in watched.values():
                autoscaler = row.autoscaler
                if sets_sizes(autoscaler) and not family_of(autoscaler).is_off(autoscaler):
                    claims.setdefault(target_key(autoscaler), []).append(autoscaler)
            found.update((target, _first(several)) for target, several in claims.items())
        return found


def _owner(namespace: str, owner: Mapping[str, Any]) -> ScaleTarget:
    kind, name = str(owner.get("kind") or ""), str(owner.get("name") or "")
    return ScaleTarget(namespace, group_of(owner.get("apiVersion")), kind, name)


def _first(several: list[Autoscaler]) -> Key:
    """The autoscaler that takes precedence; the rule is slow, so it is only applied if there are several."""
    first = several[0]
    if len(several) > 1:
        first = min(several, key=precedence if info_of(first).counts else age_of)
    return first.KIND, first.namespace, first.name
