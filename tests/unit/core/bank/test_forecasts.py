"""Eight forecasts, from a ring of past demand."""

import pytest

from hypot.core.bank.forecasts import FORECASTS, KEPT, along_slope, forecast, means

NAMES = ("last", "slope", "long slope", "mean", "long mean", "yesterday", "last week", "jump")


def ring(*demands, newest=0):
    """The demand of the last steps, the oldest first, with the newest at this place."""
    past = [0.0] * KEPT
    for back, demand in enumerate(reversed(demands)):
        past[(newest - back) % KEPT] = demand
    return past, newest, len(demands)


@pytest.mark.parametrize("newest", [0, 1, 40, KEPT - 1])
@pytest.mark.parametrize(
    ("demands", "over", "lead", "found"),
    [
        # Too little is known.
        ((4.0,), 2, 6, 4.0),
        ((3.0, 4.0), 2, 6, 4.0),
        # Half a core per step, six steps ahead.
        ((3.0, 3.5, 4.0), 2, 6, 7.0),
        ((3.0, 9.0, 4.0), 2, 6, 7.0),
        ((4.0, 3.5, 3.0), 2, 4, 1.0),
        ((1.0, 1.0, 1.0), 2, 6, 1.0),
        # Not beyond four times more or less.
        ((1.0, 1.5, 2.0), 2, 31, 8.0),
        ((4.0, 3.5, 2.0), 2, 6, 0.5),
        ((5.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 9.0), 8, 4, 11.0),
    ],
)
def test_slopes(demands, over, lead, found, newest):
    """The change over some steps goes on."""
    past, newest, count = ring(*demands, newest=newest)
    assert along_slope(past, newest, count, over, lead) == pytest.approx(found)


@pytest.mark.parametrize("newest", [0, 19, 79, KEPT - 1])
@pytest.mark.parametrize(
    ("demands", "short", "long"),
    [
        ((3.0,), 3.0, 3.0),
        ((1.0, 5.0), 3.0, 3.0),
        ((*[9.0] * 5, *[1.0] * 15), 3.0, 3.0),
        ((*[9.0] * 20, *[1.0] * 20), 1.0, 5.0),
        ((*[9.0] * 40, *[1.0] * 40), 1.0, 5.0),
        # One step more than the longest mean has.
        ((1e6, *[9.0] * 40, *[1.0] * 40), 1.0, 5.0),
    ],
)
def test_means(demands, short, long, newest):
    """Of 20 and of 80 steps, or of as many as are known."""
    assert means(*ring(*demands, newest=newest)) == (pytest.approx(short), pytest.approx(long))


def test_all_in_order():
    """Each in its place."""
    made = [0.0] * FORECASTS
    forecast(made, *ring(*[2.0] * 8, 3.0, 3.5, 4.0), lead=4, day=1.5, week=0.5, jump=9.0)
    assert dict(zip(NAMES, made, strict=True)) == {
        "last": 4.0,
        "slope": 6.0,
        "long slope": 5.0,
        "mean": pytest.approx(26.5 / 11),
        "long mean": pytest.approx(26.5 / 11),
        "yesterday": 6.0,
        "last week": 2.0,
        "jump": 9.0,
    }
