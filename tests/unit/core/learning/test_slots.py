"""The slots of a week: where a time is, what was needed, and which bounds follow."""

from datetime import datetime
from zoneinfo import ZoneInfo

import pytest

from hypot.core.learning.slots import (
    MOST,
    bounds_of,
    empty,
    packed,
    place,
    replicas_of,
    rows_of,
    slots_of,
    unpacked,
)

SUNDAY = datetime(2026, 3, 29, tzinfo=ZoneInfo("UTC")).timestamp()
HOUR = 3600
ADMIN = (0.5, 2.0, 3, 10, 100)


def at(text, zone="UTC"):
    return datetime.fromisoformat(text).replace(tzinfo=ZoneInfo(zone)).timestamp()


class TestPlaces:
    """Which slot a time is in."""

    @pytest.mark.parametrize(
        ("time", "hours", "slot"),
        [
            ("2026-03-29T00:00:00", 1, 0),
            ("2026-03-29T23:59:59", 1, 23),
            ("2026-03-30T00:00:00", 1, 24),
            ("2026-04-04T23:00:00", 1, 167),
            ("2026-04-04T23:00:00", 6, 27),
            ("2026-04-04T23:00:00", 24, 6),
        ],
    )
    def test_a_week_begins_on_sunday(self, time, hours, slot):
        """Slots of other lengths divide the day."""
        assert place(at(time), hours, daily=False, zone="UTC")[1] == slot

    def test_turns(self):
        """The next week is the next turn, and for daily slots the next day."""
        weekly = [place(SUNDAY + days * 24 * HOUR, 1, daily=False, zone="UTC")[0] for days in (0, 6, 7)]
        daily = [place(SUNDAY + days * 24 * HOUR, 1, daily=True, zone="UTC") for days in (0, 1)]
        assert (weekly[1] - weekly[0], weekly[2] - weekly[0]) == (0, 1)
        assert daily[1] == (daily[0][0] + 1, daily[0][1])

    def test_the_zone_counts(self):
        """Sunday evening in London is Monday in Tokyo."""
        assert place(at("2026-01-04T20:00:00"), 1, daily=False, zone="Asia/Tokyo")[1] == 24 + 5

    def test_daylight_saving(self):
        """A skipped hour does not occur, a repeated hour is one slot, and the others stay in place."""
        spring = [
            place(at("2026-03-29T00:30:00") + n * HOUR, 1, daily=False, zone="Europe/Berlin")[1] for n in range(3)
        ]
        autumn = [
            place(at("2026-10-24T23:30:00") + n * HOUR, 1, daily=False, zone="Europe/Berlin")[1] for n in range(3)
        ]
        assert spring == [1, 3, 4]
        assert autumn == [1, 2, 2]
        nine = [
            place(at(f"2026-{day}T09:00:00", "Europe/Berlin"), 1, daily=False, zone="Europe/Berlin")[1]
            for day in ("03-27", "04-03")
        ]
        assert nine == [5 * 24 + 9] * 2

    @pytest.mark.parametrize(
        ("weeks", "hours", "daily", "shape"),
        [(4, 1, False, (4, 168)), (4, 1, True, (28, 24)), (4, 8, False, (4, 21)), (2, 24, True, (14, 1))],
    )
    def test_tables(self, weeks, hours, daily, shape):
        """A row for each occurrence in the window, a column for each slot."""
        table = empty(weeks, hours, daily)
        assert (table.rows, table.slots) == shape == (rows_of(weeks, daily), slots_of(hours, daily))


class TestCodes:
    """Needs in 16 bits."""

    def test_what_is_exact(self):
        """Up to 2,047, and what has as many digits."""
        exact = [1, 2, 999, 2047, 2048, 4094, 8000, 10_000, 20_000, 64_000, MOST]
        assert [unpacked(packed(each)) for each in exact] == exact

    def test_what_is_not(self):
        """The rest is rounded to the nearest, nothing is 1, and more than the most is the most."""
        stored = [unpacked(packed(each)) for each in (0, -5, 2049, 2051, 4095, 10_001, 10**12)]
        assert stored == [1, 1, 2050, 2052, 4096, 10_000, MOST]


class TestNeeds:
    """What was needed in a slot over the last weeks."""

    def table(self, *needs, slot=5, hours=1):
        table = empty(4, hours, daily=False)
        for week, needed in enumerate(needs):
            table.record(week, slot, needed)
        return table

    def test_the_window_slides(self):
        """In week five the first leaves, and the second week after it the next."""
        table, seen = self.table(8000, 10_000, 6000, 9000), []
        for week in (4, 5, 6):
            table.record(week, 5, 4000)
            seen.append(table.highest(5))
        assert seen == [10_000, 9000, 9000]

    @pytest.mark.parametrize(
        ("needs", "expected"),
        [
            ((), 0),
            ((None,), 0),
            ((8000, None), 8000),
            # Three weeks are left out: the fourth is still in the window, and stays as the last that is known.
            ((8000, None, None, None), 8000),
            ((8000, None, None, None, None, None, None, None, None), 8000),
            # As soon as there is a newer one, it counts alone.
            ((8000, None, None, None, None, 3000), 3000),
            ((8000, None, None, None, None, None, 3000, None), 3000),
            ((8000, 7000, None, None, None), 7000),
        ],
    )
    def test_what_is_left_out(self, needs, expected):
        """A week that says nothing lowers nothing; the last need that is known stays."""
        assert self.table(*needs).highest(5) == expected

    def test_a_gap_is_left_out(self):
        """While nobody observes, weeks pass, and the last need stays."""
        table = self.table(8000, 9000)
        table.skip(2 * 168 + 5, 40 * 168 + 5)
        assert table.highest(5) == 9000
        table.record(40, 5, 1000)
        assert table.highest(5) == 1000

    @pytest.mark.parametrize("weeks", [4, 5, 6, 7, 8, 40])
    def test_a_long_gap_leaves_the_last_need(self, weeks):
        """Not an older one, whatever the number of weeks."""
        table = self.table(10_000, 9000, 8000, 7000)
        table.skip(3 * 168 + 6, (4 + weeks) * 168 + 5)
        assert table.highest(5) == 7000

    def test_a_short_gap(self):
        """Only the slots in between are left out."""
        table = empty(4, 1, daily=False)
        for slot in range(168):
            for week in range(4):
                table.record(week, slot, 1003 - week)
        table.skip(4 * 168 + 10, 4 * 168 + 12)
        assert [unpacked(table.column(slot)[0]) for slot in (9, 10, 11, 12)] == [1003, 0, 0, 1003]

    def test_neighbours(self):
        """The same time on days of the same type, then the nearest times on these days."""
        monday_nine = 24 + 9
        assert empty(4, 1, daily=False).nearest(monday_nine, 24) == (0, ())
        weekend = empty(4, 1, daily=False)
        weekend.record(0, 9, 7000)
        assert weekend.nearest(monday_nine, 24) == (0, ())
        table = self.table(7000, slot=2 * 24 + 9)
        table.record(0, 0 * 24 + 9, 64_000)
        table.record(0, 3 * 24 + 11, 32_000)
        assert table.nearest(monday_nine, 24) == (7000, (57,))
        assert table.nearest(monday_nine + 2, 24) == (32_000, (83,))
        assert table.nearest(6 * 24 + 20, 24) == (64_000, (9,))

    def test_neighbours_of_a_day(self):
        """Daily slots have only earlier and later ones."""
        table = empty(4, 6, daily=True)
        table.record(0, 3, 5000)
        assert table.nearest(0, 4) == (5000, (3,))


class TestBounds:
    """From the highest need to replicas."""

    @pytest.mark.parametrize(
        ("needed", "size", "expected"),
        [
            # Weekday maxima of 8, 10, 6 and 9 replicas, and the week after.
            (10_000, 1000, (5, 20)),
            (9000, 1000, (5, 18)),
            # The same need with pods of twice, and of half the size.
            (10_000, 2000, (3, 10)),
            (10_000, 500, (10, 40)),
            # Rounded up once, at the end.
            (8400, 1000, (5, 17)),
            # The administrator's bounds.
            (1000, 1000, (3, 6)),
            (0, 1000, (3, 6)),
            (70_000, 1000, (10, 100)),
        ],
    )
    def test_factors(self, needed, size, expected):
        """Half and twice the need."""
        assert bounds_of(needed, size, *ADMIN) == expected

    def test_the_maximum_is_a_maximum(self):
        """Even below the administrator's minimum; the minimum never exceeds it."""
        assert bounds_of(10_000, 1000, 0.5, 2.0, 3, 10, 2) == (2, 2)

    def test_what_a_code_rounds_up_is_not_a_replica(self):
        """11.5 cores are stored as 11.504."""
        stored = unpacked(packed(11_500))
        assert stored == 11_504
        assert replicas_of(stored, 1000, 2.0) == 23
