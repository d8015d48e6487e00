"""The two clocks of a controller, as functions that can be passed on."""

import time
from collections.abc import Callable

Clock = Callable[[], float]

# The boot clock continues while a process is stopped or a machine sleeps, and it cannot be set.
_BOOT = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)


def wall() -> float:
    """The wall clock time, for display and records; it may jump."""
    return time.time()


def boot() -> float:
    """Seconds since the machine started, including sleep; only differences are meaningful."""
    return time.clock_gettime(_BOOT)
