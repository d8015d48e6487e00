"""The four charts of one resource, as plain numbers: what to draw, not how."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from math import ceil, floor, log10
from typing import Literal, NamedTuple

from hypot.face.intervals.curves import WIDE, CurvePoint, Curves, curves_of
from hypot.face.intervals.table import UNITS, CountRow, IntervalTable, in_units, named, tables_of
from hypot.kinds.hvpa import Hvpa
from hypot.policy.hvpa.resolve import GRAINS

Role = Literal["up", "untrimmed", "down"]
# Told apart on white and on black, by people who see no red or no green too.
COLOURS: dict[Role, str] = {"up": "#1f7fd1", "untrimmed": "#1f7fd1", "down": "#d9730d"}
# What is drawn first is wider, so that it can be seen below what is drawn over it.
WIDTHS: dict[Role, float] = {"up": 3.0, "untrimmed": 1.5, "down": 1.5}
_FEW_COUNTS = 12
# Ticks at 1, 2 and 5 of each power of ten; where that would be too many, at the powers alone.
_MOST_TICKS = 10


class Series(NamedTuple):
    """One line. Its role decides the colour; a line of single pods is dashed where totals stand beside it."""

    name: str
    role: Role
    xs: tuple[float, ...]
    ys: tuple[float | None, ...]
    dashed: bool = False


class Axis(NamedTuple):
    title: str
    log: bool = False
    # Where to write numbers; nothing where the drawer may choose.
    ticks: tuple[float, ...] = ()


class Chart(NamedTuple):
    key: str
    title: str
    label: str
    x: Axis
    y: Axis
    series: tuple[Series, ...]
    # Whether there is one mark for each count, and not a path between many points.
    marked: bool = False


class Panel(NamedTuple):
    """The charts of one resource."""

    resource: str
    charts: tuple[Chart, ...]


class ContainerGroup(NamedTuple):
    """All there is to see of containers that are alike."""

    name: str
    table: IntervalTable
    panels: tuple[Panel, ...]


def parts_of(hvpa: Hvpa) -> Iterator[ContainerGroup]:
    """An Hvpa, container by container."""
    tables = tables_of(hvpa)
    for table in tables:
        panels = [
            Panel(resource, charts_of(table, resource, curves))
            for resource in table.resources
            if (curves := curves_of(hvpa, table.containers[0], resource)) is not None
        ]
        yield ContainerGroup(named(table.containers, alone=len(tables) == 1), table, tuple(panels))


def charts_of(table: IntervalTable, resource: str, curves: Curves) -> tuple[Chart, ...]:
    """Replicas and size against the total, thresholds against replicas, and what is given beyond what is asked."""
    unit = UNITS[resource][0]
    asked = _axis(f"asked in total, {unit}", _numbers(resource, [p.asked for p in curves.up]), log=curves.wide)
    counts = _counts_axis([row.replicas for row in table.rows])
    sizes = [p.per_pod for curve in curves[:3] for p in curve]
    size = _axis(f"per pod, {unit}", _numbers(resource, sizes), log=curves.wide)
    return (
        Chart(
            "replicas",
            "Replicas",
            "How many pods a total is for, while it rises and while it falls.",
            asked,
            counts,
            tuple(_paths(curves, resource, lambda p: p.replicas, untrimmed=False)),
        ),
        Chart(
            "size",
            "Size of a pod",
            "While replicas rise nothing shrinks whose total does not fall; scaling down trims what is too much.",
            asked,
            size,
            tuple(_paths(curves, resource, lambda p: in_units(resource, p.per_pod), untrimmed=True)),
        ),
        _thresholds(table.rows, resource, counts),
        Chart(
            "deviation",
            "Given beyond what is asked",
            "Replicas times size, less the total that was asked for; below zero a bound cuts it.",
            asked,
            Axis(f"more than asked, {unit}"),
            tuple(_paths(curves, resource, lambda p: in_units(resource, _beyond(resource, p)), untrimmed=True)),
        ),
    )


def _beyond(resource: str, point: CurvePoint) -> int:
    """What is given beyond what was asked for; what only comes of rounding each pod is nothing."""
    more = point.given - point.asked
    return 0 if 0 <= more <= GRAINS[resource] * point.replicas else more


def _paths(curves: Curves, resource: str, value: Callable[[CurvePoint], float], *, untrimmed: bool) -> Iterator[Series]:
    lines: list[tuple[str, Role, tuple[CurvePoint, ...]]] = [("up", "up", curves.up), ("down", "down", curves.down)]
    if untrimmed:
        lines.insert(1, ("up, not trimmed yet", "untrimmed", curves.untrimmed))
    for name, role, points in lines:
        xs = tuple([in_units(resource, point.asked) for point in points])
        yield Series(name, role, xs, tuple([value(point) for point in points]))


def _thresholds(rows: Sequence[CountRow], resource: str, counts: Axis) -> Chart:
    unit = UNITS[resource][0]
    counted = tuple([float(row.replicas) for row in rows])
    lines: list[tuple[str, Role, bool, list[float | None]]] = [
        ("up to, in total", "up", False, [row.reaches[resource].up_to for row in rows]),
        ("down to, in total", "down", False, [row.reaches[resource].down_to for row in rows]),
        ("up to, per pod", "up", True, [row.up_to_per_pod(resource) for row in rows]),
        ("down to, per pod", "down", True, [row.down_to_per_pod(resource) for row in rows]),
    ]
    seen = [in_units(resource, y) for *_, ys in lines for y in ys if y]
    log = max(seen) >= WIDE * min(seen)
    series = [
        Series(name, role, counted, tuple([_shown(resource, y, log=log) for y in ys]), dashed)
        for name, role, dashed, ys in lines
        if any(ys)
    ]
    return Chart(
        "thresholds",
        "Thresholds",
        "Above the upper total a pod is added; below the lower one a pod may go.",
        counts,
        _axis(unit, seen, log=log),
        tuple(series),
        marked=len(rows) <= _FEW_COUNTS,
    )


def _shown(resource: str, amount: float | None, *, log: bool) -> float | None:
    """A logarithmic scale has no place for nothing."""
    return None if amount is None or (log and not amount) else in_units(resource, amount)


def _numbers(resource: str, amounts: Iterable[int]) -> list[float]:
    return [in_units(resource, amount) for amount in amounts if amount > 0]


def _counts_axis(counts: Sequence[int]) -> Axis:
    few = tuple([float(count) for count in counts]) if len(counts) <= _FEW_COUNTS else ()
    return Axis("replicas", ticks=few)


def _axis(title: str, numbers: Sequence[float], *, log: bool) -> Axis:
    return Axis(title, log, tuple(_ticks(min(numbers), max(numbers))) if log else ())


def _ticks(low: float, high: float) -> list[float]:
    """Round numbers within the ends, evenly spread to the eye on a logarithmic scale."""
    powers = range(floor(log10(low)), ceil(log10(high)) + 1)
    for digits in ((1, 2, 5), (1,)):
        ticks = [float(f"{digit}e{power}") for power in powers for digit in digits]
        within = [tick for tick in ticks if low <= tick <= high]
        if len(within) <= _MOST_TICKS:
            break
    return within
