"""Groups with the same history have the same result, whether simulated together or each by itself."""

from unittest.mock import patch

import numpy as np
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from hypot.replay.engine import deciders
from hypot.replay.numbers.usage import observe
from hypot.replay.world import tick
from hypot.replay.world.signals import cpu_sample, is_sampled
from property.replay_worlds import GAPS, cases, hpas, played, wpas
from property.vertical_worlds import hvpas, setups, vpas

often = settings(
    max_examples=25,
    deadline=None,
    phases=(Phase.explicit, Phase.reuse, Phase.generate),
    suppress_health_check=(HealthCheck.too_slow, HealthCheck.data_too_large),
)
beside = st.one_of(st.tuples(hpas(), vpas()), st.tuples(vpas(), hpas()))
DECIDED = ("replicas", "size_cpu", "size_memory", "evicted", "killed", "pods", "ready", "cpu", "memory")


def alone(_c, s, _p, _settled_before):
    """No group follows another."""
    s.apart[0] = 0


def assert_followers_fare_alike(case):
    """Everything decided is the same at every tick, and every other figure to a millionth."""
    given_ = (case.policy, case.load, case.world)
    together, _ = played(*given_, settings=case.settings, merging=False)
    with patch.object(tick, "follow", alone):
        apart, _ = played(*given_, settings=case.settings, merging=False)
    for name, here, there in zip(together._fields, together, apart, strict=True):
        near = {"rtol": 0.0, "atol": 0.0} if name in DECIDED else {"rtol": 1e-6, "atol": 1e-6}
        assert np.allclose(here, there, **near), name


class TestFollowing:
    @often
    @given(cases(beside, setups, skews=(0.0, 0.0, 0.3), gaps=((), *GAPS)))
    def test_next_to_an_hpa(self, case):
        """Pods come and go, are resized, evicted and killed."""
        assert_followers_fare_alike(case)

    @often
    @given(cases(st.one_of(st.tuples(vpas()), st.tuples(wpas(), vpas()), st.tuples(hvpas())), setups, skews=(0.0, 0.3)))
    def test_under_others(self, case):
        """A VPA alone, a VPA with watermarks, and an Hvpa."""
        assert_followers_fare_alike(case)

    @often
    @given(cases(st.tuples(hpas()), skews=(0.0, 0.3)))
    def test_where_equal_groups_could_be_merged(self, case):
        """They are not merged, so that there are many groups."""
        assert_followers_fare_alike(case)


class TestSamples:
    @often
    @given(cases(beside, setups, skews=(0.0, 0.0, 0.3)))
    def test_of_a_leader_are_those_of_its_followers(self, case):
        """This holds whenever usage is observed, also where the count changed just before."""
        with patch.object(deciders, "observe", observed):
            ticks, _ = played(case.policy, case.load, case.world, settings=case.settings)
        assert np.isfinite(ticks.cpu).all()


def observed(u, c, p, i, now, blind):
    for first in {c.leader[k] for k in range(c.used[0])}:
        led = [k for k in range(c.used[0]) if c.leader[k] == first]
        assert first == led[0]
        assert c.mass[first] == sum(c.count[k] for k in led)
        assert len({(is_sampled(c, p, k, now), cpu_sample(c, p, k, i)) for k in led}) == 1
    observe(u, c, p, i, now, blind)
