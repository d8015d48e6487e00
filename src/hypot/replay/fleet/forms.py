"""The arguments of compiled code: their types, and the plain numbers that a compiled function gets for them.

numba passes a record by its address, a column by address, shape and strides, and a tuple as its parts.
"""

from collections.abc import Iterator
from ctypes import c_bool, c_double, c_int64
from typing import Any, NamedTuple, TypeAlias

import numpy as np

# A bool is an int too, so it comes first.
_NUMBERS = (bool, int, float)
_C_TYPES: dict[type, Any] = {bool: c_bool, int: c_int64, float: c_double}


class ColumnForm(NamedTuple):
    """An array in C order."""

    of: "np.dtype[Any]"
    dimensions: int


class TupleForm(NamedTuple):
    """A tuple, or a named tuple of this class."""

    kind: type
    parts: tuple[Any, ...]


# A record is described by its dtype, a number by its type.
Form: TypeAlias = "np.dtype[Any] | ColumnForm | TupleForm | type"


def form_of(value: Any) -> Form:
    """Code that was compiled for a form fits every argument of this form."""
    if isinstance(value, tuple):
        return TupleForm(type(value), tuple([form_of(part) for part in value]))
    if isinstance(value, np.void):
        return value.dtype
    if isinstance(value, np.ndarray):
        return ColumnForm(value.dtype, value.ndim)
    return _kind_of(value)


def _kind_of(number: float) -> type:
    for kind in _NUMBERS:
        if isinstance(number, kind):
            return kind
    raise TypeError(f"compiled code cannot get {number!r}")


def c_type_of(number: float) -> Any:
    return _C_TYPES[_kind_of(number)]


def flat(value: Any) -> Iterator[float]:
    """The numbers that a compiled function gets for this argument."""
    if isinstance(value, tuple):
        for part in value:
            yield from flat(part)
    elif isinstance(value, np.void):
        # The record is a view of an array with one element.
        whole: Any = value.base
        yield whole.__array_interface__["data"][0]
    elif isinstance(value, np.ndarray):
        yield from (0, 0, value.size, value.itemsize, value.__array_interface__["data"][0])
        yield from (*value.shape, *value.strides)
    else:
        yield value
