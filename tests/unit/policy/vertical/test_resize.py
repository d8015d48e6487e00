"""Resizes in place: what they cannot do, how long they are waited for, and what is remembered of them."""

from dataclasses import replace

import pytest

from builders import MI, NOW
from hypot.policy.model.seen import Bounds, Container, Controller
from hypot.policy.model.size import Size
from hypot.policy.vertical.budget import DisruptionBudget
from hypot.policy.vertical.resize import in_place, qos_class, resize_obstacle, still_refused, still_waiting
from unit.policy.vertical.vpa_world import MIB, NEWEST, WEB, app, done, first, fleet, planned, pod, resizing

LOWERED = "Kubernetes 1.33 lowers the memory limit of app (64Mi to 32Mi) only if its resizePolicy is RestartContainer"


class TestWaiting:
    """A resize that is under way."""

    @pytest.mark.parametrize(
        ("state", "ago", "expected"),
        [
            ("deferred", 300, "none"),
            ("deferred", 301, "evict"),
            ("in-progress", 3600, "none"),
            ("in-progress", 3601, "evict"),
            ("infeasible", 0, "evict"),
            ("error", 0, "evict"),
            ("unknown", 0, "evict"),
        ],
    )
    @pytest.mark.parametrize("mode", ["Recreate", "InPlaceOrRecreate"])
    def test_when_to_evict(self, mode, state, ago, expected):
        """Waiting is better than evicting, for a while."""
        pods = [resizing(state, NOW - ago), pod("web-1", app(200)), pod("web-2", app(200))]
        action = first(pods, mode)
        assert (action.pod, action.action) == ("web-0", expected)
        if mode == "InPlaceOrRecreate" or expected == "none":
            assert action.rule == f"resize-{state}"

    def test_what_the_node_says_is_reported(self):
        """Its message, and since how long."""
        pods = [resizing("deferred", NOW - 60, "no room"), *fleet(3)[1:]]
        assert first(pods, "InPlace").sentence == (
            "Cpu of app is 100m, below its lower bound of 150m, but its node has deferred a resize for 60 s (no room): "
            "leave it."
        )

    @pytest.mark.parametrize("state", ["deferred", "in-progress", "error", "unknown"])
    def test_in_place_only_waits_for_ever(self, state):
        """It never evicts."""
        pods = [resizing(state, NOW - 1e6), *fleet(3)[1:]]
        assert first(pods, "InPlace")[:3] == ("web-0", "none", f"resize-{state}")

    def test_since_when_is_remembered_only_while_it_lasts(self):
        """By uid, as the next pod of a StatefulSet has the same name and its own waiting time."""
        undated = [replace(resizing("deferred", None), uid="1"), pod("web-1", uid="2")]
        once = planned(undated, "InPlaceOrRecreate", stuck={"2": NOW - 500, "gone": 1.0})
        assert once.stuck == {"1": NOW}
        again = planned(undated, "InPlaceOrRecreate", stuck={"1": NOW - 301})
        assert (again.actions[0].action, again.stuck) == ("evict", {"1": NOW - 301})
        renewed = [replace(undated[0], uid="3"), undated[1]]
        assert planned(renewed, "InPlaceOrRecreate", stuck=again.stuck).actions[0].action == "none"

    def test_the_time_of_the_condition_comes_first(self):
        """Even a single dump shows how long a resize has waited."""
        assert still_waiting([resizing("deferred", NOW - 9)], {"web-0": 0.0}, NOW) == {"web-0": NOW - 9}

    def test_what_was_refused_is_not_requested_again(self):
        """Unless less is recommended; the pod's spec is what was refused."""
        refused = resizing("infeasible", container=app(300, actual_requests={"cpu": 100, "memory": 64 * MI}))
        more = Bounds("app", {"cpu": 300, "memory": 64 * MIB}, {"cpu": 150})
        pods = [refused, *fleet(3)[1:]]
        result = planned(pods, "InPlace", advice=more)
        assert result.actions[0][:3] == ("web-0", "none", "resize-infeasible")
        assert result.infeasible == {"web-0": {"app": {"cpu": 300, "memory": 64 * MIB}}}
        less = first(pods, "InPlace")
        assert less.action == "resize"
        assert "less than what its node refused" in less.sentence

    def test_refusals_are_forgotten_with_the_pod(self):
        """They are kept while the pod exists, whatever happened to the resize."""
        known = {"web-0": {"app": {"cpu": 150}}, "gone": {"app": {"cpu": 1}}}
        assert still_refused([pod()], known) == {"web-0": {"app": {"cpu": 150}}}
        assert done(fleet(3), "InPlace", infeasible=known)[0] == ("web-0", "none", "resize-infeasible")
        assert done(fleet(3), "InPlaceOrRecreate", infeasible=known)[0][1] == "resize"

    def test_nothing_is_written_twice(self):
        """The spec requests the size already; the kubelet has not reported anything yet."""
        asked = pod(container=app(200, actual_requests={"cpu": 100, "memory": 64 * MI}))
        assert done([asked, pod("web-1", app(200))], "InPlace")[0] == ("web-0", "none", "resize-asked")

    def test_without_a_recommendation_there_is_nothing_to_resize_to(self):
        """Called directly; a plan does not get that far."""
        pods = fleet(3)
        budget = DisruptionBudget.of(pods, {WEB: Controller(*WEB, 3)}, minimum=2, tolerance=0.5)
        assert in_place(pods[0], None, budget, "InPlace", since=NOW, now=NOW)[:2] == ("deferred", "no-recommendation")


def limited(cpu=100, memory=64, **more):
    """A container whose limits are its requests: Guaranteed."""
    amounts = {"cpu": cpu, "memory": memory * MI}
    return Container("app", amounts, dict(amounts), **more)


def size(cpu=None, memory=None, cpu_limit=None, memory_limit=None, name="app"):
    requests = {"cpu": cpu, "memory": memory and memory * MIB}
    limits = {"cpu": cpu_limit, "memory": memory_limit and memory_limit * MIB}
    return Size(name, *({r: a for r, a in each.items() if a is not None} for each in (requests, limits)))


class TestObstacles:
    """What the API server would refuse."""

    @pytest.mark.parametrize(
        ("container", "asked", "kubernetes", "expected"),
        [
            (app(), size(200, 64), (1, 33), ""),
            (app(), size(200, 64), (1, 32), "Kubernetes 1.32 cannot resize pods in place"),
            (app(), size(200, 64, name="new"), NEWEST, "it has no running container new"),
            (app(), size(200), NEWEST, "a resize cannot remove the memory request of app"),
            (limited(), size(200, 64, 200), NEWEST, "a resize cannot remove the memory limit of app"),
            (
                app(),
                Size("app", {"cpu": 1, "memory": 1, "gpu": 1}),
                NEWEST,
                "only cpu and memory can be resized, not gpu of app",
            ),
            (limited(), size(200, 64, 200, 64), NEWEST, ""),
            (
                limited(),
                size(200, 64, 300, 64),
                NEWEST,
                "a resize cannot change its class from Guaranteed to Burstable",
            ),
            (app(), size(200, 64, 200, 64), NEWEST, "a resize cannot change its class from Burstable to Guaranteed"),
            (Container("app"), size(200), NEWEST, "a resize cannot change its class from BestEffort to Burstable"),
            (limited(), size(100, 32, 100, 32), (1, 34), ""),
            (
                limited(),
                size(100, 32, 100, 32),
                (1, 33),
                LOWERED,
            ),
            (limited(restarts_on_resize=frozenset({"memory"})), size(100, 32, 100, 32), (1, 33), ""),
            (limited(), size(100, 128, 100, 128), (1, 33), ""),
        ],
    )
    def test_each_obstacle(self, container, asked, kubernetes, expected):
        """The message says what to change."""
        assert resize_obstacle(pod(container=container), [asked], kubernetes) == expected

    @pytest.mark.parametrize(
        ("changes", "kubernetes", "expected"),
        [
            ({"annotations": {"kubernetes.io/config.mirror": "x"}}, NEWEST, "a static pod cannot be resized"),
            (
                {"pod_requests": {"cpu": 1000}},
                (1, 35),
                "Kubernetes 1.35 cannot resize a pod that has pod-level resources",
            ),
            ({"pod_requests": {"cpu": 1000}}, (1, 36), ""),
            ({"qos": "Burstable"}, NEWEST, ""),
            ({"init_containers": (Container("init"),)}, NEWEST, ""),
        ],
    )
    def test_obstacles_of_the_whole_pod(self, changes, kubernetes, expected):
        """Whatever the requested size is."""
        assert resize_obstacle(pod(**changes), [size(200, 64)], kubernetes) == expected

    def test_the_class_is_that_of_all_containers(self):
        """One container without limits makes it Burstable, and sums decide, not single containers."""
        guaranteed = size(100, 64, 100, 64)
        assert qos_class([guaranteed]) == "Guaranteed"
        assert qos_class([guaranteed, size(1)]) == "Burstable"
        assert qos_class([size(50, 64, 100, 64), size(150, 64, 100, 64)]) == "Guaranteed"
        assert qos_class([Size("a"), Size("b", {"cpu": 0})]) == "BestEffort"

    @pytest.mark.parametrize(
        ("mode", "expected"), [("InPlaceOrRecreate", ["evict", "none", "none"]), ("InPlace", ["none"] * 3)]
    )
    def test_what_follows_from_an_obstacle(self, mode, expected):
        """An eviction if the mode allows it, else nothing; both say why."""
        actions = planned(fleet(3, container=Container("app")), mode, advice=Bounds("app", {"cpu": 200})).actions
        assert [action.action for action in actions] == expected
        assert actions[0].rule == "resize-not-allowed"
        assert "a resize cannot change its class from BestEffort to Burstable" in actions[0].sentence

    def test_an_old_cluster_evicts(self):
        """If the mode allows evictions."""
        assert done(fleet(3), "InPlaceOrRecreate", kubernetes=(1, 32))[0] == ("web-0", "evict", "resize-not-allowed")
        assert done(fleet(3), "InPlace", kubernetes=(1, 32))[0] == ("web-0", "none", "resize-not-allowed")
