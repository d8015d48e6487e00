"""How a decision on both axes is carried out, step by step."""

import json
from dataclasses import replace

import pytest

from builders import LONG_AGO, NOW
from hypot.core.sizes.disruption import PATIENCE
from hypot.policy.model.decision import Decision, Name, PodAction
from hypot.policy.model.seen import ClusterNode, Container, Ended, Failure, Owner, PendingResize, Pod, Scale, Seen
from hypot.policy.model.size import Size
from hypot.policy.model.state import State
from hypot.policy.plan.pursue import (
    EvictPod,
    Plan,
    RecordSize,
    ResizePod,
    ScaleTo,
    SetTemplate,
    begin,
    pursue,
    resizing_note,
    resizing_of,
)

NEWEST = (1, 36)
MIB = 1024 * 1024
NAME = Name("autoscaling.k8s.io/v1alpha1", "Hvpa", "shop", "web")
SMALL, LARGE = Size("app", {"cpu": 100, "memory": 64 * MIB}), Size("app", {"cpu": 200, "memory": 128 * MIB})
MIXED = Size("app", {"cpu": 200, "memory": 32 * MIB})
SMALL_GUARANTEED = SMALL._replace(limits=SMALL.requests)
LARGE_GUARANTEED = LARGE._replace(limits=LARGE.requests)
LOWERED = "Kubernetes 1.33 lowers the memory limit of app (128Mi to 64Mi) only if its resizePolicy is RestartContainer"


def milli(amounts):
    return {resource: amount * (1 if resource == "cpu" else 1000) for resource, amount in amounts.items()}


def container(size=SMALL, has=None, **more):
    """A container that requests a size, and has another size where the kubelet reports it."""
    said = {} if has is None else {"actual_requests": milli(has.requests), "actual_limits": milli(has.limits)}
    return Container(size.container, milli(size.requests), milli(size.limits), **{**said, **more})


def pod(name="web-0", size=SMALL, has=None, **more):
    usual = {
        "ready": "True",
        "started": LONG_AGO,
        "ready_since": LONG_AGO,
        "containers": (container(size, has),),
        "owners": (Owner("ReplicaSet", "web"),),
        "uid": f"uid-of-{name}",
        "node": "n1",
    }
    return Pod(name, **{**usual, **more})


def pods(count, size=SMALL, **more):
    return [pod(f"web-{i}", size, **more) for i in range(count)]


def seen(replicas, found=None, **more):
    listed = pods(replicas) if found is None else found
    return Seen(NOW, Scale(replicas, len(listed), "app=web"), tuple(listed), **more)


def decided(before, after, had=SMALL, wanted=SMALL, **more):
    return Decision(
        NAME, NAME, NOW, before, after, "", (), (), (), **{"sizes": (had,), "desired_sizes": (wanted,), **more}
    )


def begun(decision, observed, resizing="InPlaceOrRecreate", kubernetes=NEWEST):
    return begin(decision, observed, resizing, kubernetes, NOW)


def plan(before, after, had=SMALL, wanted=SMALL, resizing="InPlaceOrRecreate", *, waits=True, since=NOW - 60):
    return Plan(after, (wanted,), since, waits, resizing, before, (had,))


def pursued(known, observed, kubernetes=NEWEST, at=NOW):
    """The next step; calling twice gives the same result."""
    progress = pursue(known, observed, kubernetes, at)
    assert pursue(known, observed, kubernetes, at) == progress
    return progress


def reported(progress):
    """Actions in short: the action and its object."""
    return [
        f"{type(each).__name__} {each[0] if isinstance(each[0], int | str) else ''}".strip() for each in progress[0]
    ]


class TestResizing:
    """An annotation on the object says how pods get another size."""

    @pytest.mark.parametrize("word", ["InPlaceOrRecreate", "InPlace", "Template"])
    def test_known_words(self, word):
        """Each known word is used as written, without a note."""
        assert resizing_of({"hypot.dev/resize": word}) == word
        assert resizing_note({"hypot.dev/resize": word}) == ""

    def test_nothing_written(self):
        """Without an annotation pods are resized in place where possible."""
        assert (resizing_of({}), resizing_note({})) == ("InPlaceOrRecreate", "")

    def test_an_unknown_word(self):
        """The default applies, and a note says so."""
        written = {"hypot.dev/resize": "inplace"}
        assert resizing_of(written) == "InPlaceOrRecreate"
        assert resizing_note(written) == (
            "annotation hypot.dev/resize: 'inplace' is not one of InPlaceOrRecreate, InPlace, Template; "
            "InPlaceOrRecreate applies"
        )


class TestOneAxis:
    """A change of one axis waits for nothing."""

    @pytest.mark.parametrize("after", [1, 5])
    def test_only_the_count_without_sizes(self, after):
        """One write and no plan, as a horizontal autoscaler does it."""
        progress = begun(decided(3, after, sizes=(), desired_sizes=()), seen(3))
        assert progress == ((ScaleTo(after, 3),), None, "Done", f"Scale from 3 to {after}.")

    def test_fewer_pods_of_the_same_size(self):
        """It happens at once, even while some pods are not ready."""
        progress = begun(decided(3, 1), seen(3, pods(3, ready="False")))
        assert (progress.actions, progress.ended) == ((ScaleTo(1, 3),), "Done")

    def test_fewer_pods_of_several_sizes(self):
        """Any pod may stay, so smaller pods get the decided size first."""
        found = [pod("web-0", LARGE), *[pod(f"web-{i}") for i in range(1, 8)]]
        first = begun(decided(8, 2, LARGE, LARGE), seen(8, found))
        assert reported(first) == ["RecordSize", *[f"ResizePod web-{i}" for i in range(1, 8)]]
        assert first.plan.waits
        assert pursued(first.plan, seen(8, pods(8, LARGE))).actions == (ScaleTo(2, 8),)

    def test_more_pods_of_the_template_s_size(self):
        """They start with the right size; the size is still recorded first."""
        progress = begun(decided(1, 3), seen(1, template=(container(),)))
        assert progress[:3] == ((RecordSize((SMALL,)), ScaleTo(3, 1)), None, "Done")

    def test_more_pods_than_the_template_would_make_right(self):
        """The plan stays until the new pods exist, and resizes those that did not get the recorded size."""
        first = begun(decided(1, 2), seen(1, template=(container(LARGE),)))
        assert first.actions == (RecordSize((SMALL,)), ScaleTo(2, 1))
        assert pursued(first.plan, seen(2, pods(1))).message == "Waiting: 1 of 2 pods exist."
        wrong = seen(2, [pod(), pod("web-1", LARGE, ready="False", started=NOW)])
        assert pursued(first.plan, wrong).actions[1:] == (ResizePod("web-1", "uid-of-web-1", (SMALL,)),)
        right = seen(2, [pod(), pod("web-1", ready="False", started=NOW)])
        assert pursued(first.plan, right).ended == "Done"

    def test_only_the_count_under_template(self):
        """The template does not change."""
        assert begun(decided(1, 3), seen(1), "Template").actions == (ScaleTo(3, 1),)

    @pytest.mark.parametrize(("had", "wanted"), [(SMALL, LARGE), (LARGE, SMALL), (SMALL, MIXED)])
    def test_only_the_size(self, had, wanted):
        """All pods are resized at once, after the record, in either direction."""
        progress = begun(decided(2, 2, had, wanted), seen(2, pods(2, had, ready="False")))
        assert reported(progress) == ["RecordSize", "ResizePod web-0", "ResizePod web-1"]
        assert progress.actions[1].sizes == (wanted,)
        done = pursued(progress.plan, seen(2, pods(2, wanted)))
        assert (done.ended, done.message) == ("Done", "2 replicas have the decided size.")
        alone = begun(decided(1, 1, had, wanted), seen(1, pods(1, had)))
        assert pursued(alone.plan, seen(1, pods(1, wanted))).message == "1 replica has the decided size."

    def test_no_pods(self):
        """The size is recorded for the next pods."""
        progress = begun(decided(0, 0, SMALL, LARGE), seen(0))
        assert progress[:3] == ((RecordSize((LARGE,)),), None, "Done")

    def test_nothing_to_do(self):
        """A decision that moves nothing and a dry run lead to no action."""
        assert begun(decided(2, 2), seen(2))[:3] == ((), None, "Done")
        assert begun(decided(2, 4, dry_run=True), seen(2)).actions == ()

    def test_the_count_is_there_already(self):
        """Another writer has set the count already."""
        assert begun(decided(2, 4), seen(4)) == ((), None, "Done", "The target has 4 replicas already.")
        assert begun(decided(2, 1), seen(1)) == ((), None, "Done", "The target has 1 replica already.")


class TestBothAxes:
    """What gets larger goes first: replicas or requests."""

    def test_more_and_smaller(self):
        """The record, then more pods; once they are ready, the old pods get smaller."""
        first = begun(decided(2, 4, LARGE, SMALL), seen(2, pods(2, LARGE)))
        assert first.actions == (RecordSize((SMALL,)), ScaleTo(4, 2))
        assert first.plan == plan(2, 4, LARGE, SMALL, since=NOW)
        new = [pod(f"new-{i}", ready="False") for i in range(2)]
        waiting = pursued(first.plan, seen(4, [*pods(2, LARGE), *new]))
        assert (waiting.actions, waiting.plan, waiting.ended) == ((), first.plan, "")
        assert (
            waiting.message
            == "Waiting: pod web-0: its requests are lowered only once the new pods are ready (and 1 more)."
        )
        ready = [pod(f"new-{i}") for i in range(2)]
        assert reported(pursued(first.plan, seen(4, [*pods(2, LARGE), *ready])))[1:] == [
            "ResizePod web-0",
            "ResizePod web-1",
        ]
        asked = [*pods(2, SMALL, has=LARGE), *ready]
        assert pursued(first.plan, seen(4, asked)).actions == ()
        assert pursued(first.plan, seen(4, [*pods(2), *ready])).ended == "Done"

    def test_new_pods_that_are_too_small_do_not_count(self):
        """They did not get the recorded size, so they are resized before the old pods get smaller."""
        tiny = Size("app", {"cpu": 10, "memory": MIB})
        found = [pod("old", LARGE), pod("new", tiny, started=NOW - 30)]
        progress = pursued(plan(1, 2, LARGE, SMALL), seen(2, found))
        assert progress.actions[1:] == (ResizePod("new", "uid-of-new", (SMALL,)),)

    def test_fewer_and_larger(self):
        """Every pod gets larger; once all have the size and enough are ready, the count is lowered."""
        first = begun(decided(3, 2, SMALL, LARGE), seen(3))
        assert reported(first) == ["RecordSize", "ResizePod web-0", "ResizePod web-1", "ResizePod web-2"]
        assert pursued(first.plan, seen(3, pods(3, LARGE, has=SMALL))).actions == ()
        two = [*pods(2, LARGE), pod("web-2", LARGE, SMALL)]
        assert pursued(first.plan, seen(3, two)).actions == ()
        assert pursued(first.plan, seen(3, pods(3, LARGE))).actions == (ScaleTo(2, 3),)
        assert pursued(first.plan, seen(2, pods(2, LARGE))).ended == "Done"

    @pytest.mark.parametrize(("kind", "actions"), [("ReplicaSet", (ScaleTo(2, 3),)), ("StatefulSet", ())])
    def test_which_pod_goes_first(self, kind, actions):
        """A pod that is not ready goes first, except in a StatefulSet, which removes the last pod."""
        found = [replace(one, owners=(Owner(kind, "web"),)) for one in pods(3, LARGE)]
        found[0] = replace(found[0], ready="False")
        assert pursued(plan(3, 2, SMALL, LARGE), seen(3, found)).actions == actions

    def test_too_few_are_ready(self):
        """All pods have the size, but none is removed yet."""
        progress = pursued(plan(3, 2, SMALL, LARGE), seen(3, pods(3, LARGE, ready="False")))
        assert progress[0::3] == ((), "Waiting: 0 of 3 pods are ready, and 2 must be before any is removed.")

    def test_more_and_larger(self):
        """Both happen at once."""
        progress = begun(decided(1, 2, SMALL, LARGE), seen(1))
        assert reported(progress) == ["RecordSize", "ScaleTo 2", "ResizePod web-0"]
        assert not progress.plan.waits
        assert progress.message == "Scale from 1 to 2, resize pod web-0 in place."

    def test_fewer_and_smaller(self):
        """The remaining pods get smaller once the others are gone."""
        first = begun(decided(3, 2, LARGE, SMALL), seen(3, pods(3, LARGE)))
        assert first.actions == (ScaleTo(2, 3),)
        assert len(pursued(first.plan, seen(2, pods(2, LARGE))).actions) == 3

    def test_none_at_all(self):
        """Scaling to zero waits for nothing."""
        assert begun(decided(2, 0, SMALL, LARGE), seen(2)).actions == (ScaleTo(0, 2),)

    def test_more_with_less_of_one_thing_and_more_of_another(self):
        """The part that gets smaller decides when; the larger part comes with it."""
        found = [pod("old"), pod("new", MIXED)]
        assert pursued(plan(1, 2, SMALL, MIXED), seen(2, [pod("old"), pod("new", MIXED, ready="False")])).actions == ()
        assert reported(pursued(plan(1, 2, SMALL, MIXED), seen(2, found)))[1:] == ["ResizePod old"]

    def test_a_lost_write_is_asked_for_again(self):
        """Nothing was done, so the same actions come again."""
        first = begun(decided(2, 4, LARGE, SMALL), seen(2, pods(2, LARGE)))
        assert pursued(first.plan, seen(2, pods(2, LARGE))).actions == first.actions


class TestInPlace:
    """What is asked of a pod, and what is not."""

    def test_asked_already(self):
        """The node has the request, so nothing is asked again."""
        progress = pursued(plan(1, 1, SMALL, LARGE), seen(1, [pod(size=LARGE, has=SMALL)]))
        assert progress[0::3] == ((), "Waiting: pod web-0: its node has not applied the new size yet.")

    def test_an_older_request_is_taken_back(self):
        """The pod has the size, but requests another size that is deferred."""
        found = [pod(size=LARGE, has=SMALL, resize=PendingResize("deferred", NOW))]
        assert pursued(plan(1, 1, MIXED, SMALL), seen(1, found)).actions[1].sizes == (SMALL,)

    def test_others_are_left_alone(self):
        """Sidecars, containers that the plan does not name, and pods that are terminating or finished."""
        side = replace(container(SMALL), sidecar=True)
        beside = Container("proxy", {"cpu": 5})
        found = [
            pod("a", containers=(container(LARGE), beside)),
            pod("b", containers=(side,)),
            pod("c", deleted=True),
            pod("d", phase="Failed"),
            pod("e", phase="Succeeded"),
        ]
        assert pursued(plan(2, 2, SMALL, LARGE), seen(2, found)).ended == "Done"

    def test_what_the_plan_does_not_name_is_asked_for_as_it_is(self):
        """A resize cannot remove what is set."""
        given = Container("app", {"cpu": 100, "memory": 64_000, "disk": 1}, {"memory": 64_000})
        wanted = Size("app", {"cpu": 200})
        found = [pod(containers=(given,))]
        progress = pursued(plan(1, 1, Size("app", {"cpu": 100}), wanted), seen(1, found))
        assert progress.actions[1].sizes == (Size("app", {"cpu": 200, "memory": 64}, {"memory": 64}),)

    @pytest.mark.parametrize(
        ("had", "wanted", "kubernetes", "more", "message"),
        [
            (SMALL, LARGE, (1, 32), {}, "Kubernetes 1.32 cannot resize pods in place"),
            (SMALL, LARGE_GUARANTEED, NEWEST, {}, "a resize cannot change its class from Burstable to Guaranteed"),
            (Size("app"), LARGE, NEWEST, {}, "a resize cannot change its class from BestEffort to Burstable"),
            (
                LARGE_GUARANTEED,
                SMALL_GUARANTEED,
                (1, 33),
                {},
                LOWERED,
            ),
            (
                SMALL,
                LARGE,
                NEWEST,
                {"nodes": {"n1": ClusterNode("n1", {"cpu": 150}), "n2": ClusterNode("n2", {"cpu": 200})}},
                "it would request 200m of cpu, and node n1 has 150m in total",
            ),
        ],
    )
    def test_obstacles(self, had, wanted, kubernetes, more, message):
        """What cannot be done in place is done by eviction, or not at all."""
        observed = seen(2, pods(2, had), **more)
        decision = decided(2, 2, had, wanted)
        evicting = begun(decision, observed, kubernetes=kubernetes)
        assert evicting.actions == (RecordSize((wanted,)), EvictPod("web-0", "uid-of-web-0", message))
        staying = begun(decision, observed, "InPlace", kubernetes)
        assert staying == ((RecordSize((wanted,)),), None, "Infeasible", f"pod web-0: {message} (and 1 more).")

    def test_room_on_the_node_for_all_containers(self):
        """Containers that the plan does not name count too."""
        beside = Container("proxy", {"cpu": 60})
        found = [pod(containers=(container(), beside))]
        for room, action in ((260, ResizePod), (259, EvictPod)):
            nodes = {"n1": ClusterNode("n1", {"cpu": room, "memory": 10**15}), "n2": ClusterNode("n2", {"cpu": 260})}
            observed = seen(1, found, nodes=nodes)
            assert isinstance(begun(decided(1, 1, SMALL, LARGE), observed).actions[1], action)

    @pytest.mark.parametrize(
        ("others", "fits"),
        [
            ([], False),
            ([{"cpu": 259, "memory": 10**15}, {"cpu": 10**6, "memory": 127_000 * MIB}], False),
            ([{"cpu": 260, "memory": 128_000 * MIB}], True),
            ([{"cpu": 260}], True),
            ([{}], True),
        ],
    )
    def test_no_pod_goes_for_a_size_that_no_node_holds(self, others, fits):
        """The pod would stay Pending: one node must hold all of it. A node without known size may be large enough."""
        sizes = dict(enumerate([{"cpu": 150, "memory": 10**15}, *others], 1))
        nodes = {f"n{number}": ClusterNode(f"n{number}", size) for number, size in sizes.items()}
        ended = Ended("OOMKilled", NOW - 65, NOW - 60)
        beside = Container("proxy", {"cpu": 60})
        for app in (container(), container(ended=ended, restarts=5)):
            found = seen(1, [pod(containers=(app, beside))], nodes=nodes)
            progress = pursued(plan(1, 1, SMALL, LARGE), found)
            assert (reported(progress)[1:], progress.ended) == (
                (["EvictPod web-0"], "") if fits else ([], "Infeasible")
            )
            assert progress.message.endswith("and no node is large enough for it.") is not fits
            recorded = begun(decided(1, 1, SMALL, LARGE), found).actions[:1]
            assert recorded == ((RecordSize((LARGE,)),) if fits else ())

    def test_one_odd_pod_does_not_stop_the_record(self):
        """The size is recorded if a node can hold the most common kind of pod, as new pods are like it."""
        huge = pod("web-2", containers=(container(), Container("debug", {"cpu": 10**6})))
        nodes = {"n1": ClusterNode("n1", {"cpu": 150}), "n2": ClusterNode("n2", {"cpu": 10**4})}
        for found, recorded in (([*pods(2), huge], (RecordSize((LARGE,)),)), ([pod(), huge, huge], ())):
            progress = begun(decided(3, 3, SMALL, LARGE), seen(3, found, nodes=nodes), "InPlace")
            assert (progress.actions, progress.ended) == (recorded, "Infeasible")

    def test_more_pods_of_the_old_size_where_no_node_holds_the_new_one(self):
        """They can at least run; with the new size they would stay Pending."""
        observed = seen(1, nodes={"n1": ClusterNode("n1", {"cpu": 150})})
        progress = begun(decided(1, 2, SMALL, LARGE), observed)
        assert progress.actions == (ScaleTo(2, 1),)
        larger = replace(observed, nodes={"n1": ClusterNode("n1", {"cpu": 1000})})
        assert reported(pursued(progress.plan, larger))[0] == "RecordSize"

    def test_the_others_get_their_size_first(self):
        """A pod that cannot have the size ends the plan only after the others have it."""
        never = pod("web-1", LARGE, SMALL, resize=PendingResize("infeasible", NOW, "no such node"))
        known = plan(2, 2, SMALL, LARGE, "InPlace")
        first = pursued(known, seen(2, [pod(), never]))
        assert (reported(first), first.ended) == (["RecordSize", "ResizePod web-0"], "")
        assert pursued(known, seen(2, [pod(size=LARGE, has=SMALL), never])).ended == ""
        assert pursued(known, seen(2, [pod(size=LARGE), never]))[2:] == (
            "Infeasible",
            "pod web-1: its node can never grant the requested resize (no such node).",
        )

    def test_fewer_pods_only_if_the_others_could_grow(self):
        """A final refusal ends the plan before anything is scaled down."""
        found = [*pods(2, LARGE), pod("web-2", LARGE, SMALL, resize=PendingResize("infeasible", NOW))]
        assert pursued(plan(3, 1, SMALL, LARGE, "InPlace"), seen(3, found))[:3] == ((), None, "Infeasible")

    def test_restarts_in_turn(self):
        """A resize that restarts its container makes the pod unavailable for a while, as an eviction does."""
        found = [pod(f"web-{i}", containers=(container(restarts_on_resize=frozenset({"memory"})),)) for i in range(8)]
        actions = begun(decided(8, 8, SMALL, LARGE), seen(8, found)).actions
        assert [each.restarts for each in actions if isinstance(each, ResizePod)] == [True, True]
        assert len(actions) == 3
        found[0] = replace(found[0], containers=(replace(found[0].containers[0], **_asks(LARGE, SMALL)),))
        assert len(pursued(plan(8, 8, SMALL, LARGE), seen(8, found)).actions) == 2
        only_cpu = SMALL._replace(requests={**SMALL.requests, "cpu": 300})
        actions = pursued(plan(8, 8, SMALL, only_cpu), seen(8, found[1:])).actions
        assert len(actions) == 8
        assert not any(each.restarts for each in actions if isinstance(each, ResizePod))


def _asks(size, has):
    return {"requests": milli(size.requests), "actual_requests": milli(has.requests), "actual_limits": {}}


class TestAbandoning:
    """Plans do not wait for ever."""

    @pytest.mark.parametrize(
        ("state", "ago", "evicts"),
        [
            ("deferred", 300, False),
            ("deferred", 301, True),
            ("in-progress", 250, False),
            ("infeasible", 0, True),
            ("error", 0, True),
            ("unknown", 0, True),
        ],
    )
    def test_what_a_node_does_not_grant(self, state, ago, evicts):
        """The pod is evicted, so that it starts on another node, if the mode allows it."""
        stuck = pod(size=LARGE, has=SMALL, resize=PendingResize(state, NOW - ago))
        known = plan(2, 2, SMALL, LARGE, since=NOW - ago - 15)
        found = [stuck, pod("web-1", LARGE)]
        assert reported(pursued(known, seen(2, found))) == (["RecordSize", "EvictPod web-0"] if evicts else [])
        assert pursued(replace(known, resizing="InPlace"), seen(2, found)).actions == ()

    @pytest.mark.parametrize(("ago", "ended"), [(300, ""), (301, "TimedOut")])
    def test_deferred_for_too_long(self, ago, ended):
        """The time counts from when the node deferred it; without an eviction the plan is abandoned."""
        stuck = pod(size=LARGE, has=SMALL, resize=PendingResize("deferred", NOW - ago, "no room"))
        progress = pursued(plan(1, 1, SMALL, LARGE, "InPlace", since=NOW - 315), seen(1, [stuck]))
        assert progress.ended == ended
        if ended:
            assert progress.message == (
                "Abandoned after 5 min 15 s: pod web-0: its node has deferred a resize for 5 min 1 s (no room)."
            )

    @pytest.mark.parametrize(("lasted", "ended"), [(PATIENCE, ""), (PATIENCE + 1, "TimedOut")])
    def test_pods_that_are_never_ready(self, lasted, ended):
        """Nothing gets smaller, neither while waiting nor at the end."""
        found = [pod("old", LARGE), pod("new", ready="False", started=None, ready_since=None)]
        progress = pursued(plan(1, 2, LARGE, SMALL, since=NOW - lasted), seen(2, found))
        assert (progress.actions, progress.ended) == ((), ended)

    def test_progress_extends_the_time(self):
        """A pod that recently started with the size extends the time for the others, but not for ever."""
        found = [pod("a", LARGE, started=NOW - 200), pod("b", LARGE, SMALL)]
        assert pursued(plan(2, 2, SMALL, LARGE, since=NOW - 900), seen(2, found)).ended == ""
        assert pursued(plan(2, 2, SMALL, LARGE, since=NOW - 3601), seen(2, found)).ended == "TimedOut"
        found[0] = pod("a", LARGE, started=NOW - 301)
        assert pursued(plan(2, 2, SMALL, LARGE, since=NOW - 900), seen(2, found)).ended == "TimedOut"

    def test_a_refused_write_is_not_asked_for_for_ever(self):
        """The pods never change, so the plan is abandoned."""
        assert pursued(plan(1, 1, SMALL, LARGE, since=NOW - 301), seen(1))[:3] == ((), None, "TimedOut")

    def test_a_finished_scale_up_may_still_scale_down(self):
        """After a long break all pods have the size that the plan waited for."""
        late = plan(3, 2, SMALL, LARGE, since=NOW - 1200)
        assert pursued(late, seen(3, pods(3, LARGE))).actions == (ScaleTo(2, 3),)

    def test_another_writer_scaled(self):
        """The count is neither the old nor the new count, so nothing is done."""
        assert pursued(plan(2, 4, LARGE, SMALL), seen(3, pods(3, LARGE))) == (
            (),
            None,
            "Superseded",
            "Another writer scaled the target to 3 while the plan scaled it from 2 to 4: the plan is abandoned.",
        )
        assert begun(decided(2, 4), seen(5))[:3] == ((), None, "Superseded")
        assert begun(decided(2, 4, LARGE, SMALL), seen(5))[:3] == ((), None, "Superseded")

    def test_an_unknown_scale(self):
        """The plan waits, and is abandoned in the end."""
        blind = Seen(NOW, Failure("no such resource"), tuple(pods(2)))
        assert pursued(plan(2, 4), blind).message == "Waiting: the scale of the target is unknown: no such resource."
        assert pursued(plan(2, 4, since=NOW - 4000), blind).ended == "TimedOut"


class TestEvictions:
    """Pods that cannot be resized in place are evicted."""

    OLD = (1, 32)

    @pytest.mark.parametrize(("count", "evicted"), [(1, 1), (3, 1), (7, 1), (8, 2), (12, 3)])
    def test_how_many_at_once(self, count, evicted):
        """A quarter of the pods, but at least one."""
        progress = begun(decided(count, count, SMALL, LARGE), seen(count), kubernetes=self.OLD)
        assert len(progress.actions) == 1 + evicted

    def test_unavailable_pods_count(self):
        """The next pod is evicted when the last is ready again."""
        found = [pod("a", LARGE, ready="False", started=NOW - 5), *pods(3)]
        known = plan(4, 4, SMALL, LARGE)
        assert pursued(known, seen(4, found), self.OLD).actions == ()
        found[0] = pod("a", LARGE, started=NOW - 5)
        assert reported(pursued(known, seen(4, found), self.OLD))[1:] == ["EvictPod web-0"]

    def test_a_pod_that_is_not_ready_goes_first(self):
        """It is unavailable already."""
        found = [*pods(3), pod("web-3", ready="False")]
        assert reported(pursued(plan(4, 4, SMALL, LARGE), seen(4, found), self.OLD))[1:] == ["EvictPod web-3"]

    def test_a_single_pod_waits_for_the_second(self):
        """If the count is raised, the eviction waits for the second pod."""
        first = begun(decided(1, 2, SMALL, LARGE), seen(1), kubernetes=self.OLD)
        assert reported(first) == ["RecordSize", "ScaleTo 2"]
        both = [pod(), pod("web-1", LARGE, started=NOW - 5)]
        assert reported(pursued(first.plan, seen(2, both), self.OLD))[1:] == ["EvictPod web-0"]

    def test_a_pod_without_a_controller_stays(self):
        """Nothing would replace it."""
        progress = begun(decided(1, 1, SMALL, LARGE), seen(1, [pod(owners=())]), kubernetes=self.OLD)
        assert progress.ended == "Infeasible"
        assert progress.message.endswith("in place, and it has no controller that would replace it.")

    def test_one_that_came_back_wrong_is_not_evicted_again(self):
        """The recorded size was not applied, so another eviction would not help."""
        found = [pod(started=NOW - 5)]
        progress = pursued(plan(1, 1, SMALL, LARGE), seen(1, found), self.OLD)
        assert progress[:3] == ((), None, "Infeasible")
        assert "it started with another size than the recorded one" in progress.message

    def test_a_pod_that_has_not_started_is_waited_for(self):
        """It may be a new pod."""
        found = [pod(started=None, ready=None, phase="Pending")]
        assert pursued(plan(1, 1, SMALL, LARGE), seen(1, found), self.OLD)[:3:2] == ((), "")

    @pytest.mark.parametrize(
        ("ready", "finished", "mode", "action"),
        [
            ("False", 30, "InPlaceOrRecreate", "EvictPod"),
            ("False", 30, "InPlace", "ResizePod"),
            ("False", 700, "InPlaceOrRecreate", "ResizePod"),
        ],
    )
    def test_oom_killed_again_and_again(self, ready, finished, mode, action):
        """All are evicted at once, as none is ready; an old kill does not matter."""
        ended = Ended("OOMKilled", NOW - finished - 20, NOW - finished)
        found = pods(4, ready=ready, containers=(container(ended=ended, restarts=5),))
        progress = begun(decided(4, 4, SMALL, LARGE), seen(4, found), mode)
        assert reported(progress)[1:] == [f"{action} web-{i}" for i in range(4)]

    def test_killed_but_up_again(self):
        """They are evicted one at a time while they are ready."""
        ended = Ended("OOMKilled", NOW - 50, NOW - 30)
        found = pods(4, containers=(container(ended=ended, restarts=1),))
        progress = begun(decided(4, 4, SMALL, LARGE), seen(4, found))
        assert reported(progress)[1:] == ["EvictPod web-0"]
        assert progress.message == "Evict pod web-0 (container app is OOM-killed soon after each start)."


class TestTemplate:
    """Only the template and the count are written."""

    def test_only_the_size(self):
        """The workload's controller replaces the pods, and the plan waits for it."""
        first = begun(decided(2, 2, SMALL, LARGE), seen(2, template=(container(),)), "Template")
        assert first.actions == (SetTemplate((LARGE,)),)
        set_ = {"template": (container(LARGE),)}
        assert pursued(first.plan, seen(2, [pod(size=LARGE), pod("web-1")], **set_)).message == (
            "Waiting: 1 of 2 pods have the new size, and 2 are ready."
        )
        assert pursued(first.plan, seen(2, pods(2, LARGE), **set_)).ended == "Done"

    def test_more_and_smaller(self):
        """First the count is raised; the template is set once the new pods are ready."""
        first = begun(decided(1, 2, LARGE, SMALL), seen(1, pods(1, LARGE), template=(container(LARGE),)), "Template")
        assert first.actions == (ScaleTo(2, 1),)
        found = [pod("a", LARGE), pod("b", LARGE, ready="False")]
        observed = seen(2, found, template=(container(LARGE),))
        assert pursued(first.plan, observed).actions == ()
        assert pursued(first.plan, replace(observed, pods=tuple(pods(2, LARGE)))).actions == (SetTemplate((SMALL,)),)

    def test_fewer_and_larger(self):
        """First the template; the count is lowered only once all pods have the size."""
        known = plan(3, 2, SMALL, LARGE, "Template")
        assert pursued(known, seen(3, template=(container(),))).actions == (SetTemplate((LARGE,)),)
        rolling = seen(3, [*pods(2, LARGE), pod("web-2")], template=(container(LARGE),))
        assert pursued(known, rolling).actions == ()
        assert pursued(replace(known, since=NOW - 3700), rolling)[:3] == ((), None, "TimedOut")
        rolled = replace(rolling, pods=tuple(pods(3, LARGE)))
        assert pursued(known, rolled).actions == (ScaleTo(2, 3),)

    @pytest.mark.parametrize(("before", "after", "had", "wanted"), [(1, 2, SMALL, LARGE), (2, 1, LARGE, SMALL)])
    def test_one_way(self, before, after, had, wanted):
        """Both happen at once."""
        observed = seen(before, pods(before, had), template=(container(had),))
        progress = begun(decided(before, after, had, wanted), observed, "Template")
        assert progress.actions == (ScaleTo(after, before), SetTemplate((wanted,)))

    def test_injected_containers_are_not_the_template_s(self):
        """Their sizes cannot be written there."""
        proxy = Size("proxy", {"cpu": 10})
        decision = decided(1, 1, sizes=(SMALL, proxy), desired_sizes=(LARGE, proxy._replace(requests={"cpu": 20})))
        assert begun(decision, seen(1, template=(container(),)), "Template").actions == (SetTemplate((LARGE,)),)
        found = [pod(containers=(container(LARGE), container(proxy)))]
        known = begun(decision, seen(1, template=(container(),)), "Template").plan
        assert pursued(known, seen(1, found, template=(container(LARGE),))).ended == "Done"

    def test_an_unknown_template(self):
        """The sizes of the pods show whether it was written."""
        known = plan(1, 1, SMALL, LARGE, "Template")
        assert pursued(known, seen(1)).actions == (SetTemplate((LARGE,)),)
        assert pursued(known, seen(1, pods(1, LARGE))).ended == "Done"


class TestPodByPod:
    """A decision that names each pod needs no plan."""

    def test_each_as_it_is_named(self):
        """With the uid, as a StatefulSet reuses names; pods that are gone are left out."""
        pod_actions = (
            PodAction("web-0", "resize", "", "", (LARGE,)),
            PodAction("web-1", "evict", "", "Too small."),
            PodAction("web-2", "none", "", ""),
            PodAction("web-9", "evict", "", ""),
        )
        progress = begun(decided(3, 3, SMALL, LARGE, actions=pod_actions, by_pod=True), seen(3))
        assert progress[:3] == (
            (
                RecordSize((LARGE,)),
                ResizePod("web-0", "uid-of-web-0", (LARGE,)),
                EvictPod("web-1", "uid-of-web-1", "Too small."),
            ),
            None,
            "Done",
        )


class TestState:
    """A plan survives a restart."""

    KNOWN = plan(2, 4, LARGE_GUARANTEED, SMALL_GUARANTEED)

    def test_json_and_back(self):
        """Alone and inside a state; a state without a plan has no such key."""
        written = json.loads(json.dumps(self.KNOWN.to_dict()))
        assert Plan.from_dict(written) == self.KNOWN
        state = State(plan=self.KNOWN)
        assert State.from_dict(json.loads(json.dumps(state.to_dict()))) == state
        assert hash(State.from_dict(state.to_dict())) == hash(state)
        assert "plan" not in State().to_dict()

    def test_it_is_kept(self):
        """Every method that makes a new state keeps the plan."""
        state, decision = State(plan=self.KNOWN), decided(2, 4)
        after = [
            state.after_deciding(None),
            state.first_seen(2, NOW),
            state.acted(decision, NOW),
            state.reported(decision),
        ]
        assert [each.plan for each in after] == [self.KNOWN] * 4

    @pytest.mark.parametrize(
        "change",
        [
            {"replicas": -1},
            {"replicas": True},
            {"replicas": 2**31},
            {"beforeReplicas": "2"},
            {"since": None},
            {"since": float("nan")},
            {"since": 10**400},
            {"waits": 1},
            {"resizing": "Recreate"},
            {"resizing": []},
            {"sizes": None},
            {"sizes": [{}] * 257},
            {"sizes": [3]},
            {"sizes": [{"container": "app", "requests": None, "limits": {}}]},
            {"sizes": [{"container": "app", "requests": {"cpu": -1}, "limits": {}}]},
            {"sizes": [{"container": "app", "requests": {"disk": 1}, "limits": {}}]},
            {"beforeSizes": [{"container": 1, "requests": {}, "limits": {}}]},
        ],
    )
    def test_an_invalid_plan(self, change):
        """Alone it is an error; inside a state it is ignored."""
        written = {**self.KNOWN.to_dict(), **change}
        with pytest.raises(ValueError, match=next(iter(change))):
            Plan.from_dict(written)
        assert State.from_dict({"plan": written}).plan is None

    def test_a_plan_that_is_not_an_object(self):
        """A list is an error."""
        with pytest.raises(ValueError, match="must be an object"):
            Plan.from_dict([])
