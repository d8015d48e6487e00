"""Decisions of the bank on small courses: when it grows, holds and shrinks."""

import pytest

from bank_world import USUAL, Workload
from hypot.core.bank.bank import FIRST, HOLDS, forecast_of, hold_of, margin_of
from hypot.core.bank.decide import AHEAD, RELEASED, WARM_UP, advise, restrain_count, restrain_size, sized_pods

LONGEST_HOLD = HOLDS[-1]
COUNTS = USUAL._replace(sizes=False, least_pods=2)
SIZES = USUAL._replace(counts=False)


def test_the_first_rule():
    """The last value, a tenth more, for five steps."""
    assert (forecast_of(FIRST), margin_of(FIRST), hold_of(FIRST)) == (0, 0.1, 5)


class TestCounts:
    def test_growth_does_not_wait(self):
        """The first observation is enough."""
        one = Workload(COUNTS, replicas=2, cpu=1000)
        one.step(2.0)
        # 2.2 cores are planned for, and pods should use 0.67 cores.
        assert one.course == [(3, 1000)]

    def test_shrinks_wait_for_the_longest_hold_first(self):
        """Nothing is known of the steps before."""
        one = Workload(COUNTS, replicas=20, cpu=1000)
        one.steps(1.0, LONGEST_HOLD)
        assert one.replicas == 20
        # No pod has used more than 0.05 cores: the first step leaves none more than a quarter above that.
        one.steps(1.0, 1)
        assert one.replicas == 18
        one.steps(1.0, 160)
        assert one.replicas == 2

    @pytest.mark.parametrize(("least", "most", "found"), [(2, 50, 8), (2, 5, 5), (9, 50, 9)])
    def test_bounds(self, least, most, found):
        """Always."""
        one = Workload(COUNTS._replace(least_pods=least, most_pods=most), replicas=6)
        one.step(4.9)
        assert one.replicas == found

    @pytest.mark.parametrize(("replicas", "most", "found"), [(150, 100, 100), (10, 8, 8), (8, 8, 8)])
    def test_above_the_maximum_only_the_rest_is_released(self, replicas, most, found):
        """Before anything is known, too."""
        one = Workload(COUNTS._replace(most_pods=most), replicas=replicas)
        one.step(1.0)
        assert one.replicas == found

    @pytest.mark.parametrize(("demand", "asked"), [(30.0, 49), (0.1, 1)])
    def test_what_is_asked_for_may_be_beyond_the_bounds(self, demand, asked):
        """So reports say that it is limited."""
        one = Workload(COUNTS._replace(most_pods=40), replicas=40)
        one.step(demand)
        assert one.past.proposal.asked[0] == asked
        assert one.replicas == 40

    @pytest.mark.parametrize(
        ("asked", "planned", "count"),
        # Pods should use 0.8 cores: 7 are asked for, and a demand 4 % larger asks for 7 or 8.
        [(9, 7.2, 9), (8, 6.4, 8), (7, 5.2, 7), (7, 5.75, 8), (2, 1.0, 2)],
    )
    def test_only_clear_shrinks_count(self, asked, planned, count):
        """Where slightly more demand would need what is there, that stays."""
        one = Workload(COUNTS, replicas=8)
        past = one.past
        past.proposal.use[0], past.proposal.asked[0], past.proposal.planned[0] = 0.8, asked, planned
        restrain_count(COUNTS, past, one.observed(1.0), one.now)
        assert past.proposal.replicas[0] == count

    def test_at_the_cap_and_during_holds_nothing_shrinks(self):
        """Each alone is a reason."""
        one = Workload(COUNTS, replicas=8)
        past = one.past
        past.proposal.use[0], past.proposal.asked[0], past.proposal.planned[0] = 0.8, 2, 1.0
        past.proposal.saturated[0] = 1
        restrain_count(COUNTS, past, one.observed(1.0), one.now)
        assert past.proposal.replicas[0] == 8
        past.proposal.saturated[0], past.learned.keeps_until[0] = 0, one.now + 1.0
        restrain_count(COUNTS, past, one.observed(1.0), one.now)
        assert past.proposal.replicas[0] == 8

    @pytest.mark.parametrize(("steps", "count"), [(0, 8), (39, 8), (40, 2)])
    def test_while_pods_do_not_serve_nothing_shrinks(self, steps, count):
        """What the others use says too little; those that do not serve for long are not waited for."""
        one = Workload(COUNTS, replicas=8)
        past = one.past
        past.proposal.use[0], past.proposal.asked[0], past.proposal.planned[0] = 0.8, 2, 1.0
        past.learned.missing_since[0] = one.now - steps * COUNTS.step
        restrain_count(COUNTS, past, one.observed(1.0), one.now)
        assert past.proposal.replicas[0] == count


class TestSizes:
    @pytest.mark.parametrize(
        ("replicas", "kept", "asked", "cpu"),
        [
            # Growth gets a tenth more, in grains of 50m.
            (4, 4, 1050, 1200),
            (4, 4, 3900, 4000),
            # A shrink by a fifth is clear.
            (4, 4, 1000, 1000),
            (4, 4, 850, 1000),
            (4, 4, 800, 800),
            (4, 4, 100, 500),
            # All pods together count: what three of four keep is what four had.
            (4, 3, 1300, 1350),
            (4, 3, 1050, 1050),
            (4, 3, 1350, 1500),
        ],
    )
    def test_totals_are_compared(self, replicas, kept, asked, cpu):
        """With the cpu of all pods that serve now."""
        one = Workload(USUAL, replicas=replicas, cpu=1000)
        past, o = one.past, one.observed(1.0)
        past.proposal.replicas[0], past.proposal.asked[1], past.learned.served[0] = kept, asked, replicas
        restrain_size(USUAL, past, o, sized_pods(past), one.now)
        assert past.proposal.cpu[0] == cpu

    @pytest.mark.parametrize(("kept_for", "asked", "cpu"), [(60.0, 600, 4000), (0.0, 3900, 4000), (0.0, 600, 600)])
    def test_above_the_largest_size_only_the_rest_is_released(self, kept_for, asked, cpu):
        """Unless a clear shrink is allowed."""
        one = Workload(USUAL, replicas=4, cpu=4800)
        past, o = one.past, one.observed(1.0)
        past.proposal.replicas[0], past.proposal.asked[1], past.learned.served[0] = 4, asked, 4
        past.learned.keeps_until[0] = one.now + kept_for
        restrain_size(USUAL, past, o, sized_pods(past), one.now)
        assert past.proposal.cpu[0] == cpu

    @pytest.mark.parametrize(
        ("level", "peak", "days", "replicas", "cpu"),
        [
            # Two pods of 4 cores, of which hardly one core is used: half an hour of it is too short, and not a day.
            (1.0, 1.0, 0.02, 2, 4000),
            (1.0, 1.0, 1.1, 2, 950),
            # A busy hour of the last day needs them.
            (1.0, 4.0, 1.1, 2, 4000),
        ],
    )
    def test_large_pods_that_a_burst_left_restart_once_more(self, level, peak, days, replicas, cpu):
        """Though they keep their size after a restart, they are not idle for a week."""
        day = 960
        one = Workload(USUAL._replace(day=day * USUAL.step), replicas=2, cpu=4000)
        restarted = one.now
        for step in range(int(days * day)):
            demand = peak if step % day < day // 24 else level
            advise(one.rule, one.past, one.observed(demand)._replace(restarted=restarted), one.now)
            one.replicas, one.cpu = one.past.proposal.replicas[0], one.past.proposal.cpu[0]
            one.course.append((one.replicas, one.cpu))
            restarted = restarted if one.cpu == 4000 else one.now
            one.now += one.rule.step
        assert (one.replicas, one.cpu) == (replicas, cpu)

    @pytest.mark.parametrize(("level", "grows"), [(0.5, False), (6.0, True)])
    def test_a_size_alone_grows_after_a_restart(self, level, grows):
        """Nothing else could help; and it shrinks when the time is over."""
        one = Workload(USUAL._replace(counts=False), replicas=2, cpu=2000)
        for _ in range(200):
            advise(one.rule, one.past, one.observed(level)._replace(restarted=one.now - 15.0), one.now)
            one.cpu = one.past.proposal.cpu[0]
            one.course.append((2, one.cpu))
            one.now += one.rule.step
        assert (one.cpu > 2000) == grows
        assert one.cpu >= 2000

    def test_the_few_that_have_not_crashed_do_not_get_the_cpu_of_all(self):
        """Ten pods share five cores. Only one serves after a while, at its cap: its size is planned for all ten."""
        one = Workload(USUAL._replace(least_pods=10), replicas=10, cpu=1000)
        one.steps(5.0, 200)
        before, o = one.cpu, one.observed(5.0)
        for use in (*[o.use] * 4, *[o.cap] * 60):
            advise(one.rule, one.past, o._replace(at=one.now - 15.0, ready=1, use=use), one.now)
            one.now += one.rule.step
            assert one.past.proposal.cpu[0] == before

    def test_pods_that_were_just_ordered_are_not_counted(self):
        """They do not help yet, so those that serve get what is needed now."""
        one = Workload(USUAL, replicas=10, cpu=1000)
        o = one.observed(5.0)
        for ready, served in ((4, 4), (3, 4), (7, 7), (10, 10), (2, 10)):
            advise(one.rule, one.past, o._replace(ready=ready), one.now)
            one.now += one.rule.step
            assert one.past.learned.served[0] == served

    def test_constants(self):
        """The table above depends on them."""
        assert (AHEAD, RELEASED) == (0.1, 0.2)

    def test_sizes_alone_leave_the_count(self):
        """Only the size follows the demand."""
        one = Workload(SIZES, replicas=3, cpu=1000)
        one.steps(6.0, 10)
        assert {count for count, _ in one.course} == {3}
        assert one.cpu > 1500

    def test_after_a_restart_of_pods_the_size_stays(self):
        """For a week; a size beyond its bounds does not."""
        one = Workload(USUAL, replicas=3, cpu=1000)
        o = one.observed(6.0)._replace(restarted=one.now - 86400.0)
        advise(USUAL, one.past, o, one.now)
        assert one.past.proposal.cpu[0] == 1000
        assert one.past.proposal.replicas[0] > 3


class TestBlind:
    @pytest.mark.parametrize(("yesterday", "least", "most"), [(4.0, 6, 16), (0.2, 4, 4)])
    def test_a_season_is_followed_upwards(self, yesterday, least, most):
        """Pods are added where demand rose a minute later yesterday, and none are removed where it fell."""
        one = Workload(COUNTS, replicas=4)
        one.steps(2.4, 3)
        assert one.replicas == 4
        day = one.past.learned.day
        newest = day.slot[0]
        for back in range(1430, 1442):
            day.means[(newest - back) % len(day.means)] = 2.4 if back > 1439 else 2.4 * yesterday
        one.step(0.0, known=False)
        assert least <= one.replicas <= most

    @pytest.mark.parametrize("ready", [0, 1, 10])
    def test_pods_that_crash_together_do_not_grow(self, ready):
        """What all of them used is not planned for the few that serve."""
        one = Workload(SIZES, replicas=10, cpu=1500)
        one.steps(5.0, 6)
        assert one.cpu == 1500
        advise(SIZES, one.past, one.observed(0.0, known=False)._replace(ready=ready), one.now)
        assert one.past.proposal.cpu[0] == 1500

    def test_without_any_past_it_stays(self):
        """Within the bounds."""
        one = Workload(COUNTS, replicas=1)
        one.step(0.0, known=False)
        assert one.replicas == 2
        one = Workload(COUNTS, replicas=60)
        one.step(0.0, known=False)
        assert one.replicas == 50


def test_warm_up_is_short():
    """Ten minutes of the usual sync."""
    one = Workload(COUNTS)
    one.steps(1.0, WARM_UP)
    assert one.past.counts.rule == [FIRST]
