"""From percentiles of usage to a recommended size: margin, confidence, minimum, in this order.

Every function takes plain numbers, or arrays element by element. Amounts in arrays are whole numbers held as doubles.
"""

from math import inf
from typing import Any

import numpy as np

from hypot.core.amount import MOST, from_float, scale

# How little is known widens the bounds: x (1 + gain / confidence) ** exponent.
LOWER_GAIN, LOWER_EXPONENT = 0.001, -2.0
UPPER_GAIN, UPPER_EXPONENT = 1.0, 1.0


def whole(value: Any) -> Any:
    """Cut to whole amounts within range; what is no number is nothing."""
    if isinstance(value, np.ndarray):
        return np.floor(np.fmin(np.fmax(value, 0.0), MOST))
    return from_float(value)


def with_margin(amount: Any, margin: float) -> Any:
    """The margin is cut to a whole amount, not the sum."""
    return amount + whole(amount * margin)


def confidence(first: Any, last: Any, samples: Any, interval: float) -> Any:
    """How much is known, in intervals: by the time between two samples and by their number, one a minute."""
    return larger(smaller((last - first) / interval, samples / (interval / 60.0)), 0.0)


def widening(sure: Any, gain: float, exponent: float) -> Any:
    """Without any confidence it is all or nothing, by the sign of the exponent."""
    if not isinstance(sure, np.ndarray):
        return widening_of_one(sure, gain, exponent)
    with np.errstate(divide="ignore", over="ignore"):
        return np.power(1.0 + np.divide(gain, sure), exponent)


def widening_of_one(sure: float, gain: float, exponent: float) -> float:
    wide: float = 1.0 + (gain / sure if sure else inf)
    # Whole exponents by multiplying, as upstream's power does.
    if exponent == 1.0:
        return wide
    return 1.0 / (wide * wide) if exponent == -2.0 else wide**exponent


def with_confidence(amount: Any, factor: Any) -> Any:
    """Nothing stays nothing, however wide."""
    if not isinstance(amount, np.ndarray):
        return scale(amount, factor)
    with np.errstate(invalid="ignore"):
        return whole(amount * factor)


def share(minimum: Any, containers: Any) -> Any:
    """What each container of a pod gets of the pod's minimum."""
    return whole(minimum * (1.0 / containers))


def bounds(low: Any, middle: Any, high: Any, margin: float, sure: Any, least: Any) -> tuple[Any, Any, Any]:
    """Lower bound, target and upper bound from three percentiles."""
    lower, upper = bounds_around(asked(low, margin), asked(high, margin), narrower(sure), wider(sure), least)
    return lower, larger(asked(middle, margin), least), upper


def asked(percentile: Any, margin: float) -> Any:
    """What a percentile of usage asks for."""
    return with_margin(whole(percentile), margin)


def narrower(sure: Any) -> Any:
    """By what a lower bound is multiplied."""
    return widening(sure, LOWER_GAIN, LOWER_EXPONENT)


def wider(sure: Any) -> Any:
    """By what an upper bound is multiplied."""
    return widening(sure, UPPER_GAIN, UPPER_EXPONENT)


def bounds_around(low: Any, high: Any, narrower: Any, wider: Any, least: Any) -> tuple[Any, Any]:
    """Lower and upper bound from what their percentiles ask for."""
    return larger(with_confidence(low, narrower), least), larger(with_confidence(high, wider), least)


def larger(one: Any, other: Any) -> Any:
    return np.maximum(one, other) if isinstance(one, np.ndarray) else max(one, other)


def smaller(one: Any, other: Any) -> Any:
    return np.minimum(one, other) if isinstance(one, np.ndarray) else min(one, other)
