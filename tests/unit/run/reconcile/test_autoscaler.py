"""Autoscalers in the controller: decided, written, remembered across restarts, and safe when metrics are missing."""

import json

import pytest

from hypot.core.instant import show_time
from hypot.policy.model.autoscaler_checkpoint import LARGEST
from hypot.run.store.shards import Shards
from unit.policy.sizes_world import NAMESPACE, NOW, box, hvpa, node, vpa
from unit.run.run_world import OWN, World, all_kinds, blocked, hpa, learner, web, wpa

pytestmark = pytest.mark.asyncio
KIND = "Autoscaler"
ONLY = all_kinds(Autoscaler="act")
# The longest hold of a rule, in steps.
LONGEST = 80


class LearningWorld(World):
    """Pods of web that use what the demand asks for, at most what they may."""

    async def step(self, demand, steps=1):
        """Reconciles while all pods together need so many millicores; the last outcome."""
        for _ in range(steps):
            self.passes()
            self.follow()
            self.resized()
            for index in range(self.replicas):
                cap = self.size(index)
                self.uses_of(index, f"{min(cap, demand // self.replicas)}m")
            await self.settle()
            self.cluster.calls.clear()
            reconciled = await self.reconciler.reconcile()
            await self.settle()
        return self.of(reconciled, KIND)

    def size(self, index):
        """The cpu request of a pod, in millicores."""
        pod = self.at(f"/api/v1/namespaces/{NAMESPACE}/pods/web-{index}")
        written = pod["spec"]["containers"][0]["resources"]["requests"]["cpu"]
        return int(written[:-1]) if written.endswith("m") else 1000 * int(written)

    def resized(self):
        """The kubelet carries out resizes at once."""
        for index in range(self.replicas):
            path = f"/api/v1/namespaces/{NAMESPACE}/pods/web-{index}"
            pod = self.at(path)
            container = pod["spec"]["containers"][0]
            actual = {"name": container["name"], "resources": container["resources"], "ready": True}
            self.put({**pod, "status": {**pod["status"], "containerStatuses": [actual]}})

    @property
    def shape(self):
        return self.replicas, max(self.size(index) for index in range(self.replicas))


def world(*objects, mode="Auto", count=4, annotations=None, spec=None, **config):
    given = config.pop("kinds", ONLY)
    one = learner(mode, annotations=annotations, **(spec or {}))
    nodes = node(cpu="200", memory="500Gi")
    return LearningWorld(*web(count, box(cpu="500m")), one, nodes, *objects, kinds=given, **config)


async def test_it_scales_up_and_down_on_both_axes():
    """More demand means more capacity at once; once the longest hold has passed, less means less."""
    async with world() as there:
        await there.step(800, 3)
        small = there.shape
        await there.step(24_000, 25)
        large = there.shape
        assert large[0] > small[0]
        assert large[1] > small[1]
        assert large[0] * large[1] > 24_000
        await there.step(800, 2 * LONGEST)
        again = there.shape
        assert again[0] * again[1] < large[0] * large[1] / 4
        status = there.status(KIND)
        assert status["desiredReplicas"] == again[0]
        assert there.condition("Ready", KIND)["reason"] == "Decided"
        assert there.events("Scaled")


async def test_off_only_reports():
    """Status and gauges say what it would do; nothing else is written, and no size is recorded for new pods."""
    async with world(mode=None) as there:
        outcome = await there.step(24_000, 3)
        assert there.shape == (4, 500)
        assert not there.writes("/scale")
        assert not there.writes("/resize")
        status = there.status(KIND)
        assert status["desiredReplicas"] > 4
        assert status["size"].startswith("app cpu 2,")
        assert "containers" not in status
        assert there.condition("Ready", KIND)["reason"] == "ReportsOnly"
        assert outcome.decision.dry_run


async def test_in_mode_observe_nothing_is_reported():
    """Only log and metrics show what it would do."""
    async with world(kinds=all_kinds(Autoscaler="observe")) as there:
        outcome = await there.step(24_000, 3)
        assert outcome.decision.resizes
        assert there.shape == (4, 500)
        assert not there.status(KIND)


@pytest.mark.parametrize(("axes", "grows"), [("Replicas", (True, False)), ("Size", (False, True))])
async def test_one_axis_alone(axes, grows):
    """The other one stays as it is."""
    async with world(spec={"axes": axes}) as there:
        await there.step(6000, 8)
        count, size = there.shape
        assert (count > 4, size > 500) == grows


async def test_the_size_for_new_pods_is_recorded_before_any_pod_changes():
    """New pods come up with it."""
    async with world() as there:
        await there.step(3000)
        writes = [call.path.rsplit("/", 1)[1] for call in there.writes()]
        assert writes.index("status") < writes.index("resize")
        recorded = there.status(KIND)["containers"][0]
        assert (recorded["containerName"], recorded["requests"]["cpu"]) == ("app", "2")
        assert there.shape == (4, 2000)
        await there.step(3000, 4)
        assert there.status(KIND)["containers"][0] == recorded
        assert there.condition("CarriedOut", KIND)["reason"] == "Done"


# What is remembered.


async def learned(there):
    """A world that has decided for long enough to price rules, and has a large shape."""
    await there.step(24_000, 3)
    await there.step(20_000, 50)
    return there.reconciler.judge.states[KIND, NAMESPACE, "web"].state.autoscaler.past


@pytest.mark.parametrize("how", ["replaced", "restart"])
async def test_a_restart_keeps_what_was_learned_and_releases_nothing_early(how):
    """After a clean stop and after a kill: prices stay, and for the longest hold nothing shrinks."""
    async with world() as there:
        past = await learned(there)
        if how == "restart":
            # Its entry has its turn every ten minutes.
            await there.step(20_000, 41)
            past = there.reconciler.judge.states[KIND, NAMESPACE, "web"].state.autoscaler.past
        there.follow()
        await getattr(there, how)()
        kept = there.reconciler.judge.states[KIND, NAMESPACE, "web"].state.autoscaler.past
        assert kept.learned.first == past.learned.first
        assert kept.counts.priced[0] == pytest.approx(past.counts.priced[0], abs=45)
        assert kept.counts.priced[0] > 30
        if how == "replaced":
            assert kept.counts.rule == past.counts.rule
            assert kept.counts.prices == pytest.approx(past.counts.prices, rel=1e-3)
        before = there.shape
        await there.step(400, LONGEST)
        assert there.shape == before
        await there.step(400, 20)
        assert there.shape[0] * there.shape[1] < before[0] * before[1]


async def test_after_a_restart_growth_is_at_once():
    """The first reconcile with metrics."""
    async with world() as there:
        await learned(there)
        await there.replaced()
        before = there.shape
        outcome = await there.step(60_000)
        assert outcome.decision.desired > before[0] or outcome.decision.grows


async def test_what_is_stored_is_small_and_seldom_written():
    """Less than 4 KiB, and no ConfigMap is written because of what each step teaches, but for its turn."""
    async with world(mode=None) as there:
        await there.step(2000, 45)
        written = 0
        for _ in range(40):
            await there.step(2000)
            written += len(there.writes("configmaps"))
        assert written <= 3
        await there.reconciler.stop()
        loaded = await Shards(there.cluster, OWN).load()
        stored = loaded.entries[f"{KIND}/{NAMESPACE}/web"]["autoscaler"]
        assert set(stored) == {"checkpoint"}
        assert len(stored["checkpoint"]) < LARGEST


async def test_no_histograms_are_kept_for_it():
    """It goes by what it learned itself."""
    async with world() as there:
        for _ in range(25):
            await there.step(2000)
            assert not there.writes("verticalpodautoscalercheckpoints")
        assert not [key for key in (await Shards(there.cluster, OWN).load()).entries if key.startswith("usage/")]


async def test_without_saved_state_nothing_shrinks_for_the_longest_hold():
    """A cold start: nobody knows what was needed before."""
    async with world(count=20, warm=False) as there:
        outcome = await there.step(400, 3)
        assert blocked(outcome)[0] == "ColdStart"
        await there.step(400, LONGEST - 4)
        assert there.shape == (20, 500)
        await there.step(400, 20)
        assert there.replicas < 20


# Safety.


async def test_lost_metrics_never_shrink():
    """Without any sample nothing is scaled down, however long it takes."""
    async with world() as there:
        await learned(there)
        before = there.shape
        for _ in range(30):
            there.passes()
            await there.settle()
            reconciled = await there.reconciler.reconcile()
        assert there.shape == before
        outcome = there.of(reconciled, KIND)
        assert blocked(outcome)[0] == "NoMetrics"
        assert outcome.decision.unknown


async def test_a_pod_without_a_sample_lets_nothing_shrink():
    """What it needs is unknown: the others may be the idle ones."""
    async with world(count=8) as there:
        await there.step(3000)
        before = there.shape
        assert before[0] > 3
        # The first pod loses its metrics.
        there.cluster.remove(f"/apis/metrics.k8s.io/v1beta1/namespaces/{NAMESPACE}/pods/web-0")
        for _ in range(LONGEST):
            there.passes()
            for index in range(1, there.replicas):
                there.uses_of(index, "20m")
            await there.settle()
            outcome = there.of(await there.reconciler.reconcile(), KIND)
        assert there.shape == before
        assert blocked(outcome)[0] == "MissingMetrics"


async def test_a_change_by_another_writer_is_respected():
    """A count that someone set since it was observed is not overwritten; the next reconcile decides from it."""
    async with world(spec={"axes": "Replicas"}) as there:
        await there.step(2000, 3)
        done = []

        def overtakes(call):
            if call.path.endswith("/scale") and not done:
                done.append(call)
                there.scaled(33)

        there.cluster.faults = overtakes
        outcome = await there.step(9000)
        assert (there.replicas, bool(done)) == (33, True)
        assert "has 33 replicas now" in outcome.refusal


@pytest.mark.parametrize(
    ("annotations", "reason", "shape"),
    [({"hypot.dev/paused": "true"}, "Paused", (4, 500)), ({"hypot.dev/hold": "7"}, "Held", (7, 500))],
)
async def test_annotations_hold_it(annotations, reason, shape):
    """As every kind."""
    async with world(annotations=annotations) as there:
        outcome = await there.step(24_000, 4)
        assert there.shape == shape
        assert blocked(outcome)[0] == reason


async def test_a_schedule_raises_the_minimum():
    """A planned minimum counts for it, too."""
    entry = {"startAt": show_time(NOW), "finishAt": show_time(NOW + 3600.0), "minReplicas": 9}
    async with world(annotations={"hypot.dev/schedule": json.dumps([entry])}) as there:
        await there.step(400, 3)
        assert there.replicas == 9


@pytest.mark.parametrize(
    ("mode", "spec", "other", "conflicts"),
    [
        ("Auto", {}, hpa("other"), True),
        ("Auto", {"axes": "Size"}, hpa("other"), False),
        (None, {}, hpa("other"), False),
        ("Auto", {}, vpa("Auto", name="other"), True),
        ("Auto", {"axes": "Replicas"}, vpa("Auto", name="other"), False),
        (None, {}, vpa("Auto", name="other"), False),
        ("Auto", {}, vpa("Off", name="other"), False),
    ],
)
async def test_conflicts_with_other_autoscalers(mode, spec, other, conflicts):
    """Each axis has one writer; one that only reports stands next to what it may replace."""
    async with world(other, mode=mode, spec=spec) as there:
        outcome = await there.step(2000)
        assert (blocked(outcome)[0] == "Conflict") == conflicts


@pytest.mark.parametrize(("axes", "held"), [("Both", True), ("Replicas", True), ("Size", False)])
async def test_of_two_kinds_for_one_target_the_older_acts(axes, held):
    """A WatermarkPodAutoscaler sets replicas only, so an Autoscaler may size the pods next to it."""
    older = wpa("older", metadata={"creationTimestamp": "2020-01-01T00:00:00Z"})
    kinds = all_kinds(Autoscaler="act", WatermarkPodAutoscaler="act")
    async with world(older, spec={"axes": axes}, kinds=kinds) as there:
        there.queue("30")
        outcome = await there.step(2000)
        assert (blocked(outcome)[0] == "Conflict") == held


async def test_two_that_size_the_same_pods_conflict():
    """An Hvpa sizes pods even where an Autoscaler leaves the count alone."""
    older = hvpa()
    older["metadata"]["creationTimestamp"] = "2020-01-01T00:00:00Z"
    async with world(older, spec={"axes": "Size"}, kinds=all_kinds(Autoscaler="act", Hvpa="act")) as there:
        outcome = await there.step(2000)
        message = "Hvpa shop/web is older and sizes the same pods: remove one of the two"
        assert blocked(outcome) == ("Conflict", message)
