"""The size in an Hvpa's status: new pods start with it, so it is never a size that was only decided."""

from collections.abc import Iterable

from hypot.policy.hvpa.report import LISTED, SCALING, SIZES, listed_sizes
from hypot.policy.model.size import Size, resources_of
from hypot.policy.observe.read_pods import inner, mappings
from hypot.policy.stages.report import Effect
from hypot.run.outcome import Judged


def is_recorded(judged: Judged, sizes: Iterable[Size]) -> bool:
    """Whether the watched status of the object already has these sizes."""
    there = mappings(inner(judged.autoscaler.status, SCALING, SIZES).get(LISTED))
    known = {each.get("containerName"): each.get("resources") for each in there}
    return all(known.get(name) == resources for name, resources in resources_of(sizes).items())


def recorded(effect: Effect, sizes: Iterable[Size]) -> Effect:
    """The effect with these sizes in the status."""
    return effect._replace(sizes_differ=True, recorded=listed_sizes(sizes))


def unrecorded(judged: Judged) -> Effect:
    """The effect with the old size in the status, while a new size is decided but not recorded."""
    if not judged.move.resizes:
        return Effect()
    return Effect(sizes_differ=True, recorded=inner(judged.autoscaler.status, SCALING).get(SIZES))
