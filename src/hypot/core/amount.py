"""Amounts of cpu and memory as vertical autoscalers count them: whole millicores, whole bytes.

Everything observed is in milli-units, so cpu is the same number in both and memory is a thousand times smaller here.
"""

from functools import lru_cache
from math import isnan
from typing import TYPE_CHECKING, TypeVar

from hypot.core.quantity import format_milli

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

# One amount, or many.
Amounts = TypeVar("Amounts", int, "npt.NDArray[np.int64]")

# The most that an amount can be.
MOST = 10**14
CPU, MEMORY = "cpu", "memory"
RESOURCES = (CPU, MEMORY)


def from_float(value: float) -> int:
    """Cut to a whole amount within range; what is no number is nothing."""
    if isnan(value) or value < 0:
        return 0
    return MOST if value > MOST else int(value)


def scale(amount: int, factor: float) -> int:
    return from_float(amount * factor)


def round_up(amount: Amounts, grain: int) -> Amounts:
    """Up to a multiple of the grain; zero stays zero, and a grain of one or less is none."""
    return amount if grain <= 1 else -(-amount // grain) * grain


def of_unit(resource: str, value: float) -> int:
    """The amount of so many cores or bytes."""
    return from_float(value * 1000.0 if resource == CPU else value)


def to_unit(resource: str, amount: int) -> float:
    """Cores or bytes, which is what histograms hold."""
    return amount / 1000.0 if resource == CPU else float(amount)


def of_milli(resource: str, milli: int) -> int:
    """The amount of an observed quantity; a part of a byte is a whole one."""
    return milli if resource == CPU else -(-milli // 1000)


def to_milli(resource: str, amount: int) -> int:
    return amount if resource == CPU else amount * 1000


def show(resource: str, amount: int) -> str:
    """The quantity, as recommenders write it: `25m`, `250Mi`."""
    return format_milli(to_milli(resource, amount), binary=resource != CPU)


def humanize(memory: int) -> str:
    """Two decimals of the largest unit that fits, `250.00Mi`; read again, it may be a little less or more."""
    for power, suffix in ((4, "Ti"), (3, "Gi"), (2, "Mi"), (1, "Ki")):
        if memory >= 1024**power:
            return f"{memory / 1024**power:.2f}{suffix}"
    return str(memory)


@lru_cache(16_384)
def readable(resource: str, amount: int) -> str:
    """The quantity as people write it: in binary units where it comes out even, else in decimal ones."""
    text = show(resource, amount)
    return format_milli(to_milli(resource, amount)) if text.isdigit() else text


@lru_cache(16_384)
def brief(resource: str, amount: int) -> str:
    """For sentences: the quantity, or near it where nobody could read all of its digits."""
    text = readable(resource, amount)
    if resource == CPU or len(text) <= 6:
        return text
    for unit, size in (("Ti", 2**40), ("Gi", 2**30), ("Mi", 2**20), ("Ki", 2**10)):
        if amount >= size:
            return f"~{amount / size:.4g}{unit}"
    return text
