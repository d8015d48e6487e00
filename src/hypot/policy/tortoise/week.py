"""What was learned, slot by slot, in replicas of today's size."""

from collections.abc import Iterator
from datetime import date
from typing import NamedTuple

from hypot.core.axes.shape import Counts
from hypot.core.learning.slots import DAYS, HOURS, STALE, SlotTable, bounds_of, unpacked
from hypot.kinds.tortoise.settings import TortoiseSettings
from hypot.policy.model.learned import Learned, LeftOut


class SlotNeed(NamedTuple):
    """What was needed in one occurrence of a slot; `turn` is None if it is older than the window."""

    turn: int | None
    needed: int


class LearnedSlot(NamedTuple):
    """One slot: its bounds in replicas, both 0 if nothing is known, and the needs that they come from.

    Needs that are not higher than a newer one are not kept.
    """

    slot: int
    low: int
    high: int
    needed: int
    # The slots that the need was taken from instead.
    instead: tuple[int, ...]
    needs: tuple[SlotNeed, ...]
    left_out: tuple[LeftOut, ...]


class BoundsRule(NamedTuple):
    """How the need of a slot becomes bounds."""

    low_factor: float
    high_factor: float
    least: int
    most_low: int
    most: int

    def bounds(self, needed: int, size: int) -> tuple[int, int]:
        """The least and the most replicas of this size for the most that a slot needed; both 0 if that is unknown."""
        return bounds_of(needed, size, *self) if needed and size else (0, 0)


def bounds_rule(counts: Counts, settings: TortoiseSettings) -> BoundsRule:
    most_low = min(settings.maximum_min_replicas, counts.most)
    low, high = settings.min_replicas_multiplier, settings.max_replicas_multiplier
    return BoundsRule(low, high, counts.least, most_low, counts.most)


def slots_learned(learned: Learned, size: int, rule: BoundsRule) -> tuple[LearnedSlot, ...]:
    """Every slot of the week, or of the day, without the slot in progress."""
    table = learned.table()
    return tuple([_slot(learned, table, slot, size, rule) for slot in range(table.slots)])


def _slot(learned: Learned, table: SlotTable, slot: int, size: int, rule: BoundsRule) -> LearnedSlot:
    needed, instead = table.highest(slot), tuple[int, ...]()
    if not needed:
        needed, instead = table.nearest(slot, HOURS // learned.layout.hours)
    low, high = rule.bounds(needed, size)
    left_out = tuple([each for each in learned.left_out if each.slot == slot])
    return LearnedSlot(slot, low, high, needed, instead, tuple(_needs(learned, table, slot)), left_out)


def _needs(learned: Learned, table: SlotTable, slot: int) -> Iterator[SlotNeed]:
    """What is kept of a slot, the oldest first."""
    if learned.tally is None:
        return
    newest = learned.tally.turn - (slot >= learned.tally.slot)
    codes = table.column(slot)
    for turn in range(newest - table.rows + 1, newest + 1):
        code = codes[turn % table.rows]
        if code:
            yield SlotNeed(None if code >= STALE else turn, unpacked(code))


def day_of(learned: Learned, turn: int, slot: int) -> date:
    """The day of an occurrence, by the clock of the zone."""
    if learned.layout.daily:
        return date.fromordinal(turn)
    return date.fromordinal(turn * DAYS + slot * learned.layout.hours // HOURS)
