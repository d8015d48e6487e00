"""Reads a small CSV file without polars, which takes longer to import than such a file takes to read.

Only a file without any fault is read here: two columns, plain numbers, seconds. Everything else is left to `files`.
"""

import io
from contextlib import suppress
from pathlib import Path

import numpy as np

from hypot.replay.traces.columns import find_columns
from hypot.replay.traces.format import begin_of
from hypot.replay.traces.make import Origin, TraceRows, make_trace
from hypot.replay.traces.reading import TraceReading
from hypot.replay.traces.trace import END_OF_SECONDS, MAX_VALUE, TimeWindow, Trace

# polars reads a larger file faster, even if it must be imported first.
MAX_PLAIN_BYTES = 8 * 2**20
# numpy and polars read the same numbers from these characters.
_NUMBERS = b"0123456789+-.eE,\n"
_FIRST_ROW = 2


def plain_trace(path: str, window: TimeWindow, said: TraceReading) -> Trace | None:
    """The trace, cut to the window; None if the file is not plain, or if anything is wrong with it."""
    with suppress(OSError, ValueError):
        size, begin = begin_of(path)
        if size <= MAX_PLAIN_BYTES and begin[:1].isalpha() and said.decimal != ",":
            return _read(path, window, said)
    return None


def _read(path: str, window: TimeWindow, said: TraceReading) -> Trace | None:
    header, _, text = Path(path).read_bytes().partition(b"\n")
    names = header.decode("ascii").split(",")
    columns = find_columns(path, names, said, lambda _: "number")
    lines = text.count(b"\n") + (not text.endswith(b"\n"))
    if len(names) != 2 or text.count(b",") != lines or text.translate(None, _NUMBERS):
        return None
    cells = np.loadtxt(io.BytesIO(text), delimiter=",", comments=None, ndmin=2)
    times, values = np.ascontiguousarray(cells[:, [columns.time, *columns.values]].T)
    fine = (np.abs(times) < END_OF_SECONDS) & (values >= 0) & (values <= MAX_VALUE)
    if len(cells) != lines or not fine.all():
        return None
    start = -np.inf if window.start is None else window.start
    end = np.inf if window.end is None else window.end
    rows = TraceRows(times, values, None, np.arange(_FIRST_ROW, _FIRST_ROW + lines, dtype=np.uint32))
    origin = Origin(path, columns.unit, columns.notes, columns.assumed, said.sum, said.unit is not None)
    return make_trace(Path(path).stem, rows.at((start <= times) & (times <= end)), origin)
