"""How an Hvpa responds to a demand that rises and falls again, for one resource of one container at a time.

Every point is decided by the rules of `hypot.policy`. Only the gates for time and minimum change are left out: the
curves show where a workload settles, not how soon.
"""

from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from math import exp, log
from typing import NamedTuple, Protocol

from hypot.core.axes.interval import Interval
from hypot.kinds.hvpa import Hvpa
from hypot.kinds.hvpa.intervals import intervals_of
from hypot.policy.hvpa.gates import OPEN, direction_of
from hypot.policy.hvpa.hvpa import paradox_gate
from hypot.policy.hvpa.proposal import Total
from hypot.policy.hvpa.resolve import ContainerNeed, sized, vote_of
from hypot.policy.model.current_size import CurrentSize

# Totals that differ by at least this factor are shown on a logarithmic scale; otherwise small ones would be invisible.
WIDE = 16
# How many points a screen can distinguish.
_STEPS = 240
# How far the demand goes beyond the last interval.
_BEYOND = 1.05
_UNTIL_REST = 20


class CurvePoint(NamedTuple):
    """The requested total, and the resulting replicas and size."""

    asked: int
    replicas: int
    per_pod: int

    @property
    def given(self) -> int:
        return self.replicas * self.per_pod


class Curves(NamedTuple):
    """A demand that rises, and one that falls from where the rising one ended.

    `untrimmed` is the rising demand while no request may be lowered: excess after a change of replicas stays.
    """

    up: tuple[CurvePoint, ...]
    untrimmed: tuple[CurvePoint, ...]
    down: tuple[CurvePoint, ...]
    wide: bool


class _CurvePlace(NamedTuple):
    hvpa: Hvpa
    container: str
    resource: str


class _State(NamedTuple):
    replicas: int
    per_pod: int


class _Stepwise(Protocol):
    def __call__(self, state: _State, total: int, /) -> _State: ...


def curves_of(hvpa: Hvpa, container: str, resource: str) -> Curves | None:
    """None if the intervals do not cover this resource."""
    intervals = intervals_of(hvpa, container, resource)
    if not intervals:
        return None
    place = _CurvePlace(hvpa, container, resource)
    wide = intervals[-1].high >= WIDE * intervals[0].high
    totals = _totals(intervals, wide=wide)
    refined = _apart(intervals) == 1
    start = _State(intervals[0].replicas, 0)
    up = tuple(_walk(partial(_rest, place), start, totals, refined=refined))
    untrimmed = tuple(_walk(partial(_never_less, place), start, totals, refined=refined))
    top = _State(up[-1].replicas, up[-1].per_pod)
    down = tuple(_walk(partial(_rest, place), top, totals[::-1], refined=refined))
    return Curves(up, untrimmed, down, wide)


def _totals(intervals: Sequence[Interval], *, wide: bool) -> list[int]:
    """Evenly spaced for the eye, and on both sides of every boundary: replicas fall right above one.

    If there are very many boundaries, only some are included.
    """
    first, last = intervals[0], intervals[-1]
    low = max(1, first.low * 3 // 4 or first.high // 8)
    high = int(last.high * _BEYOND)
    if wide:
        spaced = [round(exp(log(low) + (log(high) - log(low)) * i / _STEPS)) for i in range(_STEPS + 1)]
    else:
        spaced = [low + (high - low) * i // _STEPS for i in range(_STEPS + 1)]
    ends = {end for one in intervals[:: _apart(intervals)] for end in (one.low, one.low - 1, one.high, one.high + 1)}
    return sorted({*spaced, *(end for end in ends if low <= end <= high)})


def _apart(intervals: Sequence[Interval]) -> int:
    return -(-len(intervals) // _STEPS)


def _walk(step: _Stepwise, state: _State, totals: Iterable[int], *, refined: bool) -> Iterator[CurvePoint]:
    """Every point on the way; where replicas change, also the last point before and the first one after."""
    before: int | None = None
    for total in totals:
        after = step(state, total)
        while refined and before not in {None, total} and after.replicas != state.replicas:
            held, state, edge = _edge(step, state, before, total)
            yield held
            yield CurvePoint(edge, *state)
            before, after = edge, step(state, total)
        state, before = after, total
        yield CurvePoint(total, *state)


def _edge(step: _Stepwise, state: _State, before: int, total: int) -> tuple[CurvePoint, _State, int]:
    """The last point with the old replicas, and the first with other replicas, at adjacent totals."""
    replicas = state.replicas
    held, after = CurvePoint(before, *state), step(state, total)
    while abs(total - before) > 1:
        middle = (before + total) // 2
        reached = step(state, middle)
        if reached.replicas == replicas:
            held, before = CurvePoint(middle, *reached), middle
        else:
            after, total = reached, middle
    return held, after, total


def _rest(place: _CurvePlace, state: _State, total: int) -> _State:
    """The state in which a workload settles when this total is requested repeatedly."""
    for _ in range(_UNTIL_REST):
        after = _decided(place, state, total)
        if after == state:
            break
        state = after
    return state


def _never_less(place: _CurvePlace, state: _State, total: int) -> _State:
    return state if total <= state.replicas * state.per_pod else _decided(place, state, total)


def _decided(place: _CurvePlace, state: _State, total: int) -> _State:
    """One decision, as `hypot.policy.hvpa.hvpa` makes it for a single source that is fully trusted."""
    hvpa, container, resource = place
    now = {resource: state.replicas * state.per_pod}
    asked = Total(total, "demand")
    current_size = CurrentSize(container, {resource: state.per_pod}, {}, now)
    amounts = {resource: total}
    need = ContainerNeed(current_size, {resource: asked}, ((resource, asked),), amounts, direction_of(now, amounts))
    vote = vote_of(hvpa, need, state.replicas)
    if vote is None or paradox_gate(hvpa, need, state.replicas, vote.replicas) != OPEN:
        return state
    size = sized(hvpa, need, state.replicas, vote.replicas).size
    return _State(vote.replicas, size.requests[resource])
