"""A container of a Tortoise as an author writes it: how each resource is scaled, and the bounds of its requests.

A manifest has both in two lists.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypedDict

from hypot.kinds.tortoise.fields import ContainerResourcePolicy
from hypot.kinds.tortoise.policies import AutoscalingType, AutoscalingTypes, ContainerAutoscalingPolicy
from hypot.kinds.vpa.fields import ResourceList


@dataclass(frozen=True, slots=True)
class ContainerScaling:
    """`ContainerScaling("app", cpu="Horizontal", memory="Vertical", max_allocated={"memory": "4Gi"})`."""

    name: str
    cpu: AutoscalingType | None = None
    memory: AutoscalingType | None = None
    min_allocated: ResourceList | None = None
    max_allocated: ResourceList | None = None


class ScalingKeywords(TypedDict, total=False):
    """What may be written of a container whose name is the key."""

    cpu: AutoscalingType
    memory: AutoscalingType
    min_allocated: ResourceList
    max_allocated: ResourceList


def scaling_from(
    containers: Sequence[ContainerScaling] | Mapping[str, ScalingKeywords] | None,
) -> tuple[ContainerScaling, ...]:
    """The containers, also from a mapping by name."""
    if isinstance(containers, Mapping):
        return tuple([ContainerScaling(name, **written) for name, written in containers.items()])
    return tuple(containers or ())


def types_in(containers: Iterable[ContainerScaling]) -> tuple[ContainerAutoscalingPolicy, ...] | None:
    """How resources are scaled; None if nothing is written, so that the controller chooses."""
    written = [one for one in containers if one.cpu is not None or one.memory is not None]
    return (
        tuple([ContainerAutoscalingPolicy(one.name, AutoscalingTypes(one.cpu, one.memory)) for one in written]) or None
    )


def bounds_in(containers: Iterable[ContainerScaling]) -> tuple[ContainerResourcePolicy, ...] | None:
    """The bounds of requests; None if nothing is written."""
    written = [one for one in containers if one.min_allocated is not None or one.max_allocated is not None]
    return tuple([ContainerResourcePolicy(one.name, one.min_allocated, one.max_allocated) for one in written]) or None
