"""Which of the choices that were tried is best."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hypot.replay.advice.advice import TriedChoice, chosen
from hypot.replay.advice.saving import Saving
from hypot.replay.policies.policy import Policy, Start
from hypot.replay.score.scorecard import Scores

POLICY = Policy("", (), Start("web", 2, "app", 1000, 2**30, None, None))


def tried(name, price, late=0.0, spread=None, today=100.0):
    between = None if spread is None else (today - price - spread, today - price + spread)
    saved = Saving(today - price, (today - price) / today, between)
    return TriedChoice(name, POLICY, Scores(late=late, price=price), price, price, saved)


TODAY = tried("today", 100.0, 0.5)


@pytest.mark.parametrize(
    ("others", "best", "why"),
    [
        ([], "today", "nothing that was tried is cheaper"),
        ([tried("hpa", 120.0)], "today", "nothing that was tried is cheaper"),
        ([tried("hpa", 90.0), tried("pair", 80.0)], "pair", "the lowest price"),
        ([tried("hpa", 90.0), tried("pair", 80.0, 1.1)], "hpa", "the lowest price"),
        ([tried("pair", 80.0, 1.1)], "today", "pair is cheaper, but later"),
        ([tried("pair", 80.0, spread=20.0)], "today", "its saving may be 0"),
        ([tried("hpa", 90.0, spread=5.0), tried("pair", 80.0, spread=25.0)], "hpa", "the lowest price"),
    ],
    ids=["none", "dearer", "cheapest", "too late", "only too late", "unclear", "the clear one"],
)
def test_the_cheapest_that_is_allowed(others, best, why):
    """No later than the SLO allows, and with a saving that is none by chance."""
    found, reason = chosen([TODAY, *others], 1.0)
    assert (found.name, why in reason) == (best, True)


def test_what_is_late_today_may_stay_so():
    """The larger of today's lateness and that of the SLO counts."""
    late = tried("today", 100.0, 3.0)
    assert chosen([late, tried("hpa", 90.0, 2.5)], 1.0)[0].name == "hpa"
    assert chosen([late, tried("hpa", 90.0, 3.5)], 1.0)[0].name == "today"


numbers = st.floats(0.0, 200.0)


@given(st.lists(st.tuples(numbers, numbers, st.none() | numbers), max_size=6), numbers, st.floats(0.0, 5.0))
def test_the_best_is_never_worse_than_today(others, late, allowed):
    """Neither dearer, nor later than today and than the SLO allows."""
    today = tried("today", 100.0, late)
    best, _ = chosen([today, *(tried(str(i), *each) for i, each in enumerate(others))], allowed)
    assert best.price <= today.price
    assert best.late <= max(today.late, allowed) + 1e-9
    assert best is today or best.saving.is_clear
