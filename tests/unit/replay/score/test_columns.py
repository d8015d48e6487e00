"""The building blocks of scores: windows, moves and percentiles of columns."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hypot.replay.score.columns import (
    SAMPLE,
    SHORT_ROW,
    Moves,
    changes,
    means_of_windows,
    sum_of_products,
    to_the_end,
    together,
    turns,
    ways,
    weighted_percentile,
    window_sums,
)

numeric = settings(max_examples=80, deadline=None)
columns = st.lists(st.floats(0, 100), min_size=1, max_size=200).map(np.array)
# Few different values, so that equal values are adjacent.
steps = st.lists(st.sampled_from([0.0, 1.0, 1.0 + 1e-12, 2.0]), min_size=1, max_size=60).map(np.array)


def lowest_that_reaches(values, weights, share):
    """The definition, value by value."""
    wanted = share * weights.sum() * (1 - 1e-12)
    return next(value for value in np.unique(values) if weights[values <= value].sum() >= wanted)


class TestWindows:
    @numeric
    @given(columns, st.sampled_from([1, 2, 5, SHORT_ROW, SHORT_ROW + 1, 300]))
    def test_sums_and_means(self, column, length):
        """For short and for long windows; the last window has what is left."""
        cut = [column[i : i + length] for i in range(0, len(column), length)]
        assert window_sums(column, length) == pytest.approx([part.sum() for part in cut])
        means = means_of_windows(window_sums(column, length), len(column), length)
        assert means == pytest.approx([part.mean() for part in cut])

    def test_products_are_added_up(self):
        """Computed manually."""
        assert sum_of_products(np.array([1.0, 2.0]), np.array([3.0, 4.0])) == 11.0


def moves_of(column):
    """Each move with the tick before it."""
    way = ways(column)
    return Moves(np.flatnonzero(way), way[way != 0])


class TestMoves:
    @numeric
    @given(steps)
    def test_up_and_down(self, column):
        """A change by less than a billionth is a change, but not a move."""
        assert ways(column).tolist() == [int(b > a + 0.5) - int(b < a - 0.5) for a, b in pairwise(column)]
        assert changes(column).tolist() == [i for i in range(len(column) - 1) if column[i] != column[i + 1]]

    def test_turns_within_a_time(self):
        """Up, down at once, up again after three ticks, up once more."""
        moved = moves_of(np.array([1.0, 2.0, 1.0, 1.0, 1.0, 2.0, 3.0]))
        assert turns(moved, 2).tolist() == [1]
        assert turns(moved, 3).tolist() == [1, 4]

    def test_one_move_or_none_is_no_turn(self):
        """There is nothing to compare with."""
        for column in (np.array([1.0, 2.0]), np.ones(3)):
            assert not len(turns(moves_of(column), 9))

    def test_steps_of_several_columns_count_once(self):
        """Steps at the same tick count once, in order."""
        none = np.empty(0, dtype=np.int64)
        assert together(np.array([3, 5]), none, np.array([1, 5])).tolist() == [1, 3, 5]
        assert together(none, np.array([2])).tolist() == [2]
        assert together(none, none).tolist() == []


class TestToTheEnd:
    def test_up_to_the_end(self):
        """Only the last stretch counts."""
        assert to_the_end(np.array([True, False, True, True])) == 2
        assert to_the_end(np.array([True, False])) == 0
        assert to_the_end(np.array([True, True])) == 2


class TestPercentile:
    @numeric
    @given(st.lists(st.tuples(st.integers(0, 9), st.sampled_from([0.0, 0.5, 3.0])), min_size=1, max_size=60))
    def test_the_least_value_that_reaches_the_share(self, pairs):
        """Values may be equal, and weights may be zero."""
        values, weights = (np.array(column, dtype=float) for column in zip(*pairs, strict=True))
        found = weighted_percentile(values, weights, 0.99)
        assert found == (lowest_that_reaches(values, weights, 0.99) if weights.sum() else None)

    @pytest.mark.parametrize("share", [0.0, 0.01, 0.5, 0.9, 0.99, 1.0])
    @pytest.mark.parametrize("seed", range(4))
    def test_the_first_guess_changes_nothing(self, share, seed):
        """For more values than are sorted at once, whether or not many are equal."""
        pick = np.random.default_rng(seed)
        values = pick.exponential(size=5 * SAMPLE)
        if seed % 2:
            values = np.round(values)
        weights = pick.uniform(size=len(values))
        assert weighted_percentile(values, weights, share) == lowest_that_reaches(values, weights, share)

    @pytest.mark.parametrize("share", [0.5, 0.99])
    def test_a_sample_that_misleads(self, share):
        """Every value in the sample is large, or has no weight."""
        values, weights = np.ones(4 * SAMPLE), np.ones(4 * SAMPLE)
        values[::4] = 2.0
        values[1::4] = 0.5
        assert weighted_percentile(values, weights, share) == lowest_that_reaches(values, weights, share)
        weights[::4] = 0.0
        assert weighted_percentile(values, weights, share) == 1.0

    def test_nothing_has_no_percentile(self):
        """Without any weight the result is None."""
        assert weighted_percentile(np.ones(3), np.zeros(3), 0.99) is None
        assert weighted_percentile(np.empty(0), np.empty(0), 0.99) is None
