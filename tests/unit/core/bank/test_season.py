"""What the demand was at the same time a day or a week ago."""

import pytest

from hypot.core.bank.season import DAY, WEEK, add_to_season, demand_at, new_season, ratio_ahead

MINUTE, DAY_LENGTH = 60.0, 86_400.0
SLOTS = 5
# The third minute of some day.
BEGIN = 20_000 * DAY_LENGTH + 2 * MINUTE


def small(*demands, width=1.0, first=0):
    """A ring of a round of three slots, filled from some slot on; None for a slot without an observation."""
    season = new_season(SLOTS - 2)
    for slot, demand in enumerate(demands, first):
        if demand is not None:
            add_to_season(season, width, demand, (slot + 0.5) * width)
    return season


def known(season, newest):
    """What each slot that is kept says, the newest last."""
    return [season.means[slot % SLOTS] for slot in range(newest - SLOTS + 1, newest + 1)]


class TestAdding:
    def test_a_slot_has_the_mean(self):
        """Of all that was observed in it so far."""
        season = new_season(DAY)
        for second, demand in ((0.0, 1.0), (15.0, 2.0), (30.0, 6.0)):
            add_to_season(season, MINUTE, demand, BEGIN + second)
        assert demand_at(season, MINUTE, BEGIN) == -1.0
        add_to_season(season, MINUTE, 4.0, BEGIN + MINUTE)
        assert demand_at(season, MINUTE, BEGIN + 30.0) == 3.0
        assert (season.total[0], season.count[0]) == (4.0, 1)

    @pytest.mark.parametrize(
        ("demands", "newest", "kept"),
        [
            ((), 0, [-1.0] * 5),
            ((1.0,), 0, [-1.0, -1.0, -1.0, -1.0, 1.0]),
            ((1.0, 2.0, 3.0, 4.0, 5.0), 4, [1.0, 2.0, 3.0, 4.0, 5.0]),
            ((1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0), 6, [3.0, 4.0, 5.0, 6.0, 7.0]),
            # A short gap has the mean of the slot before it.
            ((1.0, 2.0, None, 4.0), 3, [-1.0, 1.0, 2.0, 2.0, 4.0]),
            ((1.0, None, None, None, 5.0), 4, [1.0, 1.0, 1.0, 1.0, 5.0]),
            # A long one is unknown.
            ((1.0, None, None, None, None, 6.0), 5, [-1.0, -1.0, -1.0, -1.0, 6.0]),
            ((1.0, 2.0, 3.0, *[None] * 10, 4.0), 13, [-1.0, -1.0, -1.0, -1.0, 4.0]),
            # Nothing was observed before the first slot.
            ((None, None, None, 4.0), 3, [-1.0, -1.0, -1.0, -1.0, 4.0]),
        ],
    )
    def test_slots(self, demands, newest, kept):
        """The newest slots are kept, and gaps of up to three are filled."""
        assert known(small(*demands), newest) == kept

    def test_a_clock_that_was_set_back(self):
        """What is known of later slots stays, and goes on once the clock has caught up."""
        season = small(1.0, 2.0, 3.0)
        add_to_season(season, 1.0, 9.0, 0.5)
        assert known(season, 2) == [-1.0, -1.0, 1.0, 2.0, 3.0]
        add_to_season(season, 1.0, 5.0, 2.7)
        add_to_season(season, 1.0, 6.0, 3.5)
        assert known(season, 3) == [-1.0, 1.0, 2.0, 4.0, 6.0]


class TestReading:
    @pytest.mark.parametrize(
        ("when", "demand"),
        [
            # The middle of a slot has its mean, and what lies between two middles is between their means.
            (0.5, 10.0),
            (1.5, 20.0),
            (1.0, 15.0),
            (1.25, 17.5),
            (3.4, 39.0),
            # Before the first middle and from the newest on nothing is known.
            (0.4, -1.0),
            (-3.0, -1.0),
            (3.5, -1.0),
            (99.0, -1.0),
        ],
    )
    def test_between_slots(self, when, demand):
        """A line from middle to middle."""
        assert demand_at(small(10.0, 20.0, 30.0, 40.0), 1.0, when) == pytest.approx(demand)

    def test_what_has_left_the_ring(self):
        """The slot of the oldest mean is unknown as soon as its place has the newest."""
        season = small(*map(float, range(1, 9)))
        assert [demand_at(season, 1.0, slot + 0.5) for slot in range(8)] == [-1.0, -1.0, -1.0, 4.0, 5.0, 6.0, 7.0, -1.0]

    def test_beside_what_is_unknown(self):
        """Both slots must be known."""
        season = small(1.0, *[None] * 4, 6.0, 7.0)
        assert [demand_at(season, 1.0, at) for at in (4.9, 5.4, 5.6)] == [-1.0, -1.0, pytest.approx(6.1)]

    @pytest.mark.parametrize(
        ("now", "then", "ratio"),
        [
            # A round before: from 10 to 20, from 20 to 40, and back.
            (3.5, 4.5, 2.0),
            (4.5, 5.5, 2.0),
            (3.5, 5.5, 4.0),
            (5.5, 4.5, 0.5),
            (3.5, 4.0, 1.5),
            # Further ahead than anything that is known, or longer ago.
            (3.5, 7.5, 1.0),
            (3.4, 4.5, 1.0),
        ],
    )
    def test_ratios(self, now, then, ratio):
        """By which factor the demand changed in the round before; 1 where that is not known."""
        season = small(10.0, 20.0, 40.0, 50.0)
        assert ratio_ahead(season, 1.0, now, then) == pytest.approx(ratio)

    @pytest.mark.parametrize(
        ("here", "there", "ratio"), [(1.0, 100.0, 8.0), (100.0, 1.0, 0.125), (1.0, 0.0, 0.125), (1e-4, 5.0, 1.0)]
    )
    def test_bounds_of_ratios(self, here, there, ratio):
        """At most eight times more or less; and nothing follows from almost no demand."""
        assert ratio_ahead(small(here, there, 1.0, 1.0), 1.0, 3.5, 4.5) == ratio

    @pytest.mark.parametrize(("slots", "width"), [(DAY, 60.0), (WEEK, 600.0)])
    def test_a_round(self, slots, width):
        """After a whole day or week, the same moment of the round before and what follows it are there."""
        season = new_season(slots)
        assert ratio_ahead(season, width, BEGIN, BEGIN + 300.0) == 1.0
        for slot in range(slots + 3):
            add_to_season(season, width, 1.0 + slot % slots, slot * width)
        now = (slots + 2) * width
        assert ratio_ahead(season, width, now - 0.5 * width, now) == pytest.approx(3.0 / 2.5, rel=0.1)
        assert ratio_ahead(season, width, now, now + 2.0 * width) > 1.0
