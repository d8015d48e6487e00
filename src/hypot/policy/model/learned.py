"""What was learned over weeks: the most that a workload needed of a resource in each slot, and what was left out."""

import zlib
from base64 import b64decode, b64encode
from collections.abc import Iterable, Mapping
from dataclasses import replace
from functools import lru_cache
from typing import Any, Literal, NamedTuple, Self, get_args

from hypot.core.dataclass import dataclass
from hypot.core.learning.slots import (
    DAYS,
    HOURS,
    STALE,
    SlotTable,
    empty,
    is_left_out,
    last_peak,
    place,
    slots_of,
    unpacked,
)
from hypot.kinds.derived import Deriving, derived, with_derived_of

# Why a time says nothing about what a workload needs.
Reason = Literal["saturated", "crash-loop", "unmeasured", "no-pods"]
REASONS: tuple[Reason, ...] = get_args(Reason)
MOST_LEFT_OUT = 168
MOST_WEEKS = 53
WEEK = 7 * 86_400
# Slots of all zones begin and end at a multiple of this.
_QUARTER = 900


class SlotLayout(NamedTuple):
    """How time is divided: slots of so many hours, in a week or a day, by the clock of a zone, over so many weeks."""

    hours: int = 1
    daily: bool = False
    zone: str = "UTC"
    weeks: int = 4

    def place(self, at: float) -> tuple[int, int]:
        """The turn and the slot of a time."""
        return place(at, self.hours, self.daily, self.zone)

    @property
    def slots(self) -> int:
        """How many slots a week has, or a day."""
        return slots_of(self.hours, self.daily)

    @property
    def seconds(self) -> float:
        """How long all of them last."""
        return self.slots * self.hours * 3600.0


class SlotTally(NamedTuple):
    """A slot in progress: the most needed so far, and how many observations count and do not count, by reason."""

    turn: int
    slot: int
    needed: int = 0
    counted: int = 0
    left_out: tuple[int, ...] = (0,) * len(REASONS)

    def observed(self, needed: int | None, reason: Reason | None) -> "SlotTally":
        if needed is not None:
            return self._replace(needed=max(self.needed, needed), counted=self.counted + 1)
        times = tuple([times + (each == reason) for each, times in zip(REASONS, self.left_out, strict=True)])
        return self._replace(left_out=times)

    @property
    def reason(self) -> Reason | None:
        """Why most of the slot says nothing; None if at least half of it counts."""
        if not is_left_out(self.counted, sum(self.left_out)):
            return None
        return REASONS[max(range(len(REASONS)), key=lambda each: self.left_out[each])]


class LeftOut(NamedTuple):
    """An occurrence of a slot that was left out, and why."""

    turn: int
    slot: int
    reason: Reason


@dataclass(frozen=True, slots=True)
class Learned(Deriving):
    """The needs of one place by slot, in millicores or mebibytes. Values derived from it ignore the tally."""

    layout: SlotLayout
    # The container and the resource.
    place: str
    # When it began to observe.
    since: float
    # The rows of `core.slots`.
    codes: bytes
    tally: SlotTally | None = None
    # The last occurrences that were left out, the oldest first.
    left_out: tuple[LeftOut, ...] = ()

    @classmethod
    def begun(cls, layout: SlotLayout, place: str, at: float) -> Self:
        return cls(layout, place, at, bytes(empty(layout.weeks, layout.hours, layout.daily).codes))

    def table(self) -> SlotTable:
        """A copy of the table, which may be changed."""
        return SlotTable(self.layout.slots, self.codes)

    def observed(self, at: float, needed: int | None, reason: Reason | None = None) -> "Learned":
        """With what is needed now, or why that is not known. The first observation in a slot ends the slot before."""
        turn, slot = self.layout.place(at)
        tally = self.tally
        if tally is not None and (turn, slot) < (tally.turn, tally.slot):
            # The clock was set back: this time was observed before.
            return self
        if tally is None or (turn, slot) != (tally.turn, tally.slot):
            return replace(self.ended(turn, slot), tally=SlotTally(turn, slot).observed(needed, reason))
        return with_derived_of(self, replace(self, tally=tally.observed(needed, reason)))

    def ended(self, turn: int, slot: int) -> "Learned":
        """With the slot that was in progress recorded, and those after it that nobody observed."""
        tally = self.tally
        if tally is None:
            return self
        table, left_out, reason = self.table(), self.left_out, tally.reason
        table.record(tally.turn, tally.slot, None if reason else tally.needed)
        if reason:
            left_out = (*left_out, LeftOut(tally.turn, tally.slot, reason))[-MOST_LEFT_OUT:]
        table.skip(tally.turn * table.slots + tally.slot + 1, turn * table.slots + slot)
        return replace(self, codes=table.codes.tobytes(), left_out=left_out)

    def relaid(self, layout: SlotLayout, now: float) -> "Learned":
        """The same needs in other slots: each has the highest of the former slots that overlap with it.

        A need that was dropped, because a later one in its former slot was as high, counts with that one.
        """
        old, new = self.layout, empty(layout.weeks, layout.hours, layout.daily)
        here, tally = old.place(now), self.tally
        is_behind = tally is not None and tally[:2] < here
        codes = (self.ended(*here) if is_behind else self).table().codes
        overlaps = _overlaps(old, layout, int(now) // _QUARTER * _QUARTER)
        highest: list[int | None] = []
        later, newest = [0] * old.slots, here[0] * old.slots + here[1]
        counts_now = tally is not None and not is_behind and tally.reason is None
        for _, former in reversed(overlaps):
            ended = [each for each in former if each < newest]
            for each in reversed(ended):
                code = codes[each % len(codes)]
                later[each % old.slots] = max(later[each % old.slots], code if code < STALE else 0)
            known = [unpacked(code) for each in ended if (code := later[each % old.slots])]
            if counts_now and tally is not None and newest in former:
                known.append(tally.needed)
            highest.append(max(known, default=None))
        highest.reverse()
        for (_, slot), former in overlaps:
            # What is older than the window stays where nothing newer is known.
            older = [codes[place] for each in former for place in range(each % old.slots, len(codes), old.slots)]
            new.codes[slot] = max([new.codes[slot], *[code for code in older if code >= STALE]])
        done = 0
        for ((turn, slot), _), needed in zip(overlaps[:-1], highest[:-1], strict=True):
            occurrence = turn * new.slots + slot
            new.skip(done or occurrence, occurrence)
            new.record(turn, slot, needed)
            done = occurrence + 1
        begun = None if tally is None else SlotTally(*overlaps[-1][0]).observed(highest[-1], None)
        left_out = self.left_out if old._replace(weeks=layout.weeks) == layout else ()
        return Learned(layout, self.place, self.since, new.codes.tobytes(), begun, left_out)

    def after(self, earlier: "Learned") -> "Learned":
        """With what was learned before it began, in the same place and slots; its own slots replace those of then."""
        first = self.layout.place(self.since)
        if earlier.tally is None or self.tally is None or earlier.tally[:2] > self.tally[:2]:
            return self
        before, own = earlier.ended(*first) if earlier.tally[:2] < first else earlier, self.table()
        table = before.table()
        slots, rows = table.slots, table.rows
        start, end = (turn * slots + slot for turn, slot in (first, self.tally[:2]))
        for occurrence in range(max(start, end - len(own.codes)), end):
            turn, slot = divmod(occurrence, slots)
            code = own.codes[turn % rows * slots + slot]
            table.record(turn, slot, unpacked(code) if 0 < code < STALE else None)
        left_out = (*(each for each in before.left_out if each[:2] < first), *self.left_out)[-MOST_LEFT_OUT:]
        since = min(self.since, earlier.since)
        return replace(self, since=since, codes=table.codes.tobytes(), left_out=left_out)

    def is_enough(self) -> bool:
        """Whether recorded usage stands for observing every slot once: half of them have data."""
        return 2 * self.known() >= self.layout.slots

    def known(self) -> int:
        """How many slots have data, without the slot in progress."""
        return _known_slots(self)

    def needed(self, at: float) -> tuple[int, tuple[int, ...]]:
        """The most that was needed in the slot of this time, now included; and the slots it was taken from instead.

        0 if nothing is known.
        """
        _, slot = self.layout.place(at)
        known, instead = _known(self, slot)
        now = self.tally.needed if self.tally is not None and self.tally.slot == slot else 0
        return (known, instead) if known > now else (now, ())

    def is_old(self, needed: int, slots: Iterable[int]) -> bool:
        """Whether this need of these slots is older than the weeks that bounds are learned from."""
        table = self.table()
        given = [slot for slot in slots if table.highest(slot) == needed]
        return bool(given) and all(table.is_stale(slot) for slot in given)

    def peak(self) -> int:
        """The most that was needed at any time."""
        return max(_peak(self), 0 if self.tally is None else self.tally.needed)

    def last_peak(self, at: float) -> int:
        """The most that was needed since each slot occurred last: in a week, or in a day with daily slots.

        A slot whose last occurrence is unknown counts with what it needed before.
        """
        now = 0 if self.tally is None else self.tally.needed
        return max(_last_peak(self, *self.layout.place(at)), now)

    def to_dict(self) -> dict[str, Any]:
        layout = self.layout
        return {
            "hours": layout.hours,
            "daily": layout.daily,
            "zone": layout.zone,
            "weeks": layout.weeks,
            "place": self.place,
            "since": self.since,
            "codes": b64encode(zlib.compress(self.codes, 9)).decode("ascii"),
            **({} if self.tally is None else {"tally": [*self.tally[:-1], *self.tally.left_out]}),
            **(
                {"leftOut": [[each.turn, each.slot, REASONS.index(each.reason)] for each in self.left_out]}
                if self.left_out
                else {}
            ),
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Self:
        """Raises a ValueError if it is not what `to_dict` gives."""
        try:
            return cls._read(data)
        except (KeyError, TypeError, IndexError, OverflowError, OSError, zlib.error) as error:
            raise ValueError(f"the learned slots cannot be read: {error}") from error

    @classmethod
    def _read(cls, data: Mapping[str, Any]) -> Self:
        layout = SlotLayout(int(data["hours"]), bool(data["daily"]), str(data["zone"]), int(data["weeks"]))
        if not 1 <= layout.hours <= HOURS or HOURS % layout.hours or not 1 <= layout.weeks <= MOST_WEEKS:
            raise ValueError(f"slots of {layout.hours} hours over {layout.weeks} weeks are not possible")
        layout.place(0.0)
        size = len(empty(layout.weeks, layout.hours, layout.daily).codes) * 2
        codes = zlib.decompressobj().decompress(b64decode(data["codes"], validate=True), size + 1)
        if len(codes) != size:
            raise ValueError("the table of slots has another size")
        tally = data.get("tally")
        left_out = [LeftOut(int(turn), int(slot), REASONS[reason]) for turn, slot, reason in data.get("leftOut", ())]
        begun = None if tally is None else _tally([int(each) for each in tally])
        return cls(layout, str(data["place"]), float(data["since"]), codes, begun, tuple(left_out))


@lru_cache(32)
def _overlaps(old: SlotLayout, new: SlotLayout, now: int) -> tuple[tuple[tuple[int, int], tuple[int, ...]], ...]:
    """The occurrences of new slots up to now, the oldest first, and those of the former slots that overlap with each.

    Former ones are counted over all turns and slots; the table has only the last of them.
    """
    found: dict[tuple[int, int], dict[int, None]] = {}
    turn, slot = old.place(now)
    newest = turn * old.slots + slot
    oldest = newest - DAYS * HOURS // old.hours * old.weeks
    weeks = max(old.weeks, new.weeks)
    for at in range(now - weeks * WEEK, now + 1, _QUARTER):
        turn, slot = old.place(at)
        occurrence = turn * old.slots + slot
        former = found.setdefault(new.place(at), {})
        if oldest <= occurrence <= newest:
            former[occurrence] = None
    return tuple([(at, tuple(former)) for at, former in sorted(found.items())])


def _tally(numbers: list[int]) -> SlotTally:
    turn, slot, needed, counted, *left_out = numbers
    return SlotTally(turn, slot, needed, counted, (*left_out, *[0] * len(REASONS))[: len(REASONS)])


@derived
def _known_slots(learned: Learned) -> int:
    table, slots = memoryview(learned.codes).cast("H"), learned.layout.slots
    return sum(any(table[slot::slots]) for slot in range(slots))


@derived
def _known(learned: Learned, slot: int) -> tuple[int, tuple[int, ...]]:
    """The most that was needed in a slot that has ended, and the slots it was taken from instead."""
    table = learned.table()
    needed = table.highest(slot)
    return (needed, ()) if needed else table.nearest(slot, HOURS // learned.layout.hours)


@derived
def _last_peak(learned: Learned, turn: int, slot: int) -> int:
    return last_peak(memoryview(learned.codes).cast("H"), learned.layout.slots, turn, slot)


@derived
def _peak(learned: Learned) -> int:
    return max(map(unpacked, memoryview(learned.codes).cast("H")))
