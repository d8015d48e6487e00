"""Groups of pods in the same situation follow one of them, until something happens to them."""

import pytest

from hypot.replay.world.cohorts import CRASHED, SERVING, STOPPING
from hypot.replay.world.lifecycle import crash, evict, resize, scale_to
from hypot.replay.world.parameters import Heap, Pods, World
from property.replay_worlds import GIB, MIB, Place

WORK = 1.5


def three_groups(memory=None, pods=None, **workload):
    """Two pods, then one more, then two more, which have become equal."""
    place = Place(World(memory=memory or Heap(rise=0.0, fall=0.0), pods=pods or Pods()), replicas=2, **workload)
    for replicas in (3, 5):
        place.scale(replicas)
        place.ticks(10, WORK)
    return place


def leaders(place):
    return [place.c.leader[k] for k in range(place.c.used[0])]


class TestFollowing:
    def test_pods_that_are_alike_follow_the_first(self):
        """The first counts for all of them, whatever else differs."""
        place = three_groups()
        assert leaders(place) == [0, 0, 0]
        assert (place.c.count[:3], place.c.mass[0]) == ([2, 1, 2], 5)
        assert len({place.c.born[k] for k in range(3)}) == 3

    def test_a_new_pod_waits_until_all_that_is_observed_is_the_same(self):
        """It serves for a while on its own."""
        place = Place(World(memory=Heap(rise=0.0, fall=0.0)), replicas=2)
        place.scale(3)
        found = [(place.tick(WORK), leaders(place))[1] for _ in range(8)]
        serving = next(i for i in range(8) if place.c.changed[1] <= place.now - (8 - i) * 15)
        assert found.index([0, 0]) == serving + place.p.slots

    def test_columns_of_followers_stay_true(self):
        """Other code need not know about followers."""
        place = three_groups()
        place.tick(9.0)
        c = place.c
        assert c.backlog[0] > 0
        assert c.backlog[:3] == [c.backlog[0]] * 3
        assert c.heap[:3] == [c.heap[0]] * 3
        assert c.cpu_seen[1] == c.cpu_seen[0] == c.cpu_seen[2]

    @pytest.mark.parametrize("memory", [Heap(leak=1e3), Heap(cache=MIB)])
    def test_where_memory_depends_on_age_groups_do_not_follow(self, memory):
        """Younger pods have less memory."""
        assert leaders(three_groups(memory)) == [0, 1, 2]


class TestLeaving:
    def test_when_resized(self):
        """It leaves once it has the new size; the others stay together, and if it is resized back it follows again."""
        place = three_groups()
        c, s, p = place.c, place.s, place.p
        resize(c, s, p, 1, 800, GIB, 1200, GIB, place.now)
        place.tick(WORK)
        assert (leaders(place), c.cpu[1]) == ([0, 0, 0], 1000)
        place.tick(WORK)
        assert leaders(place) == [0, 1, 0]
        assert (c.cpu[1], c.mass[0], c.mass[1]) == (800, 4, 1)
        resize(c, s, p, 1, 1000, GIB, 1200, GIB, place.now)
        place.ticks(5, WORK)
        assert leaders(place) == [0, 0, 0]

    def test_when_the_leader_is_resized(self):
        """The next group leads."""
        place = three_groups()
        resize(place.c, place.s, place.p, 0, 800, GIB, 1200, GIB, place.now)
        place.ticks(2, WORK)
        assert leaders(place) == [0, 1, 1]

    def test_when_evicted(self):
        """One of two pods finishes its backlog, its successor starts, and the other pod still follows."""
        place = three_groups()
        c = place.c
        evict(c, place.s, place.p, 2, 1, place.now)
        place.tick(WORK)
        (going,) = place.groups(STOPPING)
        assert c.leader[going] == going
        assert (leaders(place)[:3], c.mass[0], c.mass[going]) == ([0, 0, 0], 4, 1)

    def test_when_killed(self):
        """Only its own pods restart."""
        place = three_groups()
        crash(place.c, place.s, place.p, 1, place.now)
        row = place.tick(WORK)
        assert leaders(place) == [0, 1, 0]
        assert (place.groups(CRASHED), row.killed, row.ready) == ([1], 1, 4)

    def test_when_all_run_out_of_memory(self):
        """The backlog of each of them is lost with it."""
        place = three_groups(Heap(per_request=0, rise=0.0, fall=0.0), memory_limit=GIB)
        row = place.tick(9.0, memory=10.0 * GIB)
        assert row.backlog > 0
        assert (row.killed, place.groups(SERVING)) == (5, [])
        assert place.tick().lost == pytest.approx(row.backlog)

    def test_when_another_group_takes_a_place(self):
        """The last group moves to a free place; at first no group follows, then the right groups do."""
        place = three_groups(pods=Pods(stop=0.0))
        c, s, p = place.c, place.s, place.p
        resize(c, s, p, 0, 800, GIB, 1200, GIB, place.now)
        place.ticks(2, WORK)
        assert leaders(place) == [0, 1, 1]
        c.changed[0] = place.now
        scale_to(c, s, p, 3, place.now)
        assert (leaders(place), c.mass[:2], c.count[:2]) == ([0, 1], [2, 1], [2, 1])
        place.tick(WORK)
        assert leaders(place) == [0, 0]
