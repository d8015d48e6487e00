"""Long work in slices: whoever else waits in the loop gets a turn in between."""

import asyncio
import time

# The longest that nobody else gets a turn.
SLICE = 0.004


class Breath:
    """Ask often; a breath is due when a slice is over."""

    def __init__(self, slice_seconds: float = SLICE) -> None:
        self._slice = slice_seconds
        self._until = time.monotonic() + slice_seconds

    def is_due(self) -> bool:
        return time.monotonic() >= self._until

    async def take(self) -> None:
        await asyncio.sleep(0)
        self._until = time.monotonic() + self._slice
