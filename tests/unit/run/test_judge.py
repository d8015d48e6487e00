"""What holds a decision back in a reconcile, and the condition that reports it."""

import pytest

from fake_objects import refusal
from hypot.core.instant import show_time
from hypot.policy.families import family_of
from hypot.policy.model.settings import Settings
from hypot.policy.observe.snapshot import read_autoscaler
from hypot.run.reconcile import Clocks
from unit.policy.sizes_world import hvpa, made, node, vpa
from unit.run.run_world import KINDS, OWN, QUEUE, World, all_kinds, blocked, hpa, items, web, wpa

pytestmark = pytest.mark.asyncio
OBJECTS = {"hypot.dev/recommendations": "objects"}


def lease(name, holder="somebody", renewed=0.0, namespace="kube-system"):
    spec = {"holderIdentity": holder, "renewTime": show_time(renewed), "leaseDurationSeconds": 30}
    return {
        "apiVersion": "coordination.k8s.io/v1",
        "kind": "Lease",
        "metadata": {"name": name, "namespace": namespace},
        "spec": spec,
    }


def wrote_status(manager, at):
    return {"managedFields": [{"manager": manager, "subresource": "status", "time": show_time(at)}]}


async def held(world, reason, replicas=4):
    """Assert that the count stays and that holds and condition report it; returns the message."""
    outcome = await world.outcome()
    assert world.replicas == replicas
    assert reason in [hold.reason for hold in outcome.holds]
    assert world.condition("ScalingBlocked")["status"] == "True"
    return blocked(outcome)[1]


# Conflicts.


async def test_another_hpa_of_the_target_is_a_conflict():
    """Two autoscalers of the same replicas would work against each other; the condition names the other."""
    async with World(*web(4), wpa(), hpa("theirs")) as world:
        world.queue("80")
        assert "HorizontalPodAutoscaler shop/theirs scales the same pods" in await held(world, "Conflict")
        assert world.condition("ScalingBlocked")["reason"] == "Conflict"
        assert world.events("Conflict")
        world.cluster.remove(f"{KINDS['HorizontalPodAutoscaler']}/theirs")
        await world.reconcile()
        assert (world.replicas, world.condition("ScalingBlocked")["status"]) == (8, "False")


async def test_an_hpa_that_scales_the_hvpa_only_advises_it():
    """It is not a conflict, whatever created it."""
    own = {"apiVersion": "autoscaling.k8s.io/v1alpha1", "kind": "Hvpa", "name": "web"}
    async with World(*web(1), hvpa(annotations=OBJECTS), hpa(target=own), node()) as world:
        world.uses("1", "3Gi")
        outcome = await world.outcome("Hvpa")
        assert "Conflict" not in [hold.reason for hold in outcome.holds]


async def test_a_fresh_writer_of_the_status_is_a_conflict():
    """Another controller of the same kind is active; two minutes after its last write it no longer counts."""
    async with World(*web(4), wpa()) as world:
        there = wpa(metadata=wrote_status("watermarkpodautoscaler", world.now))
        world.put(there)
        world.queue("80")
        assert "watermarkpodautoscaler writes the status of this object" in await held(world, "Conflict")
        world.queue("80")
        await world.reconcile(120)
        assert world.replicas == 8


async def test_our_own_status_is_not_a_conflict():
    """A manager that wrote the spec is not a conflict either."""
    fields = [
        {"manager": "hypot", "subresource": "status", "time": show_time(2e9)},
        {"manager": "kubectl", "time": show_time(2e9)},
    ]
    async with World(*web(4), wpa(metadata={"managedFields": fields})) as world:
        world.queue("80")
        await world.reconcile()
        assert world.replicas == 8


async def test_the_lease_of_the_upstream_controller_stops_scale_downs():
    """It is read twice a minute; a Lease that is not renewed does not count."""
    async with World(*web(4), wpa()) as world:
        world.queue("10")
        world.put(lease("watermarkpodautoscaler-lock", renewed=world.now))
        assert "the Lease kube-system/watermarkpodautoscaler-lock" in await held(world, "OtherLeader")
        assert world.events("Conflict")
        await world.reconcile()
        assert world.asked("/leases") == []
        world.queue("10")
        await world.reconcile(180)
        assert len(world.asked("/leases")) == 5
        assert world.replicas == 2


@pytest.mark.parametrize("name", ["watermarkpodautoscaler-lock", "hypot"])
async def test_a_lease_never_stops_growth(name, monkeypatch):
    """Even one in a namespace that is believed: what it shows is not certain."""
    monkeypatch.setattr("hypot.run.observe.leases.goes_first", lambda *_: True)
    async with World(*web(4), wpa()) as world:
        world.queue("80")
        world.put(lease(name, renewed=world.now))
        outcome = await world.outcome()
        assert ([hold.reason for hold in outcome.holds], world.replicas) == (["OtherLeader"], 8)


@pytest.mark.parametrize("name", ["watermarkpodautoscaler-lock", "hypot"])
async def test_the_lease_of_a_tenant_stops_nothing(name):
    """A tenant may write any Lease into its own namespace."""
    async with World(*web(4), wpa()) as world:
        world.queue("10")
        world.put(lease(name, renewed=world.now, namespace="shop"))
        outcome = await world.outcome()
        assert (outcome.holds, world.replicas) == ((), 2)


async def test_a_lease_that_cannot_be_read_is_as_it_was():
    """A Lease that cannot be read is not taken for expired."""
    async with World(*web(4), wpa()) as world:
        world.queue("10")
        world.put(lease("watermarkpodautoscaler-lock", renewed=world.now))
        await held(world, "OtherLeader")
        world.cluster.faults = lambda call: refusal(403, "no") if "leases" in call.path else None
        world.queue("10")
        await world.reconcile(180)
        assert world.replicas == 4


async def test_of_two_that_count_one_target_the_younger_holds():
    """It names the older object, and continues once that is deleted; only one of them sets the count."""
    async with World(*web(4), wpa("younger", metric="other")) as world:
        world.put(wpa(metadata={"creationTimestamp": show_time(world.now - 60)}))
        world.cluster.fixed[QUEUE.replace("queue", "other")] = items("5", at=world.now)
        world.queue("80")
        reconciled = await world.reconcile()
        assert world.replicas == 8
        assert "WatermarkPodAutoscaler shop/web is older" in blocked(world.of(reconciled, name="younger"))[1]
        assert world.condition("ScalingBlocked", name="younger")["reason"] == "Conflict"
        assert world.of(reconciled).holds == ()
        assert [each["reason"] for each in world.events("Conflict")] == ["Conflict"]
        world.cluster.remove(f"{KINDS['WatermarkPodAutoscaler']}/web")
        world.cluster.fixed[QUEUE.replace("queue", "other")] = items("5", at=world.now)
        await world.reconcile()
        assert world.replicas < 8


async def test_a_wpa_and_an_hvpa_of_one_target_do_not_fight():
    """The younger of the two holds both its count and its sizes."""
    async with World(*web(1), hvpa(name="younger"), node()) as world:
        world.put(wpa(metadata={"creationTimestamp": show_time(world.now - 60)}))
        world.uses("1", "3Gi")
        world.queue("80")
        reconciled = await world.reconcile()
        assert blocked(world.of(reconciled, "Hvpa", "younger"))[0] == "Conflict"
        assert not world.writes("/pods/")
        assert world.replicas == 2


async def test_another_hypot_that_leads_stops_scale_downs(monkeypatch):
    """This holds for all kinds, if the other goes first: each of the two leads by its own Lease and would write."""
    monkeypatch.setattr("hypot.run.observe.leases.goes_first", lambda *_: True)
    async with World(*web(4), wpa(), lease_namespaces=("tools",)) as world:
        world.queue("10")
        world.put(lease("hypot", renewed=world.now, namespace=OWN))
        world.put(lease("hypot", renewed=world.now, namespace="tools"))
        assert "another hypot leads with the Lease tools/hypot" in await held(world, "OtherLeader")
        world.queue("10")
        await world.reconcile(180)
        assert world.replicas == 2


async def test_the_vpa_of_an_hvpa_is_not_a_conflict():
    """That VPA only recommends; another VPA that sizes the same pods is a conflict."""
    async with World(*web(1), hvpa(annotations=OBJECTS), node()) as world:
        world.uses("1", "3Gi")
        await world.reconcile()
        child = world.at(f"{KINDS['VerticalPodAutoscaler']}/web")
        assert child["spec"]["updatePolicy"]["updateMode"] == "Off"
        outcome = await world.outcome("Hvpa")
        assert "Conflict" not in [hold.reason for hold in outcome.holds]
        world.put(vpa("Recreate", name="theirs"))
        assert "VerticalPodAutoscaler theirs sizes" in blocked(await world.outcome("Hvpa"))[1]


async def test_the_younger_of_two_vpas_names_the_older():
    """Only the oldest acts; without the message the owner of the others would wait in vain."""
    mine = vpa("Recreate", name="mine", creationTimestamp=show_time(2000.0))
    theirs = vpa("Recreate", name="theirs", creationTimestamp=show_time(1000.0))
    async with World(*web(1), mine, theirs, node(), kinds={"VerticalPodAutoscaler": "act"}) as world:
        world.uses("1", "3Gi")
        found = {one.key[2]: one for one in (await world.reconcile()).outcomes}
        reported = [hold.message for hold in found["mine"].holds]
        assert reported == ["VerticalPodAutoscaler shop/theirs is older and sizes the same pods: remove one of the two"]
        assert found["theirs"].holds == ()
        assert world.events("Conflict")


# Annotations.


@pytest.mark.parametrize(
    ("word", "value", "replicas"),
    [("true", "80", 4), ("up", "80", 4), ("down", "80", 8), ("down", "10", 4), ("up", "10", 2), ("perhaps", "80", 4)],
)
async def test_paused_holds_what_it_names(word, value, replicas):
    """It holds both directions or one; an unknown value holds everything."""
    async with World(*web(4), wpa(annotations={"hypot.dev/paused": word})) as world:
        world.queue(value)
        outcome = await world.outcome()
        assert world.replicas == replicas
        assert world.condition("ScalingBlocked")["reason"] == "Paused"
        assert "hypot.dev/paused" in blocked(outcome)[1]
        assert world.events("ScalingHeld")


async def test_a_pin_sets_the_count():
    """It does so even when no metric can be read."""
    async with World(*web(4), wpa(annotations={"hypot.dev/hold": "6"})) as world:
        await world.reconcile()
        assert world.replicas == 6
        assert world.condition("ScalingBlocked")["reason"] == "Held"


async def test_a_pause_ends_a_plan():
    """A running plan stops at once; the next decision is made once the pause ends."""
    async with World(*web(1), hvpa(), node()) as world:
        world.uses("1", "3Gi")
        await world.reconcile()
        world.follow()
        world.uses("1", "3Gi")
        world.annotate("Hvpa", paused="true")
        outcome = await world.outcome("Hvpa")
        assert not world.writes("/pods/")
        assert not world.writes("/scale")
        assert outcome.state.plan is None
        assert world.condition("CarriedOut", "Hvpa")["reason"] == "Superseded"
        assert world.events("PlanEnded")


@pytest.mark.parametrize(("word", "goes_on"), [("up", False), ("down", True)])
async def test_half_a_pause_holds_the_steps_of_a_plan_that_it_names(word, goes_on):
    """This plan scales up: it waits while up is paused, and continues while only down is paused."""
    async with World(*web(1), hvpa(), node()) as world:
        world.uses("1", "3Gi")
        await world.reconcile()
        world.follow()
        world.uses("1", "3Gi")
        world.annotate("Hvpa", paused=word)
        outcome = await world.outcome("Hvpa")
        assert bool(world.writes("/resize")) is goes_on
        assert outcome.state.plan is not None


# A cold start, a clock that jumped.


async def test_without_state_nothing_shrinks_for_a_window():
    """Scaling up is free; scaling down may begin after the longest window of the object."""
    spec = {"downscaleForbiddenWindowSeconds": 300}
    async with World(*web(4), wpa(**spec), warm=False) as world:
        world.queue("10")
        assert "started without saved state: no scale-down for 300 s" in await held(world, "ColdStart")
        await later(world, 270, "10")
        assert world.replicas == 4
        await later(world, 30, "10")
        assert world.replicas < 4


async def later(world, seconds, value):
    """Reconcile so much later, with a fresh value."""
    world.passes(seconds - 1)
    world.queue(value)
    await world.reconcile(1)


async def test_without_state_growth_is_free():
    """More than needed is safe, less is not."""
    async with World(*web(4), wpa(), warm=False) as world:
        world.queue("80")
        await world.reconcile()
        assert world.replicas == 8


async def test_a_restart_does_not_end_a_cold_start():
    """State that is a minute old does not cover a window, so the rest of the window is waited for."""
    spec = {"downscaleForbiddenWindowSeconds": 300}
    async with World(*web(4), wpa(**spec), warm=False) as world:
        world.queue("10")
        await held(world, "ColdStart")
        world.passes(60)
        await world.restart()
        world.queue("10")
        await held(world, "ColdStart")
        await later(world, 209, "10")
        assert world.replicas == 4
        await later(world, 15, "10")
        assert world.replicas < 4


@pytest.mark.parametrize("jump", [60.0, -60.0])
async def test_a_clock_that_jumped_shrinks_nothing_for_a_window(jump):
    """Ages and windows cannot be trusted then; scaling up continues."""
    spec = {"downscaleForbiddenWindowSeconds": 300}
    async with World(*web(4), wpa(**spec)) as world:
        world.queue("30")
        await world.reconcile()
        world.now += jump
        world.queue("10")
        assert "the clock jumped" in await held(world, "ClockJump")
        await later(world, 285, "10")
        assert world.replicas == 4
        await later(world, 15, "10")
        assert world.replicas < 4


async def test_a_little_drift_is_not_a_jump():
    """Clocks are slewed all the time."""
    times = iter([100.0, 119.0])
    clocks = Clocks(lambda: next(times), iter([0.0, 15.0]).__next__)
    clocks.look()
    assert clocks.look() == (119.0, 15.0)
    assert clocks.jumped_at is None


# What is observed.


@pytest.mark.parametrize(
    ("thing", "window"),
    [
        (wpa(downscaleForbiddenWindowSeconds=120, upscaleForbiddenWindowSeconds=60), 120),
        (wpa(downscaleDelayBelowWatermarkSeconds=900), 900),
        (made("datadoghq.com/v1alpha1", "WatermarkPodAutoscaler", "web", {"maxReplicas": 3}), 300),
        (hpa(), 300),
        (hpa(behavior={"scaleDown": {"stabilizationWindowSeconds": 40}}), 40),
        (hpa(behavior={"scaleUp": {"stabilizationWindowSeconds": 700}}), 700),
        (hvpa(scaleDown={"stabilizationDuration": "12m"}), 720),
        (vpa(), 300),
    ],
    ids=lambda each: str(each)[:60] if isinstance(each, float | int) else each["kind"],
)
async def test_the_longest_window(thing, window):
    """It is the longest time that the spec, or its defaults, looks back."""
    autoscaler = read_autoscaler(thing)
    assert family_of(autoscaler).longest_window(autoscaler, Settings()) == window


async def test_an_hpa_of_the_cluster_is_left_to_it():
    """By default hypot observes HPAs only as conflicts, and does nothing for them."""
    async with World(*web(2), hpa()) as world:
        world.uses("1")
        reconciled = await world.reconcile()
        assert (reconciled.outcomes, world.replicas) == ((), 2)


async def test_kinds_that_are_off_are_not_even_listed():
    """HPAs are watched as possible conflicts; VPAs only where an Hvpa may follow them."""
    async with World(kinds=all_kinds(WatermarkPodAutoscaler="act")) as world:
        assert set(world.app.watches.autoscalers) == {"WatermarkPodAutoscaler", "HorizontalPodAutoscaler"}


# What cannot be observed.


async def test_nothing_shrinks_while_pods_are_not_followed():
    """They may have changed; scaling down continues once the watch is back, and scaling up never waits."""
    async with World(*web(4), wpa()) as world:
        (reflector,) = world.app.watches.pods.reflectors
        reflector.trouble = "the connection was cut"
        world.queue("10")
        assert "pods (the connection was cut)" in await held(world, "StaleWatch")
        reflector.trouble = ""
        world.queue("10")
        await world.reconcile()
        assert world.replicas < 4


async def test_growth_does_not_wait_for_a_watch():
    """Too many pods for a moment are better than too few."""
    async with World(*web(4), wpa()) as world:
        (reflector,) = world.app.watches.pods.reflectors
        reflector.trouble = "the connection was cut"
        world.queue("80")
        await world.reconcile()
        assert world.replicas == 8


@pytest.mark.parametrize("change", ["deleted", "paused"])
async def test_a_change_during_a_reconcile_stops_the_move(change):
    """Observing takes time; an autoscaler that is deleted or paused meanwhile is not acted on."""
    async with World(*web(4), wpa()) as world:
        decide_all = world.reconciler.judge.decide_all

        async def and_then(*arguments):
            outcomes = await decide_all(*arguments)
            if change == "deleted":
                world.cluster.remove(f"{KINDS['WatermarkPodAutoscaler']}/web")
            else:
                world.put(wpa(annotations={"hypot.dev/paused": "true"}))
            await world.settle()
            return outcomes

        world.reconciler.judge.decide_all = and_then
        world.queue("80")
        await world.reconcile()
        assert (world.replicas, world.events("Scaling")) == (4, [])
