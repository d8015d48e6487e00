"""One observation of everything: what is asked for, what is fresh, and what each autoscaler then sees."""

import pytest

from fake_objects import refusal
from hypot.cluster.port import Answer, UnreachableError
from hypot.core.instant import show_time
from hypot.kinds.base import Ref
from hypot.policy.families import seen_by
from hypot.policy.model.seen import Failure, Scale
from hypot.policy.observe.absent import IN_CLUSTER, IN_DUMP
from hypot.policy.observe.snapshot import Snapshot
from hypot.run.store.shards import Shards
from unit.policy.sizes_world import NAMESPACE, TARGET, hvpa, made, node, sample, vpa
from unit.run.run_world import OWN, QUEUE, World, all_kinds, hpa, items, ready, web, wpa

pytestmark = pytest.mark.asyncio
KEY = ("HorizontalPodAutoscaler", NAMESPACE, "web")
ONLY_HPA = all_kinds(HorizontalPodAutoscaler="act")
CELLS = f"/apis/db.example/v1/namespaces/{NAMESPACE}/cells"
CELL = {"apiVersion": "db.example/v1", "kind": "Cell", "name": "web"}
LISTED = [{"name": "cells", "kind": "Cell", "namespaced": True}, {"name": "cells/scale", "kind": "Scale"}]


async def view(world, after=15.0):
    world.passes(after)
    await world.settle()
    world.cluster.calls.clear()
    return await world.reconciler.observer.look(world.reconciler._rows(), world.now, world.up)


async def seen(world, key=KEY, after=15.0):
    look = await view(world, after)
    row = look.rows[key]
    return look.snapshot.seen(row.autoscaler, look.now, world.config.settings, look.questions[key])


async def test_usage_of_the_pods_of_a_target():
    """One call covers all pods."""
    async with World(*web(3), hpa(), kinds=ONLY_HPA) as world:
        world.uses("250m")
        found = await seen(world)
        assert isinstance(found.scale, Scale)
        assert {name: sample.containers[0][1]["cpu"] for name, sample in found.pod_metrics.items()} == dict.fromkeys(
            ["web-0", "web-1", "web-2"], 250
        )
        assert len(world.asked("metrics.k8s.io")) == 1


async def test_old_samples_are_reported_as_such():
    """One old sample is left out; where all samples are old, that is the error."""
    async with World(*web(2), hpa(), kinds=ONLY_HPA) as world:
        world.uses("250m", count=1)
        world.put({**sample(1), "timestamp": show_time(world.now - 500)})
        look = await view(world)
        assert look.stale == {(NAMESPACE, "web-1")}
        assert look.stale_share == 0.5
        found = await seen(world, after=300)
        assert isinstance(found.pod_metrics, Failure)
        assert found.pod_metrics.message == "all samples of usage are too old"


async def test_a_metrics_server_that_stands_still():
    """Its sample times stop. If its clock is ahead of ours, the samples would otherwise seem fresh forever."""
    async with World(*web(2), hpa(), kinds=ONLY_HPA) as world:
        ahead = show_time(world.now + 20)
        for index in range(2):
            world.put({**sample(index), "timestamp": ahead})
        assert (await view(world)).stale == frozenset()
        world.up += 95
        look = await view(world, 5)
        assert len(look.stale) == 2


async def test_trouble_with_one_list_does_not_make_frozen_samples_young():
    """What was known of the pods of a namespace is still known when it answers again."""
    kinds = ONLY_HPA
    elsewhere = {**sample(5), "metadata": {"name": "x", "namespace": "bar"}}
    async with World(*web(1), hpa(), elsewhere, kinds=kinds, watch_namespaces=(NAMESPACE, "bar")) as world:
        frozen = {**sample(0), "timestamp": show_time(world.now + 25)}
        world.put(frozen)
        await view(world)
        world.put({**elsewhere, "timestamp": show_time(world.now)})
        world.cluster.faults = lambda call: (
            UnreachableError("cut") if call.path.endswith(f"{NAMESPACE}/pods") and "metrics" in call.path else None
        )
        assert "cut" in (await view(world)).trouble
        world.cluster.faults = None
        world.up += 90
        assert (NAMESPACE, "web-0") in (await view(world, 1)).stale


async def test_what_is_remembered_of_samples_ends_with_their_pods():
    """While the list of one namespace fails, pods of the others still come and go."""
    async with World(*web(1), hpa(), kinds=ONLY_HPA, watch_namespaces=(NAMESPACE, "bar")) as world:
        world.cluster.faults = lambda call: UnreachableError("cut") if "bar/pods" in call.path else None
        await world.settle()
        world.uses("250m")
        world.put({**sample(7), "timestamp": show_time(world.now)})
        await view(world)
        freshness = world.reconciler.observer._freshness
        assert set(freshness.first) == {(NAMESPACE, "web-0"), (NAMESPACE, "web-7")}
        world.cluster.remove(f"/apis/metrics.k8s.io/v1beta1/namespaces/{NAMESPACE}/pods/web-7")
        await view(world)
        assert set(world.reconciler.observer._freshness.first) == {(NAMESPACE, "web-0")}


async def test_an_empty_answer_is_all_stale():
    """The share is of pods that should have samples; pods that do not run, or are not asked for, do not count."""
    alone = {**ready(9), "metadata": {**ready(9)["metadata"], "labels": {"app": "other"}}}
    waiting = {**ready(8), "status": {"phase": "Pending"}}
    async with World(*web(4), alone, waiting, hpa(), kinds=ONLY_HPA) as world:
        assert (await view(world)).stale_share == 1.0
        world.uses("250m", count=3)
        assert (await view(world)).stale_share == 0.25
        world.uses("250m", count=4)
        assert (await view(world)).stale_share == 0.0
    async with World(*web(4), wpa()) as world:
        assert (await view(world)).stale_share == 0.0


async def test_no_usage_at_all_has_its_reason():
    """The error of the failed request is the reason, for every namespace."""
    async with World(*web(2), hpa(), kinds=ONLY_HPA) as world:
        world.cluster.faults = lambda call: UnreachableError("no route") if "metrics.k8s.io" in call.path else None
        found = await seen(world)
        assert isinstance(found.pod_metrics, Failure)
        assert found.pod_metrics.message == "no route"


async def test_a_namespace_without_samples():
    """The message is that of Kubernetes; for a dump it says how to complete it."""
    async with World(*web(2), hpa(), kinds=ONLY_HPA) as world:
        found = await seen(world)
        assert found.pod_metrics.message == f"no metrics returned from resource metrics API for namespace {NAMESPACE}"
    assert "kubectl get --raw" in IN_DUMP.samples(NAMESPACE)


async def test_a_target_that_is_not_there():
    """For a cluster it is not found, for a dump the message says what to add; both know other versions."""
    ref = Ref("apps/v1", "Deployment", "web")
    assert IN_CLUSTER.target(ref, NAMESPACE, "", "scaleTargetRef").message == (
        'deployments.apps "web" not found in namespace shop'
    )
    assert "extensions/v1" in IN_CLUSTER.target(ref, NAMESPACE, "extensions/v1", "scaleTargetRef").message
    assert IN_DUMP.target(ref, NAMESPACE, "", "x").message != IN_CLUSTER.target(ref, NAMESPACE, "", "x").message


async def test_the_scale_of_a_custom_target_is_read_once():
    """Two autoscalers share one request, whatever version of the group they name."""
    thing = made("db.example/v1", "Cell", "web", {"replicas": 4}, {"replicas": 3, "selector": "app=web"})
    things = [wpa(target=CELL), wpa("other", target={**CELL, "apiVersion": "db.example/v9"})]
    async with World(thing, *things) as world:
        world.cluster.serve("db.example/v1", *LISTED)
        found = await seen(world, ("WatermarkPodAutoscaler", NAMESPACE, "web"))
        assert found.scale == Scale(4, 3, "app=web", world.at(f"{CELLS}/web")["metadata"]["uid"])
        assert [call.path for call in world.asked(CELLS)] == [f"{CELLS}/web/scale"]


async def test_a_scale_belongs_to_one_kind():
    """Two targets of the same name have a scale each, and a missing one has none."""
    cell = made("db.example/v1", "Cell", "web", {"replicas": 4}, {"replicas": 4, "selector": "app=cell"})
    ring = made("db.example/v1", "Ring", "web", {"replicas": 7}, {"replicas": 7, "selector": "app=ring"})
    things = [wpa("cell", target=CELL), wpa("ring", target={**CELL, "kind": "Ring"}), wpa()]
    rings = [{**each, "name": each["name"].replace("cell", "ring"), "kind": "Ring"} for each in LISTED]
    async with World(cell, ring, *things) as world:
        world.cluster.serve("db.example/v1", *LISTED, *rings)
        found = [(await seen(world, ("WatermarkPodAutoscaler", NAMESPACE, name))).scale for name in ("cell", "ring")]
        assert [one.replicas for one in found if isinstance(one, Scale)] == [4, 7]
        assert isinstance((await seen(world, ("WatermarkPodAutoscaler", NAMESPACE, "web"))).scale, Failure)


@pytest.mark.parametrize(
    ("listed", "fault"),
    [(LISTED[:1], None), ([], None), (LISTED, UnreachableError("cut")), (LISTED, Answer(403, b"no"))],
    ids=["not scalable", "no such kind", "unreachable", "refused"],
)
async def test_a_custom_target_without_a_scale(listed, fault):
    """The scale is a failure, and no replicas are guessed."""
    async with World(wpa(target=CELL)) as world:
        world.cluster.serve("db.example/v1", *listed)
        world.cluster.faults = lambda call: fault if call.path.endswith("/scale") else None
        found = await seen(world, ("WatermarkPodAutoscaler", NAMESPACE, "web"))
        assert isinstance(found.scale, Failure)


async def test_watched_targets_are_not_asked_for():
    """Targets without a scale are not asked for either."""
    daemons = {**TARGET, "kind": "DaemonSet"}
    kinds = {"VerticalPodAutoscaler": "act"}
    async with World(*web(1), wpa(), vpa("Off", name="d", target=daemons), node(), kinds=kinds) as world:
        await view(world)
        assert not world.asked("/scale")


async def test_metrics_are_asked_for_targets_that_are_there():
    """Without a scale no metric is queried."""
    async with World(wpa()) as world:
        await view(world)
        assert not world.asked(QUEUE)
    async with World(*web(1), wpa()) as world:
        await view(world)
        assert len(world.asked(QUEUE)) == 1


async def test_questions_follow_the_object():
    """An edit changes the question in the next reconcile."""
    async with World(*web(1), wpa()) as world:
        await view(world)
        world.put(wpa(metric="other"))
        await view(world)
        assert not world.asked(QUEUE)
        assert world.asked(QUEUE.replace("queue", "other"))


async def test_the_same_as_a_dump_of_it():
    """Watched objects and the same objects as a file give the same result."""
    async with World(*web(3), hpa(), kinds=ONLY_HPA) as world:
        world.uses("250m")
        found = await seen(world)
        paths = ["/apis/apps/v1/deployments", "/apis/apps/v1/replicasets", "/api/v1/pods"]
        paths += ["/apis/autoscaling/v2/horizontalpodautoscalers", "/apis/metrics.k8s.io/v1beta1/pods"]
        dump = Snapshot([each for path in paths for each in world.cluster.objects(path)])
        (one,) = dump.autoscalers()
        assert seen_by(dump, one, world.now, world.config.settings) == found


# Whole reconciles.


async def test_two_that_ask_the_same_ask_once():
    """Each distinct question is one request, for any number of autoscalers."""
    async with World(*web(4), wpa(), wpa("other")) as world:
        world.queue("30")
        reconciled = await world.reconcile()
        assert len(world.asked(QUEUE)) == 1
        assert all(one.decision.decided for one in reconciled.outcomes)


async def test_metrics_that_fail_in_one_namespace_leave_the_others_alone():
    """With a list of namespaces each namespace is read by itself."""
    elsewhere = [{**each, "metadata": {**each["metadata"], "namespace": "bar"}} for each in [*web(2), hpa()]]
    kinds, spaces = ONLY_HPA, ("bar", NAMESPACE)
    async with World(*web(2), hpa(), *elsewhere, kinds=kinds, watch_namespaces=spaces) as world:
        world.uses("1")
        failing = refusal(503, "no metrics today")
        world.cluster.faults = lambda call: (
            failing if call.path.endswith("namespaces/bar/pods") and is_usage(call) else None
        )
        reconciled = await world.reconcile()
        assert world.replicas == 4
        assert "no metrics today" in reconciled.trouble
        other = next(one for one in reconciled.outcomes if one.key[1] == "bar")
        assert (other.decision.decided, other.decision.rescales) == (False, False)


def is_usage(call):
    return "metrics.k8s.io" in call.path


async def test_stale_usage_shrinks_nothing():
    """A metrics server that stands still shows low usage where the usage is unknown."""
    async with World(*web(4), hpa(behavior={"scaleDown": {"stabilizationWindowSeconds": 0}}), kinds=ONLY_HPA) as world:
        world.uses("10m")
        reconciled = await world.reconcile(200)
        assert (reconciled.stale_share, world.replicas) == (1.0, 4)
        outcome = world.of(reconciled, "HorizontalPodAutoscaler")
        assert "too old" in outcome.decision.error
        world.uses("10m")
        await world.reconcile()
        assert world.replicas < 4


async def test_an_old_external_value_is_not_used():
    """It may describe the past and not the present."""
    async with World(*web(4), wpa()) as world:
        world.cluster.fixed[QUEUE] = items("1", at=world.now - 3600)
        outcome = await world.outcome()
        assert not outcome.decision.decided
        assert world.replicas == 4


async def test_pods_that_use_much_are_learnt_of():
    """Usage is added to histograms in each reconcile, and stored with the state."""
    async with World(*web(2), hvpa(), node()) as world:
        world.put(ready(0))
        world.put({**sample(0, "2", "6Gi"), "timestamp": show_time(world.now)})
        await world.reconcile()
        usage = [key for key in (await Shards(world.cluster, OWN).load()).entries if key.startswith("usage/")]
        assert usage == [f"usage/Hvpa/{NAMESPACE}/web"]
        assert world.reconciler.history.view(("Hvpa", NAMESPACE, "web")) is not None
