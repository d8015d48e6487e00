"""What holds for the cost of requests in every world."""

from hypothesis import assume, given
from hypothesis import strategies as st

from hypot.core.scraping.request_cost import CostSums, fitted

counts = st.integers(0, 5000)
costs = st.floats(1e-4, 0.1)
MINUTE = 60.0


@st.composite
def worlds(draw, least=1, most=5):
    """Costs, the cores of an idle pod, and rows in which each class also varies on its own."""
    size = draw(st.integers(least, most))
    several = [[draw(counts) for _ in range(size)] for _ in range(draw(st.integers(8, 12)))]
    alone = [[1000 * (i == k) * (1 + j) for i in range(size)] for k in range(size) for j in range(4)]
    return [draw(costs) for _ in range(size)], draw(st.floats(0, 0.5)), several + alone + [[0] * size] * 4


def learned(rows, cpus, seconds=MINUTE):
    sums = CostSums(3600.0)
    for i, (row, cpu) in enumerate(zip(rows, cpus, strict=True)):
        sums.add(i * MINUTE, [seconds, *map(float, row)], cpu)
    return fitted(sums, len(rows) * MINUTE)


def used(each, base, rows):
    return [MINUTE * base + sum(c * n for c, n in zip(each, row, strict=True)) for row in rows]


def close(one, other, relative=1e-3, absolute=1e-6):
    return all(abs(a - b) <= max(relative * max(abs(a), abs(b)), absolute) for a, b in zip(one, other, strict=True))


@given(worlds())
def test_exact_data_is_recovered(world):
    """Without noise, costs are what they were."""
    each, base, rows = world
    fit = learned(rows, used(each, base, rows))
    assert close(fit.costs, [base, *each])
    assert not any(fit.shared)
    assert all(fit.knows(i) for i in range(1, len(fit.costs)))


@given(worlds(2), st.randoms(use_true_random=False), st.lists(st.floats(0, 30), min_size=40, max_size=40))
def test_the_order_of_classes_does_not_matter(world, random, noise):
    """Permuted classes have permuted costs, also where cpu does not follow requests."""
    each, base, rows = world
    order = list(range(len(each)))
    random.shuffle(order)
    cpus = [cpu + extra for cpu, extra in zip(used(each, base, rows), noise, strict=False)]
    plain = learned(rows[: len(cpus)], cpus)
    turned = learned([[row[i] for i in order] for row in rows[: len(cpus)]], cpus)
    for one, other in ((plain.costs, turned.costs), (plain.errors, turned.errors)):
        assert close([one[0], *[one[1 + i] for i in order]], other, absolute=1e-9)


@given(st.lists(st.tuples(st.lists(counts, min_size=3, max_size=3), st.floats(0, 1000)), min_size=1, max_size=40))
def test_costs_are_never_negative_and_finite(observed):
    """Whatever was measured; and the explained share is a share."""
    fit = learned([row for row, _ in observed], [cpu for _, cpu in observed])
    assert all(0 <= cost < 1e9 for cost in fit.costs)
    assert 0 <= fit.explained <= 1
    assert all(weight is None or weight >= 0 for weight in fit.weights())


@given(worlds(), st.floats(0.01, 100), st.lists(st.floats(0, 30), min_size=40, max_size=40))
def test_scaled_cpu_scales_costs(world, factor, noise):
    """And the weights stay."""
    each, base, rows = world
    cpus = [cpu + extra for cpu, extra in zip(used(each, base, rows), noise, strict=False)]
    one, other = learned(rows[: len(cpus)], cpus), learned(rows[: len(cpus)], [factor * cpu for cpu in cpus])
    assert close([factor * cost for cost in one.costs], other.costs, absolute=1e-9 * factor)


@given(worlds(2), st.integers(1, 20))
def test_classes_that_move_together_have_one_cost(world, ratio):
    """They are marked; the costs of the others are still right, and so is what all of them cost together."""
    each, base, rows = world
    together = [[row[0], ratio * row[0], *row[1:]] for row in rows]
    assume(any(row[0] for row in rows))
    true = [each[0], each[1], *each[1:]]
    fit = learned(together, used(true, base, together))
    assert fit.shared[:4] == (False, True, True, False)
    assert close(fit.costs[1:3], [(each[0] + ratio * each[1]) / (1 + ratio)] * 2)
    assert close(fit.costs[3:], each[1:])


@given(st.lists(st.tuples(st.floats(-600, 1e5), st.integers(0, 100), st.floats(0, 10)), max_size=30))
def test_times_may_go_back_and_leap(several):
    """Scrapes end in any order, and a server may have slept for days."""
    sums, now = CostSums(600.0), 0.0
    for passed, count, cpu in several:
        now += passed
        sums.add(now, [60.0, float(count)], cpu)
    fit = fitted(sums, now)
    assert all(cost >= 0 for cost in fit.costs)
    assert fit.observations >= 0
