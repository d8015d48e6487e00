"""The target utilization."""

import pytest

from hypot.core.learning.target import fixed_point, plain_step, stepped


@pytest.mark.parametrize(("percent", "expected"), [(105, 95), (130, 76), (180, 55), (200, 50), (230, 43), (300, 33)])
@pytest.mark.parametrize("target", [40, 70, 90])
def test_the_fixed_point_is_reached_at_once(percent, expected, target):
    """A 90th percentile of k times the target needs a target of 100/k, whatever the target is now."""
    request = 10**6
    wanted = fixed_point(target, request * target * percent // 10_000, request)
    assert wanted == expected
    assert fixed_point(wanted, request * wanted * percent // 10_000, request) == expected


def test_no_usage_changes_nothing():
    """Nothing is known about the room that is needed."""
    assert fixed_point(70, 0, 1000) == 70


@pytest.mark.parametrize(
    ("k", "targets"), [(1.3, [79, 76, 77, 76]), (2.0, [30, 70, 30, 70]), (1.8, [44, 64, 48, 61]), (2.5, [70, 70])]
)
def test_the_published_formula_rings(k, targets):
    """It converges for k = 1.3, and does not for k = 2. A result outside of 1 to 100 is none."""
    target, seen = 70, []
    for _ in targets:
        target = plain_step(target, int(1000 * k * target / 100), 1000)
        seen.append(target)
    assert seen == targets


def test_usage_below_the_target_keeps_it():
    """The formula would give more than 100 percent."""
    assert plain_step(70, 500, 1000) == 70


@pytest.mark.parametrize(
    ("current", "wanted", "expected"),
    [(70, 95, 75), (88, 95, 90), (70, 33, 65), (70, 72, 72), (50, 95, 55), (97, 97, 90)],
)
def test_steps(current, wanted, expected):
    """Within 65 to 90, and five points up at most; down at once."""
    assert stepped(current, wanted, 65, 90, 5) == expected
