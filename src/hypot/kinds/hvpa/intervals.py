"""The effective scaling intervals of an Hvpa: for each container and resource, which count each total maps to."""

from functools import lru_cache
from typing import Literal, NamedTuple

from hypot.core.amount import CPU
from hypot.core.axes.interval import HORIZONTAL_ONLY, LINEAR, Given, Interval, ceiling_of, effective
from hypot.core.sizes.fit import LARGEST
from hypot.kinds.derived import derived
from hypot.kinds.hvpa.fields import MOST_REPLICAS, Change, HvpaSpec, ResourceChanges, ScalingInterval
from hypot.kinds.vpa.allowed import allowed
from hypot.kinds.vpa.fields import amounts_of


class Share(NamedTuple):
    """A value and a percentage, as amounts; None if not given."""

    value: int | None = None
    percent: int | None = None

    @property
    def both(self) -> tuple[int, int]:
        """Value and percentage, with 0 if absent."""
        return self.value or 0, self.percent or 0


def share_of(changes: ResourceChanges | None, resource: str) -> Share:
    change: Change | None = getattr(changes, resource, None)
    if change is None:
        return Share()
    return Share(amounts_of({resource: change.value}).get(resource), change.percentage)


# An object keeps its intervals if they are not more than that. An interval takes some 200 bytes.
MOST_KEPT = 256
Meant = Literal["overlap", "base", "limits_gap"]


@derived
def share(hvpa: HvpaSpec, meant: Meant, resource: str) -> Share:
    return share_of(getattr(hvpa, meant), resource)


class Ranges(NamedTuple):
    """The effective intervals of a resource, and the largest total that they and the policy allow."""

    intervals: tuple[Interval, ...] = ()
    largest: int = 0


def intervals_of(hvpa: HvpaSpec, container: str, resource: str, limit: int | None = None) -> tuple[Interval, ...]:
    """Empty if an interval has no largest size for this resource: then totals do not determine counts.

    `limit` is the limit of the pods.
    """
    return _ranges(hvpa, container, resource, limit).intervals


def largest_total(hvpa: HvpaSpec, container: str, resource: str, limit: int | None = None) -> int:
    """The largest total that the intervals and the policy allow; 0 if they have no largest size for this resource."""
    return _ranges(hvpa, container, resource, limit).largest


def _ranges(hvpa: HvpaSpec, container: str, resource: str, limit: int | None) -> Ranges:
    most = _most_requested(hvpa, container, resource, limit)
    return _short_ranges(hvpa, container, resource, most) or _all_ranges(hvpa, container, resource, most)


@derived
def _short_ranges(hvpa: HvpaSpec, container: str, resource: str, limit: int) -> Ranges | None:
    """None if there are so many intervals that they are not kept with each object, which takes memory."""
    found = _all_ranges(hvpa, container, resource, limit)
    return found if len(found.intervals) <= MOST_KEPT else None


def _most_requested(hvpa: HvpaSpec, container: str, resource: str, limit: int | None) -> int:
    """The most that a pod can request: of cpu its limit, if that is fixed. Then totals above need more pods.

    Memory is different: each pod may need as much as before, so one that is too small would add pods without end.
    """
    if not limit or resource != CPU or not allowed(hvpa, container).requests_only:
        return LARGEST
    return limit


def _all_ranges(hvpa: HvpaSpec, container: str, resource: str, limit: int) -> Ranges:
    bounds = allowed(hvpa, container)
    given: list[Given] = []
    for interval in hvpa.intervals or ():
        size = amounts_of(interval.max_resources).get(resource, bounds.most.get(resource))
        replicas = last_count(hvpa, interval)
        if size is None or replicas is None or replicas > MOST_REPLICAS:
            return _NO_RANGES
        given.append(Given(replicas, size, interval.extrapolation or LINEAR))
    least, most = bounds.least.get(resource, 0), bounds.most.get(resource, 0)
    return _computed(tuple(given), hvpa.min_replicas, least, most, share_of(hvpa.overlap, resource).both, limit)


_NO_RANGES = Ranges()


@lru_cache(256)
def _computed(
    given: tuple[Given, ...], first: int, least: int, most: int, overlap: tuple[int, int], limit: int
) -> Ranges:
    """Objects share equal ranges: they have an interval for each count."""
    made = effective(given, first, least, *overlap, limit)
    return Ranges(made, ceiling_of(made[0].replicas, [one.most for one in made], most)) if made else _NO_RANGES


def last_count(hvpa: HvpaSpec, interval: ScalingInterval) -> int | None:
    return hvpa.max_replicas if interval.max_replicas is None else interval.max_replicas


@derived
def counts_of(hvpa: HvpaSpec) -> tuple[int, int]:
    """The lowest and the highest replica count of all intervals."""
    ends = [end for interval in hvpa.intervals or () if (end := last_count(hvpa, interval)) is not None]
    return hvpa.min_replicas, max(ends, default=hvpa.min_replicas)


def only_counts_at(hvpa: HvpaSpec, replicas: int) -> bool:
    """Whether pods have a fixed size at this count, so that only the number of pods changes."""
    for interval in hvpa.intervals or ():
        end = last_count(hvpa, interval)
        if end is not None and replicas <= end:
            return interval.extrapolation == HORIZONTAL_ONLY
    return False
