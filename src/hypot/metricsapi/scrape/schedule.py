"""Which target is scraped next. Spread evenly over the period; one whose scrapes fail is scraped less often."""

import heapq
from collections.abc import Callable, Iterable
from itertools import count

from hypot.core.scraping.pacemaker import Pacemaker
from hypot.metricsapi.targets import ScrapeTarget

# How many scrapes may begin per second if many are due, and how many at once.
HIGHEST_RATE, MOST_AT_ONCE = 100.0, 50.0
# After so many faults in a row, each more doubles the pause, up to a number of periods.
PATIENT_FAULTS, LONGEST_PAUSE = 3, 8


class Schedule:
    """The targets in the order in which they are due."""

    def __init__(self, period: float, size: Callable[[], int]) -> None:
        self._period, self._size = period, size
        self._heap: list[tuple[float, int, ScrapeTarget]] = []
        self._order = count()
        # How many targets wait that are scraped less often.
        self._slow = 0
        self._pace = Pacemaker(0.0, HIGHEST_RATE, 0.0, MOST_AT_ONCE)

    def add(self, targets: Iterable[ScrapeTarget]) -> None:
        """New targets are due at once, and a target that was scraped a period later."""
        for target in targets:
            self._slow += is_slow(target)
            heapq.heappush(self._heap, (self.due_at(target), next(self._order), target))

    def due_at(self, target: ScrapeTarget) -> float:
        if target.began is None:
            return float("-inf")
        return target.began + self._period * _pause(target)

    def due(self, now: float) -> int:
        """How many targets are due and wait."""
        return sum(1 for at, _, target in self._heap if at <= now and not target.gone)

    def next(self, now: float) -> ScrapeTarget | None:
        """The next target, if a scrape may begin now. The caller adds it again after its scrape."""
        while self._heap and self._heap[0][2].gone:
            self._take()
        if not self._heap:
            return None
        # Those that are slow have no part in the even rate: else all others would be scraped more often.
        size = max(self._size() - self._slow, 0)
        self._pace.lowest, self._pace.most_debt = size / self._period, float(size)
        at, _, first = self._heap[0]
        if at > now and is_slow(first):
            return None
        if not self._pace.may_start(now, due=at <= now):
            return None
        target = self._take()
        target.began = now
        return target

    def _take(self) -> ScrapeTarget:
        target = heapq.heappop(self._heap)[2]
        self._slow -= is_slow(target)
        return target


def is_slow(target: ScrapeTarget) -> bool:
    """Whether its scrapes failed so often that it waits longer than a period."""
    return _pause(target) > 1


def _pause(target: ScrapeTarget) -> float:
    return min(pause_of(target.faults), target.longest_pause)


def pause_of(faults: int) -> float:
    """The pause before the next scrape, in periods."""
    return float(min(2 ** max(faults - PATIENT_FAULTS + 1, 0), LONGEST_PAUSE))
