"""What is remembered of writes: actions once they are done, a dry run never, plans step by step."""

import pytest

from fake_objects import refusal
from hypot.cluster.port import UnreachableError
from hypot.core.instant import show_time
from hypot.run.act.proof import COMES_BACK, RETRY_AFTER
from unit.policy.sizes_world import NAMESPACE, box, hvpa, node, vpa
from unit.run.run_world import KINDS, OWN, WEB, World, all_kinds, hpa, ready, web, wpa

pytestmark = pytest.mark.asyncio
OBJECTS = {"hypot.dev/recommendations": "objects"}
METRIC = {"type": "Resource", "resource": {"name": "cpu", "target": {"type": "Utilization", "averageUtilization": 50}}}
COUNTED = {"deploy": True, "template": {"spec": {"minReplicas": 1, "maxReplicas": 4, "metrics": [METRIC]}}}
CASES = {
    "WatermarkPodAutoscaler": [wpa()],
    "HorizontalPodAutoscaler": [hpa()],
    "VerticalPodAutoscaler": [vpa("Recreate")],
    "Hvpa": [hvpa()],
}


def outside(world):
    """All objects outside hypot's own namespace."""
    paths = [
        *KINDS.values(),
        f"/apis/apps/v1/namespaces/{NAMESPACE}/deployments",
        f"/api/v1/namespaces/{NAMESPACE}/pods",
    ]
    paths += [f"/api/v1/namespaces/{NAMESPACE}/events"]
    return [world.cluster.objects(path) for path in paths]


# A dry run.


@pytest.mark.parametrize("kind", CASES)
async def test_a_dry_run_changes_nothing_and_remembers_no_action(kind):
    """Nothing is sent; the second reconcile observes and decides the same as the first."""
    async with World(*web(2), *CASES[kind], node(), kinds=all_kinds(**{kind: "act"}), dry_run=True) as world:
        before, decided = outside(world), []
        for _ in range(2):
            world.queue("80")
            world.uses("3", "3Gi")
            outcome = await world.outcome(kind)
            acts = [(each.pod, each.action) for each in outcome.decision.actions]
            decided.append((outcome.decision.desired, acts, outcome.decision.rescales))
            assert outcome.state.last_scale is None
            assert outcome.state.scalings == 0
            assert outcome.state.plan is None
            assert not [call for call in world.writes() if OWN not in call.path]
            assert outside(world) == before
        assert decided[0][2]
        assert decided[0] == decided[1]


async def test_a_dry_run_keeps_unneeded_children():
    """What would be deleted is only reported."""
    async with World(*web(1), hvpa(annotations=OBJECTS, hpa=COUNTED), node()) as world:
        world.uses("500m", "512Mi")
        await world.reconcile()
        assert world.cluster.objects(KINDS["HorizontalPodAutoscaler"])
        uid = world.at(f"{KINDS['Hvpa']}/web")["metadata"]["uid"]
        world.put(hvpa(hpa=COUNTED, name="web"))
        assert world.at(f"{KINDS['Hvpa']}/web")["metadata"]["uid"] == uid
        world.config = type(world.config)(**{**as_dict(world.config), "dry_run": True})
        await world.restart()
        await world.reconcile()
        assert not [call for call in world.writes() if call.method == "DELETE"]
        assert world.cluster.objects(KINDS["HorizontalPodAutoscaler"])


def as_dict(config):
    return {name: getattr(config, name) for name in config.__slots__}


async def test_after_a_dry_run_everything_is_done_at_once():
    """The dry run leaves no window and no plan behind."""
    async with World(*web(4), wpa(upscaleForbiddenWindowSeconds=600), dry_run=True) as world:
        world.queue("80")
        await world.reconcile()
        world.config = type(world.config)(**{**as_dict(world.config), "dry_run": False})
        await world.restart()
        world.queue("80")
        await world.reconcile()
        assert world.replicas == 8


# Plans.


async def begun(world):
    """An Hvpa whose target gets one more pod and larger pods; the plan is under way."""
    world.uses("1", "3Gi")
    outcome = await world.outcome("Hvpa")
    assert outcome.state.plan is not None
    world.follow()
    world.uses("500m", "1.5Gi")


async def test_a_plan_continues_after_a_restart():
    """The plan is part of the state, and the next step follows from what is observed."""
    async with World(*web(1), hvpa(), node()) as world:
        await begun(world)
        await world.restart()
        await world.reconcile()
        assert [call.path.rsplit("/", 2)[1] for call in world.writes("/resize")] == ["web-1"]
        world.uses("500m", "1.5Gi")
        outcome = await world.outcome("Hvpa")
        assert outcome.state.plan is None
        assert world.condition("CarriedOut", "Hvpa")["status"] == "True"


@pytest.mark.parametrize("restarts", [True, False])
async def test_a_resize_that_restarts_containers_is_remembered(restarts):
    """It is no eviction: nothing is learnt about new pods."""
    policies = [{"resourceName": "memory", "restartPolicy": "RestartContainer" if restarts else "NotRequired"}]
    async with World(*web(1, box(resizePolicy=policies)), hvpa(), node()) as world:
        await begun(world)
        sizes = (await world.outcome("Hvpa")).state.vertical
        assert world.writes("/resize")
        assert (sizes.evicted, sizes.restarted) == (None, world.now if restarts else None)


async def test_a_step_that_is_refused_is_tried_again():
    """The same plan tries it in the next reconcile; the refusal is reported meanwhile."""
    async with World(*web(1), hvpa(), node()) as world:
        await begun(world)
        world.cluster.faults = lambda call: refusal(500, "not now") if call.path.endswith("/resize") else None
        outcome = await world.outcome("Hvpa")
        assert "not now" in outcome.refusal
        assert outcome.state.plan is not None
        world.cluster.faults = None
        world.uses("500m", "1.5Gi")
        await world.reconcile()
        assert world.writes("/resize")


async def test_a_manual_scale_ends_a_plan():
    """A user who scales manually meanwhile wins."""
    async with World(*web(1), hvpa(), node()) as world:
        await begun(world)
        world.scaled(3)
        world.follow()
        outcome = await world.outcome("Hvpa")
        assert world.replicas == 3
        assert outcome.state.plan is None
        assert world.condition("CarriedOut", "Hvpa")["reason"] == "Superseded"


async def test_the_template_is_edited_only_where_that_is_asked_for():
    """Pods are then left to the workload's own controller."""
    async with World(*web(1), hvpa(annotations={"hypot.dev/resize": "Template"}), node()) as world:
        world.uses("1", "3Gi")
        await world.reconcile()
        assert not world.writes("/resize")
        resources = world.at(WEB)["spec"]["template"]["spec"]["containers"][0]["resources"]
        assert (world.replicas, resources["requests"]["memory"]) == (2, "1Gi")
        world.follow()
        world.uses("500m", "1.5Gi")
        await world.reconcile()
        resources = world.at(WEB)["spec"]["template"]["spec"]["containers"][0]["resources"]
        assert resources["requests"]["memory"] == "1930816k"


async def test_the_template_stays_otherwise():
    """No change of the pods edits the template."""
    async with World(*web(1), hvpa(), node()) as world:
        template = world.at(WEB)["spec"]["template"]
        await begun(world)
        await world.reconcile()
        assert world.at(WEB)["spec"]["template"] == template


# Pods one by one.


async def test_a_pod_that_refuses_does_not_stop_the_others():
    """The refusal is reported, and the pod is tried again next time."""
    kinds = all_kinds(VerticalPodAutoscaler="act")
    updates = {"minReplicas": 1}
    async with World(*web(6), vpa("InPlaceOrRecreate", updates=updates), node(cpu="96"), kinds=kinds) as world:
        world.cluster.faults = lambda call: refusal(422, "no room") if call.path.endswith("web-0/resize") else None
        world.uses("3", "3Gi")
        await world.reconcile()
        tried = [call.path.rsplit("/", 2)[1] for call in world.writes("/resize")]
        assert "web-0" in tried
        assert len(tried) > 1
        assert "no room" in world.events("FailedResize")[0]["message"]


async def test_a_pod_that_is_gone_is_not_reported():
    """It is not an error: the next reconcile observes the pods again."""
    kinds = all_kinds(VerticalPodAutoscaler="act")
    async with World(*web(2), vpa("InPlaceOrRecreate"), node(), kinds=kinds) as world:
        world.cluster.faults = lambda call: refusal(404, "no such pod") if call.path.endswith("/resize") else None
        world.uses("3", "3Gi")
        await world.reconcile()
        assert world.writes("/resize")
        assert not world.events("FailedResize")


async def test_an_eviction_within_a_budget():
    """A PodDisruptionBudget can refuse the eviction."""
    budget = {
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": {"name": "web", "namespace": NAMESPACE},
        "spec": {"selector": {"matchLabels": {"app": "web"}}},
        "status": {"disruptionsAllowed": 0},
    }
    kinds = all_kinds(VerticalPodAutoscaler="act")
    async with World(*web(2), vpa("Recreate"), node(), budget, kinds=kinds) as world:
        assert [bool(await evicts(world)) for _ in range(2)] == [False, True]
        assert len(world.cluster.objects(f"/api/v1/namespaces/{NAMESPACE}/pods")) == 2


# Evictions, and whether they have an effect.

ACT = all_kinds(VerticalPodAutoscaler="act")
SIZED = {"hypot.dev/sized-by": "VerticalPodAutoscaler/web"}


async def evicts(world, after=15.0):
    """How many pods a reconcile evicts."""
    world.uses("3", "3Gi")
    await world.reconcile(after)
    return len(world.writes("/eviction"))


def comes_back(world, annotations=None, seconds=1.0):
    """Create new pods in place of the evicted pods, started so many seconds from now."""
    there = {each["metadata"]["name"] for each in world.cluster.objects(f"/api/v1/namespaces/{NAMESPACE}/pods")}
    for index in range(world.replicas):
        if f"web-{index}" not in there:
            made = ready(index, uid=f"new{index}", annotations=annotations or {})
            made["metadata"]["creationTimestamp"] = made["status"]["startTime"] = show_time(world.now + seconds)
            world.put(made)


async def test_one_pod_shows_whether_the_others_would_be_sized():
    """It is evicted once its size is recorded; then as many as the budget allows, after a look at the new pods."""
    async with World(*web(6), vpa("Recreate"), node(cpu="96"), kinds=ACT) as world:
        assert [await evicts(world) for _ in range(2)] == [0, 1]
        assert await evicts(world) == 0
        comes_back(world, SIZED)
        assert await evicts(world) > 1
        assert not world.events("WebhookUnavailable")
        assert await evicts(world) == 0
        comes_back(world, SIZED)
        assert await evicts(world) > 0


async def test_pods_that_come_back_as_they_were_end_it():
    """An unreachable webhook: one eviction, and no more for a while, also after a restart; the status says so."""
    async with World(*web(6), vpa("Recreate"), node(cpu="96"), kinds=ACT) as world:
        assert [await evicts(world) for _ in range(2)] == [0, 1]
        comes_back(world)
        assert await evicts(world) == 0
        assert "reach the webhook" in world.events("WebhookUnavailable")[0]["message"]
        reported = world.condition("ScalingBlocked", "VerticalPodAutoscaler")
        assert (reported["status"], reported["reason"]) == ("True", "WebhookUnavailable")
        assert f"One more pod is tried at {show_time(world.now - 15.0 + RETRY_AFTER)}" in reported["message"]
        await world.restart()
        for after in (15.0, RETRY_AFTER - 60.0):
            assert await evicts(world, after) == 0
        world.cluster.remove(f"/api/v1/namespaces/{NAMESPACE}/pods/web-0")
        comes_back(world, SIZED)
        assert await evicts(world) > 0
        assert world.condition("ScalingBlocked", "VerticalPodAutoscaler")["status"] == "False"


async def test_unsized_pods_are_no_reason_for_ever():
    """One more pod is tried after 10 minutes, then after 20, 40 and 60; a pod that comes up sized ends it."""
    async with World(*web(6), vpa("Recreate"), node(cpu="96"), kinds=ACT) as world:
        assert [await evicts(world) for _ in range(2)] == [0, 1]
        for minutes in (10, 20, 40, 60, 60):
            comes_back(world)
            assert await evicts(world, 60 * minutes - 30) == 0
            assert world.condition("ScalingBlocked", "VerticalPodAutoscaler")["reason"] == "WebhookUnavailable"
            await world.restart()
            assert await evicts(world, 45) == 1
        comes_back(world, SIZED)
        assert await evicts(world) > 1
        comes_back(world)
        assert await evicts(world, RETRY_AFTER - 30) == 0
        assert await evicts(world, 45) == 1


async def test_another_one_is_tried_where_none_came_back():
    """After a while nothing is known, so one more eviction is tried."""
    async with World(*web(6), vpa("Recreate"), node(cpu="96"), kinds=ACT) as world:
        assert [await evicts(world) for _ in range(2)] == [0, 1]
        assert await evicts(world, COMES_BACK - 30) == 0
        comes_back(world, seconds=3600)
        assert await evicts(world, 3700) == 1


async def test_the_mark_of_another_autoscaler_does_not_count():
    """Another autoscaler sized the new pod, so evictions would never end."""
    async with World(*web(6), vpa("Recreate"), node(cpu="96"), kinds=ACT) as world:
        assert [await evicts(world) for _ in range(2)] == [0, 1]
        comes_back(world, {"hypot.dev/sized-by": "VerticalPodAutoscaler/other"})
        assert await evicts(world) == 0


async def test_a_missing_answer_is_reported_as_such():
    """The outcome is unsure, and the refusal names the attempt."""
    async with World(*web(4), wpa()) as world:
        world.queue("80")
        world.cluster.faults = lambda call: UnreachableError("PUT: cut off") if call.path.endswith("/scale") else None
        outcome = await world.outcome()
        assert (outcome.unsure, outcome.refusal) == (True, "PUT: cut off")
        assert outcome.state.last_scale is None


async def test_a_plan_does_not_shrink_while_metrics_are_gone():
    """Missing data stops a decided scale-down too; it continues with new data."""
    async with World(*web(4), hvpa(hpa=COUNTED), node(cpu="96", memory="384Gi")) as world:
        world.uses("1", "3Gi")
        plan = (await world.outcome("Hvpa")).state.plan
        assert (plan.before_replicas, plan.replicas) == (4, 3)
        world.cluster.faults = lambda call: refusal(503, "no metrics") if "metrics.k8s.io" in call.path else None
        for seconds in (120.0, 15.0):
            assert (await world.outcome("Hvpa", after=seconds)).state.plan == plan
            assert (world.replicas, world.writes("/scale")) == (4, [])
        world.cluster.faults = None
        world.uses("1", "3Gi")
        await world.reconcile()
        assert world.replicas == 3


async def test_a_plan_continues_to_grow_while_metrics_are_gone():
    """More than needed is safe."""
    async with World(*web(1), hvpa(hpa=COUNTED), node()) as world:
        await begun(world)
        world.cluster.faults = lambda call: refusal(503, "no metrics") if "metrics.k8s.io" in call.path else None
        await world.reconcile(120.0)
        assert world.writes("/resize")
