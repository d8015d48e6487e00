"""What a request costs: tables of explicit worlds."""

import random
from math import inf

import pytest

from hypot.core.scraping.request_cost import CostSums, fitted, inverted, nonnegative

HOUR = 3600.0
# A cluster-scoped LIST costs more than a PUT of one resource, as the seed says.
GET, PUT, LIST = 0.002, 0.004, 0.08


def learned(costs, rows, base=0.0, noise=0.0, half_life=HOUR, start=0.0):
    """The fit of these rows, one a minute; the first one is at `start`."""
    sums, drawn = CostSums(half_life), random.Random(1)  # noqa: S311
    for i, requests in enumerate(rows):
        row = [60.0, *requests]
        cpu = 60.0 * base + sum(cost * count for cost, count in zip(costs, requests, strict=True))
        sums.add(start + 60.0 * i, row, cpu * (1 + drawn.gauss(0, noise)))
    return fitted(sums, start + 60.0 * (len(rows) - 1))


def mixes(classes=3, number=90, seed=2):
    drawn = random.Random(seed)  # noqa: S311
    return [[float(drawn.randrange(100, 6000)) for _ in range(classes)] for _ in range(number)]


def test_requests_of_different_cost():
    """Costs, and what a pod uses without requests, are found; a weight is relative to the mean."""
    fit = learned([GET, PUT, LIST], mixes(), base=0.05)
    assert fit.costs == pytest.approx([0.05, GET, PUT, LIST], rel=1e-4)
    assert [fit.knows(i) for i in range(1, 4)] == [True] * 3
    assert fit.knows_idle
    assert fit.shared == (False,) * 4
    assert fit.explained == pytest.approx(1)
    weights = fit.weights()
    assert weights[2] / weights[0] == pytest.approx(LIST / GET, rel=1e-3)
    weighted = sum(weight * count for weight, count in zip(weights, fit.requests[1:], strict=True))
    assert weighted == pytest.approx(sum(fit.requests[1:]))


def test_noise_shows_in_the_error():
    """With a tenth of noise, a cost that is small beside the others is not known."""
    fit = learned([GET, PUT, LIST], mixes(), noise=0.1)
    assert fit.knows(3)
    assert fit.costs[3] == pytest.approx(LIST, rel=0.1)
    assert fit.errors[3] > 0
    assert fit.weights()[0] is None or fit.errors[1] <= fit.mean / 4


def test_a_rare_class_is_not_known():
    """Two requests in an hour say nothing about their cost."""
    rows = [[a, 2.0 if i == 50 else 0.0] for i, (a,) in enumerate(mixes(1))]
    fit = learned([GET, PUT], rows, noise=0.05)
    assert fit.knows(1)
    assert not fit.knows(2)
    assert fit.weights() == (pytest.approx(1), None)


def test_classes_that_move_together_have_a_common_cost():
    """No split is invented: 1 GET comes with 3 PUT, so a request of both costs a fourth of all four."""
    rows = [[a, 3 * a, b] for a, b in mixes(2)]
    fit = learned([GET, PUT, LIST], rows, base=0.05)
    assert fit.shared == (False, True, True, False)
    assert fit.costs[1:] == pytest.approx([(GET + 3 * PUT) / 4] * 2 + [LIST], rel=1e-3)


def test_a_class_that_is_the_sum_of_others():
    """None of the three can be separated from the others."""
    fit = learned([GET, PUT, GET, LIST], [[a, b, a + b, c] for a, b, c in mixes()])
    assert fit.shared == (False, True, True, True, False)
    assert len(set(fit.costs[1:4])) == 1
    assert fit.costs[4] == pytest.approx(LIST, rel=0.05)


def test_requests_that_never_vary():
    """What they cost cannot be separated from what a pod uses anyway: it all counts as theirs, and is marked."""
    fit = learned([GET], [[600.0]] * 90, base=0.05)
    assert fit.shared == (True, True)
    assert (fit.costs[0], fit.errors[0]) == (0.0, inf)
    assert fit.costs[1] == pytest.approx(GET + 0.05 * 60 / 600, rel=1e-3)


def test_costs_are_never_negative():
    """A class that seems to save cpu has a cost of 0."""
    sums = CostSums(HOUR)
    for i, (a, b) in enumerate(mixes(2)):
        sums.add(60.0 * i, [60.0, a, b], max(0.01 * a - 0.002 * b, 0.0))
    assert min(fitted(sums, 5400.0).costs) == 0.0


def test_what_is_old_counts_less():
    """After ten half-lives of another cost, the former one is forgotten; weights do not grow without end."""
    sums = CostSums(HOUR)
    for k, cost in enumerate([GET] * 40 + [PUT] * 10):
        for i, (count,) in enumerate(mixes(1, 60)):
            sums.add(k * HOUR + 60.0 * i, [60.0, count], cost * count)
    fit = fitted(sums, 50 * HOUR)
    assert fit.costs[1] == pytest.approx(PUT, rel=1e-2)
    assert fit.observations == pytest.approx(60 / 0.693, rel=0.05)
    assert sums.rows < 2**45


def test_few_observations_say_nothing():
    fit = learned([GET, PUT], mixes(2, 8))
    assert not fit.suffices
    assert fit.weights() == (None, None)


@pytest.mark.parametrize("rows", [[], [[0.0]], [[0.0, 0.0]] * 3])
def test_without_requests_nothing_is_known(rows):
    fit = learned([GET] * (len(rows[0]) if rows else 0), rows)
    assert not any(fit.weights())
    assert not any(fit.costs)


def test_a_new_mix_has_leverage():
    """A mix that was never seen is new, however large; one of the usual mix is not, however large."""
    fit = learned([GET, PUT, LIST], [[a, 3 * a, b] for a, b in mixes(2)], base=0.05)
    assert fit.leverage([60.0, 2000.0, 6000.0, 2000.0]) < 0.2
    assert fit.leverage([600.0, 20_000.0, 60_000.0, 20_000.0]) < 0.2
    assert fit.leverage([60.0, 2000.0, 0.0, 2000.0]) > 1
    assert fit.leverage([60.0, 2000.0, 6000.0, 2000.0, 1.0]) == inf


def test_a_later_class_counts_from_its_first_request():
    """Rows may become longer."""
    early, late = mixes(1, 45), mixes(2, 45, 3)
    sums = CostSums(HOUR)
    for i, requests in enumerate(early + late):
        sums.add(60.0 * i, [60.0, *requests], sum(c * n for c, n in zip([GET, LIST], requests, strict=False)))
    assert fitted(sums, 5400.0).costs[1:] == pytest.approx([GET, LIST], rel=1e-3)


def test_the_inverse():
    (a, b), (c, d) = inverted([[2.0, 1.0], [1.0, 1.0]], 0.0)
    assert (a, b, c, d) == pytest.approx((1, -1, -1, 2))


def test_the_solution_without_negative_entries():
    """Where the free solution has a negative entry, the others are solved without it."""
    assert nonnegative([[1.0, 0.9], [0.9, 1.0]], [1.0, 0.5]) == pytest.approx([1.0, 0.0], rel=1e-6)
    assert nonnegative([[1.0]], [-1.0]) == [0.0]
    assert nonnegative([], []) == []
