"""The arithmetic of scaling intervals on plain numbers: the count for a total, and the share of each pod."""

import pytest

from hypot.core.axes.gate import UNSET
from hypot.core.axes.interval import (
    HORIZONTAL_ONLY,
    Given,
    ResourceShare,
    count_for,
    effective,
    holds,
    limit_for,
    most_at,
    outgrows,
    part_of,
    permitted,
    replicas_for,
    scaled_limit,
    whole_limit,
)


class TestCounts:
    """Counts from intervals and from columns."""

    @pytest.mark.parametrize(
        ("low", "below", "pinned", "total", "expected"),
        [
            (10, 10, 0, 10, False),
            (8, 10, 0, 8, True),
            (8, 10, 0, 7, False),
            (8, 10, 5, 8, False),
            (8, 10, 0, 21, False),
        ],
    )
    def test_which_count_has_the_border(self, low, below, pinned, total, expected):
        """Without overlap, or with one fixed size, the border belongs to the count below."""
        assert holds(low, 20, below, pinned, total) is expected

    @pytest.mark.parametrize("current", range(9))
    def test_columns_agree_with_intervals(self, current):
        """Inside and beyond the intervals, held by the overlap or not."""
        made = effective([Given(4, 300), Given(6, 900), Given(7, 1000, HORIZONTAL_ONLY)], 2, 10, 0, 30)
        columns = [list(column) for column in zip(*made, strict=True)][1:-1]
        for total in range(0, 9000, 97):
            assert count_for(2, len(made), *columns, total, current) == replicas_for(made, total, current)


def part(total, old, current, desired, *, base=(0, 0), pinned=UNSET, most=0, stays=False, may_shrink=True, grain=1):
    return part_of(total, current * max(old, 0), old, current, desired, *base, pinned, most, stays, may_shrink, grain)


class TestParts:
    """The share of each pod."""

    def test_an_even_share(self):
        """The share is rounded up, so that the total is enough."""
        assert part(1000, 100, 2, 3) == ResourceShare(334, 334, kept=False, budgeted=False)

    def test_what_falls_is_not_rounded_up(self):
        """A smaller share is not rounded up beyond the old amount."""
        assert part(2999, 1500, 2, 2, grain=1000).amount == 1500
        assert part(2999, UNSET, 2, 2, grain=1000).amount == 2000

    def test_an_exact_share_is_not_rounded(self):
        """Rounded up, it could exceed the largest size by less than a grain."""
        assert part(8 * 2**30, UNSET, 1, 2, grain=1000).amount == 4 * 2**30
        assert part(8 * 2**30 + 1, UNSET, 1, 2, grain=1000).amount == 4_294_968_000

    def test_a_maximum_is_a_maximum(self):
        """It cuts what the total asks for, and lowers no pod that may not be lowered."""
        assert part(1000, 100, 2, 2, most=400) == ResourceShare(400, 500, kept=False, budgeted=False)
        assert part(8 * 2**30 + 1, UNSET, 1, 2, grain=1000, most=4 * 2**30).amount == 4 * 2**30
        assert part(1000, 450, 2, 2, most=400, may_shrink=False).amount == 450
        assert part(2000, 450, 2, 3, most=400, stays=True).amount == 450
        assert part(300, 450, 2, 2, most=400, may_shrink=False) == ResourceShare(450, 450, kept=True, budgeted=False)

    @pytest.mark.parametrize(("count", "expected"), [(1, 300), (2, 300), (4, 300), (5, 900), (7, 1000), (9, 1000)])
    def test_the_maximum_at_a_count(self, count, expected):
        """Of the interval that the count belongs to; beyond all intervals that of the nearest."""
        made = effective([Given(4, 300), Given(6, 900), Given(7, 1000, HORIZONTAL_ONLY)], 2, 10, 0, 30)
        assert most_at(2, len(made), [one.most for one in made], count) == expected

    def test_the_maximum_where_sizes_fall(self):
        """The pods of a count may be as large as its totals need, although more pods have to be smaller."""
        made = effective([Given(2, 900), Given(6, 300)], 1, 0, 0, 0)
        assert all(one.replicas * one.most >= one.high for one in made)

    def test_what_stays(self):
        """The amount stays against its total if pods may not scale down or a recommendation is missing."""
        assert part(1000, 500, 2, 4, stays=True) == ResourceShare(500, 500, kept=True, budgeted=False)
        assert part(600, 500, 2, 2, may_shrink=False) == ResourceShare(500, 500, kept=True, budgeted=False)

    def test_the_base_load_is_budgeted(self):
        """Each removed replica takes its base load with it."""
        assert part(1000, 250, 4, 2, base=(50, 0)) == ResourceShare(450, 450, kept=False, budgeted=True)

    def test_one_size_only(self):
        """The fixed size applies whatever the total; if it may not fall, at least the old amount."""
        assert part(1000, 300, 2, 2, pinned=200) == ResourceShare(200, 500, kept=False, budgeted=False)
        assert part(1000, 300, 2, 2, pinned=200, may_shrink=False).amount == 300

    @pytest.mark.parametrize(("fewer", "expected"), [(1, True), (3, True), (4, False)])
    def test_pods_that_would_need_more(self, fewer, expected):
        """For a total that four pods have."""
        assert outgrows(1000, 250, 4, fewer, 0, 0) is expected


class TestBounds:
    """Sizes and limits within what is allowed."""

    @pytest.mark.parametrize(
        ("least", "most", "limit", "expected"),
        [(0, 0, UNSET, 100), (150, 0, UNSET, 150), (0, 50, UNSET, 50), (150, 120, UNSET, 120), (0, 0, 80, 80)],
    )
    def test_what_is_permitted(self, least, most, limit, expected):
        """The maximum overrides the minimum, and a limit overrides both."""
        assert permitted(100, least, most, limit) == expected

    @pytest.mark.parametrize("gap", [(None, None), (100, None), (None, 50), (100, 50), (0, 0)])
    @pytest.mark.parametrize("old", [None, 0, 100, 200])
    def test_absent_is_unset(self, gap, old):
        """Both forms scale a limit with its request in the same way."""
        plain = [UNSET if one is None else one for one in gap]
        assert limit_for(200, old or 0, 300, *plain, 2) == scaled_limit(200, old, 300, *gap, 2)

    def test_a_limit_in_whole_grains(self):
        """The limit is never below the request."""
        assert whole_limit(3000, 2000, 1000, UNSET, 1, 1, 1000) == 2000
        assert whole_limit(1, 2000, 1000, UNSET, UNSET, 1, 1000) == 1000

    def test_the_limit_of_an_exact_request(self):
        """It is exact too."""
        assert whole_limit(3 * 2**30, 2 * 2**30, 4 * 2**30, UNSET, UNSET, 1, 1000) == 6 * 2**30
        assert whole_limit(2**30, 2**30, 4 * 2**30, UNSET, UNSET, 1, 1000) == 4 * 2**30
