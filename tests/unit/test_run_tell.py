"""Statuses that a server does not take."""

import pytest

from hypot.cluster.fake_objects import refusal
from hypot.cluster.port import APPLY_PATCH
from unit.run_world import World, web, wpa

pytestmark = pytest.mark.asyncio


async def test_an_object_that_cannot_be_applied_to_gets_its_conditions_by_a_patch():
    """A stricter schema than the one it was made under refuses the whole, and what is said of it is still seen."""
    async with World(*web(4), wpa(maxReplicas="many")) as world:
        unfit = refusal(500, "failed to create typed live object")
        world.cluster.faults = lambda call: unfit if call.content == APPLY_PATCH else None
        await world.sweep()
        assert world.condition("AbleToScale")["reason"] == "FailedSpecCheck"
        assert world.events("FailedSpecCheck")


async def test_a_status_that_does_not_fit_is_replaced():
    """Somebody else's junk in it must not silence hypot."""
    async with World(*web(4), wpa(status={"conditions": "none"})) as world:
        unfit = refusal(500, "failed to create typed live object")
        world.cluster.faults = lambda call: unfit if call.content == APPLY_PATCH else None
        world.queue("80")
        await world.sweep()
        assert (world.status()["desiredReplicas"], world.condition("ScalingActive")["status"]) == (8, "True")


async def test_a_status_that_is_refused_twice_is_not_offered_in_every_sweep():
    """Once a minute is enough, unless the object is another by then."""
    async with World(*web(4), wpa(maxReplicas="many")) as world:
        offered = []

        def refuse(call):
            if not call.path.endswith("/status"):
                return None
            offered[-1] += 1
            return refusal(422, "no")

        async def sweep():
            offered.append(0)
            await world.sweep()

        world.cluster.faults = refuse
        for _ in range(7):
            await sweep()
        # Each time by apply, and then by a plain patch.
        assert offered == [2, 2, 0, 0, 0, 2, 0]
        world.put(wpa(maxReplicas="more"))
        await sweep()
        assert offered[-1] == 2
