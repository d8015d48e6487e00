"""History from a real Prometheus server."""

import numpy as np
import pytest

from hypot.replay.traces.prometheus import query as traces_prometheus
from hypot.replay.traces.prometheus.query import from_prometheus
from hypot.replay.traces.prometheus.series import workload_names
from hypot.replay.traces.trace import TraceError
from ports import free_port
from unit.replay.traces.prometheus_server import needs_prometheus, serving

START, STEP, POINTS = 1_700_000_000, 15, 400
END = START + STEP * (POINTS - 1)
TIMES = START + STEP * np.arange(POINTS)
WEB = np.round(100 + 50 * np.sin(np.arange(POINTS) / 20), 3)
API = np.arange(POINTS)[::-1] / 7
# The api workload was missing for a while.
GAP = slice(100, 150)


@pytest.fixture(scope="module")
def prometheus(tmp_path_factory):
    """A server with two workloads in it, on a free port of this machine."""
    with serving(tmp_path_factory.mktemp("prometheus"), openmetrics(), STEP - 1) as address:
        yield address


@pytest.fixture(autouse=True)
def _alone(monkeypatch):
    """No proxy and no token of the machine is used."""
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    monkeypatch.delenv("HYPOT_PROMETHEUS_TOKEN", raising=False)


def openmetrics() -> str:
    """Both series in the format that Prometheus imports."""
    lines = ["# TYPE demand gauge"]
    for labels, values in (('workload="web",zone="a"', WEB), ('deployment="api"', API)):
        away = GAP if values is API else slice(0, 0)
        kept = np.delete(np.arange(POINTS), away)
        lines += [f"demand{{{labels}}} {values[i]} {TIMES[i]}" for i in kept]
    return "\n".join([*lines, "# EOF", ""])


def said(*arguments, **options) -> str:
    with pytest.raises(TraceError) as caught:
        from_prometheus(*arguments, **options)
    return str(caught.value)


@needs_prometheus
def test_a_series_is_read_as_it_was_written(prometheus):
    """All times and all values are the same."""
    (web,) = from_prometheus(prometheus, 'demand{workload="web"}', START, END, STEP)
    assert (web.workload, web.source, web.unit, web.notes) == ("web", prometheus, None, ())
    assert np.array_equal(web.times, TIMES)
    assert np.array_equal(web.values, WEB)


@needs_prometheus
def test_many_requests_are_one_series(prometheus, monkeypatch):
    """The pieces fit together, also for two series and a gap across pieces; progress is reported."""
    whole = from_prometheus(prometheus, "demand", START, END, STEP)
    monkeypatch.setattr(traces_prometheus, "MAX_POINTS", 7)
    reported = []
    pieces = from_prometheus(prometheus, "demand", START, END, STEP, progress=lambda *done: reported.append(done))
    assert reported == [(i, 58) for i in range(1, 59)]
    for one, other in zip(whole, pieces, strict=True):
        assert (one.workload, one.notes) == (other.workload, other.notes)
        assert np.array_equal(one.times, other.times)
        assert np.array_equal(one.values, other.values)


@needs_prometheus
def test_staleness_is_a_gap(prometheus):
    """Where Prometheus has no samples there are none, and a note says so."""
    api, web = sorted(from_prometheus(prometheus, "demand", START, END, STEP), key=lambda trace: trace.workload)
    assert (api.workload, web.workload) == ("api", "web")
    assert np.array_equal(api.times, np.delete(TIMES, GAP))
    assert np.array_equal(api.values, np.delete(API, GAP))
    assert api.notes == ("1 gap, the longest 12.8 min from 2023-11-14T22:38:05Z",)
    assert web.notes == ()


@needs_prometheus
def test_a_step_of_one_s_own(prometheus):
    """Every fourth sample is read, and the end is between two samples."""
    (web,) = from_prometheus(prometheus, 'demand{workload="web"}', START, END - 1, 60)
    assert np.array_equal(web.times, TIMES[:-1:4])
    assert np.array_equal(web.values, WEB[:-1:4])


@needs_prometheus
def test_a_sum_is_named_by_its_query(prometheus):
    """It has no labels, so the query is its name."""
    (total,) = from_prometheus(prometheus, "sum(\n  demand\n)", START, END, STEP)
    assert total.workload == "sum( demand )"
    missing = np.isin(np.arange(POINTS), np.arange(POINTS)[GAP])
    assert np.allclose(total.values, WEB + np.where(missing, 0, API), rtol=1e-12)


@needs_prometheus
def test_nan_is_a_gap(prometheus):
    """Prometheus returns NaN where there is no number; a workload without any number is ignored."""
    (web,) = from_prometheus(prometheus, "(demand - demand) / (demand > bool 100) + 1", START, END, STEP)
    assert (web.workload, set(web.values)) == ("web", {1.0})
    assert np.array_equal(web.times, TIMES[WEB > 100])
    assert web.notes[0] == f"{np.count_nonzero(WEB <= 100)} values empty or NaN: left out"
    assert web.notes[-1] == "ignored: workload 'api' with fewer than two values"


@needs_prometheus
def test_nothing_but_single_points(prometheus):
    """It is an error if no series has two points."""
    query = f"demand and on() vector(time()) == {START}"
    assert "no series has two values" in said(prometheus, query, START, END, STEP)


@needs_prometheus
@pytest.mark.parametrize(
    ("query", "message"),
    [
        ("demand{", "refuses the query (400): 1:8: parse error: "),
        ("demand * on(x) group_left() demand", "refuses the query (422): "),
        ("nothing", "the query found no series from 2023-11-14T22:13:20Z to 2023-11-14T23:53:05Z: "),
        ("demand / 0", "workload 'web' has inf at 2023-11-14T22:13:20Z, and at 399 more times: "),
        (
            "-demand",
            "workload 'web' has -100 at 2023-11-14T22:13:20Z, and at 399 more times: write Unix seconds",
        ),
    ],
)
def test_queries_that_give_no_demand(prometheus, query, message):
    """The error quotes the message of Prometheus, if it has one."""
    assert f"{prometheus}: {message}" in said(prometheus, query, START, END, STEP)


@needs_prometheus
def test_a_path_that_is_not_there(prometheus):
    """A 404 page is not an answer of Prometheus."""
    assert said(f"{prometheus}/prefix/", "demand", START, END, STEP) == (
        f"{prometheus}/prefix: does not answer like Prometheus (404): is a part of the path missing?"
    )


def test_a_server_that_is_gone():
    """The error has the address, and says what to check."""
    url = f"http://127.0.0.1:{free_port()}"
    assert said(url, "demand", START, END, STEP) == (
        f"{url}: connection refused: is Prometheus running, and is this its port?"
    )


@pytest.mark.parametrize(
    ("start", "end", "step"),
    [(START, START, STEP), (END, START, STEP), (START, END, 0), (START, END, 1e-4), (float("nan"), END, STEP)],
)
def test_invalid_time_ranges(start, end, step):
    """No request is sent."""
    assert said("http://127.0.0.1:9", "demand", start, end, step) == (
        "http://127.0.0.1:9: the time range must be longer than one step, and the step at least 1 ms"
    )


def test_more_points_than_can_be_kept():
    """A year of milliseconds is refused at once."""
    assert "asked for more than 200,000,000 points" in said("http://127.0.0.1:9", "demand", 0, 3e7, 0.001)


@pytest.mark.parametrize(
    ("series", "expected"),
    [
        ([{"workload": "web", "deployment": "x", "pod": "y"}], ["web"]),
        ([{"deployment": "web", "namespace": "shop"}], ["web"]),
        ([{"statefulset": "db"}, {"daemonset": "log"}], ["db", "log"]),
        ([{"pod": "web-1", "namespace": "shop"}, {"pod": "web-2"}], ["shop/web-1", "web-2"]),
        ([{"workload": "web", "namespace": n} for n in ("a", "b")], ["a/web", "b/web"]),
        ([{"workload": "web", "zone": "a"}, {"workload": "api"}], ["web", "api"]),
        (
            [{"workload": "web", "zone": z} for z in ("a", "b")],
            ['{workload="web", zone="a"}', '{workload="web", zone="b"}'],
        ),
        ([{"__name__": "up", "job": 'a"b'}], ['up{job="a\\"b"}']),
        ([{"__name__": "up"}, {}], ["up", "sum(x)"]),
    ],
)
def test_names_of_series(series, expected):
    """Each series gets the shortest name that distinguishes it from the others."""
    assert workload_names([tuple(sorted(labels.items())) for labels in series], "sum(x)") == expected
