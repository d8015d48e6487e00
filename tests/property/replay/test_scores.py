"""What holds for scores, the lower bound and the front of any run."""

from itertools import pairwise
from math import isclose, isfinite

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from hypot.replay.score.ranking import PolicyPoint, cost_at, front
from hypot.replay.score.scores import needed_by, part, score, window_borders
from hypot.replay.world.record import Run, Ticks
from unit.replay.score.scores_world import world

numeric = settings(max_examples=60, deadline=None)

amounts = st.one_of(st.just(0.0), st.floats(0, 50), st.floats(0, 1e9), st.sampled_from([5e-324, 1e-13, 1.0, 2.0]))
shares = st.floats(0, 1)
counts = st.integers(0, 6).map(float)
SHARES, COUNTS = {"late", "efficiency"}, {"replicas", "pods", "ready", "evicted", "killed", "nodes"}


@st.composite
def worlds(draw):
    cpu = sorted(draw(st.tuples(st.floats(0.01, 8), st.floats(0.01, 8))))
    memory = sorted(draw(st.tuples(st.integers(2**24, 2**34), st.integers(2**24, 2**34))))
    replicas = sorted(draw(st.tuples(st.integers(0, 5), st.integers(1, 500))))
    if draw(st.booleans()):
        cpu[1] = cpu[0]
    return world(
        tick=draw(st.sampled_from([5.0, 15.0, 60.0, 86400.0])),
        shapes={
            "min_replicas": replicas[0],
            "max_replicas": replicas[1],
            "min_cpu": cpu[0],
            "max_cpu": cpu[1],
            "min_memory": memory[0],
            "max_memory": memory[1],
        },
        service={
            "useful": draw(st.floats(0.1, 1)),
            "base_cpu": draw(st.floats(0, 1)),
            "base_share": draw(st.sampled_from([0.0, 0.05, 0.9])),
            "parallel": draw(st.sampled_from([0.0, 0.5, 4.0])),
            "slo": draw(st.sampled_from([0.0, 0.9, 0.99, 1.0])),
        },
        pods={"start": draw(st.sampled_from([0.0, 31.0, 240.0]))},
    )


@st.composite
def runs(draw):
    where, length = draw(worlds()), draw(st.integers(1, 45))
    pools = [draw(st.lists(kind, min_size=1, max_size=6)) for kind in (shares, counts, amounts)]
    pick = np.random.default_rng(draw(st.integers(0, 2**32)))
    columns = {}
    for name in Ticks._fields:
        pool = pools[0] if name in SHARES else pools[1] if name in COUNTS else pools[2]
        columns[name] = pick.choice(pool[: pick.integers(1, len(pool) + 1)], length)
    columns["at"] = np.arange(length) * where.tick
    return Run("any", "shop", where, Ticks(**columns))


@numeric
@given(runs())
def test_scores_are_finite_or_none(run):
    """No columns give a NaN, an infinity or a warning."""
    for name, value in score(run, baseline=score(run)).to_dict().items():
        assert value is None or isfinite(value), name


@numeric
@given(runs())
def test_a_run_is_as_elastic_as_itself(run):
    """Against itself the speedup is one, where it is defined."""
    assert score(run, baseline=score(run)).speedup in {None, 1.0}


@numeric
@given(runs(), st.integers(1, 6))
def test_costs_and_lost_requests_add_up_over_windows(run, count):
    """Cutting a run changes neither the cost nor the lost requests."""
    borders = window_borders(len(run.ticks.at), min(count, len(run.ticks.at)))
    edges = [*(float(run.ticks.at[i]) for i in borders[:-1]), np.inf]
    cut = [part(run, start, end) for start, end in pairwise(edges)]
    whole, parts = score(run), [score(one) for one in cut]
    for name in ("cost", "cpu_hours", "memory_hours", "disruption"):
        assert isclose(sum(getattr(one, name) for one in parts), getattr(whole, name), rel_tol=1e-9, abs_tol=1e-9)
    assert isclose(sum(float(one.ticks.lost.sum()) for one in cut), float(run.ticks.lost.sum()), rel_tol=1e-9)


@numeric
@given(runs())
def test_demand_is_within_the_allowed_shapes(run):
    """Never less than the smallest shape, never more than the largest."""
    shapes, got = run.world.shapes, needed_by(run)
    assert np.all(got.demand >= shapes.min_replicas * shapes.min_cpu)
    assert np.all(got.demand <= shapes.max_replicas * shapes.max_cpu)


points = st.builds(PolicyPoint, st.integers(0, 8).map(float), st.integers(0, 8).map(float))


@numeric
@given(st.lists(points, max_size=12))
def test_members_of_the_front_are_not_beaten(given_points):
    """A policy is on the front exactly if no other is better in one value and not worse in the other."""
    entries = {str(i): point for i, point in enumerate(given_points)}
    unbeaten = {
        name
        for name, own in entries.items()
        if not any(other.cost <= own.cost and other.late <= own.late and other != own for other in given_points)
    }
    assert front(entries) == unbeaten


@numeric
@given(st.lists(points, min_size=1, max_size=12), st.floats(0, 10))
def test_cost_at_equal_lateness_is_a_cost_of_the_curve(curve, late):
    """It is between the costs of the cheapest and the most expensive point."""
    cost = cost_at(curve, late)
    assert cost is None or min(curve).cost - 1e-9 <= cost <= max(curve).cost + 1e-9
