"""When the kubelet should restart the controller."""

import pytest

from hypot.run.report.liveness import stuck, stuck_after


@pytest.mark.parametrize(
    ("leads", "since", "is_stuck"),
    [(True, 61.0, True), (True, 60.0, False), (True, None, False), (False, 1000.0, False)],
)
def test_a_leader_without_reconciles_is_stuck(leads, since, is_stuck):
    """A replica that does not lead has nothing to do, and a leader that just began is not stuck."""
    assert bool(stuck(leads=leads, since_attempt=since, limit=stuck_after(15.0))) is is_stuck


def test_stuck_is_said_with_its_numbers():
    """The kubelet shows the message in the events of the pod."""
    message = stuck(leads=True, since_attempt=90.0, limit=stuck_after(1.0))
    assert "90 s ago, more than 60 s" in message


@pytest.mark.parametrize(("period", "since", "is_stuck"), [(300.0, 1200.0, False), (300.0, 1201.0, True)])
def test_the_limit_grows_with_the_period(period, since, is_stuck):
    """It has four periods: otherwise a long period would cause a restart loop."""
    assert bool(stuck(leads=True, since_attempt=since, limit=stuck_after(period))) is is_stuck
