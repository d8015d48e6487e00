"""Replicas and size as a point in two dimensions, compared with manual arithmetic."""

from math import inf, log

import numpy as np
import pytest

from hypot.replay.score.families import path_dependence
from hypot.replay.score.scores import score
from unit.replay.score.scores_world import GI, run, static, world

SHAPES = {"min_replicas": 1, "min_cpu": 0.5, "max_cpu": 4.0}
WHERE = world(shapes=SHAPES, service={"base_cpu": 0.2}, pods={"start": 0.0})


class TestShape:
    def test_small_pods_pay_their_base_more_often(self):
        """8 pods of half a core do 8 x (0.4 - 0.2) = 1.6 cores of work; one of (1.6 + 0.2) / 0.8 = 2.25 does, too."""
        assert score(static(3, 8, 0.5, GI, WHERE)).shape == pytest.approx(log(4 / 2.25))

    def test_too_much_of_a_good_shape_is_no_error_of_shape(self):
        """One pod of 4 cores, whatever the demand."""
        assert score(static(3, 1, 4.0, GI, WHERE, work=0.1)).shape == pytest.approx(0.0)

    def test_pods_that_can_do_no_work_are_left_out(self):
        """0.25 cores at 80 % are the base."""
        assert score(static(3, 8, 0.25, GI, WHERE)).shape is None

    def test_one_size_has_no_other_shape(self):
        """Any number of one-core pods is the cheapest for what they do."""
        scores = score(run(999, replicas=range(2, 1001), size_cpu=1.0))
        assert scores.shape == 0.0


class TestHorizontal:
    @pytest.mark.parametrize(
        ("replicas", "size", "share"),
        [
            ((1, 4), (1, 1), 1.0),
            ((2, 2), (1, 4), 0.0),
            ((1, 2), (1, 2), 0.5),
            ((1, 7), (1, 1.17), log(7) / log(7 * 1.17)),
            ((2, 1), (1, 2), None),
            ((0, 1), (1, 2), None),
        ],
    )
    def test_which_share_of_the_growth_went_to_replicas(self, replicas, size, share):
        """The first compared with the last tick; None where the total is the same or was zero."""
        assert score(run(2, WHERE, replicas=replicas, size_cpu=size)).horizontal == pytest.approx(share)


class TestParadox:
    @pytest.mark.parametrize(
        ("replicas", "size", "count"),
        [
            ((3, 4), (1.97, 1.53), 1),  # 5.91 to 6.12 with smaller pods
            ((4, 3), (1.53, 1.97), 1),  # and back
            ((3, 4), (2.0, 1.5), 0),  # 6 to 6
            ((3, 4), (2.0, 2.5), 0),
            ((3, 4), (2.0, 2.0), 0),
            ((3, 3), (2.0, 1.0), 0),
        ],
    )
    def test_total_and_size_in_opposite_directions(self, replicas, size, count):
        """A scale-up with smaller pods, or a scale-down with larger pods."""
        assert score(run(2, WHERE, replicas=replicas, size_cpu=size)).paradox == count

    def test_cpu_and_memory_count_once(self):
        """One change that is paradoxical for both counts as one."""
        scores = score(run(2, WHERE, replicas=(3, 4), size_cpu=(1.97, 1.53), size_memory=(1.97 * GI, 1.53 * GI)))
        assert scores.paradox == 1

    def test_memory_alone(self):
        """More memory in smaller pods."""
        assert score(run(2, WHERE, replicas=(3, 4), size_cpu=1.0, size_memory=(8.0, 7.0))).paradox == 1


class TestStuck:
    def test_up_to_the_end(self):
        """Idle in ticks 0, 2 and 3 of an hour each: two hours up to the end."""
        where = world(tick=3600.0, shapes=SHAPES)
        scores = score(static(4, 1, 4.0, GI, where, used_cpu=[0.5, 1.0, 0.5, 0.5], work=0.2))
        assert scores.stuck == 2.0

    @pytest.mark.parametrize("hours", [63, 64, 65, 600, 1000])
    def test_for_long(self, hours):
        """It counts however long ago it began."""
        used = np.full(1000, 0.5)
        used[: 1000 - hours] = 1.0
        where = world(tick=3600.0, shapes=SHAPES)
        assert score(static(1000, 1, 4.0, GI, where, used_cpu=used, work=0.2)).stuck == hours

    def test_busy_at_the_end(self):
        """A workload that recovers is not stuck."""
        assert score(static(2, 1, 4.0, GI, WHERE, used_cpu=[0.1, 2.0])).stuck == 0.0

    def test_the_smallest_shape_is_not_stuck(self):
        """No smaller shape is allowed."""
        assert score(static(2, 1, 0.5, GI, WHERE, used_cpu=0.01)).stuck == 0.0

    def test_nothing_is_paid_for(self):
        """Without requested resources nothing is idle."""
        assert score(run(2, WHERE)).stuck == 0.0


class TestStarving:
    """Ticks of a minute, a cap of 2 cores."""

    def test_the_longest_stretch_at_the_cap(self):
        """Two minutes, then three."""
        used = [2, 2, 1, 2, 1.98, 2, 1]
        assert score(run(7, used_cpu=used, cap_cpu=2.0)).starving == 180.0

    @pytest.mark.parametrize(
        "action",
        [
            {"replicas": [1, 1, 1, 2, 2]},
            {"size_cpu": [1, 1, 1, 2, 2]},
            {"size_memory": [1, 1, 1, 2, 2]},
            {"evicted": [0, 0, 0, 1, 0]},
        ],
        ids=lambda action: next(iter(action)),
    )
    def test_an_action_restarts_the_count(self, action):
        """Five minutes at the cap with an action after three."""
        assert score(run(5, used_cpu=2.0, cap_cpu=2.0, **action)).starving == 180.0

    def test_without_a_pod_that_serves(self):
        """There is no cap to be at."""
        assert score(run(3)).starving == 0.0


class TestOvershoot:
    """Demand in cores is (work + 0.2) / 0.8, one pod."""

    def test_most_supply_over_the_demand_of_ten_minutes(self):
        """Demand 4 and then 1; supply rises to 6 ten minutes later, and to 2 two minutes after that."""
        demand = [4] + [1] * 14
        supply = [1] * 10 + [6] + [1, 2] + [1, 1]
        work = [0.8 * cores - 0.2 for cores in demand]
        assert score(run(15, WHERE, work=work, ready_cpu=supply)).overshoot == pytest.approx(2.0)

    def test_supply_that_only_falls(self):
        """Supply never rose, so there is no overshoot."""
        assert score(run(3, WHERE, work=1.0, ready_cpu=[9, 8, 8])).overshoot is None

    def test_nine_cores_for_five(self):
        """The seed's example of multiplied steps."""
        work = [0.8 * cores - 0.2 for cores in (1, 2.5, 2.5)]
        scores = score(run(3, WHERE, work=work, ready_cpu=[1, 1, 4.5]))
        assert scores.overshoot == pytest.approx(9 / 5)


def test_peak_pods():
    """All pods that are paid for count."""
    assert score(run(3, pods=[2, 7, 3], ready=[2, 2, 3])).peak_pods == 7


class TestPathDependence:
    def test_the_proposal_s_three_sequences(self):
        """2.63, 4.20 and 3.50 G for the same need."""
        assert path_dependence([2.63, 4.20, 3.50]) == pytest.approx(log(4.20 / 2.63))

    def test_the_same_end_every_time(self):
        """Zero means that the result does not depend on the way."""
        assert path_dependence([3.0, 3.0, 3.0]) == 0.0

    @pytest.mark.parametrize(("totals", "distance"), [([], 0.0), ([5.0], 0.0), ([0.0, 0.0], 0.0), ([0.0, 1.0], inf)])
    def test_edges(self, totals, distance):
        """Without another run the distance is zero; from zero to something it is infinite."""
        assert path_dependence(totals) == distance
