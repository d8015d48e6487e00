"""What was learned goes on in other slots: no bound is lower than if these slots had been observed all along."""

import numpy as np
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from hypot.policy.model.learned import SlotLayout
from hypot.policy.tortoise.history import UsageSeries, learned_from
from unit.policy.sizes_world import DAY, HOUR, NOW

WEEK = 7 * DAY
seldom = settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow])
zones = st.sampled_from(["UTC", "Asia/Tokyo", "Asia/Kolkata", "Europe/Berlin", "Australia/Lord_Howe"])
layouts = st.builds(SlotLayout, st.sampled_from([1, 2, 6, 24]), st.booleans(), zones, st.just(4))
needs = st.lists(st.integers(1, 40_000), min_size=1, max_size=23)


def observed(layout, needs, weeks, until):
    """What is known after so many weeks with a sample every hour."""
    times = until - weeks * WEEK + np.arange(int(weeks * 7 * 24) + 1) * HOUR
    amounts = np.array([needs[int(at // HOUR) % len(needs)] for at in times], np.float64)
    [found] = learned_from([UsageSeries(("app", "cpu"), 100, times, amounts, layout)])
    return found.learned


@seldom
@given(layouts, layouts, needs, st.sampled_from([0.5, 1.5, 5]), st.integers(0, 40_000))
def test_no_need_is_lost(old, new, needs, weeks, minutes):
    """In each hour of the next week at least as much is known as if the new slots had been observed."""
    until = NOW - NOW % HOUR + minutes // 60 * HOUR
    found, direct = observed(old, needs, weeks, until).relaid(new, until), observed(new, needs, weeks, until)
    for hour in range(7 * 24):
        _, slot = new.place(until + hour * HOUR)
        assert found.table().highest(slot) >= direct.table().highest(slot)
        assert found.needed(until + hour * HOUR)[0] >= direct.table().highest(slot)
    assert (found.since, found.place) == (direct.since, direct.place)


@seldom
@given(layouts, needs, st.sampled_from([1, 2, 3, 4, 5, 8]), st.sampled_from([0.5, 1.5, 5, 9]))
def test_other_weeks_drop_only_what_is_older(layout, needs, weeks, observed_for):
    """With fewer weeks the table is that of fewer weeks, and with more nothing changes but that more will be kept."""
    until = NOW - NOW % HOUR
    found = observed(layout, needs, observed_for, until)
    other = found.relaid(layout._replace(weeks=weeks), until)
    direct = observed(layout._replace(weeks=weeks), needs, min(observed_for, 4), until)
    assert other.needed(until) == direct.needed(until)
    assert [other.table().highest(slot) for slot in range(layout.slots)] == [
        direct.table().highest(slot) for slot in range(layout.slots)
    ]
    assert other.left_out == found.left_out
