"""Whether the API server can be reached at all: one line when it cannot, and one when it answers again."""

from typing import Final

import structlog

from hypot.cluster.clock import Clock, boot
from hypot.cluster.port import OutageError

# If the connection comes and goes, there is at most one pair of lines in this time.
SELDOM: Final = 60.0

_log = structlog.get_logger()


def warn(event: str, error: Exception) -> None:
    """Log a failure that is tried again. If no request is answered, that has been logged already."""
    if not isinstance(error, OutageError):
        _log.warning(event, error=str(error))


class Connection:
    """All requests of a process report here what became of them."""

    def __init__(self, server: str, source: str, clock: Clock = boot) -> None:
        self._server, self._source, self._clock = server, source, clock
        # When the server last answered, and when it was last logged that it does not.
        self._answered_at = self._logged_at = -float("inf")
        self._reported = False

    def answered(self) -> None:
        self._answered_at = self._clock()
        if self._reported:
            self._reported = False
            seconds = round(self._answered_at - self._logged_at, 1)
            _log.info("API server answers again", server=self._server, after_seconds=seconds)

    def silent_for(self) -> float:
        """Seconds since the last answer; infinite before the first."""
        return self._clock() - self._answered_at

    def failed(self, error: str) -> None:
        now = self._clock()
        if self._reported or now < self._logged_at + SELDOM:
            return
        self._reported, self._logged_at = True, now
        _log.warning("API server unreachable, trying again", server=self._server, error=error, credentials=self._source)
