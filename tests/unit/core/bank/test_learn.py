"""What one observation teaches."""

from math import inf

import pytest

from bank_world import EPOCH, USUAL, Workload
from hypot.core.bank.learn import hidden_demand, observe, pods_then
from hypot.core.bank.rule import UNKNOWN, nothing_learned

STEP = 15.0


def learned_with(*ready, step=STEP):
    """The ready pods of the last decisions, the newest first, one step apart."""
    learned = nothing_learned().learned
    for back, count in enumerate(reversed(ready)):
        learned.ready[back], learned.ready_at[back] = count, EPOCH - (len(ready) - 1 - back) * step
    learned.ready_newest[0] = len(ready) - 1
    return learned


@pytest.mark.parametrize(
    ("ready", "step", "lag", "window", "pods"),
    [
        # Before the second decision, the first count holds.
        ((4,), 15.0, 15.0, 30.0, 4.0),
        # A window of two steps that ended a step ago.
        ((9, 4, 2, 9), 15.0, 15.0, 30.0, 2 / (1 / 4 + 1 / 2)),
        # The count of a decision holds since the decision before it: half of each.
        ((8, 4), 30.0, 15.0, 30.0, 2 / (1 / 8 + 1 / 4)),
        ((8, 4), 60.0, 30.0, 60.0, 2 / (1 / 8 + 1 / 4)),
        # A third of the window is in the step of the newest.
        ((8, 2), 30.0, 20.0, 30.0, 1 / ((1 / 3) / 8 + (2 / 3) / 2)),
        # A window within one step.
        ((8, 2, 2), 60.0, 0.0, 30.0, 8.0),
        ((8, 2, 2), 60.0, 60.0, 30.0, 2.0),
        # Where none was ready, the others served.
        ((9, 4, 0, 9), 15.0, 15.0, 30.0, 4.0),
    ],
)
def test_pods_in_the_window_of_the_samples(ready, step, lag, window, pods):
    """The harmonic mean, weighted by time."""
    o = Workload().observed(1.0)._replace(at=EPOCH - lag, window=window, ready=7)
    assert pods_then(learned_with(*ready, step=step), o) == pytest.approx(pods)


def test_pods_where_the_window_is_older_than_what_is_kept():
    """What is ready now."""
    o = Workload().observed(1.0)._replace(at=EPOCH - 1e6, window=30.0, ready=7)
    ready = [3] * 20
    learned = learned_with(*ready[:16])
    assert pods_then(learned, o) == 7.0


@pytest.mark.parametrize(
    ("rate", "work", "sizes", "found"),
    [
        # Without requests: twice what four pods use.
        (UNKNOWN, 0.02, True, 9.6),
        (100.0, UNKNOWN, True, 9.6),
        # By requests: 0.1 cores idle, and 100 times 0.02 cores, for four pods.
        (100.0, 0.02, False, 8.4),
        (100.0, 0.02, True, 9.6),
        (200.0, 0.02, True, 16.4),
        # Never less than what is used.
        (1.0, 0.02, False, 4.8),
    ],
)
def test_demand_at_the_cap(rate, work, sizes, found):
    """By the requests where they are known."""
    rule, learned = USUAL._replace(sizes=sizes), nothing_learned().learned
    learned.work[0], learned.base[0] = work, 0.1
    o = Workload().observed(1.0)._replace(use=1.2, cap=1.2, rate=rate)
    assert hidden_demand(rule, learned, o, 4.0) == pytest.approx(found)


class TestObserve:
    def seen(self, one, **changes):
        observe(one.rule, one.past, one.observed(1.0)._replace(**changes), one.now)
        one.now += one.rule.step
        return one.past.learned

    def test_starts_are_measured(self):
        """From the decision that asked for more until all serve: a fifth of the difference counts each time."""
        one = Workload()
        self.seen(one, replicas=2, ready=2)
        for ready in (2, 2, 3, 4):
            learned = self.seen(one, replicas=4, ready=ready)
        # Four steps from the decision before the order was seen until the last was ready.
        assert learned.start[0] == pytest.approx(60.0 + 0.2 * (4 * STEP - 60.0))
        for ready in (4, 4, 4, 4, 4, 4, 4, 4, 6):
            learned = self.seen(one, replicas=6, ready=ready)
        assert learned.start[0] == pytest.approx(60.0 + 0.2 * (9 * STEP - 60.0))
        assert learned.missing_since[0] == inf

    def test_a_pod_that_stops_serving_says_nothing_of_starts(self):
        """However long it is away; the next order is measured again."""
        one = Workload()
        for ready in (4, *[3] * 120, 4):
            learned = self.seen(one, replicas=4, ready=ready)
        assert learned.start[0] == 60.0
        for ready in (4, 5):
            learned = self.seen(one, replicas=5, ready=ready)
        assert learned.start[0] == pytest.approx(60.0 + 0.2 * (2 * STEP - 60.0))

    @pytest.mark.parametrize(("gap", "forgets"), [(4 * STEP, False), (4 * STEP + 1, True), (-1.0, True)])
    def test_a_gap_or_a_clock_set_back_begins_anew(self, gap, forgets):
        """Plans and demand are forgotten, and nothing is released for 80 steps; what was learned stays."""
        one = Workload()
        for _ in range(100):
            self.seen(one)
        one.past.counts.steps[0] = 100
        before = one.past.learned.kappa[0]
        one.now += gap - one.rule.step
        learned = self.seen(one)
        assert (learned.known[0], one.past.counts.steps[0]) == ((1, 0) if forgets else (81, 100))
        held = one.now - one.rule.step + 80 * STEP
        assert (learned.keeps_until[0] == held) == forgets
        assert learned.kappa[0] == before
        assert learned.first[0] == EPOCH

    def test_pods_at_their_cap_teach_nothing_of_seasons(self):
        """Their usage says too little."""
        one = Workload()
        o = one.observed(1.0)
        self.seen(one, use=o.cap)
        assert one.past.proposal.saturated == [1]
        assert max(one.past.learned.day.means) == -1.0
        self.seen(one)
        assert max(one.past.learned.day.means) == pytest.approx(1.0)


def test_after_a_clock_was_set_back_it_releases_again():
    """A time far ahead holds nothing for longer than a gap does."""
    one = Workload()
    one.steps(1.0, 3)
    learned = one.past.learned
    learned.keeps_until[0] = one.now + 1e8
    one.step(1.0)
    assert learned.keeps_until[0] == one.now - STEP + 80 * STEP
