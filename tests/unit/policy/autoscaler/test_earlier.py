"""Usage before an Autoscaler was made becomes its day and its week; what it observed itself stays."""

from math import pi, sin

import pytest

from hypot.core.bank.learn import LEAST_DEMAND
from hypot.core.bank.rule import DAY_LENGTH
from hypot.core.bank.season import DAY, WEEK, add_to_season, ratio_ahead
from hypot.policy.autoscaler.earlier import known_slots, with_earlier
from hypot.policy.model.autoscaler_checkpoint import MINUTE, TEN_MINUTES
from hypot.policy.model.autoscaler_state import AutoscalerState

NOW = 100 * DAY_LENGTH + 3 * 3600.0
STEP = 300.0


def cores(at):
    """A day that begins with four cores, has seven in the morning and one in the evening."""
    return 4.0 + 3.0 * sin(2.0 * pi * at / DAY_LENGTH)


def week_before(end=NOW, days=7.02, of=cores):
    steps = int(days * DAY_LENGTH / STEP)
    return [(end - (steps - step) * STEP, of(end - (steps - step) * STEP)) for step in range(steps)]


def observed(minutes=5, demand=9.0):
    """The state of one that has observed for some minutes."""
    state = AutoscalerState.new()
    learned = state.past.learned
    for second in range(0, minutes * 60, 15):
        add_to_season(learned.day, MINUTE, demand, NOW + second)
        add_to_season(learned.week, TEN_MINUTES, demand, NOW + second)
    return state


def test_it_knows_how_the_demand_goes_on():
    """As yesterday, and as a week ago."""
    learned, now = with_earlier(observed(), week_before()).past.learned, NOW + 4 * MINUTE
    for ahead in (600.0, 1800.0):
        expected = cores(now + ahead) / cores(now)
        assert ratio_ahead(learned.day, MINUTE, now, now + ahead) == pytest.approx(expected, rel=0.02)
        assert ratio_ahead(learned.week, TEN_MINUTES, now, now + ahead) == pytest.approx(expected, rel=0.02)


def test_without_it_nothing_is_known():
    """So the demand is expected to stay."""
    learned = observed().past.learned
    assert ratio_ahead(learned.day, MINUTE, NOW, NOW + 1800.0) == 1.0


def test_its_own_observations_stay():
    """The history ends in the slot in which they begin."""
    own = observed()
    after = with_earlier(own, week_before(end=NOW + 300.0)).past.learned
    minute, slot = int(NOW / MINUTE), int(NOW / TEN_MINUTES)
    assert after.week.means[slot % len(after.week.means)] == 9.0
    assert [after.day.means[(minute + more) % len(after.day.means)] for more in range(5)] == [9.0] * 5
    assert (after.day.slot, after.week.slot) == (own.past.learned.day.slot, own.past.learned.week.slot)
    assert own == observed()


def test_one_without_observations():
    """It was made while nothing was measured."""
    after = with_earlier(AutoscalerState.new(), week_before())
    assert known_slots(after) == WEEK
    expected = cores(NOW + 1800.0) / cores(NOW)
    assert ratio_ahead(after.past.learned.day, MINUTE, NOW, NOW + 1800.0) == pytest.approx(expected, rel=0.02)


def test_a_shorter_history():
    """Two days are the last two days of the week, and one of them is yesterday."""
    after = with_earlier(observed(), week_before(days=2.0))
    assert known_slots(after) == pytest.approx(2 * WEEK / 7, abs=2)
    assert min(after.past.learned.day.means[:DAY]) > 0.0
    assert ratio_ahead(after.past.learned.week, TEN_MINUTES, NOW, NOW + 600.0) == 1.0


def test_an_older_history_than_a_week():
    """What is older than the ring is left out."""
    after = with_earlier(observed(), week_before(end=NOW - 30 * DAY_LENGTH))
    assert known_slots(after) == known_slots(observed())


@pytest.mark.parametrize("used", [0.0, 1e-9])
def test_no_usage_is_the_least_demand(used):
    """As for its own observations: ratios need more than nothing."""
    after = with_earlier(observed(), week_before(of=lambda _: used)).past.learned
    known = [mean for mean in after.week.means if mean >= 0.0]
    assert min(known) == LEAST_DEMAND


def test_nothing_earlier_changes_nothing():
    """The state is equal, and another object."""
    own = observed()
    assert with_earlier(own, []).past.learned.week == own.past.learned.week
