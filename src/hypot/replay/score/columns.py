"""Building blocks of scores: shares, windows, stretches and moves of columns. None: there is nothing to divide by."""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from hypot.replay.world.record import Floats

Bools = npt.NDArray[np.bool_]
Ints = npt.NDArray[np.int64]
Signs = npt.NDArray[np.int8]

# Less than this counts as zero: a sum that a share is taken of is never so small unless it is zero.
NOTHING = 1e-12
# Two amounts that differ by less than this share are equal: the rest is rounding from another order of addition.
SAME = 1e-9
FIVE_MINUTES = 300.0
DAY, HOUR, MINUTE = 86400.0, 3600.0, 60.0
# Rows up to this length are added up faster column by column.
SHORT_ROW = 24
# The size of a sample that shows well enough where a percentile is.
SAMPLE = 1024


class Moves(NamedTuple):
    """The steps in which a column moved, and the direction: up (1) or down (-1). Step 0 follows the first value."""

    at: Ints
    way: Signs


def ratio(part: float, whole: float) -> float | None:
    return float(part / whole) if whole > NOTHING else None


def percent(part: float, whole: float) -> float | None:
    return ratio(100.0 * part, whole)


def count(true: Bools) -> int:
    return int(np.count_nonzero(true))


def sum_in_turn(column: Floats) -> float:
    """The sum in order, bit for bit as if the values were added one by one without being kept."""
    return float(column.cumsum()[-1]) if len(column) else 0.0


def sum_of_products(one: Floats, other: Floats) -> float:
    """Uses one thread: a dot product would start others, and a caller that scores many runs has a process per core."""
    return float(np.einsum("i,i->", one, other))


def ticks_in(seconds: float, tick: float) -> int:
    """The number of whole ticks nearest to this time, at least one."""
    return max(1, round(seconds / tick))


def window_sums(column: Floats, length: int) -> Floats:
    """Sums over consecutive windows; the last window may be shorter."""
    whole = len(column) // length * length
    sums = _sums_of_rows(column[:whole].reshape(-1, length))
    return sums if whole == len(column) else np.append(sums, column[whole:].sum())


def means_of_windows(sums: Floats, count: int, length: int) -> Floats:
    """The means of windows from their sums; the last of `count` values may be in a shorter window."""
    means, left = sums / length, count % length
    if left:
        means[..., -1] *= length / left
    return means


def _sums_of_rows(table: Floats) -> Floats:
    if table.shape[1] > SHORT_ROW:
        return np.asarray(table.sum(axis=1))
    sums = table[:, 0].copy()
    for place in range(1, table.shape[1]):
        sums += table[:, place]
    return sums


def changes(column: Floats) -> Ints:
    """The steps in which a column changed."""
    found: Ints = (column[1:] != column[:-1]).nonzero()[0]
    return found


def ways(values: Floats) -> Signs:
    """The direction from each value to the next: up (1), down (-1), or the same (0)."""
    before, after = values[:-1], values[1:]
    moved = np.abs(after - before) > SAME * np.maximum(np.abs(before), np.abs(after))
    return np.where(moved, np.where(after > before, np.int8(1), np.int8(-1)), np.int8(0))


def to_the_end(true: Bools) -> int:
    """For how many ticks up to the last one the value is true."""
    wrong = np.flatnonzero(~true)
    return len(true) - 1 - int(wrong[-1]) if len(wrong) else len(true)


def turns(moved: Moves, within: int) -> Ints:
    """The steps in the opposite direction of the last move, if that was at most `within` ticks ago."""
    at, way = moved
    if len(at) < 2:
        return at[:0]
    found: Ints = at[1:][(way[1:] != way[:-1]) & (at[1:] - at[:-1] <= within)]
    return found


def together(*steps: Ints) -> Ints:
    """All of these steps, each once."""
    some = [at for at in steps if len(at)]
    if len(some) > 1:
        return np.unique(np.concatenate(some))
    return some[0] if some else steps[0]


def weighted_percentile(values: Floats, weights: Floats, share: float) -> float | None:
    """The least value that at least this share of the weight does not exceed. Sorts only values above a first guess."""
    total = float(weights.sum())
    if total <= NOTHING:
        return None
    wanted = share * total * (1.0 - NOTHING)
    places = (values > _likely_below(values, weights, share)).nonzero()[0]
    below = total - float(weights[places].sum())
    if below >= wanted:
        places, below = np.arange(len(values)), 0.0
    order = places[values[places].argsort()]
    place = int((below + weights[order].cumsum()).searchsorted(wanted))
    return float(values[order[min(place, len(order) - 1)]])


def _likely_below(values: Floats, weights: Floats, share: float) -> float:
    """A guess that is nearly always right: the value above which, in a sample, twice as much weight lies."""
    if len(values) <= 2 * SAMPLE:
        return -np.inf
    sample = slice(None, None, len(values) // SAMPLE)
    guess = weighted_percentile(values[sample], weights[sample], max(0.0, 2.0 * share - 1.0))
    return -np.inf if guess is None else guess
