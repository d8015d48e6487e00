"""Reads the metadata of a Parquet file to learn how much it would unpack to, before anything is unpacked.

polars does not expose these numbers. It allocates as much memory as they say. If they are damaged and there is not
that much memory, the whole process dies. So this module also checks that the numbers agree with each other.
"""

import mmap
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import polars as pl

from hypot.replay.traces.columns import Content, TableScan, find_columns
from hypot.replay.traces.format import MAGIC
from hypot.replay.traces.reading import TraceReading
from hypot.replay.traces.trace import MAX_BYTES, MAX_ROWS, TraceError

_TRUE, _FALSE, _BYTE, _DOUBLE, _BINARY, _LIST, _SET, _MAP, _STRUCT = 1, 2, 3, 7, 8, 9, 10, 11, 12
_INTEGERS = (4, 5, 6)
_DEEPEST = 16


class ThriftError(ValueError):
    """These bytes are not a Thrift struct, or the struct is cut off."""


class Bytes(Protocol):
    """Bytes in memory or in a mapped file."""

    def __getitem__(self, index: Any, /) -> Any: ...
    def __len__(self) -> int: ...


class Compact:
    """Reads structs as mappings from field number to value; `at` is the position after the last struct read."""

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
        raise ThriftError("unknown type")

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
                raise ThriftError("number too long")
        return value | byte << shift

    def _integer(self) -> int:
        value = self._varint()
        return value >> 1 ^ -(value & 1)


_TAIL = 8
_MAX_FOOTER = 64 * 2**20
# A number takes this many bytes once it is unpacked, however well a column of equal numbers is compressed.
_NUMBER = 8
# Limits for a file that is read in parts: its rows (row numbers have 32 bits), and the bytes unpacked at once.
MAX_FLEET_ROWS = 4_000_000_000
MAX_GROUP_BYTES = 2**29

# Field numbers of parquet.thrift: FileMetaData, RowGroup, ColumnChunk, ColumnMetaData, PageHeader and what is in it.
_FILE_ROWS, _GROUPS = 3, 4
_CHUNKS, _GROUP_ROWS = 1, 3
_META = 3
_PATH, _VALUES, _UNPACKED, _PACKED, _DATA_AT, _DICTIONARY_AT = 3, 5, 6, 7, 9, 11
_PAGE_UNPACKED, _PAGE_PACKED, _DATA_PAGE, _DICTIONARY_PAGE, _DATA_PAGE_2 = 2, 3, 5, 7, 8
_PAGE_VALUES = 1


class Extent(NamedTuple):
    """What some columns of a file unpack to."""

    rows: int
    size: int
    # The size of the largest row group, in bytes.
    group: int


def open_parquet(file: str, said: TraceReading) -> TableScan:
    scan = partial(pl.scan_parquet, Path(file).absolute(), glob=False, hive_partitioning=False)
    try:
        schema = pl.read_parquet_schema(Path(file).absolute())
        frame = scan()
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException) as error:
        raise TraceError(broken_parquet(file)) from error
    names, kinds = list(schema), list(schema.values())
    columns = find_columns(file, names, said, lambda place: _content(kinds[place]))
    try:
        extent = measure(file, {names[place] for place in columns.wanted()})
    except (LookupError, TypeError, AttributeError, ValueError) as error:
        raise TraceError(broken_parquet(file)) from error
    if extent.rows > MAX_ROWS or extent.size > MAX_BYTES:
        _refuse_what_cannot_be_parted(file, extent, is_fleet=columns.workload is not None)
    return TableScan(
        frame, list(schema.items()), names, columns, 1, extent.rows, lambda _: broken_parquet(file), extent.size, scan
    )


def _content(kind: pl.DataType) -> Content:
    return "number" if kind.is_numeric() else "time" if isinstance(kind, pl.Datetime) else ""


def _refuse_what_cannot_be_parted(file: str, extent: Extent, *, is_fleet: bool) -> None:
    """A fleet is unpacked part by part, but a row group is the smallest unit."""
    if not is_fleet:
        raise TraceError(
            f"{file}: would unpack to {extent.rows:,} rows and {extent.size / 2**30:.1f} GiB, the limit is "
            f"{MAX_ROWS:,} rows and {MAX_BYTES / 2**30:.3g} GiB for one workload: split it by workload or by time"
        )
    if extent.rows > MAX_FLEET_ROWS:
        raise TraceError(f"{file}: has {extent.rows:,} rows, the limit is {MAX_FLEET_ROWS:,}: split it by workload")
    if extent.group > MAX_GROUP_BYTES:
        raise TraceError(
            f"{file}: has a row group that would unpack to {extent.group / 2**30:.1f} GiB, the limit is "
            f"{MAX_GROUP_BYTES / 2**30:.3g} GiB: write it with row groups of a million rows"
        )


def broken_parquet(file: str) -> str:
    return f"{file}: is not a complete Parquet file: it is damaged, or was cut off; write it again"


def measure(file: str, wanted: set[str]) -> Extent:
    """How much the wanted columns unpack to. Any error means that the file is damaged."""
    with Path(file).open("rb") as stream, mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ) as data:
        end = len(data) - _TAIL
        length = int.from_bytes(data[end : end + 4], "little")
        if data[-4:] != MAGIC or not 0 < length <= min(_MAX_FOOTER, end):
            raise ThriftError("no footer")
        footer = Compact(data[end - length : end]).struct()
        sizes = [sum(_sizes(data, group, wanted)) for group in footer[_GROUPS]]
    rows = sum(group[_GROUP_ROWS] for group in footer[_GROUPS])
    if rows != footer[_FILE_ROWS]:
        raise ThriftError("row counts disagree")
    return Extent(rows, sum(sizes), max(sizes, default=0))


def _sizes(data: mmap.mmap, group: dict[int, Any], wanted: set[str]) -> Iterator[int]:
    for chunk in group[_CHUNKS]:
        if chunk[_META][_PATH][0].decode() in wanted:
            yield _measured(data, chunk[_META], group[_GROUP_ROWS])


def _measured(data: mmap.mmap, chunk: dict[int, Any], rows: int) -> int:
    """How many bytes a chunk unpacks to, as its metadata state. Raises if a page does not fit into that."""
    values, unpacked = chunk[_VALUES], chunk[_UNPACKED]
    at = min(chunk[_DATA_AT], chunk.get(_DICTIONARY_AT) or chunk[_DATA_AT])
    end = at + chunk[_PACKED]
    if not (0 <= at <= end <= len(data)) or (len(chunk[_PATH]) == 1 and values != rows):
        raise ThriftError("a column is not where it should be")
    seen = 0
    while at < end and seen < values:
        page = Compact(data, at)
        header = page.struct()
        at = page.at + header[_PAGE_PACKED]
        inside = header.get(_DATA_PAGE) or header.get(_DATA_PAGE_2) or header.get(_DICTIONARY_PAGE) or {_PAGE_VALUES: 0}
        fits = 0 <= header[_PAGE_UNPACKED] <= unpacked and 0 <= inside[_PAGE_VALUES] <= values - seen
        if not fits or not page.at <= at <= end:
            raise ThriftError("a page does not fit into its column")
        seen += inside[_PAGE_VALUES] if _DICTIONARY_PAGE not in header else 0
    if seen != values:
        raise ThriftError("values are missing")
    return int(max(unpacked, _NUMBER * values))
