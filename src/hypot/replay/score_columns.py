"""What scores are made of: shares, windows, stretches and turns of columns. None stands for nothing to divide by."""

import numpy as np
import numpy.typing as npt

from hypot.replay.record import Floats

Bools = npt.NDArray[np.bool_]
Ints = npt.NDArray[np.int64]
Signs = npt.NDArray[np.int8]

# Less than this is nothing: no sum that a share is taken of is as small unless it is zero.
NOTHING = 1e-12
# Two amounts that differ by less than this share are the same: what is left of adding in another order.
SAME = 1e-9
FIVE_MINUTES = 300.0
DAY, HOUR, MINUTE = 86400.0, 3600.0, 60.0


def ratio(part: float, whole: float) -> float | None:
    return float(part / whole) if whole > NOTHING else None


def percent(part: float, whole: float) -> float | None:
    return ratio(100.0 * part, whole)


def count(true: Bools) -> int:
    return int(np.count_nonzero(true))


def ticks_in(seconds: float, tick: float) -> int:
    """As many whole ticks as come nearest to this time, at least one."""
    return max(1, round(seconds / tick))


def window_sums(column: Floats, length: int) -> Floats:
    """Sums over windows that tumble; the last one may be shorter."""
    return np.add.reduceat(column, np.arange(0, len(column), length))


def window_means(column: Floats, length: int) -> Floats:
    return window_sums(column, length) / window_sums(np.ones(len(column)), length)


def most_ahead(column: Floats, ticks: int) -> Floats:
    """The largest value of each tick and of so many after it; the end of the column ends the view."""
    most, seen = column.copy(), 1
    while seen <= ticks:
        step = min(seen, ticks + 1 - seen)
        most[:-step] = np.maximum(most[:-step], most[step:])
        seen += step
    return most


def most_behind(column: Floats, ticks: int) -> Floats:
    """The same of the ticks before."""
    return most_ahead(column[::-1], ticks)[::-1]


def moves(column: Floats, least: float = SAME) -> Signs:
    """Up (1), down (-1) or the same (0), from each value to the next; what is less than this share is the same."""
    direction = np.zeros(max(len(column) - 1, 0), dtype=np.int8)
    at = np.flatnonzero(column[1:] != column[:-1])
    before, after = column[at], column[at + 1]
    moved = np.abs(after - before) > least * np.maximum(np.abs(before), np.abs(after))
    direction[at[moved]] = np.where(after > before, 1, -1)[moved]
    return direction


def log_distance(column: Floats) -> float:
    """How far a column moved, in logarithms; from and to nothing is no distance that could be told."""
    there = (column[:-1] > NOTHING) & (column[1:] > NOTHING)
    steps = np.abs(np.log(column[1:][there]) - np.log(column[:-1][there]))
    return float(steps[steps > SAME].sum())


def stretches(true: Bools, broken: Bools | None = None) -> Ints:
    """How many ticks each stretch lasts in which this is true; a tick that is `broken` begins a new one."""
    first, goes_on = true.copy(), true[1:] & true[:-1]
    if broken is not None:
        goes_on &= ~broken[1:]
    first[1:] &= ~goes_on
    last = true.copy()
    last[:-1] &= ~goes_on
    return np.flatnonzero(last) - np.flatnonzero(first) + 1


def to_the_end(true: Bools) -> int:
    """For how many ticks up to the last one this is true."""
    wrong = np.flatnonzero(~true)
    return len(true) - 1 - int(wrong[-1]) if len(wrong) else len(true)


def turns(direction: Signs, within: int) -> Bools:
    """Which moves go the other way than the last one, which is not more than so many ticks ago."""
    turned = np.zeros(len(direction), dtype=np.bool_)
    at = np.flatnonzero(direction)
    turned[at[1:]] = (direction[at[1:]] != direction[at[:-1]]) & (np.diff(at) <= within)
    return turned


def weighted_percentile(values: Floats, weights: Floats, share: float) -> float | None:
    """The least value that this share of all weight does not exceed."""
    order = np.argsort(values)
    reached = np.cumsum(weights[order])
    if not len(reached) or reached[-1] <= NOTHING:
        return None
    place = int(np.searchsorted(reached, share * reached[-1] * (1.0 - NOTHING)))
    return float(values[order[min(place, len(order) - 1)]])
