"""One decision of a WatermarkPodAutoscaler."""

import json

import pytest

from builders import (
    LONG_AGO,
    NOW,
    busy,
    cpu_samples,
    decided,
    fleet,
    made,
    pod,
    queue,
    reason_of,
    refused,
    rules_of,
    sample,
    seen,
    wpa,
)
from hypot.core.instant import show_time
from hypot.kinds.node import replaced
from hypot.kinds.wpa import WPA, with_defaults
from hypot.kinds.wpa.fields import (
    LIFECYCLE_CONTROL,
    SKIP_OWNER_CHECK,
    BandMetric,
    ExternalBand,
    Recommender,
    WatermarkRules,
    band,
    resource_band,
)
from hypot.policy.decide import decide
from hypot.policy.horizontal.wpa import conclude, gate, recommend, resolve, restrain
from hypot.policy.model.decision import Condition, Decision, MoveReport, condition_of
from hypot.policy.model.seen import Failure, Owner, Reply, Seen, metric_key
from hypot.policy.model.settings import Settings
from hypot.policy.model.state import State

FREE = {"scale_up": WatermarkRules(percent=10_000), "scale_down": WatermarkRules(percent="99.9")}
SELECTOR = {}
# Nothing was scaled yet, so neither windows nor delays block.
FRESH = State()


def items(amount, replicas=10, **observed):
    """Milli-units of the queue."""
    return queue(amount, replicas, selector=SELECTOR, **observed)


def between(low, high, **fields):
    return wpa(band("queue", high=high, low=low), **fields)


def moved(seconds, **fields):
    """A state in which the last move was this long ago."""
    return State(last_scale=NOW - seconds, **fields)


def proposal(spec, observed):
    (reading,) = recommend(with_defaults(spec), observed)
    return reading.proposal


class TestProposal:
    """Figures of the enhancement proposal."""

    SAMPLE = between("150m", "400m", tolerance="0.01", min_replicas=4, max_replicas=9)

    @pytest.mark.parametrize(
        ("value", "desired"),
        [(404, 6), (405, 7), (149, 6), (148, 5), (200, 6), (400, 6), (150, 6), (4000, 9), (1, 5)],
    )
    def test_the_sample(self, value, desired):
        """Between 150m and 400m with 1 %: held at 404m and 149m, moved at 405m and 148m; from six replicas."""
        decision = decided(self.SAMPLE, items(value, 6), FRESH)
        assert decision.desired == desired

    @pytest.mark.parametrize(("factor", "desired"), [(30, 13), (50, 14)])
    def test_14_capped_to_13_by_a_factor_of_30(self, factor, desired):
        """Ten replicas should become 14; with 50 %, the sample's own factor, they do."""
        spec = between(5, 10, algorithm="average", scale_up=WatermarkRules(percent=factor))
        decision = decided(spec, items(140_000), FRESH)
        assert (decision.readings[0].proposal, decision.desired) == (14, desired)
        limited = "True/ScaleUpLimit" if factor == 30 else "False/DesiredWithinRange"
        assert reason_of(decision, "ScalingLimited") == limited
        assert ("scale-up-limit" in rules_of(decision)) is (factor == 30)

    @pytest.mark.parametrize(("value", "desired"), [(85, 11), (88, 11), (89, 12), (66, 10), (60, 10), (53, 8), (30, 5)])
    def test_absolute_keeps_a_value_between_the_marks(self, value, desired):
        """`You want your application between 60 % and 80 %`: replicas x value / mark; 5 % of tolerance."""
        spec = between(60, 80, tolerance="0.05", **FREE)
        assert decided(spec, items(value * 1000), FRESH).desired == desired

    @pytest.mark.parametrize(
        ("value", "desired"), [(1000, 10), (1050, 10), (1051, 11), (1201, 13), (800, 10), (760, 10), (759, 9), (100, 1)]
    )
    def test_average_shares_a_value_among_the_replicas(self, value, desired):
        """Requests of a load balancer, 80 to 100 a replica: value / mark; 5 % of tolerance."""
        spec = between(80, 100, tolerance="0.05", algorithm="average", **FREE)
        assert decided(spec, items(value * 1000), FRESH).desired == desired

    @pytest.mark.parametrize("mark", ["high", "low"])
    @pytest.mark.parametrize(
        ("value", "desired"), [(8000, 8), (8001, 9), (8999, 9), (9989, 10), (9990, 10), (10_010, 10), (10_011, 11)]
    )
    def test_one_mark_alone_rounds_up_both_ways(self, mark, value, desired):
        """As a plain target does: 8.999 of 10 goes to nine, 10.011 to eleven; 0.1 % of tolerance."""
        spec = wpa(band("queue", **{mark: 10}), tolerance="1m", **FREE)
        assert decided(spec, items(value), FRESH).desired == desired

    def test_two_equal_marks_round_down_below(self):
        """A single mark would round up."""
        spec = between(10, 10, tolerance="1m", **FREE)
        assert decided(spec, items(8999), FRESH).desired == 8

    def test_series_are_summed(self):
        """Two series of 50 count as 100."""
        assert decided(between(60, 80, **FREE), items((50_000, 50_000)), FRESH).desired == 13


class TestDifferences:
    """Where hypot chose to differ from the released controller, or to keep to it."""

    @pytest.mark.parametrize(("value", "marks", "count"), [(250, (5, 10), 25), (30, (10, 40), 3)])
    def test_exact_integers(self, value, marks, count):
        """Of 7 ready pods, value 250 and high 10 give 25, not 26; value 30 and low 10 give 3, not 2."""
        spec = between(*marks, algorithm="average", **FREE)
        assert proposal(spec, items(value * 1000, 7)) == count
        assert decided(spec, items(value * 1000, 7), FRESH).desired == count

    def test_a_value_per_pod_is_not_rounded_before_it_is_compared(self):
        """7 pods at just above 11 each scale up."""
        spec = between(5, 10, algorithm="average", **FREE)
        assert decided(spec, items(77_000, 7), FRESH).desired == 7
        assert decided(spec, items(77_001, 7), FRESH).desired == 8

    @pytest.mark.parametrize(("value", "desired"), [(16, 10), (17, 12), (14, 10), (13, 8)])
    def test_the_margin_is_cut_to_whole_milli(self, value, desired):
        """10 % of 15m is 1m: held at 16m, moved at 17m; 14m and 13m downwards."""
        assert decided(between("15m", "15m", **FREE), items(value), FRESH).desired == desired

    @pytest.mark.parametrize("tolerance", [None, "0", 0])
    def test_no_tolerance_is_ten_percent(self, tolerance):
        """Zero counts as unset."""
        spec = between(60, 80, tolerance=tolerance, **FREE)
        assert decided(spec, items(88_000), FRESH).desired == 10
        assert decided(spec, items(88_001), FRESH).desired == 12

    @staticmethod
    def read(**spec):
        """A manifest that the constructor would reject."""
        metric = {"type": "External", "external": {"metricName": "queue", "metricSelector": {}, "highWatermark": 5}}
        target = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"}
        whole = {"scaleTargetRef": target, "maxReplicas": 100, "metrics": [metric], **spec}
        return WPA.from_dict({"metadata": {"name": "web"}, "spec": whole})

    @pytest.mark.parametrize(
        "spec",
        [
            {"metrics": []},
            {"minReplicas": 5, "maxReplicas": 4},
            {"scaleDownLimitFactor": 100},
            {"algorithm": "median"},
            {"metrics": [{"type": "External"}]},
            {"metrics": "none"},
            {"maxReplicas": "many"},
        ],
    )
    def test_a_bad_spec_is_refused(self, spec):
        """With neither metrics nor recommender the released controller scales its target down to the minimum."""
        decision = decided(self.read(**spec), items(1, 10), FRESH)
        assert (decision.desired, decision.decided, decision.error_kind) == (10, False, "spec")
        assert reason_of(decision, "AbleToScale") == "False/FailedSpecCheck"
        assert [e.reason for e in decision.events] == ["FailedSpecCheck"]
        assert rules_of(decision) == ["bad-spec"]

    @pytest.mark.parametrize("spec", [{"tolerance": []}, {"upscaleForbiddenWindowSeconds": {}}])
    def test_a_spec_that_cannot_be_read_is_refused_too(self, spec):
        """A wrong type in place of a number is not an exception."""
        decision = decided(self.read(**spec), items(1, 10), FRESH)
        assert reason_of(decision, "AbleToScale") == "False/FailedSpecCheck"

    def test_a_bad_spec_holds_even_outside_the_bounds(self):
        """Its bounds cannot be trusted."""
        assert decided(self.read(minReplicas=5, maxReplicas=4), items(1, 10), FRESH).desired == 10

    def test_a_high_mark_of_zero_is_a_condition(self):
        """The spec check refuses it, and it is reported if it gets past the check."""
        zero = {"metricName": "queue", "metricSelector": {}, "highWatermark": 0, "lowWatermark": 0}
        spec = self.read(metrics=[{"type": "External", "external": zero}])
        assert reason_of(decided(spec, items(1, 10), FRESH), "AbleToScale") == "False/FailedSpecCheck"
        spec = with_defaults(spec)
        observed = items(1, 10)
        decision, _ = made(spec, conclude(spec, observed, FRESH, recommend(spec, observed)), FRESH)
        assert reason_of(decision, "ScalingActive") == "False/FailedGetExternalMetric"
        assert "high watermark is zero" in decision.error

    @pytest.mark.parametrize("value", [0, -1, -5000])
    def test_a_low_mark_of_zero_is_never_divided_by(self, value):
        """A value of zero or less scales down as far as allowed, or holds; it is not an exception."""
        spec = between(0, 10, tolerate_zero=True)
        assert decided(spec, items(value), FRESH).desired in {8, 10}

    def test_all_pods_ignored_is_a_condition(self):
        """The released controller divides by zero and swallows the panic."""
        spec = wpa(resource_band("cpu", high=1, low="500m"), algorithm="average")
        decision = decided(spec, busy(900, 900, pods=fleet(2, ready="False")), FRESH)
        assert (decision.desired, decision.decided) == (2, False)
        assert reason_of(decision, "ScalingActive") == "False/FailedGetResourceMetric"
        assert decision.events[-1].reason == "FailedComputeMetricsReplicas"

    @pytest.mark.parametrize("algorithm", ["absolute", "average"])
    def test_an_untolerated_zero_holds_at_the_current_size(self, algorithm):
        """Not at the nine that are ready."""
        pods = (*fleet(9), pod("web-9", ready="False"))
        decision = decided(between(60, 80, algorithm=algorithm), items(0, 10, pods=pods), FRESH)
        assert (decision.desired, rules_of(decision)[0]) == (10, "zero-not-tolerated")
        for kind in ("AboveHighWatermark", "BelowLowWatermark"):
            assert reason_of(decision, kind).startswith("False/")

    def test_a_tolerated_zero_scales_down(self):
        """As fast as the limit allows."""
        assert decided(between(60, 80, tolerate_zero=True), items(0, 10), FRESH).desired == 8

    @pytest.mark.parametrize("values", [(-50_000,), (40_000, -39_000), (40_000, -40_000), (90_000, -20_000)])
    @pytest.mark.parametrize("fields", [{}, {"algorithm": "average"}, {"converge": "highwatermark"}])
    def test_nothing_scales_down_on_a_negative_value(self, values, fields):
        """It is reported, and does not start the delay below the mark."""
        decision = decided(between(60, 80, tolerate_zero=True, **fields), items(values), FRESH)
        assert (decision.desired, rules_of(decision)[0]) == (10, "negative-value")
        assert reason_of(decision, "BelowLowWatermark").startswith("False/")
        active = condition_of(decision.conditions, "ScalingActive")
        assert active.message.endswith("it has a value below zero, which is not a valid measurement")

    def test_a_scale_up_counts_despite_a_negative_value(self):
        """The load is at least that high; another metric is used as usual."""
        assert decided(between(60, 80), items((100_000, -1)), FRESH).desired == 13
        both = wpa(band("queue", high=80, low=60), resource_band("cpu", high=1, low="500m"))
        observed = items(-50_000, 10, pod_metrics=cpu_samples(*[5000] * 10))
        assert decided(both, observed, FRESH).desired == 15

    def test_a_first_pass_that_changes_nothing_is_no_scaling(self):
        """It sets neither the time nor the counter."""
        decision, after = decide(between(60, 80), items(70_000), FRESH, Settings())
        after = after.acted(decision, NOW)
        assert (decision.moves, after.last_scale, after.scalings, after.desired) == (False, None, 0, 10)
        assert "lastScaleTime" not in decision.status
        assert decision.status["scalingEventsCount"] == 0
        assert [e.reason for e in decision.events] == ["NotScaling"]

    @pytest.mark.parametrize(("current", "desired"), [(12, 10), (1, 3)])
    @pytest.mark.parametrize("values", [Failure("down"), (70_000,)])
    def test_bounds_hold_even_while_metrics_fail(self, current, desired, values):
        """They apply at once, whatever the windows and factors say."""
        spec = between(
            60,
            80,
            min_replicas=3,
            max_replicas=10,
            scale_up=WatermarkRules(percent=0),
            scale_down=WatermarkRules(percent=0),
        )
        observed = seen(current, external_metrics={metric_key("queue", SELECTOR): values})
        decision = decided(spec, observed, moved(1))
        assert (decision.desired, decision.rescales) == (desired, True)
        assert decision.events[-1].reason == "Scaling"

    def test_metrics_that_fail_hold(self):
        """Within the bounds nothing moves on missing data."""
        old = moved(1000, desired=8)
        decision = decided(between(60, 80), seen(10), old)
        assert (decision.desired, decision.decided, decision.status["desiredReplicas"]) == (10, False, 8)
        assert reason_of(decision, "ScalingActive") == "False/FailedGetExternalMetric"
        assert [e.reason for e in decision.events] == ["FailedGetExternalMetric", "FailedComputeMetricsReplicas"]

    def test_dry_run(self):
        """Windows and counters advance, but nothing is written."""
        spec = between(60, 80, dry_run=True)
        decision, after = decide(spec, items(100_000), State(scalings=3), Settings())
        assert (decision.desired, decision.moves, decision.rescales, decision.action) == (13, True, False, "none")
        assert reason_of(decision, "DryRun").startswith("True/")
        assert [e.reason for e in decision.events] == []
        assert decision.status["lastScaleTime"] == show_time(NOW)
        assert rules_of(decision)[-1] == "dry-run"
        after = after.acted(decision, NOW)
        assert (after.last_scale, after.scalings) == (NOW, 4)
        again = decided(spec, items(100_000, now=NOW + 15), after)
        assert (again.desired, reason_of(again, "AbleToScale")) == (10, "False/BackoffBoth")

    def test_a_scale_without_pods_holds(self):
        """The released controller would scale to one."""
        decision = decided(between(60, 80), items(100_000, 10, status=0), FRESH)
        assert (decision.desired, decision.decided) == (10, False)


class TestLimits:
    """Factors, then bounds."""

    @pytest.mark.parametrize(
        ("replicas", "value", "up", "down", "desired"),
        [
            (10, 130, 29, 20, 12),
            (10, 70, 50, 29, 8),
            (3, 90, 150, 20, 7),
            (10, 200, 100, 20, 20),
            (10, 130, 1, 20, 11),
            (10, 130, 0, 20, 10),
            (10, 70, 50, 0, 10),
            (10, 130, "500m", 20, 11),  # half a percent is not off
            (10, 70, 50, "500m", 9),
            (10, 130, None, None, 13),  # 50 and 20 are the defaults
            (10, 200, None, None, 15),
            (10, 10, None, None, 8),
        ],
    )
    def test_factors(self, replicas, value, up, down, desired):
        """The target is ten per replica: the value is ten times the proposal."""
        spec = between(
            10, 10, algorithm="average", scale_up=WatermarkRules(percent=up), scale_down=WatermarkRules(percent=down)
        )
        assert decided(spec, items(value * 1000, replicas), FRESH).desired == desired

    def test_modulo_and_factor(self):
        """18 replicas, 20 %, modulo 5: 21 is raised to 25 and capped to 21 again."""
        spec = between(10, 10, algorithm="average", modulo=5, scale_up=WatermarkRules(percent=20))
        decision = decided(spec, items(210_000, 18), FRESH)
        assert (decision.readings[0].proposal, decision.desired) == (25, 21)

    @pytest.mark.parametrize(
        ("value", "modulo", "count"), [(130, 5, 15), (150, 5, 15), (70, 5, 10), (40, 5, 5), (70, 4, 8), (130, 1, 13)]
    )
    def test_groups(self, value, modulo, count):
        """Raised to whole groups, on the way down as well, but never past the current size."""
        spec = between(10, 10, algorithm="average", modulo=modulo, **FREE)
        assert decided(spec, items(value * 1000), FRESH).desired == count

    @pytest.mark.parametrize(
        ("ready", "value", "desired"),
        [
            (4, 100, 10),  # ceil(4 x 100 / 80) is 5: fewer than now, so it stays
            (8, 110, 11),
            (9, 55, 10),  # 10 % of tolerance
            (9, 50, 7),
        ],
    )
    def test_ready_pods_are_the_base_and_never_turn_the_direction(self, ready, value, desired):
        """Ten replicas between 60 and 80; the condition is set in any case."""
        pods = (*fleet(ready), *(pod(f"new-{i}", ready="False") for i in range(10 - ready)))
        decision = decided(between(60, 80, **FREE), items(value * 1000, 10, pods=pods), FRESH)
        assert decision.desired == desired
        assert reason_of(decision, "AboveHighWatermark").startswith(str(value > 88))

    @pytest.mark.parametrize(("ready", "desired"), [(10, 8), (8, 8), (7, 10)])
    def test_nothing_is_removed_while_fewer_are_ready_than_would_remain(self, ready, desired):
        """The value asks for far fewer; at most 20 % are removed."""
        pods = (*fleet(ready), *(pod(f"new-{i}", ready="False") for i in range(10 - ready)))
        assert decided(between(60, 80), items(5000, 10, pods=pods), FRESH).desired == desired

    @pytest.mark.parametrize(
        ("value", "desired", "reason"),
        [
            (150, 12, "True/TooManyReplicas"),
            (20, 9, "True/TooFewReplicas"),
            (110, 11, "False/DesiredWithinRange"),
        ],
    )
    def test_bounds(self, value, desired, reason):
        """From nine to twelve."""
        spec = between(10, 10, algorithm="average", min_replicas=9, max_replicas=12, tolerance="1m", **FREE)
        decision = decided(spec, items(value * 1000), FRESH)
        assert (decision.desired, reason_of(decision, "ScalingLimited")) == (desired, reason)

    def test_the_stage_can_be_called_alone(self):
        """A decision is composed of such stages."""
        limited = restrain(with_defaults(between(60, 80)), 20, 10, 10)
        assert limited.replicas == 15


class TestWindows:
    """Forbidden windows after any move."""

    SPEC = between(
        10,
        10,
        algorithm="average",
        scale_up=WatermarkRules(forbidden_window=60),
        scale_down=WatermarkRules(forbidden_window=300),
    )

    @pytest.mark.parametrize(
        ("seconds", "value", "desired", "reason"),
        [
            (30, 130, 10, "False/BackoffBoth"),
            (59, 130, 10, "False/BackoffBoth"),
            (60, 130, 13, "False/BackoffDownscale"),  # the window is over; the move itself is checked below
            (60, 70, 10, "False/BackoffDownscale"),
            (299, 70, 10, "False/BackoffDownscale"),
            (300, 70, 8, "True/ReadyForScale"),
            (30, 100, 10, "False/BackoffBoth"),  # reported even if no change is needed
            (400, 100, 10, "True/ReadyForScale"),
        ],
    )
    def test_up_60_s_down_300_s(self, seconds, value, desired, reason):
        """The windows start at any move, whatever its direction."""
        decision = decided(self.SPEC, items(value * 1000), moved(seconds))
        assert decision.desired == desired
        unwritten = Decision.of(decision, MoveReport(decision.unwritten))
        assert reason_of(unwritten, "AbleToScale") == reason
        if decision.moves:
            assert reason_of(decision, "AbleToScale") == "True/SuccessfulScale"

    def test_the_upscale_window_alone(self):
        """If it is the longer window."""
        spec = between(
            10,
            10,
            algorithm="average",
            scale_up=WatermarkRules(forbidden_window=300),
            scale_down=WatermarkRules(forbidden_window=60),
        )
        up, down = (decided(spec, items(value), moved(100)) for value in (130_000, 70_000))
        assert (up.desired, reason_of(up, "AbleToScale")) == (10, "False/BackoffUpscale")
        assert down.desired == 8

    @pytest.mark.parametrize("value", [130, 70])
    def test_a_move_restarts_both(self, value):
        """A scale-up blocks scaling down, and the other way round."""
        decision, after = decide(self.SPEC, items(value * 1000), moved(400), Settings())
        after = after.acted(decision, NOW)
        for other in (200, 20):
            held = decided(self.SPEC, items(other * 1000, now=NOW + 30), after)
            assert (held.desired, reason_of(held, "AbleToScale")) == (10, "False/BackoffBoth")

    def test_it_says_for_how_long(self):
        """The last step says so."""
        step = decided(self.SPEC, items(70_000), moved(100)).steps[-1]
        assert (step.rule, step.before, step.after) == ("forbidden-window", 8, 10)
        assert step.numbers == {"until": show_time(NOW + 200)}
        assert "for another 3 min 20 s" in step.sentence

    def test_before_the_first_move_nothing_waits(self):
        """Delays do not apply either."""
        spec = between(10, 10, algorithm="average", scale_up=WatermarkRules(delay=600))
        assert decided(spec, items(130_000), FRESH).desired == 13

    def test_the_time_of_a_condition_stays_while_its_status_does(self):
        """Two passes within the windows: AbleToScale was False and is False, so its time does not move."""
        _, after = decide(self.SPEC, items(100_000), moved(10), Settings())
        later = decided(self.SPEC, items(100_000, now=NOW + 15), after)
        able = condition_of(later.conditions, "AbleToScale")
        assert (able.status, able.reason, able.since) == ("False", "BackoffBoth", NOW)

    @pytest.mark.parametrize(
        ("last", "desired", "opens"),
        [(None, 13, True), (NOW - 60, 13, True), (NOW - 59, 13, False), (NOW - 60, 8, False)],
    )
    def test_the_stage_can_be_called_alone(self, last, desired, opens):
        """A decision is composed of such stages."""
        passage = gate(with_defaults(self.SPEC), 10, desired, last, (), NOW, stable=False)
        assert passage.opens is opens


class TestDelays:
    """How long the value must have been outside the band."""

    SPEC = between(10, 10, algorithm="average", scale_up=WatermarkRules(delay=60), scale_down=WatermarkRules(delay=120))

    @staticmethod
    def past(kind, seconds, status="True"):
        return moved(5000, conditions=(Condition(kind, status, "x", "", NOW - seconds),))

    @pytest.mark.parametrize(
        ("value", "kind", "seconds", "desired"),
        [
            (130, "AboveHighWatermark", 59, 10),
            (130, "AboveHighWatermark", 60, 13),  # equal is enough
            (130, "AboveHighWatermark", 59.9, 10),
            (70, "BelowLowWatermark", 119, 10),
            (70, "BelowLowWatermark", 120, 8),
            (130, "BelowLowWatermark", 500, 10),  # the wrong mark
        ],
    )
    def test_a_minute_up_two_down(self, value, kind, seconds, desired):
        """Counted from when the value left the band."""
        assert decided(self.SPEC, items(value * 1000), self.past(kind, seconds)).desired == desired

    def test_a_delay_ends_in_a_scale_up(self):
        """Decision by decision, each with the state of the last."""
        state, sizes = moved(5000), []
        for i in range(6):
            now = NOW + 15 * i
            decision, state = decide(self.SPEC, items(130_000, now=now), state, Settings())
            sizes.append(decision.desired)
        assert sizes == [10, 10, 10, 10, 13, 13]

    def test_one_dip_starts_it_again(self):
        """The time of the condition counts."""
        state, sizes = moved(5000), []
        for i, value in enumerate([130, 130, 130, 100, 130, 130, 130, 130, 130]):
            now = NOW + 15 * i
            decision, state = decide(self.SPEC, items(value * 1000, now=now), state, Settings())
            sizes.append(decision.desired)
        assert sizes == [10, 10, 10, 10, 10, 10, 10, 10, 13]

    def test_it_says_until_when(self):
        """The delay has its own rule."""
        step = decided(self.SPEC, items(130_000), self.past("AboveHighWatermark", 20)).steps[-1]
        assert (step.rule, step.numbers) == ("delay", {"until": show_time(NOW + 40)})

    def test_a_missing_condition_blocks(self):
        """The gate alone: there is no condition, or the value is inside the band."""
        spec = with_defaults(self.SPEC)
        for conditions in ((), (Condition("AboveHighWatermark", "False", "", "", LONG_AGO),)):
            passage = gate(spec, 10, 13, NOW - 5000, conditions, NOW, stable=False)
            assert (passage.opens, passage.rule, passage.until) == (False, "delay", None)

    def test_windows_must_be_over_too(self):
        """They are checked first."""
        state = self.past("AboveHighWatermark", 500)._replace(last_scale=NOW - 10)
        assert decided(self.SPEC, items(130_000), state).steps[-1].rule == "forbidden-window"


class TestConvergence:
    """Steps inside the band."""

    @pytest.mark.parametrize(
        ("towards", "value", "modulo", "desired"),
        [
            ("highwatermark", 70, 1, 9),
            ("highwatermark", 72, 1, 9),
            ("highwatermark", 73, 1, 10),  # ten are needed to stay below 80
            ("highwatermark", 62, 5, 10),  # five would be too few
            ("lowwatermark", 70, 1, 11),
            ("lowwatermark", 65, 1, 10),  # eleven would be below 60 each
            ("lowwatermark", 66, 1, 11),
            ("lowwatermark", 75, 5, 10),
            (None, 70, 1, 10),
        ],
    )
    def test_a_step_towards_a_mark(self, towards, value, modulo, desired):
        """Ten replicas between 60 and 80, absolute: the value is what each of ten has."""
        spec = between(60, 80, converge=towards, modulo=modulo, **FREE)
        decision = decided(spec, items(value * 1000), FRESH)
        assert decision.desired == desired
        if decision.moves:
            assert reason_of(decision, "ConvergeToWatermark") == "True/Converging"
            assert decision.reason.endswith("converging")

    def test_a_step_is_not_rounded_to_a_group(self):
        """7 with groups of 5 goes to 2."""
        spec = between(1, 80, converge="highwatermark", modulo=5, algorithm="average", **FREE)
        assert decided(spec, items(100_000, 7), FRESH).desired == 2

    def test_the_bounds_hold(self):
        """The result is cut to the bounds first."""
        spec = between(60, 80, converge="highwatermark", min_replicas=10)
        assert decided(spec, items(70_000), FRESH).desired == 10
        spec = between(60, 80, converge="lowwatermark", max_replicas=10)
        assert decided(spec, items(70_000), FRESH).desired == 10

    def test_windows_hold_it_and_delays_do_not(self):
        """The value is inside the band."""
        spec = between(60, 80, converge="highwatermark", scale_down=WatermarkRules(forbidden_window=300, delay=600))
        assert decided(spec, items(70_000), moved(299)).desired == 10
        assert decided(spec, items(70_000), moved(300)).desired == 9

    @pytest.mark.parametrize(
        ("towards", "other", "desired"),
        [
            ("highwatermark", 70, 9),
            ("highwatermark", 79, 10),  # a metric that refuses blocks scaling down
            ("lowwatermark", 61, 11),  # but not scaling up
            ("highwatermark", 100, 13),  # outside its band, only the others count
            ("highwatermark", 30, 10),
        ],
    )
    def test_with_two_metrics(self, towards, other, desired):
        """All must be inside their bands, and the largest candidate wins; the first is at 70."""
        spec = wpa(band("queue", low=60, high=80), band("rate", low=60, high=80), converge=towards, **FREE)
        values = {metric_key("queue", {}): (70_000,), metric_key("rate", {}): (other * 1000,)}
        assert decided(spec, seen(10, external_metrics=values), FRESH).desired == desired

    def test_the_condition_goes_when_it_is_over(self):
        """Once set, it is kept up to date."""
        spec = between(60, 80, converge="highwatermark")
        first, after = decide(spec, items(70_000), FRESH, Settings())
        over = decided(spec, items(79_000), after)
        assert reason_of(first, "ConvergeToWatermark") == "True/Converging"
        assert reason_of(over, "ConvergeToWatermark") == "False/NotConverging"


class TestPods:
    """Which pods count."""

    @pytest.mark.parametrize(
        ("state", "ready"),
        [
            ({}, 3),
            ({"ready": "False"}, 2),
            ({"ready": None}, 2),
            ({"started": None}, 2),
            ({"deleted": True}, 2),
            ({"phase": "Failed"}, 2),
            ({"phase": "Succeeded"}, 2),
            ({"owners": (Owner("ReplicaSet", "api-5d9c"),)}, 2),
            ({"owners": ()}, 2),
            ({"owners": (Owner("StatefulSet", "web"),)}, 3),
            ({"owners": (Owner("ReplicaSet", "web"),)}, 2),  # the last part is cut off, whatever it is
            ({"phase": "Pending"}, 2),
            ({"phase": "Pending", "ready_since": NOW - 29}, 3),  # its condition changed a moment ago, whatever it says
            ({"phase": "Pending", "ready": "False", "ready_since": NOW - 29}, 3),
            ({"phase": "Pending", "ready_since": NOW - 30}, 2),
        ],
    )
    def test_for_external_metrics(self, state, ready):
        """Two ready pods and an odd pod, with 30 s of readiness delay."""
        observed = items(70_000, 3, pods=(*fleet(2), pod("odd", **state)))
        decision = decided(between(60, 80, readiness_delay=30), observed, FRESH)
        assert decision.readings[0].ready == ready

    def test_the_owner_check_can_be_skipped(self):
        """By annotation, with exactly the word true."""
        observed = items(70_000, 3, pods=(*fleet(2), pod("odd", owners=())))
        for word, ready in (("true", 3), ("True", 2)):
            spec = between(60, 80, annotations={SKIP_OWNER_CHECK: word})
            assert decided(spec, observed, FRESH).readings[0].ready == ready

    def test_never_more_than_the_scale_knows_of(self):
        """Two workloads may share a selector."""
        observed = items(70_000, 3, pods=fleet(9))
        assert decided(between(60, 80), observed, FRESH).readings[0].ready == 3

    @pytest.mark.parametrize(("least", "is_decided"), [(0, True), (60, True), (66, True), (67, False), (100, False)])
    def test_enough_must_be_available(self, least, is_decided):
        """Two of three is 66 %; a pod of another workload is not counted."""
        pods = (*fleet(2), pod("new", ready="False"), pod("other", owners=()))
        decision = decided(between(60, 80, min_available=least), items(100_000, 3, pods=pods), FRESH)
        assert decision.decided is is_decided
        if not is_decided:
            assert f"only 66 % of the pods are available, at least {least} % must be" in decision.error

    @pytest.mark.parametrize("pods", [(), fleet(2, ready="False"), fleet(2, owners=())])
    def test_none_ready_is_a_failure(self, pods):
        """Nothing moves."""
        decision = decided(between(60, 80), items(100_000, 2, pods=pods), FRESH)
        assert (decision.desired, decision.decided) == (2, False)

    CPU = wpa(resource_band("cpu", low="500m", high=1), algorithm="average", readiness_delay=30, **FREE)
    RACK = (Owner("StatefulSet", "rack-2"),)

    @pytest.mark.parametrize(
        ("pods", "causes"),
        [
            (fleet(3, owners=()), "3 without an owner reference"),
            (fleet(1, owners=()), "1 without an owner reference"),
            (fleet(2, owners=RACK), "2 of other owners such as StatefulSet/rack-2"),
            (
                (*fleet(2, owners=RACK), pod("odd", owners=(Owner("Job", "b"),)), pod("bare", owners=())),
                "1 without an owner reference and 3 of other owners such as Job/b",
            ),
            ((pod("new", ready="False"), pod("bare", owners=())), "1 without an owner reference"),
        ],
    )
    def test_pods_of_no_or_another_owner_are_named_as_the_cause(self, pods, causes):
        """They are ready, so the message says why they do not count and how to count them."""
        found = "1 pod" if len(pods) == 1 else f"{len(pods)} pods"
        cause = f"belongs to web: the selector matches {found}, among them {causes}; to count pods"
        decision = decided(between(60, 80), items(100_000, 2, pods=pods), FRESH)
        assert (decision.desired, reason_of(decision, "ScalingActive")) == (2, "False/FailedGetExternalMetric")
        assert f"no ready pod {cause}" in decision.error
        samples = {each.name: sample(2000) for each in pods if each.owners != fleet(1)[0].owners}
        least = replaced(self.CPU, min_available=50)
        for spec in (self.CPU, least):
            assert f"no pod with metrics {cause}" in decided(spec, seen(2, pods=pods, pod_metrics=samples), FRESH).error
        assert f'{SKIP_OWNER_CHECK} to "true"' in decision.error

    @pytest.mark.parametrize("annotations", [{}, {SKIP_OWNER_CHECK: "true"}])
    def test_unready_pods_of_the_target_are_only_unready(self, annotations):
        """Owners are no cause if all pods belong to the target, or if owners do not matter."""
        owners = () if annotations else fleet(1)[0].owners
        pods = fleet(2, ready="False", owners=owners)
        decision = decided(between(60, 80, annotations=annotations), items(100_000, 2, pods=pods), FRESH)
        assert "of 2 pods, none is ready" in decision.error

    @pytest.mark.parametrize(
        ("state", "ready", "desired"),
        [
            ({}, 3, 6),
            ({"phase": "Succeeded"}, 3, 6),
            ({"deleted": True}, 3, 6),
            ({"phase": "Failed"}, 2, 4),
            ({"phase": "Pending"}, 2, 4),
            ({"ready": None}, 2, 4),
            ({"started": None}, 2, 4),
            ({"ready": "False"}, 2, 4),
            ({"ready_since": LONG_AGO + 29}, 2, 4),  # ready before the delay was over
            ({"ready_since": LONG_AGO + 30}, 3, 6),
            ({"owners": ()}, 2, 6),  # not counted, yet its sample stays in the sum
        ],
    )
    def test_for_cpu(self, state, ready, desired):
        """Three pods use two cpus each, and the high mark is one; the odd pod may not count."""
        usual = {"ready_since": LONG_AGO + 60}
        pods = (*fleet(2, **usual), pod("web-2", **{**usual, **state}))
        decision = decided(self.CPU, seen(3, pods=pods, pod_metrics=cpu_samples(2000, 2000, 2000)), FRESH)
        assert (decision.readings[0].ready, decision.desired) == (ready, desired)

    @pytest.mark.parametrize(("annotations", "ready", "value"), [({}, 1, "4"), ({SKIP_OWNER_CHECK: "true"}, 2, "2")])
    def test_the_usage_of_a_pod_without_an_owner_counts(self, annotations, ready, value):
        """The released controller selects samples by labels, and counts pods by their owner; both are kept."""
        spec = wpa(resource_band("cpu", low="500m", high=1), algorithm="average", annotations=annotations, **FREE)
        pods = (*fleet(1), pod("web-1", owners=()))
        decision = decided(spec, seen(2, pods=pods, pod_metrics=cpu_samples(2000, 2000)), FRESH)
        assert (decision.readings[0].ready, decision.readings[0].step.numbers["value"]) == (ready, value)
        assert decision.desired == 4

    def test_readiness_matters_for_cpu_alone(self):
        """Memory of a pod that is not ready counts."""
        spec = wpa(resource_band("memory", low="50Mi", high="100Mi"), algorithm="average", **FREE)
        pods = (*fleet(2), pod("web-2", ready="False"))
        mi = 1024 * 1024 * 1000
        observed = seen(3, pods=pods, pod_metrics={p.name: sample(memory=200 * mi) for p in pods})
        assert decided(spec, observed, FRESH).desired == 6

    def test_a_missing_sample_is_neither_ready_nor_ignored(self):
        """It stays in the denominator of the gate."""
        spec = wpa(resource_band("cpu", low="500m", high=1), algorithm="average", min_available=67)
        decision = decided(spec, busy(2000, 2000, None), FRESH)
        assert "only 66 % of the pods are available" in decision.error

    def test_absolute_compares_the_sum(self):
        """3 pods at 90 against 40: 3 x 270 / 40 is 21, which is not the mean."""
        spec = wpa(resource_band("cpu", low=10, high=40), **FREE)
        assert decided(spec, busy(90_000, 90_000, 90_000), FRESH).desired == 21

    @pytest.mark.parametrize("metrics", [{}, Failure("down"), {"web-0": sample(memory=1), "web-1": sample(memory=1)}])
    def test_nothing_measured_is_a_failure(self, metrics):
        """Nothing moves."""
        decision = decided(self.CPU, seen(2, pod_metrics=metrics), FRESH)
        assert (decision.desired, decision.decided) == (2, False)
        assert reason_of(decision, "ScalingActive") == "False/FailedGetResourceMetric"

    def test_the_selector_chooses_among_the_samples(self):
        """By the labels of the sample, or of its pod."""
        spec = wpa(resource_band("cpu", low=10, high=40, labels={"app": "api"}), algorithm="average")
        assert "no metrics returned from resource metrics API" in decided(spec, busy(1, 1), FRESH).error


class TestManyMetrics:
    """The largest proposal wins, any failure fails all, flags are joined."""

    BOTH = wpa(band("queue", low=60, high=80), band("rate", low=60, high=80), **FREE)

    @staticmethod
    def world(first, second):
        def value(amount):
            return amount if isinstance(amount, Failure) else (amount * 1000,)

        keys = [metric_key(name, {}) for name in ("queue", "rate")]
        return seen(10, external_metrics={keys[0]: value(first), keys[1]: value(second)})

    @pytest.mark.parametrize(
        ("first", "second", "desired", "above", "below"),
        [
            (100, 120, 15, "True", "False"),
            (120, 100, 15, "True", "False"),
            (100, 30, 13, "True", "True"),
            (70, 30, 10, "False", "True"),
            (30, 40, 6, "False", "True"),
            (70, 70, 10, "False", "False"),
        ],
    )
    def test_the_largest(self, first, second, desired, above, below):
        """From ten replicas between 60 and 80 each."""
        decision = decided(self.BOTH, self.world(first, second), FRESH)
        assert decision.desired == desired
        assert condition_of(decision.conditions, "AboveHighWatermark").status == above
        assert condition_of(decision.conditions, "BelowLowWatermark").status == below

    @pytest.mark.parametrize("other", [100, 30, 70])
    def test_one_failure_fails_all(self, other):
        """Not even a scale-up happens."""
        decision = decided(self.BOTH, self.world(other, Failure("down")), FRESH)
        assert (decision.desired, decision.decided) == (10, False)
        assert reason_of(decision, "ScalingActive") == "False/FailedGetExternalMetric"

    def test_the_stages_can_be_called_alone(self):
        """A decision is composed of such stages."""
        readings = recommend(with_defaults(self.BOTH), self.world(100, 120))
        assert [r.proposal for r in readings] == [13, 15]
        assert resolve(readings, 10) == readings[1]
        with pytest.raises(TypeError):
            recommend(self.BOTH, Seen(NOW, Failure("gone")))


class TestLifecycle:
    """A monitor that must be OK."""

    @pytest.mark.parametrize(
        ("word", "state", "condition", "events", "desired"),
        [
            ("true", None, "True/FailedGetDatadogMonitor", ["FailedGetDatadogMonitor"], 10),
            ("true", "", "True/DatadogMonitorNotOK", [], 10),
            ("true", "Alert", "True/DatadogMonitorNotOK", [], 10),
            ("true", "ok", "True/DatadogMonitorNotOK", [], 10),
            ("true", "OK", "False/DatadogMonitorOK", ["Scaling"], 13),
            ("1", "Alert", "True/DatadogMonitorNotOK", [], 10),
            ("T", "OK", "False/DatadogMonitorOK", ["Scaling"], 13),
            ("false", "Alert", "", ["Scaling"], 13),
            ("F", None, "", ["Scaling"], 13),
            ("", "Alert", "", ["Scaling"], 13),
            ("yes", "Alert", "False/FailedGetDatadogMonitor", ["Scaling"], 13),  # unreadable: the feature is ignored
            ("tRUE", None, "False/FailedGetDatadogMonitor", ["Scaling"], 13),
        ],
    )
    def test_every_state(self, word, state, condition, events, desired):
        """Of the monitor and of the annotation."""
        spec = between(60, 80, annotations={LIFECYCLE_CONTROL: word})
        decision = decided(spec, items(100_000, monitor=state), FRESH)
        assert (decision.desired, reason_of(decision, "ScalingBlocked")) == (desired, condition)
        assert [e.reason for e in decision.events] == events
        assert decision.decided is (desired == 13)

    def test_while_blocked_not_even_bounds_hold(self):
        """Nothing is computed at all."""
        spec = between(60, 80, max_replicas=5, annotations={LIFECYCLE_CONTROL: "true"})
        decision = decided(spec, items(100_000, 10), FRESH)
        assert (decision.desired, decision.rescales) == (10, False)
        assert rules_of(decision) == ["lifecycle-blocked"]


class TestReporting:
    """What is reported to the cluster and to people."""

    def test_no_scale(self):
        """Nothing is decided."""
        decision = decided(between(60, 80), Seen(NOW, Failure("not found")), FRESH)
        assert (decision.current, decision.desired, decision.decided) == (None, None, False)
        assert reason_of(decision, "AbleToScale") == "False/FailedProcessWPA"
        assert reason_of(decision, "ScalingActive") == "False/FailedProcessWPA"

    def test_zero_replicas_are_left_alone(self):
        """Even with a minimum."""
        decision = decided(between(60, 80, min_replicas=3), items(100_000, 0), FRESH)
        assert (decision.desired, decision.decided) == (0, True)
        assert reason_of(decision, "ScalingActive") == "False/ScalingDisabled"

    def test_the_status_shows_the_existing_pods(self):
        """Not the desired replicas."""
        status = decided(between(60, 80), items(70_000, 10, status=12), moved(1000, scalings=4)).status
        assert (status["currentReplicas"], status["desiredReplicas"], status["scalingEventsCount"]) == (12, 10, 4)
        assert status["lastScaleTime"] == show_time(NOW - 1000)
        assert status["currentMetrics"] == [
            {"type": "External", "external": {"metricName": "queue", "metricSelector": {}, "currentValue": "70"}}
        ]

    def test_conditions_are_listed_newest_first(self):
        """By their last transition."""
        old = (
            Condition("AbleToScale", "True", "x", "", LONG_AGO),
            Condition("AboveHighWatermark", "False", "x", "", LONG_AGO + 5),
        )
        decision = decided(between(60, 80), items(100_000), FRESH._replace(conditions=old))
        since = [c.since for c in decision.conditions]
        assert since == sorted(since, reverse=True)
        assert decision.conditions[-1].type == "AbleToScale"
        assert condition_of(decision.conditions, "AboveHighWatermark").since == NOW

    def test_a_refused_write(self):
        """Nothing moved, the status keeps its old size and time, and the refusal is reported."""
        spec, old = between(60, 80), moved(1000, desired=9, scalings=4)
        decision, after = decide(spec, items(100_000), old, Settings())
        failed = refused(spec, decision, after, "conflict")
        assert reason_of(failed, "AbleToScale") == "False/FailedScale"
        assert [e.reason for e in failed.events] == ["FailedScale"]
        assert (failed.moves, failed.rescales, failed.error) == (False, False, "conflict")
        assert (failed.status["desiredReplicas"], failed.status["lastScaleTime"]) == (9, show_time(NOW - 1000))
        assert after.acted(failed, NOW) == after

    def test_a_refused_write_is_no_scaling_event(self):
        """The counter in the status shows what was done."""
        spec, old = between(60, 80), moved(1000, scalings=4)
        decision, after = decide(spec, items(100_000), old, Settings())
        assert decision.status["scalingEventsCount"] == 5
        assert refused(spec, decision, after, "conflict").status["scalingEventsCount"] == 4

    def test_after_a_refused_write_conditions_are_listed_newest_first_too(self):
        """AbleToScale has just become False, so it is the newest."""
        kinds = ("DryRun", "ScalingActive", "BelowLowWatermark", "ScalingLimited", "AbleToScale")
        message = {"DryRun": "False", "BelowLowWatermark": "False", "ScalingLimited": "False"}
        old = tuple(Condition(k, message.get(k, "True"), "x", "", LONG_AGO - i) for i, k in enumerate(kinds))
        spec = between(60, 80)
        decision, after = decide(spec, items(100_000), moved(1000, conditions=old), Settings())
        since = [c.since for c in refused(spec, decision, after, "conflict").conditions]
        assert since == sorted(since, reverse=True)

    def test_the_thresholds_of_the_sample(self):
        """Above 404m, first at 405m; below 149m, first at 148m."""
        found = decided(TestProposal.SAMPLE, items(200, 6), FRESH).thresholds
        assert [(t.metric, t.direction, t.beyond, t.first, t.replicas) for t in found] == [
            ("queue", "up", "404m", "405m", 6),
            ("queue", "down", "149m", "148m", 6),
        ]

    WORLDS = (
        (between(60, 80), items(100_000)),
        (between(60, 80, algorithm="average"), items(10)),
        (between(60, 80), items(0)),
        (between(60, 80), seen(10)),
        (between(60, 80, max_replicas=5), items(70_000)),
        (between(60, 80, dry_run=True), items(100_000)),
        (between(60, 80), items(1, 0)),
        (between(60, 80), Seen(NOW, Failure("gone"))),
        (between(60, 80, annotations={LIFECYCLE_CONTROL: "true"}), items(1)),
        (WPA.from_dict({"metadata": {"name": "web"}, "spec": {}}), items(1)),
        (
            wpa(recommender=Recommender("https://a.example/", "cpu", {}, 2, 1)),
            seen(10, reply=Reply(12, 11, 13, "x", 1.5)),
        ),
        (wpa(resource_band("memory", high="1Gi", low="1Mi")), seen(2)),
    )

    @pytest.mark.parametrize(("spec", "observed"), WORLDS)
    @pytest.mark.parametrize("state", [FRESH, moved(10)])
    def test_every_step_is_a_sentence(self, spec, observed, state):
        """The whole decision is valid JSON."""
        decision = decided(spec, observed, state)
        assert decision.steps
        assert all(step.sentence.endswith(".") for step in decision.steps)
        written = json.loads(json.dumps(decision.to_dict(), allow_nan=False))
        assert written["dryRun"] is decision.dry_run
        assert written["desired"] == {"replicas": decision.desired}

    def test_a_metric_without_its_block_fails(self):
        """If the validation was skipped."""
        spec = between(60, 80)
        odd = replaced(spec, metrics=(BandMetric("Resource", external=ExternalBand("queue", {}, 2, 1)),))
        (reading,) = recommend(with_defaults(odd), items(1))
        assert (reading.proposal, reading.failed_reason) == (None, "FailedGetResourceMetric")
