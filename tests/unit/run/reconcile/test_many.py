"""Many objects in one reconcile: which may scale down, and an object that fails does not stop the others."""

from dataclasses import replace

import pytest

from hypot.kinds.hvpa import Hvpa
from hypot.policy.families import FAMILIES
from hypot.policy.governor import Fleet, Running
from hypot.run import judge
from hypot.run.config import OPT_IN_LABEL, OPT_IN_VALUE
from hypot.run.report.gauges import object_samples
from hypot.run.store.shards import Shards
from unit.policy.sizes_world import NAMESPACE, TARGET, box, hvpa, node
from unit.run.run_world import KINDS, OWN, QUEUE, WEB, World, blocked, items, ready, web, wpa

pytestmark = pytest.mark.asyncio
OPTED_IN = {OPT_IN_LABEL: OPT_IN_VALUE}

# The governor.


async def test_the_governor_allows_a_few_to_shrink_at_a_time():
    """Of eight that ask for it five go; the others report that they wait, and go after five minutes."""
    objects = [thing for index in range(8) for thing in named(f"web-{index}")]
    async with World(*objects) as world:
        world.queue("10")
        reconciled = await world.reconcile()
        moved = [one.key[2] for one in reconciled.outcomes if one.decision.rescales]
        assert moved == [f"web-{index}" for index in range(5)]
        waiting = world.of(reconciled, name="web-7")
        assert blocked(waiting)[0] == "Governor"
        assert world.condition("ScalingBlocked", name="web-7")["reason"] == "Governor"
        assert replicas_of(world, "web-7") == 4
        world.passes(300)
        world.queue("10")
        await world.reconcile(1)
        assert replicas_of(world, "web-7") < 4


async def test_the_governor_never_holds_growth():
    """The number of objects does not matter."""
    objects = [thing for index in range(8) for thing in named(f"web-{index}")]
    async with World(*objects) as world:
        world.queue("80")
        reconciled = await world.reconcile()
        assert all(one.decision.rescales and not one.holds for one in reconciled.outcomes)


async def test_the_governor_is_remembered():
    """A restart does not reset the budget."""
    objects = [thing for index in range(8) for thing in named(f"web-{index}")]
    async with World(*objects) as world:
        world.queue("10")
        await world.reconcile()
        await world.restart()
        world.queue("10")
        reconciled = await world.reconcile()
        assert blocked(world.of(reconciled, name="web-7"))[0] == "Governor"
        assert len((await Shards(world.cluster, OWN).load()).entries["governor"]["admitted"]) == 5


async def test_observed_objects_add_no_budget():
    """Sixty observed objects do not raise the number of acted-on objects that may shrink: it stays five."""
    objects = [thing for index in range(8) for thing in named(f"web-{index}")]
    others = [{**wpa(f"seen-{i}"), "metadata": {"name": f"seen-{i}", "namespace": "else"}} for i in range(60)]
    space = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE, "labels": OPTED_IN}}
    async with World(*objects, *others, space, opt_in="label") as world:
        world.queue("10")
        reconciled = await world.reconcile()
        assert len(reconciled.outcomes) == 68
        assert sum(one.decision.rescales and one.acting == "act" for one in reconciled.outcomes) == 5


@pytest.mark.parametrize("pod", [{"spec": {"nodeName": ""}}, {}], ids=["pending", "bound to a node without room"])
async def test_a_pod_that_does_not_run_adds_no_budget(pod):
    """One that asks for 1E cores would lift the budget of cores for all."""
    large = [thing for index in range(8) for thing in named(f"web-{index}")]
    forged = ready(0, box(cpu="1E"), **pod)
    forged["metadata"] |= {"name": "forged", "uid": "u-forged", "labels": {"app": "web-7"}, "ownerReferences": []}
    forged["status"] = {"phase": "Pending"}
    async with World(*large, forged, node("n1", "64")) as world:
        world.queue("30")
        await world.reconcile()
        fleet = fleets(world)
        world.queue("30")
        await world.reconcile()
        assert fleet[-1] == Fleet({NAMESPACE: Running(8, 8 * 4 * 1000)}, 64_000)


async def test_objects_without_a_target_of_their_own_add_no_budget():
    """Sixty that share a target, and sixty without one, count as one workload."""
    objects = [thing for index in range(8) for thing in named(f"web-{index}")]
    shared = [wpa(f"shared-{i}", target={**TARGET, "name": "web-0"}, dryRun=True) for i in range(60)]
    ghosts = [wpa(f"ghost-{i}", target={**TARGET, "name": f"nowhere-{i}"}) for i in range(60)]
    async with World(*objects, *shared, *ghosts) as world:
        world.queue("10")
        reconciled = await world.reconcile()
        assert sum(one.decision.rescales for one in reconciled.outcomes) == 5


async def test_a_namespace_cannot_use_up_the_budget_of_another():
    """Twelve that ask first get their own part and the common part; the own part of the other is still there."""
    greedy = [thing for index in range(12) for thing in named(f"web-{index:02}")]
    other = [thing for index in range(10) for thing in named(f"pay-{index}", "pay")]
    async with World(*greedy, *other) as world:
        world.queue("10")
        world.cluster.fixed[QUEUE.replace(NAMESPACE, "pay")] = items("30", at=world.now)
        assert moved(await world.reconcile()) == [NAMESPACE] * 4
        world.queue("10")
        world.cluster.fixed[QUEUE.replace(NAMESPACE, "pay")] = items("10", at=world.now)
        assert moved(await world.reconcile()) == ["pay"]


def fleets(world):
    """What the governor gets from now on."""
    found, govern = [], judge.govern

    def recorded(state, wants, fleet, now):
        found.append(fleet)
        return govern(state, wants, fleet, now)

    world._patch.setattr(judge, "govern", recorded)
    return found


def moved(reconciled):
    """The namespaces of the objects that scaled."""
    return [one.key[1] for one in reconciled.outcomes if one.decision.rescales]


def named(name, namespace=NAMESPACE):
    """A workload with four pods of its own, and its autoscaler."""
    labels = {"app": name}
    things = []
    for each in web(4):
        renamed = each["metadata"]["name"].replace("web", name)
        metadata = {**each["metadata"], "name": renamed, "uid": f"u-{renamed}", "namespace": namespace}
        if each["kind"] == "Pod":
            owner = {**metadata["ownerReferences"][0], "name": f"{name}-5d9c"}
            metadata |= {"labels": labels, "ownerReferences": [owner]}
        else:
            each["spec"]["selector"] = {"matchLabels": labels}
        things.append({**each, "metadata": metadata})
    return [*things, wpa(name, target={**TARGET, "name": name}, metadata={"namespace": namespace})]


def replicas_of(world, name):
    return world.at(WEB.replace("/web", f"/{name}"))["spec"]["replicas"]


# What cannot be decided.


async def test_an_object_that_cannot_be_read_keeps_its_state():
    """A bad edit is reported, and the earlier state counts again once the edit is fixed."""
    async with World(*web(4), wpa(upscaleForbiddenWindowSeconds=60)) as world:
        world.queue("80")
        last = (await world.outcome()).state.last_scale
        there = world.at(f"{KINDS['WatermarkPodAutoscaler']}/web")
        world.put({**there, "spec": {**there["spec"], "maxReplicas": "many"}})
        outcome = await world.outcome()
        assert "not valid" in outcome.decision.error
        assert outcome.state.last_scale == last
        assert world.condition("AbleToScale")["reason"] == "FailedSpecCheck"
        assert world.status()["desiredReplicas"] == 8
        world.follow()
        world.put({**world.at(f"{KINDS['WatermarkPodAutoscaler']}/web"), "spec": there["spec"]})
        world.queue("200")
        outcome = await world.outcome()
        assert (outcome.state.last_scale, world.replicas) == (last, 8)


@pytest.mark.parametrize("bad", [{"targetRef": "web"}, {"scaleIntervals": "many"}], ids=["unreadable", "refused"])
async def test_an_object_that_becomes_invalid_ends_its_plan(bad):
    """It is unclear what is asked for now, so no step is done."""
    async with World(*web(1), hvpa(), node()) as world:
        world.uses("1", "3Gi")
        assert (await world.outcome("Hvpa")).state.plan is not None
        world.follow()
        world.uses("1", "3Gi")
        there = world.at(f"{KINDS['Hvpa']}/web")
        world.put({**there, "spec": {**there["spec"], **bad}})
        outcome = await world.outcome("Hvpa")
        assert (outcome.decision.decided, outcome.decision.error_kind) == (False, "spec")
        assert not world.writes("/pods/")
        assert not world.writes("/scale")
        assert outcome.state.plan is None
        assert world.condition("CarriedOut", "Hvpa")["reason"] == "Superseded"


async def test_an_unchanged_object_is_checked_once(monkeypatch):
    """One that changes is checked again, and the others are not; one that is refused stays refused."""
    checked, rules = [], Hvpa.rule_problems

    def recorded(self, *given):
        checked.append(self.name)
        return rules(self, *given)

    async def names(world):
        checked.clear()
        await world.reconcile()
        return sorted(checked)

    monkeypatch.setattr(Hvpa, "rule_problems", recorded)
    autoscalers = [hvpa(name=name, targetRef={**TARGET, "name": name}) for name in ("one", "two", "web")]
    async with World(*web(2), *autoscalers, node(), kinds={"Hvpa": "observe"}) as world:
        world.uses("300m")
        assert set(await names(world)) == {"one", "two", "web"}
        assert await names(world) == []
        there = world.at(f"{KINDS['Hvpa']}/web")
        world.put({**there, "spec": {**there["spec"], "scalingIntervals": []}})
        assert set(await names(world)) == {"web"}
        for _ in range(3):
            outcome = await world.outcome("Hvpa")
            assert (outcome.decision.decided, outcome.decision.error_kind) == (False, "spec")
        assert await names(world) == []
        world.put({**world.at(f"{KINDS['Hvpa']}/web"), "spec": there["spec"]})
        world.uses("300m")
        assert set(await names(world)) == {"web"}
        assert (await world.outcome("Hvpa")).decision.decided


async def test_an_object_whose_decision_fails_is_reported(monkeypatch):
    """It has a condition and an event, stays in the gauges, and the others continue."""
    family = FAMILIES["WatermarkPodAutoscaler"]

    def stumbles(autoscaler, *others):
        if autoscaler.name == "web":
            raise ZeroDivisionError("division by zero")
        return family.decide(autoscaler, *others)

    monkeypatch.setitem(FAMILIES, "WatermarkPodAutoscaler", replace(family, decide=stumbles))
    async with World(*web(4), *named("api"), wpa()) as world:
        world.queue("80")
        reconciled = await world.reconcile()
        assert world.of(reconciled).decision.error == "hypot could not decide: ZeroDivisionError"
        assert world.condition("AbleToScale")["reason"] == "DecisionFailed"
        assert world.events("DecisionFailed")
        assert (world.replicas, replicas_of(world, "api")) == (4, 8)
        monkeypatch.undo()
        world.queue("80")
        await world.reconcile()
        assert (world.replicas, world.condition("AbleToScale")["status"]) == (8, "True")


async def test_an_object_without_a_report_is_still_counted(monkeypatch):
    """A failure even in building the report leaves an outcome for the gauges."""

    def stumbles(*_):
        raise TypeError("no")

    monkeypatch.setattr(judge, "in_the_way", stumbles)
    monkeypatch.setattr(judge, "explained", stumbles)
    async with World(*web(4), wpa()) as world:
        outcome = await world.outcome()
        assert (outcome.acting, outcome.decision.error) == ("observe", "hypot could not decide: TypeError")
        assert object_samples(outcome, world.now) is not None
        assert world.writes("/status") == []
