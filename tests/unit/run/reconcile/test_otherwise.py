"""Evicted pods that come back with another size than the decided size: the evictions stop."""

import pytest

from fake_objects import refusal
from hypot.core.instant import show_time
from hypot.run.webhook.admission import annotations_of, sizing_for
from hypot.run.webhook.finder import Finder
from unit.policy.sizes_world import NAMESPACE, box, hvpa, limit_range, node, vpa
from unit.run.run_world import World, all_kinds, ready, web
from unit.run.webhook.admission_world import both

pytestmark = pytest.mark.asyncio
PODS = f"/api/v1/namespaces/{NAMESPACE}/pods"
# The node of the pods has no room for more; another node has.
TIGHT = (node(cpu="1500m"), node("n2", cpu="96"))
LIMITED = box(cpu="1", limits=both("1", "2Gi"))
INTERVALS = [{"maxReplicas": 8, "maxResources": {"cpu": "8", "memory": "16Gi"}}]
SIZER = hvpa(
    hpa={"deploy": False, "template": {"spec": {"minReplicas": 8, "maxReplicas": 8}}}, scalingIntervals=INTERVALS
)


def comes_back(world, kind, written, **asked):
    """Replace the evicted pods: the webhook sizes the new ones, on the larger node."""
    autoscaler = world.app.watches.row((kind, NAMESPACE, "web")).autoscaler
    ranges = Finder(world.app.watches, lambda: world.up).limit_ranges_of(NAMESPACE)
    there = {each["metadata"]["name"] for each in world.cluster.objects(PODS)}
    for index in range(world.replicas):
        if f"web-{index}" in there:
            continue
        sizing = sizing_for(autoscaler, ready(index, written), ranges, **asked)
        made = ready(index, {**written, "resources": sizing.given[0].to_dict()}, uid=f"n{index}-{world.now}")
        made["metadata"]["annotations"] = annotations_of(autoscaler, made, sizing.otherwise)
        made["status"]["startTime"] = show_time(world.now + 1)
        made["spec"]["nodeName"] = "n2"
        world.put(made)


async def evicted(world, kind, written, reconciles, used, **asked):
    """How many pods are evicted in so many reconciles; evicted pods are back before the next reconcile."""
    count = 0
    for _ in range(reconciles):
        world.uses(*used)
        await world.reconcile()
        count += len(world.writes("/eviction"))
        await world.settle()
        comes_back(world, kind, written, **asked)
    return count


def cpus(world):
    return {each["spec"]["containers"][0]["resources"]["requests"]["cpu"] for each in world.cluster.objects(PODS)}


async def test_an_hvpa_decides_on_what_a_limit_range_takes():
    """Each pod is evicted once, for the size that it comes back with."""
    objects = (*web(8, LIMITED), SIZER, *TIGHT, limit_range(max=both("2", "4Gi")))
    async with World(*objects) as world:
        assert await evicted(world, "Hvpa", LIMITED, 30, ("3",)) == 8
        assert cpus(world) == {"2"}
        assert world.condition("CarriedOut", "Hvpa")["reason"] == "Done"
        assert "LimitRange" in world.condition("ScalingLimited", "Hvpa")["message"]


async def test_an_hvpa_stops_evicting_where_pods_come_up_with_another_size(monkeypatch):
    """No later plan evicts either: the webhook may apply a LimitRange that the decision did not use."""
    monkeypatch.setattr("hypot.policy.hvpa.hvpa.in_ranges", lambda _hvpa, _seen, _had, wanted: wanted)
    objects = (*web(8, LIMITED), SIZER, *TIGHT, limit_range(max=both("2", "4Gi")))
    async with World(*objects) as world:
        world.cluster.faults = lambda call: refusal(403, "beyond its LimitRange") if "/resize" in call.path else None
        assert await evicted(world, "Hvpa", LIMITED, 20, ("3",)) == 1
        assert [each for each in world.events("FailedResize") if "other than the decided" in each["message"]]
        assert not world.events("WebhookUnavailable")
        assert world.condition("ScalingBlocked", "Hvpa")["reason"] == "NotEvicting"
        await world.restart()
        assert await evicted(world, "Hvpa", LIMITED, 3, ("3",)) == 0


async def test_a_vpa_stops_evicting_where_its_pods_may_not_shrink():
    """The webhook may not shrink pods: one eviction has no effect; more follow once a pod comes up with its size."""
    written = box(cpu="4", memory="4Gi")
    shrinks = vpa("Recreate", spec={"recommenders": [{"name": "hypot"}]})
    kind, used = "VerticalPodAutoscaler", ("50m", "100Mi")
    async with World(*web(6, written), shrinks, node(cpu="96"), kinds=all_kinds(**{kind: "act"})) as world:
        assert await evicted(world, kind, written, 20, used, may_shrink=False) == 1
        assert "other than the decided" in world.events("FailedResize")[0]["message"]
        world.cluster.remove(f"{PODS}/web-5")
        await world.settle()
        comes_back(world, kind, written)
        # The pod that came up with another size is within its bounds, and too young to be evicted again.
        assert await evicted(world, kind, written, 10, used) == 4


async def test_a_pod_that_could_not_shrink_keeps_no_other_from_growing():
    """It came back unmeasured, with more memory but not less cpu; the other pods lack memory."""
    kind = "VerticalPodAutoscaler"
    async with World(*web(4), vpa("Recreate"), node(cpu="96"), kinds=all_kinds(**{kind: "act"})) as world:
        assert await evicted(world, kind, box(), 2, ("100m", "3Gi"), may_shrink=False) == 1
        assert await evicted(world, kind, box(), 20, ("100m", "3Gi")) == 3


async def test_after_an_hour_one_more_is_tried():
    """The obstacle may be gone, and the event may have gone unread."""
    written, kind, used = box(cpu="4", memory="4Gi"), "VerticalPodAutoscaler", ("50m", "100Mi")
    async with World(*web(6, written), vpa("Recreate"), node(cpu="96"), kinds=all_kinds(**{kind: "act"})) as world:
        assert await evicted(world, kind, written, 20, used, may_shrink=False) == 1
        world.passes(3600)
        assert await evicted(world, kind, written, 20, used, may_shrink=False) == 1
