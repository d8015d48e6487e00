"""When an Hvpa may scale, when it holds, and what it reports and remembers."""

import json
from dataclasses import replace

import pytest

from builders import NOW, reason_of, refused, rules_of
from hypot.core.instant import show_time
from hypot.kinds.hvpa import Hvpa
from hypot.policy.decide import decide as decide_any
from hypot.policy.model.seen import Failure, Scale, Seen
from hypot.policy.model.settings import Settings
from hypot.policy.model.state import State, Vertical
from unit.policy.hvpa.hvpa_cases import RELEASED, manifest, policy, vpa
from unit.policy.hvpa.hvpa_world import (
    FRESH,
    asking,
    blocked,
    box,
    decided,
    hvpa,
    one,
    pods,
    point,
    run,
    scale,
    sentences,
    sizes,
    world,
)

G = 10**9
M = 10**6
APP = box(cpu=500, memory=G)
SAME = sizes(500, G)
UP, DOWN = world(2, APP, app=sizes(600, G)), world(2, APP, app=sizes(400, G))
# NOW is eight in the morning.
OPEN, SHUT = {"begin": "070000+0000", "end": "090000+0000"}, {"begin": "100000+0200", "end": "100000-0100"}
OUTSIDE = {"begin": "090000+0000", "end": "100000+0000"}
LARGE = {"minChange": {"cpu": {"value": "1"}, "memory": {"value": "1G"}}}


def ago(seconds):
    return State(last_scale=NOW - seconds)


class TestGates:
    """Update policy, stabilisation, maintenance window, minimum change: the first that blocks counts."""

    @pytest.mark.parametrize(
        ("spec", "state", "reason"),
        [
            ({"mode": "Off", "stabilizationDuration": "3m", **LARGE}, ago(10), "UpdatePolicy"),
            ({"mode": "MaintenanceWindow", "stabilizationDuration": "3m", **LARGE}, ago(10), "StabilizationWindow"),
            ({"mode": "MaintenanceWindow", "stabilizationDuration": "3m", **LARGE}, ago(180), "MaintenanceWindow"),
            ({"mode": "Auto", "stabilizationDuration": "3m", **LARGE}, ago(180), "MinChange"),
            ({"mode": "Auto", "stabilizationDuration": "3m"}, ago(180), ""),
            ({"mode": "Auto", "stabilizationDuration": "3m"}, ago(179), "StabilizationWindow"),
            ({"mode": "Auto", "stabilizationDuration": "3m"}, FRESH, ""),
        ],
    )
    @pytest.mark.parametrize(("direction", "seen"), [("scaleUp", UP), ("scaleDown", DOWN)])
    def test_in_order(self, direction, seen, spec, state, reason):
        """In each direction; nothing moves, and status and condition say why."""
        made = hvpa(maintenanceTimeWindow=OUTSIDE, **{direction: scale(**spec)})
        decision = decided(made, seen, state)
        assert blocked(decision) == ([reason] if reason else [])
        assert decision.moves is not bool(reason)
        assert reason_of(decision, "ScalingBlocked") == (f"True/{reason}" if reason else "False/NotBlocked")

    def test_the_messages(self):
        """They name the container, what blocks it, and by how much."""
        shut = hvpa(maintenanceTimeWindow=OUTSIDE, scaleUp=scale("MaintenanceWindow"), scaleDown=scale("Off"))
        message = [
            (
                sentences(decided(hvpa(scaleUp=LARGE), UP), "min-change"),
                "app waits: the total changes by too little: cpu by 200m (minimum 1",
            ),
            (sentences(decided(shut, DOWN), "update-policy"), "app stays as it is: scaling down is switched off"),
            (
                sentences(decided(shut, UP), "maintenance-window"),
                "app stays as it is: scaling up waits for the maintenance window",
            ),
        ]
        for reported, expected in message:
            assert reported[0].startswith(expected)
        held = decided(hvpa(scaleUp=scale(stabilizationDuration="5m")), UP, ago(10))
        assert sentences(held, "stabilization-window") == [
            "app waits: scaling up waits until 5 min after the last scaling."
        ]

    @pytest.mark.parametrize(
        ("swings", "text"),
        [
            (1, "10 min after the last scaling, because a scale-down that restarted pods was"),
            (3, "40 min after the last scaling, because scale-downs that restarted pods were"),
            (7, "360 min after the last scaling, because scale-downs that restarted pods were"),
        ],
    )
    def test_scale_downs_that_were_reversed(self, swings, text):
        """The next one waits longer, and says why; a scale-up does not."""
        state = ago(301)._replace(vertical=Vertical(swings=swings))
        made = hvpa(**{way: scale(stabilizationDuration="5m") for way in ("scaleUp", "scaleDown")})
        held = decided(made, DOWN, state)
        assert sentences(held, "stabilization-window") == [f"app waits: scaling down waits until {text} soon reversed."]
        assert decided(made, DOWN, ago(301)).moves
        assert not held.moves
        assert decided(made, UP, state).moves

    def test_a_reversed_scale_down_is_remembered(self):
        """If it restarted pods, also without a stabilisation. The move brings the window; other kinds have none."""
        made = hvpa(scaleDown=scale(stabilizationDuration="5m"))
        past = Vertical(last_down=NOW - 400, evicted=NOW - 400)
        decision, after = run(made, UP, State(vertical=past))
        assert after.acted(decision, NOW).vertical.swings == 1
        decision, after = run(hvpa(), UP, State(vertical=past))
        assert after.acted(decision, NOW).vertical.swings == 1
        in_place = replace(past, evicted=None, restarted=NOW - 300)
        assert after._replace(vertical=in_place).acted(decision, NOW).vertical.swings == 1
        other = decision._replace(window=None)
        assert after.acted(other, NOW).vertical.swings == 0
        quiet = State(vertical=replace(past, evicted=None))
        decision, after = run(made, UP, quiet)
        assert after.acted(decision, NOW).vertical.swings == 0

    @pytest.mark.parametrize(
        ("mode", "waits"), [("Auto", "app waits, unless other containers change"), ("Off", "app waits")]
    )
    def test_the_message_names_other_containers_only_if_they_may_change(self, mode, waits):
        """A container that is switched off never changes."""
        spec = hvpa(scaleUp=LARGE, vpa=vpa(policy("side", mode=mode)))
        seen = world(1, box(cpu=500), box("side", 100), app=sizes(700), side=sizes(100))
        assert sentences(decided(spec, seen), "min-change")[0].startswith(f"{waits}: the total changes by too little")

    @pytest.mark.parametrize(("window", "moves"), [(OPEN, True), (SHUT, True), (OUTSIDE, False)])
    def test_within_the_window(self, window, moves):
        """Ends included, in any zone, and over midnight."""
        made = hvpa(maintenanceTimeWindow=window, scaleUp=scale("MaintenanceWindow"))
        assert decided(made, UP).moves is moves

    @pytest.mark.parametrize(
        ("least", "moves"),
        [
            ({}, True),
            ({"cpu": {"value": "201m"}}, False),
            ({"cpu": {"value": "201m", "percentage": 20}}, True),
            ({"cpu": {"percentage": 20}}, True),
            ({"cpu": {"percentage": 21}}, False),
            ({"cpu": {"value": "201m"}, "memory": {"value": 0}}, False),
        ],
    )
    def test_the_minimum_change_is_of_the_total(self, least, moves):
        """The change is 200m of 1 core, as much as the default. Of value and percentage the smaller counts.

        Memory does not change, so it opens no gate.
        """
        made = hvpa(scaleUp={"minChange": least})
        assert decided(made, UP).moves is moves

    def test_one_resource_that_changes_enough(self):
        """It opens the gate for both."""
        made = hvpa(scaleUp={"minChange": {"cpu": {"value": "1"}, "memory": {"value": "100M"}}})
        assert one(decided(made, world(2, APP, app=sizes(501, 1100 * M)))) == (2, sizes(501, 1100 * M))

    @pytest.mark.parametrize("mode", ["Off", "MaintenanceWindow"])
    def test_nothing_is_needed(self, mode):
        """What does not change is not blocked, and stays unchanged."""
        closed = {"scaleUp": scale(mode), "scaleDown": scale(mode), "maintenanceTimeWindow": OUTSIDE}
        decision = decided(hvpa(**closed), world(2, APP, app=SAME))
        assert (decision.moves, blocked(decision)) == (False, [])

    @pytest.mark.parametrize(
        "spec",
        [
            {"vpa": vpa(policy(low=sizes("200m", "1G")))},
            {
                "scalingIntervals": [
                    {
                        "maxReplicas": 5,
                        "maxResources": sizes("600m", "1G"),
                        "effectiveIntervalExtrapolation": "horizontalOnly",
                    }
                ]
            },
            {"limitsRequestsGapScaleParams": {"cpu": {"percentage": 10}}},
        ],
    )
    def test_what_is_switched_off_is_off(self, spec):
        """No bound, pinned size or gap changes anything past the gates, while the total stays the same."""
        closed = {"scaleUp": scale("Off"), "scaleDown": scale("Off")}
        decision = decided(hvpa(**closed, **spec), world(1, box(cpu=100, limits=sizes(200)), app=sizes(100)))
        assert (decision.decided, decision.moves) == (True, False)


class TestSeveral:
    """Some containers are blocked, others are not."""

    PAIR = (box("a", 4000, G), box("b", 2000, G))

    @pytest.mark.parametrize("mode", ["Off", "MaintenanceWindow"])
    def test_a_blocked_container_keeps_the_count(self, mode):
        """Else another container would remove replicas that it needs."""
        made = hvpa(scaleUp=scale(mode), maintenanceTimeWindow=OUTSIDE)
        seen = world(4, *self.PAIR, a=sizes(4100, G), b=sizes(100, 10 * M))
        decision = decided(made, seen)
        assert point(decision) == (4, {"a": sizes(4000, G), "b": sizes(100, 10 * M)})

    def test_a_postponed_container_keeps_the_count(self):
        """The same for a container whose requests would have to rise."""
        seen = world(2, box("a", 240, 900 * M), box("b", 500, G), a=sizes(239, 890 * M), b=sizes(10, M))
        decision = decided(hvpa(), seen)
        assert point(decision) == (2, {"a": sizes(240, 900 * M), "b": sizes(10, M)})
        assert blocked(decision) == ["ParadoxicalScaling"]

    def test_a_small_container_gets_less_while_another_keeps_the_count(self):
        """Alone it would need one larger pod; with five pods there is no reason to postpone it."""
        seen = world(5, box("a", 8000), box("b", 100), a=sizes(7900), b=sizes(80))
        decision = decided(hvpa(), seen)
        assert point(decision) == (5, {"a": sizes(7900), "b": sizes(80)})
        assert blocked(decision) == []

    def test_a_small_change_joins_a_large_one(self):
        """If another container changes, there is no reason to wait."""
        seen = world(2, box("a", 500), box("b", 500), a=sizes(550), b=sizes(1000))
        decision = decided(hvpa(scaleUp=LARGE), seen)
        assert point(decision) == (2, {"a": sizes(550), "b": sizes(1000)})
        assert blocked(decision) == ["MinChange"]

    def test_a_small_change_does_not_lose_its_replicas(self):
        """A container that needs four pods keeps them, though the other needs only one."""
        made = hvpa(scaleUp=None, scaleDown=None, vpa=vpa(policy(high=sizes("8", "32Gi"))))
        seen = world(4, *self.PAIR, a=sizes(3990, G), b=sizes(100, 50 * M))
        replicas, made_sizes = point(decided(made, seen))
        assert replicas * made_sizes["a"]["cpu"] >= 4 * 3990

    def test_a_stabilised_change_joins_another(self):
        """A scale-down that would wait is done together with the scale-up of another container."""
        made = hvpa(scaleDown=scale(stabilizationDuration="1h"))
        seen = world(2, box("a", 500, G), box("b", 500, G), a=sizes(400, G), b=sizes(600, G))
        decision = decided(made, seen, ago(60))
        assert point(decision) == (2, {"a": sizes(400, G), "b": sizes(600, G)})
        assert blocked(decision) == ["StabilizationWindow"]

    def test_alone_they_stay(self):
        """Two small changes do not add up."""
        made = hvpa(scaleUp=LARGE)
        assert not decided(made, world(2, *self.PAIR, a=sizes(4100, G), b=sizes(2100, G))).moves


class TestHolds:
    """When in doubt, hold, and say why."""

    @pytest.mark.parametrize(
        ("seen", "message"),
        [
            (world(2, APP, pods=()), "no size is known"),
            (world(2, APP), "neither a history of usage nor a VerticalPodAutoscaler"),
            (world(2, APP, size_advice=Failure("the VPA says LowConfidence")), "the VPA says LowConfidence"),
            (
                world(2, box("other"), APP, other=SAME, pods=pods(2, APP)),
                "no recommendation for the existing containers",
            ),
        ],
    )
    def test_without_anything_to_go_by(self, seen, message):
        """Nothing moves, and the error says why."""
        decision = decided(hvpa(), seen)
        assert (decision.desired, decision.decided, decision.moves) == (2, False, False)
        assert message in decision.error
        assert rules_of(decision)[-1] == "hold-on-failure"
        assert reason_of(decision, "RecommendationProvided") == "False/NoRecommendation"

    def test_no_source_at_all(self):
        """Both are switched off."""
        decision = decided(hvpa(vpa={"deploy": False}), UP)
        assert (decision.moves, decision.error) == (False, "no source is switched on")

    def test_an_answer_that_is_missing(self):
        """Neither replicas nor sizes fall; they may rise."""
        silent = asking("other", missing="the other one is away")
        down = decided(hvpa(), world(2, APP), sources=[asking(app=sizes(100, 10 * M)), silent])
        assert (down.moves, blocked(down)) == (False, ["MissingData"])
        assert reason_of(down, "RecommendationProvided") == "False/PartlyMissing"
        up = decided(hvpa(), world(2, APP), sources=[silent, asking(app=sizes(3000, 3 * G))])
        assert one(up) == (3, sizes(1000, G))

    def test_nothing_falls_while_another_rises(self):
        """With an answer missing, memory is kept while cpu rises."""
        silent = asking("other", missing="the other one is away")
        decision = decided(hvpa(), world(2, APP), sources=[asking(app=sizes(1200, G)), silent])
        assert one(decision) == (2, sizes(600, G))

    def test_a_pinned_size_does_not_fall_either(self):
        """It is applied once all sources have answered."""
        row = {
            "maxReplicas": 5,
            "maxResources": sizes("400m", "1G"),
            "effectiveIntervalExtrapolation": "horizontalOnly",
        }
        silent = asking("other", missing="the other one is away")
        decision = decided(hvpa(scalingIntervals=[row]), world(2, APP), sources=[asking(app=sizes(1100, G)), silent])
        assert one(decision) == (3, sizes(500, G))

    def test_zero_replicas(self):
        """The workload was switched off."""
        decision = decided(hvpa(), world(0, APP, app=sizes(9000, G), template=(APP,)))
        assert (decision.desired, decision.decided, decision.moves) == (0, True, False)
        assert rules_of(decision) == ["scaling-disabled"]

    def test_the_target_cannot_be_read(self):
        """Undecided, with the reason in the condition."""
        decision = decided(hvpa(), Seen(NOW, Failure("deployments.apps not found")))
        assert (decision.current, decision.desired, decision.decided) == (None, None, False)
        assert reason_of(decision, "Ready") == "False/FailedGetScale"
        assert reason_of(decision, "AbleToScale") == ""
        assert decision.events[0].reason == "FailedGetScale"

    @pytest.mark.parametrize(
        ("spec", "message"),
        [
            ({"scalingIntervals": []}, "needs at least one interval"),
            ({"scaleUp": {"updatePolicy": {"updateMode": "Sometimes"}}}, "updateMode"),
            ({"scaleDown": scale("MaintenanceWindow")}, "maintenanceTimeWindow"),
            ({"scalingIntervals": [{"maxReplicas": 2, "maxResources": sizes("1", "1Gi")}] * 2}, "maxReplicas"),
            ({"scalingIntervalsOverlap": {"cpu": {"value": "501m"}}}, "scalingIntervalsOverlap"),
            ({"vpa": vpa(policy(low=sizes("2", "1Gi"), high=sizes("1", "1Gi")))}, "minAllowed"),
            ({"targetRef": None}, "targetRef"),
            ({"scaleUp": 3}, "scaleUp"),
        ],
    )
    def test_a_spec_that_is_wrong(self, spec, message):
        """The error names the field, and nothing moves."""
        decision = decided(hvpa(**spec), UP)
        assert (decision.desired, decision.decided, decision.error_kind) == (2, False, "spec")
        assert message in decision.error
        assert reason_of(decision, "Ready") == "False/InvalidSpec"
        assert rules_of(decision) == ["bad-spec"]

    def test_weights_are_not_decided_by(self):
        """They are read and checked only."""
        decision = decided(Hvpa.from_dict(manifest(RELEASED)), UP)
        assert not decision.moves
        assert "use spec.scalingIntervals" in decision.error

    def test_an_old_status_is_kept(self):
        """If nothing could be decided, the times of the status are kept."""
        status = {"lastScaling": {"lastUpdated": show_time(NOW - 60)}, "desiredReplicas": 2, "conditions": []}
        decision = decided(hvpa(status=status), world(2, APP))
        assert decision.reported == {key: value for key, value in status.items() if key != "conditions"}


class TestReporting:
    """The status, the events and the state."""

    def test_the_status(self):
        """After a decision that moves."""
        decision = decided(hvpa(scaleUp=scale("MaintenanceWindow"), maintenanceTimeWindow=OPEN), UP)
        resources = {"requests": {"cpu": "600m", "memory": "1G"}}
        app = {"containerResources": [{"containerName": "app", "resources": resources}]}
        assert decision.reported == {
            "replicas": 2,
            "targetSelector": "app=web",
            "desiredReplicas": 2,
            "scaleUpUpdatePolicy": {"updateMode": "MaintenanceWindow"},
            "scaleDownUpdatePolicy": {"updateMode": "Auto"},
            "overrideScaleUpStabilization": False,
            "replicasAtRecommendation": 2,
            "lastProcessedRecommendations": {"vpaStatus": app},
            "lastBlockedScaling": [],
            "lastScaling": {
                "lastUpdated": show_time(NOW),
                "hpaStatus": {"currentReplicas": 2, "desiredReplicas": 2},
                "vpaStatus": app,
            },
        }
        assert [event.reason for event in decision.events] == ["Scaled"]
        assert json.loads(json.dumps(decision.to_dict()))["status"]["lastScaling"]

    def test_what_does_not_move_is_no_scaling(self):
        """The last scaling stays as it was, and stabilisation does not start again."""
        status = {"lastScaling": {"lastUpdated": show_time(NOW - 60), "hpaStatus": {"desiredReplicas": 2}}}
        decision, state = run(hvpa(status=status), world(2, APP, app=SAME), ago(60))
        assert (decision.moves, decision.events) == (False, ())
        assert decision.reported["lastScaling"] == status["lastScaling"]
        assert state.acted(decision, NOW).last_scale == NOW - 60

    def test_a_write_that_failed(self):
        """Nothing moved: the old times stay, and the failure is reported."""
        status = {"lastScaling": {"lastUpdated": show_time(NOW - 60)}, "desiredReplicas": 2}
        state = ago(60)._replace(desired=2)
        decision, after = run(hvpa(status=status), world(2, APP, app=sizes(3000, G)), state)
        failed = refused(hvpa(status=status), decision, after, "conflict")
        assert (failed.moves, failed.error) == (False, "conflict")
        assert reason_of(failed, "Ready") == "False/FailedUpdate"
        assert [event.reason for event in failed.events] == ["FailedScaling"]
        assert failed.reported["desiredReplicas"] == 2
        assert failed.reported["lastScaling"] == status["lastScaling"]
        assert after.reported(failed).last_scale == NOW - 60

    def test_deciding_twice(self):
        """It changes nothing, and the common entry point decides the same."""
        first = run(hvpa(), UP)
        assert run(hvpa(), UP) == first
        decision, state = decide_any(hvpa(), UP, FRESH, Settings())
        assert (decision, state) == first
        assert run(hvpa(), UP, first[1])[0].desired_sizes == first[0].desired_sizes

    def test_the_state_survives_json(self):
        """With the change of the count, and what was recommended before it."""
        _, state = run(hvpa(), world(1, APP, app=sizes(400, G)))
        decision, state = run(hvpa(), replace(UP, now=NOW + 60), state)
        state = state.acted(decision, NOW + 60)
        assert state.vertical.recount.to_dict() == {
            "at": NOW + 60,
            "before": 1,
            "after": 2,
            "advice": {"app": sizes(400, G)},
        }
        assert State.from_dict(json.loads(json.dumps(state.to_dict()))) == state

    def test_scale_and_status_may_differ(self):
        """While pods start, the desired count is what counts."""
        seen = replace(UP, scale=Scale(2, 1, "app=web"))
        decision = decided(hvpa(), seen)
        assert (decision.current, decision.reported["replicas"]) == (2, 1)
