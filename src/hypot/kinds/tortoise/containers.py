"""A container of a Tortoise as an author writes it: how each resource is scaled, and the bounds of its requests.

A manifest has both in two lists.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, TypedDict

from hypot.core.dataclass import dataclass
from hypot.kinds.tortoise.fields import ContainerResourcePolicy
from hypot.kinds.tortoise.policies import AutoscalingType, AutoscalingTypes, ContainerAutoscalingPolicy
from hypot.kinds.values.plain import listed, plain
from hypot.kinds.vpa.fields import ResourceList


@dataclass(frozen=True, slots=True)
class ContainerScaling:
    """How the resources of a container are scaled, and the bounds of its requests.

    >>> Tortoise("deployment/web", containers=[ContainerScaling("app", cpu="Vertical")]).containers[0].name
    'app'
    """

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


# A container, several, or what is written of each by its name.
Containers = Sequence[ContainerScaling] | ContainerScaling | Mapping[str, ScalingKeywords | ContainerScaling]


def scaling_from(containers: Containers | None) -> Any:
    """The containers, also from a mapping by name. What is no container stays, for the rules."""
    if isinstance(containers, Mapping):
        return tuple([one for name, written in containers.items() for one in _scaling_from(name, written)])
    return () if containers is None else listed(containers, ContainerScaling)


def _scaling_from(name: str, written: Any) -> Iterator[Any]:
    if not isinstance(written, Mapping):
        yield written
        return
    known = ScalingKeywords.__optional_keys__
    yield ContainerScaling(name, **{word: written[word] for word in written if word in known})
    unknown = {str(word): plain(value) for word, value in written.items() if word not in known}
    if unknown:
        yield ContainerResourcePolicy(name, extra=unknown)


def scaling_of(types: Any, bounds: Any) -> tuple[ContainerScaling, ...]:
    """The containers of both lists of a manifest; of several entries of one container the first counts."""
    scaled: dict[str, AutoscalingTypes] = {}
    for one in types if isinstance(types, tuple) else ():
        if isinstance(one, ContainerAutoscalingPolicy) and isinstance(one.container_name, str):
            policy = one.policy if isinstance(one.policy, AutoscalingTypes) else AutoscalingTypes()
            scaled.setdefault(one.container_name, policy)
    bounded: dict[str, ContainerResourcePolicy] = {}
    for each in bounds if isinstance(bounds, tuple) else ():
        if isinstance(each, ContainerResourcePolicy) and isinstance(each.container_name, str):
            bounded.setdefault(each.container_name, each)
    return tuple(
        [_scaling_of(name, scaled.get(name), bounded.get(name)) for name in dict.fromkeys((*scaled, *bounded))]
    )


def _scaling_of(name: str, types: Any, bounds: ContainerResourcePolicy | None) -> ContainerScaling:
    low, high = (bounds.min_allocated, bounds.max_allocated) if bounds is not None else (None, None)
    return ContainerScaling(name, getattr(types, "cpu", None), getattr(types, "memory", None), low, high)


def types_in(containers: Any) -> tuple[ContainerAutoscalingPolicy, ...] | None:
    """How resources are scaled; None if nothing is written, so that the controller chooses."""
    written = [one for one in _scalings(containers) if one.cpu is not None or one.memory is not None]
    return (
        tuple([ContainerAutoscalingPolicy(one.name, AutoscalingTypes(one.cpu, one.memory)) for one in written]) or None
    )


def bounds_in(containers: Any) -> Any:
    """The bounds of requests; None if nothing is written. What is no container is here too, for the rules."""
    if not isinstance(containers, tuple):
        return containers
    return tuple([_bounds(one) for one in containers if _is_bounded(one)]) or None


def _scalings(containers: Any) -> list[ContainerScaling]:
    return [one for one in containers if isinstance(one, ContainerScaling)] if isinstance(containers, tuple) else []


def _is_bounded(one: Any) -> bool:
    return not isinstance(one, ContainerScaling) or one.min_allocated is not None or one.max_allocated is not None


def _bounds(one: Any) -> Any:
    if not isinstance(one, ContainerScaling):
        return one
    return ContainerResourcePolicy(one.name, one.min_allocated, one.max_allocated)
