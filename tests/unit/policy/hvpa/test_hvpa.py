"""One decision of an Hvpa: from totals to replicas and sizes, rule by rule."""

import pytest

from builders import reason_of
from hypot.policy.model.plan import Plan
from hypot.policy.model.size import Size
from hypot.policy.model.state import State
from unit.policy.hvpa.hvpa_cases import policy, sized, vpa
from unit.policy.hvpa.hvpa_world import (
    GI,
    asking,
    blocked,
    box,
    decided,
    hvpa,
    one,
    pods,
    point,
    sentences,
    sizes,
    world,
)

G = 10**9
M = 10**6
SAME = sizes(500, G)
APP = box(cpu=500, memory=G)
ONE_SIZE = {
    "maxReplicas": 5,
    "maxResources": sizes("500m", "1G"),
    "effectiveIntervalExtrapolation": "horizontalOnly",
}


def steps_down(counts, *, size, **spec):
    """The result of each total in turn, starting from five replicas."""
    replicas, rows = 5, []
    for total in counts:
        asked = asking(app={"cpu": total})
        decision = decided(hvpa(**spec), world(replicas, box(cpu=size)), sources=[asked])
        replicas, size = decision.desired, decision.desired_sizes[0].requests["cpu"]
        rows.append((replicas, size, bool(blocked(decision))))
    return rows


class TestUp:
    """Totals that rise."""

    def test_replicas_rise_and_pods_keep_their_size(self):
        """600m leads to two pods; 300m would be less than each has, so the next round lowers them."""
        first = decided(hvpa(), world(1, APP, app=sizes(600, G)))
        assert one(first) == (2, SAME)
        then = decided(hvpa(), world(2, APP), sources=[asking(app=sizes(600, G))])
        assert one(then) == (2, sizes(300, G // 2))

    def test_what_is_more_than_a_pod_has_is_given(self):
        """3 cores lead to three pods of 1000m."""
        assert one(decided(hvpa(), world(1, APP, app=sizes(3000, G)))) == (3, sizes(1000, G))

    @pytest.mark.parametrize(
        ("total", "controls", "expected"),
        [(1600, ["cpu", "memory"], True), (1300, ["cpu", "memory"], False), (1600, ["memory"], False)],
    )
    def test_pods_that_are_behind_catch_up_where_more_is_needed(self, total, controls, expected):
        """An earlier change ended half way: all pods need the largest size; 1300m exist already."""
        mixed = (
            *pods(1, box(cpu=800, memory=G)),
            *(each for each in pods(2, box(cpu=500, memory=G)) if each.name == "web-1"),
        )
        spec = hvpa(vpa=vpa(policy(controlledResources=controls)))
        decision = decided(spec, world(2, APP, pods=mixed), sources=[asking(app=sizes(total, 2 * G))])
        assert (decision.catches_up, decision.resizes, decision.grows) == (expected, expected, expected)
        assert decision.sizes[0].requests["cpu"] == 800

    def test_pods_that_a_plan_changes_need_not_catch_up(self):
        """Also if the plan sizes only cpu: unchanged memory is not more than the plan gives."""
        mixed = (
            *pods(1, box(cpu=800, memory=G)),
            *(each for each in pods(2, box(cpu=500, memory=G)) if each.name == "web-1"),
        )
        spec = hvpa(vpa=vpa(policy(controlledResources=["cpu"])))
        size, had = (Size("app", {"cpu": amount}) for amount in (800, 500))
        plan = Plan(2, (size,), 0.0, False, "InPlaceOrRecreate", 2, (had,))  # noqa: FBT003
        asked = [asking(app=sizes(1600, 2 * G))]
        assert decided(spec, world(2, APP, pods=mixed), sources=asked).catches_up
        assert not decided(spec, world(2, APP, pods=mixed), State(plan=plan), sources=asked).catches_up

    def test_pods_alone_grow_within_an_interval(self):
        """To exactly what is needed."""
        assert one(decided(hvpa(), world(2, APP, app=sizes(777, G)))) == (2, sizes(777, G))

    def test_within_an_interval_the_other_resource_may_fall(self):
        """Requests are kept only while replicas rise."""
        assert one(decided(hvpa(), world(2, APP, app=sizes(777, 900 * M)))) == (2, sizes(777, 900 * M))

    def test_with_mixed_directions_it_goes_up(self):
        """While memory raises the count from 4 to 5, cpu is kept, though its total falls."""
        seen = world(4, box(cpu=613, memory=11 * G), app=sizes(134, 25 * G))
        decision = decided(hvpa(), seen)
        assert one(decision) == (5, sizes(613, 20 * G))
        assert sentences(decision, "size")[-1].endswith("; cpu is kept: nothing is lowered while replicas are added.")

    def test_the_conflict_of_resources_in_the_proposal(self):
        """4 cores lead to three replicas, 26 Gi to four: memory decides."""
        seen = world(2, APP)
        decision = decided(hvpa(), seen, sources=[asking("vpa", app=sizes(4000, 26 * GI))])
        assert decision.desired == 4
        assert decision.desired_sizes[0].requests == sizes(1000, 6_979_321_856)
        assert decision.reason == "memory of app needs 26Gi in total (vpa)"
        assert sentences(decision, "interval") == [
            "Memory of app needs 26Gi in total (vpa): its interval is for 4 replicas."
        ]

    def test_a_request_that_was_not_there(self):
        """It is added."""
        assert one(decided(hvpa(), world(1, box(cpu=100), app=sizes(100, G)))) == (1, sizes(100, G))


class TestDown:
    """Totals that fall."""

    def test_the_border_of_two_intervals(self):
        """The proposal's chart: sizes fall, then nothing changes until fewer pods would not be larger."""
        totals = [17_000, 16_500, 16_000, 13_500, 13_000, 12_500]
        assert steps_down(totals, size=8000) == [
            (5, 3400, False),
            (5, 3300, False),
            (5, 3300, True),
            (5, 3300, True),
            (4, 3250, False),
            (4, 3125, False),
        ]

    def test_a_big_drop(self):
        """To the fewest replicas that hold the total."""
        assert steps_down([1200, 100], size=8000) == [(2, 600, False), (1, 100, False)]

    def test_the_overlap_keeps_a_count(self):
        """The overlap is 30 % of 16 cores: the count stays down to 11.2."""
        overlap = {"scalingIntervalsOverlap": {"cpu": {"percentage": 30}}}
        assert steps_down([16_000, 11_200, 8000], size=8000, **overlap) == [
            (5, 3200, False),
            (5, 2240, False),
            (4, 2000, False),
        ]

    def test_postponed_only_while_every_resource_would_grow(self):
        """Fewer replicas with more cpu and less memory each are fine; more of both is postponed."""
        decision = decided(hvpa(), world(2, APP, app=sizes(249, 200 * M)))
        assert one(decision) == (1, sizes(498, 400 * M))
        held = decided(hvpa(), world(2, box(cpu=300, memory=G), app=sizes(250, 900 * M)))
        assert one(held) == (2, sizes(300, G))
        assert blocked(held) == ["ParadoxicalScaling"]
        message = "app stays as it is: with 1 replica each pod would need higher requests although the total falls."
        assert sentences(held, "paradoxical-scaling") == [message]

    def test_a_resource_that_stays_keeps_the_count(self):
        """Memory still needs two replicas."""
        seen = world(2, box(cpu=900, memory=3 * G), app=sizes(100, 2 * G))
        assert one(decided(hvpa(), seen)) == (2, sizes(100, 2 * G))

    def test_postponed_means_nothing_at_all(self):
        """If sizes fell meanwhile, the count would never fall."""
        decision = decided(hvpa(), world(5, box(cpu=3300), app=sizes(cpu=3200)))
        assert not decision.moves
        assert reason_of(decision, "ScalingBlocked") == "True/ParadoxicalScaling"

    def test_more_replicas_though_the_total_falls(self):
        """Two pods of 8 cores were set manually: 15 cores lead to four smaller pods."""
        assert one(decided(hvpa(), world(2, box(cpu=8000), app=sizes(cpu=7500)))) == (4, sizes(cpu=3750))


class TestSequence:
    """The result does not depend on the way there."""

    ROWS = sized((1, "1", "100M"), (2, "600m", "200M"), (3, "500m", "300M"))["spec"]["scalingIntervals"]

    def climbed(self, *totals):
        """From one pod, through these totals, each until nothing moves."""
        spec = hvpa(scalingIntervals=self.ROWS)
        replicas, requests = 1, sizes(1000, 50 * M)
        for total in totals:
            for _ in range(3):
                decision = decided(spec, world(replicas, box("app", *requests.values())), sources=[asking(app=total)])
                replicas, requests = one(decision)
        return replicas, requests

    @pytest.mark.parametrize("way", [[], [sizes(1000, 150 * M)], [sizes(1300, 50 * M)], [sizes(1100, 120 * M)]])
    def test_at_the_end_of_a_climb(self, way):
        """1300m leads to three replicas, also if memory led to two before."""
        assert self.climbed(*way, sizes(1300, 150 * M)) == (3, sizes(434, 50 * M))

    def test_within_one_round(self):
        """The cpu that is kept is too much for two pods: the highest count that any resource asks for applies."""
        spec = hvpa(scalingIntervals=self.ROWS)
        seen = world(2, box(cpu=1000, memory=75 * M))
        assert one(decided(spec, seen, sources=[asking(app=sizes(1300, 150 * M))]))[0] == 3


class TestContainers:
    """Several containers, new ones and removed ones."""

    PAIR = (box("app", 500, G), box("side", 100, 100 * M))

    def test_the_most_that_any_asks_for(self):
        """The maximum counts, not the sum; the reason names container, resource and source."""
        decision = decided(hvpa(), world(1, *self.PAIR, app=SAME, side=sizes(2100, 100 * M)))
        assert point(decision) == (3, {"app": SAME, "side": sizes(700, 100 * M)})
        assert decision.reason == "cpu of side needs 2100m in total (vpa)"
        numbers = next(step.numbers for step in decision.steps if step.rule == "interval")
        assert numbers == {"container": "side", "resource": "cpu", "source": "vpa"}
        assert "replicas 1 → 3" in decision.events[0].message

    def test_a_container_that_is_switched_off(self):
        """It is never sized and does not vote."""
        spec = hvpa(vpa=vpa(policy("side", mode="Off")))
        decision = decided(spec, world(2, *self.PAIR, app=sizes(100, 100 * M), side=sizes(9000, G)))
        assert point(decision) == (1, {"app": sizes(200, 200 * M), "side": sizes(100, 100 * M)})

    def test_a_container_that_appeared(self):
        """Nothing is recommended for it yet: it keeps its size and the count."""
        decision = decided(hvpa(), world(2, *self.PAIR, app=sizes(100, 100 * M)))
        assert point(decision) == (2, {"app": sizes(100, 100 * M), "side": sizes(100, 100 * M)})

    def test_a_container_that_vanished(self):
        """Its recommendation is ignored."""
        seen = world(1, *self.PAIR, app=sizes(400, G), side=sizes(100, 100 * M), pods=pods(1, self.PAIR[0]))
        assert point(decided(hvpa(), seen)) == (1, {"app": sizes(400, G)})

    def test_during_a_rollout(self):
        """The pods that have the container count for all, and the largest size is the start."""
        mixed = (*pods(1, box(cpu=1000)), *pods(1, box(cpu=500), box("side", 100)))
        seen = world(2, box(), box("side"), app=sizes(cpu=750), side=sizes(cpu=100), pods=mixed)
        decision = decided(hvpa(), seen)
        assert [(size.container, size.requests) for size in decision.sizes] == [
            ("app", sizes(cpu=1000)),
            ("side", sizes(cpu=100)),
        ]
        assert sentences(decision, "total") == [
            "app needs in total: cpu 1500m (vpa; has 1500m).",
            "side needs in total: cpu 200m (vpa; has 200m).",
        ]

    def test_no_policy_at_all(self):
        """There are no bounds."""
        assert one(decided(hvpa(vpa=None), world(1, box(cpu=1), app=sizes(cpu=499)))) == (1, sizes(cpu=499))

    def test_pods_that_are_gone_do_not_count(self):
        """Nor do pods that are terminating."""
        seen = world(1, APP, app=SAME, pods=(*pods(1, APP), *pods(1, box(cpu=9000), deleted=True)))
        assert not decided(hvpa(), seen).moves

    def test_what_the_kubelet_says_counts(self):
        """After a resize in place the pod's own spec may lag."""
        resized = box(cpu=500, memory=G, actual_requests={"cpu": 800, "memory": G * 1000})
        assert not decided(hvpa(), world(2, resized, app=sizes(800, G))).moves

    def test_the_template_where_no_pod_is_there(self):
        """For example before the first pod is scheduled."""
        seen = world(1, APP, app=sizes(300, G), pods=(), template=(APP,))
        assert one(decided(hvpa(), seen)) == (1, sizes(300, G))


class TestOneAxis:
    """Only horizontally, and only vertically."""

    @pytest.mark.parametrize(("each", "replicas"), [(100, 1), (200, 2), (400, 3), (500, 4), (600, 5), (900, 5)])
    def test_pods_of_one_size(self, each, replicas):
        """As many as the total needs, rounded up, from four; sizes stay, and overlap and paradox do not apply."""
        spec = hvpa(scalingIntervals=[ONE_SIZE], scalingIntervalsOverlap={"cpu": {"value": "400m"}})
        decision = decided(spec, world(4, APP, app=sizes(each - 40, 10 * M)))
        assert one(decision) == (replicas, SAME)
        limited = "True/BeyondLastInterval" if each == 900 else "False/WithinIntervals"
        assert reason_of(decision, "ScalingLimited") == limited

    def test_the_size_is_set_on_the_way_in(self):
        """Pods get the interval's size, whatever they had before."""
        spec = hvpa(scalingIntervals=[ONE_SIZE])
        assert one(decided(spec, world(2, box(cpu=700, memory=2 * G), app=sizes(900, G)))) == (4, SAME)

    def test_a_resource_without_a_size_keeps_its_own(self):
        """Memory stays at its current size."""
        row = {**ONE_SIZE, "maxResources": {"cpu": "500m"}}
        spec = hvpa(scalingIntervals=[row])
        assert one(decided(spec, world(2, box(cpu=500, memory=700 * M), app=sizes(700, G)))) == (3, sizes(500, 700 * M))

    def test_the_minimum_change_holds(self):
        """It is the only hysteresis that is left."""
        least = {"minChange": {"cpu": {"value": "300m"}, "memory": {"value": "1G"}}}
        spec = hvpa(scalingIntervals=[ONE_SIZE], scaleUp=least)
        assert blocked(decided(spec, world(2, APP, app=sizes(600, G)))) == ["MinChange"]

    def test_only_vertically(self):
        """With a single count every total is a size, up to the largest."""
        template = {"deploy": False, "template": {"spec": {"minReplicas": 2}}}
        spec = hvpa(hpa=template, scalingIntervals=[{"maxReplicas": 2, "maxResources": sizes("4", "16Gi")}])
        for cpu in (1, 3999, 4000):
            assert one(decided(spec, world(2, APP, app=sizes(cpu, G)))) == (2, sizes(cpu, G))
        capped = decided(spec, world(2, APP, app=sizes(6000, 20 * 2**30)))
        assert one(capped) == (2, sizes(4000, 16 * 2**30))
        assert reason_of(capped, "ScalingLimited") == "True/BeyondLastInterval"


LEAST = {"minChange": {"cpu": {"value": "300m"}, "memory": {"value": "1G"}}}


class TestAlong:
    """A container that waits goes along with a change of the others, as long as that change remains."""

    @pytest.mark.parametrize(
        ("asked", "size", "total", "expected"),
        [
            (2, 900, 2050, (2, sizes(900, G))),
            (1, 900, 2050, (2, sizes(900, G))),
            (1, 700, 1500, (2, sizes(700, G))),
            (3, 900, 2050, (3, sizes(900, G))),
            (3, 700, 1300, (3, sizes(700, G))),
            (1, 900, 2150, (3, sizes(900, G))),
            (1, 700, 1900, (2, sizes(950, G))),
        ],
        ids=["same", "fewer", "fewer, of its size", "more", "more although it falls", "enough", "enough, of its size"],
    )
    def test_a_vote_that_it_undoes_changes_nothing(self, asked, size, total, expected):
        """Else a metric that asks for fewer replicas would lift the minimum change, and add some."""
        spec = hvpa(scaleUp=LEAST, scaleDown=LEAST)
        sources = [asking(app={"cpu": total}), asking("rate", replicas=asked)]
        assert one(decided(spec, world(2, box(cpu=size, memory=G)), sources=sources)) == expected

    def test_the_step_says_why(self):
        spec = hvpa(scaleUp=LEAST, scaleDown=LEAST)
        sources = [asking(app={"cpu": 1500}), asking("rate", replicas=1)]
        decision = decided(spec, world(2, box(cpu=700, memory=G)), sources=sources)
        assert "The count stays: app needs these replicas, and waits." in sentences(decision, "kept-replicas")

    def test_it_still_goes_along_with_another_that_changes(self):
        """The pods change their size anyway."""
        spec = hvpa(scaleUp=LEAST, scaleDown=LEAST)
        pair = (box(cpu=700, memory=G), box("side", cpu=100, memory=G))
        sources = [asking(app={"cpu": 1500}, side={"cpu": 600}), asking("rate", replicas=1)]
        decision = decided(spec, world(2, *pair), sources=sources)
        assert [size.requests["cpu"] for size in decision.desired_sizes] == [750, 300]
