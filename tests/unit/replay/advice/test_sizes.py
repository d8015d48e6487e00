"""The cpu request that usage shows."""

import numpy as np
import pytest

from hypot.kinds.hpa import HPA
from hypot.kinds.hpa.fields import cpu
from hypot.replay.advice.sizes import rounded_up, sizes_shown, usage_of_pods
from hypot.replay.policies.policy import Policy, Start
from hypot.replay.traces.trace import Trace
from hypot.replay.world.parameters import Scoring, Service, World

START = Start("web", 4, "app", 2000, 2**30, None, None)
WORLD = World(service=Service(base_cpu=0.1), scoring=Scoring(tune=0.5))
TIMES = 60.0 * np.arange(241)


def trace(first, second):
    """Cores: so many in the first half, and so many in the second, which is judged."""
    return Trace("web", TIMES, np.where(TIMES <= 7200, first, second), None, "cores", "test")


def test_only_what_comes_before_judging_is_looked_at():
    """Otherwise the size would know what it is judged on."""
    assert usage_of_pods(Policy("today", (), START), trace(2.0, 40.0), WORLD).max() == pytest.approx(0.6)


def test_sizes_of_a_fixed_count():
    """Half a core and the base for each of four pods: with the margin of a VPA, and within the useful share."""
    assert sizes_shown(Policy("today", (), START), trace(2.0, 2.0), WORLD) == [690, 750]


def test_a_size_like_that_of_today_is_none():
    """Nothing to try."""
    same = Start("web", 4, "app", 720, 2**30, None, None)
    assert sizes_shown(Policy("today", (), same), trace(2.0, 2.0), WORLD) == []


def test_an_hpa_counts_by_its_target():
    """Five cores at 50 % of two cores are five pods, at most as many as it may have."""
    for most, used in ((10, 1.1), (2, 2.6)):
        hpa = HPA("deployment/web", max_replicas=most, metrics=[cpu(utilization=50)])
        found = usage_of_pods(Policy("today", (hpa,), START), trace(5.0, 5.0), WORLD)
        assert found[100] == pytest.approx(used)


@pytest.mark.parametrize(("given", "expected"), [(0.2, 1), (7.1, 8), (690.0, 690), (691.0, 700), (1234.0, 1300)])
def test_sizes_have_two_digits(given, expected):
    """Rounded up."""
    assert rounded_up(given) == expected
