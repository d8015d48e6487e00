"""The arithmetic of scaling intervals, with the proposal's own numbers, corrected where they are misprinted."""

from itertools import pairwise

import pytest

from hypot.core.axes.interval import (
    HORIZONTAL_ONLY,
    LINEAR_PER_POD,
    Given,
    Interval,
    effective,
    interval_of,
    larger,
    least_change,
    per_pod,
    replicas_for,
    rounded,
    scaled_limit,
)
from hypot.kinds.hvpa import Hvpa
from hypot.kinds.hvpa.intervals import counts_of, intervals_of, largest_total, only_counts_at
from unit.policy.hvpa.hvpa_cases import hpa, policy, seed, sized, vpa

GI = 2**30
# The proposal's example: replicas, cores and Gi of each pod, and of all pods.
EXAMPLE = ((1, 0.5, 2, 0.5, 2), (2, 1, 4, 2, 8), (3, 2, 8, 6, 24), (4, 4, 16, 16, 64), (5, 8, 32, 40, 160))
CPU = tuple(Given(row[0], int(row[1] * 1000)) for row in EXAMPLE)
MEMORY = tuple(Given(row[0], row[2] * GI) for row in EXAMPLE)
FIVE_TO_TWENTY = (Given(1, 5000), Given(5, 20_000))


def plain(given, overlap=0, percent=0, *, least=0, first=1):
    return effective(given, first, least, overlap, percent)


def highs(intervals):
    return [one.high for one in intervals]


def lows(intervals):
    return [one.low for one in intervals]


class TestTables:
    """Every table of the proposal."""

    def test_the_example(self):
        """The total is replicas times the size of each pod."""
        assert highs(plain(CPU)) == [row[3] * 1000 for row in EXAMPLE]
        assert highs(plain(MEMORY)) == [row[4] * GI for row in EXAMPLE]

    def test_without_overlap_each_interval_begins_where_the_one_before_ends(self):
        """Every total belongs to one count."""
        made = plain(CPU)
        assert all(later.low == later.below == earlier.high for earlier, later in pairwise(made))
        assert made[0].low == 0

    @pytest.mark.parametrize(
        ("replicas", "cpu", "memory", "cpu_total", "memory_total"),
        [
            (1, 0.125, 0.5, 0.125, 0.5),
            (2, 0.175, 0.7, 0.35, 1.4),
            (3, 0.467, 1.867, 1.4, 5.6),
            (4, 1.05, 4.2, 4.2, 16.8),
            (5, 2.24, 8.96, 11.2, 44.8),
        ],
    )
    def test_an_overlap_of_30_percent(self, replicas, cpu, memory, cpu_total, memory_total):
        """Scale-down borders; at two replicas the proposal prints 0.765 Gi per pod, but 1.4 / 2 is 0.7."""
        cpus, memories = plain(CPU, percent=30, least=125), plain(MEMORY, percent=30, least=GI // 2)
        assert interval_of(cpus, replicas).low == cpu_total * 1000
        assert interval_of(memories, replicas).low == pytest.approx(memory_total * GI, abs=1)
        assert interval_of(cpus, replicas).low / replicas / 1000 == pytest.approx(cpu, abs=0.0005)
        assert interval_of(memories, replicas).low / replicas / GI == pytest.approx(memory, abs=0.0005)

    def test_the_overlap_does_not_affect_scale_up(self):
        """The scale-up borders are those of the example."""
        assert highs(plain(CPU, percent=30, least=125)) == highs(plain(CPU))
        assert highs(plain(MEMORY, 3 * GI // 2, 30)) == highs(plain(MEMORY))

    def test_only_vertically(self):
        """One count: two pods of 4 cores are 8 (the proposal prints 16), and 32 Gi (it prints 64)."""
        made = Hvpa.from_dict(sized((2, "4", "16Gi"), hpa=hpa(minReplicas=2)))
        assert intervals_of(made, "app", "cpu") == (Interval(2, 0, 8000, 0, most=4000),)
        assert highs(intervals_of(made, "app", "memory")) == [32 * GI]

    def test_only_horizontally(self):
        """The long form has the totals of the table; the short form has the same with the size fixed."""
        table = [500, 1000, 1500, 2000, 2500]
        assert highs(plain([Given(count, 500) for count in range(1, 6)])) == table
        short = plain([Given(5, 500, HORIZONTAL_ONLY)], 100, 30)
        assert highs(short) == table
        assert lows(short) == [0, *table[:-1]]
        assert {one.pinned for one in short} == {500}

    @pytest.mark.parametrize(
        ("given", "limit", "expected"),
        [
            # The limit is below every size, or only below the last ones: as many pods as the limit makes necessary.
            ([Given(2, 2000), Given(4, 3000)], 1000, [(200, 2000, 1000), (1600, 3000, 1000), (2400, 4000, 1000)]),
            ([Given(2, 1000), Given(4, 3000)], 2500, [(200, 2000, 1000), (1600, 7000, 2500), (5600, 10_000, 2500)]),
            (
                [Given(2, 1000), Given(4, 3000, HORIZONTAL_ONLY)],
                2500,
                [(200, 2000, 1000), (2000, 7500, 2500), (7500, 10_000, 2500)],
            ),
            ([Given(2, 1000), Given(3, 2000, LINEAR_PER_POD)], 1500, [(200, 2000, 1000), (1600, 4500, 1500)]),
            # It is above every size.
            ([Given(2, 1000), Given(3, 2000)], 2000, [(200, 2000, 1000), (1600, 6000, 2000)]),
        ],
    )
    def test_a_limit(self, given, limit, expected):
        """The most that a pod can request: totals above need more pods, and the overlap is below the new borders."""
        made = effective(given, 2, 100, 0, 20, limit)
        assert [(one.low, one.high, one.most) for one in made] == expected
        assert [one.below for one in made] == [0, *highs(made)[:-1]]

    @pytest.mark.parametrize(
        ("values", "limit", "most"), [("RequestsOnly", 600, 600), ("RequestsOnly", None, 4000), (None, 600, 4000)]
    )
    def test_a_limit_that_is_fixed(self, values, limit, most):
        """It counts if requests alone are controlled, and for cpu alone."""
        own = {} if values is None else {"controlledValues": values}
        made = Hvpa.from_dict(sized((3, "4", "4Gi"), vpa=vpa(policy("app", **own))))
        assert [one.most for one in intervals_of(made, "app", "cpu", limit)] == [most] * 3
        assert largest_total(made, "app", "cpu", limit) == 3 * most
        assert largest_total(made, "app", "memory", limit) == 12 * GI

    def test_the_last_example_of_the_proposal(self):
        """At two replicas the larger of 250m and 30 % of 0.5 leaves 0.25 cores."""
        made = intervals_of(Hvpa.from_dict(seed()), "kube-apiserver", "cpu")
        assert [(one.low, one.high) for one in made] == [
            (0, 500),
            (250, 2000),
            (1400, 6000),
            (4200, 16_000),
            (11_200, 40_000),
        ]

    @pytest.mark.parametrize(("least", "low"), [(None, GI // 2), ("512Mi", GI)])
    def test_the_last_example_of_the_proposal_in_memory(self, least, low):
        """2 Gi less 1.5 Gi is 0.5 Gi; if each pod needs at least 0.5 Gi, two need 1 Gi."""
        bounds = vpa(policy(low={"cpu": "125m", "memory": least})) if least else None
        made = intervals_of(Hvpa.from_dict(seed(vpa=bounds)), "kube-apiserver", "memory")
        assert lows(made)[1] == low
        assert highs(made) == [row[4] * GI for row in EXAMPLE]


class TestDivision:
    """An interval that spans several counts."""

    @pytest.mark.parametrize(
        ("division", "percent", "expected"),
        [
            ("linear", 0, [5, 28.75, 52.5, 76.25, 100]),
            ("linear", 20, [5, 28.75, 52.5, 76.25, 100]),
            (LINEAR_PER_POD, 0, [5, 2 * 6.875, 3 * 11.25, 4 * 15.625, 100]),
            (LINEAR_PER_POD, 20, [5, 2 * 6.5, 3 * 11, 4 * 15.5, 100]),
        ],
    )
    def test_both_linear_ways(self, division, percent, expected):
        """Totals are divided equally; or sizes rise evenly, and then the overlap changes the maxima."""
        given = [one._replace(division=division) for one in FIVE_TO_TWENTY]
        assert highs(plain(given, percent=percent)) == [total * 1000 for total in expected]

    @pytest.mark.parametrize(("first", "expected"), [(1, [1000, 2000, 3000]), (3, [3000])])
    def test_the_first_interval_spans_several(self, first, expected):
        """It starts at zero below the first count."""
        assert highs(plain([Given(3, 1000)], first=first)) == expected

    def test_a_first_count_above_one(self):
        """The whole range up to the last total is divided among the existing counts."""
        assert highs(plain([Given(4, 1000)], first=3)) == [2000, 4000]

    def test_per_pod_from_the_smallest_pod(self):
        """The sizes per pod start at minAllowed."""
        assert highs(plain([Given(3, 900, LINEAR_PER_POD)], least=300)) == [500, 1400, 2700]

    def test_after_one_of_one_size(self):
        """An interval after a horizontal-only one starts at its total, less the overlap."""
        made = plain([Given(2, 500, HORIZONTAL_ONLY), Given(4, 1000)], 200)
        assert [(one.replicas, one.low, one.high, one.pinned) for one in made] == [
            (1, 0, 500, 500),
            (2, 500, 1000, 500),
            (3, 800, 2500, 0),
            (4, 2300, 4000, 0),
        ]

    def test_repeated_counts_are_ignored(self):
        """The rules refuse them; here they give no interval."""
        assert [one.replicas for one in plain([Given(2, 500), Given(2, 900), Given(1, 900), Given(3, 900)])] == [
            1,
            2,
            3,
        ]

    def test_the_minimum_is_never_negative_nor_above_the_maximum(self):
        """Also with an overlap wider than everything, or a minAllowed above maxResources."""
        assert lows(plain(CPU, 10**9)) == [0] * 5
        assert all(one.low <= one.high for one in plain(CPU, least=10**9))


class TestWritten:
    """Intervals from a manifest."""

    def test_max_allowed_where_no_size_is_written(self):
        """Each container uses the maxAllowed of its own policy."""
        bounds = vpa(policy("app", high={"cpu": "4", "memory": "4Gi"}), policy("*", high={"cpu": "1", "memory": "1Gi"}))
        made = Hvpa.from_dict(sized((3,), vpa=bounds))
        assert highs(intervals_of(made, "app", "cpu")) == [4000, 8000, 12_000]
        assert highs(intervals_of(made, "side", "memory")) == [GI, 2 * GI, 3 * GI]

    def test_only_the_minimum_differs_between_containers(self):
        """It depends on the minAllowed of the container."""
        bounds = vpa(policy("app", low={"cpu": "250m", "memory": "1Gi"}), policy(low={"cpu": "10m"}))
        made = Hvpa.from_dict(seed(vpa=bounds))
        app, side = (intervals_of(made, name, "cpu") for name in ("app", "side"))
        assert highs(app) == highs(side)
        assert (lows(app), lows(side)) == ([250, 500, 1400, 4200, 11_200], [10, 250, 1400, 4200, 11_200])

    def test_a_missing_size_gives_no_intervals(self):
        """One missing size means no intervals for that resource."""
        assert intervals_of(Hvpa.from_dict(sized((1, "1"), (2, "1", "1Gi"))), "app", "memory") == ()

    def test_the_last_count_is_the_hpas_where_it_is_absent(self):
        """The first count is the minimum of the HPA."""
        made = Hvpa.from_dict(sized((None, "1", "1Gi"), hpa=hpa(minReplicas=2, maxReplicas=4)))
        assert counts_of(made) == (2, 4)
        assert [one.replicas for one in intervals_of(made, "app", "cpu")] == [2, 3, 4]

    @pytest.mark.parametrize(
        ("count", "expected"), [(1, False), (2, True), (4, True), (5, False), (6, False), (7, False)]
    )
    def test_where_only_the_number_moves(self, count, expected):
        """It depends on the interval that the count belongs to."""
        made = Hvpa.from_dict(sized((1, "1", "1Gi"), (4, "1", "1Gi", "horizontalOnly"), (6, "2", "2Gi")))
        assert only_counts_at(made, count) is expected


class TestLookup:
    """From a total to a count."""

    @pytest.mark.parametrize(
        ("total", "current", "expected"),
        [
            (100, 1, 1),
            (500, 1, 1),
            (501, 1, 2),
            (4000, 1, 3),
            (40_000, 5, 5),
            (40_001, 5, 5),
            (10**9, 1, 5),
            (0, 3, 1),
            (500, 2, 1),
            (501, 2, 2),
        ],
    )
    def test_without_overlap(self, total, current, expected):
        """A border belongs to the count below it; totals beyond the ends get the first or last count."""
        assert replicas_for(plain(CPU), total, current) == expected

    @pytest.mark.parametrize(
        ("total", "current", "expected"),
        [(350, 2, 2), (349, 2, 1), (500, 1, 1), (350, 1, 1), (1400, 3, 3), (1399, 3, 2), (349, 5, 1), (4200, 4, 4)],
    )
    def test_with_overlap(self, total, current, expected):
        """The current count is kept down to and including its lower border; otherwise the fewest replicas."""
        assert replicas_for(plain(CPU, percent=30), total, current) == expected

    @pytest.mark.parametrize(("current", "expected"), [(9, 3), (0, 3), (7, 3)])
    def test_a_count_outside_the_list(self, current, expected):
        """After manual scaling: the fewest replicas that hold the total."""
        assert replicas_for(plain(CPU, percent=30), 3000, current) == expected

    def test_a_list_that_begins_later(self):
        """The count is found by its number, not by its position."""
        made = plain([Given(3, 1000), Given(4, 1000)], 500, first=3)
        assert replicas_for(made, 2700, 4) == 4
        assert replicas_for(made, 2700, 3) == 3
        assert replicas_for(made, 10, 4) == 3

    @pytest.mark.parametrize(("total", "expected"), [(1, 1), (500, 1), (501, 2), (1000, 2), (2001, 5), (9999, 5)])
    @pytest.mark.parametrize("current", [1, 2, 5])
    def test_one_size_rounds_up(self, total, current, expected):
        """Total by size, rounded up, whatever the overlap and the current count."""
        assert replicas_for(plain([Given(5, 500, HORIZONTAL_ONLY)], 400, 30), total, current) == expected

    def test_a_count_without_an_interval(self):
        """There is no interval for the count."""
        assert interval_of(plain(CPU), 6) is None


class TestShares:
    """Amounts and percentages given together."""

    @pytest.mark.parametrize(("value", "percent", "expected"), [(250, 30, 250), (100, 30, 150), (0, 0, 0)])
    def test_the_larger_for_overlap_and_gap(self, value, percent, expected):
        """The percentage is of 500."""
        assert larger(value, percent, 500) == expected

    @pytest.mark.parametrize(
        ("value", "percent", "expected"),
        [(100, 10, 30), (20, 10, 20), (None, 10, 30), (250, None, 250), (None, None, 200)],
    )
    def test_the_smaller_for_the_minimum_change(self, value, percent, expected):
        """The percentage is of 300; the default is 200 where neither is given."""
        assert least_change(value, percent, 300, 200) == expected


class TestPerPod:
    """The base load of each replica, taken into account when their number changes."""

    @pytest.mark.parametrize(
        ("total", "each", "counts", "base", "expected"),
        [
            (500, 150, (1, 2), (100, 0), 300),
            (450, 150, (3, 2), (100, 0), 175),
            (4000, 1800, (1, 2), (0, 10), 2110),
            (2400, 2200, (3, 2), (0, 10), 990),
            (3000, 900, (2, 3), (50, 10), 1040),
            (500, 50, (1, 2), (100, 0), 250),
            (500, 100, (1, 2), (100, 0), 250),
            (900, 200, (3, 3), (100, 0), 300),
            (500, 150, (1, 2), (0, 0), 250),
            (5000, 2800, (6, 5), (0, 30), 1000),
            (2000, 1100, (3, 2), (700, 0), 1000),
        ],
    )
    def test_the_formula(self, total, each, counts, base, expected):
        """Not for a change of size alone, nor if the base of a pod is all it requests, or that of all is the total."""
        numerator, denominator = per_pod(total, each, *counts, *base)
        assert numerator / denominator == expected

    @pytest.mark.parametrize(
        ("numerator", "denominator", "grain", "expected"),
        [
            (1000, 3, 1, 334),
            (2001, 2, 1000, 2000),
            (1001, 1, 1000, 1001),
            (3000, 3, 1000, 1000),
            (0, 2, 1, 0),
            (-5, 2, 1, 0),
        ],
    )
    def test_rounded_up_once(self, numerator, denominator, grain, expected):
        """Never below what was asked for, never negative."""
        assert rounded(numerator, denominator, grain) == expected


class TestLimits:
    """A limit that follows its request."""

    @pytest.mark.parametrize(
        ("limit", "old", "new", "gap", "pods", "expected"),
        [
            (500, None, 300, (1000, 80), 1, 300),
            (500, 500, 340, (None, None), 1, 340),
            (500, 500, 340, (1000, 80), 1, 340),
            (5000, 200, 1320, (None, None), 1, 33_000),
            (5000, 200, 1320, (1000, 80), 1, 2376),
            (5000, 200, 1320, (3000, 80), 1, 4320),
            (5000, 200, 1320, (3000, 80), 2, 2820),
            (5000, 200, 1320, (3001, None), 3, 2321),
            (5000, 200, 333, (None, 50), 4, 500),
            (5000, 0, 333, (None, 50), 4, 333),
        ],
    )
    def test_each_way(self, limit, old, new, gap, pods, expected):
        """Equal stays equal; the larger gap counts, with its value for all pods together; else in proportion."""
        assert scaled_limit(limit, old, new, *gap, pods) == expected
