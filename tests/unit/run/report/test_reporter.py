"""Statuses that a server refuses, and the last status that is written."""

from dataclasses import replace

import pytest

from fake_objects import refusal
from hypot.cluster.port import APPLY_PATCH
from hypot.core.instant import show_time
from hypot.kinds.node import replaced
from unit.policy.sizes_world import NAMESPACE
from unit.run.run_world import KINDS, NOW, OWN, World, all_kinds, body, hpa, web, wpa

pytestmark = pytest.mark.asyncio
SPACE = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}}
OPTED_IN = {**SPACE, "metadata": {"name": NAMESPACE, "labels": {"hypot.dev/scaling": "enabled"}}}


def writers(*names, at=NOW):
    """The managers that wrote the status, one second apart."""
    reported = [{"manager": name, "subresource": "status", "time": show_time(at + i)} for i, name in enumerate(names)]
    return {"managedFields": reported}


def reported(world):
    """The last writes, except for hypot's own state."""
    return [call.path for call in world.writes() if OWN not in call.path]


async def test_an_object_that_cannot_be_applied_to_gets_its_conditions_by_a_patch():
    """A newer, stricter schema refuses the whole object, but its conditions are still shown."""
    async with World(*web(4), wpa(maxReplicas="many")) as world:
        unfit = refusal(500, "failed to create typed live object")
        world.cluster.faults = lambda call: unfit if call.content == APPLY_PATCH else None
        await world.reconcile()
        assert world.condition("AbleToScale")["reason"] == "FailedSpecCheck"
        assert world.events("FailedSpecCheck")


async def test_a_status_that_does_not_fit_is_replaced():
    """Invalid fields from another client must not stop hypot's reports."""
    async with World(*web(4), wpa(status={"conditions": "none"})) as world:
        unfit = refusal(500, "failed to create typed live object")
        world.cluster.faults = lambda call: unfit if call.content == APPLY_PATCH else None
        world.queue("80")
        await world.reconcile()
        assert (world.status()["desiredReplicas"], world.condition("ScalingActive")["status"]) == (8, "True")


async def test_a_status_that_is_refused_twice_is_not_offered_in_every_reconcile():
    """Once a minute is enough, unless the object changed."""
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
        # Each attempt is an apply, and then a plain patch.
        assert offered == [2, 2, 0, 0, 0, 2, 0]
        world.put(wpa(maxReplicas="more"))
        await reconcile()
        assert offered[-1] == 2


async def test_a_status_is_for_the_version_that_was_decided_on():
    """A change of the object meanwhile is decided on first, even where the watch has reported it by now."""
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
    """The second status on one version of an object uses the version that the first made."""
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
    """It would match any version, and overwrite newer changes."""
    async with World(*web(4), wpa()) as world:
        outcome = await world.outcome()
        bare = replaced(outcome.autoscaler, metadata={"name": "web", "namespace": NAMESPACE})
        world.cluster.calls.clear()
        done = await world.reconciler.reporter.status(replace(outcome, autoscaler=bare), world.up)
        assert (done.ok, done.overtaken) == (False, True)
        assert not world.writes()


async def test_a_dry_run_can_report_again():
    """The object did not change, so the observed version is still current."""
    async with World(*web(4), wpa(), dry_run=True) as world:
        world.queue("80")
        outcome = await world.outcome()
        assert world.reconciler.reporter.version(outcome) == outcome.version != ""
        assert (await world.reconciler.reporter.status(outcome, world.up)).ok


async def test_the_status_says_that_a_namespace_opted_out():
    """One last write says how to continue; then nothing, also after a restart, until it opts in again."""
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
    """It has no writer, another writer, or a newer writer."""
    status = {"currentReplicas": 4, "conditions": []}
    async with World(*web(4), wpa(metadata=writers(*names), status=status), SPACE, opt_in="label") as world:
        world.queue("80")
        await world.reconcile()
        assert reported(world) == []


async def test_a_kind_that_is_only_observed_is_never_written_to():
    """Not even where hypot wrote its status while it acted: it may no longer have the right."""
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
