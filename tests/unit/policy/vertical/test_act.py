"""When and how running pods are changed: modes, the order of pods, and budgets."""

from dataclasses import replace

import pytest

from builders import NOW
from hypot.kinds.vpa.fields import ResourcePolicy, UpdatePolicy
from hypot.kinds.vpa.knobs import Knobs
from hypot.policy.model.seen import ClusterNode, Controller, Ended, Failure, Owner
from hypot.policy.model.size import Size
from hypot.policy.vertical.budget import DisruptionBudget
from unit.policy.vertical.vpa_world import MIB, WEB, app, done, first, fleet, planned, pod, resizing, updates

TOUCHING = ("Recreate", "Auto", "InPlace", "InPlaceOrRecreate")


class TestModes:
    """What each update mode does."""

    @pytest.mark.parametrize(
        ("mode", "expected"),
        [
            ("Off", ("none", "mode-off")),
            ("Initial", ("none", "mode-initial")),
            ("Sometimes", ("none", "mode-unknown")),
            ("Recreate", ("evict", "outside-bounds")),
            ("Auto", ("evict", "outside-bounds")),
            ("InPlaceOrRecreate", ("resize", "outside-bounds")),
            ("InPlace", ("resize", "outside-bounds")),
        ],
    )
    def test_each_mode(self, mode, expected):
        """In place if the mode says so."""
        action = first(fleet(3), mode)
        assert (action.action, action.rule) == expected
        assert action.sentence.endswith(".")

    @pytest.mark.parametrize(
        ("more", "mode", "expected"),
        [
            ({}, "InPlaceOrRecreate", True),
            ({"qos": "BestEffort"}, "InPlaceOrRecreate", False),
            ({}, "Recreate", False),
        ],
    )
    def test_the_second_best_for_a_loop_of_kills(self, more, mode, expected):
        """If it cannot be evicted, it is resized, if that is possible and the mode allows it."""
        ended = Ended("OOMKilled", NOW - 60, NOW - 30)
        action = first(fleet(3, container=app(ended=ended, restarts=9), **more), mode)
        assert (action.action, action.or_resize) == ("evict", expected)
        assert "or_resize" not in action.to_dict()

    @pytest.mark.parametrize(
        ("largest", "expected"),
        [
            ((), ("evict", "outside-bounds")),
            ((199,), ("none", "fits-nowhere")),
            ((199, 200), ("evict", "outside-bounds")),
        ],
    )
    def test_a_size_that_no_node_could_hold(self, largest, expected):
        """No pod is evicted for it: it would never run again. Without known nodes there is no such check."""
        nodes = {f"n{cpu}": ClusterNode(f"n{cpu}", {"cpu": cpu}) for cpu in largest}
        action = first(fleet(3), nodes=nodes)
        assert (action.action, action.rule) == expected

    def test_without_a_policy_pods_are_evicted(self):
        """This is the API server's default."""
        assert first(fleet(3), update=None).action == "evict"

    def test_an_action_has_the_sizes(self):
        """All that the containers will have, and the reason as text."""
        action = first(fleet(3), "InPlace")
        assert action.sizes == (Size("app", {"cpu": 200, "memory": 64 * MIB}),)
        assert action.sentence == "Cpu of app is 100m, below its lower bound of 150m: resize it in place."

    @pytest.mark.parametrize(
        ("changes", "rule", "message"),
        [
            ({"deleted": True}, "not-running", "It is being deleted: leave it."),
            ({"phase": "Failed"}, "not-running", "It has ended: leave it."),
            ({"phase": "Pending", "node": ""}, "not-running", "It is not scheduled yet: leave it."),
            ({"containers": ()}, "no-recommendation", "Nothing is recommended for its containers: leave it."),
        ],
    )
    def test_pods_that_are_ignored(self, changes, rule, message):
        """They neither change nor count, and this is reported."""
        pods = [replace(pod("a-gone"), **changes), *fleet(2)]
        action = planned(pods, replicas=2).actions[-1]
        assert (action.pod, action.action, action.rule, action.sentence) == ("a-gone", "none", rule, message)

    def test_a_pod_without_a_known_range_is_held(self):
        """The size might be refused when the pod is created again."""
        action = first(fleet(3), ranges=Failure("forbidden"))
        assert (action.action, action.rule) == ("none", "limits-unknown")
        assert action.sentence.endswith("cannot be read: forbidden: leave it.")

    def test_the_order(self):
        """Pods that need more, the furthest off first, then by name; then the pods that are left alone, by name."""
        sizes = {"d": 100, "c": 100, "b": 50, "a": 1000, "z": 200, "y": 200}
        pods = [pod(name, app(cpu)) for name, cpu in sizes.items()]
        actions = planned(pods, knobs=Knobs(eviction_tolerance=1.0)).actions
        assert [action.pod for action in actions] == ["b", "c", "d", "a", "y", "z"]
        assert [action.action for action in actions] == ["evict"] * 4 + ["none"] * 2


class TestBudget:
    """How many pods of one controller may be disrupted."""

    def test_half_of_them(self):
        """The others wait, and the sentence has the numbers."""
        actions = planned(fleet(4)).actions
        assert [action.action for action in actions] == ["evict", "evict", "none", "none"]
        assert actions[2].rule == "disruption-budget"
        assert actions[2].sentence == (
            "Cpu of app is 100m, below its lower bound of 150m, but ReplicaSet web-5d9c has 4 of 4 pods running, "
            "2 of them disrupted in this pass, and at most 2 may be missing: leave it."
        )

    def test_resizes_and_evictions_share_it(self):
        """A pod that could not be resized is evicted, within the same budget."""
        stuck = [replace(resizing("infeasible"), name="a"), replace(resizing("infeasible"), name="b")]
        pods = [*stuck, *fleet(2)]
        assert done(pods, "InPlaceOrRecreate") == [
            ("a", "evict", "resize-infeasible"),
            ("b", "evict", "resize-infeasible"),
            ("web-0", "none", "disruption-budget"),
            ("web-1", "none", "disruption-budget"),
        ]

    @pytest.mark.parametrize("mode", TOUCHING)
    @pytest.mark.parametrize(
        ("pods", "more", "rule"),
        [
            (fleet(1), {}, "min-replicas"),
            (fleet(3, owners=()), {}, "no-controller"),
            (fleet(3), {"replicas": None}, "replicas-unknown"),
            (fleet(3), {"replicas": 0}, "replicas-unknown"),
            (fleet(2), {"replicas": 4}, "disruption-budget"),
        ],
    )
    def test_each_refusal(self, mode, pods, more, rule):
        """In place or not: the pod is left alone because of its group."""
        assert {(action, why) for _, action, why in done(pods, mode, **more)} == {("none", rule)}

    def test_the_object_has_its_own_minimum(self):
        """Its own value comes before the cluster's, if it is valid."""
        assert first(fleet(1), update=updates(minReplicas=1)).action == "evict"
        assert first(fleet(3), update=updates(minReplicas=4)).rule == "min-replicas"
        assert first(fleet(1), update=updates(minReplicas=0)).rule == "min-replicas"
        assert first(fleet(1), update=updates(minReplicas=True)).rule == "min-replicas"

    def test_a_pod_that_does_not_run_is_no_loss(self):
        """It is evicted beyond the budget and uses none of it; in place it is waited for."""
        pods = [*fleet(2), *(pod(f"wait-{i}", phase="Pending") for i in range(2))]
        knobs = Knobs(eviction_tolerance=0.5)
        assert {name for name, action, _ in done(pods, knobs=knobs) if action == "evict"} == {"wait-0", "wait-1"}
        assert ("wait-0", "none", "pending") in done(pods, "InPlaceOrRecreate", knobs=knobs)

    def test_a_controller_that_keeps_no_count(self):
        """Any running pod may go, down to the minimum."""
        strange = Owner("Rollout", "web")
        budget = DisruptionBudget.of(fleet(3, owners=(strange,)), {}, minimum=2, tolerance=0.5)
        assert budget.unevictable(pod()) is None
        assert budget.group_of(pod()).configured == 0

    def test_of_several_owners_the_controller_counts(self):
        """Other owners keep no pods."""
        both = fleet(3, owners=(Owner("ConfigMap", "x"), WEB))
        budget = DisruptionBudget.of(both, {WEB: Controller(*WEB, 3)}, minimum=2, tolerance=0.5)
        assert budget.group_of(both[0]).owner == WEB

    def test_resizes_may_skip_the_budget(self):
        """If the cluster allows it and no container restarts; evictions may not."""
        knobs = Knobs(in_place_skips_budget=True)
        assert [action for _, action, _ in done(fleet(3), "InPlaceOrRecreate", knobs=knobs)] == ["resize"] * 3
        restarting = fleet(3, container=app(restarts_on_resize=frozenset({"memory"})))
        assert [action for _, action, _ in done(restarting, "InPlaceOrRecreate", knobs=knobs)].count("resize") == 1
        assert [action for _, action, _ in done(fleet(1), "InPlace", knobs=knobs)] == ["resize"]
        assert done(fleet(1), knobs=knobs) == [("web-0", "none", "min-replicas")]

    def test_a_failed_resize_does_not_evict_below_the_minimum(self):
        """Only resizes may skip the minimum."""
        knobs = Knobs(in_place_skips_budget=True)
        assert done([resizing("infeasible")], "InPlaceOrRecreate", knobs=knobs) == [("web-0", "none", "min-replicas")]


class TestBadInput:
    """Objects contain any manifest; a pass over them never fails."""

    @pytest.mark.parametrize(
        "update",
        [
            updates(7),
            updates(minReplicas="few", evictAfterOOMSeconds="soon", evictionRequirements="none"),
            UpdatePolicy.read({"updateMode": {"a": 1}}),
        ],
    )
    def test_policies_of_any_kind(self, update):
        """What cannot be read counts as absent, or blocks."""
        assert len(planned(fleet(3), update=update).actions) == 3

    def test_requirements_that_cannot_be_read_hold(self):
        """The user wants fewer disruptions, so an error must not cause more."""
        assert first(fleet(3), update=updates(evictionRequirements="none")).rule == "eviction-requirements"

    def test_resource_policies_of_any_kind(self):
        """The same for resource policies."""
        for written in ({"containerPolicies": "x"}, {"containerPolicies": [7, {"containerName": 5, "mode": []}]}):
            assert first(fleet(3), policy=ResourcePolicy.read(written)).action == "evict"
