"""Tortoise, autoscaling.mercari.com/v1beta3: bounds, target and size learned from a workload's own weeks."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Literal, Self, TypeVar

from hypot.core.amount import RESOURCES
from hypot.kinds.authored.given_target import TargetLike, given_target
from hypot.kinds.authored.keywords import OF_STATUS, authored
from hypot.kinds.decode import python_path
from hypot.kinds.hpa.fields import Behavior, ScalingRules
from hypot.kinds.node import node, replaced
from hypot.kinds.pod_template import Template, policy_problems
from hypot.kinds.problem import Problem, Where, shown
from hypot.kinds.tortoise.containers import Containers, ContainerScaling, bounds_in, scaling_from, scaling_of, types_in
from hypot.kinds.tortoise.fields import NO_DELETE, ContainerResourcePolicy, TargetRefs, TortoiseMode, TortoiseSpec
from hypot.kinds.tortoise.policies import OFF, AutoscalingTypes, ContainerAutoscalingPolicy
from hypot.kinds.tortoise.rules import spec_problems
from hypot.kinds.values.version import NEWEST, Version, as_version


@node
class Tortoise(TortoiseSpec):
    """A Tortoise.

    >>> Tortoise("deployment/web", mode="Auto", containers={"app": {"cpu": "Horizontal"}}).containers[0].cpu
    'Horizontal'
    """

    @authored("Tortoise()", OF_STATUS, "kind")
    def __init__(
        self,
        target: TargetLike,
        *,
        mode: TortoiseMode | None = None,
        hpa: str | None = None,
        containers: Containers | None = None,
        deletion_policy: Literal["DeleteAll", "NoDelete"] | None = None,
        max_replicas: int | None = None,
        scale_up: ScalingRules | None = None,
        scale_down: ScalingRules | None = None,
        name: str | None = None,
        namespace: str | None = None,
        labels: Mapping[str, str] | None = None,
        annotations: Mapping[str, str] | None = None,
    ) -> None:
        """Create an autoscaler, named like its target by default. Raises one exception with all problems.

        `containers` may be a mapping such as `{"app": {"cpu": "Horizontal", "max_allocated": {"memory": "4Gi"}}}`.
        """
        given, scaled = given_target(target), scaling_from(containers)
        paced = scale_up is not None or scale_down is not None
        self.author(
            given.metadata(name, namespace, labels, annotations),
            given.template,
            given.problems(namespace, counts=True),
            target_refs=TargetRefs(given.ref, hpa),
            update_mode=mode,
            resource_policy=bounds_in(scaled),
            deletion_policy=deletion_policy,
            autoscaling_policy=types_in(scaled),
            max_replicas=max_replicas,
            behavior=Behavior(scale_up, scale_down) if paced else None,
        )

    @property
    def containers(self) -> tuple[ContainerScaling, ...] | None:
        """As in the constructor: how each container is scaled, and the bounds of its requests."""
        return scaling_of(self.autoscaling_policy, self.resource_policy) or None

    @property
    def hpa(self) -> str | None:
        """As in the constructor: the HPA that it names; `hpa_name` is the one that it edits."""
        return self.hpa_name if self.names_hpa else None

    @property
    def scale_up(self) -> ScalingRules | None:
        """As in the constructor."""
        return self.behavior.scale_up if isinstance(self.behavior, Behavior) else None

    @property
    def scale_down(self) -> ScalingRules | None:
        """As in the constructor."""
        return self.behavior.scale_down if isinstance(self.behavior, Behavior) else None

    def arguments(self) -> dict[str, Any]:
        """The keywords of the constructor."""
        words = ("target", "hpa", "containers", "deletion_policy", "max_replicas", "scale_up", "scale_down")
        return {"mode": self.update_mode, **{word: getattr(self, word) for word in words}, **self.named()}

    def rule_problems(self, kubernetes: Version, gates: Mapping[str, bool] | None) -> Iterator[Problem]:
        """The problems of this object."""
        return spec_problems(self, kubernetes, gates)

    def pod_problems(self, template: Template) -> Iterator[Problem]:
        """Policies for containers that these pods do not have."""
        return policy_problems(self.container_places, template, self.target)

    def author_path(self, where: Where) -> str:
        """A container by its name: a manifest has two lists of them, the constructor one."""
        path = python_path(self, where)
        if len(where) < 2 or where[0] not in _LISTS:
            return path
        i, listed = where[1], getattr(self, self.BY_KEY[str(where[0])][0])
        if not isinstance(i, int) or not isinstance(listed, tuple) or i >= len(listed):
            return path
        name = getattr(listed[i], "container_name", None)
        return path if name is None else path.replace(f"[{i}]", f"[{shown(name)}]", 1)

    def effective(self, kubernetes: str | Version = NEWEST, *, containers: Iterable[str] | None = None) -> Self:
        """The object with its controller's defaults, for a workload with these containers.

        Without them, the containers that its resource policy names are known.
        """
        as_version(kubernetes)
        return with_defaults(self, self._sized_containers() if containers is None else containers)

    def _sized_containers(self) -> list[str]:
        items: Any = self.resource_policy
        sized = [one for one in items if isinstance(one, ContainerResourcePolicy)] if isinstance(items, tuple) else []
        return [one.container_name for one in sized if isinstance(one.container_name, str)]


_LISTS = frozenset({"autoscalingPolicy", "resourcePolicy"})
T = TypeVar("T", bound=TortoiseSpec)


def with_defaults(tortoise: T, containers: Iterable[str]) -> T:
    """The object with all defaults for a workload with these containers; the same object if nothing is missing."""
    changes: dict[str, Any] = {}
    if not tortoise.update_mode:
        changes["update_mode"] = OFF
    if not tortoise.deletion_policy:
        changes["deletion_policy"] = NO_DELETE
    written: Any = tortoise.autoscaling_policy
    if isinstance(written, tuple):
        complete = _complete(written, containers) if written else None
        if complete != written:
            changes["autoscaling_policy"] = complete
    return replaced(tortoise, **changes) if changes else tortoise


def _complete(written: tuple[Any, ...], containers: Iterable[str]) -> tuple[Any, ...]:
    """Every container and every resource that is not written is Off."""
    listed = {item.container_name for item in written if isinstance(item, ContainerAutoscalingPolicy)}
    absent = [name for name in dict.fromkeys(containers) if name not in listed]
    return tuple([_with_types(item) for item in (*written, *map(ContainerAutoscalingPolicy, absent))])


def _with_types(item: Any) -> Any:
    if not isinstance(item, ContainerAutoscalingPolicy):
        return item
    policy: Any = item.policy if item.policy is not None else AutoscalingTypes()
    if not isinstance(policy, AutoscalingTypes):
        return item
    missing = {resource: OFF for resource in RESOURCES if getattr(policy, resource) is None}
    return replaced(item, policy=replaced(policy, **missing)) if missing else item
