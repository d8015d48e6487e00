"""Fewer points that look the same."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hypot.face.thin import means, roughness, thin

COLUMNS = 10


@st.composite
def series(draw):
    """Times that rise by uneven steps, and values with gaps; some too short to be thinned."""
    steps = draw(st.lists(st.integers(1, 50), min_size=1, max_size=120))
    value = st.one_of(st.floats(-1e6, 1e6), st.just(float("nan")), st.sampled_from([0.0, 1.0]))
    values = draw(st.lists(value, min_size=len(steps), max_size=len(steps)))
    return np.cumsum(np.array(steps, dtype=np.float64)), np.array(values)


def by_column(at, values, first, last):
    """The values of each column, looked up one by one."""
    found = {}
    for when, value in zip(at.tolist(), values.tolist(), strict=True):
        column = min(int((when - first) * (COLUMNS / (last - first))), COLUMNS - 1) if last > first else 0
        found.setdefault(column, []).append(value)
    return found


@given(series())
def test_no_spike_is_lost(given_series):
    """The lowest and the highest value of every column survive, and a column of gaps stays one."""
    at, values = given_series
    few_at, few = thin(at, values, COLUMNS)
    before = by_column(at, values, at[0], at[-1])
    after = by_column(few_at, few, at[0], at[-1])
    assert before.keys() == after.keys()
    for column, all_of_them in before.items():
        known = [value for value in all_of_them if value == value]  # noqa: PLR0124  what is no number equals nothing
        left = [value for value in after[column] if value == value]  # noqa: PLR0124
        assert (min(known, default=None), max(known, default=None)) == (
            min(left, default=None),
            max(left, default=None),
        )


@given(series())
def test_points_are_kept_not_made(given_series):
    """Each is one of those given, in their order, the first and the last among them, and there are not many."""
    at, values = given_series
    few_at, few = thin(at, values, COLUMNS)
    where = np.searchsorted(at, few_at)
    assert (np.diff(where) > 0).all()
    np.testing.assert_array_equal(at[where], few_at)
    np.testing.assert_array_equal(values[where], few)
    assert (few_at[0], few_at[-1]) == (at[0], at[-1])
    assert len(few_at) <= 2 * COLUMNS + 2


def test_a_step_stays_where_it_is():
    """The moment at which a value changes is not moved to the edge of a column."""
    at = np.arange(1000.0)
    few_at, few = thin(at, np.where(at < 567, 3.0, 5.0), COLUMNS)
    assert few_at[few == 5.0].min() == 567


def test_what_is_short_stays():
    """Nothing is gained by thinning what a screen can show."""
    at, values = np.arange(20.0), np.arange(20.0)
    assert thin(at, values, COLUMNS)[0] is at
    assert means(at, values, COLUMNS)[1] is values
    assert roughness(at, values, COLUMNS) == 0.0


def test_means_of_columns():
    """Gaps do not count, a column of gaps is one, and the last mean holds to the end."""
    at = np.arange(100.0)
    values = np.where(at < 20, np.nan, at)
    when, mean = means(at, values, COLUMNS)
    assert when[-1] == 99.0
    assert np.isnan(mean[:2]).all()
    assert mean[3] == pytest.approx(values[30:40].mean(), abs=1.0)
    assert mean[-1] == mean[-2]


@pytest.mark.parametrize(
    ("values", "rough"),
    [(np.arange(1000.0), 0.1), (np.arange(1000) % 2.0, 1.0), (np.ones(1000), 0.0), (np.full(1000, np.nan), 0.0)],
)
def test_how_rough_a_line_is(values, rough):
    """A ramp crosses a tenth of its height in each of ten columns, a saw all of it, a flat line nothing."""
    assert roughness(np.arange(1000.0), values, COLUMNS) == pytest.approx(rough, abs=0.01)
