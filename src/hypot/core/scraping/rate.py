"""The rate of a counter from its last two samples. Times are in seconds."""

from typing import NamedTuple


class CounterSample(NamedTuple):
    """The value of a counter. `at` is of a clock that never jumps, `wall` is the time to show."""

    at: float
    wall: float
    value: float


class Rate(NamedTuple):
    """Per second, in milli-units; the seconds that it covers, and its time."""

    milli: int
    window: float
    wall: float


class Counter(NamedTuple):
    """The last two samples of a counter; None if there is none."""

    old: CounterSample | None = None
    new: CounterSample | None = None

    def sampled(self, sample: CounterSample, least_gap: float) -> "Counter":
        """With one more sample. After a decrease the counter has restarted, so it starts over with this one.

        A sample that is too close to the last one does not count.
        """
        if self.new is None or sample.value < self.new.value:
            return Counter(None, sample)
        if sample.at - self.new.at < least_gap:
            return self
        return Counter(self.new, sample)

    def rate(self, now: float, longest_gap: float, oldest: float) -> Rate | None:
        """None without two samples, if they are too far apart, or if the last one is too old."""
        old, new = self
        if old is None or new is None:
            return None
        gap = new.at - old.at
        if not 0 < gap <= longest_gap or now - new.at > oldest:
            return None
        return Rate(int((new.value - old.value) * 1000 / gap), gap, new.wall)
