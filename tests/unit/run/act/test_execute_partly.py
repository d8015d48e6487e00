"""Plans of an Hvpa that succeed only in part, and evictions that have no effect."""

import pytest

from fake_objects import refusal
from hypot.core.instant import show_time
from hypot.policy.model.size import Size
from hypot.run.act.proof import COMES_BACK, RETRY_AFTER
from hypot.run.act.recorded import is_recorded
from unit.policy.sizes_world import NAMESPACE, ago, box, hvpa, node, vpa
from unit.run.run_world import PERIOD, World, all_kinds, ready, web

pytestmark = pytest.mark.asyncio
PODS = f"/api/v1/namespaces/{NAMESPACE}/pods"
KEY = ("Hvpa", NAMESPACE, "web")
SIZED = {"hypot.dev/sized-by": "Hvpa/web"}
ACT = all_kinds(VerticalPodAutoscaler="act")
# The node of the pods has no room for more; another node has.
TIGHT = (node(cpu="2"), node("n2", cpu="96"))


def sizer(count=4):
    """An Hvpa that sizes so many pods, never more nor fewer."""
    template = {"spec": {"minReplicas": count, "maxReplicas": count}}
    intervals = [{"maxReplicas": count, "maxResources": {"cpu": "8", "memory": "16Gi"}}]
    return hvpa(hpa={"deploy": False, "template": template}, scalingIntervals=intervals)


def conflict(world, part, times=1):
    """The first writes to such a path meet a conflict."""
    left = [None] * times

    def fault(call):
        if part not in call.path or not call.writes or not left:
            return None
        left.pop()
        return refusal(409, "the object has been modified")

    world.cluster.faults = fault


def resized(world):
    return sorted([call.path.rsplit("/", 2)[1] for call in world.writes("/resize")])


# What was refused.


async def test_one_conflict_does_not_lose_the_plan():
    """The other pods already have the size: the plan continues with this pod in the next reconcile."""
    async with World(*web(4), sizer(), node(cpu="96")) as world:
        world.uses("2")
        conflict(world, "web-1/resize")
        outcome = await world.outcome("Hvpa")
        assert len(resized(world)) == 4
        assert (outcome.state.plan is None, outcome.refusal, outcome.state.last_scale) == (False, "", world.now)
        assert "resize 3 pods" in world.condition("CarriedOut", "Hvpa")["message"].lower()
        assert not world.events("FailedScaling")
        world.uses("2")
        await world.reconcile()
        assert resized(world) == ["web-1"]
        world.uses("2")
        await world.reconcile()
        assert world.condition("CarriedOut", "Hvpa")["reason"] == "Done"


async def test_a_plan_that_is_held_asks_for_what_was_refused():
    """It is the same decision: a block of new decisions does not keep pods at their old size."""
    async with World(*web(4), sizer(), node(cpu="96")) as world:
        world.uses("2", "2Gi")
        conflict(world, "web-1/resize")
        await world.reconcile()
        world.annotate("Hvpa", paused="down")
        world.uses("2", "2Gi")
        await world.reconcile()
        assert resized(world) == ["web-1"]


async def test_a_shrink_in_part_gives_the_governor_nothing_back():
    """Three of four pods are smaller: that counts."""
    async with World(*web(4, box(cpu="4")), sizer(), node(cpu="96")) as world:
        world.uses("100m")
        conflict(world, "web-1/resize")
        await world.reconcile()
        assert len(resized(world)) == 4
        assert [one.key for one in world.reconciler.judge.governor.admitted] == [KEY]


async def test_a_plan_continues_once_its_size_is_recorded():
    """New pods get it, so it is not reverted; the count is tried again, and nothing is reported as done."""
    async with World(*web(1), hvpa(), node()) as world:
        world.uses("1", "3Gi")
        world.cluster.faults = lambda call: refusal(403, "never") if call.path.endswith("/scale") else None
        assert (await world.outcome("Hvpa")).state.plan is not None
        assert "never" in world.condition("CarriedOut", "Hvpa")["message"]
        assert world.events("FailedScaling")
        assert not world.events("Scaled")
        world.cluster.faults = None
        world.uses("1", "3Gi")
        await world.reconcile()
        assert world.replicas == 2


async def test_a_plan_that_did_nothing_has_failed():
    """Where the size cannot be recorded, nothing is remembered as done."""
    async with World(*web(4), sizer(), node(cpu="96")) as world:
        world.uses("2")
        world.cluster.faults = lambda call: refusal(500, "not now") if call.path.endswith("/status") else None
        outcome = await world.outcome("Hvpa")
        assert (outcome.state.plan, outcome.state.last_scale, resized(world)) == (None, None, [])
        assert world.events("FailedScaling")


# Evictions that prove nothing, or the wrong thing.


def comes_back(world, annotations=None):
    """Create new pods in place of the evicted pods."""
    there = {each["metadata"]["name"] for each in world.cluster.objects(PODS)}
    for index in range(world.replicas):
        if f"web-{index}" not in there:
            made = ready(
                index, box(cpu="4") if annotations else box(), uid=f"n{world.now}", annotations=annotations or {}
            )
            made["status"]["startTime"] = show_time(world.now + 1)
            world.put(made)


async def evicts(world, after=15.0):
    """How many pods a reconcile evicts."""
    world.passes(after - PERIOD)
    world.uses("3")
    await world.reconcile()
    return len(world.writes("/eviction"))


async def test_an_hvpa_evicts_one_pod_first():
    """It does so once its size is recorded; the others follow once that pod is back with the size."""
    async with World(*web(8), sizer(8), *TIGHT) as world:
        assert await evicts(world) == 0
        assert "once the size is recorded" in world.condition("CarriedOut", "Hvpa")["message"]
        assert await evicts(world) == 1
        assert await evicts(world) == 0
        comes_back(world, SIZED)
        assert await evicts(world) == 2
        assert not world.events("WebhookUnavailable")


async def test_an_hvpa_stops_evicting_where_pods_come_back_unchanged():
    """One more pod is tried after a while, also after a restart; a pod that comes up sized ends it."""
    async with World(*web(8), sizer(8), *TIGHT) as world:
        assert [await evicts(world) for _ in range(2)] == [0, 1]
        comes_back(world)
        assert await evicts(world) == 0
        assert "reach the webhook" in world.events("WebhookUnavailable")[0]["message"]
        await world.restart()
        for after in (15.0, 400.0, RETRY_AFTER - 460.0):
            assert await evicts(world, after) == 0
        assert await evicts(world, 60.0) == 1
        comes_back(world)
        assert await evicts(world, 2 * RETRY_AFTER - 60.0) == 0
        world.cluster.remove(f"{PODS}/web-0")
        comes_back(world, SIZED)
        assert sum([await evicts(world) for _ in range(2)]) == 2


async def test_an_hvpa_resizes_what_it_may_not_evict():
    """Resizing a pod that is killed repeatedly is better than leaving it."""
    async with World(*web(4), sizer(), node(cpu="96")) as world:
        world.app.sizes_new_pods = False
        for index in range(4):
            world.put(dying(index))
        world.uses("3")
        plan = (await world.outcome("Hvpa")).state.plan
        assert len(resized(world)) == 4
        assert "not installed" in world.events("WebhookUnavailable")[0]["message"]
        assert plan.resizing == "InPlaceOrRecreate"


async def test_nothing_more_is_evicted_where_nothing_came_back():
    """A quota refuses the larger pod: one pod is missing, and the others are not evicted too."""
    async with World(*web(6), vpa("Recreate"), node(cpu="96"), kinds=ACT) as world:
        assert [await evicts(world) for _ in range(2)] == [0, 1]
        for after in (COMES_BACK + 60, 3600.0, 86_400.0):
            assert await evicts(world, after) == 0
        assert "no new pod was created" in world.events("FailedResize")[0]["message"]
        world.scaled(5)
        assert await evicts(world) == 1


async def test_the_autoscaler_that_sized_the_new_pod_is_named():
    """The message does not blame the network or a LimitRange."""
    async with World(*web(6), vpa("Recreate"), node(cpu="96"), kinds=ACT) as world:
        assert [await evicts(world) for _ in range(2)] == [0, 1]
        comes_back(world, {"hypot.dev/sized-by": "Hvpa/other"})
        assert await evicts(world) == 0
        assert "Hvpa/other" in world.events("Conflict")[0]["message"]
        assert not world.events("WebhookUnavailable")


def dying(index):
    """A pod whose container was OOM-killed just now, a minute after its start."""
    ended = {"reason": "OOMKilled", "startedAt": ago(90), "finishedAt": ago(30)}
    state = {"name": "app", "restartCount": 9, "lastState": {"terminated": ended}, "state": {"waiting": {}}}
    made = ready(index, box(memory="256Mi"))
    return {**made, "status": {**made["status"], "containerStatuses": [state]}}


async def test_a_pod_in_a_loop_of_kills_is_resized_where_nothing_is_evicted():
    """A resize helps little, but more than nothing; it is reported as a resize."""
    async with World(*web(3), vpa("InPlaceOrRecreate"), node(cpu="96"), kinds=ACT) as world:
        for index in range(3):
            world.put(dying(index))
        world.app.sizes_new_pods = False
        world.uses("3", "3Gi")
        outcome = await world.outcome("VerticalPodAutoscaler")
        taken = [each.pod for each in outcome.decision.actions if each.or_resize]
        assert taken
        assert resized(world) == sorted(taken)
        assert not world.writes("/eviction")
        assert not world.events("EvictedPod")
        assert world.events("InPlaceResizedByVPA")
        assert outcome.refusal == ""


async def test_it_is_evicted_where_that_helps():
    """Eviction comes first, and no resize in addition."""
    async with World(*web(3), vpa("InPlaceOrRecreate"), node(cpu="96"), kinds=ACT) as world:
        for index in range(3):
            world.put(dying(index))
        world.cluster.faults = lambda call: refusal(422, "no") if call.path.endswith("/resize") else None
        await evicts(world)
        world.cluster.faults = None
        assert await evicts(world) == 1
        assert not resized(world)


# Objects that change meanwhile.


@pytest.mark.parametrize("made", [sizer(), vpa("InPlaceOrRecreate")])
async def test_an_object_paused_in_the_middle_is_left_alone(made):
    """Finished steps are reported as done; the rest is neither done nor refused."""
    kinds = all_kinds(VerticalPodAutoscaler="act", Hvpa="act")
    async with World(*web(4), made, node(cpu="96"), kinds=kinds) as world:
        world.reconciler.executor._stands = lambda _: not world.writes("/resize")
        world.uses("3", "3Gi")
        outcome = await world.outcome(made["kind"])
        assert len(resized(world)) == 1
        assert (outcome.refusal, outcome.acting) == ("", "act")
        assert not world.events("FailedResize")
        assert len(world.events("InPlaceResizedByVPA")) == (made["kind"] != "Hvpa")


@pytest.mark.parametrize("made", [sizer(), vpa("InPlaceOrRecreate")])
async def test_an_object_changed_before_the_first_write_is_only_observed(made):
    """No action is done or reported for it."""
    kinds = all_kinds(VerticalPodAutoscaler="act", Hvpa="act")
    async with World(*web(4), made, node(cpu="96"), kinds=kinds) as world:
        world.reconciler.executor._stands = lambda _: False
        world.uses("3", "3Gi")
        outcome = await world.outcome(made["kind"])
        assert (outcome.acting, outcome.state.last_scale, outcome.state.plan) == ("observe", None, None)
        assert not world.events()
        assert not world.writes(PODS)


async def test_a_record_of_more_containers_is_a_record_too():
    """The status also names containers that are left alone, and is not written again because of them."""
    listed = [{"containerName": name, "resources": {"requests": {"cpu": "1"}}} for name in ("app", "proxy")]
    status = {"lastScaling": {"vpaStatus": {"containerResources": listed}}}
    async with World(*web(1), hvpa(status=status), node()) as world:
        known = await world.outcome("Hvpa")
        assert is_recorded(known, (Size("app", {"cpu": 1000}),))
        assert not is_recorded(known, (Size("app", {"cpu": 2000}),))
