"""Which axis moves: the published examples of a preferred count, number by number."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hypot.core.axes.interval import HORIZONTAL_ONLY, Given, effective, replicas_for
from hypot.core.axes.shape import count_of, size_at

LEAST, PREFERRED, MOST = 3, 10, 30
SMALLEST, LARGEST = 1000, 5000


def shape(total, current, size, *, preferred=PREFERRED, most=MOST, largest=LARGEST):
    own = count_of(total, current, size, largest, SMALLEST, LEAST, preferred, most)
    return own, size_at(own, own, total, size, largest, SMALLEST, LEAST, preferred)


@pytest.mark.parametrize(
    ("total", "current", "size", "expected"),
    [
        # Demand rises at the preferred count: pods grow; it falls: they keep their size.
        (40_000, 10, 2000, (10, 4000)),
        (30_000, 10, 4000, (8, 4000)),
        # Beyond the largest size, replicas are added again.
        (74_300, 10, 2000, (15, 5000)),
        (74_300, 10, 5000, (15, 5000)),
        # At the least count pods shrink, keep that size, and stop at the smallest.
        (4500, 3, 2000, (3, 1500)),
        (6000, 3, 1500, (4, 1500)),
        (3000, 3, 2000, (3, 1000)),
        (1500, 3, 1000, (3, 1000)),
        # In between only the count moves.
        (9000, 3, 2000, (5, 2000)),
    ],
)
def test_the_published_examples(total, current, size, expected):
    """Minimum 3, preferred 10, largest 5 cores, smallest 1."""
    assert shape(total, current, size) == expected


@pytest.mark.parametrize("peak", [40_000, 74_300, 18_000])
@pytest.mark.parametrize("lowest", [20_000, 7000])
def test_the_next_day_changes_no_size(peak, lowest):
    """After one day with this peak, the same demand needs no other size.

    At night there are so few replicas that pods would shrink: they keep what the known peak needs.
    """
    day = [*range(lowest, peak, 500), peak, *range(peak, lowest, -500)]
    current, size, highest, sizes = 4, 2000, 0, [set(), set()]
    for written in sizes:
        for total in day:
            highest = max(highest, total)
            smallest = min(max(SMALLEST, -(-highest // PREFERRED)), LARGEST)
            own = count_of(total, current, size, LARGEST, smallest, LEAST, PREFERRED, MOST)
            current, before = own, size
            size = size_at(own, own, total, size, LARGEST, smallest, LEAST, PREFERRED)
            written.update({size} - {before})
    assert not sizes[1]


def test_a_slow_fall_writes_no_size():
    """In steps of 1 % from the preferred count down to the least."""
    total, current, size = 40_000, 10, 4000
    while total > 12_000:
        total = total * 99 // 100
        current, new = shape(total, current, size)
        assert new == size or current == LEAST
    assert current == LEAST


def test_another_container_needs_more_replicas():
    """One that needs less keeps its size between the least and the preferred count, and shrinks at the least count."""
    own = count_of(3000, 8, 2000, LARGEST, SMALLEST, LEAST, PREFERRED, MOST)
    assert own == 3
    assert [size_at(count, own, 3000, 2000, LARGEST, SMALLEST, LEAST, PREFERRED) for count in (8, 12, 3)] == [
        2000,
        2000,
        1000,
    ]


def intervals(size, largest, smallest, least, preferred, most):
    """The same shape as scaling intervals of an Hvpa."""
    preferred = min(max(preferred, least), most)
    written = [
        Given(least, size),
        Given(preferred - 1, size, HORIZONTAL_ONLY),
        Given(preferred, largest),
        Given(most, largest, HORIZONTAL_ONLY),
    ]
    made, last = [], least - 1
    for one in written:
        if one.replicas > last:
            made.append(one)
            last = one.replicas
    return effective(made, least, smallest, 0, 0)


@given(
    st.integers(0, 120_000),
    st.integers(0, 25),
    st.sampled_from([1, 700, 2000, 5000, 6000]),
    st.sampled_from([2000, 5000]),
    st.sampled_from([0, 1000, 2000]),
    st.tuples(st.integers(1, 6), st.integers(1, 12), st.integers(0, 14)),
)
def test_counts_are_those_of_scaling_intervals(total, current, size, largest, smallest, counts):
    """Also where the preferred count is the least or the most, and where pods are larger than they may be."""
    least, preferred, more = counts
    shape_of = (size, largest, smallest, least, preferred, least + more)
    assert count_of(total, current, *shape_of) == replicas_for(intervals(*shape_of), total, current)


@pytest.mark.parametrize(("total", "expected"), [(9000, 3000), (3000, 1000), (30_000, 5000), (6000, 2000), (300, 1000)])
def test_a_single_count(total, expected):
    """Where the least count is the preferred one too, the size follows the total in both directions."""
    assert count_of(total, 3, 2000, LARGEST, SMALLEST, 3, 3, 3) == 3
    assert size_at(3, 3, total, 2000, LARGEST, SMALLEST, 3, 3) == expected
