"""Files of random history: what is written is read, and damage is reported."""

import csv
import random
import sys
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from hypot.replay.traces import parts
from hypot.replay.traces.history import open_history, read_traces
from hypot.replay.traces.plain_csv import plain_trace
from hypot.replay.traces.trace import TimeWindow, TraceError

seconds = st.one_of(st.integers(0, 2**31), st.floats(0, 2**31, allow_subnormal=False))
numbers = st.floats(0, 1e15)
names = st.text(st.characters(codec="utf-8", exclude_categories=("C", "Z")), min_size=1, max_size=8)
histories = st.dictionaries(
    names, st.dictionaries(seconds.map(float), numbers, min_size=2, max_size=8), min_size=1, max_size=3
)

JUNK = [
    "",
    " ",
    '"',
    '""',
    "'",
    "\n",
    "\r",
    "\0",
    "nan",
    "-inf",
    "1e999",
    "-1",
    "1,5",
    "x",
    "1_0",
    "0x10",
    "2024-03-01",
    "T",
]
ROWS = [("a", 0, 1), ("b", 0, 5), ("a", 60, 2), ("b", 60, 6), ("a", 120, 3), ("b", 120, 7)]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """One folder for all examples, each of which overwrites its file."""
    return tmp_path_factory.mktemp("traces")


def write_csv(path: Path, rows: list[tuple]) -> str:
    with path.open("w", encoding="utf-8", newline="") as stream:
        csv.writer(stream).writerows([("workload", "timestamp_seconds", "value"), *rows])
    return str(path)


def rows_of(history) -> list[tuple]:
    return [(name, at, value) for name, points in history.items() for at, value in sorted(points.items())]


def same(traces, history) -> bool:
    assert [t.workload for t in traces] == list(history)
    return all(
        np.array_equal(trace.times, sorted(points)) and trace.values.tolist() == [points[at] for at in sorted(points)]
        for trace, points in zip(traces, history.values(), strict=True)
    )


@given(histories)
@settings(max_examples=60, deadline=None)
def test_csv_there_and_back(folder, history):
    """What is read equals what was written, bit for bit."""
    assert same(read_traces([write_csv(folder / "a.csv", rows_of(history))]), history)


@given(histories)
@settings(max_examples=60, deadline=None)
def test_parquet_there_and_back(folder, history):
    """What is read equals what was written, bit for bit."""
    pl.DataFrame(rows_of(history), ["workload", "ts", "value"], orient="row").write_parquet(folder / "a.parquet")
    assert same(read_traces([str(folder / "a.parquet")]), history)


@given(histories, st.randoms(use_true_random=False), st.integers(0, 3))
@settings(max_examples=60, deadline=None)
def test_order_and_repetition_do_not_matter(folder, history, chance: random.Random, more):
    """Rows in any order, some of them twice, give the same traces; notes say what was done."""
    rows = rows_of(history)
    shuffled = [*rows, *chance.choices(rows, k=more)]
    chance.shuffle(shuffled)
    traces = {t.workload: t for t in read_traces([write_csv(folder / "a.csv", shuffled)])}
    assert same([traces[name] for name in history], history)
    for name, trace in traces.items():
        times = [at for workload, at, _ in shuffled if workload == name]
        assert any("sorted" in note for note in trace.notes) == (times != sorted(times))
        assert any("repeated" in note for note in trace.notes) == (len(times) > len(history[name]))


digits = st.text("019.-+eE", min_size=1, max_size=5)
plain_rows = st.lists(st.tuples(st.one_of(st.integers(0, 9), seconds), numbers), min_size=2, max_size=6)
odd_rows = st.lists(st.tuples(digits, digits), max_size=1)
windows = st.sampled_from([TimeWindow(), TimeWindow(3), TimeWindow(2, 1e9), TimeWindow(5, 4)])


@given(st.sampled_from(["ts,value", "Time, RPS"]), plain_rows, odd_rows, st.sampled_from(["", "\n", "\n\n"]), windows)
@settings(max_examples=200, deadline=None)
def test_a_plain_file_is_read_as_polars_reads_it(folder, header, rows, odd, end, window):
    """The same numbers, bit for bit, and the same notes; a file with a fault is left to polars."""
    path = folder / "a.csv"
    path.write_text("\n".join([header, *(f"{time},{value}" for time, value in rows + odd)]) + end, encoding="utf-8")
    found = plain_trace(str(path), window)
    try:
        (trace,) = open_history([str(path)], *window)
    except TraceError:
        assert found is None
    else:
        assert found is None or facts_of(found) == facts_of(trace)


def facts_of(trace):
    numbers = trace.times.tobytes(), trace.values.tobytes(), trace.memory
    return (*numbers, trace.workload, trace.unit, trace.source, trace.notes)


def test_polars_is_not_needed_for_a_plain_file(monkeypatch, tmp_path):
    """Rows out of order, repeated or missing are plain, too."""
    monkeypatch.setitem(sys.modules, "polars", None)
    monkeypatch.delitem(sys.modules, "hypot.replay.traces.files", raising=False)
    path = tmp_path / "a.csv"
    path.write_text("ts,value\n0,1\n120,3e-05\n60,2\n60,2\n600,4\n", encoding="utf-8")
    (trace,) = read_traces([str(path)])
    assert trace.values.tolist() == [1, 2, 3e-05, 4]
    assert len(trace.notes) == 3


@given(st.integers(0, len(ROWS) - 1), st.integers(0, 2), st.one_of(st.sampled_from(JUNK), st.text(max_size=6)))
@settings(max_examples=200, deadline=None)
def test_one_damaged_cell_is_reported(folder, row, column, junk):
    """It causes a problem or a note; nothing is misread silently."""
    assume(not is_valid(junk, column) and "\n" not in junk[:-1])
    lines = [[str(cell) for cell in cells] for cells in ROWS]
    lines[row][column] = junk
    text = "\n".join(["workload,ts,value", *(",".join(cells) for cells in lines)])
    path = folder / "a.csv"
    path.write_text(text + "\n", encoding="utf-8", errors="surrogatepass", newline="")
    try:
        traces = read_traces([str(path)])
    except TraceError as error:
        assert all(line.startswith(f"{path}: ") for line in error.problems)  # noqa: PT017  either way is fine
    else:
        assert any(trace.notes for trace in traces)


def is_valid(text: str, column: int) -> bool:
    """Whether a cell could hold this text."""
    plain = text.strip(' "\t\r\n\0')
    if column == 0:
        return plain in {"a", "b"}
    try:
        value = abs(float(plain)) if column == 1 else float(plain)
    except ValueError:
        return False
    return 0 <= value < float("inf")


@given(st.binary(max_size=3), st.data())
@settings(max_examples=200, deadline=None)
def test_damaged_bytes_never_end_in_a_traceback(folder, junk, data):
    """CSV and Parquet files with some bytes overwritten are read, or refused by name."""
    name = data.draw(st.sampled_from(["a.csv", "a.parquet"]))
    path = folder / name
    if name == "a.csv":
        write_csv(path, ROWS)
    else:
        pl.DataFrame(ROWS, ["workload", "ts", "value"], orient="row").write_parquet(path)
    whole = path.read_bytes()
    at = data.draw(st.integers(0, len(whole)))
    path.write_bytes(whole[:at] + junk + whole[at + len(junk) :])
    try:
        traces = read_traces([str(path)])
    except TraceError as error:
        assert all(line.startswith(f"{path}: ") for line in error.problems)  # noqa: PT017  either way is fine
    else:
        assert sum(len(trace.times) for trace in traces) <= len(ROWS) + 1


@settings(max_examples=40)
@given(
    st.lists(st.integers(2, 9), min_size=1, max_size=9),
    st.sampled_from(["workload", "time", "any", "sections"]),
    st.integers(1, 40),
    st.integers(1, 40),
    st.randoms(use_true_random=False),
)
def test_parts_change_nothing(folder, lengths, order, size, group, rng):
    """Traces do not depend on the order of rows, the size of parts, or the row groups."""
    rows = [(f"w{i}", 60 * t, rng.random()) for i, length in enumerate(lengths) for t in range(length)]
    if order == "time":
        rows.sort(key=lambda row: row[1])
    elif order == "any":
        rng.shuffle(rows)
    elif order == "sections":
        half = len(rows) // 2
        rows = sorted(rows[:half], key=lambda row: row[1]) + rows[half:]
    path = folder / "parts.parquet"
    frame = pl.DataFrame(rows, schema=["workload", "ts", "value"], orient="row")
    frame.write_parquet(path, row_group_size=group)
    whole = read_traces([str(path)])
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(parts, "PART_ROWS", size)
        patch.setattr(parts, "SEEN_ROWS", size)
        found = read_traces([str(path)])
    assert [_plain(one) for one in found] == [_plain(one) for one in whole]


def _plain(trace):
    return trace.workload, trace.times.tolist(), trace.values.tolist(), trace.notes
