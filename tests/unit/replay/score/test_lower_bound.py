"""The lower bound of the cost: what it allows, how close it is, and that no choice of pods is below it."""

from math import ceil

import numpy as np
import pytest

from hypot.replay.score.lower_bound import AllowedShapes, lower_bound
from hypot.replay.score.needed import cost_of_sums
from hypot.replay.world.params import params_of
from hypot.replay.world.service import base_use, crowding, usable_cores
from hypot.replay.world.tick import latency_of
from unit.replay.score.scores_world import GI, world

WORLD = world(tick=15.0)
ONE_SIZE = AllowedShapes(2, 1.0, 1.0, GI, 1.2)
SIZED = AllowedShapes(2, 0.5, 4.0, GI, 1.2)


def late(where, busy, count, size, burst=1.2):
    """The share of late requests in a tick that begins without a backlog, as the replayed world has it."""
    service = where.service
    cores = usable_cores(burst * size, base_use(service.base_cpu, service.base_share, size), service.parallel)
    load = busy / count
    left = max(0.0, load - cores) * where.tick
    return latency_of(params_of(where, merging=True), cores, crowding(max(1.0, cores)), load, left, 1.0)[2]


def bound(demand, harmed, shapes=ONE_SIZE, where=WORLD, efficiency=1.0):
    demand = np.asarray(demand, dtype=np.float64)
    return lower_bound(demand / efficiency, np.full(len(demand), efficiency), harmed, shapes, where)


def harm(demand, shares, where=WORLD):
    """Late requests, from the share in each tick."""
    return sum(work * share for work, share in zip(demand, shares, strict=True)) * where.tick / where.service.work


def cost(counts, sizes, where=WORLD, memory=GI):
    pods = sum(counts)
    return cost_of_sums(sum(n * c for n, c in zip(counts, sizes, strict=True)), pods * memory, where)


class TestOneSize:
    @pytest.mark.parametrize("pods", [5, 6, 8, 12, 20])
    def test_a_constant_load_needs_what_it_has(self, pods):
        """The same number of pods all the time is the best choice for its own lateness."""
        demand = [4.0] * 100
        found = bound(demand, harm(demand, [late(WORLD, 4.0, pods, 1.0)] * 100))
        assert 0.98 <= found / cost([pods] * 100, [1.0] * 100) <= 1.0

    def test_the_same_pods_at_all_times_are_not_the_best(self):
        """Ten pods by day and night; moving some from night to day serves as many in time for less."""
        demand = [6.0] * 50 + [1.0] * 50
        shares = [late(WORLD, work, 10, 1.0) for work in demand]
        assert bound(demand, harm(demand, shares)) < 0.7 * cost([10] * 100, [1.0] * 100)

    def test_nothing_to_do(self):
        """The fewest pods, however late."""
        assert bound([0.0] * 10, 0.0) == pytest.approx(cost([2] * 10, [1.0] * 10))

    def test_everything_may_be_late(self):
        """Then nothing has to be served."""
        demand = [8.0] * 10
        assert bound(demand, harm(demand, [1.0] * 10)) == pytest.approx(cost([2] * 10, [1.0] * 10), rel=1e-3)

    def test_less_lateness_never_costs_less(self):
        """From all to none."""
        demand = np.linspace(1.0, 9.0, 60)
        found = [bound(demand, harm(demand, [share] * 60)) for share in (1.0, 0.5, 0.1, 1e-2, 1e-3, 1e-5, 1e-8, 0.0)]
        assert found == sorted(found)
        assert found[-1] > 1.5 * found[0]

    def test_hundreds_of_pods(self):
        """Beyond the counts that are tried one by one, it is as close."""
        demand = [300.0] * 20
        found = bound(demand, harm(demand, [late(WORLD, 300.0, 500, 1.0)] * 20))
        assert 0.98 <= found / cost([500] * 20, [1.0] * 20) <= 1.0


class TestSizes:
    def test_larger_pods_need_less(self):
        """They share their cores among more requests, and have less base usage."""
        demand = [6.0] * 50
        harmed = harm(demand, [late(WORLD, 6.0, 9, 1.0)] * 50)
        assert bound(demand, harmed, SIZED) < 0.9 * bound(demand, harmed)

    def test_smaller_pods_for_little_load(self):
        """Two pods must be there; they may be small."""
        assert bound([0.0] * 10, 0.0, SIZED) == pytest.approx(cost([2] * 10, [0.5] * 10))

    def test_as_good_as_the_best_size(self):
        """For a constant load: the best of many counts and sizes that are no later."""
        demand, allowed = [6.0] * 50, 1e-3
        best = min(
            n * c
            for n in range(2, 13)
            for c in np.geomspace(0.5, 4.0, 400)
            if late(WORLD, 6.0, n, c) <= allowed
        )  # fmt: skip
        found = bound(demand, harm(demand, [allowed] * 50), SIZED._replace(memory=0.0))
        assert 0.96 <= found / cost_of_sums(50 * best, 0.0, WORLD) <= 1.0

    def test_pods_that_can_burst_need_less(self):
        """Limits twice the requests."""
        demand = [6.0] * 50
        assert bound(demand, 0.0, SIZED._replace(burst=2.0)) < bound(demand, 0.0, SIZED)


def test_a_core_that_does_less_work():
    """Half the efficiency needs about twice the cores for the same requests."""
    demand = [4.0] * 50
    harmed = harm(demand, [1e-3] * 50)
    assert 1.8 < bound(demand, harmed, efficiency=0.5) / bound(demand, harmed) < 2.1


def test_pods_too_slow_for_any_request():
    """Where every request is late on every allowed pod, the fewest pods remain."""
    slow = world(tick=15.0, service={"work": 0.5, "deadline": 0.25})
    demand = [4.0] * 10
    found = bound(demand, harm(demand, [1.0] * 10, slow), where=slow)
    assert found == pytest.approx(cost([2] * 10, [1.0] * 10), rel=1e-3)


@pytest.mark.parametrize("shapes", [ONE_SIZE, SIZED, AllowedShapes(0, 0.1, 16.0, GI, 1.0)])
@pytest.mark.parametrize("seed", range(20))
def test_no_choice_of_pods_is_below_it(shapes, seed):
    """Pods that follow the demand at random, more or less closely, cost at least this for what they serve in time."""
    draw = np.random.default_rng(seed)
    demand = draw.uniform(0.2, 20.0) * np.exp(draw.uniform(0.0, 0.8) * draw.standard_normal(80))
    full, spread = draw.uniform(0.3, 1.1), draw.uniform(0.0, 0.3)
    sizes = np.clip(np.exp(draw.uniform(-2.0, 3.0, 80)), shapes.smallest, shapes.largest)
    counts = [
        max(1, shapes.replicas, ceil(work / (size * full) * np.exp(spread * draw.standard_normal())))
        for work, size in zip(demand, sizes, strict=True)
    ]
    shares = [late(WORLD, *tick, shapes.burst) for tick in zip(demand, counts, sizes, strict=True)]
    assert bound(demand, harm(demand, shares), shapes) <= cost(counts, sizes)


@pytest.mark.parametrize(("work", "size"), [(0.002, 4.0), (0.02, 16.0), (0.02, 4.0), (0.1, 1.0)])
@pytest.mark.parametrize("seed", range(10))
def test_no_constant_load_is_below_it(work, size, seed):
    """Fast services and large pods, whose lateness rises steeply with their load."""
    draw, where = np.random.default_rng(seed), world(tick=15.0, service={"work": work})
    demand, count = [float(draw.uniform(0.5, 40.0))] * 20, int(draw.integers(1, 12))
    shares = [late(where, demand[0], count, size)] * 20
    found = bound(demand, harm(demand, shares, where), AllowedShapes(1, size, size, GI, 1.2), where)
    assert found <= cost([count] * 20, [size] * 20, where) * (1 + 1e-9)
