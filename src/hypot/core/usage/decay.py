"""One decaying histogram in plain numbers: a single row of `histogram.Bank`, in the form that compiled code needs.

The columns are lists here and arrays in compiled code. A test checks that a row and a bank agree.
"""

from math import exp2, floor, inf, ldexp, log
from typing import Any, NamedTuple

from hypot.core.usage.layout import Layout

YEAR_ONE = -62_135_596_800.0
# The reference time stays until samples are this many half-lives ahead of it.
HALF_LIVES_AHEAD = 100.0
# Values closer than this fraction to the end of a bucket may fall on either side when computed by logarithms.
NEAR = 1e-9
# Doubling more often than this exceeds the range of floating-point numbers.
_MOST_DOUBLINGS = 5000.0


class Decaying(NamedTuple):
    """Weights as of the reference time, their total, and the first and last bucket that is not empty."""

    weights: Any
    ends: Any
    total: Any
    reference: Any
    first: Any
    last: Any
    half_life: float
    # The width of the first bucket, the ratio of each width to the one before, and the logarithm of that.
    size: float
    ratio: float
    log_ratio: float
    epsilon: float
    # The bucket of the last value.
    latest: Any


def new_decaying(layout: Layout, half_life: float) -> Decaying:
    """An empty histogram."""
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
    """The bucket of a value; negative values are in the first. Well inside the latest bucket it is that bucket."""
    if value < h.size:
        return 0
    latest = h.latest[0]
    if h.ends[latest - 1] * (1.0 + NEAR) < value < h.ends[latest] * (1.0 - NEAR):
        return int(latest)
    bucket = int(min(log(value * (h.ratio - 1.0) / h.size + 1.0) / h.log_ratio, len(h.weights) - 1.0))
    h.latest[0] = bucket
    return bucket


def weight_at(h: Decaying, at: float) -> float:
    """The weight of a sample of this time, as of the reference time, which may move first."""
    if at > h.reference[0] + HALF_LIVES_AHEAD * h.half_life:
        shift(h, at)
    return exp2((at - h.reference[0]) / h.half_life)


def put(h: Decaying, bucket: int, weight: float, count: int) -> None:
    """Add samples one by one, as a bank does, so that both agree exactly where a share is reached."""
    here, total = h.weights[bucket], h.total[0]
    for _ in range(count):
        here += weight
        total += weight
    h.weights[bucket], h.total[0] = here, total
    if here >= h.epsilon:
        h.first[0] = min(h.first[0], bucket)
        h.last[0] = max(h.last[0], bucket)


def take(h: Decaying, bucket: int, weight: float, count: int) -> None:
    """Remove what was added. A rest below epsilon becomes 0."""
    here, total = h.weights[bucket], h.total[0]
    for _ in range(count):
        here -= weight
        total -= weight
    h.weights[bucket] = here if here >= h.epsilon else 0.0
    h.total[0] = total if total >= h.epsilon else 0.0
    if here < h.epsilon and (bucket == h.first[0] or bucket == h.last[0]):
        tighten(h)


def tighten(h: Decaying) -> None:
    """Find the first and the last bucket again."""
    most = len(h.weights) - 1
    first, last = most, 0
    for bucket in range(most + 1):
        if h.weights[bucket] >= h.epsilon:
            first = min(first, bucket)
            last = bucket
    h.first[0], h.last[0] = first, last


def shift(h: Decaying, at: float) -> None:
    """Move the reference time to the multiple of the half-life nearest to another time."""
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
    """The nearest multiple of the half-life, counted from year one; a half is rounded up."""
    return YEAR_ONE + floor((at - YEAR_ONE) / half_life + 0.5) * half_life


def percentiles(h: Decaying, shares: Any, found: Any) -> None:
    """The ends of the buckets in which these shares of the weight are reached; 0 if the histogram is empty."""
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
