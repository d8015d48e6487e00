"""Whether a pod needs another size, and whether its autoscaler's own requirements allow it."""

from dataclasses import replace

import pytest

from builders import NOW
from hypot.kinds.vpa.knobs import Knobs
from hypot.policy.model.seen import Bounds, Container, Ended
from hypot.policy.vertical.need import Priority, admits, needs_update, observed_containers, priority, quick_oom
from unit.policy.vertical.vpa_world import ADVICE, app, first, fleet, pod, updates

HALF_A_DAY = 12 * 3600.0


def rank(diff, *, outside=False):
    return Priority(outside, scale_up=True, resource_diff=diff)


class TestNeed:
    """Whether a pod needs another size."""

    @pytest.mark.parametrize(
        ("ranked", "killed", "age", "expected"),
        [
            (rank(0.5, outside=True), None, 0.0, (True, "outside-bounds")),
            (rank(0.5, outside=True), None, None, (True, "outside-bounds")),
            (rank(0.5), None, None, (False, "start-unknown")),
            (rank(0.5), None, HALF_A_DAY - 1, (False, "too-young")),
            (rank(0.5), None, HALF_A_DAY, (True, "lasting-difference")),
            (rank(0.1), None, HALF_A_DAY, (True, "lasting-difference")),
            (rank(0.09), None, HALF_A_DAY, (False, "small-change")),
            (rank(0.0), None, HALF_A_DAY, (False, "within-bounds")),
            (rank(0.01), app(), 0.0, (True, "quick-oom")),
            (rank(0.0, outside=True), app(), HALF_A_DAY, (False, "oom-without-change")),
        ],
    )
    def test_each_reason(self, ranked, killed, age, expected):
        """At once if out of bounds or OOM-killed, else half a day after the start and if the difference matters."""
        need = needs_update(ranked, killed, age, Knobs())
        assert (need.wanted, need.rule) == expected

    def test_the_first_request_out_of_bounds_is_named(self):
        """The reason has its numbers."""
        above = Bounds("app", {"cpu": 20}, {"cpu": 10}, {"cpu": 50})
        assert priority(pod(), [ADVICE], ["app"]).why == "cpu of app is 100m, below its lower bound of 150m"
        assert priority(pod(), [above], ["app"]).why == "cpu of app is 100m, above its upper bound of 50m"

    def test_a_missing_request_is_out_of_bounds(self):
        """It needs more, as any request is more than none."""
        one = pod(container=Container("app"))
        assert priority(one, [ADVICE], ["app"])[:2] == (True, True)
        assert priority(one, [ADVICE], ["app"]).why == "container app has no request for cpu"

    def test_requests_are_summed_before_they_are_compared(self):
        """More for one container and less for another is no difference of the pod."""
        one = replace(pod(), containers=(app(100), Container("side", {"cpu": 100})))
        rank = priority(one, [Bounds("app", {"cpu": 150}), Bounds("side", {"cpu": 50})], ["app", "side"])
        assert rank == Priority(outside_range=False, scale_up=True, resource_diff=0.0)

    @pytest.mark.parametrize(
        ("written", "expected"),
        [
            (None, {"app", "side"}),
            ("", set()),
            ("app", {"app"}),
            ("app, gone", {"app"}),
            ("app,side", {"app", "side"}),
            ("app, S;'", {"app", "side"}),
        ],
    )
    def test_containers_that_came_later_do_not_count(self, written, expected):
        """An unreadable list counts as no list."""
        annotations = {} if written is None else {"vpaObservedContainers": written}
        one = replace(pod(annotations=annotations), containers=(app(), Container("side")))
        assert observed_containers(one) == expected

    @pytest.mark.parametrize(
        ("ended", "expected"),
        [
            (Ended("OOMKilled", NOW - 700, NOW - 200), "quick-oom"),
            (Ended("OOMKilled", NOW - 900, NOW - 200), "too-young"),
            (Ended("Error", NOW - 700, NOW - 200), "too-young"),
            (Ended("OOMKilled", None, NOW), "too-young"),
        ],
    )
    def test_killed_for_memory_soon_after_the_start(self, ended, expected):
        """A kill without a start time does not count as soon."""
        assert first([pod(container=app(190, ended=ended))], update=updates(minReplicas=1)).rule == expected

    def test_the_object_has_its_own_threshold(self):
        """Its own value comes before the cluster's."""
        one = pod(container=app(190, ended=Ended("OOMKilled", NOW - 700, NOW - 200)))
        assert first([one], update=updates(evictAfterOOMSeconds=400, minReplicas=1)).rule == "too-young"
        assert first([one], update=updates(evictAfterOOMSeconds=600, minReplicas=1)).rule == "quick-oom"

    def test_of_two_early_kills_the_last_counts(self):
        """The first container may have run long since, while the other is killed again and again."""
        names = ("app", "proxy")
        for ago in ((9000, 10), (10, 9000)):
            ends = [Ended("OOMKilled", NOW - each - 60, NOW - each) for each in ago]
            both = tuple(Container(name, ended=end) for name, end in zip(names, ends, strict=True))
            assert quick_oom(pod(containers=both), names, None, 600.0) is both[ago.index(10)]


class TestRequirements:
    """What the object requires before a pod may be disrupted."""

    @pytest.mark.parametrize(
        "written",
        [
            [{"resources": ["cpu"], "changeRequirement": "Sideways"}],
            [{"resources": None, "changeRequirement": "TargetHigherThanRequests"}],
            [{"resources": ["gpu", 7], "changeRequirement": "TargetHigherThanRequests"}],
            ["nonsense"],
        ],
    )
    def test_unreadable_requirements_are_never_met(self, written):
        """No pod is disrupted on a guess."""
        requirements = updates(evictionRequirements=written).eviction_requirements
        assert not admits(pod(), [ADVICE], requirements)

    def test_unmet_requirements_are_reported(self):
        """The pod needs more, and the object allows only less."""
        down = [{"resources": ["cpu"], "changeRequirement": "TargetLowerThanRequests"}]
        action = first(fleet(3), update=updates(evictionRequirements=down))
        assert (action.action, action.rule) == ("none", "eviction-requirements")
        assert action.sentence == (
            "Cpu of app is 100m, below its lower bound of 150m, but no container changes as the eviction requirements "
            "demand: leave it."
        )
