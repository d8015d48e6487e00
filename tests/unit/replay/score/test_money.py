"""Cost and price, compared with manual arithmetic."""

from dataclasses import replace

import numpy as np
import pytest

from hypot.replay.score.families import prices_at
from hypot.replay.score.scores import account_of, needed_by, score
from hypot.replay.score.sums import sums_of
from unit.replay.score.scores_world import GI, run, static, world

HOUR_OF_MINUTES = 60
CORE, GIGABYTE = 0.04048, 0.004445


def prices(one):
    return prices_at(sums_of(account_of(one, needed_by(one)), one.world), one.world)


class TestCost:
    def test_a_static_run_equals_its_closed_form(self):
        """Replicas times size times price times time."""
        scores = score(static(HOUR_OF_MINUTES * 5, 3, 1.5, 2 * GI))
        assert scores.cpu_hours == pytest.approx(3 * 1.5 * 5)
        assert scores.memory_hours == pytest.approx(3 * 2 * 1.073741824 * 5)
        assert scores.cost == pytest.approx(3 * 1.5 * 5 * CORE + 3 * 2 * 1.073741824 * 5 * GIGABYTE)

    def test_cost_is_the_integral_of_what_is_requested(self):
        """1, 2, 4 and 1 cores for a minute each are 8 core-minutes."""
        scores = score(run(4, cpu=[1, 2, 4, 1], memory=[0, 1e9, 0, 2e9]))
        assert scores.cpu_hours == pytest.approx(8 / 60)
        assert scores.memory_hours == pytest.approx(3 / 60)
        assert scores.cost == pytest.approx(8 / 60 * CORE + 3 / 60 * GIGABYTE)

    def test_nodes(self):
        """2, 2 and 3 nodes for a minute each, at 0.4 dollars an hour."""
        assert score(run(3, nodes=[2, 2, 3])).node_cost == pytest.approx(7 / 60 * 0.4)

    def test_without_nodes_there_is_no_second_view(self):
        """The node cost is None, not zero."""
        assert score(run(3)).node_cost is None

    def test_relative_to_the_lower_bound_and_to_the_static_peak(self):
        """The static peak has four pods, for work of three; two are enough if all requests may be late."""
        scores = score(static(4, 4, 1.0, GI, work=[0, 0, 3, 0], requests=150.0, late=1.0))
        assert (scores.lower_bound, scores.to_lower_bound) == (pytest.approx(scores.cost / 2), pytest.approx(2.0))
        assert scores.to_static == pytest.approx(1.0)

    def test_a_lower_bound_of_nothing(self):
        """Where no replica is needed there is nothing to compare with."""
        scores = score(static(4, 2, 1.0, GI, world(shapes={"min_replicas": 0})))
        assert (scores.lower_bound, scores.to_lower_bound, scores.to_static) == (0.0, None, None)

    def test_what_is_needed_may_be_given(self):
        """It gives the same scores as if it is made on the way."""
        given = static(4, 4, 1.0, GI, work=[0, 0, 3, 0])
        assert score(given, needed_by(given)) == score(given)


class TestPrice:
    """3 pods of 1 core for an hour; 100 requests/s of 20 ms, 1 % late, 36 lost, 2 pods restarted."""

    RUN = static(60, 3, 1.0, 0.0, requests=100.0, late=0.01, lost=[36] + [0] * 59, evicted=[2] + [0] * 59)
    COST = 3 * CORE
    # 3600 of 360,000 are late. Each costs ten times 0.02 s of a core.
    HARM = (3600 + 36) * 10 * 0.02 * CORE / 3600
    # 300 s of a pod, at 0.04048 an hour, twice.
    RESTARTS = 2 * 300 * CORE / 3600

    def test_price(self):
        """Cost, harm and restarts."""
        assert score(self.RUN).price == pytest.approx(self.COST + self.HARM + self.RESTARTS)

    def test_other_prices_of_a_late_request(self):
        """Only the harm changes."""
        expected = [self.COST + factor * self.HARM + self.RESTARTS for factor in (0.1, 1, 10)]
        assert prices(self.RUN) == pytest.approx(expected)

    def test_without_pods_a_restart_has_no_price(self):
        """Nothing is divided by zero pods."""
        assert prices(run(3, evicted=1.0)) == (0.0, 0.0, 0.0)


def test_twice_the_pods_cost_twice_as_much():
    """The costs relate to the same static peak."""
    small, large = (static(5, n, 1.0, GI, work=1.0) for n in (3, 6))
    assert score(large).to_static == pytest.approx(2 * score(small).to_static)
    doubled = replace(small, ticks=small.ticks._replace(cpu=small.ticks.cpu * 2, memory=small.ticks.memory * 2))
    assert np.isclose(score(doubled).cost, score(large).cost)
