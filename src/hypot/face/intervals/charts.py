"""The four charts of one resource, as plain numbers."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from math import nan
from typing import NamedTuple

from hypot.face.chart import Axis, Chart, Line, ticks_at
from hypot.face.intervals.curves import WIDE, CurvePoint, Curves, curves_of
from hypot.face.intervals.table import UNITS, CountRow, IntervalTable, in_units, named, tables_of
from hypot.kinds.hvpa import Hvpa
from hypot.policy.hvpa.resolve import GRAINS

_RISING, _FALLING = "tint-1", "tint-2"
# The line that is drawn first is wider, so that it is visible below the others.
_BROAD, _NARROW = 3.0, 1.5
_FEW_COUNTS = 12
# Ticks at 1, 2 and 5 of each power of ten; if there would be too many, only at the powers.
_MOST_TICKS = 10


class Panel(NamedTuple):
    """The charts of one resource."""

    resource: str
    charts: tuple[Chart, ...]


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


def charts_of(table: IntervalTable, resource: str, curves: Curves) -> tuple[Chart, ...]:
    """Replicas and size against the total, thresholds against replicas, and the excess over the requested total."""
    unit = UNITS[resource][0]
    asked = _axis(f"requested in total, {unit}", _numbers(resource, [p.asked for p in curves.up]), log=curves.wide)
    counts = _counts_axis([row.replicas for row in table.rows])
    sizes = _numbers(resource, [p.per_pod for curve in curves[:3] for p in curve])
    size = _axis(f"per pod, {unit}", sizes, log=max(sizes, default=0) >= WIDE * min(sizes, default=1))
    excess = _paths(curves, resource, lambda p: in_units(resource, _beyond(resource, p)), untrimmed=True)
    return (
        Chart(
            "replicas",
            "Replicas",
            "Replicas for a total, while it rises and while it falls.",
            asked,
            counts,
            tuple(_paths(curves, resource, lambda p: p.replicas, untrimmed=False)),
            legend=True,
        ),
        Chart(
            "size",
            "Size of a pod",
            "While replicas rise, no request is lowered unless its total falls; scaling down removes the excess.",
            asked,
            size,
            tuple(_paths(curves, resource, lambda p: in_units(resource, p.per_pod), untrimmed=True)),
            legend=True,
        ),
        _thresholds(table.rows, resource, counts),
        Chart(
            "deviation",
            "Excess over the request",
            "Replicas times size, minus the requested total; below zero, a bound limits it.",
            asked,
            Axis(f"more than requested, {unit}"),
            tuple([line._replace(texts=_percents(line)) for line in excess]),
            legend=True,
        ),
    )


def _beyond(resource: str, point: CurvePoint) -> int:
    """The excess over the requested total; excess that only comes from rounding each pod counts as zero."""
    more = point.given - point.asked
    return 0 if 0 <= more <= GRAINS[resource] * point.replicas else more


def _percents(line: Line) -> tuple[str, ...]:
    return tuple([f" ({100 * y / x:+.0f} %)" for x, y in zip(line.xs, line.ys, strict=True)])


def _paths(curves: Curves, resource: str, value: Callable[[CurvePoint], float], *, untrimmed: bool) -> Iterator[Line]:
    def line(name: str, points: Sequence[CurvePoint], tint: str, width: float, dash: str = "solid") -> Line:
        xs = tuple([in_units(resource, point.asked) for point in points])
        return Line(name, "", tint, xs, tuple([value(point) for point in points]), dash=dash, width=width)

    yield line("up", curves.up, _RISING, _BROAD)
    if untrimmed:
        yield line("up, not trimmed yet", curves.untrimmed, _RISING, _NARROW, "dot")
    yield line("down", curves.down, _FALLING, _NARROW)


def _thresholds(rows: Sequence[CountRow], resource: str, counts: Axis) -> Chart:
    unit = UNITS[resource][0]
    counted = tuple([float(row.replicas) for row in rows])
    lines: list[tuple[str, str, float, str, list[float | None]]] = [
        ("up to, in total", _RISING, _BROAD, "solid", [row.reaches[resource].up_to for row in rows]),
        ("down to, in total", _FALLING, _NARROW, "solid", [row.reaches[resource].down_to for row in rows]),
        ("up to, per pod", _RISING, _BROAD, "dash", [row.up_to_per_pod(resource) for row in rows]),
        ("down to, per pod", _FALLING, _NARROW, "dash", [row.down_to_per_pod(resource) for row in rows]),
    ]
    seen = [in_units(resource, y) for *_, ys in lines for y in ys if y]
    log = max(seen) >= WIDE * min(seen)
    marked = len(rows) <= _FEW_COUNTS
    drawn = [
        Line(name, "", tint, counted, _shown(resource, ys, log=log), dash=dash, width=width, marked=marked)
        for name, tint, width, dash, ys in lines
        if any(ys)
    ]
    return Chart(
        "thresholds",
        "Thresholds",
        "Above the upper total a pod is added; below the lower total a pod may be removed.",
        counts,
        _axis(unit, seen, log=log),
        tuple(drawn),
        legend=True,
    )


def _shown(resource: str, amounts: Iterable[float | None], *, log: bool) -> tuple[float, ...]:
    """A logarithmic scale cannot show zero."""
    return tuple([nan if y is None or (log and not y) else in_units(resource, y) for y in amounts])


def _numbers(resource: str, amounts: Iterable[int]) -> list[float]:
    return [in_units(resource, amount) for amount in amounts if amount > 0]


def _counts_axis(counts: Sequence[int]) -> Axis:
    few = tuple([float(count) for count in counts]) if len(counts) <= _FEW_COUNTS else ()
    return Axis("replicas", ticks=few, whole=True)


def _axis(title: str, numbers: Sequence[float], *, log: bool) -> Axis:
    if not log:
        return Axis(title)
    ends = min(numbers), max(numbers)
    ticks = ticks_at((1, 2, 5), *ends)
    if len(ticks) > _MOST_TICKS:
        ticks = ticks_at((1,), *ends)
    return Axis(title, "log", ticks)
