"""Times of day and durations, as maintenance windows and stabilisation write them."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hypot.core import timeofday

SECONDS = st.integers(0, timeofday.DAY - 1)


def at(text):
    hour, minute, second = (int(part) for part in text.split(":"))
    return hour * 3600 + minute * 60 + second


@pytest.mark.parametrize(
    ("text", "utc"),
    [
        ("160554+0200", "14:05:54"),
        ("220000+0100", "21:00:00"),
        ("003000+0100", "23:30:00"),
        ("233000-0100", "00:30:00"),
        ("000000+0000", "00:00:00"),
        ("235959-0000", "23:59:59"),
        ("120000+0530", "06:30:00"),
        ("120000+2400", "12:00:00"),
    ],
)
def test_local_times_are_counted_in_utc(text, utc):
    """The zone is subtracted, also across midnight."""
    assert timeofday.parse(text) == at(utc)
    assert re.fullmatch(timeofday.PATTERN, text)


@pytest.mark.parametrize(
    "text",
    [
        *["foo", "", "160554", "16:05:54+0200", "160554+02:00", "160554Z", "240000+0000", "166000+0000", "160060+0000"],
        *["160554+2500", "160554+0061", "60554+0200", " 160554+0200", "160554+0200\n", "\uff1160554+0200"],
    ],
)
def test_an_invalid_time_is_refused(text):
    """The message says how to write a time."""
    with pytest.raises(ValueError, match="HHMMSS"):
        timeofday.parse(text)
    assert not re.fullmatch(timeofday.PATTERN, text)


@given(SECONDS)
def test_what_is_written_is_read_again(second):
    """Formatting and parsing lose nothing."""
    assert timeofday.parse(timeofday.format(second)) == second


def test_writing():
    """Times are written in UTC; a time beyond the day is on the next day."""
    assert timeofday.format(at("16:15:23")) == "161523+0000"
    assert timeofday.format(timeofday.DAY + 1) == "000001+0000"


def test_adding_wraps():
    """Adding fourteen hours to the afternoon gives the next morning."""
    assert timeofday.add(at("16:15:23"), at("14:14:14")) == at("06:29:37")


@pytest.mark.parametrize(
    ("begin", "end", "time", "inside"),
    [
        ("16:00:00", "19:00:00", "15:59:59", False),
        ("16:00:00", "19:00:00", "16:00:00", True),
        ("16:00:00", "19:00:00", "19:00:00", True),
        ("16:00:00", "19:00:00", "19:00:01", False),
        ("23:00:00", "01:00:00", "22:59:59", False),
        ("23:00:00", "01:00:00", "00:59:00", True),
        ("23:00:00", "01:00:00", "01:00:00", True),
        ("23:00:00", "01:00:00", "01:00:01", False),
        ("23:00:00", "00:00:00", "00:00:00", True),
        ("12:00:00", "12:00:00", "12:00:00", True),
        ("12:00:00", "12:00:00", "12:00:01", False),
    ],
)
def test_windows_include_their_ends(begin, end, time, inside):
    """Also across midnight; a window that ends where it begins is one second long."""
    assert timeofday.contains(at(begin), at(end), at(time)) is inside


@given(SECONDS, SECONDS, SECONDS)
def test_shifting_a_window_and_a_time_changes_nothing(begin, end, time):
    """Midnight is not a special time."""
    inside = timeofday.contains(begin, end, time)
    shifted = [timeofday.add(second, 4711) for second in (begin, end, time)]
    assert timeofday.contains(*shifted) is inside


@pytest.mark.parametrize(
    ("begin", "end", "seconds"),
    [
        ("16:00:00", "19:00:00", 10800),
        ("23:00:00", "01:00:00", 7200),
        ("23:00:00", "00:00:00", 3600),
        ("12:00:00", "12:00:00", timeofday.DAY),
    ],
)
def test_durations(begin, end, seconds):
    """An end that is not after the start is on the next day."""
    assert timeofday.duration(at(begin), at(end)) == seconds
