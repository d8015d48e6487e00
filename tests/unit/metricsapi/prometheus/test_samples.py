"""What an answer says about a pod: the same as two scrapes would, or nothing."""

import pytest

from hypot.cluster.prometheus import VectorSeries
from hypot.core.scraping.rate import Counter, CounterSample
from hypot.metricsapi.ages import Ages
from hypot.metricsapi.prometheus.promql import PodLabels
from hypot.metricsapi.prometheus.samples import PodFaultError, QueryTime, by_pod, take, taken
from unit.metricsapi.pods_world import AHEAD, DEPTH, RATE, only, pod, rule, targets_of

AGES = Ages()
# The query was sent at 1000 on the boot clock, when Prometheus had this time.
NOW = 1000.0
TIME = QueryTime(NOW, AHEAD)


def target(*metrics, **changes):
    return only(targets_of(rule("web", *metrics, scrape=None, prometheus={}), pods=[pod(**changes)]))


def parts(i=0, *, total=27_000.0, age=5.0, earlier=0.0, gap=60.0, **more):
    """What is said of a counter that was scraped `age` ago, and `gap` before that."""
    now = {f"{i} now total": total, f"{i} now at": AHEAD - age}
    before = {} if earlier is None else {f"{i} earlier total": earlier, f"{i} earlier at": AHEAD - age - gap}
    return {**now, **before, **more}


def served(one, now=NOW, i=0):
    found = one.value(i, now, AGES)
    return None if found is None else (found.milli, found.at - AHEAD, found.window)


def test_requests_of_a_minute():
    """0 and 27,000 requests in 60 s are 450 per second, at the time of the scrape."""
    one = target()
    assert take(one, parts(), TIME, 10.0) == ([], [])
    assert served(one) == (450_000, -5.0, 60.0)


@pytest.mark.parametrize(
    ("age", "now", "is_served"), [(5, 1000, True), (5, 1084, True), (5, 1086, False), (91, 1000, False)]
)
def test_an_old_sample_is_withheld(age, now, is_served):
    """Its age counts from its scrape, not from the query."""
    one = target(RATE, DEPTH)
    take(one, {**parts(age=age), **parts(1, age=age, earlier=None)}, TIME, 10.0)
    assert [served(one, now, i) is not None for i in (0, 1)] == [is_served] * 2


def test_a_clock_that_differs():
    """Ages are differences of times of Prometheus, so a wrong clock of this machine changes nothing."""
    one = target()
    take(one, {**parts()}, QueryTime(NOW, AHEAD), 10.0)
    known = served(one)
    take(one, parts(), QueryTime(NOW, AHEAD), 10.0)
    assert served(one) == known


@pytest.mark.parametrize(
    ("said", "rejected", "value"),
    [
        # The first scrape of a new pod, or of one whose scrape failed a window ago.
        (parts(earlier=None), [], None),
        (parts(**{"0 earlier several": 3.0}), [], None),
        (parts(earlier=float("nan")), [], None),
        # A restart.
        (parts(earlier=30_000.0), ["reset"], None),
        # Too close, and too far apart.
        (parts(gap=5.0), ["too-soon"], None),
        (parts(gap=601.0), [], None),
        # The same sample: the window is shorter than the scrape interval.
        (parts(earlier=27_000.0, gap=0.0), [], None),
    ],
)
def test_counters_without_a_rate(said, rejected, value):
    one = target()
    assert take(one, said, TIME, 10.0) == (rejected, [])
    assert (served(one), one.faults) == (value, 0)
    # A restart is counted once, however often Prometheus is asked.
    assert take(one, said, TIME, 10.0) == ([], [])


def test_the_same_sample_again():
    """What is known of it stays, and ages."""
    one = target()
    take(one, parts(), TIME, 10.0)
    assert take(one, parts(earlier=27_000.0, gap=0.0), QueryTime(NOW + 15, AHEAD + 15), 10.0) == ([], [])
    assert served(one, NOW + 15) == (450_000, -5.0, 60.0)
    assert served(one, NOW + 86) is None


@pytest.mark.parametrize(
    ("said", "fault"),
    [
        ({}, "missing"),
        ({"0 now total": 1.0}, "missing"),
        (parts(total=float("nan")), "value"),
        (parts(total=float("inf")), "value"),
        (parts(total=2e18), "value"),
        (parts(age=-1.0), "value"),
        (parts(age=float("nan")), "value"),
        (parts(**{"0 now several": 1.0}), "several"),
    ],
)
def test_pods_that_are_faulty(said, fault):
    """Nothing is invented, and what is known ages."""
    one = target()
    take(one, parts(), TIME, 10.0)
    with pytest.raises(PodFaultError) as error:
        take(one, said, TIME, 10.0)
    assert error.value.fault == fault
    assert served(one) == (450_000, -5.0, 60.0)


def test_a_metric_that_prometheus_does_not_have():
    """The others are taken. It keeps what is known, which ages; nothing is taken for zero."""
    one = target(RATE, DEPTH)
    depth = {"1 now total": 7.0, "1 now at": parts()["0 now at"]}
    take(one, parts() | depth, TIME, 10.0)
    assert one.missing == ()
    (fault,) = take(one, parts(total=30_000.0), TIME, 10.0).faults
    assert (fault.fault, str(fault)) == ("missing", "Prometheus has no depth of it")
    assert (one.missing, one.faults) == (("depth",), 0)
    assert one.value(0, NOW, Ages()).milli == 500_000
    assert one.value(1, NOW, Ages()).milli == 7000
    assert one.value(1, NOW + 90, Ages()) is None


def test_a_former_pod_of_the_same_name():
    """Prometheus still has its series for some minutes."""
    one = target(created=AHEAD - 20)
    with pytest.raises(PodFaultError, match="only of a former pod"):
        take(one, parts(age=25.0), TIME, 10.0)
    assert take(one, parts(age=10.0), TIME, 10.0) == ([], [])
    assert served(one) is None
    assert one.samples[0].new.value == 27_000


def test_gauges_have_no_window():
    one = target({"gauge": "depth", "names": ["queue"]})
    take(one, parts(earlier=None, total=-7.5), TIME, 10.0)
    assert served(one) == (-7500, -5.0, 0.0)


@pytest.mark.parametrize("seconds", [0.1, 1.0, 14.999, 59.998, 60.0, 119.7])
def test_a_gap_is_exact(seconds):
    """Else a rate of whole numbers would be a little less."""
    one = target()
    take(one, parts(age=0.123, gap=seconds, total=1000 * seconds), TIME, 0.01)
    assert served(one)[0] in {1_000_000, 999_999}
    assert served(one)[2] == pytest.approx(seconds, abs=1e-9)


def test_parts_by_pod():
    """Labels that are missing name nothing, and what is no number is none."""
    series = [
        VectorSeries({"namespace": "shop", "pod": "web-0", "hypot_part": "0 now total"}, (1.0, "7")),
        VectorSeries({"namespace": "shop", "pod": "web-0", "hypot_part": "0 now at"}, (1.0, "seven")),
        VectorSeries({}, (1.0, "1")),
    ]
    found = {}
    by_pod(series, PodLabels("namespace", "pod"), found)
    assert found["shop", "web-0"]["0 now total"] == 7
    assert str(found["shop", "web-0"]["0 now at"]) == "nan"
    assert set(found) == {("shop", "web-0"), ("", "")}


OLD, NEW, NEWER = CounterSample(0, 0, 10), CounterSample(60, 60, 70), CounterSample(75, 75, 90)


@pytest.mark.parametrize(
    ("known", "found", "kept"),
    [
        (Counter(), Counter(OLD, NEW), Counter(OLD, NEW)),
        (Counter(OLD, NEW), Counter(NEW, NEW), Counter(OLD, NEW)),
        (Counter(OLD, NEW), Counter(None, NEW), Counter(OLD, NEW)),
        (Counter(OLD, NEW), Counter(None, NEWER), Counter(None, NEWER)),
        (Counter(), Counter(NEW, NEW), Counter(None, NEW)),
    ],
)
def test_what_is_kept(known, found, kept):
    """A rate that is known stays until there is a newer sample."""
    assert taken(known, found, 10.0).counter == kept
