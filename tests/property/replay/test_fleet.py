"""The compiled engine and the plain engine give the same results."""

import numpy as np
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from hypot.replay.engine.engine import replay
from hypot.replay.fleet import fleet
from hypot.replay.fleet.cases import EXAMPLES
from hypot.replay.fleet.records import TooLargeError
from hypot.replay.score.scores import judge, needed_by, part, score
from property.autoscaler_worlds import autoscaler_cases
from property.replay_worlds import GAPS, Case, cases, hpas, wpas
from property.tortoise_worlds import fitting, knowing, tortoise_cases
from property.vertical_worlds import hvpas, setups, vpas

# The first test compiles it: one process runs all of these.
pytestmark = [pytest.mark.xdist_group("fleet"), pytest.mark.usefixtures("compiled")]


often = settings(
    max_examples=40,
    deadline=None,
    phases=(Phase.explicit, Phase.reuse, Phase.generate),
    suppress_health_check=(HealthCheck.too_slow, HealthCheck.data_too_large),
)


@pytest.fixture(scope="module")
def compiled():
    """All loops at once: what they share would be compiled for each of them."""
    fleet.warm([*EXAMPLES, fleet.COUNTING])


def both(case: Case):
    """The runs of both engines; None where the compiled engine does not support the case."""
    given_ = (case.policy, "web", case.load, case.world, case.settings)
    if fleet.obstacle(case.policy, case.world, case.settings):
        return None
    try:
        return fleet.replay(*given_), replay(*given_)
    except TooLargeError:
        return None


def assert_equal(case):
    """Every figure of every tick is equal, decisions exactly, and so is every score."""
    runs = both(case)
    if runs is None:
        return
    compiled, plain = runs
    for name, here, there in zip(plain.ticks._fields, compiled.ticks, plain.ticks, strict=True):
        assert np.allclose(here, there, rtol=1e-12, atol=0.0), name
    for name in ("replicas", "size_cpu", "size_memory", "evicted"):
        assert np.array_equal(getattr(compiled.ticks, name), getattr(plain.ticks, name)), name
    assert (compiled.prices is None) == (plain.prices is None)
    for here, there in zip(compiled.prices or (), plain.prices or (), strict=True):
        assert np.allclose(here, there, rtol=1e-12, atol=0.0, equal_nan=True)
    assert_judged_alike(case, plain)


def assert_judged_alike(case, plain):
    """Rows are counted while they come, without being kept, or afterwards."""
    against, first = needed_by(plain), len(plain.ticks.at) // 3
    expected = score(plain, against).to_dict()
    given_ = (case.policy, "web", case.load, case.world, case.settings)
    for account in (fleet.account(*given_, 0, against), fleet.account_of(plain, against)):
        assert_same_scores(judge(account, case.world, against), expected)
    rest = part(plain, plain.ticks.at[first] - 0.5 * case.world.tick, np.inf)
    against = needed_by(rest)
    account = fleet.account(*given_, first, against)
    assert_same_scores(judge(account, case.world, against), score(rest, against).to_dict())


def assert_same_scores(judged, expected):
    for name, value in expected.items():
        assert getattr(judged, name) == (None if value is None else pytest.approx(value, rel=1e-9, abs=1e-12)), name


class TestEngines:
    @often
    @given(cases(st.tuples(hpas()), skews=(0.0, 0.3), gaps=GAPS))
    def test_hpas_are_equal(self, case):
        """Identical decisions at every tick."""
        assert_equal(case)

    @often
    @given(cases(st.just(()), skews=(0.0, 0.3)))
    def test_without_autoscalers_they_are_equal(self, case):
        """The world itself is the same."""
        assert_equal(case)

    @often
    @given(cases(st.tuples(vpas()), setups, gaps=GAPS))
    def test_vpas_are_equal(self, case):
        """Identical sizes at every tick."""
        assert_equal(case)

    @often
    @given(cases(st.one_of(st.tuples(hpas(), vpas()), st.tuples(vpas(), hpas())), setups))
    def test_both_together_are_equal(self, case):
        """The order in the policy does not matter."""
        assert_equal(case)

    @often
    @given(cases(st.tuples(hvpas()), skews=(0.0, 0.3), gaps=GAPS))
    def test_hvpas_are_equal(self, case):
        """Identical points at every tick, and the same steps to them."""
        assert_equal(case)

    @often
    @given(tortoise_cases(decides=False, skews=(0.0, 0.3), gaps=((), *GAPS)))
    def test_tortoises_and_their_hpas_are_equal(self, case):
        """Identical decisions at every tick, whatever was learned before."""
        with knowing(fitting(case)):
            assert_equal(case)

    @often
    @given(tortoise_cases(decides=True, skews=(0.0, 0.3), gaps=((), *GAPS)))
    def test_tortoises_that_decide_are_equal(self, case):
        """Identical counts and sizes at every tick."""
        with knowing(fitting(case)):
            assert_equal(case)

    @often
    @given(cases(st.tuples(wpas()), skews=(0.0, 0.3), gaps=GAPS))
    def test_watermarks_are_equal(self, case):
        """Identical decisions at every tick."""
        assert_equal(case)

    @often
    @given(autoscaler_cases(skews=(0.0, 0.3), gaps=((), *GAPS)))
    def test_autoscalers_that_learn_are_equal(self, case):
        """Identical counts and sizes at every tick."""
        assert_equal(case)
