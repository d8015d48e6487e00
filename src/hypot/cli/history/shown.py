"""What a Tortoise learned, as text and as JSON."""

from collections.abc import Iterator
from typing import Any

from hypot.cli.history.tortoises import TortoiseEntry
from hypot.cli.verdict import Glyphs
from hypot.core.amount import readable
from hypot.core.instant import show_time
from hypot.core.learning.slots import HOURS
from hypot.face.history.charts import LearnedWeek
from hypot.face.intervals.table import UNITS, figure
from hypot.face.style import printable
from hypot.kinds.base import count_of
from hypot.kinds.tortoise.status import WEEKDAYS
from hypot.policy.tortoise.needs import amount_of
from hypot.policy.tortoise.report import slot_hours
from hypot.policy.tortoise.week import LearnedSlot, day_of

_NONE = "-"
_SHOWN_LEFT_OUT = 3


def lines_of(week: LearnedWeek | str, glyphs: Glyphs) -> Iterator[str]:
    """The table of all slots, or why there is none."""
    if isinstance(week, str):
        yield from (f"    {printable(line)}" for line in week.split("\n"))
        return
    layout, resource = week.learned.layout, week.resource
    unit = UNITS[resource][0]
    what = f"{resource} of {printable(week.learned.place.rpartition('/')[0])}, {week.amount(week.size)} per pod"
    weeks = f"{count_of(layout.weeks, 'week')} by the clock of {layout.zone}"
    yield f"    {what}; {weeks}; since {show_time(week.learned.since)}"
    yield ""
    turns = _turns(week)
    heads = ["slot", "min", "max", unit, *[f"{day_of(week.learned, turn, 0):%m-%d}" for turn in turns], ""]
    rows = [_cells(week, slot, turns) for slot in week.slots]
    widths = [max(map(len, column)) for column in zip(heads, *rows, strict=True)]
    yield f"    {glyphs.style(_joined(heads, widths), bold=True)}"
    yield from (f"    {_joined(row, widths)}" for row in rows)
    if turns:
        yield ""
        missing = f"{_NONE}: no data, or not more than later."
        yield f"    {unit}: the most needed in the slot, and in the week of each Sunday. {missing}"


def _joined(cells: list[str], widths: list[int]) -> str:
    first, *middle, last = cells
    parts = [
        first.ljust(widths[0]),
        *(cell.rjust(width) for cell, width in zip(middle, widths[1:-1], strict=True)),
        last,
    ]
    return "  ".join(parts).rstrip()


def _turns(week: LearnedWeek) -> list[int]:
    """The weeks with a need, the oldest first; days are too many for a table."""
    if week.learned.layout.daily:
        return []
    return sorted({turn for slot in week.slots for turn, _ in slot.needs if turn is not None})


def _cells(week: LearnedWeek, slot: LearnedSlot, turns: list[int]) -> list[str]:
    needs = dict(slot.needs)
    shown = [_figure(week, needs[turn]) if turn in needs else _NONE for turn in turns]
    bounds = [str(slot.low), str(slot.high), _figure(week, slot.needed)] if slot.needed else [_NONE] * 3
    return [slot_hours(week.learned.layout, slot.slot), *bounds, *shown, "; ".join(_notes(week, slot))]


def _notes(week: LearnedWeek, slot: LearnedSlot) -> Iterator[str]:
    layout = week.learned.layout
    if slot.instead:
        yield f"no history, as {', '.join(slot_hours(layout, each) for each in slot.instead)}"
    if None in [turn for turn, _ in slot.needs]:
        yield "nothing counted in these weeks, as before"
    for each in slot.left_out[-_SHOWN_LEFT_OUT:]:
        yield f"{day_of(week.learned, each.turn, each.slot)} left out: {each.reason}"
    if len(slot.left_out) > _SHOWN_LEFT_OUT:
        yield f"and {len(slot.left_out) - _SHOWN_LEFT_OUT} before"


def _figure(week: LearnedWeek, needed: int) -> str:
    return figure(week.resource, amount_of(week.resource, needed))


def as_dict(entry: TortoiseEntry, week: LearnedWeek | str) -> dict[str, Any]:
    """One entry of what -o json prints; history.schema.json describes it."""
    tortoise, target = entry.tortoise, entry.target
    found: dict[str, Any] = {
        "namespace": tortoise.namespace,
        "name": tortoise.name,
        "file": entry.source.file,
        "line": entry.source.line,
        "target": {"apiVersion": target.api_version, "kind": target.kind, "name": target.name},
    }
    if isinstance(week, str):
        return {**found, "missing": week}
    layout, learned = week.learned.layout, week.learned
    container, _, resource = learned.place.rpartition("/")
    return {
        **found,
        "container": container,
        "resource": resource,
        "size": readable(resource, amount_of(resource, week.size)),
        "slotHours": layout.hours,
        "slotPeriod": "daily" if layout.daily else "weekly",
        "timeZone": layout.zone,
        "windowWeeks": layout.weeks,
        "since": show_time(learned.since),
        "slots": [_slot_as_dict(week, slot) for slot in week.slots],
    }


def _slot_as_dict(week: LearnedWeek, slot: LearnedSlot) -> dict[str, Any]:
    layout, learned, resource = week.learned.layout, week.learned, week.resource
    day, hour = divmod(slot.slot * layout.hours, HOURS)

    def shown(needed: int) -> str:
        return readable(resource, amount_of(resource, needed))

    return {
        **({} if layout.daily else {"weekday": WEEKDAYS[day]}),
        "from": hour,
        "to": hour + layout.hours,
        "minReplicas": slot.low if slot.needed else None,
        "maxReplicas": slot.high if slot.needed else None,
        "needed": shown(slot.needed) if slot.needed else None,
        "instead": [slot_hours(layout, each) for each in slot.instead],
        "needs": [
            {
                "day": None if turn is None else day_of(learned, turn, slot.slot).isoformat(),
                "needed": shown(needed),
                "replicas": round(needed / week.size, 3),
            }
            for turn, needed in slot.needs
        ],
        "leftOut": [
            {"day": day_of(learned, each.turn, each.slot).isoformat(), "reason": each.reason} for each in slot.left_out
        ],
    }
