"""From the total needs of each container to one result: a number of replicas and the size of each container."""

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from hypot.core.amount import CPU, RESOURCES
from hypot.core.axes.gate import UNSET, held_to, keeps_added
from hypot.core.axes.interval import (
    Interval,
    interval_of,
    keeps_size,
    most_at,
    outgrows,
    part_of,
    permitted,
    replicas_for,
    whole_limit,
)
from hypot.kinds.hvpa.fields import HvpaSpec
from hypot.kinds.hvpa.intervals import intervals_of, only_counts_at, share
from hypot.kinds.vpa.allowed import Allowed, allowed
from hypot.policy.hvpa.gates import DIRECTIONS, Direction
from hypot.policy.hvpa.proposal import Total
from hypot.policy.hvpa.size_source import BOUNDS
from hypot.policy.model.current_size import CurrentSize
from hypot.policy.model.size import Size

# Memory is written in whole kilobytes, cpu in millicores.
GRAINS = {CPU: 1, "memory": 1000}
_NUMBERS = {word: number for number, word in BOUNDS.items()}


class ContainerNeed(NamedTuple):
    """The needs of one container: its totals, the proposals behind them, and the direction of the change."""

    current_size: CurrentSize
    totals: Mapping[str, Total]
    asked: tuple[tuple[str, Total], ...]
    # What can be reached of each total. What exceeds the maximum is no change.
    amounts: Mapping[str, int]
    direction: Direction
    # Whether it uses all it can get, so that no percentile shows what it needs.
    saturated: bool = False

    @property
    def container(self) -> str:
        return self.current_size.container

    def intervals(self, hvpa: HvpaSpec, resource: str) -> tuple[Interval, ...]:
        return intervals_of(hvpa, self.container, resource, self.current_size.limits.get(resource))


class Vote(NamedTuple):
    """A number of replicas, and the container, resource and source that ask for it."""

    replicas: int
    container: str = ""
    resource: str = ""
    source: str = ""
    total: int = 0
    # Whether its interval is for fewer replicas, with which pods would reach their cap.
    keeps_room: bool = False


def vote_of(hvpa: HvpaSpec, need: ContainerNeed, current: int) -> Vote | None:
    """The largest count that any resource of any source asks for; without a direction the current count."""
    if not need.totals:
        return None
    if need.direction == "none":
        return Vote(current, need.container)
    return largest_vote([v for resource, total in need.asked if (v := _lookup(hvpa, need, resource, total, current))])


def _lookup(hvpa: HvpaSpec, need: ContainerNeed, resource: str, total: Total, current: int) -> Vote | None:
    intervals = need.intervals(hvpa, resource)
    if not intervals:
        return None
    replicas = held_to(replicas_for(intervals, total.amount, current), current, _NUMBERS[total.bound])
    if total.raised is not None:
        raised, before = total.raised
        needed = replicas_for(intervals, raised, before)
        replicas = current if keeps_added(total.amount, raised, replicas, needed, current) else replicas
    return Vote(replicas, need.container, resource, total.source, total.amount)


def grows_while_shrinking(hvpa: HvpaSpec, need: ContainerNeed, current: int, fewer: int) -> bool:
    """Whether fewer replicas would raise every resource of each pod: then no replicas are removed yet."""
    if not need.totals or only_counts_at(hvpa, fewer):
        return False
    return all(
        outgrows(total.amount, need.current_size.requests.get(resource, 0), current, fewer, *_base(hvpa, resource))
        for resource, total in need.totals.items()
    )


def _base(hvpa: HvpaSpec, resource: str) -> tuple[int, int]:
    return share(hvpa, "base", resource).both


class Sized(NamedTuple):
    """A container's new size, and the resources that were kept, include a base load, or were capped."""

    size: Size
    kept: tuple[str, ...] = ()
    budgeted: tuple[str, ...] = ()
    capped: tuple[str, ...] = ()


def sized(
    hvpa: HvpaSpec, need: ContainerNeed, current: int, desired: int, *, spreads: bool = True, may_shrink: bool = True
) -> Sized:
    """The size of one container at the new count; bounds apply last.

    While replicas are added no request is lowered, unless the total falls and is spread over them.
    """
    rises = keeps_size(DIRECTIONS.index(need.direction), current, desired, spreads)
    bounds = allowed(hvpa, need.container)
    requests = dict(need.current_size.requests)
    kept, budgeted, capped = [], [], []
    for resource, total in need.totals.items():
        part = part_of(
            total.amount,
            need.current_size.totals[resource],
            requests.get(resource, UNSET),
            current,
            desired,
            *_base(hvpa, resource),
            _pinned(hvpa, need, resource, desired),
            most_of(need.intervals(hvpa, resource), desired),
            rises,
            may_shrink,
            GRAINS[resource],
        )
        kept += [resource] if part.kept else []
        budgeted += [resource] if part.budgeted else []
        requests[resource] = _bounded(bounds, need.current_size, resource, part.amount)
        if requests[resource] < part.enough:
            capped.append(resource)
    size = Size(need.container, requests, _limits(hvpa, bounds, need, requests, desired))
    return Sized(size, tuple(kept), tuple(budgeted), tuple(capped))


def _pinned(hvpa: HvpaSpec, need: ContainerNeed, resource: str, desired: int) -> int:
    """The fixed size at a count where only the count scales; without one in the spec, the current request."""
    if not only_counts_at(hvpa, desired):
        return UNSET
    interval = interval_of(need.intervals(hvpa, resource), desired)
    return interval.pinned if interval is not None else need.current_size.requests.get(resource, 0)


def most_of(intervals: Sequence[Interval], count: int) -> int:
    """The largest size that the intervals allow a pod at this count; 0 if there are none."""
    return most_at(intervals[0].replicas, len(intervals), [one.most for one in intervals], count) if intervals else 0


def _bounded(bounds: Allowed, current_size: CurrentSize, resource: str, amount: int) -> int:
    """The amount within what the policy allows; if limits are not controlled, the request stays within them."""
    limit = current_size.limits.get(resource, UNSET) if bounds.requests_only else UNSET
    return permitted(amount, bounds.least.get(resource, 0), bounds.most.get(resource, 0), limit)


def _limits(
    hvpa: HvpaSpec, bounds: Allowed, need: ContainerNeed, requests: Mapping[str, int], desired: int
) -> dict[str, int]:
    """Each limit follows its request, in the ratio of the pod template; if the request stays, the limit stays."""
    limits = dict(need.current_size.limits)
    if bounds.requests_only:
        return limits
    for resource in RESOURCES:
        old = need.current_size.requests.get(resource)
        if resource in limits and resource in need.totals and requests[resource] != old:
            gap = [UNSET if given is None else given for given in share(hvpa, "limits_gap", resource)]
            base, limit = need.current_size.written.get(resource, (old or 0, limits[resource]))
            request, grain = requests[resource], GRAINS[resource]
            limits[resource] = whole_limit(limit, base, request, gap[0], gap[1], desired, grain)
    return limits


def largest_vote(votes: Sequence[Vote]) -> Vote | None:
    """The vote for most replicas; of equals one that is based on a total, then by name: the order never matters.

    Of the votes for one resource, the largest total is shown.
    """
    ordered = sorted(
        votes,
        key=lambda vote: (-vote.replicas, not vote.resource, vote.container, vote.resource, -vote.total, vote.source),
    )
    return ordered[0] if ordered else None


class Resolution(NamedTuple):
    """A number of replicas, the vote it comes from, and the new size of each container that changes."""

    replicas: int
    vote: Vote | None
    results: Mapping[str, Sized]

    def size_of(self, size: Size) -> Size:
        made = self.results.get(size.container)
        return size if made is None else made.size

    def changes_size(self, size: Size) -> bool:
        return self.size_of(size) != size

    def changes(self, current: int, sizes: Iterable[Size]) -> bool:
        return self.replicas != current or any(self.changes_size(size) for size in sizes)
