"""Cycles of objects are few here, and to look for them in everything that is watched takes as long as half a sweep."""

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
