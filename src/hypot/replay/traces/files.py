"""Opens one file, detects its format by its first bytes, and reads its traces."""

import stat
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import polars as pl

from hypot.replay.traces.columns import Opened, WorkloadBatch
from hypot.replay.traces.csv_file import open_csv
from hypot.replay.traces.parquet import MAGIC, open_parquet
from hypot.replay.traces.parts import parts_of
from hypot.replay.traces.rows import Across, traces_of
from hypot.replay.traces.table import read_table
from hypot.replay.traces.trace import TimeWindow, Trace, TraceError, fewest

_PACKED = {b"\x1f\x8b": "gzip", b"\x28\xb5\x2f\xfd": "zstd", b"PK\x03\x04": "zip", b"BZh": "bzip2", b"\xfd7zXZ": "xz"}
_PACKED |= {b"x\x01": "zlib", b"x\x5e": "zlib", b"x\x9c": "zlib", b"x\xda": "zlib"}
_LOOK = 4096


class File(NamedTuple):
    """A file and the parts in which it is read."""

    path: str
    opened: Opened
    parts: list[WorkloadBatch]


def open_file(path: str, progress: Callable[[int, int], None]) -> File:
    """Reads what is needed to find the parts: for a large fleet, the workload names, with progress reported in rows."""
    size, parquet = _inspected(path)
    if not parquet:
        opened = open_csv(path, size)
        return File(path, opened, [opened.whole])
    opened = open_parquet(path)
    try:
        return File(path, opened, parts_of(path, opened, progress))
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException) as error:
        raise TraceError(opened.broken(str(error))) from error


def read_file(file: File, window: TimeWindow) -> Iterator[Trace]:
    """Its traces, part by part. After the first problem, it only looks for further problems and raises all of them.

    Some notes are known only at the end. They are added to the last trace, so one trace is always held back.
    """
    across = Across(file.path, window)
    held: deque[Trace] = deque()
    problems: list[str] = []
    for part in file.parts:
        try:
            held.extend(_read(file, part, across))
        except TraceError as error:
            problems += error.problems
        while not problems and len(held) > 1 and part is not file.parts[-1]:
            yield held.popleft()
        if problems:
            held.clear()
    try:
        notes = across.notes(is_fleet=file.opened.columns.workload is not None)
    except TraceError as error:
        problems += error.problems
    if problems:
        raise TraceError(*(fewest(problems, file.path) if len(file.parts) > 1 else problems))
    for trace in held:
        yield replace(trace, notes=trace.notes + notes)


def _read(file: File, part: WorkloadBatch, across: Across) -> list[Trace]:
    try:
        return traces_of(read_table(file.path, file.opened, part), across)
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException) as error:
        raise TraceError(file.opened.broken(str(error))) from error


def _inspected(path: str) -> tuple[int, bool]:
    """The size of a file and whether it is Parquet. Raises if it is not a file, or is compressed."""
    if path == "-":
        raise TraceError("-: standard input cannot be read: name a file")
    try:
        path.encode()
        about = Path(path).stat()
    except FileNotFoundError:
        raise TraceError(f"{path}: no such file") from None
    except ValueError as error:
        raise TraceError(f"{path!r}: is not a valid file name") from error
    if stat.S_ISDIR(about.st_mode):
        raise TraceError(f"{path}: is a directory: name the files in it")
    if not stat.S_ISREG(about.st_mode):
        raise TraceError(f"{path}: is not a regular file")
    if not about.st_size:
        raise TraceError(f"{path}: is empty")
    with Path(path).open("rb") as stream:
        begin = stream.read(_LOOK)
    return about.st_size, _is_parquet(path, begin)


def _is_parquet(path: str, begin: bytes) -> bool:
    if begin.startswith(MAGIC):
        return True
    packed = next((name for magic, name in _PACKED.items() if begin.startswith(magic)), None)
    if packed:
        raise TraceError(f"{path}: is compressed ({packed}): decompress it first, or write it as Parquet")
    if path.lower().endswith((".parquet", ".pq")):
        raise TraceError(f"{path}: is not Parquet, despite its name")
    if begin.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise TraceError(f"{path}: is UTF-16: save the file as UTF-8")
    return False
