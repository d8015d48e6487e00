"""Long work in slices: other tasks in the event loop run in between."""

import asyncio
import time

# The longest time that other tasks wait, in seconds.
SLICE = 0.004
# An answer over TLS takes about this many loop iterations: read, parse, answer, write.
TURNS = 4


async def rest() -> None:
    """Let other tasks run now."""
    for _ in range(TURNS):
        await asyncio.sleep(0)


class TimeSlice:
    """Call `is_due` often, and `take` when it is true: then the slice is over."""

    def __init__(self, slice_seconds: float = SLICE) -> None:
        self._slice = slice_seconds
        self._until = time.monotonic() + slice_seconds

    def is_due(self) -> bool:
        return time.monotonic() >= self._until

    async def take(self) -> None:
        await rest()
        self._until = time.monotonic() + self._slice
