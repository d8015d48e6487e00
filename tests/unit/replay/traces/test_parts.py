"""Large fleets, read in parts: the same traces and messages as if they were read at once."""

from pathlib import Path

import polars as pl
import pytest

from hypot.replay.traces import history as traces
from hypot.replay.traces import parquet
from hypot.replay.traces import parts as traces_parts
from hypot.replay.traces.history import open_history, read_traces
from hypot.replay.traces.trace import TraceError

WRITE = "write Unix seconds or RFC 3339, for example 2024-03-01T12:00:00Z"
FILE = "fleet.parquet"


@pytest.fixture(autouse=True)
def _small(tmp_path, monkeypatch):
    """Parts of ten rows; a pass over mixed workloads may hold thirty."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(traces_parts, "PART_ROWS", 10)
    monkeypatch.setattr(traces, "PART_ROWS", 10)
    monkeypatch.setattr(traces_parts, "SEEN_ROWS", 7)


def rows_of(workloads, length=5):
    """Rows in the order of workloads, one row a minute."""
    return [(f"w{i}", 60 * t, float(10 * i + t)) for i in range(workloads) for t in range(length)]


def write(rows, kind=pl.String, **options):
    names = ["workload", "ts", "value"][: len(rows[0])]
    frame = pl.DataFrame(rows, schema=names, orient="row", infer_schema_length=None)
    frame.with_columns(pl.col("workload").cast(kind)).write_parquet(FILE, **options)


def problems(start=None, end=None):
    with pytest.raises(TraceError) as caught:
        read_traces([FILE], start, end)
    return list(caught.value.problems)


def plain(found):
    return [(one.workload, one.times.tolist(), one.values.tolist()) for one in found]


def parts():
    (file,) = open_history([FILE]).files
    return file.parts


def test_a_sorted_file_is_read_by_ranges_of_rows():
    """Each part is a range of the file, with as many whole workloads as fit."""
    write(rows_of(5))
    assert [(one.first, one.length, one.rows, one.names) for one in parts()] == [
        (0, 10, 10, None),
        (10, 10, 10, None),
        (20, 5, 5, None),
    ]
    assert plain(read_traces([FILE])) == [
        (f"w{i}", [0, 60, 120, 180, 240], [10 * i + t for t in range(5)]) for i in range(5)
    ]


def test_mixed_workloads_are_read_by_their_names():
    """The file is read once for each part, so these parts are larger."""
    write(sorted(rows_of(10), key=lambda row: row[1]))
    assert [(one.first, one.length, one.rows) for one in parts()] == [(0, 50, 30), (0, 50, 20)]
    assert parts()[1].names == ("w6", "w7", "w8", "w9")
    assert [one.workload for one in read_traces([FILE])] == [f"w{i}" for i in range(10)]


def test_only_mixed_sections_are_read_again():
    """Sections that are sorted by time are parts of their own."""
    mixed = sorted(rows_of(10), key=lambda row: row[1])
    write([("first", t, 1.0) for t in range(5)] + mixed + [("last", t, 1.0) for t in range(5)])
    assert [(one.first, one.length, one.rows) for one in parts()] == [(0, 5, 5), (5, 50, 30), (5, 50, 20), (55, 5, 5)]
    names = ["first", *(f"w{i}" for i in range(10)), "last"]
    assert [one.workload for one in read_traces([FILE])] == names


def test_one_long_workload_is_a_part():
    """A workload is never split."""
    write([("long", t, 1.0) for t in range(30)] + rows_of(2))
    assert [one.rows for one in parts()] == [30, 10]
    assert [len(one.times) for one in read_traces([FILE])] == [30, 5, 5]


def test_small_files_and_csv_are_one_part():
    """Only Parquet can be read from the middle."""
    write(rows_of(2))
    assert len(parts()) == 1
    Path("fleet.csv").write_text("workload,ts,value\n" + "".join(f"{w},{t},{v}\n" for w, t, v in rows_of(5)))
    (file,) = open_history(["fleet.csv"]).files
    assert len(file.parts) == 1
    assert len(read_traces(["fleet.csv"])) == 5


@pytest.mark.parametrize("kind", [pl.Categorical, pl.Int64, pl.Enum(["1", "2", "3", "4", "5"])])
def test_names_of_other_types(kind):
    """Any type that can be a name is accepted."""
    write([(str(i + 1), t, 1.0) for i in range(5) for t in range(5)], kind)
    assert [one.workload for one in read_traces([FILE])] == ["1", "2", "3", "4", "5"]


def test_blanks_around_names_do_not_matter():
    """Two spellings are one workload, and its rows are in one part."""
    write([(" a" if t % 2 else "a ", t, 1.0) for t in range(12)] + rows_of(2))
    assert [(one.workload, len(one.times)) for one in read_traces([FILE])] == [("a", 12), ("w0", 5), ("w1", 5)]


def test_rows_have_the_numbers_of_the_file():
    """In whichever part they are; a problem in one part hides none in another."""
    rows = rows_of(6)
    rows[12] = ("w2", 120, -1.0)
    rows[27] = ("w5", 120, 1e16)
    rows[28] = ("w5", None, 3.0)
    write(rows)
    assert problems() == [
        "fleet.parquet: column value: row 13 is negative (-1.0): an empty cell is a gap",
        f"fleet.parquet: column ts: row 29 is empty: {WRITE}",
        "fleet.parquet: column value: row 28 is too large (1e+16): at most 1e+15 fits: an empty cell is a gap",
    ]


def test_rows_have_the_numbers_of_the_file_where_workloads_are_mixed():
    """The same holds where other rows are between them."""
    rows = sorted(rows_of(10), key=lambda row: row[1])
    rows[19] = ("w9", 60, float("inf"))
    rows[42] = ("w2", 180, 5.0)
    write(rows)
    message = (
        "give workload 'w2' different values for the same time (180 s): keep one, "
        "name the column of the workloads (--trace name=…), or add them up (--trace sum=true)"
    )
    assert problems() == [
        f"fleet.parquet: rows 33 and 43 {message}",
        "fleet.parquet: column value: row 20 is infinite: an empty cell is a gap",
    ]


def test_traces_come_until_the_first_problem():
    """After it no trace is needed, and the rest is only checked."""
    rows = rows_of(6)
    rows[22] = ("w4", 120, -1.0)
    write(rows)
    found = []
    with pytest.raises(TraceError, match="row 23 is negative"):
        found.extend(one.workload for one in open_history([FILE]))
    assert found == ["w0", "w1", "w2"]


@pytest.mark.parametrize("mixed", [False, True])
def test_rows_without_a_name(mixed):
    """They are reported, unless they are empty."""
    rows = [*rows_of(4), (None, 5, 1.0), (" ", 6, 1.0), (None, None, None)]
    rows += [(f"x{i}", t, 1.0) for i in range(2) for t in range(5)]
    write(sorted(rows, key=lambda row: row[1] or 0) if mixed else rows)
    first, second = (16, 17) if mixed else (21, 22)
    assert problems() == [f"fleet.parquet: column workload: row {first} is empty and row {second} is empty"]


def test_empty_rows_are_ignored():
    """A note counts those in the middle, but not those at the end of the file."""
    empty = (None, None, None)
    write([*rows_of(4), empty, empty, *((f"x{i}", t, 1.0) for i in range(2) for t in range(5)), empty])
    found = read_traces([FILE])
    assert [one.workload for one in found] == ["w0", "w1", "w2", "w3", "x0", "x1"]
    assert {note for one in found for note in one.notes} == {"2 empty rows ignored"}


def test_times_of_different_units():
    """It is an error if one part is in seconds and another in milliseconds."""
    write([(f"w{i}", (1_700_000_000 + 60 * t) * (1000 if i == 4 else 1), 1.0) for i in range(5) for t in range(5)])
    assert problems() == [f"fleet.parquet: the times of rows 1 and 21 differ in unit: {WRITE}"]


def test_times_of_one_unit():
    """Milliseconds in all parts are converted to seconds, and a note of each trace says so."""
    write([(f"w{i}", (1_700_000_000 + 60 * t) * 1000, 1.0) for i in range(5) for t in range(5)])
    found = read_traces([FILE])
    assert {one.times[0] for one in found} == {1_700_000_000.0}
    assert {one.notes for one in found} == {
        ("times are in milliseconds (judged by their size) and were converted to seconds",)
    }


@pytest.mark.parametrize(("bare", "row"), [(4, 21), (0, 1)])
def test_times_with_and_without_a_zone(bare, row):
    """Whichever part has no zone, its row is named."""
    write([(f"w{i}", f"2024-03-01T12:0{t}:00{'' if i == bare else 'Z'}", 1.0) for i in range(5) for t in range(5)])
    assert problems()[0].startswith(f"fleet.parquet: row {row} has no time zone")


def test_a_window():
    """Workloads outside the window are named once, wherever they are; the others are cut."""
    rows = [(f"w{i}", 60 * t + (0 if i in {2, 3} else 1000), 1.0) for i in range(6) for t in range(5)]
    write(rows)
    found = read_traces([FILE], 0, 120)
    assert [(one.workload, len(one.times)) for one in found] == [("w2", 3), ("w3", 3)]
    message = "ignored: workloads 'w0', 'w1', 'w4' and 'w5' with fewer than two values from 0 s to 120 s"
    assert found[-1].notes == (message,)


def test_a_window_outside_of_the_data():
    """The error says what all parts together cover."""
    write([(f"w{i}", 60 * t + 1000 * i, 1.0) for i in range(6) for t in range(5)])
    message = "fleet.parquet: has no two rows of one workload from 90000 s: it covers 0 s to 5240 s"
    assert problems(90_000) == [message]


def test_many_problems_are_cut_short():
    """Problems of all parts are counted together."""
    write([(f"w{i}", 0, 1.0) for i in range(60)])
    lines = problems()
    assert lines[0] == "fleet.parquet: workload 'w0' has 1 value: at least two are needed"
    assert lines[20:] == ["fleet.parquet: and 40 more problems of this kind"]


def test_the_same_workload_in_two_files():
    """It is also reported when it is found late."""
    write(rows_of(5))
    Path("w3.csv").write_text("ts,value\n0,1\n60,2\n")
    with pytest.raises(TraceError) as caught:
        read_traces([FILE, "w3.csv", "nowhere.csv"])
    assert caught.value.problems == (
        "nowhere.csv: no such file",
        "w3.csv: workload 'w3' is in fleet.parquet too: join them in one file",
    )


def test_a_history_knows_whether_it_is_large():
    """This decides whether all of it is held at once."""
    write(rows_of(5))
    Path("web.csv").write_text("ts,value\n0,1\n60,2\n")
    assert open_history([FILE]).is_large
    assert open_history([FILE, "web.csv"]).rows == 27
    assert open_history([FILE, "web.csv"]).about(1) == 5 + 2
    assert not open_history(["web.csv"]).is_large


def test_a_large_history_is_not_read_because_of_other_problems():
    """A file that cannot be opened is reported at once; with small files, together with their problems."""
    write(rows_of(5))
    Path("web.csv").write_text("ts,value\n0,1\n60,2\n")
    with pytest.raises(TraceError, match=r"nowhere\.csv: no such file"):
        open_history([FILE, "nowhere.csv"]).check_files()
    open_history(["web.csv", "nowhere.csv"]).check_files()


def test_progress_is_reported_in_rows():
    """Progress is reported while workloads are counted, which takes a while."""
    write(rows_of(5))
    reported = []
    open_history([FILE], progress=lambda done, total: reported.append((done, total)))
    assert reported == [(7, 25), (14, 25), (21, 25), (25, 25)]


def test_what_is_too_large_for_a_part(monkeypatch):
    """A single workload, a row group, the number of rows and of workloads are limited, before they are unpacked."""
    write([("long", t, 1.0) for t in range(30)] + rows_of(2))
    monkeypatch.setattr(traces_parts, "MAX_ROWS", 29)
    message = "would unpack to 30 rows and 0.0 GiB, the limit is 29 rows and 2 GiB for one workload: split it by time"
    assert problems() == [f"fleet.parquet: workload 'long' {message}"]
    monkeypatch.setattr(traces_parts, "MAX_WORKLOADS", 2)
    assert problems() == ["fleet.parquet: has more than 2 workloads: split it by workload"]
    monkeypatch.setattr(parquet, "MAX_ROWS", 39)
    monkeypatch.setattr(parquet, "MAX_GROUP_BYTES", 100)
    assert problems()[0].endswith("the limit is 9.31e-08 GiB: write it with row groups of a million rows")
    monkeypatch.setattr(parquet, "MAX_FLEET_ROWS", 39)
    assert problems() == ["fleet.parquet: has 40 rows, the limit is 39: split it by workload"]


def test_more_rows_than_fit_at_once(monkeypatch):
    """What would be refused for one workload is read for a fleet."""
    monkeypatch.setattr(parquet, "MAX_ROWS", 10)
    write(rows_of(5))
    assert len(read_traces([FILE])) == 5


def test_a_file_that_changes_while_it_is_read():
    """It is an error if rows are no longer where they were."""
    write(rows_of(5))
    history = open_history([FILE])
    write(rows_of(3))
    with pytest.raises(TraceError, match="is not a complete Parquet file"):
        list(history)
