"""Urgency of a WatermarkPodAutoscaler: saturated pods let a scale-up skip windows and delays."""

from dataclasses import replace

import pytest

from builders import MI, NOW, fleet, rules_of, sample, seen, wpa
from hypot.kinds.wpa.fields import WatermarkRules, resource_band
from hypot.policy.decide import decide
from hypot.policy.horizontal.wpa import ABOVE
from hypot.policy.model.decision import Condition
from hypot.policy.model.seen import ClusterNode, Container, Failure
from hypot.policy.model.settings import Settings
from hypot.policy.model.state import State
from hypot.replay.engine.engine import replay
from hypot.replay.world.parameters import Heap, Service, World
from property.replay_worlds import load, policy

URGENT = {"hypot.dev/urgent": "true"}
SLOW = {
    "scale_up": WatermarkRules(percent=50, forbidden_window=600, delay=300),
    "scale_down": WatermarkRules(percent=50, forbidden_window=600),
}
# The last move was a minute ago, and the value left the band just now: window and delay both block.
MOVED = State(last_scale=NOW - 60, conditions=(Condition(ABOVE, "True", "", "", NOW - 30),))
APP = Container("app", {"cpu": 1000, "memory": 100 * MI}, {"cpu": 1200, "memory": 200 * MI})


def spec(annotations=URGENT, low="500m", high="800m", **more):
    fields = {**SLOW, "algorithm": "average", "min_replicas": 1, "annotations": annotations, **more}
    return wpa(resource_band("cpu", low=low, high=high), **fields)


def world(*usages, now=NOW, container=APP, memory=50 * MI, **observed):
    """Pods of one core with a limit of 1.2, and what each used ten seconds ago."""
    samples = {f"web-{i}": sample(used, memory, at=now - 10) for i, used in enumerate(usages) if used is not None}
    usual = {"pods": fleet(len(usages), containers=(container,)), "pod_metrics": samples}
    return seen(len(usages), now=now, **{**usual, **observed})


def twice(first, second=None, made=None, state=MOVED):
    """Two decisions in a row, the second with the state of the first."""
    made = made or spec()
    decision, kept = decide(made, first, state, Settings())
    later = second or replace(first, now=first.now + 15)
    return decision, *decide(made, later, kept, Settings())


FULL, FULL_AGAIN = world(1200, 1180, 1200, 1190), world(1200, 1180, 1200, 1190, now=NOW + 15)


class TestGrowth:
    def test_two_samples_let_it_pass(self):
        """One sample is not enough; after the second neither window nor delay blocks, and a step says so."""
        first, second, _ = twice(FULL, FULL_AGAIN)
        assert first.desired == 4
        assert "forbidden-window" in rules_of(first)
        assert second.desired == 6
        assert "urgent" in rules_of(second)
        (message,) = [step.sentence for step in second.steps if step.rule == "urgent"]
        assert message.startswith("Cpu of app uses")
        assert message.endswith(".")

    def test_the_same_sample_twice_is_one_sample(self):
        """Reading the same sample again does not count."""
        _, second, _ = twice(FULL)
        assert second.desired == 4

    def test_it_passes_a_delay_alone(self):
        """The window is over, the delay is not."""
        state = MOVED._replace(last_scale=NOW - 3600)
        first, second, _ = twice(FULL, FULL_AGAIN, state=state)
        assert "delay" in rules_of(first)
        assert second.desired == 6

    def test_the_limit_factor_and_the_bounds_still_hold(self):
        """Urgency skips the wait, not the limits."""
        slower = spec(scale_up=WatermarkRules(percent=25, forbidden_window=600))
        assert twice(FULL, FULL_AGAIN, slower)[1].desired == 5
        assert twice(FULL, FULL_AGAIN, spec(max_replicas=4))[1].desired == 4

    def test_it_is_not_reported_where_nothing_blocked(self):
        """Without a window or delay it is an ordinary move."""
        _, second, _ = twice(FULL, FULL_AGAIN, state=MOVED._replace(last_scale=None))
        assert second.desired == 6
        assert "urgent" not in rules_of(second)

    def test_inside_the_band_nothing_moves(self):
        """Saturation alone does not scale up."""
        _, second, _ = twice(FULL, FULL_AGAIN, spec(high="1300m"))
        assert second.desired == 4


class TestSaturation:
    @pytest.mark.parametrize(("used", "urgent"), [(1140, True), (1139, False), (1000, False)])
    def test_from_95_percent_of_the_cap_on(self, used, urgent):
        """Of the limit, not of the request."""
        _, second, _ = twice(world(used, used), world(used, used, now=NOW + 15))
        assert (second.desired > 2) is urgent

    def test_one_idle_pod_is_room_enough(self):
        """All pods must be at their cap."""
        _, second, _ = twice(world(1200, 1200, 1200, 600), world(1200, 1200, 1200, 600, now=NOW + 15))
        assert second.desired == 4

    def test_a_cool_sample_in_between_starts_again(self):
        """Two saturated samples in a row are needed."""
        made, state = spec(), MOVED
        for at, used in ((0, 1200), (15, 900), (30, 1200)):
            decision, state = decide(made, world(used, used, now=NOW + at), state, Settings())
        assert decision.desired == 2
        assert decide(made, world(1200, 1200, now=NOW + 45), state, Settings())[0].desired > 2

    def test_without_metrics_nothing_is_urgent(self):
        """A gap is not saturation, and samples before it do not count after it."""
        made = spec()
        _, state = decide(made, FULL, MOVED, Settings())
        gap = replace(FULL_AGAIN, pod_metrics=Failure("no metrics"))
        decision, state = decide(made, gap, state, Settings())
        assert decision.desired == 4
        after = world(1200, 1180, 1200, 1190, now=NOW + 30)
        assert decide(made, after, state, Settings())[0].desired == 4

    def test_without_a_limit_the_node_is_the_cap(self):
        """The cap is the request plus what the node has free."""
        bare = Container("app", {"cpu": 1000, "memory": 100 * MI})
        nodes = {"n": ClusterNode("n", {"cpu": 2300, "memory": 10**15}, {"cpu": 2000})}
        pods = fleet(2, containers=(bare,), node="n")
        worlds = [world(1150, 1140, now=NOW + at, pods=pods, nodes=nodes) for at in (0, 15)]
        assert twice(*worlds)[1].desired == 3
        roomy = {"n": ClusterNode("n", {"cpu": 8000, "memory": 10**15}, {"cpu": 2000})}
        assert twice(*[replace(one, nodes=roomy) for one in worlds])[1].desired == 2

    def test_where_the_cap_is_unknown_nothing_is_urgent(self):
        """There is no limit and no node."""
        bare = Container("app", {"cpu": 1000, "memory": 100 * MI})
        worlds = [world(3000, 3000, now=NOW + at, container=bare) for at in (0, 15)]
        assert twice(*worlds)[1].desired == 2


class TestNever:
    @pytest.mark.parametrize("annotations", [None, {}, {"hypot.dev/urgent": "false"}, {"hypot.dev/urgent": ""}])
    def test_it_is_off_by_default(self, annotations):
        """Windows block, whatever the pods use, and no sample is remembered."""
        _, second, state = twice(FULL, FULL_AGAIN, spec(annotations))
        assert second.desired == 4
        assert not state.vertical.hot

    def test_never_downwards(self):
        """Full memory does not skip a window for scaling down."""
        full = [world(100, 100, 100, 100, now=NOW + at, memory=200 * MI) for at in (0, 15)]
        _, second, _ = twice(*full)
        assert second.desired == 4
        assert "forbidden-window" in rules_of(second)
        assert "urgent" not in rules_of(second)

    def test_not_in_a_dry_run(self):
        """It is reported, but not written."""
        _, second, _ = twice(FULL, FULL_AGAIN, spec(dry_run=True))
        assert not second.rescales
        assert "urgent" in rules_of(second)


class TestState:
    def test_it_survives_being_written_down(self):
        """The first of two samples is part of the state."""
        made = spec()
        _, kept = decide(made, FULL, MOVED, Settings())
        again = State.from_dict(kept.to_dict())
        assert again == kept
        assert decide(made, FULL_AGAIN, again, Settings())[0].desired == 6

    def test_it_survives_a_move(self):
        """If the pods are still full after the first step, the next may follow at once."""
        made = spec()
        _, second, state = twice(FULL, FULL_AGAIN, made)
        after = world(*[1200] * 6, now=NOW + 30)
        third, _ = decide(made, after, state.acted(second, NOW + 15), Settings())
        assert third.desired == 9

    def test_without_state_it_starts_again(self):
        """As after a restart without state."""
        assert decide(spec(), FULL_AGAIN, MOVED, Settings())[0].desired == 4


class TestReplay:
    GIVEN = load((3.0, 30), (1.2, 20), (9.0, 40))
    WORLD = World(service=Service(timeout=1.0), memory=Heap(per_request=0))

    def lost(self, annotations):
        made = spec(
            annotations,
            scale_up=WatermarkRules(percent=100, forbidden_window=600),
            scale_down=WatermarkRules(percent=50, forbidden_window=60),
        )
        run = replay(policy(made, replicas=4), "web", self.GIVEN, self.WORLD, Settings())
        return run.ticks.lost.sum(), run

    def test_a_dip_before_a_surge(self):
        """The scale-down at the dip blocks the scale-up; urgency skips the block, and far less is lost."""
        held, _ = self.lost(None)
        urgent, run = self.lost(URGENT)
        assert urgent < held / 2
        assert any(step.rule == "urgent" for moment in run.moments for step in moment.decision.steps)
