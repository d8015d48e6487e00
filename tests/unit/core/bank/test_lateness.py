"""How many requests are late, by how many cores of a pod are idle, and what is learned about it."""

from math import exp

import pytest

from hypot.core.bank.lateness import kappa_after, kappa_of, late_share

# A pod of one core that may use 1.2.
CAP = 1.2


@pytest.mark.parametrize(
    ("deadline", "work", "kappa"),
    [
        (0.25, 0.02, 11.5),
        (0.25, 0.005, 49.0),
        (1.0, 0.1, 9.0),
        # A request that takes as long as it may, and one that takes almost nothing.
        (0.25, 0.25, 0.5),
        (0.25, 5.0, 0.5),
        (0.25, 1e-4, 200.0),
        # What is not known.
        (0.25, -1.0, 6.0),
        (0.25, 0.0, 6.0),
        (0.0, 0.02, 6.0),
    ],
)
def test_the_prior(deadline, work, kappa):
    """It follows from the deadline and what a request costs, and is 6 without these."""
    assert kappa_of(deadline, work) == pytest.approx(kappa)


@pytest.mark.parametrize(
    ("kappa", "cap", "use", "share"),
    [
        (6.0, CAP, 1.2, 1.0),
        (6.0, CAP, 0.7, exp(-3.0)),
        (12.0, CAP, 0.7, exp(-6.0)),
        # Half a core that is idle counts the same in a large pod.
        (12.0, 4.8, 4.3, exp(-6.0)),
        (12.0, CAP, 0.0, exp(-14.4)),
        # A shortage of 30 % of the cap makes twice as many late.
        (12.0, CAP, 1.56, 2.0),
        (6.0, CAP, 1.56, 2.0),
        (6.0, CAP, 2.4, 1.0 + 1.0 / 0.3),
        (6.0, 0.0, 0.003, 11.0),
    ],
)
def test_the_law(kappa, cap, use, share):
    """Every idle core divides the share by the same factor, and what is missing adds to it."""
    assert late_share(kappa, cap, use) == pytest.approx(share)


@pytest.mark.parametrize(
    ("kappa", "use", "late", "after"),
    [
        # Half a core is idle: the law says 0.25 % of 12 per core, and 4.98 % of 6.
        (12.0, 0.7, 0.0001, 12.12),
        (12.0, 0.7, 0.01, 12.0 / 1.01),
        (6.0, 0.7, 0.01, 6.06),
        (6.0, 0.7, 0.1, 6.0 / 1.01),
        # It rests where the law says what is observed, to a step.
        (6.0, 0.7, exp(-3.0), 6.0),
        (6.0, 0.7, exp(-3.02), 6.0),
        (6.0, 0.7, exp(-2.98), 6.0),
        (6.0, 0.7, exp(-3.04), 6.06),
        (6.0, 0.7, exp(-2.96), 6.0 / 1.01),
        # Almost nothing is late: the law is at least this steep.
        (6.0, 0.7, 0.0, 6.06),
        (30.0, 0.7, 0.0, 30.0),
        (30.0, 0.7, 0.00009, 30.0),
        (30.0, 0.7, 0.0002, 30.0 / 1.01),
        # What says nothing: hardly anything is idle, or there is a backlog.
        (6.0, 1.153, 0.2, 6.0),
        (6.0, 1.2, 0.2, 6.0),
        (6.0, 1.3, 0.2, 6.0),
        (6.0, 0.7, 0.51, 6.0),
        (6.0, 0.7, 0.5, 6.0 / 1.01),
    ],
)
def test_learning(kappa, use, late, after):
    """One window moves kappa by at most 1 %."""
    assert kappa_after(kappa, CAP, use, late) == pytest.approx(after)


def test_bounds():
    """Neither windows without late requests nor those with many move it beyond its bounds."""
    steep = flat = 6.0
    for _ in range(1000):
        steep, flat = kappa_after(steep, 0.2, 0.191, 0.0), kappa_after(flat, 4.8, 0.0, 0.5)
    assert (steep, flat) == (200.0, 0.5)


@pytest.mark.parametrize(("start", "late"), [(6.0, 0.002), (30.0, 0.002), (12.0, 0.3), (0.6, 0.002)])
def test_it_comes_to_rest(start, late):
    """The same windows lead to the same law, and then nothing moves any more."""
    seen = [start]
    for _ in range(500):
        seen.append(kappa_after(seen[-1], CAP, 0.7, late))
    assert late_share(seen[-1], CAP, 0.7) == pytest.approx(late, rel=0.07)
    assert len(set(seen[-20:])) == 1
