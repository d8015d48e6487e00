"""Reference cycles are few here, and a full garbage collection takes as long as half a reconcile."""

import asyncio
import gc

# How often reference cycles are collected, in seconds.
EVERY = 600.0


async def collect_seldom(every: float = EVERY) -> None:
    """Collect at intervals, until cancelled, instead of after many allocations, which would be all the time."""
    gc.disable()
    try:
        while True:
            gc.unfreeze()
            gc.collect()
            gc.freeze()
            await asyncio.sleep(every)
    finally:
        gc.unfreeze()
        gc.enable()
