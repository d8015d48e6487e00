"""New Tortoises and Autoscalers learn from the usage that a Prometheus has."""

import asyncio
import math

import aiohttp
import pytest

from hypot.cluster.prometheus import PrometheusApi, PrometheusError
from hypot.core.bank.season import ratio_ahead
from hypot.core.instant import show_time
from hypot.run.observe.past_usage import STEP, WEEK, PastUsage
from hypot.run.store import learners
from hypot.run.store.backfill import AGAIN_AFTER, AT_ONCE, Backfill, WantedHistory
from hypot.run.store.learners import FollowedPlace, PastQuery
from unit.policy.sizes_world import DAY, HOUR, NOW, TARGET, box, node, sample
from unit.replay.traces.prometheus_server import needs_prometheus, serving
from unit.run.act.test_edited_hpas import KEY, OWN, tortoise
from unit.run.run_world import World, learner, web

pytestmark = pytest.mark.asyncio


class Recorded:
    """A Prometheus with so many cores at each time; an error is raised, and an event is waited for."""

    def __init__(self, cores=lambda _at: 4.0, days=28.0):
        self.cores, self.days, self.asked, self.error, self.hangs = cores, days, [], "", None

    async def read(self, query, start, end):
        self.asked.append((query, start, end))
        if self.hangs is not None:
            await self.hangs.wait()
        if self.error:
            raise PrometheusError(self.error)
        first = max(start, end - self.days * DAY)
        return {at: self.cores(at) for at in range(-(-int(first) // STEP) * STEP, int(end), STEP)}


def looking_back(world, source):
    """Let the controller ask this source."""
    world.reconciler.backfill = Backfill(source, lambda: world.up)


async def answers(world):
    """Wait for the answers to all that was asked for."""
    while world.reconciler.backfill._tasks:
        await asyncio.gather(*world.reconciler.backfill._tasks)


def spec(world):
    return world.at(OWN)["spec"]


def phase(world):
    return world.status("Tortoise")["tortoisePhase"]


async def begun(world, source):
    """A new Tortoise that has its HPA, and has asked for its history."""
    looking_back(world, source)
    world.uses("500m")
    await world.reconcile()
    await answers(world)
    world.uses("500m")


async def test_a_new_tortoise_works_at_once():
    """Its bounds are learned: 4 cores at a target of 70 % are 5.7 pods of one core, so 3 to 12 replicas."""
    async with World(*web(4), tortoise(), node()) as world:
        source = Recorded()
        await begun(world, source)
        assert (spec(world)["minReplicas"], spec(world)["maxReplicas"]) == (3, 100)
        await world.reconcile()
        assert (spec(world)["minReplicas"], spec(world)["maxReplicas"]) == (3, 12)
        world.uses("500m")
        await world.reconcile()
        assert phase(world) == "Working"
        [event] = world.events("HistoryRead")
        assert event["message"] == "Learned from 28 days of usage: 168 of 168 slots have data."
        [(query, start, end)] = source.asked
        assert 'namespace="shop"' in query
        assert 'container="app"' in query
        assert (start, end) == (world.now - 45 - 28 * DAY + 15, world.now - 30)
        await answers(world)
        await world.reconcile()
        assert len(source.asked) == 1


async def test_it_is_kept_across_a_restart():
    """A new leader neither asks again nor begins again."""
    async with World(*web(4), tortoise(), node()) as world:
        await begun(world, Recorded())
        await world.reconcile()
        before = world.reconciler.judge.states[KEY].state.tortoise
        await world.restart()
        source = Recorded()
        looking_back(world, source)
        world.uses("500m")
        await world.reconcile()
        after = world.reconciler.judge.states[KEY].state.tortoise
        assert (after.learned[0].codes, after.since) == (before.learned[0].codes, before.since)
        assert source.asked == []


async def test_no_reconcile_waits():
    """Prometheus hangs: the Tortoise is decided as one without a history, and gets it later."""
    async with World(*web(4), tortoise(), node()) as world:
        source = Recorded()
        source.hangs = asyncio.Event()
        looking_back(world, source)
        for _ in range(3):
            world.uses("500m")
            await world.reconcile()
        assert phase(world) == "PartlyWorking"
        assert len(source.asked) == 1
        source.hangs.set()
        await answers(world)
        world.uses("500m")
        await world.reconcile()
        assert phase(world) == "Working"


async def test_a_failure_is_reported_and_tried_again_seldom():
    """On the object, with the reason, after ten minutes, then twenty."""
    async with World(*web(4), tortoise(), node()) as world:
        source = Recorded()
        source.error = "it answers 503: too busy"
        await begun(world, source)
        await world.reconcile()
        [event] = world.events("FailedReadHistory")
        assert event["message"] == (
            "Prometheus cannot be queried: it answers 503: too busy; it is tried again in 10 minutes."
        )
        assert (event["type"], event["involvedObject"]["kind"]) == ("Warning", "Tortoise")
        assert phase(world) == "PartlyWorking"
        for pause, expected in ((AGAIN_AFTER, 2), (AGAIN_AFTER, 2), (AGAIN_AFTER, 3)):
            world.uses("500m")
            await world.reconcile(after=pause)
            await answers(world)
            await world.reconcile(after=0)
            assert len(source.asked) == expected
        source.error = ""
        await world.reconcile(after=4 * AGAIN_AFTER)
        await answers(world)
        await world.reconcile()
        assert world.events("HistoryRead")
        assert world.reconciler.judge.states[KEY].state.tortoise.learned[0].known() == 168


async def test_what_it_observed_meanwhile_stays():
    """The history is that before it began to observe."""
    async with World(*web(4), tortoise(), node()) as world:
        source = Recorded()
        source.error = "it answers 503: too busy"
        await begun(world, source)
        for _ in range(4):
            world.uses("900m")
            await world.reconcile(after=HOUR)
        [own] = world.reconciler.judge.states[KEY].state.tortoise.learned
        source.error = ""
        await world.reconcile(after=6 * HOUR)
        await answers(world)
        await world.reconcile()
        [both] = world.reconciler.judge.states[KEY].state.tortoise.learned
        assert both.since < own.since
        assert both.known() == 168
        slot = own.tally.slot - 1
        assert both.table().highest(slot) == max(own.table().highest(slot), both.table().highest(slot - 24))
        assert {end for _, _, end in source.asked} == {own.since}


@pytest.mark.parametrize(("days", "working"), [(28, True), (8, True), (5, False), (2, False)])
async def test_how_much_must_be_covered(days, working):
    """A week; with less it gathers data for the rest of the week."""
    async with World(*web(4), tortoise(), node()) as world:
        await begun(world, Recorded(days=days))
        await world.reconcile()
        world.uses("500m")
        await world.reconcile()
        assert phase(world) == ("Working" if working else "PartlyWorking")
        assert world.events("HistoryRead")


async def test_a_history_with_few_slots_is_not_enough():
    """One day of three weeks ago says little about a week."""
    async with World(*web(4), tortoise(), node()) as world:

        class Once(Recorded):
            async def read(self, query, start, end):
                found = await super().read(query, start, end)
                return {at: amount for at, amount in found.items() if at < start + 7 * DAY + 20 * HOUR}

        await begun(world, Once(days=22))
        await world.reconcile()
        world.uses("500m")
        await world.reconcile()
        assert phase(world) == "PartlyWorking"
        assert world.reconciler.judge.states[KEY].state.tortoise.learned[0].known() < 84


async def test_a_workload_without_a_past():
    """That is no failure, and is not asked again."""
    async with World(*web(4), tortoise(), node()) as world:
        source = Recorded(days=0)
        await begun(world, source)
        await world.reconcile()
        await world.reconcile(after=DAY)
        await answers(world)
        assert len(source.asked) == 1
        assert world.events("HistoryRead")[0]["message"] == "Prometheus has no earlier usage of its pods."


async def test_an_object_that_is_gone_or_new():
    """An answer for an object that was deleted meanwhile is not given to the next one of the same name."""
    async with World(*web(4), tortoise(), node()) as world:
        source = Recorded()
        source.hangs = asyncio.Event()
        looking_back(world, source)
        world.uses("500m")
        await world.reconcile()
        world.cluster.remove("/apis/autoscaling.mercari.com/v1beta3/namespaces/shop/tortoises/web")
        await world.reconcile()
        world.put(tortoise())
        await world.reconcile()
        source.hangs.set()
        await answers(world)
        await world.reconcile()
        assert world.reconciler.judge.states[KEY].state.tortoise.learned[0].known() == 0
        await answers(world)
        await world.reconcile()
        assert world.reconciler.judge.states[KEY].state.tortoise.learned[0].known() == 168


async def test_an_internal_error_stays_with_its_object(monkeypatch):
    """It is a failure like others."""

    def fails(*_):
        raise ZeroDivisionError

    monkeypatch.setattr(learners, "_learned", fails)
    async with World(*web(4), tortoise(), node()) as world:
        await begun(world, Recorded())
        await world.reconcile()
        assert "Internal error: ZeroDivisionError" in world.events("FailedReadHistory")[0]["message"]


async def test_without_a_prometheus_nothing_is_asked():
    """The controller without that setting has nothing to ask."""
    async with World(*web(4), tortoise(), node()) as world:
        world.uses("500m")
        await world.reconcile()
        assert not world.reconciler.backfill._tasks
    async with World(*web(4), tortoise(), node(), prometheus="http://127.0.0.1:1") as world:
        await world.reconcile()
        await answers(world)
        await world.reconcile()
        assert "no connection" in world.events("FailedReadHistory")[0]["message"]


async def test_a_namespace_that_has_not_opted_in():
    """Nothing is asked for it."""
    async with World(*web(4), tortoise(), node(), opt_in="label") as world:
        source = Recorded()
        await begun(world, source)
        assert source.asked == []


def wanted(name, namespace="shop", learned=None):
    place = FollowedPlace(("app", "cpu"), 70, learned)
    return WantedHistory(("Tortoise", namespace, name), (), (PastQuery("up", 0.0, 1.0),), (place,))


async def test_namespaces_have_turns():
    """One with many objects does not delay the others, and only a few are asked for at the same time."""
    async with World(*web(4), tortoise(), node()) as world:
        source = Recorded()
        await begun(world, source)
        [learned] = world.reconciler.judge.states[KEY].state.tortoise.learned
        order, under_way, most = [], 0, 0

        async def read(*_):
            nonlocal under_way, most
            under_way, most = under_way + 1, max(most, under_way + 1)
            await asyncio.sleep(0)
            under_way -= 1
            return {}

        asking = Backfill(source, lambda: 0.0)
        for number in range(20):
            asking._waiting["Tortoise", "many", f"m{number}"] = wanted(f"m{number}", "many", learned)
        for namespace in ("a", "b"):
            asking._waiting["Tortoise", namespace, "one"] = wanted("one", namespace, learned)
        source.read = read
        take = asking._next
        asking._next = lambda: (order.append(take()), order[-1])[1]
        asking.look((), NOW)
        while asking._tasks:
            await asyncio.gather(*asking._tasks)
        assert len(order) == 22
        assert {one.key[1] for one in order[:3]} == {"many", "a", "b"}
        assert most == AT_ONCE


def uses_both(world):
    """Usage of both containers of each pod, as of now."""
    for index in range(2):
        both = [sample(index)["containers"][0], sample(index, "50m", container="proxy")["containers"][0]]
        world.put({**sample(index), "containers": both, "timestamp": show_time(world.now)})


async def test_each_container_learns_its_own():
    """One core of app at 70 %, and of a proxy that is half an hour old: 14 pods of 100m count."""
    async with World(*web(2, box(), box("proxy", cpu="100m")), tortoise(), node()) as world:
        source = Recorded(cores=lambda _at: 1.0)
        uses_both(world)
        looking_back(world, source)
        await world.reconcile()
        await answers(world)
        assert ['container="app"' in source.asked[0][0], 'container="proxy"' in source.asked[1][0]] == [True, True]
        uses_both(world)
        await world.reconcile()
        app, proxy = world.reconciler.judge.states[KEY].state.tortoise.learned
        assert (app.place, proxy.place) == ("app/cpu", "proxy/cpu")
        assert app.peak() == proxy.peak() == 1429
        assert (spec(world)["minReplicas"], spec(world)["maxReplicas"]) == (8, 29)


async def test_a_container_without_usage_did_not_exist():
    """It learns nothing, and the others do."""
    async with World(*web(2, box(), box("proxy", cpu="100m")), tortoise(), node()) as world:
        source = Recorded(cores=lambda _at: 1.0)
        answer = source.read

        async def read(query, start, end):
            found = await answer(query, start, end)
            return {} if "proxy" in query else found

        source.read = read
        await begun(world, source)
        await world.reconcile()
        app, proxy = world.reconciler.judge.states[KEY].state.tortoise.learned
        assert (app.known(), proxy.known()) == (168, 0)
        [event] = world.events("HistoryRead")
        assert event["message"] == "Learned from 28 days of usage: 168 of 168 slots have data."


@needs_prometheus
async def test_weeks_of_a_real_prometheus(tmp_path):
    """From the samples of kubelets to the bounds of the HPA."""
    first, last = int(NOW) - WEEK - round(DAY), int(NOW)
    lines = ["# TYPE container_cpu_usage_seconds counter"]
    for pod in ("web-7d9f8c6b5-x2x4z", "web-7d9f8c6b5-b4n7k"):
        labels = f'namespace="shop",pod="{pod}",container="app"'
        lines += [
            f"container_cpu_usage_seconds_total{{{labels}}} {2 * (at - first)} {at}" for at in range(first, last, 120)
        ]
    with serving(tmp_path, "\n".join([*lines, "# EOF", ""]), 150) as address:
        async with World(*web(4), tortoise(), node()) as world, aiohttp.ClientSession() as session:
            await begun(world, PastUsage(PrometheusApi(session, address)))
            await world.reconcile()
            assert (spec(world)["minReplicas"], spec(world)["maxReplicas"]) == (3, 12)
            world.uses("500m")
            await world.reconcile()
            assert phase(world) == "Working"
            assert world.events("HistoryRead")[0]["message"].startswith("Learned from 8 days of usage: 168 of 168")


ASC = ("Autoscaler", "shop", "web")


def by_time_of_day(at):
    """Two cores at midnight, six at noon."""
    return 4.0 - 2.0 * math.cos(2 * math.pi * at / DAY)


async def test_a_new_autoscaler_knows_yesterday():
    """And the week before, so that it expects what comes every day."""
    async with World(*web(4), learner(), node()) as world:
        source = Recorded(cores=by_time_of_day)
        looking_back(world, source)
        for _ in range(2):
            world.uses("500m")
            await world.reconcile()
            await answers(world)
        await world.reconcile()
        learned = world.reconciler.judge.states[ASC].state.autoscaler.past.learned
        assert sum(1 for mean in learned.day.means if mean > 0.0) >= 1440
        for ahead in (1800.0, 6 * HOUR):
            expected = by_time_of_day(world.now + ahead) / by_time_of_day(world.now)
            assert ratio_ahead(learned.week, 600.0, world.now, world.now + ahead) == pytest.approx(expected, rel=0.05)
        [event] = world.events("HistoryRead")
        assert event["message"] == "Learned from 7 days of usage: 1008 of the 1008 slots of a week have data."
        [(query, start, end)] = source.asked
        assert 'container="app"' in query
        assert end - start == WEEK + 1200


async def test_an_autoscaler_that_fails_to_ask():
    """It decides without a history, reports the failure, and asks again later."""
    async with World(*web(4), learner(), node()) as world:
        source = Recorded()
        source.error = "it answers 503: too busy"
        looking_back(world, source)
        for _ in range(2):
            world.uses("500m")
            await world.reconcile()
            await answers(world)
        assert "tried again in 10 minutes" in world.events("FailedReadHistory")[0]["message"]
        assert world.reconciler.judge.states[ASC].state.autoscaler is not None
        source.error = ""
        world.uses("500m")
        await world.reconcile(after=AGAIN_AFTER)
        await answers(world)
        await world.reconcile()
        assert world.events("HistoryRead")


async def test_a_target_whose_name_no_pod_can_have():
    """Nothing is asked: the failure is reported on the object, and the others are decided."""
    target = {**TARGET, "name": "no_name"}
    async with World(*web(4), learner(), tortoise(), node()) as world:
        world.put({**learner(), "spec": {**learner()["spec"], "targetRef": target}})
        source = Recorded()
        await begun(world, source)
        await world.reconcile()
        assert phase(world) == "Working"


async def test_an_autoscaler_that_knows_its_week_is_not_asked_for_again():
    """A new leader has it from the saved state."""
    async with World(*web(4), learner(), node()) as world:
        looking_back(world, Recorded())
        for _ in range(3):
            world.uses("500m")
            await world.reconcile()
            await answers(world)
        assert world.events("HistoryRead")
        await world.restart()
        source = Recorded()
        looking_back(world, source)
        world.uses("500m")
        await world.reconcile()
        await answers(world)
        assert world.reconciler.judge.states[ASC].state.autoscaler is not None
        assert source.asked == []
