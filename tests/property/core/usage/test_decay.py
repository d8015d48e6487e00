"""A histogram in plain numbers equals a row of the bank."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hypot.core.sizes.fit import LARGEST, times_over
from hypot.core.usage.decay import bucket_of, new_decaying, percentiles, put, take, weight_at
from hypot.core.usage.histogram import Bank
from hypot.core.usage.layout import CPU_LAYOUT, MEMORY_LAYOUT
from hypot.replay.fleet.loops import times_over_in_64_bits

DAY = 86400.0
START = 1_700_000_000.0
SHARES = (0.5, 0.9, 0.95)

values = st.sampled_from([0.0, 0.003, 0.01, 0.2, 0.21, 1.0, 1.7, 3.3, 64.0, 999.0, 5000.0])
later = st.sampled_from([0.0, 60.0, 3600.0, 40 * DAY])
soon = st.sampled_from([0.0, 60.0])
# A sample, its count, the time since the previous sample, and whether it is taken out again: then the time is short, so
# that its weight does not drown all others.
samples = st.lists(
    st.one_of(
        st.tuples(values, st.integers(1, 9), later, st.just(value=False)),
        st.tuples(values, st.integers(1, 9), soon, st.just(value=True)),
    ),
    max_size=40,
)


def both(layout, half_life):
    bank = Bank(layout)
    bank.new(half_life)
    return bank, new_decaying(layout, half_life)


def same(bank, row):
    found = [0.0] * 3
    percentiles(row, SHARES, found)
    assert found == bank.percentiles(0, SHARES)
    assert row.total[0] == pytest.approx(float(bank.total[0]), rel=1e-9, abs=1e-9)
    assert row.reference[0] == float(bank.reference[0])
    assert (row.first[0], row.last[0]) == (int(bank.first[0]), int(bank.last[0]))


@given(samples, st.sampled_from([60.0, 3600.0, DAY]))
def test_samples_in_and_out(given_, half_life):
    """At any distance: the reference moves when samples are a hundred half-lives ahead."""
    bank, row = both(CPU_LAYOUT, half_life)
    at = START
    for value, count, wait, out in given_:
        at += wait
        bank.add([0] * count, value, 0.1, at)
        put(row, bucket_of(row, value), 0.1 * weight_at(row, at), count)
        if out:
            bank.subtract([0] * count, value, 0.1, at)
            take(row, bucket_of(row, value), 0.1 * weight_at(row, at), count)
        same(bank, row)


@given(st.floats(0.0, 2e12))
def test_buckets_of_bytes(value):
    """The result is that of the layout."""
    assert bucket_of(new_decaying(MEMORY_LAYOUT, DAY), value) == int(MEMORY_LAYOUT.buckets(value))


@given(
    st.sampled_from([CPU_LAYOUT, MEMORY_LAYOUT]),
    st.lists(st.tuples(st.integers(0, 170), st.sampled_from([0.0, 1e-16, 1e-13, 1e-9, 1e-8, 0.01, 0.04]))),
)
def test_buckets_one_after_the_other(layout, given_):
    """The last bucket found does not matter: on borders, next to them and in between."""
    row = new_decaying(layout, DAY)
    for bucket, beside in given_:
        for value in (layout.ends[bucket] * (1 - beside), layout.ends[bucket] * (1 + beside)):
            assert bucket_of(row, value) == bucket_of(new_decaying(layout, DAY), value)


def test_percentiles_in_any_order():
    """A target below the lower bound is odd, but it is found."""
    row, found = new_decaying(CPU_LAYOUT, DAY), [0.0] * 3
    for value in (0.1, 1.0, 10.0):
        put(row, bucket_of(row, value), weight_at(row, START), 1)
    percentiles(row, (0.9, 0.1, 0.5), found)
    assert found[0] > found[2] > found[1] > 0.1


def test_nothing_has_no_percentiles():
    """This is the case before the first sample."""
    found = [1.0] * 3
    percentiles(new_decaying(CPU_LAYOUT, DAY), SHARES, found)
    assert found == [0.0, 0.0, 0.0]


@given(st.integers(-(2**46), 2**46), st.integers(0, 2**46), st.integers(1, 2**47 - 1))
def test_proportions_in_64_bits(amount, result, base):
    """It is exact where the result fits, even if the product does not."""
    exact = times_over(amount, result, base)
    if abs(exact) < 2**62:
        assert times_over_in_64_bits(amount, result, base) == exact


@pytest.mark.parametrize(("amount", "sign"), [(2**35, 1), (-(2**35), -1)])
def test_what_no_integer_holds_is_the_largest(amount, sign):
    """The plain arithmetic cuts it the same way."""
    assert times_over_in_64_bits(amount, 2**35, 1) == sign * LARGEST
