"""Whole reconciles on a cluster in memory: observe, decide, act, report and remember, for each kind."""

import asyncio

import pytest

from fake_objects import refusal
from hypot.cluster.port import MayNotWriteError, UnreachableError
from hypot.run.store.shards import Shards
from unit.policy.sizes_world import NAMESPACE, TARGET, hvpa, made, node, vpa
from unit.run.run_world import KINDS, OWN, WEB, World, all_kinds, blocked, body, hpa, web, wpa

pytestmark = pytest.mark.asyncio
WPAS = KINDS["WatermarkPodAutoscaler"]
ONLY_VPA = all_kinds(VerticalPodAutoscaler="act")
ONLY_HPA = all_kinds(HorizontalPodAutoscaler="act")


def order(world):
    """The kinds of writes of a reconcile, in order."""
    message = {"scale": "scale", "status": "status", "resize": "resize", "eviction": "eviction", "events": "event"}
    paths = [call.path for call in world.writes()]
    return [next((word for part, word in message.items() if path.endswith(part)), "memory") for path in paths]


# Each kind.


async def test_wpa_scales_with_the_version_that_was_seen():
    """The count follows the metric, on the watched version of the target; the status comes after."""
    async with World(*web(4), wpa()) as world:
        world.queue("80")
        version = world.at(WEB)["metadata"]["resourceVersion"]
        outcome = await world.outcome()
        assert (world.replicas, outcome.refusal) == (8, "")
        assert order(world) == ["scale", "status", "event", "memory"]
        assert body(world.writes("/scale")[0])["metadata"]["resourceVersion"] == version
        assert world.status()["desiredReplicas"] == 8
        assert world.condition("AbleToScale")["reason"] == "SuccessfulScale"
        assert world.events("Scaling")[0]["message"].startswith("New size: 8")
        assert (outcome.state.last_scale, outcome.state.desired) == (world.now, 8)


async def test_hpa_scales_where_it_is_switched_on():
    """It serves tests, and clusters without the HPA controller."""
    async with World(*web(2), hpa(), kinds=ONLY_HPA) as world:
        world.uses("1")
        await world.reconcile()
        assert world.replicas == 4
        assert world.status("HorizontalPodAutoscaler")["desiredReplicas"] == 4
        assert world.events("SuccessfulRescale")


async def test_hvpa_moves_on_both_axes_and_says_when_it_is_done():
    """The size for new pods is recorded before any is created; the plan ends once all pods have it."""
    async with World(*web(1), hvpa(), node()) as world:
        world.uses("1", "3Gi")
        outcome = await world.outcome("Hvpa")
        assert order(world)[:4] == ["status", "scale", "resize", "status"]
        assert (world.replicas, outcome.state.plan is not None) == (2, True)
        assert world.condition("CarriedOut", "Hvpa")["reason"] == "UnderWay"
        for _ in range(5):
            world.follow()
            world.uses("500m", "1.5Gi")
            outcome = await world.outcome("Hvpa")
        sizes = {each["spec"]["containers"][0]["resources"]["requests"]["memory"] for each in pods(world)}
        assert (len(pods(world)), sizes) == (2, {"1930816k"})
        assert outcome.state.plan is None
        assert world.condition("CarriedOut", "Hvpa")["status"] == "True"


async def test_hvpa_under_a_plan_decides_nothing_new():
    """One move at a time: other proposals wait meanwhile, and the condition says so."""
    async with World(*web(1), hvpa(), node()) as world:
        world.uses("1", "3Gi")
        await world.reconcile()
        world.follow()
        world.uses("3", "12Gi")
        outcome = await world.outcome("Hvpa")
        assert blocked(outcome)[0] == "PlanUnderWay"
        assert not outcome.decision.rescales


async def test_vpa_sizes_pods_one_by_one():
    """It resizes in place, within the budget of the workload, with the pod's version as precondition."""
    async with World(*web(2), vpa("InPlaceOrRecreate"), node(), kinds=ONLY_VPA) as world:
        world.uses("3", "3Gi")
        await world.reconcile()
        (resize,) = world.writes("/resize")
        assert resize.path.endswith("/pods/web-0/resize")
        assert body(resize)["metadata"]["uid"] == "u0"
        assert body(resize)["metadata"]["resourceVersion"]
        assert world.status("VerticalPodAutoscaler")["recommendation"]["containerRecommendations"]
        world.uses("3", "3Gi")
        await world.reconcile()
        assert [call.path.rsplit("/", 2)[1] for call in world.writes("/resize")] == ["web-1"]


async def test_vpa_evicts_where_it_is_asked_to():
    """The eviction has uid and version, so that only the observed pod is evicted."""
    async with World(*web(2), vpa("Recreate"), node(), kinds=ONLY_VPA) as world:
        for _ in range(2):
            world.uses("3", "3Gi")
            await world.reconcile()
        (eviction,) = world.writes("/eviction")
        assert set(body(eviction)["deleteOptions"]["preconditions"]) == {"uid", "resourceVersion"}
        assert len(pods(world)) == 1


async def test_nothing_is_evicted_while_new_pods_would_not_be_sized():
    """An evicted pod would come back with its old size, again and again."""
    async with World(*web(2), vpa("Recreate"), node(), kinds=ONLY_VPA) as world:
        world.app.sizes_new_pods = False
        world.uses("3", "3Gi")
        await world.reconcile()
        assert not world.writes("/eviction")
        assert world.events("WebhookUnavailable")


@pytest.mark.parametrize(("recommenders", "reported"), [([{"name": "hypot"}], True), (None, False), ("hypot", False)])
async def test_recommend_mode_only_reports(recommenders, reported):
    """It writes only the status of VPAs that name hypot, never a pod; unreadable VPAs are left alone."""
    spec = {} if recommenders is None else {"recommenders": recommenders}
    kinds = all_kinds(VerticalPodAutoscaler="recommend")
    async with World(*web(2), vpa("Recreate", spec=spec), node(), kinds=kinds) as world:
        world.uses("3", "3Gi")
        await world.reconcile()
        assert not world.writes("/pods/")
        assert bool(world.writes("/status")) is reported
        assert ("recommendation" in world.status("VerticalPodAutoscaler")) is reported


def pods(world):
    return world.cluster.objects(f"/api/v1/namespaces/{NAMESPACE}/pods")


# Conflicts and refusals.


def just_before_the_write(world, do):
    """Another client writes first, once."""
    done = []

    def overtakes(call):
        if call.writes and call.path.endswith("/scale") and not done:
            done.append(call)
            do()

    world.cluster.faults = overtakes


async def test_a_conflict_is_tried_again_while_the_count_is_the_same():
    """The target changed but not its count: the same decision is sent once more, on the new version."""
    async with World(*web(4), wpa()) as world:
        world.queue("80")

        def touch():
            there = world.at(WEB)
            there["metadata"]["annotations"] = {"touched": "yes"}
            world.put(there)

        just_before_the_write(world, touch)
        outcome = await world.outcome()
        assert (outcome.refusal, world.replicas) == ("", 8)
        first, second = [int(body(call)["metadata"]["resourceVersion"]) for call in world.writes("/scale")]
        assert first < second
        assert outcome.state.last_scale == world.now


async def test_a_conflict_is_dropped_where_the_count_changed():
    """A user who scales meanwhile wins; nothing is remembered as done."""
    async with World(*web(4), wpa()) as world:
        world.queue("80")
        just_before_the_write(world, lambda: world.scaled(6))
        outcome = await world.outcome()
        assert (world.replicas, len(world.writes("/scale"))) == (6, 1)
        assert "has 6 replicas now, not the 4" in outcome.refusal
        assert (outcome.state.last_scale, outcome.state.scalings) == (None, 0)


async def test_a_refusal_is_reported_and_not_remembered_as_done():
    """The next reconcile tries again, as no window has begun."""
    async with World(*web(4), wpa()) as world:
        world.queue("80")
        world.cluster.faults = lambda call: (
            refusal(403, "hypot may not") if call.writes and call.path.endswith("/scale") else None
        )
        outcome = await world.outcome()
        assert "hypot may not" in outcome.refusal
        assert outcome.state.last_scale is None
        assert world.condition("AbleToScale")["status"] == "False"
        assert "lastScaleTime" not in world.status()
        assert world.events("FailedScale")
        world.cluster.faults = None
        await world.reconcile()
        assert world.replicas == 8


@pytest.mark.parametrize(
    "fault", [refusal(500, "no"), UnreachableError("cut"), MayNotWriteError("not leading")], ids=lambda f: str(type(f))
)
async def test_a_reconcile_without_a_single_write_still_ends(fault):
    """What could not be written is kept in the state, and is written as soon as possible."""
    async with World(*web(4), wpa(), hvpa(name="other", targetRef={**TARGET, "name": "none"})) as world:
        world.queue("80")
        world.cluster.faults = lambda call: fault if call.writes else None
        reconciled = await world.reconcile()
        assert (len(reconciled.outcomes), world.replicas) == (2, 4)
        assert world.of(reconciled).refusal
        assert reconciled.outcomes[0].key in world.reconciler.judge.states
        world.cluster.faults = None
        await world.reconcile()
        assert world.replicas == 8
        assert world.status()["desiredReplicas"] == 8


async def test_a_write_without_an_answer_begins_the_windows():
    """The write may have succeeded: if the next reconcile sees the new count, it counts as done then."""
    spec = {"upscaleForbiddenWindowSeconds": 60}
    async with World(*web(4), wpa(**spec)) as world:
        world.queue("80")

        def cut(call):
            if call.writes and call.path.endswith("/scale"):
                world.scaled(8)
                return UnreachableError("cut")
            return None

        world.cluster.faults = cut
        assert (await world.outcome()).refusal
        world.cluster.faults = None
        world.follow()
        world.queue("200")
        outcome = await world.outcome()
        assert outcome.state.last_scale == world.now
        assert world.replicas == 8


# What is there, and what is gone.


async def test_an_object_that_is_gone_is_forgotten():
    """Its state is dropped, and its target stays as it is."""
    async with World(*web(4), wpa()) as world:
        world.queue("80")
        await world.reconcile()
        world.cluster.remove(f"{WPAS}/web")
        reconciled = await world.reconcile()
        assert (reconciled.outcomes, world.reconciler.judge.states, world.replicas) == ((), {}, 8)
        loaded = await Shards(world.cluster, OWN).load()
        assert list(loaded.entries) == ["governor"]


async def test_a_new_object_of_the_same_name_begins_without_state():
    """Deleted and created again between two reconciles: its status is written as for a new object."""
    async with World(*web(4), wpa()) as world:
        world.queue("30")
        await world.reconcile()
        world.cluster.remove(f"{WPAS}/web")
        world.put(wpa())
        await world.reconcile()
        assert world.status()["desiredReplicas"] == 4


@pytest.mark.looptime
async def test_a_missing_definition_forgets_nothing():
    """A CRD that is replaced removes its objects for a moment; their state is kept."""
    collection = WPAS.replace(f"/namespaces/{NAMESPACE}", "")
    async with World(*web(4), wpa()) as world:
        world.queue("80")
        await world.reconcile()
        key = ("WatermarkPodAutoscaler", NAMESPACE, "web")
        known = world.reconciler.judge.states[key]
        world.cluster.absent.add(collection)
        world.cluster.end_watches()
        await asyncio.sleep(5)
        reconciled = await world.reconcile()
        assert reconciled.outcomes == ()
        assert world.reconciler.judge.states[key] is known
        loaded = await Shards(world.cluster, OWN).load()
        assert "/".join(key) in loaded.entries


async def test_only_namespaces_that_opted_in_are_acted_on():
    """Elsewhere nothing is written, and no metric is queried: an object there must not make hypot call anything."""
    space = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}}
    async with World(*web(4), wpa(), space, opt_in="label") as world:
        world.queue("80")
        outcome = await world.outcome()
        assert (outcome.acting, world.replicas) == ("observe", 4)
        assert "its namespace has not opted in" in outcome.decision.error
        assert not [call for call in world.cluster.calls if "external.metrics" in call.path]
        assert [call.path for call in world.writes() if OWN not in call.path] == []
        space["metadata"]["labels"] = {"hypot.dev/scaling": "enabled"}
        world.put(space)
        await world.reconcile()
        assert world.replicas == 8


async def test_what_is_only_observed_is_not_remembered_as_done():
    """Else its windows would wait for actions that never happened."""
    async with World(*web(4), wpa(), kinds={"WatermarkPodAutoscaler": "observe"}) as world:
        world.queue("80")
        outcome = await world.outcome()
        assert outcome.decision.desired == 8
        assert (outcome.state.last_scale, world.replicas) == (None, 4)


@pytest.mark.parametrize("version", ["db.example/v1", "db.example/v9"])
async def test_targets_of_any_kind_are_found_by_discovery(version):
    """A custom kind with a scale subresource is read and written through it, in the version that is served."""
    cell = {"apiVersion": version, "kind": "Cell"}
    listed = [{"name": "cells", "kind": "Cell", "namespaced": True}, {"name": "cells/scale", "kind": "Scale"}]
    thing = made("db.example/v1", "Cell", "web", {"replicas": 4}, {"replicas": 4, "selector": "app=web"})
    async with World(thing, *web(4)[2:], wpa(target={**cell, "name": "web"})) as world:
        world.cluster.serve("db.example/v1", *listed)
        world.queue("80")
        await world.reconcile()
        path = f"/apis/db.example/v1/namespaces/{NAMESPACE}/cells/web"
        assert world.at(path)["spec"]["replicas"] == 8
        assert world.condition("AbleToScale")["status"] == "True"


async def test_the_version_of_a_target_does_not_matter():
    """As with Kubernetes, only group and kind count."""
    async with World(*web(4), wpa(target={**TARGET, "apiVersion": "apps/v1beta1"})) as world:
        world.queue("80")
        await world.reconcile()
        assert world.replicas == 8
        assert world.condition("AbleToScale")["status"] == "True"


async def test_a_missing_target_is_reported():
    """The error is that of Kubernetes, and nothing is scaled."""
    async with World(wpa()) as world:
        world.queue("80")
        outcome = await world.outcome()
        assert 'deployments.apps "web" not found' in outcome.decision.error
        assert not world.writes("/scale")


async def test_one_bad_object_does_not_stop_the_others():
    """An object that cannot be read says so in its status; its problems do not affect others."""
    bad = [
        wpa("bad-0", maxReplicas="many"),
        wpa("bad-1", recommender="https://advice.example"),
        wpa("bad-2", metrics=[{"type": "External", "external": "queue"}]),
        wpa("bad-3", annotations={"hypot.dev/paused": "sometimes"}),
        hvpa(name="bad-4", hpa="none", vpa=7, scalingIntervals={}),
        vpa(name="bad-5", updates={"updateMode": 3}, spec={"recommenders": "hypot", "targetRef": "web"}),
        vpa(name="bad-6", spec={"resourcePolicy": [], "updatePolicy": "Auto"}),
    ]
    kinds = {"VerticalPodAutoscaler": "act"}
    oldest = wpa(metadata={"creationTimestamp": "2020-01-01T00:00:00Z"})
    async with World(*web(4), oldest, *bad, kinds=kinds) as world:
        world.queue("80")
        reconciled = await world.reconcile()
        assert (len(reconciled.outcomes), world.replicas) == (8, 8)
        assert "not valid" in world.condition("AbleToScale", name="bad-0")["message"]


async def test_two_sizers_of_one_target_know_of_each_other():
    """The older acts; the younger reports the conflict."""
    older = vpa("Recreate", name="old", creationTimestamp="2020-01-01T00:00:00Z")
    younger = vpa("Recreate", name="young", creationTimestamp="2021-01-01T00:00:00Z")
    async with World(*web(2), older, younger, node(), kinds=ONLY_VPA) as world:
        world.uses("3", "3Gi")
        reconciled = await world.reconcile()
        assert [hold.reason for hold in world.of(reconciled, "VerticalPodAutoscaler", "young").holds] == ["Conflict"]
        assert world.of(reconciled, "VerticalPodAutoscaler", "old").holds == ()
        world.uses("3", "3Gi")
        await world.reconcile()
        assert len(world.writes("/eviction")) == 1
