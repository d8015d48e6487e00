"""Every run starts with a shape that fits its first demand."""

import numpy as np
import pytest

from hypot.kinds.hpa import HPA
from hypot.policy.model.settings import Settings
from hypot.replay.engine.demand import gaps_in, led_in, load_of
from hypot.replay.jobs.comparison import ReplayJob, do
from hypot.replay.policies.policy import Policy, Start
from hypot.replay.traces.trace import Trace
from hypot.replay.world.parameters import Demand, Metrics, Span, World
from unit.replay.score.scores_world import GI

CPU = {"name": "cpu", "target": {"type": "Utilization", "averageUtilization": 70}}
SPEC = {
    "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"},
    "maxReplicas": 30,
    "metrics": [{"type": "Resource", "resource": CPU}],
}


@pytest.mark.parametrize("compiled", [False, True])
def test_it_is_neither_scored_nor_shown(compiled):
    """Two pods would be late with a demand of 7 cores; there are ten or more when the trace begins."""
    hpa = HPA.from_dict({"metadata": {"name": "web"}, "spec": SPEC})
    tried = Policy("web", (hpa,), Start("web", 2, "app", 1000, GI, 1200, GI))
    trace = Trace("web", np.array([0.0, 3600.0]), np.array([350.0, 350.0]))
    worlds = [World(demand=Demand(lead_in=lead)) for lead in (3600.0, 0.0)]
    fitted, bare = [do(ReplayJob(tried, trace, world, Settings(), compiled=compiled)) for world in worlds]
    assert [one.run.ticks.at[[0, -1]].tolist() for one in (fitted, bare)] == [[0.0, 3585.0]] * 2
    assert [one.run.ticks.replicas[0] for one in (fitted, bare)] == [12, 2]
    assert fitted.scores.late < 0.2
    assert bare.scores.late > 2.0
    assert all(moment.at >= 0.0 for moment in fitted.run.moments)


def test_gaps_count_from_the_start_of_the_trace():
    """They are part of the world that is replayed, not of the time before."""
    world = World(metrics=Metrics(gaps=(Span(60.0, 120.0),)))
    load = led_in(load_of(Trace("web", np.array([0.0, 600.0]), np.array([50.0, 50.0])), world), world)
    assert (load.start, load.lead, len(load.work)) == (-3600.0, 240, 280)
    assert gaps_in(load, world) == ((3660.0, 3720.0),)
