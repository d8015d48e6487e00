"""Amounts of cpu and memory as vertical autoscalers count them: whole millicores, whole bytes.

Observed values are in milli-units, so cpu is the same number in both, and memory is a thousand times smaller here.
"""

from functools import lru_cache
from math import isnan
from typing import TYPE_CHECKING, TypeVar

from hypot.core.quantity import format_milli

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

# One amount, or an array of amounts.
Amounts = TypeVar("Amounts", int, "npt.NDArray[np.int64]")

# The largest amount.
MOST = 10**14
CPU, MEMORY = "cpu", "memory"
MIB = 1024**2
RESOURCES = (CPU, MEMORY)


def from_float(value: float) -> int:
    """Truncate to a whole amount within the valid range. NaN becomes 0."""
    if isnan(value) or value < 0:
        return 0
    return MOST if value > MOST else int(value)


def scale(amount: int, factor: float) -> int:
    return from_float(amount * factor)


def round_up(amount: Amounts, grain: int) -> Amounts:
    """Round up to a multiple of the grain. Zero stays zero; a grain of one or less has no effect."""
    return amount if grain <= 1 else -(-amount // grain) * grain


def of_unit(resource: str, value: float) -> int:
    """The amount for a number of cores or bytes."""
    return from_float(value * 1000.0 if resource == CPU else value)


def to_unit(resource: str, amount: int) -> float:
    """The amount in cores or bytes, the unit of the histograms."""
    return amount / 1000.0 if resource == CPU else float(amount)


def of_milli(resource: str, milli: int) -> int:
    """The amount of an observed quantity; bytes are rounded up."""
    return milli if resource == CPU else -(-milli // 1000)


def to_milli(resource: str, amount: int) -> int:
    return amount if resource == CPU else amount * 1000


def show(resource: str, amount: int) -> str:
    """The quantity, as recommenders write it: `25m`, `250Mi`."""
    return format_milli(to_milli(resource, amount), binary=resource != CPU)


def humanize(memory: int) -> str:
    """Two decimals in the largest unit that fits, `250.00Mi`. Parsing it again may give a slightly different amount."""
    for power, suffix in ((4, "Ti"), (3, "Gi"), (2, "Mi"), (1, "Ki")):
        if memory >= 1024**power:
            return f"{memory / 1024**power:.2f}{suffix}"
    return str(memory)


@lru_cache(16_384)
def readable(resource: str, amount: int) -> str:
    """The quantity as users write it: in binary units if that is exact, else in decimal units."""
    text = show(resource, amount)
    return format_milli(to_milli(resource, amount)) if text.isdigit() else text


@lru_cache(16_384)
def brief(resource: str, amount: int) -> str:
    """The quantity for messages; an approximation if it has too many digits to read."""
    text = readable(resource, amount)
    if resource == CPU or (len(text) <= 6 and not text.isdigit()):
        return text
    for unit, size in (("Ti", 2**40), ("Gi", 2**30), ("Mi", 2**20), ("Ki", 2**10)):
        if amount >= size:
            return f"~{amount / size:.4g}{unit}"
    return f"{text} bytes" if amount else text


def brief_pair(resource: str, one: int, other: int) -> tuple[str, str]:
    """Two quantities for one message: exact if different amounts would look equal."""
    pair = brief(resource, one), brief(resource, other)
    return pair if one == other or pair[0] != pair[1] else (readable(resource, one), readable(resource, other))
