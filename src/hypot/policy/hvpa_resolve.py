"""From what each container needs in total to one point: a number of replicas, and the size of each container."""

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from hypot.core.amount import CPU, RESOURCES
from hypot.core.interval import interval_of, per_pod, replicas_for, rounded, scaled_limit
from hypot.kinds.hvpa_intervals import Allowed, allowed, intervals_of, only_counts_at, share
from hypot.kinds.hvpa_parts import HvpaSpec
from hypot.policy.hvpa_gates import Direction
from hypot.policy.size import Size
from hypot.policy.standing import Standing
from hypot.policy.wish import Total

# Memory is written in whole kilobytes, cpu in millicores.
GRAINS = {CPU: 1, "memory": 1000}


class Need(NamedTuple):
    """What one container needs: its totals, who asks for what, and which way that is."""

    standing: Standing
    totals: Mapping[str, Total]
    asked: tuple[tuple[str, Total], ...]
    direction: Direction
    # Whether it uses all it can get, so that no percentile shows what it needs.
    saturated: bool = False

    @property
    def container(self) -> str:
        return self.standing.container

    @property
    def amounts(self) -> dict[str, int]:
        return {resource: total.amount for resource, total in self.totals.items()}


class Vote(NamedTuple):
    """A number of replicas, and which resource of which container asks for it by whose word."""

    replicas: int
    container: str = ""
    resource: str = ""
    source: str = ""
    total: int = 0


def vote_of(hvpa: HvpaSpec, need: Need, current: int) -> Vote | None:
    """The most that any source asks for by any resource; what neither rises nor falls keeps the count."""
    if not need.totals:
        return None
    if need.direction == "none":
        return Vote(current, need.container)
    return largest_vote([v for resource, total in need.asked if (v := _lookup(hvpa, need, resource, total, current))])


def _lookup(hvpa: HvpaSpec, need: Need, resource: str, total: Total, current: int) -> Vote | None:
    intervals = intervals_of(hvpa, need.container, resource)
    if not intervals:
        return None
    replicas = replicas_for(intervals, total.amount, current)
    if total.bound:
        replicas = min(replicas, current) if total.bound == "at most" else max(replicas, current)
    return Vote(replicas, need.container, resource, total.source, total.amount)


def grows_while_shrinking(hvpa: HvpaSpec, need: Need, current: int, fewer: int) -> bool:
    """Whether with fewer replicas every resource of each pod would grow: then they are not taken away yet."""
    if not need.totals or only_counts_at(hvpa, fewer):
        return False
    for resource, total in need.totals.items():
        request = need.standing.requests.get(resource, 0)
        base = share(hvpa, "base", resource).both
        numerator, denominator = per_pod(total.amount, request, current, fewer, *base)
        if numerator <= request * denominator:
            return False
    return True


class Sized(NamedTuple):
    """A container's new size, the resources that kept theirs against the total, and those that hit their bound."""

    size: Size
    kept: tuple[str, ...] = ()
    budgeted: tuple[str, ...] = ()
    capped: tuple[str, ...] = ()


def sized(
    hvpa: HvpaSpec, need: Need, current: int, desired: int, *, spreads: bool = True, may_shrink: bool = True
) -> Sized:
    """The size of one container at the new count; bounds come last.

    Where replicas rise no pod shrinks, unless the total falls and is spread over them.
    """
    rises = desired > current and not (spreads and need.direction == "down")
    bounds = allowed(hvpa, need.container)
    requests = dict(need.standing.requests)
    kept, budgeted, capped = [], [], []
    for resource, total in need.totals.items():
        old = requests.get(resource, 0)
        fraction = per_pod(total.amount, old, current, desired, *share(hvpa, "base", resource).both)
        pinned = _pinned(hvpa, need, resource, desired)
        if pinned is not None:
            wanted, enough = pinned if may_shrink else max(pinned, old), rounded(total.amount, desired, 1)
        else:
            wanted = _divided(need, resource, current, desired, fraction)
            if (rises or not may_shrink) and wanted < old:
                wanted = old
                kept.append(resource)
            elif fraction != (total.amount, desired):
                budgeted.append(resource)
            enough = wanted
        requests[resource] = _bounded(bounds, need.standing, resource, wanted)
        if requests[resource] < enough:
            capped.append(resource)
    size = Size(need.container, requests, _limits(hvpa, bounds, need, requests, desired))
    return Sized(size, tuple(kept), tuple(budgeted), tuple(capped))


def _divided(need: Need, resource: str, current: int, desired: int, fraction: tuple[int, int]) -> int:
    """The share of each pod; what stays or falls is not rounded to more than it was."""
    made, old = rounded(*fraction, GRAINS[resource]), need.standing.requests.get(resource)
    falls = desired == current and need.totals[resource].amount <= need.standing.totals[resource]
    if old is not None and (falls or fraction[0] == old * fraction[1]):
        return min(made, old)
    return made


def _pinned(hvpa: HvpaSpec, need: Need, resource: str, desired: int) -> int | None:
    """The only size there is at this count; where none is written, the one that is there."""
    if not only_counts_at(hvpa, desired):
        return None
    interval = interval_of(intervals_of(hvpa, need.container, resource), desired)
    return interval.pinned if interval is not None else need.standing.requests.get(resource, 0)


def _bounded(bounds: Allowed, standing: Standing, resource: str, amount: int) -> int:
    """Within what the policy allows; where limits are left alone, requests stay below them."""
    amount = max(amount, bounds.least.get(resource, 0))
    amount = min(amount, bounds.most.get(resource) or amount)
    return min(amount, standing.limits.get(resource, amount)) if bounds.requests_only else amount


def _limits(hvpa: HvpaSpec, bounds: Allowed, need: Need, requests: Mapping[str, int], desired: int) -> dict[str, int]:
    """Each limit moves with its request; where that stays, so does the limit."""
    limits = dict(need.standing.limits)
    if bounds.requests_only:
        return limits
    for resource in RESOURCES:
        old = need.standing.requests.get(resource)
        if resource in limits and resource in need.totals and requests[resource] != old:
            gap = share(hvpa, "limits_gap", resource)
            made = scaled_limit(limits[resource], old, requests[resource], *gap, desired)
            limits[resource] = max(rounded(made, 1, GRAINS[resource]), requests[resource])
    return limits


def largest_vote(votes: Sequence[Vote]) -> Vote | None:
    """The vote for most replicas; of equals one that a total stands behind, then by name: their order never matters."""
    ordered = sorted(
        votes, key=lambda vote: (-vote.replicas, not vote.resource, vote.container, vote.resource, vote.source)
    )
    return ordered[0] if ordered else None


class Point(NamedTuple):
    """A number of replicas, the vote it comes from, and the new size of each container that moves."""

    replicas: int
    vote: Vote | None
    results: Mapping[str, Sized]

    def size_of(self, size: Size) -> Size:
        made = self.results.get(size.container)
        return size if made is None else made.size

    def changes(self, current: int, sizes: Iterable[Size]) -> bool:
        return self.replicas != current or any(self.size_of(size) != size for size in sizes)
