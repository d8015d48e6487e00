"""The effective scaling intervals of an Hvpa as rows: the upper and lower total for each number of replicas."""

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from hypot.core.amount import CPU, RESOURCES
from hypot.core.axes.interval import Interval
from hypot.kinds.hvpa.fields import HvpaSpec
from hypot.kinds.hvpa.intervals import intervals_of
from hypot.kinds.vpa.allowed import allowed
from hypot.kinds.vpa.fields import ANY_CONTAINER, policy_of

# The units in which amounts are shown.
UNITS = {CPU: ("cores", 1000), "memory": ("GiB", 2**30)}


class Reach(NamedTuple):
    """The totals at which replicas change; `fixed` is the only size of a pod, or 0 if any size is allowed."""

    up_to: int
    down_to: int
    fixed: int = 0
    # Whether minAllowed determines the lower end.
    at_least: bool = False


class CountRow(NamedTuple):
    """A number of replicas, and its reach by resource."""

    replicas: int
    reaches: Mapping[str, Reach]

    def up_to_per_pod(self, resource: str) -> float:
        return self.reaches[resource].up_to / self.replicas

    def down_to_per_pod(self, resource: str) -> float | None:
        """None if the size is fixed: then only the total decides when a pod is removed."""
        reach = self.reaches[resource]
        return None if reach.fixed else reach.down_to / self.replicas


class IntervalTable(NamedTuple):
    """The rows for containers with the same intervals; empty if the containers are not scaled."""

    containers: tuple[str, ...]
    rows: tuple[CountRow, ...]
    # Resources that have intervals, and controlled resources that have none.
    resources: tuple[str, ...] = ()
    unsized: tuple[str, ...] = ()
    off: bool = False


class _Shape(NamedTuple):
    """Everything that two containers must have in common to share a table and its curves."""

    off: bool
    resources: tuple[str, ...]
    least: tuple[tuple[str, int], ...]
    most: tuple[tuple[str, int], ...]


def tables_of(hvpa: HvpaSpec) -> tuple[IntervalTable, ...]:
    """A table for each set of containers with equal policies, and one for all other containers."""
    alike: dict[_Shape, list[str]] = {}
    for name in container_names(hvpa):
        alike.setdefault(_shape(hvpa, name), []).append(name)
    return tuple([_table(hvpa, shape, tuple(names)) for shape, names in alike.items()])


def container_names(hvpa: HvpaSpec) -> tuple[str, ...]:
    """The containers that have a policy, in order, and at the end `*` for all others."""
    policies = hvpa.container_policies
    named = [one.container_name for one in (policies.containers or ()) if one.container_name] if policies else []
    return (*dict.fromkeys(name for name in named if name != ANY_CONTAINER), ANY_CONTAINER)


def _shape(hvpa: HvpaSpec, container: str) -> _Shape:
    policy, bounds = policy_of(hvpa.container_policies, container), allowed(hvpa, container)
    written = policy.controlled_resources if policy is not None else None
    controlled = tuple([resource for resource in RESOURCES if written is None or resource in written])
    return _Shape(
        bounds.switched_off and bool(controlled), controlled, tuple(bounds.least.items()), tuple(bounds.most.items())
    )


def _table(hvpa: HvpaSpec, shape: _Shape, containers: tuple[str, ...]) -> IntervalTable:
    if shape.off:
        return IntervalTable(containers, (), off=True)
    by_resource = {resource: intervals_of(hvpa, containers[0], resource) for resource in shape.resources}
    sized = {resource: intervals for resource, intervals in by_resource.items() if intervals}
    unsized = tuple([resource for resource in shape.resources if resource not in sized])
    return IntervalTable(containers, tuple(_rows(sized, dict(shape.least))), tuple(sized), unsized)


def _rows(by_resource: Mapping[str, Sequence[Interval]], least: Mapping[str, int]) -> Iterator[CountRow]:
    """Every resource has the same replicas, because they come from the same list."""
    for same_count in zip(*by_resource.values(), strict=True):
        reaches = {
            resource: _reach(interval, least.get(resource, 0))
            for resource, interval in zip(by_resource, same_count, strict=True)
        }
        yield CountRow(same_count[0].replicas, reaches)


def _reach(interval: Interval, least: int) -> Reach:
    held_up = not interval.pinned and 0 < interval.low == least * interval.replicas
    return Reach(interval.high, interval.low, interval.pinned, held_up)


def in_units(resource: str, amount: float) -> float:
    """The amount in cores or GiB."""
    return amount / UNITS[resource][1]


def figure(resource: str, amount: float) -> str:
    """Cores or GiB with three decimals, or more for small amounts, without trailing zeros."""
    value = in_units(resource, amount)
    decimals = 3
    while 0 < value < 10 ** (2 - decimals) and decimals < 9:
        decimals += 1
    text = f"{value:.{decimals}f}"
    return text.rstrip("0").rstrip(".")


def notes_of(row: CountRow) -> tuple[str, ...]:
    """Short notes on a row."""
    fixed = [resource for resource, reach in row.reaches.items() if reach.fixed]
    held = [resource for resource, reach in row.reaches.items() if reach.at_least]
    notes = []
    if fixed:
        notes.append("size fixed" + _of(fixed, row))
    if held:
        notes.append("down to minAllowed" + _of(held, row))
    return tuple(notes)


def _of(resources: Sequence[str], row: CountRow) -> str:
    return "" if len(resources) == len(row.reaches) else f" ({' and '.join(resources)})"


def silent(table: IntervalTable) -> str:
    """Why there are no intervals for these containers, or for one of their resources; empty if there are."""
    if table.off:
        return "not scaled, the mode is Off"
    if not table.rows and not table.unsized:
        return "neither cpu nor memory is controlled"
    if table.unsized:
        return f"{' and '.join(table.unsized)} does not affect replicas, as not every interval sets a maximum for it"
    return ""


def named(containers: Sequence[str], *, alone: bool) -> str:
    """The containers of a table, as text."""
    if alone and list(containers) == [ANY_CONTAINER]:
        return "every container"
    label = ["any other container" if name == ANY_CONTAINER else name for name in containers]
    return ", ".join(label)
