"""What a conversion gives, and the workload that it may look at."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Literal, NamedTuple, Self

from hypot.core.quantity import QuantityError, milli
from hypot.kinds.base import Kind, Ref, refer
from hypot.kinds.names import group_of
from hypot.kinds.nested import inner, mappings

# `lost` has no equivalent, `assumed` is a choice that was made, `check` is what a person must look at.
Word = Literal["lost", "assumed", "check"]


class Note(NamedTuple):
    """One difference."""

    word: Word
    text: str

    def __str__(self) -> str:
        return f"{self.word}: {self.text}"


class Converted(NamedTuple):
    """The new objects, in the order in which they are applied, and all differences."""

    objects: tuple[Kind, ...]
    notes: tuple[Note, ...]


class CannotConvertError(Exception):
    """There is no equivalent, or not without more input; the message says why, and what to do."""


class Workload(NamedTuple):
    """What the manifest of a target says about its pods: requests in milli-units by container and resource."""

    replicas: int | None = None
    requests: Mapping[str, Mapping[str, int]] = {}

    @classmethod
    def read(cls, manifest: Mapping[str, Any]) -> Self:
        """Sidecars are containers, too; other init containers end before pods are ready."""
        spec, pod = inner(manifest, "spec"), inner(manifest, "spec", "template", "spec")
        replicas = spec.get("replicas", 1)
        sidecars = [one for one in mappings(pod.get("initContainers")) if one.get("restartPolicy") == "Always"]
        containers = [*mappings(pod.get("containers")), *sidecars]
        requests = {str(one.get("name")): dict(_amounts(inner(one, "resources"))) for one in containers}
        return cls(replicas if type(replicas) is int else None, requests)

    def total(self, resource: str) -> int | None:
        """What a pod requests of the resource; None unless every container requests it."""
        amounts = [each.get(resource) for each in self.requests.values()]
        known = [amount for amount in amounts if amount is not None]
        return sum(known) if known and len(known) == len(amounts) else None


UNKNOWN = Workload()


def _amounts(resources: Mapping[str, Any]) -> Iterator[tuple[str, int]]:
    """A request that is absent has the value of its limit, as in a cluster."""
    for resource in ("cpu", "memory"):
        written = inner(resources, "requests").get(resource, inner(resources, "limits").get(resource))
        try:
            if written is not None:
                yield resource, milli(written)
        except (QuantityError, TypeError):
            continue


def workload_of(target: Ref | None, namespace: str, manifests: Iterable[Mapping[str, Any]]) -> Workload:
    """The target among these manifests; unknown if it is not there."""
    for manifest in manifests:
        one = refer(manifest)
        there = inner(manifest, "metadata").get("namespace") or "default"
        if (
            target is not None
            and there == namespace
            and (one.kind, one.name) == (target.kind, target.name)
            and (group_of(one.api_version) == target.group)
        ):
            return Workload.read(manifest)
    return UNKNOWN


def metadata_like(one: Kind) -> dict[str, Any]:
    """The name, the namespace and the labels, for the constructor of another kind."""
    metadata = one.metadata if isinstance(one.metadata, dict) else {}
    return {key: metadata.get(key) for key in ("name", "namespace", "labels")}


def notes_of_metadata(one: Kind) -> Iterator[Note]:
    if one.annotations:
        yield Note("lost", f"the annotations {', '.join(one.annotations)}: most mean something to one kind only")
