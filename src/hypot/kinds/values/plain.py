"""What authors give, in the types that a manifest has."""

from collections.abc import Iterable, Mapping
from decimal import Decimal
from enum import Enum
from numbers import Integral, Real
from typing import Any

from hypot.core.quantity import Quantity

# An amount as an author may give it; it is kept as text or as a number.
GivenAmount = str | int | float | Decimal | Quantity
_JSON_SCALARS = frozenset({str, int, float, bool, type(None)})
# Beyond this, an exact decimal number stays text.
_MOST_DIGITS = 18
# Nothing that an author writes is deeper; a list that contains itself is.
_DEEPEST = 64


def plain(value: Any, depth: int = 0) -> Any:
    """A copy in the types of JSON: quantities, decimals, and numbers of numpy too. What has no such type stays."""
    kind = type(value)
    if kind in _JSON_SCALARS or depth > _DEEPEST:
        return value
    if isinstance(value, Mapping):
        return {plain(key): plain(item, depth + 1) for key, item in value.items()}
    if kind in {list, tuple}:
        return [plain(item, depth + 1) for item in value]
    return _plain_scalar(value)


def copied(data: Any, depth: int = 0) -> Any:
    """A copy of decoded JSON, in whatever type its values are. Much faster than `deepcopy`."""
    if depth > _DEEPEST:
        return data
    if type(data) is dict:
        return {key: value if type(value) in _JSON_SCALARS else copied(value, depth + 1) for key, value in data.items()}
    if type(data) is list:
        return [value if type(value) in _JSON_SCALARS else copied(value, depth + 1) for value in data]
    return data


def _plain_scalar(value: Any) -> Any:
    if isinstance(value, Quantity):
        return str(value)
    if isinstance(value, str):
        return str.__str__(value)
    if isinstance(value, Decimal):
        return _plain_decimal(value)
    if isinstance(value, Integral):
        return _whole(value)
    if isinstance(value, Enum):
        return plain(value.value, _DEEPEST)
    return float(value) if isinstance(value, Real) else value


def _whole(value: Any) -> Any:
    try:
        return int(value)
    except TypeError:  # numpy counts its timedelta64 among the numbers
        return value


def _plain_decimal(value: Decimal) -> int | str:
    whole = value.is_finite() and value.adjusted() < _MOST_DIGITS and value == value.to_integral_value()
    return int(value) if whole else str(value)


def listed(given: Any, item: type) -> Any:
    """One item or several as a tuple. What is neither stays."""
    if isinstance(given, item):
        return (given,)
    if isinstance(given, str | bytes | Mapping) or not isinstance(given, Iterable):
        return given
    try:
        return tuple(given)
    except TypeError:  # a class whose instances are iterable
        return given
