"""What other kinds keep of a VPA: where its target is, and what none of them has."""

from collections.abc import Iterator

from hypot.authoring.convert.result import Note
from hypot.kinds.base import Ref, known_version
from hypot.kinds.known_kinds import WORKLOAD_GROUPS
from hypot.kinds.node import replaced
from hypot.kinds.vpa import VPA

_OF_OBJECT = {
    "recommenders": "the recommender: hypot's own is used",
    "startup_boost": "the startup boost",
}
_OF_UPDATES = {
    "min_replicas": "minReplicas",
    "eviction_requirements": "evictionRequirements",
    "evict_after_oom": "evictAfterOOMSeconds",
}


def target_of_vpa(vpa: VPA) -> Ref:
    """Its target with the version of its kind: a VPA finds a built-in kind in any group, and other kinds do not."""
    ref = vpa.target or Ref()
    group = WORKLOAD_GROUPS.get(ref.kind or "")
    return ref if group in {None, ref.group} else replaced(ref, api_version=known_version(ref.kind))


def lost_of_vpa(vpa: VPA) -> list[Note]:
    return list(_lost(vpa))


def _lost(vpa: VPA) -> Iterator[Note]:
    for name, text in _OF_OBJECT.items():
        if getattr(vpa, name):
            yield Note("lost", text)
    written = [text for name, text in _OF_UPDATES.items() if getattr(vpa.update_policy, name, None)]
    if written:
        yield Note("lost", f"conditions of the update policy: {', '.join(written)}")
