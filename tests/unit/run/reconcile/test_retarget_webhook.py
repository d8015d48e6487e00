"""New pods between a change of target and the reconcile that sees it: the status is still about the old target."""

import asyncio
import base64
import json

import pytest

from hypot.run.webhook.admission import review
from hypot.run.webhook.finder import Finder
from unit.policy.sizes_world import TARGET, advised, hvpa, owned, pod, recommended, sized, vpa
from unit.run.reconcile.test_retarget import reconciled, turn, two_workloads
from unit.run.run_world import KINDS, World, all_kinds, learner
from unit.run.webhook.admission_world import applied, request

pytestmark = pytest.mark.asyncio
WRITTEN, OLD, NEW = "1", "182m", "1900m"
each_kind = pytest.mark.parametrize("kind", ["Hvpa", "VerticalPodAutoscaler", "Autoscaler"])


def status(kind, cpu):
    """What a kind writes into its status for new pods."""
    if kind == "VerticalPodAutoscaler":
        return advised(recommended(target=(cpu, None)))
    if kind == "Autoscaler":
        return {"containers": [{"containerName": "app", "requests": sized(cpu)}]}
    recorded = {"containerName": "app", "resources": {"requests": sized(cpu)}}
    return {"lastScaling": {"vpaStatus": {"containerResources": [recorded]}}}


def one_of(kind, *objects):
    """An autoscaler of web whose status has a size, and a replica that watches it."""
    reported = status(kind, OLD)
    least = [{"containerName": "app", "minAllowed": {"cpu": "100m"}}]
    made = {
        "Hvpa": lambda: hvpa(status=reported),
        "VerticalPodAutoscaler": lambda: vpa("Initial", status=reported),
        "Autoscaler": lambda: learner(status=reported, resourcePolicy={"containerPolicies": least}),
    }[kind]()
    return World(*objects, made, kinds=all_kinds(**{kind: "act"}))


async def put(world, kind, **parts):
    world.put({**world.at(f"{KINDS[kind]}/web"), **parts})
    await world.settle()


async def aimed(world, kind, name):
    await put(world, kind, spec={**world.at(f"{KINDS[kind]}/web")["spec"], "targetRef": {**TARGET, "name": name}})


def given(world, name="api", finder=None):
    """How much cpu the webhook gives to a new pod of this workload."""
    made = pod(owner=owned("Deployment", name), labels={"app": name})
    find = (finder or Finder(world.app.watches, lambda: world.up)).find
    answer = json.loads(review(json.dumps(request(made)).encode(), find, lambda _: ()).body)["response"]
    after = applied(made, json.loads(base64.b64decode(answer.get("patch", "W10="))))
    return after["spec"]["containers"][0]["resources"]["requests"]["cpu"]


@each_kind
async def test_new_pods_of_the_new_target_do_not_get_the_size_of_the_old_one(kind):
    """Without a reconcile, as on a follower, they start as written until the status is new."""
    async with one_of(kind) as world:
        assert (given(world, "web"), given(world)) == (OLD, WRITTEN)
        await aimed(world, kind, "api")
        assert (given(world, "web"), given(world)) == (WRITTEN, WRITTEN)
        await put(world, kind, metadata={**world.at(f"{KINDS[kind]}/web")["metadata"], "labels": {"a": "b"}})
        assert given(world) == WRITTEN
        await put(world, kind, status=status(kind, NEW))
        assert (given(world, "web"), given(world)) == (WRITTEN, NEW)


@pytest.mark.looptime
@each_kind
async def test_the_watch_that_breaks_meanwhile(kind):
    """What changed during the break is compared with what was known; a list of the same objects changes nothing."""
    async with one_of(kind) as world:
        for lists in (2, 3):
            world.cluster.end_watches()
            turn(world, kind)
            world.put(pod(lists))
            world.cluster.expire()
            await asyncio.sleep(5)
            assert world.app.watches.autoscalers[kind].reflectors[0].lists >= lists
            assert given(world) == WRITTEN
        await put(world, kind, status=status(kind, NEW))
        assert given(world) == NEW


@each_kind
async def test_the_old_target_again(kind):
    """What was recorded for it is valid again, also where the target could not be read in between."""
    async with one_of(kind) as world:
        await put(world, kind, spec={**world.at(f"{KINDS[kind]}/web")["spec"], "targetRef": {}})
        await aimed(world, kind, "api")
        assert given(world) == WRITTEN
        await aimed(world, kind, "web")
        assert given(world, "web") == OLD


@each_kind
async def test_a_recreated_object_of_the_same_name(kind):
    """The status of a new object is about its own target."""
    async with one_of(kind) as world:
        there = world.at(f"{KINDS[kind]}/web")
        world.cluster.remove(f"{KINDS[kind]}/web")
        there["metadata"]["uid"] = "another"
        there["spec"]["targetRef"] = {**TARGET, "name": "api"}
        world.put(there)
        await world.settle()
        assert given(world) == OLD


@each_kind
async def test_the_current_target_counts_and_not_the_index(kind):
    """The index is up to a second old, and the status may already be about the new target."""
    async with one_of(kind) as world:
        finder = Finder(world.app.watches, lambda: 0.0)
        assert given(world, "web", finder) == OLD
        await aimed(world, kind, "api")
        await put(world, kind, status=status(kind, NEW))
        assert given(world, "web", finder) == WRITTEN


async def test_the_leader_continues_where_the_status_is_ignored():
    """Its next reconcile writes a status for the new target, and new pods get that size."""
    async with one_of("Hvpa", *two_workloads()) as world:
        await reconciled(world, both=False)
        turn(world, "Hvpa")
        await world.settle()
        assert given(world) == WRITTEN
        await reconciled(world, 3)
        assert given(world) == "1468m"


async def test_a_target_that_changed_during_downtime():
    """The status names the labels of the pods that it is about."""
    async with one_of("Hvpa", *two_workloads()) as world:
        await reconciled(world, 3)
        recorded = given(world, "web")
        assert recorded != WRITTEN
        await world.stop()
        turn(world, "Hvpa")
        await world.start()
        assert given(world) == WRITTEN
        await reconciled(world, 3)
        assert given(world) == "1468m"
