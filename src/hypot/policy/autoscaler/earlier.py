"""What an Autoscaler learns from the usage before it was made: what the demand was a day and a week ago."""

from collections.abc import Iterable
from math import floor

from hypot.core.bank.learn import LEAST_DEMAND
from hypot.core.bank.season import DAY, MORE, UNKNOWN, WEEK, Season, add_to_season, new_season
from hypot.policy.model.autoscaler_checkpoint import MINUTE, TEN_MINUTES, minute_of_week
from hypot.policy.model.autoscaler_state import AutoscalerState


def with_earlier(state: AutoscalerState, demands: Iterable[tuple[float, float]]) -> AutoscalerState:
    """The state with what it does not know yet from these times and demands in cores, the oldest first.

    The bank prices nothing for them: what rules would have cost is known only for its own steps.
    """
    older = new_season(WEEK)
    for at, cores in demands:
        add_to_season(older, TEN_MINUTES, max(LEAST_DEMAND, cores), at)
    new = state.copy()
    day, week = new.past.learned.day, new.past.learned.week
    add_earlier(week, older)
    if day.slot[0] < 0:
        day.slot[0] = floor((week.slot[0] + 1) * TEN_MINUTES / MINUTE) - 1
    newest = day.slot[0]
    for minute in range(max(0, newest - DAY - MORE + 1), newest + 1):
        if day.means[minute % (DAY + MORE)] < 0.0:
            day.means[minute % (DAY + MORE)] = minute_of_week(week, minute)
    return new


def add_earlier(season: Season, older: Season) -> None:
    """Take the slots of an older season that this one does not know."""
    size = len(season.means)
    newest = season.slot[0] if season.slot[0] >= 0 else older.slot[0]
    season.slot[0] = newest
    for slot in range(max(0, newest - size + 1), newest + 1):
        if season.means[slot % size] < 0.0 and older.slot[0] - size < slot <= older.slot[0]:
            season.means[slot % size] = older.means[slot % size]


def known_slots(state: AutoscalerState) -> int:
    """Of how many ten minutes of a week it knows the demand."""
    return min(WEEK, sum(1 for mean in state.past.learned.week.means if mean != UNKNOWN))
