"""No pod is evicted for a size that the webhook cannot know yet."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fake_objects import refusal
from hypot.core.instant import show_time
from hypot.kinds.vpa.knobs import Knobs
from hypot.policy.model.settings import Settings
from hypot.policy.model.state import State
from hypot.policy.vertical.vpa import decide
from hypot.run.act.recorded import pods_without_record
from hypot.run.outcome import Judged
from hypot.run.webhook.admission import annotations_of, sizing_for
from hypot.run.webhook.finder import Finder
from unit.policy.sizes_world import NAMESPACE, advised, box, node, recommended, vpa
from unit.run import outcomes
from unit.run.run_world import World, all_kinds, ready, web

KIND = "VerticalPodAutoscaler"
PODS = f"/api/v1/namespaces/{NAMESPACE}/pods"
KNOBS = Knobs()


def judged(status, has=1000, wanted=2000):
    """Three pods with `has` millicores, which should have `wanted`; `status` is what is recorded."""
    spec, seen = outcomes.vpa(status=status), outcomes.sized(has, wanted)
    move, state = decide(spec, seen, State(), Settings())
    assert any(each.action == "evict" for each in move.actions)
    return Judged((KIND, spec.namespace, spec.name), spec, seen, move, state)


def recorded(cpu, memory="1Gi", name="app", **conditions):
    return advised(recommended(name, target=(cpu, memory)), **conditions)


@pytest.mark.parametrize(
    ("status", "has", "waits"),
    [
        (None, 1000, True),
        ({}, 1000, True),
        (recorded("2"), 1000, False),
        (recorded("2"), 4000, False),
        # A recommendation changes a little all the time.
        (recorded("1900m"), 1000, False),
        (recorded("2100m"), 1000, False),
        # At least half of the way to the decided size.
        (recorded("1500m"), 1000, False),
        (recorded("3"), 4000, False),
        (recorded("1400m"), 1000, True),
        (recorded("3100m"), 4000, True),
        # The wrong way.
        (recorded("500m"), 1000, True),
        (recorded("8"), 4000, True),
        (recorded("2", "2Gi"), 1000, True),
        (recorded("2", None), 1000, True),
        (recorded("2", name="other"), 1000, True),
        # The webhook does not use these.
        (recorded("2", RecommendationProvided="False"), 1000, True),
        (recorded("2", LowConfidence="True"), 1000, True),
    ],
)
def test_which_records_are_enough(status, has, waits):
    """An evicted pod must come back with the decided size, or nearly."""
    decided = judged(status, has)
    evicted = {each.pod for each in decided.move.actions if each.action == "evict"}
    assert pods_without_record(decided, KNOBS) == (evicted if waits else set())


@given(has=st.integers(10, 64_000), wanted=st.integers(10, 64_000))
def test_the_decided_size_is_always_enough(has, wanted):
    """So an eviction waits for one record only, whatever else restrains the size of new pods."""
    spec, seen = outcomes.vpa(), outcomes.sized(has, wanted)
    move, state = decide(spec, seen, State(), Settings())
    written = outcomes.vpa(status=dict(move.observed))
    assert not pods_without_record(Judged((KIND, "shop", "web"), written, seen, move, state), KNOBS)


# In the controller.


def comes_back(world):
    """Replace the evicted pods, sized by the webhook from what is watched now."""
    finder = Finder(world.app.watches, lambda: world.up)
    there = {each["metadata"]["name"] for each in world.cluster.objects(PODS)}
    for index in range(world.replicas):
        if f"web-{index}" in there:
            continue
        made = ready(index, box(cpu="100m", memory="128Mi"), uid=f"n{index}-{world.now}")
        autoscaler = world.app.watches.row((KIND, NAMESPACE, "web")).autoscaler
        sizing = sizing_for(autoscaler, made, finder.limit_ranges_of(NAMESPACE))
        if sizing.given:
            made["spec"]["containers"][0]["resources"] = sizing.given[0].to_dict()
            made["metadata"]["annotations"] = annotations_of(autoscaler, made, sizing.otherwise)
        made["metadata"]["creationTimestamp"] = made["status"]["startTime"] = show_time(world.now + 1)
        world.put(made)


async def reconciled(world):
    """How many pods a reconcile evicts; each comes back at once, before the next reconcile."""
    world.uses("400m", "300Mi")
    await world.reconcile()
    evicted = len(world.writes("/eviction"))
    comes_back(world)
    await world.settle()
    return evicted


@pytest.mark.asyncio
@pytest.mark.parametrize("mode", ["Recreate", "Auto", None])
async def test_a_new_object_records_before_it_evicts(mode):
    """Pods that need more get it with one eviction each; nothing is evicted in the reconcile that records."""
    small = box(cpu="100m", memory="128Mi")
    objects = (*web(3, small), vpa(mode), node(cpu="96"))
    async with World(*objects, kinds=all_kinds(**{KIND: "act"})) as world:
        assert await reconciled(world) == 0
        assert world.status(KIND)["recommendation"]
        assert sum([await reconciled(world) for _ in range(8)]) == 3
        sizes = [each["spec"]["containers"][0]["resources"]["requests"] for each in world.cluster.objects(PODS)]
        assert {each["cpu"] for each in sizes} == {
            world.status(KIND)["recommendation"]["containerRecommendations"][0]["target"]["cpu"]
        }
        assert not world.events("WebhookUnavailable")


@pytest.mark.asyncio
async def test_nothing_is_evicted_while_the_record_is_refused():
    """However long that takes; then the next reconcile but one evicts."""
    objects = (*web(3, box(cpu="100m", memory="128Mi")), vpa("Recreate"), node(cpu="96"))
    async with World(*objects, kinds=all_kinds(**{KIND: "act"})) as world:
        world.cluster.faults = lambda call: refusal(500, "not now") if call.path.endswith("/status") else None
        assert [await reconciled(world) for _ in range(10)] == [0] * 10
        world.cluster.faults = None
        world.passes(60)
        assert [await reconciled(world) for _ in range(2)] == [0, 1]
