"""The units of knobs: how values are read and written, and their valid ranges."""

import re
from collections.abc import Callable, Mapping
from dataclasses import field
from math import inf, isfinite
from typing import Any

from hypot.core import amount
from hypot.core.dataclass import dataclass
from hypot.core.quantity import Quantity, format_milli
from hypot.kinds.base import FALSE_WORDS, TRUE_WORDS
from hypot.kinds.node import QUANTITY_PATTERN

_SECONDS_IN = {"h": 3600.0, "m": 60.0, "s": 1.0, "ms": 1e-3, "us": 1e-6, "µs": 1e-6, "ns": 1e-9}
_DIGITS = r"(?:[0-9]+\.?[0-9]*|\.[0-9]+)"
_DURATION_PART = rf"({_DIGITS})(h|ms|m|s|us|µs|ns)"
_DURATION = rf"(?:{_DURATION_PART})+|{_DIGITS}"


def _number(written: Any) -> float:
    if isinstance(written, float):
        return written
    return Quantity.parse(written).nanos / 10**9


def _duration(written: Any) -> float:
    """Seconds as a number, or a duration in Go syntax: `6h30m`."""
    if not isinstance(written, str):
        return _number(written)
    if not re.fullmatch(_DURATION, written):
        raise ValueError(written)
    parts = re.findall(_DURATION_PART, written)
    return sum(float(number) * _SECONDS_IN[unit] for number, unit in parts) if parts else float(written)


def _count(written: Any) -> int:
    number = _number(written)
    if number != int(number):
        raise ValueError(written)
    return int(number)


def _truth(written: Any) -> bool:
    if isinstance(written, bool):
        return written
    if written not in TRUE_WORDS | FALSE_WORDS:
        raise ValueError(written)
    return written in TRUE_WORDS


@dataclass(frozen=True, slots=True)
class Unit:
    """The unit of a knob: how values are read and written, the JSON Schema for a file, and an example."""

    name: str
    read: Callable[[Any], Any]
    show: Callable[[Any], Any]
    schema: Mapping[str, Any]
    example: str


_AMOUNT = {"type": ["string", "number"], "pattern": QUANTITY_PATTERN}
PLAIN = Unit("", _number, float, {"type": "number"}, "a number such as 0.15")
SHARE = Unit("share", _number, float, {"type": "number"}, "a fraction such as 0.9")
SECONDS = Unit(
    "seconds",
    _duration,
    float,
    {"type": ["number", "string"], "pattern": f"^({_DURATION})$"},
    "seconds, or a duration such as 6h30m",
)
COUNT = Unit("", _count, int, {"type": "integer"}, "a whole number such as 2")
TRUTH = Unit("", _truth, bool, {"type": "boolean"}, "true or false")
CPU = Unit(
    "millicores",
    lambda written: Quantity.parse(written).milli,
    lambda millicores: amount.show(amount.CPU, millicores),
    _AMOUNT,
    "a quantity such as 25m",
)
MEMORY = Unit(
    "bytes",
    lambda written: Quantity.parse(written).value,
    lambda size: amount.show(amount.MEMORY, size),
    _AMOUNT,
    "a quantity such as 250Mi",
)


def knob(
    unit: Unit,
    default: Any,
    why: str,
    flag: str = "",
    *,
    least: float = 0,
    most: float = inf,
    above: bool = False,
) -> Any:
    """A field with its description and range. With `above`, the lower end itself is not allowed."""
    described = {"unit": unit.name, "why": why, "flag": flag, "as": unit, "least": least, "most": most, "above": above}
    return field(default=default, metadata=described)


def value_of(f: Any, written: Any) -> Any:
    """The value of the knob as stored. Raises with a message to append to the name and the value."""
    unit: Unit = f.metadata["as"]
    try:
        value = unit.read(written)
    except (ValueError, TypeError, OverflowError) as error:
        raise ValueError(f"is not {unit.example}") from error
    if not isinstance(value, bool) and not _in_range(f.metadata, value):
        raise ValueError(_range_text(f.metadata))
    return value


def _in_range(described: Mapping[str, Any], value: float) -> bool:
    least, most = described["least"], described["most"]
    return isfinite(value) and least <= value <= most and not (described["above"] and value == least)


def _range_text(described: Mapping[str, Any]) -> str:
    unit: Unit = described["as"]
    ends = [f"above {described['least']}" if described["above"] else f"at least {_shown(unit, described['least'])}"]
    if described["most"] != inf:
        ends.append(f"at most {_shown(unit, described['most'])}")
    return f"must be {' and '.join(ends)}"


def _shown(unit: Unit, value: Any) -> Any:
    resource = {CPU.name: amount.CPU, MEMORY.name: amount.MEMORY}.get(unit.name)
    return value if resource is None else format_milli(amount.to_milli(resource, value))
