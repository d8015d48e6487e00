"""When the controller hangs, so that a restart helps."""

# If no reconcile begins for this long and for this many periods, the loop or the reconcile hangs.
STUCK_AFTER = 60.0
STUCK_PERIODS = 4


def stuck_after(period: float) -> float:
    """How long a leader may go without beginning a reconcile, if one is due every `period` seconds."""
    return max(STUCK_AFTER, STUCK_PERIODS * period)


def stuck(*, leads: bool, since_attempt: float | None, limit: float) -> str:
    """Why the process hangs, as text; empty if it does not. A replica that does not lead never hangs.

    `since_attempt` is how long ago the last reconcile began, or how long ago leading began if there was none.
    """
    if not leads or since_attempt is None or since_attempt <= limit:
        return ""
    return f"this replica leads, and its last reconcile began {since_attempt:.0f} s ago, more than {limit:.0f} s"
