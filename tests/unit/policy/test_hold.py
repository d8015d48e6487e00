"""How annotations and other holds change a decision, for each kind."""

from dataclasses import replace

import pytest

from builders import KNOWN, NOW, busy, hpa, pod, queue, reason_of, rules_of, seen, wpa
from hypot.core.instant import show_time
from hypot.core.replicas.ratio import MAX_INT32
from hypot.kinds.hpa.fields import cpu
from hypot.kinds.vpa import VPA
from hypot.kinds.wpa.fields import LIFECYCLE_CONTROL, WatermarkRules, band
from hypot.policy.decide import decide
from hypot.policy.hold import PAUSED, PINNED, held, holds_of
from hypot.policy.model.decision import Condition, Decision, Hold, MoveReport, condition_of
from hypot.policy.model.seen import Bounds, Container, Controller, Failure, Recommendation, Seen
from hypot.policy.model.settings import Settings
from hypot.policy.model.state import State
from hypot.replay.numbers import hpa_rule, hvpa_rule, vpa_rule, wpa_rule
from unit.policy.hvpa.hvpa_world import GI, box, hvpa, one, world
from unit.policy.vertical.vpa_world import WEB

SETUP = Settings()
STOP = Hold("Conflict", "somebody else scales it")
NO_SHRINK = Hold("ColdStart", "nothing is remembered", "down")
NO_GROWTH = Hold("Full", "there is no room", "up")
FREE = {"scale_up": WatermarkRules(percent=10_000), "scale_down": WatermarkRules(percent="99.9")}
LONG_BEFORE = State(last_scale=NOW - 3600, desired=5, scalings=4)


def ran(spec, observed, state=KNOWN, *holds):
    """The decision and the new state, under these holds."""
    return decide(spec, observed, state, SETUP, holds)


def reported(spec, observed, state=KNOWN, *holds):
    return ran(spec, observed, state, *holds)[0]


def marked(**annotations):
    """A WatermarkPodAutoscaler with a queue target of 10 per pod and these annotations of ours."""
    written = {f"hypot.dev/{name}": value for name, value in annotations.items()}
    return wpa(band("queue", high="10", low="5"), min_replicas=1, annotations=written, **FREE)


def guarded(name, value):
    """The same with a monitor that must be OK."""
    return wpa(band("queue", high="10", low="5"), annotations={name: value, LIFECYCLE_CONTROL: "true"})


def long_queue(items=200, replicas=5):
    return queue(items * 1000, replicas, selector={})


def events_of(decision):
    return [event.reason for event in decision.events]


class TestAnnotations:
    """Annotations of the object itself."""

    def test_none_is_no_hold(self):
        """An object without the annotation is free, and so is an object that is not paused."""
        assert holds_of({"other": "true"}) == ()
        assert holds_of({PAUSED: "false"}) == ()

    @pytest.mark.parametrize(("word", "blocks"), [("true", "both"), ("up", "up"), ("down", "down"), (True, "both")])
    def test_paused_in_a_direction(self, word, blocks):
        """All scaling or one direction is paused; a file may hold a bare true."""
        (hold,) = holds_of({PAUSED: word})
        assert (hold.reason, hold.blocks, hold.pinned) == ("Paused", blocks, None)

    @pytest.mark.parametrize(("word", "count"), [("0", 0), ("7", 7), (7, 7), (str(MAX_INT32), MAX_INT32)])
    def test_a_count_is_pinned(self, word, count):
        """A whole number pins the count."""
        (hold,) = holds_of({PINNED: word})
        assert (hold.reason, hold.blocks, hold.pinned) == ("Held", "both", count)

    @pytest.mark.parametrize("word", ["", "yes", "True ", "UP", 3, [], "x" * 100_000])
    def test_an_unknown_word_holds_everything(self, word):
        """When in doubt, everything is held, with a message of bounded length."""
        (hold,) = holds_of({PAUSED: word})
        assert (hold.blocks, hold.pinned) == ("both", None)
        assert "not true, false, up or down" in hold.message
        assert len(hold.message) < 200

    @pytest.mark.parametrize("word", ["", "-1", "1.5", "five", "٣", str(MAX_INT32 + 1), "1" * 5000, True])
    def test_an_invalid_count_holds_everything(self, word):
        """Nothing is guessed: the count stays as it is."""
        (hold,) = holds_of({PINNED: word})
        assert (hold.reason, hold.blocks, hold.pinned) == ("Held", "both", None)


class TestWatermark:
    """Kinds that set only a count."""

    def test_a_scale_up_is_held_and_reported(self):
        """The count stays, the status keeps its old values, and no scaling is reported."""
        before = LONG_BEFORE
        free, _ = ran(marked(), long_queue(), before)
        decision, after = ran(marked(paused="true"), long_queue(), before)
        assert free.desired > 5
        assert (decision.desired, decision.moves, decision.reason) == (5, False, "")
        assert reason_of(decision, "ScalingBlocked") == "True/Paused"
        assert reason_of(decision, "AbleToScale") == "True/ReadyForScale"
        assert events_of(decision) == ["ScalingHeld"]
        assert decision.reported["desiredReplicas"] == 5
        assert decision.reported["lastScaleTime"] == show_time(NOW - 3600)
        assert decision.reported["scalingEventsCount"] == 4
        assert decision.reported["lastConditionType"] == "ScalingBlocked"
        assert (after.desired, after.conditions) == (5, decision.unwritten)
        assert decision.steps[-1][1:4] == ("paused", free.desired, 5)

    @pytest.mark.parametrize(
        ("word", "items", "stays"), [("up", 200, 1), ("up", 1, 0), ("down", 200, 0), ("down", 1, 1)]
    )
    def test_one_direction_is_held(self, word, items, stays):
        """The other direction continues; the hold is reported in both cases."""
        free = reported(marked(), long_queue(items))
        decision = reported(marked(paused=word), long_queue(items))
        assert decision.desired == (5 if stays else free.desired)
        assert ("ScalingHeld" in events_of(decision)) == bool(stays)
        assert reason_of(decision, "ScalingBlocked") == "True/Paused"

    def test_a_pin_moves_the_count(self):
        """The metrics are ignored, and the pin is reported as the reason."""
        decision, after = ran(marked(hold="9"), long_queue(7), LONG_BEFORE)
        assert (decision.desired, decision.moves) == (9, True)
        assert decision.reason == f"the annotation {PINNED} keeps the count at 9"
        assert events_of(decision) == ["Scaling"]
        assert reason_of(decision, "AbleToScale") == "True/SuccessfulScale"
        assert reason_of(Decision.of(decision, MoveReport(decision.unwritten)), "AbleToScale") == "True/ReadyForScale"
        assert decision.reported["lastScaleTime"] == show_time(NOW)
        assert decision.reported["scalingEventsCount"] == 5
        assert after.desired == 5
        assert after.acted(decision, NOW).desired == 9

    def test_a_pin_overrides_the_metrics(self):
        """At the pinned count nothing moves, however long the queue."""
        decision = reported(marked(hold="5"), long_queue())
        assert (decision.moves, events_of(decision)) == (False, ["ScalingHeld"])
        assert rules_of(decision)[-1] == "held"

    def test_a_pin_counts_without_metrics(self):
        """A pin needs no metrics; missing metrics are still reported."""
        observed = seen(5, external_metrics={})
        decision = reported(marked(hold="7"), observed)
        assert (decision.decided, decision.desired) == (True, 7)
        assert "FailedComputeMetricsReplicas" in events_of(decision)

    def test_a_pin_does_not_override_a_pause(self):
        """Scale-down is paused and the pin is lower: the count stays, and both are reported."""
        decision = reported(marked(paused="down", hold="2"), long_queue())
        assert decision.desired == 5
        assert "stops scaling down; the annotation" in condition_of(decision.conditions, "ScalingBlocked").message

    @pytest.mark.parametrize(
        "observed",
        [Seen(NOW, Failure("no such target")), replace(long_queue(), monitor="Alert")],
        ids=["no target", "the monitor blocks"],
    )
    def test_a_pin_needs_more_than_metrics(self, observed):
        """Nothing moves if the target is missing or the object's own monitor blocks it."""
        decision = reported(guarded(PINNED, "9"), observed)
        assert (decision.decided, decision.moves) == (False, False)
        assert reason_of(decision, "ScalingBlocked") == "True/Held"

    def test_a_hold_that_ended_is_cleared(self):
        """The kind itself would leave the condition unchanged."""
        _, paused = ran(marked(paused="true"), long_queue(40))
        decision, after = ran(marked(), long_queue(40), paused)
        assert reason_of(decision, "ScalingBlocked") == "False/NotHeld"
        assert condition_of(after.conditions, "ScalingBlocked").since == NOW
        assert reported(marked(), long_queue(40), after).conditions == decision.conditions

    def test_what_the_monitor_said_is_left_alone(self):
        """A condition that the monitor set is not cleared."""
        said = Condition("ScalingBlocked", "True", "DatadogMonitorNotOK", "", NOW - 60)
        decision = reported(marked(), long_queue(40), State(conditions=(said,)))
        assert condition_of(decision.conditions, "ScalingBlocked") == said

    def test_the_time_of_the_condition_stays(self):
        """While a hold lasts, its condition does not change."""
        later = replace(long_queue(), now=NOW + 15)
        _, after = ran(marked(), long_queue(), KNOWN, STOP)
        decision = reported(marked(), later, after, STOP)
        assert condition_of(decision.conditions, "ScalingBlocked").since == NOW

    def test_a_second_hold_that_blocks_nothing_is_named(self):
        """The condition names both; there is no further step and no further event."""
        spec, observed = marked(paused="up"), long_queue()
        first = reported(spec, observed)
        decision = reported(spec, observed, KNOWN, NO_SHRINK)
        message = condition_of(decision.conditions, "ScalingBlocked").message
        assert message == f"the annotation {PAUSED} stops scaling up; nothing is remembered"
        assert decision.steps == first.steps
        assert events_of(decision) == events_of(first)

    def test_a_full_block_is_the_reason(self):
        """A user who reads only the reason must not take it for a hold of one direction."""
        spec, observed = marked(paused="up"), long_queue()
        decision = reported(spec, observed, KNOWN, Hold("Conflict", "another controller writes to it"))
        assert condition_of(decision.conditions, "ScalingBlocked").reason == "Conflict"

    def test_without_a_hold_nothing_changes(self):
        """The decision comes back unchanged."""
        decision = reported(marked(), long_queue())
        assert held(decision, (), long_queue()) == decision


class TestHorizontal:
    """An HPA has no condition for being blocked."""

    SPEC = hpa(cpu(utilization=50))

    def test_it_is_not_able_to_scale(self):
        """The hold is reported by the condition AbleToScale."""
        observed = busy(900, 900)
        assert reported(self.SPEC, observed).desired == 4
        decision, after = ran(self.SPEC, observed, KNOWN, STOP)
        assert (decision.desired, decision.moves) == (2, False)
        assert reason_of(decision, "AbleToScale") == "False/Conflict"
        assert reason_of(decision, "ScalingBlocked") == ""
        assert "lastScaleTime" not in decision.reported
        assert reason_of(reported(self.SPEC, observed, after), "AbleToScale") == "True/SucceededRescale"

    def test_a_scale_up_passes_a_hold_on_scale_down(self):
        """It is reported as done."""
        decision = reported(self.SPEC, busy(900, 900), KNOWN, NO_SHRINK)
        assert (decision.desired, events_of(decision)) == (4, ["SuccessfulRescale"])


class TestBothAxes:
    """An Hvpa: count and sizes."""

    def test_everything_is_held(self):
        """The last scaling in the status stays as it was written."""
        old = {"lastUpdated": show_time(NOW - 9999), "hpaStatus": {"currentReplicas": 1, "desiredReplicas": 2}}
        spec = hvpa(annotations={PAUSED: "true"}, status={"lastScaling": old})
        observed, state = world(2, box(cpu=1000, memory=GI), app={"cpu": 4000, "memory": 9 * GI}), LONG_BEFORE
        assert reported(hvpa(), observed, state).moves
        decision, after = ran(spec, observed, state)
        assert one(decision) == (2, {"cpu": 1000, "memory": GI})
        assert reason_of(decision, "ScalingBlocked") == "True/Paused"
        assert decision.reported["lastScaling"] == {**old, "lastUpdated": show_time(NOW - 3600)}
        assert decision.reported["lastBlockedScaling"] == [{"reason": "Paused"}]
        assert (decision.reported["desiredReplicas"], after.desired) == (2, 2)
        assert events_of(decision) == ["ScalingHeld"]

    def test_the_condition_stays_though_the_kind_says_otherwise(self):
        """An Hvpa reports at each decision that nothing blocks it; under a hold this does not change the condition."""
        observed = world(2, box(cpu=1000, memory=GI), app={"cpu": 1000, "memory": GI})
        _, after = ran(hvpa(annotations={PAUSED: "up"}), observed)
        later = replace(observed, now=NOW + 15)
        decision = reported(hvpa(annotations={PAUSED: "up"}), later, after)
        assert condition_of(decision.conditions, "ScalingBlocked").since == NOW
        assert reason_of(reported(hvpa(), later, after), "ScalingBlocked") == "False/NotBlocked"

    def test_one_resource_is_raised_while_another_is_held(self):
        """Resources are independent; the report says what is really done."""
        observed = world(1, box(cpu=200, memory=2 * GI), app={"cpu": 400, "memory": GI})
        free = reported(hvpa(), observed)
        assert one(free)[1]["memory"] < 2 * GI
        decision = reported(hvpa(), observed, KNOWN, NO_SHRINK)
        assert one(decision) == (1, {"cpu": 400, "memory": 2 * GI})
        scaled, shown = decision.events
        assert (scaled.reason, shown.reason) == ("Scaled", "ScalingHeld")
        assert "memory 2Gi" in scaled.message
        resources = decision.reported["lastScaling"]["vpaStatus"]["containerResources"]
        assert resources[0]["resources"]["requests"]["memory"] == "2Gi"

    def test_a_pin_leaves_sizes_alone(self):
        """They were decided for another count."""
        observed = world(1, box(cpu=1000, memory=GI), app={"cpu": 3000, "memory": GI})
        decision = reported(hvpa(annotations={PINNED: "5"}), observed)
        assert one(decision) == (5, {"cpu": 1000, "memory": GI})
        assert decision.reported["lastScaling"]["hpaStatus"] == {"currentReplicas": 1, "desiredReplicas": 5}
        assert decision.events[0].message.startswith("replicas 1 → 5; reason: the annotation")

    def test_a_pin_counts_without_a_recommendation(self):
        """The rest of the status is kept."""
        spec = hvpa(annotations={PINNED: "3"}, status={"targetSelector": "app=web"})
        decision = reported(spec, world(1, box(cpu=1000, memory=GI)))
        assert (decision.decided, decision.desired) == (True, 3)
        assert decision.reported["targetSelector"] == "app=web"
        assert decision.reported["desiredReplicas"] == 3

    def test_a_stale_hold_is_cleared_where_nothing_is_decided(self):
        """Without a recommendation an Hvpa does not report blocks itself."""
        blank = world(1, box(cpu=1000, memory=GI))
        _, after = ran(hvpa(), blank, KNOWN, STOP)
        assert reason_of(reported(hvpa(), blank, after), "ScalingBlocked") == "False/NotHeld"


class TestHalfADecision:
    """Count and sizes that move in opposite directions."""

    def crossed(self, desired, before, after, *holds):
        """A decision from 4 replicas with this cpu, as if an Hvpa had made it."""
        observed = world(4, box(cpu=before), app={"cpu": before})
        decision = reported(hvpa(), observed)
        size = decision.sizes[0]
        made = decision._replace(desired=desired, desired_sizes=(size._replace(requests={"cpu": after}),))
        return one(held(made, holds, observed))

    def test_less_of_both_is_never_the_result(self):
        """Fewer, larger pods with the size held would be half the current total."""
        assert self.crossed(2, 1000, 2000, NO_GROWTH) == (4, {"cpu": 1000})
        assert self.crossed(8, 1000, 500, NO_GROWTH) == (4, {"cpu": 1000})

    def test_growth_that_is_not_needed_is_not_done(self):
        """Larger pods with the count held would be twice what is needed."""
        assert self.crossed(2, 1000, 2000, NO_SHRINK) == (4, {"cpu": 1000})
        assert self.crossed(8, 1000, 500, NO_SHRINK) == (4, {"cpu": 1000})

    def test_growth_that_is_needed_is(self):
        """A hold on scale-down does not stop a larger total."""
        assert self.crossed(2, 1000, 3000, NO_SHRINK) == (4, {"cpu": 3000})
        assert self.crossed(9, 1000, 500, NO_SHRINK) == (9, {"cpu": 1000})


class TestByPod:
    """A VPA: each pod separately."""

    @staticmethod
    def vpa(mode="InPlaceOrRecreate", **annotations):
        several = {"hypot.dev/eviction-tolerance": "1", **annotations}
        return VPA("deployment/web", mode=mode, min_replicas=1, annotations=several)

    @staticmethod
    def observed(target, *requests, limits=None):
        pods = tuple(
            pod(f"web-{i}", containers=(Container("app", each, limits or {}),), node="n1", qos="Burstable")
            for i, each in enumerate(requests)
        )
        advice = Recommendation((Bounds("app", target, target, target),), "test")
        kept = {WEB: Controller(*WEB, len(requests))}
        return seen(len(requests), pods=pods, size_advice=advice, controllers=kept)

    def test_only_pods_that_would_get_less_are_held(self):
        """The other pods get what they need."""
        observed = self.observed({"cpu": 500}, {"cpu": 100}, {"cpu": 900})
        free = reported(self.vpa(), observed)
        assert {one.action for one in free.actions} == {"resize"}
        decision = reported(self.vpa(), observed, KNOWN, NO_SHRINK)
        actions = {one.pod: (one.action, one.rule) for one in decision.actions}
        assert actions["web-0"][0] == "resize"
        assert actions["web-1"] == ("none", "cold-start")
        assert decision.desired_sizes[0].requests == {"cpu": 900}
        assert [event.reason for event in decision.events] == ["InPlaceResizedByVPA", "ScalingHeld"]
        assert decision.reason == "1 of 2 pods changed"
        assert decision.steps[-1].numbers == {"pods": ["web-1"]}

    def test_a_part_is_done_where_resources_differ(self):
        """More cpu and less memory: only the cpu is raised."""
        mebi = 1024 * 1024
        observed = self.observed({"cpu": 500, "memory": 100 * mebi}, {"cpu": 100, "memory": 900 * mebi * 1000})
        (action,) = reported(self.vpa(), observed, KNOWN, NO_SHRINK).actions
        assert action.action == "resize"
        assert action.sizes[0].requests == {"cpu": 500, "memory": 900 * mebi}

    def test_an_eviction_applies_the_whole_size(self):
        """So if a part is held, the pod is left alone."""
        mebi = 1024 * 1024
        observed = self.observed({"cpu": 500, "memory": 100 * mebi}, *[{"cpu": 100, "memory": 900 * mebi * 1000}] * 2)
        assert {one.action for one in reported(self.vpa(mode="Recreate"), observed).actions} == {"evict"}
        for hold in (NO_SHRINK, NO_GROWTH):
            assert {one.action for one in reported(self.vpa(mode="Recreate"), observed, KNOWN, hold).actions} == {
                "none"
            }
        (grown,) = reported(
            self.vpa(mode="Recreate"), self.observed({"cpu": 500}, {"cpu": 100}), KNOWN, NO_SHRINK
        ).actions
        assert grown.action == "evict"

    def test_a_paused_vpa_still_recommends(self):
        """Nothing is resized, new pods start with the current size, and the status has the recommendation."""
        observed = self.observed({"cpu": 500}, {"cpu": 100}, {"cpu": 900})
        decision = reported(self.vpa(**{PAUSED: "true"}), observed)
        assert not decision.moves
        assert decision.desired_sizes == decision.sizes
        assert decision.reported["recommendation"]["containerRecommendations"][0]["target"] == {"cpu": "500m"}
        assert reason_of(decision, "ScalingBlocked") == "True/Paused"
        assert [condition.type for condition in decision.conditions] == ["RecommendationProvided", "ScalingBlocked"]

    def test_it_is_released(self):
        """The condition is cleared, and the pods are resized."""
        observed = self.observed({"cpu": 500}, {"cpu": 100})
        _, after = ran(self.vpa(**{PAUSED: "true"}), observed)
        decision = reported(self.vpa(), observed, after)
        assert decision.moves
        assert reason_of(decision, "ScalingBlocked") == "False/NotHeld"

    def test_a_new_limit_is_less(self):
        """Without a limit there is no bound, so a new limit takes something away."""
        unlimited = self.observed({"cpu": 500}, {"cpu": 100})
        decision = reported(self.vpa(), unlimited)
        (action,) = decision.actions
        capped = action._replace(sizes=(action.sizes[0]._replace(limits={"cpu": 600}),))
        limited = decision._replace(actions=(capped,))
        assert held(limited, (NO_SHRINK,), unlimited).actions[0].sizes[0] == ("app", {"cpu": 500}, {})

    def test_a_pod_that_is_not_observed_is_left_alone(self):
        """Its size is unknown, and so is the direction of the change."""
        observed = self.observed({"cpu": 500}, {"cpu": 100})
        unseen = held(reported(self.vpa(), observed), (NO_SHRINK,), replace(observed, pods=()))
        assert [one.action for one in unseen.actions] == ["none"]


@pytest.mark.parametrize("word", [PAUSED, PINNED])
def test_the_quick_rule_of_a_replay_does_not_cover_holds(word):
    """It ignores holds, so autoscalers with a hold need the full decision."""
    free, held = {}, {word: "3"}
    names = {"queue": "queue"}
    for annotations, covered in ((free, True), (held, False)):
        by_count = hpa(cpu(utilization=50), annotations=annotations)
        by_marks = wpa(band("queue", high="10", low="5"), min_replicas=1, annotations=annotations)
        by_size = VPA("deployment/web", annotations=annotations)
        assert (hpa_rule.rule_of(by_count, "app", {}, SETUP) is not None) == covered
        assert (wpa_rule.rule_of(by_marks, names) is not None) == covered
        assert (vpa_rule.rule_of(by_size, "app", frozenset(), SETUP) is not None) == covered
        assert (hvpa_rule.rule_of(hvpa(annotations=annotations), "app", None, {}, SETUP) is not None) == covered
