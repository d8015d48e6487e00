"""Reduces points without a visible change: keeps the lowest and highest value per pixel column, so no spike is lost."""

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

# The number of pixel columns of a figure across a laptop screen.
COLUMNS = 1200


def thin(at: Floats, values: Floats, columns: int = COLUMNS) -> tuple[Floats, Floats]:
    """The points to draw, in order; `at` rises. NaN is a gap, and a column with only gaps keeps one.

    The first and the last point stay, so that a step that lasts to the end is drawn to the end.
    """
    if len(at) <= 2 * columns:
        return at, values
    column = _columns(at, columns)
    kept = np.concatenate([_firsts(column, values, np.fmin), _firsts(column, values, np.fmax)])
    kept = np.unique(np.concatenate([kept, [0, len(at) - 1]]))
    return at[kept], values[kept]


def means(at: Floats, values: Floats, columns: int = COLUMNS) -> tuple[Floats, Floats]:
    """The mean of every column at its first point, for a line through values that change too fast to be drawn."""
    if len(at) <= 2 * columns:
        return at, values
    starts = _starts(_columns(at, columns))
    known = np.isfinite(values)
    counts = np.add.reduceat(known.astype(np.float64), starts)
    sums = np.add.reduceat(np.where(known, values, 0.0), starts)
    mean = np.divide(sums, counts, out=np.full(len(starts), np.nan), where=counts > 0)
    # The last mean continues to the end.
    return np.append(at[starts], at[-1]), np.append(mean, mean[-1])


def roughness(at: Floats, values: Floats, columns: int = COLUMNS) -> float:
    """The share of its height that a line crosses within one column, on average: near 1 it looks like a solid block."""
    known = np.isfinite(values)
    if len(at) <= 2 * columns or not known.any():
        return 0.0
    at, values = at[known], values[known]
    height = float(values.max() - values.min())
    starts = _starts(_columns(at, columns))
    swings = np.maximum.reduceat(values, starts) - np.minimum.reduceat(values, starts)
    return float(swings.mean()) / height if height > 0 else 0.0


def _columns(at: Floats, columns: int) -> Ints:
    """The column of each point, counted from 0 without gaps."""
    place = (at - at[0]) * (columns / (at[-1] - at[0]))
    whole = np.minimum(place.astype(np.int64), columns - 1)
    return np.cumsum(np.diff(whole, prepend=whole[0]) > 0, dtype=np.int64)


def _firsts(column: Ints, values: Floats, extreme: np.ufunc) -> Ints:
    """The index at which each column first has its extreme value."""
    wanted = extreme.reduceat(values, _starts(column))[column]
    found = np.flatnonzero((values == wanted) | np.isnan(wanted))
    return found[np.unique(column[found], return_index=True)[1]]


def _starts(column: Ints) -> Ints:
    return np.flatnonzero(np.diff(column, prepend=-1))
