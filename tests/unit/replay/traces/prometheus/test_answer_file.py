"""Files with the answer of a Prometheus range query."""

import gzip
import json
from pathlib import Path

import pytest

from hypot.replay.traces.history import open_history, read_traces
from hypot.replay.traces.prometheus import answer_file
from hypot.replay.traces.reading import TraceReading
from hypot.replay.traces.trace import TraceError

TEN = 1_767_607_200.0


@pytest.fixture(autouse=True)
def _here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def series(values, begin=TEN, **labels):
    return {"metric": labels, "values": [[begin + 60 * at, value] for at, value in enumerate(values)]}


def answer(*result, **more) -> str:
    return json.dumps({"status": "success", "data": {"resultType": "matrix", "result": list(result)}, **more})


def read(content: str | bytes, *window, file="web.json", **said):
    Path(file).write_bytes(content.encode() if isinstance(content, str) else content)
    return read_traces([file], *window, said=TraceReading(**said))


def refused(content: str | bytes, *window, **said) -> str:
    with pytest.raises(TraceError) as caught:
        read(content, *window, **said)
    (line,) = caught.value.problems
    return line.removeprefix("web.json").removeprefix(": ")


@pytest.mark.parametrize(
    "content",
    [
        answer(series(["1", "NaN", "3"])),
        "\ufeff" + answer(series(["1", "NaN", "3"])),
        json.dumps({"resultType": "matrix", "result": [series(["1", "NaN", "3"])]}),
        json.dumps([series(["1", "NaN", "3"])], indent=2),
        gzip.compress(answer(series(["1", "NaN", "3"])).encode()),
    ],
    ids=["answer", "BOM", "its data", "promtool", "gzip"],
)
def test_one_series(content):
    """It is called like the file; NaN is a gap, and the unit is that of the world."""
    (trace,) = read(content)
    assert (trace.workload, trace.times.tolist(), trace.values.tolist()) == ("web", [TEN, TEN + 120], [1.0, 3.0])
    assert (trace.unit, trace.source, trace.assumed) == (None, "web.json", ())
    assert trace.notes == ("1 value empty or NaN: left out",)
    assert read(content, unit="cores")[0].unit == "cores"


def test_the_name_of_a_packed_file():
    """Both endings are left out."""
    assert read(gzip.compress(answer(series(["1", "2"])).encode()), file="web.json.gz")[0].workload == "web"


def test_a_series_for_each_deployment():
    """Each is a workload, as with a query to a server; nothing is assumed. Warnings become notes."""
    content = answer(
        series("12", deployment="web", namespace="shop"), series("34", deployment="api"), warnings=["slow"]
    )
    traces = read(content)
    assert [(one.workload, one.values.tolist(), one.assumed) for one in traces] == [
        ("web", [1.0, 2.0], ()),
        ("api", [3.0, 4.0], ()),
    ]
    assert traces[0].notes == ("Prometheus warns: slow",)


PODS = (series("123", pod="web-1", code="200"), series("45", pod="web-2", code="200"))


def test_a_series_for_each_pod():
    """That each is a workload is assumed; the report says which there are, and how to choose or to add up."""
    traces = read(answer(*PODS))
    assert [one.workload for one in traces] == ["web-1", "web-2"]
    [(key, value, why)] = {line for one in traces for line in one.assumed}
    assert (key, value) == ("sum", "false")
    assert why == (
        "each of 2 series is a workload of its own, web-1 and web-2; "
        "--trace sum=true adds them up, --trace workload=… chooses"
    )
    history = open_history(["web.json"])
    assert (history.rows, history.about(9), history.is_large) == (5, 2.0, False)
    assert history.assumed == traces[0].assumed


def test_sums_and_choices():
    """All series, those with the same label, or one of them."""
    (whole,) = read(answer(*PODS), sum=True)
    assert (whole.workload, whole.values.tolist(), whole.notes) == ("web", [5.0, 7.0, 3.0], ())
    (by_code,) = read(answer(*PODS), sum=True, name="code")
    assert (by_code.workload, by_code.values.tolist()) == ("200", [5.0, 7.0, 3.0])
    (one,) = read(answer(*PODS), workload=("web-2",))
    assert (one.workload, one.values.tolist(), one.assumed) == ("web-2", [4.0, 5.0], ())
    assert [one.workload for one in read(answer(*PODS), name="pod")] == ["web-1", "web-2"]


def test_series_that_the_label_does_not_distinguish():
    """They are added up only if the user says it."""
    assert refused(answer(*PODS), name="code") == (
        '2 series have code="200": add them up with --trace sum=true, or name another label'
    )


def test_sums_of_series_with_different_times():
    """At each time only some of them would be added up."""
    assert "its series have different times" in refused(
        answer(series("123", a="1"), series("123", TEN + 30, a="2")), sum=True
    )


def test_requests_of_each_step():
    """An increase() is divided by the step."""
    (trace,) = read(answer(series(["60", "120", "30"])), unit="requests")
    assert (trace.values.tolist(), trace.unit) == ([1.0, 2.0, 0.5], "rps")


def test_a_window():
    """Both ends are included."""
    (trace,) = read(answer(series("1234")), TEN + 60, TEN + 120)
    assert trace.values.tolist() == [2.0, 3.0]
    assert refused(answer(series("12")), TEN + 600, TEN + 900) == (
        "no series has two values from 2026-01-05T10:10:00Z to 2026-01-05T10:15:00Z: "
        "it covers 2026-01-05T10:00:00Z to 2026-01-05T10:01:00Z"
    )


def test_short_series():
    """One of several is left out; if no other is left, that is an error."""
    (trace,) = read(answer(series("12", deployment="web"), series(["1", "NaN"], deployment="api")))
    assert trace.notes == ("ignored: workload 'api' with fewer than two values",)
    assert refused(answer(series("1"))) == ("no series has two values: ask for a longer time range or a shorter step")


INSTANT = "with one time only: save the answer of a range query, /api/v1/query_range"
NO_ANSWER = "is JSON, but not the answer of a range query, /api/v1/query_range, of Prometheus"
RANGE = "write Unix seconds, and numbers from 0 to 1e+15 or NaN"


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (answer(), "the query found no series: try it in Prometheus' own expression browser"),
        (answer(series(["1", "+Inf"])), f"workload 'web' has inf at 2026-01-05T10:01:00Z: {RANGE}"),
        (answer(series(["1", "-2"])), f"workload 'web' has -2 at 2026-01-05T10:01:00Z: {RANGE}"),
        (answer(series(["1", "1e308"])), f"workload 'web' has 1e+308 at 2026-01-05T10:01:00Z: {RANGE}"),
        (answer(series("12", TEN * 1000)), f"workload 'web' has 1 at 1767607200000 s, and at 1 more time: {RANGE}"),
        ('{"status":"error","error":"parse error"}', "is an error of Prometheus: parse error"),
        (
            '{"status":"success","data":{"resultType":"vector","result":[{"metric":{},"value":[1,"2"]}]}}',
            f"is the answer of an instant query (vector), {INSTANT}",
        ),
        ('[{"metric":{},"value":[1,"2"]}]', f"is the answer of an instant query (vector), {INSTANT}"),
        (
            '{"status":"success","data":{"resultType":"scalar","result":[1,"2"]}}',
            f"is the answer of an instant query (scalar), {INSTANT}",
        ),
        (
            '{"data":{"result":[{"metric":{"a":"b"},"histograms":[]}]}}',
            'the query returns histograms ({a="b"}): ask for numbers',
        ),
        ('{"results":{"A":{"frames":[]}}}', "is JSON of Grafana: open Inspect, Data in the panel and download CSV"),
        ("{}", NO_ANSWER),
        ("[1]", NO_ANSWER),
        ('{"data":{"result":[{"metric":{},"values":[[1]]}]}}', NO_ANSWER),
        ('{"data":{"result":[{"metric":{},"values":[[1],[1,2,3]]}]}}', NO_ANSWER),
        ('{"data":{"result":[{"metric":{},"values":["12","34"]}]}}', NO_ANSWER),
        ('{"data":{"result":[{"metric":{},"values":[[1,"x"]]}]}}', NO_ANSWER),
        ('{"data":{"result":7}}', NO_ANSWER),
        ('{\n"status": "success",\n', ":3: is not complete JSON: Expecting property name enclosed in double quotes"),
        ("{}\n{}\n", ":2: holds more than one JSON document; save the answer of a range query"),
        ("[" * 100_000, "is not JSON in UTF-8"),
        (b'{"a": "\xff"}', "is not JSON in UTF-8"),
    ],
)
def test_what_is_no_demand(content, message):
    """The message says what the file is, and what is needed."""
    assert refused(content).startswith(message)


def test_a_file_that_is_too_large(monkeypatch):
    """It is not even read."""
    monkeypatch.setattr(answer_file, "MAX_JSON_BYTES", 2**20)
    assert refused("[" + " " * 2**21) == "2 MiB of JSON is too much, the limit is 1 MiB"
