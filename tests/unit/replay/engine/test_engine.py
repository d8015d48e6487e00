"""Whole replays: what they cost, what autoscalers observe and when, and what happens to sizes."""

from dataclasses import replace
from math import exp, log, sqrt

import numpy as np
import pytest
import yaml

from hypot.kinds.hpa import HPA
from hypot.kinds.hpa.fields import ScalingRules, cpu, external, memory, pods
from hypot.kinds.hvpa import Hvpa
from hypot.kinds.vpa import VPA
from hypot.kinds.wpa import WPA
from hypot.kinds.wpa.fields import WatermarkRules, resource_band
from hypot.policy.model.settings import Settings
from hypot.replay.engine.engine import replay
from hypot.replay.numbers.plan import begin_plan, no_plan, pursue_plan
from hypot.replay.score.scores import score
from hypot.replay.world.cohorts import SERVING, STOPPING, split
from hypot.replay.world.lifecycle import are_next
from hypot.replay.world.parameters import Heap, Metrics, Pods, ResizeParameters, Service, Span, World
from hypot.replay.world.params import SMALL
from property.replay_worlds import (
    ALWAYS,
    EPOCH,
    GIB,
    MIB,
    NAMES,
    Looking,
    Place,
    held_conservation,
    load,
    played,
    policy,
)

NO_HEAP = Heap(per_request=0)
AT_ONCE, SOON = ScalingRules(window=0), ScalingRules(window=60)
HVPA = """
apiVersion: autoscaling.k8s.io/v1alpha1
kind: Hvpa
metadata: {name: web}
spec:
  targetRef: {apiVersion: apps/v1, kind: Deployment, name: web}
  scalingIntervals:
  - {maxReplicas: 2, maxResources: {cpu: "1", memory: 2Gi}}
  - {maxReplicas: 6, maxResources: {cpu: "4", memory: 8Gi}}
  scalingIntervalsOverlap: {cpu: {percentage: 30}, memory: {percentage: 30}}
  hpa:
    deploy: true
    template:
      spec:
        minReplicas: 2
        maxReplicas: 6
        metrics: [{type: Resource, resource: {name: cpu, target: {type: Utilization, averageUtilization: 75}}}]
  vpa:
    deploy: true
    template:
      metadata: {annotations: {hypot.dev/cpu-half-life: 10m}}
      spec:
        resourcePolicy:
          containerPolicies:
          - {containerName: app, minAllowed: {cpu: 100m, memory: 256Mi}, maxAllowed: {cpu: "4", memory: 8Gi}}
"""


def hpa(*metrics, low=1, high=40, **more):
    return HPA("deployment/web", metrics=metrics or (cpu(utilization=60),), min_replicas=low, max_replicas=high, **more)


def wpa(low="500m", high="800m", **more):
    usual = {"algorithm": "average", "min_replicas": 1, "max_replicas": 40, **more}
    return WPA("deployment/web", metrics=[resource_band("cpu", low=low, high=high)], **usual)


def vpa(mode="InPlaceOrRecreate"):
    return VPA("deployment/web", mode=mode, annotations={"hypot.dev/cpu-half-life": "10m"})


def quiet(**metrics):
    """A world without heap usage, in which custom metrics have names."""
    return World(memory=NO_HEAP, metrics=Metrics(names=NAMES, **metrics))


def errors(scene):
    return {moment.decision.error for moment in scene.moments}


class TestStatic:
    def test_the_closed_form(self):
        """Cost, usage and latency of three one-core pods in an hour match the formulas."""
        run = replay(policy(replicas=3), "web", load((2.0, 240)), World(memory=NO_HEAP), Settings())
        ticks, rho = run.ticks, 2.0 / 3 / 1.15
        chance = rho ** (sqrt(2 * 2.15) - 1)
        found = score(run)
        assert (found.cpu_hours, found.memory_hours) == pytest.approx((3.0, 3 * GIB / 1e9))
        assert found.cost == pytest.approx(3 * 0.04048 + 3 * GIB / 1e9 * 0.004445)
        assert ticks.used_cpu == pytest.approx(np.full(240, 2.0 + 3 * 0.05))
        assert ticks.served == pytest.approx(np.full(240, 2.0 * 15 / 0.02))
        assert ticks.latency == pytest.approx(np.full(240, 0.02 + 0.02 * chance / (1.15 * (1 - rho))))
        assert ticks.p99 == pytest.approx(np.full(240, 0.02 + log(chance / 0.01) * 0.02 / (1.15 * (1 - rho))))
        assert ticks.late == pytest.approx(np.full(240, chance * exp(-0.23 * 1.15 * (1 - rho) / 0.02)))
        assert (run.moments, run.watch) == ((), None)

    def test_the_same_twice_is_the_same(self):
        """Two replays of the same input are equal to the last byte."""
        tried = policy(hpa(), replicas=3)
        first, second = (replay(tried, "web", load((2.0, 50), (7.0, 50)), World(), Settings()) for _ in range(2))
        assert [a.tobytes() for a in first.ticks] == [a.tobytes() for a in second.ticks]
        assert first.moments == second.moments


class TestSeeing:
    @pytest.mark.parametrize("tick", [5.0, 15.0, 60.0])
    @pytest.mark.parametrize(("window", "lag"), [(30.0, 15.0), (60.0, 0.0), (15.0, 60.0), (1.0, 1.0)])
    def test_a_step_is_seen_when_it_should_be(self, tick, window, lag):
        """Not before the lag has passed, fully after lag and window, and in proportion in between."""
        late, wide = -(-lag // tick), max(1, -(-window // tick))
        look = Looking()
        world = replace(quiet(window=window, lag=lag), tick=tick)
        tried = policy(hpa(external("rate", value="1000"), low=2, high=2), replicas=2)
        played(tried, load((0.5, 40), (1.5, 40)), world, watcher=look)
        for i, seen in enumerate(look.found):
            if i < late + wide:
                continue
            part = min(1.0, max(0.0, (i + 1 - late - 40) / wide))
            (sample, *_) = seen.pod_metrics.values()
            assert sample.usage("cpu", "app") == pytest.approx(50 + 250 + 500 * part, abs=1)
            assert seen.external_metrics["|rate|"] == (pytest.approx(25_000 + 50_000 * part, abs=1),)
            assert (sample.at, sample.window) == (seen.now - late * tick, wide * tick)

    @pytest.mark.parametrize("stop", [0.0, 30.0])
    @pytest.mark.parametrize(
        ("name", "column"), [("rate", "requests"), ("delay", "latency"), ("waiting", "backlog"), ("cores", "used_cpu")]
    )
    def test_a_metric_of_the_whole_is_its_mean_over_the_window(self, name, column, stop):
        """This also holds while pods come and go: the usage of pods that are gone still counts."""
        look = Looking()
        world = replace(quiet(), pods=Pods(stop=stop))
        tried = policy(hpa(cpu(utilization=60), external(name, value="1M"), scale_down=SOON), replicas=10)
        ticks, _ = played(tried, load((5.0, 40), (2.0, 40), (7.0, 40)), world, watcher=look)
        found = [seen.external_metrics[f"|{name}|"][0] / 1000 for seen in look.found[3:]]
        values = getattr(ticks, column)
        expected = [np.mean(values[i - 2 : i]) for i in range(3, len(values))]
        assert found == pytest.approx(expected, abs=0.02)

    def test_a_queue_per_pod_is_measured_where_it_was(self):
        """It is divided by the pods that served then, not by those that serve now."""
        look = Looking()
        world = replace(quiet(lag=60.0, window=15.0), service=Service(timeout=1000.0), pods=Pods(start=0.0, create=0.0))
        tried = policy(hpa(pods("waiting", average="1M"), cpu(utilization=60), low=1), replicas=1)
        ticks, _ = played(tried, load((0.5, 10), (3.15, 30)), world, watcher=look)
        came = int(np.argmax(ticks.ready > 1))
        assert ticks.backlog[came - 4] > 0
        value = look.found[came].pods_metrics["|waiting|"]["web-1-00000-0000"].milli / 1000
        assert value == pytest.approx(ticks.backlog[came - 4], abs=0.01)

    def test_constant_demand_looks_constant_from_the_start(self):
        """The first replicas count as long-running: usage between the watermarks causes no scaling."""
        ticks, _ = played(policy(wpa(), replicas=6), load((3.9, 40)), World())
        assert set(ticks.replicas) == {6}

    def test_demand_is_seen_from_the_start(self):
        """Demand for six replicas keeps six replicas from the first tick on."""
        tried = policy(hpa(external("rate", average="30"), scale_down=AT_ONCE), replicas=6)
        ticks, _ = played(tried, load((3.6, 40)), quiet())
        assert set(ticks.replicas) == {6}

    def test_the_first_replicas_were_ready_after_they_were_made(self):
        """Their ready time includes the start-up time, so a shorter readiness delay does not exclude them longer."""
        ticks, scene = played(policy(wpa(readiness_delay=20), replicas=4), load((4.4, 40)), World(), explained=ALWAYS)
        assert errors(scene) == {""}
        assert ticks.replicas[-1] > 4

    def test_a_gap_holds(self):
        """Without metrics nothing scales down or up, and the decisions report an error."""
        world = quiet(gaps=(Span(300.0, 900.0),))
        tried = policy(hpa(scale_down=SOON), replicas=4)
        ticks, scene = played(tried, load((2.2, 20), (0.2, 60)), world, explained=Span(EPOCH + 300, EPOCH + 899))
        assert set(ticks.replicas[:60]) == {4}
        assert ticks.replicas[66] < 4
        assert all(moment.decision.error for moment in scene.moments if moment.at < EPOCH + 900)

    def test_a_gap_at_the_start_is_a_first_look_too(self):
        """The controller knew the size when it started, so its window ends as if there had been metrics."""
        world, tried = quiet(gaps=(Span(0.0, 200.0),)), policy(hpa(), replicas=6)
        numeric, whole = (played(tried, load((0.1, 60)), world, whole=how)[0] for how in (False, True))
        assert list(numeric.replicas) == list(whole.replicas)


class TestDecisions:
    def test_only_what_changes_something_is_kept(self):
        """Only decisions that change something are kept, unless decisions are requested by time."""
        tried, given = policy(hpa(), replicas=2), load((1.0, 40), (4.0, 40))
        few = replay(tried, "web", given, quiet(), Settings())
        assert [moment.decision.desired != moment.decision.current for moment in few.moments] == [True] * len(
            few.moments
        )
        explained = replay(tried, "web", given, quiet(), Settings(), Span(EPOCH + 60, EPOCH + 120))
        assert [moment.at - EPOCH for moment in explained.moments if moment.at <= EPOCH + 120] == [60, 75, 90, 105, 120]

    def test_a_dry_run_changes_nothing_and_keeps_nothing(self):
        """Only a decision that changes something is kept as a moment."""
        run = replay(policy(wpa(dry_run=True), replicas=2), "web", load((4.0, 80)), quiet(), Settings())
        assert set(run.ticks.replicas) == {2}
        assert run.moments == ()

    def test_the_marks_are_watched(self):
        """Each decision records the first metric per pod, the watermarks, and how long a window still holds."""
        run = replay(policy(wpa(low="10m"), replicas=2), "web", load((1.3, 20), (3.0, 60)), quiet(), Settings())
        watch = run.watch
        assert watch.metric == "cpu"
        assert len(watch.at) == 80
        assert (watch.high[0], watch.low[0]) == (0.8, 0.01)
        assert watch.value[10] == pytest.approx(0.7, abs=0.001)
        moves = [moment.at for moment in run.moments]
        after = int(np.searchsorted(watch.at, moves[0])) + 1
        assert (watch.wait_up[after], watch.wait_down[after]) == (45.0, 285.0)

    @pytest.mark.parametrize("dry_run", [False, True])
    def test_marks_are_watched_with_whole_decisions(self, dry_run):
        """An urgent WPA scales up within its window, a dry run does not scale; both record what they observe."""
        spec = wpa(low="10m", annotations={"hypot.dev/urgent": "true"}, dry_run=dry_run)
        given = load((1.3, 20), (9.0, 60))
        run = replay(policy(spec, replicas=2), "web", given, quiet(), Settings())
        watch = run.watch
        assert watch.value[10] == pytest.approx(0.7, abs=0.001)
        assert list(watch.effective) == [*run.ticks.replicas[1:], watch.effective[-1]]
        assert (watch.effective.max() == 2) == dry_run

    def test_from_zero_and_back(self):
        """An external metric scales up a workload that the autoscaler has scaled to zero."""
        spec = hpa(external("rate", value="30"), low=0, scale_down=SOON)
        settings = Settings(gates={"HPAScaleToZero": True})
        ticks, scene = played(policy(spec, replicas=1), load((0.5, 20), (0, 20), (0.5, 20)), quiet(), settings=settings)
        assert ticks.replicas[38] == 0
        assert ticks.replicas[-1] > 0
        assert ticks.ready[-1] > 0
        assert len(scene.moments) >= 2

    @pytest.mark.parametrize(("replicas", "expected"), [(1, 3), (30, 8)])
    def test_outside_of_its_bounds_it_jumps(self, replicas, expected):
        """The first decision moves it into its bounds, even without metrics."""
        ticks, _ = played(policy(hpa(low=3, high=8), replicas=replicas), load((0.0, 4)), quiet(gaps=(Span(0, 1e9),)))
        assert list(ticks.replicas) == [replicas] + [expected] * 3


class TestMerging:
    """Merging equal pods into groups changes only the speed."""

    @staticmethod
    def same(tried, given, world):
        merged, apart = (played(tried, given, world, merging=how)[0] for how in (True, False))
        for name, one, other in zip(merged._fields, merged, apart, strict=True):
            least = SMALL * float(apart.pods.max()) if name == "used_memory" else 1e-6
            assert one == pytest.approx(other, rel=1e-9, abs=least), name

    def test_pods_with_a_backlog_are_not_equal_to_pods_without(self):
        """Old pods still work off a backlog that new pods never had."""
        world = replace(quiet(), service=Service(timeout=300.0))
        self.same(policy(hpa(), replicas=2), load((1.0, 20), (6.0, 20), (5.0, 60)), world)

    def test_old_heaps_are_not_equal_to_young_ones(self):
        """A leak depends on the age of a pod."""
        world = replace(quiet(), memory=Heap(per_request=0, leak=MIB / 60))
        self.same(policy(hpa(), replicas=2, memory_limit=None), load((1.0, 20), (1.9, 80)), world)

    def test_memory_decides_the_same(self):
        """Heaps that were large stay so for half an hour, and new heaps are small."""
        world = replace(quiet(), memory=Heap(per_request=20 * MIB, fall=1800.0))
        tried = policy(hpa(memory(average="400Mi")), replicas=2, memory_limit=None)
        self.same(tried, load((2.2, 20), (1.0, 200)), world)


class TestNames:
    def test_a_split_keeps_the_names(self):
        """Each pod has the same unique name before and after."""
        place = Place(replicas=7)
        before = sorted(place.names())
        split(place.c, place.p.slots, 0, 3)
        split(place.c, place.p.slots, 0, 1)
        assert sorted(place.names()) == before
        assert len(set(before)) == 7

    def test_names_stay_apart_when_groups_are_counted_as_one(self):
        """Names stay unique, also next to a pod that gets more than its share."""
        place = Place(World(service=Service(skew=0.2), memory=Heap(per_request=0)), merging=True, replicas=3)
        place.ticks(2, 1.0)
        place.scale(6)
        place.ticks(10, 1.0)
        names = place.names()
        assert len(names) == len(set(names)) == 6

    def test_names_stay_apart_beside_a_pod_on_its_way_out(self):
        """Names stay unique while a new pod takes the number of a stopping pod."""
        world = World(tick=5.0, pods=Pods(start=0.0, create=0.0, stop=120.0), metrics=Metrics(window=5.0, lag=0.0))
        place = Place(world, merging=True, replicas=3)
        place.scale(2)
        place.ticks(1, 1.0)
        place.scale(3)
        place.ticks(6, 1.0)
        names = place.names()
        assert place.count(STOPPING) == 1
        assert len(names) == len(set(names)) == 4

    def test_alike_groups_become_one(self):
        """Equal groups are merged once both were observed for a whole window, and no work is lost."""
        place = Place(quiet(), merging=True, replicas=2)
        place.scale(5)
        rows = place.ticks(20, 2.0)
        assert place.c.used[0] == 1
        assert place.c.count[0] == 5
        assert held_conservation(rows, 15.0) < 1e-9

    def test_groups_with_another_between_them_stay_apart(self):
        """A scale-down takes the youngest first, so the group between them would go before some of them."""
        place = Place(quiet(), replicas=1)
        place.scale(2)
        place.ticks(1)
        place.scale(3)
        place.ticks(1)
        assert are_next(place.c, 0, 1)
        assert not are_next(place.c, 0, 2)

    def test_groups_that_crashed_are_not_like_others(self):
        """Their next crash is followed by a longer wait."""
        place = Place(quiet(), merging=True, replicas=2)
        place.c.crashes[0] = 1
        place.scale(5)
        place.ticks(20, 2.0)
        assert [place.c.count[k] for k in place.groups(SERVING)] == [2, 3]


class TestSizes:
    def test_a_size_that_is_only_recommended_stays(self):
        """With the mode Off neither pods nor the template change."""
        ticks, scene = played(policy(vpa("Off"), replicas=3), load((1.0, 200)), quiet(), explained=ALWAYS)
        assert errors(scene) == {""}
        assert set(ticks.size_cpu) == {1.0}
        assert set(ticks.cpu) == {3.0}

    def test_a_kill_soon_after_the_start_is_a_reason_to_act(self):
        """With a threshold of zero fewer pods are evicted; decisions are compared at every step."""
        evicted = []
        for soon in ("0s", "24h"):
            knobs = {"hypot.dev/evict-after-oom": soon, "hypot.dev/confidence-interval-memory": "1m"}
            tried = policy(VPA("deployment/web", mode="Recreate", annotations=knobs), replicas=4, memory_limit=GIB)
            world = World(memory=Heap(base=200 * MIB, per_request=0, leak=2 * MIB))
            ticks, _ = played(tried, load((1.0, 240)), world, explained=ALWAYS)
            assert ticks.killed.sum() > 0
            evicted.append(int(ticks.evicted.sum()))
        assert evicted[0] < evicted[1]

    def test_initial_sizes_are_for_new_pods(self):
        """Running pods keep their size."""
        ticks, _ = played(policy(vpa("Initial"), replicas=3), load((1.0, 200)), quiet())
        assert ticks.size_cpu[-1] < 1.0
        assert set(ticks.cpu) == {3.0}

    @pytest.mark.parametrize(("in_place", "evicts"), [(True, False), (False, True)])
    def test_in_place_against_evicting(self, in_place, evicts):
        """The same policy resizes in place where the cluster supports it, and evicts where it does not."""
        world = replace(quiet(), resize=ResizeParameters(in_place=in_place))
        ticks, scene = played(policy(vpa(), replicas=4), load((1.0, 400)), world, explained=ALWAYS)
        assert bool(ticks.evicted.sum() > 0) is evicts
        assert bool(ticks.ready.min() < 4) is evicts
        assert ticks.cpu[-1] < 3.0
        assert errors(scene) == {""}
        assert held_conservation(ticks, 15.0) < 1e-9

    def test_kills_are_seen(self):
        """The recommender raises memory after each kill, until there are no more kills."""
        world = World(memory=Heap(base=1200 * MIB, per_request=0))
        ticks, _ = played(policy(vpa(), replicas=2), load((1.0, 600)), world)
        assert ticks.killed[:100].sum() > 0
        assert ticks.killed[-200:].sum() == 0
        assert ticks.size_memory[-1] > 1200 * MIB

    def test_an_hvpa_moves_both(self):
        """Replicas and sizes change without an error, and work is conserved."""
        spec = Hvpa.from_dict(yaml.safe_load(HVPA))
        ticks, scene = played(
            policy(spec, replicas=2), load((0.8, 100), (6.0, 200), (0.5, 300)), quiet(), explained=ALWAYS
        )
        assert errors(scene) == {""}
        assert len(set(ticks.replicas)) > 1
        assert len(set(ticks.size_cpu)) > 1
        assert held_conservation(ticks, 15.0) < 1e-9

    @pytest.mark.parametrize("order", [1, -1])
    @pytest.mark.parametrize("takes", [2.0, 60.0])
    def test_an_hpa_beside_a_vpa(self, order, takes):
        """Utilisation refers to the request of a pod, also during its resize; numeric and whole decisions agree."""
        world = replace(quiet(), resize=ResizeParameters(takes=takes))
        tried = policy(*(hpa(), vpa())[::order], replicas=3)
        ticks, _ = played(tried, load((0.5, 60), (2.5, 100), (0.3, 100)), world, explained=ALWAYS)
        assert len(set(ticks.size_cpu)) > 1
        assert len(set(ticks.replicas)) > 1

    def test_an_hpa_beside_a_resize_without_room(self):
        """A resize that waits for room counts as requested."""
        world = replace(quiet(), resize=ResizeParameters(room=0.1))
        tried = policy(hpa(cpu(utilization=100), scale_down=SOON), vpa(), replicas=10, cpu_limit=None)
        numeric, whole = (played(tried, load((9.5, 30)), world, whole=how)[0] for how in (False, True))
        assert list(numeric.replicas) == list(whole.replicas)
        assert set(whole.replicas) == {9, 10}

    def test_increases_come_first(self):
        """More and smaller pods: running pods keep their size until the new pods serve too."""
        place = Place(quiet(), replicas=2, cpu=2000, cpu_limit=2400)
        plan, ready, here = no_plan(), [], (place.c, place.s, place.p, True)
        begin_plan(plan, *here, 4, 1000, GIB, 1200, GIB, 2000, GIB, True, EPOCH)  # noqa: FBT003
        for _ in range(6):
            place.tick()
            ready.append(sum(place.c.count[k] * place.c.cpu[k] for k in place.groups(SERVING)))
            pursue_plan(plan, *here, place.now)
        assert min(ready) >= 4000
        assert ready[-1] == 4000
        assert not plan.active[0]

    def test_a_leak_begins_with_the_replay(self):
        """The first replicas start without a leak: 824 MiB at 2 MiB a minute take hours."""
        world = World(memory=Heap(base=200 * MIB, per_request=0, leak=2 * MIB / 60))
        ticks, _ = played(policy(replicas=2), load((1.0, 240)), world)
        assert ticks.killed.sum() == 0

    def test_watermarks_rest_after_each_move(self):
        """A window up of five minutes: no two scale-ups happen within it."""
        spec = wpa(scale_up=WatermarkRules(percent=10, forbidden_window=300))
        ticks, _ = played(policy(spec, replicas=4), load((3.0, 20), (9.0, 100)), quiet())
        moves = np.flatnonzero(np.diff(ticks.replicas) > 0)
        assert len(moves) > 2
        assert min(np.diff(moves)) * 15 >= 300
