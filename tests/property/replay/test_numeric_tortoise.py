"""Plain numbers and full decisions of a Tortoise are the same decisions, in any world."""

from unittest.mock import patch

import numpy as np
from hypothesis import HealthCheck, Phase, given, settings

from hypot.replay.engine import engine
from hypot.replay.engine.families import tortoise_rule
from hypot.replay.engine.tortoises import ExplainedTortoise
from property.replay_worlds import ALWAYS, ENGINE_PARTS, GAPS
from property.tortoise_worlds import fitting, knowing, tortoise_cases

often = settings(
    max_examples=25,
    deadline=None,
    phases=(Phase.explicit, Phase.reuse, Phase.generate),
    suppress_health_check=(HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much),
)


def played(case, **more):
    """The rows of a replay, in which the Tortoise knows what it has learned."""
    known = fitting(case)

    def parts(*given):
        for part in ENGINE_PARTS(*given):
            if isinstance(part, ExplainedTortoise):
                part.state = part.state._replace(tortoise=known)
            yield part

    with patch.object(engine, "deciders_of", parts), knowing(known):
        return engine.replay(case.policy, "web", case.load, case.world, case.settings, **more).ticks


def assert_same_decisions(case):
    """Each decision is compared with the full one from the same state, and each row with those of full decisions."""
    numeric = played(case, explained=ALWAYS)
    with patch.object(tortoise_rule, "numbers_of", lambda *_: None):
        whole = played(case)
    for name, here, there in zip(whole._fields, numeric, whole, strict=True):
        assert np.array_equal(here, there), name


class TestDecisions:
    @often
    @given(tortoise_cases(decides=True))
    def test_where_hypot_decides_the_count(self, case):
        """Count, size, bounds and targets are the same at every step."""
        assert_same_decisions(case)

    @often
    @given(tortoise_cases(decides=False))
    def test_where_the_controller_of_its_hpa_does(self, case):
        """It follows the HPA that the Tortoise edits."""
        assert_same_decisions(case)

    @often
    @given(tortoise_cases(decides=False, skews=(0.3, 1.0), gaps=GAPS))
    def test_where_metrics_have_gaps_and_replicas_differ(self, case):
        """Without metrics for long enough, that is an emergency."""
        assert_same_decisions(case)

    @often
    @given(tortoise_cases(decides=True, skews=(0.3, 1.0), gaps=GAPS))
    def test_gaps_where_hypot_decides_the_count(self, case):
        assert_same_decisions(case)
