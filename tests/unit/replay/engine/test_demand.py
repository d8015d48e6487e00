"""From a trace to the work of every tick."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from hypot.replay.engine.demand import load_of, means
from hypot.replay.traces.trace import Trace
from hypot.replay.world.parameters import Demand, Drop, Service, World

CORES = World(demand=Demand(unit="cores"))


def trace(times, values, workload="shop", **more):
    return Trace(workload, np.array(times, float), np.array(values, float), **more)


def world(tick=15.0, seed=0, **demand):
    return World(tick=tick, seed=seed, demand=Demand(**{"unit": "cores", **demand}))


def area(times, values, until):
    """The area below the straight lines between the points, up to a time."""
    at = np.unique(np.concatenate((times[times <= until], [until])))
    return float(np.trapezoid(np.interp(at, times, values), at))


DAY = trace(np.arange(0.0, 86401.0, 60.0), 2.0 + np.sin(np.arange(1441) / 100.0))


class TestMeans:
    @settings(max_examples=60, deadline=None)
    @given(
        st.lists(st.tuples(st.floats(0.1, 200.0), st.floats(0.0, 1e4)), min_size=2, max_size=30),
        st.sampled_from([5.0, 15.0, 60.0]),
    )
    def test_the_area_is_kept(self, points, tick):
        """The mean work keeps the area of the trace, however long its steps are; a last incomplete tick is left out."""
        times = 1.7e9 + np.cumsum([step for step, _ in points])
        values = np.array([value for _, value in points])
        assume(times[-1] - times[0] >= tick)
        load = load_of(trace(times, values), world(tick))
        until = times[0] + len(load.work) * tick
        assert until <= times[-1]
        assert times[-1] - until < tick
        assert load.work.sum() * tick == pytest.approx(area(times, values, until), rel=1e-6, abs=1e-3)
        assert load.start == times[0]

    def test_points_further_apart_than_a_tick(self):
        """Straight lines between them: the mean of a tick is its middle value."""
        load = load_of(trace([0, 60], [0, 4]), CORES)
        assert load.work == pytest.approx([0.5, 1.5, 2.5, 3.5])

    def test_points_closer_than_a_tick(self):
        """One high second counts for its share of the tick."""
        values = np.zeros(31)
        values[7] = 15.0
        assert load_of(trace(np.arange(31), values), CORES).work == pytest.approx([1.0, 0.0])

    def test_points_off_the_grid(self):
        """Computed manually: a rise from 10 s to 20 s within two ticks."""
        load = load_of(trace([0, 10, 20, 30], [0, 0, 10, 10]), CORES)
        assert load.work == pytest.approx([12.5 / 15, (37.5 + 100) / 15])

    def test_zero_stays_zero(self):
        """Also after values of a million: no rounding error of the sums is left."""
        load = load_of(trace([0, 600, 601, 90_000], [1e6 / 3, 1e6 / 7, 0, 0]), CORES)
        assert set(load.work[60:]) == {0.0}

    def test_a_trace_shorter_than_a_tick(self):
        """The load is one tick, with no more work than the trace had, and not zero if the trace had any."""
        assert load_of(trace([0, 5], [0, 4]), CORES).work.max() <= 4.0
        assert load_of(trace([0, 5], [4, 0]), CORES).work.max() > 0.0

    def test_memory_comes_along(self):
        """Memory is averaged the same way, in bytes, without scale and noise."""
        given_load = load_of(trace([0, 60], [1, 1], memory=np.array([0.0, 400.0])), world(scale=3.0, noise=0.5))
        assert given_load.memory == pytest.approx([50, 150, 250, 350])

    @settings(max_examples=60, deadline=None)
    @given(
        st.lists(st.floats(0.0, 1e4), min_size=2, max_size=60),
        st.sampled_from([1.0, 5.0, 7.5, 15.0, 20.0, 60.0, 300.0]),
        st.sampled_from([5.0, 15.0, 60.0]),
    )
    def test_regular_traces(self, values, step, tick):
        """Steps that divide a tick, are divided by it, or neither give the same means as any other trace."""
        times = 1.7e9 + step * np.arange(len(values))
        assume(times[-1] - times[0] >= tick)
        found = load_of(trace(times, values, memory=np.array(values)), world(tick))
        expected = means(times, np.array(values), times[0] + tick * np.arange(len(found.work) + 1))
        assert len(found.work) == int((times[-1] - times[0]) // tick)
        assert found.work == pytest.approx(expected, rel=1e-9, abs=1e-6)
        assert found.memory == pytest.approx(expected, rel=1e-9, abs=1e-6)

    def test_means_of_uneven_edges(self):
        """Each mean is weighted by the length of its own interval."""
        times, values = np.array([0.0, 10.0, 20.0]), np.array([0.0, 10.0, 0.0])
        assert means(times, values, np.array([0.0, 5.0, 20.0])) == pytest.approx([2.5, 87.5 / 15])


class TestUnits:
    def test_requests_are_worth_their_cpu_time(self):
        """100 requests/s of 20 ms are two cores; the unit of the trace overrides that of the world."""
        assert load_of(trace([0, 60], [100, 100]), World()).work == pytest.approx([2.0] * 4)
        assert load_of(trace([0, 60], [100, 100], unit="cores"), World()).work == pytest.approx([100.0] * 4)
        slow = replace(CORES, service=Service(work=0.1))
        assert load_of(trace([0, 60], [100, 100], unit="rps"), slow).work == pytest.approx([10.0] * 4)

    def test_scale(self):
        """The work is multiplied by the scale."""
        assert load_of(trace([0, 60], [1, 1]), world(scale=2.5)).work == pytest.approx([2.5] * 4)

    @pytest.mark.parametrize("unit", ["rps", "cores"])
    def test_peak(self, unit):
        """The 99.9th percentile of the trace becomes this many cores; one spike in ten thousand does not count."""
        values = np.ones(10_001)
        values[77] = 1e6
        found = load_of(trace(np.arange(10_001) * 15.0, values, unit=unit), world(peak=12.0))
        assert np.median(found.work) == pytest.approx(12.0)

    def test_a_peak_of_nothing(self):
        """A trace of zeros stays zero."""
        assert load_of(trace([0, 60], [0, 0]), world(peak=12.0)).work.tolist() == [0.0] * 4


class TestChance:
    def test_noise_has_a_mean_of_one(self):
        """The noise has a mean of one and the requested spread."""
        flat = trace([0, 15.0 * 200_000], [1, 1])
        noise = load_of(flat, world(noise=0.3)).work
        assert noise.mean() == pytest.approx(1.0, abs=4 * 0.31 / np.sqrt(200_000))
        assert np.log(noise).std() == pytest.approx(0.3, rel=0.02)
        assert noise.min() > 0.0

    @pytest.mark.parametrize("demand", [{"noise": 0.1}, {"drops_per_day": 20.0}])
    def test_the_same_seed_gives_the_same_bytes(self, demand):
        """Another seed, or another workload, gives other values."""
        same = [load_of(DAY, world(**demand)) for _ in range(2)]
        other_seed, other_name = (
            load_of(DAY, world(seed=1, **demand)),
            load_of(replace(DAY, workload="x"), world(**demand)),
        )
        column = 1 if "noise" in demand else 2
        assert same[0][column].tobytes() == same[1][column].tobytes()
        assert same[0][column].tobytes() != other_seed[column].tobytes()
        assert same[0][column].tobytes() != other_name[column].tobytes()

    def test_without_chance_a_seed_changes_nothing(self):
        """Without noise and drops, neither a seed nor a name changes the load."""
        one, other = load_of(DAY, world()), load_of(replace(DAY, workload="x"), world(seed=9))
        assert [a.tobytes() for a in one[1:4]] == [a.tobytes() for a in other[1:4]]

    def test_drops(self):
        """Drops apply from their start to their end, and only there."""
        found = load_of(trace([0, 90], [1, 1]), world(drops=(Drop(15.0, 45.0, 0.5), Drop(60.0, 75.0, 0.8))))
        assert found.efficiency.tolist() == [1.0, 0.5, 0.5, 1.0, 0.8, 1.0]

    def test_random_drops(self):
        """The average number per day, and the length and depth of each, are as configured."""
        year = trace([0, 365 * 86400.0], [1, 1])
        found = load_of(year, world(60.0, drops_per_day=1.0, drop_length=600.0, drop_factor=0.25)).efficiency
        assert set(found) == {1.0, 0.25}
        dropped = float((found < 1.0).mean())
        assert dropped == pytest.approx(1.0 - np.exp(-600.0 / 86400.0), rel=0.25)
