"""Which autoscalers may scale down, and how much a scale-down frees."""

import json
from dataclasses import replace

import pytest

from builders import KNOWN, NOW, fleet, hpa, pod, queue, seen, wpa
from hypot.kinds.hpa.fields import external
from hypot.kinds.vpa import VPA
from hypot.kinds.wpa.fields import WatermarkRules, band
from hypot.policy.decide import decide
from hypot.policy.governor import (
    LEAST,
    WINDOW,
    Admitted,
    Fleet,
    Governor,
    Running,
    ScaleDownBudget,
    Want,
    budget_of,
    fleet_of,
    freed,
    govern,
    parts_of,
    shrinks,
)
from hypot.policy.model.decision import Name
from hypot.policy.model.seen import Bounds, Container, Controller, Failure, Recommendation, Seen
from hypot.policy.model.settings import Settings
from unit.policy.hvpa.hvpa_world import GI, box, hvpa, world
from unit.policy.vertical.vpa_world import WEB

NOBODY = Governor()


def shop(workloads, millicores):
    """A cluster with one namespace."""
    return Fleet({"shop": Running(workloads, millicores)})


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


E = 10**21  # 1E cores, in millicores


def running(name, cpu=1000, **more):
    return pod(name, **{"node": "n1", "containers": (Container("app", {"cpu": cpu}),), **more})


def web(name="web", namespace="shop", kind="Deployment"):
    return Name("apps/v1", kind, namespace, name)


class TestFleet:
    """What counts for the budget."""

    def test_running_pods_count(self):
        """By namespace, with the nodes' capacity."""
        two, one = seen(2, pods=(running("a"), running("b", 500))), seen(1, pods=(running("a", 250),))
        found = fleet_of([(web(), two), (web("api"), one), (web(namespace="pay"), one)], 64_000)
        assert found.namespaces["pay"] == Running(1, 250)
        assert found.namespaces["shop"].workloads == 2
        assert found.capacity == 64_000

    @pytest.mark.parametrize(
        "more",
        [
            {"node": "", "phase": "Pending"},
            {"phase": "Pending"},
            {"phase": "Failed"},
            {"phase": "Succeeded"},
            {"deleted": True},
        ],
    )
    def test_a_pod_that_does_not_run_adds_nothing(self, more):
        """A pod that asks for 1E cores fits on no node, even if its manifest names a node."""
        around = seen(2, pods=(running("a"), running("huge", E, **more)))
        assert fleet_of([(web(), around)]).namespaces == {"shop": Running(1, 1000)}

    def test_a_target_counts_once(self):
        """For all of its autoscalers, and so do its pods."""
        around = seen(2, pods=(running("a"), running("b")))
        assert fleet_of([(web(), around)] * 50).namespaces == {"shop": Running(1, 2000)}

    @pytest.mark.parametrize("observed", [seen(3, pods=()), Seen(NOW, Failure("no such target"))])
    def test_a_target_without_a_running_pod_adds_nothing(self, observed):
        """Objects without a target, and empty workloads, cost nothing to create."""
        assert fleet_of([(web(f"web-{i}"), observed) for i in range(500)]).namespaces == {}


class TestParts:
    """The own part of each namespace, and the common part."""

    @pytest.mark.parametrize(
        ("namespaces", "own", "common"),
        [
            ({}, {}, (5, 0)),
            ({"a": (20, 20_000)}, {"a": (2, 2000)}, (3, 3000)),
            ({"a": (100, 90_000), "b": (9, 900)}, {"a": (10, 9000), "b": (0, 90)}, (0, 0)),
            ({"a": (60, 60_000), "b": (45, 90_000)}, {"a": (6, 6000), "b": (4, 9000)}, (0, 0)),
            ({"a": (55, 60_000), "b": (55, 50_000)}, {"a": (5, 6000), "b": (5, 5000)}, (1, 0)),
            (dict.fromkeys("abcdefghij", (9, 9000)), dict.fromkeys("abcdefghij", (0, 900)), (9, 0)),
        ],
    )
    def test_a_tenth_is_its_own_and_the_rest_is_common(self, namespaces, own, common):
        """Together they are the budget of the cluster."""
        fleet = Fleet({name: Running(*each) for name, each in namespaces.items()})
        assert parts_of(fleet) == (own, common)

    def test_cores_are_at_most_those_of_the_nodes(self):
        """A namespace that claims more gets no more than a tenth of all nodes, and lifts the common part no further."""
        fleet = Fleet({"a": Running(10, E), "b": Running(10, 5000)}, 64_000)
        own, common = parts_of(fleet)
        assert own == {"a": (1, 6400), "b": (1, 500)}
        assert common == (3, 16_000 - 6900)


def asks(namespace, count, millicores=1000):
    return [Want(("Hvpa", namespace, f"web-{i:03}"), millicores) for i in range(count)]


class TestNamespaces:
    """How namespaces share the budget."""

    FLEET = Fleet({"greedy": Running(200, 200_000), "pay": Running(20, 20_000)})

    def test_the_own_part_is_there_whatever_others_ask_for(self):
        """Hundreds that have waited for longer change nothing."""
        _, state = govern(NOBODY, asks("greedy", 200), self.FLEET, NOW)
        admitted, _ = govern(state, asks("greedy", 200) + asks("pay", 3), self.FLEET, NOW + 15)
        assert admitted == {want.key for want in asks("pay", 2)}

    def test_one_that_is_too_large_blocks_no_own_part(self):
        """It waits, and the others do not wait for it."""
        _, state = govern(NOBODY, asks("greedy", 1), self.FLEET, NOW)
        huge = Want(("Hvpa", "greedy", "huge"), E)
        _, state = govern(state, [huge], self.FLEET, NOW + 15)
        admitted, _ = govern(state, [huge, *asks("pay", 2)], self.FLEET, NOW + 30)
        assert len(admitted) == 2

    def test_nothing_frees_more_than_what_runs(self):
        """A scale-down of pods that fit on no node uses no cores of the common part."""
        fleet = Fleet({"a": Running(1, 100), "b": Running(9, 9000)})
        admitted, _ = govern(NOBODY, [*asks("a", 1, E), *asks("b", 3)], fleet, NOW)
        assert len(admitted) == 4
        unrecorded = NOBODY.noticed(NOW, asks("a", 1)[0].key, 1, seen(1, pods=(running("huge", E, phase="Pending"),)))
        assert len(govern(unrecorded, asks("b", 3), fleet, NOW)[0]) == 3

    def test_namespaces_take_turns_in_the_common_part(self):
        """Of five for namespaces too small for a part of their own, each gets one before any gets a second."""
        fleet = Fleet({name: Running(9, 9000) for name in "abc"})
        wants = asks("a", 9) + asks("b", 1) + asks("c", 1)
        admitted, state = govern(NOBODY, wants, fleet, NOW)
        assert sorted(key[1] for key in admitted) == ["a", "a", "a", "b", "c"]
        later, _ = govern(state, asks("a", 9) + asks("b", 2), fleet, NOW + WINDOW)
        assert sorted(key[1] for key in later) == ["a", "a", "b", "b"]

    def test_a_late_namespace_is_first_once_the_common_part_is_free(self):
        """It has waited for one window at most."""
        fleet = Fleet({name: Running(9, 9000) for name in "ab"})
        _, state = govern(NOBODY, asks("a", 9, 0), fleet, NOW)
        admitted, state = govern(state, asks("a", 9, 0) + asks("b", 1), fleet, NOW + 15)
        assert admitted == frozenset()
        admitted, _ = govern(state, asks("a", 9, 0) + asks("b", 1), fleet, NOW + WINDOW)
        assert asks("b", 1)[0].key in admitted

    def test_what_was_taken_of_an_own_part_stays_there(self):
        """Deleting the autoscalers afterwards does not charge the common part."""
        _, state = govern(NOBODY, asks("greedy", 20), self.FLEET, NOW)
        left = Fleet({"pay": Running(9, 9000)})
        assert len(govern(state, asks("pay", 9), left, NOW + 15)[0]) == LEAST

    def test_a_namespace_that_is_too_small_for_any_part_still_moves(self):
        """One workload in each window, where rounding leaves no common part."""
        fleet = Fleet({"greedy": Running(100, 100_000), "pay": Running(9, 9000)})
        assert parts_of(fleet)[1] == (0, 0)
        wants = asks("greedy", 100) + asks("pay", 9)
        admitted, state = govern(NOBODY, wants, fleet, NOW)
        assert [key[1] for key in admitted].count("pay") == 1
        assert not govern(state, asks("pay", 9), fleet, NOW + 15)[0]
        assert len(govern(state, asks("pay", 9), fleet, NOW + WINDOW)[0]) == 1

    def test_a_state_of_an_earlier_version_is_read(self):
        """What was admitted counts in the own part first."""
        state = Governor.from_dict({"admitted": [["Hvpa", "pay", "web-000", NOW, 1000]]})
        assert len(govern(state, asks("pay", 9)[1:], self.FLEET, NOW)[0]) == 1


class TestNoticed:
    """A scale-down that is not in the state."""

    def test_it_counts_from_now_on_with_the_cores_of_those_that_are_gone(self):
        """It counts for one window as if it had been admitted; running pods or the template give the size."""
        state = NOBODY.noticed(NOW, key(0), 3, seen(2, pods=(pod("a"), pod("b"))))
        assert state.admitted == (Admitted(NOW, 3000, key(0)),)
        bare = replace(seen(0, pods=()), template=(Container("app", {"cpu": 250}),))
        assert NOBODY.noticed(NOW, key(0), 3, bare).admitted == (Admitted(NOW, 750, key(0)),)
        for i in range(1, LEAST):
            state = state.noticed(NOW, key(i), 1, seen(1))
        assert govern(state, wants(1, start=LEAST), shop(20, 90_000), NOW)[0] == frozenset()
        assert govern(state, wants(1, start=LEAST), shop(20, 90_000), NOW + WINDOW)[0] == {key(LEAST)}


class TestQueue:
    """The order of admission."""

    def test_five_of_many_go_and_the_others_wait(self):
        """By name where they began to ask at the same time."""
        admitted, state = govern(NOBODY, wants(8), shop(20, 20_000), NOW)
        assert admitted == {key(i) for i in range(5)}
        assert [one for one, _ in state.waiting] == [key(5), key(6), key(7)]
        assert len(state.admitted) == 5

    def test_the_next_go_when_the_window_has_passed(self):
        """They are admitted exactly when the window is over."""
        _, state = govern(NOBODY, wants(8), shop(20, 20_000), NOW)
        later = wants(3, start=5)
        assert govern(state, later, shop(20, 20_000), NOW + WINDOW - 1)[0] == frozenset()
        assert govern(state, later, shop(20, 20_000), NOW + WINDOW)[0] == {want.key for want in later}

    def test_the_longest_wait_goes_first(self):
        """The name does not matter."""
        _, state = govern(NOBODY, wants(6, start=10), shop(20, 20_000), NOW)
        admitted, _ = govern(state, [*wants(9), Want(key(15), 1000)], shop(20, 20_000), NOW + WINDOW)
        assert key(15) in admitted

    def test_an_autoscaler_that_stops_asking_loses_its_place(self):
        """If it asks again, it queues again."""
        _, state = govern(NOBODY, wants(7), shop(20, 20_000), NOW)
        _, state = govern(state, [Want(key(6), 1000)], shop(20, 20_000), NOW + 15)
        _, state = govern(state, wants(2, start=5), shop(20, 20_000), NOW + 30)
        assert state.waiting == ((key(6), NOW), (key(5), NOW + 30))

    def test_the_first_is_not_overtaken(self):
        """Else small scale-downs could keep a large one waiting for ever."""
        _, state = govern(NOBODY, wants(1, 9000), shop(100, 100_000), NOW)
        admitted, state = govern(state, [Want(key(1), 5000)], shop(100, 100_000), NOW + 15)
        assert admitted == frozenset()
        admitted, _ = govern(state, [Want(key(0), 1), Want(key(1), 5000)], shop(100, 100_000), NOW + 30)
        assert admitted == frozenset()

    def test_cores_count_as_well(self):
        """Two of 4 cores fit where 10 may go; the third waits."""
        admitted, _ = govern(NOBODY, wants(3, 4000), shop(100, 100_000), NOW)
        assert admitted == {key(0), key(1)}

    def test_one_larger_than_the_budget_goes_alone(self):
        """It goes once nothing else was admitted for a window."""
        huge = Want(key(9), 50_000)
        _, state = govern(NOBODY, wants(1), shop(100, 100_000), NOW)
        admitted, state = govern(state, [huge], shop(100, 100_000), NOW + 15)
        assert admitted == frozenset()
        admitted, state = govern(state, [huge, *wants(3)], shop(100, 100_000), NOW + WINDOW)
        assert admitted == {key(9)}
        assert govern(state, wants(3), shop(100, 100_000), NOW + WINDOW + 15)[0] == frozenset()

    def test_further_steps_take_no_turn_of_others(self):
        """Many steps count as one turn; each step is charged for its cores."""
        state = NOBODY
        for step in range(8):
            admitted, state = govern(state, [Want(key(0), 100)], shop(20, 20_000), NOW + 15 * step)
            assert admitted == {key(0)}
        admitted, state = govern(state, wants(5, start=1), shop(20, 20_000), NOW + 120)
        assert admitted == {key(i) for i in range(1, 5)}
        assert sum(one.millicores for one in state.admitted) == 4800

    def test_further_steps_do_not_overtake(self):
        """While another waits for its turn no other begins, so that the turns expire; then it goes."""
        _, state = govern(NOBODY, wants(5, 10), shop(20, 20_000), NOW)
        both = [Want(key(0), 10), Want(key(9), 10)]
        _, state = govern(state, both[1:], shop(20, 20_000), NOW + 15)
        assert govern(state, both, shop(20, 20_000), NOW + 30)[0] == frozenset()
        assert govern(state, both, shop(20, 20_000), NOW + WINDOW)[0] == {key(0), key(9)}

    def test_further_steps_wait_once_the_cores_are_used_up(self):
        """One object cannot empty a cluster in many small steps."""
        _, state = govern(NOBODY, [Want(key(0), 4000)], shop(20, 20_000), NOW)
        assert govern(state, [Want(key(0), 4000)], shop(20, 20_000), NOW + 15)[0] == frozenset()

    def test_what_frees_no_core_counts_in_number(self):
        """Memory alone, or pods without requests."""
        assert len(govern(NOBODY, wants(9, 0), shop(20, 0), NOW)[0]) == LEAST

    def test_no_requests(self):
        """Admissions are kept until their window is over."""
        _, state = govern(NOBODY, wants(2), shop(20, 20_000), NOW)
        assert govern(state, [], shop(20, 20_000), NOW + 15) == (frozenset(), state)
        assert govern(state, [], shop(20, 20_000), NOW + WINDOW) == (frozenset(), NOBODY)

    def test_a_refused_scale_down_frees_its_turn(self):
        """A disruption budget that allows no eviction does not use up the turns; an unknown key changes nothing."""
        _, state = govern(NOBODY, wants(5), shop(10, 10_000), NOW)
        assert govern(state, wants(1, start=5), shop(10, 10_000), NOW + 1)[0] == frozenset()
        state = state.refused(NOW, key(2))
        assert [one.key for one in state.admitted] == [key(0), key(1), key(3), key(4)]
        assert state.refused(NOW, key(5)) == state.refused(NOW - 1, key(3)) == state
        assert govern(state, wants(1, start=5), shop(10, 10_000), NOW + 1)[0] == {key(5)}


class TestClock:
    """Times that do not advance as they should."""

    def test_going_back_gives_no_budget(self):
        """Admissions count from the new time on: neither less, nor for hours."""
        _, state = govern(NOBODY, wants(8), shop(20, 20_000), NOW)
        admitted, state = govern(state, wants(3, start=5), shop(20, 20_000), NOW - 7200)
        assert admitted == frozenset()
        assert {one[:3] for one in state.admitted} == {(NOW - 7200, 1000, key(i)) for i in range(5)}
        assert len(govern(state, wants(3, start=5), shop(20, 20_000), NOW - 7200 + WINDOW)[0]) == 3

    def test_the_order_of_the_queue_stays(self):
        """Even though the last to come have the earlier time."""
        _, state = govern(NOBODY, wants(6), shop(20, 20_000), NOW)
        _, state = govern(state, wants(3, start=4), shop(20, 20_000), NOW - 60)
        assert [one for one, _ in state.waiting] == [key(5), key(4), key(6)]


def test_the_state_survives_as_json():
    """It is kept with the states of the autoscalers."""
    _, state = govern(NOBODY, wants(8), shop(20, 20_000), NOW)
    assert Governor.from_dict(json.loads(json.dumps(state.to_dict()))) == state
    assert Governor.from_dict({}) == NOBODY


def decided(spec, observed):
    return decide(spec, observed, KNOWN, Settings())[0]


class TestFreed:
    """How much a decision frees."""

    SPEC = wpa(
        band("queue", high="10", low="5"),
        min_replicas=1,
        scale_down=WatermarkRules(percent="99.9"),
        scale_up=WatermarkRules(percent=10_000),
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

    @pytest.mark.parametrize("phase", ["Pending", "Failed"])
    def test_what_does_not_run_is_not_freed(self, phase):
        """Neither pods that fit on no node, nor replicas that have no pod; the template does not count either."""
        huge = pod("huge", phase=phase, containers=(Container("app", {"cpu": E}),))
        decision, around = self.reported(1, pods=(pod("web-0"), pod("web-1"), huge))
        assert freed(decision, around) == 2000
        assert freed(decision, replace(around, pods=(huge,), template=huge.containers)) == 0

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
