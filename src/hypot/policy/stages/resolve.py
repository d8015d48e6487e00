"""From many proposals to one count: the largest proposal wins."""

from collections.abc import Sequence

from hypot.policy.model.decision import MetricReading


def largest(readings: Sequence[MetricReading]) -> MetricReading | None:
    """The reading with the largest proposal; of equal ones the first. The order never changes the count.

    A proposal of zero is always replaced by the next: if all are zero, the last one is named.
    """
    best: MetricReading | None = None
    for reading in readings:
        if reading.proposal is None:
            continue
        if best is None or not best.proposal or reading.proposal > best.proposal:
            best = reading
    return best


def failures(readings: Sequence[MetricReading]) -> list[MetricReading]:
    return [reading for reading in readings if reading.proposal is None]
