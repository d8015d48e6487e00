"""How supply follows demand, compared with manual arithmetic.

In these worlds demand in cores is the work over 0.8, without base usage, at least one pod of 0.1 cores.
"""

import pytest

from hypot.replay.score.scorecard import Scores
from hypot.replay.score.scores import score
from unit.replay.score.scores_world import run, world

SHAPES = {"min_replicas": 1, "min_cpu": 0.1, "max_cpu": 100.0}
WHERE = world(shapes=SHAPES, service={"base_cpu": 0.0}, pods={"start": 0.0})
NO_FLOOR = world(shapes={**SHAPES, "min_replicas": 0}, service={"base_cpu": 0.0})
ELASTICITY = ("under", "over", "over_supply", "under_time", "over_time")


def scored(supply, demand, where=WHERE, baseline=None):
    work = [0.8 * cores for cores in demand]
    return score(run(len(work), where, work=work, ready_cpu=supply), baseline=baseline)


def by_window(*values):
    return [value for value in values for _ in range(5)]


class TestAccuracy:
    def test_under_and_over(self):
        """Demand 4, 5, 10, 8: supply lacks 1/4, has 1/5 too much, lacks half, and fits."""
        scores = scored([3, 6, 5, 8], [4, 5, 10, 8])
        assert scores.under == pytest.approx(100 * (1 / 4 + 1 / 2) / 4)
        assert scores.over == pytest.approx(100 * (1 / 5) / 4)
        assert scores.over_supply == pytest.approx(100 * (1 / 6) / 4)
        assert scores.under_time == 50.0
        assert scores.over_time == 25.0

    def test_over_can_exceed_all_of_the_demand(self):
        """Three times the demand is 200 % too much of it, and two thirds of the supply."""
        scores = scored([12], [4])
        assert scores.over == pytest.approx(200.0)
        assert scores.over_supply == pytest.approx(100 * 2 / 3)

    def test_no_pod_serves(self):
        """All of the demand is missing; without supply nothing is too much."""
        scores = scored([0, 0], [4, 4])
        assert (scores.under, scores.over, scores.over_supply) == (100.0, 0.0, 0.0)

    def test_ticks_without_demand_have_no_share_of_it(self):
        """They count in the times, but not in the accuracy."""
        scores = scored([2, 2], [0, 4], NO_FLOOR)
        assert scores.under == pytest.approx(50.0)
        assert scores.over == 0.0
        assert (scores.under_time, scores.over_time) == (50.0, 50.0)

    def test_no_demand_at_all(self):
        """Nothing to divide by."""
        scores = scored([2, 2], [0, 0], NO_FLOOR)
        assert (scores.under, scores.over) == (None, None)
        assert scores.over_supply == 100.0

    def test_rounding_errors_are_no_difference(self):
        """0.1 + 0.2 cores are 0.3 cores."""
        scores = scored([0.1 + 0.2], [0.3])
        assert [getattr(scores, name) for name in ELASTICITY] == [0.0] * 5


class TestInstability:
    """On 5-minute means, five ticks each."""

    def test_steps_in_different_directions(self):
        """Demand up, down, same, up; supply up, up, up, same: the first step agrees, three of four do not."""
        scores = scored(by_window(4, 5, 6, 7, 7), by_window(4, 6, 5, 5, 8))
        assert scores.instability == 75.0

    def test_a_move_of_less_than_a_hundredth_is_none(self):
        """Demand drifts by 0.9 %, supply rests."""
        assert scored(by_window(5, 5), by_window(1000, 1009)).instability == 0.0

    def test_a_move_of_more_than_a_hundredth_counts(self):
        """Demand drifts by 1.1 %, supply rests."""
        assert scored(by_window(5, 5), by_window(1000, 1012)).instability == 100.0

    def test_one_window_has_no_step(self):
        """There is nothing to compare with."""
        scores = scored([5] * 5, [4] * 5)
        assert scores.instability is None
        assert scores.deviation is None

    def test_a_tick_that_does_not_divide_five_minutes(self):
        """At 7 s a window has 43 ticks; 86 ticks are one step."""
        where = world(tick=7.0, shapes=SHAPES, service={"base_cpu": 0.0})
        assert scored([5] * 86, [4] * 43 + [5] * 43, where).instability == 100.0


class TestInOneFigure:
    def test_deviation(self):
        """Under 25, over the supply 100/12, times 50 and 50, instability 0: the fifth root of fifth powers."""
        scores = scored(by_window(2, 6), by_window(4, 5))
        terms = (25.0, 100 / 12, 50.0, 50.0, 0.0)
        assert scores.instability == 0.0
        assert scores.deviation == pytest.approx(sum(term**5 for term in terms) ** 0.2)

    def test_speedup(self):
        """Ratios 2, 0.5, 4 and 1 have the product 4, and 4 to the fourth root is 1.41."""
        own = scored([3, 6], [4, 5])
        before = Scores(
            under=own.under * 2, over=own.over * 0.5, under_time=own.under_time * 4, over_time=own.over_time
        )
        assert scored([3, 6], [4, 5], baseline=before).speedup == pytest.approx(4**0.25)

    def test_against_itself(self):
        """A run is as good as itself, also if it is perfect."""
        for supply in ([3, 6], [4, 5]):
            own = scored(supply, [4, 5])
            assert scored(supply, [4, 5], baseline=own).speedup == pytest.approx(1.0)

    def test_a_perfect_zero_does_not_decide_alone(self):
        """Each ratio is capped at 100: under 12.5 to 0 and its time 50 to 0; the others, from 0 to more, count 0.01."""
        before = scored([3, 5], [4, 5])
        assert scored([4, 6], [4, 5], baseline=before).speedup == pytest.approx(1.0)

    def test_nothing_to_compare_with(self):
        """Without a baseline, or with one that had no demand."""
        assert scored([3], [4]).speedup is None
        assert scored([3], [4], baseline=Scores()).speedup is None
