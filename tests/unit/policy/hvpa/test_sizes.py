"""The sizes of an Hvpa's pods: rounding, base load, bounds and limits."""

import pytest

from builders import reason_of
from unit.policy.hvpa.hvpa_cases import policy, vpa
from unit.policy.hvpa.hvpa_world import (
    GI,
    asking,
    box,
    decided,
    hvpa,
    limits_of,
    one,
    point,
    scale,
    sentences,
    sizes,
    world,
)

G = 10**9
M = 10**6
SAME = sizes(500, G)
APP = box(cpu=500, memory=G)
GAP = {"limitsRequestsGapScaleParams": {"cpu": {"value": "1", "percentage": 80}, "memory": {"percentage": 50}}}
BASE = {"baseResourcesPerReplica": {"cpu": {"value": "100m"}, "memory": {"percentage": 10}}}


class TestRounding:
    """Sizes are whole amounts."""

    @pytest.mark.parametrize(("size", "total", "expected"), [(500, 4000, 1334), (3000, 4000, 1334)])
    def test_cpu_up_to_a_millicore(self, size, total, expected):
        """In both directions, so that the pods together have at least the total."""
        decision = decided(hvpa(), world(3, box(cpu=size)), sources=[asking(app={"cpu": total})])
        assert one(decision) == (3, sizes(cpu=expected))

    def test_memory_up_to_a_kilobyte(self):
        """Memory is written in kilobytes."""
        decision = decided(hvpa(), world(3, box(memory=G)), sources=[asking(app={"memory": 10 * G})])
        assert one(decision) == (3, sizes(memory=3_333_334_000))
        assert decision.to_dict()["desired"]["resources"]["app"]["requests"] == {"memory": "3333334k"}

    def test_nothing_moves_for_the_sake_of_rounding(self):
        """The recommendation equals the current size in binary units."""
        decision = decided(hvpa(), world(1, box(cpu=500, memory=3 * GI // 2), app=sizes(500, 3 * GI // 2)))
        assert not decision.moves

    def test_a_resource_that_stays_is_left_as_it_is(self):
        """Only cpu changes."""
        decision = decided(hvpa(), world(1, box(cpu=500, memory=3 * GI // 2), app=sizes(100, 3 * GI // 2)))
        assert one(decision) == (1, sizes(100, 3 * GI // 2))

    def test_nothing_grows_by_rounding_while_it_falls(self):
        """A recommendation of one byte less does not become 264 bytes more."""
        decision = decided(hvpa(), world(1, box(cpu=500, memory=3 * GI // 2), app=sizes(500, 3 * GI // 2 - 1)))
        assert one(decision)[1]["memory"] <= 3 * GI // 2

    @pytest.mark.parametrize("count", [4, 1])
    def test_nothing_grows_by_rounding_while_replicas_change(self, count):
        """Two pods that need what each had before, in binary units, get exactly that size."""
        asked = asking(app=sizes(1000, 2 * GI))
        assert one(decided(hvpa(), world(count, box(cpu=500, memory=GI)), sources=[asked])) == (2, sizes(500, GI))


class TestBase:
    """The base load of each replica."""

    def test_going_up(self):
        """Numbers of the redesign: just over 500m and 4 G lead to two replicas."""
        spec = hvpa(**BASE)
        decision = decided(spec, world(1, box(cpu=150, memory=1800 * M)), sources=[asking(app=sizes(501, 4000 * M))])
        assert one(decision) == (2, sizes(301, 2110 * M))
        assert sentences(decision, "size")[-1].endswith("cpu and memory include the base load of each replica.")

    def test_going_down(self):
        """450m for three pods becomes 175m for each of two: one base load less."""
        spec = hvpa(**BASE, scalingIntervals=[{"maxReplicas": n, "maxResources": sizes("250m", "2G")} for n in (2, 3)])
        seen = world(3, box(cpu=200, memory=2200 * M), app=sizes(150, 800 * M))
        assert one(decided(spec, seen)) == (2, sizes(175, 990 * M))

    def test_not_where_only_sizes_change(self):
        """The number of replicas, and so of base loads, is the same."""
        assert one(decided(hvpa(**BASE), world(2, APP, app=sizes(700, G)))) == (2, sizes(700, G))

    def test_bounds_come_last(self):
        """The size after the base load is raised to the allowed minimum."""
        spec = hvpa(**BASE, vpa=vpa(policy(low=sizes("320m", "100M"))))
        seen = world(1, box(cpu=150, memory=1800 * M))
        decision = decided(spec, seen, sources=[asking(app=sizes(501, 4000 * M))])
        assert one(decision) == (2, sizes(320, 2110 * M))


class TestBounds:
    """Bounds of a pod's size and of the replicas."""

    def test_cut_at_what_is_allowed(self):
        """The cut is reported."""
        spec = hvpa(vpa=vpa(policy(high=sizes("9", "40Gi"))))
        decision = decided(spec, world(5, box(cpu=6000, memory=G), app=sizes(10_000, G)))
        assert one(decision) == (5, sizes(8000, G))
        assert reason_of(decision, "ScalingLimited") == "True/BeyondLastInterval"
        reported = next(c.message for c in decision.conditions if c.type == "ScalingLimited")
        assert reported == ("cpu of app exceeds the last interval's maximum of 40; cpu of app is capped at its maximum")

    def test_beyond_the_last_interval(self):
        """The last count, with pods of its largest size."""
        decision = decided(hvpa(), world(5, box(cpu=7000), app=sizes(cpu=10_000)))
        assert one(decision) == (5, sizes(cpu=8000))
        assert reason_of(decision, "ScalingLimited") == "True/BeyondLastInterval"

    def test_a_base_load_does_not_exceed_the_maximum(self):
        """Two pods may have one core each; with the base load of another replica they would need 1020m."""
        rows = [
            {"maxReplicas": 1, "maxResources": sizes("500m", "2Gi")},
            {"maxReplicas": 2, "maxResources": sizes("1", "4Gi")},
        ]
        spec = hvpa(scalingIntervals=rows, baseResourcesPerReplica={"cpu": {"value": "50m"}})
        decision = decided(spec, world(1, box(cpu=500, memory=G), app=sizes(1990, G)))
        assert one(decision) == (2, sizes(1000, G))
        assert "cpu is capped at its maximum" in sentences(decision, "size")[-1]

    def test_what_has_its_maximum_is_not_changed_again(self):
        """More cpu would be needed, and memory differs by less than the minimum change: nothing moves."""
        spec = hvpa(scaleDown={"minChange": {"memory": {"percentage": 1}}})
        decision = decided(spec, world(5, box(cpu=8000, memory=G), app=sizes(10_000, G - M)))
        assert not decision.moves
        assert reason_of(decision, "ScalingLimited") == "True/BeyondLastInterval"

    def test_below_the_first_interval(self):
        """The first count, and no less than the allowed minimum."""
        spec = hvpa(vpa=vpa(policy(low=sizes("125m", "500M"))))
        decision = decided(spec, world(2, APP, app=sizes(10, M)))
        assert one(decision) == (1, sizes(125, 500 * M))
        assert reason_of(decision, "ScalingLimited") == "False/WithinIntervals"

    def test_the_policy_for_all_others(self):
        """It applies to every container without its own policy."""
        spec = hvpa(vpa=vpa(policy("app", high=sizes("40", "160Gi")), policy(high=sizes("100m", "160Gi"))))
        seen = world(1, box("app", 50), box("side", 50), app=sizes(cpu=300), side=sizes(cpu=300))
        assert point(decided(spec, seen)) == (1, {"app": sizes(cpu=300), "side": sizes(cpu=100)})

    @pytest.mark.parametrize(("count", "expected"), [(7, 5), (6, 5)])
    def test_too_many_replicas(self, count, expected):
        """Replicas set manually go back to the last count, with pods that provide the same total."""
        decision = decided(hvpa(), world(count, box(cpu=1000), app=sizes(cpu=5500)))
        assert decision.desired == expected
        assert decision.desired_sizes[0].requests["cpu"] * expected >= count * 5500

    def test_fewer_pods_have_the_total(self):
        """Seven replicas are not allowed; with five, the pods still provide the total."""
        decision = decided(hvpa(), world(7, box(cpu=1000), app=sizes(cpu=900)))
        assert decision.desired in {5, 7}
        assert decision.desired * decision.desired_sizes[0].requests["cpu"] >= 7 * 900

    def test_a_blocked_scale_up_does_not_lower_the_total(self):
        """More is needed but scaling up is off: going back from seven pods to five must not lower the total."""
        decision = decided(hvpa(scaleUp=scale("Off")), world(7, box(cpu=1000), app=sizes(cpu=1100)))
        assert decision.desired * decision.desired_sizes[0].requests["cpu"] >= 7 * 1000

    def test_too_few_replicas(self):
        """A count set manually goes to the first count."""
        spec = hvpa(
            hpa={"deploy": False, "template": {"spec": {"minReplicas": 2}}},
            scalingIntervals=[{"maxReplicas": 2, "maxResources": sizes("1", "4Gi")}],
        )
        assert decided(spec, world(1, APP, app=SAME)).desired == 2

    @pytest.mark.parametrize("closed", [{"scaleDown": {"updatePolicy": {"updateMode": "Off"}}}, {"missing": True}])
    def test_too_many_replicas_wait_like_all_others(self, closed):
        """They stay while scaling down is off, or while an answer is missing."""
        sources = [asking(missing="nobody is there", app=sizes(cpu=900))] if closed.pop("missing", False) else []
        seen = world(7, box(cpu=1000), app=sizes(cpu=900))
        decision = decided(hvpa(**closed), seen, **({"sources": sources} if sources else {}))
        assert decision.desired == 7


class TestLimits:
    """Limits that follow the requests."""

    def sized(self, app, target=None, count=2, **spec):
        return limits_of(decided(hvpa(**spec), world(count, app, app=target or sizes(800, 900 * M))))

    def test_in_proportion(self):
        """To the requests, as before."""
        assert self.sized(box(cpu=400, memory=G, limits=sizes(1000, 3 * G))) == sizes(2000, 2700 * M)

    def test_in_the_ratio_of_the_pod_template(self):
        """That of pods was rounded with every resize: after some hundreds of them 1.2 had become 1."""
        app = box(cpu=400, memory=G, limits=sizes(400, 3 * G))
        seen = world(2, app, app=sizes(800, 900 * M), template=(box(cpu=1000, limits=sizes(1200)),))
        assert limits_of(decided(hvpa(), seen)) == sizes(960, 2700 * M)

    def test_equal_stays_equal(self):
        """Whatever gap is set: else the QoS class of the pod would change."""
        assert self.sized(box(cpu=400, memory=G, limits=sizes(400, G)), **GAP) == sizes(800, 900 * M)

    def test_the_gap_is_of_all_pods_together(self):
        """One core for two pods is 500m each: less than 80 % of 800m, more than 80 % of 500m."""
        assert self.sized(box(cpu=400, memory=G, limits=sizes(1000, 3 * G)), **GAP) == sizes(1440, 1350 * M)
        small = self.sized(box(cpu=400, memory=G, limits=sizes(1000, 3 * G)), sizes(500, 900 * M), **GAP)
        assert small == sizes(1000, 1350 * M)

    def test_none_is_made(self):
        """A container without a limit gets none."""
        assert self.sized(APP, **GAP) == {}

    def test_left_alone(self):
        """Limits are not controlled, so requests stay below them, and more cpu takes more pods."""
        bounds = vpa(policy(controlledValues="RequestsOnly"))
        decision = decided(hvpa(vpa=bounds, **GAP), world(2, box(cpu=400, limits=sizes(600)), app=sizes(cpu=800)))
        assert (one(decision), limits_of(decision)) == ((3, sizes(cpu=534)), sizes(cpu=600))
        assert reason_of(decision, "ScalingLimited") == "False/WithinIntervals"
        why = "3 replicas are needed, because each has a fixed limit of 600m (RequestsOnly)"
        assert sentences(decision, "interval") == [f"Cpu of app needs 1600m in total (vpa): {why}."]

    def test_left_alone_of_memory(self):
        """More pods need not make any of them use less memory: each gets what its limit allows."""
        bounds = vpa(policy(controlledValues="RequestsOnly"))
        app = box(cpu=400, memory=GI, limits=sizes(600, 2 * GI))
        decision = decided(hvpa(vpa=bounds), world(3, app, app=sizes(400, 3 * GI)))
        assert one(decision) == (3, sizes(400, 2 * GI))
        assert reason_of(decision, "ScalingLimited") == "True/CutAtAllowed"

    def test_a_limit_stays_with_its_request(self):
        """Replicas rise, and pods keep their size and limits."""
        app = box(cpu=500, memory=G, limits=sizes(3000, 4 * G))
        decision = decided(hvpa(**GAP), world(1, app, app=sizes(600, G)))
        assert one(decision) == (2, SAME)
        assert limits_of(decision) == sizes(3000, 4 * G)

    def test_each_limit_stays_with_its_own_request(self):
        """Memory is raised with its limit; cpu and its limit are kept."""
        app = box(cpu=500, memory=G, limits=sizes(3000, 4 * G))
        decision = decided(hvpa(**GAP), world(1, app, app=sizes(600, 4 * G)))
        assert (one(decision), limits_of(decision)) == ((2, sizes(500, 2 * G)), sizes(3000, 3 * G))

    def test_where_nothing_changes_limits_do_not(self):
        """Even if the gap would lead to other limits."""
        app = box(cpu=500, memory=G, limits=sizes(3000, 4 * G))
        assert not decided(hvpa(**GAP), world(1, app, app=SAME)).moves
