"""Decaying histograms of many series: one row of weights per series, all in the same arrays.

A weight is stored relative to the row's reference time: it doubles with each half-life after it. So old weights need no
update as time passes. The reference is a whole multiple of the half-life, counted from the first of January of year
one, and moves forward when a sample is more than a hundred half-lives ahead of it.

Times are seconds since 1970. A row with an infinite half-life does not decay.
"""

from collections.abc import Iterator, Mapping, Sequence
from math import inf, isfinite
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from hypot.core.usage.columns import Columns, ColumnType
from hypot.core.usage.layout import FloatArray, IntArray, Layout

YEAR_ONE = -62_135_596_800.0
# The longest time difference that upstream can represent, about 292 years; anything longer is cut to this.
LONGEST = (2**63 - 1) / 1e9
# The reference time stays until samples are this many half-lives ahead of it.
HALF_LIVES_AHEAD = 100.0
# The weight of the heaviest bucket in a checkpoint; the others are in proportion.
HEAVIEST = 10_000.0
# Binary digits of a rounded weight, and the farthest exponent from zero: beyond it, weights would be 0 or infinite.
DIGITS, FARTHEST = 16, 1000
# Rows processed at once: few enough for the copy to stay in the processor's cache.
CHUNK = 1024


class Saved(NamedTuple):
    """A histogram as in a checkpoint: whole weights by bucket, in proportion, and the total weight."""

    total: float
    weights: Mapping[int, int]
    reference: float = YEAR_ONE


class RoundedWeights(NamedTuple):
    """Weights of many rows as whole numbers of 16 binary digits, times two to the power of the row's exponent."""

    numbers: npt.NDArray[np.uint16]
    exponents: npt.NDArray[np.int32]


class Bank:
    """Histograms of one layout. Rows may repeat in a call; the order of samples within a call does not matter."""

    def __init__(self, layout: Layout) -> None:
        self.layout = layout
        self._rows = Columns(
            {
                "weights": ColumnType(np.float64, width=len(layout)),
                "total": ColumnType(np.float64),
                "reference": ColumnType(np.float64, YEAR_ONE),
                "half_life": ColumnType(np.float64, inf),
                # The first and the last bucket that is not empty; if all are empty, first is above last.
                "first": ColumnType(np.int32, len(layout) - 1),
                "last": ColumnType(np.int32),
            }
        )
        self._ends: list[float] = layout.ends.tolist()
        self._order = np.arange(len(layout), dtype=np.int32)

    @property
    def weights(self) -> FloatArray:
        return self._rows["weights"]

    @property
    def total(self) -> FloatArray:
        return self._rows["total"]

    @property
    def reference(self) -> FloatArray:
        return self._rows["reference"]

    @property
    def half_life(self) -> FloatArray:
        return self._rows["half_life"]

    @property
    def first(self) -> npt.NDArray[np.int32]:
        return self._rows["first"]

    @property
    def last(self) -> npt.NDArray[np.int32]:
        return self._rows["last"]

    def __len__(self) -> int:
        return len(self._rows)

    def new(self, half_life: float = inf) -> int:
        """A new, empty row."""
        check_half_life(half_life)
        row = self._rows.new()
        self.half_life[row] = half_life
        return row

    def free(self, row: int) -> None:
        self._rows.free(row)

    def is_empty(self, rows: npt.ArrayLike) -> npt.NDArray[np.bool_]:
        chosen = _indices(rows)
        light: npt.NDArray[np.bool_] = self.weights[chosen, self.first[chosen]] < self.layout.epsilon
        return light

    def add(
        self, rows: npt.ArrayLike, values: npt.ArrayLike, weights: npt.ArrayLike, times: npt.ArrayLike = YEAR_ONE
    ) -> None:
        if np.any(np.asarray(weights) < 0):
            raise ValueError("the weight of a sample must not be negative")
        chosen, buckets, places, scaled = self._placed(rows, values, weights, times)
        flat = self.weights.reshape(-1)
        np.add.at(flat, places, scaled)
        np.add.at(self.total, chosen, scaled)
        heavy = flat[places] >= self.layout.epsilon
        if not heavy.all():
            chosen, buckets = chosen[heavy], buckets[heavy]
        np.minimum.at(self.first, chosen, buckets)
        np.maximum.at(self.last, chosen, buckets)

    def subtract(
        self, rows: npt.ArrayLike, values: npt.ArrayLike, weights: npt.ArrayLike, times: npt.ArrayLike = YEAR_ONE
    ) -> None:
        """Remove samples that were added at the same times. A rest below epsilon becomes 0."""
        chosen, buckets, places, scaled = self._placed(rows, values, weights, times)
        flat = self.weights.reshape(-1)
        _take_away(flat, places, scaled, self.layout.epsilon)
        _take_away(self.total, chosen, scaled, self.layout.epsilon)
        at_edge = (buckets == self.first[chosen]) | (buckets == self.last[chosen])
        emptied = at_edge & (flat[places] < self.layout.epsilon)
        if emptied.any():
            self._tighten(np.unique(chosen[emptied]))

    def percentile(self, rows: npt.ArrayLike, p: npt.ArrayLike) -> FloatArray:
        """The end of the bucket in which the share `p` of the weight is reached; 0 if the row is empty.

        `p` is broadcast against the rows: one for all, one for each, or a column of several for all of them. Below 0
        it means the smallest value, above 1 the largest.
        """
        chosen = _indices(rows)
        shares = np.asarray(p, np.float64)
        found = np.empty(np.broadcast_shapes(shares.shape, chosen.shape))
        each = np.broadcast_to(shares, found.shape)
        for part in _chunks(len(chosen)):
            found[..., part] = self._walk(chosen[part], each[..., part])
        return found

    def percentiles(self, row: int, shares: Sequence[float]) -> list[float]:
        """Several percentiles of one row: the same computation, without the overhead for many rows."""
        low, high = int(self.first[row]), int(self.last[row])
        weights = self.weights[row, low : high + 1]
        if not weights.size or weights[0] < self.layout.epsilon:
            return [0.0] * len(shares)
        total = float(self.total[row])
        steps = weights.cumsum().searchsorted([share * total for share in shares]).tolist()
        return [self._ends[min(low + step, high)] for step in steps]

    def _walk(self, rows: IntArray, shares: FloatArray) -> FloatArray:
        first, last = self.first[rows], self.last[rows]
        low, high = int(first.min()), int(last.max()) + 1
        if low >= high:
            return np.zeros(shares.shape)
        sums = self.weights[rows, low:high]
        np.putmask(sums, self._order[low:high] < first[:, None], 0.0)
        np.cumsum(sums, axis=1, out=sums)
        wanted = shares * self.total[rows]
        step = (sums >= wanted[..., None]).argmax(axis=-1) + low
        bucket = np.where(wanted > sums[:, -1], last, np.clip(step, first, last))
        return np.where(self.is_empty(rows), 0.0, self.layout.ends[bucket])

    def shift(self, rows: npt.ArrayLike, times: npt.ArrayLike) -> None:
        """Move the reference time to the multiple of the half-life nearest to another time."""
        chosen = _indices(rows)
        half_life = self.half_life[chosen]
        reference = nearest_multiple(np.asarray(times, np.float64), half_life)
        steps = np.floor(_span(self.reference[chosen] - reference) / half_life + 0.5)
        self._scale(chosen, np.ldexp(1.0, np.clip(steps, -5000, 5000).astype(np.int32)))
        self.reference[chosen] = reference

    def set_back(self, rows: npt.ArrayLike, seconds: npt.ArrayLike) -> None:
        """Make all samples older by this many seconds, because the clock that measured them was ahead."""
        chosen, moved = np.broadcast_arrays(_indices(rows), np.asarray(seconds, np.float64))
        fades = np.isfinite(self.half_life[chosen])
        chosen, half_life = chosen[fades], self.half_life[chosen[fades]]
        earlier = self.reference[chosen] - moved[fades]
        reference = nearest_multiple(earlier, half_life)
        self._scale(chosen, np.exp2((earlier - reference) / half_life))
        self.reference[chosen] = reference

    def change_half_life(self, row: int, half_life: float, at: float) -> None:
        """Decay faster or slower from now on. The decay up to now stays as it is."""
        check_half_life(half_life)
        if half_life == self.half_life[row]:
            return
        reference = YEAR_ONE if half_life == inf else float(nearest_multiple(at, half_life))
        before = _span(at - self.reference[row]) / self.half_life[row]
        after = (at - reference) / half_life
        self._scale(_indices(row), np.exp2(np.array([min(after - before, HALF_LIVES_AHEAD)])))
        self.half_life[row], self.reference[row] = half_life, reference

    def round_weights(self, rows: npt.ArrayLike) -> RoundedWeights:
        """Round the weights to 16 binary digits of the heaviest, and return them; a second time changes nothing.

        Each total becomes the sum of its weights.
        """
        chosen = _indices(rows)
        numbers = np.zeros((len(chosen), len(self.layout)), np.uint16)
        exponents = np.zeros(len(chosen), np.int32)
        for part in _chunks(len(chosen)):
            numbers[part], exponents[part] = self._rounded(chosen[part])
        return RoundedWeights(numbers, exponents)

    def _rounded(self, rows: IntArray) -> RoundedWeights:
        within = (self._order >= self.first[rows, None]) & (self._order <= self.last[rows, None])
        weights = np.where(within, self.weights[rows], 0.0)
        exponents = np.frexp(weights.max(axis=1))[1] - DIGITS
        exponents = np.clip(exponents, -FARTHEST, FARTHEST).astype(np.int32)
        numbers = np.rint(np.ldexp(weights, -exponents[:, None]))
        numbers = np.minimum(numbers, 2.0**DIGITS - 1)
        rounded = np.ldexp(numbers, exponents[:, None])
        rounded[rounded < self.layout.epsilon] = numbers[rounded < self.layout.epsilon] = 0.0
        self.weights[rows] = rounded
        self.total[rows] = np.ldexp(numbers.sum(axis=1), exponents)
        self._tighten(rows)
        return RoundedWeights(numbers.astype(np.uint16), exponents)

    def put_rounded(self, row: int, low: int, numbers: npt.NDArray[np.uint16], exponent: int) -> None:
        """Fill an empty row with rounded weights, from the bucket `low` on."""
        given = numbers.astype(np.float64)
        weights = self.weights[row, low : low + len(given)] = np.ldexp(given, exponent)
        self.total[row] = np.ldexp(given.sum(), exponent)
        heavy = np.flatnonzero(weights >= self.layout.epsilon)
        if len(heavy):
            self.first[row], self.last[row] = low + heavy[0], low + heavy[-1]

    def copied(self, row: int) -> "Bank":
        """A bank whose only row, 0, is a copy of this row, to be changed independently."""
        twin = Bank(self.layout)
        twin.new()
        for name in ("weights", "total", "reference", "half_life", "first", "last"):
            twin._rows[name][0] = self._rows[name][row]
        return twin

    def merge(self, into: int, other: int, source: "Bank | None" = None) -> None:
        """Add the contents of another row, of this bank or another. Unlike upstream, the other row does not change."""
        given = self if source is None else source
        if given.layout is not self.layout:
            raise ValueError("histograms of different layouts cannot be merged")
        if given.half_life[other] != self.half_life[into]:
            raise ValueError("histograms of different half-lives cannot be merged")
        twin = given.copied(other)
        if twin.reference[0] > self.reference[into]:
            self.shift(into, twin.reference[0])
        elif twin.reference[0] < self.reference[into]:
            twin.shift(0, self.reference[into])
        part = slice(int(twin.first[0]), int(twin.last[0]) + 1)
        self.weights[into, part] += twin.weights[0, part]
        self.total[into] += twin.total[0]
        self.first[into] = min(self.first[into], twin.first[0])
        self.last[into] = max(self.last[into], twin.last[0])

    def save(self, row: int) -> Saved:
        """Save weights relative to the heaviest bucket. Those below 1/20000 of it remain only in the total."""
        low, high = int(self.first[row]), int(self.last[row]) + 1
        weights = self.weights[row, low:high]
        if not weights.size:
            return Saved(float(self.total[row]), {}, float(self.reference[row]))
        whole = np.floor(weights * (HEAVIEST / weights.max()) + 0.5).astype(np.int64)
        kept = {low + bucket: int(whole[bucket]) for bucket in np.flatnonzero(whole).tolist()}
        return Saved(float(self.total[row]), kept, float(self.reference[row]))

    def load(self, row: int, saved: Saved | None) -> None:
        """Add what was saved and use its reference time from now on. Raises without any change if it is invalid."""
        if saved is None:
            raise ValueError("no checkpoint to load")
        if not 0 <= saved.total < inf:
            raise ValueError(f"a total weight of {saved.total} is invalid: it must be a number, at least 0")
        for bucket, weight in saved.weights.items():
            if not 0 <= bucket < len(self.layout):
                raise ValueError(f"there is no bucket {bucket}: they are numbered from 0 to {len(self.layout) - 1}")
            if weight < 0:
                raise ValueError(f"the weight {weight} of bucket {bucket} is invalid: it must be at least 0")
        if isfinite(self.half_life[row]):
            self.reference[row] = saved.reference
        everything = sum(saved.weights.values())
        if everything == 0:
            return
        for bucket, weight in saved.weights.items():
            self.weights[row, bucket] += weight * (saved.total / everything)
        self.total[row] += saved.total
        self._tighten(_indices(row))

    def _placed(
        self, rows: npt.ArrayLike, values: npt.ArrayLike, weights: npt.ArrayLike, times: npt.ArrayLike
    ) -> tuple[IntArray, npt.NDArray[np.int32], IntArray, FloatArray]:
        """Rows, buckets, indexes into the flat weights, and weights as of the reference times, which may move first."""
        chosen, at = np.broadcast_arrays(_indices(rows), np.asarray(times, np.float64))
        self._catch_up(chosen, at, np.minimum, inf)
        self._catch_up(chosen, at, np.maximum, -inf)
        scaled = weights * np.exp2(_span(at - self.reference[chosen]) / self.half_life[chosen])
        buckets = np.broadcast_to(self.layout.buckets(values), chosen.shape)
        return chosen, buckets.astype(np.int32), chosen * len(self.layout) + buckets, scaled

    def _catch_up(self, rows: IntArray, times: FloatArray, choose: np.ufunc, start: float) -> None:
        """Move references to the first, or the last, sample that is too far ahead; the order does not matter."""
        ahead = times > self.reference[rows] + HALF_LIVES_AHEAD * self.half_life[rows]
        if not ahead.any():
            return
        each, which = np.unique(rows[ahead], return_inverse=True)
        chosen = np.full(len(each), start)
        choose.at(chosen, which, times[ahead])
        self.shift(each, chosen)

    def _scale(self, rows: IntArray, factors: FloatArray) -> None:
        """Scale only the buckets between the first and the last, as upstream does."""
        self.total[rows] *= factors
        filled = self.first[rows] <= self.last[rows]
        rows, factors = rows[filled], factors[filled]
        for part in _chunks(len(rows)):
            chosen = rows[part]
            within = (self._order >= self.first[chosen, None]) & (self._order <= self.last[chosen, None])
            self.weights[chosen] *= np.where(within, factors[part, None], 1.0)
        self._tighten(rows)

    def _tighten(self, rows: IntArray) -> None:
        most = len(self.layout) - 1
        for part in _chunks(len(rows)):
            chosen = rows[part]
            heavy = self.weights[chosen] >= self.layout.epsilon
            some = heavy.any(axis=1)
            self.first[chosen] = np.where(some, heavy.argmax(axis=1), most)
            self.last[chosen] = np.where(some, most - heavy[:, ::-1].argmax(axis=1), 0)


def check_half_life(seconds: float) -> None:
    if not seconds > 0:
        raise ValueError(f"a half-life of {seconds} seconds is invalid: it must be above 0")


def nearest_multiple(times: Any, half_life: Any) -> Any:
    """The nearest multiple of the half-life, counted from year one; a half is rounded up."""
    return YEAR_ONE + np.floor((times - YEAR_ONE) / half_life + 0.5) * half_life


def _span(seconds: Any) -> Any:
    return np.clip(seconds, -LONGEST, LONGEST)


def _take_away(amounts: FloatArray, places: IntArray, weights: FloatArray, epsilon: float) -> None:
    np.subtract.at(amounts, places, weights)
    left = amounts[places]
    amounts[places] = np.where(left < epsilon, 0.0, left)


def _indices(rows: npt.ArrayLike) -> IntArray:
    return np.atleast_1d(np.asarray(rows, np.intp))


def _chunks(count: int) -> Iterator[slice]:
    for start in range(0, count, CHUNK):
        yield slice(start, start + CHUNK)
