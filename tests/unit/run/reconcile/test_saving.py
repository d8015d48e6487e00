"""When the controller saves its state, what a crash and a stop lose, and objects whose state did not fit."""

import pytest
from structlog.testing import capture_logs

from hypot.run.store import shard_text, shards, usage_text
from hypot.run.store.shards import Shards
from unit.policy.sizes_world import NAMESPACE, hvpa, node
from unit.run.run_world import OWN, World, all_kinds, blocked, hpa, web, wpa

pytestmark = pytest.mark.asyncio
STATE = "/configmaps"
WINDOW = {"downscaleForbiddenWindowSeconds": 300}
# A window of five minutes, and a target of 50 % of 1 cpu.
HPA = {"kinds": all_kinds(HorizontalPodAutoscaler="act")}


async def saved(world):
    return (await Shards(world.cluster, OWN).load()).entries


async def steps(world, count, cpu):
    for _ in range(count):
        world.uses(cpu)
        await world.reconcile()
        world.follow()


async def test_an_hour_in_which_nothing_is_decided():
    """Only usage is saved, one shard in ten minutes; nothing is stamped anew in every reconcile."""
    objects = [*web(2), hpa(), hvpa(), node()]
    async with World(*objects, kinds=all_kinds(HorizontalPodAutoscaler="observe", Hvpa="observe")) as world:
        await steps(world, 5, "500m")
        written = 0
        for _ in range(240):
            world.uses("500m")
            await world.reconcile()
            written += len(world.writes(STATE))
        assert 5 <= written <= 6


@pytest.mark.parametrize("count", [2, 4])
async def test_many_shards_are_written_one_in_a_minute(monkeypatch, count):
    """However many there are: those with usage have their turn."""
    monkeypatch.setattr(shard_text, "ROOMY", 2000 // count)
    objects = [*web(2), *[hvpa(name=f"web-{number}") for number in range(8)], node()]
    async with World(*objects, kinds=all_kinds(Hvpa="observe")) as world:
        await steps(world, 5, "500m")
        written = []
        for _ in range(240):
            world.uses("500m")
            await world.reconcile()
            written.append(len(world.writes(STATE)))
        assert len(world.cluster.objects(f"/api/v1/namespaces/{OWN}/configmaps")) > 1
        assert all(sum(written[at : at + 4]) <= 1 for at in range(len(written)))
        assert sum(written) > 6


async def test_an_action_is_saved_at_once():
    """In the reconcile that did it, and only once."""
    async with World(*web(4), wpa()) as world:
        world.queue("80")
        await world.reconcile()
        assert len(world.writes(STATE)) == 1
        found = (await saved(world))[f"WatermarkPodAutoscaler/{NAMESPACE}/web"]
        assert (found["lastScale"], found["seen"]["replicas"], found["seen"]["at"]) == (world.now, 8, None)


async def test_a_stop_saves_everything():
    """Also usage that waits for its turn, and when each object was last observed: the next leader goes on."""
    async with World(*web(2), hvpa(), node()) as world:
        await steps(world, 5, "500m")
        before = (await saved(world))[f"usage/Hvpa/{NAMESPACE}/web"]
        await world.reconciler.stop()
        found = await saved(world)
        assert found[f"Hvpa/{NAMESPACE}/web"]["seen"]["at"] == world.now
        after = usage_text.read(found[f"usage/Hvpa/{NAMESPACE}/web"])
        assert after.rows["app"].samples > usage_text.read(before).rows["app"].samples
        await world.restart()
        world.uses("500m")
        await world.reconcile()
        assert (await saved(world))[f"Hvpa/{NAMESPACE}/web"]["seen"]["at"] is None


@pytest.mark.parametrize("killed", [False, True])
@pytest.mark.parametrize("lasted", [3, 15, 40])
async def test_the_last_recommendation_before_a_restart(killed, lasted):
    """A crash loses its time, so it counts as made now: the window of five minutes never ends earlier."""
    async with World(*web(4), hpa(), **HPA) as world:
        await steps(world, 3, "450m")
        await steps(world, lasted, "500m")
        await (world.restart() if killed else world.replaced())
        taken = 0
        while world.replicas == 4:
            await steps(world, 1, "10m")
            taken += 1
        assert taken == (22 if killed else 21)


async def test_a_count_that_changed_during_a_crash_long_after_the_last_action():
    """It may be hypot's own action that was not saved, so the window begins now."""
    async with World(*web(4), wpa(**WINDOW)) as world:
        world.queue("80")
        await world.reconcile()
        world.follow()
        for _ in range(30):
            world.queue("30")
            await world.reconcile()
        world.scaled(6)
        world.follow()
        await world.restart()
        world.queue("10")
        await world.reconcile()
        assert world.replicas == 6
        assert world.reconciler.judge.states["WatermarkPodAutoscaler", NAMESPACE, "web"].state.last_scale == world.now


# A state that is full.


def nothing_fits(monkeypatch):
    monkeypatch.setattr(shard_text, "COUNTS", (1,))
    monkeypatch.setattr(shards, "FULL", 350)
    monkeypatch.setattr(shard_text, "FULL", 350)


async def test_what_did_not_fit_starts_cold(monkeypatch):
    """Only that, for its longest window; another restart does not end it, although the entry fits now."""
    async with World(*web(4), wpa(**WINDOW)) as world:
        with monkeypatch.context() as full:
            nothing_fits(full)
            world.queue("30")
            reconciled = await world.reconcile()
            assert reconciled.unwritten == 1
            assert set(await saved(world)) == {"governor"}
            await world.restart()
        assert not world.reconciler.may_shrink()
        world.queue("10")
        assert blocked(await world.outcome())[0] == "ColdStart"
        assert world.reconciler.cold_since is None
        world.passes(60)
        await world.restart()
        world.queue("10")
        assert blocked(await world.outcome())[0] == "ColdStart"
        world.passes(225)
        world.queue("10")
        await world.reconcile(1)
        assert world.replicas < 4


async def test_an_object_that_is_new_after_a_full_state_is_not_cold(monkeypatch):
    """It was not there when the state was loaded, so nothing of it was lost."""
    async with World(*web(4)) as world:
        with monkeypatch.context() as full:
            nothing_fits(full)
            await world.restart()
        world.put(wpa(**WINDOW))
        world.queue("10")
        await world.reconcile()
        assert world.replicas < 4


async def test_a_state_that_is_almost_full_is_reported(monkeypatch):
    """Before anything is lost, and once."""
    async with World(*web(4), wpa()) as world:
        world.queue("30")
        assert (await world.reconcile()).state_used < 0.01
        monkeypatch.setattr(shard_text, "RESIDUES", 1)
        monkeypatch.setattr(shard_text, "FULL", 600)
        with capture_logs() as logs:
            for queue in ("80", "30"):
                world.queue(queue)
                reconciled = await world.reconcile()
                assert 0.8 < reconciled.state_used < 1
                assert reconciled.unwritten == 0
        assert len([each for each in logs if each["event"] == "the state is almost full"]) == 1
