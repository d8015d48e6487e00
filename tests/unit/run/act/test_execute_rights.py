"""A plan continues only while its object allows it: restrictions that a user adds apply from the next step on."""

import pytest

from fake_objects import refusal
from unit.policy.sizes_world import FREE, NOW, box, hvpa, node
from unit.run.act.test_execute import COUNTED
from unit.run.act.test_execute_partly import SIZED, TIGHT, comes_back, evicts, sizer
from unit.run.run_world import KINDS, PERIOD, WEB, World, ready, web

pytestmark = pytest.mark.asyncio
OFF = {**FREE, "updatePolicy": {"updateMode": "Off"}}
IN_WINDOW = {**FREE, "updatePolicy": {"updateMode": "MaintenanceWindow"}}
# NOW is at 8 o'clock: open for three reconciles.
WINDOW = {"begin": "070000+0000", "end": "080050+0000"}
ROOMY = node(cpu="96", memory="384Gi")


def policies(**policy):
    return {"deploy": True, "template": {"spec": {"resourcePolicy": {"containerPolicies": [policy]}}}}


def edit(world, **spec):
    """A user changes these fields of the Hvpa."""
    there = world.at(f"{KINDS['Hvpa']}/web")
    world.put({**there, "spec": {**there["spec"], **spec}})


def touched(world):
    """What the last reconcile wrote to the workload."""
    return [call.path for call in world.writes() if call.path.endswith(("/scale", "/resize", "/eviction", "/web"))]


def reported(world):
    condition = world.condition("CarriedOut", "Hvpa")
    return condition["status"], condition["reason"], condition["message"]


async def evicting(world):
    """A plan to enlarge eight pods: the first evicted pod is back with the size, the next follow."""
    assert [await evicts(world) for _ in range(2)] == [0, 1]
    comes_back(world, SIZED)


async def grown(world):
    """A plan for fewer and larger pods: the pods are larger now, and one is to be removed."""
    world.uses("1", "3Gi")
    plan = (await world.outcome("Hvpa")).state.plan
    assert (plan.before_replicas, plan.replicas) == (4, 3)
    world.uses("1", "3Gi")


UP = "scaling up is switched off"
ALONE = "the size of app must not be changed any more"
TAKEN = {
    "both": ({"scaleUp": OFF, "scaleDown": OFF}, UP),
    "up": ({"scaleUp": OFF}, UP),
    "container": ({"vpa": policies(containerName="app", mode="Off")}, ALONE),
    "every container": ({"vpa": policies(containerName="*", mode="Off")}, ALONE),
    "outside": (
        {"scaleUp": IN_WINDOW, "maintenanceTimeWindow": {"begin": "220000+0000", "end": "230000+0000"}},
        "scaling up waits for the maintenance window",
    ),
}


@pytest.mark.parametrize("right", TAKEN)
async def test_no_pod_goes_once_the_right_is_taken_away(right):
    """Neither the next reconcile nor a later one evicts, and the condition says why."""
    change, why = TAKEN[right]
    async with World(*web(8), sizer(8), *TIGHT) as world:
        await evicting(world)
        edit(world, **change)
        assert await evicts(world) == 0
        assert (touched(world), reported(world)) == ([], ("False", "Superseded", f"The plan is abandoned: {why}."))
        assert world.events("PlanEnded")
        for _ in range(3):
            assert await evicts(world) == 0
            assert touched(world) == []


async def test_pods_go_where_nothing_is_taken_away():
    """An edit that restricts nothing of a plan does not end it."""
    async with World(*web(8), sizer(8), *TIGHT) as world:
        await evicting(world)
        edit(world, scaleDown=OFF, vpa=policies(containerName="*", minAllowed={"cpu": "10m"}))
        assert await evicts(world) == 2


async def test_another_way_to_resize_ends_the_plan():
    """InPlace means that no further pod is evicted, whatever was planned before."""
    async with World(*web(8), sizer(8), *TIGHT) as world:
        await evicting(world)
        world.annotate("Hvpa", resize="InPlace")
        assert [await evicts(world) for _ in range(3)] == [0, 0, 0]
        assert "hypot.dev/resize is InPlace now" in world.events("PlanEnded")[0]["message"]


async def test_the_template_is_written_where_a_plan_began_with_evictions():
    """The next decision uses the new way."""
    async with World(*web(8), sizer(8), *TIGHT) as world:
        await evicting(world)
        world.annotate("Hvpa", resize="Template")
        assert await evicts(world) == 0
        assert touched(world) == []
        assert [await evicts(world) for _ in range(2)] == [0, 0]
        resources = world.at(WEB)["spec"]["template"]["spec"]["containers"][0]["resources"]
        assert resources["requests"]["cpu"] != "1"


@pytest.mark.parametrize("directions", [("scaleUp", "scaleDown"), ("scaleDown",)])
async def test_no_replica_goes_once_scaling_down_is_off(directions):
    """This step scales down, although the plan as a whole needs more."""
    async with World(*web(4), hvpa(hpa=COUNTED), ROOMY) as world:
        await grown(world)
        edit(world, **dict.fromkeys(directions, OFF))
        for _ in range(3):
            outcome = await world.outcome("Hvpa")
            assert (world.replicas, touched(world), outcome.state.plan) == (4, [], None)
            assert reported(world)[:2] == ("False", "Superseded")
            assert "is switched off" in reported(world)[2]
            world.uses("1", "3Gi")
        assert world.condition("ScalingBlocked", "Hvpa")["reason"] == "UpdatePolicy"


async def test_what_was_off_before_does_not_stop_a_plan():
    """The total decided the direction of the plan; that is also true after a restart."""
    async with World(*web(4), hvpa(hpa=COUNTED, scaleDown=OFF), ROOMY) as world:
        await grown(world)
        await world.restart()
        await world.reconcile()
        assert world.replicas == 3


async def test_growth_that_is_left_is_not_done_either():
    """No pod has less than before, so nothing needs to be compensated."""
    async with World(*web(1), hvpa(), node()) as world:
        world.uses("1", "3Gi")
        assert (await world.outcome("Hvpa")).state.plan is not None
        world.follow()
        world.uses("500m", "1.5Gi")
        edit(world, scaleUp=OFF, scaleDown=OFF)
        for _ in range(3):
            await world.reconcile()
            assert touched(world) == []
            world.uses("500m", "1.5Gi")
        assert reported(world) == ("False", "Superseded", f"The plan is abandoned: {UP}.")


async def test_a_window_that_closes_ends_the_plan():
    """The next window begins with a new decision."""
    made = sizer(8)
    made["spec"] |= {"scaleUp": IN_WINDOW, "scaleDown": IN_WINDOW, "maintenanceTimeWindow": WINDOW}
    async with World(*web(8), made, *TIGHT) as world:
        await evicting(world)
        assert world.now == NOW + 2 * PERIOD
        assert await evicts(world) == 2
        comes_back(world, SIZED)
        for _ in range(3):
            assert await evicts(world) == 0
            assert touched(world) == []
        assert reported(world)[2] == "The plan is abandoned: scaling up waits for the maintenance window."
        assert world.condition("ScalingBlocked", "Hvpa")["reason"] == "MaintenanceWindow"


async def test_a_held_count_is_set_whatever_is_off():
    """A user asked for this count explicitly; only its first write was refused."""
    pods = [ready(index, box(cpu="2")) for index in range(2)]
    async with World(*web(2), *pods, hvpa(annotations={"hypot.dev/hold": "4"}), ROOMY) as world:
        world.uses("500m")
        world.cluster.faults = lambda call: refusal(403, "never") if call.path.endswith("/scale") else None
        assert (await world.outcome("Hvpa")).state.plan.replicas == 4
        world.cluster.faults = None
        edit(world, scaleUp=OFF, scaleDown=OFF)
        world.uses("500m")
        await world.reconcile()
        assert world.replicas == 4
        assert not world.events("PlanEnded")
