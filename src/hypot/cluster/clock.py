"""The two clocks of a controller, as values to hand on."""

import time
from collections.abc import Callable

Clock = Callable[[], float]

# A stopped process or a sleeping machine does not stop the boot clock, and nobody can set it.
_BOOT = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)


def wall() -> float:
    """The time of day, to be shown and written down; it may jump."""
    return time.time()


def boot() -> float:
    """Seconds since the machine started, sleep included; only differences mean anything."""
    return time.clock_gettime(_BOOT)
