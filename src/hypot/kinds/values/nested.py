"""Reads decoded JSON of any form: what is absent, or not a mapping, counts as empty."""

from collections.abc import Iterator
from typing import Any

from hypot.core.quantity import QuantityError, milli


def inner(data: Any, *keys: str) -> dict[str, Any]:
    """The mapping at this path; empty if there is none."""
    for key in keys:
        data = data.get(key) if isinstance(data, dict) else None
    return data if isinstance(data, dict) else {}


def mappings(value: Any) -> Iterator[dict[str, Any]]:
    """The mappings of a list."""
    return (item for item in value if isinstance(item, dict)) if isinstance(value, list) else iter(())


def amount(value: Any) -> int | None:
    """The quantity in milli-units, or None if the value is not a quantity."""
    try:
        return None if value is None else milli(value)
    except QuantityError:
        return None
