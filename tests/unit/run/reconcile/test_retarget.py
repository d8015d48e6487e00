"""An autoscaler that gets another target: what was learnt, planned and recorded for the old target is dropped."""

import json

import pytest

from hypot.core.instant import show_time
from unit.policy.sizes_world import TARGET, box, hvpa, node, sample, vpa
from unit.run.run_world import KINDS, World, all_kinds, body, hpa, web, wpa

pytestmark = pytest.mark.asyncio
API = {**TARGET, "name": "api"}
LARGE = box(cpu="1", memory="1Gi")
CHECKPOINTS = "/apis/autoscaling.k8s.io/v1/namespaces/shop/verticalpodautoscalercheckpoints"
# Before or after the first reconcile that sees the new target.
restarting = pytest.mark.parametrize("restarts", ["never", "before", "after"])


def api(*objects):
    """The same objects under another name."""
    return json.loads(json.dumps(objects).replace('"web', '"api').replace('"uid": "u', '"uid": "v'))


def two_workloads():
    return [*web(4, LARGE), *api(*web(4, LARGE)), node(cpu="900", memory="900Gi")]


def usage(world, *, both=True):
    """The pods of web are idle; the pods of api, where they are measured, are busy."""
    for index in range(4):
        idle, busy = sample(index, "5m", "64Mi"), api(sample(index, "950m", "900Mi"))[0]
        world.put(*[{**each, "timestamp": show_time(world.now)} for each in (idle, *([busy] if both else []))])


def turn(world, kind, field="targetRef"):
    there = world.at(f"{KINDS[kind]}/web")
    world.put({**there, "spec": {**there["spec"], field: API}})


async def reconciled(world, times=1, *, both=True):
    """How much cpu was written into the pods of api."""
    asked = []
    for _ in range(times):
        usage(world, both=both)
        await world.reconcile()
        for write in world.writes("/pods/api-"):
            asked += [each["resources"]["requests"]["cpu"] for each in body(write)["spec"]["containers"]]
    return asked


async def turned(world, kind, restarts):
    """Change to an unmeasured target; a process that starts knows nothing of it but the checkpoint."""
    for each in world.cluster.objects(CHECKPOINTS):
        # Their status is not a subresource; the cluster in memory drops it.
        world.put({**each, "status": world.reconciler.history.status(((kind, "shop", "web"), "app"), world.now)})
    assert world.cluster.objects(CHECKPOINTS)
    turn(world, kind)
    if restarts == "before":
        await world.restart()
    assert await reconciled(world, both=False) == []
    if restarts == "after":
        await world.restart()
    assert world.reconciler.history.view((kind, "shop", "web")) is None


@restarting
async def test_what_an_hvpa_planned_and_recorded_is_not_carried_out_on_another_target(restarts):
    """Neither this leader nor the next carries it out; the webhook finds no record of another workload."""
    async with World(*two_workloads(), hvpa(), kinds=all_kinds(Hvpa="act")) as world:
        while "lastScaling" not in world.status("Hvpa"):
            await reconciled(world, both=False)
        await turned(world, "Hvpa", restarts)
        assert "lastScaling" not in world.status("Hvpa")
        assert world.reconciler.judge.states["Hvpa", "shop", "web"].state.plan is None
        assert await reconciled(world) == ["1468m"] * 4
        assert "1468m" in json.dumps(world.status("Hvpa")["lastScaling"])


@restarting
async def test_a_vpa_learns_again(restarts):
    """The usage of the old target's pods says nothing about the new pods, wherever it was stored."""
    kind = "VerticalPodAutoscaler"
    async with World(*two_workloads(), vpa("InPlaceOrRecreate"), kinds=all_kinds(**{kind: "act"})) as world:
        await reconciled(world, 4, both=False)
        assert world.status(kind)["recommendation"]
        await turned(world, kind, restarts)
        assert "recommendation" not in world.status(kind)
        assert await reconciled(world, 3) == ["1101m"] * 4
        assert "1101m" in json.dumps(world.status(kind)["recommendation"])


async def test_windows_of_the_old_target_do_not_bind_the_new_one():
    """A status about another workload is written again."""
    rests = {"upscaleForbiddenWindowSeconds": 600}
    async with World(*two_workloads(), wpa(**rests), kinds=all_kinds(WatermarkPodAutoscaler="act")) as world:
        world.queue("80")
        await world.reconcile()
        assert world.replicas == 8
        turn(world, "WatermarkPodAutoscaler", "scaleTargetRef")
        world.queue("80")
        outcome = await world.outcome()
        assert (
            outcome.decision.desired,
            world.at("/apis/apps/v1/namespaces/shop/deployments/api")["spec"]["replicas"],
        ) == (8, 8)


@pytest.mark.parametrize("kind", ["HorizontalPodAutoscaler", "WatermarkPodAutoscaler"])
async def test_the_status_stays_while_the_new_target_is_missing(kind):
    """As with Kubernetes, only the condition that the scale cannot be read is new, in this reconcile and the next."""
    scaler, queue = (hpa(utilization=50), None) if kind.startswith("H") else (wpa(), "80")
    async with World(*web(4), scaler, kinds=all_kinds(**{kind: "act"})) as world:
        world.uses("900m")
        if queue:
            world.queue(queue)
        await world.reconcile()
        before = world.status(kind)
        assert before["desiredReplicas"] == 8
        turn(world, kind, "scaleTargetRef")
        for _ in range(2):
            await world.reconcile()
            status = world.status(kind)
            for key in ("currentReplicas", "desiredReplicas", "currentMetrics", "lastScaleTime"):
                assert status[key] == before[key]
            assert world.condition("AbleToScale", kind)["status"] == "False"
            assert {each["type"] for each in status["conditions"]} == {each["type"] for each in before["conditions"]}
        limited = next(each for each in before["conditions"] if each["type"] == "ScalingLimited")
        assert world.condition("ScalingLimited", kind) == limited
        known = world.reconciler.judge.states[kind, "shop", "web"].state
        assert (known.last_scale, known.unknown_move) == (None, None)


@pytest.mark.parametrize("kind", ["Hvpa", "VerticalPodAutoscaler"])
async def test_sizes_go_while_the_new_target_is_missing(kind):
    """The webhook would give them to pods of the new target."""
    scaler = hvpa() if kind == "Hvpa" else vpa("InPlaceOrRecreate")
    async with World(*two_workloads()[:6], node(), scaler, kinds=all_kinds(**{kind: "act"})) as world:
        for _ in range(40):
            await reconciled(world, both=False)
        field = "lastScaling" if kind == "Hvpa" else "recommendation"
        assert field in world.status(kind)
        turn(world, kind)
        await reconciled(world, both=False)
        assert field not in world.status(kind)


async def test_an_object_recreated_during_downtime_begins_without_state():
    """Its uid is part of the state."""
    async with World(*web(4), hpa(utilization=50), kinds=all_kinds(HorizontalPodAutoscaler="act")) as world:
        world.uses("900m")
        await world.reconcile()
        known = world.reconciler.judge.states["HorizontalPodAutoscaler", "shop", "web"]
        await world.stop()
        there = world.at(f"{KINDS['HorizontalPodAutoscaler']}/web")
        world.cluster.remove(f"{KINDS['HorizontalPodAutoscaler']}/web")
        world.put({**there, "metadata": {**there["metadata"], "uid": "another"}, "status": {}})
        await world.start()
        await world.reconcile()
        after = world.reconciler.judge.states["HorizontalPodAutoscaler", "shop", "web"]
        assert after.of != known.of
        assert known.state.last_scale is not None
        assert after.state.last_scale != known.state.last_scale
