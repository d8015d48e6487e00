"""What a buyer who knows the future would buy, compared with purchases computed manually."""

import numpy as np
import pytest

from hypot.replay.score.oracle import cheapest, cost_of_sums, in_flight, reference, static_peak, useful_work
from unit.replay.score.scores_world import GI, world

PLAIN = world(tick=15.0)
SIZED = {"min_replicas": 1, "max_replicas": 10, "min_cpu": 0.5, "max_cpu": 2.0, "min_memory": GI // 8, "max_memory": GI}


def bought(work, where=PLAIN, efficiency=1.0, held=None):
    work = np.asarray(work, dtype=np.float64)
    return reference(work, np.full(len(work), efficiency), where, held)


class TestOneSize:
    """Whole pods of one core: each does 0.8 - 0.05 = 0.75 cores of work."""

    @pytest.mark.parametrize(
        ("work", "pods"),
        [(0.0, 2), (1.5, 2), (1.51, 3), (7.5, 10), (7.500001, 11), (12.0, 16)],
    )
    def test_pods_for_work(self, work, pods):
        """As many as it takes, at least two; work that fits exactly needs no further pod."""
        got = bought([work])
        assert got.replicas.tolist() == [pods]
        assert got.total.tolist() == [pods]
        assert got.cpu.tolist() == [1.0]

    def test_demand_is_a_fraction(self):
        """4 cores of work need 6 pods: D = 4 / 0.8 + 6 x 0.05 / 0.8 = 5.375 cores."""
        assert bought([4.0]).demand.tolist() == [pytest.approx(5.375)]

    def test_demand_is_at_least_the_smallest_shape(self):
        """Fewer than two pods cannot be bought, so these two are not waste."""
        assert bought([0.0, 0.5]).demand.tolist() == [2.0, 2.0]

    def test_half_the_efficiency_is_twice_the_work(self):
        """4 cores at efficiency 0.5 are 8 cores."""
        assert bought([4.0], efficiency=0.5).demand == pytest.approx(bought([8.0]).demand)

    def test_pods_are_bought_as_long_before_as_they_take_to_start(self):
        """30 s are two ticks of 15 s: the peak of tick 4 is paid for from tick 2 on."""
        got = bought([1.0, 1.0, 1.0, 1.0, 6.0, 1.0])
        assert got.replicas.tolist() == [2, 2, 8, 8, 8, 2]
        assert got.demand.tolist() == [2.0, 2.0, 2.0, 2.0, pytest.approx(8.0), 2.0]

    def test_a_start_that_is_no_whole_number_of_ticks_is_rounded_up(self):
        """31 s are three ticks of 15 s."""
        got = bought([1.0, 1.0, 1.0, 1.0, 6.0], world(tick=15.0, pods={"start": 31.0}))
        assert got.replicas.tolist() == [2, 8, 8, 8, 8]

    def test_what_no_shape_can_do_is_counted(self):
        """Ten pods do 7.5 cores of work; two ticks need more, and demand is capped at 10 cores."""
        got = bought([7.5, 7.6, 100.0, 1.0], world(tick=15.0, shapes={"max_replicas": 10}, pods={"start": 0.0}))
        assert got.beyond == 2
        assert got.demand.tolist() == [pytest.approx(10.0), 10.0, 10.0, 2.0]
        assert got.replicas.tolist() == [10, 10, 10, 2]

    def test_base_usage_that_takes_all_of_a_pod(self):
        """A one-core pod with a base of 0.9 can do no work: the maximum of pods is bought, and the tick is counted."""
        got = bought([0.0, 1.0], world(tick=15.0, service={"base_cpu": 0.9}, pods={"start": 0.0}))
        assert got.replicas.tolist() == [2, 1000]
        assert got.beyond == 1

    def test_no_efficiency_at_all(self):
        """A core that does nothing demands the maximum, not infinity."""
        got = bought([1.0], efficiency=0.0)
        assert got.demand.tolist() == [1000.0]
        assert got.beyond == 1


class TestTwoDimensions:
    """Sizes from half a core to two cores."""

    WHERE = world(tick=15.0, shapes=SIZED, pods={"start": 0.0})

    @pytest.mark.parametrize(
        ("work", "replicas", "cpu"),
        [
            (0.0, 1, 0.5),  # (0 + 0.05) / 0.8 = 0.0625, below the smallest
            (1.0, 1, 1.05 / 0.8),
            (1.55, 1, 2.0),  # (1.55 + 0.05) / 0.8 = 2
            (1.6, 2, 0.85 / 0.8),
            (6.0, 4, 1.55 / 0.8),
        ],
    )
    def test_the_fewest_pods_of_a_size_that_is_enough(self, work, replicas, cpu):
        """Work of each pod and its base, at 80 %."""
        got = bought([work], self.WHERE)
        assert got.replicas.tolist() == [replicas]
        assert got.cpu.tolist() == [pytest.approx(cpu)]
        assert got.total.tolist() == [pytest.approx(replicas * cpu)]
        assert got.demand == pytest.approx(got.total)

    def test_a_base_that_is_a_share_of_the_size(self):
        """Base 20 % of the size: 1 core of work needs 1 / (0.8 - 0.2) cores, of which 20 % are base and 60 % work."""
        where = world(tick=15.0, shapes=SIZED, service={"base_share": 0.2})
        assert bought([1.0], where).cpu.tolist() == [pytest.approx(1 / 0.6)]

    def test_a_base_share_as_large_as_what_is_useful(self):
        """Such pods do no work, whatever their size."""
        where = world(tick=15.0, shapes=SIZED, service={"base_share": 0.8})
        got = bought([1.0], where)
        assert (got.replicas.tolist(), got.cpu.tolist(), got.beyond) == ([10], [2.0], 1)

    def test_a_service_that_cannot_use_more_cores(self):
        """With one core of parallelism a pod does at most 0.8 cores of work: three pods for 2."""
        where = world(tick=15.0, shapes=SIZED, service={"parallel": 1.0})
        got = bought([2.0], where)
        assert got.replicas.tolist() == [3]
        assert got.cpu.tolist() == [pytest.approx((2 / 3 + 0.05) / 0.8)]

    def test_no_other_allowed_count_is_cheaper(self):
        """Every count is tried; base usage makes each additional pod cost more."""
        for work in np.linspace(0.0, 15.0, 61):
            own = bought([work], self.WHERE).total[0]
            for n in range(1, 11):
                size = max(0.5, (work / n + 0.05) / 0.8)
                assert size > 2.0 + 1e-9 or n * size >= own - 1e-9


class TestMemory:
    def test_what_is_in_flight(self):
        """A single server at 80 % holds 0.8 / 0.2 requests: five for each busy core."""
        assert in_flight(np.array([4.0]), PLAIN).tolist() == [pytest.approx(20.0)]

    def test_the_size_of_a_pod(self):
        """2 cores of work in 2 pods: (200 Mi + 1 Mi x 10 / 2) / 0.9 for each."""
        where = world(tick=15.0, shapes=SIZED)
        got = bought([2.0], where)
        assert got.memory.tolist() == [pytest.approx(2 * 205 * 2**20 / 0.9)]

    def test_caches_are_full(self):
        """What caches may hold is part of the need."""
        where = world(tick=15.0, shapes=SIZED, memory={"cache": 100 * 2**20})
        assert bought([0.0], where).memory.tolist() == [pytest.approx(300 * 2**20 / 0.9)]

    def test_memory_can_ask_for_more_pods(self):
        """A pod of 1 Gi has 0.9 x 1024 - 200 = 721.6 Mi for the load, so 1500 Mi need three."""
        held = np.array([1500.0 * 2**20])
        assert bought([1.0], PLAIN, held=held).replicas.tolist() == [3]

    def test_pods_too_small_to_be_idle(self):
        """If not even the base fits, more pods do not help: the largest size is bought, and each tick is counted."""
        got = bought([1.0, 1.0], world(tick=15.0, memory={"base": 2 * GI}))
        assert got.replicas.tolist() == [2, 2]
        assert got.memory.tolist() == [2 * GI, 2 * GI]
        assert got.beyond == 2


class TestCost:
    def test_the_cost_of_the_oracle(self):
        """Two pods of 1 core and 1 GiB for an hour: 2 x 0.04048 + 2 x 1.073741824 x 0.004445 dollars."""
        assert bought([0.0] * 240).cost == pytest.approx(2 * 0.04048 + 2 * 1.073741824 * 0.004445)

    def test_the_static_peak(self):
        """The peak of 6 cores needs 8 pods, for all 4 ticks."""
        got = bought([0.0, 6.0, 1.0, 0.0])
        peak = static_peak(got, PLAIN)
        assert (peak.replicas, peak.cpu, peak.memory) == (8, 1.0, GI)
        assert peak.cost == pytest.approx(cost_of_sums(4 * 8.0, 4 * 8.0 * GI, PLAIN))
        assert peak.cost >= got.cost

    def test_no_ticks(self):
        """Nothing is bought for no time."""
        got = bought([])
        assert (got.cost, got.beyond, static_peak(got, PLAIN).cost) == (0.0, 0, 0.0)


def test_useful_work_and_the_cheapest_shape_are_inverse():
    """The work of n one-core pods needs n of them, despite rounding."""
    counts = np.arange(2.0, 1001.0)
    work = useful_work(counts, np.ones(len(counts)), PLAIN)
    assert cheapest(work, np.zeros(len(counts)), PLAIN).replicas.tolist() == counts.tolist()
