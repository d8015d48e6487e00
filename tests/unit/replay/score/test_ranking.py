"""Policies compared with each other."""

from math import log

import pytest

from hypot.replay.score.ranking import (
    PolicyPoint,
    cost_at,
    front,
    keeps_slo,
    late_or_lost,
    middle,
    point_of,
    ranking_at,
    verdict,
    worst,
)
from hypot.replay.score.scorecard import Scores


def entry(cost, late, lost=0.0, budget=None):
    return Scores(cost=cost, late=late, lost=lost, budget=(late + lost) / 1.0 if budget is None else budget)


class TestFront:
    def test_policies_that_are_not_beaten(self):
        """`c` costs more than `b` and is later; the others trade cost for lateness."""
        points = {
            "a": PolicyPoint(1.0, 5.0),
            "b": PolicyPoint(2.0, 1.0),
            "c": PolicyPoint(3.0, 2.0),
            "d": PolicyPoint(4.0, 0.1),
        }
        assert front(points) == {"a", "b", "d"}

    def test_equal_in_both_is_a_tie(self):
        """Both stay."""
        assert front({"a": PolicyPoint(1.0, 1.0), "b": PolicyPoint(1.0, 1.0)}) == {"a", "b"}

    def test_equal_in_one_and_worse_in_the_other_is_beaten(self):
        """At the same cost the later policy is beaten, and at the same lateness the dearer policy."""
        assert front({"a": PolicyPoint(1.0, 1.0), "b": PolicyPoint(1.0, 2.0), "c": PolicyPoint(2.0, 1.0)}) == {"a"}

    def test_no_policies(self):
        """Without policies the front is empty."""
        assert front({}) == set()

    def test_a_point(self):
        """Late and lost are added; without requests there is no lateness, and without a cost no point."""
        assert point_of(Scores(cost=3.0, late=1.0, lost=0.5)) == PolicyPoint(3.0, 1.5)
        assert point_of(Scores(cost=3.0)) == PolicyPoint(3.0, 0.0)
        assert point_of(Scores(cost=3.0, to_static=1.1, late=1.0), "to_static") == PolicyPoint(1.1, 1.0)
        assert point_of(Scores()) is None


class TestCostAt:
    CURVE = (PolicyPoint(1.58, 0.01), PolicyPoint(1.12, 0.17), PolicyPoint(0.97, 0.65), PolicyPoint(0.86, 2.5))

    def test_between_two_points(self):
        """ln(0.1 / 0.01) / ln(0.17 / 0.01) of the way from 1.58 to 1.12."""
        way = log(10) / log(17)
        assert cost_at(self.CURVE, 0.1) == pytest.approx(1.58 + way * (1.12 - 1.58))

    def test_at_a_point(self):
        """Exactly its cost."""
        assert cost_at(self.CURVE, 0.65) == 0.97

    @pytest.mark.parametrize("late", [0.001, 3.0])
    def test_outside_of_the_curve(self, late):
        """There is no extrapolation beyond what was tried."""
        assert cost_at(self.CURVE, late) is None

    def test_the_order_does_not_matter(self):
        """A curve is a set of points."""
        assert cost_at(self.CURVE[::-1], 1.0) == cost_at(self.CURVE, 1.0)

    def test_beaten_points_do_not_bend_the_curve(self):
        """A setting that is dearer and later would never be chosen."""
        assert cost_at([*self.CURVE, PolicyPoint(3.0, 0.1)], 0.1) == cost_at(self.CURVE, 0.1)

    def test_no_lateness_at_all(self):
        """It counts as one in a million: 0.01 % is half of the way from there to 1 %."""
        assert cost_at([PolicyPoint(2.0, 0.0), PolicyPoint(1.0, 1.0)], 0.01) == pytest.approx(1.5)

    def test_no_points(self):
        """There is no cost without points."""
        assert cost_at([], 1.0) is None


class TestSeveralWindows:
    SCORES = (
        Scores(cost=1.0, speedup=0.5, peak_pods=3, oom_bad=True),
        Scores(cost=5.0, speedup=2.0, peak_pods=9, oom_bad=False, late=1.0),
        Scores(cost=2.0, speedup=1.0, peak_pods=4, oom_bad=False),
    )

    def test_median(self):
        """The median of the existing values; for a boolean the share."""
        found = middle(self.SCORES)
        assert (found.cost, found.speedup, found.peak_pods, found.late, found.lost) == (2.0, 1.0, 4, 1.0, None)
        assert found.oom_bad == pytest.approx(1 / 3)

    def test_worst(self):
        """The dearest and the slowest; the largest where neither direction is better."""
        found = worst(self.SCORES)
        assert (found.cost, found.speedup, found.peak_pods, found.oom_bad) == (5.0, 0.5, 9, True)

    def test_none(self):
        """Without windows there are no scores."""
        assert (middle([]), worst([])) == (Scores(), Scores())


class TestVerdict:
    SCORES = {"hpa": entry(10.0, 0.5), "vpa": entry(8.0, 2.0), "wpa": entry(11.0, 0.2)}  # noqa: RUF012  read only

    def test_the_cheapest_that_keeps_the_slo(self):
        """The VPA is cheaper, but too late."""
        first = "hpa is the cheapest policy that meets the SLO: $10.00, 0.5 % late"
        assert verdict(self.SCORES) == f"{first}; the next cheapest, wpa, costs 10.0 % more."

    def test_only_one_keeps_it(self):
        """Then no next policy is named."""
        reported = verdict({"hpa": entry(10.0, 0.5), "vpa": entry(8.0, 2.0)})
        assert reported == "hpa is the cheapest policy that meets the SLO: $10.00, 0.5 % late."

    def test_no_policy_keeps_it(self):
        """The closest policy is named. A request that is late and then lost counts as both: they are not added up."""
        reported = verdict({"hpa": entry(10.0, 99.0, 99.0), "vpa": entry(8.0, 98.0, 83.0)})
        assert reported == "No policy meets the SLO; vpa comes closest: 98 % late and 83 % lost."

    def test_one_policy_alone(self):
        """It is compared with nothing."""
        assert verdict({"hpa": entry(10.0, 0.5)}) == "hpa meets the SLO: $10.00, 0.5 % late."
        assert verdict({"hpa": entry(10.0, 99.0)}) == "hpa misses the SLO: 99 % late."

    def test_equal_policies(self):
        """Neither is the cheapest, and none costs 0.0 % more."""
        pair = {"hpa": entry(10.0, 0.5), "wpa": entry(10.0, 0.5)}
        assert verdict(pair) == (
            "hpa and wpa cost the same, and nothing that meets the SLO costs less: $10.00, 0.5 % late."
        )
        assert verdict(pair | {"vpa": entry(11.0, 0.2)}).endswith("; the next cheapest, vpa, costs 10.0 % more.")
        both = verdict({"hpa": entry(10.0, 0.5), "wpa": entry(10.0, 0.2)})
        assert both.endswith("costs less: $10.00, hpa 0.5 % late and wpa 0.2 % late.")
        missed = {"hpa": entry(10.0, 99.0), "wpa": entry(9.0, 99.0)}
        assert verdict(missed) == "hpa and wpa miss the SLO: 99 % late."
        assert verdict(missed | {"vpa": entry(9.0, 99.5)}).startswith(
            "No policy meets the SLO; hpa and wpa come closest"
        )

    def test_equal_prices(self):
        """The ranking says that there is none."""
        pair = {"hpa": entry(10.0, 0.5), "wpa": entry(10.0, 0.5)}
        assert verdict(pair, {"hpa": (1, 2, 3), "wpa": (1, 2, 3)}).endswith(
            "By price, which includes late requests and restarts, they are equal, also if a late request costs a tenth "
            "or ten times as much."
        )
        shared = verdict(pair, {"hpa": (1, 2, 3), "wpa": (1, 2, 4)})
        assert (
            "hpa and wpa come first, but the ranking depends on the price of a late request: hpa and wpa are" in shared
        )

    def test_nothing(self):
        """Without policies there is nothing to compare."""
        assert verdict({}) == "There is nothing to compare."

    def test_a_ranking_that_stays(self):
        """The same order at all three prices."""
        reported = verdict(self.SCORES, {"hpa": (1, 2, 3), "vpa": (2, 3, 4), "wpa": (3, 4, 5)})
        assert reported.endswith(
            "By price, which includes late requests and restarts, hpa comes first, and the ranking stays the same if "
            "a late request costs a tenth or ten times as much."
        )

    def test_a_ranking_that_changes_behind_the_first(self):
        """The verdict says so, and that the first stays."""
        reported = verdict(self.SCORES, {"hpa": (1, 2, 3), "vpa": (2, 3, 9), "wpa": (3, 4, 5)})
        assert "hpa comes first, also if" in reported
        assert reported.endswith("the order after it changes.")

    def test_a_ranking_that_flips(self):
        """The verdict names the first policy at each end."""
        reported = verdict(self.SCORES, {"hpa": (2, 2, 9), "vpa": (1, 3, 8), "wpa": (3, 4, 5)})
        assert "hpa comes first, but the ranking depends" in reported
        assert reported.endswith("vpa is first at a tenth of it, wpa at ten times.")

    def test_one_policy_has_no_ranking(self):
        """Its price is compared with nothing."""
        assert "price" not in verdict({"hpa": entry(1.0, 0.0)}, {"hpa": (1, 2, 3)})

    def test_equal_prices_go_by_name(self):
        """The same runs always give the same text."""
        assert ranking_at({"b": (1.0,), "a": (1.0,), "c": (0.5,)}, 0) == ["c", "a", "b"]

    @pytest.mark.parametrize(
        ("scores", "kept"),
        [
            (Scores(budget=1.0, late=1.0), True),
            (Scores(budget=1.01, late=1.01), False),
            (Scores(late=0.0, lost=0.0), True),
            (Scores(late=0.1, lost=0.0), False),
            (Scores(), True),
        ],
    )
    def test_keeping_the_slo(self, scores, kept):
        """Within the budget; without a budget, without any late request."""
        assert keeps_slo(scores) is kept

    def test_late_or_lost(self):
        """Both are in percent, and added."""
        assert late_or_lost(Scores(late=1.0, lost=0.5)) == 1.5
