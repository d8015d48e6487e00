"""Files of random history: what is written is read, and damage is reported."""

import csv
import gzip
import io
import itertools
import json
import random
import sys
from datetime import datetime
from pathlib import Path
from zoneinfo import ZoneInfo

import numpy as np
import polars as pl
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from hypot.replay.traces import parts
from hypot.replay.traces.history import open_history, read_traces
from hypot.replay.traces.plain_csv import plain_trace
from hypot.replay.traces.reading import NOTHING_SAID, TraceReading
from hypot.replay.traces.trace import MAX_VALUE, TimeWindow, TraceError

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
    found = plain_trace(str(path), window, NOTHING_SAID)
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


ROUND = 1_767_571_200
spans = st.lists(st.sampled_from([15, 60, 60, 60, 300, 3600]), min_size=2, max_size=12)
amounts = st.one_of(st.none(), st.integers(0, 10_000_000).map(lambda number: number / 1000))
zones = st.sampled_from(["", "UTC", "Europe/Berlin", "America/Sao_Paulo", "Asia/Kolkata"])


@st.composite
def exports(draw):
    """Series on one grid of times, and a dialect that a program could have written them in."""
    names = draw(st.lists(names_of_columns, min_size=1, max_size=3, unique_by=lambda name: name.lower()))
    begin = draw(st.sampled_from([ROUND, 1_792_879_200, 1_774_738_800])) + draw(st.integers(0, 90)) * 60
    times = list(itertools.accumulate([begin, *draw(spans)]))
    columns = [draw(st.lists(amounts, min_size=len(times), max_size=len(times))) for _ in names]
    assume(all(sum(value is not None for value in column) > 1 for column in columns))
    return names, times, columns


names_of_columns = st.text(st.characters(codec="utf-8", exclude_categories=("C", "Z")), min_size=1, max_size=6).map(
    lambda name: f"w{name}"
)


def number_text(value, decimal, group):
    if value is None:
        return ""
    return f"{value:,.3f}".replace(",", "_").replace(".", decimal).replace("_", group)


def time_text(at, form, zone):
    if form == "seconds":
        return str(at)
    if form == "milliseconds":
        return str(at * 1000)
    clock = datetime.fromtimestamp(at, ZoneInfo(zone or "UTC"))
    if form == "dotted":
        return clock.strftime("%d.%m.%Y %H:%M:%S")
    if form == "offset":
        return clock.isoformat()
    return clock.strftime("%Y-%m-%d %H:%M:%S")


@given(
    exports(),
    st.sampled_from([",", ";", "\t"]),
    st.sampled_from([(".", ""), (",", ""), (".", ","), (",", "."), (",", "\u202f"), (".", "'")]),
    st.sampled_from(["seconds", "milliseconds", "local", "dotted", "offset"]),
    zones,
    st.sampled_from(["", "sep", "bom", "utf-16", "gzip"]),
    st.booleans(),
)
@settings(max_examples=300, deadline=None)
def test_an_export_in_any_dialect_is_read_as_the_same_demand(folder, export, mark, numbers, form, zone, wrap, said):
    """Whatever separates fields, decimals and thousands, in whatever zone; what the file leaves open is said."""
    names, times, columns = export
    decimal, group = numbers
    rows = [["Time", *names]]
    rows += [
        [time_text(at, form, zone), *(number_text(value, decimal, group) for value in values)]
        for at, *values in zip(times, *columns, strict=True)
    ]
    stream = io.StringIO()
    csv.writer(stream, delimiter=mark, lineterminator="\r\n").writerows(rows)
    text = (f"sep={mark}\r\n" if wrap == "sep" else "") + stream.getvalue()
    content = {"bom": text.encode("utf-8-sig"), "utf-16": text.encode("utf-16")}.get(wrap, text.encode())
    path = folder / "export.csv"
    path.write_bytes(gzip.compress(content) if wrap == "gzip" else content)
    reading = TraceReading(value=tuple(names) if said else (), zone=zone, decimal=decimal)
    traces = read_traces([str(path)], said=reading)
    assert [one.workload for one in traces] == (names if len(names) > 1 else ["export"])
    for trace, column in zip(traces, columns, strict=True):
        known = [(at, value) for at, value in zip(times, column, strict=True) if value is not None]
        assert list(zip(trace.times.tolist(), trace.values.tolist(), strict=True)) == known
        keys = {one.key for one in trace.assumed}
        assert keys == ({"value"} if not said else set()) | (
            {"zone"} if form in {"local", "dotted"} and not zone else set()
        )


@given(exports(), st.booleans(), st.sampled_from(["answer", "promtool"]))
@settings(max_examples=60, deadline=None)
def test_an_answer_of_prometheus_is_read_as_the_same_demand(folder, export, gap, form):
    """Missing points are left out of it, or are NaN."""
    names, times, columns = export
    result = [
        {
            "metric": {"deployment": name},
            "values": [
                [at, "NaN" if value is None else repr(value)]
                for at, value in zip(times, column, strict=True)
                if gap or value is not None
            ],
        }
        for name, column in zip(names, columns, strict=True)
    ]
    whole = {"status": "success", "data": {"resultType": "matrix", "result": result}}
    path = folder / "answer.json"
    path.write_text(json.dumps(whole if form == "answer" else result), encoding="utf-8")
    for trace, name, column in zip(read_traces([str(path)]), names, columns, strict=True):
        known = [(at, value) for at, value in zip(times, column, strict=True) if value is not None]
        assert trace.workload == name
        assert list(zip(trace.times.tolist(), trace.values.tolist(), strict=True)) == known


pieces = st.one_of(
    st.sampled_from(
        [
            "time",
            "rps",
            ",",
            ";",
            "\t",
            "\n",
            "\r\n",
            '"',
            "1",
            "1,5",
            "1.234",
            "1e308",
            "NaN",
            "+Inf",
            "12 req/s",
            "sep=;",
        ]
    ),
    st.sampled_from(
        ["{", "}", "[", "]", ":", '"values"', '"metric"', '"result"', '"data"', "null", "2026-01-05 10:00:00"]
    ),
    st.text(max_size=3),
)
readings = st.builds(
    TraceReading,
    time=st.sampled_from(["", "1", "time"]),
    value=st.sampled_from([(), ("2",), ("rps",), ("1", "2", "3")]),
    name=st.sampled_from(["", "3"]),
    workload=st.sampled_from([(), ("garbage",)]),
    unit=st.sampled_from([None, "requests", "cores"]),
    zone=zones,
    decimal=st.sampled_from(["", ".", ","]),
    sum=st.booleans(),
)


@given(
    st.lists(pieces, max_size=30).map("".join), st.binary(max_size=4), st.sampled_from(["", "gzip", "utf-16"]), readings
)
@settings(max_examples=400, deadline=None)
def test_garbage_never_ends_in_a_traceback(folder, text, junk, wrap, said):
    """It is read, or refused by the name of the file."""
    content = text.encode("utf-16" if wrap == "utf-16" else "utf-8", "surrogatepass") + junk
    path = folder / "garbage.csv"
    path.write_bytes(gzip.compress(content) if wrap == "gzip" else content)
    try:
        traces = read_traces([str(path)], said=said)
    except TraceError as error:
        assert all(line.startswith((f"{path}:", "no workload is called")) for line in error.problems)  # noqa: PT017
    else:
        assert all(np.isfinite(trace.times).all() and (trace.values <= MAX_VALUE).all() for trace in traces)
