"""History in files."""

import os
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from hypot.replay.traces.history import read_traces
from hypot.replay.traces.trace import Trace

NOON = 1_709_294_400.0


@pytest.fixture
def read(tmp_path, monkeypatch):
    """Reads one CSV of the given text, as `web.csv`."""
    monkeypatch.chdir(tmp_path)

    def reading(text: str, start: float | None = None, end: float | None = None) -> list[Trace]:
        Path("web.csv").write_text(text, encoding="utf-8", newline="")
        return read_traces(["web.csv"], start, end)

    return reading


def parquet(**columns) -> list[Trace]:
    """Reads one Parquet file of the given columns, as `web.parquet`."""
    pl.DataFrame(columns).write_parquet("web.parquet")
    return read_traces(["web.parquet"])


def test_a_plain_file(read):
    """Two columns are enough; the file names the workload."""
    (trace,) = read("timestamp_seconds,value\n0,1.5\n60,2\n120,0\n")
    assert trace.workload == "web"
    assert trace.times.tolist() == [0.0, 60.0, 120.0]
    assert trace.values.tolist() == [1.5, 2.0, 0.0]
    assert (trace.memory, trace.unit, trace.source, trace.notes) == (None, None, "web.csv", ())


def test_a_trace_cannot_be_changed(read):
    """It is shared by all policies that are tried on it."""
    (trace,) = read("ts,value\n0,1\n60,2\n")
    with pytest.raises(ValueError, match="read-only"):
        trace.values[0] = 5.0


@pytest.mark.parametrize("name", ["timestamp_seconds", "timestamp", "time", "ts", " Time ", "TS"])
def test_names_of_the_column_of_times(read, name):
    """Spaces and case do not matter."""
    assert read(f"{name},value\n5,1\n6,2\n")[0].times.tolist() == [5.0, 6.0]


@pytest.mark.parametrize(
    ("name", "unit"),
    [
        ("value", None),
        ("requests", "rps"),
        ("rps", "rps"),
        ("qps", "rps"),
        ("requests_per_second", "rps"),
        ("cores", "cores"),
        ("cpu", "cores"),
    ],
)
def test_the_name_of_the_value_says_its_unit(read, name, unit):
    """Only for `value` the world decides."""
    assert read(f"ts,{name}\n5,1\n6,2\n")[0].unit == unit


def test_memory_comes_along(read):
    """Memory has a column of its own."""
    (trace,) = read("ts,cpu,memory\n5,1,1e9\n6,2,2e9\n")
    assert trace.memory.tolist() == [1e9, 2e9]


def test_a_fleet(read):
    """One trace per workload, in the order of appearance; rows of different workloads may be mixed."""
    traces = read("workload,ts,rps\nweb,0,1\napi,0,5\nweb,60,2\napi,60,6\n")
    assert [(t.workload, t.values.tolist(), t.notes) for t in traces] == [
        ("web", [1.0, 2.0], ()),
        ("api", [5.0, 6.0], ()),
    ]


def test_other_columns_are_ignored(read):
    """A note names them."""
    assert read('ts,value,pod,"a, b"\n0,1,x,y\n60,2,x,"y, z"\n')[0].notes == ("ignored: columns 'pod' and 'a, b'",)


@pytest.mark.parametrize(
    "text",
    [
        "\ufeffts,value\n0,1\n60,2\n",
        "ts,value\r\n0,1\r\n60,2\r\n",
        "ts,value\n0,1\n60,2",
        "ts,value\n0,1\n60,2\n\n\n",
        '"ts","value"\n"0","1"\n"60","2"\n',
        "ts, value\n 0, 1 \n 60,\t2\n",
    ],
    ids=["byte order mark", "carriage returns", "no end of line", "blank lines at the end", "quotes", "blanks"],
)
def test_harmless_differences_of_csv(read, text):
    """They cause no note."""
    (trace,) = read(text)
    assert (trace.times.tolist(), trace.values.tolist(), trace.notes) == ([0.0, 60.0], [1.0, 2.0], ())


@pytest.mark.parametrize("factor", [1e3, 1e6, 1e9], ids=["milliseconds", "microseconds", "nanoseconds"])
def test_smaller_units_of_time_are_known_by_their_size(read, factor, request):
    """Times are never so far in the future that the unit would be unclear."""
    (trace,) = read(f"ts,value\n{NOON * factor:.0f},1\n{(NOON + 60) * factor:.0f},2\n")
    assert trace.times.tolist() == [NOON, NOON + 60]
    word = request.node.callspec.id
    assert trace.notes == (f"times are in {word} (judged by their size) and were converted to seconds",)


@pytest.mark.parametrize(
    ("first", "second", "step", "note"),
    [
        ("2024-03-01T12:00:00Z", "2024-03-01T12:01:00z", 60, None),
        ("2024-03-01T12:00:00.000Z", "2024-03-01T12:00:00.250Z", 0.25, None),
        ("2024-03-01 13:00:00+01:00", "2024-03-01 13:01:00+0100", 60, None),
        ("2024-03-01 12:00:00 UTC", "2024-03-01 12:01:00 GMT", 60, None),
        ("2024-03-01 13:00:00+01", "2024-03-01 13:01:00+01", 60, None),
        ("2024/03/01 12:00:00.000Z", "2024/03/01 12:00:00.500Z", 0.5, None),
        ("01.03.2024 12:00Z", "1.3.2024  12:01Z", 60, None),
        (
            "2024-03-01T13:00:00+01:00",
            "2024-03-01T09:31:00-02:30",
            60,
            "times have different time zones (-02:30 and +01:00); each was read in its own",
        ),
    ],
)
def test_times_as_text(read, first, second, step, note):
    """RFC 3339, and other common formats."""
    (trace,) = read(f"time,value\n{first},1\n{second},2\n")
    assert trace.times.tolist() == [NOON, NOON + step]
    assert trace.notes == ((note,) if note else ())


def test_parquet_dates_with_a_zone(read):  # noqa: ARG001  for its folder
    """They are converted by their zone."""
    at = datetime(2024, 3, 1, 13, tzinfo=timezone(timedelta(hours=1))).astimezone(UTC)
    (trace,) = parquet(timestamp=[at, at + timedelta(minutes=1)], cores=[1, 2])
    assert (trace.times.tolist(), trace.unit, trace.notes) == ([NOON, NOON + 60], "cores", ())


def test_parquet_dates_without_a_zone(read):  # noqa: ARG001  for its folder
    """They are read as UTC, in any precision."""
    at = datetime(2024, 3, 1, 12, tzinfo=UTC).replace(tzinfo=None)
    for precision in ("ms", "us", "ns"):
        times = pl.Series([at, at + timedelta(minutes=1)], dtype=pl.Datetime(precision))
        (trace,) = parquet(timestamp=times, value=[1, 2])
        assert trace.times.tolist() == [NOON, NOON + 60]
        assert [(one.key, one.value) for one in trace.assumed] == [("zone", "UTC")]


def test_parquet_of_other_types(read):  # noqa: ARG001  for its folder
    """Numbers of any type, texts and categories are read."""
    traces = parquet(
        workload=pl.Series(["a", "a", "b", "b"], dtype=pl.Categorical),
        time=["2024-03-01T12:00:00Z", "2024-03-01T12:01:00Z"] * 2,
        value=pl.Series(["1", "2", "3", "4"]).cast(pl.Decimal(10, 2)),
        memory=pl.Series([1, 2, 3, 4], dtype=pl.UInt8),
    )
    assert [(t.workload, t.values.tolist(), t.memory.tolist(), t.notes) for t in traces] == [
        ("a", [1.0, 2.0], [1.0, 2.0], ()),
        ("b", [3.0, 4.0], [3.0, 4.0], ()),
    ]


def test_unsorted_rows_are_sorted(read):
    """A note says so."""
    (trace,) = read("ts,value,memory\n120,3,30\n0,1,10\n60,2,20\n")
    assert (trace.times.tolist(), trace.values.tolist()) == ([0.0, 60.0, 120.0], [1.0, 2.0, 3.0])
    assert trace.memory.tolist() == [10.0, 20.0, 30.0]
    assert trace.notes == ("the rows were not in time order (1 step back) and were sorted",)


def test_repeated_rows_are_dropped(read):
    """They are dropped wherever they are."""
    (trace,) = read("ts,value\n0,1\n0,1\n60,2\n0,1\n")
    assert (trace.times.tolist(), trace.values.tolist()) == ([0.0, 60.0], [1.0, 2.0])
    assert trace.notes[-1] == "2 repeated rows dropped"


def test_gaps_are_reported(read):
    """Only steps of more than one and a half times the usual step are gaps."""
    (trace,) = read("ts,value\n0,1\n60,2\n150,2\n210,2\n301,2\n8000,2\n8060,1\n8120,1\n8180,1\n")
    assert trace.notes == ("2 gaps, the longest 2.14 h from 301 s",)


def test_blank_lines_between_rows(read):
    """They are ignored, and a note counts them."""
    assert read("ts,value\n0,1\n\n,\n60,2\n")[0].notes == ("2 empty rows ignored",)


def test_a_window(read):
    """Both ends are included; problems outside of the window do not matter."""
    (trace,) = read("ts,value\n0,oops\n60,2\n120,3\n180,-1\n", start=60, end=120)
    assert trace.times.tolist() == [60.0, 120.0]


def test_workloads_that_are_not_in_the_window(read):
    """They are ignored, and a note names them."""
    traces = read("workload,ts,value\na,0,1\na,60,1\nb,120,2\nb,180,2\nc,120,1\n", start=100)
    assert [t.workload for t in traces] == ["b"]
    assert traces[0].notes == ("ignored: workloads 'a' and 'c' with fewer than two values from 100 s",)


def test_names_that_polars_would_expand(read):  # noqa: ARG001  for its folder
    """A file name is taken literally: stars and brackets are not patterns."""
    Path("[a]*.csv").write_text("ts,value\n0,1\n60,2\n", encoding="utf-8")
    Path("a1.csv").write_text("ts,value\n0,3\n60,4\n", encoding="utf-8")
    (trace,) = read_traces(["[a]*.csv"])
    assert (trace.workload, trace.values.tolist()) == ("[a]*", [1.0, 2.0])


def recorded() -> list[Path]:
    """The real traces, if they are available."""
    folder = os.environ.get("HYPOT_TRACES")
    return sorted((Path(folder) if folder else Path(__file__).resolve().parents[5] / "shared" / "traces").glob("*.csv"))


@pytest.mark.skipif(not recorded(), reason="the recorded traces are not there; set HYPOT_TRACES to their folder")
def test_recorded_traces_need_no_repair():
    """Each is read completely, without any note."""
    traces = read_traces([str(path) for path in recorded()])
    assert {t.workload: t.notes for t in traces} == {path.stem: () for path in recorded()}
    for trace, path in zip(traces, recorded(), strict=True):
        table = np.loadtxt(path, delimiter=",", skiprows=1)
        assert np.array_equal(trace.times, table[:, 0])
        assert np.array_equal(trace.values, table[:, 1])
