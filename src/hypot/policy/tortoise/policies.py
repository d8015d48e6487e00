"""Which axis scales each resource of a container, as it is in force."""

from collections.abc import Iterable, Mapping

from hypot.core.amount import CPU, RESOURCES
from hypot.kinds.hpa import HPA
from hypot.kinds.tortoise.fields import TortoiseSpec, policies_of
from hypot.kinds.tortoise.policies import HORIZONTAL, OFF, VERTICAL
from hypot.policy.model.current_size import CurrentSize
from hypot.policy.model.size import Place
from hypot.policy.tortoise.edited_hpa import targets_in

PolicyTable = Mapping[str, Mapping[str, str]]


def in_force(tortoise: TortoiseSpec, sizes: Iterable[CurrentSize], hpa: HPA | None) -> dict[str, dict[str, str]]:
    """The written policies, else automatic ones: replicas follow cpu, and sizes follow memory.

    If an HPA is named, what it measures by container is scaled by replicas, and the rest by size, except for
    what it measures by pod. A resource without a request is left alone.
    """
    containers = {one.container: one for one in sizes}
    written = policies_of(tortoise, containers)
    found = _automatic(tortoise, containers, hpa) if written is None else written
    return {
        name: {resource: word if containers[name].requests.get(resource) else OFF for resource, word in words.items()}
        for name, words in sorted(found.items())
    }


def _automatic(tortoise: TortoiseSpec, containers: Iterable[str], hpa: HPA | None) -> dict[str, dict[str, str]]:
    if not tortoise.names_hpa:
        return {name: {r: HORIZONTAL if r == CPU else VERTICAL for r in RESOURCES} for name in containers}
    measured = set() if hpa is None else set(targets_in(hpa))
    by_pod = set() if hpa is None else measured_by_pod(hpa)

    def word(place: Place) -> str:
        return HORIZONTAL if place in measured else OFF if place[1] in by_pod else VERTICAL

    return {name: {r: word((name, r)) for r in RESOURCES} for name in containers}


def measured_by_pod(hpa: HPA) -> set[str]:
    """The resources that replicas follow by the requests of whole pods: the sizes of containers must not."""
    return {metric.resource.name or "" for metric in hpa.metrics or () if metric.resource is not None}


def scaled_in(policies: PolicyTable) -> tuple[Place, ...]:
    """The containers and resources that are not Off."""
    return tuple([(name, r) for name, words in policies.items() for r, word in words.items() if word != OFF])


def places_of(policies: PolicyTable, word: str) -> tuple[Place, ...]:
    """The containers and resources with this policy."""
    return tuple([(name, r) for name, words in policies.items() for r in RESOURCES if words.get(r) == word])
