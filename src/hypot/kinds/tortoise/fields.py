"""The fields of a Tortoise: its target, the HPA that it edits, and how each resource of a container is scaled."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, ClassVar, Literal, Self

from hypot.core.amount import RESOURCES
from hypot.kinds import identity
from hypot.kinds.base import TRUE_WORDS, Kind, Ref
from hypot.kinds.derived import derived
from hypot.kinds.hpa.fields import Behavior
from hypot.kinds.node import INT32, STRING, Node, node, replaced, wire
from hypot.kinds.problem import Problem, Where
from hypot.kinds.tortoise.policies import OFF, ContainerAutoscalingPolicy, Policies, written_policies
from hypot.kinds.tortoise.status import Conditions, TortoiseStatus
from hypot.kinds.tortoise.versions import old_places, upgraded
from hypot.kinds.values.names import SUBDOMAIN
from hypot.kinds.vpa.fields import (
    ANY_CONTAINER,
    NOT_SIZED,
    RESOURCE_LIST,
    ContainerPolicy,
    ResourceList,
    ResourcePolicy,
)

AUTO, EMERGENCY = "Auto", "Emergency"
# Off is a mode, and a policy of a resource.
TortoiseMode = Literal["Off", "Auto", "Emergency"]
UPDATE_MODES = (OFF, AUTO, EMERGENCY)
DELETE_ALL, NO_DELETE = "DeleteAll", "NoDelete"
DELETION_POLICIES = (DELETE_ALL, NO_DELETE)

# The fields with the least and the most of a container's requests.
LEAST, MOST = "minAllocatedResources", "maxAllocatedResources"
OWN_HPA = "tortoise-hpa-"
# The workloads whose apiVersion may be absent, and that version.
OF_APPS = ("Deployment", "StatefulSet", "ReplicaSet")
APPS = "apps/v1"
# Whether hypot decides the HPA too, so that no other controller is needed.
DECIDE = "hypot.dev/decide"


@node
class TargetRefs(Node):
    GO: ClassVar[str] = "v1beta3.TargetRefs"

    target: Ref | None = wire("scaleTargetRef", Ref, "the workload to scale")
    hpa: str | None = wire(
        "horizontalPodAutoscalerName",
        STRING,
        f"an existing HPA to edit; if absent, {OWN_HPA} and the name of the Tortoise is made",
        schema={"minLength": 1, "maxLength": 253, "pattern": f"^{SUBDOMAIN}$"},
    )


@node
class ContainerResourcePolicy(Node):
    GO: ClassVar[str] = "v1beta3.ContainerResourcePolicy"

    container_name: str | None = wire("containerName", STRING, "the container", schema={"minLength": 1})
    min_allocated: ResourceList | None = wire(
        LEAST, RESOURCE_LIST, "requests are never less; the administrator's minimum if absent"
    )
    max_allocated: ResourceList | None = wire(
        MOST, RESOURCE_LIST, "requests are never more; the administrator's maximum holds too"
    )


@node
class TortoiseSpec(Kind):
    """The fields of a Tortoise, as read; `Tortoise` adds writing and checking."""

    API_VERSION: ClassVar[str] = identity.TORTOISE.api_version
    KIND: ClassVar[str] = identity.TORTOISE.kind
    FORMER_VERSIONS: ClassVar[tuple[str, ...]] = identity.TORTOISE.former_versions
    STATUS: ClassVar[type[Node] | None] = TortoiseStatus
    GO: ClassVar[str] = "v1beta3.TortoiseSpec"

    target_refs: TargetRefs | None = wire("targetRefs", TargetRefs, "the workload, and an HPA if there is one", path="")
    update_mode: str | None = wire(
        "updateMode",
        STRING,
        "Off computes and reports only, Auto acts, Emergency raises the minimum to the maximum; Off if absent",
        schema={"enum": list(UPDATE_MODES)},
        path="mode",
    )
    resource_policy: tuple[ContainerResourcePolicy, ...] | None = wire(
        "resourcePolicy",
        ContainerResourcePolicy,
        "the bounds of each container's requests",
        many=True,
        path="containers",
    )
    deletion_policy: str | None = wire(
        "deletionPolicy",
        STRING,
        "whether an HPA that was made for it is deleted with it; NoDelete if absent",
        schema={"enum": list(DELETION_POLICIES)},
    )
    autoscaling_policy: tuple[ContainerAutoscalingPolicy, ...] | None = wire(
        "autoscalingPolicy",
        ContainerAutoscalingPolicy,
        "how each container is scaled; chosen automatically if absent, else Off for what is not written",
        many=True,
        path="containers",
    )
    max_replicas: int | None = wire(
        "maxReplicas",
        INT32,
        "the HPA never gets a higher maximum; the administrator's holds too",
        schema={"minimum": 1},
    )
    behavior: Behavior | None = wire(
        "horizontalPodAutoscalerBehavior", Behavior, "the behavior of the HPA; the administrator's if absent", path=""
    )

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Self:
        """Read any manifest; what stands where an old version had it is read in every version, with a warning."""
        made = super(TortoiseSpec, cls).from_dict(data)  # noqa: UP008  slots make a new class, which super() misses
        if not made.read_from:
            object.__setattr__(made, "misread", tuple(old_places(data)))
        return made

    @classmethod
    def in_current_version(cls, data: Mapping[str, Any]) -> Mapping[str, Any]:
        """Read manifests of any version that the API ever had."""
        return upgraded(data)

    @classmethod
    def misread_in(cls, data: Mapping[str, Any]) -> tuple[Problem, ...]:
        """What the conversion from a former version leaves out."""
        return tuple(old_places(data))

    def unreadable_status(self) -> Iterator[Problem]:
        """A status must be readable, except for fields of other versions."""
        if self.read_from:
            return iter(())
        return (problem for problem in Kind.unreadable_status(self) if problem.rule != "unknown-field")

    @property
    def _refs(self) -> TargetRefs:
        return self.target_refs if isinstance(self.target_refs, TargetRefs) else _NO_REFS

    @property
    def target(self) -> Ref | None:
        """The workload. A kind of apps/v1 needs no apiVersion: the original ignores it."""
        found: Any = self._refs.target
        if not isinstance(found, Ref):
            return None
        return replaced(found, api_version=APPS) if not found.api_version and found.kind in OF_APPS else found

    @property
    def names_hpa(self) -> bool:
        """Whether it edits an HPA that exists without it."""
        return isinstance(self._refs.hpa, str) and self._refs.hpa != ""

    @property
    def hpa_name(self) -> str:
        """The HPA that it edits: the one that it names, or its own."""
        written = self._refs.hpa
        return written if isinstance(written, str) and written else f"{OWN_HPA}{self.name}"

    @property
    def mode(self) -> str:
        """The effective update mode; Off if absent."""
        written = self.update_mode
        return written if isinstance(written, str) and written else OFF

    @property
    def deletes_all(self) -> bool:
        """Whether an HPA that was made for it is deleted with it."""
        return self.deletion_policy == DELETE_ALL

    @property
    def decides(self) -> bool:
        """Whether hypot decides the HPA itself."""
        return self.annotations.get(DECIDE) in TRUE_WORDS

    @property
    def edited_hpa_name(self) -> str:
        """The HPA that it edits; empty if hypot decides the replicas: then every HPA of the target is a conflict."""
        return "" if self.decides else self.hpa_name

    @property
    def knob_annotations(self) -> Mapping[str, str]:
        """The annotations that may contain knobs of the size recommender."""
        return self.annotations

    @property
    def container_places(self) -> Iterator[tuple[Where, str | None]]:
        """The path and the container of everything that is written for one container."""
        for i, scaled in enumerate(self.autoscaling_policy or ()):
            yield ("spec", "autoscalingPolicy", i), scaled.container_name
        for i, bounded in enumerate(self.resource_policy or ()):
            yield ("spec", "resourcePolicy", i), bounded.container_name

    @property
    def container_policies(self) -> ResourcePolicy | None:
        """The bounds of requests, and what is never sized, in the form of a VPA; None if nothing is written."""
        return _container_policies(self)

    @property
    def reported(self) -> TortoiseStatus:
        """The readable part of its status; empty if there is none. `reported.conditions` has conditions by type."""
        found = TortoiseStatus.read(self.status).readable() if isinstance(self.status, dict) else TortoiseStatus()
        return found if found.conditions is not None else replaced(found, conditions=Conditions())


_NO_REFS = TargetRefs()


def policies_of(tortoise: TortoiseSpec, containers: Iterable[str]) -> dict[str, dict[str, str]] | None:
    """How each resource of these containers is scaled, by the spec; None if it leaves that to the controller."""
    if not tortoise.autoscaling_policy:
        return None
    written = written_policies(tortoise.autoscaling_policy)
    nothing: dict[str, str] = dict.fromkeys(RESOURCES, OFF)
    return {container: dict(written.get(container, nothing)) for container in containers}


@derived
def _container_policies(tortoise: TortoiseSpec) -> ResourcePolicy | None:
    sizes: Any = tortoise.resource_policy
    bounds: dict[str, ContainerResourcePolicy] = {}
    for item in sizes if isinstance(sizes, tuple) else ():
        if isinstance(item, ContainerResourcePolicy) and isinstance(item.container_name, str):
            bounds.setdefault(item.container_name, item)
    scaled = written_policies(tortoise.autoscaling_policy) if tortoise.autoscaling_policy else None
    made = [_container_policy(name, bounds.get(name), scaled) for name in dict.fromkeys((*bounds, *(scaled or ())))]
    if scaled is not None:
        made.append(ContainerPolicy(ANY_CONTAINER, NOT_SIZED))
    return ResourcePolicy(tuple(made)) if made else None


def _container_policy(
    name: str, bounds: ContainerResourcePolicy | None, scaled: Mapping[str, Policies] | None
) -> ContainerPolicy:
    low, high = (bounds.min_allocated, bounds.max_allocated) if bounds is not None else (None, None)
    if scaled is None:
        return ContainerPolicy(name, min_allowed=low, max_allowed=high)
    types = scaled.get(name, {})
    sized = [resource for resource in RESOURCES if types.get(resource, OFF) != OFF]
    return ContainerPolicy(name, None if sized else NOT_SIZED, low, high, controlled_resources=sized)
