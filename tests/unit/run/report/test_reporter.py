"""Statuses that a server does not take, and the last one that is written."""

from dataclasses import replace

import pytest

from fake_objects import refusal
from hypot.cluster.port import APPLY_PATCH
from hypot.kinds.node import replaced
from hypot.policy.model.decision import show_time
from unit.policy.sizes_world import NAMESPACE
from unit.run.run_world import KINDS, NOW, OWN, World, all_kinds, body, hpa, web, wpa

pytestmark = pytest.mark.asyncio
SPACE = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}}
OPTED_IN = {**SPACE, "metadata": {"name": NAMESPACE, "labels": {"hypot.dev/scaling": "enabled"}}}


def writers(*names, at=NOW):
    """Who wrote the status, one second after the other."""
    reported = [{"manager": name, "subresource": "status", "time": show_time(at + i)} for i, name in enumerate(names)]
    return {"managedFields": reported}


def reported(world):
    """What was written last, but for hypot's own memory."""
    return [call.path for call in world.writes() if OWN not in call.path]


async def test_an_object_that_cannot_be_applied_to_gets_its_conditions_by_a_patch():
    """A stricter schema than the one it was made under refuses the whole, and what is said of it is still seen."""
    async with World(*web(4), wpa(maxReplicas="many")) as world:
        unfit = refusal(500, "failed to create typed live object")
        world.cluster.faults = lambda call: unfit if call.content == APPLY_PATCH else None
        await world.reconcile()
        assert world.condition("AbleToScale")["reason"] == "FailedSpecCheck"
        assert world.events("FailedSpecCheck")


async def test_a_status_that_does_not_fit_is_replaced():
    """Somebody else's junk in it must not silence hypot."""
    async with World(*web(4), wpa(status={"conditions": "none"})) as world:
        unfit = refusal(500, "failed to create typed live object")
        world.cluster.faults = lambda call: unfit if call.content == APPLY_PATCH else None
        world.queue("80")
        await world.reconcile()
        assert (world.status()["desiredReplicas"], world.condition("ScalingActive")["status"]) == (8, "True")


async def test_a_status_that_is_refused_twice_is_not_offered_in_every_reconcile():
    """Once a minute is enough, unless the object is another by then."""
    async with World(*web(4), wpa(maxReplicas="many")) as world:
        offered = []

        def refuse(call):
            if not call.path.endswith("/status"):
                return None
            offered[-1] += 1
            return refusal(422, "no")

        async def reconcile():
            offered.append(0)
            await world.reconcile()

        world.cluster.faults = refuse
        for _ in range(7):
            await reconcile()
        # Each time by apply, and then by a plain patch.
        assert offered == [2, 2, 0, 0, 0, 2, 0]
        world.put(wpa(maxReplicas="more"))
        await reconcile()
        assert offered[-1] == 2


async def test_a_status_is_for_the_version_that_was_decided_on():
    """Who changed the object meanwhile is heard first, though the watch has told of it by now."""
    async with World(*web(4), wpa()) as world:
        world.queue("80")
        outcome = await world.outcome()
        reporter = world.reconciler.reporter
        reporter.forget([outcome.key])
        world.put(wpa(maxReplicas=6))
        await world.settle()
        done = await reporter.status(outcome, world.up)
        assert (done.ok, done.overtaken) == (False, True)


async def test_our_own_write_is_built_on():
    """The second status on one version of an object is for what the first made of it."""
    async with World(*web(4), wpa()) as world:
        world.queue("80")
        outcome = await world.outcome()
        world.cluster.calls.clear()
        assert (await world.reconciler.reporter.status(outcome, world.up)).ok
        (write,) = world.writes("/status")
        made = body(write)["metadata"]["resourceVersion"]
        assert made != outcome.version
        assert made == world.at(f"{KINDS['WatermarkPodAutoscaler']}/web")["metadata"]["resourceVersion"]


async def test_a_status_of_what_has_no_version_is_not_written():
    """It would be for any version, and overwrite whichever there is."""
    async with World(*web(4), wpa()) as world:
        outcome = await world.outcome()
        bare = replaced(outcome.autoscaler, metadata={"name": "web", "namespace": NAMESPACE})
        world.cluster.calls.clear()
        done = await world.reconciler.reporter.status(replace(outcome, autoscaler=bare), world.up)
        assert (done.ok, done.overtaken) == (False, True)
        assert not world.writes()


async def test_a_dry_run_tells_again_what_it_did_not_write():
    """Nothing was made of the object, so the version that was seen still stands."""
    async with World(*web(4), wpa(), dry_run=True) as world:
        world.queue("80")
        outcome = await world.outcome()
        assert world.reconciler.reporter.version(outcome) == outcome.version != ""
        assert (await world.reconciler.reporter.status(outcome, world.up)).ok


async def test_a_namespace_that_opts_out_leaves_no_status_that_looks_kept():
    """One last write that says how to go on; then nothing, also after a restart, until it opts in again."""
    async with World(*web(4), wpa(metadata=writers("hypot")), OPTED_IN, opt_in="label") as world:
        world.queue("80")
        await world.reconcile()
        before = world.status()
        world.put(SPACE)
        world.queue("160")
        await world.reconcile()
        blocked = world.condition("ScalingBlocked")
        assert (blocked["status"], blocked["reason"]) == ("True", "NotOptedIn")
        assert "hypot.dev/scaling=enabled" in blocked["message"]
        assert world.status()["desiredReplicas"] == before["desiredReplicas"] == 8
        assert reported(world) == [f"{KINDS['WatermarkPodAutoscaler']}/web/status"]
        for _ in range(6):
            world.queue("160")
            await world.reconcile()
            assert reported(world) == []
        await world.restart()
        await world.reconcile()
        assert reported(world) == []
        world.put(OPTED_IN)
        world.queue("30")
        await world.reconcile()
        assert world.condition("ScalingBlocked").get("status") != "True"
        assert world.condition("ScalingActive")["status"] == "True"


@pytest.mark.parametrize("names", [(), ("other",), ("hypot", "other")])
async def test_a_status_that_is_not_ours_is_left_alone(names):
    """Nobody's, somebody else's, or whose he is who took over."""
    status = {"currentReplicas": 4, "conditions": []}
    async with World(*web(4), wpa(metadata=writers(*names), status=status), SPACE, opt_in="label") as world:
        world.queue("80")
        await world.reconcile()
        assert reported(world) == []


async def test_a_kind_that_is_only_observed_is_never_written_to():
    """Not even where hypot wrote its status when it acted for it: it may have no right to."""
    kinds = all_kinds(WatermarkPodAutoscaler="observe")
    async with World(*web(4), wpa(metadata=writers("hypot")), SPACE, opt_in="label", kinds=kinds) as world:
        world.queue("80")
        await world.reconcile()
        assert reported(world) == []


async def test_an_hpa_says_in_its_own_way_that_its_namespace_opted_out():
    """It has no condition for being blocked."""
    thing = hpa(status={"currentReplicas": 4, "desiredReplicas": 4, "conditions": []})
    thing["metadata"].update(writers("hypot"))
    kinds = all_kinds(HorizontalPodAutoscaler="act")
    async with World(*web(4), thing, SPACE, opt_in="label", kinds=kinds) as world:
        await world.reconcile()
        able = world.condition("AbleToScale", "HorizontalPodAutoscaler")
        assert (able["status"], able["reason"]) == ("False", "NotOptedIn")
        assert world.status("HorizontalPodAutoscaler")["desiredReplicas"] == 4
