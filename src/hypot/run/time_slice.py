"""Long work in slices: whoever else waits in the loop gets a turn in between."""

import asyncio
import time

# The longest that nobody else gets a turn.
SLICE = 0.004
# An answer over TLS takes about as many: read, parse, answer, write.
TURNS = 4


async def rest() -> None:
    """Let whoever waits have a turn now."""
    for _ in range(TURNS):
        await asyncio.sleep(0)


class TimeSlice:
    """Ask often; a breath is due when a slice is over."""

    def __init__(self, slice_seconds: float = SLICE) -> None:
        self._slice = slice_seconds
        self._until = time.monotonic() + slice_seconds

    def is_due(self) -> bool:
        return time.monotonic() >= self._until

    async def take(self) -> None:
        await rest()
        self._until = time.monotonic() + self._slice
