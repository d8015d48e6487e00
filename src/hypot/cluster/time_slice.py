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


class SharedSlice:
    """A slice of each turn of the event loop that many tasks share: together they hold it no longer than one would.

    Those that wait go on in the order in which they came, one in each turn.
    """

    def __init__(self, slice_seconds: float = SLICE) -> None:
        self._slice = slice_seconds
        # When the slice of this turn ends; None before any work of this turn.
        self._until: float | None = None
        self._waiting = asyncio.Lock()

    def is_due(self) -> bool:
        now = time.monotonic()
        if self._until is None:
            self._until = now + self._slice
            asyncio.get_running_loop().call_soon(self._next_turn)
        return now >= self._until

    async def take(self) -> None:
        async with self._waiting:
            while self._until is not None:  # noqa: ASYNC110  the next turn is not an event: it must not be over again
                await asyncio.sleep(0)

    def _next_turn(self) -> None:
        self._until = None
