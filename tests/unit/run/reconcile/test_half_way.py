"""A move that ended before it was complete: pods have two sizes, and more is still needed."""

import pytest

from unit.policy.sizes_world import NAMESPACE, box, fleet, hvpa, node
from unit.run.reconcile.test_unmeasured import no_metrics
from unit.run.run_world import World, all_kinds, ready, web

pytestmark = pytest.mark.asyncio
HVPA = "Hvpa"
WEB = f"/apis/apps/v1/namespaces/{NAMESPACE}/deployments/web"
PODS = f"/api/v1/namespaces/{NAMESPACE}/pods"
WIDE = [{"maxReplicas": 8, "maxResources": {"cpu": "80", "memory": "160Gi"}}]
GROWS = hvpa(hpa={"deploy": False, "template": {"spec": {"minReplicas": 8, "maxReplicas": 8}}}, scalingIntervals=WIDE)


def off(thing):
    never = {**thing["spec"]["scaleUp"], "updatePolicy": {"updateMode": "Off"}}
    return {**thing, "spec": {**thing["spec"], "scaleUp": never}}


def world_of(memory="1Gi"):
    """A new cpu size restarts a container, so only a few pods are changed at once."""
    one = box(cpu="1", memory=memory)
    one["resizePolicy"] = [{"resourceName": "cpu", "restartPolicy": "RestartContainer"}]
    return World(*web(8, one), GROWS, node(cpu="96", memory="384Gi"), kinds=all_kinds(Hvpa="act"))


def sizes(world, resource="cpu"):
    return {one["spec"]["containers"][0]["resources"]["requests"][resource] for one in world.cluster.objects(PODS)}


async def reconciles(world, count, used):
    """Reconcile so often; nodes apply each resize at once."""
    for _ in range(count):
        world.uses(*used)
        await world.reconcile()
        for pod in world.cluster.objects(PODS):
            has = pod["spec"]["containers"][0]["resources"]
            pod["status"]["containerStatuses"] = [{"name": "app", "resources": has}]
            world.put(pod)


@pytest.mark.parametrize("how", ["paused", "off", "annotation"])
async def test_what_is_left_is_decided_again(how):
    """The largest pod has what is needed, but the others do not."""
    async with world_of() as world:
        await reconciles(world, 1, ("3", "900Mi"))
        assert len(sizes(world)) == 2
        if how == "off":
            world.put({**off(GROWS), "status": world.status(HVPA)})
        else:
            world.annotate(HVPA, **({"paused": "true"} if how == "paused" else {"resize": "InPlace"}))
        await reconciles(world, 1, ("3", "900Mi"))
        assert world.condition("CarriedOut", HVPA)["reason"] == "Superseded"
        assert len(sizes(world)) == 2
        if how == "off":
            world.put({**GROWS, "status": world.status(HVPA)})
        elif how == "paused":
            world.annotate(HVPA)
        await reconciles(world, 30, ("3", "900Mi"))
        assert world.condition("CarriedOut", HVPA)["reason"] == "Done"
        assert len(sizes(world)) == 1


async def test_growth_does_not_wait_for_what_may_not_shrink():
    """Cpu must grow and memory shrink: without metrics only cpu changes, and memory follows later."""
    async with world_of("8Gi") as world:
        await reconciles(world, 1, ("3", "1Gi"))
        no_metrics(world)
        await reconciles(world, 30, ("3", "1Gi"))
        assert len(sizes(world)) == 1
        assert "8Gi" in sizes(world, "memory")
        world.cluster.faults = None
        await reconciles(world, 60, ("3", "1Gi"))
        assert len(sizes(world, "memory")) == 1
        assert "8Gi" not in sizes(world, "memory")


def of_two_sizes(large, small, *, first="n1"):
    """One of four pods is larger than the others and than the template."""
    return [*fleet(4, small)[:2], ready(0, large, spec={"nodeName": first}), *[ready(i, small) for i in (1, 2, 3)]]


def four(count=4, cpu="3", **policy):
    """Four pods, or as few as `count`."""
    replicas = {"deploy": False, "template": {"spec": {"minReplicas": count, "maxReplicas": 4}}}
    policies = [{"containerName": "app", "maxAllowed": {"cpu": cpu}, **policy}]
    return hvpa(
        hpa=replicas,
        vpa={"deploy": True, "template": {"spec": {"resourcePolicy": {"containerPolicies": policies}}}},
        scalingIntervals=[{"maxReplicas": 4, "maxResources": {"cpu": cpu, "memory": "16Gi"}}],
    )


ROOM = node(cpu="96", memory="384Gi")


@pytest.mark.parametrize("blind", [False, True])
@pytest.mark.parametrize("held", [{"hold": "6"}, {"paused": "up"}])
async def test_a_hold_makes_no_pod_smaller(held, blind):
    """Pods that are too small are no reason to shrink the pod that is large enough."""
    objects = of_two_sizes(box(cpu="3", memory="4Gi"), box(cpu="1", memory="4Gi"))
    async with World(*objects, four(), ROOM, kinds=all_kinds(Hvpa="act")) as world:
        world.annotate(HVPA, paused="true")
        await reconciles(world, 1, ("3", "1Gi"))
        world.annotate(HVPA, **held)
        if blind:
            no_metrics(world)
        await reconciles(world, 5, ("3", "1Gi"))
        assert "3" in sizes(world)
        assert world.replicas == int(held.get("hold", 4))


async def test_what_is_not_controlled_is_not_levelled():
    """Uncontrolled resources are left alone even where pods differ: users roll out slowly, or in part."""
    objects = of_two_sizes(box(cpu="2", memory="2Gi"), box(cpu="2", memory="1Gi"), first="n2")
    nodes = (node(cpu="96", memory="1500Mi"), node("n2", cpu="96", memory="64Gi"))
    spec = four(cpu="2", controlledResources=["cpu"])
    async with World(*objects, spec, *nodes, kinds=all_kinds(Hvpa="act")) as world:
        for _ in range(10):
            await reconciles(world, 1, ("3", "900Mi"))
            assert not world.writes("/resize")
            assert not world.writes("/eviction")


async def test_a_template_keeps_what_is_not_controlled():
    """The count is to go down while a user rolls out less memory."""
    objects = of_two_sizes(box(cpu="2", memory="2Gi"), box(cpu="2", memory="1Gi"))
    spec = four(1, "2", controlledResources=["cpu"], minAllowed={"cpu": "2"})
    spec["metadata"]["annotations"] = {"hypot.dev/resize": "Template"}
    async with World(*objects, spec, ROOM, kinds=all_kinds(Hvpa="act")) as world:
        await reconciles(world, 2, ("200m", "200Mi"))
        assert world.replicas == 1
        assert world.at(WEB)["spec"]["template"]["spec"]["containers"][0]["resources"]["requests"]["memory"] == "1Gi"


async def test_a_held_count_is_set_at_once():
    """The held count is set at once, whatever the size of the remaining pods."""
    objects = of_two_sizes(box(cpu="2", memory="2Gi"), box(cpu="1", memory="1Gi"))
    async with World(*objects, four(1, "2", minAllowed={"cpu": "2"}), ROOM, kinds=all_kinds(Hvpa="act")) as world:
        world.annotate(HVPA, hold="2", resize="InPlace")
        await reconciles(world, 1, ("200m", "200Mi"))
        assert world.replicas == 2


async def test_a_shrink_that_is_half_done_ends_where_the_old_size_is_needed_again():
    """Pods that have shrunk grow again, and no other pod shrinks."""
    one = box(cpu="3", memory="2Gi")
    one["resizePolicy"] = [{"resourceName": "cpu", "restartPolicy": "RestartContainer"}]
    eight = hvpa(
        hpa={"deploy": False, "template": {"spec": {"minReplicas": 8, "maxReplicas": 8}}},
        scalingIntervals=[{"maxReplicas": 8, "maxResources": {"cpu": "24", "memory": "160Gi"}}],
    )
    async with World(*web(8, one), eight, ROOM, kinds=all_kinds(Hvpa="act")) as world:
        await reconciles(world, 2, ("400m", "1Gi"))
        assert len(sizes(world)) == 2
        for _ in range(20):
            await reconciles(world, 1, ("2900m", "1Gi"))
            assert max(cores(each) for each in sizes(world)) >= 3
        assert min(cores(each) for each in sizes(world)) >= 3


def cores(text):
    return int(text[:-1]) / 1000 if text.endswith("m") else int(text)
