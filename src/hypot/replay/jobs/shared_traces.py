"""Trace rows in shared memory: sending them through a pipe would take half as long as replaying them."""

import os
from collections import Counter, defaultdict
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from mmap import mmap
from multiprocessing import reduction
from typing import Any, NamedTuple

import numpy as np

from hypot.replay.traces.trace import Trace, Unit
from hypot.replay.world.record import Floats

_BYTES = 8


class Slip(NamedTuple):
    """Sent instead of a trace: the position of its rows, one column after the other."""

    start: int
    columns: int
    rows: int
    workload: str
    unit: Unit | None
    source: str
    notes: tuple[str, ...]


class SharedTraces:
    """A file in memory. It has no name, so nothing is left of it, however a process ends."""

    def __init__(self, file: int) -> None:
        self._file = file
        self._numbers: Floats = np.frombuffer(mmap(file, 0))
        self._used = 0
        # Free places by size. Sizes are powers of two, so that a freed place fits the next trace.
        self._free: dict[int, list[int]] = defaultdict(list)
        self._wanted: Counter[int] = Counter()
        self._last: tuple[Trace, Slip] | None = None

    def __reduce__(self) -> Any:
        """A new process gets the same file."""
        return _opened, (reduction.DupFd(self._file),)

    def put(self, trace: Trace) -> Slip | Trace:
        """Written once for consecutive jobs on the same trace; returns the trace itself if there is no room."""
        if self._last is None or self._last[0] is not trace or not self._wanted[self._last[1].start]:
            self._last = self._written(trace)
        if self._last is None:
            return trace
        slip = self._last[1]
        self._wanted[slip.start] += 1
        return slip

    def _written(self, trace: Trace) -> tuple[Trace, Slip] | None:
        columns = [column for column in (trace.times, trace.values, trace.memory) if column is not None]
        if any(column.dtype != self._numbers.dtype for column in columns):
            return None
        start = self._room(_size(len(columns) * len(trace.times)))
        if start is None:
            return None
        slip = Slip(start, len(columns), len(trace.times), trace.workload, trace.unit, trace.source, trace.notes)
        for row, column in zip(self._rows(slip), columns, strict=True):
            row[:] = column
        return trace, slip

    def _room(self, size: int) -> int | None:
        if self._free[size]:
            return self._free[size].pop()
        if self._used + size > len(self._numbers):
            return None
        self._used += size
        return self._used - size

    def _rows(self, slip: Slip) -> Floats:
        return self._numbers[slip.start : slip.start + slip.columns * slip.rows].reshape(slip.columns, slip.rows)

    def take(self, slip: Slip) -> Trace:
        """The trace in shared memory, valid until its slip is given back."""
        rows = self._rows(slip)
        memory = rows[2] if slip.columns > 2 else None
        return Trace(slip.workload, rows[0], rows[1], memory, slip.unit, slip.source, slip.notes)

    def give_back(self, slip: Slip) -> None:
        """Record that one job fewer needs the trace."""
        self._wanted[slip.start] -= 1
        if not self._wanted[slip.start]:
            del self._wanted[slip.start]
            self._free[_size(slip.columns * slip.rows)].append(slip.start)


@contextmanager
def shared_for(numbers: int) -> Iterator[SharedTraces | None]:
    """None if the system has no such files, or none of this size."""
    with ExitStack() as stack:
        shared = None
        with suppress(AttributeError, OSError):
            file = os.memfd_create("hypot-traces")
            stack.callback(os.close, file)
            os.ftruncate(file, _BYTES * max(1, numbers))
            shared = SharedTraces(file)
        yield shared


def _opened(file: Any) -> SharedTraces:
    return SharedTraces(file.detach())


def _size(numbers: int) -> int:
    return 1 << (numbers - 1).bit_length()
