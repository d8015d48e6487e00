"""Nothing shrinks without measurements: not by a decision, a step of a plan, or the sizing of a new pod."""

import pytest

from fake_objects import refusal
from hypot.core.instant import show_time
from hypot.policy.model.decision import condition_of
from hypot.policy.model.seen import Reply
from unit.policy.sizes_world import NAMESPACE, ago, box, hvpa, node, vpa
from unit.run.run_world import World, all_kinds, blocked, ready, web, wpa

pytestmark = pytest.mark.asyncio
VPA, HVPA = "VerticalPodAutoscaler", "Hvpa"
SIZING = {VPA: vpa("InPlaceOrRecreate"), HVPA: hvpa()}
OPTED_IN = {
    "apiVersion": "v1",
    "kind": "Namespace",
    "metadata": {"name": NAMESPACE, "labels": {"hypot.dev/scaling": "enabled"}},
}
BOTH = pytest.mark.parametrize("kind", SIZING)


def sized_by(kind, *more, thing=None, **config):
    kinds = all_kinds(**{kind: "act"})
    room = node(cpu="96", memory="384Gi")
    return World(*web(4), thing or SIZING[kind], room, *more, kinds=kinds, **config)


async def learnt(world, kind, cpu="100m", memory="128Mi"):
    """Usage was learnt while the autoscaler was paused, and now the pause is over."""
    world.annotate(kind, paused="true")
    world.uses(cpu, memory)
    await world.reconcile()
    world.annotate(kind)


def moves(world):
    return [call.path for call in world.writes() if call.path.endswith(("/scale", "/resize", "/eviction"))]


def no_metrics(world):
    world.cluster.faults = lambda call: refusal(503, "no metrics") if "metrics.k8s.io" in call.path else None


def no_samples(world):
    for index in range(4):
        world.cluster.remove(f"/apis/metrics.k8s.io/v1beta1/namespaces/{NAMESPACE}/pods/web-{index}")


def old_samples(world):
    world.passes(120)


def one_sample(world):
    """One fresh sample; the others are too old."""
    world.passes(120)
    world.uses_of(0, "20m", "64Mi")


@BOTH
@pytest.mark.parametrize("spoil", [no_metrics, no_samples, old_samples, one_sample])
async def test_nothing_shrinks_on_missing_metrics(kind, spoil):
    """Histograms describe the past; scaling down continues once all pods are measured again."""
    async with sized_by(kind) as world:
        await learnt(world, kind)
        spoil(world)
        assert blocked(await world.outcome(kind))[0] == "MissingMetrics"
        assert (moves(world), world.replicas) == ([], 4)
        assert world.condition("ScalingBlocked", kind)["reason"] == "MissingMetrics"
        world.cluster.faults = None
        world.uses("100m", "128Mi")
        await world.reconcile()
        assert moves(world)
        assert world.condition("ScalingBlocked", kind).get("reason") != "MissingMetrics"


@BOTH
async def test_growth_does_not_wait_for_metrics(kind):
    """More than needed is safe; of a move to fewer and larger pods only the resize is done."""
    async with sized_by(kind) as world:
        await learnt(world, kind, "1500m", "3Gi")
        no_metrics(world)
        await world.reconcile()
        assert {path.rsplit("/", 1)[1] for path in moves(world)} == {"resize"}


def pending(world):
    """Their node is lost, and no other node has room."""
    no_samples(world)
    for index in range(4):
        made = ready(index)
        world.put({**made, "status": {"phase": "Pending"}, "spec": {**made["spec"], "nodeName": ""}})


def out_of_reach(world):
    """Three of four pods, for an hour."""
    for index in range(1, 4):
        made = ready(index)
        made["status"]["conditions"][0] |= {"status": "False", "lastTransitionTime": show_time(world.now - 3600)}
        made["status"]["startTime"] = show_time(world.now - 7200)
        world.put(made)
        world.cluster.remove(f"/apis/metrics.k8s.io/v1beta1/namespaces/{NAMESPACE}/pods/web-{index}")


@BOTH
@pytest.mark.parametrize("lost", [pending, out_of_reach])
async def test_nothing_shrinks_where_pods_do_not_run_or_are_unreachable(kind, lost):
    """Their usage is as unknown as with missing metrics."""
    async with sized_by(kind) as world:
        await learnt(world, kind)
        lost(world)
        assert blocked(await world.outcome(kind))[0] == "MissingMetrics"
        assert (moves(world), world.replicas) == ([], 4)


async def test_a_crash_looping_pod_blocks_nothing():
    """It uses nothing while it waits, and is never measured."""
    async with sized_by(HVPA) as world:
        await learnt(world, HVPA)
        ended = {"reason": "Error", "startedAt": show_time(world.now - 90), "finishedAt": show_time(world.now - 80)}
        crashed = ready(3)
        crashed["status"]["conditions"][0] |= {"status": "False", "lastTransitionTime": show_time(world.now - 3600)}
        crashed["status"]["containerStatuses"] = [{"name": "app", "lastState": {"terminated": ended}}]
        world.put(crashed)
        world.cluster.remove(f"/apis/metrics.k8s.io/v1beta1/namespaces/{NAMESPACE}/pods/web-3")
        await world.reconcile()
        assert moves(world)


async def test_nothing_shrinks_where_no_pod_is_left():
    """Their nodes are gone too; histograms do not say how many pods are enough."""
    async with sized_by(HVPA) as world:
        await learnt(world, HVPA)
        no_samples(world)
        for index in range(4):
            world.cluster.remove(f"/api/v1/namespaces/{NAMESPACE}/pods/web-{index}")
        assert blocked(await world.outcome(HVPA)) == ("MissingMetrics", "the target has no pod that can be measured")
        assert (moves(world), world.replicas) == ([], 4)


async def test_a_pause_of_growth_hides_no_missing_metrics():
    """The status has only one reason for the webhook, and missing metrics stop all scale-downs."""
    async with sized_by(VPA, thing=vpa("Initial")) as world:
        await learnt(world, VPA)
        world.annotate(VPA, paused="up")
        no_metrics(world)
        await world.reconcile()
        assert world.condition("ScalingBlocked", VPA)["reason"] == "MissingMetrics"


@BOTH
async def test_a_new_pod_is_given_the_time_to_be_measured(kind):
    """Else every rollout would block all scale-downs."""
    async with sized_by(kind) as world:
        await learnt(world, kind)
        one_is_new = ready(3)
        one_is_new["status"]["conditions"][0]["lastTransitionTime"] = show_time(world.now)
        world.put(one_is_new)
        world.cluster.remove(f"/apis/metrics.k8s.io/v1beta1/namespaces/{NAMESPACE}/pods/web-3")
        await world.reconcile()
        assert moves(world)


def dies(index, *, serves):
    """A pod that is OOM-killed repeatedly, too soon to be measured."""
    ended = {"reason": "OOMKilled", "startedAt": ago(90), "finishedAt": ago(30)}
    state = {"name": "app", "restartCount": 9, "lastState": {"terminated": ended}, "state": {"waiting": {}}}
    made = ready(index, box(memory="256Mi"))
    made["status"]["conditions"][0]["status"] = "True" if serves else "False"
    return {**made, "status": {**made["status"], "containerStatuses": [state]}}


@pytest.mark.parametrize("mode", ["InPlaceOrRecreate", "Recreate"])
@pytest.mark.parametrize("serves", [False, True])
async def test_an_oom_killed_pod_waits_for_no_metrics(mode, serves):
    """It gets more memory although its cpu shrinks: that does no harm unless the pod serves."""
    async with sized_by(VPA, thing=vpa(mode)) as world:
        await learnt(world, VPA)
        no_samples(world)
        for index in range(4):
            world.put(dies(index, serves=serves))
        evicted = []
        for _ in range(2):
            outcome = await world.outcome(VPA)
            assert "MissingMetrics" in [hold.reason for hold in outcome.holds]
            evicted += [path for path in moves(world) if path.endswith("/eviction")]
        assert bool(evicted) is not serves


async def test_the_status_says_that_new_pods_may_not_shrink():
    """New pods are sized by the status."""
    async with sized_by(VPA, thing=vpa("Initial")) as world:
        await learnt(world, VPA)
        no_metrics(world)
        await world.reconcile()
        assert world.condition("ScalingBlocked", VPA)["reason"] == "MissingMetrics"


async def test_a_step_of_a_plan_that_shrinks_waits_for_metrics():
    """Histograms still have an answer, but the plan waits; it is not dropped, and continues with metrics."""
    async with sized_by(HVPA) as world:
        plan = await begun(world)
        no_metrics(world)
        for _ in range(2):
            outcome = await world.outcome(HVPA)
            assert (outcome.state.plan, moves(world)) == (plan, [])
            assert "MissingMetrics" in [hold.reason for hold in outcome.holds]
        world.cluster.faults = None
        world.uses("400m", "600Mi")
        await world.reconcile()
        assert world.replicas == 2


async def begun(world):
    """Begin a plan: pods grow now, so that there can be fewer of them afterwards."""
    world.uses("400m", "600Mi")
    plan = (await world.outcome(HVPA)).state.plan
    assert (plan.before_replicas, plan.replicas, world.replicas) == (4, 2, 4)
    return plan


@pytest.mark.parametrize("restarts", [False, True])
async def test_a_plan_ends_where_the_object_is_not_acted_on_any_more(restarts):
    """An object that returns is decided again, and not moved to an old plan; the condition says so."""
    async with sized_by(HVPA, OPTED_IN, opt_in="label") as world:
        await begun(world)
        world.put({**OPTED_IN, "metadata": {"name": NAMESPACE}})
        world.uses("1500m", "1Gi")
        state = (await world.outcome(HVPA)).state
        assert (state.plan, condition_of(state.conditions, "CarriedOut").reason) == (None, "Superseded")
        if restarts:
            await world.restart()
        world.put(OPTED_IN)
        world.uses("1500m", "1Gi")
        outcome = await world.outcome(HVPA)
        assert "PlanUnderWay" not in [hold.reason for hold in outcome.holds]
        assert world.replicas >= 3


ADVISED = {"url": "https://advice.example/", "targetType": "cpu", "highWatermark": "2", "lowWatermark": "1"}


class Advice:
    """A recommender that always answers the same."""

    def __init__(self, reply):
        self.reply = reply

    async def ask(self, asking, now):
        del now
        return [self.reply for _ in asking]


async def answered(world, **reply):
    world.reconciler.observer._recommenders = Advice(Reply(**reply))
    return await world.outcome(after=0.0)


@pytest.mark.parametrize(("age", "replicas"), [(0, 1), (90, 1), (91, 4), (6 * 365 * 86_400, 4), (-3600, 4), (None, 1)])
async def test_an_answer_of_another_time_shrinks_nothing(age, replicas):
    """An answer without a time is used as it is."""
    async with World(*web(4), wpa(metrics=None, recommender=ADVISED)) as world:
        outcome = await answered(world, replicas=1, at=None if age is None else world.now - age)
        assert world.replicas == replicas
        assert (blocked(outcome)[0] == "StaleAnswer") is (replicas == 4)


async def test_an_answer_of_another_time_may_grow():
    """More than needed is safe."""
    async with World(*web(4), wpa(metrics=None, recommender=ADVISED)) as world:
        await answered(world, replicas=8, low=8, high=8, at=world.now - 3600)
        assert world.replicas == 8
