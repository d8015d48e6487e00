"""How far one change of replicas may go."""

import pytest

from hypot.core.replicas.bounds import (
    Bound,
    doubling_ceiling,
    factor_step,
    limit_by_factors,
    limit_growth,
    limit_shrinking,
    limit_without_behavior,
)

WITHIN, FEW, MANY, UP, DOWN = (
    Bound.WITHIN_RANGE,
    Bound.TOO_FEW,
    Bound.TOO_MANY,
    Bound.SCALE_UP,
    Bound.SCALE_DOWN,
)


@pytest.mark.parametrize(
    ("current", "factor", "ceiling"), [(0, 2.0, 4), (1, 2.0, 4), (2, 2.0, 4), (3, 2.0, 6), (10, 2.0, 20), (3, 1.5, 4)]
)
def test_one_sync_may_double_or_reach_four(current, factor, ceiling):
    """This applies without a behavior."""
    assert doubling_ceiling(current, factor, 4.0) == ceiling


@pytest.mark.parametrize(
    ("desired", "low", "high", "ceiling", "result"),
    [
        (5, 2, 10, 20, (5, WITHIN)),
        (1, 2, 10, 20, (2, FEW)),
        (11, 2, 10, 20, (10, MANY)),
        (25, 2, 100, 20, (20, UP)),
        (25, 2, 20, 20, (20, MANY)),  # if both are equal, the maximum is named
        (-3, 0, 10, 20, (0, FEW)),
        (20, 2, 100, 20, (20, WITHIN)),
        (5, 30, 100, 20, (30, FEW)),  # the minimum overrides the ceiling
    ],
)
def test_bounds_without_behavior(desired, low, high, ceiling, result):
    """Minimum first, then the lower of maximum and ceiling."""
    assert limit_without_behavior(desired, low, high, ceiling) == result


@pytest.mark.parametrize(
    ("desired", "high", "allowed", "result"),
    [
        (12, 100, 14, (12, WITHIN)),
        (15, 100, 14, (14, UP)),
        (15, 14, 14, (14, MANY)),
        (15, 12, 14, (12, MANY)),
        (15, 100, 4, (10, UP)),  # policies never go below the current replicas
    ],
)
def test_scale_up(desired, high, allowed, result):
    """From 10 replicas, up to what the policies allow."""
    assert limit_growth(10, desired, high, allowed) == result


@pytest.mark.parametrize(
    ("desired", "low", "allowed", "result"),
    [
        (8, 1, 6, (8, WITHIN)),
        (5, 1, 6, (6, DOWN)),
        (5, 6, 6, (6, FEW)),
        (5, 7, 6, (7, FEW)),
        (5, 1, 40, (10, DOWN)),  # policies never go above the current replicas
        (0, 1, -5, (1, FEW)),
        (0, 0, -5, (0, WITHIN)),
    ],
)
def test_scale_down(desired, low, allowed, result):
    """From 10 replicas, down to what the policies allow."""
    assert limit_shrinking(10, desired, low, allowed) == result


@pytest.mark.parametrize(
    ("current", "percent_milli", "step"),
    [
        (10, 29_000, 2),
        (10, 1_000, 1),
        (10, 0, 0),
        (10, 500, 1),  # half a percent is small, but not off
        (10, 1, 1),
        (3, 150_000, 4),
        (10, 100_000, 10),
        (18, 20_000, 3),
        (25, 30_000, 7),
        (0, 50_000, 1),
    ],
)
def test_a_factor_is_a_floored_share_of_at_least_one(current, percent_milli, step):
    """Only a factor of exactly 0 switches a direction off."""
    assert factor_step(current, percent_milli) == step


@pytest.mark.parametrize(
    ("current", "desired", "up", "down", "result"),
    [
        (10, 13, 29, 29, (12, UP)),
        (10, 7, 29, 29, (8, DOWN)),
        (3, 9, 150, 20, (7, UP)),
        (10, 20, 100, 20, (20, WITHIN)),
        (10, 14, 50, 30, (14, WITHIN)),
        (10, 14, 30, 30, (13, UP)),
        (10, 11, 0, 20, (10, UP)),
        (10, 9, 50, 0, (10, DOWN)),
        (18, 25, 20, 20, (21, UP)),
        (25, 10, 50, 30, (18, DOWN)),
        (10, 200, 10_000, 20, (100, MANY)),
        (3, 1, 50, 99, (2, FEW)),
        (10, 10, 50, 20, (10, WITHIN)),
    ],
)
def test_velocity_then_bounds(current, desired, up, down, result):
    """Between 2 and 100, every pod ready; factors in percent."""
    top = current + factor_step(current, up * 1000)
    bottom = current - factor_step(current, down * 1000)
    assert limit_by_factors(current, desired, current, 2, 100, top, bottom) == result


@pytest.mark.parametrize(
    ("ready", "result"), [(10, (8, DOWN)), (8, (8, DOWN)), (7, (10, DOWN)), (1, (10, DOWN)), (0, (8, DOWN))]
)
def test_nothing_is_removed_while_fewer_are_ready_than_would_remain(ready, result):
    """From 10 replicas to 2, at 20 %; readiness is ignored where it is unknown."""
    assert limit_by_factors(10, 2, ready, 1, 100, 15, 8) == result


def test_a_minimum_of_zero_keeps_one():
    """A minimum of 0 has no velocity limit downwards, but one replica stays."""
    assert limit_by_factors(10, 0, 10, 0, 100, 15, 8) == (1, FEW)
