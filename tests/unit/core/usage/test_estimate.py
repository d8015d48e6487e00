"""Amounts, and the size that follows from a percentile."""

from math import inf, nan

import numpy as np
import pytest

from hypot.core import amount
from hypot.core.amount import CPU, MEMORY, MOST
from hypot.core.usage import estimate

DAY = 86400.0


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (0, 0),
        (0.999, 0),
        (1.999, 1),
        (-0.5, 0),
        (-inf, 0),
        (nan, 0),
        (MOST - 0.5, MOST - 1),
        (MOST + 1, MOST),
        (inf, MOST),
    ],
)
def test_cut_to_a_whole_amount(value, expected):
    """Numbers and arrays give the same result."""
    assert amount.from_float(value) == expected
    assert estimate.whole(float(value)) == expected
    assert estimate.whole(np.array([value], float)).tolist() == [expected]


def test_units():
    """Histograms hold cores and bytes, amounts are millicores and bytes."""
    assert amount.of_unit(CPU, 0.0259) == 25
    assert amount.of_unit(MEMORY, 25.9) == 25
    assert amount.to_unit(CPU, 25) == 0.025
    assert amount.to_unit(MEMORY, 25) == 25.0


@pytest.mark.parametrize(("memory", "text"), [(0, "0"), (1023, "1023"), (1024, "1.00Ki"), (2**50, "1024.00Ti")])
def test_memory_for_people(memory, text):
    """The largest unit that fits, up to Ti; plain bytes below Ki."""
    assert amount.humanize(memory) == text


def test_rounding_many_up():
    """Arrays and single amounts are rounded up."""
    assert amount.round_up(np.array([0, 1, 5, 6]), 5).tolist() == [0, 5, 5, 10]
    assert amount.round_up(np.array([7]), 0).tolist() == [7]
    assert amount.round_up(7, 5) == 10


def test_only_the_margin_is_cut():
    """19 and its margin of 2.85 make 21."""
    assert estimate.with_margin(19, 0.15) == 21
    assert estimate.with_margin(np.array([19.0, 0.0]), 0.15).tolist() == [21, 0]


# Length of the history at one sample a minute, factor of the upper bound, factor of the lower bound.
CONFIDENCE = [
    (5, 289, 0.603),
    (30, 49, 0.910),
    (60, 25, 0.954),
    (720, 3, 0.996),
    (1440, 2, 0.998),
    (7 * 1440, 1.143, 0.9997),
]


@pytest.mark.parametrize(("minutes", "upper", "lower"), CONFIDENCE)
def test_confidence_rises_with_history(minutes, upper, lower):
    """With more history the bounds come closer."""
    sure = estimate.confidence(0.0, minutes * 60.0, minutes, DAY)
    factors = [estimate.widening(sure, 1.0, 1.0), estimate.widening(sure, 0.001, -2.0)]
    assert factors == pytest.approx([upper, lower], rel=1e-3)
    many = np.array([sure])
    assert estimate.widening(many, 1.0, 1.0).item() == pytest.approx(factors[0], rel=1e-12)
    assert estimate.widening(many, 0.001, -2.0).item() == pytest.approx(factors[1], rel=1e-12)


@pytest.mark.parametrize(
    ("first", "last", "samples", "expected"),
    [
        (inf, -inf, 0, 0),
        (100.0, 100.0, 1, 0),
        (0.0, DAY, 720, 0.5),
        (0.0, DAY / 4, 1440, 0.25),
        (DAY, 0.0, 5, 0),
    ],
)
def test_confidence_is_the_smaller_of_two(first, last, samples, expected):
    """By time and by number of samples; never negative."""
    assert estimate.confidence(first, last, samples, DAY) == expected
    many = [np.array([each], float) for each in (first, last, samples)]
    assert estimate.confidence(*many, DAY).tolist() == [expected]


def test_bounds_without_confidence():
    """The upper bound is the largest amount, the lower the minimum; the target is unaffected."""
    assert estimate.bounds(100.0, 200.0, 300.0, 0.15, 0.0, 25) == (25, 230, MOST)
    arrays = [np.array([value, 0.0]) for value in (100.0, 200.0, 300.0)]
    found = estimate.bounds(*arrays, 0.15, np.zeros(2), 25)
    assert np.array(found).tolist() == [[25, 25], [230, 25], [MOST, 25]]


def test_a_share_of_the_minimum():
    """The share is cut to a whole amount."""
    assert [estimate.share(25, count) for count in (1, 2, 3)] == [25, 12, 8]
