"""Log lines that any client of hypot can cause."""

from structlog.testing import capture_logs

from hypot.serving.logs import RARE, RareLine


def test_a_rare_line_counts_what_it_left_out():
    """One line in a while, and none is lost without a trace."""
    now = [0.0]
    line = RareLine("cut", lambda: now[0])
    with capture_logs() as logs:
        for now[0] in (0.0, 0.0, RARE / 2, RARE, 3 * RARE):
            line.log(reason="slow")
    assert [each.get("left_out", 0) for each in logs] == [0, 2, 0]
    assert {(each["event"], each["reason"]) for each in logs} == {("cut", "slow")}
