"""The parts of scenarios: conditions, demands, measures and looks."""

import re
from dataclasses import replace

import numpy as np
import pytest

from hypot.kinds.vpa import VPA
from hypot.replay.scenario.conditions import ConditionError, parse
from hypot.replay.scenario.demand import EPOCH, DemandError, folder_of_traces, trace_of
from hypot.replay.scenario.looks import FleetState, LookError, seen_of, start_of, ways_of
from hypot.replay.scenario.measures import MeasureError, checked, figures, unit_of
from hypot.replay.world.parameters import World
from hypot.replay.world.record import Run, Ticks

HOUR = 3600.0
FIGURES = {"late": 0.1, "good.cpu": 10.0, "bad.cpu": 13.0, "none": None, "zero": 0.0}


class TestConditions:
    """Bars are written as conditions."""

    @pytest.mark.parametrize(
        "text",
        [
            "late <= 0.1",
            "bad.cpu >= 1.3 * good.cpu",
            "0 < late < .2",
            "bad.cpu - good.cpu == 3",
            "-(good.cpu + 2) / 4 <= -3",
            "bad.cpu >= 2 + 1 * good.cpu",
            "10 - 4 - 3 == 3",
        ],
    )
    def test_it_holds(self, text):
        """Chains, products before sums, and evaluation from left to right."""
        assert parse(text).holds(FIGURES)

    @pytest.mark.parametrize("text", ["late > 0.1", "0 < late < 0.1", "none <= 1", "late / zero < 1", "none == none"])
    def test_it_does_not_hold(self, text):
        """A missing value is neither more nor less, and neither is a division by zero."""
        assert not parse(text).holds(FIGURES)

    @pytest.mark.parametrize(
        "text",
        [
            "late",
            "",
            "late <=",
            "<= 3",
            "late <= (3",
            "late <= 3)",
            "late $ 3",
            "late <= 3 4",
            "import os",
            5,
            "(" * 999,
        ],
    )
    def test_it_cannot_be_read(self, text):
        """The error quotes the condition."""
        with pytest.raises(ConditionError, match=re.escape(repr(str(text)[:5])[:-1])):
            parse(text)

    def test_an_unknown_figure(self):
        """The error names it and lists the known figures."""
        with pytest.raises(ConditionError, match=r"asks for cost.*the figures are bad.cpu, good.cpu, late"):
            parse("cost < 3").holds(FIGURES)


class TestDemand:
    """Demand from a few numbers."""

    def at(self, data, *hours, folder=None):
        trace = trace_of(data, folder)
        assert trace.times[0] == EPOCH
        return [
            round(float(value), 3) for value in np.interp([h * HOUR for h in hours], trace.times - EPOCH, trace.values)
        ]

    def test_points(self):
        """A straight line between them; a length cuts it or extends the last value."""
        assert self.at({"points": [["0s", 1], ["2h", 5]]}, 0, 1, 2) == [1, 3, 5]
        assert trace_of({"points": [["0s", 1], ["2h", 5]], "length": "1h"}).times[-1] == EPOCH + HOUR
        assert self.at({"points": [["0s", 1], ["2h", 5]], "length": "3h"}, 3) == [5]

    def test_steps(self):
        """Each value holds until the next."""
        data = {"steps": [["0s", "500m"], ["1h", 4]], "length": "2h"}
        assert self.at(data, 0, 0.99, 1.01, 2) == [0.5, 0.5, 4, 4]

    def test_wave(self):
        """It rises first, by its share of the mean."""
        data = {"wave": {"mean": 4, "swing": 0.25, "period": "4h"}, "length": "8h"}
        assert self.at(data, 0, 1, 2, 3, 5) == [4, 5, 4, 3, 5]

    def test_bursts_are_the_same_by_seed(self):
        """Bursts never fall below the quiet level."""
        data = {
            "bursts": {"quiet": 1, "high": 9, "rises": "5m", "lasts": "15m", "apart": "2h", "seed": 1},
            "length": "24h",
        }
        first, again = trace_of(data).values, trace_of(data).values
        assert np.array_equal(first, again)
        assert first.min() == 1
        assert first.max() > 3

    def test_a_recorded_trace(self, tmp_path):
        """It is cut, moved to the start, and scaled to its peak."""
        rows = "\n".join(f"{i * 1800},{10 + i}" for i in range(20))
        (tmp_path / "shop.csv").write_text(f"timestamp_seconds,value\n{rows}\n")
        data = {"trace": "shop", "peak": 12, "skip": "1h", "length": "2h", "standin": {"wave": {}}}
        assert self.at(data, 2, folder=tmp_path) == pytest.approx([12], rel=0.01)
        assert self.at(data, 0, folder=tmp_path) == pytest.approx([9], rel=0.01)

    def test_a_missing_trace(self, tmp_path):
        """Its stand-in has the same length, and a note says so."""
        data = {"trace": "shop", "peak": 12, "length": "2h", "standin": {"steps": [["0s", 3]]}}
        trace = trace_of(data, tmp_path)
        assert (trace.times[-1], trace.values.max()) == (EPOCH + 2 * HOUR, 3)
        assert "shop is not available" in trace.notes[0]

    def test_where_traces_are(self, tmp_path, monkeypatch):
        """They are in the folder that the environment variable names, if it exists."""
        monkeypatch.setenv("HYPOT_TRACES", str(tmp_path))
        assert folder_of_traces() == tmp_path
        monkeypatch.setenv("HYPOT_TRACES", str(tmp_path / "not"))
        assert folder_of_traces() is None

    @pytest.mark.parametrize(
        ("data", "message"),
        [
            ({}, "write one of points"),
            ({"points": [["0s", 1]], "wave": {}}, "not points and wave"),
            ({"points": [["0s", 1]]}, "a single point"),
            ({"points": [["1h", 1], ["2h", 1]]}, "first time must be 0s"),
            ({"points": [["0s", 1], ["0s", 1]]}, "each time later"),
            ({"points": [["0s", "x"], ["1h", 2]]}, "not a number of cores"),
            ({"points": [["soon", 1]]}, "not a duration"),
            ({"points": 5}, "write pairs"),
            ({"wave": {"mean": 1, "swing": 0, "period": "1h"}}, "there is no length"),
            ({"wave": {"mean": 1}, "length": "1h"}, "swing is missing"),
            ({"wave": 5, "length": "1h"}, "does not have that form"),
        ],
    )
    def test_what_cannot_be_made(self, data, message):
        """The error says what is wrong."""
        with pytest.raises(DemandError, match=message):
            trace_of(data)


@pytest.fixture
def run():
    """Ten minutes of two, then four, then three pods of one core, with one value a minute."""
    count = 10
    columns = dict.fromkeys(Ticks._fields, np.ones(count))
    columns |= {
        "at": EPOCH + 60.0 * np.arange(count),
        "replicas": np.array([2.0] * 3 + [4.0] * 4 + [3.0] * 3),
        "size_memory": np.full(count, 2.0**29),
        "late": np.array([0.0] * 5 + [0.5] * 5),
        "late_lost": np.zeros(count),
    }
    return Run("policy", "web", replace(World(), tick=60.0), Ticks(**columns))


class TestMeasures:
    """Figures that are not scores."""

    @pytest.mark.parametrize(
        ("measure", "value"),
        [
            ({"column": "replicas", "take": "changes"}, 2),
            ({"column": "replicas", "take": "changes", "from": "4m"}, 1),
            ({"column": "replicas", "at": "3m"}, 4),
            ({"column": "total", "take": "most"}, 4),
            ({"column": "replicas", "take": "first"}, 2),
            ({"column": "replicas", "take": "least", "from": "3m", "to": "6m"}, 4),
            ({"column": "replicas", "take": "mean"}, 3.1),
            ({"column": "replicas", "take": "sum"}, 31),
            ({"column": "replicas", "take": "hours"}, 31 / 60),
            ({"column": "size_memory", "take": "last", "in": "Gi"}, 0.5),
            ({"column": "total_memory", "at": "0m", "in": "Mi"}, 1024),
            ({"score": "late", "from": "5m"}, 50),
            ({"settled": "replicas <= 3", "from": "2m"}, 300),
            ({"settled": "replicas <= 2"}, None),
            ({"rule": "urgent"}, 0),
        ],
    )
    def test_what_it_takes(self, run, measure, value):
        """A measure covers the whole run, a window, or one time."""
        checked("it", measure)
        assert figures(run, {"it": measure})["it"] == pytest.approx(value)

    def test_scores_are_figures_too(self, run):
        """All scores are figures, by their names."""
        assert figures(run, {})["late"] == pytest.approx(25)

    @pytest.mark.parametrize(
        ("measure", "message"),
        [
            ({}, "write one of score"),
            (5, "write one of score"),
            ({"score": "lateness"}, "unknown score lateness"),
            ({"column": "pots", "take": "most"}, "unknown column pots"),
            ({"column": "pods"}, "write at, or take"),
            ({"column": "pods", "take": "best"}, "write at, or take"),
            ({"column": "pods", "at": "1h", "in": "kB"}, "in must be one of Mi, Gi"),
            ({"settled": "pots < 3"}, "unknown column pots"),
            ({"settled": "pods"}, "there is no comparison"),
        ],
    )
    def test_what_cannot_be_taken(self, measure, message):
        """The error is raised before anything runs."""
        with pytest.raises(MeasureError, match=message):
            checked("it", measure)

    def test_a_window_with_nothing_in_it(self, run):
        """It is an error, not zero."""
        with pytest.raises(MeasureError, match="no ticks in that time"):
            figures(run, {"it": {"column": "pods", "take": "sum", "from": "1h"}})

    def test_units(self):
        """The units are those of scores."""
        measures = {
            "then": {"score": "cost"},
            "cores": {"column": "total", "at": "1h"},
            "back": {"settled": "pods > 1"},
        }
        measures["memory"] = {"column": "size_memory", "take": "most", "in": "Gi"}
        measures["moves"] = {"column": "size_cpu", "take": "changes"}
        named = {name: unit_of(name, measures) for name in (*measures, "late", "unknown")}
        assert named == {
            "then": "$", "cores": "cores", "back": "s", "memory": "GiB", "moves": "", "late": "%", "unknown": ""
        }  # fmt: skip


class TestLooks:
    """What a policy observes where only its decisions are tested."""

    def test_each_as_often_as_it_says(self):
        """The whole list is repeated too."""
        data = {"looks": [{"use": {"cpu": 1}, "times": 2}, {"broken": True}], "cycle": 3}
        assert ["broken" in look for look in ways_of(data, 15.0)[0]] == [False, False, True] * 3

    def test_orders_end_with_the_last(self):
        """The others come in any order, which is reproducible by seed."""
        data = {"looks": [{"use": {"cpu": i}} for i in range(6)], "orders": {"count": 20, "seed": 1}}
        ways = ways_of(data, 15.0)
        assert ways == ways_of(data, 15.0)
        assert {way[-1]["use"]["cpu"] for way in ways} == {5}
        assert len({tuple(look["use"]["cpu"] for look in way) for way in ways}) > 10
        assert all(sorted(look["use"]["cpu"] for look in way) == list(range(6)) for way in ways)

    def test_what_is_seen(self):
        """Each pod's share of the usage, and a recommendation for a replica count and for a size."""
        look = {"use": {"cpu": 6}, "missing": 1, "need": {"cpu": 6}}
        seen = seen_of(FleetState(4, {"cpu": 1000}), look, VPA("deployment/web"), EPOCH)
        assert [sample.usage("cpu", "") for sample in seen.pod_metrics.values()] == [1500] * 3
        assert (seen.count_advice.desired, dict(seen.size_advice.containers[0].target)) == (6, {"cpu": 1500})

    @pytest.mark.parametrize(
        ("data", "message"),
        [
            ({}, "write one of looks, needs, ways"),
            ({"looks": [], "ways": {}}, "not looks and ways"),
            ({"looks": [{"us": {}}]}, "us: unknown key"),
        ],
    )
    def test_what_cannot_be_looked_at(self, data, message):
        """The error says what is wrong."""
        with pytest.raises(LookError, match=message):
            ways_of(data, 15.0)

    @pytest.mark.parametrize("start", [None, {}, {"replicas": "3"}, {"replicas": 3, "cpu": "much"}])
    def test_an_invalid_start(self, start):
        """The error has an example or the wrong amount."""
        with pytest.raises(LookError, match=r"start|much"):
            start_of({"start": start})
