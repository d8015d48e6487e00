"""Plain numbers and full decisions of an Autoscaler are the same decisions, in any world."""

from unittest.mock import patch

import numpy as np
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from hypot.policy.decide import decide
from hypot.policy.model.autoscaler_state import AutoscalerState
from hypot.policy.model.state import State
from hypot.replay.engine import engine
from hypot.replay.engine.acting import size_of
from hypot.replay.engine.autoscalers import AutoscalerDecider
from hypot.replay.engine.deciders import with_restarts
from hypot.replay.numbers import autoscaler_rule
from property.autoscaler_worlds import autoscaler_cases
from property.replay_worlds import ENGINE_PARTS, GAPS, Case

often = settings(
    max_examples=25,
    deadline=None,
    phases=(Phase.explicit, Phase.reuse, Phase.generate),
    suppress_health_check=(HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much),
)


class Compared:
    """Decides in plain numbers, and compares each decision with the full one, also where nothing changes."""

    def __init__(self, part):
        self.part, self.every, self.learned = part, part.every, AutoscalerState.new()

    def step(self, scene, i, now):
        state = with_restarts(State(autoscaler=self.learned), self.part.plan)
        decision, state = decide(self.part.autoscaler, scene.observer.seen(i, now), state, scene.settings)
        self.part.step(scene, i, now)
        columns = self.part.columns
        assert (columns.desired[0], (*columns.size,)) == (
            decision.desired,
            size_of(decision.desired_sizes, scene.container),
        )
        if state.autoscaler is not None:
            assert listed(state.autoscaler.past) == listed(self.part.past)
            self.learned = state.autoscaler


def listed(learned):
    """Nested tuples of lists, whatever the columns are."""
    return tuple(listed(each) if isinstance(each, tuple) else list(each) for each in learned)


def compared_parts(*given):
    for part in ENGINE_PARTS(*given):
        yield Compared(part) if isinstance(part, AutoscalerDecider) else part


def played(case, parts=ENGINE_PARTS):
    with patch.object(engine, "deciders_of", parts):
        return engine.replay(case.policy, "web", case.load, case.world, case.settings).ticks


def assert_same_decisions(case):
    """Each decision and all that was learned are compared with the full ones, and each row of a replay with its row."""
    numeric = played(case, compared_parts)
    with patch.object(autoscaler_rule, "numbers_of", lambda *_: None):
        whole = played(case)
    for name, here, there in zip(whole._fields, numeric, whole, strict=True):
        assert np.array_equal(here, there), name


class TestDecisions:
    @often
    @given(autoscaler_cases())
    def test_of_both_axes(self, case):
        """Count and size are the same at every step."""
        assert_same_decisions(case)

    @often
    @given(autoscaler_cases(skews=(0.3, 1.0), gaps=GAPS))
    def test_where_metrics_have_gaps_and_pods_differ(self, case):
        """Nothing is scaled down without metrics, in both."""
        assert_same_decisions(case)


class TestLearning:
    @often
    @given(autoscaler_cases(gaps=((), *GAPS)), st.integers(5, 140), st.sampled_from([0.0, 0.3, 4.0]))
    def test_it_does_not_look_ahead(self, case, known, factor):
        """Another future changes nothing of the past."""
        work = case.load.work.copy()
        known = min(known, len(work))
        work[known:] = work[known:] * factor + 0.5
        other = Case(case.policy, case.load._replace(work=work), case.world, case.settings)
        for name, here, there in zip(played(case)._fields, played(case), played(other), strict=True):
            assert np.array_equal(here[:known], there[:known]), name
