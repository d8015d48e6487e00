"""Reference cycles are few here, and a full garbage collection takes as long as half a reconcile."""

import asyncio
import gc

# How often they are looked for.
EVERY = 600.0


async def collect_seldom(every: float = EVERY) -> None:
    """Instead of whenever many objects were made, which is all the time; until cancelled."""
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
