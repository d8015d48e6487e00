"""Tortoise, autoscaling.mercari.com/v1beta3: bounds, target and size learned from a workload's own weeks."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Self, TypeVar

from hypot.core.amount import RESOURCES
from hypot.kinds.base import HasKindAndName, Ref, metadata_of, refer
from hypot.kinds.hpa.fields import Behavior, ScalingRules
from hypot.kinds.node import node, replaced
from hypot.kinds.problem import Problem
from hypot.kinds.tortoise.fields import NO_DELETE, ContainerResourcePolicy, TargetRefs, TortoiseSpec
from hypot.kinds.tortoise.policies import OFF, AutoscalingTypes, ContainerAutoscalingPolicy
from hypot.kinds.tortoise.rules import spec_problems
from hypot.kinds.version import NEWEST, Version


@node
class Tortoise(TortoiseSpec):
    """A Tortoise."""

    def __init__(
        self,
        target: str | Ref | Mapping[str, Any] | HasKindAndName,
        *,
        mode: str | None = None,
        hpa: str | None = None,
        autoscaling_policy: Mapping[str, Mapping[str, str]] | Iterable[ContainerAutoscalingPolicy] | None = None,
        resource_policy: Iterable[ContainerResourcePolicy] | None = None,
        deletion_policy: str | None = None,
        max_replicas: int | None = None,
        scale_up: ScalingRules | None = None,
        scale_down: ScalingRules | None = None,
        name: str | None = None,
        namespace: str | None = None,
        labels: Mapping[str, str] | None = None,
        annotations: Mapping[str, str] | None = None,
    ) -> None:
        """Create an autoscaler, named like its target by default. Raises one exception with all problems.

        `autoscaling_policy` may be a mapping such as `{"app": {"cpu": "Horizontal"}}`.
        """
        ref = refer(target)
        paced = scale_up is not None or scale_down is not None
        self.author(
            metadata_of(name or ref.name, namespace, labels, annotations),
            target_refs=TargetRefs(ref, hpa),
            update_mode=mode,
            resource_policy=None if resource_policy is None else tuple(resource_policy),
            deletion_policy=deletion_policy,
            autoscaling_policy=None if autoscaling_policy is None else tuple(_items(autoscaling_policy)),
            max_replicas=max_replicas,
            behavior=Behavior(scale_up, scale_down) if paced else None,
        )

    def rule_problems(self, kubernetes: Version, gates: Mapping[str, bool] | None) -> Iterator[Problem]:
        """The problems of this object."""
        return spec_problems(self, kubernetes, gates)

    def effective(self, kubernetes: str | Version = NEWEST, *, containers: Iterable[str] | None = None) -> Self:
        """The object with its controller's defaults, for a workload with these containers.

        Without them, the containers that its resource policy names are known.
        """
        del kubernetes
        return with_defaults(self, self._sized_containers() if containers is None else containers)

    def _sized_containers(self) -> list[str]:
        items: Any = self.resource_policy
        sized = [one for one in items if isinstance(one, ContainerResourcePolicy)] if isinstance(items, tuple) else []
        return [one.container_name for one in sized if isinstance(one.container_name, str)]


def _items(
    policies: Mapping[str, Mapping[str, str]] | Iterable[ContainerAutoscalingPolicy],
) -> Iterator[ContainerAutoscalingPolicy]:
    if not isinstance(policies, Mapping):
        yield from policies
        return
    for container, types in policies.items():
        yield ContainerAutoscalingPolicy(container, AutoscalingTypes.read(types))


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
