"""Rules that depend on the history."""

import pytest

from hypot.core.replicas.window import (
    NO_SLOT,
    changed_within,
    delay_over,
    envelope,
    forced_into,
    highest_recent,
    last_older,
    least_after_policy,
    most_after_policy,
    seconds_left,
)

PERCENT = True


@pytest.mark.parametrize(
    ("recommendation", "values", "times", "highest"),
    [
        (3, [], [], 3),
        (3, [5], [101.0], 5),
        (3, [5], [100.0], 5),  # exactly as old as the window: it still counts
        (3, [5], [99.9], 3),
        (6, [5], [101.0], 6),
        (3, [9, 5, 4], [99.0, 150.0, 160.0], 5),
        (3, [0, 2], [150.0, 160.0], 3),
        (3, [200], [150.0], 200),  # above any maximum: history keeps unlimited recommendations
    ],
)
def test_the_highest_of_the_window(recommendation, values, times, highest):
    """Without behavior; the cut-off is at 100."""
    assert highest_recent(recommendation, values, times, 100.0) == highest


@pytest.mark.parametrize(
    ("times", "slot"),
    [([], NO_SLOT), ([100.0], NO_SLOT), ([99.9], 0), ([50.0, 60.0, 100.0], 1), ([150.0, 60.0], 1), ([200.0], NO_SLOT)],
)
def test_the_last_slot_that_is_too_old_is_reused(times, slot):
    """Strictly older than the cut-off at 100."""
    assert last_older(times, 100.0) == slot


@pytest.mark.parametrize(
    ("recommendation", "values", "times", "up_window", "down_window", "low", "high"),
    [
        (5, [3, 8], [990.0, 995.0], 60, 60, 3, 8),
        (5, [3, 8], [940.0, 940.0], 60, 60, 5, 5),  # exactly as old as the window: it does not count
        (5, [3, 8], [940.1, 940.1], 60, 60, 3, 8),
        (5, [3, 8], [990.0, 995.0], 0, 60, 5, 8),
        (5, [3, 8], [990.0, 995.0], 60, 0, 3, 5),
        (5, [3, 8], [1000.0, 1000.0], 0, 0, 5, 5),  # a window of 0 is empty, even for values of now
        (5, [6, 4], [990.0, 995.0], 60, 60, 4, 6),
        (5, [], [], 60, 60, 5, 5),
    ],
)
def test_the_envelope_of_two_windows(recommendation, values, times, up_window, down_window, low, high):
    """With behavior; now is 1000."""
    assert envelope(recommendation, values, times, 1000.0, up_window, down_window) == (low, high)


@pytest.mark.parametrize(
    ("current", "low", "high", "settled"),
    [(5, 3, 8, 5), (2, 3, 8, 3), (9, 3, 8, 8), (5, 5, 5, 5), (5, 7, 7, 7), (5, 2, 2, 2)],
)
def test_only_the_envelope_forces_a_change(current, low, high, settled):
    """Inside it the current size stays."""
    assert forced_into(current, low, high) == settled


@pytest.mark.parametrize(
    ("changes", "times", "total"),
    [([], [], 0), ([4], [100.0], 0), ([4], [100.1], 4), ([4, 2, 1], [99.0, 101.0, 150.0], 3)],
)
def test_events_strictly_younger_than_the_period_count(changes, times, total):
    """The cut-off is at 100."""
    assert changed_within(changes, times, 100.0) == total


@pytest.mark.parametrize(
    ("start", "percent", "value", "most"),
    [
        (100, True, 10, 111),  # 100 x 1.1 is slightly above 110
        (10, True, 10, 11),
        (10, True, 100, 20),
        (3, True, 50, 5),
        (1, True, 1, 2),
        (0, True, 100, 0),
        (10, True, 1000, 110),
        (10, False, 4, 14),
        (-3, False, 4, 1),
    ],
)
def test_how_far_up_a_policy_allows(start, percent, value, most):
    """Percentages are computed in doubles and rounded up."""
    assert most_after_policy(start, percent, value) == most


@pytest.mark.parametrize(
    ("start", "percent", "value", "least"),
    [
        (5, True, 80, 0),  # 5 x 0.2 is slightly below 1
        (10, True, 10, 9),
        (10, True, 100, 0),
        (10, True, 150, -5),
        (3, True, 50, 1),
        (1, True, 1, 0),
        (10, False, 4, 6),
        (3, False, 4, -1),
    ],
)
def test_how_far_down_a_policy_allows(start, percent, value, least):
    """Percentages are computed in doubles and cut; the result may be negative."""
    assert least_after_policy(start, percent, value) == least


def test_integers_would_be_wrong_in_some_cases():
    """Of 20,000 small cases exact arithmetic differs from Kubernetes in 38 upwards and in 119 downwards."""
    small = [(start, value) for start in range(1, 201) for value in range(1, 101)]
    up = [1 for start, value in small if most_after_policy(start, PERCENT, value) != start - (-start * value // 100)]
    down = [1 for start, value in small if least_after_policy(start, PERCENT, value) != start * (100 - value) // 100]
    assert (len(up), len(down)) == (38, 119)


@pytest.mark.parametrize(
    ("since", "window", "left"), [(1000.0, 60, 60.0), (950.0, 60, 10.0), (940.0, 60, 0.0), (0.0, 60, 0.0)]
)
def test_what_is_left_of_a_forbidden_window(since, window, left):
    """Now is 1000; a window that has just ended is over."""
    assert seconds_left(since, window, 1000.0) == left


@pytest.mark.parametrize(
    ("since", "delay", "is_over"),
    [
        (970.0, 30, True),
        (970.1, 30, False),
        (970.9, 29, True),
        (1000.0, 0, True),
        (1000.0, 1, False),
        (1010.0, 30, False),
    ],
)
def test_a_delay_is_counted_in_whole_seconds(since, delay, is_over):
    """Now is 1000; equal is enough."""
    assert delay_over(since, delay, 1000.0) is is_over
