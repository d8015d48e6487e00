"""Thrift's compact protocol, as far as the metadata of Parquet needs it."""

from collections.abc import Sequence
from typing import Any, Protocol

_TRUE, _FALSE, _BYTE, _DOUBLE, _BINARY, _LIST, _SET, _MAP, _STRUCT = 1, 2, 3, 7, 8, 9, 10, 11, 12
_INTEGERS = (4, 5, 6)
_DEEPEST = 16


class ThriftError(ValueError):
    """These bytes are no struct, or it is cut off."""


class Bytes(Protocol):
    """Bytes in memory or in a mapped file."""

    def __getitem__(self, index: Any, /) -> Any: ...
    def __len__(self) -> int: ...


class Compact:
    """Reads structs as mappings from the number of a field to its value; `at` is the place after the last one."""

    def __init__(self, data: Bytes, at: int = 0) -> None:
        self._data = data
        self.at = at

    def struct(self, depth: int = 0) -> dict[int, Any]:
        fields: dict[int, Any] = {}
        number = 0
        while head := self._byte():
            number = number + (head >> 4) if head >> 4 else self._integer()
            kind = head & 15
            fields[number] = kind == _TRUE if kind in {_TRUE, _FALSE} else self._value(kind, depth)
        return fields

    def _value(self, kind: int, depth: int) -> Any:
        if depth > _DEEPEST:
            raise ThriftError("nested too deeply")
        if kind in _INTEGERS:
            return self._integer()
        if kind == _BINARY:
            return self._take(self._varint())
        if kind == _STRUCT:
            return self.struct(depth + 1)
        if kind in {_LIST, _SET}:
            return self._list(depth + 1)
        if kind == _MAP:
            return self._map(depth + 1)
        if kind == _DOUBLE:
            return self._take(8)
        if kind in {_TRUE, _FALSE, _BYTE}:
            return self._byte()
        raise ThriftError("no such type")

    def _list(self, depth: int) -> Sequence[Any]:
        head = self._byte()
        size = head >> 4 if head >> 4 != 15 else self._varint()
        return [self._value(head & 15, depth) for _ in range(size)]

    def _map(self, depth: int) -> Sequence[Any]:
        size = self._varint()
        kinds = self._byte() if size else 0
        return [(self._value(kinds >> 4, depth), self._value(kinds & 15, depth)) for _ in range(size)]

    def _byte(self) -> int:
        return self._take(1)[0]

    def _take(self, size: int) -> bytes:
        if size > len(self._data) - self.at:
            raise ThriftError("cut off")
        self.at += size
        taken: bytes = self._data[self.at - size : self.at]
        return taken

    def _varint(self) -> int:
        value, shift = 0, 0
        while (byte := self._byte()) & 128:
            value |= (byte & 127) << shift
            shift += 7
            if shift > 63:
                raise ThriftError("too long a number")
        return value | byte << shift

    def _integer(self) -> int:
        value = self._varint()
        return value >> 1 ^ -(value & 1)
