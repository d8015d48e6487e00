"""Turns usage percentiles into a recommended size: margin, confidence, minimum, in this order.

Every function takes plain numbers, or arrays element by element. Amounts in arrays are whole numbers stored as doubles.
"""

from math import inf
from typing import Any

import numpy as np

from hypot.core.amount import MOST, from_float, scale

# Low confidence widens the bounds: x (1 + gain / confidence) ** exponent.
LOWER_GAIN, LOWER_EXPONENT = 0.001, -2.0
UPPER_GAIN, UPPER_EXPONENT = 1.0, 1.0


def whole(value: Any) -> Any:
    """Truncate to whole amounts within the valid range. NaN becomes 0."""
    if isinstance(value, np.ndarray):
        return np.floor(np.fmin(np.fmax(value, 0.0), MOST))
    return from_float(value)


def with_margin(amount: Any, margin: float) -> Any:
    """Add the margin. The margin is truncated to a whole amount, not the sum."""
    return amount + whole(amount * margin)


def confidence(first: Any, last: Any, samples: Any, interval: float) -> Any:
    """The confidence in intervals: the smaller of the time covered and the number of samples, one per minute."""
    return larger(smaller((last - first) / interval, samples / (interval / 60.0)), 0.0)


def widening(sure: Any, gain: float, exponent: float) -> Any:
    """The factor for a bound. Without any confidence it is infinite or 0, by the sign of the exponent."""
    if not isinstance(sure, np.ndarray):
        return widening_of_one(sure, gain, exponent)
    with np.errstate(divide="ignore", over="ignore"):
        return np.power(1.0 + np.divide(gain, sure), exponent)


def widening_of_one(sure: float, gain: float, exponent: float) -> float:
    wide: float = 1.0 + (gain / sure if sure else inf)
    # Whole exponents are computed by multiplying, as upstream does.
    if exponent == 1.0:
        return wide
    return 1.0 / (wide * wide) if exponent == -2.0 else wide**exponent


def with_confidence(amount: Any, factor: Any) -> Any:
    """Multiply an amount by a factor. 0 stays 0 even if the factor is infinite."""
    if not isinstance(amount, np.ndarray):
        return scale(amount, factor)
    with np.errstate(invalid="ignore"):
        return whole(amount * factor)


def share(minimum: Any, containers: Any) -> Any:
    """The share of each container in the pod's minimum."""
    return whole(minimum * (1.0 / containers))


def bounds(low: Any, middle: Any, high: Any, margin: float, sure: Any, least: Any) -> tuple[Any, Any, Any]:
    """Lower bound, target and upper bound from three percentiles."""
    lower, upper = bounds_around(asked(low, margin), asked(high, margin), narrower(sure), wider(sure), least)
    return lower, larger(asked(middle, margin), least), upper


def asked(percentile: Any, margin: float) -> Any:
    """The request for a percentile of usage."""
    return with_margin(whole(percentile), margin)


def narrower(sure: Any) -> Any:
    """The factor for a lower bound."""
    return widening(sure, LOWER_GAIN, LOWER_EXPONENT)


def wider(sure: Any) -> Any:
    """The factor for an upper bound."""
    return widening(sure, UPPER_GAIN, UPPER_EXPONENT)


def bounds_around(low: Any, high: Any, narrower: Any, wider: Any, least: Any) -> tuple[Any, Any]:
    """Lower and upper bound from the requests for their percentiles."""
    return larger(with_confidence(low, narrower), least), larger(with_confidence(high, wider), least)


def larger(one: Any, other: Any) -> Any:
    return np.maximum(one, other) if isinstance(one, np.ndarray) else max(one, other)


def smaller(one: Any, other: Any) -> Any:
    return np.minimum(one, other) if isinstance(one, np.ndarray) else min(one, other)
