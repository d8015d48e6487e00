"""One decaying histogram in plain numbers: a row of `histogram.Bank` for itself, as code that is compiled needs it.

The columns are lists here and arrays where they are compiled. A test holds that a row and a bank agree.
"""

from math import exp2, floor, inf, ldexp, log
from typing import Any, NamedTuple

from hypot.core.layout import Layout

YEAR_ONE = -62_135_596_800.0
# A reference stays until samples are this many half-lives ahead of it.
HALF_LIVES_AHEAD = 100.0
# By this share of it and less, nobody knows on which side of the end of a bucket logarithms have a value.
NEAR = 1e-9
# Doubling more often than this leaves the numbers that there are.
_MOST_DOUBLINGS = 5000.0


class Decaying(NamedTuple):
    """Weights as of the reference, what they weigh together, and the first and the last bucket that is not empty."""

    weights: Any
    ends: Any
    total: Any
    reference: Any
    first: Any
    last: Any
    half_life: float
    # How wide the first bucket is, by what each is wider than the one before, and the logarithm of that.
    size: float
    ratio: float
    log_ratio: float
    epsilon: float
    # The bucket that a value fell into last.
    latest: Any


def new_decaying(layout: Layout, half_life: float) -> Decaying:
    """Nothing in it yet."""
    count = len(layout)
    return Decaying(
        [0.0] * count,
        layout.ends.tolist(),
        [0.0],
        [YEAR_ONE],
        [count - 1],
        [0],
        half_life,
        layout.size,
        layout.ratio,
        log(layout.ratio),
        layout.epsilon,
        [0],
    )


def bucket_of(h: Decaying, value: float) -> int:
    """Where a value falls; what is below nothing falls into the first. Well inside the latest it is that one again."""
    if value < h.size:
        return 0
    latest = h.latest[0]
    if h.ends[latest - 1] * (1.0 + NEAR) < value < h.ends[latest] * (1.0 - NEAR):
        return int(latest)
    bucket = int(min(log(value * (h.ratio - 1.0) / h.size + 1.0) / h.log_ratio, len(h.weights) - 1.0))
    h.latest[0] = bucket
    return bucket


def weight_at(h: Decaying, at: float) -> float:
    """What a sample of this time weighs as of the reference, which may move first."""
    if at > h.reference[0] + HALF_LIVES_AHEAD * h.half_life:
        shift(h, at)
    return exp2((at - h.reference[0]) / h.half_life)


def put(h: Decaying, bucket: int, weight: float, count: int) -> None:
    """One after the other, as a bank adds them, so that both are the same where a share is reached exactly."""
    here, total = h.weights[bucket], h.total[0]
    for _ in range(count):
        here += weight
        total += weight
    h.weights[bucket], h.total[0] = here, total
    if here >= h.epsilon:
        h.first[0] = min(h.first[0], bucket)
        h.last[0] = max(h.last[0], bucket)


def take(h: Decaying, bucket: int, weight: float, count: int) -> None:
    """Out again what was put; what is left below epsilon is nothing."""
    here, total = h.weights[bucket], h.total[0]
    for _ in range(count):
        here -= weight
        total -= weight
    h.weights[bucket] = here if here >= h.epsilon else 0.0
    h.total[0] = total if total >= h.epsilon else 0.0
    if here < h.epsilon and (bucket == h.first[0] or bucket == h.last[0]):
        tighten(h)


def tighten(h: Decaying) -> None:
    """Find the first and the last bucket anew."""
    most = len(h.weights) - 1
    first, last = most, 0
    for bucket in range(most + 1):
        if h.weights[bucket] >= h.epsilon:
            first = min(first, bucket)
            last = bucket
    h.first[0], h.last[0] = first, last


def shift(h: Decaying, at: float) -> None:
    """Count from the multiple of the half-life nearest to another time."""
    reference = nearest_multiple(at, h.half_life)
    steps = floor((h.reference[0] - reference) / h.half_life + 0.5)
    factor = ldexp(1.0, int(min(max(steps, -_MOST_DOUBLINGS), _MOST_DOUBLINGS)))
    h.reference[0] = reference
    h.total[0] *= factor
    if h.first[0] > h.last[0]:
        return
    for bucket in range(h.first[0], h.last[0] + 1):
        h.weights[bucket] *= factor
    tighten(h)


def nearest_multiple(at: float, half_life: float) -> float:
    """Of the half-life, counted from year one; half way is up."""
    return YEAR_ONE + floor((at - YEAR_ONE) / half_life + 0.5) * half_life


def percentiles(h: Decaying, shares: Any, found: Any) -> None:
    """The ends of the buckets in which these shares of the weight are reached; 0 where there is nothing."""
    low, high = h.first[0], h.last[0]
    empty = h.weights[low] < h.epsilon
    bucket, reached, before = low, h.weights[low], -inf
    for j in range(len(shares)):
        if empty:
            found[j] = 0.0
            continue
        if shares[j] < before:
            bucket, reached = low, h.weights[low]
        before = shares[j]
        wanted = before * h.total[0]
        while bucket < high and reached < wanted:
            bucket += 1
            reached += h.weights[bucket]
        found[j] = h.ends[bucket]
