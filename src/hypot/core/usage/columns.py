"""A table of numbers: one numpy array per column, with rows that are allocated and freed."""

from collections.abc import Hashable, Iterator, Mapping
from typing import Any, Generic, NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt

Key = TypeVar("Key", bound=Hashable)

SMALLEST = 16
NONE = -1


class ColumnType(NamedTuple):
    """The definition of a column: its type, the value in a new row, and the numbers per row."""

    dtype: npt.DTypeLike
    unset: float = 0
    width: int = 0


class Columns:
    """Arrays of equal length that double when they are full. Rows keep their indexes."""

    def __init__(self, columns: Mapping[str, ColumnType]) -> None:
        self._columns = dict(columns)
        self._arrays = {name: _room(column, SMALLEST) for name, column in self._columns.items()}
        self._capacity = SMALLEST
        self._free: list[int] = []
        self._used = 0

    def __getitem__(self, name: str) -> npt.NDArray[Any]:
        """The whole array, including spare rows. It is replaced when the table grows."""
        return self._arrays[name]

    def __len__(self) -> int:
        """The highest number of rows that were ever in use at once."""
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
        """Free a row and reset it for its next use."""
        self._unset(row)
        self._free.append(row)

    def _unset(self, row: int) -> None:
        for name, column in self._columns.items():
            self._arrays[name][row] = column.unset

    def _grow(self) -> None:
        """Copy one array at a time, so that only one of them is in memory twice."""
        self._capacity *= 2
        for name, column in self._columns.items():
            grown = _room(column, self._capacity)
            grown[: self._used] = self._arrays[name]
            self._arrays[name] = grown


def _room(column: ColumnType, rows: int) -> npt.NDArray[Any]:
    """A new array that is not written to: until then the system allocates no memory for it."""
    return np.zeros((rows, column.width) if column.width else (rows,), column.dtype)


class Chains(Generic[Key]):
    """Rows by key, a few per key: the first row is in a dictionary, the next of each row in a column, initially NONE.

    A dictionary per key would take more memory than all columns together.
    """

    def __init__(self, table: Columns, column: str) -> None:
        self._table = table
        self._column = column
        self._heads: dict[Key, int] = {}
        self._keys: list[Key] = []

    def __iter__(self) -> Iterator[Key]:
        return iter(self._heads)

    def rows(self, key: Key) -> Iterator[int]:
        """The rows of a key, newest first."""
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
        # Of equal keys only one object is kept.
        self._keys[row] = key if head == NONE else self._keys[head]

    def take(self, row: int) -> None:
        """Remove a row from its chain. The row itself is not freed."""
        key = self._keys[row]
        kept = [other for other in self.rows(key) if other != row]
        self._heads.pop(key)
        for other in reversed(kept):
            self._table[self._column][other] = self._heads.get(key, NONE)
            self._heads[key] = other
