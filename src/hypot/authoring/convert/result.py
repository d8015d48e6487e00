"""What a conversion gives, and the workload that it may look at."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Literal, NamedTuple, Self

from hypot.core.amount import RESOURCES
from hypot.kinds.base import Kind, Ref, refer
from hypot.kinds.floor import SCHEDULE
from hypot.kinds.pod_template import Defaults, read_template, template_in
from hypot.kinds.selector import SelectorError, read_selector
from hypot.kinds.values.names import group_of
from hypot.kinds.values.nested import amount, inner, mappings
from hypot.kinds.values.version import NEWEST
from hypot.policy.hold import PAUSED, PINNED

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


class TargetWorkload(NamedTuple):
    """What the manifest of a target says about its pods: requests in milli-units by container and resource."""

    replicas: int | None = None
    requests: Mapping[str, Mapping[str, int]] = {}
    # What selects its pods and no others.
    selector: Mapping[str, Any] | None = None
    # The requests of the whole pod, where it has any of its own.
    of_pod: Mapping[str, int] = {}
    # Containers that start before the others and keep running: no vertical autoscaler sizes them.
    sidecars: frozenset[str] = frozenset()

    @classmethod
    def read(cls, manifest: Mapping[str, Any]) -> Self:
        """Sidecars are containers, too; other init containers end before pods are ready."""
        spec = inner(manifest, "spec")
        replicas, template = spec.get("replicas", 1), read_template(template_in(spec), Defaults(), NEWEST)
        count = replicas if type(replicas) is int else None
        if template is None:
            return cls(count, selector=_selector(inner(spec, "selector"), None))
        requests = {one.name: _known(amount(one.requests.get(each)) for each in RESOURCES) for one in template.running}
        of_pod = _known(map(template.request, RESOURCES)) if template.pod is not None else {}
        initial = [one.get("name") for one in mappings(inner(template_in(spec), "spec").get("initContainers"))]
        sidecars = frozenset([name for name in requests if name in initial])
        return cls(count, requests, _selector(inner(spec, "selector"), template.labels), of_pod, sidecars)

    @property
    def sized(self) -> dict[str, Mapping[str, int]]:
        """The requests of the containers that a vertical autoscaler may size."""
        return {name: asked for name, asked in self.requests.items() if name not in self.sidecars}

    def total(self, resource: str) -> int | None:
        """What a pod requests of the resource; None unless every container requests it, or the pod itself."""
        if resource in self.of_pod:
            return self.of_pod[resource]
        amounts = [each.get(resource) for each in self.requests.values()]
        known = [each for each in amounts if each is not None]
        return sum(known) if known and len(known) == len(amounts) else None


UNKNOWN = TargetWorkload()


def _known(amounts: Iterable[int | None]) -> dict[str, int]:
    """By resource, in their order."""
    return {resource: found for resource, found in zip(RESOURCES, amounts, strict=True) if found is not None}


def _selector(written: Mapping[str, Any], labels: Mapping[str, str] | None) -> Mapping[str, Any] | None:
    """The selector of a workload, else the labels of its pods."""
    own = {key: written[key] for key in ("matchLabels", "matchExpressions") if written.get(key)}
    for one in (own, {"matchLabels": dict(labels or {})}):
        try:
            selector = read_selector(one)
        except SelectorError:
            continue
        if selector.requirements and (labels is None or selector.matches(labels)):
            return one
    return None


def workload_of(target: Ref | None, namespace: str, manifests: Iterable[Mapping[str, Any]]) -> TargetWorkload:
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
            return TargetWorkload.read(manifest)
    return UNKNOWN


# What these annotations say holds for objects of every kind.
_OF_EVERY_KIND = (PAUSED, PINNED, SCHEDULE)


def metadata_like(one: Kind) -> dict[str, Any]:
    """The name, the namespace, the labels and what holds for every kind, for the constructor of another kind."""
    metadata = one.metadata if isinstance(one.metadata, dict) else {}
    kept = {key: one.annotations[key] for key in _OF_EVERY_KIND if key in one.annotations}
    return {**{key: metadata.get(key) for key in ("name", "namespace", "labels")}, "annotations": kept or None}


def notes_of_metadata(one: Kind, made: Iterable[Kind]) -> Iterator[Note]:
    known = [key for key in _OF_EVERY_KIND if key in one.annotations]
    if known and any(each.BUILT_IN for each in made):
        text = "where kube-controller-manager decides the HPA, it acts at once, and pods may be removed"
        yield Note("check", f"only hypot knows the annotations {', '.join(known)}: {text}")
    lost = [key for key in one.annotations if key not in _OF_EVERY_KIND]
    if lost:
        yield Note("lost", f"the annotations {', '.join(lost)}: most mean something to one kind only")
