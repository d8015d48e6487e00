"""One tick of the simulated world, and the life of its pods, compared with manual computations."""

from itertools import pairwise
from math import ceil, exp, log, sqrt

import pytest

from hypot.replay.world.cohorts import CRASHED, CREATING, SERVING, STARTING, WAITING
from hypot.replay.world.lifecycle import crash, evict, resize
from hypot.replay.world.parameters import Demand, Heap, Nodes, Pods, ResizeParameters, Service, World
from property.replay_worlds import EPOCH, GIB, MIB, Place

WORK, DEADLINE = 0.02, 0.25


def by_hand(work, cap, base=0.05, efficiency=1.0, delay=0.0):
    """Mean latency, 99th percentile and late share of one pod, from the specification with its corrections."""
    cores = cap - base
    servers, alone = max(1.0, cores), WORK / (efficiency * min(1.0, cores))
    rho = min(0.995, work / (cores * efficiency))
    chance = rho ** (sqrt(2.0 * (servers + 1.0)) - 1.0)
    mean = alone + delay + alone * chance / (servers * (1.0 - rho))
    p99 = alone + delay + max(0.0, log(chance / 0.01)) * alone / (servers * (1.0 - rho))
    late = chance * exp(-(DEADLINE - alone - delay) * servers * (1.0 - rho) / alone)
    return mean, p99, 1.0 if alone + delay >= DEADLINE else late


def roomy(**service):
    """A world in which memory does not matter."""
    return World(service=Service(**service), memory=Heap(per_request=0))


class TestService:
    @pytest.mark.parametrize(("cpu", "limit", "work"), [(1000, 1200, 0.9), (500, 500, 0.3), (4000, 4000, 3.6)])
    def test_latency_is_the_formula(self, cpu, limit, work):
        """For a pod of a core, of half a core and of four."""
        row = Place(roomy(), replicas=1, cpu=cpu, cpu_limit=limit).tick(work)
        assert (row.latency, row.p99, row.late) == pytest.approx(by_hand(work, limit / 1000.0), rel=1e-12)

    def test_a_core_that_does_half_takes_twice_as_long(self):
        """It also uses twice as much cpu for the same work."""
        row = Place(roomy(), replicas=2).tick(0.8, efficiency=0.5)
        assert (row.latency, row.p99, row.late) == pytest.approx(by_hand(0.4, 1.2, efficiency=0.5), rel=1e-12)
        assert row.used_cpu == pytest.approx(2 * (0.05 + 0.8))

    @pytest.mark.parametrize(("limit", "cap"), [(1200, 1.2), (None, 1.5)])
    def test_usage_stops_at_the_cap(self, limit, cap):
        """The cap is the limit; without a limit the request plus its headroom."""
        row = Place(roomy(), replicas=3, cpu_limit=limit).tick(30.0)
        assert (row.used_cpu, row.cap_cpu, row.capped) == pytest.approx((3 * cap, 3 * cap, 3))
        assert row.served == pytest.approx(3 * (cap - 0.05) * 15 / WORK)

    def test_headroom_in_cores(self):
        """The larger of both headrooms counts."""
        world = World(pods=Pods(headroom=0.5, headroom_cores=2.0))
        assert Place(world, replicas=1, cpu_limit=None).tick(1.0).cap_cpu == pytest.approx(3.0)

    def test_parallel_work_ends_where_the_application_ends(self):
        """Of four cores it can use one and a half."""
        row = Place(roomy(parallel=1.5), replicas=1, cpu=4000, cpu_limit=4000).tick(3.0)
        assert row.served == pytest.approx(1.5 * 15 / WORK)
        assert row.used_cpu == pytest.approx(1.55)

    def test_no_pod_serves(self):
        """All requests are lost, and nothing is divided by zero."""
        place = Place(roomy(), replicas=2)
        crash(place.c, place.s, place.p, 0, EPOCH)
        row = place.tick(1.0)
        assert (row.ready, row.served, row.lost, row.latency) == (0, 0, pytest.approx(750.0), 10.0)

    def test_no_demand(self):
        """Pods use their base, and no request is late."""
        row = Place(roomy(), replicas=2).tick(0.0)
        assert (row.used_cpu, row.late, row.lost, row.served) == (pytest.approx(0.1), 0.0, 0.0, 0.0)
        assert row.latency == pytest.approx(WORK)

    @pytest.mark.parametrize(("limit", "work", "more"), [(1200, 1.1, 0.05), (1200, 0.9, 0.0), (None, 1.4, 0.0)])
    def test_throttling_is_felt_near_a_limit(self, limit, work, more):
        """From 0.9 of the limit on, at the 99th percentile, and only with a limit."""
        rows = [Place(roomy(throttling=t), replicas=1, cpu_limit=limit).tick(work) for t in (0.0, 0.05)]
        assert rows[1].p99 - rows[0].p99 == pytest.approx(more)
        assert rows[1].latency == rows[0].latency

    def test_base_use_counts_while_starting_up_too(self):
        """After the first burst: the larger of the amount and the share of the request."""
        place = Place(World(service=Service(base_share=0.3), pods=Pods(start=120.0)), replicas=1)
        place.scale(2)
        place.ticks(4)
        assert place.count(STARTING) == 1
        assert place.tick().used_cpu == pytest.approx(0.6)


class TestBacklog:
    def test_what_is_not_done_waits(self):
        """One core too much for 15 seconds is 15 core-seconds of work, in requests."""
        row = Place(roomy(timeout=100.0), replicas=1).tick(2.15)
        assert row.backlog == pytest.approx(15.0 / WORK)
        assert row.lost == 0.0
        assert row.latency > 15.0 / 1.15

    def test_what_waits_too_long_is_lost(self):
        """No more stays than can be done within the timeout."""
        row = Place(roomy(timeout=10.0), replicas=1).tick(2.15)
        assert row.backlog == pytest.approx(11.5 / WORK)
        assert row.lost == pytest.approx(3.5 / WORK)

    def test_what_is_late_and_then_lost(self):
        """All that arrive are late; what is lost at once, and later with its pod, is known as such."""
        place = Place(roomy(timeout=10.0), replicas=1)
        rows = [place.tick(2.15) for _ in range(3)]
        crash(place.c, place.s, place.p, 0, place.now)
        last = place.tick(0.0)
        assert [row.late for row in rows] == [1.0] * 3
        assert [row.late_lost for row in (*rows, last)] == pytest.approx([row.lost for row in (*rows, last)])
        assert last.late_lost * WORK == pytest.approx(11.5)

    def test_what_was_in_time_and_is_lost(self):
        """A quarter second of work waits, which the deadline allows: those that die with it were not late."""
        place = Place(roomy(), replicas=1)
        row = place.tick(1.15 * (1 + 0.1 / 15))
        crash(place.c, place.s, place.p, 0, place.now)
        last = place.tick(0.0)
        assert last.lost == pytest.approx(row.backlog)
        assert last.late_lost == pytest.approx(min(row.late * row.requests * 15, row.backlog))

    def test_after_the_backlog_nothing_is_late(self):
        """What was late has been answered, so it is not lost with its pod."""
        place = Place(roomy(timeout=100.0), replicas=1)
        assert place.tick(2.15).late == 1.0
        place.ticks(3)
        crash(place.c, place.s, place.p, 0, place.now)
        row = place.tick(0.0)
        assert (row.lost, row.late_lost) == (0.0, 0.0)

    def test_it_is_worked_off(self):
        """The backlog is served first: nothing vanishes, and at the end it is zero, never negative."""
        place = Place(roomy(timeout=100.0), replicas=1)
        ticks = [place.tick(2.15)] + [place.tick(0.15) for _ in range(4)]
        assert [row.backlog * WORK for row in ticks] == pytest.approx([15.0, 0.0, 0.0, 0.0, 0.0])
        assert min(row.backlog for row in ticks) >= 0.0

    @pytest.mark.parametrize(("after", "ticks"), [(3.0, 1), (15.0, 1), (16.0, 2), (40.0, 3)])
    def test_some_of_the_lost_come_back(self, after, ticks):
        """Half of the lost requests return after whole ticks, and half of those that are lost again."""
        world = World(
            demand=Demand(retries=0.5, retry_after=after), service=Service(timeout=1.0), memory=Heap(per_request=0)
        )
        place = Place(world, replicas=1)
        rows = [place.tick(3.0)] + [place.tick(0.0) for _ in range(ticks)]
        back = [row.requests * 15 for row in rows[1:]]
        assert back == pytest.approx([0.0] * (ticks - 1) + [rows[0].lost / 2])

    def test_a_stopping_pod_finishes_its_backlog(self):
        """It gets no new requests, and what is left at its end is lost in the next tick."""
        place = Place(roomy(timeout=100.0), replicas=2)
        rows = [place.tick(2.3 + 8.0)]
        place.scale(1)
        rows += [place.tick(0.0) for _ in range(4)]
        left = 8.0 * 15 / 2 - 2 * 15 * 1.15
        assert [row.lost * WORK for row in rows[1:]] == pytest.approx([0.0, 0.0, left, 0.0])
        assert [row.pods for row in rows[1:]] == [2, 2, 1, 1]


class TestSkew:
    @pytest.mark.parametrize("replicas", [2, 5, 10])
    def test_one_replica_gets_so_much_more_than_the_mean(self, replicas):
        """It gets (1 + k) times the mean, and the others share the rest."""
        place = Place(roomy(skew=0.2, base_cpu=0.0), replicas=replicas)
        place.tick(0.5 * replicas)
        used = [place.c.cpu_seen[k][0] for k in range(place.c.used[0])]
        assert max(used) == pytest.approx(1.2 * 0.5)

    def test_a_single_replica_gets_all(self):
        """It cannot get more than everything."""
        row = Place(roomy(skew=0.2, base_cpu=0.0), replicas=1).tick(0.5)
        assert row.served == pytest.approx(0.5 * 15 / WORK)

    def test_only_one_replica_gets_more(self):
        """Also after it crashed, another replica took its place, and it came back."""
        place = Place(World(service=Service(skew=0.5)), replicas=4)
        place.tick(1.0)
        hot = next(k for k in range(place.c.used[0]) if place.c.share[k] > 1.0)
        crash(place.c, place.s, place.p, hot, place.now)
        place.ticks(8, 1.0)
        serving = place.groups(SERVING)
        assert place.count(SERVING) == 4
        assert sum(place.c.count[k] for k in serving if place.c.share[k] > 1.0) == 1


class TestMemory:
    def test_it_follows_requests_in_flight(self):
        """The request rate times the latency, approached within half a minute."""
        place = Place(World(memory=Heap(base=200 * MIB, per_request=MIB)), replicas=1)
        row = place.tick(0.9)
        in_flight = 0.9 / WORK * by_hand(0.9, 1.2)[0]
        assert row.used_memory == pytest.approx(200 * MIB + MIB * in_flight * (1.0 - exp(-0.5)))

    def test_it_is_given_back_slowly(self):
        """63 % of it is given back within half an hour."""
        place = Place(World(memory=Heap(base=100 * MIB)), replicas=1)
        place.c.heap[0] = 900.0 * MIB
        rows = place.ticks(120)
        assert rows.used_memory[-1] == pytest.approx(100 * MIB + 800 * MIB * exp(-1.0), rel=1e-3)

    def test_a_trace_may_bring_its_own(self):
        """It is divided among the pods that serve."""
        place = Place(World(memory=Heap(base=0, per_request=0, rise=1e-9)), replicas=4)
        assert place.tick(1.0, memory=800.0 * MIB).used_memory == pytest.approx(800 * MIB)

    def test_leak_and_cache_grow_with_age(self):
        """The leak grows for ever, the cache to 63 % within its time."""
        heap = Heap(base=0, per_request=0, cache=100 * MIB, cache_fill=600.0, leak=MIB / 60.0, rise=1e-9)
        place = Place(World(memory=heap), replicas=1, memory_limit=None)
        place.c.started[0], place.c.heap[0] = EPOCH, 0.0
        rows = place.ticks(40)
        assert rows.used_memory[-1] == pytest.approx(100 * MIB * (1.0 - exp(-1.0)) + 10 * MIB)

    def test_a_kill_loses_what_waits(self):
        """The backlog is counted as lost in the next tick."""
        heap = Heap(base=200 * MIB, per_request=0, rise=1e-9)
        place = Place(World(service=Service(timeout=100.0), memory=heap), replicas=2, memory_limit=600 * MIB)
        killed, after = place.tick(4.3, memory=2.0 * GIB), place.tick(0.0)
        assert (killed.killed, killed.ready, after.ready) == (2, 2, 0)
        assert after.lost == pytest.approx(killed.backlog)
        assert (after.backlog, after.used_memory, after.pods) == (0, 0, 2)

    def test_without_a_limit_no_pod_is_killed(self):
        """This holds for any amount of memory."""
        place = Place(World(memory=Heap(rise=1e-9)), replicas=1, memory_limit=None)
        assert place.tick(1.0, memory=100.0 * GIB).killed == 0


class TestStarting:
    @pytest.mark.parametrize("tick", [5.0, 15.0, 30.0, 60.0])
    @pytest.mark.parametrize(("start", "create"), [(0.0, 0.0), (30.0, 3.0), (31.0, 3.0), (45.0, 45.0), (240.0, 3.0)])
    def test_ready_after_exactly_that_time(self, tick, start, create):
        """In whole ticks, rounded up; paid for from the first tick on."""
        place = Place(World(tick=tick, pods=Pods(start=start, create=create)), replicas=1)
        place.tick()
        place.scale(3)
        rows = place.ticks(ceil(start / tick) + 1)
        assert list(rows.ready) == [1] * ceil(start / tick) + [3]
        assert list(rows.pods) == [3] * len(rows.pods)

    def test_starting_up_burns(self):
        """Half a core for ten seconds from the moment containers run, then the base."""
        place = Place(World(tick=5.0, pods=Pods(start=30.0, create=5.0)), replicas=1)
        place.scale(2)
        assert list(place.ticks(6).used_cpu - 0.05) == pytest.approx([0.0, 0.5, 0.5, 0.05, 0.05, 0.05])

    @pytest.mark.parametrize("tick", [5.0, 15.0, 60.0])
    def test_however_long_a_tick_is_the_burst_is_as_large(self, tick):
        """Five core-seconds by default, also where they are spread over two ticks."""
        place = Place(World(tick=tick, service=Service(base_cpu=0.0), pods=Pods(start=120.0)), replicas=1)
        place.scale(2)
        assert place.ticks(int(120 / tick)).used_cpu.sum() * tick == pytest.approx(5.0)

    def test_it_is_sampled_only_after_a_whole_window(self):
        """Containers run from 3 s on; with a lag of 15 s and a window of 30 s the first sample comes at 60 s."""
        place = Place(replicas=1)
        place.scale(2)
        sampled = []
        for _ in range(6):
            place.tick()
            sampled.append(len(place.scene.observer.seen(place.i - 1, place.now).pod_metrics))
        assert sampled == [1, 1, 1, 2, 2, 2]


class TestEnding:
    @pytest.mark.parametrize(("stop", "ticks"), [(0.0, 0), (1.0, 1), (15.0, 1), (30.0, 2), (31.0, 3)])
    def test_it_is_paid_for_until_the_end(self, stop, ticks):
        """It stops serving at once."""
        place = Place(World(pods=Pods(stop=stop)), replicas=3)
        place.tick(1.0)
        place.scale(1)
        rows = place.ticks(4, 1.0)
        assert list(rows.pods) == [3] * ticks + [1] * (4 - ticks)
        assert list(rows.ready) == [1] * 4

    def test_those_that_do_not_serve_go_first_then_the_youngest(self):
        """Three generations that serve, and one that is starting."""
        place = Place(replicas=2)
        for replicas in (4, 6):
            place.scale(replicas)
            place.ticks(5)
        place.scale(8)
        place.ticks(1)
        place.scale(5)
        assert place.count(CREATING, STARTING, WAITING) == 0
        left = sorted((place.c.born[k], place.c.count[k]) for k in place.groups(SERVING))
        assert [count for _, count in left] == [2, 2, 1]
        place.scale(1)
        assert [place.c.born[k] for k in place.groups(SERVING)] == [EPOCH - 86400.0]

    def test_pods_that_never_served_cost_nothing_afterwards(self):
        """They are removed at once."""
        place = Place(replicas=1)
        place.scale(5)
        place.tick()
        place.scale(1)
        assert place.tick().pods == 1


class TestCrashing:
    def test_the_wait_doubles(self):
        """10, 20, 40 seconds and so on up to 300, from a kill to the next start; each run lasts one tick."""
        pods, heap = Pods(start=0.0, create=0.0), Heap(base=2 * GIB, rise=1e-9)
        place = Place(World(tick=5.0, pods=pods, memory=heap), replicas=1)
        kills = [place.now for _ in range(300) if place.tick().killed]
        gaps = [after - before - 5.0 for before, after in pairwise(kills)]
        assert gaps == [10.0, 20.0, 40.0, 80.0, 160.0, 300.0, 300.0, 300.0]

    @pytest.mark.parametrize(("healthy", "wait"), [(599.0, 40.0), (600.0, 10.0)])
    def test_ten_healthy_minutes_forgive(self, healthy, wait):
        """The time counts from when it was ready again."""
        place = Place(replicas=1)
        place.c.crashes[0], place.c.changed[0] = 2, EPOCH
        crash(place.c, place.s, place.p, 0, EPOCH + healthy)
        assert place.c.due[0] - EPOCH - healthy == wait

    def test_a_container_starts_again_in_its_pod(self):
        """It is not created again: back-off, then start-up."""
        place = Place(World(tick=1.0, pods=Pods(start=30.0, create=3.0)), replicas=1)
        crash(place.c, place.s, place.p, 0, EPOCH)
        rows = place.ticks(40)
        assert list(rows.ready).index(1) == 10 + 27
        assert place.count(CRASHED) == 0


class TestResizing:
    @pytest.mark.parametrize(("takes", "ticks"), [(0.0, 0), (2.0, 1), (15.0, 1), (20.0, 2)])
    def test_it_takes_its_time(self, takes, ticks):
        """Then request, limit and what is paid change at once, and the pod serves all the time."""
        place = Place(World(resize=ResizeParameters(takes=takes)), replicas=2)
        resize(place.c, place.s, place.p, 0, 2000, 2 * GIB, 2400, 2 * GIB, place.now)
        rows = place.ticks(4)
        assert list(rows.cpu) == [2.0] * ticks + [4.0] * (4 - ticks)
        assert list(rows.memory) == [2.0 * GIB] * ticks + [4.0 * GIB] * (4 - ticks)
        assert list(rows.cap_cpu) == pytest.approx([2.4] * ticks + [4.8] * (4 - ticks))
        assert list(rows.ready) == [2] * 4

    def test_without_room_it_waits(self):
        """It is deferred; a resize that fits is done."""
        place = Place(World(resize=ResizeParameters(room=0.5)), replicas=1)
        resize(place.c, place.s, place.p, 0, 1501, GIB, 1800, GIB, place.now)
        assert place.ticks(5).cpu[-1] == 1.0
        (pod,) = place.scene.observer.seen(place.i - 1, place.now).pods
        assert (pod.resize.state, pod.resize.since) == ("deferred", EPOCH)
        resize(place.c, place.s, place.p, 0, 1500, GIB, 1800, GIB, place.now)
        assert place.ticks(2).cpu[-1] == 1.5
        assert place.scene.observer.seen(place.i - 1, place.now).pods[0].resize is None

    def test_a_resize_that_is_due_is_done_before_another_is_requested(self):
        """It takes 2 s, and each tick 15: requests at every tick do not keep each other from being done."""
        place = Place(replicas=1)
        sizes = []
        for more in range(4):
            resize(place.c, place.s, place.p, 0, 1100 + 100 * more, GIB, 2000, GIB, place.now)
            sizes.append(float(place.ticks(1).cpu[-1]))
        assert sizes == [1.0, 1.1, 1.2, 1.3]

    def test_a_deferred_resize_is_tried_again(self):
        """It is done once other pods are gone, without a new request."""
        place = Place(World(nodes=Nodes(start=1, cpu=4.0, reserved=0.0), pods=Pods(stop=0.0)), replicas=3)
        place.scale(4)
        place.ticks(4)
        first = place.groups(SERVING)[0]
        resize(place.c, place.s, place.p, first, 1300, GIB, 1500, GIB, place.now)
        assert place.ticks(3).cpu[-1] == 4.0
        place.scale(3)
        assert place.ticks(3).cpu[-1] == pytest.approx(3.9)

    def test_an_evicted_pod_comes_back_with_the_size_of_the_template(self):
        """The other pod keeps its size."""
        place = Place(replicas=2)
        place.s.template[:] = [3000, 2 * GIB, 3000, 2 * GIB]
        evict(place.c, place.s, place.p, 0, 1, place.now)
        rows = place.ticks(5)
        assert list(rows.evicted) == [1, 0, 0, 0, 0]
        assert list(rows.ready) == [1, 1, 2, 2, 2]
        assert list(rows.pods) == [3, 3, 2, 2, 2]
        assert rows.cpu[-1] == 4.0


class TestNodes:
    WORLD = World(
        nodes=Nodes(start=1, cpu=2.0, reserved=0.0, provisioning=120.0, removal=600.0),
        pods=Pods(start=30.0, create=3.0, pull=15.0, stop=0.0),
    )

    def test_pods_wait_for_a_node(self):
        """Two fit; of five, three wait for two minutes, pull their image and start; none is paid for meanwhile."""
        place = Place(self.WORLD, replicas=2)
        place.scale(5)
        rows = place.ticks(12)
        ready = (120 + 15 + 30) // 15
        assert list(rows.nodes) == [1] * 8 + [3] * 4
        assert list(rows.pods) == [2] * 8 + [5] * 4
        assert list(rows.ready) == [2] * ready + [5] * (12 - ready)

    def test_pods_that_fit_start_at_once(self):
        """They pull no image; the others wait."""
        place = Place(self.WORLD, replicas=1)
        place.scale(4)
        assert list(place.ticks(3).ready) == [1, 1, 2]
        assert place.count(WAITING) == 2

    def test_a_second_wave_waits_no_longer_than_the_first(self):
        """More nodes are ordered even while others are on their way."""
        place = Place(self.WORLD, replicas=2)
        place.scale(4)
        place.ticks(2)
        place.scale(8)
        assert list(place.ticks(9).nodes) == [1] * 6 + [2] * 2 + [4]

    def test_an_empty_node_is_removed_after_ten_minutes(self):
        """It is not removed earlier."""
        place = Place(self.WORLD, replicas=2)
        place.scale(6)
        place.ticks(20)
        place.scale(2)
        assert list(place.ticks(42).nodes) == [3] * 40 + [1] * 2

    def test_a_node_that_was_just_emptied_stays(self):
        """Each must be empty for ten minutes itself."""
        place = Place(self.WORLD, replicas=2)
        place.scale(20)
        place.ticks(20)
        place.scale(18)
        place.ticks(39)
        place.scale(4)
        assert list(place.ticks(5).nodes)[1:] == [9] * 4

    def test_a_node_in_use_again_is_not_idle(self):
        """The time starts again."""
        place = Place(self.WORLD, replicas=2)
        place.scale(4)
        place.ticks(20)
        for replicas in (2, 4, 2):
            place.scale(replicas)
            place.ticks(30)
        assert place.tick().nodes == 2
