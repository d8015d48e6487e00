"""What users experienced, compared with manual arithmetic."""

import pytest

from hypot.replay.score.scores import score
from unit.replay.score.scores_world import run, world

QUALITY = ("late", "late_minutes", "lost", "budget", "p99", "worst_p99", "recovery", "longest_recovery")


class TestLate:
    def test_each_request_counts_once(self):
        """90 of 100 requests/s with 0 % and 10 with 50 % late: 5 of 100."""
        scores = score(run(2, requests=[90, 10], late=[0.0, 0.5]))
        assert scores.late == pytest.approx(5.0)

    def test_lost(self):
        """60 of 2 x 60 x 50 requests."""
        scores = score(run(2, requests=50.0, lost=[60, 0]))
        assert scores.lost == pytest.approx(1.0)

    def test_late_and_then_lost(self):
        """Of 60 late requests 30 are lost: 30 are late, 30 lost, and the budget counts 60 of 6000."""
        scores = score(run(2, requests=50.0, late=[0.02, 0.0], lost=[0, 30], late_lost=[0, 30]))
        assert (scores.late, scores.lost, scores.budget) == pytest.approx((0.5, 0.5, 1.0))

    def test_late_before_the_window(self):
        """A window may begin with late requests that are lost in it; the score is never negative."""
        assert score(run(2, requests=50.0, lost=[30, 0], late_lost=[30, 0])).late == 0.0

    def test_budget(self):
        """0.5 % late and 1 % lost, where 1 % is allowed."""
        scores = score(run(2, requests=50.0, late=0.005, lost=[60, 0]))
        assert scores.budget == pytest.approx(1.5)

    def test_an_slo_that_allows_nothing_has_no_budget(self):
        """There is nothing to divide by."""
        assert score(run(2, world(service={"slo": 1.0}), requests=1.0, late=0.5)).budget is None

    @pytest.mark.parametrize("name", QUALITY)
    def test_without_requests(self, name):
        """Without requests there is no score, whatever the columns say."""
        assert getattr(score(run(3, late=1.0, p99=10.0)), name) is None


class TestViolation:
    """1 % late is what the SLO allows; ticks are minutes."""

    def test_minutes(self):
        """2 % in two ticks; exactly 1 % is not a violation, and neither is a tick without requests."""
        scores = score(run(5, requests=[10, 10, 10, 10, 0], late=[0.02, 0.01, 0.02, 0.0, 1.0]))
        assert scores.late_minutes == 2.0

    def test_exactly_what_is_allowed_in_another_notation(self):
        """1 - 0.9 is a little less than 0.1; that is not a violation."""
        assert score(run(3, world(service={"slo": 0.9}), requests=10.0, late=0.1)).late_minutes == 0.0

    def test_lost_requests_are_a_violation(self):
        """No pod serves in the second tick: no request is late there, but all are lost."""
        scores = score(run(3, requests=10.0, lost=[0, 600, 0]))
        assert scores.late_minutes == 1.0

    def test_recovery(self):
        """Three violations of 1, 3 and 2 minutes, the last up to the end."""
        late = [0, 1, 0, 1, 1, 1, 0, 1, 1]
        scores = score(run(9, requests=10.0, late=late))
        assert scores.recovery == 120.0
        assert scores.longest_recovery == 180.0

    def test_nothing_to_recover_from(self):
        """The time is zero, not None: it is the best value."""
        scores = score(run(3, requests=10.0))
        assert (scores.recovery, scores.longest_recovery) == (0.0, 0.0)


class TestLatency:
    def test_the_99th_percentile_counts_requests(self):
        """980 requests/s at 0.1 s, 15 at 0.3 s, 5 at 2 s: the 990th of 1000 has 0.3 s."""
        scores = score(run(3, requests=[980, 15, 5], p99=[0.1, 0.3, 2.0]))
        assert scores.p99 == pytest.approx(300.0)

    def test_exactly_99_of_100(self):
        """99 at 0.1 s are 99 %, so the slow one does not show."""
        assert score(run(2, requests=[99, 1], p99=[0.1, 9.0])).p99 == pytest.approx(100.0)

    def test_ticks_without_requests_do_not_count(self):
        """A latency without requests does not count."""
        assert score(run(2, requests=[1, 0], p99=[0.1, 9.0])).p99 == pytest.approx(100.0)

    def test_the_worst_five_minutes(self):
        """Windows of five ticks: 0.1 s, then (1 x 0.1 + 3 x 0.9) / 4 = 0.7 s, then half a window at 0.2 s."""
        requests = [1] * 5 + [1, 3, 0, 0, 0] + [1, 1]
        p99 = [0.1] * 5 + [0.1, 0.9, 5.0, 5.0, 5.0] + [0.2, 0.2]
        assert score(run(12, requests=requests, p99=p99)).worst_p99 == pytest.approx(700.0)

    def test_windows_tumble(self):
        """Two slow minutes on both sides of a border are not one slow window."""
        p99 = [0.0] * 4 + [1.0] + [1.0] + [0.0] * 4
        assert score(run(10, requests=1.0, p99=p99)).worst_p99 == pytest.approx(200.0)
