"""The size of each container: by its usage if it is Vertical, with the count of replicas if it is Horizontal."""

from collections.abc import Iterable, Mapping
from math import inf
from typing import NamedTuple

from hypot.core.amount import CPU, MEMORY, MIB, round_up
from hypot.core.axes.shape import UNKNOWN, Counts, count_of, raised_limit, size_with_replicas
from hypot.core.sizes.right_size import size_by_usage
from hypot.kinds.tortoise.fields import TortoiseSpec
from hypot.kinds.tortoise.settings import TortoiseSettings
from hypot.kinds.vpa.allowed import allowed
from hypot.policy.model.current_size import CurrentSize
from hypot.policy.model.size import Place, Size

GRAINS = {CPU: 1, MEMORY: MIB}


class SizedResource(NamedTuple):
    """One resource of a container: the size and bounds of a pod, and what is needed."""

    place: Place
    size: int
    least: int
    most: int
    # The percentile of usage, with a margin; None if it is unknown.
    used: int | None
    # For a Horizontal one: what all pods together need now and needed at most, and its target in percent.
    total: int | None = None
    peak: int = 0
    target: int = 100


def counts_of(tortoise: TortoiseSpec, settings: TortoiseSettings) -> Counts:
    most = min(tortoise.max_replicas or settings.maximum_max_replicas, settings.maximum_max_replicas)
    least = min(settings.minimum_min_replicas, most)
    return Counts(least, max(min(settings.preferred_max_replicas, most), least), most)


def bounds_of(tortoise: TortoiseSpec, place: Place, settings: TortoiseSettings) -> tuple[int, int]:
    """The least and the most that a pod may request; the most holds if they contradict each other."""
    container, resource = place
    written = allowed(tortoise, container)
    of_containers: Mapping[str, int] = getattr(settings, f"minimum_{resource}_request_per_container")
    least = of_containers.get(container, getattr(settings, f"minimum_{resource}_request"))
    most = min(written.most.get(resource) or inf, getattr(settings, f"maximum_{resource}_request"))
    return min(max(least, written.least.get(resource, 0)), int(most)), int(most)


def vertical_size(one: SizedResource, settings: TortoiseSettings, *, emergency: bool = False) -> int:
    """The size that follows usage; without usage the size stays, within its bounds.

    In an emergency it is as far above usage as the maximum is above the need for replicas.
    """
    share, buffer, factor = (
        settings.max_scaling_down_ratio,
        settings.vertical_buffer,
        settings.max_replicas_multiplier,
    )
    return size_by_usage(one.size, _or_unknown(one.used), one.least, one.most, share, buffer, factor, emergency)


def horizontal_size(
    one: SizedResource, count: int, counts: Counts, settings: TortoiseSettings, *, several: bool
) -> int:
    """The size at this count. Pods grow at the preferred count and shrink at the least.

    `several`: whether the count may follow from what another container needs.
    """
    needed = (_or_unknown(one.total), _or_unknown(one.used), one.peak, one.target)
    size, share = (one.size, one.least, one.most), settings.max_scaling_down_ratio
    return size_with_replicas(count, *needed, *size, *counts, share, several)


def _or_unknown(amount: int | None) -> int:
    return UNKNOWN if amount is None else amount


def settled_count(resources: Iterable[SizedResource], count: int, counts: Counts) -> int:
    """The count to size pods for: not above the preferred one unless pods of their largest size need more.

    Pods that are smaller grow first, and then the HPA removes replicas.
    """
    totals = [one for one in resources if one.total is not None]
    if count <= counts.preferred or not totals:
        return count
    asked = [count_of(one.total or 0, count, one.size, one.most, one.least, *counts) for one in totals]
    return min(count, max(counts.preferred, *asked))


def with_requests(one: CurrentSize, requests: Mapping[str, int], replicas: int, settings: TortoiseSettings) -> Size:
    """The container with these requests. A limit keeps its ratio to the request; without a limit there is none."""
    changed = {r: round_up(amount, GRAINS[r]) for r, amount in requests.items() if amount != one.requests[r]}
    limits = dict(one.limits)
    for resource, request in changed.items():
        if resource in limits:
            base = one.written.get(resource, (one.requests[resource], limits[resource]))
            limits[resource] = limit_for(resource, request, *base, replicas, settings)
    return Size(one.container, {**one.requests, **changed}, limits)


def limit_for(resource: str, request: int, base: int, limit: int, replicas: int, settings: TortoiseSettings) -> int:
    """The limit for a new request, in the ratio of this limit to its base."""
    factor, least = settings.resource_limit_multiplier.get(resource, 1), _least_limit(resource, settings)
    return raised_limit(limit, base, request, replicas, GRAINS[resource], factor, least)


def _least_limit(resource: str, settings: TortoiseSettings) -> int:
    return settings.minimum_cpu_limit if resource == CPU else 0
