"""When the next scrape may start."""

from hypothesis import given
from hypothesis import strategies as st

from hypot.core.scraping.pacemaker import Pacemaker


def test_a_burst_and_then_the_highest_rate():
    pace = Pacemaker(2, 4, 20, 10)
    assert [pace.may_start(0, due=True) for _ in range(11)] == [True] * 10 + [False]
    assert [pace.may_start(1, due=True) for _ in range(5)] == [True] * 4 + [False]


def test_what_is_not_due_goes_on_at_the_lowest_rate():
    pace = Pacemaker(1.5, 100, 5, 100)
    assert not pace.may_start(0, due=False)
    assert [pace.may_start(2, due=False) for _ in range(4)] == [True] * 3 + [False]
    assert [pace.may_start(100, due=False) for _ in range(6)] == [True] * 5 + [False]


@given(
    st.lists(st.tuples(st.floats(0, 30), st.booleans()), max_size=80),
    st.floats(0.1, 10),
    st.floats(10, 100),
    st.floats(1, 60),
)
def test_never_more_than_a_burst_above_the_highest_rate(calls, lowest, highest, burst):
    pace, now, started = Pacemaker(lowest, highest, 50, burst), 0.0, 0
    for passed, due in calls:
        now += passed
        started += pace.may_start(now, due=due)
        assert started <= burst + highest * now + 1e-6
