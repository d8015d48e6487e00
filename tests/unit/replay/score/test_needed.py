"""What the load needs, the cheapest shape for it and the static peak, compared with manual arithmetic."""

import numpy as np
import pytest

from hypot.replay.score.needed import cheapest, cost_of_sums, needed, static_peak, useful_work
from unit.replay.score.scores_world import GI, world

PLAIN = world(tick=15.0)
SIZED = {"min_replicas": 1, "max_replicas": 10, "min_cpu": 0.5, "max_cpu": 2.0, "min_memory": GI // 8, "max_memory": GI}


def need(work, where=PLAIN, efficiency=1.0, held=None):
    work = np.asarray(work, dtype=np.float64)
    return needed(work, np.full(len(work), efficiency), where, held)


def shape(work, where=PLAIN, efficiency=1.0, held=None):
    """The cheapest pods for one tick: replicas, cores and bytes of each."""
    got = need([work], where, efficiency, None if held is None else np.array([held]))
    return tuple(float(column[0]) for column in cheapest(got.busy, got.held, where))


class TestOneSize:
    """Whole pods of one core: each does 0.8 - 0.05 = 0.75 cores of work."""

    @pytest.mark.parametrize(
        ("work", "pods"),
        [(0.0, 2), (1.5, 2), (1.51, 3), (7.5, 10), (7.500001, 11), (12.0, 16)],
    )
    def test_pods_for_work(self, work, pods):
        """As many as it takes, at least two; work that fits exactly needs no further pod."""
        assert shape(work)[:2] == (pods, 1.0)

    def test_demand_is_a_fraction(self):
        """4 cores of work need 6 pods: D = 4 / 0.8 + 6 x 0.05 / 0.8 = 5.375 cores."""
        assert need([4.0]).demand.tolist() == [pytest.approx(5.375)]

    def test_demand_is_at_least_the_smallest_shape(self):
        """Fewer than two pods are not allowed, so these two are not waste."""
        assert need([0.0, 0.5]).demand.tolist() == [2.0, 2.0]

    def test_half_the_efficiency_is_twice_the_work(self):
        """4 cores at efficiency 0.5 are 8 cores."""
        assert need([4.0], efficiency=0.5).demand == pytest.approx(need([8.0]).demand)

    def test_demand_ends_at_the_largest_shape(self):
        """Ten pods do 7.5 cores of work; two ticks need more, and demand is capped at 10 cores."""
        got = need([7.5, 7.6, 100.0, 1.0], world(tick=15.0, shapes={"max_replicas": 10}))
        assert got.demand.tolist() == [pytest.approx(10.0), 10.0, 10.0, 2.0]

    def test_base_usage_that_takes_all_of_a_pod(self):
        """A one-core pod with a base of 0.9 can do no work: the most pods are needed."""
        where = world(tick=15.0, service={"base_cpu": 0.9})
        assert [shape(work, where)[0] for work in (0.0, 1.0)] == [2, 1000]

    def test_no_efficiency_at_all(self):
        """A core that does nothing demands the maximum, not infinity."""
        assert need([1.0], efficiency=0.0).demand.tolist() == [1000.0]


class TestTwoDimensions:
    """Sizes from half a core to two cores."""

    WHERE = world(tick=15.0, shapes=SIZED)

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
        assert shape(work, self.WHERE)[:2] == (replicas, pytest.approx(cpu))
        assert need([work], self.WHERE).demand.tolist() == [pytest.approx(replicas * cpu)]

    def test_a_base_that_is_a_share_of_the_size(self):
        """Base 20 % of the size: 1 core of work needs 1 / (0.8 - 0.2) cores, of which 20 % are base and 60 % work."""
        where = world(tick=15.0, shapes=SIZED, service={"base_share": 0.2})
        assert shape(1.0, where)[1] == pytest.approx(1 / 0.6)

    def test_a_base_share_as_large_as_what_is_useful(self):
        """Such pods do no work, whatever their size."""
        where = world(tick=15.0, shapes=SIZED, service={"base_share": 0.8})
        assert shape(1.0, where)[:2] == (10, 2.0)

    def test_a_service_that_cannot_use_more_cores(self):
        """With one core of parallelism a pod does at most 0.8 cores of work: three pods for 2."""
        where = world(tick=15.0, shapes=SIZED, service={"parallel": 1.0})
        assert shape(2.0, where)[:2] == (3, pytest.approx((2 / 3 + 0.05) / 0.8))

    def test_no_other_allowed_count_is_cheaper(self):
        """Every count is tried; base usage makes each additional pod cost more."""
        for work in np.linspace(0.0, 15.0, 61):
            replicas, cpu, _ = shape(work, self.WHERE)
            for n in range(1, 11):
                size = max(0.5, (work / n + 0.05) / 0.8)
                assert size > 2.0 + 1e-9 or n * size >= replicas * cpu - 1e-9


class TestMemory:
    def test_the_size_of_a_pod(self):
        """2 cores of work in 2 pods: (200 Mi + 1 Mi x 10 / 2) / 0.9 each; a single server holds 5 requests per core."""
        assert shape(2.0, world(tick=15.0, shapes=SIZED))[2] == pytest.approx(205 * 2**20 / 0.9)

    def test_caches_are_full(self):
        """What caches may hold is part of the need."""
        where = world(tick=15.0, shapes=SIZED, memory={"cache": 100 * 2**20})
        assert shape(0.0, where)[2] == pytest.approx(300 * 2**20 / 0.9)

    def test_memory_can_ask_for_more_pods(self):
        """A pod of 1 Gi has 0.9 x 1024 - 200 = 721.6 Mi for the load, so 1500 Mi need three."""
        assert shape(1.0, held=1500.0 * 2**20)[0] == 3

    def test_pods_too_small_to_be_idle(self):
        """If not even the base fits, more pods do not help: the fewest of the largest size."""
        assert shape(1.0, world(tick=15.0, memory={"base": 2 * GI}))[::2] == (2, GI)


class TestStaticPeak:
    def test_the_largest_demand_all_the_time(self):
        """The peak of 6 cores needs 8 pods, for all 4 ticks."""
        peak = static_peak(need([0.0, 6.0, 1.0, 0.0]), PLAIN)
        assert (peak.replicas, peak.cpu, peak.memory) == (8, 1.0, GI)
        assert peak.cost == pytest.approx(cost_of_sums(4 * 8.0, 4 * 8.0 * GI, PLAIN))

    def test_its_price(self):
        """Two pods of 1 core and 1 GiB for an hour: 2 x 0.04048 + 2 x 1.073741824 x 0.004445 dollars."""
        assert static_peak(need([0.0] * 240), PLAIN).cost == pytest.approx(2 * 0.04048 + 2 * 1.073741824 * 0.004445)

    def test_no_ticks(self):
        """Nothing is needed for no time."""
        assert static_peak(need([]), PLAIN).cost == 0.0


def test_useful_work_and_the_cheapest_shape_are_inverse():
    """The work of n one-core pods needs n of them, despite rounding."""
    counts = np.arange(2.0, 1001.0)
    work = useful_work(counts, np.ones(len(counts)), PLAIN)
    assert cheapest(work, np.zeros(len(counts)), PLAIN).replicas.tolist() == counts.tolist()
