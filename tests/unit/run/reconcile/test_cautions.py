"""Changes during a reconcile that stop its actions, and holds that a restart does not end."""

import pytest

from fake_objects import refusal
from unit.policy.sizes_world import NAMESPACE, node, vpa
from unit.run.run_world import KINDS, OWN, World, all_kinds, blocked, web, wpa

pytestmark = pytest.mark.asyncio
ONLY_VPA = all_kinds(VerticalPodAutoscaler="act")


async def test_a_namespace_that_opts_out_meanwhile_is_not_acted_on():
    """Observing takes time, so the label is checked again right before the write."""
    space = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}}
    space["metadata"]["labels"] = {"hypot.dev/scaling": "enabled"}
    async with World(*web(4), wpa(), space, opt_in="label") as world:
        world.queue("80")
        decide_all = world.reconciler.judge.decide_all

        async def slowly(*given):
            outcomes = await decide_all(*given)
            world.put({**space, "metadata": {"name": NAMESPACE}})
            await world.settle()
            return outcomes

        world.reconciler.judge.decide_all = slowly
        outcome = await world.outcome()
        assert (outcome.acting, outcome.decision.desired, world.replicas) == ("observe", 8, 4)
        assert [call.path for call in world.writes() if OWN not in call.path] == []


async def test_nothing_shrinks_while_labels_of_namespaces_are_not_followed():
    """A namespace may have opted out unnoticed."""
    space = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}}
    space["metadata"]["labels"] = {"hypot.dev/scaling": "enabled"}
    async with World(*web(4), wpa(), space, opt_in="label") as world:
        world.queue("10")
        world.app.watches.namespaces.reflectors[0].trouble = "410 gone"
        assert blocked(await world.outcome()) == (
            "StaleWatch",
            "no scale-down on data that may be outdated: namespaces (410 gone)",
        )
        assert world.replicas == 4


@pytest.mark.parametrize("jump", [60.0, -60.0])
async def test_a_restart_does_not_end_the_wait_after_a_jump_of_the_clock(jump):
    """The wait is part of the state, on the wall clock; the boot clock of another node differs."""
    spec = {"downscaleForbiddenWindowSeconds": 300}
    async with World(*web(4), wpa(**spec)) as world:
        world.queue("30")
        await world.reconcile()
        world.now += jump
        world.queue("10")
        assert blocked(await world.outcome())[0] == "ClockJump"
        world.passes(60)
        world.up -= 4000
        await world.restart()
        world.queue("10")
        assert blocked(await world.outcome())[0] == "ClockJump"
        world.passes(209)
        world.queue("10")
        assert blocked(await world.outcome(after=1))[0] == "ClockJump"
        world.passes(14)
        world.queue("10")
        await world.reconcile(1)
        assert world.replicas < 4


async def test_checkpoints_of_an_object_that_is_gone_are_forgotten():
    """All that is known of them is dropped with the rest that is known of the object."""
    async with World(*web(2), vpa("Off"), node(), kinds=ONLY_VPA) as world:
        world.uses("3", "3Gi")
        await world.reconcile()
        assert world.reconciler.usage_store._written
        world.cluster.remove(f"{KINDS['VerticalPodAutoscaler']}/web")
        await world.reconcile()
        assert (world.reconciler.usage_store._there, world.reconciler.usage_store._written) == ({}, {})


@pytest.mark.parametrize(("mode", "count", "freed"), [("act", 2, [2000]), ("act", 5, []), ("observe", 2, [])])
async def test_an_unrecorded_shrink_is_charged_to_the_governor(mode, count, freed):
    """It may be the last action before a crash; repeated crashes must not free more than one process may."""
    async with World(*web(4), wpa(), kinds=all_kinds(WatermarkPodAutoscaler=mode)) as world:
        world.queue("30")
        await world.reconcile()
        world.scaled(count)
        await world.restart()
        for _ in range(2):
            world.queue("30")
            await world.reconcile()
            assert [one.millicores for one in world.reconciler.judge.governor.admitted] == freed


async def test_a_state_that_cannot_be_written_is_counted():
    """Decisions continue; an alert must fire before the next restart."""
    async with World(*web(4), wpa()) as world:
        world.queue("80")
        assert (await world.reconcile()).unwritten == 0
        path = f"/api/v1/namespaces/{OWN}/configmaps"
        world.cluster.faults = lambda call: (
            refusal(422, "field is immutable") if call.method == "PUT" and call.path.startswith(path) else None
        )
        world.queue("160")
        reconciled = await world.reconcile()
        assert (reconciled.unwritten, world.replicas) == (1, 16)
        world.cluster.faults = None
        assert (await world.reconcile()).unwritten == 0
