"""Traces as people have them: exports of Grafana and of spreadsheets, in any dialect of CSV."""

import gzip
from pathlib import Path

import pytest

from hypot.replay.traces import columns
from hypot.replay.traces import format as formats
from hypot.replay.traces.history import read_traces
from hypot.replay.traces.reading import TraceReading
from hypot.replay.traces.trace import TraceError

TEN = 1_767_607_200.0  # 2026-01-05T10:00:00Z
MINUTES = [TEN, TEN + 60]
ZONE = ("zone", "UTC")


@pytest.fixture(autouse=True)
def _here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def read(content: str | bytes, file: str = "web.csv", **said):
    """All traces of a file, read as the user says."""
    Path(file).write_bytes(content.encode() if isinstance(content, str) else content)
    return read_traces([file], said=TraceReading(**said))


def refused(content: str | bytes, file: str = "web.csv", **said) -> str:
    with pytest.raises(TraceError) as caught:
        read(content, file, **said)
    (line,) = caught.value.problems
    return line.removeprefix(f"{file}: ")


def assumed(trace) -> list[tuple[str, str]]:
    return [(one.key, one.value) for one in trace.assumed]


def test_grafana_with_series_joined_by_time():
    """Each column is a workload; empty cells and NaN are gaps of one series only. A blank line ends the file."""
    web, api = read(
        '"Time","web","api"\r\n2026-01-05 10:00:00,12.5,\r\n2026-01-05 10:01:00,NaN,4\r\n'
        "2026-01-05 10:02:00,13,5\r\n\r\n"
    )
    assert (web.workload, web.times.tolist(), web.values.tolist()) == ("web", [TEN, TEN + 120], [12.5, 13.0])
    assert (api.workload, api.times.tolist(), api.values.tolist()) == ("api", [TEN + 60, TEN + 120], [4.0, 5.0])
    assert web.notes == api.notes == ("1 value empty or NaN: left out",)
    assert assumed(web) == [("value", '["web", "api"]'), ZONE]
    assert web.unit is None


@pytest.mark.parametrize(
    "text",
    [
        b'sep=,\r\n"Time","web"\r\n2026-01-05 10:00:00,1.5\r\n2026-01-05 10:01:00,2\r\n\r\n',
        b'\xef\xbb\xbfsep=;\r\n"Time";"web"\r\n2026-01-05 10:00:00;1.5\r\n2026-01-05 10:01:00;2\r\n',
        b'\xef\xbb\xbf"Time"\t"web"\n2026-01-05 10:00:00\t1.5\n2026-01-05 10:01:00\t2\n',
        '"Time"\t"web"\r\n2026-01-05 10:00:00\t1.5\r\n2026-01-05 10:01:00\t2\r\n'.encode("utf-16"),
        b"Time;web\n2026-01-05 10:00:00,000;1,5\n2026-01-05 10:01:00,000;2\n",
        b"Time|web\n2026-01-05 10:00:00|1.5\n2026-01-05 10:01:00|2\n",
        b"Time,web\n1767607200000,1.5\n1767607260000,2\n",
        b"Time,web\n2026-01-05T11:00:00.000+01:00,1.5\n2026-01-05T11:01:00.000+01:00,2\n",
    ],
    ids=["sep", "sep and BOM", "tabs and BOM", "for Excel, UTF-16", "commas", "bars", "milliseconds", "with zone"],
)
@pytest.mark.parametrize("packed", [False, True], ids=["plain", "gzip"])
def test_forms_of_one_export(text, packed):
    """The same numbers, however Grafana or a spreadsheet writes them."""
    name = "web.csv.gz" if packed else "web.csv"
    (trace,) = read(gzip.compress(text) if packed else text, name)
    assert (trace.workload, trace.times.tolist(), trace.values.tolist()) == ("web", MINUTES, [1.5, 2.0])
    assert ("value", '["web"]') in assumed(trace)


@pytest.mark.parametrize(
    ("cells", "values", "unit"),
    [
        (["1.5 K", "250 m"], [1500, 0.25], None),
        (["1.50K req/s", "12 req/s"], [1500, 12], "rps"),
        (["3 Mil", "2.5 Bil"], [3e6, 2.5e9], None),
        (["60 req/m", "1.2K req/m"], [1, 20], "rps"),
        (["0.5 cores", "1.25 cores"], [0.5, 1.25], "cores"),
        (["250m", "1"], [0.25, 1], None),
        (["1,234 ops/s", "12.5 ops/s"], [1234, 12.5], "rps"),
        (["12 req/s", "null"], [12], "rps"),
        (["No data", "-", "1e3", "2E-1"], [1000, 0.2], None),
    ],
)
def test_values_with_units(cells, values, unit):
    """As Grafana formats them; a note says that they are rounded."""
    rows = "".join(f'{60 * at},"{cell}"\n' for at, cell in enumerate([*cells, cells[0]]))
    (trace,) = read(f"time,web\n{rows}")
    numbers = [*values, values[0]] if len(values) == len(cells) else values
    if len(numbers) == 1:
        numbers *= 2
    assert trace.values.tolist() == pytest.approx(numbers)
    assert trace.unit == unit


def test_rounded_values_are_noted():
    """An export without units is exact."""
    (trace,) = read("time,web\n0,1.5 K\n60,900\n")
    assert "values are rounded, as in 1.23 K: an export without units is exact" in trace.notes


def test_units_that_contradict():
    """Of two columns, and of a cell and what the user says."""
    assert refused("time,a,b\n0,1 req/s,1 cores\n60,1 req/s,2 cores\n") == (
        "its values have different units (cores and rps): choose columns with --trace value=…"
    )
    assert refused("time,a\n0,1 req/s\n60,1 req/s\n", unit="cores") == (
        "its values are in rps, but --trace unit=cores says cores"
    )
    assert refused("time,cpu\n0,1 req/s\n60,1 req/s\n") == "its values are in rps, but column cpu says cores"


@pytest.mark.parametrize(
    ("separator", "cells", "values", "decimal"),
    [
        (";", ["1.234,5", "987,25"], [1234.5, 987.25], None),
        (";", ["1,5", "1.234"], [1.5, 1234.0], None),
        (";", ["0,125", "12"], [0.125, 12], None),
        (";", ["1.234.567", "12"], [1234567, 12], None),
        (";", ["1\u202f234,5", "1\u00a0000"], [1234.5, 1000], None),
        (";", ["1'234.5", "2"], [1234.5, 2], None),
        (";", ["1,234", "2,345"], [1.234, 2.345], ","),
        (";", ["1.234", "987"], [1.234, 987], "."),
        (";", ["1.5", "987"], [1.5, 987], None),
        ("\t", ["1,5", "2,25"], [1.5, 2.25], None),
        ("\t", ["1,234", "2,345"], [1.234, 2.345], ","),
        (",", ["1,234.5", "987"], [1234.5, 987], None),
        (",", ["1,234,567", "12"], [1234567, 12], None),
        (",", ["1,5", "2,25"], [1.5, 2.25], None),
        (",", ["1,234", "12"], [1234, 12], "."),
        (",", ["1,234", "12.5"], [1234, 12.5], None),
        (",", ["1.234", "2.345"], [1.234, 2.345], None),
    ],
)
def test_decimal_marks_and_thousands(separator, cells, values, decimal):
    """The whole column decides. What it leaves open is assumed, and reported."""
    rows = "".join(f'{60 * at}{separator}"{cell}"\n' for at, cell in enumerate(cells))
    (trace,) = read(f"time{separator}rps\n{rows}")
    assert trace.values.tolist() == values
    assert assumed(trace) == ([] if decimal is None else [("decimal", decimal)])


@pytest.mark.parametrize(("decimal", "value"), [(".", 1234.0), (",", 1.234)])
def test_a_decimal_mark_that_the_user_says(decimal, value):
    """Nothing is assumed then."""
    (trace,) = read('time,rps\n0,"1,234"\n60,"1,234"\n', decimal=decimal)
    assert (trace.values.tolist(), assumed(trace)) == ([value, value], [])
    (trace,) = read("time;rps\n0;1.234\n60;1.234\n", decimal=decimal)
    assert trace.values.tolist() == [1.234 if decimal == "." else 1234.0] * 2


@pytest.mark.parametrize(
    ("text", "value", "decimal"),
    [
        ("time;rps;ms\n0;17.236;41,5\n60;17.236;41,5\n", 17236.0, None),
        ("time;rps;ms\n0;17.236;41.5\n60;17.236;41.5\n", 17.236, None),
        ("time;rps;ms\n05.01.2026 10:00Z;1.234;5\n05.01.2026 10:01Z;1.234;5\n", 1234.0, ","),
        ("time;rps;ms\n2026-01-05 10:00Z;1.234;5\n2026-01-05 10:01Z;1.234;5\n", 1.234, "."),
    ],
)
def test_other_columns_show_how_numbers_are_written(text, value, decimal):
    """Also those that are not wanted; without any, dates with points mean decimal commas."""
    (trace,) = read(text)
    assert trace.values.tolist() == [value, value]
    assert assumed(trace) == ([] if decimal is None else [("decimal", decimal)])


def test_columns_that_are_no_workloads():
    """Numbers of rows, which have no name, and what Splunk adds are ignored."""
    (trace,) = read(',"_time",checkout,"_span"\n0,2026-01-05T10:00:00Z,1,60\n1,2026-01-05T10:01:00Z,2,60\n')
    assert assumed(trace) == [("value", '["checkout"]')]
    assert trace.notes == ("ignored: columns '' and '_span'",)


def test_the_only_column_of_dates_is_the_time():
    """That is assumed. Of two, the user must choose."""
    (trace,) = read("Wann,Count\n2026-01-05T10:00:00Z,1\n2026-01-05T10:01:00Z,2\n")
    assert assumed(trace) == [("time", "Wann"), ("value", '["Count"]')]
    message = refused("a,b,rps\n2026-01-05T10:00:00Z,2026-01-05T10:00:00Z,1\n")
    assert message.endswith("found columns 'a', 'b' and 'rps': name it with --trace time=…")


def test_a_german_export():
    """Semicolons, decimal commas, days before months, and a column that the user names."""
    (trace,) = read(
        "Zeit;Anfragen\n05.01.2026 10:00;1,5\n05.01.2026 10:01:30;2\n", time="Zeit", value=("Anfragen",), unit="rps"
    )
    assert (trace.times.tolist(), trace.values.tolist()) == ([TEN, TEN + 90], [1.5, 2.0])
    assert trace.notes == ("numbers have decimal commas",)
    assert (trace.unit, assumed(trace)) == ("rps", [ZONE])


def test_dates_of_which_nobody_knows_the_month():
    """They are refused."""
    assert refused("time,rps\n05/01/2026 10:00,1\n").startswith("column time: row 2 ('05/01/2026 10:00') is not a time")


def test_columns_by_number():
    """Where the first row holds no names."""
    (trace,) = read("1767607200,3,5\n1767607260,4,6\n", time="1", value=("3",), unit="cores")
    assert (trace.times.tolist(), trace.values.tolist(), trace.unit) == (MINUTES, [5.0, 6.0], "cores")
    assert trace.notes == ("ignored: column '2'",)
    assert refused("1767607200,3\nx,4\n", time="1", value=("2",)).startswith("column 1: row 2 ('x') is not a time")


def test_a_column_that_is_not_there():
    """The error names those that there are."""
    assert refused("time,a\n0,1\n60,2\n", value=("b",)) == (
        "no column 'b' for --trace value=b; found columns 'time' and 'a'"
    )


def test_several_columns_that_the_user_names():
    """Each is a workload; nothing is assumed, and the others are ignored."""
    web, db = read("time,web,api,db\n0,1,2,3\n60,4,5,6\n", value=("web", "db"), unit="rps")
    assert [(one.workload, one.values.tolist()) for one in (web, db)] == [("web", [1, 4]), ("db", [3, 6])]
    assert (web.notes, web.assumed) == (("ignored: column 'api'",), ())


def test_chosen_workloads():
    """Of any file that has several; an unknown name is an error."""
    for text in ("time,web,api\n0,1,2\n60,4,5\n", "time,workload,rps\n0,web,1\n60,web,4\n0,api,2\n60,api,5\n"):
        (api,) = read(text, workload=("api",))
        assert (api.workload, api.values.tolist(), api.assumed) == ("api", [2.0, 5.0], ())
        with pytest.raises(TraceError) as caught:
            read(text, workload=("db",))
        assert str(caught.value) == (
            "no workload is called 'db' (--trace workload=…); there are workloads 'web' and 'api'"
        )


def test_a_column_with_the_names_of_workloads():
    """Grafana writes `Series`; the user may name another one."""
    for name, said in (("Series", ""), ("app", "app")):
        text = f"{name};Time;Value\nweb;2026-01-05T10:00:00Z;1\nweb;2026-01-05T10:01:00Z;2\n"
        (trace,) = read(text.replace("web", "shop"), name=said)
        assert (trace.workload, trace.values.tolist()) == ("shop", [1.0, 2.0])


def test_a_series_without_values():
    """It is ignored, and a note names it; what is in the other series counts."""
    (web,) = read("time,web,api\n0,1,\n60,2,\n120,3,5\n")
    assert web.workload == "web"
    assert web.notes == ("ignored: workload 'api' with fewer than two values",)


def test_requests_of_each_row():
    """They are divided by the time since the row before, or by the usual step after a gap and at the start."""
    (trace,) = read("time,requests\n0,60\n60,120\n120,60\n600,30\n630,30\n690,6\n", unit="requests")
    assert trace.values.tolist() == [1.0, 2.0, 1.0, 0.5, 1.0, 0.1]
    assert (trace.unit, trace.assumed) == ("rps", ())


def test_a_column_of_requests_is_assumed_to_be_a_rate():
    """Unless the user says it."""
    (trace,) = read("time,requests\n0,60\n60,120\n")
    assert (trace.values.tolist(), trace.unit) == ([60.0, 120.0], "rps")
    assert [str(one) for one in trace.assumed] == [
        "unit rps: column requests as requests/s; --trace unit=requests if each row counts its requests"
    ]
    assert read("time,requests\n0,60\n60,120\n", unit="rps")[0].assumed == ()


def test_the_total_of_a_counter_is_noticed():
    """Demand falls sometimes, a counter does not. It is assumed that it is a rate, unless the user says it."""
    rows = "".join(f"{60 * at},{100 * at}\n" for at in range(60))
    rate = "unit rps: the values never fall, as those of a counter, but each is read as a rate"
    rate = f"{rate}; a counter needs rate(…[2m])"
    assert [str(one) for one in read(f"time,rps\n{rows}")[0].assumed] == [rate]
    assert [str(one) for one in read(f"time,load\n{rows}")[0].assumed][1:] == [rate]
    (one,) = read(f"time,requests\n{rows}")[0].assumed
    assert str(one).startswith(f"{rate}; column requests as requests/s")
    (trace,) = read(f"time,rps\n{rows}", unit="rps")
    assert trace.assumed == ()
    assert trace.notes == ("the values never fall, as those of a counter: a trace holds rates, such as rate(…[2m])",)
    assert read(f"time,requests\n{rows}", unit="requests")[0].assumed == ()
    falling = f"time,rps\n{rows}3600,1\n"
    assert (read(falling)[0].assumed, read(falling)[0].notes) == ((), ())


def test_days_of_a_spreadsheet():
    """Times that are numbers of days cover less than a second; a note says what times are."""
    (trace,) = read("time,rps\n46027.416667,1\n46027.417361,2\n")
    assert trace.notes == ("it covers less than a second: times are seconds, or dates as text",)


def test_sums():
    """Of columns, and of rows of one workload at one time; a missing value adds nothing."""
    (trace,) = read("time,a,b\n0,1,2\n60,3,\n120,5,6\n", sum=True)
    assert (trace.workload, trace.values.tolist()) == ("web", [3.0, 3.0, 11.0])
    (trace,) = read("workload,time,value,memory\na,0,1,5\na,0,2,6\na,60,3,7\n", sum=True)
    assert (trace.workload, trace.values.tolist(), trace.memory.tolist()) == ("a", [3.0, 3.0], [11.0, 7.0])


def test_sums_of_series_with_different_times():
    """At each time only some of them would be added up, so the sum would be wrong."""
    message = refused("time,a,b\n0,1,\n30,,2\n60,3,\n90,,5\n", sum=True)
    assert message.startswith("its series have different times, so their values cannot be added up: record their sum")


HOURS = [f"2026-10-25 {hour}:{minute}0:00" for hour in ("01", "02", "02", "03") for minute in range(6)]


@pytest.mark.parametrize("newest_first", [False, True])
@pytest.mark.parametrize("wide", [False, True])
def test_an_hour_that_occurs_twice(newest_first, wide):
    """In the time zone that the user names, clocks are set back after the first of the two."""
    lines = [f"{at},{row}{',1' if wide else ''}" for row, at in enumerate(HOURS)]
    head = "time,a,b" if wide else "time,rps"
    (trace, *_) = read("\n".join([head, *(reversed(lines) if newest_first else lines)]), zone="Europe/Berlin")
    assert trace.times.tolist() == [1_792_882_800.0 + 600 * row for row in range(24)]
    assert trace.values.tolist() == list(range(24))
    assert ZONE not in assumed(trace)


def test_an_hour_that_occurs_twice_without_a_zone():
    """The error says how to name the zone."""
    lines = [f"{at},{row}" for row, at in enumerate(HOURS)]
    assert (
        ": if an hour occurs twice because clocks change, name the time zone (--trace zone=Europe/Berlin); else "
        in (refused("\n".join(["time,rps", *lines])))
    )


def test_an_hour_that_clocks_skip():
    """It is not a time in this zone."""
    assert refused("time,rps\n2026-03-29 01:59:00,1\n2026-03-29 02:30:00,1\n", zone="Europe/Berlin").endswith(
        "; clocks in Europe/Berlin skip an hour a year"
    )


def test_a_zone_is_for_times_without_one():
    """Those that have one keep it."""
    (trace,) = read("time,rps\n2026-01-05 10:00:00Z,1\n2026-01-05 10:01:00Z,2\n", zone="Asia/Tokyo")
    assert (trace.times.tolist(), trace.assumed) == (MINUTES, ())
    (trace,) = read("time,rps\n2026-01-05 19:00:00,1\n2026-01-05 19:01:00,2\n", zone="Asia/Tokyo")
    assert (trace.times.tolist(), trace.assumed) == (MINUTES, ())


def test_memory_with_gaps_and_units():
    """It is interpolated where it is missing; a column without any number is left out."""
    (trace,) = read("time,rps,memory\n0,1,1.5 GiB\n60,2,\n120,3,512 MiB\n")
    assert trace.memory.tolist() == [1.5 * 2**30, 2.0**30, 2.0**29]
    assert read("time,rps,memory\n0,1,\n60,2,\n")[0].memory is None


def test_a_damaged_gzip_file():
    """Its checksum is wrong."""
    packed = bytearray(gzip.compress(b"time,web\n0,1\n60,2\n"))
    packed[-5] ^= 1
    assert refused(bytes(packed), "web.csv.gz").startswith("is a damaged gzip file: ")


def test_limits(monkeypatch):
    """What unpacks to too much, and too many columns, are refused."""
    text = "time,web\n" + "0,1\n" * 1000
    monkeypatch.setattr(formats, "MAX_UNPACKED", 2**20)
    assert refused(gzip.compress(text.encode() * 1000), "web.csv.gz") == (
        "unpacks to more than 1 MiB: decompress it first, or write it as Parquet"
    )
    assert refused(("time,web\n" * 2**17).encode("utf-16")) == "2 MiB of UTF-16 is too much: save the file as UTF-8"
    monkeypatch.setattr(columns, "_MOST_WORKLOADS", 2)
    assert refused("time,a,b,c\n0,1,2,3\n") == "3 columns of numbers are too many, the limit is 2"
