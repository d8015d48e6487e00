"""Waste, harm and effort, compared with manual arithmetic."""

from math import log

import pytest

from hypot.replay.score.scores import score
from unit.replay.score.scores_world import GI, run, static, world

DAY = 1440  # ticks of a minute
EXACT = {"shapes": {"min_replicas": 1, "min_cpu": 0.1, "max_cpu": 100.0}, "service": {"base_cpu": 0.0}}


class TestWaste:
    def test_slack(self):
        """Requested 4 and 6, used 1 and 3: 6 of 10 are not used, 3 cores on average."""
        scores = score(run(2, cpu=[4, 6], used_cpu=[1, 3], memory=[GI, 3 * GI], used_memory=[GI, GI]))
        assert scores.slack == pytest.approx(60.0)
        assert scores.idle_cores == pytest.approx(3.0)
        assert scores.slack_memory == pytest.approx(50.0)
        assert scores.idle_memory == pytest.approx(1.0)

    def test_bursting_makes_slack_negative(self):
        """1.2 of 1 core used."""
        assert score(run(1, cpu=1.0, used_cpu=1.2)).slack == pytest.approx(-20.0)

    def test_nothing_requested(self):
        """There is nothing to divide by."""
        scores = score(run(2))
        assert (scores.slack, scores.slack_memory, scores.efficiency) == (None, None, None)
        assert scores.idle_cores == 0.0

    def test_throttled(self):
        """1 of 4 and 2 of 4 pods that serve are at their cap."""
        assert score(run(2, ready=4.0, capped=[1, 2])).throttled == pytest.approx(37.5)

    def test_no_pod_ever_serves(self):
        """Without pod time there is no share of it."""
        scores = score(run(2, pods=1.0))
        assert scores.throttled is None

    def test_kills(self):
        """Two in one day of five pods: 0.4 a pod-day, and four times as many as is bad."""
        scores = score(run(DAY, pods=5.0, killed=[2] + [0] * (DAY - 1)))
        assert scores.ooms == pytest.approx(0.4)
        assert scores.oom_bad is True

    def test_one_kill_a_day_for_ten_pods_is_not_bad_yet(self):
        """Only more than that is bad."""
        assert score(run(DAY, pods=10.0, killed=[1] + [0] * (DAY - 1))).oom_bad is False

    def test_kills_without_pods(self):
        """Nothing to divide by."""
        scores = score(run(2))
        assert (scores.ooms, scores.oom_bad) == (None, None)

    def test_efficiency(self):
        """3 cores of work for 10 paid ones."""
        assert score(run(2, work=[1, 2], cpu=[4, 6])).efficiency == pytest.approx(30.0)


class TestChanges:
    """One day of minutes, so that each change counts as one a day."""

    def test_replicas(self):
        """2, 3, 3, 2: two changes; the first tick is not a change."""
        scores = score(run(DAY, replicas=[2, 3, 3] + [2] * (DAY - 3), size_cpu=1.0))
        assert scores.replica_changes == pytest.approx(2.0)
        assert scores.size_changes == 0.0

    def test_cpu_and_memory_together_are_one_change(self):
        """Cpu changes in ticks 1 and 2, memory in ticks 2 and 3."""
        cpu, memory = [1, 2, 3] + [3] * (DAY - 3), [1, 1, 2] + [3] * (DAY - 3)
        assert score(run(DAY, size_cpu=cpu, size_memory=memory)).size_changes == pytest.approx(3.0)

    def test_restarts(self):
        """Three pods in half a day are six a day."""
        assert score(run(DAY // 2, evicted=[3] + [0] * (DAY // 2 - 1))).restarts == pytest.approx(6.0)

    def test_disruption(self):
        """1, 0 and 2 pods do not serve, for a minute each."""
        assert score(run(3, pods=[3, 3, 5], ready=[2, 3, 3])).disruption == 180.0

    def test_one_tick(self):
        """Nothing changed."""
        scores = score(static(1, 2, 1.0, GI))
        assert (scores.replica_changes, scores.size_changes, scores.reversals) == (0.0, 0.0, 0.0)


class TestReversals:
    def test_a_turn_within_half_an_hour(self):
        """Up at tick 1, down at tick 31: 30 minutes later, and it counts."""
        replicas = [2] + [3] * 30 + [2] * (DAY - 31)
        assert score(run(DAY, replicas=replicas)).reversals == pytest.approx(1.0)

    def test_a_turn_after_half_an_hour(self):
        """31 minutes later it does not count: it may follow the demand of the day."""
        replicas = [2] + [3] * 31 + [2] * (DAY - 32)
        assert score(run(DAY, replicas=replicas)).reversals == 0.0

    def test_the_same_way_twice_is_no_turn(self):
        """Up, up, down: one turn."""
        replicas = [2, 3, 4] + [3] * (DAY - 3)
        assert score(run(DAY, replicas=replicas)).reversals == pytest.approx(1.0)

    def test_axes_turn_by_themselves(self):
        """Replicas up and size down at once is not a turn; both back at once is one turn."""
        replicas, size = [2, 4] + [2] * (DAY - 2), [2, 1] + [2] * (DAY - 2)
        assert score(run(DAY, replicas=replicas, size_cpu=size)).reversals == pytest.approx(1.0)


class TestPath:
    """On 5-minute means of exact demand."""

    def test_movement_over_movement(self):
        """Supply doubles and halves, demand grows by half: 2 ln 2 over ln 1.5."""
        supply = [4] * 5 + [8] * 5 + [4] * 5
        work = [0.8 * cores for cores in [4] * 5 + [6] * 10]
        scores = score(run(15, world(**EXACT), ready_cpu=supply, work=work))
        assert scores.path == pytest.approx(2 * log(2) / log(1.5))

    def test_demand_that_rests(self):
        """There is nothing to divide by."""
        supply = [4] * 5 + [8] * 5
        assert score(run(10, world(**EXACT), ready_cpu=supply, work=3.0)).path is None

    def test_from_nothing_is_no_distance(self):
        """The step out of an outage is left out."""
        supply, work = [0] * 5 + [8] * 5 + [4] * 5, [1] * 5 + [2] * 5 + [4] * 5
        assert score(run(15, world(**EXACT), ready_cpu=supply, work=work)).path == pytest.approx(0.5)
