"""What a planned demand needs: the count and the size that are cheapest with late requests in the price."""

from math import exp

import pytest

from hypot.core.bank.lateness import late_share
from hypot.core.bank.need import busiest, in_grains, pods_for, size_for

# A pod of one core with a gibibyte, and what a late request costs.
CAP, PRICE, LATE = 1.2, 1.118, 10.0


@pytest.mark.parametrize(
    ("cap", "kappa", "late_price", "pod_price", "use"),
    [
        # ln(10 · 12 · 0.8395² / 1.118) / 12 = ln(75.6) / 12 = 0.3605 cores are idle.
        (1.2, 12.0, 10.0, PRICE, 0.8395),
        (1.2, 6.0, 10.0, PRICE, 0.6698),
        (1.0, 12.0, 10.0, PRICE, 0.6757),
        (1.2, 12.0, 1000.0, PRICE, 0.5318),
        # Large pods need less idle in total.
        (4.8, 12.0, 10.0, 4.118, 4.2768),
        # Small ones that cost mostly memory, and laws so flat that only a large step finds the answer.
        (0.12, 6.0, 10.0, 0.218, 0.0700),
        (0.12, 12.0, 10.0, 0.218, 0.0608),
        (1.2, 1.0, 10.0, PRICE, 0.4794),
        (1.2, 0.5, 10.0, PRICE, 0.5555),
        # Never less than a fifth of the cap, and never so much that it looks like the cap.
        (1.2, 12.0, 1e6, PRICE, 0.24),
        (1.2, 200.0, 10.0, PRICE, 1.14),
        (0.1, 6.0, 0.1, PRICE, 0.095),
    ],
)
def test_how_busy_pods_should_be(cap, kappa, late_price, pod_price, use):
    """So busy that one more pod would cost what it saves."""
    found = busiest(cap, kappa, late_price, pod_price)
    assert found == pytest.approx(use, abs=5e-5)
    if 0.2 * cap < found < 0.95 * cap:
        assert late_price * kappa * found**2 * late_share(kappa, cap, found) == pytest.approx(pod_price)


@pytest.mark.parametrize(
    ("demand", "count"),
    [(0.01, 1), (0.5, 1), (0.9, 1), (1.1, 2), (1.6, 2), (2.0, 3), (5.0, 6), (8.4, 10), (50.0, 60), (500.0, 596)],
)
def test_counts(demand, count):
    """One pod more where that is cheaper than late requests."""
    use = busiest(CAP, 12.0, LATE, PRICE)
    assert pods_for(demand, use, CAP, 12.0, LATE, PRICE) == count


@pytest.mark.parametrize(("demand", "count"), [(1.13, 1), (1.15, 2), (2.27, 2), (2.29, 3), (22.7, 20), (22.9, 21)])
def test_counts_of_a_steep_law(demand, count):
    """Almost nothing needs to be idle, but what looks like the cap is not planned."""
    assert pods_for(demand, busiest(CAP, 200.0, LATE, PRICE), CAP, 200.0, LATE, PRICE) == count


@pytest.mark.parametrize("kappa", [0.5, 1.0, 6.0, 12.0, 30.0])
@pytest.mark.parametrize("cap", [0.05, 0.1, 0.25, 1.0, 1.2, 4.8])
def test_no_other_count_is_much_cheaper(cap, kappa):
    """Of all counts at which pods are not at their cap, whatever the law and the size."""
    pod = cap / 1.2 + 0.118
    use = busiest(cap, kappa, LATE, pod)

    def cost(demand, count):
        return count * pod + LATE * demand * late_share(kappa, cap, demand / count)

    for demand in (0.1, 0.3, 1.0, 2.3, 3.7, 9.0, 24.0, 70.0):
        found = pods_for(demand, use, cap, kappa, LATE, pod)
        best = min(cost(demand, count) for count in range(1, 4 * found + 9) if demand <= 0.95 * count * cap)
        assert cost(demand, found) <= best * 1.01, demand


def test_a_tie_takes_fewer():
    """If nothing is ever late, a pod more is never cheaper."""
    assert pods_for(10.0, 1.0, 100.0, 200.0, LATE, PRICE) == 10
    assert pods_for(10.0, 1.0, 100.0, 200.0, LATE, 0.0) == 10


@pytest.mark.parametrize(
    ("demand", "pods", "ratio", "kappa", "size"),
    [
        # 2.5 cores each and ln(1.2 · 12 · 10 · 2.5) / 12 = 0.4905 that are idle, divided by 1.2.
        (5.0, 2, 1.2, 12.0, 2.4921),
        (5.0, 4, 1.2, 12.0, 1.4023),
        (5.0, 4, 1.0, 12.0, 1.6676),
        (5.0, 4, 4.0, 12.0, 0.4458),
        (5.0, 4, 1.2, 49.0, 1.1539),
        # Almost nothing needs to be idle, but what looks like the cap is not planned.
        (64.0, 4, 1.0, 49.0, 16.8421),
        (0.01, 2, 1.0, 12.0, 0.0053),
    ],
)
def test_sizes(demand, pods, ratio, kappa, size):
    """What each pod uses and what should be idle, as a request."""
    assert size_for(demand, pods, ratio, kappa, LATE) == pytest.approx(size, abs=5e-5)


@pytest.mark.parametrize("pods", [1, 2, 7])
@pytest.mark.parametrize("kappa", [6.0, 12.0, 100.0])
def test_no_other_size_is_cheaper(kappa, pods):
    """Of those at which pods are not at their cap."""

    def cost(demand, size):
        return pods * size + LATE * demand * exp(-kappa * (1.2 * size - demand / pods))

    for demand in (3.0, 9.0, 40.0):
        size = size_for(demand, pods, 1.2, kappa, LATE)
        others = [size * share for share in (0.9, 0.999, 1.001, 1.1)]
        assert 0.95 * 1.2 * size >= demand / pods * 0.999999
        assert all(cost(demand, size) <= cost(demand, other) for other in others if 0.95 * 1.2 * other >= demand / pods)


@pytest.mark.parametrize(
    ("size", "grain", "millicores"),
    [(2.4921, 100, 2500), (2.5, 100, 2500), (2.5001, 100, 2600), (0.0042, 1, 5), (0.3, 100, 300), (0.1 + 0.2, 50, 300)],
)
def test_grains(size, grain, millicores):
    """Rounded up; an error of a sum is no grain."""
    assert in_grains(size, grain) == millicores
