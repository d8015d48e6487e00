"""What cannot wait, and what is not applied yet: OOM kills, evictions, saturation and stale recommendations."""

from dataclasses import replace

import pytest

from builders import NOW
from hypot.policy.model.seen import ClusterNode, Ended, Failure
from hypot.policy.model.state import State
from unit.policy.hvpa.hvpa_cases import policy, vpa
from unit.policy.hvpa.hvpa_world import (
    FRESH,
    blocked,
    box,
    decided,
    hvpa,
    one,
    pods,
    run,
    scale,
    sentences,
    sizes,
    used,
    world,
)

G = 10**9
M = 10**6
APP = box(cpu=500, memory=G)
LARGE = {"minChange": {"cpu": {"value": "1"}, "memory": {"value": "1G"}}}
SLOW = {"scaleUp": scale(stabilizationDuration="1h", **LARGE)}
A_LITTLE_MORE = sizes(500, 1100 * M)
OUTSIDE = {"begin": "090000+0000", "end": "100000+0000"}


def ago(seconds):
    return State(last_scale=NOW - seconds)


def victim(name="app", memory=G, reason="OOMKilled", cpu=500):
    return box(name, cpu, memory, ended=Ended(reason, NOW - 999, NOW - 30))


def killed(**target):
    """Pods that were OOM-killed half a minute ago, and need a little more."""
    return world(2, victim(), app=target or A_LITTLE_MORE)


class TestUrgency:
    """Containers that were OOM-killed, and pods evicted because of memory pressure."""

    def test_scaling_up_skips_stabilisation_and_minimum_change(self):
        """A change that would wait for an hour and for a gigabyte is done at once."""
        decision = decided(hvpa(**SLOW), killed(), ago(60))
        assert one(decision) == (2, A_LITTLE_MORE)
        assert decision.reported["overrideScaleUpStabilization"] is True
        assert sentences(decision, "urgent")[0].startswith("Container app of pod web-0 was OOM-killed")

    @pytest.mark.parametrize(("controls", "said"), [(["cpu"], 1), (["cpu", "memory"], 0)])
    def test_an_oom_kill_says_that_memory_is_not_sized(self, controls, said):
        """More cpu alone does not end OOM kills, so the explanation says who can."""
        made = hvpa(vpa=vpa(policy(controlledResources=controls)))
        assert len(sentences(decided(made, killed()), "memory-not-sized")) == said

    @pytest.mark.parametrize("mode", ["Off", "MaintenanceWindow"])
    def test_it_overrides_neither_off_nor_the_window(self, mode):
        """The user has set these modes."""
        made = hvpa(maintenanceTimeWindow=OUTSIDE, scaleUp=scale(mode))
        assert not decided(made, killed()).moves

    def test_it_overrides_nothing_downwards(self):
        """Stabilisation still blocks a scale-down."""
        made = hvpa(scaleDown=scale(stabilizationDuration="1h"))
        assert blocked(decided(made, killed(cpu=400, memory=G), ago(60))) == ["StabilizationWindow"]

    @pytest.mark.parametrize(("since", "urgent"), [(60, True), (20, False)])
    def test_an_answered_kill_counts_no_more(self, since, urgent):
        """A kill 30 s ago does not count after a scale-up 20 s ago."""
        state = State(last_scale=NOW - since, vertical=replace(FRESH.vertical, last_up=NOW - since))
        decision = decided(hvpa(**SLOW), killed(), state)
        assert decision.moves is urgent
        assert decision.reported["overrideScaleUpStabilization"] is urgent

    @pytest.mark.parametrize(("target", "answered"), [(sizes(600, G), True), (sizes(400, G), False)])
    def test_a_scale_up_answers_and_a_scale_down_does_not(self, target, answered):
        """A scale-up counts only once it was written."""
        decision, state = run(hvpa(), world(2, APP, app=target))
        assert state.vertical.last_up is None
        assert (state.acted(decision, NOW + 5).vertical.last_up == NOW + 5) is answered

    @pytest.mark.parametrize(
        ("spec", "containers"),
        [
            ({}, (victim(reason="Error"),)),
            ({}, (APP, victim("side", 100 * M, "Completed"))),
            ({"vpa": vpa(policy("side", mode="Off"))}, (APP, victim("side", 100 * M))),
        ],
    )
    def test_what_is_no_reason(self, spec, containers):
        """A container that ended for another reason, or that is switched off."""
        seen = world(2, *containers, app=A_LITTLE_MORE)
        assert blocked(decided(hvpa(**spec, **SLOW), seen, ago(60))) == ["StabilizationWindow"]

    def test_a_pod_of_another_size_is_no_reason(self):
        """It was killed with less than pods have now."""
        seen = world(2, APP, app=A_LITTLE_MORE, pods=(*pods(1, victim(memory=G // 2)), *pods(1, APP)))
        assert blocked(decided(hvpa(**SLOW), seen, ago(60))) == ["StabilizationWindow"]

    @pytest.mark.parametrize("short", [True, False])
    def test_an_eviction(self, short):
        """It is urgent only if the node was short of memory."""
        gone = pods(1, APP, phase="Failed", reason="Evicted")
        nodes = {"n1": ClusterNode("n1", short_of_memory=short)}
        seen = world(2, APP, app=A_LITTLE_MORE, pods=(*pods(2, APP), *gone), nodes=nodes)
        assert decided(hvpa(**SLOW), seen, ago(60)).moves is short


class TestSaturation:
    """Pods that use all they can get do not starve."""

    # X is 1000m: the pod needs 3000m, its node has 500m left, and 1900m are recommended.
    ETCD = hvpa(
        hpa={"deploy": False, "template": {"spec": {"minReplicas": 1}}},
        scalingIntervals=[{"maxReplicas": 1, "maxResources": sizes("8", "32Gi")}],
        scaleUp=LARGE,
    )

    @staticmethod
    def etcd(usage=1500, *, at=NOW - 10, now=NOW, count=1, **more):
        usual = {
            "nodes": {"n1": ClusterNode("n1", sizes(4000), sizes(3500))},
            "pod_metrics": used(count, at=at, etcd=sizes(usage)),
            "etcd": sizes(1900),
        }
        return world(count, box("etcd", 1000, **more.pop("of", {})), now=now, **{**usual, **more})

    def after_two(self, spec=ETCD, **more):
        """The decision after two samples, a minute apart."""
        _, state = run(spec, self.etcd(**more))
        return decided(spec, self.etcd(**more, at=NOW + 50, now=NOW + 60), state)

    def test_at_the_first_sample_it_holds(self):
        """The minimum change blocks; the report says that one sample was saturated."""
        decision, state = run(self.ETCD, self.etcd())
        assert (decision.moves, blocked(decision)) == (False, ["MinChange"])
        usage = "cpu of etcd uses 1500m of the 1500m that all measured pods together can get"
        message = f"{usage}, in one sample; after a second such sample"
        assert decision.unknown == (f"{message}, neither stabilisation nor the minimum change delays a scale-up",)
        assert state.vertical.hot == {"etcd/cpu": NOW - 10}

    def test_at_the_second_it_scales(self):
        """To 30 % more than it can get, though 950m is less than the minimum change."""
        decision = self.after_two()
        assert one(decision, "etcd") == (1, sizes(1950))
        assert decision.reason == "cpu of etcd needs 1950m in total (saturation)"
        usage = "Cpu of etcd uses 1500m of the 1500m that all measured pods together can get"
        message = f"{usage}, in two samples: it needs at least 1950m in total"
        at_once = "neither stabilisation nor the minimum change delays it"
        assert sentences(decision, "saturated") == [f"{message}, and {at_once}."]

    def test_until_it_has_what_it_needs(self):
        """Each round goes 30 % beyond what could be used, until the need of 3000m is reached."""
        spec, state, size, now = self.ETCD, FRESH, 1000, NOW
        for _ in range(8):
            usage, now = min(3000, size + 500), now + 60
            seen = self.etcd(usage, at=now - 10, now=now, etcd=sizes(min(usage + 400, 3100)))
            seen = replace(seen, pods=pods(1, box("etcd", size)))
            decision, state = run(spec, seen, state)
            state = state.acted(decision, now)
            size = decision.desired_sizes[0].requests["cpu"]
        assert size >= 3000

    def test_the_same_sample_twice_is_one(self):
        """Deciding more often than samples arrive counts as one sample."""
        _, state = run(self.ETCD, self.etcd())
        assert not decided(self.ETCD, self.etcd(now=NOW + 5), state).moves

    def test_the_samples_must_be_consecutive(self):
        """A sample below the cap in between starts the count again."""
        _, state = run(self.ETCD, self.etcd())
        _, state = run(self.ETCD, self.etcd(1000, at=NOW + 20, now=NOW + 30), state)
        assert state.vertical.hot == {}
        assert not decided(self.ETCD, self.etcd(at=NOW + 50, now=NOW + 60), state).moves

    @pytest.mark.parametrize(("usage", "moves"), [(1425, True), (1424, False)])
    def test_from_95_percent_on(self, usage, moves):
        """A sample is saturated from 95 % of 1500m on."""
        assert self.after_two(usage=usage).moves is moves

    def test_more_may_be_recommended_than_saturation_asks_for(self):
        """1560m would be enough for now, 1900m is recommended: the minimum change blocks neither."""
        assert one(self.after_two(usage=1190, of={"limits": sizes(1200)}), "etcd") == (1, sizes(1900))

    def test_a_limit_is_the_cap(self):
        """The limit counts, whatever the node has left."""
        assert one(self.after_two(usage=1190, of={"limits": sizes(1200)}, etcd=sizes(1300)), "etcd") == (1, sizes(1560))
        assert not self.after_two(usage=1190, of={"limits": sizes(4000)}).moves

    def test_two_pods_share_what_their_node_has_left(self):
        """The node has 500m left: both pods together cannot use more than 2500m."""
        spec = hvpa(
            hpa={"deploy": False, "template": {"spec": {"minReplicas": 2}}},
            scalingIntervals=[{"maxReplicas": 2, "maxResources": sizes("8", "32Gi")}],
            scaleUp={"minChange": {"cpu": {"value": "2"}}},
        )
        assert self.after_two(spec, usage=1250, count=2, etcd=sizes(1600)).moves

    def test_without_its_node_it_is_unknown(self):
        """The report says so."""
        decision = self.after_two(nodes={})
        assert not decision.moves
        assert "without the Node in the input it is unknown" in decision.unknown[0]

    def test_without_samples_nothing_is_saturated(self):
        """Nor is anything if the samples cannot be read."""
        assert not self.after_two(pod_metrics=Failure("metrics are away")).moves
        assert not self.after_two(pod_metrics={}).moves

    def test_it_needs_no_recommendation(self):
        """Without any recommendation, the samples are enough."""
        assert one(self.after_two(etcd={}, size_advice=Failure("no VPA")), "etcd") == (1, sizes(1950))

    @pytest.mark.parametrize(
        "spec", [{"scaleUp": scale("Off")}, {"scaleUp": scale("MaintenanceWindow"), "maintenanceTimeWindow": OUTSIDE}]
    )
    def test_it_overrides_neither_off_nor_the_window(self, spec):
        """It overrides only stabilisation and the minimum change."""
        assert not self.after_two(hvpa(**spec)).moves

    def test_stabilisation_does_not_hold(self):
        """Pods that use all they can get do not wait for its end."""
        spec = hvpa(scaleUp=scale(stabilizationDuration="1h", **LARGE))
        _, state = run(spec, self.etcd(), ago(60))
        assert decided(spec, self.etcd(at=NOW + 50, now=NOW + 60), state).moves

    def test_a_container_that_is_switched_off(self):
        """It gets no higher request."""
        spec = hvpa(vpa=vpa(policy("etcd", mode="Off")), scaleUp=LARGE)
        assert not self.after_two(spec).moves


class TestStale:
    """A recommendation learnt from another number of pods is not applied a second time."""

    @staticmethod
    def recounted(before, after, then, now_size=500, spec=None):
        """The state after the count changed now, when this was recommended."""
        spec = spec or hvpa()
        _, state = run(spec, world(before, box(cpu=now_size), app=sizes(then), now=NOW - 60))
        return run(spec, world(after, box(cpu=now_size), app=sizes(then)), state)[1]

    @staticmethod
    def later(state, seconds, target, count=2, spec=None, app=None):
        seen = world(count, app or box(cpu=500 if count == 1 else 300), app=sizes(target), now=NOW + seconds)
        return decided(spec or hvpa(), seen, state)

    def test_after_its_own_step(self):
        """600m at one replica led to two; applied again at two it would be 1200m."""
        first, state = run(hvpa(), world(1, box(cpu=500), app=sizes(600)))
        assert one(first) == (2, sizes(500))
        decision, _ = run(hvpa(), world(2, box(cpu=500), app=sizes(600), now=NOW + 60), state.acted(first, NOW))
        assert one(decision) == (2, sizes(300))
        message = (
            "The recommendation for cpu of app (600m per pod) was learnt from 1 pod, and there have been 2 for 0 s"
        )
        assert sentences(decision, "stale-size") == [f"{message}: it is not applied a second time."]
        assert decision.reported["replicasAtRecommendation"] == 1

    def test_pods_that_stayed_large(self):
        """Pods were added for a burst with the size of the others: 600m, learnt from one pod, are the total of two."""
        state = self.recounted(1, 2, 600)
        assert one(self.later(state, 10, 600, app=box(cpu=500))) == (2, sizes(300))

    def test_where_pods_were_large_before(self):
        """Two pods of 8 cores became four: 7.5 cores, learnt from two, are 15 in total, not 30, though four have 32."""
        target = sizes(7500, 1100 * M)
        first, state = run(hvpa(), world(2, box(cpu=8000, memory=G), app=target))
        assert one(first) == (4, sizes(8000, G))
        seen = world(4, box(cpu=8000, memory=G), app=target, now=NOW + 60)
        assert decided(hvpa(), seen, state.acted(first, NOW)).desired == 4

    @pytest.mark.parametrize(
        ("seconds", "target", "moves"),
        [
            (179, 670, False),
            (180, 670, True),
            (180, 660, False),
            (180, 600, False),
            (3600, 590, False),
            (302_399, 600, False),
            (302_400, 600, True),
            (10, 400, False),
            (10, 150, True),
        ],
    )
    def test_more_pods_and_a_size_that_says_more(self, seconds, target, moves):
        """A higher size counts once it settled and clearly kept rising, or after 3.5 days; a lower total at once."""
        state = self.recounted(1, 2, 600)
        assert self.later(state, seconds, target).moves is moves

    @pytest.mark.parametrize(
        ("seconds", "target", "moves"),
        [
            (179, 260, False),
            (180, 260, True),
            (180, 270, False),
            (180, 300, False),
            (3600, 310, False),
            (86_400, 300, True),
            (10, 600, True),
        ],
    )
    def test_fewer_pods_and_a_size_that_says_less(self, seconds, target, moves):
        """The reverse case: 300m was enough for each of two pods."""
        state = self.recounted(2, 1, 300)
        assert self.later(state, seconds, target, count=1).moves is moves

    def test_settling_takes_as_long_as_stabilisation(self):
        """If a stabilisation for scaling up is set, it is the settling time."""
        spec = hvpa(scaleUp=scale(stabilizationDuration="10m"))
        state = self.recounted(1, 2, 600, spec=spec)
        assert not self.later(state, 599, 670, spec=spec).moves
        assert self.later(state, 600, 670, spec=spec).moves

    def test_forgetting_takes_as_long_as_the_recommender_says(self):
        """The recommender's half-life counts, which an Hvpa may change."""
        block = {"deploy": True, "template": {"metadata": {"annotations": {"hypot.dev/cpu-half-life": "30m"}}}}
        spec = hvpa(vpa=block)
        state = self.recounted(1, 2, 600, spec=spec)
        assert not self.later(state, 6299, 600, spec=spec).moves
        assert self.later(state, 6300, 600, spec=spec).moves

    def test_urgency_applies_it(self):
        """Too little now is worse than too much later."""
        state = self.recounted(1, 2, 600)
        hurt = box(cpu=500, ended=Ended("OOMKilled", NOW, NOW + 5))
        assert self.later(state, 10, 600, app=hurt).moves

    def test_urgency_takes_nothing_away(self):
        """One pod is left and was OOM-killed since: what was enough for each of two is not enough for one."""
        state = self.recounted(2, 1, 300)
        hurt = box(cpu=500, ended=Ended("OOMKilled", NOW, NOW + 5))
        assert not self.later(state, 10, 300, count=1, app=hurt).moves

    def test_a_night_at_zero_is_no_other_count(self):
        """What was learnt from one pod before scaling to zero is valid for one pod after it."""
        spec = hvpa()
        _, state = run(spec, world(1, box(cpu=300), app=sizes(450), now=NOW - 7200))
        _, state = run(spec, world(0, now=NOW - 3600), state)
        _, state = run(spec, world(1, box(cpu=300), app=sizes(450)), state)
        assert self.later(state, 600, 450, count=1, app=box(cpu=300)).moves

    def test_a_container_that_is_new(self):
        """Nothing was learnt about it before."""
        _, state = run(hvpa(), world(1, box("old", 500), old=sizes(500), now=NOW - 60))
        _, state = run(hvpa(), world(2, box(cpu=500), app=sizes(500)), state)
        assert self.later(state, 200, 510).moves
