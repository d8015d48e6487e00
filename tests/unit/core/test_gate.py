"""What holds an Hvpa back, on plain numbers."""

from math import inf

import pytest

from hypot.core.fit import times_over
from hypot.core.gate import (
    AT_LEAST,
    AT_MOST,
    AUTO,
    DOWN,
    FREE,
    IN_WINDOW,
    MAINTENANCE,
    OFF,
    OPEN,
    STABILIZATION,
    STAYS,
    UNSET,
    UP,
    UPDATE_POLICY,
    belief,
    closed,
    held_to,
    is_enough,
    keeps_added,
    learned_total,
    needed_change,
    way_of,
)
from hypot.core.saturation import beyond, is_at_cap, is_full, least_kept


class TestTime:
    """Gates that depend on time."""

    @pytest.mark.parametrize(
        ("mode", "since", "patient", "in_window", "expected"),
        [
            (AUTO, inf, True, False, OPEN),
            (OFF, inf, False, True, UPDATE_POLICY),
            (AUTO, 59.9, True, False, STABILIZATION),
            (AUTO, 60.0, True, False, OPEN),
            (AUTO, 1.0, False, False, OPEN),
            (IN_WINDOW, inf, True, True, OPEN),
            (IN_WINDOW, inf, True, False, MAINTENANCE),
            (IN_WINDOW, 1.0, False, False, MAINTENANCE),
            (IN_WINDOW, 1.0, True, False, STABILIZATION),
        ],
    )
    def test_the_first_that_blocks(self, mode, since, patient, in_window, expected):
        """The update mode comes first, then stabilisation, then the maintenance window."""
        assert closed(mode, 60.0, since, patient, in_window) == expected

    @pytest.mark.parametrize(
        ("rises", "falls", "expected"),
        [(True, True, UP), (True, False, UP), (False, True, DOWN), (False, False, STAYS)],
    )
    def test_which_way(self, rises, falls, expected):
        """The direction is up if anything rises."""
        assert way_of(rises, falls) == expected


class TestChange:
    """How far a total must change."""

    @pytest.mark.parametrize(
        ("value", "percent", "expected"),
        [(UNSET, UNSET, 200), (50, UNSET, 50), (UNSET, 10, 30), (50, 10, 30), (20, 10, 20), (0, 10, 0), (UNSET, 0, 0)],
    )
    def test_the_smaller_of_two(self, value, percent, expected):
        """The default applies only where nothing is given; zero counts as given."""
        assert needed_change(value, percent, 300, 200) == expected


class TestBelief:
    """Recommendations learnt at another number of replicas."""

    @pytest.mark.parametrize(
        ("before", "after", "then", "amount", "now", "urgent", "expected"),
        [
            (2, 4, 100, 500, 10.0, False, AT_MOST),
            (4, 2, 100, 10, 10.0, False, AT_LEAST),
            (2, 4, 100, 500, 10.0, True, FREE),
            (4, 2, 100, 10, 10.0, True, AT_LEAST),
            (2, 4, 100, 110, 100.0, False, AT_MOST),
            (2, 4, 100, 111, 100.0, False, FREE),
            (4, 2, 100, 90, 100.0, False, AT_LEAST),
            (4, 2, 100, 89, 100.0, False, FREE),
            (2, 4, UNSET, 100, 100.0, False, FREE),
            (2, 4, 100, 100, 2099.0, False, AT_MOST),
            (2, 4, 100, 100, 2100.0, False, FREE),
            (4, 2, 100, 100, 599.0, False, AT_LEAST),
            (4, 2, 100, 100, 600.0, False, FREE),
        ],
    )
    def test_which_way_it_may_not_move(self, before, after, then, amount, now, urgent, expected):
        """Held while things settle; free once it has clearly moved or had time to forget."""
        assert belief(0.0, before, after, then, amount, 60.0, 600.0, urgent, now) == expected

    @pytest.mark.parametrize(
        ("amount", "bound", "expected"),
        [(9, FREE, 9), (9, AT_MOST, 5), (3, AT_MOST, 3), (9, AT_LEAST, 9), (3, AT_LEAST, 5)],
    )
    def test_what_may_only_fall_or_rise(self, amount, bound, expected):
        """Compared with the current amount."""
        assert held_to(amount, 5, bound) == expected


class TestSaturation:
    """Pods that use all they can get."""

    @pytest.mark.parametrize(("usage", "expected"), [(94, False), (95, True), (200, True)])
    def test_as_good_as_all(self, usage, expected):
        """Usage from 95 % of the cap on counts as full."""
        assert is_full(usage, 100) is expected

    @pytest.mark.parametrize(("usage", "expected"), [(94, False), (95, True), (105, True), (106, False), (300, False)])
    def test_clearly_more_than_the_cap_is_an_old_sample(self, usage, expected):
        """It was taken before the pods became smaller."""
        assert is_at_cap(usage, 100) is expected

    def test_what_to_ask_for(self):
        """The cap of the measured pods plus 30 percent; new pods do not multiply it."""
        assert beyond(1000) == 1300

    @pytest.mark.parametrize(
        ("usage", "cap", "kept"),
        [(0, 1000, 0), (450, 1000, 500), (810, 1000, 900), (900, 1000, 1000), (2000, 1000, 1000), (900, 2000, 500)],
    )
    def test_what_must_be_kept(self, usage, cap, kept):
        """Of 1000 in total, as much as keeps usage at 90 % of what pods can get; never more than there is."""
        assert least_kept(1000, usage, cap) == kept


def test_times_over_is_exact():
    """The product may exceed any machine integer; the fraction is cut."""
    assert times_over(2**62, 2**62, 2**61) == 2**63
    assert times_over(7, 3, 2) == 10


class TestEnough:
    """Changes that are worth it."""

    @pytest.mark.parametrize(
        ("change", "needed", "expected"), [(0, 0, False), (1, 0, True), (9, 10, False), (10, 10, True)]
    )
    def test_no_change_is_never_enough(self, change, needed, expected):
        """Not even where every change counts."""
        assert is_enough(change, needed) is expected

    @pytest.mark.parametrize(
        ("total", "asked", "needed", "expected"),
        [(900, 9, 10, True), (899, 9, 10, False), (960, 10, 10, False), (960, 9, 9, False), (1100, 9, 12, True)],
    )
    def test_added_replicas_stay(self, total, asked, needed, expected):
        """A total of 1,000 raised the count to ten: they go once it has fallen, or if it did not need them."""
        assert keeps_added(total, 1000, asked, needed, 10) is expected


@pytest.mark.parametrize(
    ("amount", "then", "bound", "total"),
    [
        (600, 600, FREE, 1200),
        (600, 600, AT_LEAST, 1200),
        (600, UNSET, AT_MOST, 1200),
        (600, 600, AT_MOST, 600),
        (650, 600, AT_MOST, 650),
        (400, 600, AT_MOST, 600),
        (300, 600, AT_MOST, 600),
        (250, 600, AT_MOST, 500),
    ],
)
def test_the_total_of_what_fewer_pods_needed(amount, then, bound, total):
    """One pod of 600m became two: their total is still 600m. Of memory each may need as much as before."""
    assert learned_total(amount, 1, 2, then, bound, divides=True) == total
    assert learned_total(amount, 1, 2, then, bound, divides=False) == 2 * amount
