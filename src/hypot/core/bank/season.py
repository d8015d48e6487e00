"""What the demand was a day and a week ago: rings of slot means, read between the middles of two slots.

The ring of the day has minutes, that of the week ten minutes. Both keep a little more than one round, so that what
follows the same moment of yesterday is still there.
"""

from math import floor
from typing import Any, NamedTuple

# Slots of one round.
DAY, WEEK = 1440, 1008
# Slots that a ring keeps beyond one round.
MORE = 2
UNKNOWN = -1.0
# Slots without an observation, up to this many in a row, get the mean of the slot before them.
REACH = 3
# How far a season may scale the demand.
MOST_RATIO = 8.0
LEAST_DEMAND = 1e-3


class Season(NamedTuple):
    """The slot means of one ring; and of the slot in progress its number, sum, and count of observations."""

    means: Any
    slot: Any
    total: Any
    count: Any


def new_season(slots: int) -> Season:
    return Season([UNKNOWN] * (slots + MORE), [-1], [0.0], [0])


def add_to_season(season: Season, width: float, demand: float, now: float) -> None:
    """Add one observation. A slot that ends gets its mean."""
    slot, before = floor(now / width), season.slot[0]
    if slot < before:
        # The clock was set back: what is known of later slots stays.
        return
    if slot > before:
        fill(season, before, slot)
        season.slot[0], season.total[0], season.count[0] = slot, 0.0, 0
    season.total[0] += demand
    season.count[0] += 1
    season.means[slot % len(season.means)] = season.total[0] / season.count[0]


def fill(season: Season, before: int, slot: int) -> None:
    """Fill the slots that were skipped, or mark them as unknown."""
    size = len(season.means)
    known = before >= 0 and slot - before <= REACH + 1
    mean = season.means[before % size] if known else UNKNOWN
    for each in range(max(before + 1, slot - size + 1), slot):
        season.means[each % size] = mean
    season.means[slot % size] = UNKNOWN


def add_earlier(season: Season, older: Season) -> None:
    """Take the slots of an older season that this one does not know."""
    size = len(season.means)
    newest = season.slot[0] if season.slot[0] >= 0 else older.slot[0]
    season.slot[0] = newest
    for slot in range(max(0, newest - size + 1), newest + 1):
        if season.means[slot % size] < 0.0 and older.slot[0] - size < slot <= older.slot[0]:
            season.means[slot % size] = older.means[slot % size]


def busiest_slot(season: Season) -> float:
    """The largest mean of all slots that are known."""
    most = 0.0
    for mean in season.means:
        if mean > most:  # noqa: PLR1730  max() costs a call
            most = mean
    return most


def demand_at(season: Season, width: float, when: float) -> float:
    """The demand at that time, between the middles of two slots; UNKNOWN if either is."""
    place = when / width - 0.5
    slot = floor(place)
    newest, size = season.slot[0], len(season.means)
    if slot < 0 or slot <= newest - size or slot + 1 > newest:
        return UNKNOWN
    first, second = season.means[slot % size], season.means[(slot + 1) % size]
    if first < 0.0 or second < 0.0:
        return UNKNOWN
    return float(first + (second - first) * (place - slot))


def ratio_ahead(season: Season, width: float, now: float, then: float) -> float:
    """By which factor the demand changed between the same times of the round before; 1 if that is not known."""
    length = width * (len(season.means) - MORE)
    here, there = demand_at(season, width, now - length), demand_at(season, width, then - length)
    if here < LEAST_DEMAND or there < 0.0:
        return 1.0
    return min(MOST_RATIO, max(1.0 / MOST_RATIO, there / here))
