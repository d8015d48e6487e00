"""The state that is kept from one decision to the next."""

import json
from dataclasses import replace

import pytest

from builders import EMPTY, KNOWN, NOW, busy, decided, history, hpa, queue, reason_of, wpa
from hypot.kinds.hpa.fields import ScalingRules, cpu, external
from hypot.kinds.wpa.fields import WatermarkRules, band
from hypot.policy.decide import decide
from hypot.policy.model.decision import Condition, show_seconds, with_condition
from hypot.policy.model.plan import Plan
from hypot.policy.model.settings import Settings
from hypot.policy.model.state import NO_PAST, RecentUse, Recount, State, TimedValues, Vertical, read_conditions

FULL = State(
    recommendations=TimedValues((3, 500), (NOW - 20.5, NOW)),
    since=NOW - 500,
    ups=TimedValues((2,), (NOW - 30,)),
    downs=EMPTY,
    unknown_move=NOW - 60.5,
    last_scale=NOW - 30,
    desired=7,
    conditions=(Condition("AbleToScale", "True", "ReadyForNewScale", "words", NOW - 99.25),),
    scalings=12,
)
CALM = FULL._replace(recommendations=EMPTY)


class TestHistory:
    """Values and the times they were recorded at."""

    def test_an_old_slot_is_reused(self):
        """A new entry replaces the last entry older than the cut-off; else it is appended."""
        past = TimedValues((1, 2, 3), (10.0, 20.0, 30.0))
        assert past.with_entry(9, 40.0, 25.0) == TimedValues((1, 9, 3), (10.0, 40.0, 30.0))
        assert past.with_entry(9, 40.0, 10.0) == TimedValues((1, 2, 3, 9), (10.0, 20.0, 30.0, 40.0))
        assert EMPTY.with_entry(9, 40.0, 10.0) == TimedValues((9,), (40.0,))

    def test_recording_twice_changes_nothing(self):
        """The same value at the same time is the same entry; another value is not."""
        once = EMPTY.with_entry(9, 40.0, 10.0)
        assert once.with_entry(9, 40.0, 10.0) == once
        assert once.with_entry(8, 40.0, 10.0).values == (9, 8)
        assert once.with_entry(9, 41.0, 10.0).times == (40.0, 41.0)


def ahead(seconds):
    """A state written by a clock that was this many seconds ahead."""
    at = NOW + seconds
    return State(
        TimedValues((3, 500), (NOW - 20.5, at)),
        at,
        TimedValues((2,), (at,)),
        TimedValues((1,), (at,)),
        at,
        at,
        7,
        (Condition("AbleToScale", "True", "ReadyForNewScale", "words", at),),
        vertical=Vertical(
            at,
            at,
            recount=Recount(at, 2, 3, {}),
            recent={"app/cpu": RecentUse(7, at, 5, at)},
            stuck={"uid": at},
            evicted=at,
            restarted=at,
        ),
        plan=Plan(3, (), at, waits=False, resizing="InPlace", before_replicas=2),
    )


def times_of(written):
    """All floats of the written form: times are floats, counts are not."""
    parts = written.values() if isinstance(written, dict) else written if isinstance(written, list) else ()
    return [at for part in parts for at in times_of(part)] + [written] * isinstance(written, float)


class TestClock:
    """A clock that was set back."""

    def test_what_lies_in_the_future_is_now(self):
        """All times in the future become now; times in the past stay."""
        kept = ahead(3600).until(NOW)
        assert kept == ahead(0)
        assert sorted(set(times_of(kept.to_dict()))) == [NOW - 20.5, NOW]

    def test_a_state_without_future_times_is_the_same(self):
        """The same object is returned, so nothing is written again."""
        for state in (State(), FULL, ahead(0)):
            assert state.until(NOW) is state

    @pytest.mark.parametrize("name", ["last_scale", "unknown_move", "since", "ups", "downs", "conditions", "plan"])
    def test_one_time_is_enough(self, name):
        """A single time in the future is corrected, in any field."""
        odd = State()._replace(**{name: getattr(ahead(1), name)})
        assert odd.until(NOW) == State()._replace(**{name: getattr(ahead(0), name)})

    @pytest.mark.parametrize("name", ["last_up", "last_down", "recount", "stuck", "evicted", "restarted"])
    def test_one_time_of_sizes_is_enough(self, name):
        """A single time in the future is corrected, in any field of the vertical state."""
        odd, right = [replace(NO_PAST, **{name: getattr(ahead(at).vertical, name)}) for at in (1, 0)]
        assert State(vertical=odd).until(NOW).vertical == right

    def test_growth_waits_for_its_window_and_not_for_the_clock(self):
        """A last move in the future counts as just now; scale-up resumes when its window is over."""
        spec = wpa(band("queue", high=10, low=5), scale_up=WatermarkRules(forbidden_window=60))
        seen = queue(100_000, 2, selector={})
        first, after = decide(spec, seen, State(last_scale=NOW + 3600), Settings())
        then, _ = decide(spec, replace(seen, now=NOW + 60), after, Settings())
        assert (first.desired, then.desired) == (2, 3)


class TestActions:
    """Actions enter the state in one way only."""

    def test_acted(self):
        """An action records time, size, conditions and counter; an event only if there is a behavior."""
        decision, after = decide(hpa(cpu(utilization=50)), busy(1000, 1000), FULL, Settings())
        done = after.acted(decision, NOW + 1)
        assert (after.last_scale, after.desired, after.scalings) == (FULL.last_scale, 7, 12)
        assert (done.last_scale, done.desired, done.scalings) == (NOW + 1, decision.desired, 13)
        assert done.conditions == decision.conditions
        assert (done.ups, done.downs, done.unknown_move) == (FULL.ups, EMPTY, FULL.unknown_move)

    def test_acted_with_behavior(self):
        """With a behavior, the move is recorded as an event in its direction."""
        spec = hpa(cpu(utilization=50), scale_down=ScalingRules(window=0))
        up, after = decide(spec, busy(1000, 1000), KNOWN, Settings())
        assert after.acted(up, NOW).ups == TimedValues((2,), (NOW,))
        down, after = decide(spec, busy(100, 100, 100, 100), KNOWN, Settings())
        assert after.acted(down, NOW).downs == TimedValues((3,), (NOW,))

    def test_what_does_not_move_leaves_nothing(self):
        """A decision that moves nothing, or could not be made, records no action."""
        for observed in (busy(500, 500), busy(500, None, selector="")):
            decision, after = decide(hpa(cpu(utilization=50)), observed, CALM, Settings())
            assert after.acted(decision, NOW + 1) == after

    def test_deciding_keeps_all_actions(self):
        """A decision alone does not change the recorded actions."""
        _, after = decide(hpa(cpu(utilization=50)), busy(1000, 1000), FULL, Settings())
        assert after._replace(recommendations=None, conditions=()) == FULL._replace(recommendations=None, conditions=())

    def test_a_size_that_stays_is_the_desired_one(self):
        """A size that stays is desired at once; a new size only after it was written."""
        _, stays = decide(hpa(cpu(utilization=50)), busy(500, 500), CALM, Settings())
        _, moves = decide(hpa(cpu(utilization=50)), busy(1000, 1000), CALM, Settings())
        assert (stays.desired, moves.desired) == (2, 7)


class TestStatus:
    """The state that an object's own status holds."""

    def test_times_and_conditions_but_no_sizes(self):
        """The size of the last move is unknown, not absent."""
        status = {
            "lastScaleTime": "2027-01-15T07:59:30Z",
            "desiredReplicas": 7,
            "scalingEventsCount": 12,
            "conditions": [
                {
                    "type": "AbleToScale",
                    "status": "True",
                    "reason": "ReadyForNewScale",
                    "message": "words",
                    "lastTransitionTime": "2027-01-15T07:00:00Z",
                }
            ],
        }
        assert State.from_status(status) == State(
            recommendations=None,
            unknown_move=NOW - 30,
            last_scale=NOW - 30,
            desired=7,
            conditions=(Condition("AbleToScale", "True", "ReadyForNewScale", "words", NOW - 3600),),
            scalings=12,
        )

    def test_never_scaled_is_known(self):
        """Without a last scale time there is no move of unknown size."""
        found = State.from_status({"desiredReplicas": 7})
        assert (found.unknown_move, found.last_scale, found.recommendations) == (None, None, None)

    @pytest.mark.parametrize(
        "status",
        [
            None,
            [],
            "x",
            {},
            {"lastScaleTime": None},
            {"lastScaleTime": 5, "desiredReplicas": "7", "conditions": "x", "scalingEventsCount": None},
            {"lastScaleTime": "yesterday", "conditions": [None, 3]},
        ],
    )
    def test_what_cannot_be_read_is_not_remembered(self, status):
        """Unreadable fields of a status are ignored: a status is foreign input."""
        assert State.from_status(status) == State()

    @pytest.mark.parametrize(
        "at",
        [
            "9999-12-31T23:59:59-01:00",
            "9999-12-31T23:59:59Z",
            "0001-01-01T00:00:00+01:00",
            "0001-01-01T00:00:00Z",
        ],
    )
    @pytest.mark.parametrize(
        "spec",
        [
            hpa(external("queue", average=1)),
            hpa(external("queue", average="100m"), scale_up=ScalingRules()),
            wpa(band("queue", high=2, low=1)),
        ],
    )
    def test_no_time_is_too_odd(self, at, spec):
        """Times outside the years that can be shown do not fail, as scale time or in a condition."""
        status = {
            "lastScaleTime": at,
            "conditions": [{"type": "AbleToScale", "status": "True", "lastTransitionTime": at}],
        }
        decision = decided(spec, queue(5000), State.from_status(status))
        assert reason_of(decision, "AbleToScale")
        json.dumps(decision.to_dict(), allow_nan=False)

    def test_old_status(self):
        """The status fields that a refused write leaves unchanged."""
        assert FULL.old_status() == {"desiredReplicas": 7, "lastScaleTime": "2027-01-15T07:59:30Z"}
        assert State().old_status() == {"desiredReplicas": 0, "lastScaleTime": None}


class TestWire:
    """State as JSON."""

    @pytest.mark.parametrize("state", [FULL, CALM, State(), KNOWN])
    def test_there_and_back(self, state):
        """Nothing is lost, unknown stays unknown and empty stays empty, times keep their fractions."""
        assert State.from_dict(json.loads(json.dumps(state.to_dict(), allow_nan=False))) == state

    def test_the_form(self):
        """The JSON form is readable for people, too."""
        written = FULL.to_dict()
        assert written["recommendations"] == [{"value": 3, "at": NOW - 20.5}, {"value": 500, "at": NOW}]
        assert (written["downs"], written["unknownMove"]) == ([], NOW - 60.5)
        assert written["conditions"][0]["since"] == NOW - 99.25

    @pytest.mark.parametrize(
        ("data", "since"),
        [
            ({"since": 5, "lastTransitionTime": "2027-01-15T08:00:00Z"}, 5.0),
            ({"lastTransitionTime": "2027-01-15T08:00:00Z"}, NOW),
            ({"lastTransitionTime": None}, 0.0),
            ({}, 0.0),
        ],
    )
    def test_conditions(self, data, since):
        """Their own exact time counts where it is kept, else lastTransitionTime."""
        (found,) = read_conditions([{"type": "A", "status": "True", **data}])
        assert found == Condition("A", "True", "", "", since)


class TestTimes:
    """How durations are shown."""

    @pytest.mark.parametrize(
        ("seconds", "text"),
        [(0, "0 s"), (59.6, "60 s"), (119, "119 s"), (120, "2 min"), (200, "3 min 20 s"), (3600, "60 min")],
    )
    def test_durations(self, seconds, text):
        """Durations are shown in seconds, from two minutes on in minutes and seconds."""
        assert show_seconds(seconds) == text


def test_setting_a_condition():
    """A condition is replaced in place; its time changes only with its status."""
    two = with_condition(
        with_condition((), "A", status=True, reason="r", message="m", now=1.0), "B", "False", "r", "", 2.0
    )
    same = with_condition(two, "A", status=True, reason="other", message="new", now=3.0)
    turned = with_condition(same, "A", status=False, reason="other", message="new", now=4.0)
    assert [(c.type, c.status, c.since) for c in same] == [("A", "True", 1.0), ("B", "False", 2.0)]
    assert same[0].reason == "other"
    assert [(c.type, c.status, c.since) for c in turned] == [("A", "False", 4.0), ("B", "False", 2.0)]


def test_histories_of_tests_are_histories():
    """The builder takes ages and counts backwards from NOW."""
    assert history((5, 10)) == TimedValues((5,), (NOW - 10,))
