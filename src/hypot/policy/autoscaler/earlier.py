"""What an Autoscaler learns from the usage before it was made: what the demand was a day and a week ago."""

from collections.abc import Iterable
from math import floor

from hypot.core.bank.learn import LEAST_DEMAND
from hypot.core.bank.season import UNKNOWN, WEEK, add_earlier, add_to_season, new_season
from hypot.policy.model.autoscaler_checkpoint import MINUTE, TEN_MINUTES, fill_minutes
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
    fill_minutes(day, week)
    return new


def known_slots(state: AutoscalerState) -> int:
    """Of how many ten minutes of a week it knows the demand."""
    return min(WEEK, sum(1 for mean in state.past.learned.week.means if mean != UNKNOWN))
