"""Two watermarks instead of one target, in exact integers."""

import pytest

from hypot.core.replicas.watermark import (
    Side,
    above_or_below,
    count_down,
    count_up,
    direction_kept,
    lower_edge,
    margin,
    next_multiple,
    step_to_high,
    step_to_low,
    upper_edge,
)


@pytest.mark.parametrize(
    ("mark", "tolerance", "cut"),
    [(400, 10, 4), (150, 10, 1), (15, 100, 1), (19, 100, 1), (9, 100, 0), (1000, 1, 1), (999, 1, 0), (-15, 100, -1)],
)
def test_the_margin_is_cut_to_whole_milli(mark, tolerance, cut):
    """1 % of 150m is 1m, not 1.5m."""
    assert margin(mark, tolerance) == cut


@pytest.mark.parametrize(
    ("high", "low", "tolerance", "upper", "lower"),
    [(400, 150, 10, 404, 149), (15, 15, 100, 16, 14), (80_000, 60_000, 0, 80_000, 60_000), (100, 0, 500, 150, 0)],
)
def test_the_band_widens_by_the_tolerance(high, low, tolerance, upper, lower):
    """The first row is the example of the enhancement proposal."""
    assert (upper_edge(high, tolerance), lower_edge(low, tolerance)) == (upper, lower)


@pytest.mark.parametrize(
    ("usage", "pods", "side"),
    [
        (404, 1, Side.WITHIN),
        (405, 1, Side.ABOVE),
        (149, 1, Side.WITHIN),
        (148, 1, Side.BELOW),
        (4 * 404, 4, Side.WITHIN),
        (4 * 404 + 1, 4, Side.ABOVE),
        (4 * 149, 4, Side.WITHIN),
        (4 * 149 - 1, 4, Side.BELOW),
        (0, 1, Side.BELOW),
        (-5, 1, Side.BELOW),
    ],
)
def test_exactly_on_an_edge_is_within(usage, pods, side):
    """The edges are 404m and 149m; an average is not rounded before it is compared."""
    assert above_or_below(usage, pods, 404, 149) is side


@pytest.mark.parametrize(
    ("usage", "weight", "high", "count"),
    [
        (85, 10, 80, 11),
        (80, 10, 80, 10),
        (81, 10, 80, 11),
        (250_000, 1, 10_000, 25),  # in doubles, with 7 ready pods, it would be 26
        (250_001, 1, 10_000, 26),
        (270, 3, 40, 21),
        (10**30, 3, 7, -(-3 * 10**30 // 7)),
    ],
)
def test_up_is_rounded_up_to_the_bare_mark(usage, weight, high, count):
    """The tolerance does not affect the count."""
    assert count_up(usage, weight, high) == count


@pytest.mark.parametrize(
    ("usage", "weight", "low", "single", "count"),
    [
        (45, 10, 60, False, 7),
        (45, 10, 60, True, 8),
        (30_000, 1, 10_000, False, 3),  # in doubles, with 7 ready pods, it would be 2
        (29_999, 1, 10_000, False, 2),
        (1, 1, 60, False, 1),
        (0, 10, 60, False, 1),
        (-50, 10, 60, True, 1),
    ],
)
def test_down_is_rounded_down_unless_there_is_one_mark(usage, weight, low, single, count):
    """At least one replica stays."""
    assert count_down(usage, weight, low, single) == count


@pytest.mark.parametrize(
    ("count", "modulo", "multiple"), [(21, 5, 25), (20, 5, 20), (1, 2, 2), (7, 1, 7), (0, 5, 0), (6, 4, 8)]
)
def test_groups_are_filled_upwards(count, modulo, multiple):
    """The count is rounded up to a multiple, also on scale-down."""
    assert next_multiple(count, modulo) == multiple


@pytest.mark.parametrize(
    ("side", "count", "kept"),
    [
        (Side.ABOVE, 8, 10),
        (Side.ABOVE, 12, 12),
        (Side.BELOW, 12, 10),
        (Side.BELOW, 8, 8),
        (Side.WITHIN, 8, 8),
        (Side.WITHIN, 12, 12),
    ],
)
def test_few_ready_pods_do_not_reverse_the_direction(side, count, kept):
    """From 10 replicas."""
    assert direction_kept(side, count, 10) == kept


@pytest.mark.parametrize(
    ("current", "modulo", "fewest", "candidate"),
    [(10, 1, 9, 9), (10, 1, 10, 10), (7, 5, 2, 2), (7, 5, 3, 7), (3, 5, 1, 1), (1, 1, 1, 1)],
)
def test_a_step_towards_the_high_mark(current, modulo, fewest, candidate):
    """One group less, not a multiple of it, and at least one replica."""
    assert step_to_high(current, modulo, fewest) == candidate


@pytest.mark.parametrize(
    ("current", "modulo", "most", "candidate"), [(10, 1, 11, 11), (10, 1, 10, 10), (7, 5, 12, 12), (7, 5, 11, 7)]
)
def test_a_step_towards_the_low_mark(current, modulo, most, candidate):
    """One group more."""
    assert step_to_low(current, modulo, most) == candidate
