"""What holds an Hvpa back, on plain numbers."""

from math import inf

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hypot.core.axes.gate import (
    AT_LEAST,
    AT_MOST,
    AUTO,
    DOWN,
    FREE,
    IN_WINDOW,
    MAINTENANCE,
    MOST_SWINGS,
    OFF,
    OPEN,
    STABILIZATION,
    STAYS,
    UNSET,
    UP,
    UPDATE_POLICY,
    averaged,
    belief,
    closed,
    held_to,
    is_enough,
    is_peak,
    keeps_added,
    learned_total,
    may_be_noise,
    needed_change,
    patience,
    swings_after,
    way_of,
    without_noise,
)
from hypot.core.axes.saturation import beyond, fewest, is_at_cap, is_full, least_kept
from hypot.core.sizes.fit import times_over


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

    @pytest.mark.parametrize(
        ("usage", "cap", "kept"),
        [(0, 1000, 0), (360, 1000, 4), (361, 1000, 5), (900, 1000, 10), (2000, 1000, 10), (900, 2000, 5)],
    )
    def test_how_many_replicas_must_be_kept(self, usage, cap, kept):
        """Of 10, as many as keep usage at 90 % of what they can get, if each can get as much as before."""
        assert fewest(10, usage, cap) == kept


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


amounts = st.integers(0, 10**12)
fractions = st.floats(0, 1e12)


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


@pytest.mark.parametrize(
    ("mean", "at", "half_life", "expected"),
    [
        (-1.0, -inf, 600.0, 2000.0),
        (1000.0, 400.0, 600.0, 1500.0),
        (1000.0, -200.0, 600.0, 1750.0),
        (1000.0, 1000.0, 600.0, 1000.0),
        (1000.0, 1600.0, 600.0, 1000.0),
        (1000.0, 400.0, 0.0, 2000.0),
    ],
)
def test_the_average_of_a_total(mean, at, half_life, expected):
    """Of 2000 at the time 1000. Its first value is the total; at the same time, or earlier, nothing is added to it."""
    assert averaged(mean, at, 2000, half_life, 1000.0) == expected


@pytest.mark.parametrize(
    ("used", "at", "replaces"), [(700.0, 990.0, True), (500.0, 990.0, False), (500.0, 400.0, True)]
)
def test_the_peak_of_usage(used, at, replaces):
    """A peak of 600, in a window of ten minutes."""
    assert is_peak(used, 600.0, at, 600.0, 1000.0) is replaces


@pytest.mark.parametrize(
    ("last_down", "doubted"), [(-inf, False), (1000.0, True), (-19_999.0, True), (-20_600.0, False)]
)
def test_a_rise_after_a_fall(last_down, doubted):
    """It may be noise for six hours if falls wait ten minutes."""
    assert may_be_noise(last_down, 600.0, 1000.0) is doubted


@pytest.mark.parametrize(
    ("swings", "last_up", "last_down", "restarted", "expected"),
    [
        # The first growth after a scale-down that restarted pods.
        (0, -inf, 400.0, 400.0, 1),
        (3, 100.0, 400.0, 700.0, 4),
        (MOST_SWINGS, 100.0, 400.0, 700.0, MOST_SWINGS),
        # Pods were resized in place, were restarted before it, or are restarted only now.
        (2, 100.0, 400.0, -inf, 2),
        (2, 100.0, 400.0, 399.0, 2),
        (2, 100.0, 400.0, 1000.0, 2),
        # More growth counts once.
        (2, 500.0, 400.0, 700.0, 2),
        (0, -inf, -inf, -inf, 0),
        # The last restart was up to an hour ago, however long the scale-down took; or longer.
        (2, -9000.0, -8000.0, -2599.0, 3),
        (2, -9000.0, -8000.0, -2600.0, 1),
        (0, -inf, -2600.0, -inf, 0),
    ],
)
def test_scale_downs_that_were_reversed(swings, last_up, last_down, restarted, expected):
    """They count if they restarted pods."""
    assert swings_after(swings, last_up, last_down, restarted, 600.0, 1000.0) == expected


@pytest.mark.parametrize(
    ("window", "restarted", "expected"),
    [(0.0, 700.0, 3), (0.0, -2599.0, 3), (0.0, -2600.0, 1), (1200.0, -6199.0, 3), (1200.0, -6200.0, 1)],
)
def test_scale_downs_that_were_soon_reversed(window, restarted, expected):
    """Within an hour, or within six stabilisations if that is longer."""
    assert swings_after(2, -inf, -8000.0, restarted, window, 1000.0) == expected


@pytest.mark.parametrize(
    ("window", "swings", "waits"),
    [
        (300.0, 0, 300.0),
        (300.0, 1, 600.0),
        (300.0, 5, 9600.0),
        (300.0, 10**6, 21_600.0),
        (90_000.0, 3, 90_000.0),
        # A short stabilisation doubles from the time that samples need.
        (0, 0, 0),
        (60.0, 0, 60.0),
        (0, 1, 360.0),
        (60.0, 3, 1440.0),
        (0, MOST_SWINGS, 21_600.0),
    ],
)
def test_a_scale_down_waits_longer_after_reversed_ones(window, swings, waits):
    """At most six hours, unless the window itself is longer."""
    assert patience(window, swings) == waits


@pytest.mark.parametrize(
    ("total", "used", "mean", "peak", "doubted", "expected"),
    [
        # A rise that is not doubted; one that does not last, one that does, and one that fills the requests.
        (1300, 910.0, 900.0, 910.0, False, 1300),
        (1300, 910.0, 1099.0, 910.0, True, 1000),
        (1300, 910.0, 1100.0, 910.0, True, 1300),
        (1358, 950.0, 900.0, 950.0, True, 1358),
        # Usage fell again: nothing rises, though the average is still higher.
        (800, 560.0, 1150.0, 900.0, True, 900),
        # A fall leaves the peak of usage, and adds nothing.
        (500, 350.0, 900.0, 800.0, True, 800),
        (500, 350.0, 900.0, 800.0, False, 800),
        (500, 350.0, 900.0, 1200.0, True, 1000),
        (600, 420.0, 500.0, 420.0, True, 600),
    ],
)
def test_a_total_without_noise(total, used, mean, peak, doubted, expected):
    """There is 1000, and an increase of 100 is enough."""
    assert without_noise(total, used, mean, peak, 1000, 100, doubted) == expected


@given(
    total=amounts, used=fractions, mean=fractions, peak=fractions, now=amounts, needed=amounts, doubted=st.booleans()
)
def test_without_noise_stays_between_what_is_there_and_what_is_asked(total, used, mean, peak, now, needed, doubted):
    """It is never above the larger of both, and never below the smaller: no noise rule adds or removes by itself."""
    assert min(total, now) <= without_noise(total, used, mean, peak, now, needed, doubted) <= max(total, now)
