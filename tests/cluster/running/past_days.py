"""What an Autoscaler learns of the past, in a replay with the same service; `short_day.learned` runs it."""

import json
import sys

import numpy as np

from cluster.running.service import WORLD
from hypot.kinds.autoscaler import WorkloadAutoscaler
from hypot.policy.continuity import Remembered
from hypot.policy.model.autoscaler_state import AutoscalerState
from hypot.policy.model.settings import Settings
from hypot.policy.model.state import State
from hypot.replay.engine.autoscalers import AutoscalerDecider
from hypot.replay.engine.demand import Load
from hypot.replay.engine.engine import begin, params_for, run
from hypot.replay.engine.families import deciders_of
from hypot.replay.policies.policy import Policy
from hypot.replay.policies.start import start_of_world


def main() -> None:
    autoscaler, demand, until = json.load(sys.stdin)
    load = Load(until - len(demand), np.array(demand), np.ones(len(demand)), np.zeros(len(demand)))
    start = start_of_world(WORLD, "Deployment", "web")
    policy = Policy("learns", (WorkloadAutoscaler.from_dict(autoscaler),), start)
    scene = begin(policy, load, WORLD, params_for(policy, WORLD), Settings(sync_period=WORLD.tick))
    (decider,) = deciders_of(policy, scene, WORLD, load.start)
    assert isinstance(decider, AutoscalerDecider)
    run(scene, [decider], load, None)
    sys.stdout.write(json.dumps(Remembered(State(autoscaler=AutoscalerState(decider.past)), at=until).to_entry()))
