"""Times that repeat: the syntax of cron, and the next time by the clock of a zone."""

from datetime import datetime
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hypot.core.cron import next_from, parse_cron

BERLIN = ZoneInfo("Europe/Berlin")
# A Monday.
NOW = datetime(2026, 11, 16, 12, 0, tzinfo=BERLIN).timestamp()


def next_time(text, at=NOW, zone=BERLIN):
    found = next_from(parse_cron(text), at, zone)
    return None if found is None else datetime.fromtimestamp(found, zone).strftime("%Y-%m-%d %H:%M %Z")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("0 12 * * *", "2026-11-16 12:00 CET"),
        ("59 11 * * *", "2026-11-17 11:59 CET"),
        ("*/25 * * * *", "2026-11-16 12:00 CET"),
        ("5/25 12 * * *", "2026-11-16 12:05 CET"),
        ("30 8 * * mon-fri", "2026-11-17 08:30 CET"),
        ("30 8 * * 0", "2026-11-22 08:30 CET"),
        ("30 8 * * 7", "2026-11-22 08:30 CET"),
        ("0 0 1,15 * *", "2026-12-01 00:00 CET"),
        ("0 0 27 NOV *", "2026-11-27 00:00 CET"),
        ("0 0 29 2 *", "2028-02-29 00:00 CET"),
        # Either of the two days.
        ("0 0 20 * wed", "2026-11-18 00:00 CET"),
        # Both, because one of them is any.
        ("0 0 * 12 wed", "2026-12-02 00:00 CET"),
        ("0 0 30 2 *", None),
    ],
)
def test_the_next_time(text, expected):
    assert next_time(text) == expected


@pytest.mark.parametrize(
    ("text", "day", "expected"),
    [
        # 2:30 does not occur on the last Sunday of March.
        ("30 2 * * *", (2027, 3, 28), "2027-03-28 03:30 CEST"),
        # On the last Sunday of October it occurs twice.
        ("30 2 * * *", (2026, 10, 25), "2026-10-25 02:30 CEST"),
    ],
)
def test_daylight_saving(text, day, expected):
    assert next_time(text, datetime(*day, tzinfo=BERLIN).timestamp()) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", "not a cron expression"),
        ("* * * *", "not a cron expression"),
        ("* " * 200, "not a cron expression"),
        ("60 * * * *", "the minute '60' is not from 0 to 59"),
        ("* 24 * * *", "the hour '24' is not from 0 to 23"),
        ("* * 0 * *", "the day of the month '0' is not from 1 to 31"),
        ("* * * foo *", "the month 'foo' is not from"),
        ("* * * * mon-fry", "the day of the week 'fry' is not from"),
        ("* * * * fri-mon", "matches nothing"),
        ("*/0 * * * *", "matches nothing"),
        ("1,,2 * * * *", "the minute '' cannot be read"),
        ("@daily", "not a cron expression"),
    ],
)
def test_what_cannot_be_read(text, expected):
    with pytest.raises(ValueError, match=r"\w") as error:
        parse_cron(text)
    assert expected in str(error.value)


@given(
    st.integers(0, 4_000_000_000),
    st.sampled_from(["Europe/Berlin", "America/New_York", "Asia/Tokyo", "Australia/Lord_Howe", "UTC"]),
    st.sampled_from(["*/7 * * * *", "15 3 * * *", "0 0 1 * *", "30 2 * mar,oct sun", "0 12 29 2 *"]),
)
def test_the_next_time_is_the_first(at, zone, text):
    """It is not before, it is its own next time, and no time in between has a nearer one."""
    cron, zone = parse_cron(text), ZoneInfo(zone)
    found = next_from(cron, at, zone)
    assert found >= at
    assert next_from(cron, found, zone) == found
    assert next_from(cron, (at + found) // 2, zone) == found
