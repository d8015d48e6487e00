"""Bucket layouts, and decaying histograms in rows."""

from math import inf, nan

import numpy as np
import pytest

from hypot.core.usage.columns import NONE, SMALLEST, Chains, Columns, ColumnType
from hypot.core.usage.histogram import YEAR_ONE, Bank, Saved
from hypot.core.usage.layout import CPU_LAYOUT, MEMORY_LAYOUT, Layout

HOUR, DAY = 3600.0, 86400.0
NOON = 19_676 * DAY + 12 * HOUR
TENS = Layout.linear(10.0, 1.0, 1e-15)


def filled(samples, layout=TENS, half_life=HOUR):
    """A bank with one row that holds these values, weights and times."""
    bank = Bank(layout)
    bank.new(half_life)
    for sample in samples:
        bank.add(0, *sample)
    return bank


@pytest.mark.parametrize(
    ("layout", "starts"),
    [
        (CPU_LAYOUT, {0: 0, 1: 0.01, 2: 0.0205, 3: 0.031525, 174: 972.45, 175: 1021.09}),
        (MEMORY_LAYOUT, {0: 0, 1: 1e7, 2: 2.05e7, 3: 3.1525e7, 175: 1.02108e12}),
    ],
)
def test_production_layouts(layout, starts):
    """176 buckets, each 5 % wider than the one before; checkpoints rely on it."""
    assert len(layout) == 176
    assert layout.epsilon == 1e-4
    assert {bucket: layout.starts[bucket] for bucket in starts} == pytest.approx(starts, rel=1e-4)


@pytest.mark.parametrize("layout", [CPU_LAYOUT, MEMORY_LAYOUT])
def test_a_value_lies_in_its_bucket(layout):
    """In the middle of each bucket, below the first and beyond the last."""
    middles = (layout.starts + layout.ends) / 2
    assert layout.buckets(middles).tolist() == list(range(len(layout)))
    assert layout.buckets([-1.0, 0.0, nan, layout.starts[1] * 0.999]).tolist() == [0, 0, 0, 0]
    assert layout.buckets([inf, 1e300]).tolist() == [175, 175]


@pytest.mark.parametrize(
    ("largest", "first", "ratio", "epsilon"),
    [
        (0, 1, 2, 1),
        (-1, 1, 2, 1),
        (inf, 1, 2, 1),
        (nan, 1, 2, 1),
        (9, 0, 2, 1),
        (9, 1, 1, 1),
        (9, 1, inf, 1),
        (9, 1, 2, 0),
    ],
)
def test_impossible_exponential_layouts(largest, first, ratio, epsilon):
    """They are refused, and the message has the numbers."""
    with pytest.raises(ValueError, match=f"up to {largest}"):
        Layout.exponential(largest, first, ratio, epsilon)


@pytest.mark.parametrize(("largest", "size", "epsilon"), [(0, 1, 1), (inf, 1, 1), (9, 0, 1), (9, -1, 1), (9, 1, 0)])
def test_impossible_linear_layouts(largest, size, epsilon):
    """They are refused."""
    with pytest.raises(ValueError, match="must be above 0"):
        Layout.linear(largest, size, epsilon)


def test_the_reference_is_a_multiple_of_the_half_life():
    """Counted from year one: midnight for a half-life of a day, and noon rounds up to the next."""
    bank = filled([(1, 1, NOON + 1)], half_life=DAY)
    assert bank.reference[0] == NOON + 12 * HOUR
    assert filled([(1, 1, NOON - 1)], half_life=DAY).reference[0] == NOON - 12 * HOUR
    assert filled([(1, 1, NOON)], half_life=DAY).reference[0] == NOON + 12 * HOUR


def test_the_reference_moves_after_a_hundred_half_lives():
    """Not before; then old weights are scaled down, and buckets below epsilon no longer count."""
    bank = filled([(1, 1, NOON)])
    reference = bank.reference[0]
    bank.add(0, 2, 1, reference + 100 * HOUR)
    assert bank.reference[0] == reference
    assert bank.weights[0, 2] == 2.0**100
    bank.add(0, 3, 1, reference + 100 * HOUR + 1)
    assert bank.reference[0] == reference + 100 * HOUR
    assert (bank.first[0], bank.last[0]) == (2, 3)
    assert bank.weights[0, 1] == 2.0**-100
    assert bank.total[0] == pytest.approx(2, rel=1e-3)


def test_an_old_sample_weighs_less():
    """Also a sample that is older than the reference."""
    bank = filled([(1, 1, NOON), (2, 1, NOON - 3 * HOUR)])
    assert bank.weights[0, 1:3].tolist() == [1, 0.125]


def test_rows_that_never_forget():
    """With an infinite half-life weights stay as they are, and there is no reference."""
    bank = filled([(1, 1, NOON), (2, 1, NOON + 1e9)], half_life=inf)
    assert bank.weights[0, 1:3].tolist() == [1, 1]
    bank.load(0, Saved(1.0, {3: 5}, NOON))
    assert bank.reference[0] == YEAR_ONE
    assert bank.total[0] == 3


def test_a_history_of_centuries_is_forgotten():
    """A checkpoint without a reference counts from year one, so the next sample outweighs it."""
    bank = filled([])
    bank.load(0, Saved(100.0, {7: 1}))
    assert bank.percentiles(0, [1.0]) == [8]
    bank.add(0, 1, 1, NOON)
    assert bank.percentiles(0, [1.0]) == [2]


def test_light_buckets_do_not_count():
    """A bucket lighter than epsilon is skipped, in one row and in many."""
    layout = Layout.linear(10.0, 1.0, 0.5)
    bank = filled([(1, 0.4, NOON), (2, 0.7, NOON), (3, 0.7, NOON), (5, 0.4, NOON)], layout)
    bank.new(HOUR)
    assert (bank.first[0], bank.last[0]) == (2, 3)
    shares = [-1, 0, 0.3, 0.4, 0.9, 2]
    expected = [3, 3, 3, 4, 4, 4]
    assert bank.percentiles(0, shares) == expected
    assert bank.percentile([0, 1], np.array(shares)[:, None]).T.tolist() == [expected, [0] * 6]
    assert bank.percentile([0, 1, 0], [0.3, 0.3, 0.4]).tolist() == [3, 0, 4]


def test_rows_may_repeat_in_one_call():
    """The samples add up, and the reference follows the latest of them."""
    bank = Bank(TENS)
    rows = [bank.new(HOUR), bank.new(HOUR)]
    bank.add([0, 1, 0, 0], [1, 1, 1, 2], [1, 2, 3, 4], [NOON, NOON, NOON, NOON + 200 * HOUR])
    assert bank.weights[0, 2] == 4
    assert bank.weights[0, 1] == pytest.approx(4 * 2.0**-200)
    assert bank.reference[rows].tolist() == [NOON + 200 * HOUR, NOON]
    bank.subtract([1, 1], [1, 1], [0.5, 1.5], NOON)
    assert bank.is_empty(rows).tolist() == [False, True]
    assert (bank.first[1], bank.last[1], bank.total[1]) == (len(TENS) - 1, 0, 0)


def test_negative_weights_are_refused():
    """A half-life that is not above 0 is refused too."""
    with pytest.raises(ValueError, match="must not be negative"):
        filled([(1, -1, NOON)])
    for half_life in (0, -1, nan):
        with pytest.raises(ValueError, match="half-life"):
            Bank(TENS).new(half_life)


def test_a_freed_row_comes_back_empty():
    """Other rows keep their content while the bank grows."""
    bank = filled([(4, 1, NOON)])
    rows = [bank.new(DAY) for _ in range(3 * SMALLEST)]
    assert rows == list(range(1, 3 * SMALLEST + 1))
    bank.add(rows, 5, 1, NOON)
    bank.free(7)
    assert bank.new() == 7
    assert bank.is_empty([6, 7, 8]).tolist() == [False, True, False]
    assert (bank.total[7], bank.reference[7], bank.half_life[7]) == (0, YEAR_ONE, inf)
    assert bank.percentile([0, 6], 1.0).tolist() == [5, 6]
    assert len(bank) == 3 * SMALLEST + 1


def test_merging_leaves_the_other_as_it_is():
    """Whichever of the two is older."""
    for first, second in ((NOON, NOON + 5 * HOUR), (NOON + 5 * HOUR, NOON)):
        bank, other = filled([(1, 1, first)]), filled([(2, 1, second)])
        before = other.weights[0].copy()
        bank.merge(0, 0, other)
        assert other.reference[0] == second
        assert (other.weights[0] == before).all()
        assert bank.reference[0] == NOON + 5 * HOUR
        assert bank.weights[0, 1] / bank.weights[0, 2] == 2.0 ** ((first - second) / HOUR)


def test_what_cannot_be_merged():
    """Rows with other layouts or half-lives are refused."""
    bank = filled([])
    with pytest.raises(ValueError, match="layouts"):
        bank.merge(0, 0, filled([], CPU_LAYOUT))
    with pytest.raises(ValueError, match="half-lives"):
        bank.merge(0, 0, filled([], half_life=DAY))


@pytest.mark.parametrize(
    ("saved", "message"),
    [
        (None, "no checkpoint"),
        (Saved(-1, {}), "total weight of -1"),
        (Saved(nan, {}), "total weight of nan"),
        (Saved(inf, {1: 1}), "total weight of inf"),
        (Saved(1, {-1: 1}), "no bucket -1"),
        (Saved(1, {11: 1}), "numbered from 0 to 10"),
        (Saved(1, {1: -1}), "the weight -1 of bucket 1 is invalid"),
    ],
)
def test_what_cannot_be_loaded(saved, message):
    """The message says why, and nothing changes."""
    bank = filled([(4, 1, NOON)])
    before = bank.copied(0)
    with pytest.raises(ValueError, match=message):
        bank.load(0, saved)
    assert (bank.weights[0] == before.weights[0]).all()
    assert (bank.total[0], bank.reference[0]) == (before.total[0], before.reference[0])


def test_loading_nothing_sets_the_reference_only():
    """As in the upstream VPA."""
    bank = filled([(4, 1, NOON)])
    bank.load(0, Saved(3.0, {2: 0}, NOON + DAY))
    assert bank.total[0] == 1
    assert bank.reference[0] == NOON + DAY


@pytest.mark.parametrize(("before", "after"), [(HOUR, DAY), (DAY, HOUR), (inf, HOUR), (HOUR, inf), (HOUR, HOUR)])
def test_another_half_life_from_now_on(before, after):
    """Existing weights keep their proportions, also to a new sample."""
    now = NOON + 3.3 * HOUR
    bank = filled([(1, 4, NOON), (2, 3, NOON + 2 * HOUR)], half_life=before)
    same = bank.copied(0)
    bank.change_half_life(0, after, now)
    assert bank.half_life[0] == after
    for each in (bank, same):
        each.add(0, 5, 1, now)
    shares = [(each.weights[0, [1, 2, 5]] / each.total[0]).tolist() for each in (bank, same)]
    assert shares[0] == pytest.approx(shares[1])


@pytest.mark.parametrize("seconds", [3 * HOUR, 20 * DAY + 0.3 * HOUR, 5000 * DAY])
def test_samples_from_a_clock_that_was_ahead(seconds):
    """They weigh as if added that much earlier, and the reference stays a multiple of the half-life."""
    ahead = filled([(1.5, 1.0, NOON + seconds), (4.5, 2.0, NOON + seconds + HOUR)])
    right = filled([(1.5, 1.0, NOON), (4.5, 2.0, NOON + HOUR)])
    ahead.set_back(0, seconds)
    assert (ahead.reference[0] - YEAR_ONE) % HOUR == 0
    for bank in (ahead, right):
        bank.add(0, 8.5, 1.0, NOON + 2 * HOUR)
    shares = [bank.weights[0] / bank.total[0] for bank in (ahead, right)]
    assert shares[0] == pytest.approx(shares[1])


def test_an_empty_row_takes_another_half_life():
    """There is nothing to scale."""
    bank = filled([])
    bank.change_half_life(0, DAY, NOON)
    bank.add(0, 5, 1, NOON)
    assert bank.percentiles(0, [0.5]) == [6]


def test_chains_of_rows():
    """The last row put comes first; taking a row leaves the others, and an empty chain leaves no key."""
    table = Columns({"next": ColumnType(np.int32, NONE)})
    chains = Chains(table, "next")
    rows = [table.new() for _ in range(4)]
    for row in rows[:3]:
        chains.put("a", row)
    chains.put("b", rows[3])
    assert list(chains.rows("a")) == [2, 1, 0]
    chains.take(1)
    assert list(chains.rows("a")) == [2, 0]
    chains.take(2)
    chains.take(0)
    assert list(chains.rows("a")) == []
    assert list(chains) == ["b"]
    assert chains.key(3) == "b"
    chains.put("b", 0)
    assert chains.key(0) is chains.key(3)
