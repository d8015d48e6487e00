"""What holds for the governor with any history of wants."""

import json

from hypothesis import given, settings
from hypothesis import strategies as st

from hypot.policy.governor import WINDOW, Governor, Want, budget_of, govern

often = settings(max_examples=200, deadline=None)
KEYS = [("Hvpa", "shop", f"web-{i:02}") for i in range(30)]

wants = st.lists(
    st.builds(Want, st.sampled_from(KEYS), st.sampled_from([0, 100, 1000, 5000, 60_000])),
    max_size=30,
    unique_by=lambda want: want.key,
)
reconciles = st.lists(
    st.tuples(st.sampled_from([1.0, 15.0, 15.0, 60.0, 299.0, 300.0, 1000.0]), wants), min_size=1, max_size=25
)
sizes = st.tuples(st.sampled_from([0, 1, 10, 30, 80]), st.sampled_from([0, 5000, 30_000, 200_000]))


def history(steps, workloads, millicores):
    """For each reconcile: its time, the wants, the admitted keys, and the state before and after."""
    state, now = Governor(), 1_000_000.0
    for seconds, asked in steps:
        now += seconds
        admitted, after = govern(state, asked, workloads, millicores, now)
        yield now, asked, admitted, state, after
        state = after


def check_no_five_minutes_see_more_than_the_budget(steps, size):
    """The limits are workloads and cores; one want that exceeds the cores is admitted alone."""
    budget, log = budget_of(*size), []
    for now, asked, admitted, _, _ in history(steps, *size):
        log += [(now, want) for want in asked if want.key in admitted]
        window = [want for at, want in log if at > now - WINDOW]
        assert len({want.key for want in window}) <= budget.number
        assert sum(want.millicores for want in window) <= budget.millicores or len(window) == 1


def check_the_oldest_go_first(steps, size):
    """Every admitted want has waited at least as long as the others."""
    since = {}
    for now, asked, admitted, _, after in history(steps, *size):
        since = {want.key: since.get(want.key, now) for want in asked}
        assert admitted <= since.keys()
        left = [since[key] for key in since.keys() - admitted]
        assert all(since[key] <= min(left, default=now) for key in admitted)
        assert {key for key, _ in after.waiting} == since.keys() - admitted
        for key in admitted:
            del since[key]


def check_nobody_starves(steps, size, last):
    """A repeated want is admitted, at the latest after one window for each want before it."""
    *_, (now, _, _, _, state) = history(steps, *size)
    waiting = {want.key: want for want in last}
    for _ in range(len(last)):
        now += WINDOW
        admitted, state = govern(state, list(waiting.values()), *size, now)
        assert admitted or not waiting
        for key in admitted:
            del waiting[key]
    assert not waiting


def check_a_clock_that_goes_back_gives_nothing(steps, size, back):
    """The result is the same as with a clock that stands still."""
    *_, (now, asked, _, _, state) = history(steps, *size)
    assert govern(state, asked, *size, now - back)[0] == govern(state, asked, *size, now)[0]


def check_the_state_is_small_and_survives(steps, size):
    """It has at most one window and the current wants, and is the same after JSON."""
    for now, asked, _, _, after in history(steps, *size):
        assert len(after.waiting) <= len(asked)
        assert all(one.at > now - WINDOW for one in after.admitted)
        assert Governor.from_dict(json.loads(json.dumps(after.to_dict()))) == after


@often
@given(reconciles, sizes, wants, st.floats(0, 10_000))
def test_any_history_of_wants(steps, size, last, back):
    """One history serves all checks: drawing it takes much longer than governing."""
    check_no_five_minutes_see_more_than_the_budget(steps, size)
    check_the_oldest_go_first(steps, size)
    check_nobody_starves(steps, size, last)
    check_a_clock_that_goes_back_gives_nothing(steps, size, back)
    check_the_state_is_small_and_survives(steps, size)
