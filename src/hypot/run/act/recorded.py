"""The size in an Hvpa's status: new pods come up with it, so it is never one that was not recorded."""

from collections.abc import Iterable

from hypot.policy.hvpa.report import LISTED, SCALING, SIZES, listed_sizes
from hypot.policy.model.size import Size, resources_of
from hypot.policy.observe.read_pods import inner, mappings
from hypot.policy.stages.report import Effect
from hypot.run.outcome import Judged


def is_recorded(judged: Judged, sizes: Iterable[Size]) -> bool:
    """Whether the object's status, as it is watched, says already how pods come up."""
    there = mappings(inner(judged.autoscaler.status, SCALING, SIZES).get(LISTED))
    known = {each.get("containerName"): each.get("resources") for each in there}
    return all(known.get(name) == resources for name, resources in resources_of(sizes).items())


def recorded(effect: Effect, sizes: Iterable[Size]) -> Effect:
    """With these sizes in the status."""
    return effect._replace(sizes_differ=True, recorded=listed_sizes(sizes))


def unrecorded(judged: Judged) -> Effect:
    """With the old size in the status, as long as a new one is only decided on."""
    if not judged.move.resizes:
        return Effect()
    return Effect(sizes_differ=True, recorded=inner(judged.autoscaler.status, SCALING).get(SIZES))
