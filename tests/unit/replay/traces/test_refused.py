"""History that cannot be replayed, and the messages about it."""

import gzip
import os
import pickle
from functools import partial
from pathlib import Path

import pytest

from hypot.replay.traces import csv_file, plain_csv
from hypot.replay.traces.history import read_traces
from hypot.replay.traces.trace import TraceError

# The same bytes at any time: they are in the names of tests, which must be the same in every process.
packed = partial(gzip.compress, mtime=0)

WRITE = "write Unix seconds or RFC 3339, for example 2024-03-01T12:00:00Z"
NO_TIMES = "no column for times (timestamp_seconds, timestamp, time, ts, datetime, date, _time, @timestamp)"
GAP = ": an empty cell is a gap"
NO_VALUES = "none for values (value, requests, rps, qps, requests_per_second, cores, cpu)"


@pytest.fixture(autouse=True)
def _here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def problems(*paths: str, start: float | None = None, end: float | None = None) -> list[str]:
    """The messages about files."""
    with pytest.raises(TraceError) as caught:
        read_traces(paths, start, end)
    assert str(caught.value) == "\n".join(caught.value.problems)
    return list(caught.value.problems)


def said(content: str | bytes, start: float | None = None, end: float | None = None) -> str:
    """The only message about a CSV file of this content, without the name of the file."""
    Path("web.csv").write_bytes(content.encode() if isinstance(content, str) else content)
    (line,) = problems("web.csv", start=start, end=end)
    return line.removeprefix("web.csv: ")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "is empty"),
        ("ts,value", "has no data rows: at least two are needed"),
        ("ts,value\n\n\n", "has no data rows: at least two are needed"),
        ("ts,value\n0,1\n", "workload 'web' has 1 value: at least two are needed"),
        ("ts,value\n0,1\n0,1\n", "workload 'web' has 1 value: at least two are needed"),
        ("\nts,value\n0,1\n", "row 1 is empty: it must hold the column names"),
        ("a,value\n0,1\n", f"{NO_TIMES}; found columns 'a' and 'value': name it with --trace time=…"),
        ("a,b\n0,1\n", f"{NO_TIMES}; found columns 'a' and 'b': name it with --trace time=…"),
        (
            "a,b\nx,y\n",
            f"{NO_TIMES} and {NO_VALUES}; found columns 'a' and 'b': name it with --trace time=… and --trace value=…",
        ),
        (
            "0,1\n60,2\n",
            "row 1 holds no column names: write them there, or number the columns: --trace time=1 --trace value=2",
        ),
        ("ts,time,value\n0,0,1\n", "columns ts and time mean the same: choose one with --trace time=…"),
        ("ts,workload,a,b\n0,x,0,1\n", "columns 'a' and 'b' hold numbers: choose one with --trace value=…"),
        ("ts,a,a\n0,0,1\n", "2 columns of numbers are called 'a': rename them"),
        ("ts,value,memory,Memory\n0,0,1,1\n", "columns memory and memory mean the same: keep one of them"),
        ("ts,cpu,rps\n0,0,1\n", "2 value columns: choose cpu (cores) or rps (requests/s) with --trace value=…"),
        ("ts,value\r0,1\r60,2\r", "row 1 is not valid CSV: separate fields by commas and end lines with a line feed"),
        ('ts,"value\n0,1\n', "row 1: a quote is not closed on its line"),
    ],
)
def test_files_without_what_is_needed(content, message):
    """The message says what is missing, and what was found instead."""
    assert said(content) == message


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("ts,value\n0,1\n60,-Inf\n", f"column value: row 3 is infinite{GAP}"),
        ("ts,value\n0,1\n60,+Inf\n", f"column value: row 3 is infinite{GAP}"),
        ("ts,value\n0,1\n60,\u221e\n", f"column value: row 3 is infinite{GAP}"),
        ("ts,value\n0,1\n60,1e999\n", f"column value: row 3 is infinite{GAP}"),
        ("ts,value\n0,1\n60,1e308\n", f"column value: row 3 is too large (1e308): at most 1e+15 fits{GAP}"),
        ("ts,value\n0,1\n60,-0.5\n", f"column value: row 3 is negative (-0.5){GAP}"),
        ("ts,value\n0,1\n60,12 kB\n", f"column value: row 3 ('12 kB') is not a number{GAP}"),
        ("ts,value\n0,1\n60,45 %\n", f"column value: row 3 ('45 %') is a share: record requests/s or cores{GAP}"),
        ("ts,value\n0,1\n60,10.0.0.1\n", f"column value: row 3 ('10.0.0.1') is not a number{GAP}"),
        ("ts,value,memory\n0,1,x\n60,2,5\n", f"column memory: row 2 ('x') is not a number{GAP}"),
        ("workload,ts,value\na,0,1\n ,60,2\n", "column workload: row 3 is empty"),
        ("ts,value\n\n0,1\n60,x\n", f"column value: row 4 ('x') is not a number{GAP}"),
        (
            "ts,value\n0,inf\n60,x\n120,-1\n180,nan\n240,-2\n",
            f"column value: row 2 is infinite, row 3 ('x') is not a number, row 4 is negative (-1) and 1 more row{GAP}",
        ),
        ("ts,value\n0,1\n,2\n", f"column ts: row 3 is empty: {WRITE}"),
        ("ts,value\n0,1\nnoon,2\n", f"column ts: row 3 ('noon') is not a time: {WRITE}"),
        (
            "ts,value\nnoon,1\n2024-03-01T12:00:00Z,1\n2024-03-01T12:01:00Z,2\n",
            f"column ts: row 2 ('noon') is not a time: {WRITE}",
        ),
        (
            "ts,value\n2024-03-01T12:00:00+\u06601:00,1\n2024-03-01T12:01:00Z,2\n",
            f"column ts: row 2 ('2024-03-01T12:00:00+\u06601:00') is not a time: {WRITE}",
        ),
        ("ts,value\n0,1\ninf,2\n", f"column ts: row 3 is infinite: {WRITE}"),
        ("ts,value\n2024-03-01T12:00:00Z,1\n60,2\n", f"column ts: row 3 ('60') is not a time: {WRITE}"),
        (
            "ts,value\n2024-02-30T12:00:00Z,1\n2024-03-01T12:00:00Z,2\n",
            f"column ts: row 2 ('2024-02-30T12:00:00Z') is not a time: {WRITE}",
        ),
        (
            "ts,value\n2024-03-01T12:00:00Z,1\n2024-03-01T12:01:00,2\n2024-03-01T12:02:00,2\n",
            "row 3 has no time zone (nor have 1 more row), but other rows have one: add it",
        ),
        ("ts,value\n1700000000,1\n1700000060000,2\n", f"the times of rows 2 and 3 differ in unit: {WRITE}"),
        ("ts,value\n1e30,1\n1e30,1\n", f"row 2 has no time: {WRITE}"),
    ],
)
def test_cells_that_cannot_be_used(content, message):
    """The message has the row, counted from 1 with the header, and its content."""
    assert said(content) == message


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"ts,value\n0,1\n60,\xff\n", "row 3: not UTF-8: save the file as UTF-8"),
        (b"ts,val\xffue\n0,1\n", "row 1 is not UTF-8: save the file as UTF-8"),
        (b"\xff\xfet\x00s", "is not valid UTF-16: save the file as UTF-8"),
        (b"\x1f\x8b\x08\x00", "is a gzip file that was cut off: copy it again"),
        (packed(b"ts,value\n0,1\n60,2\n")[:-8], "is a gzip file that was cut off: copy it again"),
        (packed(b""), "is empty"),
        (packed(b"PAR1"), "is Parquet in gzip: decompress it first"),
        (
            packed(packed(b"")),
            "is compressed (gzip, twice): decompress it first; only gzip is read as it is",
        ),
        (b"PK\x03\x04", "is compressed (zip): decompress it first; only gzip is read as it is"),
        (b"ts,value\n0,1,2\n60,2\n", "row 2: 3 fields, but row 1 names 2 columns"),
        (b'ts,value\n0,"1\n60,2\n120,3\n', "row 2: a quote is not closed on its line"),
        (b'ts,value,x\n0,1,"\n60,2,"\n120,3,\n', "row 2: a quote is not closed on its line"),
        (
            b'ts,value\n0,"1"5\n60,2\n',
            "row 2: there is text next to a quoted field: quote the whole field, or none of it",
        ),
    ],
)
def test_text_that_is_not_csv(content, message):
    """The message says where it is wrong."""
    assert said(content) == message


def test_two_values_for_one_time():
    """Both rows are named by their numbers before sorting."""
    assert said("ts,value\n60,1\n0,1\n60,2\n60,3\n") == (
        "rows 2 and 4 give workload 'web' different values for the same time (60 s); and 1 more pair: "
        "keep one, name the column of the workloads (--trace name=…), or add them up (--trace sum=true)"
    )


def test_two_memories_for_one_time():
    """The same applies to memory."""
    assert said("ts,value,memory\n0,1,5\n0,1,6\n60,1,7\n").startswith("rows 2 and 3 give workload 'web' different")


@pytest.mark.parametrize(
    ("start", "end", "message"),
    [
        (200, None, "has no two rows from 200 s: it covers 0 s to 120 s"),
        (None, -1, "has no two rows to -1 s: it covers 0 s to 120 s"),
        (61, 119, "has no two rows from 61 s to 119 s: it covers 0 s to 120 s"),
        (1.7e9, None, "has no two rows from 2023-11-14T22:13:20Z: it covers 0 s to 120 s"),
    ],
)
def test_windows_outside_of_the_data(start, end, message):
    """The message says what the data covers."""
    assert said("ts,value\n0,1\n60,2\n120,3\n", start, end) == message


def test_an_empty_window_hides_no_other_problem():
    """Rows without a valid time are in no window, but are reported."""
    Path("web.csv").write_text("ts,value\nnoon,1\n60,2\n", encoding="utf-8")
    assert problems("web.csv", start=100) == [
        f"web.csv: column ts: row 2 ('noon') is not a time: {WRITE}",
        "web.csv: has no two rows from 100 s: it covers 60 s to 60 s",
    ]


def test_windows_in_which_no_workload_has_two_rows():
    """Two rows of different workloads are not enough."""
    assert said("workload,ts,value\na,0,1\na,60,2\nb,0,1\nb,60,2\n", 30) == (
        "has no two rows of one workload from 30 s: it covers 0 s to 60 s"
    )


def test_a_window_that_ends_before_it_begins():
    """No file is read."""
    assert problems("nowhere.csv", start=5, end=5) == [
        "the time range from 5 s to 5 s is empty: the end must be later than the start"
    ]


def test_all_problems_of_all_files_at_once():
    """Paths that are not files, and files that are wrong in two ways."""
    Path("folder").mkdir()
    os.mkfifo("pipe")
    Path("web.csv").write_text("ts,value\nx,1\n60,y\n", encoding="utf-8")
    Path("web.parquet").write_text("ts,value\n0,1\n60,2\n", encoding="utf-8")
    assert problems("folder", "pipe", "nowhere.csv", "-", "a\0b", "web.parquet", "web.csv") == [
        "folder: is a directory: name the files in it",
        "pipe: is not a regular file",
        "nowhere.csv: no such file",
        "-: standard input cannot be read: name a file",
        "'a\\x00b': is not a valid file name",
        "web.parquet: is not Parquet, despite its name",
        f"web.csv: column ts: row 2 ('x') is not a time: {WRITE}",
        f"web.csv: column value: row 3 ('y') is not a number{GAP}",
    ]
    assert problems() == ["no history file was given"]


def test_the_same_workload_in_two_files():
    """It would be unclear which of them counts."""
    Path("a").mkdir()
    for path in ("web.csv", "a/web.csv"):
        Path(path).write_text("ts,value\n0,1\n60,2\n", encoding="utf-8")
    assert problems("web.csv", "a/web.csv", "web.csv") == [
        "a/web.csv: workload 'web' is in web.csv too: join them in one file",
        "web.csv: workload 'web' is in web.csv too: join them in one file",
    ]


def test_many_problems_are_cut_short():
    """Only 20 lines about one file are shown."""
    Path("web.csv").write_text("workload,ts,value\n" + "".join(f"w{i},0,1\n" for i in range(30)), encoding="utf-8")
    lines = problems("web.csv")
    assert lines[0] == "web.csv: workload 'w0' has 1 value: at least two are needed"
    assert lines[20:] == ["web.csv: and 10 more problems of this kind"]


def test_large_csv_files(monkeypatch):
    """They are refused because of their size, before they are read, and because of their rows."""
    monkeypatch.setattr(plain_csv, "MAX_PLAIN_BYTES", 0)
    monkeypatch.setattr(csv_file, "MAX_ROWS", 2)
    assert said("ts,value\n0,1\n60,2\n120,3\n") == "3 rows are too many, the limit is 2: split it by workload"
    monkeypatch.setattr(csv_file, "MAX_CSV_BYTES", 20)
    assert said("ts,value\n0,1\n60,2\n120,3\n") == (
        "0.0 GiB of CSV is too much, the limit is 1.86e-08 GiB: write it as Parquet, or split it by workload"
    )


def test_errors_travel_between_processes():
    """A pickled error keeps all its lines."""
    error = pickle.loads(pickle.dumps(TraceError("a: x", "b: y")))  # noqa: S301  our own bytes
    assert (error.problems, str(error)) == (("a: x", "b: y"), "a: x\nb: y")
