"""The size in a status: new pods start with it, so it is recorded before any pod is evicted for it.

The size of a plan is recorded, never a size that was only decided; a VPA records its recommendation.
"""

from collections.abc import Iterable, Mapping
from typing import Any

from hypot.kinds.node import replaced
from hypot.kinds.values.nested import mappings
from hypot.kinds.vpa import VPA, with_defaults
from hypot.kinds.vpa.knobs import Knobs
from hypot.policy.families import family_of
from hypot.policy.model.seen import Container
from hypot.policy.model.size import Size
from hypot.policy.stages.report import Effect
from hypot.policy.vertical.fit import amounts
from hypot.run.outcome import Judged
from hypot.run.webhook.admission import advised_bounds

# A recommendation changes a little all the time: a recorded amount this close to the decided one is as good.
CLOSE = 0.1

# Container -> resource -> amount.
Targets = Mapping[str, Mapping[str, int]]


def is_recorded(judged: Judged, sizes: Iterable[Size]) -> bool:
    """Whether the watched status of the object already has these sizes."""
    record = family_of(judged.autoscaler).record
    if record is None:
        return False
    known = _by_container(record.found(judged.autoscaler.status))
    return all(known.get(name) == entry for name, entry in _by_container(record.listed(sizes)).items())


def _by_container(listed: Any) -> dict[str, Mapping[str, Any]]:
    """The entries of a record. A record may be a list, or the only part of an object."""
    entries = next(iter(listed.values()), ()) if isinstance(listed, Mapping) else listed
    return {str(each.get("containerName")): each for each in mappings(entries)}


def recorded(judged: Judged, effect: Effect, sizes: Iterable[Size]) -> Effect:
    """The effect with these sizes in the status."""
    record = family_of(judged.autoscaler).record
    return effect if record is None else effect._replace(sizes_differ=True, recorded=record.listed(sizes))


def unrecorded(judged: Judged) -> Effect:
    """The effect with the old size in the status, while a new size is decided but not recorded."""
    record = family_of(judged.autoscaler).record
    if not judged.move.resizes or record is None:
        return Effect()
    return Effect(sizes_differ=True, recorded=record.found(judged.autoscaler.status))


def pods_without_record(judged: Judged, knobs: Knobs) -> set[str]:
    """The pods to evict for a recommendation that the watched status of their VPA does not have yet.

    The webhook of any replica reads that status. It is written at the end of this reconcile, and the next one sees it.
    """
    vpa, evicted = judged.autoscaler, {each.pod for each in judged.move.actions if each.action == "evict"}
    if not evicted or not isinstance(vpa, VPA):
        return set()
    recorded = _targets(vpa, knobs)
    decided = _targets(replaced(vpa, status=dict(judged.move.observed)), knobs)
    pods = [pod for pod in judged.seen.pods if pod.name in evicted]
    return {pod.name for pod in pods if not all(_gets(each, recorded, decided) for each in pod.containers)}


def _targets(vpa: VPA, knobs: Knobs) -> dict[str, Mapping[str, int]]:
    return {bounds.container: bounds.target for bounds in advised_bounds(with_defaults(vpa), knobs)}


def _gets(container: Container, recorded: Targets, decided: Targets) -> bool:
    """Whether the recorded target is the decided one, or nearly, or at least half of the way to it."""
    has, given = amounts(container.current_requests), recorded.get(container.name, {})
    for resource, wanted in decided.get(container.name, {}).items():
        off = abs(wanted - given.get(resource, 0))
        if off > CLOSE * wanted and 2 * off > abs(wanted - has.get(resource, 0)):
            return False
    return True
