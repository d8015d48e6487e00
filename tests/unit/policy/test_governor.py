"""Which autoscalers may scale down, and how much a scale-down frees."""

import json
from dataclasses import replace

import pytest

from builders import KNOWN, NOW, fleet, hpa, pod, queue, seen, wpa
from hypot.kinds.hpa.fields import external
from hypot.kinds.vpa import VPA
from hypot.kinds.wpa.fields import WatermarkPace, band
from hypot.policy.decide import decide
from hypot.policy.governor import (
    LEAST,
    WINDOW,
    Admitted,
    Governor,
    ScaleDownBudget,
    Want,
    budget_of,
    freed,
    govern,
    shrinks,
)
from hypot.policy.model.seen import Bounds, Container, Controller, Recommendation
from hypot.policy.model.settings import Settings
from unit.policy.hvpa.hvpa_world import GI, box, hvpa, world
from unit.policy.vertical.vpa_world import WEB

NOBODY = Governor()


def key(i):
    return ("Hvpa", "shop", f"web-{i:03}")


def wants(count, millicores=1000, start=0):
    return [Want(key(i), millicores) for i in range(start, start + count)]


class TestBudget:
    """The budget for 5 minutes."""

    @pytest.mark.parametrize(
        ("workloads", "millicores", "budget"),
        [
            (0, 0, (5, 0)),
            (1, 1000, (5, 5000)),
            (10, 10_000, (5, 5000)),
            (50, 50_000, (5, 5000)),
            (59, 59_000, (5, 5900)),
            (2000, 4_000_000, (200, 400_000)),
        ],
    )
    def test_a_tenth_and_at_least_five(self, workloads, millicores, budget):
        """A tenth of the workloads and of the cores that they request."""
        assert budget_of(workloads, millicores) == ScaleDownBudget(*budget)


class TestNoticed:
    """A scale-down that is not in the state."""

    def test_it_counts_from_now_on_with_the_cores_of_those_that_are_gone(self):
        """It counts for one window as if it had been admitted; existing pods give the size of those that are gone."""
        state = NOBODY.noticed(NOW, key(0), 3, seen(2, pods=(pod("a"), pod("b"))))
        assert state.admitted == (Admitted(NOW, 3000, key(0)),)
        for i in range(1, LEAST):
            state = state.noticed(NOW, key(i), 1, seen(1))
        assert govern(state, wants(1, start=LEAST), 20, 90_000, NOW)[0] == frozenset()
        assert govern(state, wants(1, start=LEAST), 20, 90_000, NOW + WINDOW)[0] == {key(LEAST)}


class TestQueue:
    """The order of admission."""

    def test_five_of_many_go_and_the_others_wait(self):
        """By name where they began to ask at the same time."""
        admitted, state = govern(NOBODY, wants(8), 20, 20_000, NOW)
        assert admitted == {key(i) for i in range(5)}
        assert [one for one, _ in state.waiting] == [key(5), key(6), key(7)]
        assert len(state.admitted) == 5

    def test_the_next_go_when_the_window_has_passed(self):
        """They are admitted exactly when the window is over."""
        _, state = govern(NOBODY, wants(8), 20, 20_000, NOW)
        later = wants(3, start=5)
        assert govern(state, later, 20, 20_000, NOW + WINDOW - 1)[0] == frozenset()
        assert govern(state, later, 20, 20_000, NOW + WINDOW)[0] == {want.key for want in later}

    def test_the_longest_wait_goes_first(self):
        """The name does not matter."""
        _, state = govern(NOBODY, wants(6, start=10), 20, 20_000, NOW)
        admitted, _ = govern(state, [*wants(9), Want(key(15), 1000)], 20, 20_000, NOW + WINDOW)
        assert key(15) in admitted

    def test_an_autoscaler_that_stops_asking_loses_its_place(self):
        """If it asks again, it queues again."""
        _, state = govern(NOBODY, wants(7), 20, 20_000, NOW)
        _, state = govern(state, [Want(key(6), 1000)], 20, 20_000, NOW + 15)
        _, state = govern(state, wants(2, start=5), 20, 20_000, NOW + 30)
        assert state.waiting == ((key(6), NOW), (key(5), NOW + 30))

    def test_the_first_is_not_overtaken(self):
        """Else small scale-downs could keep a large one waiting for ever."""
        _, state = govern(NOBODY, wants(1, 9000), 100, 100_000, NOW)
        admitted, state = govern(state, [Want(key(1), 5000)], 100, 100_000, NOW + 15)
        assert admitted == frozenset()
        admitted, _ = govern(state, [Want(key(0), 1), Want(key(1), 5000)], 100, 100_000, NOW + 30)
        assert admitted == frozenset()

    def test_cores_count_as_well(self):
        """Two of 4 cores fit where 10 may go; the third waits."""
        admitted, _ = govern(NOBODY, wants(3, 4000), 100, 100_000, NOW)
        assert admitted == {key(0), key(1)}

    def test_one_larger_than_the_budget_goes_alone(self):
        """It goes once nothing else was admitted for a window."""
        huge = Want(key(9), 50_000)
        _, state = govern(NOBODY, wants(1), 100, 100_000, NOW)
        admitted, state = govern(state, [huge], 100, 100_000, NOW + 15)
        assert admitted == frozenset()
        admitted, state = govern(state, [huge, *wants(3)], 100, 100_000, NOW + WINDOW)
        assert admitted == {key(9)}
        assert govern(state, wants(3), 100, 100_000, NOW + WINDOW + 15)[0] == frozenset()

    def test_further_steps_take_no_turn_of_others(self):
        """Many steps count as one turn; each step is charged for its cores."""
        state = NOBODY
        for step in range(8):
            admitted, state = govern(state, [Want(key(0), 100)], 20, 20_000, NOW + 15 * step)
            assert admitted == {key(0)}
        admitted, state = govern(state, wants(5, start=1), 20, 20_000, NOW + 120)
        assert admitted == {key(i) for i in range(1, 5)}
        assert sum(one.millicores for one in state.admitted) == 4800

    def test_further_steps_do_not_overtake(self):
        """While another waits for its turn no other begins, so that the turns expire; then it goes."""
        _, state = govern(NOBODY, wants(5, 10), 20, 20_000, NOW)
        both = [Want(key(0), 10), Want(key(9), 10)]
        _, state = govern(state, both[1:], 20, 20_000, NOW + 15)
        assert govern(state, both, 20, 20_000, NOW + 30)[0] == frozenset()
        assert govern(state, both, 20, 20_000, NOW + WINDOW)[0] == {key(0), key(9)}

    def test_further_steps_wait_once_the_cores_are_used_up(self):
        """One object cannot empty a cluster in many small steps."""
        _, state = govern(NOBODY, [Want(key(0), 4000)], 20, 20_000, NOW)
        assert govern(state, [Want(key(0), 4000)], 20, 20_000, NOW + 15)[0] == frozenset()

    def test_what_frees_no_core_counts_in_number(self):
        """Memory alone, or pods without requests."""
        assert len(govern(NOBODY, wants(9, 0), 20, 0, NOW)[0]) == LEAST

    def test_no_requests(self):
        """Admissions are kept until their window is over."""
        _, state = govern(NOBODY, wants(2), 20, 20_000, NOW)
        assert govern(state, [], 20, 20_000, NOW + 15) == (frozenset(), state)
        assert govern(state, [], 20, 20_000, NOW + WINDOW) == (frozenset(), NOBODY)

    def test_a_refused_scale_down_frees_its_turn(self):
        """A disruption budget that allows no eviction does not use up the turns; an unknown key changes nothing."""
        _, state = govern(NOBODY, wants(5), 10, 10_000, NOW)
        assert govern(state, wants(1, start=5), 10, 10_000, NOW + 1)[0] == frozenset()
        state = state.refused(NOW, key(2))
        assert [one.key for one in state.admitted] == [key(0), key(1), key(3), key(4)]
        assert state.refused(NOW, key(5)) == state.refused(NOW - 1, key(3)) == state
        assert govern(state, wants(1, start=5), 10, 10_000, NOW + 1)[0] == {key(5)}


class TestClock:
    """Times that do not advance as they should."""

    def test_going_back_gives_no_budget(self):
        """Admissions count from the new time on: neither less, nor for hours."""
        _, state = govern(NOBODY, wants(8), 20, 20_000, NOW)
        admitted, state = govern(state, wants(3, start=5), 20, 20_000, NOW - 7200)
        assert admitted == frozenset()
        assert set(state.admitted) == {Admitted(NOW - 7200, 1000, key(i)) for i in range(5)}
        assert len(govern(state, wants(3, start=5), 20, 20_000, NOW - 7200 + WINDOW)[0]) == 3

    def test_the_order_of_the_queue_stays(self):
        """Even though the last to come have the earlier time."""
        _, state = govern(NOBODY, wants(6), 20, 20_000, NOW)
        _, state = govern(state, wants(3, start=4), 20, 20_000, NOW - 60)
        assert [one for one, _ in state.waiting] == [key(5), key(4), key(6)]


def test_the_state_survives_as_json():
    """It is kept with the states of the autoscalers."""
    _, state = govern(NOBODY, wants(8), 20, 20_000, NOW)
    assert Governor.from_dict(json.loads(json.dumps(state.to_dict()))) == state
    assert Governor.from_dict({}) == NOBODY


def decided(spec, observed):
    return decide(spec, observed, KNOWN, Settings())[0]


class TestFreed:
    """How much a decision frees."""

    SPEC = wpa(
        band("queue", high="10", low="5"),
        min_replicas=1,
        scale_down=WatermarkPace(percent="99.9"),
        scale_up=WatermarkPace(percent=10_000),
    )

    def reported(self, items, replicas=10, **observed):
        around = queue(items * 1000, replicas, selector={}, **observed)
        decision = decided(self.SPEC, around)
        return decision, around

    def test_replicas_free_what_their_pods_request(self):
        """One core each."""
        decision, around = self.reported(1)
        assert decision.desired < 10
        assert shrinks(decision, around)
        assert freed(decision, around) == (10 - decision.desired) * 1000

    def test_pods_that_do_not_exist_yet_count_like_the_others(self):
        """Different sizes are averaged."""
        small, large = (pod(f"web-{i}", containers=(Container("app", {"cpu": c}),)) for i, c in enumerate((500, 1000)))
        decision, around = self.reported(1, 4, pods=(small, large))
        assert freed(decision._replace(desired=2), around) == 1500

    def test_without_pods_the_template_counts(self):
        """Without a template the result is zero."""
        decision, around = self.reported(1)
        bare = replace(around, pods=(), template=(Container("app", {"cpu": 250}),))
        assert freed(decision, bare) == (10 - decision.desired) * 250
        assert freed(decision, replace(bare, template=())) == 0

    def test_growth_frees_nothing(self):
        """It is not a scale-down."""
        decision, around = self.reported(500)
        assert decision.desired > 10
        assert not shrinks(decision, around)
        assert freed(decision, around) == 0

    def test_what_is_not_written_is_no_scale_down(self):
        """A dry run only reports."""
        decision, around = self.reported(1)
        assert not shrinks(decision._replace(dry_run=True), around)
        assert freed(decision._replace(dry_run=True), around) == 0
        assert not shrinks(decision._replace(decided=False), around)

    def test_sizes_free_what_all_replicas_give(self):
        """For an Hvpa: the total before minus the total after."""
        around = world(1, box(cpu=400, memory=GI), app={"cpu": 100, "memory": GI})
        decision = decided(hvpa(), around)
        assert shrinks(decision, around)
        assert freed(decision, around) == 300

    def test_fewer_and_larger_pods_may_free_nothing(self):
        """It is still a scale-down: some pods go."""
        around = world(4, box(cpu=1000), app={"cpu": 1000})
        decision = decided(hvpa(), around)
        larger = (decision.sizes[0]._replace(requests={"cpu": 2000}),)
        crossed = decision._replace(desired=2, desired_sizes=larger)
        assert shrinks(crossed, around)
        assert freed(crossed, around) == 0

    def test_pods_that_get_less_are_summed(self):
        """For a VPA: pods that get more do not hide pods that get less."""
        pods = tuple(
            pod(f"web-{i}", containers=(Container("app", {"cpu": c}),), node="n1", qos="Burstable")
            for i, c in enumerate((100, 900))
        )
        advice = Recommendation((Bounds("app", {"cpu": 500}, {"cpu": 500}, {"cpu": 500}),), "test")
        around = seen(2, pods=pods, size_advice=advice, controllers={WEB: Controller(*WEB, 2)})
        spec = VPA("deployment/web", mode="InPlaceOrRecreate", annotations={"hypot.dev/eviction-tolerance": "1"})
        decision = decided(spec, around)
        assert [one.action for one in decision.actions] == ["resize", "resize"]
        assert shrinks(decision, around)
        assert freed(decision, around) == 400
        grows = decision._replace(actions=tuple(one for one in decision.actions if one.pod == "web-0"))
        assert not shrinks(grows, around)

    def test_an_hpa_is_governed_alike(self):
        """The pods that are removed count."""
        around = queue(1000, 8, pods=fleet(8))
        decision = decided(hpa(external("queue", average="1"), min_replicas=1), around)
        assert shrinks(decision, around) == (decision.desired < 8)
        assert freed(decision, around) == (8 - decision.desired) * 1000 > 0
