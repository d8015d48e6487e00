"""From many proposals to one count: the largest wins."""

from collections.abc import Sequence

from hypot.policy.model.decision import MetricReading


def largest(readings: Sequence[MetricReading]) -> MetricReading | None:
    """The reading that asks for most; the first of equals, so that the order of metrics never changes the count.

    Zero counts as nothing yet: among proposals of zero the last one gives its name.
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
