"""Which remembered state is still valid when the cluster changed between two dumps."""

import pytest

from hypot.core.instant import show_time
from hypot.kinds.hpa import HPA
from hypot.kinds.wpa import WPA
from hypot.policy.continuity import Remembered, resumed
from hypot.policy.model.decision import Condition
from hypot.policy.model.settings import Settings
from hypot.policy.model.state import EMPTY, State, TimedValues

NOW = 1_800_000_000.0
EARLIER = NOW - 60
ABLE = {"type": "AbleToScale", "status": "True", "reason": "ReadyForNewScale", "lastTransitionTime": show_time(NOW)}
UP = {"policies": [{"type": "Pods", "value": 4, "periodSeconds": 90}]}
DOWN = {"policies": [{"type": "Pods", "value": 1, "periodSeconds": 300}], "stabilizationWindowSeconds": 120}
BEHAVIOR = {"scaleUp": UP, "scaleDown": DOWN}


def hpa(status=None, behavior=None):
    spec = {"scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"}, "maxReplicas": 9}
    if behavior is not None:
        spec["behavior"] = behavior
    return HPA.from_dict({"metadata": {"name": "web"}, "spec": spec, "status": status})


def scaled_at(at, **more):
    return {"lastScaleTime": show_time(at), "conditions": [ABLE], **more}


def resume(autoscaler, state, before=4, after=4):
    return resumed(autoscaler, Remembered(state, before, EARLIER), after, NOW, Settings())


def test_without_state_only_the_status_counts():
    """The first run starts from the state that the object's own status holds."""
    first = resumed(hpa(scaled_at(NOW - 30, desiredReplicas=4)), None, 4, NOW, Settings())
    assert first == State.from_status(scaled_at(NOW - 30, desiredReplicas=4))
    assert first.unknown_move == NOW - 30


def test_the_status_wins_where_it_has_a_value():
    """Conditions, desired size and last scale time come from the status; the remembered state fills the gaps."""
    old = State(last_scale=NOW - 500, desired=3, conditions=(Condition("Old", "True", "", "", 0.0),), scalings=2)
    reported = resume(hpa(scaled_at(NOW - 30, desiredReplicas=5)), old)
    assert (reported.last_scale, reported.desired, reported.scalings) == (NOW - 30, 5, 2)
    assert [c.type for c in reported.conditions] == ["AbleToScale"]
    silent = resume(hpa({}), old)
    assert (silent.last_scale, silent.desired, silent.conditions) == (NOW - 500, 3, old.conditions)
    assert resume(hpa(), old) == old


@pytest.mark.parametrize(
    ("before", "after", "ups", "downs"),
    [(4, 7, TimedValues((3,), (NOW - 30,)), EMPTY), (7, 4, EMPTY, TimedValues((3,), (NOW - 30,)))],
)
def test_a_move_of_known_size_becomes_an_event(before, after, ups, downs):
    """The status says when it scaled, the sizes say by how much."""
    found = resume(hpa(scaled_at(NOW - 30), BEHAVIOR), State(last_scale=NOW - 500), before, after)
    assert (found.ups, found.downs, found.last_scale) == (ups, downs, NOW - 30)


def test_the_same_dump_again_adds_nothing():
    """A last scale time that the state knows already is not a new move."""
    once = resume(hpa(scaled_at(NOW - 30), BEHAVIOR), State(last_scale=NOW - 500), 4, 7)
    again = resume(hpa(scaled_at(NOW - 30), BEHAVIOR), once, 7, 7)
    assert again == once


def test_without_behavior_no_events_are_kept():
    """Only the rate limits of a behavior count moves, so the controller keeps none otherwise."""
    found = resume(hpa(scaled_at(NOW - 30)), State(last_scale=NOW - 500), 4, 7)
    assert (found.ups, found.downs, found.last_scale) == (EMPTY, EMPTY, NOW - 30)


def test_there_and_back_again_is_unknown():
    """It scaled, yet the size is the same: the size of the move is unknown."""
    found = resume(hpa(scaled_at(NOW - 30), BEHAVIOR), State(last_scale=NOW - 500), 4, 4)
    assert (found.ups, found.downs, found.unknown_move) == (EMPTY, EMPTY, NOW - 30)


def test_a_move_from_an_unknown_size_is_unknown():
    """Nothing is guessed where the target could not be observed before."""
    found = resume(hpa(scaled_at(NOW - 30), BEHAVIOR), State(), None, 4)
    assert (found.ups, found.downs, found.unknown_move) == (EMPTY, EMPTY, NOW - 30)


def test_a_size_changed_manually_is_no_event():
    """A controller that writes conditions, but no new scale time, did not scale: its rate limits do not count it."""
    by_hand = resume(hpa({"conditions": [ABLE]}, BEHAVIOR), State(), 4, 7)
    assert by_hand.ups == EMPTY
    since_then = resume(hpa(scaled_at(NOW - 500), BEHAVIOR), State(last_scale=NOW - 500), 4, 7)
    assert since_then.ups == EMPTY


def test_a_size_changed_without_a_status_is_an_event_now():
    """A user who follows our advice manually changes the size without a status."""
    assert resume(hpa(None, BEHAVIOR), State(), 4, 7).ups == TimedValues((3,), (NOW,))
    assert resume(hpa(None, BEHAVIOR), State(), 4, 4).ups == EMPTY


def test_a_known_move_after_an_unknown_one():
    """Both are remembered: the unknown move blocks its policies' periods, the known move counts."""
    reported = hpa(scaled_at(NOW - 30), BEHAVIOR)
    found = resume(reported, State(unknown_move=NOW - 100, last_scale=NOW - 100), 4, 7)
    assert (found.ups, found.unknown_move, found.last_scale) == (TimedValues((3,), (NOW - 30,)), NOW - 100, NOW - 30)


@pytest.mark.parametrize(
    ("behavior", "age", "known"), [(None, 300, True), (None, 301, False), (BEHAVIOR, 120, True), (BEHAVIOR, 121, False)]
)
def test_recommendations_from_before_the_window_are_dropped(behavior, age, known):
    """An outdated history is dropped: the current size counts as recommended, and nothing scales down at once."""
    state = State(recommendations=TimedValues((9, 8), (NOW - 900, NOW - age)))
    found = resume(hpa(None, behavior), state)
    assert found.recommendations == (state.recommendations if known else None)


def test_a_band_remembers_when_and_what_but_no_sizes():
    """Its windows need the time of the last move, its delays need the conditions."""
    above = {"type": "AboveHighWatermark", "status": "True", "reason": "x", "lastTransitionTime": show_time(NOW - 40)}
    status = scaled_at(NOW - 30, scalingEventsCount=5, desiredReplicas=7) | {"conditions": [above]}
    wpa = WPA.from_dict({"metadata": {"name": "web"}, "spec": {}, "status": status})
    found = resume(wpa, State(last_scale=NOW - 500, scalings=3), 4, 7)
    assert (found.last_scale, found.scalings, found.desired) == (NOW - 30, 5, 7)
    assert [(c.type, c.since) for c in found.conditions] == [("AboveHighWatermark", NOW - 40)]
    assert found.ups == EMPTY


def test_a_band_without_status_moved_when_its_size_did():
    """A size changed manually starts the windows, too."""
    wpa = WPA.from_dict({"metadata": {"name": "web"}, "spec": {}})
    assert resume(wpa, State(), 4, 6).last_scale == NOW
    assert resume(wpa, State(last_scale=NOW - 500), 4, 4).last_scale == NOW - 500


def test_what_is_remembered_survives_writing():
    """The wire form gives back the same value."""
    reported = (Condition("A", "True", "B", "c", NOW),)
    state = State(TimedValues((3,), (NOW,)), NOW, EMPTY, TimedValues((1,), (NOW,)), NOW - 9, NOW, 3, reported, 1)
    for entry in (Remembered(state, 4, NOW), Remembered(State())):
        assert Remembered.from_dict(entry.to_dict()) == entry
