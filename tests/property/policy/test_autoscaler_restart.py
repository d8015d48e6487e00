"""An Autoscaler after a restart of hypot, from either form of what it learned."""

import json

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from bank_world import Workload
from hypot.core.bank.bank import HOLDS
from hypot.policy.model.autoscaler_state import AutoscalerState

often = settings(max_examples=25, deadline=None, suppress_health_check=(HealthCheck.too_slow,))
LONGEST_HOLD = HOLDS[-1]
levels = st.sampled_from([0.05, 0.8, 2.6, 4.1, 7.7, 15.0])
stretches = st.lists(st.tuples(levels, st.integers(1, 20)), min_size=1, max_size=4)
axes = st.sampled_from([(True, True), (True, False), (False, True)])


def lived(given_, counts, sizes):
    one = Workload(Workload().rule._replace(counts=counts, sizes=sizes), work=0.02)
    for level, count in given_:
        one.steps(level, count)
    return one


def read_again(state, stored):
    return AutoscalerState.from_dict(json.loads(json.dumps(stored(state))))


@often
@given(stretches, stretches, axes)
def test_from_the_whole_state_it_decides_as_before(before, after, axes_):
    """Like a twin that was not restarted."""
    twin = lived(before, *axes_)
    restarted = lived(before, *axes_)
    restarted.past = read_again(AutoscalerState(restarted.past), AutoscalerState.to_dict).past
    for level, count in after:
        twin.steps(level, count)
        restarted.steps(level, count)
    assert restarted.course == twin.course


@often
@given(stretches, levels, axes, st.floats(1.0, 1e6))
def test_from_a_checkpoint_nothing_shrinks_during_the_longest_hold(before, demand, axes_, pause):
    """However long it was down; after the hold it shrinks again."""
    one = lived(before, *axes_)
    one.past = read_again(AutoscalerState(one.past), AutoscalerState.to_checkpoint).past
    one.now += pause
    held = one.capacity
    for _ in range(LONGEST_HOLD):
        one.step(demand)
        assert one.capacity >= held
        held = one.capacity
    one.steps(demand, 2)
    assert one.past.learned.keeps_until[0] <= one.now
