"""Planned minimums in a cluster: reported ahead, in force on time, and over without a sudden scale-down."""

import json

import pytest

from hypot.core.instant import show_time
from unit.policy.sizes_world import NOW
from unit.run.run_world import World, web, wpa

pytestmark = pytest.mark.asyncio
HOUR = 3600.0


def planned(start, end, replicas):
    entry = {"startAt": show_time(NOW + start), "finishAt": show_time(NOW + end), "minReplicas": replicas}
    return {"hypot.dev/schedule": json.dumps([entry])}


async def test_a_planned_minimum():
    async with World(*web(4), wpa(annotations=planned(HOUR, 2 * HOUR, 9), metadata={"generation": 1})) as world:
        found = []
        for later in (0.0, HOUR, HOUR - 60, 60.0):
            world.now += later
            world.queue("30")
            await world.reconcile()
            condition = world.condition("Scheduled")
            found.append((world.replicas, condition["status"], condition["reason"]))
        assert found == [(4, "False", "Planned"), (9, "True", "InForce"), (9, "True", "InForce"), (9, "False", "Over")]
        assert world.events("ScheduleEnded")


async def test_a_plan_that_cannot_be_read_blocks_scale_downs():
    async with World(*web(4), wpa(annotations={"hypot.dev/schedule": "tomorrow"})) as world:
        world.queue("1")
        await world.reconcile()
        assert world.replicas == 4
        assert world.condition("ScalingBlocked")["reason"] == "ScheduleUnreadable"
