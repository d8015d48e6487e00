"""Pods that are killed repeatedly while the first evicted pod has not come back yet."""

import pytest

from hypot.policy.model.decision import condition_of
from unit.policy.sizes_world import node, vpa
from unit.run.act.test_execute_partly import ACT, dying, resized, sizer
from unit.run.run_world import World, web

pytestmark = pytest.mark.asyncio


def down(index):
    """A pod that waits for its next start."""
    made = dying(index)
    made["status"]["conditions"][0]["status"] = "False"
    return made


async def reconciled(world):
    """How many pods a reconcile evicts, and how many it resizes."""
    world.uses("3", "3Gi")
    await world.reconcile()
    return len(world.writes("/eviction")), len(resized(world))


async def test_a_vpa_resizes_them_meanwhile():
    """Before the size is recorded and while the evicted pod is awaited; no pod waits ten minutes for another."""
    async with World(*web(6), vpa("InPlaceOrRecreate"), node(cpu="96"), kinds=ACT) as world:
        for index in range(6):
            world.put(dying(index))
        assert [await reconciled(world) for _ in range(3)] == [(0, 3), (1, 0), (0, 2)]
        assert len(world.events("InPlaceResizedByVPA")) == 5
        assert not world.events("WebhookUnavailable")


async def test_an_hvpa_resizes_them_meanwhile():
    """It begins once its size is recorded, and the condition reports a resize."""
    async with World(*web(4), sizer(), node(cpu="96")) as world:
        for index in range(4):
            world.put(down(index))
        assert [await reconciled(world) for _ in range(2)] == [(0, 0), (1, 0)]
        world.uses("3", "3Gi")
        outcome = await world.outcome("Hvpa")
        assert resized(world) == ["web-1", "web-2", "web-3"]
        assert condition_of(outcome.state.conditions, "CarriedOut").message.startswith("Resize 3 pods")
