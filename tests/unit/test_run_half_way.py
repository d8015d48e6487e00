"""A move that ended half way: pods of two sizes, and more is still needed."""

import pytest

from unit.run_world import World, all_kinds, web
from unit.sizes_world import NAMESPACE, box, hvpa, node
from unit.test_run_unmeasured import no_metrics

pytestmark = pytest.mark.asyncio
HVPA = "Hvpa"
PODS = f"/api/v1/namespaces/{NAMESPACE}/pods"
WIDE = [{"maxReplicas": 8, "maxResources": {"cpu": "80", "memory": "160Gi"}}]
GROWS = hvpa(hpa={"deploy": False, "template": {"spec": {"minReplicas": 8, "maxReplicas": 8}}}, scalingIntervals=WIDE)


def off(thing):
    never = {**thing["spec"]["scaleUp"], "updatePolicy": {"updateMode": "Off"}}
    return {**thing, "spec": {**thing["spec"], "scaleUp": never}}


def world_of(memory="1Gi"):
    """A new size of cpu restarts a container, so that only a few are changed at once."""
    one = box(cpu="1", memory=memory)
    one["resizePolicy"] = [{"resourceName": "cpu", "restartPolicy": "RestartContainer"}]
    return World(*web(8, one), GROWS, node(cpu="96", memory="384Gi"), kinds=all_kinds(Hvpa="act"))


def sizes(world, resource="cpu"):
    return {one["spec"]["containers"][0]["resources"]["requests"][resource] for one in world.cluster.objects(PODS)}


async def sweeps(world, count, used):
    """Nodes give at once what they are asked for."""
    for _ in range(count):
        world.uses(*used)
        await world.sweep()
        for pod in world.cluster.objects(PODS):
            has = pod["spec"]["containers"][0]["resources"]
            pod["status"]["containerStatuses"] = [{"name": "app", "resources": has}]
            world.put(pod)


@pytest.mark.parametrize("how", ["paused", "off", "annotation"])
async def test_what_is_left_is_decided_anew(how):
    """The largest pod has what is needed, which says nothing of the others."""
    async with world_of() as world:
        await sweeps(world, 1, ("3", "900Mi"))
        assert len(sizes(world)) == 2
        if how == "off":
            world.put({**off(GROWS), "status": world.status(HVPA)})
        else:
            world.annotate(HVPA, **({"paused": "true"} if how == "paused" else {"resize": "InPlace"}))
        await sweeps(world, 1, ("3", "900Mi"))
        assert world.condition("CarriedOut", HVPA)["reason"] == "Superseded"
        assert len(sizes(world)) == 2
        if how == "off":
            world.put({**GROWS, "status": world.status(HVPA)})
        elif how == "paused":
            world.annotate(HVPA)
        await sweeps(world, 30, ("3", "900Mi"))
        assert world.condition("CarriedOut", HVPA)["reason"] == "Done"
        assert len(sizes(world)) == 1


async def test_growth_does_not_wait_for_what_may_not_shrink():
    """Cpu is to grow and memory to shrink; without metrics only the first of both is done, and then the other."""
    async with world_of("8Gi") as world:
        await sweeps(world, 1, ("3", "1Gi"))
        no_metrics(world)
        await sweeps(world, 30, ("3", "1Gi"))
        assert len(sizes(world)) == 1
        assert "8Gi" in sizes(world, "memory")
        world.cluster.faults = None
        await sweeps(world, 60, ("3", "1Gi"))
        assert len(sizes(world, "memory")) == 1
        assert "8Gi" not in sizes(world, "memory")
