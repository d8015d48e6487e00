"""A table of numbers: one numpy array for each column, rows handed out and taken back."""

from collections.abc import Hashable, Iterator, Mapping
from typing import Any, Generic, NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt

Key = TypeVar("Key", bound=Hashable)

SMALLEST = 16
NONE = -1


class ColumnType(NamedTuple):
    """What a column holds: its type, what a new row has there, and how many numbers a row has."""

    dtype: npt.DTypeLike
    unset: float = 0
    width: int = 0


class Columns:
    """Arrays of equal length that double when they are full, so that rows keep their numbers."""

    def __init__(self, columns: Mapping[str, ColumnType]) -> None:
        self._columns = dict(columns)
        self._arrays = {name: _room(column, SMALLEST) for name, column in self._columns.items()}
        self._capacity = SMALLEST
        self._free: list[int] = []
        self._used = 0

    def __getitem__(self, name: str) -> npt.NDArray[Any]:
        """The whole array, room for more rows included; it is another one after the table has grown."""
        return self._arrays[name]

    def __len__(self) -> int:
        """The highest number of rows that there ever were at once."""
        return self._used

    def new(self) -> int:
        if self._free:
            return self._free.pop()
        if self._used == self._capacity:
            self._grow()
        self._used += 1
        self._unset(self._used - 1)
        return self._used - 1

    def free(self, row: int) -> None:
        """Take a row back; the next one to get it finds it unset."""
        self._unset(row)
        self._free.append(row)

    def _unset(self, row: int) -> None:
        for name, column in self._columns.items():
            self._arrays[name][row] = column.unset

    def _grow(self) -> None:
        """One array at a time, so that only one of them is there twice."""
        self._capacity *= 2
        for name, column in self._columns.items():
            grown = _room(column, self._capacity)
            grown[: self._used] = self._arrays[name]
            self._arrays[name] = grown


def _room(column: ColumnType, rows: int) -> npt.NDArray[Any]:
    """Not written to, for then the system gives no memory to it."""
    return np.zeros((rows, column.width) if column.width else (rows,), column.dtype)


class Chains(Generic[Key]):
    """Rows by key, a few to each: the first in a dictionary, the next of each in a column, which starts as NONE.

    A dictionary for each key would take more memory than all columns together.
    """

    def __init__(self, table: Columns, column: str) -> None:
        self._table = table
        self._column = column
        self._heads: dict[Key, int] = {}
        self._keys: list[Key] = []

    def __iter__(self) -> Iterator[Key]:
        return iter(self._heads)

    def rows(self, key: Key) -> Iterator[int]:
        """Those put last come first."""
        row = self._heads.get(key, NONE)
        while row != NONE:
            yield row
            row = int(self._table[self._column][row])

    def key(self, row: int) -> Key:
        return self._keys[row]

    def put(self, key: Key, row: int) -> None:
        head = self._heads.get(key, NONE)
        self._table[self._column][row] = head
        self._heads[key] = row
        if row == len(self._keys):
            self._keys.append(key)
        # Equal keys are kept once.
        self._keys[row] = key if head == NONE else self._keys[head]

    def take(self, row: int) -> None:
        """Out of its chain; the row itself is still there."""
        key = self._keys[row]
        kept = [other for other in self.rows(key) if other != row]
        self._heads.pop(key)
        for other in reversed(kept):
            self._table[self._column][other] = self._heads.get(key, NONE)
            self._heads[key] = other
