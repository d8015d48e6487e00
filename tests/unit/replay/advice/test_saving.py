"""What a choice saves, and between which amounts that lies."""

import pytest

from hypot.replay.advice.saving import MONTH, Saving, interval, saving
from hypot.replay.jobs.comparison import Scored
from hypot.replay.score.scorecard import Scores

DAY = 86400.0


def scored(*prices):
    windows = tuple(Scores(price=price) for price in prices)
    return Scored("", "", Scores(price=sum(prices)), windows, None, (), Scores(), ())


@pytest.mark.parametrize(
    ("values", "half"),
    [
        ((1.0, 2.0, 3.0), 1.886 * 1.0 / 3**0.5),
        ((1.0, 1.0, 1.0, 1.0), 0.0),
        ((0.0, 2.0) * 15, 1.282 * (30 / 29) ** 0.5 / 30**0.5 * 1.0),
    ],
    ids=["three", "equal", "many"],
)
def test_the_interval_is_students(values, half):
    """80 % of Student's t around the mean; with many windows that of the normal distribution."""
    low, high = interval(values)
    assert (high + low) / 2 == pytest.approx(sum(values) / len(values))
    assert (high - low) / 2 == pytest.approx(half, rel=0.003)


def test_two_windows_have_no_interval():
    """They say too little."""
    assert interval((1.0, 2.0)) is None


def test_savings_are_of_a_month():
    """Of the price, and as a share of today's."""
    found = saving(scored(4.0, 5.0, 6.0), scored(3.0, 3.0, 3.0), 3 * DAY)
    assert found.monthly == pytest.approx(2.0 / DAY * MONTH)
    assert found.share == pytest.approx(6.0 / 15.0)
    assert found.interval == pytest.approx(interval([30.0, 60.0, 90.0]))


@pytest.mark.parametrize(
    ("one", "expected"),
    [
        (Saving(1.0, 0.1), True),
        (Saving(1.0, 0.1, (0.5, 1.5)), True),
        (Saving(1.0, 0.1, (0.0, 2.0)), False),
        (Saving(-1.0, -0.1), False),
        (Saving(0.0, 0.0), False),
    ],
)
def test_a_clear_saving_excludes_zero(one, expected):
    """Without an interval its sign decides."""
    assert one.is_clear is expected
