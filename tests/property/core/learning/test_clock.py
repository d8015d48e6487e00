"""When slots begin, known before: the same as asking for the slot of each time."""

from bisect import bisect_right

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from hypot.core.learning.clock import SlotClock
from hypot.core.learning.slots import place, slots_of

DAY = 86400.0
# Whole hours and parts of them, with and without daylight saving, in both hemispheres, by two hours and at one past
# midnight; and one that left out a day.
ZONES = [
    "UTC",
    "Europe/Berlin",
    "America/St_Johns",
    "Australia/Lord_Howe",
    "Antarctica/Troll",
    "Asia/Kolkata",
    "Pacific/Apia",
    "Africa/Casablanca",
]


@given(
    st.sampled_from(ZONES),
    st.sampled_from([1, 2, 6, 24]),
    st.booleans(),
    st.floats(9.4e8, 2.1e9),
    st.floats(0.0, 40.0),
    st.lists(st.floats(0.0, 1.0), min_size=1, max_size=30),
)
@example(zone="Antarctica/Troll", hours=1, daily=False, start=1698541200.0 - 3600.0, days=1.0, parts=[0.1])
@example(zone="Pacific/Apia", hours=1, daily=True, start=1325000000.0, days=9.0, parts=[0.5])
def test_slots_begin_when_the_clock_says(zone, hours, daily, start, days, parts):
    """At any time of a replay, and at each beginning, just before and just after it."""
    end = start + days * DAY
    turns = SlotClock(hours, zone, start, end).turns(slots_of(hours, daily))
    assert turns.times == sorted(turns.times)
    edges = [at + part for at in turns.times for part in (-1.0, 0.0, 1e-6, 1.0)]
    for at in [start, end, *[start + part * (end - start) for part in parts], *edges]:
        if start <= at <= end:
            n = bisect_right(turns.times, at) - 1
            assert (turns.turns[n], turns.slots[n]) == place(at, hours, daily, zone)


def test_a_clock_that_is_set_back_by_more_than_a_slot_goes_back():
    """At Troll the clock goes from three to one."""
    turns = SlotClock(1, "Antarctica/Troll", 1698541200.0 - 7200.0, 1698541200.0 + 7200.0).turns(24)
    assert turns.slots == [1, 2, 1, 2, 3]
    assert turns.times[2] == pytest.approx(1698541200.0)
