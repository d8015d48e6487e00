"""The week of one Tortoise as a chart: learned bounds, what each week needed, and what was left out."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from hypot.core.amount import brief
from hypot.core.learning.slots import HOURS
from hypot.face.chart import Axis, Chart, Dots, Line, Symbol
from hypot.face.style import tint_of
from hypot.kinds.tortoise.status import WEEKDAYS
from hypot.policy.model.learned import Learned
from hypot.policy.tortoise.needs import amount_of
from hypot.policy.tortoise.report import slot_hours
from hypot.policy.tortoise.week import LearnedSlot, day_of

_BOUNDS = "tint-1"
_LEFT_OUT = "tint-7"
# The needs of the last weeks; the bounds and what was left out have the others.
_WEEKS = (1, 2, 4, 5, 3)
_DOT, _CROSS = 6.0, 8.0
_TICK_HOURS = 3
_MARGIN = 0.05


class LearnedWeek(NamedTuple):
    """What one Tortoise learned of one resource, by slot, at today's size in the unit of needs."""

    name: str
    target: str
    learned: Learned
    size: int
    slots: tuple[LearnedSlot, ...]

    @property
    def resource(self) -> str:
        return self.learned.place.rpartition("/")[2]

    def amount(self, needed: int) -> str:
        return brief(self.resource, amount_of(self.resource, needed))

    def when(self, turn: int | None, slot: int) -> str:
        """An occurrence of a slot, with its day."""
        day = "before these weeks" if turn is None else day_of(self.learned, turn, slot).isoformat()
        return f"{slot_hours(self.learned.layout, slot)}, {day}"


def chart_of(week: LearnedWeek) -> Chart:
    return Chart(
        "week",
        "Replicas by slot",
        "The band is from the learned minimum to the learned maximum. A dot is the most that was needed in a slot of a "
        "week; needs that are not higher than a newer one are not kept.",
        _slot_axis(week),
        _replica_axis(week),
        tuple(_bounds(week)),
        (*_needs(week), *_left_out(week)),
        legend=True,
    )


def _replica_axis(week: LearnedWeek) -> Axis:
    """With room below zero for what was left out."""
    top = max(
        [slot.high for slot in week.slots] + [needed / week.size for slot in week.slots for _, needed in slot.needs]
    )
    return Axis("replicas of today's size", ends=(-_MARGIN * top, (1 + _MARGIN) * top))


def _slot_axis(week: LearnedWeek) -> Axis:
    layout = week.learned.layout
    zone = f"by the clock of {layout.zone}"
    if layout.daily:
        hours = tuple([float(hour) for hour in range(0, HOURS + 1, _TICK_HOURS)])
        return Axis(zone, ticks=hours, label=tuple([f"{hour:g}:00" for hour in hours]), ends=(0.0, float(HOURS)))
    days = tuple([float(day * HOURS) for day in range(len(WEEKDAYS))])
    return Axis(zone, ticks=days, label=tuple(WEEKDAYS), ends=(0.0, float(HOURS * len(WEEKDAYS))))


def _bounds(week: LearnedWeek) -> Iterator[Line]:
    """The band, and its two edges as steps; parts without any need are left out."""
    hours = week.learned.layout.hours
    xs = [float((slot.slot + end) * hours) for slot in week.slots for end in (0, 1)]
    lows = [float(slot.low) for slot in week.slots for _ in (0, 1)]
    highs = [float(slot.high) for slot in week.slots for _ in (0, 1)]
    if not any(highs):
        return
    yield Line("learned bounds", "", _BOUNDS, (*xs, *reversed(xs)), (*highs, *reversed(lows)), look="shape")
    yield Line("maximum", "", _BOUNDS, tuple(xs), tuple(highs), width=1.8)
    yield Line("minimum", "", _BOUNDS, tuple(xs), tuple(lows), dash="dot", width=1.8)


def _needs(week: LearnedWeek) -> Iterator[Dots]:
    """The needs of each week, the oldest first; those of daily slots together."""
    by_week: dict[int, list[tuple[float, float, str]]] = {}
    for slot in week.slots:
        for turn, needed in slot.needs:
            key = 0 if turn is None or week.learned.layout.daily else turn
            text = f"{week.when(turn, slot.slot)}: {week.amount(needed)} of {week.resource}"
            by_week.setdefault(key, []).append((_middle(week, slot.slot), needed / week.size, text))
    for number, (turn, points) in enumerate(sorted(by_week.items())):
        title = f"week of {day_of(week.learned, turn, 0)}" if turn else "needed"
        yield _dots(title, tint_of(_WEEKS[number % len(_WEEKS)]), points, "dot", _DOT)


def _left_out(week: LearnedWeek) -> Iterator[Dots]:
    found = [
        (_middle(week, each.slot), 0.0, f"{week.when(each.turn, each.slot)}: left out, {each.reason}")
        for slot in week.slots
        for each in slot.left_out
    ]
    if found:
        yield _dots("left out", _LEFT_OUT, found, "killed", _CROSS)


def _dots(title: str, tint: str, points: Sequence[tuple[float, float, str]], symbol: Symbol, size: float) -> Dots:
    count = len(points)
    xs, ys, texts = zip(*points, strict=True)
    return Dots(title, "", tint, xs, ys, (symbol,) * count, (size,) * count, tuple([(text,) for text in texts]))


def _middle(week: LearnedWeek, slot: int) -> float:
    return (slot + 0.5) * week.learned.layout.hours
