"""The replica count that follows from usage and a target."""

from math import inf, nan

import pytest

from hypot.core.replicas.ratio import (
    MAX_INT32,
    assumed_usage,
    ceil_int32,
    count_after_refill,
    count_for,
    first_above,
    first_below,
    per_pod_share,
    total_by_utilization,
    trunc_div,
    utilization,
    within,
)


@pytest.mark.parametrize(
    ("dividend", "divisor", "quotient"),
    [(7, 2, 3), (-7, 2, -3), (7, -2, -3), (-7, -2, 3), (0, 5, 0), (6, 3, 2), (10**30, 3, 10**30 // 3)],
)
def test_division_rounds_towards_zero(dividend, divisor, quotient):
    """Python's own division would round -3.5 to -4."""
    assert trunc_div(dividend, divisor) == quotient


@pytest.mark.parametrize(
    ("ratio", "down", "up", "is_within"),
    [
        (1.0, 0.0, 0.0, True),
        (0.9, 0.1, 0.1, True),
        (1.1, 0.1, 0.1, True),
        (0.8999, 0.1, 0.1, False),
        (1.1001, 0.1, 0.1, False),
        (1.2, 0.1, 0.25, True),
        (0.8, 0.25, 0.1, True),
        (0.0, 1.0, 0.0, True),
        (0.0, 0.99, 0.0, False),
        (nan, 10.0, 10.0, False),
        (inf, 10.0, 10.0, False),
    ],
)
def test_both_ends_of_the_tolerance_are_inside(ratio, down, up, is_within):
    """Each direction has its own end; NaN and infinity are never inside."""
    assert within(ratio, down, up) is is_within


@pytest.mark.parametrize(
    ("usage", "requests", "percent"),
    [(779, 1000, 77), (999, 1000, 99), (1000, 1000, 100), (1, 1000, 0), (3001, 3000, 100), (5, 3, 166)],
)
def test_utilization_is_a_whole_percent_cut_off(usage, requests, percent):
    """77.9 % becomes 77 %, and the ratio is computed from that."""
    assert utilization(usage, requests) == percent


def test_the_cut_fraction_decides():
    """77.9 % of a target of 70 % is beyond a tolerance of 10 %, but nothing changes."""
    assert not within(77.9 / 70, 0.1, 0.1)
    assert within(utilization(779, 1000) / 70, 0.1, 0.1)


@pytest.mark.parametrize(
    ("request_amount", "target", "assumed"),
    [(1000, 70, 1000), (1000, 100, 1000), (1000, 150, 1500), (333, 150, 499), (0, 80, 0)],
)
def test_a_missing_sample_costs_the_request_or_the_target(request_amount, target, assumed):
    """On scale-down it is the larger of 100 % and the target, cut to whole milli."""
    assert assumed_usage(request_amount, target) == assumed


@pytest.mark.parametrize(
    ("ratio", "pods", "count"),
    [(1.5, 3, 5), (0.5, 3, 2), (0.3, 10, 3), (1.1, 10, 11), (1.2, 0, 0), (-0.5, 3, -1), (1e300, 10, MAX_INT32)],
)
def test_counts_are_rounded_up(ratio, pods, count):
    """The product is computed in doubles, so that 1.1 x 10 is 11 and not more."""
    assert count_for(ratio, pods) == count


@pytest.mark.parametrize(
    ("count", "fits"),
    [(2.0, 2), (2.000001, 3), (2.0**31 - 1, MAX_INT32), (2.0**31, MAX_INT32), (inf, MAX_INT32), (nan, 0), (-inf, 0)],
)
def test_counts_stay_in_their_range(count, fits):
    """They are capped at the largest replica count, and NaN gives 0."""
    assert ceil_int32(count) == fits


@pytest.mark.parametrize(
    ("first", "second", "samples", "current", "count"),
    [
        (1.5, 1.05, 4, 4, 4),  # with the assumed usage it is within tolerance
        (1.5, 0.8, 4, 4, 4),  # with the assumed usage the direction would reverse
        (0.5, 1.2, 4, 4, 4),
        (1.5, 1.25, 4, 4, 5),
        (0.5, 0.75, 4, 4, 3),
        (0.5, 0.8, 10, 4, 4),  # a scale-down to more than now: a surge of a rolling update
        (1.5, 1.2, 3, 5, 5),  # a scale-up to fewer than now
        (1.0, 1.3, 4, 4, 6),  # exactly on target has no direction
        (1.3, 1.0, 4, 4, 4),
    ],
)
def test_assumed_usage_never_reverses_the_direction(first, second, samples, current, count):
    """The count after usage was assumed for missing and unready pods."""
    assert count_after_refill(first, second, samples, current, 0.1, 0.1) == count


@pytest.mark.parametrize(("total", "pods", "share"), [(10, 3, 4), (9, 3, 3), (10, 0, 0), (0, 4, 0), (1, 1000, 1)])
def test_the_reported_share_is_rounded_up(total, pods, share):
    """Without pods it is 0."""
    assert per_pod_share(total, pods) == share


@pytest.mark.parametrize(
    ("target", "tolerance", "above", "below"),
    [
        (70, 0.1, 78, 62),
        (50, 0.1, 56, 44),
        (100, 0.1, 111, 89),
        (30, 0.1, 34, 26),
        (80, 0.0, 81, 79),
        (1, 0.1, 2, 0),
        (60, 0.05, 64, 56),
        (500, 0.001, 501, 499),
    ],
)
def test_where_a_target_begins_to_scale(target, tolerance, above, below):
    """The first amounts outside the tolerance, as the ratio in doubles sees them."""
    assert (first_above(target, tolerance), first_below(target, tolerance)) == (above, below)
    assert not within(above / target, tolerance, tolerance)
    assert within((above - 1) / target, tolerance, tolerance)
    assert not within(below / target, tolerance, tolerance)
    assert within((below + 1) / target, tolerance, tolerance)


@pytest.mark.parametrize("tolerance", [1.0, 2.0])
def test_a_tolerance_of_one_never_scales_down(tolerance):
    """With a tolerance of 100 % or more no amount is low enough."""
    assert first_below(10, tolerance) < 0
    assert first_above(10, tolerance) == 10 * (1 + tolerance) + 1


class Looked(float):
    """A tolerance that fails after a thousand uses."""

    times = 0

    def _count(self):
        self.times += 1
        assert self.times < 1000, "the amount is looked for one by one"

    def __radd__(self, other):
        self._count()
        return other + float(self)

    def __rsub__(self, other):
        self._count()
        return other - float(self)


@pytest.mark.parametrize("power", [15, 20, 24, 203])
def test_a_huge_target_takes_no_longer(power):
    """Amounts that doubles cannot distinguish are not tried one by one; 1E is 10**21 milli."""
    target = 10**power
    assert first_above(target, Looked(0.1)) > target > first_below(target, Looked(0.1))


def test_a_huge_tolerance_is_accepted():
    """Validation sets no upper bound for a tolerance, and a target may be as large."""
    assert first_above(10**200, 1e180) > 10**200


def total(used, asked, target=50, *, unready=(0, 0), missing=(0, 0), doubtful=0, now=1000):
    return total_by_utilization(used, asked, *unready, *missing, doubtful, target, now)


@pytest.mark.parametrize(
    ("used", "target", "expected"),
    [(500, 50, 1000), (501, 50, 1002), (350, 70, 500), (351, 70, 502), (0, 70, 0), (-5, 70, 0)],
)
def test_the_total_of_a_utilization_is_exact(used, target, expected):
    """What is used, divided by the target and rounded up once; also close to the target."""
    assert total(used, 1000, target) == expected


def test_pods_without_a_sample_do_not_support_the_change():
    """Going down they use what they request, going up nothing; neither turns the direction around."""
    assert total(100, 500, missing=(2, 500), doubtful=500) == 1000
    assert total(100, 900, missing=(1, 100), doubtful=100) == 400
    assert total(450, 500, missing=(2, 500), doubtful=500) == 1000
    assert total(600, 500, missing=(2, 500), doubtful=500) == 1200


def test_pods_that_are_not_ready_keep_what_they_have():
    """Going up they use nothing, as in an HPA. Going down they are not measured, so they keep their requests."""
    assert total(450, 500, unready=(2, 500)) == 1000
    assert total(600, 500, unready=(2, 500)) == 1200
    assert total(100, 500, unready=(2, 500)) == 700


def test_pods_that_crashed_lower_nothing():
    """Their samples show nothing, but they need at least what they have; what they do use counts."""
    assert total(0, 1000, doubtful=1000) == 1000
    assert total(100, 1000, doubtful=100) == 400
    assert total(800, 1000, doubtful=200) == 1600


def test_exactly_at_the_target():
    """Nothing changes, with or without pods that were not measured."""
    assert total(500, 1000) == 1000
    assert total(250, 500, missing=(1, 500), doubtful=500, now=990) == 990
