"""Invariants of slots, targets and shapes."""

import itertools

from hypothesis import given
from hypothesis import strategies as st

from hypot.core.axes.shape import count_of, size_at
from hypot.core.learning.slots import MOST, bounds_of, empty, packed, place, unpacked
from hypot.core.learning.target import fixed_point, stepped

amounts = st.integers(1, MOST)
needs = st.lists(st.none() | amounts, min_size=1, max_size=40)
factors = st.tuples(st.floats(0.1, 1.0), st.floats(1.0, 5.0))


@given(amounts)
def test_codes_are_exact_to_one_in_2048(needed):
    """And packing what was unpacked changes nothing."""
    stored = unpacked(packed(needed))
    assert abs(stored - needed) * 2048 <= needed
    assert unpacked(packed(stored)) == stored


@given(amounts, amounts, factors, st.integers(1, 50), st.integers(1, 100), st.integers(1, 500))
def test_bounds(needed, size, factor, least, most_low, most):
    """The minimum never exceeds the maximum, both are within the administrator's, and more need gives no less."""
    low, high = bounds_of(needed, size, *factor, least, most_low, most)
    assert min(least, most) <= low <= high <= most
    more = bounds_of(min(needed * 2, MOST), size, *factor, least, most_low, most)
    assert more[0] >= low
    assert more[1] >= high


@given(needs)
def test_the_window(weeks):
    """The highest of the last four weeks that count, else the last that did."""
    table = empty(4, 24, daily=False)
    for week, needed in enumerate(weeks):
        table.record(week, 2, needed)
    known = [(week, needed) for week, needed in enumerate(weeks) if needed is not None]
    recent = [needed for week, needed in known if week >= len(weeks) - 4]
    expected = max(recent, default=known[-1][1] if known else 0)
    assert table.highest(2) == (unpacked(packed(expected)) if expected else 0)


@given(needs, st.integers(0, 39))
def test_a_week_that_is_left_out_never_lowers_the_highest(weeks, left_out):
    """Compared with a week that needed nothing, if anything is known."""
    tables = [empty(4, 24, daily=False) for _ in range(2)]
    for week, needed in enumerate(weeks):
        for table, instead in zip(tables, (None, 1), strict=True):
            table.record(week, 0, instead if week == left_out else needed)
    known = tables[0].highest(0)
    assert known == 0 or known >= tables[1].highest(0)


@given(st.integers(0, 167), st.lists(st.tuples(st.integers(0, 167), amounts)))
def test_neighbours_are_known(slot, known):
    """What is found is the need of a slot that has one."""
    table = empty(4, 1, daily=False)
    for each, needed in known:
        table.record(0, each, needed)
    found, used = table.nearest(slot, 24)
    assert found == max([table.highest(each) for each in used], default=0)
    assert all(any(table.column(each)) for each in used)


@given(st.floats(0, 4e9), st.sampled_from([1, 2, 3, 4, 6, 8, 12, 24]), st.booleans())
def test_every_time_has_a_place(at, hours, daily):
    """Within the table, in every zone."""
    for zone in ("UTC", "Asia/Kathmandu", "America/St_Johns", "Pacific/Apia"):
        turn, slot = place(at, hours, daily, zone)
        assert turn >= 0
        assert 0 <= slot < empty(4, hours, daily).slots


@given(st.integers(1, 200), st.integers(1, 400), st.integers(1, 100), st.integers(0, 40), st.integers(1, 30))
def test_a_target_moves_monotonically_to_its_end(start, percent, low, wide, step):
    """It never overshoots, and rests."""
    high, seen = low + wide, [start]
    for _ in range(300):
        wanted = fixed_point(seen[-1], seen[-1] * percent, 10_000)
        seen.append(stepped(seen[-1], wanted, low, high, step))
    rises = [two - one for one, two in itertools.pairwise(seen)]
    assert seen[-1] == seen[-2]
    assert all(rise >= 0 for rise in rises) or all(rise <= 0 for rise in rises)
    assert low <= seen[-1] <= high


@given(
    st.integers(1, 10**6),
    st.integers(1, 40),
    st.integers(1, 10_000),
    st.integers(0, 10_000),
    st.integers(1, 1000),
    st.integers(1, 20),
    st.integers(1, 40),
    st.integers(0, 40),
)
def test_shapes_rest_and_hold(total, current, size, wider, smallest, least, preferred, more):
    """Asking again changes nothing, no pod exceeds the largest size, and the pods hold the total if any can."""
    largest, most = max(size, smallest) + wider, max(least, preferred) + more
    size = max(size, smallest)
    seen = [(current, size)]
    for _ in range(3):
        count, now = seen[-1]
        own = count_of(total, count, now, largest, smallest, least, preferred, most)
        seen.append((own, size_at(own, own, total, now, largest, smallest, least, preferred)))
    assert seen[-1] == seen[-2]
    count, now = seen[-1]
    assert smallest <= now <= largest
    assert count * now >= min(total, most * largest)
