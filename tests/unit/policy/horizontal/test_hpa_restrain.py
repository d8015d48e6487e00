"""What limits a HorizontalPodAutoscaler: windows, policies, bounds, and an unknown history."""

import pytest

from builders import KNOWN, NOW, decided, history, hpa, queue, reason_of, rules_of
from hypot.core.instant import show_time
from hypot.kinds.hpa.fields import FROZEN, ScalingRules, external, limit
from hypot.policy.decide import decide
from hypot.policy.horizontal.hpa import restrain
from hypot.policy.model.decision import Decision, MoveReport
from hypot.policy.model.settings import Settings
from hypot.policy.model.state import EMPTY, State, TimedValues

# One replica per item, so that the queue's length is the recommendation.
ITEMS = external("queue", average=1)
EXACT = {"tolerance": 0.0}


def items(count, replicas, **observed):
    return queue(count * 1000, replicas, **observed)


def paced(*, up=None, down=None, **fields):
    return hpa(ITEMS, scale_up=up, scale_down=down, **fields)


def reported(*entries, **fields):
    """A state with these recommendations, as (value, seconds ago)."""
    return State(recommendations=history(*entries), **fields)


class TestWithoutBehavior:
    """The legacy path."""

    @pytest.mark.parametrize(
        ("wanted", "entries", "desired", "reason"),
        [
            (3, [], 3, "ReadyForNewScale"),
            (3, [(8, 299)], 8, "ScaleDownStabilized"),
            (3, [(8, 300)], 8, "ScaleDownStabilized"),  # exactly as old as the window: it still counts
            (3, [(8, 301)], 3, "ReadyForNewScale"),
            (3, [(8, 400), (6, 200), (5, 10)], 6, "ScaleDownStabilized"),
            (3, [(2, 10)], 3, "ReadyForNewScale"),
            (15, [(2, 10)], 15, "ReadyForNewScale"),  # upwards nothing waits
            (12, [(18, 10)], 18, "ScaleDownStabilized"),
            (10, [(9, 10)], 10, "ReadyForNewScale"),
        ],
    )
    def test_the_highest_of_five_minutes(self, wanted, entries, desired, reason):
        """From ten replicas."""
        decision = decided(hpa(ITEMS), items(wanted, 10), reported(*entries))
        assert (decision.desired, reason_of(decision, "ScalingLimited")) == (desired, "False/DesiredWithinRange")
        unwritten = Decision.of(decision, MoveReport(decision.unwritten))
        assert reason_of(unwritten, "AbleToScale") == f"True/{reason}"

    def test_the_window_is_a_setting(self):
        """Here it is one minute."""
        assert decided(hpa(ITEMS), items(3, 10), reported((8, 61)), downscale_window=60.0).desired == 3
        assert decided(hpa(ITEMS), items(3, 10), reported((8, 60)), downscale_window=60.0).desired == 8

    @pytest.mark.parametrize(
        ("current", "wanted", "high", "desired", "reason"),
        [
            (1, 9, 100, 4, "True/ScaleUpLimit"),
            (3, 9, 100, 6, "True/ScaleUpLimit"),
            (3, 6, 100, 6, "False/DesiredWithinRange"),
            (10, 90, 15, 15, "True/TooManyReplicas"),
            (10, 90, 20, 20, "True/TooManyReplicas"),
            (10, 90, 21, 20, "True/ScaleUpLimit"),
            (10, 1, 100, 2, "True/TooFewReplicas"),
        ],
    )
    def test_doubling_and_bounds(self, current, wanted, high, desired, reason):
        """With a minimum of two, or one if there is only one replica."""
        low = min(2, current)
        decision = decided(hpa(ITEMS, min_replicas=low, max_replicas=high), items(wanted, current))
        assert (decision.desired, reason_of(decision, "ScalingLimited")) == (desired, reason)

    def test_no_rate_limit_by_time(self):
        """Doubling is allowed at each sync, and moves are not remembered as events."""
        state, current = KNOWN, 4
        for i in range(3):
            decision, state = decide(hpa(ITEMS), items(90, current, now=NOW + 15 * i), state, Settings())
            state = state.acted(decision, NOW + 15 * i)
            current = decision.desired
        assert current == 32
        assert (state.ups, state.downs, state.scalings) == (EMPTY, EMPTY, 3)

    def test_history_keeps_the_bare_recommendation(self):
        """Of the slots that are too old, the last is reused."""
        _, after = decide(
            hpa(ITEMS, max_replicas=20), items(500, 10), reported((1, 900), (2, 301), (3, 300), (4, 5)), Settings()
        )
        assert after.recommendations.values == (1, 500, 3, 4)
        assert after.recommendations.times[1] == NOW


class TestWindows:
    """Stabilisation with behavior."""

    @pytest.mark.parametrize(
        ("wanted", "entries", "desired", "reason"),
        [
            (12, [], 12, "ReadyForNewScale"),
            (12, [(11, 29)], 11, "ScaleUpStabilized"),
            (12, [(11, 30)], 12, "ReadyForNewScale"),  # exactly as old as the window: it is out
            (12, [(9, 10)], 10, "ScaleUpStabilized"),  # the envelope holds the current size
            (12, [(15, 10)], 12, "ReadyForNewScale"),
            (8, [(9, 59)], 9, "ScaleDownStabilized"),
            (8, [(9, 60)], 8, "ReadyForNewScale"),
            (8, [(15, 10)], 10, "ScaleDownStabilized"),
            (8, [(6, 10)], 8, "ReadyForNewScale"),
            (10, [(5, 10), (15, 10)], 10, "ReadyForNewScale"),
            (12, [(11, 40), (9, 45)], 12, "ReadyForNewScale"),  # within the other window only
        ],
    )
    def test_the_envelope(self, wanted, entries, desired, reason):
        """From ten replicas, 30 s up and 60 s down."""
        spec = paced(up=ScalingRules(window=30), down=ScalingRules(window=60))
        decision = decided(spec, items(wanted, 10), reported(*entries), **EXACT)
        assert decision.desired == desired
        unwritten = Decision.of(decision, MoveReport(decision.unwritten))
        assert reason_of(unwritten, "AbleToScale") == f"True/{reason}"

    def test_the_window_down_comes_from_the_controller_unless_written(self):
        """Five minutes by default, as without behavior, but an entry exactly as old no longer counts."""
        spec = paced(up=ScalingRules(window=0))
        assert decided(spec, items(3, 10), reported((10, 299))).desired == 10
        assert decided(spec, items(3, 10), reported((10, 300))).desired == 3
        assert decided(spec, items(3, 10), reported((10, 60)), downscale_window=60.0).desired == 3
        assert decided(paced(down=ScalingRules(window=0)), items(3, 10), reported((10, 0))).desired == 3

    def test_stabilising_comes_before_limiting(self):
        """The stabilised count is then limited by the policies."""
        spec = paced(up=ScalingRules([limit(pods=2, per=60)], window=30))
        decision = decided(spec, items(40, 10), reported((15, 10)))
        assert decision.desired == 12
        assert rules_of(decision)[-2:] == ["stabilise-up", "scale-up-limit"]
        assert [(s.before, s.after) for s in decision.steps[-2:]] == [(40, 15), (15, 12)]

    def test_history_reuses_what_both_windows_have_forgotten(self):
        """A slot must be strictly older than the longer window."""
        spec = paced(up=ScalingRules(window=30), down=ScalingRules(window=60))
        _, after = decide(spec, items(5, 10), reported((1, 100), (2, 61), (3, 60), (4, 31)), Settings())
        assert after.recommendations.values == (1, 5, 3, 4)

    def test_a_recommendation_that_lasts_is_recorded_once(self):
        """Only its time moves on; what is too old stays until another value comes."""
        before = reported((1, 900), (4, 31))
        _, after = decide(
            paced(up=ScalingRules(window=30), down=ScalingRules(window=60)), items(4, 10), before, Settings()
        )
        assert after.recommendations == TimedValues((1, 4), (NOW - 900, NOW))

    @pytest.mark.parametrize(
        ("spec", "wanted", "value"),
        [(paced(up=ScalingRules(window=30)), 12, 11), (paced(down=ScalingRules(window=60)), 8, 9), (hpa(ITEMS), 8, 9)],
    )
    def test_it_says_until_when(self, spec, wanted, value):
        """Just after that time the recommendation takes effect, if it lasts."""
        state = reported((value, 10))
        decision = decided(spec, items(wanted, 10), state, **EXACT)
        step = next(s for s in decision.steps if s.rule.startswith("stabilise"))
        window = {12: 30, 8: 60}[wanted] if spec.behavior else 300
        until = NOW - 10 + window
        assert step.numbers == {"until": show_time(until)}
        assert decided(spec, items(wanted, 10, now=until - 1), state, **EXACT).desired == value
        assert decided(spec, items(wanted, 10, now=until + 1), state, **EXACT).desired == wanted


class TestPolicies:
    """Rate limits with behavior, from ten replicas."""

    FIVE_UP = (limit(pods=4, per=60), limit(percent=10, per=60))
    DOWN = (limit(pods=4, per=60), limit(percent=80, per=60))

    @pytest.mark.parametrize(("select", "desired"), [("Max", 14), (None, 14), ("Min", 11), ("Disabled", 10)])
    def test_which_policy_counts_upwards(self, select, desired):
        """The largest change by default."""
        decision = decided(paced(up=ScalingRules(self.FIVE_UP, select=select)), items(40, 10))
        assert (decision.desired, reason_of(decision, "ScalingLimited")) == (desired, "True/ScaleUpLimit")

    @pytest.mark.parametrize(("select", "desired"), [("Max", 1), (None, 1), ("Min", 6), ("Disabled", 10)])
    def test_which_policy_counts_downwards(self, select, desired):
        """The smallest count by default: ten less 80 % leaves 1, because 10 x 0.2 is just below 2."""
        decision = decided(paced(down=ScalingRules(self.DOWN, window=0, select=select)), items(0, 10))
        assert decision.desired == desired

    @pytest.mark.parametrize(
        ("current", "policy", "wanted", "desired"),
        [
            (100, limit(percent=10), 400, 111),
            (5, limit(percent=80), 0, 0),
            (10, limit(percent=150), 0, 0),
            (3, limit(pods=5), 0, 0),
        ],
    )
    def test_percentages_are_doubles(self, current, policy, wanted, desired):
        """100 plus 10 % allows 111; 5 less 80 % allows 0; a limit below zero is the minimum."""
        spec = paced(up=ScalingRules([policy]), down=ScalingRules([policy], window=0), min_replicas=0, max_replicas=500)
        assert decided(spec, items(wanted, current)).desired == desired

    @pytest.mark.parametrize(
        ("ups", "downs", "desired"),
        [
            ([], [], 14),
            ([(3, 30)], [], 11),
            ([(3, 60)], [], 14),  # exactly as old as the period: it is out
            ([(3, 59)], [], 11),
            ([(9, 30)], [], 10),  # never below the current size
            ([], [(2, 30)], 16),  # both directions count
            ([(3, 30)], [(1, 30)], 12),
            ([(3, 90), (1, 10)], [], 13),
        ],
    )
    def test_what_was_moved_in_the_period_counts(self, ups, downs, desired):
        """At most four pods in a minute."""
        state = State(recommendations=EMPTY, ups=history(*ups), downs=history(*downs))
        assert decided(paced(up=ScalingRules([limit(pods=4, per=60)])), items(40, 10), state).desired == desired

    def test_the_defaults_of_an_empty_behavior(self):
        """Four pods or doubling in 15 s upwards, everything downwards."""
        spec = paced(up=ScalingRules())
        assert decided(spec, items(90, 3)).desired == 7
        assert decided(spec, items(90, 10)).desired == 20
        assert decided(spec, items(1, 10)).desired == 1

    @pytest.mark.parametrize(
        ("wanted", "low", "high", "desired", "reason"),
        [
            (40, 1, 12, 12, "True/TooManyReplicas"),
            (40, 1, 14, 14, "True/TooManyReplicas"),
            (40, 1, 15, 14, "True/ScaleUpLimit"),
            (1, 8, 20, 8, "True/TooFewReplicas"),
            (1, 6, 20, 6, "True/TooFewReplicas"),
            (1, 5, 20, 6, "True/ScaleDownLimit"),
            (12, 1, 20, 12, "False/DesiredWithinRange"),
            (10, 1, 20, 10, "False/DesiredWithinRange"),
        ],
    )
    def test_bounds_with_policies(self, wanted, low, high, desired, reason):
        """Four pods in a minute, both ways; if bound and policy agree, the bound is named."""
        four = ScalingRules([limit(pods=4, per=60)], window=0)
        decision = decided(paced(up=four, down=four, min_replicas=low, max_replicas=high), items(wanted, 10))
        assert (decision.desired, reason_of(decision, "ScalingLimited")) == (desired, reason)

    def test_events_are_remembered_as_long_as_their_policy(self):
        """The last slot older than the longest period of the direction is reused."""
        spec = paced(up=ScalingRules([limit(pods=4, per=60), limit(pods=9, per=120)]))
        state = State(recommendations=EMPTY, ups=history((7, 300), (5, 121), (1, 120)), downs=history((2, 10)))
        decision, after = decide(spec, items(12, 10), state, Settings())
        done = after.acted(decision, NOW)
        assert decision.event_period == 120
        assert done.ups.values == (7, 2, 1)
        assert (done.downs, done.last_scale, done.desired, done.scalings) == (state.downs, NOW, 12, 1)

    def test_a_frozen_direction(self):
        """The other direction still works."""
        spec = paced(down=FROZEN)
        assert decided(spec, items(1, 10)).desired == 10
        assert decided(spec, items(12, 10)).desired == 12

    def test_a_minute_of_growth(self):
        """Four pods a minute, one decision every 15 s, each with the state of the last."""
        spec, state, current, sizes = paced(up=ScalingRules([limit(pods=4, per=60)])), KNOWN, 10, []
        for i in range(9):
            now = NOW + 15 * i
            decision, state = decide(spec, items(40, current, now=now), state, Settings())
            state = state.acted(decision, now)
            current = decision.desired
            sizes.append(current)
        assert sizes == [14, 14, 14, 14, 18, 18, 18, 18, 22]


class TestUnknown:
    """What is unknown is reported, and the size is held."""

    def test_an_unknown_history_is_not_an_empty_one(self):
        """The first decision takes the current size as the first recommendation, so nothing scales down yet."""
        for spec in (hpa(ITEMS), paced(up=ScalingRules())):
            assert decided(spec, items(3, 10), State()).desired == 10
            assert decided(spec, items(3, 10), KNOWN).desired == 3
            assert decided(spec, items(15, 10), State()).desired == 15

    def test_without_a_window_down_the_first_decision_scales_down(self):
        """There is nothing to wait for."""
        assert decided(paced(down=ScalingRules(window=0)), items(3, 10), State()).desired == 3

    def test_an_unknown_history_with_a_window_up(self):
        """The current size also blocks a scale-up."""
        assert decided(paced(up=ScalingRules(window=60)), items(15, 10), State()).desired == 10

    def test_the_first_decision_says_from_when_on(self):
        """The list of unknown things says so."""
        (message,) = decided(hpa(ITEMS), items(3, 10), State()).unknown
        assert "nothing smaller than 10 takes effect before" in message
        assert show_time(NOW + 300) in message
        assert decided(hpa(ITEMS), items(3, 10), KNOWN).unknown == ()
        assert decided(hpa(ITEMS), items(15, 10), State()).unknown == ()

    def test_the_second_decision_still_says_so(self):
        """As long as the window began before the first decision."""
        _, after = decide(hpa(ITEMS), items(3, 10), State(), Settings())
        assert decided(hpa(ITEMS), items(3, 10, now=NOW + 15), after).unknown
        late = decided(hpa(ITEMS), items(3, 10, now=NOW + 301), after)
        assert (late.desired, late.unknown) == (3, ())

    def test_the_first_size_is_remembered_even_if_nothing_can_be_decided(self):
        """The current size is the first recommendation."""
        _, after = decide(hpa(ITEMS), queue((), 10), State(), Settings())
        assert after.recommendations.values == (10,)

    @staticmethod
    def after_a_move(seconds):
        return State.from_status({"lastScaleTime": show_time(NOW - seconds)})._replace(recommendations=EMPTY)

    @pytest.mark.parametrize(("wanted", "spec"), [(40, "up"), (1, "down")])
    def test_a_move_of_unknown_size_holds_for_its_period(self, wanted, spec):
        """The message says until when."""
        four = ScalingRules([limit(pods=4, per=60)], window=0)
        decision = decided(paced(**{spec: four}), items(wanted, 10), self.after_a_move(20))
        assert decision.desired == 10
        (message,) = decision.unknown
        assert show_time(NOW + 40) in message
        reason = {"up": "True/ScaleUpLimit", "down": "True/ScaleDownLimit"}[spec]
        assert reason_of(decision, "ScalingLimited") == reason

    @pytest.mark.parametrize("seconds", [60, 61, 3600])
    def test_after_its_period_it_is_forgotten(self, seconds):
        """A move exactly as old as the period no longer counts."""
        decision = decided(paced(up=ScalingRules([limit(pods=4, per=60)])), items(40, 10), self.after_a_move(seconds))
        assert (decision.desired, decision.unknown) == (14, ())

    def test_a_policy_with_a_shorter_period_still_allows_moves(self):
        """If the policy with the larger change counts."""
        spec = paced(up=ScalingRules([limit(pods=4, per=60), limit(pods=1, per=15)]))
        assert decided(spec, items(40, 10), self.after_a_move(20)).desired == 11

    def test_without_behavior_it_does_not_matter(self):
        """Without behavior no rate limit counts moves."""
        decision = decided(hpa(ITEMS), items(40, 10), self.after_a_move(1))
        assert (decision.desired, decision.unknown) == (20, ())

    def test_a_switched_off_direction_is_not_unknown(self):
        """It holds for another reason."""
        assert decided(paced(up=FROZEN), items(40, 10), self.after_a_move(1)).unknown == ()

    def test_own_moves_are_known_once_the_unknown_one_is_over(self):
        """After one pod of the four allowed, three more may follow, and nothing is reported as unknown."""
        spec = paced(up=ScalingRules([limit(pods=4, per=60)]))
        first, state = decide(spec, items(11, 10), self.after_a_move(90), Settings(tolerance=0.0))
        state = state.acted(first, NOW)
        second = decided(spec, items(40, 11, now=NOW + 15), state)
        assert (first.desired, second.desired, second.unknown) == (11, 14, ())


def test_the_stage_can_be_called_alone():
    """It returns a count, and the history with the recommendation before limits."""
    done = restrain(hpa(ITEMS, min_replicas=1), 90, 10, KNOWN, NOW, Settings())
    assert (done.replicas, done.stabilised.replicas, done.limited.replicas) == (20, 90, 20)
    assert done.history.values == (90,)
