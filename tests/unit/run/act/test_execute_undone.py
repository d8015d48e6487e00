"""Decisions that could not be written: not remembered or reported as done, and new pods keep their old size."""

from dataclasses import replace

import pytest
from structlog.testing import capture_logs

from hypot.cluster.port import Answer, encoded
from hypot.core.instant import show_time
from hypot.policy.model.size import resources_of
from hypot.run.outcome import Reconciled
from hypot.run.report.log import DecisionLog
from hypot.run.webhook.admission import held_for_new_pods
from unit.policy.sizes_world import FREE, NAMESPACE, NOW, box, hvpa, node, sized, vpa
from unit.run.act.test_execute_partly import SIZED, TIGHT, comes_back, conflict, evicts, resized, sizer
from unit.run.run_world import World, all_kinds, blocked, body, web

pytestmark = pytest.mark.asyncio
KEY = ("Hvpa", NAMESPACE, "web")
RECORDED = {
    "lastUpdated": show_time(NOW - 3600),
    "hpaStatus": {"currentReplicas": 4, "desiredReplicas": 4},
    "vpaStatus": {"containerResources": [{"containerName": "app", "resources": {"requests": {"cpu": "1500m"}}}]},
}
KNOWN = {"desiredReplicas": 4, "lastScaling": RECORDED}


def told_size(world):
    """The size that the status gives to new pods; the webhook answers from it."""
    listed = world.status("Hvpa")["lastScaling"]["vpaStatus"]["containerResources"]
    return {each["containerName"]: each["resources"] for each in listed}


def admitted(world):
    return [one.at for one in world.reconciler.judge.governor.admitted]


async def test_a_size_that_no_node_holds_reaches_no_pod():
    """The status keeps the old size, and no attempt counts as a scaling."""
    async with World(*web(4), {**sizer(), "status": KNOWN}, node(cpu="2")) as world:
        for _ in range(3):
            world.uses("3")
            outcome = await world.outcome("Hvpa")
            assert world.status("Hvpa")["lastScaling"] == RECORDED
            assert world.status("Hvpa")["desiredReplicas"] == 4
            assert (outcome.state.scalings, outcome.state.last_scale, outcome.state.plan) == (0, NOW - 3600, None)
            assert "no node is large enough" in outcome.refusal
        assert world.condition("CarriedOut", "Hvpa")["reason"] == "Infeasible"
        assert world.condition("Ready", "Hvpa")["status"] == "True"
        assert [each["reason"] for each in world.events()] == ["PlanEnded"]


async def test_what_was_not_done_is_logged_as_that_and_once():
    """The log says "not done", one time, and counts no move."""
    async with World(*web(4), sizer(), node(cpu="2")) as world:
        decision_log, message = DecisionLog(), []
        for _ in range(2):
            world.uses("3")
            outcome = await world.outcome("Hvpa")
            with capture_logs() as logs:
                await decision_log.report(Reconciled((outcome,)))
            message += [line["event"] for line in logs[1:]]
            assert logs[0]["moved"] == 0
        assert message == ["not done"]


async def test_a_shrink_that_cannot_be_done_uses_no_budget():
    """Recording the size for new pods counts once; later nothing is written, so nothing counts."""
    async with World(*web(4, box(cpu="4")), sizer(), node(cpu="96")) as world:
        world.cluster.fixed["/version"] = Answer(200, encoded({"major": "1", "minor": "30"}))
        await world.restart()
        world.app.sizes_new_pods = False
        world.uses("100m")
        first = await world.outcome("Hvpa")
        turns = admitted(world)
        assert (len(turns), first.state.scalings) == (1, 1)
        for _ in range(2):
            world.uses("100m")
            outcome = await world.outcome("Hvpa")
            assert (admitted(world), outcome.state.scalings) == (turns, 1)
            assert outcome.state.last_scale == first.state.last_scale
            assert outcome.refusal


async def test_waiting_for_a_pod_to_come_back_is_not_a_scaling():
    """The size is recorded and the evictions wait: no window begins again, and no plan times out."""
    async with World(*web(8), sizer(8), *TIGHT) as world:
        assert [await evicts(world) for _ in range(2)] == [0, 1]
        states = world.reconciler.judge.states
        states[KEY] = replace(states[KEY], state=states[KEY].state._replace(plan=None))
        for _ in range(2):
            world.uses("3")
            outcome = await world.outcome("Hvpa")
            assert (outcome.state.scalings, outcome.state.plan) == (1, None)
            assert outcome.state.last_scale < world.now - 15
            assert "the last evicted pod is back" in world.condition("CarriedOut", "Hvpa")["message"]
        comes_back(world, SIZED)
        assert await evicts(world) == 2


async def test_unsized_pods_do_not_count_as_scalings():
    """An attempt that was dropped does not count as an action."""
    async with World(*web(8), sizer(8), *TIGHT) as world:
        assert [await evicts(world) for _ in range(2)] == [0, 1]
        comes_back(world)
        for _ in range(3):
            world.uses("3")
            assert (await world.outcome("Hvpa")).state.scalings == 1


async def test_stabilisation_does_not_begin_again():
    """A failed attempt starts no stabilisation."""
    waits = {**FREE, "stabilizationDuration": "5m"}
    made = sizer()
    made["spec"] |= {"scaleUp": waits, "scaleDown": waits}
    async with World(*web(4), made, node(cpu="2")) as world:
        for _ in range(2):
            world.uses("3")
            assert (await world.outcome("Hvpa")).decision.rescales


async def test_only_the_count_is_written_where_no_node_holds_the_size():
    """Cluster and status have the new count with the old size."""
    intervals = [{"maxReplicas": 4, "maxResources": sized("8", "8Gi")}]
    made = hvpa(hpa={"deploy": False, "template": {"spec": {"minReplicas": 4}}}, scalingIntervals=intervals)
    async with World(*web(2), {**made, "status": KNOWN}, node(cpu="2")) as world:
        world.uses("7")
        outcome = await world.outcome("Hvpa")
        assert world.replicas == 4
        assert outcome.state.last_scale == world.now
        reported = world.status("Hvpa")["lastScaling"]
        assert reported["hpaStatus"] == {"currentReplicas": 2, "desiredReplicas": 4}
        assert reported["vpaStatus"] == RECORDED["vpaStatus"]


async def test_the_status_has_a_size_once_it_is_recorded():
    """Scale-down in both: pods that come up before the count is reached get the old size, then the new one."""
    large = box(cpu="4", memory="8Gi")
    async with World(*web(4, large), {**hvpa(), "status": KNOWN}, node(cpu="96", memory="384Gi")) as world:
        world.uses("300m", "1Gi")
        plan = (await world.outcome("Hvpa")).state.plan
        assert world.replicas < 4
        assert told_size(world) == {"app": {"requests": {"cpu": "1500m"}}}
        world.follow()
        world.uses("300m", "1Gi")
        await world.reconcile()
        assert resized(world)
        assert told_size(world) == resources_of(plan.sizes)
        world.uses("300m", "1Gi")
        await world.reconcile()
        assert told_size(world) == resources_of(plan.sizes)


async def test_a_refusal_leaves_the_record():
    """Pods that come up meanwhile get the old size, not that of their template."""
    async with World(*web(4), sizer(), node(cpu="96")) as world:
        for _ in range(2):
            world.uses("2")
            await world.reconcile()
        recorded = world.status("Hvpa")["lastScaling"]
        conflict(world, "hvpas/web/status")
        world.uses("5")
        assert "modified" in (await world.outcome("Hvpa")).refusal
        _, last = world.writes("hvpas/web/status")
        assert body(last)["status"]["lastScaling"] == recorded


async def test_a_plan_continues_where_more_is_impossible():
    """All pods with a better size are better than half of them with it."""
    async with World(*web(8), sizer(8), node(cpu="2"), node("n2", cpu="6")) as world:
        assert [await evicts(world) for _ in range(2)] == [0, 1]
        comes_back(world, SIZED)
        world.uses("7")
        outcome = await world.outcome("Hvpa")
        assert "no node is large enough" in outcome.refusal
        assert len(world.writes("/eviction")) == 2
        assert outcome.state.plan == outcome.before.plan
        assert outcome.state.scalings == 1


async def test_a_missing_webhook_hides_no_hold():
    """The reason is the real hold, because new pods follow it; the message names both."""
    kinds = all_kinds(VerticalPodAutoscaler="act")
    async with World(*web(6), vpa("Recreate"), node(cpu="96"), kinds=kinds, warm=False) as world:
        world.app.sizes_new_pods = False
        world.uses("3", "3Gi")
        outcome = await world.outcome("VerticalPodAutoscaler")
        assert [hold.reason for hold in outcome.holds] == ["ColdStart", "WebhookUnavailable"]
        assert blocked(outcome)[0] == "ColdStart"
        assert "without saved state" in blocked(outcome)[1]
        assert "webhook" in blocked(outcome)[1]
        key = ("VerticalPodAutoscaler", NAMESPACE, "web")
        assert held_for_new_pods(world.app.watches.row(key).autoscaler) == {"down"}
