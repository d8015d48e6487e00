"""An autoscaler that is turned to another target: what was learnt, planned and recorded for the old one is over."""

import json

import pytest

from hypot.policy.decision import show_time
from unit.run_world import KINDS, World, all_kinds, body, hpa, web, wpa
from unit.sizes_world import TARGET, box, hvpa, node, sample, vpa

pytestmark = pytest.mark.asyncio
API = {**TARGET, "name": "api"}
LARGE = box(cpu="1", memory="1Gi")


def api(*objects):
    """The same under another name."""
    return json.loads(json.dumps(objects).replace('"web', '"api').replace('"u', '"v'))


def two_workloads():
    return [*web(4, LARGE), *api(*web(4, LARGE)), node(cpu="900", memory="900Gi")]


def usage(world):
    """The pods of web do nothing, those of api all they can."""
    for index in range(4):
        idle, busy = sample(index, "5m", "64Mi"), api(sample(index, "950m", "900Mi"))[0]
        world.put(*[{**each, "timestamp": show_time(world.now)} for each in (idle, busy)])


def turn(world, kind, field="targetRef"):
    there = world.at(f"{KINDS[kind]}/web")
    world.put({**there, "spec": {**there["spec"], field: API}})


async def swept(world, times=1):
    """The requests that pods of api were asked to have."""
    asked = []
    for _ in range(times):
        usage(world)
        await world.sweep()
        for write in world.writes("/pods/api-"):
            asked += [each["resources"]["requests"] for each in body(write)["spec"]["containers"]]
    return asked


@pytest.mark.parametrize("restarts", [False, True])
async def test_what_an_hvpa_planned_and_recorded_is_not_carried_out_on_another_target(restarts):
    """Neither by whoever goes on, nor by who takes over; the webhook finds no record of another workload."""
    async with World(*two_workloads(), hvpa(), kinds=all_kinds(Hvpa="act")) as world:
        while "lastScaling" not in world.status("Hvpa"):
            await swept(world)
        turn(world, "Hvpa")
        if restarts:
            await world.restart()
        assert await swept(world) == []
        assert "lastScaling" not in world.status("Hvpa")
        assert world.sweeper.judge.memories["Hvpa", "shop", "web"].memory.plan is None


@pytest.mark.parametrize("restarts", [False, True])
async def test_a_vpa_learns_anew(restarts):
    """What the pods of the old target used says nothing of the new ones."""
    async with World(*two_workloads(), vpa("InPlaceOrRecreate"), kinds=all_kinds(VerticalPodAutoscaler="act")) as world:
        await swept(world, 4)
        assert world.status("VerticalPodAutoscaler")["recommendation"]
        turn(world, "VerticalPodAutoscaler")
        if restarts:
            await world.restart()
        small = [each for each in await swept(world, 3) if each["cpu"].endswith("m") and int(each["cpu"][:-1]) < 900]
        assert small == []


async def test_windows_of_the_old_target_do_not_bind_the_new_one():
    """A status that tells of another workload is written anew."""
    rests = {"upscaleForbiddenWindowSeconds": 600}
    async with World(*two_workloads(), wpa(**rests), kinds=all_kinds(WatermarkPodAutoscaler="act")) as world:
        world.queue("80")
        await world.sweep()
        assert world.replicas == 8
        turn(world, "WatermarkPodAutoscaler", "scaleTargetRef")
        world.queue("80")
        outcome = await world.outcome()
        assert (
            outcome.decision.desired,
            world.at("/apis/apps/v1/namespaces/shop/deployments/api")["spec"]["replicas"],
        ) == (8, 8)


async def test_the_same_object_made_again_while_nobody_looked_begins_anew():
    """Its uid is remembered."""
    async with World(*web(4), hpa(utilization=50), kinds=all_kinds(HorizontalPodAutoscaler="act")) as world:
        world.uses("900m")
        await world.sweep()
        known = world.sweeper.judge.memories["HorizontalPodAutoscaler", "shop", "web"]
        await world.stop()
        there = world.at(f"{KINDS['HorizontalPodAutoscaler']}/web")
        world.cluster.remove(f"{KINDS['HorizontalPodAutoscaler']}/web")
        world.put({**there, "metadata": {**there["metadata"], "uid": "another"}, "status": {}})
        await world.start()
        await world.sweep()
        after = world.sweeper.judge.memories["HorizontalPodAutoscaler", "shop", "web"]
        assert after.of != known.of
        assert known.memory.last_scale is not None
        assert after.memory.last_scale != known.memory.last_scale
