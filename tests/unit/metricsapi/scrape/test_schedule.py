"""Which target is scraped when: once per period, evenly spread, and less often if it fails."""

from itertools import pairwise

import pytest

from hypot.metricsapi.scrape.schedule import MOST_AT_ONCE, Schedule, pause_of
from unit.metricsapi.pods_world import pod, targets_of

PERIOD = 60.0
TICK = 0.2


def targets(count, faults=0):
    made = list(targets_of(pods=[pod(f"web-{i}") for i in range(count)]))
    for target in made:
        target.faults = faults
    return made


class World:
    """Scrapes that end at once; `faults` stay as they are."""

    def __init__(self, *several):
        self.targets, self.now = list(several), 0.0
        self.schedule = Schedule(PERIOD, lambda: len(self.targets))
        self.schedule.add(several)

    def until(self, end):
        """The scrapes until then: when, and of which target."""
        found = []
        while self.now < end:
            while (target := self.schedule.next(self.now)) is not None:
                found.append((self.now, target))
                self.schedule.add([target])
            self.now += TICK
        return found


def times(scrapes, target):
    return [at for at, each in scrapes if each is target]


def test_no_targets():
    assert World().until(5) == []


def test_all_at_the_start_and_then_evenly():
    """New targets are due at once. After a period they are spread over the next ones."""
    world = World(*targets(30))
    assert [at for at, _ in world.until(0.1)] == [0.0] * 30
    world.until(120)
    for start in range(120, 300, 10):
        # 30 targets in 60 s are 5 in 10 s.
        assert len(world.until(start + 10)) in {4, 5, 6}


def test_each_once_per_period():
    """No target waits longer than a period."""
    world = World(*targets(7))
    scrapes = world.until(600)
    for target in world.targets:
        found = times(scrapes, target)
        gaps = [after - before for before, after in pairwise(found)]
        assert max(gaps) <= PERIOD + TICK
        assert len(found) in {10, 11, 12}


def test_catching_up():
    """Many that are due begin in a burst, and then 100 per second."""
    world = World(*targets(200))
    scrapes = world.until(1.7)
    found = [at for at, _ in scrapes]
    assert found.count(0.0) == MOST_AT_ONCE
    assert [found.count(at) for at in sorted(set(found))[1:5]] == [20] * 4
    assert {target for _, target in scrapes} == set(world.targets)


def test_after_a_pause_of_the_whole_process():
    """What was missed is not made up for: each target is scraped once."""
    world = World(*targets(20))
    world.until(200)
    world.now = 1000.0
    assert len(world.until(1000.1)) == 20


@pytest.mark.parametrize(("faults", "periods"), [(0, 1), (1, 1), (2, 1), (3, 2), (4, 4), (5, 8), (6, 8), (1000, 8)])
def test_the_pause_after_faults(faults, periods):
    assert pause_of(faults) == periods


@pytest.mark.parametrize("healthy", [0, 1, 10])
def test_targets_that_fail(healthy):
    """They are scraped every eighth period, and the others once per period."""
    good, bad = targets(healthy), targets(5, faults=10)
    scrapes = World(*good, *bad).until(30 * PERIOD)
    assert {len(times(scrapes, each)) for each in bad} == {4}
    assert all(len(times(scrapes, each)) in {30, 31} for each in good)


def test_one_that_recovers():
    """It is scraped each period again."""
    (target,) = targets(1, faults=5)
    world = World(target)
    target.began = 0.0
    assert world.schedule.due_at(target) == 8 * PERIOD
    world.until(1)
    world.until(8 * PERIOD + 1)
    assert target.began >= 8 * PERIOD
    world.schedule.next(world.now)
    other = Schedule(PERIOD, lambda: 1)
    target.faults = 0
    other.add([target])
    assert other.next(target.began + PERIOD) is target


def test_targets_that_are_gone():
    """They are never scraped, and do not count as due."""
    first, second = targets(2)
    schedule = Schedule(PERIOD, lambda: 1)
    schedule.add([first, second])
    assert schedule.due(0.0) == 2
    first.gone = True
    assert schedule.due(0.0) == 1
    assert schedule.next(0.0) is second
    second.gone = True
    schedule.add([second])
    assert schedule.next(1000.0) is None


def test_a_new_target_is_first():
    """It waits for nobody who was scraped already."""
    old, new = targets(2)
    old.began = 0.0
    schedule = Schedule(PERIOD, lambda: 2)
    schedule.add([old, new])
    assert schedule.next(100.0) is new
    assert schedule.next(100.0) is old
