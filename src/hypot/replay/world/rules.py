"""Rules that must hold between the parameters of a world."""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace
from decimal import Decimal
from itertools import pairwise
from math import ceil
from typing import Any, NamedTuple

from hypot.replay.world.parameters import Drop, Span, World
from hypot.replay.world.units import Parameter, sections, shown_in

Where = tuple[str | int, ...]


class Trouble(NamedTuple):
    """A problem of a world, and its place."""

    where: Where
    message: str


class _Order(NamedTuple):
    """Two parameters, of which the first must not be above the second, and advice."""

    section: str
    low: str
    high: str
    todo: str


_LONGEST_WINDOW = 86400.0
_LIMIT = "write the limit as well, or null for none"
_ORDERS = (
    _Order("service", "deadline", "timeout", "a request that is lost earlier can never be late"),
    _Order("pods", "create", "start", "containers run before a pod is ready"),
    _Order("pods", "backoff", "longestBackoff", "the first wait is the shortest"),
    _Order("workload", "cpu", "cpuLimit", _LIMIT),
    _Order("workload", "memory", "memoryLimit", _LIMIT),
    _Order("shapes", "minReplicas", "maxReplicas", "write both"),
    _Order("shapes", "minCpu", "maxCpu", "write both"),
    _Order("shapes", "minMemory", "maxMemory", "write both"),
)


def inconsistencies(world: World, written: Collection[Where], unread: Collection[Where]) -> Iterator[Trouble]:
    """The contradictions in a world. Parameters that could not be read were reported before and are not checked."""
    judge = _Judge(world, written, unread)
    yield from judge.orders()
    yield from judge.one_scale()
    yield from judge.stretches("demand", "drops", world.demand.drops)
    yield from judge.stretches("metrics", "gaps", world.metrics.gaps)
    yield from judge.pod_on_a_node()
    yield from judge.short_window()


def in_whole_ticks(world: World) -> World:
    """Metrics are averaged over whole ticks, so their window is rounded up; in decimals, as users write both."""
    tick, window = Decimal(repr(world.tick)), Decimal(repr(world.metrics.window))
    nearest = max(round(window / tick), 1)
    ticks = nearest if float(nearest * tick) == world.metrics.window else ceil(window / tick)
    rounded = float(ticks * tick)
    return world if rounded == world.metrics.window else replace(world, metrics=replace(world.metrics, window=rounded))


class _Judge:
    def __init__(self, world: World, written: Collection[Where], unread: Collection[Where]) -> None:
        self._world, self._written, self._unread = world, frozenset(written), frozenset(unread)

    def orders(self) -> Iterator[Trouble]:
        for order in _ORDERS:
            places: tuple[Where, Where] = ((order.section, order.low), (order.section, order.high))
            if not self._unread.isdisjoint(places):
                continue
            low, high = (self._value(place) for place in places)
            if high is None or low <= high:
                continue
            message = f"{self._said(places[0])} is above {self._said(places[1])}; {order.todo}"
            yield Trouble(self._place(*places), message)

    def one_scale(self) -> Iterator[Trouble]:
        demand, places = self._world.demand, (("demand", "peak"), ("demand", "scale"))
        if self._unread.isdisjoint(places) and demand.peak is not None and demand.scale != 1:
            yield Trouble(places[1], "demand.scale and demand.peak both say how large a trace is; write one of them")

    def stretches(self, section: str, name: str, given: Sequence[Span | Drop]) -> Iterator[Trouble]:
        """Each must begin after the one before it has ended."""
        if (section, name) in self._unread:
            return
        for i, (before, one) in enumerate(pairwise(given), 1):
            if one.start < before.end:
                start, end = (shown_in("seconds", at) for at in (one.start, before.end))
                message = f"{section}.{name}[{i}].start: {start} is before the end of the previous entry, {end}"
                yield Trouble((section, name, i, "start"), f"{message}; write them in order")

    def pod_on_a_node(self) -> Iterator[Trouble]:
        """If nodes are counted, a node must have room for at least one pod."""
        nodes, workload = self._world.nodes, self._world.workload
        if nodes.start is None:
            return
        for name, asked, node in (("cpu", workload.cpu, nodes.cpu), ("memory", workload.memory, nodes.memory)):
            places: tuple[Where, Where] = (("workload", name), ("nodes", name))
            involved = {*places, ("nodes", "reserved"), ("nodes", "start")}
            if self._unread.isdisjoint(involved) and asked > node * (1 - nodes.reserved):
                message = f"{self._said(places[0])} is more than a node has for pods: {self._said(places[1])}"
                kept = f"of which {self._said(('nodes', 'reserved'))} is for the system"
                yield Trouble(self._place(*places), f"{message}, {kept}; use larger nodes")

    def short_window(self) -> Iterator[Trouble]:
        place: Where = ("metrics", "window")
        if self._unread.isdisjoint({place, ("tick",)}) and self._world.metrics.window > _LONGEST_WINDOW:
            yield Trouble(place, f"{self._said(place)} is more than 24h; autoscalers work with minutes")

    def _value(self, place: Where) -> Any:
        section, parameter = _found(place)
        return getattr(getattr(self._world, section), parameter.attribute)

    def _said(self, place: Where) -> str:
        """A parameter with its value, and a note if that is the default."""
        _, parameter = _found(place)
        default = "" if place in self._written else ", the default"
        return f"{'.'.join(map(str, place))} ({shown_in(parameter.unit, self._value(place))}{default})"

    def _place(self, *places: Where) -> Where:
        """Where to look: at the first place that is in the file."""
        return next((place for place in places if place in self._written), places[0])


def _found(place: Where) -> tuple[str, Parameter]:
    section = next(one for one in sections() if one.name == place[0])
    return section.attribute, next(one for one in section.parameters if one.name == place[1])
