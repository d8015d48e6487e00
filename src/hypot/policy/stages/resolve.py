"""From many proposals to one count: the largest wins."""

from collections.abc import Sequence

from hypot.policy.model.decision import Reading


def largest(readings: Sequence[Reading]) -> Reading | None:
    """The reading that asks for most; the first of equals, so that the order of metrics never changes the count.

    Zero counts as nothing yet: among proposals of zero the last one gives its name.
    """
    best: Reading | None = None
    for reading in readings:
        if reading.proposal is None:
            continue
        if best is None or not best.proposal or reading.proposal > best.proposal:
            best = reading
    return best


def failures(readings: Sequence[Reading]) -> list[Reading]:
    return [reading for reading in readings if reading.proposal is None]
