"""What a horizontal autoscaler remembers of its recommendations, and when it checks again."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hypot.core.replicas.window import envelope, highest_recent
from hypot.replay.numbers.hpa import bounds_of, highest_of
from hypot.replay.numbers.past import is_steady, no_past, recommended
from hypot.replay.world.tick import next_time

steps = st.lists(st.tuples(st.integers(1, 3), st.sampled_from([15.0, 15.0, 15.0, 30.0, 95.0])), min_size=1, max_size=60)


@given(steps, st.sampled_from([0.0, 15.0, 60.0]), st.sampled_from([0.0, 40.0, 90.0]))
def test_the_short_way_is_the_long_one(given_, up, down):
    """The shortcut equals the full computation, whether or not a window has one value, whichever entry is reused."""
    past, every, now = no_past(64, 4), [], 0.0
    for value, pause in given_:
        now += pause
        values, times = [one for one, _ in every], [at for _, at in every]
        assert bounds_of(past, value, now, up, down) == envelope(value, values, times, now, up, down)
        assert highest_of(past, value, now - down) == highest_recent(value, values, times, now - down)
        recommended(past, value, now, now - max(up, down))
        every.append((value, now))


def test_places_are_used_again():
    """Only as many entries are used as a window holds, including the newest."""
    past = no_past(8, 4)
    for n in range(100):
        recommended(past, n, 15.0 * n, 15.0 * n - 60.0)
    assert past.used[0] == 5
    assert sorted(past.values[:5]) == [95, 96, 97, 98, 99]
    assert past.values[past.newest[0]] == 99


@pytest.mark.parametrize(("cutoff", "steady"), [(15.0, False), (15.1, True), (60.0, True)])
def test_another_value_counts_while_it_is_as_young_as_the_cutoff(cutoff, steady):
    """The last different value was at 15 seconds."""
    past = no_past(8, 4)
    assert not is_steady(past, 5, 0.0)
    for at, value in ((0.0, 5), (15.0, 4), (30.0, 5), (45.0, 5)):
        recommended(past, value, at, -1.0)
    assert is_steady(past, 5, cutoff) is steady
    assert not is_steady(past, 4, cutoff)


@pytest.mark.parametrize(
    ("tick", "every", "looks"), [(5.0, 15.0, 15.0), (15.0, 15.0, 15.0), (60.0, 15.0, 60.0), (10.0, 15.0, 15.0)]
)
def test_looks_keep_their_pace(tick, every, looks):
    """They are never too early, never more than a tick late, and none is skipped on average."""
    due, found = every, []
    for i in range(1, 601):
        now = i * tick
        if now >= due:
            found.append(now)
            due = next_time(now, due, every)
    assert all(later - sooner >= min(every, tick) for sooner, later in pairwise(found))
    assert len(found) == pytest.approx(600 * tick / looks, abs=1)
