"""What holds for all state that is remembered."""

import json

from hypothesis import given, settings
from hypothesis import strategies as st

from hypot.core.instant import read_time, show_time
from hypot.core.replicas.window import envelope, highest_recent
from hypot.policy.model.state import State, TimedValues
from property.worlds import NOW, any_state, histories

numeric = settings(max_examples=80, deadline=None)

scalars = st.one_of(
    st.none(), st.booleans(), st.integers(-(2**63), 2**63), st.floats(allow_nan=False), st.text(max_size=9)
)
anything = st.recursive(
    scalars,
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(st.text(max_size=5), inner, max_size=3)),
    max_leaves=8,
)
statuses = st.one_of(
    anything,
    st.fixed_dictionaries(
        {},
        optional={
            "lastScaleTime": st.one_of(anything, st.datetimes().map(lambda at: at.isoformat() + "Z")),
            "desiredReplicas": anything,
            "scalingEventsCount": anything,
            "conditions": st.one_of(
                anything,
                st.lists(
                    st.fixed_dictionaries(
                        {}, optional={"type": anything, "status": anything, "lastTransitionTime": st.text(max_size=30)}
                    ),
                    max_size=2,
                ),
            ),
        },
    ),
)


@numeric
@given(any_state)
def test_json_and_back(state):
    """Nothing is lost."""
    assert State.from_dict(json.loads(json.dumps(state.to_dict(), allow_nan=False))) == state


@numeric
@given(any_state)
def test_state_is_a_value(state):
    """Equal states have equal hashes."""
    assert hash(State.from_dict(state.to_dict())) == hash(state)


@numeric
@given(statuses)
def test_any_status_is_remembered_or_not(status):
    """A status is foreign input: it raises nothing, and the state from it is JSON."""
    state = State.from_status(status)
    assert state.recommendations is None
    assert state.unknown_move == state.last_scale
    json.dumps(state.to_dict(), allow_nan=False)


@numeric
@given(histories, st.integers(-5, 60), st.integers(0, 300))
def test_a_history_forgets_only_what_is_too_old(history, value, window):
    """One new entry, or one outdated entry replaced; recording twice is the same as once."""
    cutoff = NOW - window
    after = history.with_entry(value, NOW, cutoff)
    assert (value, NOW) in zip(*after, strict=True)
    lost = [entry for entry in zip(*history, strict=True) if entry not in list(zip(*after, strict=True))]
    assert all(at < cutoff for _, at in lost)
    assert len(lost) <= 1
    assert len(history.values) <= len(after.values) <= len(history.values) + 1
    assert after.with_entry(value, NOW, cutoff) == after


@numeric
@given(histories, st.lists(st.tuples(st.integers(-1, 9), st.integers(0, 200)), max_size=12), st.integers(0, 300))
def test_a_recommendation_that_lasts_counts_as_each_of_its_entries_would(history, given_, window):
    """The highest and the lowest of every window are those of a history with one entry for each reconcile."""
    short = long = history
    now = NOW
    for value, later in given_:
        now += later
        short, long = short.lasting(value, now, now - window), long.with_entry(value, now, now - window)
    for part in (0, window / 2, window):
        for limits in ((part, window), (window, part)):
            assert envelope(5, *short, now, *limits) == envelope(5, *long, now, *limits)
        assert highest_recent(0, *short, now - part) == highest_recent(0, *long, now - part)


@numeric
@given(any_state, st.integers(0, 40), st.integers(0, 40), st.integers(1, 1800))
def test_an_event_enters_one_direction(state, before, after, period):
    """It has its size, and replaces an outdated event or is added."""
    done = state.with_event(before, after, NOW, period)
    grown = after > before
    changed, other = (done.ups, done.downs) if grown else (done.downs, done.ups)
    assert other == (state.downs if grown else state.ups)
    assert (abs(after - before), NOW) in zip(*changed, strict=True)
    assert (done.last_scale, done.recommendations) == (state.last_scale, state.recommendations)


@numeric
@given(st.integers(-62_135_596_800, 253_402_300_799))
def test_times_are_shown_and_read(at):
    """Every second from year 1 to year 9999."""
    assert read_time(show_time(at)) == at


def test_an_empty_history_is_not_an_unknown_one():
    """This is also true in JSON."""
    known, unknown = State(recommendations=TimedValues()), State()
    assert known.to_dict()["recommendations"] == []
    assert unknown.to_dict()["recommendations"] is None
