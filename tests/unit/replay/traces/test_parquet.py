"""Parquet files that cannot or must not be unpacked."""

from pathlib import Path

import polars as pl
import pytest

from hypot.replay.traces import parquet
from hypot.replay.traces.history import read_traces
from hypot.replay.traces.parquet import Compact, ThriftError, measure
from hypot.replay.traces.trace import TraceError

DAMAGED = "web.parquet: is not a complete Parquet file: it is damaged, or was cut off; write it again"


@pytest.fixture(autouse=True)
def _here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def said() -> str:
    with pytest.raises(TraceError) as caught:
        read_traces(["web.parquet"])
    return str(caught.value)


def write(rows: int = 1000, **options) -> bytes:
    """A file of two columns that compress well, and a column that is not read."""
    columns = {"ts": range(rows), "value": [1.0] * rows, "note": ["x" * 100] * rows}
    pl.DataFrame(columns).write_parquet("web.parquet", **options)
    return Path("web.parquet").read_bytes()


@pytest.mark.parametrize("compression", ["zstd", "snappy", "gzip", "lz4", "uncompressed"])
@pytest.mark.parametrize("group", [None, 300])
def test_what_a_file_unpacks_to(compression, group):
    """At least eight bytes per number, whatever the compression and the number of row groups."""
    write(compression=compression, row_group_size=group, data_page_size=1000)
    extent = measure("web.parquet", {"ts", "value"})
    assert extent.rows == 1000
    assert 16_000 <= extent.size < 25_000


def test_columns_that_are_not_read_do_not_count():
    """They are not unpacked."""
    columns = {"ts": range(1000), "note": [f"{i}" * 100 for i in range(1000)]}
    pl.DataFrame(columns).write_parquet("web.parquet")
    assert measure("web.parquet", {"ts", "note"}).size > 200_000
    assert measure("web.parquet", {"ts"}).size < 20_000


def test_a_file_that_would_fill_the_memory(monkeypatch):
    """A few kilobytes that unpack to megabytes are refused because of their metadata."""
    rows = 1_000_000
    pl.select(ts=pl.repeat(0, rows), value=pl.repeat(1.0, rows)).write_parquet("web.parquet")
    assert Path("web.parquet").stat().st_size < 2**17
    monkeypatch.setattr(parquet, "MAX_BYTES", 2**20)
    assert said() == (
        "web.parquet: would unpack to 1,000,000 rows and 0.0 GiB, the limit is 200,000,000 rows and 0.000977 GiB "
        "for one workload: split it by workload or by time"
    )


def test_a_file_of_too_many_rows(monkeypatch):
    """The number of rows is limited too."""
    write()
    monkeypatch.setattr(parquet, "MAX_ROWS", 999)
    assert said().startswith("web.parquet: would unpack to 1,000 rows and ")


def test_files_that_were_cut_off():
    """Wherever it was cut, the error is the same."""
    whole = write(100)
    for length in (4, 11, 12, len(whole) // 2, len(whole) - 9, len(whole) - 1):
        Path("web.parquet").write_bytes(whole[:length])
        assert said() == DAMAGED


def test_a_hole_in_a_file():
    """The pages are missing, though the end is complete."""
    whole = write(100)
    Path("web.parquet").write_bytes(whole[:4] + whole[500:])
    assert said() == DAMAGED


def test_metadata_that_claim_what_is_not_there():
    """No damaged byte of a page header makes polars allocate huge amounts of memory."""
    whole = write(100, compression="uncompressed", statistics=False)
    header = Compact(whole, 4)
    assert header.struct()[parquet._PAGE_UNPACKED] > 0
    for at in range(4, header.at):
        for byte in (0x00, 0x15, 0x7F, 0xFF):
            Path("web.parquet").write_bytes(whole[:at] + bytes([byte]) + whole[at + 1 :])
            outcome = _outcome()
            assert outcome in {"read", DAMAGED}


def _outcome() -> str:
    try:
        read_traces(["web.parquet"])
    except TraceError as error:
        return str(error)
    return "read"


@pytest.mark.parametrize(
    ("name", "cells", "message"),
    [
        ("value", [[1.0], [2.0]], "column value has type List(Float64), not numbers"),
        ("value", [True, False], "column value has type Boolean, not numbers"),
        ("memory", [True, False], "column memory has type Boolean, not numbers"),
        ("workload", [1.5, 2.5], "column workload has type Float64, not workload names"),
        (
            "ts",
            [True, False],
            "column ts has type Boolean, not times: write Unix seconds or RFC 3339, for example 2024-03-01T12:00:00Z",
        ),
    ],
)
def test_columns_of_the_wrong_type(name, cells, message):
    """The type that was found is named."""
    pl.DataFrame({"ts": [0, 1], "value": [1, 2], name: cells}).write_parquet("web.parquet")
    assert said() == f"web.parquet: {message}"


@pytest.mark.parametrize(
    ("cells", "message"),
    [
        ([1.0, float("inf")], "row 2 is infinite"),
        ([1.0, 1e308], "row 2 is too large (1e+308): at most 1e+15 fits"),
        ([-1.5, 1.0], "row 1 is negative (-1.5)"),
    ],
)
def test_cells_that_cannot_be_used(cells, message):
    """There is no header: the first row is row 1."""
    pl.DataFrame({"ts": [0, 1], "value": cells}).write_parquet("web.parquet")
    assert said() == f"web.parquet: column value: {message}: an empty cell is a gap"


@pytest.mark.parametrize("gap", [None, float("nan")])
def test_cells_without_a_number(gap):
    """Null and NaN are gaps, also in columns of texts."""
    for values in ([1.0, gap, 3.0], ["1", None if gap is None else "NaN", "3"]):
        pl.DataFrame({"ts": [0, 60, 120], "value": values}, strict=False).write_parquet("web.parquet")
        (trace,) = read_traces(["web.parquet"])
        assert (trace.times.tolist(), trace.values.tolist()) == ([0.0, 120.0], [1.0, 3.0])
        assert trace.notes == ("1 value empty or NaN: left out",)


def test_a_file_without_rows():
    """Columns without rows are not a history."""
    pl.DataFrame({"ts": [], "value": []}, schema={"ts": pl.Int64, "value": pl.Float64}).write_parquet("web.parquet")
    assert said() == "web.parquet: has no data rows: at least two are needed"


@pytest.mark.parametrize(
    "data",
    [b"", b"\x15", b"\x15" + b"\xff" * 11, b"\x18\x7fabc", b"\x1d\x00", b"\x19\xfc\xff\xff\xff\x7f", b"\x1c" * 100],
    ids=["nothing", "no number", "a long number", "a short text", "no type", "a long list", "deep"],
)
def test_bytes_that_are_no_struct(data):
    """Each raises an error, and none makes the reader loop."""
    with pytest.raises(ThriftError):
        Compact(data).struct()
