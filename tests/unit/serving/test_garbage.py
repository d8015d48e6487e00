"""When the garbage collector looks for reference cycles."""

import asyncio
import gc
import weakref

import pytest

from hypot.serving.garbage import collect_seldom

pytestmark = pytest.mark.asyncio


class Knot:
    """An object that refers to itself."""

    def __init__(self) -> None:
        self.itself = self


async def test_cycles_go_when_it_is_time_and_not_before():
    """Automatic collection is off while it runs, and is restored afterwards."""
    task = asyncio.ensure_future(collect_seldom(0.05))
    await asyncio.sleep(0)
    knot = weakref.ref(Knot())
    assert not gc.isenabled()
    assert knot() is not None
    for _ in range(100):
        await asyncio.sleep(0.02)
        if knot() is None:
            break
    assert knot() is None
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    assert gc.isenabled()
    assert gc.get_freeze_count() == 0
