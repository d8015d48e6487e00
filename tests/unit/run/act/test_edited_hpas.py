"""The HPAs of Tortoises in a cluster: made, edited, and handed back as they were found."""

import copy
import json
from dataclasses import replace

import pytest

from hypot.policy.model.learned import Learned
from unit.policy.sizes_world import DAY, HOUR, NOW, TARGET, made, node
from unit.run.run_world import KINDS, World, body, hpa, web

pytestmark = pytest.mark.asyncio
HPAS, TORTOISES = KINDS["HorizontalPodAutoscaler"], KINDS["Tortoise"]
OWN = f"{HPAS}/tortoise-hpa-web"
KEY = ("Tortoise", "shop", "web")


def tortoise(mode="Auto", *, named="", annotations=None, **spec):
    refs = {"scaleTargetRef": TARGET, **({"horizontalPodAutoscalerName": named} if named else {})}
    body = {"updateMode": mode, "targetRefs": refs, **spec}
    return made("autoscaling.mercari.com/v1beta3", "Tortoise", "web", body, annotations=annotations or {})


def by_container(utilization=60):
    target = {"type": "Utilization", "averageUtilization": utilization}
    return {"type": "ContainerResource", "containerResource": {"name": "cpu", "container": "app", "target": target}}


QUEUE = {
    "type": "External",
    "external": {"metric": {"name": "queue"}, "target": {"type": "AverageValue", "averageValue": "30"}},
}


def learned(world, needed=8000):
    """As if it had observed this need in every hour of four weeks."""
    known = world.reconciler.judge.states[KEY]
    past = known.state.tortoise
    (own,) = past.learned
    weeks = Learned.begun(own.layout, own.place, NOW - 28 * DAY)
    for hour in range(28 * 24):
        weeks = weeks.observed(NOW - 28 * DAY + hour * HOUR, needed)
    past = replace(past, learned=(weeks,), since=dict.fromkeys(past.since, NOW - 28 * DAY))
    world.reconciler.judge.states[KEY] = replace(known, state=known.state._replace(tortoise=past))


async def test_an_hpa_is_made():
    """With the administrator's bounds and the first target; the phase says that it is being set up."""
    async with World(*web(4), tortoise(), node()) as world:
        world.uses("500m")
        await world.reconcile()
        made_hpa = world.at(OWN)
        assert (made_hpa["spec"]["minReplicas"], made_hpa["spec"]["maxReplicas"]) == (3, 100)
        assert made_hpa["spec"]["metrics"] == [by_container(70)]
        assert "ownerReferences" not in made_hpa["metadata"]
        assert world.status("Tortoise")["tortoisePhase"] == "Initializing"
        assert world.events("HPACreated")
        await world.reconcile()
        assert world.status("Tortoise")["tortoisePhase"] == "PartlyWorking"
        assert not world.writes(HPAS)


async def test_off_makes_nothing():
    """Everything is computed and reported, and nothing else is written."""
    async with World(*web(4), tortoise("Off"), node()) as world:
        world.uses("500m")
        await world.reconcile()
        await world.reconcile()
        assert not world.writes(HPAS)
        assert world.status("Tortoise")["recommendations"]["horizontal"]["targetUtilizations"]


@pytest.mark.parametrize(("policy", "owned"), [("DeleteAll", True), ("NoDelete", False)])
async def test_the_tortoise_owns_it_only_if_it_is_to_be_deleted_with_it(policy, owned):
    """Kubernetes deletes what is owned."""
    async with World(*web(4), tortoise(deletionPolicy=policy), node()) as world:
        await world.reconcile()
        assert ("ownerReferences" in world.at(OWN)["metadata"]) is owned


async def test_learned_bounds_are_written_to_the_observed_version():
    """Half and twice what was needed, at today's size; a second reconcile writes nothing."""
    async with World(*web(4), tortoise(), node()) as world:
        world.uses("500m")
        await world.reconcile()
        version = world.at(OWN)["metadata"]["resourceVersion"]
        learned(world)
        await world.reconcile()
        (write,) = world.writes(HPAS)
        assert body(write)["metadata"]["resourceVersion"] == version
        assert (world.at(OWN)["spec"]["minReplicas"], world.at(OWN)["spec"]["maxReplicas"]) == (4, 16)
        assert world.events("HPAUpdated")
        await world.reconcile()
        assert not world.writes(HPAS)


async def test_an_edit_of_an_owned_field_comes_back_and_of_another_stays():
    """The Tortoise decides on bounds and targets only."""
    async with World(*web(4), tortoise(), node()) as world:
        world.uses("500m")
        await world.reconcile()
        learned(world)
        await world.reconcile()
        there = world.at(OWN)
        there["spec"]["maxReplicas"] = 50
        there["spec"]["metrics"].append(QUEUE)
        there["metadata"]["labels"] = {"team": "shop"}
        world.put(there)
        await world.reconcile()
        after = world.at(OWN)
        assert after["spec"]["maxReplicas"] == 16
        assert after["spec"]["metrics"][1] == QUEUE
        assert after["metadata"]["labels"] == {"team": "shop"}


async def test_a_named_hpa_is_edited_and_handed_back():
    """Its fields, as they were found, are in an annotation until the Tortoise is gone."""
    theirs = hpa("theirs", minReplicas=2, maxReplicas=40, metrics=[by_container(), QUEUE])
    async with World(*web(4), theirs, tortoise(named="theirs"), node()) as world:
        world.uses("500m")
        found = world.at(f"{HPAS}/theirs")["spec"]
        await world.reconcile()
        assert not world.writes(HPAS)
        learned(world)
        await world.reconcile()
        edited = world.at(f"{HPAS}/theirs")
        assert (edited["spec"]["minReplicas"], edited["spec"]["maxReplicas"]) == (4, 16)
        assert edited["spec"]["metrics"][1] == QUEUE
        assert json.loads(edited["metadata"]["annotations"]["hypot.dev/as-found"])["maxReplicas"] == 40
        world.cluster.remove(f"{TORTOISES}/web")
        await world.reconcile()
        back = world.at(f"{HPAS}/theirs")
        assert back["spec"] == found
        assert "hypot.dev/as-found" not in (back["metadata"].get("annotations") or {})


async def test_what_people_change_meanwhile_stays():
    """Handed back are the bounds, targets and metrics that hypot decided on: not a behavior, nor other metrics."""
    memory = {
        "type": "ContainerResource",
        "containerResource": {**by_container()["containerResource"], "name": "memory"},
    }
    theirs = hpa("theirs", minReplicas=2, maxReplicas=40, metrics=[by_container(), QUEUE, memory])
    by_cpu = [{"containerName": "app", "policy": {"cpu": "Horizontal", "memory": "Vertical"}}]
    async with World(*web(4), theirs, tortoise(named="theirs", autoscalingPolicy=by_cpu), node()) as world:
        world.uses("500m")
        await world.reconcile()
        learned(world)
        await world.reconcile()
        edited = world.at(f"{HPAS}/theirs")
        assert edited["spec"]["metrics"] == [by_container(65), QUEUE]
        assert "behavior" not in json.loads(edited["metadata"]["annotations"]["hypot.dev/as-found"])
        changed = copy.deepcopy(QUEUE)
        changed["external"]["target"]["averageValue"] = "99"
        edited["spec"]["behavior"] = {"scaleDown": {"stabilizationWindowSeconds": 77}}
        edited["spec"]["metrics"] = [by_container(65), changed]
        world.put(edited)
        await world.reconcile()
        world.cluster.remove(f"{TORTOISES}/web")
        await world.reconcile()
        back = world.at(f"{HPAS}/theirs")["spec"]
        assert back["behavior"]["scaleDown"]["stabilizationWindowSeconds"] == 77
        assert back["metrics"] == [by_container(), changed, memory]
        assert (back["minReplicas"], back["maxReplicas"]) == (2, 40)


async def test_a_behavior_of_the_tortoise_is_handed_back():
    """It is recorded once the Tortoise has one."""
    theirs = hpa("theirs", minReplicas=2, maxReplicas=40, metrics=[by_container()])
    theirs["spec"]["behavior"] = {"scaleDown": {"stabilizationWindowSeconds": 77}}
    async with World(*web(4), theirs, tortoise(named="theirs"), node()) as world:
        world.uses("500m")
        await world.reconcile()
        learned(world)
        await world.reconcile()
        own = world.at(f"{TORTOISES}/web")
        own["spec"]["horizontalPodAutoscalerBehavior"] = {"scaleDown": {"stabilizationWindowSeconds": 9}}
        world.put(own)
        await world.reconcile()
        edited = world.at(f"{HPAS}/theirs")["spec"]
        assert edited["behavior"]["scaleDown"]["stabilizationWindowSeconds"] == 9
        world.cluster.remove(f"{TORTOISES}/web")
        await world.reconcile()
        back = world.at(f"{HPAS}/theirs")["spec"]
        assert back["behavior"]["scaleDown"]["stabilizationWindowSeconds"] == 77


@pytest.mark.parametrize(
    ("kinds", "record", "back"),
    [
        ({"Tortoise": "act"}, {"maxReplicas": 40}, True),
        ({"Tortoise": "observe"}, {"maxReplicas": 40}, False),
        ({"Tortoise": "off"}, {"maxReplicas": 40}, False),
        # With these the HPA would not be valid.
        ({"Tortoise": "act"}, {"minReplicas": 2}, False),
        ({"Tortoise": "act"}, {"maxReplicas": "many"}, False),
        ({"Tortoise": "act"}, {"maxReplicas": 1, "minReplicas": 2}, False),
    ],
)
async def test_when_an_hpa_is_handed_back(kinds, record, back):
    """Only where hypot acts, and only to what an HPA can be."""
    theirs = hpa("theirs", minReplicas=2, maxReplicas=16)
    theirs["metadata"]["annotations"] = {"hypot.dev/tortoise": "gone", "hypot.dev/as-found": json.dumps(record)}
    async with World(*web(4), theirs, node(), kinds=kinds) as world:
        await world.reconcile()
        assert bool(world.writes(HPAS)) is back


async def test_a_named_hpa_that_is_missing_is_reported():
    """Nothing is made under its name."""
    async with World(*web(4), tortoise(named="theirs"), node()) as world:
        await world.reconcile()
        assert not world.writes(HPAS)
        conditions = world.status("Tortoise")["conditions"]["tortoiseConditions"]
        failed = next(each for each in conditions if each["type"] == "FailedToReconcile")
        assert failed["status"] == "True"
        assert "theirs does not exist" in failed["message"]


async def test_paused_it_writes_nothing():
    """The annotation that pauses every kind holds the HPA too."""
    async with World(*web(4), tortoise(annotations={"hypot.dev/paused": "true"}), node()) as world:
        await world.reconcile()
        assert not world.writes(HPAS)


async def test_hypot_decides_the_count_itself():
    """No HPA is needed: the count follows usage."""
    async with World(*web(4), tortoise(annotations={"hypot.dev/decide": "true"}), node()) as world:
        world.uses("1100m")
        await world.reconcile()
        assert not world.writes(HPAS)
        assert world.replicas > 4


@pytest.mark.parametrize(("policy", "left"), [("DeleteAll", False), ("NoDelete", True)])
async def test_without_horizontal_resources_its_own_hpa_goes(policy, left):
    """If the deletion policy says so; else it stays as it is."""
    async with World(*web(4), tortoise(deletionPolicy=policy), node()) as world:
        await world.reconcile()
        there = world.at(f"{TORTOISES}/web")
        there["spec"]["autoscalingPolicy"] = [{"containerName": "app", "policy": {"cpu": "Vertical"}}]
        world.put(there)
        await world.reconcile()
        assert (world.cluster.get(OWN) is not None) is left
        assert bool(world.events("HPADeleted")) is not left


@pytest.mark.parametrize("name", ["theirs", "tortoise-hpa-web"])
async def test_an_hpa_next_to_a_count_that_hypot_decides(name):
    """Two would set the same count: hypot scales nothing, does not edit the HPA, and says so."""
    theirs = hpa(name, minReplicas=2, maxReplicas=40, metrics=[by_container()])
    own = tortoise(named=name if name == "theirs" else None, annotations={"hypot.dev/decide": "true"})
    async with World(*web(4), theirs, own, node()) as world:
        world.uses("1100m")
        await world.reconcile()
        assert not world.writes(HPAS)
        assert world.replicas == 4
        conditions = world.status("Tortoise")["conditions"]["tortoiseConditions"]
        failed = next(each for each in conditions if each["type"] == "FailedToReconcile")
        assert f"{name} scales the same target" in failed["message"]
