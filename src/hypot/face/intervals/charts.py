"""The four charts of one resource as plain numbers: what to draw, not how."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from math import ceil, floor, log10
from typing import Literal, NamedTuple

from hypot.face.intervals.curves import WIDE, CurvePoint, Curves, curves_of
from hypot.face.intervals.table import UNITS, CountRow, IntervalTable, in_units, named, tables_of
from hypot.kinds.hvpa import Hvpa
from hypot.policy.hvpa.resolve import GRAINS

Role = Literal["up", "untrimmed", "down"]
# Distinguishable on white and on black, also for people with red-green colour blindness.
COLOURS: dict[Role, str] = {"up": "#1f7fd1", "untrimmed": "#1f7fd1", "down": "#d9730d"}
# The line that is drawn first is wider, so that it is visible below the others.
WIDTHS: dict[Role, float] = {"up": 3.0, "untrimmed": 1.5, "down": 1.5}
_FEW_COUNTS = 12
# Ticks at 1, 2 and 5 of each power of ten; if there would be too many, only at the powers.
_MOST_TICKS = 10


class Series(NamedTuple):
    """One line. Its role decides the colour; a line per pod is dashed if lines of totals are in the same chart."""

    name: str
    role: Role
    xs: tuple[float, ...]
    ys: tuple[float | None, ...]
    dashed: bool = False


class IntervalAxis(NamedTuple):
    title: str
    log: bool = False
    # Where to write numbers; empty: the renderer chooses.
    ticks: tuple[float, ...] = ()


class IntervalChart(NamedTuple):
    key: str
    title: str
    label: str
    x: IntervalAxis
    y: IntervalAxis
    series: tuple[Series, ...]
    # Whether there is one marker for each number of replicas, instead of a path through many points.
    marked: bool = False


class Panel(NamedTuple):
    """The charts of one resource."""

    resource: str
    charts: tuple[IntervalChart, ...]


class ContainerGroup(NamedTuple):
    """Everything that is shown for containers with the same intervals."""

    name: str
    table: IntervalTable
    panels: tuple[Panel, ...]


def parts_of(hvpa: Hvpa) -> Iterator[ContainerGroup]:
    """The parts of an Hvpa, container by container."""
    tables = tables_of(hvpa)
    for table in tables:
        panels = [
            Panel(resource, charts_of(table, resource, curves))
            for resource in table.resources
            if (curves := curves_of(hvpa, table.containers[0], resource)) is not None
        ]
        yield ContainerGroup(named(table.containers, alone=len(tables) == 1), table, tuple(panels))


def charts_of(table: IntervalTable, resource: str, curves: Curves) -> tuple[IntervalChart, ...]:
    """Replicas and size against the total, thresholds against replicas, and the excess over the requested total."""
    unit = UNITS[resource][0]
    asked = _axis(f"requested in total, {unit}", _numbers(resource, [p.asked for p in curves.up]), log=curves.wide)
    counts = _counts_axis([row.replicas for row in table.rows])
    sizes = [p.per_pod for curve in curves[:3] for p in curve]
    size = _axis(f"per pod, {unit}", _numbers(resource, sizes), log=curves.wide)
    return (
        IntervalChart(
            "replicas",
            "Replicas",
            "Replicas for a total, while it rises and while it falls.",
            asked,
            counts,
            tuple(_paths(curves, resource, lambda p: p.replicas, untrimmed=False)),
        ),
        IntervalChart(
            "size",
            "Size of a pod",
            "While replicas rise, no request is lowered unless its total falls; scaling down removes the excess.",
            asked,
            size,
            tuple(_paths(curves, resource, lambda p: in_units(resource, p.per_pod), untrimmed=True)),
        ),
        _thresholds(table.rows, resource, counts),
        IntervalChart(
            "deviation",
            "Excess over the request",
            "Replicas times size, minus the requested total; below zero, a bound limits it.",
            asked,
            IntervalAxis(f"more than requested, {unit}"),
            tuple(_paths(curves, resource, lambda p: in_units(resource, _beyond(resource, p)), untrimmed=True)),
        ),
    )


def _beyond(resource: str, point: CurvePoint) -> int:
    """The excess over the requested total; excess that only comes from rounding each pod counts as zero."""
    more = point.given - point.asked
    return 0 if 0 <= more <= GRAINS[resource] * point.replicas else more


def _paths(curves: Curves, resource: str, value: Callable[[CurvePoint], float], *, untrimmed: bool) -> Iterator[Series]:
    lines: list[tuple[str, Role, tuple[CurvePoint, ...]]] = [("up", "up", curves.up), ("down", "down", curves.down)]
    if untrimmed:
        lines.insert(1, ("up, not trimmed yet", "untrimmed", curves.untrimmed))
    for name, role, points in lines:
        xs = tuple([in_units(resource, point.asked) for point in points])
        yield Series(name, role, xs, tuple([value(point) for point in points]))


def _thresholds(rows: Sequence[CountRow], resource: str, counts: IntervalAxis) -> IntervalChart:
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
    return IntervalChart(
        "thresholds",
        "Thresholds",
        "Above the upper total a pod is added; below the lower total a pod may be removed.",
        counts,
        _axis(unit, seen, log=log),
        tuple(series),
        marked=len(rows) <= _FEW_COUNTS,
    )


def _shown(resource: str, amount: float | None, *, log: bool) -> float | None:
    """A logarithmic scale cannot show zero."""
    return None if amount is None or (log and not amount) else in_units(resource, amount)


def _numbers(resource: str, amounts: Iterable[int]) -> list[float]:
    return [in_units(resource, amount) for amount in amounts if amount > 0]


def _counts_axis(counts: Sequence[int]) -> IntervalAxis:
    few = tuple([float(count) for count in counts]) if len(counts) <= _FEW_COUNTS else ()
    return IntervalAxis("replicas", ticks=few)


def _axis(title: str, numbers: Sequence[float], *, log: bool) -> IntervalAxis:
    return IntervalAxis(title, log, tuple(_ticks(min(numbers), max(numbers))) if log else ())


def _ticks(low: float, high: float) -> list[float]:
    """Round numbers within the ends, evenly spread on a logarithmic scale."""
    powers = range(floor(log10(low)), ceil(log10(high)) + 1)
    for digits in ((1, 2, 5), (1,)):
        ticks = [float(f"{digit}e{power}") for power in powers for digit in digits]
        within = [tick for tick in ticks if low <= tick <= high]
        if len(within) <= _MOST_TICKS:
            break
    return within
